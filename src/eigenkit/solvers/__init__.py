"""How a pencil is solved: statistical choices are made before, computational ones here.

:func:`solve` answers one pencil, :func:`solve_path` the same data for a grid of ridges at
little more than the cost of one. Every solver gives the same attributes, scale and signs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from eigenkit.linalg import Array
from eigenkit.pencil import Pencil, Report, Solution
from eigenkit.solvers.choice import Choice, choose
from eigenkit.solvers.label_rank import leading, reduced, restored
from eigenkit.solvers.regression import REGRESSIONS
from eigenkit.solvers.stages import (
    Settings,
    diagonalize,
    direct,
    finish,
    rayleigh_ritz,
    regress,
    settled,
)

__all__ = [
    "REGRESSIONS",
    "SOLVERS",
    "Choice",
    "Settings",
    "choose",
    "solve",
    "solve_path",
]

SOLVERS = ("auto", "two_stage", "direct")

# So many components more than asked for are solved for: those that are nearly equal to the last
# are told apart on the span of all.
GUARD = 10


def solve(pencil: Pencil, settings: Settings | None = None) -> Solution:
    """Solve one pencil."""
    return solve_path(pencil, [pencil.alpha], settings)[0]


def solve_path(
    pencil: Pencil, alphas: Sequence[float], settings: Settings | None = None
) -> list[Solution]:
    """Solve the pencil for every alpha; what does not depend on alpha is computed once."""
    settings = settings or Settings()
    rank = None if settings.by_eigenvalues else settings.label_rank
    if isinstance(rank, str) or (rank is not None and rank < pencil.H.shape[1]):
        return _with_fewer_targets(pencil, alphas, settings, rank)
    problems = [replace(pencil, alpha=float(alpha)) for alpha in alphas]
    for problem in problems:
        problem.__dict__["C"] = pencil.C  # the same for all: do not compute it again
    if settings.solver == "direct":
        return [_direct(problem, settings) for problem in problems]
    return _two_stage(pencil, problems, settings)


def _with_fewer_targets(
    pencil: Pencil, alphas: Sequence[float], settings: Settings, rank: int | str
) -> list[Solution]:
    small, V, rest = reduced(pencil, rank)
    solutions = solve_path(small, alphas, replace(settings, label_rank=None))
    return [restored(solution, V, rest) for solution in solutions]


def _two_stage(pencil: Pencil, problems: list[Pencil], settings: Settings) -> list[Solution]:
    solutions = []
    runs = regress(pencil, [problem.alpha for problem in problems], settings)
    for problem, (regression, report) in zip(problems, runs, strict=True):
        report = replace(report, solver="two_stage")
        if regression.components is not None:
            (W, values, basis), report = _cut(regression.components, report, settings)
            solutions.append(finish(problem, W, values, basis, report))
            continue
        values, basis = diagonalize(problem, regression.W1)
        (values, basis), report = _cut((values, basis), report, settings)
        if settings.n_components is not None:
            kept = settings.n_components + GUARD
            values, basis = values[:kept], basis[:, :kept]
        W, BW, WBW = settled(problem, regression, basis / np.sqrt(values))
        W, BW, values, basis = rayleigh_ritz(problem, W, BW, WBW, values, basis)
        solutions.append(finish(problem, W, values, basis, report, BW))
    return solutions


def _cut(
    found: tuple[Array, ...], report: Report, settings: Settings
) -> tuple[tuple[Array, ...], Report]:
    """([W,] eigenvalues, basis) of the directions that may stand for all labels."""
    if settings.label_rank is None or not settings.by_eigenvalues:
        return found, report
    r, rest = leading(found[-2], settings.label_rank)
    return tuple(A[..., :r] for A in found), replace(report, label_rank=r, label_bound=rest)


def _direct(problem: Pencil, settings: Settings) -> Solution:
    W, values, basis, rcond = direct(problem.compressed())
    method = "svd" if problem.Z.may_be_dense else "eigenvalues of the Gram matrix"
    report = Report("direct", method, "as asked", condition=1 / rcond**2)
    (W, values, basis), report = _cut((W, values, basis), report, settings)
    return finish(problem, W, values, basis, report)
