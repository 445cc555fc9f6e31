"""Shrinkage in regression: what OLS, PCR, ridge and PLS do along the singular directions.

The thesis has no numbers here, only statements: each stands beside what was computed for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from eigenkit import PLSRegression
from eigenkit.estimators._alphas import one_standard_error
from eigenkit.numerics.linalg import Array
from eigenkit.solvers.shrinkage import Spectrum
from papers.blocks import Block, Claim, Figure, Note, Table
from papers.drawing import COLORS, MARKERS
from papers.shrinkage_methods import (
    METHODS,
    QUICK,
    SHOWN,
    SHRUNK,
    Plan,
    by_formula,
    coefficients,
    factors,
    fast_fold_errors,
    fold_errors,
    matching_alpha,
    peer_errors,
    simulate,
    spectrum_of,
)
from papers.study import Experiment, Study, measured

# -- the experiment ---------------------------------------------------------------------


def collinear(seed: int) -> tuple[Array, Array]:
    """Features whose singular values fall fast, and a response by the first few directions."""
    random = np.random.default_rng(seed)
    T = random.standard_normal((60, 50))
    X = T * np.geomspace(1, 1e-3, 50) @ random.standard_normal((50, 100)) / 10
    return X, T[:, :6].sum(axis=1) + random.standard_normal(60)


def _data(study: Study) -> tuple[str, Array, Array] | None:
    if study.quick:
        return "60 drawn samples of 100 collinear features", *collinear(study.seed)
    data = study.dataset("gasoline")
    return None if data is None else ("60 gasoline spectra of 401 wavelengths", data.X, data.target)


def run(study: Study) -> Iterator[Block]:
    """Factors, norms, cross-validation and expected errors."""
    data = _data(study)
    if data is None:
        return
    words, X, y = data
    yield Note(
        f"Data: {words}, centred. The thesis has no experiment of its own here: figures show what "
        "its theorems say, and the last table holds its statements beside what was computed."
    )
    plan = QUICK if study.quick else Plan()
    spectrum = spectrum_of(X, y)
    yield _factor_figure(spectrum)
    norms = study.cell("norms of the coefficients", partial(_norms, spectrum))
    yield _norm_figure(norms)
    errors = {method: _all_fold_errors(study, X, y, method, plan) for method in METHODS}
    yield _error_figure(spectrum, errors, plan)
    yield _best_table(study, X, y, spectrum, errors, plan)
    risks = _risks(study, X, *_truth(spectrum, y, errors["pls"]), plan)
    yield _risk_figure(spectrum, risks, plan)
    best = {m: int(e.mean(axis=0).argmin()) + 1 for m, e in errors.items()}
    yield Claim(
        "PLS needs fewer components than principal component regression (Section 2.4).",
        f"{best['pls']} against {best['pcr']} by cross-validation",
        "holds" if best["pls"] < best["pcr"] else "differs",
    )
    yield _statements(X, y, spectrum, norms, errors, risks, plan, study.seed)


def _all_fold_errors(study: Study, X: Array, y: Array, method: str, plan: Plan) -> Array:
    found = [
        study.cell(
            f"cross-validation, {method}, repetition {i + 1}",
            partial(fold_errors, X, y, study.seed + i, method, plan),
        )
        for i in range(plan.repeats)
    ]
    return np.concatenate(found)


def _norms(spectrum: Spectrum) -> dict[str, list[float]]:
    every = Plan(most=len(spectrum.s))
    return {
        method: np.linalg.norm(
            coefficients(spectrum, factors(spectrum, method, every)), axis=1
        ).tolist()
        for method in ("pls", "pcr")
    }


def _truth(spectrum: Spectrum, y: Array, errors: Array) -> tuple[Array, float]:
    """Coefficients and noise to draw from: those of the PLS that cross-validation prefers."""
    best = int(errors.mean(axis=0).argmin()) + 1
    f = spectrum.pls(best)
    left = np.sum((y - y.mean()) ** 2) - np.sum(spectrum.vy**2)  # beyond the columns of X
    left += np.sum(((1 - f) * spectrum.vy) ** 2)
    return spectrum.coef(f), float(np.sqrt(left / (len(y) - 1 - best)))


Risks = dict[str, dict[str, list[float]]]


def _risks(study: Study, X: Array, beta: Array, noise: float, plan: Plan) -> Risks:
    simulated = {
        method: study.cell(
            f"simulation, {method}",
            partial(simulate, X, beta, noise, method, study.seed, plan),
        )
        for method in SHRUNK
    }
    linear = {
        f"{method}, formula": by_formula(X, beta, noise, method, plan)
        for method in ("pcr", "ridge")
    }
    return simulated | linear


# -- figures ----------------------------------------------------------------------------


def _curve(ax: Any, i: int, x: Any, y: Any, name: str) -> None:
    look = {"color": COLORS[i], "marker": MARKERS[i], "fillstyle": "none"}
    ax.plot(x, y, label=name, linestyle="-" if i % 2 == 0 else "--", **look)


def _factor_figure(spectrum: Spectrum) -> Figure:
    def draw(figure: Any) -> None:
        axes = figure.subplots(1, len(SHOWN), sharey=True)
        count = min(20, len(spectrum.s))
        index = np.arange(1, count + 1)
        for ax, p in zip(axes, SHOWN, strict=True):
            alpha = matching_alpha(spectrum, p)
            ax.axhline(1, color="#5c6670", linewidth=1)
            _curve(ax, 0, index, spectrum.pcr(p)[:count], "PCR")
            _curve(ax, 1, index, spectrum.ridge(alpha)[:count], "ridge")
            _curve(ax, 2, index, spectrum.pls(p)[:count], "PLS")
            ax.set(title=f"{p} components", xlabel="singular direction")
        axes[0].set_ylabel("shrinkage factor")
        axes[-1].legend()

    return Figure(
        "shrinkage-factors",
        "Shrinkage factors along the first singular directions; ridge has as many effective "
        "degrees of freedom as there are components. OLS is the grey line at 1. Factors of PLS "
        "oscillate and exceed 1.",
        draw,
        (9.0, 3.2),
    )


def _norm_figure(norms: dict[str, list[float]]) -> Figure:
    def draw(figure: Any) -> None:
        ax = figure.subplots()
        index = np.arange(1, len(norms["pls"]) + 1)
        _curve(ax, 0, index, norms["pls"], "PLS")
        _curve(ax, 1, index, norms["pcr"], "PCR")
        ax.axhline(norms["pcr"][-1], color="#5c6670", linewidth=1, label="OLS")
        ax.set(xlabel="components", ylabel="norm of the coefficients", yscale="log")
        ax.legend()

    return Figure(
        "shrinkage-norms",
        "Norm of the coefficients against the number of components (Theorem 2.7).",
        draw,
        (6.0, 3.4),
    )


def _positions(spectrum: Spectrum, method: str, plan: Plan) -> Array:
    """Where the settings of a method stand on the axis of components."""
    if method in ("ridge", "ols"):
        return np.asarray(factors(spectrum, method, plan).sum(axis=1))
    return np.arange(1.0, plan.most + 1)


def _along_components(
    ax: Any, spectrum: Spectrum, values: dict[str, Any], plan: Plan, ylabel: str = ""
) -> None:
    for i, (method, name) in enumerate(SHRUNK.items()):
        x = _positions(spectrum, method, plan)
        keep = x <= plan.most
        _curve(ax, i, x[keep], np.asarray(values[method])[keep], name)
    ax.set(yscale="log", xlim=(0, plan.most + 0.5), ylabel=ylabel)
    ax.set_xlabel("components (ridge: degrees of freedom)")
    ax.locator_params(axis="x", integer=True)


def _error_figure(spectrum: Spectrum, errors: dict[str, Array], plan: Plan) -> Figure:
    means = {method: found.mean(axis=0) for method, found in errors.items()}

    def draw(figure: Any) -> None:
        ax = figure.subplots()
        _along_components(ax, spectrum, means, plan, "mean squared error")
        ax.axhline(means["ols"][0], color="#5c6670", linewidth=1, label="OLS")
        ax.legend()

    return Figure(
        "shrinkage-cv",
        f"Mean squared error of {plan.folds}-fold cross-validation against the number of "
        "components.",
        draw,
        (6.5, 3.8),
    )


def _risk_figure(spectrum: Spectrum, risks: Risks, plan: Plan) -> Figure:
    def draw(figure: Any) -> None:
        kinds = {"coef": "coefficients", "fit": "fitted values"}
        for ax, (kind, title) in zip(figure.subplots(1, 2), kinds.items(), strict=True):
            values = {m: risks.get(f"{m}, formula", risks[m])[kind] for m in SHRUNK}
            _along_components(ax, spectrum, values, plan, "expected squared error")
            ax.set_title(title)
            ax.legend()

    return Figure(
        "shrinkage-risk",
        "Bias² plus variance of the coefficients and of the fitted values: PCR and ridge by the "
        "formulas of Theorem 2.3, PLS by simulation, as its factors depend on y. True are the "
        "coefficients and the noise of the PLS that cross-validation prefers, which favours PLS.",
        draw,
        (9.0, 3.6),
    )


# -- tables -----------------------------------------------------------------------------


def _rmse(errors: Array) -> float:
    """Of the best setting."""
    return float(np.sqrt(errors.mean(axis=0).min()))


def _best_table(
    study: Study, X: Array, y: Array, spectrum: Spectrum, errors: dict[str, Array], plan: Plan
) -> Table:
    rows: list[tuple[str]] = []
    ours: list[list[float | None]] = []

    def add(name: str, method: str, search: Callable[[], Any], repeated: float | None) -> None:
        found = np.array(study.cell(f"search, {name}", search))
        best = int(found.mean(axis=0).argmin())
        cost = study.timing(name, partial(_cost, search))
        rows.append((name,))
        place = float(_positions(spectrum, method, plan)[best])
        ours.append([_rmse(found), repeated, place, *cost])

    for method, name in METHODS.items():
        search = partial(fold_errors, X, y, study.seed, method, plan)
        add(name, method, search, _rmse(errors[method]))
    add("PLS, PLSRegressionCV", "pls", partial(fast_fold_errors, X, y, study.seed, plan), None)
    for method in ("pcr", "ridge", "pls"):
        search = partial(peer_errors, X, y, study.seed, method, plan)
        add(f"{METHODS[method]}, scikit-learn", method, search, None)
    return Table(
        "Best error of cross-validation, and what the search for it costs",
        ("method",),
        rows,
        ("RMSE", "RMSE, all draws", "components", "seconds", "peak MB"),
        ours,
        form=(".4f", ".4f", ".3g", ".3f", ".2f"),
        note=f"Root of the mean squared error over {plan.folds} folds, the same for all, and over "
        f"{plan.repeats} draws of the folds; of up to {plan.most} components or {plan.n_alphas} "
        "values of alpha, shown as effective degrees of freedom. The best of many settings is a "
        "little optimistic. Seconds are those of one search over all settings and folds.",
    )


def _cost(search: Callable[[], Any]) -> list[float]:
    _, seconds, megabytes = measured(search)
    return [seconds, megabytes]


def _statements(
    X: Array,
    y: Array,
    spectrum: Spectrum,
    norms: dict[str, list[float]],
    errors: dict[str, Array],
    risks: Risks,
    plan: Plan,
    seed: int,
) -> Table:
    F = factors(spectrum, "pls", plan)
    p, i = np.unravel_index(F.argmax(), F.shape)
    B = coefficients(spectrum, F)
    steps = np.diff(norms["pls"]) / norms["pls"][-1]
    best = {m: int(e.mean(axis=0).argmin()) + 1 for m, e in errors.items()}
    enough = {m: one_standard_error(_with_none(e)) for m, e in errors.items()}
    bounded = [np.min(risks["bounded"][k]) / np.min(risks["pls"][k]) - 1 for k in ("coef", "fit")]
    cv = _rmse(errors["bounded"]) / _rmse(errors["pls"]) - 1
    rows = {
        "Corollary 2.1: factors give the coefficients of PLS": (
            f"relative difference {_largest_gap(X, y, B):.0e} up to {plan.most} components"
        ),
        "Factors of OLS, PCR and ridge are at most 1, those of PLS are not": (
            f"largest of PLS {F[p, i]:.2f}, in direction {i + 1} with {p + 1} components"
        ),
        "Theorem 2.7: the norm grows to that of OLS": (
            f"smallest step {steps.min():+.0e} of it, last norm {norms['pls'][-1]:.4g}, "
            f"OLS {norms['pcr'][-1]:.4g}"
        ),
        "Theorem 2.3: bias and variance of linear estimators": (
            f"simulation differs by at most {100 * _formula_gap(risks):.0f} %"
        ),
        "PLS needs fewer components than PCR": (
            f"best {best['pls']} against {best['pcr']}, within one standard error "
            f"{enough['pls']} against {enough['pcr']}"
        ),
        "Bounding |f| by 1 seems to lower the error of PLS": (
            f"least expected error {100 * bounded[0]:+.1f} % (coefficients), "
            f"{100 * bounded[1]:+.1f} % (fit); RMSE of cross-validation {100 * cv:+.1f} %"
        ),
        "Fast and plain cross-validation of PLS agree": (
            f"relative difference {_cv_gap(X, y, seed, plan):.0e}"
        ),
    }
    return Table(
        "Statements and what was computed",
        ("statement",),
        [(statement,) for statement in rows],
        ("computed",),
        [[found] for found in rows.values()],
        note="The printed (2.38) adds the part of the coefficients beyond the rank of X to the "
        "error of the fitted values; X does not see it, and it is left out here.",
    )


def _with_none(errors: Array) -> Array:
    """one_standard_error counts components from 0: no component is no choice here."""
    return np.hstack([np.full((len(errors), 1), np.inf), errors])


def _largest_gap(X: Array, y: Array, B: Array) -> float:
    """Between coefficients by factors and by deflation, relative, over components."""
    path = PLSRegression(len(B), scale=False).fit(X, y).coef_path_[:, 0]
    return float(np.max(np.linalg.norm(B - path, axis=1) / np.linalg.norm(path, axis=1)))


def _formula_gap(risks: Risks) -> float:
    """The largest relative difference between formulas and simulation."""
    return max(
        float(np.max(np.abs(np.array(risks[m][k]) / risks[f"{m}, formula"][k] - 1)))
        for m in ("pcr", "ridge")
        for k in ("coef", "fit")
    )


def _cv_gap(X: Array, y: Array, seed: int, plan: Plan) -> float:
    plain = np.array(fold_errors(X, y, seed, "pls", plan))
    return float(np.max(np.abs(fast_fold_errors(X, y, seed, plan) / plain - 1)))


EXPERIMENT = Experiment(
    "shrinkage",
    "Shrinkage factors of PLS, PCR and ridge",
    "Thesis, Section 2.4: Theorems 2.3 and 2.7, Corollary 2.1",
    run,
)
