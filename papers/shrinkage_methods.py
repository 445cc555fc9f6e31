"""Shrinkage factors, cross-validation and expected errors of OLS, PCR, ridge and PLS."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import brentq
from sklearn.cross_decomposition import PLSRegression as SklearnPLS
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline

from eigenkit import PLSRegressionCV
from eigenkit.data import Centered
from eigenkit.numerics.linalg import Array
from eigenkit.solvers.shrinkage import Spectrum, coefficient_risk, fit_risk

SHRUNK = {"pcr": "PCR", "ridge": "ridge", "pls": "PLS", "bounded": "PLS, bounded"}
METHODS = {**SHRUNK, "ols": "OLS"}
SHOWN = (2, 5, 8)  # numbers of components in the figure of factors


@dataclass(frozen=True)
class Plan:
    """How much to do: components and values of alpha to try, folds and their draws, simulations."""

    most: int = 20
    n_alphas: int = 36
    folds: int = 10
    repeats: int = 10
    draws: int = 400

    @property
    def alphas(self) -> Array:
        """From much shrinkage to nearly none."""
        return np.logspace(1, -6, self.n_alphas)


QUICK = Plan(most=6, n_alphas=6, folds=4, repeats=1, draws=30)


def spectrum_of(X: Array, y: Array) -> Spectrum:
    """Of centred data and response."""
    return Spectrum.of(Centered(X), y - y.mean())


def factors(spectrum: Spectrum, method: str, plan: Plan) -> Array:
    """Shrinkage factors, one row per number of components (ridge: per alpha)."""
    if method == "ols":
        return spectrum.ols()[None, :]
    if method == "ridge":
        return np.array([spectrum.ridge(alpha) for alpha in plan.alphas])
    by_components = spectrum.pcr if method == "pcr" else spectrum.pls
    F = np.array([by_components(p) for p in range(1, plan.most + 1)])
    return np.clip(F, -1, 1) if method == "bounded" else F


def coefficients(spectrum: Spectrum, F: Array) -> Array:
    """One row of coefficients for each row of factors."""
    return np.array([spectrum.coef(f) for f in F])


def with_response(spectrum: Spectrum, X: Array, y: Array) -> Spectrum:
    """The same data with another response: v_i'y = u_i'X'y / s_i."""
    V = (X - X.mean(axis=0)) @ spectrum.directions / spectrum.singular_values
    return replace(spectrum, vy=V.T @ (y - y.mean()))


def matching_alpha(spectrum: Spectrum, degrees: float) -> float:
    """The alpha at which the factors of ridge sum to so many degrees of freedom."""
    power = brentq(lambda a: spectrum.ridge(10.0**a).sum() - degrees, -12, 12)
    return float(10.0**power)


# -- cross-validation -------------------------------------------------------------------


def folds(X: Array, seed: int, plan: Plan) -> list[tuple[np.ndarray, np.ndarray]]:
    """Row numbers of training and test parts."""
    return list(KFold(plan.folds, shuffle=True, random_state=seed).split(X))


def fold_errors(X: Array, y: Array, seed: int, method: str, plan: Plan) -> list[list[float]]:
    """Mean squared error of every fold and number of components (ridge: and alpha)."""
    found = []
    for train, test in folds(X, seed, plan):
        spectrum = spectrum_of(X[train], y[train])
        B = coefficients(spectrum, factors(spectrum, method, plan))
        predicted = (X[test] - X[train].mean(axis=0)) @ B.T + y[train].mean()
        found.append(((predicted - y[test][:, None]) ** 2).mean(axis=0).tolist())
    return found


def fast_fold_errors(X: Array, y: Array, seed: int, plan: Plan) -> list[list[float]]:
    """The same of PLS, by PLSRegressionCV."""
    model = PLSRegressionCV(plan.most, cv=folds(X, seed, plan), scale=False).fit(X, y)
    return [list(row) for row in model.fold_errors_[:, 1:].tolist()]


def peer_errors(X: Array, y: Array, seed: int, method: str, plan: Plan) -> list[list[float]]:
    """The same by scikit-learn: every setting is fitted anew in every fold."""
    components = range(1, plan.most + 1)
    model, grid = {
        "pcr": (make_pipeline(PCA(), LinearRegression()), {"pca__n_components": components}),
        "ridge": (Ridge(), {"alpha": plan.alphas}),
        "pls": (SklearnPLS(scale=False), {"n_components": components}),
    }[method]
    options: Any = {"scoring": "neg_mean_squared_error", "cv": folds(X, seed, plan)}
    results = GridSearchCV(model, grid, refit=False, **options).fit(X, y).cv_results_
    return [(-results[f"split{i}_test_score"]).tolist() for i in range(plan.folds)]


# -- expected errors --------------------------------------------------------------------


def simulate(
    X: Array, beta: Array, noise: float, method: str, seed: int, plan: Plan
) -> dict[str, list[float]]:
    """E|b - beta|^2 and E|Xc(b - beta)|^2 by drawing y = X beta + noise again and again."""
    random = np.random.default_rng(seed)
    mean = (X - X.mean(axis=0)) @ beta
    spectrum = spectrum_of(X, mean)
    errors = []
    for _ in range(plan.draws):
        y = mean + noise * random.standard_normal(len(X))
        drawn = with_response(spectrum, X, y)
        difference = coefficients(drawn, factors(drawn, method, plan)) - beta
        fitted = difference @ (X - X.mean(axis=0)).T
        errors.append([(difference**2).sum(axis=1), (fitted**2).sum(axis=1)])
    coef, fit = np.mean(errors, axis=0).tolist()
    return {"coef": coef, "fit": fit}


def by_formula(
    X: Array, beta: Array, noise: float, method: str, plan: Plan
) -> dict[str, list[float]]:
    """The same for factors that do not depend on y (Theorem 2.3)."""
    spectrum = spectrum_of(X, (X - X.mean(axis=0)) @ beta)
    F = factors(spectrum, method, plan)
    return {
        name: [risk(spectrum, f, beta, noise**2).mse for f in F]
        for name, risk in (("coef", coefficient_risk), ("fit", fit_risk))
    }
