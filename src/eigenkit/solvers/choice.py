"""Which method for stage one: by predicted cost, never by accuracy.

========================================  ===================================================
candidate                                 when it may be used
========================================  ===================================================
``cholesky`` (Z'Z + ridge, d x d)         d x d fits the limit below
``dual_cholesky`` (Z Z' + ridge, n x n)   n x n fits, one ridge for all columns
``cg`` (block conjugate gradients)        every alpha > 0, one ridge for all columns, and a
                                          factorization would take longer than a moment; where
                                          rounding keeps it from tol only if nothing else is left
``lsqr`` (block LSQR)                     always; chosen only when nothing else may be used
``svd``                                   never chosen: taken over to when a Gram matrix turns
                                          out too ill-conditioned, or on demand
========================================  ===================================================

The cheapest candidate wins. Costs are in seconds of a two-core machine; only their ratios
matter. All candidates reach the same answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from eigenkit.data import Data
from eigenkit.data.protocol import DENSE_RATE, GRAM_LIMIT_BYTES, READ_RATE, fits
from eigenkit.tolerances import EPS, TINY

# Conjugate gradients hardly ever take fewer iterations than this.
FEW = 8
# A factorization this short (seconds) is taken: it is exact to rounding.
SHORT = 0.1


@dataclass(frozen=True)
class Choice:
    """The method of stage one, the reason in a sentence, and the predicted costs in seconds."""

    regression: str
    reason: str
    costs: dict[str, float]

    def __str__(self) -> str:
        return f"{self.regression} ({self.reason})"


def choose(Z: Data, n_targets: int, alphas: Sequence[float], tol: float) -> Choice:
    """The cheapest way to regress ``n_targets`` targets on Z for all ``alphas``.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenkit.data import Centered
    >>> rng = np.random.default_rng(0)
    >>> choose(Centered(rng.normal(size=(500, 20))), 3, [1.0], 1e-8).regression
    'cholesky'
    >>> choose(Centered(rng.normal(size=(20, 500))), 3, [1.0], 1e-8).regression
    'dual_cholesky'
    """
    n_targets = min(n_targets, Z.shape[1])  # more of them are narrowed first
    one_ridge = Z.one_ridge
    costs = _factorization_costs(Z, len(alphas))
    if not one_ridge:
        costs.pop("dual_cholesky", None)
    exact = min(costs.values(), default=np.inf)
    possible = exact > SHORT and one_ridge and (min(alphas) > 0 or not Z.has_rows)
    iteration = _iteration_cost(Z, n_targets, len(alphas)) if possible else np.inf
    if exact > FEW * iteration:
        condition = 1 + Z.spectral_norm_squared() / max(float(np.min(Z.ridge(min(alphas)))), TINY)
        # Where rounding keeps it from reaching tol, it would only run to max_iter: factor instead.
        if not costs or EPS * condition < tol:
            costs["cg"] = iteration * _iterations(Z, n_targets, condition, tol)
    if not costs:
        (n, d), limit = Z.shape, GRAM_LIMIT_BYTES / 2**30
        why = "alpha is 0" if min(alphas) == 0 else "the columns have units of their own"
        reason = f"neither {d} x {d} nor {n} x {n} numbers fit in {limit:g} GB and {why}"
        return Choice("lsqr", reason, {})
    best = min(costs, key=lambda name: costs[name])
    others = ", ".join(f"{name} {costs[name]:.2g} s" for name in costs if name != best)
    reason = f"{best} is predicted to take {costs[best]:.2g} s"
    return Choice(best, reason + (f" ({others})" if others else ""), costs)


def _factorization_costs(Z: Data, n_alphas: int) -> dict[str, float]:
    costs = {}
    forming = {"dual_cholesky": Z.seconds_for_outer, "cholesky": Z.seconds_for_gram}
    for (name, seconds), side in zip(forming.items(), Z.shape, strict=True):
        if fits(side) and np.isfinite(work := seconds()):
            memory_passes = 40 * side**2 / READ_RATE
            factorizations = n_alphas * (side**3 / 6 / DENSE_RATE + memory_passes)
            costs[name] = work + factorizations
    return costs


def _iteration_cost(Z: Data, k: int, n_alphas: int) -> float:
    """One product with Z, one with Z', and the work on the blocks of vectors."""
    side = min(Z.shape)
    blocks = (6 + 2 * n_alphas) * side * k * (k / DENSE_RATE + 2 / READ_RATE)
    return Z.seconds_for_passes(k) + blocks


def _iterations(Z: Data, k: int, condition: float, tol: float) -> float:
    """About a third of the classical bound is what blocks take on text.

    Blocks of k span the whole space after min(n, d) / k iterations. Without rounding that would be
    the end; with it the number grows on, if only as the root of the bound. On text of 7484 and of
    3000 documents with 26 and 101 labels, ridges from 1e-4 to 1e-2 and tolerances of 1e-4 and 1e-8,
    this is within a factor of about two of what was counted.
    """
    bound = 0.2 * np.log(2 / max(tol, EPS)) * np.sqrt(condition)
    return float(3 + min(bound, 0.75 * np.sqrt(bound * min(Z.shape) / k)))
