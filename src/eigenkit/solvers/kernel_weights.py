"""Weights of several kernels: a semi-infinite linear program, solved by generating its cuts.

For kernels K_j (centred, brought to one trace) and the target H the weights minimize

    F(mu) = alpha tr(H'(K + alpha I)^-1 H),   K = sum_j mu_j K_j,   mu >= 0,  sum(mu) = 1

which is the least value of ||K B - H||^2 + alpha tr(B'K B) over B: the better the kernel
lets the data explain H, the smaller. F is convex, and for A = (K + alpha I)^-1 H

    F(nu) >= 2 alpha tr(A'H) - alpha^2 tr(A'A) - alpha sum_j nu_j tr(A'K_j A)    for all nu

with equality at nu = mu: every A is a cut of the program ``min t, t >= cuts(mu)``. The linear
program with the cuts so far gives a lower bound of min F, every F(mu) an upper one; their
difference is the duality gap. Cuts are generated not at the solution of the linear program,
which jumps from corner to corner, but at the point nearest to the best one known where the
cuts promise half of the gap (the level method).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy

from eigenkit.exceptions import warn_of_stopping
from eigenkit.numerics.linalg import Array, Cholesky, power_of_two

# The fraction of the gap that the level method leaves open at the next point.
LEVEL = 0.5

# The smallest tolerance of HiGHS, for cuts that are scaled to 1.
FEASIBLE = 1e-10

# Where the residual of non-negative least squares is smaller, there is no such point.
NO_DISTANCE = 1e-14


class Step(NamedTuple):
    """One step: F at the best weights so far, the lower bound, and (F - bound) / F."""

    iteration: int
    objective: float
    bound: float
    gap: float


@dataclass(frozen=True)
class KernelWeights:
    """Weights (sum to one), how far they may be from the optimum, and the way there."""

    weights: Array
    objective: float
    bound: float
    gap: float
    history: tuple[Step, ...]
    converged: bool


class KernelBank:
    """Triangles of p symmetric matrices of order n, to be mixed and measured."""

    H: Array  # what they are measured by, with the ridge: see aim
    alpha: float

    def __init__(self, p: int, n: int) -> None:
        self.p, self.n = p, n
        self._triangle = np.tril_indices(n)
        self._flat = np.zeros((p, n * (n + 1) // 2))

    def put(self, j: int, K: Array) -> None:
        """Set kernel j: centred, and of a size comparable with the others."""
        self._flat[j] = K[self._triangle]

    def aim(self, H: Array, alpha: float) -> KernelBank:
        """Set the centred target and the ridge, above zero."""
        self.H, self.alpha = H, alpha
        return self

    def mix(self, weights: Array) -> Array:
        """sum_j weights_j K_j."""
        L = np.zeros((self.n, self.n))
        L[self._triangle] = weights @ self._flat
        K = L + L.T
        K.flat[:: self.n + 1] /= 2
        return K

    def inner(self, S: Array) -> Array:
        """tr(K_j S) for every kernel and a symmetric S."""
        doubled = 2 * S
        doubled.flat[:: self.n + 1] /= 2
        return np.asarray(self._flat @ doubled[self._triangle])

    def cut(self, weights: Array) -> tuple[float, Array]:
        """F at the weights, and the cut there: F(nu) >= values'nu for nu that sum to one."""
        B = self.mix(weights)
        B.flat[:: self.n + 1] += self.alpha
        factor = Cholesky.of(B)
        if factor is None:
            raise ValueError(
                f"alpha={self.alpha:g} is too small for these kernels: with it their sum is not "
                "positive definite, increase alpha."
            )
        A = factor.solve(self.H)
        slopes = self.alpha * self.inner(A @ A.T)
        part = self.alpha * A  # alpha^2 may be beyond all numbers where A is small
        constant = 2 * np.sum(part * self.H) - np.sum(part * part)
        values = float(constant) - slopes
        return float(values @ weights), values


def best_of(bank: KernelBank, candidates: Sequence[Array]) -> KernelWeights:
    """The weights of smallest F among some; the bound comes from the cuts at all of them."""
    cuts = [bank.cut(weights) for weights in candidates]
    best = int(np.argmin([objective for objective, _ in cuts]))
    bound, _ = lower_bound(np.array([values for _, values in cuts]))
    step = _step(1, cuts[best][0], bound)
    return KernelWeights(candidates[best], *step[1:], (step,), True)


def best_single(bank: KernelBank) -> KernelWeights:
    """The one kernel of smallest F."""
    return best_of(bank, list(np.eye(bank.p)))


def _step(iteration: int, objective: float, bound: float) -> Step:
    gap = max(0.0, objective - bound) / objective if objective > 0 else 0.0
    return Step(iteration, objective, bound, gap)


def silp(
    bank: KernelBank, tol: float, max_iter: int, progress: Callable[[Step], None] | None = None
) -> KernelWeights:
    """The optimal weights, to a relative duality gap of ``tol``."""
    center = np.full(bank.p, 1.0 / bank.p)
    weights, best = center, np.inf
    cuts: list[Array] = []
    steps: list[Step] = []
    for iteration in range(1, max_iter + 1):
        objective, values = bank.cut(center)
        cuts.append(values)
        if objective < best:
            weights, best = center, objective
        bound, corner = lower_bound(np.array(cuts))
        steps.append(_step(iteration, best, bound))
        if progress is not None:
            progress(steps[-1])
        if steps[-1].gap <= tol:
            break
        center = nearest(np.array(cuts), bound + LEVEL * (best - bound), weights, corner)
    converged = steps[-1].gap <= tol
    if not converged:
        warn_of_stopping(
            f"the weights of the kernels have a duality gap of {steps[-1].gap:.1e} after "
            f"{len(steps)} iterations, above tol={tol:g}: increase max_iter or tol"
        )
    return KernelWeights(weights, *steps[-1][1:], tuple(steps), converged)


def lower_bound(cuts: Array) -> tuple[float, Array]:
    """min over the simplex of the largest of ``cuts @ mu``, and where it is: from the multipliers,
    so that it holds whatever the tolerance of the linear program."""
    m, p = cuts.shape
    low = float(cuts.min())
    scale = float(power_of_two(cuts.max() - low))  # the tolerances of HiGHS are absolute
    answer = scipy.optimize.linprog(
        np.append(np.zeros(p), 1.0),
        A_ub=np.hstack([(cuts - low) / scale, -np.ones((m, 1))]),
        b_ub=np.zeros(m),
        A_eq=np.append(np.ones(p), 0.0)[None],
        b_eq=[1.0],
        bounds=[(0, None)] * p + [(None, None)],
        method="highs",
        options={f"{side}_feasibility_tolerance": FEASIBLE for side in ("primal", "dual")},
    )
    multipliers = np.maximum(-answer.ineqlin.marginals, 0.0)
    bound = float((multipliers @ cuts).min() / multipliers.sum())
    mu = np.maximum(answer.x[:p], 0.0)
    return bound, mu / mu.sum()


def nearest(cuts: Array, level: float, center: Array, feasible: Array) -> Array:
    """The point of the simplex nearest to ``center`` where all cuts are below ``level``.

    In coordinates Q of the plane sum(mu - center) = 0 it is min ||y|| over G y >= h, which Lawson
    and Hanson solve by non-negative least squares. Should that fail in rounding, a step to
    ``feasible`` is taken instead.
    """
    p = len(center)
    Q = np.linalg.svd(np.ones((1, p)))[2][1:].T
    scale = float(power_of_two(np.abs(cuts).max()))
    G = np.vstack([-(cuts / scale) @ Q, Q])
    h = np.concatenate([(cuts @ center - level) / scale, -center])
    residual = _least_distance(G, h)
    if residual is None:
        return 0.5 * center + 0.5 * feasible
    mu = np.maximum(center + Q @ residual, 0.0)
    return np.asarray(mu / mu.sum())


def _least_distance(G: Array, h: Array) -> Array | None:
    E = np.vstack([G.T, h])
    f = np.append(np.zeros(G.shape[1]), 1.0)
    try:
        u, _ = scipy.optimize.nnls(E, f)
    except RuntimeError:
        return None
    r = E @ u - f
    return None if abs(r[-1]) < NO_DISTANCE else np.asarray(-r[:-1] / r[-1])
