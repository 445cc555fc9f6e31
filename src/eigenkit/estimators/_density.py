"""Principal components as a model of the data: a Gaussian density."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from eigenkit.data import project
from eigenkit.estimators._described import described
from eigenkit.estimators._estimator import Projection
from eigenkit.estimators._validation import check_X
from eigenkit.numerics.linalg import Array


@described
class Density(Projection):
    """What follows from components, their variances, and one variance in all other directions.

    Tipping and Bishop's probabilistic PCA.
    """

    def get_covariance(self) -> Array:
        """The covariance matrix of the model: the components and noise in all directions.

        Returns
        -------
        array of shape (n_features, n_features)
        """
        check_is_fitted(self)
        excess = self.explained_variance_ - self.noise_variance_
        W = self.components_
        return np.asarray((W.T * excess) @ W + self.noise_variance_ * np.eye(self.n_features_in_))

    def get_precision(self) -> Array:
        """The inverse of :meth:`get_covariance`.

        Returns
        -------
        array of shape (n_features, n_features)
        """
        noise = self._positive_noise()
        W = self.components_
        excess = 1 / self.explained_variance_ - 1 / noise
        return np.asarray((W.T * excess) @ W + np.eye(self.n_features_in_) / noise)

    def _positive_noise(self) -> float:
        """The noise variance; any positive number where no direction is left for noise."""
        check_is_fitted(self)
        if self.noise_variance_ > 0:
            return float(self.noise_variance_)
        if self.n_components_ == self.n_features_in_:
            return 1.0
        raise ValueError(
            f"X has no variance outside the {self.n_components_} components, so the model has no "
            "density: give a smaller n_components."
        )

    def score_samples(self, X: Any) -> Array:
        """Log-likelihood of each sample under the model (Gaussian, :meth:`get_covariance`).

        {class_of_each}
        """
        noise = self._positive_noise()
        X = check_X(self, X, reset=False)
        scores = project(X, self.mean_, self.components_.T).astype(np.float64)
        outside = _squared_distances(X, self.mean_) - np.sum(scores**2, axis=1)
        n_left = self.n_features_in_ - self.n_components_
        log_det = np.sum(np.log(self.explained_variance_)) + n_left * np.log(noise)
        distance = np.sum(scores**2 / self.explained_variance_, axis=1)
        if n_left:
            distance += np.maximum(outside, 0.0) / noise
        found = -0.5 * (distance + log_det + self.n_features_in_ * np.log(2 * np.pi))
        return np.asarray(self._cast(found))

    def score(self, X: Any, y: Any = None) -> float:
        """The mean of :meth:`score_samples`.

        {samples}
        y : ignored

        Returns
        -------
        float
        """
        return float(np.mean(self.score_samples(X), dtype=np.float64))


def _squared_distances(X: Any, mean: np.ndarray) -> Array:
    if not sparse.issparse(X):
        return np.asarray(np.einsum("ij,ij->i", X - mean, X - mean, dtype=np.float64))
    squares = np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.asarray(squares - 2 * (X @ mean) + mean @ mean, dtype=np.float64)
