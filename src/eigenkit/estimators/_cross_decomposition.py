"""What the PLS estimators share: check, decompose, keep."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from eigenkit.data import SCALABLE, Centered, Rescaled
from eigenkit.estimators._both_sides import BothSides
from eigenkit.estimators._encoding import check_numeric_Y
from eigenkit.estimators._gaps import SkipsGaps
from eigenkit.estimators._streams import Streaming, results
from eigenkit.estimators._validation import check_sides_vary
from eigenkit.exceptions import DegenerateDataWarning
from eigenkit.moments import Rows
from eigenkit.numerics.linalg import Array, whitener
from eigenkit.pencil import Report
from eigenkit.shell import UNCHANGED, check_at_most, shown
from eigenkit.solvers.deflation import Components, FindPair, decompose, rescaled
from eigenkit.solvers.spectral import largest_covariances

NOTHING_SHARED = "X'y is zero up to rounding: X and y have nothing in common."
TOO_FAR_APART = (
    "the units of X and y are too far apart for the coefficients to be floating point numbers: "
    "rescale one of them."
)


@dataclass(frozen=True)
class Pair:
    """X and y as centred data, of the rows of positive weight.

    ``given`` holds all rows, also those of zero weight; a stream keeps none (None). ``observed``
    says which entries of X are there; it is None where none is missing.
    """

    given: Rows | None
    observed: np.ndarray | None
    X: Centered
    Y: Centered

    @property
    def rows(self) -> Rows:
        """The rows of positive weight; of a stream those of a factor with the same products."""
        if self.given is None:
            return Rows(self.X.toarray(), self.Y.toarray(), None)
        return self.given.positive()


@dataclass(frozen=True)
class Fit:
    """Both blocks, the components found in them, and the sums of squares to explain."""

    X: Rescaled
    Y: Rescaled
    components: Components
    squares: tuple[float, float]

    @property
    def report(self) -> Report:
        """How the components were found."""
        return replace(self.components.report, products=self.X.products)


class CrossDecomposition(SkipsGaps, BothSides):
    """Base class of the PLS family: checks X and y, decomposes X'Y and keeps the results."""

    _instead: ClassVar = {"copy": UNCHANGED}

    _deflation: ClassVar[str]

    def __init__(
        self, n_components: int | None = 2, *, scale: bool | tuple[bool, bool] = True
    ) -> None:
        self.n_components = n_components
        self.scale = scale

    def _settings(self) -> tuple[bool, bool]:
        """Whether to scale X and y."""
        pair = self.scale if isinstance(self.scale, tuple | list) else (self.scale, self.scale)
        if len(pair) != 2 or not all(isinstance(s, bool | np.bool_) for s in pair):
            raise ValueError(
                f"scale={shown(self.scale)} is not valid: give True, False, or a pair of them for "
                "X and y."
            )
        return bool(pair[0]), bool(pair[1])

    def _encode(self, y: Any, n: int, classes: Any, reset: bool) -> Any:
        if reset:
            self._one_response_ = y.ndim == 1
        return check_numeric_Y(y, n, SCALABLE)

    _take = BothSides._rows  # rows without a weight have scores too

    def _state(self, sample: Any) -> Pair:
        if sample.whole is None:
            return Pair(None, None, *sample.sides())
        rows, observed = self._without_gaps(sample.positive())
        Z, Y = Centered(rows.X, rows.weight), Centered(rows.Y, rows.weight)
        return Pair(sample, observed, Z, Y)

    def _solve(self, problem: Pair, settings: tuple[bool, bool]) -> Fit:
        X, Y = problem.X, problem.Y
        l = self._n_wanted(X.n_samples, X.shape[1], Y.shape[1])
        fit = self._decompose(problem, settings, l)
        self._check_found(fit.components, l)
        return fit

    def _decompose(self, pair: Pair, scale: tuple[bool, bool], l: int) -> Fit:
        return decomposed(pair.X, pair.Y, scale, l, self._deflation)

    def _n_wanted(self, n: int, d: int, k: int) -> int:
        both = self._deflation in ("canonical", "svd")
        bound = min(n, d, k) if both else min(n, d)
        sizes = f"n_samples={n}, n_features={d}" + (f", n_targets={k}" if both else "")
        return check_at_most("n_components", self.n_components, bound, f"the least of {sizes}")

    def _check_informative(self, problem: Pair) -> None:
        check_sides_vary(problem.X, problem.Y)

    def _check_found(self, found: Components, wanted: int) -> None:
        if len(found) == 0:
            raise ValueError(NOTHING_SHARED)
        if len(found) < wanted and self.n_components is not None:
            warnings.warn(
                f"n_components={wanted}, but X and y have nothing left in common after "
                f"{len(found)}: the model has {len(found)} components",
                DegenerateDataWarning,
                stacklevel=4,
            )

    def _keep(self, pair: Pair, fit: Fit) -> None:
        found, X, Y = fit.components, fit.X, fit.Y
        own = self._deflation in ("canonical", "svd")
        # Where y is regressed on the scores of X, its loadings carry the units of both.
        to_y = 1.0 if own else X.unit / Y.unit
        if not 0 < to_y < np.inf:
            raise ValueError(TOO_FAR_APART)
        # Where the rotations of y have no recursion of their own: W (Q'W)^+.
        rotations = found.y_weights @ np.linalg.pinv(found.y_loadings.T @ found.y_weights) / to_y
        self._set(
            x_mean_=X.mean,
            y_mean_=Y.mean,
            x_std_=X.std,
            y_std_=Y.std,
            x_weights_=found.x_weights,
            x_rotations_=found.x_rotations,
            y_weights_=found.y_weights * (to_y if self._deflation == "regression" else 1.0),
            y_rotations_=found.y_rotations if own else rotations,
            n_components_=len(found),
        )
        if self._deflation != "svd":
            self._set(
                x_loadings_=found.x_loadings,
                y_loadings_=found.y_loadings * to_y,
                x_explained_variance_ratio_=found.x_taken / fit.squares[0],
                y_explained_variance_ratio_=found.y_taken / fit.squares[1],
            )
        self._keep_spread(pair, fit)
        self._keep_more(pair, fit)
        self._keep_scores(pair, fit)

    def _keep_spread(self, pair: Pair, fit: Fit) -> None:
        """What brings the scores of X to unit covariance, and how many samples it is known from.

        Where y is deflated by its own scores, also how much of it those of X explain.
        """
        X, found, unit = fit.X, fit.components, fit.X.unit
        T = np.empty((0, 0))
        if pair.observed is not None:
            T = X.weighted(self._x_scores(pair.rows.X)) * unit
        elif self._deflation in ("canonical", "svd"):
            T = X.matmat(found.x_rotations)
        if pair.observed is not None or self._deflation == "svd":  # scores overlap
            white = whitener(T) * unit
        else:
            white = np.diag(unit / np.sqrt(found.x_norms))
        self._score_whitener_ = self._cast(white * np.sqrt(X.freedom))
        self._n_samples_ = float(X.total / X.one)
        if self._deflation == "canonical":
            explained = np.sum((fit.Y.toarray().T @ T) ** 2, axis=0) / np.sum(T**2, axis=0)
            self._y_explained_by_x_ = self._cast(explained / fit.squares[1])

    def _keep_more(self, pair: Pair, fit: Fit) -> None:
        """Attributes beyond the common ones."""

    def _keep_scores(self, pair: Pair, fit: Fit) -> None:
        if pair.given is None:
            return
        if pair.X.shape[0] == pair.given.n_rows and pair.observed is None:
            T = pair.X.unweighted(fit.X.matmat(fit.components.x_rotations / fit.X.unit))
        else:
            T = self._scores_of_all(pair.given.X)
        self.x_scores_ = self._cast(T)
        centred = pair.given.Y - fit.Y.mean
        centred /= fit.Y.std
        with np.errstate(invalid="ignore"):
            self.y_scores_ = self._cast(self._y_scores(centred, T))

    def _scores_of_all(self, X: Any) -> Array:
        """The scores of all rows: those of zero weight may hold infinite numbers."""
        with np.errstate(invalid="ignore"):
            return self._x_scores(X)

    def _y_scores(self, Y: Array, T: Array) -> Array:
        return np.asarray(Y @ self.y_rotations_)

    @property
    def mean_(self) -> Array:
        """``x_mean_``, as other projections call it."""
        return np.asarray(self.x_mean_)

    @property
    def components_(self) -> Array:
        """``x_rotations_`` by rows, for features that are not scaled."""
        return np.asarray((self.x_rotations_ / self.x_std_[:, None]).T)

    def _axes(self) -> tuple[Array, Array, Array]:
        return self.x_std_, self.x_weights_, self.x_loadings_

    def _scores_of_y(self, Y: Any) -> Array:
        return np.asarray((Y - self.y_mean_) / self.y_std_ @ self.y_rotations_)


def decomposed(
    Z: Centered,
    Y: Centered,
    scale: tuple[bool, bool],
    l: int,
    deflation: str,
    find: FindPair | None = None,
    G: Array | None = None,
) -> Fit:
    """Up to l components of two blocks; G is Z'Z where that is known, and is overwritten."""
    X, B, cross = rescaled(Z, Y, scale, l, G)
    if deflation == "svd":
        found = largest_covariances(X, B, l)
    else:
        found = decompose(cross, l, deflation, find)
    return Fit(X, B, found, (cross.trace, float(np.trace(cross.yy))))


class StreamedPLS(Streaming, CrossDecomposition):
    """Members of the family that X'X, X'Y and Y'Y are enough for: they fit streams and blocks."""

    x_mean_, y_mean_, x_std_, y_std_ = results(4)
    x_weights_, x_rotations_, x_loadings_, x_explained_variance_ratio_ = results(4)
    y_weights_, y_rotations_, y_loadings_, y_explained_variance_ratio_ = results(4)
    x_scores_, y_scores_ = results(2, "a stream keeps no scores, use transform")
    n_components_, n_iter_, singular_values_, coef_, intercept_ = results(5)
    _score_whitener_, _n_samples_, _y_explained_by_x_ = results(3)

    _last_result = "n_components_"
