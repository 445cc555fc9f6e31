"""Compare methods that predict numbers: R2, RMSE and MAE on rows that no method has seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import sklearn
from sklearn.base import BaseEstimator, clone

from eigenkit.estimators._base import path_of_alphas
from eigenkit.estimators._encoding import as_labels, check_numeric_Y
from eigenkit.estimators._validation import check_X
from eigenkit.estimators.splits import Split
from eigenkit.evaluation.detail import MAX_RESPONSES, MAX_WORST, Detail, by_components
from eigenkit.evaluation.metrics import NUMBER_METRICS, score_numbers
from eigenkit.evaluation.samples import Prepare, Samples, name_columns
from eigenkit.evaluation.splits import plain_folds
from eigenkit.evaluation.trial import Outcome, Plan, best_alpha, clock, trial
from eigenkit.linalg import Array
from eigenkit.record import Worst


def read_numbers(
    X: Any,
    Y: Any,
    feature_names: Sequence[str] | None,
    response_names: Sequence[str] | None,
    prepare: Prepare | None = None,
) -> Samples:
    """Features and responses, validated once."""
    names = [getattr(table, "columns", None) for table in (X, Y)]
    X = X if prepare else check_X(BaseEstimator(), X, reset=True, min_samples=4)
    Y = check_numeric_Y(as_labels(Y), X.shape[0]).astype(np.float64, copy=False)
    Y = Y.reshape(len(Y), -1)
    return Samples(
        X,
        Y,
        name_columns("feature_names", feature_names or names[0], X.shape[1], "feature"),
        name_columns("response_names", response_names or names[1], Y.shape[1], "response"),
        False,
        prepare,
    )


def number_baselines() -> dict[str, Any]:
    """Plain comparisons: ridge regression on all features, and the mean."""
    return {
        "ridge regression": sklearn.linear_model.Ridge(),
        "mean": sklearn.dummy.DummyRegressor(),
    }


def run_number_trial(estimator: Any, samples: Samples, split: Split, plan: Plan) -> Outcome:
    """One method on one split; what goes wrong inside it is part of the outcome."""
    return trial(lambda outcome: _run(estimator, samples, split, plan, outcome))


def _run(estimator: Any, samples: Samples, split: Split, plan: Plan, outcome: Outcome) -> None:
    (X, Y), (X_new, Y_new) = samples.parts(split)
    if plan.alphas and "alpha" in estimator.get_params():
        with clock(outcome, "choose alpha"):
            scores = _search(estimator, samples, split[0], plan)
            outcome.alpha = best_alpha(plan.alphas, scores, "r2", True)
            outcome.alpha_scores = scores.tolist()
        estimator = clone(estimator).set_params(alpha=outcome.alpha)
    with clock(outcome, "fit"):
        fitted = clone(estimator).fit(X, _flat(Y))
    with clock(outcome, "predict"):
        P = np.asarray(fitted.predict(X_new), dtype=np.float64).reshape(Y_new.shape)
    if not np.isfinite(P).all():
        raise ValueError("the predictions hold numbers that are not finite.")
    outcome.model = fitted
    found = score_numbers(Y_new, P)
    for name, row in zip(NUMBER_METRICS, found, strict=True):
        outcome.scores[name] = float(np.nanmean(row)) if np.isfinite(row).any() else float("nan")
        outcome.scores |= {f"{name}:{j}": float(value) for j, value in enumerate(row)}
    if plan.detail:
        outcome.detail = Detail(worst=_worst(Y_new, P, Y.std(axis=0), split[1]))
        outcome.detail.by_components = _with_fewer(fitted, X, Y, X_new, Y_new)
        near = P[:, :MAX_RESPONSES].tolist()
        outcome.predicted = {str(i): row for i, row in zip(split[1], near, strict=True)}


def _worst(Y: Array, P: Array, unit: Array, rows: Array) -> list[list[float]]:
    """Row, error in deviations of the response, the response, observed and predicted."""
    errors = np.abs(Y - P) / np.where(unit > 0, unit, 1.0)
    which = errors.argmax(axis=1)
    order = np.argsort(-errors.max(axis=1), kind="stable")[:MAX_WORST]
    return [
        [int(rows[i]), float(errors[i, j]), int(j), float(Y[i, j]), float(P[i, j])]
        for i, j in zip(order, which[order], strict=True)
    ]


def worst_predictions(details: list[Detail]) -> list[Worst]:
    """The largest errors over all splits, each row once."""
    found: dict[int, Worst] = {}
    for row, loss, j, y, p in sorted((w for d in details for w in d.worst), key=lambda w: -w[1]):
        found.setdefault(int(row), Worst(int(row), float(f"{loss:.4g}"), [int(j)], [], y, p))
    return list(found.values())[:MAX_WORST]


def _with_fewer(fitted: Any, X: Any, Y: Array, X_new: Any, Y_new: Array) -> dict[str, float]:
    """R2 of least squares on the first components alone."""
    if not hasattr(fitted, "transform"):
        return {}
    Z, Z_new = (np.asarray(fitted.transform(part), dtype=np.float64) for part in (X, X_new))

    def r2_with(l: int) -> float:
        A, A_new = (np.column_stack([np.ones(len(part)), part[:, :l]]) for part in (Z, Z_new))
        P = A_new @ np.linalg.lstsq(A, Y, rcond=None)[0]
        return float(np.nanmean(score_numbers(Y_new, P)[0]))

    return by_components(Z, r2_with)


def _search(estimator: Any, samples: Samples, rows: Array, plan: Plan) -> Array:
    """R2 (inner folds x alphas) on the training rows alone."""
    found = []
    for train, test in plain_folds(len(rows), plan.inner_cv, np.random.default_rng(plan.seed)):
        (X, Y), (X_new, Y_new) = samples.parts((rows[train], rows[test]))
        models = path_of_alphas(estimator, X, _flat(Y), plan.alphas)
        told = [np.asarray(m.predict(X_new)).reshape(Y_new.shape) for m in models]
        found.append([float(np.nanmean(score_numbers(Y_new, P)[0])) for P in told])
    return np.array(found)


def _flat(Y: Array) -> Array:
    return Y[:, 0] if Y.shape[1] == 1 else Y
