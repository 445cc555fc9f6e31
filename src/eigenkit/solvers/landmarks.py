"""Landmarks: few samples whose kernel columns nearly span those of all samples."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from eigenkit.linalg import EPS, Array


def pivoted_cholesky(
    diagonal: Array, column: Callable[[int], Array], n_landmarks: int
) -> np.ndarray:
    """Indices of landmarks by Cholesky factorization with diagonal pivoting.

    Greedy: the next landmark is the sample that those before explain least. Only the columns
    of the landmarks are asked for, so that K (n x n) is never formed: O(n r) memory, O(n r^2)
    time. Stops early where nothing is left to explain.

    Parameters
    ----------
    diagonal : array of shape (n,)
        K(x, x) of each sample.
    column : function of an index i
        Gives K(x, x_i) for all samples x.
    n_landmarks : int
        r, the most landmarks to take.

    Examples
    --------
    >>> import numpy as np
    >>> K = np.diag([1.0, 3.0, 2.0])
    >>> pivoted_cholesky(K.diagonal(), lambda i: K[:, i], 2)
    array([1, 2])
    """
    left = np.array(diagonal, dtype=np.float64)
    r = min(n_landmarks, len(left))
    floor = len(left) * EPS * float(np.max(left, initial=0.0))
    L = np.empty((r, len(left)))
    chosen: list[int] = []
    for j in range(r):
        i = int(np.argmax(left))
        if left[i] <= floor:
            break
        L[j] = (column(i) - L[:j, i] @ L[:j]) / np.sqrt(left[i])
        left -= L[j] ** 2
        left[i] = 0.0
        chosen.append(i)
    return np.array(chosen, dtype=np.intp)
