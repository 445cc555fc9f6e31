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

from eigenkit.data import Data
from eigenkit.numerics.linalg import Array


@dataclass(frozen=True)
class Pencil:
    """One generalized eigenvalue problem.

    Use :meth:`state` to make one from raw rows: it centres H, which the equations need.
    """

    Z: Data
    H: Any
    alpha: float
    ZtH: Array | None = None  # where that is known already

    @classmethod
    def state(cls, Z: Data, H: Any, alpha: float) -> Self:
        """With H (one row per row of X) centred and weighted as Z is."""
        return cls(Z, Z.target(H), alpha)

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
        """alpha in the units of Z (see :meth:`Data.ridge`)."""
        return self.Z.ridge(self.alpha)

    def forms(self, V: Array) -> tuple[Array, Array]:
        """B V and V'B V; the latter from Z V, so that it has the digits of Z and not of Z'Z."""
        BV, square = self.Z.gradient(V)
        damped_V = damped(self.ridge, V)
        BV += damped_V
        return BV, square + self.Z.inner(V, damped_V)


def damped(ridge: float | Array, V: Array) -> Array:
    """diag(ridge) V."""
    return V * (ridge if np.ndim(ridge) == 0 else np.asarray(ridge)[:, None])


def one_number(ridge: float | Array) -> float:
    """A ridge that is the same for all columns, as a number."""
    return float(np.ravel(ridge)[0])


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
        """All that was measured, under readable names."""
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
    """The answer to a pencil: all components with a non-zero eigenvalue."""

    W: Array  # (d x l) in the units of X
    eigenvalues: Array
    basis: Array  # (k x l) with H'Z W = basis diag(sqrt(eigenvalues)) for the scores Z W
    report: Report = field(compare=False)
    # W'B W (l x l), the products of the scores with each other and the ridge; None where it is the
    # identity, as for every W that solves the pencil.
    gram: Array | None = None

    def components(self, keep: Any) -> Solution:
        """Some of the components."""
        gram = None if self.gram is None else self.gram[keep][:, keep]
        parts = self.W[:, keep], self.eigenvalues[keep], self.basis[:, keep]
        return Solution(*parts, self.report, gram)

    def turned(self, sign: Array) -> Solution:
        """With every component times its sign, and all that goes with it."""
        gram = None if self.gram is None else self.gram * sign * sign[:, None]
        return replace(self, W=self.W * sign, basis=self.basis * sign, gram=gram)

    @property
    def cross(self) -> Array:
        """H'Z W (k x l)."""
        return self.basis * np.sqrt(self.eigenvalues)
