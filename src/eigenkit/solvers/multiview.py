"""What several views have in common: all components at once, or one after the other.

Canonical correlation of K views is one block pencil (:func:`solve_views`),

    C w = (lambda + 1) D w,   C_ij = Z_i'Z_j,   D_ii = C_ii + ridge_i I

with the ridge on the diagonal blocks of C as well, so that lambda is what the views have in
common and two views give CCA with its two ridges. In coordinates q_i = F_i^-1 w_i, where
F_i'D_ii F_i = I, it is a symmetric matrix with zero diagonal blocks. The coordinates come
from Cholesky factors of the diagonal blocks, or from singular value decompositions of the
views where they are wide or ill-conditioned.

Components in which several blocks agree are found one by one (:func:`next_component`), by
regularized generalized CCA:

    maximize  sum_{j != k} c_jk g(cov(X_j w_j, X_k w_k))
    subject to  w_j'((1 - tau_j) X_j'X_j / n + tau_j I) w_j = 1

(Tenenhaus and Tenenhaus). tau = 1 is PLS, tau = 0 CCA; the design c says which blocks are joined.
With X_j = U S V' and m = (1 - tau) S^2 / n + tau the block is P_j = U S m^-1/2, its component
P_j b_j with |b_j| = 1, and where the derivatives vanish

    b_j  is along  sum_k c_jk g'(cov_jk) P_j'P_k b_k ,

which is done for one block after the other: no step lowers the criterion. The iteration starts
from the parts of the leading eigenvector of the blocks c_jk P_j'P_k, which is the solution for
g(x) = x if the lengths need to be one only on average.

Then every block loses what its component explains, X_j - y_j y_j'X_j / y_j'y_j, except a response,
which comes last.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise

import numpy as np
from scipy import linalg as sla

from eigenkit.data import Centered
from eigenkit.numerics.costs import fits
from eigenkit.numerics.linalg import Array, Cholesky, eigenpairs, lapack, power_of_two, signs
from eigenkit.numerics.tolerances import EPS, PRODUCTS_RANK_TOL, TEN_DIGITS
from eigenkit.pencil import Report, Solution

Columns = Sequence[np.ndarray]

# What takes the rows of a view in the eigenvectors to W: a function, and units.
ToView = list[tuple[Callable[[Array], Array], Array | float]]

# The matrix of the pencil where D is I, of which the blocks above the diagonal count, and where its
# blocks begin and end.
Whitened = tuple[Array, np.ndarray, ToView]


def solve_views(Z: Centered, columns: Columns, alphas: Sequence[float], k: int | None) -> Solution:
    """The k largest lambda (None: all positive ones) and W (D x k, in the units of X), W'D W = K I:
    scores have unit length on average. ``columns`` says which of Z are whose."""
    tall = all(len(own) <= Z.shape[0] for own in columns) and fits(Z.shape[1])
    found, how = _by_factors(Z, columns, alphas) if tall else None, ("cholesky", "views are tall")
    if found is None:
        found = _by_triplets(Z, columns, alphas)
        how = "svd", "a view is close to collinear" if tall else "a view is wide"
    M, edges, to_view = found
    # Eigenpairs of M + M', which is zero on the blocks of the diagonal.
    if len(columns) == 2:  # of one block its singular values
        U, values, Vt = lapack(len(M), sla.svd, M[: edges[1], edges[1] :], full_matrices=False)
        Q = np.vstack([U, Vt.T]) / np.sqrt(2.0)
    else:
        for a, b in pairwise(edges):
            M[a:, a:b] = 0.0
        values, Q = eigenpairs(M + M.T, k)
    keep = np.flatnonzero(values > PRODUCTS_RANK_TOL * values.max(initial=1.0))[:k]
    values, Q = values[keep], Q[:, keep]
    W = np.empty((Z.shape[1], len(values)))
    for own, (back, unit), rows in zip(columns, to_view, np.split(Q, edges[1:-1]), strict=True):
        W[own] = back(rows) * unit
    W = W * (signs(W) * np.sqrt(len(columns)))
    return Solution(W, values, np.empty((0, len(values))), Report("block pencil", *how))


def _by_factors(Z: Centered, columns: Columns, alphas: Sequence[float]) -> Whitened | None:
    """From Z'Z; None where a diagonal block has lost too many digits."""
    G = Z.gram()
    grain, unit = Z.grain(G.diagonal()), Z.to_X(np.ones((len(G), 1)))
    edges = np.cumsum([0] + [len(own) for own in columns])
    order, to_view = np.concatenate(columns), ToView()
    M = G[np.ix_(order, order)]
    for own, alpha, (a, b) in zip(columns, alphas, pairwise(edges), strict=True):
        block = G[np.ix_(own, own)]
        block.flat[:: len(own) + 1] += np.broadcast_to(Z.ridge(alpha), len(G))[own]
        constant = Z.constant[own]
        block[constant, constant] += 1.0  # their rows and columns are zero
        factor = Cholesky.of(block)
        if factor is None or factor.rcond < TEN_DIGITS:
            return None
        if factor.smallest < np.max(grain[own] / factor.scale) ** 2:
            return None
        M[a:b, b:] = factor.half(M[a:b, b:])
        M[:a, a:b] = factor.half(M[:a, a:b].T).T
        to_view.append((factor.back, unit[own]))
    return M, edges, to_view


def _by_triplets(Z: Centered, columns: Columns, alphas: Sequence[float]) -> Whitened:
    """From a singular value decomposition of each view."""
    to_view, scores = ToView(), []
    for own, alpha in zip(columns, alphas, strict=True):
        _check_size(Z.shape[0], len(own))
        view = Z.columns(own)
        U, s, V = view.triplets()
        root = np.hypot(s, np.sqrt(float(np.max(view.ridge(alpha)))))
        scores.append(U * (s / root))
        to_view.append((partial(np.matmul, view.to_X(V / root)), 1.0))
    P = np.hstack(scores)
    return P.T @ P, np.cumsum([0] + [part.shape[1] for part in scores]), to_view


def _check_size(n: int, d: int) -> None:
    if not fits(min(n, d)):
        raise ValueError(
            f"a view has {n} rows and {d} columns, too many for its singular values: reduce it "
            "first, for instance by PCA, which takes sparse data of this size."
        )


# -- one component after the other -----------------------------------------------------

# g of a covariance, and g' up to a factor.
Function = Callable[[Array], Array]
SCHEMES: dict[str, tuple[Function, Function]] = {
    "factorial": (np.square, lambda c: c),
    "centroid": (np.abs, np.sign),
    "horst": (lambda c: c, np.ones_like),
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
    """Coordinates of a centred block, in some unit of its own."""

    T: Array  # (n x r)
    tau: float
    root: float  # of tau in that unit
    total: float
    deflates: bool = True
    to_start: Array = field(init=False)  # takes weights of the deflated T to those of the first

    def __post_init__(self) -> None:
        self.to_start = np.eye(self.T.shape[1])
        self.largest = float(np.linalg.norm(self.T))

    def whitened(self) -> tuple[Array, Array]:
        """P = T F with F'((1 - tau) T'T / n + tau I)F = I on the range of T."""
        U, s, Vt = np.linalg.svd(self.T, full_matrices=False)
        keep = s > max(self.T.shape) * EPS * 10 * self.largest
        root = np.hypot(np.sqrt((1 - self.tau) / self.total) * s, self.root)[keep]
        return U[:, keep] * (s[keep] / root), Vt[keep].T / root

    def take_out(self, weights: Array) -> Array:
        """Deflate by the component of these weights; as weights of the first T."""
        size = float(power_of_two(np.abs(weights).max(initial=0.0)))
        weights = weights / size  # whose squares may be no numbers
        first = self.to_start @ weights
        if self.deflates:
            y = self.T @ weights
            loading = self.T.T @ y / (y @ y)
            self.T = self.T - np.outer(y, loading)
            self.to_start = self.to_start - np.outer(first, loading)
        return np.asarray(first * size)


@dataclass(frozen=True)
class Component:
    """The weights of every block, in its first coordinates, and covariances of the scores."""

    weights: list[Array]
    covariances: Array
    criterion: float
    n_iter: int
    converged: bool


@dataclass(frozen=True)
class Cross:
    """P_j'P_k / n of all pairs of blocks, as one matrix, and where the blocks begin."""

    M: Array
    begins: np.ndarray

    @classmethod
    def of(cls, P: Sequence[Array], total: float) -> Cross:
        side_by_side = np.hstack(P)
        begins = np.cumsum([0, *(part.shape[1] for part in P[:-1])])
        return cls(side_by_side.T @ side_by_side / total, begins)

    def blocks(self) -> list[slice]:
        return [slice(*ends) for ends in pairwise([*self.begins, len(self.M)])]

    def towards(self, own: slice, b: Array) -> Array:
        """P_j'P_k b_k / n, one column for every k."""
        return np.asarray(np.add.reduceat(self.M[own] * b, self.begins, axis=1))

    def covariances(self, b: Array) -> Array:
        rows = np.add.reduceat(self.M * b, self.begins, axis=1)
        return np.asarray(np.add.reduceat(rows * b[:, None], self.begins, axis=0))


def next_component(blocks: Sequence[Block], rule: Rule) -> Component | None:
    """The next component of all blocks, which are deflated; None where a block is used up."""
    whitened = [block.whitened() for block in blocks]
    if any(P.shape[1] == 0 for P, _ in whitened):
        return None
    # One unit for all blocks, in which squares of covariances do not overflow or vanish.
    unit = float(power_of_two(max(np.abs(P).max() for P, _ in whitened)))
    cross = Cross.of([P / unit for P, _ in whitened], blocks[0].total)
    b, n_iter, converged = _ascend(cross, _start(cross, rule.design), rule)
    covariances = cross.covariances(b)
    sides = _aligned(rule.design * covariances)
    covariances = covariances * np.outer(sides, sides)
    each = zip(blocks, whitened, sides, cross.blocks(), strict=True)
    weights = [block.take_out(F @ (side * b[own])) for block, (_, F), side, own in each]
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        square = np.square(unit)
        times = square * square if rule.scheme == "factorial" else square
        criterion = float(_criterion(covariances, rule) * times)
        return Component(weights, covariances * square, criterion, n_iter, converged)


def _start(cross: Cross, design: Array) -> Array:
    """Parts of the leading eigenvector of all blocks; or the first axis of a block without one."""
    widths = np.diff([*cross.begins, len(cross.M)])
    M = cross.M * np.repeat(np.repeat(design, widths, axis=0), widths, axis=1)
    v = eigenpairs(M, 1)[1][:, 0]
    for own in cross.blocks():
        size = float(np.linalg.norm(v[own]))
        v[own] = v[own] / size if size > np.sqrt(EPS) else np.eye(1, own.stop - own.start)[0]
    return np.asarray(v)


def _ascend(cross: Cross, b: Array, rule: Rule) -> tuple[Array, int, bool]:
    """One block after the other, until the criterion no longer grows."""
    value = _criterion(cross.covariances(b), rule)
    for step in range(1, rule.max_iter + 1):
        for j, own in enumerate(cross.blocks()):
            towards = cross.towards(own, b)
            inner = towards @ (rule.design[j] * SCHEMES[rule.scheme][1](b[own] @ towards))
            size = float(np.linalg.norm(inner))
            if size > 0:
                b[own] = inner / size
        before, value = value, _criterion(cross.covariances(b), rule)
        if value - before <= rule.tol * abs(value):
            return b, step, True
    return b, rule.max_iter, False


def _criterion(covariances: Array, rule: Rule) -> float:
    return float(np.sum(rule.design * SCHEMES[rule.scheme][0](covariances)))


def _aligned(joined: Array) -> Array:
    """Signs of the blocks with which the scores of joined blocks go up together."""
    v = np.linalg.eigh((joined + joined.T) / 2)[1][:, -1]
    return np.where(v < 0, -1.0, 1.0)
