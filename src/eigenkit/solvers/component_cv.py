"""Exact cross-validation of the number of PLS components, from cross-products that are updated.

With A the data shifted by their overall means and N the rows a fold leaves out, the training
cross-products are

    A_t'A_t = A'A - A_N'A_N - W_t mu mu',   mu = mean of A over the training rows

and likewise for A'Y: the means and deviations are those of the training rows, as in a fit on
them. All folds together cost about as much as one more Gram matrix. Where subtraction would
lose digits (a fold that holds almost all of a column's variance), or where the Gram matrix
does not pay (wide or sparse data), a fold is computed from its own rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from eigenkit.data import Centered, Data, Rescaled, one_sample, project
from eigenkit.moments import Rows
from eigenkit.numerics.linalg import Array
from eigenkit.numerics.tolerances import DIFFERENCE
from eigenkit.solvers.deflation import Components, CrossProducts, decompose, gram_pays, rescaled


@dataclass(frozen=True)
class Problem:
    """Rows of positive weight, and what to do with them."""

    rows: Rows
    scale: tuple[bool, bool]
    n_components: int
    deflation: str


@dataclass(frozen=True)
class Linear:
    """A linear model by components: scores are (X - mean) R, y is y_mean + scores Q'."""

    mean: Array
    y_mean: Array
    R: Array
    Q: Array

    @classmethod
    def of(cls, X: Rescaled, Y: Rescaled, found: Components, mean: Array, y_mean: Array) -> Linear:
        """In the units of the data."""
        R = found.x_rotations / X.std[:, None]
        return cls(mean, y_mean, R, found.y_loadings * (X.unit / Y.unit * Y.std)[:, None])


def whole_gram(Z: Centered, n_components: int, n_folds: int) -> Array | None:
    """Z'Z where updating it pays for cross-validation; None for sparse and for wide data."""
    pays = Z.decomposable and gram_pays(Z, n_components * n_folds // 2)
    return Z.gram() if pays else None


def fold_errors(
    problem: Problem, folds: list[tuple[Any, Any]], Z: Centered, G: Array | None
) -> Array:
    """Mean squared error on the test rows of each fold, for 0, 1, ..., n_components components.

    Weights matter for fitting only: all test rows count equally. ``folds`` holds any pairs of row
    numbers (train, test); where one yields fewer components, its last error is repeated. Z is the
    centred X of the problem and G its :func:`whole_gram`.
    """
    update = None if G is None else _Updated(problem, Z, G)
    errors = np.empty((len(folds), problem.n_components + 1))
    for i, (train, test) in enumerate(folds):
        model = update.fit(np.asarray(train)) if update else None
        if model is None:
            sides = problem.rows.take(train).sides()
            model = linear_model(*sides, problem.scale, problem.n_components, problem.deflation)
        held = problem.rows.take(test)
        errors[i] = staged_squares(model, held.X, held.Y, problem.n_components) / held.Y.size
    return errors


def linear_model(
    X: Centered, Y: Centered, scale: tuple[bool, bool], n_components: int, deflation: str
) -> Linear:
    """The model of two sides."""
    A, B, cross = rescaled(X, Y, scale, n_components)
    return Linear.of(A, B, decompose(cross, n_components, deflation), X.mean, Y.mean)


def staged_squares(model: Linear, X: Any, Y: Array, l: int, unit: float = 1.0) -> Array:
    """Sums of squared errors with 0, 1, ..., l components, in a unit of y."""
    T = project(X, model.mean, model.R)
    residual = (Y - model.y_mean) / unit
    squares = np.empty(l + 1)
    for i in range(l + 1):
        if 0 < i <= T.shape[1]:
            residual -= T[:, i - 1, None] * (model.Q[:, i - 1] / unit)
        squares[i] = np.vdot(residual, residual)
    return squares


# Rows that are left out, the mean of those that are not, and the data in the units of these.
_Side = tuple[Array, Array, Rescaled]


class _Updated:
    """Training cross-products as the whole less what a fold leaves out."""

    def __init__(self, problem: Problem, Z: Centered, G: Array) -> None:
        self.problem = problem
        self.Z, self.Y = Z, Centered(problem.rows.Y, problem.rows.weight)
        Z.grain(G.diagonal())  # which need not be computed again
        B = self.Y.toarray()
        self.whole = (G, Z.rmatmat(B), B.T @ B)

    def fit(self, train: np.ndarray) -> Linear | None:
        """The model of the training rows, or None if the difference would lose digits."""
        rows, weight = self.problem.rows, self.problem.rows.weight
        out = np.ones(rows.n_rows, dtype=bool)
        out[train] = False
        left = rows.take(out)
        r = np.sqrt(left.weights())
        total = self.Z.total - float(r @ r)
        freedom = total - one_sample(None if weight is None else weight[train])
        if np.count_nonzero(out) + len(train) > len(out):
            return None  # some row is there twice
        sides = []
        given = zip((self.Z, self.Y), (left.X, left.Y), self.problem.scale, strict=True)
        for (Z, X, scale), whole in zip(given, self.whole[::2], strict=True):
            A = Z.rows(X)  # shifted by the overall means
            A *= r[:, None]
            mu = -(r @ A) / total
            squares = whole.diagonal() - np.einsum("ij,ij->j", A, A) - total * mu**2
            if np.any(squares < DIFFERENCE * whole.diagonal()):
                return None
            sides.append((A, mu, Rescaled.of(Z, scale, squares, freedom)))
        cross = self._cross(sides[0], sides[1], total, train)
        found = decompose(cross, self.problem.n_components, self.problem.deflation)
        (_, mu, x), (_, nu, y) = sides
        # The shifts are those of the means, in other units.
        means = self.Z.mean + self.Z.from_X(mu), self.Y.mean + self.Y.from_X(nu)
        return Linear.of(x, y, found, *means)

    def _cross(self, x: _Side, y: _Side, total: float, train: np.ndarray) -> CrossProducts:
        """The whole less what is left out and the means of what is left, in units of the fold."""
        found = []
        for whole, one, other in zip(self.whole, (x, x, y), (x, y, y), strict=True):
            (A, mu, left), (B, nu, right) = one, other
            part = A.T @ B
            np.subtract(whole, part, out=part)
            part -= np.outer(total * mu, nu)
            part *= right.factor
            part *= left.factor[:, None]
            found.append(part)
        gram, xy, yy = found
        X, Y = x[2], y[2]

        @cache
        def rows() -> tuple[Data, Array]:
            own = self.problem.rows.take(train).sides()
            return X.for_rows(own[0]), Y.for_rows(own[1]).toarray()

        # Rounding is relative to all rows, not to those of the fold: so is the trace.
        trace = float(np.sum(self.whole[0].diagonal() * X.factor**2))
        return CrossProducts(X, xy, yy, trace, Y.grain(), gram, rows)
