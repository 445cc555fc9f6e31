"""The main methods and solvers on built-in data, in one table and one picture."""

from __future__ import annotations

import sys
import time
import warnings
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_digits, make_multilabel_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from eigenkit import CCA, LDA, HypergraphSpectral, LeastSquaresProjection, OrthonormalizedPLS
from eigenkit.analysis import ScoresDisplay
from eigenkit.estimators import Projection
from eigenkit.exceptions import DegenerateDataWarning

SOLVERS = ("direct", "two_stage")


@dataclass(frozen=True)
class Line:
    data: str
    method: str
    solver: str
    components: int
    seconds: float
    equivalence: float
    score: str


def multilabel() -> tuple[np.ndarray, np.ndarray]:
    """A generated multi-label set: 600 samples, 60 features, 6 labels."""
    X, Y = make_multilabel_classification(
        n_samples=600, n_features=60, n_classes=6, n_labels=2, random_state=0
    )
    return X, Y


def methods(several_labels: bool) -> dict[str, tuple[Projection, str]]:
    """The projections to show on one kind of labels, each with the target of its least squares."""
    found: dict[str, tuple[Projection, str]] = {
        "CCA": (CCA(), "cca"),
        "OrthonormalizedPLS": (OrthonormalizedPLS(), "opls"),
    }
    if not several_labels:
        return {**found, "LDA": (LDA(), "lda")}
    for name in ("star", "clique", "zhou"):
        found[f"HypergraphSpectral {name}"] = HypergraphSpectral(expansion=name), name
    return found


def run(data: str, X: np.ndarray, y: np.ndarray) -> list[Line]:
    """Fit all methods by all solvers, and their least squares models, on one data set."""
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, random_state=0)
    lines = []
    for name, (model, own) in methods(y.ndim == 2).items():
        # Classes go to LDA as they are, to the others as indicator columns.
        target = y_train
        if y.ndim == 1 and not isinstance(model, LDA):
            target = (y_train[:, None] == np.unique(y)).astype(float)
        ways: dict[str, Projection] = {s: clone(model).set_params(solver=s) for s in SOLVERS}
        reference = None
        for how, fitted in {**ways, "least squares": LeastSquaresProjection(target=own)}.items():
            start = time.perf_counter()
            fitted.fit(X_train, target)
            seconds = time.perf_counter() - start
            W = np.asarray(fitted.components_.T, dtype=np.float64)
            reference = W @ W.T if reference is None else reference
            gap = np.linalg.norm(W @ W.T - reference, 2) / np.linalg.norm(reference, 2)
            score = _score(fitted, X_train, y_train, X_test, y_test)
            lines.append(Line(data, name, how, W.shape[1], seconds, float(gap), score))
    return lines


def _score(model: Any, X: Any, y: Any, X_test: Any, y_test: Any) -> str:
    """Accuracy, or mean AUC over labels, of a linear classifier on the projection."""
    head = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    if y.ndim == 1:
        head.fit(model.transform(X), y)
        return f"accuracy {head.score(model.transform(X_test), y_test):.3f}"
    several = OneVsRestClassifier(head).fit(model.transform(X), y)
    return f"AUC {roc_auc_score(y_test, several.predict_proba(model.transform(X_test))):.3f}"


def table(lines: list[Line]) -> str:
    head = f"{'data':10} {'method':26} {'solver':15} {'comp.':>5} {'time':>9} {'gap':>9}  test"
    rows = [
        f"{x.data:10} {x.method:26} {x.solver:15} {x.components:5d} {1e3 * x.seconds:6.1f} ms "
        f"{x.equivalence:9.1e}  {x.score}"
        for x in lines
    ]
    return "\n".join([head, "-" * len(head), *rows])


def picture(path: Path) -> Path | None:
    """Two projections drawn side by side, if matplotlib is there."""
    try:
        import matplotlib
    except ImportError:
        return None
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 5), layout="constrained")
    X, y = load_digits(return_X_y=True)
    ScoresDisplay.from_estimator(LDA(2).fit(X, y), X, y, ax=left)
    left.set(title="LDA on digits")
    X, Y = multilabel()
    alone = Y.sum(axis=1) == 1
    model = HypergraphSpectral(2).fit(X, Y)
    ScoresDisplay.from_estimator(model, X[alone], Y[alone].argmax(axis=1), ax=right)
    right.set(title="HypergraphSpectral: samples with one label")
    figure.savefig(path, dpi=110)
    plt.close(figure)
    return path


def report(folder: Path) -> Path | None:
    """Compare the methods on the generated set and write the report, if plotly is there."""
    if find_spec("plotly") is None:
        return None
    from eigenkit.evaluation import evaluate
    from eigenkit.evaluation.record import write_record
    from eigenkit.report import write_html

    X, Y = multilabel()
    record = evaluate(
        X,
        Y,
        {name: model for name, (model, _) in methods(True).items()},
        cv=3,
        name="six generated labels",
        label_names=[f"label {j}" for j in range(Y.shape[1])],
        command="eigenkit demo",
    )
    write_record(record, folder / "eigenkit-demo.json")
    return write_html(record, folder / "eigenkit-demo.html")


def main(folder: str | Path = ".") -> int:
    """Print the table, save the picture and the report; 0 when done."""
    folder = Path(folder)
    with warnings.catch_warnings():
        # Some pixels of the digits are always white, which needs no warning.
        warnings.simplefilter("ignore", DegenerateDataWarning)
        lines = run("digits", *load_digits(return_X_y=True)) + run("generated", *multilabel())
        print(table(lines))
        print(
            "\ngap: ||W W' - W0 W0'|| relative to the direct solver. Least squares with a ridge "
            "is a model of its own, LeastSquaresProjection.",
            flush=True,
        )
        made = {
            "picture": picture(folder / "eigenkit-demo.png"),
            "report to open in a browser": report(folder),
        }
    for what, path in made.items():
        if path is None:
            print(f"no {what}: pip install matplotlib plotly", file=sys.stderr)
        else:
            print(f"{what}: {path}")
    return 0
