"""Compare methods that predict numbers: R2, RMSE and MAE on rows that no method has seen."""

from __future__ import annotations

from typing import Any

import numpy as np
import sklearn
from sklearn.base import clone

from eigenkit.estimators.splits import Split
from eigenkit.evaluation.detail import MAX_RESPONSES, MAX_WORST, Detail, by_components
from eigenkit.evaluation.metrics import NUMBER_METRICS, score_numbers
from eigenkit.evaluation.samples import Part, Samples
from eigenkit.evaluation.trial import Outcome, Plan, choose_alpha, clock
from eigenkit.linalg import Array
from eigenkit.record.schema import Worst


def number_baselines() -> dict[str, Any]:
    """Plain comparisons: ridge regression on all features, and the mean."""
    return {
        "ridge regression": sklearn.linear_model.Ridge(),
        "mean": sklearn.dummy.DummyRegressor(),
    }


def run_numbers(
    estimator: Any, samples: Samples, split: Split, plan: Plan, outcome: Outcome
) -> None:
    """One method on one split: choose alpha, fit, predict, measure."""
    (X, Y), (X_new, Y_new) = samples.parts(split)
    if plan.alphas and "alpha" in estimator.get_params():
        estimator = choose_alpha(estimator, samples, split[0], plan, outcome, _flat, _judge)
    with clock(outcome, "fit"):
        fitted = clone(estimator).fit(X, _flat(Y))
    with clock(outcome, "predict"):
        P = _predicted(fitted, X_new, Y_new)
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
        return _r2(Y_new, P)

    return by_components(Z, r2_with)


def _judge(model: Any, known: Part, new: Part) -> float:
    return _r2(new[1], _predicted(model, *new))


def _predicted(model: Any, X: Any, Y: Array) -> Array:
    """What is predicted for X, in the shape of Y."""
    return np.asarray(model.predict(X), dtype=np.float64).reshape(Y.shape)


def _r2(Y: Array, P: Array) -> float:
    """The mean over the responses."""
    return float(np.nanmean(score_numbers(Y, P)[0]))


def _flat(Y: Array) -> Array:
    return Y[:, 0] if Y.shape[1] == 1 else Y
