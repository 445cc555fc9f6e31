"""The stages in which a pencil is solved: regress, diagonalize a k x k matrix, measure the answer.

    W1 = argmin ||Z W - H||^2 + ridge ||W||^2
    D  = H'Z W1 = U diag(lambda) U'
    W  = W1 U diag(lambda)^(-1/2)

This always equals the solution of the pencil itself (:func:`direct`). Products lose digits: in D
small components are lost in the rounding of large ones. So the pencil is solved once more on the
span of W, where it is well scaled (:func:`rayleigh_ritz`): half of the digits that D lost are
restored, and W'B W = I holds to rounding after an iterative first stage too. Where B = L L' has
been factored, D = M'M for M = L^-1 Z'H, and its singular vectors U give W = L^-T U: nothing is
lost then.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg as sla

from eigenkit.exceptions import ConditionWarning, warn_of_stopping
from eigenkit.numerics.linalg import Array, signs, symmetric
from eigenkit.numerics.threads import blas_threads
from eigenkit.numerics.tolerances import RANK_TOL
from eigenkit.pencil import Pencil, Report, Solution
from eigenkit.solvers.coordinates import leading, narrowed, reduced, reduction
from eigenkit.solvers.iterations import cg, lsqr
from eigenkit.solvers.krylov import Dual
from eigenkit.solvers.regression import (
    Choice,
    Method,
    Regression,
    cholesky,
    choose,
    components,
    diagonalize,
    dual_cholesky,
    svd,
)

# Where W'BW is I up to this, D was diagonal to as many digits, and W'AW = (T'T)^-1 for W = W1 T.
NOTHING_LEFT = 1e-13

# Extra components to compute, so that near ties with the last one asked for are resolved on the
# span of all.
GUARD = 10

SOLVERS = ("auto", "two_stage", "direct")

# The methods of stage one.
REGRESSIONS: dict[str, Method] = {
    "cholesky": cholesky,
    "dual_cholesky": dual_cholesky,
    "svd": svd,
    "cg": cg,
    "lsqr": lsqr,
}

# Why a method gives up and answers None, and the methods of last resort.
SINGULAR = "B is singular to rounding there"
LAST = ("svd", "lsqr")

# With a direct method, a residual above this means that half of the digits are lost.
LOST = 1e-5

# From here on B is so ill-conditioned that the answer has lost half of its digits.
ILL_CONDITIONED = 1e16


@dataclass(frozen=True)
class Settings:
    """The computational choices.

    ``solver`` is one of SOLVERS ("auto" is "two_stage", which is always exact),
    ``regression`` "auto" or a key of REGRESSIONS, ``tol`` and ``max_iter`` steer iterative
    methods. With ``n_components`` few beyond it are solved for; None is for all.
    ``label_rank`` is the number of directions that stand for all labels (:mod:`.coordinates`): of
    the targets, or ``by_eigenvalues`` where those are all alike. ``reason`` is why a regression
    was given.
    """

    solver: str = "auto"
    regression: str = "auto"
    tol: float = 1e-8
    max_iter: int = 1000
    n_components: int | None = None
    label_rank: int | str | None = None
    by_eigenvalues: bool = False
    reason: str = "as asked"

    @property
    def count(self) -> int | None:
        """How many components to solve for; None for all."""
        if self.by_eigenvalues and self.label_rank is not None:
            return None if isinstance(self.label_rank, str) else self.label_rank + 1
        return None if self.n_components is None else self.n_components + GUARD

    def cut(self, solution: Solution) -> Solution:
        """The components that may stand for all labels, with the bound in the report."""
        if self.label_rank is None or not self.by_eigenvalues:
            return solution
        r, rest = leading(solution.eigenvalues, self.label_rank)
        report = replace(solution.report, label_rank=r, label_bound=rest)
        return replace(solution.components(slice(r)), report=report)


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
        small, V, rest = reduced(pencil, rank)
        return [
            replace(
                found,
                basis=V @ found.basis,  # in terms of all labels
                report=replace(found.report, label_rank=V.shape[1], label_bound=rest),
            )
            for found in solve_path(small, alphas, replace(settings, label_rank=None))
        ]
    if pencil.C.shape[1] > pencil.C.shape[0]:
        small, Q = narrowed(pencil)
        solutions = solve_path(small, alphas, settings)
        return [replace(found, basis=Q @ found.basis) for found in solutions]
    problems = [pencil.at(float(alpha)) for alpha in alphas]
    if settings.solver == "direct":
        return [_direct(problem, settings) for problem in problems]
    return _two_stage(problems, settings)


def _two_stage(problems: list[Pencil], settings: Settings) -> list[Solution]:
    solutions = []
    for regression, report in regress(problems, settings):
        problem = regression.problem
        report = replace(report, solver="two_stage")
        if regression.dual is not None:
            solutions.append(_in_dual(problem, regression.dual, report, settings))
            continue
        W, BW, WBW, values, basis = regression.components(settings.count)
        if BW is not None and WBW is not None:
            W, BW, values, basis = rayleigh_ritz(problem, W, BW, WBW, values, basis)
        found = settings.cut(Solution(W, values, basis, report))
        solutions.append(finish(problem, found, BW))
    return solutions


def _in_dual(problem: Pencil, dual: Dual, report: Report, settings: Settings) -> Solution:
    """The second stage on dual coefficients: only the answer has a row for every feature."""
    with problem.Z.threads:
        values, basis = diagonalize(dual.cross)
        values, basis = values[: settings.count], basis[:, : settings.count]
        dual = dual.turned(basis / np.sqrt(values))
        if (turned := ritz(dual.square, dual.cross)) is not None:
            T, values, basis = turned
            dual = dual.turned(T)
        found = settings.cut(Solution(dual.A, values, basis, report))
        dual = replace(dual, A=found.W, S=dual.S[:, : found.W.shape[1]])
        residual, orthogonality = dual.errors(found.eigenvalues)
        report = replace(found.report, residual=residual, orthogonality=orthogonality)
        return finish(problem, replace(found, W=dual.W, report=report))


def _direct(problem: Pencil, settings: Settings) -> Solution:
    W, values, basis, rcond = direct(problem.compressed())
    method = "svd" if problem.Z.decomposable else "eigenvalues of the Gram matrix"
    report = Report("direct", method, "as asked", condition=1 / rcond**2)
    return finish(problem, settings.cut(Solution(W, values, basis, report)))


def regress(problems: Sequence[Pencil], settings: Settings) -> list[tuple[Regression, Report]]:
    """Stage one by the method asked for or chosen, with a fallback where it gives up.

    The problems differ in alpha alone.
    """
    pencil, alphas = problems[0], [problem.alpha for problem in problems]
    if settings.regression == "auto":
        choice = choose(pencil.Z, pencil.H.shape[1], alphas, settings.tol)
    else:
        choice = Choice(settings.regression, settings.reason, {})
    answers = REGRESSIONS[choice.regression](problems, settings.tol, settings.max_iter)
    pairs = []
    for problem, answer in zip(problems, answers, strict=True):
        report = Report("", choice.regression, choice.reason)
        if answer is None or not answer.converged:
            answer, report = _by_others(problem, answer, choice, settings)
        report = replace(
            report,
            n_iter=answer.n_iter,
            converged=answer.converged,
            condition=1 / answer.rcond if answer.rcond else np.inf,
        )
        pairs.append((answer, report))
    return pairs


def _by_others(
    problem: Pencil, answer: Regression | None, choice: Choice, settings: Settings
) -> tuple[Regression, Report]:
    """What other methods find where the chosen one gave up (None) or did not converge.

    All methods give the same answer. One that the user asked for is kept even if it stops early; a
    warning says so.
    """
    report = Report("", choice.regression, choice.reason)
    factorizations = {name: cost for name, cost in choice.costs.items() if name != "cg"}
    others = ["svd" if problem.Z.decomposable else "lsqr"]
    if choice.regression == "cg" and factorizations:
        others.insert(0, min(factorizations, key=factorizations.__getitem__))
    for other in others:
        if answer is not None and (answer.converged or other in LAST):
            break
        why = SINGULAR if answer is None else "it did not converge"
        report = Report("", other, f"{report.reason}, but {why}: {other}")
        (answer,) = REGRESSIONS[other]([problem], settings.tol, settings.max_iter)
    assert answer is not None
    if not answer.converged:
        asked = settings.regression not in ("auto", "lsqr")  # then another method may do it
        warn_of_stopping(
            f"{report.regression} stopped after {answer.n_iter} iterations above "
            f"tol={settings.tol:g}: increase max_iter, tol or alpha"
            + (", or leave regression at 'auto'" if asked else "")
        )
    return answer, report


def rayleigh_ritz(
    pencil: Pencil, W: Array, BW: Array, WBW: Array, values: Array, U: Array
) -> tuple[Array, Array, Array, Array]:
    """W, B W, eigenvalues and basis of the pencil on the span of W, in which they lie already."""
    if np.all(np.abs(WBW - np.eye(len(WBW))) < NOTHING_LEFT):
        return W, BW, values, U
    found = ritz(WBW, pencil.Z.inner(W, pencil.C))
    if found is None:
        return W, BW, values, U
    T, values, U = found
    return W @ T, BW @ T, values, U


def ritz(WBW: Array, WC: Array) -> tuple[Array, Array, Array] | None:
    """T, eigenvalues and basis of the components W T; None where W'B W is singular to rounding."""
    with blas_threads(len(WBW)):
        L, info = sla.lapack.dpotrf(symmetric(WBW), lower=1)
        if info or len(WBW) == 0:
            return None
        half = sla.solve_triangular(L, WC, lower=True)
        turn, s, basis = sla.svd(half, full_matrices=False)
        # D may hold a component that is only rounding: its eigenvalue shows here.
        rank = int(np.sum(s**2 > RANK_TOL * s.max() ** 2))
        turn, s, basis = turn[:, :rank], s[:rank], basis[:rank]
        T = sla.solve_triangular(L, turn, lower=True, trans="T")
    return T, s**2, basis.T


def direct(pencil: Pencil) -> tuple[Array, Array, Array, float]:
    """W, eigenvalues, the basis H'Z W / sqrt(eigenvalues), and 1/cond of Z: the yardstick.

    In coordinates where B is the identity (from a singular value decomposition of Z) the pencil
    is the r x r matrix M M', r = rank(Z), and its solution the singular vectors of M. The cost
    grows with min(n, d)^3.
    """
    F, M, rcond = reduction(pencil)(pencil.ridge)
    return *components(F, M), rcond


def finish(pencil: Pencil, found: Solution, BW: Array | None = None) -> Solution:
    """Measure an answer in the units of Z, bring it to those of X and fix its signs.

    W and BW, which may have more columns, are overwritten. What the report has already is not
    measured again.
    """
    keep = _beyond_rounding(pencil, found)
    known = not np.isnan(found.report.residual) and keep.size > 0 and bool(keep.all())
    if not keep.all():
        found, BW = found.components(keep), None
    W, values, basis, report = found.W, found.eigenvalues, found.basis, found.report
    if W.shape[1] == 0:
        (W, values, basis), BW = _any_direction(pencil), None
        found = found if found.gram is None else replace(found, gram=np.eye(1))
    if not known:
        residual, orthogonality = _errors(pencil, W, values, BW)
        report = replace(report, residual=residual, orthogonality=orthogonality)
    report = replace(report, products=pencil.Z.products)
    # Rounding of Z'Z, or of a kernel, costs digits where it is not small beside alpha. Columns in
    # units of their own have ridges of their own, so their residual is not informative.
    exact = report.equivalent and not report.n_iter and np.ndim(pencil.ridge) == 0
    if report.condition > ILL_CONDITIONED and np.isfinite(report.condition):
        warnings.warn(
            f"X'X + alpha I has a condition number of {report.condition:.1e}: about half of the "
            "digits of the answer are lost, increase alpha",
            ConditionWarning,
            stacklevel=2,
        )
    elif exact and pencil.alpha > 0 and report.residual > LOST:
        warnings.warn(
            f"the answer has a residual of {report.residual:.0e}, as rounding of such large "
            f"numbers is not small beside alpha={pencil.alpha:g}: increase alpha, or bring X (or "
            "the kernel) to smaller numbers",
            ConditionWarning,
            stacklevel=2,
        )
    W = pencil.Z.to_X(W)
    sign = signs(W)
    gram = None if found.gram is None else found.gram * sign * sign[:, None]
    W *= sign
    return Solution(W, values, basis * sign, report, gram)


def _errors(pencil: Pencil, W: Array, values: Array, BW: Array | None) -> tuple[float, float]:
    """||A W - B W Lambda|| relative to its parts, and the largest entry of W'B W - I."""
    BW = pencil.forms(W)[0] if BW is None else BW[:, : W.shape[1]]
    orthogonality = float(np.abs(pencil.Z.inner(W, BW) - np.eye(W.shape[1])).max(initial=0.0))
    # In place from here on: these are as large as W, which may be the largest thing there is.
    gap = pencil.C @ pencil.Z.inner(pencil.C, W)
    BW *= values
    scale = pencil.Z.norm(gap) + pencil.Z.norm(BW)
    gap -= BW
    return (pencil.Z.norm(gap) / scale if scale else 0.0), orthogonality


def _beyond_rounding(pencil: Pencil, found: Solution) -> np.ndarray:
    """Which components have scores longer than rounding of the input can explain.

    An iterative first stage cannot leave directions out. A ridge holds them down: |w|^2 is no more
    than 1 / ridge, and scores are no shorter than the root of the eigenvalue over the size of H,
    which settles it for nearly all data.
    """
    Z, ridge, gram = pencil.Z, pencil.ridge, found.gram
    least = float(np.min(ridge)) * float(np.min(found.eigenvalues, initial=np.inf))
    if gram is None and least > 0 and Z.worst_rounding() * Z.squares_of(pencil.H) < least:
        return np.ones(len(found.eigenvalues), dtype=bool)
    squares = Z.rounded_squares(found.W, ridge)
    # A lasso may set a whole component to zero, which is kept.
    return np.asarray(squares < 1.0 if gram is None else squares <= gram.diagonal())


def _any_direction(pencil: Pencil) -> tuple[Array, Array, Array]:
    """One component where X'H is zero: every direction has the eigenvalue 0."""
    w = np.where(pencil.Z.constant, 0.0, 1.0)[:, None]
    square = float(pencil.Z.inner(w, pencil.forms(w)[0])[0, 0])
    w /= np.sqrt(max(square, 0.0)) or 1.0
    return w, np.zeros(1), np.zeros((pencil.H.shape[1], 1))
