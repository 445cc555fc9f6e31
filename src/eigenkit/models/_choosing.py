"""How good a method is on rows that it has not seen, and with how many components it is best.

Components come in order: one fit with many serves every smaller number. What is put on the first
l scores is what a model file puts there: a linear classifier for every class or label, least
squares for numbers. Methods that predict classes themselves are refitted and judged by what they
say.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.utils import get_tags

from eigenkit.estimators._alphas import path_of_alphas
from eigenkit.estimators.splits import stratify
from eigenkit.evaluation.metrics import mean_auc, mean_r2, r2_by_least_squares
from eigenkit.evaluation.samples import splits_of
from eigenkit.exceptions import DegenerateDataWarning
from eigenkit.models._linear import SVM, fit_linear
from eigenkit.numerics.linalg import Array

# What is reported, and what choices are made by, as in comparisons: where one class is common, the
# share of right answers is the same for all models that name nothing else.
SCORES = {"classes": "accuracy", "labels": "mean AUC", "numbers": "R2"}
CHOSEN_BY = {**SCORES, "classes": "mean AUC"}
# More components than this are rarely wanted, and cost a fit in every fold.
MOST_COMPONENTS = 30


def fold_of_rows(kind: str, y: Array, cv: int, seed: int, groups: Any = None) -> np.ndarray:
    """The fold of every row, with an even share of every class, and groups in one fold."""
    rng = np.random.default_rng(seed)
    if groups is not None:
        Y = y[:, None] == np.unique(y) if kind == "classes" else y.reshape(len(y), -1)
        return stratify(Y[:, :0] if kind == "numbers" else Y, [1.0] * cv, rng, groups)
    order = rng.permutation(len(y))
    if kind == "classes":
        order = order[np.argsort(y[order], kind="stable")]
    fold = np.empty(len(y), dtype=np.intp)
    fold[order] = np.arange(len(y)) % cv  # dealt out like cards, class after class
    return fold


def folds_of(kind: str, y: Array, cv: int, seed: int, groups: Any = None) -> list[tuple[Any, Any]]:
    """Rows to fit on and to measure on."""
    return [*splits_of(fold_of_rows(kind, y, cv, seed, groups), cv)]


@dataclass(frozen=True)
class Part:
    """Some rows in memory, as they are before filling in and scaling, to choose by."""

    kind: str
    X: Any
    y: np.ndarray
    cv: int
    seed: int
    prepare: Any = None  # learns from the rows to fit on how rows become features
    classifier: str = SVM
    groups: np.ndarray | None = None  # rows that belong together

    def __iter__(self) -> Iterator[tuple[Any, np.ndarray]]:
        yield self.prepare(self.X)(self.X), self.y

    @property
    def shape(self) -> tuple[int, int]:
        """Of X."""
        n, d = self.X.shape
        return int(n), int(d)

    def folds(self) -> Iterator[tuple[Any, Any]]:
        """Rows to fit on and to measure on, each as one block (X, y)."""
        for both in self._folds():
            parts = [self.X[rows] for rows in both]
            if self.prepare is not None:
                parts = [*map(self.prepare(parts[0]), parts)]
            train, test = ([(X, self.y[rows])] for X, rows in zip(parts, both, strict=True))
            yield train, test

    def parts(self, cv: int) -> Iterator[Part]:
        """The rows to fit on of every fold, to be divided once more."""
        for train, _ in self._folds():
            groups = None if self.groups is None else self.groups[train]
            yield replace(self, X=self.X[train], y=self.y[train], cv=cv, groups=groups)

    def _folds(self) -> list[tuple[Any, Any]]:
        return folds_of(self.kind, self.y, self.cv, self.seed, self.groups)


def scores_by_components(estimator: Any, rows: Any) -> Array:
    """Score (folds x components) with the first 1, 2, ... components.

    ``rows`` are a :class:`Part` or have its attributes. A fold is two collections of blocks
    (X, y): a list of one, or :class:`RowBlocks`.
    """
    found = []
    for train, test in rows.folds():
        whole = _whole(train)
        fitted = _fitted(estimator, whole)
        if rows.kind == "classes" and is_classifier(fitted):
            widths = range(1, len(fitted.get_feature_names_out()) + 1)
            models = (clone(fitted).set_params(n_components=l).fit(*whole) for l in widths)
            found.append([_score_of(model, train, test, rows, CHOSEN_BY) for model in models])
            continue
        (Z, y), (Z_new, y_new) = (_of_all(fitted.transform, part) for part in (train, test))
        widths = range(1, Z.shape[1] + 1)
        found.append([_score(rows, CHOSEN_BY, Z[:, :l], y, Z_new[:, :l], y_new) for l in widths])
    shortest = min(map(len, found))
    return np.array([scores[:shortest] for scores in found])


def _whole(train: Any) -> tuple[Any, Any]:
    """X and y to fit on; blocks have their y with them."""
    return train[0] if isinstance(train, list) else (train, None)


def _fitted(estimator: Any, whole: Any) -> Any:
    """Fitted with ``n_components``, or as many as these rows allow: views and y may be narrow."""
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
    """Score of every fold, with all components, or of the method's own predictions.

    There is an estimator for every fold.
    """
    both = zip(rows.folds(), estimators, strict=False)
    fitted = ((clone(e).fit(*_whole(train)), train, test) for (train, test), e in both)
    return np.array([_score_of(*fold, rows, SCORES) for fold in fitted])


def scores_by_alpha(estimator: Any, rows: Any, alphas: Sequence[float]) -> Array:
    """The same (folds x alphas) for every alpha."""
    found = []
    for train, test in rows.folds():
        models = path_of_alphas(estimator, *_whole(train), alphas)
        found.append([_score_of(model, train, test, rows, CHOSEN_BY) for model in models])
    return np.array(found)


def _score_of(fitted: Any, train: Any, test: Any, rows: Any, by: dict[str, str]) -> float:
    if rows.kind == "numbers":
        told, y = (part.reshape(len(part), -1) for part in _of_all(fitted.predict, test))
        return mean_r2(y, told, otherwise=0.0)
    if rows.kind == "classes" and is_classifier(fitted):
        S, y = _of_all(partial(_class_scores, fitted, by[rows.kind]), test)
        return _score_of_classes(by[rows.kind], fitted.classes_, S, y)
    (Z, y), (Z_new, y_new) = (_of_all(fitted.transform, part) for part in (train, test))
    return _score(rows, by, Z, y, Z_new, y_new)


def _class_scores(fitted: Any, score: str, X: Any) -> Array:
    """A score for every class: what is predicted, or what compares rows, too, where there is it."""
    if score == "accuracy":
        return np.asarray(np.asarray(fitted.predict(X))[:, None] == fitted.classes_, dtype=float)
    if hasattr(fitted, "predict_proba"):
        return np.asarray(fitted.predict_proba(X))
    S = np.asarray(fitted.decision_function(X))
    return np.column_stack([-S, S]) if S.ndim == 1 else S


def _score_of_classes(score: str, classes: Array, S: Array, y: Array) -> float:
    if score == "accuracy":
        return float(np.mean(classes[S.argmax(axis=1)] == y))
    return mean_auc(np.asarray(y[:, None] == classes, dtype=np.float64), S)


def fits_per_fold(kind: str) -> int:
    """How many fits the choice of components takes in a fold, at most."""
    return 1 + MOST_COMPONENTS if kind == "classifier" else 1


def _of_all(function: Any, part: Iterable[tuple[Any, Array]]) -> tuple[Array, Array]:
    """``function`` of X, and y, of all blocks together."""
    found, y = zip(*((np.asarray(function(X)), y) for X, y in part), strict=True)
    return np.concatenate(found), np.concatenate(y)


def _score(rows: Any, by: dict[str, str], Z: Array, y: Array, Z_new: Array, y_new: Array) -> float:
    Z, Z_new = (np.asarray(part, dtype=np.float64) for part in (Z, Z_new))
    if rows.kind == "numbers":
        Y, Y_new = (part.reshape(len(part), -1) for part in (y, y_new))
        return r2_by_least_squares(Z, Y, Z_new, Y_new, otherwise=0.0)
    classes = np.unique(y) if rows.kind == "classes" else None
    Y = y if classes is None else (y[:, None] == classes)
    rule = fit_linear(Z, np.asarray(Y, dtype=np.float64), rows.classifier, classes is not None)
    S = rule.decision(Z_new)
    if classes is not None:
        return _score_of_classes(by["classes"], classes, S, y_new)
    return mean_auc(y_new, S)


def most_components(estimator: Any, shape: tuple[int, int], cv: int) -> int | None:
    """How many to try: all that the method finds, or a bound where it needs a number."""
    if estimator.get_params()["n_components"] is None:
        return None
    smallest = shape[0] - -(-shape[0] // cv) - 1
    return int(max(1, min(MOST_COMPONENTS, shape[1], smallest)))


def choose_components(estimator: Any, rows: Any) -> tuple[int, Array]:
    """The number of components with the best mean score, and all scores."""
    most = most_components(estimator, rows.shape, rows.cv)
    largest = clone(estimator).set_params(n_components=most)
    with warnings.catch_warnings():  # that there are fewer than are tried concerns nobody
        warnings.simplefilter("ignore", DegenerateDataWarning)
        scores = scores_by_components(largest, rows)
    return int(np.argmax(scores.mean(axis=0))) + 1, scores


class ComponentsCV(BaseEstimator):
    """A projection whose number of components is chosen by cross-validation, for comparisons.

    Parameters
    ----------
    estimator : projection
    cv : int
    random_state : int
        Of the folds.
    """

    def __init__(self, estimator: Any, cv: int = 5, random_state: int = 0) -> None:
        self.estimator = estimator
        self.cv = cv
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.estimator_type, tags.classifier_tags = inner.estimator_type, inner.classifier_tags
        return tags

    def choose(self, X: Any, y: Any, prepare: Any = None, groups: Any = None) -> Any:
        """The projection, not fitted, with the number of components that is best.

        ``prepare`` learns from the rows to fit on, in every fold, how rows become features. Rows of
        one of the ``groups`` are in one fold.
        """
        y = np.asarray(y)
        kind = "labels" if y.ndim == 2 and np.isin(y, (0, 1)).all() else "numbers"
        kind = "classes" if y.ndim == 1 and is_classifier(self.estimator) else kind
        rows = Part(kind, X, y, self.cv, self.random_state, prepare, groups=groups)
        l, _ = choose_components(self.estimator, rows)
        return clone(self.estimator).set_params(n_components=l)

    def fit(self, X: Any, y: Any) -> Any:
        """The projection that is chosen, fitted on all rows."""
        return self.choose(X, y).fit(X, y)
