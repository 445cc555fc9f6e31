"""From labels to targets: the methods differ in nothing else.

A target turns Y (n x k: 0/1 labels J, or real responses) into H (n x m), a factor of the
label similarity S = H H'. Row i of H depends on row i of Y and on sums over all samples
(:class:`Labels`), so the same function serves whole data sets and, one row per distinct
label set, streams. Where a degree is zero its inverse root counts as zero.

======== ==================================================================
name     row of H (before centring)
======== ==================================================================
cca      y F, with F the whitener of the centred Y
opls     y
lda      J_ij / sqrt(delta_j)
star     a_i^(-1/2) J_ij w_j^(1/2) / delta_j,  a_i = sum_j J_ij w_j / delta_j
clique   c_i^(-1/2) J_ij w_j^(1/2),  c_i = sum_j J_ij (delta_j - 1) w_j
zhou     v_i^(-1/2) J_ij (w_j / delta_j)^(1/2),  v_i = sum_j J_ij w_j
bolla    J_ij (w_j / delta_j)^(1/2): zhou without the degrees of the samples
rodriguez J_ij w_j^(1/2): clique without them
======== ==================================================================

delta_j is the number (total weight) of samples with label j, w_j the weight of label j.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from eigenkit.data.matrices import scaled, sum_of_squares
from eigenkit.numerics.linalg import Array, ratio, symmetric_whitener
from eigenkit.numerics.tolerances import EPS, grain


@dataclass(frozen=True)
class Labels:
    """What a target may know of all the samples."""

    degree: Array  # column sums of Y over the samples
    # Any matrix with factor'factor = Gc'Gc for the local part G of the target (Y itself for most),
    # where that is linear in Y.
    factor: Array
    weight: Array | float = 1.0  # of the labels (hyperedges)
    one: float = 1.0  # what one sample weighs
    # How much of Y may be rounding, and so what its rank is, follows from the number of samples,
    # what they weigh together and the precision of Y as it was given.
    n_rows: int = 0
    total: float = np.inf
    eps: float = EPS

    @cached_property
    def whiteners(self) -> tuple[Array, Array]:
        """F and F^+ with H = Yc F, H'H = I on the range of Yc, and H F^+ = Yc.

        F is the symmetric root, whose columns stand for the labels in their order: a lasso of
        the columns of H finds the same variables in whatever order the labels are listed.
        """
        n = max(self.n_rows, len(self.factor))
        return symmetric_whitener(self.factor, self.grain, n)

    @property
    def grain(self) -> Array:
        """The lengths of columns of Yc that rounding of the input alone can produce."""
        own = np.maximum(sum_of_squares(self.factor), 0.0)
        squares = own + self.degree**2 / self.total
        return np.asarray(grain(squares, max(self.n_rows, self.factor.shape[0]), self.eps))

    def penalized(self, share: float, ridge: float) -> Labels:
        """The same with share Yc'Yc + ridge I in place of Yc'Yc."""
        if ridge == 0 and share == 1:
            return self
        below = np.sqrt(ridge) * np.eye(self.factor.shape[1])
        return replace(self, factor=np.vstack([np.sqrt(share) * self.factor, below]))


def _as_it_is(Y: Any, _: Any) -> Any:
    return Y


@dataclass(frozen=True)
class Target:
    """How rows of Y become rows of H: ``finish(local(Y, weight), labels)``."""

    finish: Callable[[Any, Labels], Any]  # takes the sums over all samples
    # Whether that is a product with a matrix: sums of local rows are all that a stream must know.
    linear: bool
    # What a row is by itself, given the weights of the labels.
    local: Callable[[Any, Array | float], Any] = _as_it_is
    sparse: bool = True  # H has its zeros where Y has them: sparse Y then stays sparse
    # The singular values of H are all alike: only X can tell which of its directions matter.
    whitened: bool = False

    @property
    def keeps_labels(self) -> bool:
        """Whether Y can be told from what a stream keeps beside X."""
        return self.local is _as_it_is

    def rows(self, Y: Any, labels: Labels) -> Any:
        return self.finish(self.local(Y, labels.weight), labels)


def _whitened(Y: Array, labels: Labels, share: float = 1.0, ridge: float = 0.0) -> Array:
    return Y @ labels.penalized(share, ridge).whiteners[0]


def whitened_with_ridge(share: float, ridge: float) -> Target:
    """The target of CCA with a penalty on y: F'(share Yc'Yc + ridge I) F = I."""
    return replace(TARGETS["cca"], finish=partial(_whitened, share=share, ridge=ridge))


def _star(J: Any, labels: Labels) -> Any:
    share = ratio(1.0, labels.degree)
    a = J @ (labels.weight * share)
    return scaled(J, ratio(1.0, np.sqrt(a)), np.sqrt(labels.weight) * share)


def _clique(J: Any, labels: Labels) -> Any:
    # Faded labels may count less than one sample: they have no other to share an edge with.
    c = J @ (labels.weight * np.maximum(labels.degree - labels.one, 0.0))
    roots = np.broadcast_to(np.sqrt(labels.weight), labels.degree.shape)
    return scaled(J, ratio(1.0, np.sqrt(c)), roots)


def _shared(J: Any, weight: Array | float) -> Any:
    v = J @ np.broadcast_to(weight, J.shape[1:])
    return scaled(J, ratio(1.0, np.sqrt(v)))


def _by_degree(J: Any, labels: Labels) -> Any:
    return scaled(J, columns=np.sqrt(labels.weight) * ratio(1.0, np.sqrt(labels.degree)))


def _rodriguez(J: Any, labels: Labels) -> Any:
    return scaled(J, columns=np.broadcast_to(np.sqrt(labels.weight), labels.degree.shape))


TARGETS: dict[str, Target] = {
    "cca": Target(_whitened, linear=True, sparse=False, whitened=True),
    "opls": Target(_as_it_is, linear=True),
    "lda": Target(_by_degree, linear=True, whitened=True),
    "star": Target(_star, linear=False),
    "clique": Target(_clique, linear=False),
    "zhou": Target(_by_degree, linear=True, local=_shared),
    "bolla": Target(_by_degree, linear=True),
    "rodriguez": Target(_rodriguez, linear=True),
}
