"""The usual questions about a fitted model: which features matter, which samples are unusual."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from eigenkit.data import project
from eigenkit.data.matrices import BLOCK_BYTES, row_slices
from eigenkit.estimators import PCA
from eigenkit.estimators._cross_decomposition import CrossDecomposition
from eigenkit.estimators._validation import check_X
from eigenkit.numerics.linalg import Array
from eigenkit.numerics.tolerances import EPS
from eigenkit.shell import check_share, filled, what_is

described = filled(
    {
        "axes": """
ax : matplotlib Axes, optional

Returns
-------
Axes
""",
        "diabetes": """
Examples
--------
>>> from sklearn.datasets import load_diabetes
>>> from eigenkit import PLSRegression
>>> X, y = load_diabetes(return_X_y=True)
>>> model = PLSRegression(3).fit(X, y)
""",
        "iris": """
Examples
--------
>>> from sklearn.datasets import load_iris
>>> from eigenkit import LDA
>>> X, y = load_iris(return_X_y=True)
>>> model = LDA().fit(X, y)
""",
        "each_sample": """
X : array, frame or sparse matrix of shape (n_samples, n_features)

Returns
-------
array of shape (n_samples,)
""",
    }
)


def check_has(model: Any, what: str, remedy: str, *names: str) -> None:
    """Refuse a model that is not fitted, or has no attributes of these names."""
    if not hasattr(model, "fit"):
        raise TypeError(f"model is {what_is(model)}: give {remedy}.")
    check_is_fitted(model)
    if not all(hasattr(model, name) for name in names):
        raise TypeError(
            f"model is of the class {type(model).__name__}, which has no {what}: give {remedy}."
        )


def vip_scores(model: Any) -> Array:
    """Variable importance in projection of every feature.

    ``VIP_j^2 = d sum_a q_a w_ja^2 / sum_a q_a`` with w_a the unit weights of component a and
    q_a the variance of y that its score t_a of X explains (Wold's definition; also where y is
    deflated by scores of its own, as in :class:`PLSCanonical`). The mean of the squares is 1, so
    features above 1 matter more than the average.

    Parameters
    ----------
    model : fitted PLSRegression, SIMPLS, PLSCanonical or PLSDA

    Returns
    -------
    array of shape (n_features,)

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_diabetes
    >>> from eigenkit import PLSRegression
    >>> from eigenkit.analysis import vip_scores
    >>> vip = vip_scores(PLSRegression(3).fit(*load_diabetes(return_X_y=True)))
    >>> round(float(np.mean(vip**2)), 12)
    1.0
    """
    if hasattr(model, "fit") and not isinstance(model, CrossDecomposition):
        raise TypeError(f"model is {what_is(model)}: VIP scores need a fitted PLS estimator.")
    check_has(model, "weights of X", "a fitted PLS estimator", "x_weights_")
    if not hasattr(model, "y_explained_variance_ratio_"):
        raise ValueError(
            f"{type(model).__name__} with these parameters has components that overlap, so the "
            "share of y that each explains is not defined: VIP scores need orthogonal scores."
        )
    share = getattr(model, "_y_explained_by_x_", model.y_explained_variance_ratio_)
    W = model.x_weights_
    unit = W / np.linalg.norm(W, axis=0)
    return np.asarray(np.sqrt(len(W) * (unit**2 @ share) / share.sum()))


@described
def hotelling_t2(model: Any, X: Any) -> Array:
    """Distance of samples from the centre of the model: ``t' cov(t)^-1 t``.

    The squared Mahalanobis distance of the scores; ``sum_a t_a^2 / var(t_a)`` where these are
    uncorrelated, as they are unless ``coding="between"`` or X had gaps.

    Parameters
    ----------
    model : fitted PLSRegression, SIMPLS, PLSCanonical, PLSDA or PCA
    {each_sample}

    {diabetes}
    >>> from eigenkit.analysis import hotelling_t2
    >>> round(float(hotelling_t2(model, X).mean()), 2)  # n - 1 over n, for each component
    2.99
    """
    plane = _Plane.of(model, "T2")
    T = plane.scores(check_X(model, X, reset=False))
    return np.asarray(np.sum((T @ plane.whitener) ** 2, axis=1))


@described
def t2_limit(model: Any, level: float = 0.95, X: Any = None) -> float:
    """The value of T2 that a new sample stays below with probability ``level``.

    ``l (n^2 - 1) / (n (n - l)) F(l, n - l)`` for l components and n samples, which assumes normal
    scores, and new samples that vary as the training samples do. With many features and few
    samples they vary less, as the components follow the training samples: the limit is then hardly
    ever exceeded. Pass samples that were not used for fitting.

    Parameters
    ----------
    model : fitted PLSRegression, SIMPLS, PLSCanonical, PLSDA or PCA
    level : float
        Between 0 and 1.
    X : array, frame or sparse matrix of shape (n_samples, n_features), optional
        At least two samples that are known to be good, and were not used for fitting: the limit
        is then found from their T2, as :func:`spe_limit` does it.

    Returns
    -------
    float

    {diabetes}
    >>> from eigenkit.analysis import hotelling_t2, t2_limit
    >>> bool((hotelling_t2(model, X) > t2_limit(model, 0.95)).mean() < 0.1)
    True
    """
    level = check_share("level", level)
    plane = _Plane.of(model, "T2")
    if X is not None:
        return _limit(hotelling_t2(model, X), level)
    l, n = plane.whitener.shape[1], plane.n
    return float(l * (n**2 - 1) / (n * (n - l)) * scipy.special.fdtri(l, n - l, level))


@described
def spe(model: Any, X: Any) -> Array:
    """Squared prediction error: how much of each (scaled) sample the model does not reproduce.

    ``||x - t P'||^2``, also known as Q or DModX squared. Sparse X stays sparse.

    Parameters
    ----------
    model : fitted PLSRegression, SIMPLS, PLSCanonical, PLSDA or PCA
    {each_sample}

    {diabetes}
    >>> from eigenkit.analysis import spe
    >>> spe(model, X).shape
    (442,)
    """
    plane = _Plane.of(model, "loadings of X")
    X = check_X(model, X, reset=False)
    T = plane.scores(X)
    if sparse.issparse(X):
        return _sparse_spe(plane, X, T)
    out = np.empty(len(X))
    for rows in row_slices(X.shape, BLOCK_BYTES):
        E = (X[rows] - plane.mean) / plane.unit - T[rows] @ plane.loadings.T
        out[rows] = np.einsum("ij,ij->i", E, E)
    return out


def _sparse_spe(plane: _Plane, X: Any, T: Array) -> Array:
    """||x||^2 - 2 x'P t + t'P'P t, all of it centred and scaled."""
    mean, unit, P = plane.mean, plane.unit, plane.loadings
    squares = X.power(2) @ unit**-2 - 2 * (X @ (mean / unit**2)) + np.sum((mean / unit) ** 2)
    along = project(X, mean, P / unit[:, None])
    cross = np.einsum("ij,ij->i", along, T)
    fitted = np.einsum("ij,ij->i", T @ (P.T @ P), T)
    return np.asarray(np.maximum(squares - 2 * cross + fitted, 0.0))


def spe_limit(model: Any, X: Any, level: float = 0.95) -> float:
    """The value of SPE that a sample like those in ``X`` stays below with probability ``level``.

    SPE is computed for every sample of X, and a scaled chi-squared distribution gets the same mean
    and variance (Box's approximation); the limit is its quantile. Samples above it do not look
    like those in X.

    Pass good samples that were not used for fitting, if you have some. The model follows its
    training samples more closely than new ones, so their limit is too strict for new samples.

    Parameters
    ----------
    model : fitted PLSRegression, SIMPLS, PLSCanonical, PLSDA or PCA
    X : array, frame or sparse matrix of shape (n_samples, n_features)
        At least two samples that are known to be good.
    level : float
        Between 0 and 1; of samples like those in X, a share of about ``1 - level`` is above
        the limit.

    Returns
    -------
    float

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from eigenkit import PLSRegression
    >>> from eigenkit.analysis import spe, spe_limit
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = PLSRegression(3).fit(X[:300], y[:300])
    >>> limit = spe_limit(model, X[300:], 0.95)
    >>> round(float((spe(model, X[300:]) > limit).mean()), 2)  # about one in twenty
    0.04
    >>> odd = X[:1].copy()
    >>> odd[0, 4] = 0.2  # one measurement of one patient, far off
    >>> bool(spe(model, odd)[0] > limit)
    True
    """
    return _limit(spe(model, X), check_share("level", level))


def _limit(found: Array, level: float) -> float:
    """The quantile of a scaled chi-squared distribution with the mean and variance found."""
    if len(found) < 2:
        raise ValueError("X has 1 sample, whose distance has no variance: pass at least 2.")
    mean, variance = float(found.mean()), float(found.var(ddof=1))
    if variance <= EPS * mean**2:
        return mean
    return variance / (2 * mean) * float(scipy.special.chdtri(2 * mean**2 / variance, 1 - level))


@dataclass(frozen=True)
class _Plane:
    """The plane of the scores of a model, and how the training samples spread in it."""

    mean: Array
    unit: Array
    rotations: Array
    loadings: Array
    whitener: Array
    n: float

    @classmethod
    def of(cls, model: Any, what: str) -> _Plane:
        if isinstance(model, PCA):
            check_is_fitted(model)
            W, d = model.components_.T, model.n_features_in_
            white = np.diag(1 / np.sqrt(model.explained_variance_))
            return cls(model.mean_, np.ones(d), W, W, white, model._n_samples_)
        names = ("x_mean_", "x_std_", "x_rotations_", "x_loadings_")
        kept = (*names, "_score_whitener_", "_n_samples_")
        check_has(model, what, "a fitted PLSRegression, SIMPLS, PLSCanonical, PLSDA or PCA", *kept)
        return cls(*(getattr(model, name) for name in kept))

    def scores(self, X: Any) -> Array:
        return np.asarray(project(X, self.mean, self.rotations / self.unit[:, None]))
