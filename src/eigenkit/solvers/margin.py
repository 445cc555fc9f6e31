"""Linear support vector machines with squared hinge loss, for many labels on few columns.

    minimize  |w|^2 / 2 + b^2 / 2 + C sum_i max(0, 1 - y_i (z_i'w + b))^2

The objective is strongly convex and piecewise quadratic: Newton's method on the set of rows
inside the margin ends after a few steps at the exact minimum, where that set no longer changes
(Mangasarian's finite Newton method). One step costs n l^2. It is the problem of scikit-learn's
LinearSVC with its defaults, and the same answer to the tolerance of that.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from eigenkit.numerics.linalg import Array
from eigenkit.numerics.threads import blas_threads

MAX_STEPS = 200
# A step that promises less than this part of the objective is rounding.
_NOTHING = 1e-14

# The share of its predicted decrease that a step must achieve, and the step that ends the search.
ARMIJO, SHORTEST = 1e-4, 1e-9


def squared_hinge(Z: Array, Y: Array, C: float = 1.0) -> tuple[Array, Array]:
    """Weights (k x l) and intercepts (k,), one plane for each column of the 0/1 matrix Y.

    >>> Z = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    >>> coef, intercept = squared_hinge(Z, np.array([[0], [0], [1], [1]]))
    >>> coef.round(3), intercept.round(3)
    (array([[0.8]]), array([0.]))
    """
    A, Y = np.column_stack([Z, np.ones(len(Z))]), np.asarray(Y)
    planes = np.zeros((Y.shape[1], A.shape[1]))
    planes[:, -1] = Y[0] - 0.5  # where all rows have one answer
    with blas_threads(A.shape[1]):  # thousands of small products: threads would only wait
        for j in np.flatnonzero(Y.min(axis=0) < Y.max(axis=0)):
            planes[j] = _plane(A, np.where(Y[:, j] > 0, 1.0, -1.0), C)
    return planes[:, :-1], planes[:, -1]


def _plane(A: Array, y: Array, C: float) -> Array:
    w, gap = np.zeros(A.shape[1]), np.ones(len(A))  # gap: 1 - y f
    value = C * len(A)
    for _ in range(MAX_STEPS):
        inside = gap > 0
        # The minimum of the quadratic that the objective is while these rows are inside.
        B = A[inside]
        H = 2 * C * (B.T @ B)
        H.flat[:: len(H) + 1] += 1.0
        # Many small systems: what scipy.linalg.solve checks each time would take longer than these.
        _, target, info = lapack.dposv(H, 2 * C * (B.T @ y[inside]), lower=1)
        if info:
            raise np.linalg.LinAlgError("the scores are too large for a margin of 1: scale them.")
        change = 1.0 - y * (A @ target) - gap
        promised = float(w @ (w - target) - 2 * C * (gap[inside] @ change[inside]))
        if promised <= _NOTHING * value:
            return np.asarray(target)
        w, gap, value = _step(w, gap, target - w, change, C, value, promised)
    return w


def _step(
    w: Array, gap: Array, direction: Array, change: Array, C: float, value: float, promised: float
) -> tuple[Array, Array, float]:
    """The longest of the steps 1, 1/2, 1/4, ... that lowers the objective as it should."""
    t = 1.0
    while True:
        here, there = w + t * direction, gap + t * change
        found = 0.5 * (here @ here) + C * np.sum(np.maximum(there, 0.0) ** 2)
        if found <= value - ARMIJO * t * promised or t < SHORTEST:
            return here, there, float(found)
        t /= 2
