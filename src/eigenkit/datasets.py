"""Synthetic data."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from eigenkit.estimators._validation import check_count, check_real
from eigenkit.linalg import Array


def make_ndc(
    n_samples: int = 300,
    n_features: int = 7,
    *,
    n_clusters: int = 20,
    spread: float = 0.35,
    random_state: Any = None,
) -> tuple[Array, np.ndarray]:
    """Normally distributed clusters on both sides of a plane.

    Cluster centres are uniform in a cube, each cluster belongs to the side of a random plane
    through the middle on which its centre lies, and its points are normal with a random
    covariance matrix of its own. Points near the plane mix: no classifier is perfect.

    Parameters
    ----------
    n_samples, n_features : int
    n_clusters : int
        At least 2; the first two lie on different sides.
    spread : float
        Size of the clusters relative to that of the cube; at the default a linear support
        vector machine is right on about nine in ten samples.
    random_state : int or RandomState, optional

    Returns
    -------
    X : array of shape (n_samples, n_features)
    y : array of shape (n_samples,)
        Classes -1 and 1.

    Examples
    --------
    >>> from eigenkit.datasets import make_ndc
    >>> X, y = make_ndc(random_state=0)
    >>> X.shape, sorted(set(y.tolist()))
    ((300, 7), [-1, 1])
    """
    n = check_count("n_samples", n_samples)
    d = check_count("n_features", n_features)
    k = check_count("n_clusters", n_clusters)
    if k < 2:
        raise ValueError("n_clusters=1 is not valid: give an integer of at least 2.")
    spread = check_real("spread", spread)
    random = check_random_state(random_state)
    normal = random.standard_normal(d)
    centers = random.uniform(-1, 1, (k, d))
    centers[1] = -centers[0]
    side = np.where(centers @ normal > 0, 1, -1)
    # Every class gets samples: the first two clusters have at least one each.
    member = np.concatenate([[0, 1], random.randint(k, size=max(n - 2, 0))])[:n]
    factors = random.uniform(-1, 1, (k, d, d)) * spread / np.sqrt(d / 3)
    noise = random.standard_normal((n, d))
    X = centers[member] + np.einsum("ij,ijk->ik", noise, factors[member])
    return X, side[member]
