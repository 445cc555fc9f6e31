"""The least squares model of the papers (LS-X, LS-X_2, LS-X_1).

    H = Q R (column pivoting),  R = U diag(sigma) V',  T = Q U,
    W = argmin ||Z W - T||^2 + penalty(W)

Without a penalty W is the solution of the pencil exactly when every target is fitted exactly
(rank(Z) = n - 1 is enough); otherwise it is a model of its own. Penalties:

    l2          alpha ||W||_2^2
    l1          alpha ||W||_1
    elasticnet  alpha (l1_ratio ||W||_1 + (1 - l1_ratio) ||W||_2^2)

This is the one file of the solvers that uses scikit-learn: for coordinate descent and LARS.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from scipy import linalg as sla
from sklearn.exceptions import ConvergenceWarning as _SklearnConvergenceWarning
from sklearn.linear_model import ElasticNet, lars_path_gram

from eigenkit.exceptions import ConvergenceWarning
from eigenkit.linalg import Array, orthonormalize
from eigenkit.operators import Centered
from eigenkit.pencil import Pencil

PENALTIES = ("l2", "l1", "elasticnet")


# Singular values of a target that differ by less than this, relatively, are equal.
TIE = 1e-8


def targets(H: Array) -> tuple[Array, Array, Array]:
    """T (n x r), sigma and V of H = T diag(sigma) V'.

    Where singular values are equal (for CCA all are) any rotation of their columns would do,
    but not to a lasso: the one is taken in which a target stands for as few labels as can be.
    """
    Q, R = orthonormalize(H)
    U, sigma, Vt = sla.svd(R, full_matrices=False)
    V = Vt.T
    ends = np.flatnonzero(np.diff(sigma) < -TIE * sigma.max(initial=0.0)) + 1
    for equal in np.split(np.arange(len(sigma)), ends):
        if len(equal) > 1:
            turn = _towards_labels(V[:, equal])
            U[:, equal], V[:, equal] = U[:, equal] @ turn, V[:, equal] @ turn
    return Q @ U, sigma, V


def _towards_labels(V: Array) -> Array:
    """The rotation that makes V triangular on its leading labels: its span decides alone.

    Where labels are independent it makes V the identity, whatever their order; where some are
    collinear, of labels that say equally much the first is taken.
    """
    left, chosen = V, []
    for _ in range(V.shape[1]):
        size = np.linalg.norm(left, axis=1)
        chosen.append(int(np.argmax(size >= (1 - TIE) * size.max())))
        q = left[chosen[-1]] / size[chosen[-1]]
        left = left - np.outer(left @ q, q)
    turn, R = sla.qr(V[chosen].T, mode="economic")
    return np.asarray((turn * np.where(R.diagonal() < 0, -1.0, 1.0))[:, np.argsort(chosen)])


def coordinate_descent(
    Z: Centered, T: Array, alphas: Sequence[float], l1_ratio: float, tol: float, max_iter: int
) -> tuple[list[Array], int]:
    """W (d x r, in the units of X) for each alpha, warm-started, and the sweeps it took."""
    model = ElasticNet(tol=tol, max_iter=max_iter, warm_start=True)
    raw = T if Z.r is None else T / Z.r[:, None]
    answers, sweeps = [], 0
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for alpha in alphas:
            model.set_params(**_in_their_units(alpha, l1_ratio, Z.total))
            model.fit(Z.X, raw, sample_weight=Z.weight)
            answers.append(np.array(np.atleast_2d(model.coef_).T, dtype=np.float64))
            sweeps = max(sweeps, int(np.max(model.n_iter_)))
    if any(issubclass(w.category, _SklearnConvergenceWarning) for w in caught):
        warnings.warn(
            f"coordinate descent stopped after max_iter={max_iter} sweeps with a duality gap "
            f"above tol={tol:g}: increase max_iter or alpha",
            ConvergenceWarning,
            stacklevel=2,
        )
    return answers, sweeps


def _in_their_units(alpha: float, l1_ratio: float, total: float) -> dict[str, float]:
    """Our penalties as parameters of ElasticNet, which halves and averages the squares."""
    lasso, ridge = alpha * l1_ratio, alpha * (1 - l1_ratio)
    return {
        "alpha": (lasso + 2 * ridge) / (2 * total),
        "l1_ratio": lasso / (lasso + 2 * ridge),
    }


def l1_path(
    pencil: Pencil, method: str, n_alphas: int, tol: float, max_iter: int
) -> list[tuple[Array, Array]]:
    """For every target (alphas, decreasing; coefficients d x len(alphas)) of the lasso.

    ``method`` "lars" gives every kink of the path from Z'Z, "cd" a grid by coordinate
    descent, which never forms a d x d matrix.
    """
    T, _, _ = targets(pencil.H)
    if method == "lars":
        gram = pencil.Z.gram()
        return [_lars(pencil.Z, gram, t, max_iter) for t in T.T]
    return [_descent(pencil.Z, t[:, None], n_alphas, tol, max_iter) for t in T.T]


def _lars(Z: Centered, gram: Array, t: Array, max_iter: int) -> tuple[Array, Array]:
    correlations = Z.rmatmat(t[:, None])[:, 0]
    alphas, _, coefs = lars_path_gram(
        correlations, gram, n_samples=1, method="lasso", max_iter=max_iter
    )
    return 2 * alphas, Z.column_scaled(coefs)


def _descent(
    Z: Centered, T: Array, n_alphas: int, tol: float, max_iter: int
) -> tuple[Array, Array]:
    alphas = 2 * np.abs(Z.rmatmat(T)).max() * np.logspace(0, -3, n_alphas)
    answers, _ = coordinate_descent(Z, T, alphas, 1.0, tol, max_iter)
    return alphas, np.hstack(answers)
