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
from eigenkit.solvers.label_rank import in_all_labels, leading, narrowed, reduced, restored
from eigenkit.solvers.regression import REGRESSIONS, Regression
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
    if pencil.C.shape[1] > pencil.C.shape[0]:
        small, Q = narrowed(pencil)
        return [in_all_labels(found, Q) for found in solve_path(small, alphas, settings)]
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
        found = _components(problem, regression, settings.count)
        (W, BW, values, basis), report = _cut(found, report, settings)
        solutions.append(finish(problem, W, values, basis, replace(report, solver="two_stage"), BW))
    return solutions


def _components(
    problem: Pencil, regression: Regression, count: int | None
) -> tuple[Array, Array | None, Array, Array]:
    """W, B W (where it is at hand), eigenvalues and basis."""
    if regression.components is not None:
        W, values, basis = regression.components
        return W, None, values, basis
    found = regression.factored(count)
    if found is None:
        values, basis = diagonalize(problem, regression.W1)
        values, basis = values[:count], basis[:, :count]
        found = *settled(problem, regression, basis / np.sqrt(values)), values, basis
    return rayleigh_ritz(problem, *found)


def _cut(
    found: tuple[Array, Array | None, Array, Array], report: Report, settings: Settings
) -> tuple[tuple[Array, Array | None, Array, Array], Report]:
    """The directions that may stand for all labels."""
    if settings.label_rank is None or not settings.by_eigenvalues:
        return found, report
    W, BW, values, basis = found
    r, rest = leading(values, settings.label_rank)
    BW = None if BW is None else BW[:, :r]
    report = replace(report, label_rank=r, label_bound=rest)
    return (W[:, :r], BW, values[:r], basis[:, :r]), report


def _direct(problem: Pencil, settings: Settings) -> Solution:
    W, values, basis, rcond = direct(problem.compressed())
    method = "svd" if problem.Z.may_be_dense else "eigenvalues of the Gram matrix"
    report = Report("direct", method, "as asked", condition=1 / rcond**2)
    (W, _, values, basis), report = _cut((W, None, values, basis), report, settings)
    return finish(problem, W, values, basis, report)
