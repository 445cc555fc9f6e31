"""One projection for many ridges: what does not depend on them is computed once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sklearn.base import clone

from eigenkit.estimators._estimator import Projection
from eigenkit.estimators._streams import like
from eigenkit.shell import check_real, check_sequence, what_is


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
    given = check_sequence("alphas", alphas, "numbers")
    alphas = [check_real("alphas", alpha) for alpha in given]
    first = clone(estimator).set_params(alpha=min(alphas))
    settings = first._settings()
    problem = first._problem(first._sample(X, y, sample_weight))
    solutions = first._solve_path(problem, alphas, settings)
    models = [like(first, clone(estimator).set_params(alpha=alpha)) for alpha in alphas]
    for model, alpha, solution in zip(models, alphas, solutions, strict=True):
        model._keep(replace(problem, pencil=problem.pencil.at(alpha)), solution)
    return models


def path_of_alphas(estimator: Any, X: Any, y: Any, alphas: Sequence[float]) -> list[Any]:
    """The same for any estimator with an alpha; what is no projection is fitted for each."""
    if isinstance(estimator, Projection):
        return alpha_path(estimator, X, y, alphas)
    return [clone(estimator).set_params(alpha=alpha).fit(X, y) for alpha in alphas]
