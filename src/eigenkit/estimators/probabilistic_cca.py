"""Probabilistic canonical correlation analysis."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from eigenkit.estimators._described import described
from eigenkit.estimators._streams import results
from eigenkit.estimators._two_views import Sides, TwoViewDensity, Views, growing
from eigenkit.exceptions import warn_of_stopping
from eigenkit.numerics.linalg import Array
from eigenkit.pencil import Answer, Report
from eigenkit.shell import check_at_most, check_count
from eigenkit.solvers.two_views import (
    SharedLatent,
    SingularView,
    closed_form,
    expectation_maximization,
    gains,
)

CRITERIA = ("bic", "hqc")


def _check_latent(name: str, value: Any) -> None:
    if not isinstance(value, str | None) or value not in (*CRITERIA, None):
        check_count(name, value, hint=', or "bic", or "hqc", or None for all')


@described
class ProbabilisticCCA(TwoViewDensity):
    """Canonical correlation analysis as a model of the data: two views of one latent variable.

    ``z ~ N(0, I),  x = Wx z + mx + ex,  y = Wy z + my + ey``, with any covariances of ex and ey.
    The likelihood is largest at ``Wx = Sxx Ux sqrt(r)``, ``Wy = Syy Uy sqrt(r)`` with the
    canonical weights U and correlations r, so it is found without iterating. Being a density, it
    scores new rows, says how many components there are, draws samples, and handles missing entries
    and missing views.

    Parameters
    ----------
    n_components : int, None, "bic" or "hqc"
        Number of components; None for all, "bic" and "hqc" for the number, which may be 0, of
        least BIC (Schwarz) or of least HQC (Hannan and Quinn), which finds weaker ones.
    alpha : float
        Ridge on both views, on the scale of X'X as in :class:`CCA`. 0 is maximum likelihood,
        which needs more samples than features and no collinear ones.
    tol, max_iter : float, int
        Where entries are missing: gain of the mean log likelihood and number of steps at
        which EM stops.

    Attributes
    ----------
    canonical_correlations_ : array of shape (n_components_,)
    components_ : array of shape (n_components_, n_features)
        ``transform(X)`` is ``(X - mean_) @ components_.T``.
    x_weights_ : array of shape (n_features, n_components_)
        Ux: scores of unit variance.
    y_weights_ : array of shape (n_targets, n_components_)
    x_loadings_, y_loadings_ : array
        Wx and Wy.
    x_noise_covariance_, y_noise_covariance_ : array
        Covariances of ex and ey.
    bic_, hqc_ : array
        BIC and HQC of 0, 1, ... components less a constant; with missing entries only if one
        of them was asked for.
    mean_, y_mean_ : array
    {report}
    n_components_, n_iter_, n_features_in_, feature_names_in_

    Notes
    -----
    Rows may have NaN anywhere, in fitting and in use; a row of NaN in one view is a view that
    is missing. With the canonical variates u and v, E[z|x] is ``sqrt(r) u`` (variance 1 - r)
    and E[z|x, y] is ``sqrt(r) / (1 + r) (u + v)`` (variance (1 - r) / (1 + r)).
    To choose the number of components by held-out likelihood, search over it: :meth:`score` is
    the mean log density.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenkit import ProbabilisticCCA
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=(300, 2))
    >>> X = z @ rng.normal(size=(2, 6)) + rng.normal(size=(300, 6))
    >>> Y = z @ rng.normal(size=(2, 5)) + rng.normal(size=(300, 5))
    >>> model = ProbabilisticCCA("bic").fit(X, Y)
    >>> model.n_components_
    2
    >>> X[:50, 3], Y[50:100] = np.nan, np.nan
    >>> ProbabilisticCCA(2).fit(X, Y).latent(X, Y).shape
    (300, 2)
    """

    def __init__(
        self,
        n_components: int | str | None = None,
        *,
        alpha: float = 1.0,
        tol: float = 1e-7,
        max_iter: int = 1000,
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.tol = tol
        self.max_iter = max_iter

    _rules: ClassVar = {"n_components": _check_latent}

    x_weights_, y_weights_, bic_, hqc_ = results(4)

    def _solve(self, views: Views | Sides, settings: None) -> Answer:
        try:
            model, report = self._likeliest(views, self._wanted(views))
        except SingularView as error:
            raise ValueError(_singular(error, views)) from None
        d, q, s = model.d_x, model.q, self._scale_
        self._set(
            canonical_correlations_=model.r[:q],
            x_weights_=model.U_x[:, :q] / s[:d, None],
            y_weights_=model.U_y[:, :q] / s[d:, None],
        )
        return Answer(model.density(), report)

    def _wanted(self, views: Views | Sides) -> int:
        """The number of components, or the largest to be judged."""
        most = min(views.X.shape[1], views.Y.shape[1])
        if self.n_components is None or self.n_components in CRITERIA:
            return int(most)
        smaller = "the features of the smaller view"
        return check_at_most("n_components", int(self.n_components), most, smaller)

    def _likeliest(self, views: Views | Sides, wanted: int) -> tuple[SharedLatent, Report]:
        if isinstance(views, Views):
            return self._by_steps(views, wanted)
        mean, R = views.moments(self._ridge(views))
        X, Y = views.X, views.Y
        model = closed_form(mean, R, X.shape[1], wanted, (X.eps, Y.eps))
        self.n_iter_ = 1
        best = self._least(gains(model, self._n_samples_), len(mean))
        model = model if best is None else replace(model, q=best)
        return model, Report("likelihood", "svd", "no value is missing")

    def _least(self, gain: Array, d: int) -> int | None:
        """The number of components that the criterion takes; None if none is used."""
        q, n = np.arange(len(gain)), self._n_samples_
        self.bic_ = gain + q * (d - q) * np.log(n)
        self.hqc_ = gain + q * (d - q) * 2 * np.log(np.log(max(n, np.e)))
        if self.n_components not in CRITERIA:
            return None
        return int(np.argmin(self.bic_ if self.n_components == "bic" else self.hqc_))

    def _ridge(self, views: Views | Sides) -> Array:
        """alpha I of X'X in our units, divided by the total weight as X'X is."""
        return np.asarray(float(self.alpha) / self._scale_**2 / views.total)

    def _by_steps(self, views: Views, wanted: int) -> tuple[SharedLatent, Report]:
        V, w, ridge = self._joint(views), self._counts(views), self._ridge(views)
        every = self.n_components in CRITERIA
        runs = [
            expectation_maximization(
                V, w, views.X.shape[1], q, ridge, float(self.tol), int(self.max_iter)
            )
            for q in (range(wanted + 1) if every else [wanted])
        ]
        best = runs[0]
        if every:
            likelihood = np.array([run.log_likelihood for run in runs])
            gain = -2 * self._n_samples_ * (likelihood - likelihood[0])
            best = runs[self._least(gain, V.shape[1]) or 0]
        if best.change > self.tol:
            end = growing("the log likelihood of a sample", best.change)
            warn_of_stopping(
                f"EM stopped after max_iter={self.max_iter} steps {end}: increase max_iter or tol"
            )
        self.n_iter_ = best.n_iter
        how = "values are missing", best.n_iter, best.change <= self.tol
        return best.model, Report("likelihood", "em", *how)


def _singular(error: SingularView, views: Views | Sides) -> str:
    n = views.X.n_samples if isinstance(views, Sides) else views.X.shape[0]
    d = (views.X, views.Y)[error.view].shape[1]
    name = ("X", "y")[error.view]
    if n <= d:
        return (
            f"{n} samples are too few for a covariance of the {d} columns of {name} with a "
            "density: set "
            "alpha > 0, or take fewer columns."
        )
    which = "a column" if error.column < 0 else f"column {error.column}"
    return (
        f"{which} of {name} is a combination of others, so the covariance has no density: leave "
        "it out, or set alpha > 0."
    )
