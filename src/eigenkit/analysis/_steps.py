"""The stepwise permutation test: what each step compares, and what it is compared with.

Component j is tested with those before it gone from both sides. It is not enough to leave
them out: the observed U_<j and V_>=j are orthogonal, permuted rows would not be, and the
permuted statistic would lose a part that the observed one keeps. So the rows are mapped to an
orthonormal basis Q of the complement of [1, nuisance variables, U_<j] first (Huh and Jhun
2001; Winkler and others 2020):

    T(pi) = f(singular values of (Q'U)' pi (Q'V_>=j)),   the observed value is T(identity)

All columns of A stay in, partners or not: the directions of the wider side that have no
partner belong to the noise that the others are compared with.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise, permutations, product

import numpy as np
from scipy import linalg as sla

from eigenkit.numerics.linalg import Array, eigenpairs
from eigenkit.numerics.tolerances import DEPENDENT

# Correlations within half of this of 1 count as 1: closer is the rounding of sums over samples.
PERFECT = 1e-12

# Singular values below this share of the largest are rounding, as no data share so little.
NOT_SHARED = 1e-10

# Numbers that one batch of permutations may fill.
BATCH_NUMBERS = 2**22

Blocks = Sequence[np.ndarray]


@dataclass(frozen=True)
class Components:
    """The components of some sides: values, scores, and what is left after the first j."""

    values: Array
    scores: Array
    left: Callable[[int], list[Array]]


def decompose(sides: list[Array]) -> Components:
    """The components that the sides share, in decreasing order."""
    found = _of_two(*sides) if len(sides) == 2 else _of_many(sides)
    real = found.values > NOT_SHARED * found.values.max(initial=0.0)
    return Components(found.values[real], found.scores[:, : int(real.sum())], found.left)


def _of_two(A: Array, B: Array) -> Components:
    """A'B = P diag(r) Q'; scores are A P, and B Q_>=j is left of B.

    A stays whole: the test removes the rows along A P_<j, and with them these directions.
    """
    P, r, Qt = sla.svd(A.T @ B, full_matrices=B.shape[1] > A.shape[1])
    return Components(r, A @ P[:, : len(r)], lambda j: [A, B @ Qt[j:].T])


def _of_many(sides: list[Array]) -> Components:
    """Eigenvectors of the block matrix with the products of different sides."""
    edges = np.cumsum([0] + [side.shape[1] for side in sides])
    M = _between(np.hstack(sides), edges)
    values, W = eigenpairs(M)
    parts = np.split(W, edges[1:-1])
    scores = sum(side @ part for side, part in zip(sides, parts, strict=True))

    def left(j: int) -> list[Array]:
        bases = [sla.qr(part[:, :j], mode="full")[0][:, j:] if j else None for part in parts]
        return [s if b is None else s @ b for s, b in zip(sides, bases, strict=True)]

    return Components(np.maximum(values, 0.0), np.asarray(scores), left)


def _between(Z: Array, edges: np.ndarray) -> Array:
    """Z'Z (of a stack of matrices: of each) without the products of a side with itself."""
    G = np.swapaxes(Z, -1, -2) @ Z
    for a, b in pairwise(edges):
        G[..., a:b, a:b] = 0.0
    return G


# -- rows that can be exchanged ---------------------------------------------------------


def freed_rows(sides: list[Array], removed: Array, blocks: Blocks) -> tuple[list[Array], Blocks]:
    """Q'side for every side, with Q a basis of the complement of ``removed`` in each block."""
    parts = [_complement(removed[rows], [side[rows] for side in sides]) for rows in blocks]
    edges = np.cumsum([0] + [len(part[0]) for part in parts])
    stacked = [np.vstack([part[i] for part in parts]) for i in range(len(sides))]
    return stacked, [np.arange(a, b) for a, b in pairwise(edges)]


def _complement(N: Array, sides: list[Array]) -> list[Array]:
    """Q'side, with Q an orthonormal basis of the complement of N that N's span alone decides.

    The units of the columns of N do not matter, and copies add nothing. With N orthonormal (n x c)
    and turned such that its first c rows are H, symmetric and positive semidefinite, the reflector
    I - (N + E)(I + H)^-1 (N + E)' maps N to -E, the first c unit vectors; its other columns are Q,
    which is close to the identity and never formed.
    """
    size = np.linalg.norm(N, axis=0)
    U, s, _ = sla.svd(N / np.where(size > 0, size, 1.0), full_matrices=False)
    N = U[:, s > DEPENDENT * s.max(initial=0.0)]
    c = N.shape[1]
    P, h, Rt = sla.svd(N[:c])
    N = N @ (P @ Rt).T
    lift = (N[c:] @ P) / (1 + h) @ P.T
    return [C[c:] - lift @ (N.T @ C + C[:c]) for C in sides]


def every_order(blocks: Blocks) -> np.ndarray:
    """All orders of the rows that exchange them within blocks, one per row; the identity first."""
    choices = product(*(permutations(rows.tolist()) for rows in blocks))
    return _in_place(np.array([[i for rows in c for i in rows] for c in choices]), blocks)


def random_orders(blocks: Blocks, count: int, rng: np.random.Generator) -> np.ndarray:
    """Random orders of the rows that exchange them within blocks, one per row."""
    drawn = [rng.permuted(np.tile(rows, (count, 1)), axis=1) for rows in blocks]
    return _in_place(np.hstack(drawn), blocks)


def _in_place(orders: np.ndarray, blocks: Blocks) -> np.ndarray:
    """Orders listed block by block, put where the rows of the blocks are."""
    out = np.empty_like(orders)
    out[:, np.concatenate(blocks)] = orders
    return out


# -- statistics -------------------------------------------------------------------------


def statistic(name: str, sides: list[Array], orders: Sequence[np.ndarray]) -> Array:
    """T for each permutation: ``orders`` has, for every side but the first, one order a row."""
    if len(sides) == 2:
        return _of_pairs(name, sides[0], sides[1], orders[0])
    fixed = np.broadcast_to(sides[0], (len(orders[0]), *sides[0].shape))
    Z = np.concatenate([fixed, *(s[o] for s, o in zip(sides[1:], orders, strict=True))], axis=2)
    G = _between(Z, np.cumsum([0] + [side.shape[1] for side in sides]))
    if name == "trace":
        return np.asarray(np.einsum("bij,bij->b", G, G) / 2)
    values = np.asarray(np.linalg.eigvalsh(G), dtype=np.float64)
    return values[:, -1] if name == "roy" else _logs(1 + values)


def _of_pairs(name: str, U: Array, V: Array, orders: np.ndarray) -> Array:
    # U'V[order] for every order, by one matrix product.
    n, q = V.shape
    M = U.T @ V[orders.T].reshape(n, len(orders) * q)
    M = M.reshape(U.shape[1], len(orders), q).transpose(1, 0, 2)
    if name == "trace" or min(M.shape[1:]) == 1:
        squares = np.einsum("bij,bij->b", M, M)[:, None]
    else:
        M = M if M.shape[2] <= M.shape[1] else M.transpose(0, 2, 1)
        squares = np.linalg.eigvalsh(np.swapaxes(M, 1, 2) @ M)
    return np.asarray(_logs(1 - squares) if name == "wilks" else squares[:, -1])


def _logs(x: Array) -> Array:
    return np.asarray(-np.sum(np.log(np.maximum(x, PERFECT)), axis=1))


def batch_size(sides: list[Array]) -> int:
    """Permutations at a time, from the size of the problem alone."""
    n, width = sides[0].shape[0], sum(side.shape[1] for side in sides)
    inner = sides[0].shape[1] * sides[1].shape[1] if len(sides) == 2 else width**2
    return int(np.clip(BATCH_NUMBERS // max(1, n * width + inner), 1, 500))
