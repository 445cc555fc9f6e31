"""Principal component analysis."""

from __future__ import annotations

import numbers
import warnings
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from eigenkit.data import project
from eigenkit.estimators._estimator import Projection
from eigenkit.estimators._gaps import Gapped, SkipsGaps, axes_with_gaps, total_squares
from eigenkit.estimators._streams import results
from eigenkit.estimators._validation import (
    NO_DIGITS,
    check_scores,
    check_X,
    check_X_varies,
    warn_lost_features,
)
from eigenkit.exceptions import ConditionWarning
from eigenkit.moments import Problem
from eigenkit.numerics.linalg import Array
from eigenkit.numerics.tolerances import EPS
from eigenkit.pencil import Pencil, Solution
from eigenkit.shell import (
    UNCHANGED,
    check_at_most,
    check_count,
    check_flag,
    optional,
    take_parameters,
)
from eigenkit.solvers import Choice, Settings
from eigenkit.solvers.spectral import METHODS, cheapest, minka, principal_axes

# scikit-learn's names of the ways to solve.
SVD_SOLVERS = {
    "auto": "auto",
    "full": "svd",
    "covariance_eigh": "gram",
    "arpack": "lanczos",
    "randomized": "lanczos",
}


def _check_wanted(name: str, value: Any) -> None:
    """``value`` says how many components to keep: a number, a share of variance, "mle" or None."""
    if value is None or (isinstance(value, str) and value == "mle"):
        return
    fraction = isinstance(value, numbers.Real) and not isinstance(value, numbers.Integral)
    if not fraction or not 0 < float(value) < 1:
        check_count(name, value, hint=", a share of variance between 0 and 1, 'mle', or None")


class PCA(SkipsGaps, Projection):
    """Principal component analysis: the directions of largest variance.

    Solves ``Xc'Xc w = lambda w`` with ``w'w = 1``. Sparse X is centred implicitly and never
    made dense; streams fed by :meth:`partial_fit` give what :meth:`fit` on all rows would.

    Parameters
    ----------
    n_components : int, float, "mle" or None
        Number of components, at most the rank of Xc; a float between 0 and 1 keeps as many
        as explain that share of the variance; "mle" is Minka's choice (more samples than
        features); None keeps all with a variance.
    whiten : bool
        Whether :meth:`transform` divides the scores by their standard deviations.
    solver : {"auto", "gram", "svd", "lanczos", "nipals"}
        Eigenvalues of the smaller Gram matrix, a singular value decomposition of Xc, or a
        block Lanczos method for a few components of large data; "auto" decides by cost and
        takes "svd" where a Gram matrix would lose digits. "nipals" takes dense X with gaps
        (NaN), by alternating regressions over what is there; without gaps the answer is the
        same.
    svd_solver : {"auto", "full", "covariance_eigh", "arpack", "randomized"}, optional
        scikit-learn's names, in place of ``solver``: "svd", "gram", and for the last two
        "lanczos", which is not random.
    random_state : ignored
        Nothing here is random; accepted so that code written for scikit-learn runs.
    tol, max_iter : float, int
        Where "lanczos" stops: residual relative to the largest eigenvalue, and blocks. Where
        "nipals" does: change of a component, and steps.

    Attributes
    ----------
    components_ : array of shape (n_components_, n_features)
        Orthonormal rows; the largest entry of each is positive.
    explained_variance_, explained_variance_ratio_ : array of shape (n_components_,)
        Variances (with n - 1 in the denominator) and their shares of the total.
    singular_values_ : array of shape (n_components_,)
        Of the centred (and weighted) X.
    noise_variance_ : float
        Mean variance of the min(n, d) - n_components_ directions left out, of n samples and d
        features; weights that are whole numbers count repeated samples, others rows.
    eigenvalues_ : array of shape (n_components_,)
        Squares of the singular values.
    mean_ : array of shape (n_features,)
    n_components_, n_iter_, solver_, report_
        What was done; see :class:`eigenkit.pencil.Report`.
    n_samples_ : int
        How many rows there were, each counted once whatever its weight; rows of weight 0 are left
        out.
    n_features_in_, feature_names_in_

    Notes
    -----
    With ``sample_weight`` a weight of 2 is a row given twice: variances divide by the sum of
    the weights minus what one sample weighs, which is 1 where all weights are whole numbers and
    their mean otherwise.

    With gaps, means and the total variance are those of what is observed, and a score of a row
    with gaps is the regression of its observed entries on the component, after those before
    it. The components are kept orthonormal (Gram and Schmidt). The share of a component is that
    of the squares of all observed entries which it takes out, and its variance is that share of
    the total variance.

    {iris}
    >>> from eigenkit import PCA
    >>> PCA(2).fit(X).explained_variance_ratio_.round(3)
    array([0.925, 0.053])
    >>> stream = PCA(2)
    >>> for rows in (X[:70], X[70:]):
    ...     stream = stream.partial_fit(rows)
    >>> stream.explained_variance_ratio_.round(3)
    array([0.925, 0.053])
    """

    _instead: ClassVar = {
        "copy": UNCHANGED,
        "batch_size": "give the batches to partial_fit",
        **dict.fromkeys(
            ("iterated_power", "n_oversamples", "power_iteration_normalizer"),
            "nothing here is random; tol and max_iter say where solver='lanczos' stops",
        ),
    }

    def __init__(
        self,
        n_components: int | float | str | None = None,
        *,
        whiten: bool = False,
        solver: str = "auto",
        svd_solver: str | None = None,
        tol: float = 1e-10,
        max_iter: int = 1000,
        random_state: Any = None,
    ) -> None:
        take_parameters(self, locals())

    whiten: bool
    svd_solver: str | None
    _supervised = False
    explained_variance_, explained_variance_ratio_, singular_values_ = results(3)
    noise_variance_, n_samples_, _freedom_, _n_samples_ = results(4)

    _rules: ClassVar = {
        "n_components": _check_wanted,
        "whiten": check_flag,
        "solver": (*METHODS, "nipals"),
        "svd_solver": optional(SVD_SOLVERS),
    }

    def _settings(self) -> Settings:
        wanted: Any = self.n_components
        return Settings(
            n_components=int(wanted) if isinstance(wanted, numbers.Integral) else None,
            solver=self._chosen_solver(),
            tol=float(self.tol),
            max_iter=int(self.max_iter),
        )

    def _chosen_solver(self) -> str:
        if self.svd_solver is None:
            return self.solver
        chosen = SVD_SOLVERS[self.svd_solver]
        if self.solver not in ("auto", chosen):
            raise ValueError(
                f"solver={self.solver!r} and svd_solver={self.svd_solver!r} contradict each "
                "other: give one of them."
            )
        return chosen

    def _check_in_parts(self) -> None:
        if self._iterates:
            raise ValueError(
                "solver='nipals' needs all rows at once: fit arrays, or choose another."
            )

    def _check_informative(self, problem: Problem) -> None:
        check_X_varies(problem.pencil.Z)

    _nipals_by = ("solver", "auto")

    def _state(self, moments: Any) -> Problem:
        rows, observed = self._without_gaps(moments)
        problem = rows.problem(self._target, 1.0, 0.0)
        Z, sizes = problem.pencil.Z, np.log10(problem.pencil.Z.units)
        spread = float(sizes.max() - sizes.min())
        if spread > 8:
            warnings.warn(
                f"the sizes of the features of X differ by {spread:.0f} powers of ten: "
                "the largest alone decide the components; scale the features first",
                ConditionWarning,
                stacklevel=2,
            )
        # One factor for all columns, also of extreme sizes, as here their units matter.
        pencil = Pencil(Z.in_one_unit(), problem.pencil.H, problem.pencil.alpha)
        problem = replace(problem, pencil=pencil)
        return problem if observed is None else Gapped.of(problem, observed)

    def _choice(self, pencil: Pencil, settings: Settings) -> Choice:
        if settings.solver != "auto":
            return Choice(settings.solver, "as asked", {})
        return Choice(*cheapest(pencil.Z, settings.n_components), {})

    def _solve(self, problem: Problem, settings: Settings) -> Solution:
        Z, k = problem.pencil.Z, settings.n_components
        sizes = "the smaller of the numbers of samples and features"
        check_at_most("n_components", k, min(problem.n_rows, self.n_features_in_), sizes)
        if settings.solver == "nipals":
            return axes_with_gaps(problem, settings)
        return principal_axes(Z, k, settings.solver, settings.tol, settings.max_iter)

    def _keep(self, problem: Problem, solution: Solution) -> None:
        Z = problem.pencil.Z
        freedom = problem.total - problem.labels.one
        s, total = solution.eigenvalues, total_squares(problem)
        if not len(s):
            raise ValueError(NO_DIGITS)
        n = round(problem.total / problem.labels.one)  # weights that are counts are so many rows
        l = self._count(s**2, total, freedom, n)
        if self.n_components is None:
            warn_lost_features(Z, solution.W, s / Z.units[0])
        bound = min(n, self.n_features_in_)
        whole = len(s) > l and not isinstance(problem, Gapped)  # all axes leave nothing
        left = s[l:] @ s[l:] if whole else max(total - float(s[:l] @ s[:l]), 0.0)
        if l == bound or left <= EPS * bound * total:
            left = 0.0  # rounding of the sums: nothing is left out
        with np.errstate(over="ignore", under="ignore"):
            self.singular_values_ = s[:l] / Z.units[0]
            self.eigenvalues_ = self.singular_values_**2
            self.explained_variance_ = (self.singular_values_ / np.sqrt(freedom)) ** 2
            spread = np.sqrt(left / max(1, bound - l) / freedom) / Z.units[0]
            self.noise_variance_ = float(spread * spread)
        self.explained_variance_ratio_ = s[:l] ** 2 / total
        self.mean_ = self._cast(problem.mean)
        self.n_components_, self.n_samples_, self._freedom_ = l, problem.n_rows, freedom
        self._n_samples_ = float(problem.total / problem.labels.one)
        self.solver_ = solution.report.regression
        self.n_iter_ = max(1, solution.report.n_iter)
        self.components_ = self._cast(solution.W[:, :l].T)
        if hasattr(self, "_occurring_"):
            self._spread_columns()

    def _count(self, squares: Array, total: float, freedom: float, n: int) -> int:
        """How many of the components found are kept."""
        wanted: Any = self.n_components
        if wanted is None:
            return len(squares)
        if isinstance(wanted, str):
            return minka(squares / freedom, n, self.n_features_in_)
        if not isinstance(wanted, numbers.Integral):
            share = np.cumsum(squares) / total
            return min(int(np.searchsorted(share, float(wanted), side="right")) + 1, len(squares))
        return check_at_most("n_components", int(wanted), len(squares), "the rank of the centred X")

    def transform(self, X: Any) -> Array:
        """Scores: ``(X - mean_) @ components_.T``, of unit variance if ``whiten``.

        {scores_of_samples}
        """
        scores = self._projected(X)
        return scores / self._deviations(scores) if self.whiten else scores

    def inverse_transform(self, X: Any) -> Array:
        """The points of the original space that have these scores.

        {samples_of_scores}
        """
        check_is_fitted(self)
        scores = check_scores("X", X, self.n_components_)
        if self.whiten:
            scores = scores * self._deviations(scores)
        return np.asarray(scores @ self.components_ + self.mean_)

    def _deviations(self, scores: np.ndarray) -> np.ndarray:
        deviations = self.singular_values_ / np.sqrt(self._freedom_)
        return np.asarray(
            deviations.astype(scores.dtype if scores.dtype.kind == "f" else np.float64)
        )

    def get_covariance(self) -> Array:
        """The covariance matrix of the model: the components and noise in all directions.

        Returns
        -------
        array of shape (n_features, n_features)
        """
        check_is_fitted(self)
        excess = self.explained_variance_ - self.noise_variance_
        W = self.components_
        return np.asarray((W.T * excess) @ W + self.noise_variance_ * np.eye(self.n_features_in_))

    def get_precision(self) -> Array:
        """The inverse of :meth:`get_covariance`.

        Returns
        -------
        array of shape (n_features, n_features)
        """
        noise = self._positive_noise()
        W = self.components_
        excess = 1 / self.explained_variance_ - 1 / noise
        return np.asarray((W.T * excess) @ W + np.eye(self.n_features_in_) / noise)

    def _positive_noise(self) -> float:
        """The noise variance; any positive number where no direction is left for noise."""
        check_is_fitted(self)
        if self.noise_variance_ > 0:
            return float(self.noise_variance_)
        if self.n_components_ == self.n_features_in_:
            return 1.0
        raise ValueError(
            f"X has no variance outside the {self.n_components_} components, so the model has no "
            "density: give a smaller n_components."
        )

    def score_samples(self, X: Any) -> Array:
        """Log-likelihood of each sample under the model (Gaussian, :meth:`get_covariance`).

        {class_of_each}
        """
        noise = self._positive_noise()
        X = check_X(self, X, reset=False)
        scores = project(X, self.mean_, self.components_.T).astype(np.float64)
        outside = _squared_distances(X, self.mean_) - np.sum(scores**2, axis=1)
        n_left = self.n_features_in_ - self.n_components_
        log_det = np.sum(np.log(self.explained_variance_)) + n_left * np.log(noise)
        distance = np.sum(scores**2 / self.explained_variance_, axis=1)
        if n_left:
            distance += np.maximum(outside, 0.0) / noise
        found = -0.5 * (distance + log_det + self.n_features_in_ * np.log(2 * np.pi))
        return np.asarray(self._cast(found))

    def score(self, X: Any, y: Any = None) -> float:
        """The mean of :meth:`score_samples`.

        {samples}
        y : ignored

        Returns
        -------
        float
        """
        return float(np.mean(self.score_samples(X), dtype=np.float64))


def _squared_distances(X: Any, mean: np.ndarray) -> Array:
    if not sparse.issparse(X):
        return np.asarray(np.einsum("ij,ij->i", X - mean, X - mean, dtype=np.float64))
    squares = np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.asarray(squares - 2 * (X @ mean) + mean @ mean, dtype=np.float64)
