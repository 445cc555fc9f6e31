"""Pictures of fitted models. They need matplotlib (the extra ``plot``), loaded when needed.

Every function draws into ``ax`` (or new axes) and returns it; nothing is shown or saved.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from eigenkit.analysis import diagnostics
from eigenkit.analysis.diagnostics import check_has, described
from eigenkit.estimators import PLSRegressionCV, ShrinkageRegression
from eigenkit.shell import refuse

# Classes differ in more than colour, and the colours suit colour-blind readers.
MARKERS = "o^sDvP"
COLORS = ("#00609c", "#d55e00", "#00805c", "#b5508c", "#a97300", "#2f9bd6", "#6b4fa0", "#5c6670")


def new_axes(ax: Any) -> Any:
    """The axes given, or new ones."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("Pictures need matplotlib: pip install matplotlib.") from error
    return plt.subplots(layout="constrained")[1]


@described
def plot_loadings(
    model: Any, components: tuple[int, int] = (0, 1), *, names: Any = None, ax: Any = None
) -> Any:
    """Features in the plane of two components.

    Parameters
    ----------
    model : fitted PLS estimator with loadings
    components : (int, int)
        Which components, counted from 0.
    names : sequence of str, optional
        Written next to the points; the feature names of the model by default.
    {axes}

    {diabetes}
    >>> from eigenkit.analysis import plot_loadings
    >>> ax = plot_loadings(model, names=load_diabetes().feature_names)
    >>> len(ax.texts)
    10
    """
    check_has(model, "loadings of X", "a fitted PLS estimator", "x_loadings_")
    P, (a, b) = model.x_loadings_, components
    if not (0 <= a < P.shape[1] and 0 <= b < P.shape[1]):
        refuse("components", components, f"two numbers below {P.shape[1]}")
    ax = new_axes(ax)
    ax.scatter(P[:, a], P[:, b], s=8)
    names = getattr(model, "feature_names_in_", None) if names is None else names
    for name, x, y in zip(names if names is not None else [], P[:, a], P[:, b], strict=False):
        ax.annotate(str(name), (x, y))
    ax.set(xlabel=f"loading {a + 1}", ylabel=f"loading {b + 1}")
    return ax


@described
def plot_explained_variance(model: Any, *, ax: Any = None) -> Any:
    """Cumulative share of the variance of X and y against the number of components.

    Parameters
    ----------
    model : fitted PLSRegression, SIMPLS, PLSCanonical or PLSDA
    {axes}

    {diabetes}
    >>> from eigenkit.analysis import plot_explained_variance
    >>> ax = plot_explained_variance(model)
    >>> [line.get_label() for line in ax.lines]
    ['X', 'y']
    """
    both = ("x_explained_variance_ratio_", "y_explained_variance_ratio_")
    remedy = "a fitted PLSRegression, SIMPLS, PLSCanonical or PLSDA"
    check_has(model, "shares of X and y for its components", remedy, *both)
    ax = new_axes(ax)
    for name, attribute in zip("Xy", both, strict=True):
        share = getattr(model, attribute)
        ax.plot(np.arange(1, len(share) + 1), np.cumsum(share), marker="o", label=name)
    ax.set(xlabel="components", ylabel="explained variance", ylim=(0, 1.02))
    ax.legend()
    return ax


@described
def plot_cross_validation(model: PLSRegressionCV, *, ax: Any = None) -> Any:
    """Error against the number of components, with standard errors and the choice.

    Parameters
    ----------
    model : fitted PLSRegressionCV
    {axes}

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from eigenkit import PLSRegressionCV
    >>> from eigenkit.analysis import plot_cross_validation
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = PLSRegressionCV(5).fit(X, y)
    >>> ax = plot_cross_validation(model)
    >>> ax.get_ylabel()
    'mean squared error'
    """
    check_has(model, "errors of folds", "a fitted PLSRegressionCV", "fold_errors_")
    ax = new_axes(ax)
    errors = model.fold_errors_
    bars = errors.std(axis=0, ddof=1) / np.sqrt(len(errors))
    ax.errorbar(np.arange(errors.shape[1]), errors.mean(axis=0), bars, marker="o")
    ax.axvline(model.n_components_, color="0.6", linestyle="--", label="chosen")
    ax.set(xlabel="components", ylabel="mean squared error")
    ax.legend()
    return ax


@described
def plot_outliers(model: Any, X: Any, *, level: float = 0.95, ax: Any = None) -> Any:
    """SPE against T2 of samples, with the limits of both.

    Parameters
    ----------
    model : fitted PLS estimator with loadings
    X : array, frame or sparse matrix of shape (n_samples, n_features)
        The training data.
    level : float
        Of the limits.
    {axes}

    {diabetes}
    >>> from eigenkit.analysis import plot_outliers
    >>> ax = plot_outliers(model, X)
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('T2', 'SPE')
    """
    t2, errors = diagnostics.hotelling_t2(model, X), diagnostics.spe(model, X)
    ax = new_axes(ax)
    ax.scatter(t2, errors, s=12)
    ax.axvline(diagnostics.t2_limit(model, level), color="0.6", linestyle="--")
    ax.axhline(diagnostics.spe_limit(model, X, level), color="0.6", linestyle="--")
    ax.set(xlabel="T2", ylabel="SPE")
    return ax


@described
def plot_shrinkage(
    X: Any, y: Any, *, n_components: int = 2, alpha: float = 1.0, ax: Any = None
) -> Any:
    """Shrinkage factors of OLS, PCR, ridge and PLS1 (as it is, and bounded) side by side.

    Parameters
    ----------
    X, y
        Data with one response.
    n_components : int
        For PCR and PLS.
    alpha : float
        For ridge.
    {axes}

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from eigenkit.analysis import plot_shrinkage
    >>> ax = plot_shrinkage(*load_diabetes(return_X_y=True), n_components=3, alpha=0.1)
    >>> len(ax.lines)
    5
    """
    ax = new_axes(ax)
    shown = [
        ("ols", False, "OLS", "-"),
        ("pcr", False, f"PCR, {n_components}", "--"),
        ("ridge", False, f"ridge, {alpha:g}", "-."),
        ("pls", False, f"PLS, {n_components}", "o-"),
        ("pls", True, f"PLS, {n_components}, bounded", "."),
    ]
    for method, bounded, label, style in shown:
        options: Any = {"n_components": n_components, "alpha": alpha, "bounded": bounded}
        factors = ShrinkageRegression(method, **options).fit(X, y).shrinkage_factors_
        ax.plot(np.arange(1, len(factors) + 1), factors, style, label=label)
    ax.set(xlabel="singular direction", ylabel="shrinkage factor")
    ax.legend()
    return ax
