"""The stages in which a pencil is solved: regress, diagonalize a k x k matrix, measure the answer.

    W1 = argmin ||Z W - H||^2 + ridge ||W||^2
    D  = H'Z W1 = U diag(lambda) U'
    W  = W1 U diag(lambda)^(-1/2)

This always equals the solution of the pencil itself. Products lose digits: in D small components
are lost in the rounding of large ones. So the pencil is solved once more on the span of W, where it
is well scaled (:func:`rayleigh_ritz`): half of the digits that D lost are restored, and W'B W = I
holds to rounding after an iterative first stage too. Where B = L L' has been factored, D = M'M for
M = L^-1 Z'H, and its singular vectors U give W = L^-T U: nothing is lost then. The yardstick
("direct") are the singular vectors of M in coordinates where B is the identity, from a singular
value decomposition of Z: its cost grows with min(n, d)^3.

Which method is chosen by predicted cost, never by accuracy:

========================================  ===================================================
candidate                                 when it may be used
========================================  ===================================================
``cholesky`` (Z'Z + ridge, d x d)         d x d fits (GRAM_LIMIT_BYTES)
``dual_cholesky`` (Z Z' + ridge, n x n)   n x n fits, one ridge for all columns
``cg`` (block conjugate gradients)        every alpha > 0, one ridge for all columns, and a
                                          factorization would take longer than a moment; where
                                          rounding keeps it from tol only if nothing else is left
``lsqr`` (block LSQR)                     always; chosen only when nothing else may be used
``svd``                                   never chosen: taken over to when a Gram matrix turns
                                          out too ill-conditioned, or on demand
========================================  ===================================================

The cheapest candidate wins; all reach the same answer.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg as sla

from eigenkit.data import Data
from eigenkit.exceptions import ConditionWarning, warn_of_stopping
from eigenkit.numerics.costs import DENSE_RATE, GRAM_LIMIT_BYTES, READ_RATE, fits
from eigenkit.numerics.linalg import Array, signs
from eigenkit.numerics.threads import blas_threads
from eigenkit.numerics.tolerances import EPS, RANK_TOL, TINY
from eigenkit.pencil import Pencil, Report, Solution
from eigenkit.solvers.coordinates import leading, narrowed, reduced
from eigenkit.solvers.krylov import cg, lsqr
from eigenkit.solvers.regression import Directions, Regression, Span, cholesky, dual_cholesky, svd

# Conjugate gradients hardly ever take fewer iterations than this.
FEW = 8
# A factorization this short (seconds) is taken: it is exact to rounding.
SHORT = 0.1

# Where W'BW is I up to this, D was diagonal to as many digits, and W'AW = (T'T)^-1 for W = W1 T.
NOTHING_LEFT = 1e-13

# Extra components to compute, so that near ties with the last one asked for are resolved on the
# span of all.
GUARD = 10

SOLVERS = ("auto", "two_stage", "direct")

# The methods of stage one.
REGRESSIONS = {
    "cholesky": cholesky,
    "dual_cholesky": dual_cholesky,
    "svd": svd,
    "cg": cg,
    "lsqr": lsqr,
}

# With a direct method, a residual above this means that half of the digits are lost.
LOST = 1e-5

# From here on B is so ill-conditioned that the answer has lost half of its digits.
ILL_CONDITIONED = 1e16


@dataclass(frozen=True)
class Settings:
    """The computational choices."""

    solver: str = "auto"  # of SOLVERS; this is "two_stage", which is always exact
    regression: str = "auto"  # or a key of REGRESSIONS
    tol: float = 1e-8  # this and max_iter steer iterative methods
    max_iter: int = 1000
    n_components: int | None = None  # few beyond it are solved for; None is for all
    # The number of directions that stand for all labels (coordinates.py): of the targets, or by
    # eigenvalues where those are all alike.
    label_rank: int | str | None = None
    by_eigenvalues: bool = False
    reason: str = "as asked"  # why a regression was given

    @property
    def count(self) -> int | None:
        """How many components to solve for; None for all."""
        if self.by_eigenvalues and self.label_rank is not None:
            return None if isinstance(self.label_rank, str) else self.label_rank + 1
        return None if self.n_components is None else self.n_components + GUARD

    def cut(self, values: Array, report: Report) -> tuple[slice, Report]:
        """The components that may stand for all labels, with the bound in the report."""
        if self.label_rank is None or not self.by_eigenvalues:
            return slice(None), report
        r, rest = leading(values, self.label_rank)
        return slice(r), replace(report, label_rank=r, label_bound=rest)


def solve(pencil: Pencil, settings: Settings | None = None) -> Solution:
    """Solve one pencil."""
    return solve_path(pencil, [pencil.alpha], settings)[0]


def solve_path(
    pencil: Pencil, alphas: Sequence[float], settings: Settings | None = None
) -> list[Solution]:
    """Solve the pencil for every alpha; what does not depend on alpha is computed once."""
    settings = settings or Settings()
    rank, k = settings.label_rank, pencil.H.shape[1]
    if rank is not None and not settings.by_eigenvalues:
        settings = replace(settings, label_rank=None)
        if isinstance(rank, str) or rank < k:
            small, V, rest = reduced(pencil, rank)
            told = {"label_rank": V.shape[1], "label_bound": rest}
            found = solve_path(small, alphas, settings)
            return [_in_all_labels(V, one, replace(one.report, **told)) for one in found]
    if k > pencil.C.shape[0]:
        small, V = narrowed(pencil)
        return [_in_all_labels(V, one, one.report) for one in solve_path(small, alphas, settings)]
    solutions = []
    for first, report in regress([pencil.at(float(alpha)) for alpha in alphas], settings):
        with first.threads:
            span, values, basis = rayleigh_ritz(*first.components(settings.count))
            if settings.label_rank is not None:
                some, report = settings.cut(values, report)
                span, values, basis = span.some(some), values[some], basis[:, some]
            solutions.append(finish(span, values, basis, report))
    return solutions


def _in_all_labels(V: Array, found: Solution, report: Report) -> Solution:
    return replace(found, basis=V @ found.basis, report=report)


def regress(problems: Sequence[Pencil], settings: Settings) -> list[tuple[Regression, Report]]:
    """Stage one of problems that differ in alpha alone, with a fallback where a method gives up."""
    pencil, alphas = problems[0], [problem.alpha for problem in problems]
    choice, solver = Choice(settings.regression, settings.reason, {}), "two_stage"
    if settings.solver == "direct":
        choice, solver = Choice("svd", "as asked", {}), "direct"
    elif settings.regression == "auto":
        choice = choose(pencil.Z, pencil.H.shape[1], alphas, settings.tol)
    answers = REGRESSIONS[choice.regression](problems, settings.tol, settings.max_iter)
    pairs = []
    for problem, answer in zip(problems, answers, strict=True):
        name, reason = choice.regression, choice.reason
        if answer is None or not answer.converged:
            answer, name, reason = _by_others(problem, answer, choice, settings)
        if solver == "direct" and not problem.Z.decomposable:
            name = "eigenvalues of the Gram matrix"
        how = answer.n_iter, answer.converged
        condition = 1 / answer.rcond if answer.rcond else np.inf
        pairs.append((answer, Report(solver, name, reason, *how, condition=condition)))
    return pairs


def _by_others(
    problem: Pencil, answer: Regression | None, choice: Choice, settings: Settings
) -> tuple[Regression, str, str]:
    """What other methods find where the chosen one gave up (None) or did not converge, and why; one
    that the user asked for is kept even if it stops early, with a warning."""
    name, reason = choice.regression, choice.reason
    factorizations = {other: cost for other, cost in choice.costs.items() if other != "cg"}
    others = ["svd" if problem.Z.decomposable else "lsqr"]
    if name == "cg" and factorizations:
        others.insert(0, min(factorizations, key=factorizations.__getitem__))
    for other in others:
        if answer is not None and (answer.converged or other in ("svd", "lsqr")):
            break  # these are for problems that others give up
        why = "B is singular to rounding there" if answer is None else "it did not converge"
        name, reason = other, f"{reason}, but {why}: {other}"
        (answer,) = REGRESSIONS[other]([problem], settings.tol, settings.max_iter)
    assert answer is not None
    if not answer.converged:
        asked = settings.regression not in ("auto", "lsqr")  # then another method may do it
        warn_of_stopping(
            f"{name} stopped after {answer.n_iter} iterations above "
            f"tol={settings.tol:g}: increase max_iter, tol or alpha"
            + (", or leave regression at 'auto'" if asked else "")
        )
    return answer, name, reason


def rayleigh_ritz(span: Span, values: Array, basis: Array) -> tuple[Span, Array, Array]:
    """The components on the span of W; as they are where W'B W is unknown, I, or singular."""
    square = span.square
    if square is None or np.all(np.abs(square - np.eye(len(square))) < NOTHING_LEFT):
        return span, values, basis
    cross = span.cross
    with blas_threads(len(square)):
        L, info = sla.lapack.dpotrf((square + square.T) / 2, lower=1)
        if info:
            return span, values, basis
        half = sla.solve_triangular(L, cross, lower=True)
        turn, s, Vt = sla.svd(half, full_matrices=False)
        # D may hold a component that is only rounding: its eigenvalue shows here.
        rank = int(np.sum(s**2 > RANK_TOL * s.max() ** 2))
        T = sla.solve_triangular(L, turn[:, :rank], lower=True, trans="T")
    return span.turned(T), s[:rank] ** 2, Vt[:rank].T


def finish(
    span: Span, values: Array, basis: Array, report: Report, gram: Array | None = None
) -> Solution:
    """Measure an answer, bring it to the units of X, fix its signs; W and B W are overwritten."""
    pencil = span.problem
    keep = _beyond_rounding(span, values, gram)
    if not keep.all():
        span, values, basis = span.some(keep), values[keep], basis[:, keep]
        gram = None if gram is None else gram[keep][:, keep]
    if not len(values):
        span, values, basis = _any_direction(pencil)
        gram = None if gram is None else np.eye(1)
    residual, orthogonality = span.errors(values)
    report = replace(report, residual=residual, orthogonality=orthogonality)
    report = replace(report, products=pencil.Z.products)
    if lost := _digits_lost(pencil, report):
        warnings.warn(lost, ConditionWarning, stacklevel=2)
    W = pencil.Z.to_X(span.W)
    sign = signs(W)
    gram = None if gram is None else gram * sign * sign[:, None]
    W *= sign
    return Solution(W, values, basis * sign, report, gram)


def _digits_lost(pencil: Pencil, report: Report) -> str:
    """Why half of the digits are lost, if they are."""
    if report.condition > ILL_CONDITIONED and np.isfinite(report.condition):
        return (
            f"X'X + alpha I has a condition number of {report.condition:.1e}: about half of the "
            "digits of the answer are lost, increase alpha"
        )
    # Rounding of Z'Z, or of a kernel, costs digits where it is not small beside alpha. Columns in
    # units of their own have ridges of their own, so their residual is not informative.
    exact = report.equivalent and not report.n_iter and np.ndim(pencil.ridge) == 0
    if exact and pencil.alpha > 0 and report.residual > LOST:
        return (
            f"the answer has a residual of {report.residual:.0e}, as rounding of such large "
            f"numbers is not small beside alpha={pencil.alpha:g}: increase alpha, or bring X (or "
            "the kernel) to smaller numbers"
        )
    return ""


def _beyond_rounding(span: Span, values: Array, gram: Array | None) -> np.ndarray:
    """Which components have scores longer than rounding of the input can explain.

    An iteration cannot leave directions out. A ridge settles it for nearly all data: |w|^2 is at
    most 1 / ridge, and scores are no shorter than the root of the eigenvalue over the size of H.
    """
    Z, ridge = span.problem.Z, span.problem.ridge
    least = float(np.min(ridge)) * float(np.min(values, initial=np.inf))
    if gram is None and least > 0 and Z.worst_rounding() * Z.squares_of(span.problem.H) < least:
        return np.ones(len(values), dtype=bool)
    squares = Z.rounded_squares(span.W, ridge)
    # A lasso may set a whole component to zero, which is kept.
    return np.asarray(squares < 1.0 if gram is None else squares <= gram.diagonal())


def _any_direction(pencil: Pencil) -> tuple[Directions, Array, Array]:
    """One component where X'H is zero: every direction has the eigenvalue 0."""
    w = np.where(pencil.Z.constant, 0.0, 1.0)[:, None]
    square = float(pencil.Z.inner(w, pencil.forms(w)[0])[0, 0])
    w /= np.sqrt(max(square, 0.0)) or 1.0
    return Directions(pencil, w), np.zeros(1), np.zeros((pencil.H.shape[1], 1))


# -- which method ------------------------------------------------------------------------


@dataclass(frozen=True)
class Choice:
    """The method of stage one, the reason in a sentence, and the predicted costs in seconds."""

    regression: str
    reason: str
    costs: dict[str, float]

    def __str__(self) -> str:
        return f"{self.regression} ({self.reason})"


def choose(Z: Data, n_targets: int, alphas: Sequence[float], tol: float) -> Choice:
    """The cheapest way to regress ``n_targets`` targets on Z for all ``alphas``.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenkit.data import Centered
    >>> rng = np.random.default_rng(0)
    >>> choose(Centered(rng.normal(size=(500, 20))), 3, [1.0], 1e-8).regression
    'cholesky'
    >>> choose(Centered(rng.normal(size=(20, 500))), 3, [1.0], 1e-8).regression
    'dual_cholesky'
    """
    n_targets = min(n_targets, Z.shape[1])  # more of them are narrowed first
    costs = _factorization_costs(Z, len(alphas))
    one_ridge = np.ndim(Z.ridge(max(alphas))) == 0
    if not one_ridge:
        costs.pop("dual_cholesky", None)
    exact = min(costs.values(), default=np.inf)
    possible = exact > SHORT and one_ridge and (min(alphas) > 0 or not Z.has_rows)
    iteration = _iteration_cost(Z, n_targets, len(alphas)) if possible else np.inf
    if exact > FEW * iteration:
        condition = 1 + Z.spectral_norm_squared() / max(float(np.min(Z.ridge(min(alphas)))), TINY)
        # Where rounding keeps it from reaching tol, it would only run to max_iter: factor instead.
        if not costs or EPS * condition < tol:
            costs["cg"] = iteration * _iterations(Z, n_targets, condition, tol)
    if not costs:
        (n, d), limit = Z.shape, GRAM_LIMIT_BYTES / 2**30
        why = "alpha is 0" if min(alphas) == 0 else "the columns have units of their own"
        reason = f"neither {d} x {d} nor {n} x {n} numbers fit in {limit:g} GB and {why}"
        return Choice("lsqr", reason, {})
    best = min(costs, key=costs.__getitem__)
    others = ", ".join(f"{name} {costs[name]:.2g} s" for name in costs if name != best)
    reason = f"{best} is predicted to take {costs[best]:.2g} s"
    return Choice(best, reason + (f" ({others})" if others else ""), costs)


def _factorization_costs(Z: Data, n_alphas: int) -> dict[str, float]:
    costs = {}
    forming = {"dual_cholesky": Z.seconds_for_outer, "cholesky": Z.seconds_for_gram}
    for (name, seconds), side in zip(forming.items(), Z.shape, strict=True):
        if fits(side) and np.isfinite(work := seconds()):
            memory_passes = 40 * side**2 / READ_RATE
            factorizations = n_alphas * (side**3 / 6 / DENSE_RATE + memory_passes)
            costs[name] = work + factorizations
    return costs


def _iteration_cost(Z: Data, k: int, n_alphas: int) -> float:
    """One product with Z, one with Z', and the work on the blocks of vectors."""
    side = min(Z.shape)
    blocks = (6 + 2 * n_alphas) * side * k * (k / DENSE_RATE + 2 / READ_RATE)
    return Z.seconds_for_passes(k) + blocks


def _iterations(Z: Data, k: int, condition: float, tol: float) -> float:
    """About a third of the classical bound is what blocks take on text.

    Blocks of k span the whole space after min(n, d) / k iterations; rounding lets the number grow
    on, if only as the root of the bound. On text of 7484 and of 3000 documents with 26 and 101
    labels, ridges from 1e-4 to 1e-2 and tolerances of 1e-4 and 1e-8, this is within a factor of
    about two of what was counted.
    """
    bound = 0.2 * np.log(2 / max(tol, EPS)) * np.sqrt(condition)
    return float(3 + min(bound, 0.75 * np.sqrt(bound * min(Z.shape) / k)))
