"""The least squares model of the papers (LS-X, LS-X_2, LS-X_1).

    T = H (H'H)^(+1/2),  column j stands for column j of H
    W = argmin ||Z W - T||^2 + alpha (rho ||W||_1 + (1 - rho) ||W||_2^2)

Without a penalty W is the solution of the pencil exactly when every target is fitted exactly
(rank(Z) = n - 1 is enough); otherwise it is a model of its own. Among all orthonormal bases of
the span of H the symmetric root is the one closest to H, so no order of labels and no rotation
among equal singular values (for CCA all are equal) enters the lasso.

A rotation of the targets changes neither the ridge penalty nor distances between scores. So with
rho = 0 the columns of W are rotated to the axes along which H'Z W is diagonal.

This is the one file of the solvers that uses scikit-learn: for coordinate descent and LARS.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import sklearn
from numpy.linalg import norm
from scipy import linalg as sla
from sklearn.exceptions import ConvergenceWarning as _SklearnConvergenceWarning

from eigenkit.data import Data
from eigenkit.exceptions import warn_of_stopping
from eigenkit.numerics.linalg import Array, largest_first, orthonormalize, ratio
from eigenkit.numerics.tolerances import DEPENDENT, EPS, EXACT, RANK_TOL, along
from eigenkit.pencil import Pencil, Report, Solution
from eigenkit.solvers.regression import Directions
from eigenkit.solvers.stages import Settings, finish, regress


def targets(H: Array, grain: Array | float = 0.0, n: int = 0) -> Array:
    """T = H (H'H)^(+1/2) (n x k), with one column for columns that are multiples of each other.

    T T' is the projection on the span of H: two classes have one target, and so has a label that is
    listed twice. Columns of H of a length up to ``grain`` are rounding, and so is what sums over
    ``n`` samples leave of a direction: H may be the triangle of so many rows.
    """
    Q, R = orthonormalize(H)
    U, s, Vt = sla.svd(R, full_matrices=False)
    rounding = EPS * max(n, *H.shape) * np.linalg.norm(H, axis=0)
    keep = s > along(Vt.T, np.maximum(grain, rounding))
    T = U[:, keep] @ Vt[keep]
    length = np.linalg.norm(T, axis=0)
    T, length = T[:, length > DEPENDENT], length[length > DEPENDENT]
    unit = T / length
    first = np.argmax(np.abs(unit.T @ unit) > 1 - DEPENDENT, axis=1)
    together = np.sqrt(np.bincount(first, length**2, minlength=len(first)))
    own = np.unique(first)
    return np.asarray(Q @ (unit[:, own] * together[own]))


def least_squares_path(
    pencil: Pencil,
    alphas: Sequence[float],
    l1_ratio: float,
    settings: Settings,
    grain: Array | float = 0.0,
) -> list[Solution]:
    """The model for every alpha, with decreasing eigenvalues w'Z'H H'Z w / w'Z'Z w; columns of H
    of a length up to ``grain`` are rounding."""
    Z = pencil.Z
    T = targets(np.asarray(pencil.H), grain, Z.n_samples)
    smooth = [alpha for alpha in alphas if alpha * l1_ratio == 0]
    sparse = [alpha for alpha in alphas if alpha * l1_ratio != 0]
    done: dict[float, tuple[Array, Report]] = {}
    if smooth:
        first = Pencil(Z, T, smooth[0])
        for found, report in regress([first.at(alpha) for alpha in smooth], settings):
            done[found.problem.alpha] = found.settle(np.eye(T.shape[1])).W, report
    if sparse:
        stop = settings.tol, settings.max_iter
        answers, sweeps = coordinate_descent(Z, T, sparse, l1_ratio, *stop)
        how = "", "coordinate_descent", f"l1_ratio={l1_ratio:g}", sweeps
        report = Report(*how, converged=sweeps < settings.max_iter)
        done |= {a: (Z.from_X(W), report) for a, W in zip(sparse, answers, strict=True)}
    plain = pencil.at(0.0)  # scores are measured without the penalty
    return [_ordered(plain, T, *done[alpha], l1_ratio == 0, alpha) for alpha in alphas]


def _ordered(
    pencil: Pencil, T: Array, W: Array, report: Report, turn: bool, alpha: float
) -> Solution:
    """The components by decreasing eigenvalue, turned to the axes of H'Z W where that is free."""
    exact = alpha == 0 and bool(norm(pencil.Z.matmat(W) - T) <= EXACT * norm(T))
    if turn:
        _, s, Vt = sla.svd(pencil.C.T @ W, full_matrices=False)
        W = W @ Vt[s > RANK_TOL * s.max(initial=0.0)].T
    scores, cross = pencil.Z.matmat(W), pencil.C.T @ W
    between, total = (np.einsum("ij,ij->j", A, A) for A in (cross, scores))
    values = ratio(between, total)
    order = largest_first(values)
    values, cross, scores = values[order], cross[:, order], scores[:, order]
    basis = ratio(cross, np.sqrt(values))
    BW, gram = pencil.Z.rmatmat(scores), scores.T @ scores
    report = replace(report, solver="least_squares", equivalent=exact)
    return finish(Directions(pencil, W[:, order], BW), values, basis, report, gram)


# -- the lasso -------------------------------------------------------------------------------


def coordinate_descent(
    Z: Data, T: Array, alphas: Sequence[float], l1_ratio: float, tol: float, max_iter: int
) -> tuple[list[Array], int]:
    """W (d x k, in the units of X) for each alpha, warm-started, and the sweeps it took."""
    X, centred = Z.original()  # in single precision no gap would be small enough
    model = sklearn.linear_model.ElasticNet(
        tol=tol, max_iter=max_iter, warm_start=True, fit_intercept=centred
    )
    raw = Z.unweighted(T)
    total = float(len(raw) if Z.weight is None else Z.weight.sum())  # of these rows, as they count
    answers, sweeps = [], 0
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for alpha in alphas:
            # ElasticNet halves and averages the squares.
            lasso, ridge = alpha * l1_ratio, alpha * (1 - l1_ratio)
            both = lasso + 2 * ridge
            model.set_params(alpha=both / (2 * total), l1_ratio=lasso / both)
            model.fit(X, raw, sample_weight=Z.weight)
            answers.append(np.array(np.atleast_2d(model.coef_).T, dtype=np.float64))
            sweeps = max(sweeps, int(np.max(model.n_iter_)))
    if any(issubclass(w.category, _SklearnConvergenceWarning) for w in caught):
        warn_of_stopping(
            f"coordinate descent stopped after max_iter={max_iter} sweeps with a duality gap "
            f"above tol={tol:g}: increase max_iter or alpha"
        )
    return answers, sweeps


def l1_path(
    pencil: Pencil, method: str, n_alphas: int, tol: float, max_iter: int
) -> list[tuple[Array, Array]]:
    """For every target (alphas, decreasing; coefficients d x len(alphas)) of the lasso: at every
    kink of the path, from Z'Z ("lars"), or on a grid by coordinate descent, without it ("cd")."""
    Z, paths = pencil.Z, []
    gram = Z.gram() if method == "lars" else None
    for t in targets(np.asarray(pencil.H), n=Z.n_samples).T[:, :, None]:
        c = Z.rmatmat(t)
        if gram is not None:
            alphas, _, coefs = sklearn.linear_model.lars_path_gram(
                c[:, 0], gram, n_samples=1, method="lasso", max_iter=max_iter
            )
            paths.append((2 * alphas, Z.to_X(coefs)))
        else:
            alphas = 2 * np.abs(c).max() * np.logspace(0, -3, n_alphas)
            answers, _ = coordinate_descent(Z, t, alphas, 1.0, tol, max_iter)
            paths.append((alphas, np.hstack(answers)))
    return paths
