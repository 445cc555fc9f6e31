"""Visual words: histograms of the nearest cluster, compared by chi-squared distance."""

from __future__ import annotations

from typing import Any

import numpy as np
import sklearn
from sklearn.utils import check_random_state

from eigenkit.kernels.sets._sets import SAMPLE, SetKernel, members, sample
from eigenkit.kernels.sets._vocabulary import cluster, nearest
from eigenkit.linalg import Array
from eigenkit.shell import check_above_zero, check_count


class VisualWords(SetKernel):
    """Exponential chi-squared kernel between histograms of words.

    A word is a cluster of points; h(X) holds the share of each word in the set X, and with the
    mean c of distances between sets seen in fit::

        K(X, Y) = exp(-gamma/c sum_w (h_w(X) - h_w(Y))^2 / (h_w(X) + h_w(Y)))

    Parameters
    ----------
    n_words : int
    gamma : float
        Inverse width, in units of the mean distance.
    random_state : int or RandomState, optional

    Attributes
    ----------
    words_ : array of shape (n_words, n_features)
    scale_ : float
        gamma / c.
    n_sets_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from eigenkit.kernels.sets import VisualWords
    >>> sets = [np.array([[0.0], [0.1]]), np.array([[0.0]]), np.array([[5.0]])]
    >>> VisualWords(2, random_state=0).fit_transform(sets).round(2)
    array([[1.  , 1.  , 0.22],
           [1.  , 1.  , 0.22],
           [0.22, 0.22, 1.  ]])
    """

    def __init__(self, n_words: int = 256, *, gamma: float = 1.0, random_state: Any = None) -> None:
        self.n_words = n_words
        self.gamma = gamma
        self.random_state = random_state

    def _check_parameters(self) -> None:
        check_count("n_words", self.n_words)
        check_above_zero("gamma", self.gamma)

    def _learn_from_sets(self) -> None:
        distances = _chi_squared(self._fit_sets_, self._fit_sets_)
        apart = distances[np.triu_indices(len(distances), 1)]
        mean = float(apart.mean()) if len(apart) else 0.0
        self.scale_ = float(self.gamma) / mean if mean > 0 else 1.0

    def _learn(self, points: Array) -> None:
        random = check_random_state(self.random_state)
        drawn = sample(points, SAMPLE, random)
        self.words_ = cluster(drawn, int(self.n_words), random) if len(points) else points

    def _represent(self, points: Array, sizes: np.ndarray) -> Array:
        n_words = max(len(self.words_), 1)
        if not len(points):
            return np.zeros((len(sizes), n_words))
        word = members(sizes) * n_words + nearest(points, self.words_)
        H = np.bincount(word, minlength=len(sizes) * n_words).reshape(len(sizes), n_words)
        return np.asarray(H / np.maximum(sizes, 1)[:, None])

    def _inner(self, new: Array, fitted: Array) -> Array:
        K = np.exp(-self.scale_ * _chi_squared(new, fitted))
        filled, full = new.any(axis=1), fitted.any(axis=1)
        return np.asarray(K * np.outer(filled, full))

    def _square(self, sets: Array) -> Array:
        return np.asarray(sets.any(axis=1), dtype=np.float64)


def _chi_squared(X: Array, Y: Array) -> Array:
    D: Array = sklearn.metrics.pairwise.additive_chi2_kernel(X, Y)
    return -D
