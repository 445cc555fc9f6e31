"""Several regressions for the same terms, whose log-odds add up.

A sum of kernels has one alpha and one set of weights for a term, whatever each kernel knows about
it. Where every kernel has a regression of its own, one that says nothing of a term gives all sets
nearly the same log-odds, and counts for little in the mean. In it, a kernel counts by the square of
what its mean AUC is above chance.

What all terms get is a description of a set, too: sets with like descriptions have like terms. A
second regression has a Gaussian of the roots of the probabilities as its kernel, and is a quarter
of the scores. Training sets are described by what regressions without them say.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from eigenkit.evaluation.metrics import mean_auc
from eigenkit.images.ridge import Ridge, calibrate, fit_ridge, probabilities
from eigenkit.kernels.sets import MeanMap
from eigenkit.numerics.linalg import Array
from eigenkit.numerics.threads import ahead, blas_threads

# The part of the second regression in the scores.
SHARE = 0.25
# What counts as an AUC above chance where there is none.
LEAST = 0.01


@dataclass(frozen=True, eq=False)
class Second:
    """The regression on what the first ones say of all terms.

    ``slopes`` and ``offsets`` (n_terms,) make log-odds of the scores that it is given.
    """

    kernel: MeanMap  # a Gaussian, with the training sets
    ridge: Ridge
    slopes: Array
    offsets: Array

    def scores(self, S: Array) -> Array:
        """Its part of the scores, from those of the first regressions."""
        X = roots(self.slopes * S + self.offsets)
        return self.ridge.scores(self.kernel.transform_block(X, np.ones(len(X), dtype=np.intp)))

    def calibrated(self, slopes: Array, offsets: Array) -> Second:
        """Slopes times its scores, where those that it is given are ``slopes * S + offsets``."""
        own = self.slopes / slopes
        ridge = self.ridge.calibrated(slopes, 0.0)
        return Second(self.kernel, ridge, own, self.offsets - own * offsets)


@dataclass(frozen=True, eq=False)
class Committee:
    """Fitted regressions whose scores add up.

    ``held_out`` (n, n_terms) are log-odds of every set by all others. The second regression was
    fitted to such numbers, and knows them better than those of new sets: ``weights.fit_judged``
    puts honest ones there. ``alone`` is the same without the second regression, where it was not
    calibrated again since.
    """

    members: tuple[Ridge, ...]  # one for each kernel
    held_out: Array
    counts: Array  # (n_members,): by how much each counts; they sum to one
    second: Second | None = None
    alone: Committee | None = None

    def scores(self, rows: Sequence[Array]) -> Array:
        """Log-odds of new sets, from a kernel with the training sets for every member."""
        parts = [member.scores(K_new) for member, K_new in zip(self.members, rows, strict=True)]
        return with_second(np.sum(parts, axis=0), self.second)

    def calibrated(self, slopes: Array, offsets: Array) -> Committee:
        """With log-odds that are a line of the present ones."""
        n = len(self.members)
        members = tuple(m.calibrated(slopes, offsets / n) for m in self.members)
        second = self.second.calibrated(slopes, offsets) if self.second else None
        return Committee(members, slopes * self.held_out + offsets, self.counts, second)


def with_second(S: Array, second: Second | None) -> Array:
    """Scores with what the second regression, if there is one, makes of them."""
    return S if second is None else S + second.scores(S)


def roots(S: Array) -> Array:
    """Of the probabilities: rare terms are told from absent ones."""
    return np.sqrt(probabilities(S))


def fit_committee(kernels: Iterable[Array], Y: Array, groups: Any = None) -> Committee:
    """A regression for every kernel; of several a mean, and a second one on what they say."""
    with blas_threads(len(Y)):
        members = [ridge for _, ridge in ahead(lambda K: fit_ridge(K, Y, groups), kernels)]
    if len(members) == 1:
        return Committee((members[0],), members[0].held_out, np.ones(1))
    first = _mean(members, Y)
    X = roots(first.held_out)
    kernel = MeanMap(random_state=0).fit_blocks(X, [(X, np.ones(len(X), dtype=np.intp))])
    ridge = fit_ridge(kernel.kernel_of_fit(), Y, groups)
    ridge = ridge.calibrated(SHARE / (1 - SHARE), 0.0)
    held_out = first.held_out + ridge.held_out
    second = Second(kernel, ridge, np.ones(Y.shape[1]), np.zeros(Y.shape[1]))
    both = replace(first, held_out=held_out, second=second)
    return replace(both.calibrated(*calibrate(Y, held_out)), alone=first)


def _mean(members: Sequence[Ridge], Y: Array) -> Committee:
    above = np.array([mean_auc(Y, m.held_out) for m in members]) - 0.5
    counts = np.maximum(above, LEAST) ** 2
    counts /= counts.sum()
    scaled = [m.calibrated(count, 0.0) for m, count in zip(members, counts, strict=True)]
    first = Committee(tuple(scaled), np.sum([m.held_out for m in scaled], axis=0), counts)
    return first.calibrated(*calibrate(Y, first.held_out))
