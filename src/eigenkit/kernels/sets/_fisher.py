"""Sets by the clusters that their points are near to.

Fisher vectors say how the points of a set would move the parameters of a mixture; visual words are
histograms of the nearest cluster, compared by chi-squared distance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import sklearn

from eigenkit.kernels.sets._sets import SAMPLE, SetKernel, Shares, per_distance, sample, sums
from eigenkit.kernels.sets._vocabulary import cluster, nearest
from eigenkit.numerics.linalg import Array
from eigenkit.shell import check_above_zero, check_count, random_of

# Iterations of EM, points it looks at, and the smallest variance relative to that of all points.
ITERATIONS, MIXTURE_SAMPLE, SMALLEST = 15, 20_000, 1e-3
BLOCK = 20_000
# The least mass of a Gaussian as a share of the points, so that an empty one divides nothing by 0.
LEAST_MASS = 1e-6


@dataclass(frozen=True, eq=False)
class Mixture:
    """Gaussians with diagonal covariances: weights (k), means and deviations (k x d)."""

    weights: Array
    means: Array
    deviations: Array

    @classmethod
    def of(cls, points: Array, k: int, random: Any) -> Mixture:
        """By EM from clusters."""
        floor = SMALLEST * points.var(axis=0).mean() or 1.0
        centers = cluster(points, k, random)
        R = np.eye(len(centers), dtype=points.dtype)[nearest(points, centers)]
        model = cls._from(R, points, floor)
        for _ in range(ITERATIONS):
            model = cls._from(model.responsibilities(points), points, floor)
        return model

    @classmethod
    def _from(cls, R: Array, points: Array, floor: float) -> Mixture:
        mass = np.maximum(R.sum(axis=0), LEAST_MASS * len(points))[:, None]
        means = R.T @ points / mass
        variances = np.maximum(R.T @ points**2 / mass - means**2, floor)
        return cls(mass.ravel() / mass.sum(), means, np.sqrt(variances))

    def responsibilities(self, points: Array) -> Array:
        """Probabilities of the Gaussians for each point."""
        precision = self.deviations**-2
        logs = points @ (self.means * precision).T - (points**2) @ precision.T / 2
        logs -= np.sum(self.means**2 * precision, axis=1) / 2
        logs += np.log(self.weights) - np.log(self.deviations).sum(axis=1)
        logs -= logs.max(axis=1, keepdims=True)
        R = np.exp(logs)
        return np.asarray(R / R.sum(axis=1, keepdims=True))


class FisherVectors(SetKernel):
    """Linear kernel between Fisher vectors of sets.

    With a mixture of k Gaussians (weights p, means m, deviations s, diagonal) fitted to all
    points, and q_i(x) the probability of Gaussian i for the point x, a set X has the gradients::

        u_i = sum_x q_i(x) (x - m_i)/s_i / (|X| sqrt(p_i))
        v_i = sum_x q_i(x) ((x - m_i)^2/s_i^2 - 1) / (|X| sqrt(2 p_i))

    which are brought to signed square roots and to unit length (2 k d numbers a set).

    Parameters
    ----------
    n_gaussians : int
    random_state : int or RandomState, optional

    Attributes
    ----------
    mixture_ : Mixture
    n_sets_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from eigenkit.kernels.sets import FisherVectors
    >>> random = np.random.default_rng(0)
    >>> sets = [random.normal(i % 2, 1, (30, 2)) for i in range(4)]
    >>> K = FisherVectors(2, random_state=0).fit_transform(sets)
    >>> bool(K[0, 2] > K[0, 1])
    True
    """

    _rules: ClassVar = {"n_gaussians": check_count}

    def __init__(self, n_gaussians: int = 32, *, random_state: Any = None) -> None:
        self.n_gaussians = n_gaussians
        self.random_state = random_state

    def _learn(self, points: Array) -> None:
        self.mixture_: Mixture | None = None
        if len(points):
            random = random_of(self.random_state)
            drawn = sample(points, MIXTURE_SAMPLE, random)
            self.mixture_ = Mixture.of(drawn, min(int(self.n_gaussians), len(drawn)), random)

    def _represent(self, points: Array, sizes: np.ndarray) -> Array:
        if self.mixture_ is None or not len(points):
            width = 0 if self.mixture_ is None else 2 * self.mixture_.means.size
            return np.zeros((len(sizes), width))
        F = _gradients(self.mixture_, points, sizes)
        F = np.sign(F) * np.sqrt(np.abs(F))
        lengths = np.linalg.norm(F, axis=1, keepdims=True)
        return np.asarray(F / np.where(lengths > 0, lengths, 1))

    def _inner(self, new: Array, fitted: Array) -> Array:
        return np.asarray(new @ fitted.T)

    def _square(self, sets: Array) -> Array:
        return np.asarray(np.sum(sets * sets, axis=1))

    def sharing(self, rows: np.ndarray) -> Shares:
        """The parts of points in sum_T A_T K(S, T) = x(S) W, T being these sets seen in fit.

        With the gradient F = sum_p F_p and x = sign(F) sqrt|F| / length, it is F_p (x / F) W.
        """
        fitted = self._fit_sets_[rows]
        return lambda points, A: self._shares(points, np.asarray(fitted.T @ A))

    def _shares(self, points: Array, W: Array) -> Array:
        if self.mixture_ is None or not len(points):
            return np.zeros((len(points), W.shape[1]))
        n, mixture = len(points), self.mixture_
        (F,) = _gradients(mixture, points, np.array([n]))
        root = np.sqrt(np.abs(F))
        length = float(np.linalg.norm(root)) or 1.0
        slope = np.divide(1 / (n * length), root, out=np.zeros_like(root), where=root > 0)
        first, second = (W * slope[:, None]).reshape(2, *mixture.means.shape, -1)
        R, shares = mixture.responsibilities(points), np.zeros((n, W.shape[1]))
        p = np.sqrt(mixture.weights)
        for i, (m, s) in enumerate(zip(mixture.means, mixture.deviations, strict=True)):
            z = (points - m) / s
            part = z @ first[i] + (z**2 - 1) @ second[i] / np.sqrt(2)
            shares += R[:, i : i + 1] * part / p[i]
        return shares


def _gradients(mixture: Mixture, points: Array, sizes: np.ndarray) -> Array:
    k, d = mixture.means.shape
    F = np.empty((len(sizes), 2, k, d), dtype=points.dtype)
    starts = range(0, len(points), BLOCK)
    R = np.vstack([mixture.responsibilities(points[i : i + BLOCK]) for i in starts])
    mass = sums(R, sizes)
    first = _products(R, points, sizes)
    second = _products(R, points**2, sizes)
    m, s, p = mixture.means, mixture.deviations, mixture.weights[:, None]
    centred = first - mass[:, :, None] * m
    F[:, 0] = centred / (s * np.sqrt(p))
    spread = second - 2 * m * first + mass[:, :, None] * (m**2 - s**2)
    F[:, 1] = spread / (s**2 * np.sqrt(2 * p))
    n = np.maximum(sizes, 1)[:, None].astype(points.dtype)
    return np.asarray(F.reshape(len(sizes), -1) / n)


def _products(R: Array, points: Array, sizes: np.ndarray) -> Array:
    """R' points of every set."""
    found = np.zeros((len(sizes), R.shape[1], points.shape[1]), dtype=points.dtype)
    ends = np.cumsum(sizes)
    for i, (end, size) in enumerate(zip(ends, sizes, strict=True)):
        if size:
            found[i] = R[end - size : end].T @ points[end - size : end]
    return found


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

    _rules: ClassVar = {"n_words": check_count, "gamma": check_above_zero}

    def __init__(self, n_words: int = 256, *, gamma: float = 1.0, random_state: Any = None) -> None:
        self.n_words = n_words
        self.gamma = gamma
        self.random_state = random_state

    def _learn_from_sets(self) -> None:
        distances = _chi_squared(self._fit_sets_, self._fit_sets_)
        apart = distances[np.triu_indices(len(distances), 1)]
        mean = float(apart.mean()) if len(apart) else 0.0
        self.scale_ = per_distance(self.gamma, mean) if mean > 0 else 1.0

    def _learn(self, points: Array) -> None:
        random = random_of(self.random_state)
        drawn = sample(points, SAMPLE, random)
        self.words_ = cluster(drawn, int(self.n_words), random) if len(points) else points

    def _represent(self, points: Array, sizes: np.ndarray) -> Array:
        n_words = max(len(self.words_), 1)
        if not len(points):
            return np.zeros((len(sizes), n_words))
        own = np.repeat(np.arange(len(sizes)), sizes)
        word = own * n_words + nearest(points, self.words_)
        H = np.bincount(word, minlength=len(sizes) * n_words).reshape(len(sizes), n_words)
        return np.asarray(H / np.maximum(sizes, 1)[:, None])

    def _inner(self, new: Array, fitted: Array) -> Array:
        return np.asarray(np.exp(-self.scale_ * _chi_squared(new, fitted)))

    def _square(self, sets: Array) -> Array:
        return np.asarray(sets.any(axis=1), dtype=np.float64)


def _chi_squared(X: Array, Y: Array) -> Array:
    D: Array = sklearn.metrics.pairwise.additive_chi2_kernel(X, Y)
    return -D
