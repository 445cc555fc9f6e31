"""Why a set of images got its terms: parts of the score, exactly.

The score of a term is linear in the mixed kernel, f(S) = sum_T a_T K(S, T) + b, so every kernel
has its part of it. The pyramid kernel is linear in its features (bin b, number t): with

    g(b, t) = sum_T a_T sqrt(step_b) [T has more than t points in b] / |T|

a bin with n points of S gives sqrt(step_b) (g(b, 0) + ... + g(b, n - 1)) / |S|, shared equally by
its n points: so every point of an image has its part, and the parts add up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from eigenkit.images.arrays import Array
from eigenkit.images.files import ImageSet

if TYPE_CHECKING:
    from eigenkit.images.annotator import ImageAnnotator
    from eigenkit.images.extraction import Vectors
    from eigenkit.images.kernels import ViewKernel

NEIGHBOURS = 5


@dataclass(frozen=True, eq=False)
class Evidence:
    """Parts of the scores that lie at points of one picture.

    Parameters
    ----------
    picture : int
        Its number in the set.
    kernel : str
    radius : int
        Of the patches, in pixels of the size that images are brought to.
    places : array of shape (n_points, 2)
        Centres of the patches, as shares of width and height.
    shares : array of shape (n_points, n_terms)
    """

    picture: int
    kernel: str
    radius: int
    places: Array
    shares: Array


@dataclass(frozen=True, eq=False)
class Explanation:
    """The terms of one set and what speaks for them.

    Parameters
    ----------
    name : str
        Of the set.
    terms : list of str
    scores, probabilities : arrays of shape (n_terms,)
    predicted : array of bool
    base : array of shape (n_terms,)
        The part of the scores that does not depend on the set.
    kernels : dict
        Name of a kernel -> its part of the scores (n_terms,); with ``base`` they sum to them.
    neighbours : list of (name, similarity, terms)
        The labelled sets that are most alike.
    evidence : list of Evidence
        Where in the pictures the parts of the pyramid kernels lie; empty without such kernels.
    """

    name: str
    terms: list[str]
    scores: Array
    probabilities: Array
    predicted: np.ndarray
    base: Array
    kernels: dict[str, Array]
    neighbours: list[tuple[str, float, list[str]]]
    evidence: list[Evidence]

    def top(self, n: int = 5) -> list[tuple[str, float]]:
        """The most probable terms."""
        order = np.argsort(-self.probabilities)[:n]
        return [(self.terms[j], float(self.probabilities[j])) for j in order]


def explain(model: ImageAnnotator, one: ImageSet, vectors: Vectors | None = None) -> Explanation:
    """What :meth:`ImageAnnotator.explain` gives; vectors of the set may be known already."""
    vectors = vectors or model._vectors([one])
    K, own = model._each_kernel([one], vectors)
    factors = _factors(model, own[:, 0])
    parts = np.array([f * (k[0] / np.sqrt(model._own_)) for f, k in zip(factors, K, strict=True)])
    by_kernel = parts @ model._coefficients_
    scores = by_kernel.sum(axis=0) + model._intercept_
    return Explanation(
        name=one.name,
        terms=model.terms_,
        scores=scores,
        probabilities=model.probabilities(scores),
        predicted=scores > model.thresholds_,
        base=model._intercept_,
        kernels={k.name: p for k, p in zip(model._kernels_, by_kernel, strict=True)},
        neighbours=nearest_sets(model, parts.sum(axis=0)),
        evidence=[
            piece
            for kernel, factor in zip(model._kernels_, factors, strict=True)
            if kernel.plan.kind == "pyramid" and factor > 0
            for piece in _pyramid_evidence(model, kernel, factor, one, vectors)
        ],
    )


def _factors(model: ImageAnnotator, own: Array) -> Array:
    """theta over the root of the self-similarity of the set."""
    size = float(model._theta_ @ own)
    return np.asarray(model._theta_ / np.sqrt(size if size > 0 else 1.0))


def nearest_sets(
    model: ImageAnnotator, similarity: Array, most: int = NEIGHBOURS
) -> list[tuple[str, float, list[str]]]:
    """The labelled sets that a row of the mixed kernel says are most alike."""
    order = np.argsort(-similarity, kind="stable")[:most]
    found = []
    for i in order:
        carried = [t for t, has in zip(model.terms_, model._Y_[i], strict=True) if has]
        found.append((model.set_names_[model._labelled_[i]], float(similarity[i]), carried))
    return found


def _pyramid_evidence(
    model: ImageAnnotator, kernel: ViewKernel, factor: float, one: ImageSet, vectors: Any
) -> list[Evidence]:
    descriptor = next(d for d in model._descriptors_ if d.name == kernel.plan.descriptor)
    places = descriptor.places(model.size_)
    own = vectors[descriptor.name][0]
    shown = [i for i, p in enumerate(one.pictures) if kernel.view in (None, p.view)]
    if not shown:
        return []
    points = [kernel.preparation_.transform(own[i], places) for i in shown]
    shares = factor * point_shares(
        kernel.kernel_, np.vstack(points), _training_weights(model, kernel)
    )
    pieces = np.split(shares, np.cumsum([len(p) for p in points])[:-1])
    where = places if places is not None else np.array([[0.5, 0.5]], dtype=np.float32)
    radius = descriptor.radius or max(model.size_) // 2
    return [
        Evidence(i, kernel.name, radius, where, piece)
        for i, piece in zip(shown, pieces, strict=True)
    ]


def _training_weights(model: ImageAnnotator, kernel: ViewKernel) -> Array:
    """Coefficients of all sets seen in fit: over their self-similarities, 0 without labels."""
    A = np.zeros((len(model.set_names_), len(model.terms_)))
    A[model._labelled_] = model._coefficients_ / np.sqrt(model._own_)[:, None]
    A[~kernel.filled_] = 0
    return A


def point_shares(pyramid: Any, points: Array, A: Array) -> Array:
    """The part of every point of one set in sum_T A_T K(S, T): (n_points, n_terms).

    K is the normalized pyramid match; A has a row for every set seen in fit.
    """
    counts = pyramid.counts_
    bins, steps = pyramid.bins_, pyramid.bins_.steps
    sizes = np.sqrt(pyramid._square(counts))
    U = pyramid.features(counts)
    G = U.T @ (A / np.where(sizes > 0, sizes, 1)[:, None])
    path = bins.paths(points)
    known = path >= 0
    n_b = np.bincount(path[known], minlength=bins.n_bins)
    most = counts.max(axis=0).toarray().ravel()
    start = np.cumsum(most) - most
    shares = np.zeros((len(points), A.shape[1]))
    filled = np.flatnonzero(n_b)
    per_point = np.zeros((bins.n_bins, A.shape[1]))
    for b in filled:
        held = G[start[b] : start[b] + min(n_b[b], most[b])]
        per_point[b] = np.sqrt(steps[b]) * held.sum(axis=0) / n_b[b]
    for level in range(path.shape[1]):
        inside = known[:, level]
        shares[inside] += per_point[path[inside, level]]
    own = float(n_b @ steps)
    return shares / np.sqrt(own)
