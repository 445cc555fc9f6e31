"""Why a set of images got its terms: parts of the score, exactly.

The score of a term is linear in the kernels, f(S) = sum_T a_T K(S, T) + b for each sum of them that
is regressed on, so every kernel has its part of it (and a regression on what the others say of all
terms has one). The kernels of pyramids and of Fisher vectors are linear in numbers in which every
point of an image has its part, and so has it in the score (``sharing`` in
:mod:`eigenkit.kernels.sets`); the parts add up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, compress
from typing import Any

import numpy as np

from eigenkit.images.descriptors import Descriptor
from eigenkit.images.extraction import Vectors
from eigenkit.images.files import ImageSet
from eigenkit.numerics.linalg import Array

NEIGHBOURS = 5
# The name of the part of the regression on the probabilities of all terms.
ALL_TERMS = "all terms"


@dataclass(frozen=True, eq=False)
class Evidence:
    """Parts of the scores that lie at points of one picture.

    Parameters
    ----------
    picture : int
        Its number in the set.
    kernel : str
    radius : int or None
        Of the patches, in pixels of the size that images are brought to; None where points are
        not patches: one for the whole picture, or vectors of a descriptor of your own.
    places : array of shape (n_points, 2), or None
        Centres of the patches, as shares of width and height; None where points are not patches.
    shares : array of shape (n_points, n_terms)
        In the order of the vectors that the descriptor gives.
    """

    picture: int
    kernel: str
    radius: int | None
    places: np.ndarray | None
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
        "all terms" is the part that follows from what the kernels say of all terms.
    neighbours : list of (name, similarity, terms)
        The labelled sets that are most alike.
    evidence : list of Evidence
        Where in the pictures the parts of pyramids and Fisher vectors lie; empty without such
        kernels.
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


class Explainer:
    """Explains sets with one fitted annotator; what all sets need is computed once."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.by_points = {
            j: kernel.kernel_.sharing(model._labelled_)
            for j, kernel in enumerate(model._kernels_)
            if hasattr(kernel.kernel_, "sharing") and model._thetas_[:, j].any()
        }

    @property
    def descriptors(self) -> list[Descriptor]:
        """The descriptors whose vectors :meth:`evidence` needs."""
        names = {self.model._kernels_[j].plan.descriptor for j in self.by_points}
        return [d for d in self.model._descriptors_ if d.name in names]

    def __call__(
        self,
        one: ImageSet,
        vectors: Vectors | None = None,
        drawn: Callable[[Array], np.ndarray] | None = None,
    ) -> Explanation:
        """The explanation of a set, whose vectors may be known already.

        ``drawn`` says by the scores of which terms there is to be evidence; by default of all.
        """
        model = self.model
        vectors = vectors or model._vectors([one])
        K, own = model._each_kernel([one], vectors)
        A = _coefficients(model, own[:, 0], model._coefficients_)
        parts = {k.name: K[j, 0] @ A[j] for j, k in enumerate(model._kernels_)}
        scores = sum(parts.values()) + model._intercept_
        if model._second_ is not None:
            parts[ALL_TERMS] = model._second_.scores(scores[None])[0]
            scores = scores + parts[ALL_TERMS]
        A = model._coefficients_ if drawn is None else model._coefficients_[:, :, drawn(scores)]
        return Explanation(
            name=one.name,
            terms=model.terms_,
            scores=scores,
            probabilities=model.probabilities(scores),
            predicted=scores > model.thresholds_,
            base=model._intercept_,
            kernels=parts,
            neighbours=nearest_sets(model, model._rows(K, own, 0)[0]),
            evidence=self.evidence(one, vectors, A),
        )

    def evidence(self, one: ImageSet, vectors: Vectors, A: Array) -> list[Evidence]:
        """Where the parts of kernels lie that have them; A: coefficients of all regressions."""
        own = [k.view is None or k.view in one.views for k in self.model._kernels_]
        each = _coefficients(self.model, np.array(own, dtype=float), A)
        pieces = (self._of_kernel(j, one, vectors, each[j]) for j in self.by_points)
        return list(chain.from_iterable(pieces))

    def _of_kernel(self, j: int, one: ImageSet, vectors: Vectors, A: Array) -> Iterator[Evidence]:
        kernel = self.model._kernels_[j]
        (descriptor,) = (d for d in self.descriptors if d.name == kernel.plan.descriptor)
        places = descriptor.places(self.model.size_)
        shown = [i for i, p in enumerate(one.pictures) if kernel.view in (None, p.view)]
        own = [vectors[descriptor.name][0][i] for i in shown]
        points = [kernel.preparation_.transform(v, places) for v in own]
        shares = self.by_points[j](np.vstack(points), A) if points else np.zeros((0, 0))
        for i, part in zip(shown, points, strict=True):
            piece, shares = shares[: len(part)], shares[len(part) :]
            yield Evidence(i, kernel.name, descriptor.radius, places, piece)


def _coefficients(model: Any, own: Array, A: Array) -> Array:
    """Of every kernel and labelled set, from those of the regressions on sums of kernels.

    In a sum, a kernel counts by theta over the roots of the self-similarities of both sets.
    """
    sizes = model._thetas_ @ own
    factors = model._thetas_ / np.sqrt(np.where(sizes > 0, sizes, 1))[:, None]
    labelled = np.sqrt(np.where(model._own_ > 0, model._own_, 1))
    return np.asarray(np.einsum("mj,mnt->jnt", factors, A / labelled[:, :, None]))


def nearest_sets(model: Any, similarity: Array) -> list[tuple[str, float, list[str]]]:
    """The labelled sets that a row of the mixed kernel says are most alike."""
    order = np.argsort(-similarity, kind="stable")[:NEIGHBOURS]
    names = [model.set_names_[i] for i in model._labelled_[order]]
    carried = [list(compress(model.terms_, model._Y_[i])) for i in order]
    return list(zip(names, similarity[order].tolist(), carried, strict=True))
