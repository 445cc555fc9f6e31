"""One method on one split: choose alpha, project, classify, measure.

Nothing here sees a test row before the projection, the scale and the classifier are fixed.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils import get_tags

from eigenkit.estimators._alphas import largest_of_best, path_of_alphas, search_alphas
from eigenkit.estimators.splits import Split, k_fold
from eigenkit.evaluation import metrics
from eigenkit.evaluation.classifiers import decide, decide_by_ridge, decide_directly
from eigenkit.evaluation.detail import Outcome, by_components, keep_detail, keep_errors
from eigenkit.evaluation.samples import Part, Samples
from eigenkit.numerics.linalg import Array

Forecast = Callable[[float, float, int], None]

# A rehearsal, which estimates how long a run will take, uses one in _SHARE of the training rows,
# but at least _FEW_ROWS. It is worth its time with many rows, or many numbers in X times labels.
_SHARE, _FEW_ROWS, _MANY_ROWS, _MANY_NUMBERS = 16, 80, 2000, 1_000_000


@dataclass(frozen=True)
class Plan:
    """What is the same for every method and split.

    ``grows`` says that the grid of alphas is extended while scores rise at one of its ends;
    ``scale`` brings the columns of projections to a common scale before the classifier;
    ``detail`` asks for what the report shows beyond the scores.
    """

    classifier: Any
    alphas: list[float]
    inner_cv: int
    alpha_score: str
    alpha_classifier: str
    seed: int
    scale: bool = True
    detail: bool = False
    grows: bool = False


def _run_labels(method: Any, samples: Samples, split: Split, plan: Plan, outcome: Outcome) -> None:
    """Labels: choose alpha, project, classify, measure."""
    (X, Y), (X_new, Y_new) = samples.parts(split)
    single = samples.single
    method = _with_choices(method, samples, split[0], plan, outcome)
    with clock(outcome, "fit"):
        fitted = fit_one(method, X, Y, single)
    Z: Any = None
    with clock(outcome, "classify"):
        if fitted is None:
            S, P, fitted = decide_directly(method, X, Y, X_new, single)
        else:
            Z, Z_new = project_rows(fitted, X), project_rows(fitted, X_new)
            S, P = decide(plan.classifier, Z, Y, Z_new, single, plan.scale)
    if not np.all(np.isfinite(S)):
        raise ValueError("the scores hold numbers that are not finite.")
    outcome.model = fitted
    outcome.scores = metrics.score_all(Y_new, S, P)
    if not plan.detail:
        return
    keep_detail(outcome, Y_new, S, P, split[1], single)
    if Z is not None and not isinstance(fitted, str):

        def auc_with(l: int) -> float:
            S, _ = decide(plan.classifier, Z[:, :l], Y, Z_new[:, :l], single, plan.scale)
            return metrics.mean_auc(Y_new, S, otherwise=np.nan)

        outcome.by_components = by_components(Z, auc_with)


def run_trial(estimator: Any, samples: Samples, split: Split, plan: Plan) -> Outcome:
    """Run a method on a split; its errors and warnings become part of the outcome."""
    outcome, run = Outcome(), _run_numbers if samples.numbers else _run_labels
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            run(estimator, samples, split, plan, outcome)
        except Exception as error:
            lines = str(error).strip().splitlines()
            outcome.error = lines[0][:300] if lines else type(error).__name__
    outcome.warnings = list(dict.fromkeys(str(w.message).split("\n")[0][:300] for w in told))
    return outcome


def rehearse(
    methods: Iterable[Any], samples: Samples, split: Split, plan: Plan, times: float, tell: Forecast
) -> None:
    """Tell bounds on the seconds that all methods need for so many splits, and the rows tried.

    Two trials with one alpha, on a few rows and on more, show how the time grows. Extrapolating it
    by a power of the number of rows and by a line gives the two bounds. Nothing is told of a run so
    short that the trials would add much to it.
    """
    n, numbers = len(split[0]), float(np.prod(samples.X.shape)) * samples.Y.shape[1]
    if n < _MANY_ROWS and (n < 4 * _FEW_ROWS or numbers < _MANY_NUMBERS):
        return
    rng = np.random.default_rng(plan.seed)
    sizes, m = (max(_FEW_ROWS, n // _SHARE) // 4, max(_FEW_ROWS, n // _SHARE)), len(plan.alphas)
    few = [samples.some_of(split, size / n, rng) for size in sizes]
    one = replace(plan, alphas=plan.alphas[m // 2 :][:1])
    took = np.zeros(2)
    for first, estimator in enumerate(methods):
        if not first:  # also imports what all methods need
            run_trial(estimator, samples, few[0], one)
        for i, part in enumerate(few):
            begun = time.perf_counter()
            outcome = run_trial(estimator, samples, part, one)
            took[i] += time.perf_counter() - begun
            took[i] += (m - 1) * outcome.seconds.get("choose alpha", 0.0)
    rise = max(took[1] - took[0], 0.0)
    by_power = took[1] * (n / sizes[1]) ** (np.log1p(rise / took[0]) / np.log(sizes[1] / sizes[0]))
    by_rows = took[1] + rise * (n - sizes[1]) / (sizes[1] - sizes[0])
    tell(times * min(by_power, by_rows), times * max(by_power, by_rows), sizes[1])


@contextmanager
def clock(outcome: Outcome, what: str) -> Iterator[None]:
    """Keep in the outcome how long something takes."""
    start = time.perf_counter()
    yield
    outcome.seconds[what] = time.perf_counter() - start


def fit_one(estimator: Any, X: Any, Y: Array, single: bool) -> Any:
    """The fitted projection; None for a classifier without one."""
    if isinstance(estimator, str):
        return estimator
    if not hasattr(estimator, "transform"):
        return None
    return clone(estimator).fit(X, target_for(estimator, Y, single))


def target_for(estimator: Any, Y: Array, single: bool, numbers: bool = False) -> Array:
    """What an estimator is fitted to: the matrix Y, of which one column of ``numbers`` is flat.

    For a classifier that takes one class per sample, the numbers of the classes.
    """
    if numbers:
        return Y[:, 0] if Y.shape[1] == 1 else Y
    several = is_classifier(estimator) and get_tags(estimator).classifier_tags.multi_label
    if single and is_classifier(estimator) and not several:
        return np.asarray(Y.argmax(axis=1))
    return Y


def project_rows(fitted: Any, X: Any) -> Any:
    """Scores of rows: a dense matrix, or X itself without a projection."""
    if isinstance(fitted, str):
        return X
    Z = np.asarray(fitted.transform(X))
    return Z.reshape(len(Z), -1)


# -- the choice of components and alpha ------------------------------------------------


def _with_choices(method: Any, samples: Samples, rows: Array, plan: Plan, outcome: Outcome) -> Any:
    """The estimator with its number of components, if it searches for that, and with its alpha."""
    if hasattr(method, "choose"):
        with clock(outcome, "choose components"):
            # The rows as they are: the folds of the search learn how rows become features.
            y = target_for(method, samples.Y[rows], samples.single, samples.numbers)
            X, groups = samples.X[rows], samples.groups_of(rows)
            method = method.choose(X, y, samples.prepare, groups)
    tunable = samples.numbers or hasattr(method, "transform")
    if plan.alphas and tunable and "alpha" in method.get_params():
        return choose_alpha(method, samples, rows, plan, outcome)
    return method


def choose_alpha(method: Any, samples: Samples, rows: Array, plan: Plan, outcome: Outcome) -> Any:
    """The estimator with the alpha that does best on inner folds of the training rows alone."""
    sign = 1 if metrics.metrics_of(samples.kind)[plan.alpha_score][1] else -1

    def scores_of(alphas: Sequence[float]) -> Array:
        found, rng = [], np.random.default_rng(plan.seed)
        given = samples.Y[rows], plan.inner_cv, rng, samples.groups_of(rows)
        for split in k_fold(*given, stratified=not samples.numbers):
            known, new = samples.parts((rows[split[0]], rows[split[1]]))
            y = target_for(method, known[1], samples.single, samples.numbers)
            models = path_of_alphas(method, known[0], y, alphas)
            found.append([_score_of(model, known, new, samples, plan) for model in models])
        return sign * np.array(found)

    def choose(scores: Array) -> int:
        defined = ~np.isnan(scores).all(axis=1)  # a fold may lack a class, whatever the alpha
        if not defined.any():
            name = plan.alpha_score
            raise ValueError(f"no alpha could be chosen: {name} is not defined on the inner folds.")
        return largest_of_best(scores[defined])

    with clock(outcome, "choose alpha"):
        tried, scores, best = search_alphas(plan.alphas, scores_of, choose, grows=plan.grows)
    outcome.alpha, outcome.alphas = tried[best], tried
    outcome.alpha_scores = (sign * scores).tolist()
    return clone(method).set_params(alpha=outcome.alpha)


def _score_of(model: Any, known: Part, new: Part, samples: Samples, plan: Plan) -> float:
    (X, Y), (X_new, Y_new), single = known, new, samples.single
    if samples.numbers:
        return metrics.mean_r2(Y_new, _predicted(model, X_new, Y_new))
    Z, Z_new = project_rows(model, X), project_rows(model, X_new)
    if plan.alpha_classifier == "ridge":
        S, P = decide_by_ridge(Z, Y, Z_new, single)
    else:
        S, P = decide(plan.classifier, Z, Y, Z_new, single, plan.scale)
    if plan.alpha_score == "auc":  # without the others, which take longer
        return metrics.mean_auc(Y_new, S, otherwise=np.nan)
    return metrics.score_all(Y_new, S, P)[plan.alpha_score]


def _run_numbers(method: Any, samples: Samples, split: Split, plan: Plan, outcome: Outcome) -> None:
    """Numbers: choose alpha, fit, predict, measure."""
    (X, Y), (X_new, Y_new) = samples.parts(split)
    method = _with_choices(method, samples, split[0], plan, outcome)
    with clock(outcome, "fit"):
        fitted = clone(method).fit(X, target_for(method, Y, single=False, numbers=True))
    with clock(outcome, "predict"):
        P = _predicted(fitted, X_new, Y_new)
    if not np.isfinite(P).all():
        raise ValueError("the predictions hold numbers that are not finite.")
    outcome.model = fitted
    for name, row in zip(metrics.NUMBER_METRICS, metrics.score_numbers(Y_new, P), strict=True):
        outcome.scores[name] = metrics.mean_known(row)
        outcome.scores |= {f"{name}:{j}": float(value) for j, value in enumerate(row)}
    if plan.detail:
        keep_errors(outcome, Y_new, P, Y.std(axis=0), split[1])
        if hasattr(fitted, "transform"):
            Z, Z_new = (np.asarray(project_rows(fitted, A), dtype=float) for A in (X, X_new))
            outcome.by_components = by_components(
                Z, lambda l: metrics.r2_by_least_squares(Z[:, :l], Y, Z_new[:, :l], Y_new)
            )


def _predicted(model: Any, X: Any, Y: Array) -> Array:
    return np.asarray(model.predict(X), dtype=np.float64).reshape(Y.shape)
