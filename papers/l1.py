"""Least squares with an l1 penalty: how few terms are enough."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.svm import LinearSVC

from eigenkit import alpha_path, l1_path
from eigenkit.datasets import Dataset
from eigenkit.estimators.splits import Split
from eigenkit.evaluation.classifiers import decide
from eigenkit.evaluation.metrics import auc_per_label
from eigenkit.evaluation.samples import Samples
from eigenkit.evaluation.trial import Plan, run_trial
from papers import multilabel as ml
from papers.blocks import Block, Claim, Figure, Note, Table
from papers.drawing import COLORS, MARKERS, lines
from papers.study import Experiment, Study

NAMES = ("Star", "CCA")
PARTITIONS = 3
N_TRAIN = 2000
# Penalties as shares of the smallest one at which no term is left.
SHARES = tuple(float(s) for s in np.logspace(0, -2, 15)[1:])
STEPS = 40  # of the exact path that is drawn
TOL = 1e-4  # duality gap of coordinate descent
SHARE_OF_RIDGE = 0.9


def sparse_model(name: str) -> Any:
    """LS-X_1."""
    return ml.least_squares(ml.TECHNIQUES[name]).set_params(l1_ratio=1.0, tol=TOL)


def largest_penalty(name: str, X: Any, Y: np.ndarray) -> float:
    """The smallest penalty at which all coefficients of all targets are zero."""
    return max(float(alphas[0]) for alphas, _ in l1_path(sparse_model(name), X, Y, max_iter=1))


def n_terms(model: Any) -> int:
    """How many terms any component uses."""
    return int(np.sum(np.any(model.components_ != 0, axis=0)))


def _svm(n_train: int, seed: int) -> LinearSVC:
    """On columns of variance 1 the same as C = 1 on columns of unit length."""
    return LinearSVC(C=1 / n_train, random_state=seed)


def along_path(name: str, samples: Samples, split: Split, seed: int) -> list[list[float]]:
    """Number of terms and mean AUC for every share of the largest penalty."""
    (X, Y), (X_new, Y_new) = (samples.part(rows) for rows in split)
    largest = largest_penalty(name, X, Y)
    svm = _svm(len(Y), seed)
    found = []
    for model in alpha_path(sparse_model(name), X, Y, [largest * share for share in SHARES]):
        S, _ = decide(svm, model.transform(X), Y, model.transform(X_new), single=False)
        found.append([float(n_terms(model)), float(np.nanmean(auc_per_label(Y_new, S)))])
    return found


def chosen(name: str, samples: Samples, split: Split, seed: int) -> dict[str, list[float]]:
    """AUC and number of terms of LS_1 and LS_2, each penalty by cross-validation."""
    X, Y = samples.part(split[0])
    largest = largest_penalty(name, X, Y)
    ridge = ml.least_squares(ml.TECHNIQUES[name]).set_params(regression="svd")
    tried = {
        f"LS-{name}_1": (sparse_model(name), [largest * share for share in SHARES]),
        f"LS-{name}_2": (ridge, list(ml.GAMMAS)),
    }
    found = {}
    for row, (model, alphas) in tried.items():
        plan = Plan(_svm(len(Y), seed), alphas, ml.INNER_FOLDS, "auc", "same", seed)
        outcome = ml.finished(run_trial(model, samples, split, plan))
        found[row] = [outcome.scores["auc"], float(n_terms(outcome.model))]
    return found


def in_other_orders(name: str, samples: Samples, split: Split, seed: int) -> list[int]:
    """Number of terms at a fifth of the largest penalty, for the same rows in three orders."""
    rng = np.random.default_rng(seed)
    found = []
    for rows in (split[0], rng.permutation(split[0]), rng.permutation(split[0])):
        X, Y = samples.part(rows)
        alpha = 0.2 * largest_penalty(name, X, Y)
        found.append(n_terms(sparse_model(name).set_params(alpha=alpha).fit(X, Y)))
    return found


def _first_path(samples: Samples, split: Split) -> list[Any]:
    """The exact path of the first target of Star: penalties, and terms with their weights."""
    X, Y = samples.part(split[0])
    alphas, coefs = l1_path(sparse_model("Star"), X, Y, max_iter=STEPS)[0]
    used = np.any(coefs != 0, axis=1)
    return [(alphas / alphas[0]).tolist(), coefs[used].tolist()]


def _auc_figure(paths: dict[str, np.ndarray], best: dict[str, list[float]], words: str) -> Figure:
    def draw(canvas: Any) -> None:
        ax = canvas.subplots()
        for i, (name, path) in enumerate(paths.items()):
            color = COLORS[i]
            look = {"color": color, "marker": MARKERS[i], "fillstyle": "none"}
            ax.plot(path[:, 0], path[:, 1], label=f"LS-{name}_1", **look)
            level = best[f"LS-{name}_2"][0]
            ax.axhline(level, color=color, linestyle=(":", "--")[i % 2], label=f"LS-{name}_2")
            score, terms = best[f"LS-{name}_1"]
            ax.plot([terms], [score], "*", color=color, markersize=11, zorder=3)
        ax.plot([], [], "*", color="#5c6670", markersize=9, label="penalty by cross-validation")
        ax.set(xlabel="number of terms used", ylabel="mean AUC", xscale="log")
        ax.legend(loc="lower right")

    caption = f"{words}: mean AUC against the number of terms along the l1 path; lines: with ridge."
    return Figure("sparse-terms-auc", caption, draw, (5.8, 3.8))


def _path_figure(first: list[Any], paths: dict[str, np.ndarray], words: str) -> Figure:
    def draw(canvas: Any) -> None:
        left, right = canvas.subplots(1, 2)
        shares, weights = first
        for i, w in enumerate(weights):
            left.plot(shares, w, color=COLORS[i % len(COLORS)], linewidth=0.9)
        left.invert_xaxis()
        left.set(
            title="first target of LS-Star_1",
            xlabel="penalty / largest penalty",
            ylabel="weight of a term",
        )
        curves = {f"LS-{name}_1": list(path[:, 0]) for name, path in paths.items()}
        label = {"xlabel": "penalty / largest penalty", "ylabel": "number of terms used"}
        lines(right, SHARES, curves, title="all targets", xscale="log", yscale="log", **label)
        right.invert_xaxis()

    caption = (
        f"{words}: left, the exact path of one target, a line a term, until {STEPS} steps; right, "
        "the number of terms that any target uses."
    )
    return Figure("sparse-terms-path", caption, draw, (8.0, 3.6))


def fewest(path: np.ndarray, level: float) -> float | None:
    """The fewest terms on a path of (terms, AUC) whose AUC reaches the level."""
    enough = path[path[:, 1] >= level, 0]
    return float(enough.min()) if enough.size else None


def _data(study: Study) -> tuple[Dataset | None, int, int]:
    if study.quick:
        return ml.bag_of_words(study.seed), 200, 1
    return study.dataset("yahoo_arts"), N_TRAIN, PARTITIONS


def run(study: Study) -> Iterator[Block]:
    """AUC against the number of terms, and the path itself."""
    data, n_train, count = _data(study)
    if data is None:
        return
    splits = ml.partitions(ml.labels(data), n_train, count, study.seed)
    paths: dict[str, np.ndarray] = {}
    best: dict[str, list[float]] = {}

    def cell(name: str, i: int, what: str, work: Any) -> Any:
        def with_samples() -> Any:
            return work(name, ml.text_samples(data, splits[i][0]), splits[i], study.seed)

        return study.cell(f"{name}, {what}, partition {i + 1}", with_samples)

    for name in NAMES:
        paths[name] = np.mean([cell(name, i, "path", along_path) for i in range(count)], axis=0)
        picked = [cell(name, i, "chosen", chosen) for i in range(count)]
        best |= {row: list(np.mean([p[row] for p in picked], axis=0)) for row in picked[0]}
    first = study.cell(
        "first target, exact path",
        lambda: _first_path(ml.text_samples(data, splits[0][0]), splits[0]),
    )
    mean = f", mean of {count} partitions" if count > 1 else ""
    words = f"{data.name}, {n_train} training documents{mean}"
    yield _auc_figure(paths, best, words)
    yield _path_figure(first, paths, words)
    if study.quick:
        yield Note(ml.DRAWN_DATA)
    yield _table(best, paths)
    used = [terms for row, (_, terms) in best.items() if row.endswith("_1")]
    d = min(ml.N_TERMS, data.n_features)
    yield Claim(
        "The l1 penalty makes the least squares models sparse.",
        f"{min(used):.0f} to {max(used):.0f} of {d} terms are used",
        "holds" if max(used) < d / 2 else "holds in part",
    )
    orders = {name: cell(name, 0, "row orders", in_other_orders) for name in NAMES}
    yield Note(_order_remark(orders))
    yield Note(
        f"The papers give no numbers for the l1 penalty; they say that it makes the model sparse. "
        f"{data.name} with the {d} most frequent terms, log tf-idf, {n_train} training documents "
        f"and {count} random partition{'s' * (count > 1)}; penalties by three-fold "
        "cross-validation on the training part, from 14 values of the l1 path and from the "
        "paper's grid for the ridge. The "
        "SVMs see columns of unit length, C = 1."
    )


def _order_remark(orders: dict[str, list[int]]) -> str:
    found = "; ".join(f"{name}: {', '.join(map(str, terms))}" for name, terms in orders.items())
    return (
        "The papers regress singular vectors of H. For CCA all singular values are equal, so only "
        "the space they span is determined, and the l1 penalty depends on its basis: ours is "
        "H (H'H)^(-1/2) for every technique, in which a target stands for a label. Terms at a "
        f"fifth of the largest penalty, for the same training rows in three orders: {found}."
    )


def _table(best: dict[str, list[float]], paths: dict[str, np.ndarray]) -> Table:
    rows, values = [], []
    for row, (score, terms) in best.items():
        name = row[3:-2]
        level = 0.5 + SHARE_OF_RIDGE * (best[f"LS-{name}_2"][0] - 0.5)
        needed = fewest(paths[name], level) if row.endswith("_1") else None
        rows.append((row,))
        values.append([score, terms, needed])
    return Table(
        "Penalty by cross-validation, and how few terms are enough",
        ("method",),
        rows,
        ("mean AUC", "terms used", f"terms for {SHARE_OF_RIDGE:.0%} of the ridge's AUC above 0.5"),
        values,
        form=(".4f", ".0f", ".0f"),
    )


EXPERIMENT = Experiment(
    "sparse-terms",
    "The l1 penalty: how few terms are enough",
    "Sun, Ji and Ye (2009), extension to the l1 norm; thesis, section 4.6",
    run,
)
