"""Which sides a method compares: the one place that knows the estimators."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone

from eigenkit.analysis._views import View
from eigenkit.estimators import (
    CCA,
    LDA,
    PCA,
    PLSDA,
    CanonicalRidge,
    HypergraphSpectral,
    KernelCCA,
    KernelPLS,
    LeastSquaresProjection,
    MultilabelLDA,
    MultiviewCCA,
    OrthogonalPLS,
    SparsePLS,
    SparsePLSDA,
)
from eigenkit.estimators._base import Projection
from eigenkit.estimators._cross_decomposition import CrossDecomposition
from eigenkit.estimators._encoding import as_labels
from eigenkit.estimators._validation import check_X
from eigenkit.linalg import Array
from eigenkit.moments import dense
from eigenkit.shell import with_article
from eigenkit.targets import Labels

# (share, ridge) of the matrix share X'X + ridge I that normalizes a projection.
WHITENED = (1.0, 0.0)
AS_IT_IS = (0.0, 1.0)


def sides(estimator: Any, X: Any, y: Any) -> list[View]:
    """The views of the samples that a method compares: X first, then y (or more views).

    Fitting the method checks all that a user may have got wrong.
    """
    _refuse(estimator)
    model = clone(estimator).fit(X, y)
    if isinstance(model, MultiviewCCA):
        return _several(model, X)
    X = check_X(BaseEstimator(), X, reset=True, min_samples=2)
    if isinstance(model, CrossDecomposition):
        return _covariance(model, X, y)
    return [_x_side(model, X), _y_side(model, X.shape[0], y)]


def _refuse(estimator: Any) -> None:
    name = with_article(described(estimator))
    known = isinstance(estimator, Projection | CrossDecomposition | MultiviewCCA)
    if not known or isinstance(estimator, PCA):
        raise TypeError(
            f"estimator is {name}: permutation_test takes CCA, CanonicalRidge, MultiviewCCA, "
            "OrthonormalizedPLS, LDA, HypergraphSpectral, the PLS family, and kernel versions."
        )
    if isinstance(estimator, MultilabelLDA):
        raise TypeError(
            "estimator is a MultilabelLDA, which gives samples unequal weights, so their rows "
            "cannot be exchanged: use HypergraphSpectral, or CCA on the label matrix."
        )
    if isinstance(estimator, LeastSquaresProjection):
        raise TypeError(
            "estimator is a LeastSquaresProjection, which is not a singular value problem: test "
            "the projection that it stands for, or use bootstrap for how often features are "
            "selected."
        )
    if isinstance(estimator, SparsePLS | SparsePLSDA | OrthogonalPLS):
        raise TypeError(
            f"estimator is {name}, whose components are not those of a singular value problem: "
            "test PLSRegression or PLSDA, or use bootstrap."
        )
    for parameter in ("shrinkage", "label_rank"):
        if getattr(estimator, parameter, None) is not None:
            raise ValueError(
                f"{name} with {parameter}={getattr(estimator, parameter)!r} cannot be tested: set "
                f"{parameter}=None; a ridge (alpha) is taken into account."
            )
    if getattr(estimator, "approximation", None) is not None:
        raise ValueError(
            f"{name} with approximation={estimator.approximation!r} has a kernel of its own: "
            "set approximation=None, as permutation_test needs the kernel matrix anyway."
        )


def described(estimator: Any) -> str:
    """The name of a class, and where it comes from if that is not here."""
    kind = estimator if isinstance(estimator, type) else type(estimator)
    package = kind.__module__.partition(".")[0]
    ours = package in ("eigenkit", "builtins")
    what = f"class {kind.__name__} itself" if kind is estimator else kind.__name__
    return what if ours else f"{what} of {package}"


def _several(model: MultiviewCCA, X: Any) -> list[View]:
    joint = model._check_X(X, reset=False)
    columns = model._columns_
    alphas = np.broadcast_to(np.asarray(model.alpha, dtype=np.float64), len(columns))
    return [View(joint[:, own], 1.0, float(a)) for own, a in zip(columns, alphas, strict=True)]


def _covariance(model: CrossDecomposition, X: Any, y: Any) -> list[View]:
    """The PLS family: covariances, of PLSDA's classes as they are coded."""
    scale_x, scale_y = model._settings()
    Y = model._encode(as_labels(y), X.shape[0], None, reset=True)
    if isinstance(model, PLSDA) and model.coding == "reduced":
        Y = Y[:, :-1]
    between = isinstance(model, PLSDA) and model.coding == "between"
    return [
        View(X, *AS_IT_IS, scale=scale_x),
        View(Y, *(WHITENED if between else AS_IT_IS), scale=scale_y),
    ]


def _x_side(model: Any, X: Any) -> View:
    if isinstance(model, CanonicalRidge):
        return View(X, 1.0 - float(model.gamma_x), float(model.gamma_x))
    penalty = AS_IT_IS if isinstance(model, KernelPLS) else (1.0, float(model.alpha))
    if not hasattr(model, "kernel_"):
        return View(X, *penalty)
    return View(np.asarray(model.kernel_(X, model.X_fit_), dtype=np.float64), *penalty, kernel=True)


def _y_side(model: Any, n: int, y: Any) -> View:
    Y = dense(model._encode(as_labels(y), n, None, False))
    if isinstance(model, HypergraphSpectral):
        return View(_target_rows(model, Y), *AS_IT_IS)
    if isinstance(model, CanonicalRidge):
        return View(Y, 1.0 - float(model.gamma_y), float(model.gamma_y))
    if isinstance(model, CCA):
        return View(Y, 1.0, float(model.alpha_y))
    return View(Y, *(WHITENED if isinstance(model, LDA | KernelCCA) else AS_IT_IS))


def _target_rows(model: Any, Y: Array) -> Array:
    """H, built once: permuting the samples permutes its rows."""
    degree = Y.sum(axis=0)
    labels = Labels(degree, Y - degree / len(Y), model._edge_weight(Y.shape[1]))
    return np.asarray(model._target().rows(Y, labels))
