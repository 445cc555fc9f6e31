"""Rank-SVM (Elisseeff and Weston, 2002), the rival that Table 4.2 of the thesis names.

A label that a sample carries is to score higher than one that it does not:

    min  1/2 sum_k |w_k|^2 + C sum_i c_i sum_{p in Y_i, q in N_i} max(0, 1 - s_ip + s_iq)^2

with s_ik = w_k'x_i + b_k, Y_i the labels of sample i, N_i the others and c_i = 1 / (|Y_i| |N_i|).
Scores are comparable within a sample only; as in the original, a threshold t(x) makes them
comparable between samples: the best one of every training sample, regressed on its scores.

The hinge is squared, as in liblinear's SVM of the other rows, so that the problem is smooth. The
thesis does not state the kernel and C of its Rank-SVM: ours is linear, C by cross-validation.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.optimize import minimize
from sklearn.base import BaseEstimator

from eigenkit.numerics.linalg import Array


class RankSVM(BaseEstimator):
    """Linear Rank-SVM with a squared hinge.

    Parameters
    ----------
    C : float
        Weight of the ranking loss.
    max_iter : int
        Iterations of L-BFGS.

    Attributes
    ----------
    coef_ : array of shape (n_labels, n_features)
    intercept_ : array of shape (n_labels,)
    threshold_ : array of shape (n_labels + 1,)
    """

    def __init__(self, C: float = 1.0, max_iter: int = 500) -> None:
        self.C = C
        self.max_iter = max_iter

    def fit(self, X: Any, Y: Array) -> Self:
        """X of shape (n, d), dense or sparse; Y a 0/1 matrix of shape (n, k)."""
        d, k = X.shape[1], Y.shape[1]
        carried = np.asarray(Y) > 0
        weight = _pair_weights(carried)

        def objective(flat: Array) -> tuple[float, Array]:
            W = flat.reshape(d + 1, k)
            loss, slope = ranking_loss(X @ W[:d] + W[d], carried, weight)
            gradient = np.vstack([W[:d] + self.C * (X.T @ slope), self.C * slope.sum(axis=0)])
            return 0.5 * float(np.sum(W[:d] ** 2)) + self.C * loss, gradient.ravel()

        options = {"maxiter": self.max_iter}
        found = minimize(
            objective, np.zeros((d + 1) * k), jac=True, method="L-BFGS-B", options=options
        )
        W = found.x.reshape(d + 1, k)
        self.coef_, self.intercept_ = W[:d].T, W[d]
        S = self._scores(X)
        self.threshold_ = np.linalg.lstsq(_with_ones(S), best_thresholds(S, carried), rcond=None)[0]
        return self

    def _scores(self, X: Any) -> Array:
        return np.asarray(X @ self.coef_.T + self.intercept_)

    def decision_function(self, X: Any) -> Array:
        """Scores of the labels less the threshold of the sample (n x k)."""
        S = self._scores(X)
        return S - (_with_ones(S) @ self.threshold_)[:, None]


def _with_ones(S: Array) -> Array:
    return np.hstack([S, np.ones((len(S), 1))])


def best_thresholds(S: Array, carried: np.ndarray) -> Array:
    """For every sample the threshold between two of its scores that errs on the fewest labels."""
    order = np.argsort(S, axis=1)
    sorted_S = np.take_along_axis(S, order, axis=1)
    hit = np.take_along_axis(carried, order, axis=1)
    # With j labels below the threshold: carried ones among them, and others above it.
    none = np.zeros((len(S), 1), dtype=int)
    lost = np.hstack([none, np.cumsum(hit, axis=1)])
    false = (~carried).sum(axis=1, keepdims=True) - np.hstack([none, np.cumsum(~hit, axis=1)])
    j = np.argmin(lost + false, axis=1)
    edges = np.hstack([sorted_S[:, :1] - 1.0, sorted_S, sorted_S[:, -1:] + 1.0])
    rows = np.arange(len(S))
    return np.asarray((edges[rows, j] + edges[rows, j + 1]) / 2)


def _pair_weights(carried: np.ndarray) -> Array:
    """1 / (|Y_i| |N_i|), or 0 for a sample with all labels or none, of which no pair is made."""
    pairs = carried.sum(axis=1) * (~carried).sum(axis=1)
    return np.asarray(np.divide(1.0, pairs, out=np.zeros(len(pairs)), where=pairs > 0))


def ranking_loss(S: Array, carried: np.ndarray, weight: Array) -> tuple[float, Array]:
    """The loss over all pairs, and its gradient by S (n x k); one label at a time."""
    loss, slope = 0.0, np.zeros_like(S)
    for p in range(S.shape[1]):
        rows = carried[:, p]
        others = ~carried[rows]
        short = np.maximum(1.0 - S[rows, p : p + 1] + S[rows], 0.0) * others
        weighted = weight[rows, None] * short
        loss += float(np.sum(weighted * short))
        slope[rows, p] -= 2 * weighted.sum(axis=1)
        slope[rows] += 2 * weighted
    return loss, slope
