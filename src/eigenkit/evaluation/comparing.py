"""Every method on every split, measured, as one record."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from eigenkit.estimators.splits import Split
from eigenkit.evaluation.classifiers import make_baselines, make_classifier
from eigenkit.evaluation.detail import RECALL_GRID, ROC_GRID, Outcome
from eigenkit.evaluation.metrics import METRICS
from eigenkit.evaluation.record import checked, to_dict
from eigenkit.evaluation.record.schema import SCHEMA, VERSION, Data, Model, Points, Protocol, Run
from eigenkit.evaluation.samples import Prepare, Samples, auto_alphas, make_splits, read_samples
from eigenkit.evaluation.summary import describe, describe_model, environment, summarize, thin
from eigenkit.evaluation.trial import Forecast, Plan, rehearse, run_trial
from eigenkit.shell import check_choice, check_count, check_real, check_seed, what_is

Progress = Callable[[int, int, str], None]


def evaluate(
    X: Any,
    Y: Any,
    methods: Mapping[str, Any],
    *,
    cv: int | Sequence[Split] = 5,
    repeats: int = 1,
    train_size: float | None = None,
    classifier: Any = "svm",
    alphas: Sequence[float] | str | None = "auto",
    inner_cv: int = 3,
    alpha_score: str = "auc",
    alpha_classifier: str = "same",
    baselines: bool = True,
    name: str = "data",
    feature_names: Sequence[str] | None = None,
    label_names: Sequence[str] | None = None,
    task: str | None = None,
    groups: Any = None,
    prepare: Prepare | None = None,
    max_points: int = 5000,
    progress: Progress | None = None,
    forecast: Forecast | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    command: str = "",
    random_state: int = 0,
) -> dict[str, Any]:
    """Compare methods by how well a classifier does on their projections.

    For every split and method: choose alpha by cross-validation inside the training part,
    fit the projection there, train one classifier per label on the projected training rows
    and measure it on the test rows. The result depends on the data, the methods and
    ``random_state`` only, apart from times and the description of the environment.

    Parameters
    ----------
    X : array, frame or sparse matrix of shape (n_samples, n_features)
    Y : array, frame or sparse matrix
        A 0/1 matrix of shape (n_samples, n_labels), or one class per sample.
    methods : dict of name to estimator
        Projections (``fit`` and ``transform``); estimators that only classify are measured
        by their own decisions. A method that fails on a split is recorded with its error.
    cv : int or sequence of (train, test)
        Number of folds, or splits of your own as pairs of row numbers.
    repeats : int
        Rounds of folds, or number of random partitions.
    train_size : float, optional
        Share of the training part; asks for random partitions instead of folds.
    classifier : {"svm", "knn", "logistic"} or a scikit-learn classifier
        Put on top of every projection, after scaling on the training rows.
    alphas : sequence of float, "auto" or None
        Ridges to choose from; "auto" takes :func:`auto_alphas`, and more while the score rises at
        an end of the grid. None keeps the alpha of every method.
    inner_cv : int
        Folds of the inner cross-validation that chooses alpha.
    alpha_score : str
        The metric that chooses alpha, a key of METRICS.
    alpha_classifier : {"same", "ridge"}
        What judges the projections while alpha is chosen: the classifier, or ridge regression
        of all labels at once. With the latter the whole grid costs little more than one fit, but
        what suits it need not suit the classifier.
    baselines : bool
        Also measure the classifier on all features and on principal components.
    name : str
        The name of the data in the report.
    feature_names, label_names : sequence of str, optional
        By default the columns of a frame, the classes, or numbers.
    task : {"numbers"}, optional
        Y holds numbers to predict: methods predict them by themselves, alpha is chosen by R2,
        and the metrics are R2, RMSE and MAE, over all responses and for each.
    groups : array of shape (n_samples,), optional
        Samples that belong together, such as visits of one patient: no split divides a group,
        including those that choose alpha.
    prepare : callable, optional
        ``prepare(X_train)`` returns the function that turns rows into features: filling in and
        scaling, learned on the training part alone.
    max_points : int
        Samples to keep for drawing.
    progress : callable, optional
        Called as ``progress(done, total, message)`` before every step and at the end.
    forecast : callable, optional
        Called as ``forecast(low, high, rows)`` before the first step of a large run, with bounds on
        the seconds that it will take, estimated by a trial on so many rows.
    checkpoint : path, optional
        The results are kept in this file after every step; the same call continues from it, and
        removes it at the end.
    command : str
        What to type to repeat the run; kept in the record.
    random_state : int
        Seed of the splits, the classifiers and the choice of points to draw.

    Returns
    -------
    dict
        The record, plain JSON values; see :mod:`eigenkit.evaluation.record` and
        :mod:`eigenkit.report`.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from eigenkit import CCA
    >>> from eigenkit.evaluation import evaluate
    >>> X, Y = make_multilabel_classification(n_samples=200, random_state=0)
    >>> record = evaluate(X, Y, {"cca": CCA()}, cv=3, baselines=False)
    >>> [method["name"] for method in record["methods"]]
    ['cca']
    >>> 0.7 < record["methods"][0]["scores"]["auc"]["mean"] < 1.0
    True
    """
    numbers = check_choice("task", task or "labels", ("labels", "numbers")) == "numbers"
    samples = read_samples(X, Y, feature_names, label_names, prepare, numbers, groups)
    repeats, seed = check_count("repeats", repeats), check_seed("random_state", random_state)
    splits, words = make_splits(samples, cv, repeats, train_size, seed)
    first = samples.parts(splits[0])[0][0]
    made, grid = make_classifier(classifier, seed), _check_alphas(alphas, first)
    inner = check_count("inner_cv", inner_cv, low=2)
    score = "r2" if numbers else check_choice("alpha_score", alpha_score, METRICS)
    judge = check_choice("alpha_classifier", alpha_classifier, ("same", "ridge"))
    plan = Plan(made, grid, inner, score, judge, seed, detail=True, grows=isinstance(alphas, str))
    compared = _check_methods(methods, baselines)
    plain = make_baselines(samples, first, seed) if baselines else {}
    points = thin(samples, splits[0], check_count("max_points", max_points), seed)
    work = _Work({**compared, **plain}, samples, splits, plan, points)
    data, parts = describe(samples, name), [part for split in splits for part in split]
    depends = data, samples.groups, *parts, work.methods, plan, max_points, prepare
    kept = KeptSteps(checkpoint, identity(*depends))
    work.run(kept, forecast, progress or (lambda done, total, message: None))
    protocol = _protocol(words, splits, classifier, plan)
    record = to_dict(work.record(kept, data, protocol, plain, command))
    if kept.path is not None:
        kept.path.unlink(missing_ok=True)
    return dict(record)


@dataclass(frozen=True)
class _Work:
    """Every method on every split."""

    methods: dict[str, Any]
    samples: Samples
    splits: list[Split]
    plan: Plan
    points: Points

    def run(self, kept: KeptSteps, forecast: Forecast | None, tell: Progress) -> None:
        """Do what is not yet among the steps kept; the first split holds models for drawing."""
        n, total = len(self.splits), len(self.splits) * len(self.methods)
        left = n - len(kept) / len(self.methods)
        if forecast is not None and left > 0:
            rehearse(self.methods.values(), self.samples, self.splits[0], self.plan, left, forecast)
        for done, (i, key) in enumerate(product(range(n), self.methods)):
            if (i, key) in kept:
                continue
            tell(done, total, f"split {i + 1} of {n}: {key}")
            outcome = run_trial(self.methods[key], self.samples, self.splits[i], self.plan)
            # A model may be large, and there may be many.
            model, outcome.model = outcome.model, None
            if i == 0 and outcome.error is None:
                outcome.model = describe_model(model, self.samples, self.splits[0], self.points)
            kept.add(i, key, outcome)
        tell(total, total, "done")

    def record(self, kept: KeptSteps, data: Data, how: Protocol, plain: Any, command: str) -> Run:
        """What came out, method by method."""
        found = []
        for key, estimator in self.methods.items():
            outcomes = [kept[i, key] for i in range(len(self.splits))]
            drawn = self.samples, self.points, data.shown
            found.append(summarize(key, estimator, key in plain, outcomes, *drawn))
        return Run(
            schema=SCHEMA,
            version=VERSION,
            data=data,
            protocol=how,
            methods=found,
            points=self.points,
            false_positive_rate=ROC_GRID.round(6).tolist(),
            environment=environment(),
            command=command,
            recall=RECALL_GRID.round(6).tolist(),
        )


def _protocol(words: str, splits: list[Split], classifier: Any, plan: Plan) -> Protocol:
    known = {"svm": "linear SVM", "knn": "5 nearest neighbours", "logistic": "logistic regression"}
    named = known[classifier] if isinstance(classifier, str) else " ".join(repr(classifier).split())
    train, test = splits[0]
    ordered = np.array_equal(np.concatenate([train, test]), np.arange(len(train) + len(test)))
    return Protocol(
        splits=words,
        n_splits=len(splits),
        n_train=len(train),
        n_test=len(test),
        classifier=named[:200],
        alphas=plan.alphas,
        inner_cv=plan.inner_cv,
        alpha_score=plan.alpha_score,
        alpha_classifier="ridge regression" if plan.alpha_classifier == "ridge" else named[:200],
        seed=plan.seed,
        # Where there is one split and training rows come first.
        test_begins=len(train) if len(splits) == 1 and ordered else 0,
    )


# -- steps that are kept ---------------------------------------------------------------


def identity(*parts: Any) -> str:
    """A short hash that identifies a run."""
    digest = hashlib.sha256()
    for part in parts:
        # The text of a long array leaves out most of it.
        whole = part.tobytes() if isinstance(part, np.ndarray) else repr(part).encode()
        digest.update(whole + b"\0")
    return digest.hexdigest()[:32]


class KeptSteps(dict[tuple[int, str], Outcome]):
    """Outcomes by split and method, in memory and, with a path, in a file, from which an
    interrupted run continues.

    The file has a line of JSON for every step, after one that identifies the run. A line that a
    crash has cut short counts as not done, and so do all that follow. The file of a run with
    another :func:`identity` is overwritten.
    """

    def __init__(self, path: str | os.PathLike[str] | None, run: str) -> None:
        super().__init__()
        self.path = None if path is None else Path(path)
        if self.path is None:
            return
        there = self.path.read_text("utf-8", "replace").split("\n") if self.path.exists() else [""]
        lines = [json.dumps({"run": run})]
        with suppress(ValueError, TypeError, KeyError, AttributeError):
            if json.loads(there[0]).get("run") == run:
                for line in there[1:]:
                    found = json.loads(line)
                    outcome = Outcome(**found["outcome"])
                    if outcome.model is not None:
                        outcome.model = checked(outcome.model, Model, "model")
                    self[int(found["split"]), str(found["method"])] = outcome
                    lines.append(line)
        self.path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    def add(self, split: int, method: str, outcome: Outcome) -> None:
        """Keep a step; it is in the file when this returns."""
        self[split, method] = outcome
        if self.path is None:
            return
        line = {"split": split, "method": method, "outcome": to_dict(outcome)}
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
            file.flush()
            os.fsync(file.fileno())


def _check_methods(methods: Mapping[str, Any], baselines: bool) -> dict[str, Any]:
    if not methods and not baselines:
        raise ValueError("methods is empty: give at least one name and estimator.")
    for key, estimator in methods.items():
        if estimator != "passthrough" and not callable(getattr(estimator, "fit", None)):
            kind = what_is(estimator)
            raise TypeError(f"methods[{key!r}] is {kind}: give an estimator with fit.")
        if isinstance(estimator, type):
            raise TypeError(f"methods[{key!r}] is a class: give an instance of it, as in CCA().")
    return {str(key): estimator for key, estimator in methods.items()}


def _check_alphas(alphas: Sequence[float] | str | None, X: Any) -> list[float]:
    if alphas is None:
        return []
    if isinstance(alphas, str):
        check_choice("alphas", alphas, ("auto",))
        return auto_alphas(X)
    found = sorted({check_real("alphas", alpha) for alpha in alphas})
    if not found:
        raise ValueError("alphas is empty: give at least one value, or None for no choice.")
    return found
