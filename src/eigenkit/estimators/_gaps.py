"""Data with gaps (NaN), for methods that skip them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from eigenkit.data import Data, check_finite, project
from eigenkit.estimators._estimator import Transformer
from eigenkit.estimators._validation import check_X, counted
from eigenkit.exceptions import warn_of_stopping
from eigenkit.moments import Problem, Rows
from eigenkit.numerics.linalg import Array, signs
from eigenkit.numerics.tolerances import EPS
from eigenkit.pencil import Report, Solution
from eigenkit.solvers import Settings
from eigenkit.solvers.nipals import nipals_axes, skip_missing_scores


class SkipsGaps(Transformer):
    """NIPALS, where it is asked for, takes dense X with gaps (NaN), as it deflates X itself.

    Gaps may be where all rows come at once, and in new rows.
    """

    # The parameter that asks for it, and what to give instead for sparse X.
    _nipals_by: ClassVar = ("algorithm", "kernel")

    @property
    def _iterates(self) -> bool:
        asked = getattr(self, self._nipals_by[0], None)
        return isinstance(asked, str) and asked == "nipals"

    def _check_X(self, X: Any, *, min_samples: int = 1, **how: Any) -> Any:
        if self._iterates:
            return self._dense(X, gaps=min_samples > 1, min_samples=min_samples, **how)
        return super()._check_X(X, min_samples=min_samples, **how)

    def _features(self, X: Any) -> Any:
        return self._dense(X, gaps=True, reset=False) if self._iterates else super()._features(X)

    def _dense(self, X: Any, *, gaps: bool, weight: Any = None, **how: Any) -> Array:
        """X as dense numbers that may be missing with ``gaps``, but not infinite."""
        X = check_X(self, X, finite=False, **how)
        if sparse.issparse(X):
            name, instead = self._nipals_by
            raise ValueError(
                f"X is sparse, but {name}='nipals' deflates X itself: use {name}={instead!r}."
            )
        check_finite("X", counted(X, weight), gaps=gaps)
        return np.asarray(X)

    def _observed(self, X: Any) -> np.ndarray | None:
        """Which entries of X are there; None where all are."""
        if not self._iterates:
            return None
        there = ~np.isnan(X)
        return None if there.all() else there

    def _without_gaps(self, rows: Rows) -> tuple[Rows, np.ndarray | None]:
        """Rows with column means in their gaps, and what is observed; None where all is."""
        if not self._iterates or (observed := self._observed(rows.X)) is None:
            return rows, None
        return replace(rows, X=filled(rows, observed)), observed

    def _axes(self) -> tuple[Any, Array, Array]:
        """The unit of every feature, and the weights and loadings of NIPALS."""
        return 1.0, self.components_.T, self.components_.T

    def _projected(self, X: Any) -> Array:
        check_is_fitted(self)
        return self._x_scores(self._features(X))

    def _x_scores(self, X: Any) -> Array:
        """Scores of rows that are checked, over what is observed."""
        observed = self._observed(X)
        if observed is None:
            return project(X, self.mean_, self.components_.T)
        unit, W, P = self._axes()
        centred = np.where(observed, X - self.mean_, 0.0) / unit
        return np.asarray(self._cast(skip_missing_scores(centred, observed, W, P)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = not self._iterates
        tags.input_tags.allow_nan = self._iterates
        return tags


def filled(rows: Rows, seen: np.ndarray) -> Array:
    """X with its column means (of what is observed) in the gaps, so that centring leaves zeros."""
    for axis, what in ((0, "column"), (1, "row")):
        empty = ~seen.any(axis=axis)
        if empty.any():
            raise ValueError(
                f"X holds no value in {what} {int(np.argmax(empty))}: leave that {what} out."
            )
    weight = rows.weights()
    known = np.where(seen, rows.X, 0.0).astype(np.float64)
    first = (weight @ known) / (weight @ seen)
    drift = (weight @ np.where(seen, known - first, 0.0)) / (weight @ seen)
    return np.where(seen, known, first + drift)


def share_of(Z: Data, observed: np.ndarray | None) -> Array | float:
    """Factors that turn sums of squares of filled columns into those of columns without gaps."""
    if observed is None:
        return 1.0
    one = Z.one
    weight = np.ones(len(observed)) if Z.weight is None else Z.weight
    return np.asarray(Z.freedom / np.maximum(weight @ observed - one, EPS * Z.freedom))


# -- principal components ---------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Gapped(Problem):
    """A problem with means in its gaps: which entries of X are observed, and all their squares.

    ``squares`` is the sum over columns without gaps that vary as much as the observed entries do.
    """

    observed: np.ndarray
    squares: float

    @classmethod
    def of(cls, problem: Problem, observed: np.ndarray) -> Gapped:
        """The problem of filled rows, given which entries were observed."""
        Z = problem.pencil.Z
        squares = float(np.sum(Z.column_squares() * share_of(Z, observed)))
        return cls(**vars(problem), observed=observed, squares=squares)


def total_squares(problem: Problem) -> float:
    """What there is to explain."""
    if isinstance(problem, Gapped):
        return problem.squares
    return float(problem.pencil.Z.column_squares().sum())


def axes_with_gaps(problem: Problem, settings: Settings) -> Solution:
    """The leading principal axes by regressions over what is observed."""
    observed = problem.observed if isinstance(problem, Gapped) else None
    Z, tol, max_iter = problem.pencil.Z, settings.tol, settings.max_iter
    A = Z.toarray() if observed is None else Z.toarray() * observed
    found = nipals_axes(
        A, observed, settings.n_components, tol=tol, max_iter=max_iter, grain=Z.grain()
    )
    if not found.converged:
        late = [str(i + 1) for i, n in enumerate(found.n_iter) if n == settings.max_iter]
        warn_of_stopping(
            f"NIPALS stopped after max_iter={settings.max_iter} steps with component "
            f"{', '.join(late)} still changing: increase max_iter or tol, or take fewer components"
        )
    reason = "as asked" if observed is None else f"{np.mean(~observed):.1%} of X is missing"
    n_iter = max(found.n_iter, default=1)
    report = Report("spectral", "nipals", reason, n_iter=n_iter, converged=found.converged)
    # Shares of what is observed, as parts of the whole.
    s = found.s if observed is None else found.s * np.sqrt(total_squares(problem) / np.sum(A * A))
    return Solution(found.V * signs(found.V), s, np.empty((0, len(s))), report)
