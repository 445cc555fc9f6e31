"""The problem and its answer.

Every projection method is the pencil

    A W = B W diag(eigenvalues),   A = Z'H H'Z,   B = Z'Z + alpha I,   W'B W = I

with Z the centred data and H the centred target.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse

from eigenkit.data import SparseRows, centered_columns, constant_columns, scaled
from eigenkit.data.columns import BLOCK_BYTES, row_slices
from eigenkit.numerics.linalg import Array
from eigenkit.numerics.threads import thread_map


@dataclass(frozen=True)
class Pencil:
    """One generalized eigenvalue problem: data Z, target H, ridge alpha.

    Use :meth:`state` to make one from raw rows: it centres H, which the equations need. ``ZtH`` is
    Z'H where that is known already.
    """

    Z: Any
    H: Any
    alpha: float
    ZtH: Array | None = None

    @classmethod
    def state(cls, Z: Any, H: Any, alpha: float) -> Self:
        """Centre H (one row per row of X) with the weights of Z, and weight it likewise."""
        if sparse.issparse(H):
            return cls(Z, SparseTarget(H, Z.weight), alpha)
        _, H = centered_columns(H, Z.weight)
        if Z.weight is not None:
            H *= np.sqrt(Z.weight)[:, None]
        return cls(Z, H, alpha)

    @cached_property
    def C(self) -> Array:
        """Z'H, as directions: all that A is made of."""
        return np.asarray(self.Z.cross(self.H)) if self.ZtH is None else self.ZtH

    def at(self, alpha: float) -> Pencil:
        """The same data and target with another ridge."""
        return self if alpha == self.alpha else Pencil(self.Z, self.H, alpha, self.C)

    def compressed(self) -> Pencil:
        """The same pencil on fewer rows, for methods that need rows where there are too many."""
        Z, H = self.Z.compress(self.H)
        return self if Z is self.Z else Pencil(Z, H, self.alpha, self.C)

    @cached_property
    def ridge(self) -> float | Array:
        """alpha in the units of Z (see :meth:`Centered.ridge`)."""
        found: float | Array = self.Z.ridge(self.alpha)
        return found

    def forms(self, V: Array) -> tuple[Array, Array]:
        """B V and V'B V; the latter from Z V, so that it has the digits of Z and not of Z'Z."""
        BV, square = self.Z.gradient(V)
        damped_V = damped(self.ridge, V)
        BV += damped_V
        return BV, square + self.Z.inner(V, damped_V)


def damped(ridge: float | Array, V: Array) -> Array:
    """diag(ridge) V."""
    return V * (ridge if np.ndim(ridge) == 0 else np.asarray(ridge)[:, None])


@dataclass(frozen=True)
class Report:
    """How a problem was solved, why in this way, and how well.

    Every fitted estimator has one. What a method does not measure is nan, or empty, and has no line
    in what is printed.

    Attributes
    ----------
    solver, regression : str
        What was used: the way to solve the problem, and the method of its main step, which for a
        pencil is the first of two stages.
    reason : str
        Why, in one sentence.
    n_iter : int
        Iterations of an iterative method, of the component that took most; 0 where there are none.
    converged : bool
        Whether the tolerance was reached.
    residual : float
        ||A W - B W Lambda||_F relative to ||A W||_F + ||B W Lambda||_F.
    orthogonality : float
        The largest entry of W'B W - I, in absolute value.
    condition : float
        Estimate of the condition number of B on the space that is used, once all columns
        have been brought to one scale.
    products : str
        What made the products with X: "BLAS", or for sparse X "compiled" or "scipy" (see
        :mod:`eigenkit.numerics.compiled`).
    label_rank : int or None
        How many targets stood for all labels; None for all of them.
    label_bound : float
        The most by which an eigenvalue may be too small because of that.
    equivalent : bool
        Whether W solves the pencil; False for a least squares model that differs from it.
    notes : tuple of str
        What else was done: what a search has chosen, for instance.

    Examples
    --------
    >>> print(Report("two_stage", "cg", "as asked", n_iter=12, residual=2e-9, condition=50.0))
    solved by: two_stage with cg (as asked)
    iterations: 12, which converged
    residual: 2.0e-09
    condition number: 5.0e+01
    """

    solver: str
    regression: str = ""
    reason: str = ""
    n_iter: int = 0
    converged: bool = True
    residual: float = float("nan")
    orthogonality: float = float("nan")
    condition: float = float("nan")
    products: str = ""
    label_rank: int | None = None
    label_bound: float = 0.0
    equivalent: bool = True
    notes: tuple[str, ...] = ()

    @property
    def error(self) -> float:
        """By how much an eigenvalue may be off; 0 where that was not measured.

        Ten times the measured value, as errors of a known size were up to six times as large.
        """
        measured = (self.residual, self.orthogonality) if self.equivalent else ()
        return 10 * max((value for value in measured if not math.isnan(value)), default=0.0)

    def noting(self, note: str) -> Report:
        """The report with one more note."""
        return replace(self, notes=(*self.notes, note))

    def facts(self) -> dict[str, str]:
        """For people: everything that was measured, by what it is called."""
        method = f" with {self.regression}" if self.regression else ""
        reason = f" ({self.reason})" if self.reason else ""
        found = {"solved by": f"{self.solver}{method}{reason}"}
        if self.n_iter:
            end = "converged" if self.converged else "stopped before they converged"
            found["iterations"] = f"{self.n_iter}, which {end}"
        measured = {"residual": self.residual, "orthogonality": self.orthogonality}
        measured["condition number"] = self.condition
        found |= {name: f"{v:.1e}" for name, v in measured.items() if not math.isnan(v)}
        if self.label_rank is not None:
            bound = f"eigenvalues are too small by at most {self.label_bound:.1e}"
            found["targets in place of all labels"] = f"{self.label_rank}; {bound}"
        if not self.equivalent:
            found["model"] = "least squares, which does not solve the eigenvalue problem"
        if self.products:
            found["products with X"] = self.products
        return found | ({"note": "; ".join(self.notes)} if self.notes else {})

    def __str__(self) -> str:
        return "\n".join(f"{name}: {text}" for name, text in self.facts().items())


class Answer(NamedTuple):
    """What was found, and how: the solution of a problem that is no pencil."""

    found: Any
    report: Report


@dataclass(frozen=True)
class Solution:
    """The answer to a pencil: all components with a non-zero eigenvalue.

    ``W`` (d x l) is in the units of X. ``basis`` (k x l) relates the scores Z W to the target:
    H'Z W = basis diag(sqrt(eigenvalues)). ``gram`` (l x l) is W'B W, the products of the scores
    with each other and the ridge; None where it is the identity, as for every W that solves the
    pencil.
    """

    W: Array
    eigenvalues: Array
    basis: Array
    report: Report = field(compare=False)
    gram: Array | None = None

    def components(self, keep: Any) -> Solution:
        """Some of the components."""
        gram = None if self.gram is None else self.gram[keep][:, keep]
        parts = self.W[:, keep], self.eigenvalues[keep], self.basis[:, keep]
        return Solution(*parts, self.report, gram)

    @property
    def cross(self) -> Array:
        """H'Z W (k x l)."""
        return self.basis * np.sqrt(self.eigenvalues)


# -- centred targets: labels of which each sample has only a few --------------------------

# A matrix of labels with a smaller share of non-zeros, and at least this many columns, is worth
# taking as a sparse one.
SPARSE_SHARE = 0.1
MANY_COLUMNS = 64


class SparseTarget:
    """H = diag(r) (S - 1 mean') for sparse S (n x k) and weights r^2, with mean the weighted mean.

    H is never formed, unless by ``np.asarray``. A column of S without variance is left out, as
    :func:`centered_columns` does it.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> H = SparseTarget(sparse.csr_array(np.array([[1.0, 0.0], [0.0, 0.0]])))
    >>> H @ np.eye(2)
    array([[ 0.5,  0. ],
           [-0.5,  0. ]])
    """

    __array_ufunc__ = None  # products with arrays are made here

    def __init__(self, S: sparse.csr_array, weight: Array | None = None) -> None:
        constant = constant_columns(S)
        if constant.any():
            S = scaled(S, columns=np.where(constant, 0.0, 1.0))
        self.S, self.weight = S, weight
        self.shape: tuple[int, int] = S.shape
        self.total = float(S.shape[0] if weight is None else weight.sum())
        self.mean = self.sums / self.total

    @cached_property
    def _rows(self) -> SparseRows:
        """S for products; its transpose is made once, not for each of them."""
        return SparseRows(self.S)

    def counted(self) -> sparse.csr_array:
        """diag(r^2) S: what sums over the samples are made of."""
        return scaled(self.S, rows=self.weight)

    @property
    def sums(self) -> Array:
        """The weighted sums of the columns of S."""
        counted = self.counted()
        return np.asarray(np.bincount(counted.indices, counted.data, self.shape[1]), np.float64)

    def any(self, axis: None = None, out: None = None) -> bool:
        """Whether any column varies."""
        return bool(np.any(self.S.data))

    def __matmul__(self, T: Array) -> Array:
        product = self._rows @ T
        product -= self.mean @ T
        return self._weighted(product)

    @property
    def T(self) -> _Transposed:
        """H', for products."""
        return _Transposed(self)

    def column_squares(self) -> Array:
        """The sums of squares of the columns of H."""
        squares = np.bincount(self.S.indices, self.counted().data * self.S.data, self.shape[1])
        return np.asarray(squares - self.total * self.mean**2)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return self._weighted(self.S.toarray() - self.mean)

    def _weighted(self, U: Array) -> Array:
        return U if self.weight is None else U * np.sqrt(self.weight)[:, None]


class _Transposed:
    """H' = (S - 1 mean')' diag(r)."""

    __array_ufunc__ = None

    def __init__(self, H: SparseTarget) -> None:
        self.H = H

    def __matmul__(self, U: Any) -> Array:
        if U is self.H:
            G = (U.S.T @ U.counted()).toarray()
            return np.asarray(G - np.outer(U.total * U.mean, U.mean))
        U = self.H._weighted(U)
        product = self.H._rows.T @ U
        return np.asarray(product - np.outer(self.H.mean, U.sum(axis=0)))


def sparse_labels(Y: Array) -> sparse.csr_array | None:
    """A dense matrix of labels as a sparse one; None where that is not worth it.

    Block by block: what is compared stays in the cache, and where too many numbers are not zero
    the rest is not looked at.
    """
    n, k = Y.shape
    if k < MANY_COLUMNS:
        return None
    most, counts = SPARSE_SHARE * Y.size, [0]

    def places(rows: slice) -> np.ndarray:
        found = np.flatnonzero(Y[rows if sum(counts) <= most else slice(0)] != 0)
        counts.append(len(found))
        return np.asarray(found + rows.start * k)

    place = np.concatenate(thread_map(places, row_slices(Y.shape, BLOCK_BYTES)))
    if sum(counts) > most:
        return None
    rows, columns = np.divmod(place, k)
    ends = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))])
    return sparse.csr_array((Y[rows, columns], columns, ends), shape=Y.shape)
