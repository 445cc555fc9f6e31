"""Which method for stage one: by predicted cost, never by accuracy.

========================================  ===================================================
candidate                                 when it may be used
========================================  ===================================================
``cholesky`` (Z'Z + ridge, d x d)         d x d fits the limit below
``dual_cholesky`` (Z Z' + ridge, n x n)   n x n fits, one ridge for all columns
``cg`` (block conjugate gradients)        every alpha > 0, one ridge for all columns
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

from eigenkit.operators import Centered

# The largest Gram matrix (one of n x n or d x d numbers) that a fit may allocate.
GRAM_LIMIT_BYTES = 2**30

# Multiply-adds a second: in dense products, in products of a sparse matrix with a dense
# block, and in products of two sparse matrices.
DENSE_RATE = 3e10
BLOCK_RATE = 1.6e9
SPARSE_RATE = 2.5e8
# Numbers a second that a pass over dense data reads.
READ_RATE = 1e9


@dataclass(frozen=True)
class Choice:
    """The method of stage one, the reason in a sentence, and the predicted costs in seconds."""

    regression: str
    reason: str
    costs: dict[str, float]


def choose(Z: Centered, n_targets: int, alphas: Sequence[float], tol: float) -> Choice:
    """The cheapest way to regress ``n_targets`` targets on Z for all ``alphas``.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> choose(Centered(rng.normal(size=(500, 20))), 3, [1.0], 1e-8).regression
    'cholesky'
    >>> choose(Centered(rng.normal(size=(20, 500))), 3, [1.0], 1e-8).regression
    'dual_cholesky'
    """
    costs = _factorization_costs(Z, len(alphas))
    one_ridge = np.ndim(Z.unit) == 0
    if not one_ridge:
        costs.pop("dual_cholesky", None)
    if min(alphas) > 0 and one_ridge and min(costs.values(), default=np.inf) > 0.1:
        costs["cg"] = _krylov_cost(Z, n_targets, alphas, tol)
    if not costs:
        return Choice("lsqr", _nothing_else(Z, alphas), {})
    best = min(costs, key=lambda name: costs[name])
    others = ", ".join(f"{name} {costs[name]:.2g} s" for name in costs if name != best)
    reason = f"{best} is predicted to take {costs[best]:.2g} s"
    return Choice(best, reason + (f" ({others})" if others else ""), costs)


def _factorization_costs(Z: Centered, n_alphas: int) -> dict[str, float]:
    rate = SPARSE_RATE if Z.sparse else DENSE_RATE
    costs = {}
    sides = ("dual_cholesky", "cholesky")
    for name, side, work in zip(sides, Z.shape, reversed(Z.gram_work()), strict=True):
        if 8 * side * side <= GRAM_LIMIT_BYTES:
            memory_passes = 10 * side**2 / READ_RATE
            factorizations = n_alphas * (side**3 / 6 / DENSE_RATE + memory_passes)
            costs[name] = work / rate + factorizations
    return costs


def _krylov_cost(Z: Centered, k: int, alphas: Sequence[float], tol: float) -> float:
    n, d = Z.shape
    smallest = float(np.min(Z.ridge(min(alphas))))
    root_condition = np.sqrt(1 + Z.spectral_norm_squared() / max(smallest, 1e-300))
    # A third of the classical bound is what blocks take on text; min(n, d) / k blocks
    # span the whole space.
    iterations = 3 + min(0.16 * np.log(2 / tol) * root_condition, 1.2 * min(n, d) / k)
    product = 2 * Z.nnz * k / BLOCK_RATE if Z.sparse else 2 * Z.nnz * max(1 / READ_RATE, k / 1e10)
    vectors = (6 + 2 * len(alphas)) * min(n, d) * k * (k / DENSE_RATE + 2 / READ_RATE)
    return float(iterations * (product + vectors))


def _nothing_else(Z: Centered, alphas: Sequence[float]) -> str:
    n, d = Z.shape
    limit = GRAM_LIMIT_BYTES / 2**30
    why = "alpha is 0" if min(alphas) == 0 else "the columns have units of their own"
    return f"neither {d} x {d} nor {n} x {n} numbers fit in {limit:g} GB and {why}"
