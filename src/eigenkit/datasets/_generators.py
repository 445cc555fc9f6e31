"""Data that are drawn: clusters, noise, and labels that depend on a planted subspace."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from eigenkit.numerics.linalg import Array
from eigenkit.shell import check_count, check_real, random_of, refuse

# make_planted: the share of samples that have a label, and of numbers that are not zero.
_SHARE = 0.3
_DENSITY = 0.1


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
    k = check_count("n_clusters", n_clusters, low=2)
    spread = check_real("spread", spread)
    random = random_of(random_state)
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


def make_noise(
    n_samples: int = 1000,
    n_features: int = 100,
    n_labels: int = 5,
    *,
    multilabel: bool = False,
    random_state: Any = None,
) -> tuple[Array, np.ndarray]:
    """Gaussian noise with labels that are independent of it.

    Whatever a method finds here is chance: the sets Syn1 to Syn4 of the papers are of this kind.

    Parameters
    ----------
    n_samples, n_features : int
    n_labels : int
        Number of classes, or of labels.
    multilabel : bool
        Draw every label of every sample by a fair coin; by default each sample gets one class,
        all being equally likely.
    random_state : int or RandomState, optional

    Returns
    -------
    X : array of shape (n_samples, n_features)
        Independent standard normal numbers.
    y : array of shape (n_samples,) or (n_samples, n_labels)
        Classes 0 to ``n_labels`` - 1, or 0/1 labels.

    Examples
    --------
    >>> from eigenkit.datasets import make_noise
    >>> X, y = make_noise(200, 30, random_state=0)
    >>> X.shape, sorted(set(y.tolist()))
    ((200, 30), [0, 1, 2, 3, 4])
    >>> X, Y = make_noise(200, 30, multilabel=True, random_state=0)
    >>> Y.shape
    (200, 5)
    """
    n = check_count("n_samples", n_samples)
    d = check_count("n_features", n_features)
    k = check_count("n_labels", n_labels)
    random = random_of(random_state)
    X = random.standard_normal((n, d))
    if multilabel:
        return X, random.randint(2, size=(n, k))
    return X, random.randint(k, size=n)


def make_planted(
    n_samples: int = 1000,
    n_features: int = 200,
    n_labels: int = 8,
    *,
    n_informative: int = 3,
    noise: float = 0.5,
    sparse_output: bool = False,
    return_subspace: bool = False,
    random_state: Any = None,
) -> Any:
    """Labels that depend on the features through a planted subspace, and through nothing else.

    Every label is the sign of a random direction in the subspace plus noise, above a threshold
    that three in ten samples pass. With fewer dimensions than labels, labels are correlated.
    Features are independent standard normal numbers: in the limit of many samples, exactly the
    directions of the subspace separate the labels.

    Parameters
    ----------
    n_samples, n_features, n_labels : int
    n_informative : int
        Dimension of the subspace, at most ``n_features`` and ``n_labels``.
    noise : float
        Standard deviation of the noise in a label's score, relative to that of the signal.
    sparse_output : bool
        Give X as a CSR array in which about one number in ten is not zero. X is then not
        Gaussian, and the subspace separates the labels only approximately.
    return_subspace : bool
        Return the subspace, too.
    random_state : int or RandomState, optional

    Returns
    -------
    X : array or CSR array of shape (n_samples, n_features)
    Y : array of shape (n_samples, n_labels)
        0/1 labels.
    subspace : array of shape (n_features, n_informative)
        Orthonormal basis of the planted subspace; only if ``return_subspace``.

    Examples
    --------
    >>> from eigenkit.datasets import make_planted
    >>> X, Y, subspace = make_planted(return_subspace=True, random_state=0)
    >>> X.shape, Y.shape, subspace.shape
    ((1000, 200), (1000, 8), (200, 3))
    """
    n = check_count("n_samples", n_samples)
    d = check_count("n_features", n_features)
    k = check_count("n_labels", n_labels)
    q = check_count("n_informative", n_informative)
    if q > min(d, k):
        most = f"at most the number of features ({d}) and of labels ({k})"
        refuse("n_informative", q, most)
    noise = check_real("noise", noise)
    random = random_of(random_state)
    subspace = np.linalg.qr(random.standard_normal((d, q)))[0]
    directions = random.standard_normal((q, k))
    directions /= np.linalg.norm(directions, axis=0)
    X = random.standard_normal((n, d))
    if sparse_output:
        kept = random.uniform(size=(n, d)) < _DENSITY
        X = sparse.csr_array(np.where(kept, X / np.sqrt(_DENSITY), 0.0))
    scores = X @ subspace @ directions + noise * random.standard_normal((n, k))
    Y = (scores > np.quantile(scores, 1 - _SHARE, axis=0)).astype(np.int64)
    return (X, Y, subspace) if return_subspace else (X, Y)
