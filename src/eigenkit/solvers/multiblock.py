"""Components of several blocks that go along with each other: regularized generalized CCA.

    maximize  sum_{j != k} c_jk g(cov(X_j w_j, X_k w_k))
    subject to  w_j'((1 - tau_j) X_j'X_j / n + tau_j I) w_j = 1

(Tenenhaus and Tenenhaus). tau = 1 is PLS, tau = 0 CCA; the design c says which blocks are joined.
With X_j = U S V' and m = (1 - tau) S^2 / n + tau the block is P_j = U S m^-1/2, its component
P_j b_j with |b_j| = 1, and where the derivatives vanish

    b_j  is along  sum_k c_jk g'(cov_jk) P_j'P_k b_k ,

which is done for one block after the other: the criterion grows with every step. The first b are
parts of the leading eigenvector of the blocks c_jk P_j'P_k, the solution for g(x) = x where the
lengths are one only on average.

Then every block loses what its component explains, X_j - y_j y_j'X_j / y_j'y_j, but the last one
if it is a response.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from scipy import linalg as sla

from eigenkit.linalg import Array
from eigenkit.threads import blas_threads
from eigenkit.tolerances import EPS

# g' of a covariance, up to a factor.
SCHEMES: dict[str, Callable[[Array], Array]] = {
    "factorial": lambda c: c,
    "centroid": np.sign,
    "horst": np.ones_like,
}
# g itself.
CRITERIA: dict[str, Callable[[Array], Array]] = {
    "factorial": np.square,
    "centroid": np.abs,
    "horst": lambda c: c,
}


@dataclass(frozen=True)
class Rule:
    """What is asked: the design c, g by name, and when to stop."""

    design: Array
    scheme: str
    tol: float
    max_iter: int


@dataclass
class Block:
    """Coordinates T (n x r) of a centred block in the basis V / root of its features.

    ``to_start`` takes weights of the deflated T to weights of the first one.
    """

    T: Array
    tau: float
    ridge: float
    total: float
    deflates: bool = True
    to_start: Array = field(init=False)

    def __post_init__(self) -> None:
        self.to_start = np.eye(self.T.shape[1])
        self.largest = float(np.linalg.norm(self.T))

    def whitened(self) -> tuple[Array, Array]:
        """P = T F with F'((1 - tau) T'T / n + tau I)F = I on the range of T."""
        U, s, Vt = np.linalg.svd(self.T, full_matrices=False)
        keep = s > max(self.T.shape) * EPS * 10 * self.largest
        root = np.hypot(np.sqrt((1 - self.tau) / self.total) * s, np.sqrt(self.ridge))[keep]
        return U[:, keep] * (s[keep] / root), Vt[keep].T / root

    def take_out(self, weights: Array) -> Array:
        """Deflate by the component of these weights; as weights of the first T."""
        first = self.to_start @ weights
        if self.deflates:
            y = self.T @ weights
            loading = self.T.T @ y / (y @ y)
            self.T = self.T - np.outer(y, loading)
            self.to_start = self.to_start - np.outer(first, loading)
        return np.asarray(first)


@dataclass(frozen=True)
class Component:
    """Of every block the weights in its first coordinates; covariances of the scores."""

    weights: list[Array]
    covariances: Array
    criterion: float
    n_iter: int
    converged: bool


def next_component(blocks: Sequence[Block], rule: Rule) -> Component | None:
    """The next component of all blocks, which are deflated; None where a block is used up."""
    whitened = [block.whitened() for block in blocks]
    if any(P.shape[1] == 0 for P, _ in whitened):
        return None
    P = [part for part, _ in whitened]
    total = blocks[0].total
    cross = [[A.T @ B / total for B in P] for A in P]
    b = _start(cross, rule.design)
    b, n_iter, converged = _ascend(cross, b, rule)
    covariances = _covariances(cross, b)
    sides = _aligned(rule.design * covariances)
    b = [side * part for side, part in zip(sides, b, strict=True)]
    covariances = covariances * np.outer(sides, sides)
    weights = [
        block.take_out(F @ part) for block, (_, F), part in zip(blocks, whitened, b, strict=True)
    ]
    return Component(weights, covariances, _criterion(covariances, rule), n_iter, converged)


def _start(cross: list[list[Array]], design: Array) -> list[Array]:
    """Parts of the leading eigenvector of all blocks; what has none gets its own best."""
    M = np.block([[design[j, k] * C for k, C in enumerate(row)] for j, row in enumerate(cross)])
    with blas_threads(len(M)):
        v = sla.eigh(M, subset_by_index=[len(M) - 1, len(M) - 1])[1][:, 0]
    edges = np.cumsum([0, *(len(row[0]) for row in cross)])
    parts = [v[a:e] for a, e in pairwise(edges)]
    return [
        part / size if size > np.sqrt(EPS) else np.eye(len(part))[0]
        for part, size in ((part, float(np.linalg.norm(part))) for part in parts)
    ]


def _ascend(cross: list[list[Array]], b: list[Array], rule: Rule) -> tuple[list[Array], int, bool]:
    """One block after the other, until the criterion no longer grows."""
    value = _criterion(_covariances(cross, b), rule)
    for step in range(1, rule.max_iter + 1):
        for j, row in enumerate(cross):
            towards = [C @ part for C, part in zip(row, b, strict=True)]
            slopes = rule.design[j] * SCHEMES[rule.scheme](np.array([t @ b[j] for t in towards]))
            inner = np.sum([s * t for s, t in zip(slopes, towards, strict=True)], axis=0)
            size = float(np.linalg.norm(inner))
            if size > 0:
                b[j] = inner / size
        before, value = value, _criterion(_covariances(cross, b), rule)
        if value - before <= rule.tol * abs(value):
            return b, step, True
    return b, rule.max_iter, False


def _covariances(cross: list[list[Array]], b: list[Array]) -> Array:
    return np.array(
        [
            [float(u @ C @ v) for C, v in zip(row, b, strict=True)]
            for row, u in zip(cross, b, strict=True)
        ]
    )


def _criterion(covariances: Array, rule: Rule) -> float:
    return float(np.sum(rule.design * CRITERIA[rule.scheme](covariances)))


def _aligned(joined: Array) -> Array:
    """Signs of the blocks under which what is joined goes up together."""
    v = np.linalg.eigh((joined + joined.T) / 2)[1][:, -1]
    return np.where(v < 0, -1.0, 1.0)
