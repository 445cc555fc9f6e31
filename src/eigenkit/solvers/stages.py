"""What every way to solve a pencil begins and ends with: stage one, and the measured answer."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from eigenkit.exceptions import ConditionWarning, ConvergenceWarning
from eigenkit.linalg import Array, signs
from eigenkit.pencil import Pencil, Report, Solution
from eigenkit.solvers.choice import Choice, choose
from eigenkit.solvers.regression import REGRESSIONS, Regression, Settled

# From here on B is so ill-conditioned that the answer has lost half of its digits.
ILL_CONDITIONED = 1e16


@dataclass(frozen=True)
class Settings:
    """The computational choices.

    ``solver`` is one of SOLVERS ("auto" is "two_stage", which is always exact),
    ``regression`` "auto" or a key of REGRESSIONS, ``tol`` and ``max_iter`` steer iterative
    methods. With ``n_components`` few beyond it are solved for; None is for all.
    ``label_rank`` is the number of directions that stand for all labels (:mod:`.label_rank`): of
    the targets, or ``by_eigenvalues`` where those are all alike.
    """

    solver: str = "auto"
    regression: str = "auto"
    tol: float = 1e-8
    max_iter: int = 1000
    n_components: int | None = None
    label_rank: int | str | None = None
    by_eigenvalues: bool = False


def regress(
    pencil: Pencil, alphas: Sequence[float], settings: Settings
) -> list[tuple[Regression, Report]]:
    """Stage one by the method asked for or chosen, with a fallback where it gives up."""
    if settings.regression == "auto":
        choice = choose(pencil.Z, pencil.H.shape[1], alphas, settings.tol)
    else:
        choice = Choice(settings.regression, "as asked", {})
    answers = REGRESSIONS[choice.regression](pencil, alphas, settings.tol, settings.max_iter)
    fallback = "lsqr" if pencil.Z.has_rows and not pencil.Z.may_be_dense else "svd"
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


def settled(problem: Pencil, regression: Regression, T: Array) -> Settled:
    """W = W1 T, B W and W'B W."""
    W = regression.W1 @ T
    return regression.settle(T) or (W, *problem.forms(W))


def _warn_unless_converged(answer: Regression, method: str, settings: Settings) -> None:
    if not answer.converged:
        warnings.warn(
            f"{method} stopped after {answer.n_iter} iterations above tol={settings.tol:g}: "
            "increase max_iter, tol or alpha",
            ConvergenceWarning,
            stacklevel=2,
        )


def finish(
    pencil: Pencil,
    W: Array,
    values: Array,
    basis: Array,
    report: Report,
    BW: Array | None = None,
    gram: Array | None = None,
) -> Solution:
    """Measure the answer, bring it to the units of X and fix its signs; ``BW`` is overwritten.

    ``gram`` is W'B W where that is not the identity.
    """
    if W.shape[1] == 0:
        (W, values, basis), BW = _any_direction(pencil), None
    BW = pencil.apply_B(W) if BW is None else BW
    orthogonality = float(np.abs(pencil.Z.inner(W, BW) - np.eye(W.shape[1])).max(initial=0.0))
    # In place from here on: these are as large as W, which may be the largest thing there is.
    gap = pencil.C @ pencil.Z.inner(pencil.C, W)
    BW *= values
    scale = pencil.Z.norm(gap) + pencil.Z.norm(BW)
    gap -= BW
    residual = pencil.Z.norm(gap) / scale if scale else 0.0
    products = pencil.Z.products
    report = replace(report, residual=residual, orthogonality=orthogonality, products=products)
    if report.condition > ILL_CONDITIONED and np.isfinite(report.condition):
        warnings.warn(
            f"X'X + alpha I has a condition number of {report.condition:.1e}: about half of the "
            "digits of the answer are lost, increase alpha",
            ConditionWarning,
            stacklevel=2,
        )
    W = pencil.Z.to_X(W)
    sign = signs(W)
    gram = gram if gram is None else gram * sign * sign[:, None]
    return Solution(W * sign, values, basis * sign, report, gram)


def _any_direction(pencil: Pencil) -> tuple[Array, Array, Array]:
    """One component where X'H is zero: every direction has the eigenvalue 0."""
    w = np.where(pencil.Z.constant, 0.0, 1.0)[:, None]
    w /= np.sqrt(float(pencil.Z.inner(w, pencil.apply_B(w))[0, 0])) or 1.0
    return w, np.zeros(1), np.zeros((pencil.H.shape[1], 1))
