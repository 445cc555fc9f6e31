"""Rows in memory: how good a method is on those it has not seen, and its best settings.

Components come in order: one fit with many serves every smaller number. What is put on the first
l scores is what a model file puts there: a linear classifier for every class or label, least
squares for numbers. Methods that predict classes themselves are refitted and judged by what they
say.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import repeat
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.utils import get_tags

from eigenkit.estimators._alphas import largest_of_best, path_of_alphas, rises, search_alphas
from eigenkit.estimators.registry import Method
from eigenkit.estimators.splits import Split, dealt, splits_of, stratify
from eigenkit.evaluation.metrics import mean_auc, mean_r2, r2_by_least_squares
from eigenkit.exceptions import DegenerateDataWarning
from eigenkit.files import Target
from eigenkit.models._linear import SVM, ScoreSums, fit_linear, scores_of, sums_of
from eigenkit.numerics.linalg import Array
from eigenkit.shell import time_of

# What is reported, and what choices are made by, as in comparisons: if one class is frequent, all
# models that predict nothing else have the same accuracy.
SCORES = {"classes": "accuracy", "labels": "mean AUC", "numbers": "R2"}
CHOSEN_BY = {**SCORES, "classes": "mean AUC"}
# More components than this are rarely wanted, and cost a fit in every fold.
MOST_COMPONENTS = 30
# The alphas of a grid of our own.
_GRID = 7
# With fewer entries (stored ones, if X is sparse) and fewer seconds of work, no forecast is needed.
LARGE, WORTH_SAYING = 1_000_000, 5.0
# With more entries than this, cross-validation takes too long if it only measures the quality.
_MOST_ENTRIES = 20_000_000
# Folds inside a fold, at most.
_INNER = 3


def fold_of_rows(kind: str, y: Array, cv: int, seed: int, groups: Any = None) -> np.ndarray:
    """The fold of every row, with an even share of every class, and groups in one fold."""
    rng = np.random.default_rng(seed)
    if groups is None:
        return dealt(y if kind == "classes" else None, len(y), cv, rng)
    Y = y[:, None] == np.unique(y) if kind == "classes" else y.reshape(len(y), -1)
    return stratify(Y[:, :0] if kind == "numbers" else Y, [1.0] * cv, rng, groups)


class FitRows(Iterable[tuple[Any, np.ndarray]]):
    """Blocks (X, y), filled in and scaled, that can be asked for again and again.

    Their ``folds`` are pairs of blocks to fit on and to measure on; what fills in and scales is
    learned from those to fit on.
    """

    def scores(self, projection: Any) -> Iterable[tuple[Array, np.ndarray]]:
        """Scores and labels of every block."""
        return ((scores_of(projection, X), y) for X, y in self)

    def sums(self, projection: Any, target: Target) -> ScoreSums | None:
        """The sums of the scores of all rows."""
        return sums_of(((X, y, None) for X, y in self), projection, target)


@dataclass(frozen=True)
class InMemory(FitRows):
    """All rows as one block."""

    kind: str  # of the labels
    X: Any  # as it is before filling in and scaling
    y: np.ndarray
    cv: int  # folds, and how they are drawn
    seed: int
    prepare: Any = None  # learns from the rows to fit on how rows become features
    classifier: str = SVM  # on top of a projection
    groups: np.ndarray | None = None  # rows that belong together
    prepared: Any = None  # X as it is after filling in and scaling, where that is known

    def __iter__(self) -> Iterator[tuple[Any, np.ndarray]]:
        yield self.prepare(self.X)(self.X) if self.prepared is None else self.prepared, self.y

    @property
    def shape(self) -> tuple[int, int]:
        """Of X."""
        n, d = self.X.shape
        return int(n), int(d)

    def folds(self) -> Iterator[tuple[Any, Any]]:
        """Each part as a list of one block."""
        for both in self.splits():
            parts = [self.X[rows] for rows in both]
            if self.prepare is not None:
                parts = [*map(self.prepare(parts[0]), parts)]
            train, test = ([(X, self.y[rows])] for X, rows in zip(parts, both, strict=True))
            yield train, test

    def parts(self, cv: int) -> Iterator[InMemory]:
        """The rows to fit on of every fold, to be divided once more."""
        for train, _ in self.splits():
            groups = None if self.groups is None else self.groups[train]
            some = {"X": self.X[train], "y": self.y[train], "prepared": None}
            yield replace(self, **some, cv=cv, groups=groups)

    def splits(self) -> list[Split]:
        """The numbers of the rows to fit on and to measure on, for every fold."""
        folds = fold_of_rows(self.kind, self.y, self.cv, self.seed, self.groups)
        return [*splits_of(folds, self.cv)]

    def fit(self, estimator: Any, searched: bool = False) -> Any:
        """The estimator, fitted to all rows."""
        ((X, y),) = self
        return estimator.fit(X, y)


def scores_by_components(estimator: Any, rows: Any) -> Array:
    """Score (folds x components) with the first 1, 2, ... components.

    A fold of the ``rows`` is two collections of blocks (X, y): a list of one, or
    :class:`RowBlocks`.
    """
    found, by = [], CHOSEN_BY[rows.kind]
    for train, test in rows.folds():
        whole = _whole(train)
        fitted = _fitted(estimator, whole)
        if rows.kind == "classes" and is_classifier(fitted):
            widths = range(1, len(fitted.get_feature_names_out()) + 1)
            models = (clone(fitted).set_params(n_components=l).fit(*whole) for l in widths)
            found.append([_score_of(model, train, test, rows, by) for model in models])
            continue
        (Z, y), (Z_new, y_new) = (_of_all(fitted.transform, part) for part in (train, test))
        widths = range(1, Z.shape[1] + 1)
        found.append([_score(rows, by, Z[:, :l], y, Z_new[:, :l], y_new) for l in widths])
    shortest = min(map(len, found))
    return np.array([scores[:shortest] for scores in found])


def _whole(train: Any) -> tuple[Any, Any]:
    """The arguments of ``fit``; blocks hold their own y."""
    return train[0] if isinstance(train, list) else (train, None)


def _fitted(estimator: Any, whole: Any) -> Any:
    """Fitted with ``n_components``, or as many as the rows allow: a view or y may be narrow."""
    model = clone(estimator)
    while True:
        try:
            return model.fit(*whole)
        except ValueError:
            l = model.get_params()["n_components"]
            if l is None or l <= 1:
                raise
            model.set_params(n_components=l - 1)


def cross_validated(estimators: Iterable[Any], rows: Any) -> Array:
    """Score of every fold, each with an estimator: all components, or what it predicts itself."""
    both = zip(rows.folds(), estimators, strict=False)
    fitted = ((clone(e).fit(*_whole(train)), train, test) for (train, test), e in both)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.array([_score_of(*fold, rows, SCORES[rows.kind]) for fold in fitted])


def scores_by_alpha(estimator: Any, rows: Any, alphas: Sequence[float]) -> Array:
    """Score (folds x alphas) with every alpha."""
    found = []
    for train, test in rows.folds():
        models = path_of_alphas(estimator, *_whole(train), alphas)
        by = CHOSEN_BY[rows.kind]
        found.append([_score_of(model, train, test, rows, by) for model in models])
    return np.array(found)


def _score_of(fitted: Any, train: Any, test: Any, rows: Any, by: str) -> float:
    if rows.kind == "numbers":
        told, y = (part.reshape(len(part), -1) for part in _of_all(fitted.predict, test))
        return mean_r2(y, told, otherwise=0.0)
    if rows.kind == "classes" and is_classifier(fitted):
        if by == "accuracy":
            told, y = _of_all(fitted.predict, test)
            return float(np.mean(told == y))
        S, y = _of_all(getattr(fitted, "predict_proba", None) or fitted.decision_function, test)
        S = np.column_stack([-S, S]) if S.ndim == 1 else S
        return mean_auc(np.asarray(y[:, None] == fitted.classes_, dtype=np.float64), S)
    (Z, y), (Z_new, y_new) = (_of_all(fitted.transform, part) for part in (train, test))
    return _score(rows, by, Z, y, Z_new, y_new)


def _of_all(function: Any, part: Iterable[tuple[Any, Array]]) -> tuple[Array, Array]:
    """``function`` of X for all blocks together, and their y."""
    found, y = zip(*((np.asarray(function(X)), y) for X, y in part), strict=True)
    return np.concatenate(found), np.concatenate(y)


def _score(rows: Any, by: str, Z: Array, y: Array, Z_new: Array, y_new: Array) -> float:
    Z, Z_new = (np.asarray(part, dtype=np.float64) for part in (Z, Z_new))
    if rows.kind == "numbers":
        Y, Y_new = (part.reshape(len(part), -1) for part in (y, y_new))
        return r2_by_least_squares(Z, Y, Z_new, Y_new, otherwise=0.0)
    Y, Y_new = y, y_new
    single = rows.kind == "classes"
    if single:
        classes = np.unique(y)
        Y, Y_new = y[:, None] == classes, y_new[:, None] == classes
    S = fit_linear(Z, np.asarray(Y, dtype=np.float64), rows.classifier, single).decision(Z_new)
    if single and by == "accuracy":
        return float(np.mean(classes[S.argmax(axis=1)] == y_new))
    return mean_auc(np.asarray(Y_new, dtype=np.float64), S)


def choose_components(estimator: Any, rows: Any) -> tuple[int, Array]:
    """The number of components with the best mean score, and all scores."""
    most = estimator.get_params()["n_components"]  # None stands for all that the method finds
    if most is not None:
        n, d = rows.shape
        most = max(1, min(MOST_COMPONENTS, d, n - -(-n // rows.cv) - 1))
    largest = clone(estimator).set_params(n_components=most)
    with warnings.catch_warnings():  # fewer components than are tried are no problem
        warnings.simplefilter("ignore", DegenerateDataWarning)
        scores = scores_by_components(largest, rows)
    return int(np.argmax(scores.mean(axis=0))) + 1, scores


@dataclass(frozen=True)
class Choice:
    """A method with its parameters, and which of them cross-validation chooses."""

    method: Method
    params: dict[str, Any]
    # Those to choose from, or a function of X that gives them.
    alphas: Sequence[float] | Callable[[Any], Sequence[float]] | None = None
    components: str | None = None  # "cv" if their number is chosen

    def made(self, rows: Any) -> tuple[Any, dict[str, Any]]:
        """The estimator with the best settings, not yet fitted, and a record of the search."""
        estimator, searches = self.method.make(**self.params), dict[str, Any]()
        if not isinstance(rows, InMemory) and not hasattr(estimator, "partial_fit"):
            raise ValueError(f"{self.method.name} cannot be fitted in blocks: leave --stream out.")
        if self.components == "cv":
            l, scores = choose_components(estimator, rows)
            estimator.set_params(n_components=l)
            told = {"values": list(range(1, scores.shape[1] + 1)), **_searched(scores, rows)}
            searches["component_search"] = told
        if self.alphas is not None:
            alpha, searches["alpha_search"] = _search(estimator, self.alphas, rows)
            estimator.set_params(alpha=alpha)
        return estimator, searches

    def forecast(self, rows: InMemory, measured: bool, say: Callable[[str], None]) -> None:
        """Time one fit, and say how long all will take, if that is long; one more for each fold if
        the quality is ``measured``.
        """
        chooses = self.alphas is not None or self.components == "cv"
        ((X, y),) = rows
        if not chooses or X.size < LARGE:
            return
        grid = () if self.alphas is None else self.alphas
        in_fold = _GRID if callable(grid) else len(grid)  # fits, at most
        if self.components == "cv":
            in_fold += 1 + (MOST_COMPONENTS if self.method.kind == "classifier" else 0)
        n_fits = rows.cv * (in_fold + int(measured)) + 1
        train, _ = rows.splits()[0]
        begun = time.monotonic()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.method.make(**self.params).fit(X[train], y[train])
        one = time.monotonic() - begun
        if one * n_fits > WORTH_SAYING:
            needs = f"needs at most {n_fits} fits, about {time_of(one * n_fits)} or less"
            say(f"one fit takes {one:.1f} s: the choice by cross-validation {needs}")


def _searched(scores: np.ndarray, rows: Any) -> dict[str, Any]:
    """What a model file keeps of a search."""
    mean, std = scores.mean(axis=0), scores.std(axis=0, ddof=1)
    found = {"mean_score": mean.tolist(), "std_score": std.tolist()}
    return {**found, "score": CHOSEN_BY[rows.kind], "folds": rows.cv}


def _search(estimator: Any, alphas: Any, rows: Any) -> tuple[float, dict[str, Any]]:
    """The alpha that is best on rows left out, and a record of all scores."""
    if "alpha" not in estimator.get_params(deep=False):
        name = type(estimator).__name__
        raise ValueError(f"{name} has no alpha to choose: leave --alpha cv out.")
    ours = callable(alphas)  # a grid of our own is made for the first block, and grows
    grid = alphas(next(iter(rows))[0]) if ours else alphas

    scores_of = partial(scores_by_alpha, estimator, rows)
    tried, scores, best = search_alphas(grid, scores_of, largest_of_best, grows=ours)
    told = {"alphas": tried, **_searched(scores, rows)}
    return tried[best], {**told, "at_the_end": rises(scores.mean(axis=0), best)}


def quality_of(
    estimator: Any, rows: InMemory, took: float, choice: Choice | None, say: Callable[[str], None]
) -> dict[str, Any]:
    """The score on rows left out, or an error if it cannot be computed or would take too long.

    A choice is made again in every fold, as one made with all rows has seen those left out. With
    many entries this matters less, and takes too long.
    """
    ((X, y),) = rows
    if X.size > _MOST_ENTRIES:
        raise ValueError(f"{X.size:,} numbers would take long")
    if len(y) < 2 * rows.cv:
        raise ValueError(f"{len(y)} rows are too few for {rows.cv} folds")
    estimators: Iterator[Any] = repeat(estimator)
    nested = choice is not None and X.size < LARGE
    if choice is not None and nested:
        estimators = (choice.made(part)[0] for part in rows.parts(min(rows.cv, _INNER)))
        if _INNER * took > WORTH_SAYING:
            again = f"it is chosen again in {rows.cv} folds, in about {time_of(_INNER * took)}"
            say(f"to say how good that is, {again}: --no-quality leaves that out")
    try:
        found = cross_validated(estimators, rows)
    except ValueError:  # a small class is missing in a fold of some fold
        if not nested:
            raise
        found, nested = cross_validated(repeat(estimator), rows), False
    score = {"mean": float(found.mean()), "std": float(found.std(ddof=1))}
    # Of ignoring the features: the commonest class, chance, or the mean.
    without = {"labels": 0.5, "numbers": 0.0}.get(rows.kind)
    if without is None:
        without = float(np.unique(y, return_counts=True)[1].max() / len(y))
    told = {"folds": rows.cv, "nested": nested, "without_features": without}
    return {"score": SCORES[rows.kind], **score, **told}


class ComponentsCV(BaseEstimator):
    """A projection whose number of components is chosen by cross-validation, for comparisons."""

    def __init__(self, estimator: Any, cv: int = 5) -> None:
        self.estimator = estimator
        self.cv = cv

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.estimator_type, tags.classifier_tags = inner.estimator_type, inner.classifier_tags
        return tags

    def choose(self, X: Any, y: Any, prepare: Any = None, groups: Any = None) -> Any:
        """The projection with the best number of components, not yet fitted.

        ``prepare`` learns from the rows to fit on, in every fold, how rows become features. Rows of
        one of the ``groups`` are in one fold.
        """
        y = np.asarray(y)
        kind = "labels" if y.ndim == 2 and np.isin(y, (0, 1)).all() else "numbers"
        kind = "classes" if y.ndim == 1 and is_classifier(self.estimator) else kind
        rows = InMemory(kind, X, y, self.cv, 0, prepare, groups=groups)
        l, _ = choose_components(self.estimator, rows)
        return clone(self.estimator).set_params(n_components=l)

    def fit(self, X: Any, y: Any) -> Any:
        """The chosen projection, fitted on all rows."""
        return self.choose(X, y).fit(X, y)
