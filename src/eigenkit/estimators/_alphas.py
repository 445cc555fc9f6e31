"""One projection for many ridges, and which of several candidates is best over the folds.

What does not depend on the ridges is computed once.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from eigenkit.estimators._estimator import Projection, stated
from eigenkit.estimators._streams import like
from eigenkit.exceptions import EigenkitWarning
from eigenkit.numerics.linalg import Array
from eigenkit.numerics.tolerances import SUM_ROUNDING
from eigenkit.shell import check_real, check_sequence, what_is

RULES = ("one_standard_error", "min")

# How often a grid may grow, by three powers of ten each time.
_MOST_GROWTH = 4


def check_has_alpha(estimator: Any) -> None:
    """Refuse what :func:`alpha_path` cannot fit."""
    if not isinstance(estimator, Projection) or "alpha" not in estimator.get_params():
        raise TypeError(
            f"estimator is {what_is(estimator)}: alpha_path needs a projection of "
            "eigenkit that has an alpha."
        )
    if getattr(estimator, "shrinkage", None) is not None:
        raise ValueError(
            f"shrinkage={estimator.shrinkage!r} takes the place of alpha: set it to None to try "
            "several alphas."
        )


def check_alphas(alphas: Any) -> list[float]:
    """The alphas of any sequence, in its order."""
    return [check_real("alphas", alpha) for alpha in check_sequence("alphas", alphas, "numbers")]


def alpha_path(
    estimator: Projection,
    X: Any,
    y: Any = None,
    alphas: Sequence[float] = (),
    sample_weight: Any = None,
) -> list[Any]:
    """Fitted copies of a projection, one per alpha, for little more than the cost of one.

    The Gram matrix, singular value decomposition or Krylov space that does not depend on
    alpha is computed once.

    Parameters
    ----------
    estimator : Projection
        Unfitted; its own alpha is not used.
    X, y, sample_weight
        As in ``fit``.
    alphas : sequence of float

    Returns
    -------
    list of fitted estimators

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from eigenkit import LDA, alpha_path
    >>> X, y = load_iris(return_X_y=True)
    >>> [model.alpha for model in alpha_path(LDA(), X, y, [0.1, 10.0])]
    [0.1, 10.0]
    """
    check_has_alpha(estimator)
    alphas = check_alphas(alphas)
    first, problem, settings = stated(estimator, X, y, sample_weight, alpha=min(alphas))
    solutions = first._solve_path(problem, alphas, settings)
    models = [like(first, clone(estimator).set_params(alpha=alpha)) for alpha in alphas]
    for model, alpha, solution in zip(models, alphas, solutions, strict=True):
        model._keep(replace(problem, pencil=problem.pencil.at(alpha)), solution)
        model.report_ = model._report(solution)
    return models


def path_of_alphas(estimator: Any, X: Any, y: Any, alphas: Sequence[float]) -> list[Any]:
    """The same for any estimator with an alpha; all but projections are fitted once per alpha."""
    if isinstance(estimator, Projection):
        return alpha_path(estimator, X, y, alphas)
    return [clone(estimator).set_params(alpha=alpha).fit(X, y) for alpha in alphas]


def search_alphas(
    grid: Sequence[float],
    scores_of: Callable[[Sequence[float]], Array],
    choose: Callable[[Array], int],
    *,
    grows: bool,
) -> tuple[list[float], Array, int]:
    """The alphas tried, in order, their scores (folds x alphas), and which of them is best.

    A grid that ``grows`` does so while the scores rise at its end.
    """
    tried = sorted(grid)
    scores = scores_of(tried)
    best = choose(scores)
    for _ in range(_MOST_GROWTH if grows else 0):
        if not rises(scores.mean(axis=0), best):
            break
        if best == 0:
            more = [_times(tried[0], -k) for k in (3, 2, 1)]
            tried, scores = more + tried, np.hstack([scores_of(more), scores])
        else:
            more = [_times(tried[-1], k) for k in (1, 2, 3)]
            tried, scores = tried + more, np.hstack([scores, scores_of(more)])
        best = choose(scores)
    return tried, scores, best


def _times(alpha: float, power: int) -> float:
    """alpha times a power of ten, as it would be typed."""
    return float(f"{alpha * 10.0**power:.12g}")


def largest_of_best(scores: Array) -> int:
    """Which alpha is best over the folds; the largest of equals, as it is the simplest model."""
    return best_of(scores, strength=np.arange(scores.shape[1]))


def rises(scores: Array, best: int) -> bool:
    """Whether the best score stands at an end, above its neighbour by more than rounding."""
    last = len(scores) - 1
    if best not in (0, last) or last == 0:
        return False
    beside = scores[1] if best == 0 else scores[last - 1]
    return bool(scores[best] - beside > SUM_ROUNDING * abs(scores[best]))


ONE_FOLD = "1 fold has no standard error: give more folds (cv), or rule='min'."


def best_of(scores: Array, rule: str = "min", strength: Any = 0) -> int:
    """Which column of scores is best over the folds (rows), or first within one standard error.

    Of equal ones the first, or that of most ``strength``, as it is the simplest model: means of
    the same votes in another order differ by rounding only.
    A candidate that a fold has no score for (NaN) is not taken.
    """
    judged = np.asarray(~np.isnan(scores).any(axis=0))
    if not judged.any():
        raise ValueError(
            "the scores of every candidate are NaN in some fold, so none is best: give another "
            "scoring, or folds that hold all classes."
        )
    if not judged.all():
        warnings.warn(
            f"{int((~judged).sum())} of {len(judged)} candidates have a score of NaN in some fold "
            "and are left out",
            EigenkitWarning,
            stacklevel=4,
        )
    order = np.argsort(-np.broadcast_to(strength, len(judged)), kind="stable")
    scores = np.where(judged, scores, -np.inf)[:, order]
    if rule != "min":
        return int(order[one_standard_error(-scores)])
    mean = scores.mean(axis=0)
    return int(order[np.argmax(mean >= mean.max() - SUM_ROUNDING * abs(mean.max()))])


def one_standard_error(errors: Array) -> int:
    """The smallest number of components that is no worse than the best by one standard error.

    Of the errors of 2 or more folds (rows) with 0, 1, ... components.

    Examples
    --------
    >>> import numpy as np
    >>> one_standard_error(np.array([[9.0, 3.1, 2.0], [9.0, 3.0, 4.0]]))
    1
    """
    if len(errors) < 2:
        raise ValueError(ONE_FOLD)
    mean = errors.mean(axis=0)
    best = int(np.argmin(mean))
    error = errors[:, best].std(ddof=1) / np.sqrt(len(errors))
    return int(np.argmax(mean <= mean[best] + error))
