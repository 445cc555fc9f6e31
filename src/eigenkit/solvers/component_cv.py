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

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from eigenkit.data import Centered, Data, Rescaled, one_sample, project
from eigenkit.moments import Rows
from eigenkit.numerics.linalg import Array
from eigenkit.numerics.tolerances import DIFFERENCE
from eigenkit.solvers.cross_products import CrossProducts, gram_pays, rescaled
from eigenkit.solvers.deflation import Components, decompose


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

    Weights matter for fitting only: all test rows count equally, as in every search.

    ``folds`` holds pairs of row numbers (train, test); any split is fine. Where a fold yields
    fewer components, its last error is repeated. Z is the centred X of the problem
    and G its :func:`whole_gram`.
    """
    update = None if G is None else _Updated(problem, Z, G)
    errors = np.empty((len(folds), problem.n_components + 1))
    for i, (train, test) in enumerate(folds):
        model = update.fit(np.asarray(train)) if update else None
        held = problem.rows.take(test)
        squares = staged_squares(model or _fit(problem, train), held.X, held.Y, errors.shape[1] - 1)
        errors[i] = squares / held.Y.size
    return errors


def _fit(problem: Problem, index: Any) -> Linear:
    """The model of some rows, from these rows."""
    X, Y = problem.rows.take(index).sides()
    return linear_model(X, Y, problem.scale, problem.n_components, problem.deflation)


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
        out = np.ones(self.problem.rows.n_rows, dtype=bool)
        out[train] = False
        A, B, r = self._shifted(out)
        total = self.Z.total - float(r @ r)
        weight = self.problem.rows.weight
        freedom = total - one_sample(None if weight is None else weight[train])
        mu, nu = -(r @ A) / total, -(r @ B) / total
        squares, y_squares = (
            whole.diagonal() - np.einsum("ij,ij->j", part, part) - total * mean**2
            for whole, part, mean in ((self.whole[0], A, mu), (self.whole[2], B, nu))
        )
        twice = np.count_nonzero(out) + len(train) > len(out)
        if twice or self._lost(squares, self.whole[0]) or self._lost(y_squares, self.whole[2]):
            return None
        x_scale, y_scale = self.problem.scale
        x = Rescaled.of(self.Z, x_scale, squares, freedom)
        y = Rescaled.of(self.Y, y_scale, y_squares, freedom)
        cross = self._cross((A, B), (mu, nu), total, (x, y), train)
        found = decompose(cross, self.problem.n_components, self.problem.deflation)
        return Linear.of(x, y, found, _unscaled(self.Z, mu), _unscaled(self.Y, nu))

    @staticmethod
    def _lost(after: Array, whole: Array) -> bool:
        return bool(np.any(after < DIFFERENCE * whole.diagonal()))

    def _cross(
        self,
        out: tuple[Array, Array],
        means: tuple[Array, Array],
        total: float,
        sides: tuple[Rescaled, Rescaled],
        train: np.ndarray,
    ) -> CrossProducts:
        (A, B), (mu, nu), (x, y) = out, means, sides
        f, g = x.factor, y.factor
        G, C, F = self.whole
        gram = A.T @ A
        np.subtract(G, gram, out=gram)
        gram -= np.outer(total * mu, mu)
        gram *= f
        gram *= f[:, None]
        xy = (C - A.T @ B - np.outer(total * mu, nu)) * g * f[:, None]
        yy = (F - B.T @ B - np.outer(total * nu, nu)) * g * g[:, None]
        # Rounding is relative to all rows, not to those of the fold: so is the trace.
        trace = float(np.sum(G.diagonal() * f**2))
        return CrossProducts(x, xy, yy, trace, y.grain(), gram, self._rows(train, sides))

    def _shifted(self, index: np.ndarray) -> tuple[Array, Array, Array]:
        """Rows of Z and Y, shifted by the overall means, and the roots of their weights."""
        rows = self.problem.rows.take(index)
        r = np.sqrt(rows.weights())
        A, B = self.Z.rows(rows.X), self.Y.rows(rows.Y)
        for part in (A, B):
            part *= r[:, None]
        return A, B, r

    def _rows(
        self, train: np.ndarray, sides: tuple[Rescaled, Rescaled]
    ) -> Callable[[], tuple[Data, Array]]:
        """X and Y of the training rows, in the units of the fold, made when they are asked for."""

        @cache
        def rows() -> tuple[Data, Array]:
            own = self.problem.rows.take(train).sides()
            X, Y = (side.for_rows(Z) for side, Z in zip(sides, own, strict=True))
            return X, Y.toarray()

        return rows


def _unscaled(Z: Centered, mu: Array) -> Array:
    """The mean of rows whose mean is mu after the shift, in the units of the data."""
    return Z.mean + Z.from_X(mu)
