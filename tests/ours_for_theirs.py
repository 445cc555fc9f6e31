"""A plugin of pytest that puts our classes in the place of scikit-learn's before its tests load.

The classes here take scikit-learn's parameters with scikit-learn's defaults and hand them on;
what is fitted and computed is ours.
"""

from __future__ import annotations

import functools
from typing import Any, ClassVar

import pytest
import sklearn.cross_decomposition
import sklearn.decomposition
import sklearn.discriminant_analysis

import eigenkit
from eigenkit.shell import check_count, optional, unchanged_on_error


def _any_sentence(context: Any) -> Any:
    """``pytest.raises`` or ``pytest.warns`` without ``match``: our sentences are our own."""

    @functools.wraps(context)
    def without(*args: Any, match: Any = None, **options: Any) -> Any:
        return context(*args, **options)

    return without


class TwoSided:
    """Pairs from fit_transform, and predict with a flag that changes nothing here."""

    def fit_transform(self, X: Any, y: Any) -> Any:
        return self.fit(X, y).transform(X, y)

    def predict(self, X: Any, copy: bool = True) -> Any:
        return super().predict(X)


class PLSRegression(TwoSided, eigenkit.PLSRegression):
    def __init__(self, n_components=2, *, scale=True, max_iter=500, tol=1e-06, copy=True):
        super().__init__(n_components, scale=scale, max_iter=max_iter, tol=tol)
        self.copy = copy


class PLSCanonical(TwoSided, eigenkit.PLSCanonical):
    def __init__(
        self, n_components=2, *, scale=True, algorithm="nipals", max_iter=500, tol=1e-06, copy=True
    ):
        super().__init__(n_components, scale=scale, max_iter=max_iter, tol=tol)
        self.algorithm = "kernel" if algorithm == "svd" else algorithm
        self.copy = copy


class PLSSVD(TwoSided, eigenkit.PLSSVD):
    def __init__(self, n_components=2, *, scale=True, copy=True):
        super().__init__(n_components, scale=scale)
        self.copy = copy


class CCA(TwoSided, eigenkit.CCA):
    def __init__(self, n_components=2, *, scale=True, max_iter=500, tol=1e-06, copy=True):
        super().__init__(n_components, alpha=0.0, max_iter=max_iter, tol=tol)
        self.scale = scale
        self.copy = copy


class PCA(eigenkit.PCA):
    def __init__(
        self,
        n_components=None,
        *,
        copy=True,
        whiten=False,
        svd_solver="auto",
        tol=0.0,
        iterated_power="auto",
        n_oversamples=10,
        power_iteration_normalizer="auto",
        random_state=None,
    ):
        super().__init__(
            n_components, whiten=whiten, svd_solver=svd_solver, random_state=random_state
        )
        self.copy = copy
        self.iterated_power = iterated_power
        self.n_oversamples = n_oversamples
        self.power_iteration_normalizer = power_iteration_normalizer


class IncrementalPCA(eigenkit.PCA):
    def __init__(self, n_components=None, *, whiten=False, copy=True, batch_size=None):
        super().__init__(n_components, whiten=whiten)
        self.copy = copy
        self.batch_size = batch_size

    def fit(self, X: Any, y: Any = None) -> Any:
        with unchanged_on_error(self, anew=True):
            for first in range(0, X.shape[0], self.batch_size or X.shape[0]):
                self.partial_fit(X[first : first + (self.batch_size or X.shape[0])])
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Any:
        seen = vars(self).get("n_samples_seen_", 0)
        super().partial_fit(X)
        self.n_samples_seen_ = seen + X.shape[0]
        return self


class KernelPCA(eigenkit.KernelPCA):
    _rules: ClassVar = {"max_iter": optional(check_count)}

    def __init__(
        self,
        n_components=None,
        *,
        kernel="linear",
        gamma=None,
        degree=3,
        coef0=1,
        kernel_params=None,
        alpha=1.0,
        fit_inverse_transform=False,
        eigen_solver="auto",
        tol=0,
        max_iter=None,
        iterated_power="auto",
        remove_zero_eig=False,
        random_state=None,
        copy_X=True,
        n_jobs=None,
    ):
        super().__init__(
            n_components,
            kernel=kernel,
            gamma=gamma,
            degree=degree,
            coef0=coef0,
            kernel_params=kernel_params,
            alpha=alpha,
            fit_inverse_transform=fit_inverse_transform,
            random_state=random_state,
        )
        self.eigen_solver = eigen_solver
        self.tol = tol
        self.max_iter = max_iter
        self.iterated_power = iterated_power
        self.remove_zero_eig = remove_zero_eig
        self.copy_X = copy_X
        self.n_jobs = n_jobs


class LinearDiscriminantAnalysis(eigenkit.LDA):
    _rules: ClassVar = {"solver": ("svd", "lsqr", "eigen")}

    def __init__(
        self,
        solver="svd",
        shrinkage=None,
        priors=None,
        n_components=None,
        store_covariance=False,
        tol=1e-4,
        covariance_estimator=None,
    ):
        super().__init__(
            n_components,
            alpha=0.0,
            shrinkage=shrinkage,
            priors=priors,
            store_covariance=store_covariance or solver != "svd",
        )
        self.solver = solver
        self.covariance_estimator = covariance_estimator

    def _settings(self) -> Any:
        if self.solver == "svd" and self.shrinkage is not None:
            raise NotImplementedError("as scikit-learn answers")
        if self.covariance_estimator is not None:
            raise ValueError("ours takes no covariance_estimator")
        given, self.solver = self.solver, "auto"
        try:
            return super()._settings()
        finally:
            self.solver = given

    def transform(self, X: Any) -> Any:
        """With variance 1 within classes, as scikit-learn scales the scores."""
        return (X - self.xbar_) @ self.scalings_


# Every estimator here takes these parameters in scikit-learn, so the sentences are not for them.
for cls in (PLSRegression, PLSCanonical, PLSSVD, CCA, PCA, IncrementalPCA, KernelPCA):
    cls._instead = {}
LinearDiscriminantAnalysis._instead = {}


def pytest_configure() -> None:
    """Put them in place; merely importing this module changes nothing."""
    pytest.raises, pytest.warns = _any_sentence(pytest.raises), _any_sentence(pytest.warns)
    for name in ("CCA", "PLSRegression", "PLSCanonical", "PLSSVD"):
        setattr(sklearn.cross_decomposition, name, globals()[name])
    for name in ("PCA", "IncrementalPCA", "KernelPCA"):
        setattr(sklearn.decomposition, name, globals()[name])
    sklearn.discriminant_analysis.LinearDiscriminantAnalysis = LinearDiscriminantAnalysis
