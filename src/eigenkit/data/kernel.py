"""A kernel as data: Z has the features of the samples as rows, and only Z Z' = Kc is known.

With row weights w (r = sqrt(w), s = sum(w)) the centred, weighted features and their kernel are

    Z = diag(r) (Phi - 1 mean'),    Z Z' = diag(r) (I - 1 w'/s) K (I - w 1'/s) diag(r)

A direction is Z'A for dual coefficients A, and A stands for it: ``rmatmat`` returns what it is
given, ``matmat`` is Kc A, ``inner(A, B)`` is A'Kc B.
"""

from __future__ import annotations

import numpy as np

from eigenkit.data.matrices import SAFE_RANGE, column_sums, largest, one_sample
from eigenkit.data.protocol import Data
from eigenkit.numerics.linalg import Array, power_of_two
from eigenkit.numerics.tolerances import EPS


class CenteredKernel(Data):
    """The features of samples, known by the centred and weighted kernel matrix Kc = Z Z'.

    K (n x n) is symmetric, of the precision ``eps``, and with ``overwrite`` its memory may be used
    for the result; weights are positive. Eigenvalues up to ``rounding`` may come from the rounding
    of the numbers that K was computed from.

    >>> X = np.array([[1.0], [3.0], [5.0]])
    >>> CenteredKernel(X @ X.T).K
    array([[ 4.,  0., -4.],
           [ 0.,  0.,  0.],
           [-4.,  0.,  4.]])
    """

    decomposable, plain = True, False
    unit: float = 1.0

    def __init__(
        self,
        K: Array,
        weight: Array | None = None,
        *,
        rounding: float = 0.0,
        eps: float = EPS,
        overwrite: bool = False,
    ) -> None:
        n = len(K)
        self.rounding, self.eps = rounding, eps
        self.shape = (n, n)
        self.n_samples = n
        self.weight, self.r = weight, None if weight is None else np.sqrt(weight)
        self.one = 1.0 if weight is None else one_sample(weight)
        self.total = float(n if weight is None else weight.sum())
        self.constant = np.zeros(n, dtype=bool)
        size = largest(K)
        safe = size == 0.0 or SAFE_RANGE[0] < size < SAFE_RANGE[1]
        self.unit = 1.0 if safe else float(1.0 / power_of_two(np.asarray(size)))
        # The largest entry before centring, in the units of Kc.
        self.size = size * self.unit * (1.0 if weight is None else float(weight.max()))
        self.mean = column_sums(K, weight) / self.total
        self.K = K = K if overwrite and K.flags.writeable else K.copy()
        K *= self.unit
        # Twice, as the means of the first time carry the rounding of entries that cancel.
        for _ in range(2):
            mean = column_sums(K, weight) / self.total
            overall = float(column_sums(mean, weight)) / self.total
            K -= mean
            K -= (mean - overall)[:, None]
        if self.r is not None:
            K *= self.r
            K *= self.r[:, None]

    # -- products ----------------------------------------------------------------------

    def matmat(self, V: Array) -> Array:
        return np.asarray(self.K @ V)

    def rmatmat(self, U: Array) -> Array:
        """The direction Z'U, by its dual coefficients."""
        return U

    def inner(self, V: Array, W: Array) -> Array:
        return np.asarray(self._dual(V).T @ self.matmat(W))

    def _dual(self, V: Array) -> Array:
        """The coefficients of directions, below which there may be scores (:class:`Scored`)."""
        return V[: len(self.K)]

    def norm(self, V: Array) -> float:
        """The norm of the scores Kc V: the root of tr V'Kc V would have half of the digits."""
        return float(np.linalg.norm(self.matmat(V)))

    def outer(self) -> Array:
        return self.K

    def trace(self) -> float:
        """tr Kc, which is tr Z'Z."""
        return float(np.trace(self.K))

    def with_scores(self) -> Scored:
        """The same kernel, for loops that need many inner products."""
        return Scored(self)

    # -- units -------------------------------------------------------------------------

    def ridge(self, alpha: float) -> float:
        return alpha * self.unit

    def to_X(self, W: Array) -> Array:
        """Dual coefficients for rows k(x, X) as they are: diag(r) W, in the units of K."""
        W, r = self._dual(W), np.ones(len(self.K)) if self.r is None else self.r
        # Without what rounding has left of W along r, which is zero to the equations.
        return self.weighted((W - np.outer(r / self.total, r @ W)) * self.unit)

    def from_X(self, W: Array) -> Array:
        """The dual coefficients of Kc that :meth:`to_X` took to W."""
        return self.unweighted(W) / self.unit

    @property
    def units(self) -> Array:
        """Of the features, of which the kernel has the squares."""
        return np.full(self.shape[1], np.sqrt(self.unit))

    # -- decompositions ----------------------------------------------------------------

    def worst_rounding(self) -> float:
        """The same for all directions."""
        return self.noise(0.0)

    def rounded_squares(self, V: Array, ridge: float | Array) -> Array:
        """Both in terms of the lengths of directions, v'Kc v."""
        return np.asarray((self.noise(0.0) + ridge) * self._squared_lengths(V))

    def _squared_lengths(self, V: Array) -> Array:
        return np.asarray(np.einsum("i...,i...->...", self._dual(V), self.matmat(V)))

    def noise(self, largest: float) -> float:
        """Eigenvalues up to this are rounding, of the samples or of entries before centring.

        The kernel, its means and two centrings round every entry about 8 times. Together these
        errors are a random matrix, whose norm is hardly ever above 2 * 8 sqrt(n) roundings; the
        eigenvalues themselves are known to n roundings.
        """
        n = len(self.K)
        own = (n * EPS + 16 * n**0.5 * self.eps) * self.size
        return float(max(own, self.rounding * self.unit))

    @property
    def vanishes(self) -> bool:
        """Whether the kernel cannot tell any two samples apart."""
        return largest(self.K) <= 16 * self.eps * self.size

    def seconds_for_outer(self) -> float:
        """No cost: the kernel is already known, and features are never formed."""
        return 0.0


class Scored(CenteredKernel):
    """A kernel whose directions carry their scores: n dual coefficients above n scores.

    A loop that only combines directions, and so their scores, multiplies by the kernel once for
    each new one, and never for an inner product.
    """

    def __init__(self, kernel: CenteredKernel) -> None:
        vars(self).update(vars(kernel))
        self.shape = len(self.K), 2 * len(self.K)

    def matmat(self, V: Array) -> Array:
        return V[len(self.K) :]

    def rmatmat(self, U: Array) -> Array:
        """The direction Z'U, with its scores Kc U."""
        return np.concatenate([U, self.K @ U])

    def norm(self, V: Array) -> float:
        """The length of all directions together."""
        return float(np.sqrt(max(float(np.sum(self._squared_lengths(V))), 0.0)))
