"""How a pencil is solved: statistical choices are made before, computational ones here.

:func:`solve` answers one pencil, :func:`solve_path` the same data for a grid of ridges at
little more than the cost of one. Every solver gives the same attributes, scale and signs.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from eigenkit.exceptions import ConditionWarning, ConvergenceWarning
from eigenkit.linalg import Array, signs
from eigenkit.pencil import Pencil, Report, Solution
from eigenkit.solvers.choice import Choice, choose
from eigenkit.solvers.direct import direct
from eigenkit.solvers.least_squares import PENALTIES, coordinate_descent, l1_path, targets
from eigenkit.solvers.regression import REGRESSIONS, Regression, Settled
from eigenkit.solvers.two_stage import diagonalize, rayleigh_ritz

__all__ = [
    "PENALTIES",
    "REGRESSIONS",
    "SOLVERS",
    "Choice",
    "Settings",
    "choose",
    "l1_path",
    "solve",
    "solve_path",
]

SOLVERS = ("auto", "two_stage", "direct", "least_squares")

# From here on B is so ill-conditioned that the answer has lost half of its digits.
ILL_CONDITIONED = 1e16


@dataclass(frozen=True)
class Settings:
    """The computational choices.

    ``solver`` is one of SOLVERS ("auto" is "two_stage", which is always exact),
    ``regression`` "auto" or a key of REGRESSIONS, ``tol`` and ``max_iter`` steer iterative
    methods, ``penalty`` and ``l1_ratio`` only the least squares model.
    """

    solver: str = "auto"
    regression: str = "auto"
    tol: float = 1e-8
    max_iter: int = 1000
    penalty: str = "l2"
    l1_ratio: float = 0.5


def solve(pencil: Pencil, settings: Settings | None = None) -> Solution:
    """Solve one pencil."""
    return solve_path(pencil, [pencil.alpha], settings)[0]


def solve_path(
    pencil: Pencil, alphas: Sequence[float], settings: Settings | None = None
) -> list[Solution]:
    """Solve the pencil for every alpha; what does not depend on alpha is computed once."""
    settings = settings or Settings()
    problems = [replace(pencil, alpha=float(alpha)) for alpha in alphas]
    for problem in problems:
        problem.__dict__["C"] = pencil.C  # the same for all: do not compute it again
    if settings.solver == "direct":
        return [_direct(problem) for problem in problems]
    if settings.solver == "least_squares":
        return _least_squares(pencil, problems, settings)
    return _two_stage(pencil, problems, settings)


def _two_stage(pencil: Pencil, problems: list[Pencil], settings: Settings) -> list[Solution]:
    solutions = []
    for problem, (regression, report) in zip(
        problems, _regress(pencil, problems, settings), strict=True
    ):
        report = replace(report, solver="two_stage")
        if regression.components is not None:
            solutions.append(_finish(problem, *regression.components, report))
            continue
        values, basis = diagonalize(problem, regression.W1)
        W, BW, WBW = _settled(problem, regression, basis / np.sqrt(values))
        W, BW, values, basis = rayleigh_ritz(problem, W, BW, WBW, values, basis)
        solutions.append(_finish(problem, W, values, basis, report, BW))
    return solutions


def _direct(problem: Pencil) -> Solution:
    W, values, basis, rcond = direct(problem)
    method = "svd" if problem.Z.may_be_dense else "eigenvalues of the Gram matrix"
    report = Report("direct", method, "as asked", condition=1 / rcond**2)
    return _finish(problem, W, values, basis, report)


def _least_squares(pencil: Pencil, problems: list[Pencil], settings: Settings) -> list[Solution]:
    T, _, V = targets(pencil.H)
    if settings.penalty == "l2" or all(problem.alpha == 0 for problem in problems):
        fitted = Pencil(pencil.Z, T, pencil.alpha)
        runs = _regress(fitted, problems, settings)
    else:
        runs = _sparse_regress(pencil, T, problems, settings)
    solutions = []
    for problem, (regression, report) in zip(problems, runs, strict=True):
        W, BW, _ = _settled(problem, regression, np.eye(regression.W1.shape[1]))
        exact = problem.alpha == 0 and _norm(problem.Z.matmat(W) - T) <= 1e-8 * _norm(T)
        report = replace(report, solver="least_squares", equivalent=exact)
        solutions.append(_finish(problem, W, _rayleigh(problem, W, BW), V, report, BW))
    return solutions


def _settled(problem: Pencil, regression: Regression, T: Array) -> Settled:
    """W = W1 T, B W and W'B W."""
    W = regression.W1 @ T
    return regression.settle(T) or (W, *problem.forms(W))


def _sparse_regress(
    pencil: Pencil, T: Array, problems: list[Pencil], settings: Settings
) -> list[tuple[Regression, Report]]:
    Z = pencil.Z
    ratio = 1.0 if settings.penalty == "l1" else settings.l1_ratio
    alphas = [problem.alpha for problem in problems]
    answers, sweeps = coordinate_descent(Z, T, alphas, ratio, settings.tol, settings.max_iter)
    report = Report("", "coordinate_descent", f"penalty={settings.penalty!r}", n_iter=sweeps)
    m = np.ones(Z.shape[1]) if Z.m is None else np.where(Z.m > 0, Z.m, 1.0)
    return [(Regression(W / m[:, None]), report) for W in answers]


def _regress(
    pencil: Pencil, problems: list[Pencil], settings: Settings
) -> list[tuple[Regression, Report]]:
    """Stage one by the method asked for or chosen, with a fallback where it gives up."""
    alphas = [problem.alpha for problem in problems]
    if settings.regression == "auto":
        choice = choose(pencil.Z, pencil.H.shape[1], alphas, settings.tol)
    else:
        choice = Choice(settings.regression, "as asked", {})
    answers = REGRESSIONS[choice.regression](pencil, alphas, settings.tol, settings.max_iter)
    fallback = "svd" if pencil.Z.may_be_dense else "lsqr"
    pairs = []
    for alpha, answer in zip(alphas, answers, strict=True):
        report = Report("", choice.regression, choice.reason)
        if answer is None:
            reason = f"{choice.reason}, but B is singular to rounding there: {fallback}"
            report = Report("", fallback, reason)
            method = REGRESSIONS[fallback]
            (answer,) = method(pencil, [alpha], settings.tol, settings.max_iter)
            assert answer is not None
        _warn_unless_converged(answer, report.regression, settings)
        report = replace(
            report,
            n_iter=answer.n_iter,
            converged=answer.converged,
            condition=1 / answer.rcond if answer.rcond else np.inf,
        )
        pairs.append((answer, report))
    return pairs


def _warn_unless_converged(answer: Regression, method: str, settings: Settings) -> None:
    if not answer.converged:
        warnings.warn(
            f"{method} stopped after {answer.n_iter} iterations above tol={settings.tol:g}: "
            "increase max_iter, tol or alpha",
            ConvergenceWarning,
            stacklevel=2,
        )


def _finish(
    pencil: Pencil,
    W: Array,
    values: Array,
    basis: Array,
    report: Report,
    BW: Array | None = None,
) -> Solution:
    """Measure the answer, bring it to the units of X and fix its signs; ``BW`` is overwritten."""
    if W.shape[1] == 0:
        (W, values, basis), BW = _any_direction(pencil), None
    BW = pencil.apply_B(W) if BW is None else BW
    orthogonality = float(np.abs(W.T @ BW - np.eye(W.shape[1])).max(initial=0.0))
    # In place from here on: these are as large as W, which may be the largest thing there is.
    gap = pencil.C @ (pencil.C.T @ W)
    BW *= values
    scale = _norm(gap) + _norm(BW)
    gap -= BW
    residual = _norm(gap) / scale if scale else 0.0
    report = replace(report, residual=residual, orthogonality=orthogonality)
    if report.condition > ILL_CONDITIONED and np.isfinite(report.condition):
        warnings.warn(
            f"X'X + alpha I has a condition number of {report.condition:.1e}: about half of the "
            "digits of the answer are lost, increase alpha",
            ConditionWarning,
            stacklevel=2,
        )
    W = pencil.Z.column_scaled(W)
    sign = signs(W)
    return Solution(W * sign, values, basis * sign, report)


def _any_direction(pencil: Pencil) -> tuple[Array, Array, Array]:
    """One component where X'H is zero: every direction has the eigenvalue 0."""
    w = np.where(pencil.Z.constant, 0.0, 1.0)[:, None]
    w /= np.sqrt(float((w.T @ pencil.apply_B(w))[0, 0])) or 1.0
    return w, np.zeros(1), np.zeros((pencil.H.shape[1], 1))


def _rayleigh(pencil: Pencil, W: Array, BW: Array) -> Array:
    """w'A w / w'B w for every column, 0 for a column of zeros."""
    CtW = pencil.C.T @ W
    top = np.einsum("ij,ij->j", CtW, CtW)
    bottom = np.einsum("ij,ij->j", W, BW)
    return np.divide(top, bottom, out=np.zeros_like(top), where=bottom > 0)


def _norm(A: Array) -> float:
    return float(np.linalg.norm(A))
