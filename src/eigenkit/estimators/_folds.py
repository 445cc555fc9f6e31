"""Cross-validation inside an estimator, and estimators that pass predictions on to another.

``groups`` go to the splitter, weights to the fits. With scikit-learn's metadata routing both go
where they were requested, as in its own searches. A search predicts by the best estimator that it
has found.
"""

from __future__ import annotations

import copy
import numbers
from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from types import MethodType
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import sklearn
from scipy import sparse
from sklearn import config_context, get_config
from sklearn.base import MetaEstimatorMixin, TransformerMixin, clone, is_classifier, is_regressor
from sklearn.utils import _safe_indexing, indexable, metadata_routing
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from eigenkit.data import as_dense
from eigenkit.estimators._alphas import RULES
from eigenkit.estimators._encoding import as_labels, check_groups, check_y_given, check_y_names
from eigenkit.estimators._estimator import Estimator
from eigenkit.estimators._validation import check_weight, part_of
from eigenkit.estimators.splits import LabelStratifiedKFold, Split, splits_among
from eigenkit.moments import Blocks
from eigenkit.numerics.linalg import Array
from eigenkit.pencil import Report
from eigenkit.shell import check_at_most, check_count, lacks, what_is


def estimator_has(name: str) -> Callable[[Callable[..., Any]], Any]:
    """A decorator: the method exists only if the estimator has one of this name."""
    found: Callable[[Callable[..., Any]], Any] = available_if(
        lambda self: hasattr(self._asked(), name)
    )
    return found


class Delegating:
    """Predictions are made by another estimator, if it has the method."""

    def _asked(self) -> Any:
        """The estimator that says which methods there are, fitted or not."""
        lacks(self, "_asked")

    def _handed(self, X: Any) -> tuple[Any, Any]:
        """The fitted estimator, and X as it takes it."""
        lacks(self, "_handed")

    def _take_over(self, model: Any, *names: str) -> None:
        """Have what the model knows by these names, if it does."""
        for name in names:
            if hasattr(model, name):
                setattr(self, name, getattr(model, name))

    def _answer(self, method: str, X: Any) -> Any:
        estimator, X = self._handed(X)
        return getattr(estimator, method)(X)

    @estimator_has("predict")
    def predict(self, X: Any) -> Any:
        """Predict; see the estimator."""
        return self._answer("predict", X)

    @estimator_has("predict_proba")
    def predict_proba(self, X: Any) -> Any:
        """Class probabilities; see the estimator."""
        return self._answer("predict_proba", X)

    @estimator_has("decision_function")
    def decision_function(self, X: Any) -> Any:
        """Scores of the classes; see the estimator."""
        return self._answer("decision_function", X)

    def _score_of_blocks(self, blocks: Blocks) -> float:
        estimator, given = self._handed(blocks)
        return float(estimator.score(given))

    @estimator_has("score")
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The estimator's own score."""
        check_y_names(self, y)
        weight = {} if sample_weight is None else {"sample_weight": sample_weight}
        estimator, X = self._handed(X)
        return float(estimator.score(X, y, **weight))


class BestEstimator(Delegating, MetaEstimatorMixin, TransformerMixin, Estimator):
    """A search over an ``estimator`` that leaves ``best_estimator_``; see the subclasses."""

    estimator: Any
    best_estimator_: Any

    def _chosen(self) -> str:
        """What was chosen, and by what."""
        lacks(self, "_chosen")

    def _keep_best(self, fitted: Any) -> None:
        self.best_estimator_ = fitted
        self._take_over(fitted, "classes_", "n_features_in_", "feature_names_in_")

    def _report(self, solution: Any) -> Report:
        """How the best estimator was fitted, and why it is the one."""
        found: Report = self.best_estimator_.report_
        return found.noting(self._chosen())

    def _asked(self) -> Any:
        return getattr(self, "best_estimator_", self.estimator)

    def _handed(self, X: Any) -> tuple[Any, Any]:
        check_is_fitted(self)
        return self.best_estimator_, X

    def transform(self, X: Any, y: Any = None) -> Any:
        """Project, with y both sides where the estimator does; see the estimator."""
        check_is_fitted(self)
        return self.best_estimator_.transform(*([X] if y is None else [X, y]))

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Names of the components; see the estimator."""
        check_is_fitted(self)
        return self.best_estimator_.get_feature_names_out(input_features)

    def __sklearn_tags__(self) -> Any:
        return self.estimator.__sklearn_tags__()


def fit_head(head: Any, T: Array, y: Any, weight: Array | None = None) -> Any:
    """A predictor fitted to the scores T, for projections that make no predictions of their own.

    By default least squares; on classes with a little ridge, and scaled, as scores may be so
    short that the ridge is all there is.
    """
    y = as_dense(y)
    if head is None and y.ndim == 2:
        head = sklearn.linear_model.LinearRegression()
    elif head is None:
        head = sklearn.pipeline.make_pipeline(
            sklearn.preprocessing.StandardScaler(), sklearn.linear_model.RidgeClassifier()
        )
    with config_context(enable_metadata_routing=False):  # a pipeline takes them step by step
        return clone(head).fit(T, y, **_weights(head, weight))


def _weights(head: Any, weight: Array | None) -> dict[str, Array]:
    """The weights as keyword arguments of the head's fit; none if it takes no weights."""
    if isinstance(head, sklearn.pipeline.Pipeline):
        name, last = head.steps[-1]
        return {f"{name}__{key}": value for key, value in _weights(last, weight).items()}
    if weight is None or not has_fit_parameter(head, "sample_weight"):
        return {}
    return {"sample_weight": weight}


class Fold(NamedTuple):
    """What to fit on, with its weights or None, and what to score on."""

    X: Any
    y: Any
    weight: Array | None
    X_test: Any
    y_test: Any


def gathered(function: Any, X: Any, y: Any = None, weight: Any = None) -> tuple[Any, Any, Any]:
    """``function(X)``, which has few columns, with y and weights.

    Blocks hold their own: those of all of their rows of positive weight, in memory.
    """
    if not isinstance(X, Blocks):
        return function(X), y, weight
    found, weighted = [], False
    mapped: Any = X.map(function)
    for T, labels, w in mapped.triples():
        given = [T, labels, np.ones(len(T)) if w is None else np.asarray(w)]
        found.append([as_dense(each)[given[2] > 0] for each in given])
        weighted |= w is not None
    if not found:
        raise ValueError("X holds so few rows that a fold has none: give fewer folds (cv).")
    T, labels, weights = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return T, labels, weights if weighted else None


def answering(model: Any, X: Any) -> Any:
    """The model; for blocks a copy that predicts for all of their rows at once, as scorers need."""
    if not isinstance(X, Blocks):
        return model
    found = copy.copy(model)
    for name in ("predict", "predict_proba", "decision_function"):
        if hasattr(model, name):
            setattr(found, name, _over_blocks(getattr(model, name)))
    found.score = MethodType(model.score.__wrapped__, found)  # as of rows in memory
    return found


def _over_blocks(method: Any) -> Any:
    @wraps(method)  # scikit-learn knows methods by their names
    def answer(blocks: Any) -> Array:
        return np.asarray(gathered(method, blocks)[0])

    return answer


def _nothing(X: Any) -> Array:
    """The same rows without columns."""
    return np.empty((X.shape[0], 0))


def held_out_score(model: Any, fold: Fold, scoring: Any = None, head: Any = None) -> float:
    """The score of a model that was fitted on a fold, on the samples that the fold holds out.

    A head is fitted on the scores if one is given, or if the model makes no predictions.
    """
    if head is None and hasattr(model, "predict"):
        judged, X, y = answering(model, fold.X_test), fold.X_test, fold.y_test
    else:
        judged = fit_head(head, *gathered(model.transform, fold.X, fold.y, fold.weight))
        X, y, _ = gathered(model.transform, fold.X_test, fold.y_test)
    score = sklearn.metrics.check_scoring(judged, scoring=scoring)(judged, X, y)
    if isinstance(score, dict) or np.ndim(score):  # models are ordered by it
        raise TypeError(
            f"scoring returned {what_is(score)}: give a scorer that returns one number, or the "
            "name of one."
        )
    return float(score)


def score_table(
    fitted: Iterable[tuple[Fold, Iterable[Any]]], scoring: Any = None, head: Any = None
) -> Array:
    """Scores on every fold (rows) of the candidates that were fitted on it (columns)."""
    how = scoring, head
    return np.array([[held_out_score(m, fold, *how) for m in models] for fold, models in fitted])


class CrossValidated(Estimator):
    """An estimator with a ``cv``, and perhaps an ``estimator`` that is fitted in every fold."""

    # Groups go to the splitter: no request to the search itself is needed.
    __metadata_request__fit: ClassVar = {"groups": metadata_routing.UNUSED}

    cv: Any
    _rules: ClassVar = {"rule": RULES}

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> Self:
        """Choose by cross-validation, then fit what was chosen to all samples.

        Parameters
        ----------
        X, y, sample_weight
            As in the ``fit`` of what is chosen from. The weights count in every fit; in the
            scores, rows of zero weight are left out and all others count alike.
        groups : array of shape (n_samples,), optional
            For a splitter that keeps groups together, as GroupKFold. With scikit-learn's metadata
            routing they reach the splitter by its own request, as with GridSearchCV.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight, groups=groups)

    def get_metadata_routing(self) -> MetadataRouter:
        """What takes weights and groups; see scikit-learn's guide to metadata routing.

        Returns
        -------
        MetadataRouter
        """
        router = MetadataRouter(owner=self).add_self_request(self)
        splits = MethodMapping().add(caller="fit", callee="split")
        router.add(splitter=sklearn.model_selection.check_cv(self.cv), method_mapping=splits)
        if hasattr(self, "estimator"):
            fits = MethodMapping().add(caller="fit", callee="fit")
            router.add(estimator=self.estimator, method_mapping=fits)
        return router

    def _routed(self, X: Any, sample_weight: Any, groups: Any) -> tuple[Any, dict[str, Any]]:
        """The weights of the fits, and what the splitter gets besides X and y."""
        if groups is not None and isinstance(X, Blocks):  # folds are drawn within each block
            raise ValueError("groups are for arrays: folds of blocks do not keep groups together.")
        given = {"sample_weight": sample_weight, "groups": groups}
        given = {name: value for name, value in given.items() if value is not None}
        if not get_config()["enable_metadata_routing"]:
            return sample_weight, {"groups": given["groups"]} if "groups" in given else {}
        found = process_routing(self, "fit", **given)
        if hasattr(self, "estimator"):
            sample_weight = found.estimator.fit.get("sample_weight")
        return sample_weight, dict(found.splitter.split)

    def _block_folds(self, blocks: Any) -> Any:
        """Blocks to fit on and to score on, of as many folds as ``cv`` says."""
        return blocks.folds(5 if self.cv is None else check_count("cv", self.cv))

    def _splits(
        self,
        X: Any,
        y: Any,
        weight: Array | None,
        to_splitter: dict[str, Any],
        *,
        classifier: bool = False,
    ) -> Iterator[Split]:
        if "groups" in to_splitter:
            to_splitter = {**to_splitter, "groups": check_groups(to_splitter["groups"], y.shape[0])}
        there = np.flatnonzero(np.ones(y.shape[0]) if weight is None else weight)
        kept = _safe_indexing(y, there)
        if isinstance(self.cv, numbers.Integral):
            check_at_most("cv", int(self.cv), len(there), "the rows that have a weight", hint="")
        splitter = sklearn.model_selection.check_cv(
            self.cv, kept if classifier else None, classifier=classifier
        )
        if self.cv is None or isinstance(self.cv, numbers.Integral):
            entries = kept.data if sparse.issparse(kept) else kept
            labels = kept.ndim == 2 and kept.shape[1] > 1
            if labels and np.all((entries == 0) | (entries == 1)):
                splitter = LabelStratifiedKFold(5 if self.cv is None else int(self.cv))
        return splits_among(there, splitter, X, y, **to_splitter)


class Samples(NamedTuple):
    """What a search was given: the weights of the fits, and what the splitter gets."""

    X: Any
    y: Any
    weight: Any
    to_splitter: dict[str, Any]


class Search(CrossValidated, BestEstimator):
    """A search for parameters of an ``estimator`` by cross-validation; see the subclasses."""

    def _sample(self, X: Any, y: Any, sample_weight: Any, groups: Any = None) -> Samples:
        if not isinstance(X, Blocks):
            check_y_given(self, y)
        return Samples(X, y, *self._routed(X, sample_weight, groups))

    def _folds(self, samples: Samples, judge: Any) -> Iterator[Fold]:
        """The parts of the samples, for fits that ``judge`` scores."""
        if isinstance(samples.X, Blocks):
            for train, test in self._block_folds(samples.X):
                yield Fold(train, None, None, test, gathered(_nothing, test)[1])
            return
        X, y = indexable(samples.X, as_labels(samples.y))
        weight = check_weight(samples.weight, y.shape[0])
        # One class per sample, though a projection that takes them need not be a classifier.
        classifier = is_classifier(judge) or (y.ndim == 1 and not is_regressor(judge))
        for train, test in self._splits(X, y, weight, samples.to_splitter, classifier=classifier):
            yield Fold(
                part_of(self.estimator, X, train, train),
                _safe_indexing(y, train),
                None if weight is None else weight[train],
                part_of(self.estimator, X, test, train),
                as_dense(_safe_indexing(y, test)),  # as scores are made
            )

    def _fit_best(self, samples: Samples, **parameters: Any) -> None:
        model = clone(self.estimator).set_params(**parameters)
        self._keep_best(model.fit(samples.X, samples.y, samples.weight))
