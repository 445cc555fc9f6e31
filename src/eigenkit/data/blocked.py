"""Data that are never all in memory: every product is a pass over blocks of rows.

The same Z as in :mod:`eigenkit.data.centered`, but nothing with one entry per row is ever there:
what solvers get are sums over the rows, Z'Z V, Z'H and Z'Z. The two products of Z'(Z V) are made
block by block in one pass. The target H comes along as rows of its own (:class:`Targets`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
from scipy import linalg as sla
from scipy import sparse

from eigenkit.data import matrices
from eigenkit.data.centered import Centered
from eigenkit.data.matrices import BLOCK_BYTES, row_slices
from eigenkit.data.passes import Passes, Survey, survey_of
from eigenkit.data.protocol import Data, Targets
from eigenkit.numerics import compiled
from eigenkit.numerics.costs import BLOCK_RATE, DENSE_RATE, READ_RATE, SPARSE_RATE, fits
from eigenkit.numerics.linalg import Array, Cholesky, add_gram, fill_upper, triangular_factor
from eigenkit.numerics.tolerances import REPAIRABLE, ROUNDING, TWELVE_DIGITS, grain

# A block as it is passed over: X, the encoded y, and the weights or None.
Block = tuple[Any, Array, Array | None]


@dataclass(frozen=True)
class Frame:
    """How rows of X become rows of Z = P - r delta', P = diag(r) (X - 1 shift') diag(m)."""

    shift: Array | None
    m: Array | None
    delta: Array

    def pieces(self, blocks: Iterable[Block]) -> Iterator[tuple[Any, Array, Array | None]]:
        """Unweighted rows of P in float64, with their Y and r, while they are in the cache."""
        for X, Y, weight in blocks:
            r = None if weight is None else np.sqrt(weight)
            if sparse.issparse(X):
                P = X.astype(np.float64, copy=False)
                P = P if self.shift is None else matrices.shifted(P, self.shift)
                yield matrices.scaled(P, columns=self.m), Y, r
                continue
            as_floats = np.asarray if self.shift is None and self.m is None else np.array
            for rows in row_slices(X.shape, BLOCK_BYTES):
                P = matrices.moved(as_floats(X[rows], dtype=np.float64), self.shift, self.m)
                yield P, Y[rows], None if r is None else r[rows]


@dataclass(frozen=True)
class Columns:
    """V, which is widened once for all parts that a process passes over, where that is quicker."""

    V: Array
    may_be_wider: bool

    @cached_property
    def wide(self) -> Array:
        """V as compiled products want it."""
        return compiled.for_gradient(self.V) if self.may_be_wider else self.V


class Blocked(Data):
    """Rows in blocks (X, Y, weight), with the survey of them; ``bare`` passes are for products that
    need no Y, which may be left unencoded there."""

    has_rows = False

    def __init__(
        self, passes: Passes, survey: Survey, *, one_unit: bool = False, bare: Passes | None = None
    ) -> None:
        self.passes, self.survey, self.bare = passes, survey, bare or passes
        self._in_units_of_X = survey  # self.survey will be in those of Z
        d = len(survey.mean)
        self.shape = survey.n_rows, d
        self.n_samples, self.total, self.eps = survey.n_rows, survey.total, survey.eps
        self.weight, self.one = None, 1.0 if survey.counted else survey.total / survey.n_rows
        self.names_constant = not survey.is_sparse
        self.decomposable = fits(d)
        if self._find_unit(survey.sizes, one_unit or survey.n_rows <= d or not fits(d)):
            self.survey = self.bare.run(survey_of, self.m)
        self._tame_offset()

    # -- what the data look like -------------------------------------------------------

    def _tame_offset(self) -> None:
        """As the kinds in memory do: shift what is far from zero, find what is constant."""
        s = self.survey  # in the units of Z
        far = s.total * s.mean * s.mean >= matrices.FULL * s.squares
        far &= s.filled > matrices.FULL * s.total  # in dense rows all columns are
        constant = s.high - s.low <= ROUNDING * np.abs(s.mean)
        self.constant, unit = constant, 1.0 if self.m is None else self.m
        mean, shift, drift = s.mean, np.where(far, s.mean, 0.0), np.zeros_like(s.mean)
        frame = Frame(shift / unit if far.any() else None, self.m, drift)
        if far.any():  # the shift is a rounded sum: what it misses shows in differences
            ones = Targets(lambda Y: np.ones((len(Y), 1)), (self.shape[0], 1))
            drift = self.bare.run(_cross, frame, ones)[0][:, 0] / s.total
            mean = np.where(far, shift + drift, mean)
        self.mean = mean / unit
        if s.mean[constant].any():
            self.m = np.where(constant, 0.0, unit)
        delta = np.where(constant, 0.0, np.where(far, drift, mean))
        self.frame = replace(frame, m=self.m, delta=delta)

    def column_squares(self) -> Array:
        squares = np.where(self.constant, 0.0, self.survey.squares)
        if self.frame.shift is not None:
            squares = self.bare.run(_squares, self.frame)
        return np.asarray(np.maximum(squares - self.total * self.frame.delta**2, 0.0))

    def grain(self, squares: Array | None = None) -> Array:
        given = np.where(self.constant, 0.0, self.survey.squares)
        return np.asarray(grain(given, self.n_samples, self.eps))

    # -- the products ------------------------------------------------------------------

    def gradient(self, V: Array, H: Any = None) -> tuple[Array, Array]:
        """Z'(Z V - H) and (Z V)'(Z V), in one pass."""
        # As other processes get it: another memory order rounds differently.
        V = np.ascontiguousarray(V)
        passes = self.bare if H is None else self.passes
        slope, drift, square = passes.run(_gradient, self.frame, Columns(V, H is None), H)
        slope, k = np.ascontiguousarray(slope), V.shape[1]
        slope -= np.outer(self.frame.delta, drift[:k])
        return slope, square[:k, :k]

    def normal(self, V: Array) -> Array:
        """Z'Z V, in one pass."""
        return self.gradient(V)[0]

    def rmatmat(self, U: Any) -> Array:
        """Z'H for targets that pass by with the rows."""
        if not isinstance(U, Targets):
            self._refuse()
        slope, drift = self.passes.run(_cross, self.frame, U)
        return np.asarray(slope - np.outer(self.frame.delta, drift))

    def within(self, H: Targets) -> Array:
        """H'H, centred, in one pass."""
        if not fits(H.shape[1]):
            self._refuse()
        squares, sums = self.passes.run(_within, H, False)
        return np.asarray(squares - np.outer(sums / self.total, sums))

    def squares_of(self, H: Targets) -> float:
        """tr H'H, centred, in one pass."""
        squares, sums = self.passes.run(_within, H, True)
        return float(squares.sum() - sums @ sums / self.total)

    def gram(self) -> Array:
        G = fill_upper(self.bare.run(_gram, self.frame))
        G -= np.outer(self.total * self.frame.delta, self.frame.delta)
        return G

    def compress(self, H: Any = None) -> tuple[Data, Any]:
        H = Targets(lambda Y: np.empty((len(Y), 0)), (self.shape[0], 0)) if H is None else H
        d, k = self.shape[1], H.shape[1]
        if not fits(d + k):
            self._refuse()
        R = _triangle(self.passes, self.frame, H, ~self.constant)
        mean = self.to_X(self.mean)
        Z = Centered.behind(R[:, :d], mean, self.total, self.one, self.n_samples, self.eps)
        return Z, R[:, d:]

    def _refuse(self, *_: Any) -> NoReturn:
        raise ValueError(
            f"X comes in blocks ({self.shape[0]} rows, {self.shape[1]} columns), and this needs "
            "all rows at once, or fewer columns: leave solver and regression at 'auto', or fit "
            "in memory."
        )

    matmat = outer = toarray = _refuse  # type: ignore[assignment]

    def in_one_unit(self) -> Blocked:
        given = self.passes, self._in_units_of_X
        return self if np.ndim(self.unit) == 0 else Blocked(*given, one_unit=True, bare=self.bare)

    def spectral_norm_squared(self) -> float:
        """The sum of all eigenvalues, which costs no pass: an estimate from above."""
        return self.trace()

    def seconds_for_passes(self, k: int) -> float:
        """Two products with everything that is stored, or reading it."""
        stored = self.survey.n_stored
        rate = BLOCK_RATE if self.survey.is_sparse else DENSE_RATE
        return 2 * stored * max(1 / READ_RATE, k / rate)

    def seconds_for_gram(self) -> float:
        return self.survey.squared_rows / (SPARSE_RATE if self.survey.is_sparse else DENSE_RATE)


# -- what is summed over the blocks of a part -------------------------------------------


def _squares(blocks: Iterable[Block], frame: Frame) -> Array:
    total = np.zeros_like(frame.delta)
    for P, _, r in frame.pieces(blocks):
        total += matrices.sum_of_squares(matrices.scaled(P, rows=r))
    return total


def _gradient(
    blocks: Iterable[Block], frame: Frame, columns: Columns, H: Targets | None
) -> tuple[Array, Array, Array]:
    V = columns.wide
    offset, width = frame.delta @ V, V.shape[1]
    slope, drift, square = compiled.lined_up(V.shape), np.zeros(width), np.zeros((width, width))
    slope[:] = 0  # np.zeros would ask for its pages twice: when they are read, and when written
    for P, Y, r in frame.pieces(blocks):
        given = V, offset, r, slope, drift, square
        if H is None and sparse.issparse(P) and compiled.add_gradient(P, *given):
            continue
        ZV = matrices.sparse_product(P, V) if sparse.issparse(P) else P @ V
        ZV -= offset
        ZV = matrices.scaled(ZV, r)
        square += ZV.T @ ZV
        gap = matrices.scaled(ZV if H is None else ZV - matrices.scaled(H.of(Y), r), r)
        matrices.add_transposed(slope, P, gap)
        drift += gap.sum(axis=0)
    # A view: sent to another process, it leaves the columns of padding behind.
    return slope[:, : columns.V.shape[1]], drift, square


def _cross(blocks: Iterable[Block], frame: Frame, H: Targets) -> tuple[Array, Array]:
    k = H.shape[1]
    slope, drift = np.zeros((len(frame.delta), k)), np.zeros(k)
    for P, Y, r in frame.pieces(blocks):
        U = matrices.scaled(H.of(Y), None if r is None else r * r)
        matrices.add_transposed(slope, P, U)
        drift += U.sum(axis=0)
    return slope, drift


def _within(blocks: Iterable[Block], H: Targets, diagonal: bool) -> tuple[Array, Array]:
    k = H.shape[1]
    squares, sums = np.zeros(k if diagonal else (k, k)), np.zeros(k)
    for _, Y, weight in blocks:
        rows = H.of(Y)
        weighted = matrices.scaled(rows, weight)
        squares += np.sum(rows * weighted, axis=0) if diagonal else rows.T @ weighted
        sums += weighted.sum(axis=0)
    return squares, sums


def _gram(blocks: Iterable[Block], frame: Frame) -> Array:
    """The lower half of P'P."""
    d = len(frame.delta)
    G = np.zeros((d, d))
    for P, _, r in frame.pieces(blocks):
        P = matrices.scaled(P, rows=r)
        if not sparse.issparse(P):
            add_gram(G, P)
            continue
        Pt = P.T.tocsr()
        for rows in row_slices(G.shape, BLOCK_BYTES):  # without a second matrix of its size
            G[rows] += (Pt[rows] @ P).toarray()
    return G


# -- the triangle R of [Z H], as accurate as the rows, at the speed of products -----------
# The Cholesky factor of a Gram matrix is R where that is well conditioned. Otherwise it is good
# enough to make the columns nearly orthonormal, and the Gram matrix of those is well conditioned
# (Cholesky-QR twice: one more pass). Where even that is not certain, blocks are factored by
# Householder's QR and stacked, which takes several times as long.

# How far Q'Q may be from I for its own factor to be exact to rounding.
NEARLY = 0.1
# Rows are factored in blocks of this many times their number of columns.
TALL = 4


def _triangle(passes: Passes, frame: Frame, H: Targets, live: np.ndarray) -> Array:
    """[R T] with as many rows as it takes, and the products of [Z H] with itself; where its
    ``live`` columns, which are not zero, are independent, there is a fast way."""
    found = _by_products(passes, frame, H, live) if live.any() else None
    if found is None:
        found = passes.run(_stacked, frame, H, len(live) + H.shape[1]).R
    return np.asarray(found)


def _by_products(passes: Passes, frame: Frame, H: Targets, live: np.ndarray) -> Array | None:
    """The same from Gram matrices; None where these are too ill-conditioned."""
    k = H.shape[1]
    G = fill_upper(passes.run(_joint_gram, frame, H, live, None))
    first = Cholesky.of(G[:-k, :-k].copy() if k else G.copy())
    if first is not None and first.rcond > REPAIRABLE:
        R = np.tril(first.L).T * first.scale
        if first.rcond > TWELVE_DIGITS:
            return _assembled(R, G, live)
        G = fill_upper(passes.run(_joint_gram, frame, H, live, R))
        Q = G[: len(R), : len(R)]
        if np.abs(Q - np.eye(len(R))).max() < NEARLY:
            return _assembled(R, G, live, np.asarray(sla.cholesky(Q)))
    return None


def _assembled(R: Array, G: Array, live: np.ndarray, again: Array | None = None) -> Array:
    """[R T; 0 S] from the Gram matrix of [Q H], Q = Z R^-1 (or of [Z H], without ``again``)."""
    r, k = len(R), len(G) - len(R)
    T = sla.solve_triangular(R if again is None else again, G[:r, r:], trans="T")
    values, vectors = sla.eigh(G[r:, r:] - T.T @ T)
    out = np.zeros((r + k, len(live) + k))
    out[:r, np.flatnonzero(live)] = R if again is None else again @ R
    out[:r, len(live) :] = T
    out[r:, len(live) :] = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
    return out


def _joint(blocks: Iterable[Block], frame: Frame, H: Targets) -> Iterator[Array]:
    """Dense rows of [Z H]."""
    for P, Y, r in frame.pieces(blocks):
        for rows in row_slices(P.shape, 2**25):
            joint = np.hstack([matrices.as_dense(P[rows]) - frame.delta, H.of(Y[rows])])
            yield joint if r is None else joint * r[rows, None]


def _joint_gram(
    blocks: Iterable[Block], frame: Frame, H: Targets, live: np.ndarray, R: Array | None
) -> Array:
    """The lower half of the Gram matrix of [Z H], or [Z R^-1 H], without zero columns of Z."""
    keep = np.append(live, np.ones(H.shape[1], dtype=bool))
    G = np.zeros((int(keep.sum()),) * 2)
    for A in _joint(blocks, frame, H):
        A = A if keep.all() else A[:, keep]
        if R is not None:
            Q = sla.solve_triangular(R, A[:, : len(R)].T, trans="T", check_finite=False).T
            A = np.hstack([Q, A[:, len(R) :]])
        add_gram(G, A)
    return G


@dataclass(eq=False)
class _Stack:
    """A triangle to which others are added."""

    R: Array

    def merge(self, other: _Stack) -> _Stack:
        return _Stack(triangular_factor(np.vstack([self.R, other.R])))


def _stacked(blocks: Iterable[Block], frame: Frame, H: Targets, width: int) -> _Stack:
    R = np.zeros((0, width))
    held, rows = [], 0
    for A in _joint(blocks, frame, H):
        held.append(A)
        rows += len(A)
        if rows >= TALL * width:
            R, held, rows = triangular_factor(np.vstack([R, *held])), [], 0
    return _Stack(triangular_factor(np.vstack([R, *held])))
