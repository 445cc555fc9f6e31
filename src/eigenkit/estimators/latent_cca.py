"""Canonical correlation analysis as a model of the data: two views of latent variables."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
import scipy
from sklearn.utils.validation import check_is_fitted

from eigenkit.estimators._streams import results
from eigenkit.estimators._two_views import Sides, TwoViewDensity, Views, settled
from eigenkit.numerics.linalg import Array, signs, triangular_factor
from eigenkit.numerics.tolerances import RANK_TOL
from eigenkit.pencil import Answer, Report
from eigenkit.shell import check_at_most, check_share, count_or
from eigenkit.solvers.sparse_latent import Loadings, Observed, information, present, search
from eigenkit.solvers.two_views import (
    SharedLatent,
    SingularView,
    TwoViews,
    closed_form,
    expectation_maximization,
    gains,
)

CRITERIA = ("bic", "hqc")
# By default no more components than this are tried by the Bayesian model.
MOST = 10


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
    {report_and_sizes}

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

    _rules: ClassVar = {
        "n_components": count_or(*CRITERIA, None, hint=', or "bic", or "hqc", or None for all')
    }

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
        (V, w), ridge = self._joint(views), self._ridge(views)
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
        self.n_iter_ = best.n_iter
        converged = settled(self, "EM", "the log likelihood of a sample", best.change)
        how = "values are missing", best.n_iter, converged
        return best.model, Report("likelihood", "em", *how)


def _singular(error: SingularView, views: Views | Sides) -> str:
    n = views.X.n_samples if isinstance(views, Sides) else views.X.shape[0]
    d = (views.X, views.Y)[error.view].shape[1]
    name = ("X", "y")[error.view]
    if n <= d:
        return (
            f"{n} samples are too few for a covariance of the {d} columns of {name} with a "
            "density: set alpha > 0, or take fewer columns."
        )
    which = "a column" if error.column < 0 else f"column {error.column}"
    return (
        f"{which} of {name} is a combination of others, so the covariance has no density: leave "
        "it out, or set alpha > 0."
    )


class BayesianCCA(TwoViewDensity):
    """Bayesian CCA: sparse loadings, and a number of components found from the data.

    ``z ~ N(0, I),  x = Wx z + mx + ex,  y = Wy z + my + ey`` with independent noise. A loading
    is zero or of the size of its component in its view (a beta-Bernoulli prior, the Indian
    buffet with finitely many dishes, over automatic relevance determination), so that a
    component may be shared, or be correlated noise of one view, or vanish. The posterior is
    found by variational inference, and the number of components by its evidence bound.

    Parameters
    ----------
    n_components : int, optional
        The largest number of components that is tried, those of one view included; 10 by
        default, or the number of features less one.
    tol, max_iter : float, int
        Gain of the evidence bound in a step, and number of steps, at which a run stops.

    Attributes
    ----------
    n_components_ : int
        Number of components that both views share; it may be 0.
    x_loadings_, y_loadings_ : array of shape (n_features or n_targets, n_components_)
        Posterior means of Wx and Wy, shared components only.
    x_relevance_, y_relevance_ : array
        Posterior probabilities that these loadings are not zero.
    x_noise_covariance_, y_noise_covariance_ : array
        Covariances of what is not shared: components of one view, and noise.
    canonical_correlations_ : array of shape (n_components_,)
        Those of the fitted model, which shrinks them.
    components_ : array of shape (n_components_, n_features)
        ``transform(X)`` is ``(X - mean_) @ components_.T``.
    evidence_ : float
        The bound: a lower bound of the log probability of the columns at unit variance.
    mean_, y_mean_ : array
    {report}
    n_iter_, n_features_in_, feature_names_in_

    Notes
    -----
    Rows may have NaN anywhere; the means are those of the entries that are there. The
    variational posterior takes loadings and latent variables to be independent, and is too
    narrow; :meth:`loading_intervals` therefore come from the information of the likelihood
    without z.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenkit import BayesianCCA
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=(200, 1))
    >>> X, Y = rng.normal(size=(200, 6)), rng.normal(size=(200, 5))
    >>> X[:, :2] += 2 * z
    >>> Y[:, :3] -= z
    >>> model = BayesianCCA().fit(X, Y)
    >>> model.n_components_
    1
    >>> (model.x_relevance_[:, 0] > 0.5).tolist()
    [True, True, False, False, False, False]
    """

    def __init__(
        self, n_components: int | None = None, *, tol: float = 1e-2, max_iter: int = 300
    ) -> None:
        self.n_components = n_components
        self.tol = tol
        self.max_iter = max_iter

    _rules: ClassVar = {"n_components": count_or(None, hint=", or None for up to 10")}

    x_relevance_, y_relevance_, evidence_, _posterior_, _deviation_ = results(5)

    def _solve(self, views: Views | Sides, settings: None) -> Answer:
        data, mean, deviation = self._observed(views)
        D = len(mean)
        both = "the features of both views together"
        wanted = min(MOST, D - 1) if self.n_components is None else self.n_components
        most = check_at_most("n_components", wanted, D, both, hint=f", or None for up to {MOST}")
        run = search(data, most, float(self.tol), int(self.max_iter))
        self.evidence_, self.n_iter_ = run.bound, max(1, run.n_iter)
        converged = settled(self, "a run", "the evidence bound", run.change)
        d = views.X.shape[1]
        q, shared = _sorted(run.q, data)
        self._posterior_ = {
            # A component that a view has lost is lost wholly: what is left of it is rounding.
            "loadings": np.where(present(data, q)[data.view], q.expected, 0.0),
            "active": q.active,
            "prior": (q.slab[0] / q.slab[1])[data.view],
            "noise": q.noise[1] / np.maximum(q.noise[0] - 1, 0.5) + q.second().sum(axis=1),
        }
        self._deviation_ = deviation
        self._set(x_relevance_=q.active[:d, :shared], y_relevance_=q.active[d:, :shared])
        W, noise = (self._posterior_[name] for name in ("loadings", "noise"))
        C = (W @ W.T + np.diag(noise)) * np.outer(deviation, deviation)
        R = np.linalg.cholesky(C).T
        found = TwoViews.of(mean, R, W[:, :shared] * deviation[:, None], d)
        self._set(canonical_correlations_=_correlations(found))
        how = f"the best evidence of 0 to {most} components", run.n_iter, converged
        return Answer(found, Report("variational", "ascent", *how))

    def _observed(self, views: Views | Sides) -> tuple[Observed, Array, Array]:
        """Columns of mean 0 and variance 1, and what they had before."""
        view = np.repeat([0, 1], [views.X.shape[1], views.Y.shape[1]])
        if isinstance(views, Sides):
            try:
                mean, R = views.moments(np.zeros(len(view)))
            except SingularView:
                raise ValueError(
                    "X is sparse, too large to be made dense, and has collinear columns: take "
                    "a PCA of it first."
                ) from None
            deviation = _deviation(np.linalg.norm(R, axis=0))
            rows, weight = R * np.sqrt(self._n_samples_) / deviation, np.array([self._n_samples_])
            return Observed(rows, view, weight, None), mean, deviation
        V, weight = self._joint(views)
        seen = ~np.isnan(V)
        total = weight @ seen
        mean = weight @ np.where(seen, V, 0.0) / total
        deviation = _deviation(np.sqrt(weight @ np.where(seen, V - mean, 0.0) ** 2 / total))
        return Observed.of((V - mean) / deviation, view, weight), mean, deviation

    def loading_intervals(self, level: float = 0.95) -> tuple[Array, Array]:
        """Intervals of the loadings that are more likely not zero than zero.

        The posterior of these loadings and of the noise is taken to be normal, with the
        inverse of the Fisher information (z integrated out, the others at zero) plus the
        prior's precision as covariance. Intervals of loadings that are likely zero are (0, 0).
        Which loadings are zero is taken as known: where one was misjudged, the intervals of the
        others miss more often than they should.

        Parameters
        ----------
        level : float
            Probability that an interval should hold its loading.

        Returns
        -------
        tuple of arrays of shape (n_features, n_components_, 2) and (n_targets, n_components_, 2)
        """
        check_is_fitted(self)
        level = check_share("level", level)
        parts, n = self._posterior_, self._n_samples_
        active, shared = parts["active"] > 0.5, self.n_components_
        W = np.where(active, parts["loadings"], 0.0)
        total = information(W, parts["noise"], n)
        kept = np.concatenate([active.ravel(), np.ones(len(W), dtype=bool)])
        total[np.diag_indices_from(total)] += np.concatenate(
            [parts["prior"].ravel(), np.zeros(len(W))]
        )
        variance = np.diag(np.linalg.inv(total[np.ix_(kept, kept)]))
        half = np.zeros(W.shape)
        half[active] = scipy.special.ndtri(0.5 + level / 2) * np.sqrt(variance[: active.sum()])
        unit = (self._scale_ * self._deviation_)[:, None, None]
        found = np.stack([W - half, W + half], axis=-1)[:, :shared] * unit
        d = self.n_features_in_
        return self._cast(found[:d]), self._cast(found[d:])


def _deviation(size: Array) -> Array:
    """Standard deviations to divide by: 1 where there is nothing but rounding."""
    return np.where(size > RANK_TOL * size.max(), size, 1.0)


def _sorted(q: Loadings, data: Observed) -> tuple[Loadings, int]:
    """Shared components first, large ones first, with one sign; and their number."""
    both = present(data, q).all(axis=0)
    size = np.prod([np.sum(q.expected[data.view == g] ** 2, axis=0) for g in (0, 1)], axis=0)
    order = np.lexsort([-size, ~both])
    q = q.ordered(order)
    return replace(q, mean=q.mean * signs(q.expected)), int(both.sum())


def _correlations(model: TwoViews) -> Array:
    d, q = model.d_x, model.W.shape[1]
    R_x, R_y = model.R[:d, :d], triangular_factor(model.R[:, d:])
    M = np.linalg.solve(R_x.T, model.W[:d]) @ np.linalg.solve(R_y.T, model.W[d:]).T
    return np.linalg.svd(M, compute_uv=False)[:q]
