"""The problem and its answer.

Every projection method is the pencil

    A W = B W diag(eigenvalues),   A = Z'H H'Z,   B = Z'Z + alpha I,   W'B W = I

with Z the centred data and H the centred target.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy import sparse

from eigenkit.data import SparseTarget, centered_columns
from eigenkit.linalg import Array


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

    @property
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
    """How a pencil was solved and how well.

    Attributes
    ----------
    solver, regression : str
        What was used: the way to solve the pencil, and the method of its first stage.
    reason : str
        Why, in one sentence.
    n_iter : int
        Iterations of an iterative method; 0 where there are none.
    converged : bool
        Whether the tolerance was reached.
    residual : float
        ||A W - B W Lambda||_F relative to ||A W||_F + ||B W Lambda||_F.
    orthogonality : float
        The largest entry of W'B W - I, in absolute value.
    condition : float
        Estimate of the condition number of B on the space that is used, once all columns
        have been brought to one scale (nan where the method yields none).
    products : str
        What made the products with X: "BLAS", or for sparse X "compiled" or "scipy" (see
        :mod:`eigenkit.compiled`).
    label_rank : int or None
        How many targets stood for all labels; None for all of them.
    label_bound : float
        By how much an eigenvalue may be too small for that.
    equivalent : bool
        Whether W solves the pencil; False for a least squares model that differs from it.

    Examples
    --------
    >>> print(Report("two_stage", "cg", "as asked", n_iter=12, residual=2e-9, condition=50.0))
    solved by two_stage with cg (as asked)
    iterations: 12, which converged
    residual: 2.0e-09
    condition number: 5.0e+01
    products with X: BLAS
    """

    solver: str
    regression: str
    reason: str
    n_iter: int = 0
    converged: bool = True
    residual: float = float("nan")
    orthogonality: float = float("nan")
    condition: float = float("nan")
    products: str = "BLAS"
    label_rank: int | None = None
    label_bound: float = 0.0
    equivalent: bool = True

    def __str__(self) -> str:
        """For people: a line for everything that was measured."""
        lines = [f"solved by {self.solver} with {self.regression} ({self.reason})"]
        if self.n_iter:
            end = "converged" if self.converged else "stopped before they converged"
            lines.append(f"iterations: {self.n_iter}, which {end}")
        found = {"residual": self.residual, "orthogonality": self.orthogonality}
        found["condition number"] = self.condition
        lines += [f"{name}: {value:.1e}" for name, value in found.items() if not math.isnan(value)]
        if self.label_rank is not None:
            bound = f"eigenvalues are too small by at most {self.label_bound:.1e}"
            lines.append(f"targets in place of all labels: {self.label_rank}; {bound}")
        if not self.equivalent:
            lines.append("a least squares model, which does not solve the eigenvalue problem")
        return "\n".join([*lines, f"products with X: {self.products}"])


@dataclass(frozen=True)
class Solution:
    """The answer to a pencil: all components with a non-zero eigenvalue.

    ``W`` (d x l) is in the units of X. ``basis`` (k x l) says what the scores Z W have to do
    with the target: H'Z W = basis diag(sqrt(eigenvalues)). ``gram`` (l x l) is W'B W, the
    products of the scores with each other and the ridge; None where it is the identity, as it
    is for every W that solves the pencil.
    """

    W: Array
    eigenvalues: Array
    basis: Array
    report: Report = field(compare=False)
    gram: Array | None = None

    def components(self, keep: Any) -> Solution:
        """Some of them."""
        gram = None if self.gram is None else self.gram[keep][:, keep]
        parts = self.W[:, keep], self.eigenvalues[keep], self.basis[:, keep]
        return Solution(*parts, self.report, gram)

    @property
    def cross(self) -> Array:
        """H'Z W (k x l)."""
        return self.basis * np.sqrt(self.eigenvalues)
