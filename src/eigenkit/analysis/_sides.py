"""What a test permutes: every side that a method compares, as a matrix with one row per sample.

Only the code at the end knows estimators.

A method normalizes a projection w of X by ``share X'X + ridge I``. In coordinates in which
that is the identity, X (freed of nuisance variables) becomes

    A = U diag(s / sqrt(share s^2 + ridge)),    X = U diag(s) V'

and the method is the singular value decomposition of A'B for its two sides. ``share=1,
ridge=0`` whitens, ``share=0, ridge=1`` leaves covariances. A kernel matrix, or X X' where
there are more features than samples, gives U and s as well, so sparse data stay sparse.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, clone

from eigenkit import estimators as est
from eigenkit.analysis._draws import check_room, refuse_blocks, what_it_is
from eigenkit.data import as_dense
from eigenkit.data.matrices import OFFSET_LIMIT, row_slices
from eigenkit.estimators._cross_decomposition import CrossDecomposition
from eigenkit.estimators._encoding import as_labels
from eigenkit.estimators._estimator import Projection
from eigenkit.estimators._validation import check_X
from eigenkit.estimators.multiview import per_view
from eigenkit.numerics.linalg import Array, eigenpairs, power_of_two, truncated_svd
from eigenkit.numerics.tolerances import EPS, above_rounding
from eigenkit.targets import Labels

# If no more than this share of a column is left without its mean and the nuisance variables, it
# is rounding.
NOTHING_LEFT = 100 * EPS

# How many numbers of such columns are made dense at a time.
BLOCK = 2**22


@dataclass(frozen=True)
class View:
    """One side of a method: its data, and how the method normalizes a projection of them.

    ``data`` is a dense or CSR matrix, or with ``kernel`` a kernel matrix. ``scale`` brings
    the columns to unit variance first.
    """

    data: Any
    share: float
    ridge: float
    scale: bool = False
    kernel: bool = False

    @property
    def whitened(self) -> bool:
        """Whether singular values are correlations, shrunken or not."""
        return self.share > 0

    @property
    def _free_units(self) -> bool:
        """Whether the units of the columns do not matter, so that each may have its own."""
        return not self.kernel and (self.scale or self.ridge == 0)

    def rows(self, N: Array) -> tuple[Array, float]:
        """A and a factor to multiply it with; if whitened, its singular values are at most 1.

        N is an orthonormal basis of the nuisance variables, the constant among them.
        """
        n, d = self.data.shape
        check_room(
            f"{n} samples of {d} features need a matrix of",
            n * min(n, d),
            "test a random part of the samples, or reduce the features by PCA first",
        )
        U, s, unit = self._spectrum(N)
        root = np.sqrt(self.ridge) / unit
        if self.whitened:
            return U * (s / np.hypot(s, root / np.sqrt(self.share))), self.share**-0.5
        largest = float(s.max(initial=0.0)) or 1.0
        return U * (s / largest), largest * unit / np.sqrt(self.ridge)

    def _spectrum(self, N: Array) -> tuple[Array, Array, float]:
        """U, s and a unit: the singular values are s times the unit."""
        if self.kernel:
            return _of_gram(self.data, N)
        wide = self.data.shape[1] > self.data.shape[0]
        if sparse.issparse(self.data) and wide:
            return self._sparse_spectrum(N)
        # A has as many numbers as X here: nothing is gained by keeping X sparse.
        X = np.asarray(as_dense(self.data), dtype=np.float64)
        unit = self._units(np.abs(X).max(axis=0, initial=0.0))
        U, s, _ = truncated_svd(self._residuals(X / unit, N), len(X), 0.0)
        return U, s, self._factor(unit)

    def _units(self, size: Array) -> Array:
        """Powers of two that bring the columns, or all of them together, to the order of 1."""
        whole = np.full_like(size, size.max(initial=0.0))
        return power_of_two(size if self._free_units else whole)

    def _factor(self, unit: Array) -> float:
        """What the singular values are to be multiplied with, for columns in these units."""
        if self.scale:
            return float(np.sqrt(self.data.shape[0] - 1))
        return 1.0 if self._free_units else float(unit[0])

    def _residuals(self, X: Array, N: Array) -> Array:
        """X freed of N, scaled where that is asked for or does not matter."""
        R, size = residuals(X, N)
        if self._free_units:
            R /= np.where(size > 0, size, 1.0)
        return R

    def _sparse_spectrum(self, N: Array) -> tuple[Array, Array, float]:
        """From X X', by products of sparse matrices but for columns of a large mean."""
        X = sparse.csc_array(self.data, dtype=np.float64)
        unit = self._units(as_dense(abs(X).max(axis=0)).ravel())
        X.data /= np.repeat(unit, np.diff(X.indptr))
        squares, along = np.asarray(X.power(2).sum(axis=0)).ravel(), X.T @ N
        left = squares - np.einsum("ij,ij->i", along, along)
        far = left * (1 + OFFSET_LIMIT**2) <= squares
        near = X[:, ~far]
        if self._free_units:
            near.data /= np.repeat(np.sqrt(left[~far]), np.diff(near.indptr))
        K = np.asarray((near @ near.T).toarray())
        columns = np.flatnonzero(far & (squares > 0))
        for some in row_slices((len(columns), X.shape[0]), 8 * BLOCK):
            R = self._residuals(X[:, columns[some]].toarray(), N)
            K += R @ R.T
        U, s, root = _of_gram(K, N)
        return U, s, root * self._factor(unit)


def residuals(X: Array, N: Array) -> tuple[Array, Array]:
    """X - N N'X and the lengths of its columns; zeros where nothing but rounding is left."""
    before = np.linalg.norm(X, axis=0)
    R = X - N @ (N.T @ X)
    R -= N @ (N.T @ R)
    size = np.linalg.norm(R, axis=0)
    gone = size <= NOTHING_LEFT * before
    R[:, gone] = 0.0
    return R, np.where(gone, 0.0, size)


def _of_gram(K: Array, N: Array) -> tuple[Array, Array, float]:
    """U, s and a unit from X X', which is freed of N."""
    for _ in range(2):  # the first time leaves the rounding of what cancels
        K = K - N @ (N.T @ K)
        K = K - (K @ N) @ N.T
    unit = float(power_of_two(np.max(np.abs(K), initial=0.0)))
    squares, U = eigenpairs(K / unit)
    keep = above_rounding(squares, len(K))
    return np.ascontiguousarray(U[:, keep]), np.sqrt(squares[keep]), float(np.sqrt(unit))


# (share, ridge) of the matrix share X'X + ridge I that normalizes a projection.
WHITENED = (1.0, 0.0)
AS_IT_IS = (0.0, 1.0)


def sides(estimator: Any, X: Any, y: Any) -> list[View]:
    """The views of the samples that a method compares: X first, then y (or more views).

    Fitting the method checks all that a user may have got wrong.
    """
    check_testable(estimator)
    refuse_blocks(X)
    model = clone(estimator).fit(X, y)
    if isinstance(model, est.MultiviewCCA):
        joint = model._check_X(X, reset=False)
        alphas = per_view("alpha", model.alpha, len(model._columns_))
        views = zip(model._columns_, alphas, strict=True)
        return [View(joint[:, own], 1.0, alpha) for own, alpha in views]
    X = check_X(BaseEstimator(), X, reset=True, min_samples=2)
    if isinstance(model, CrossDecomposition):
        return _covariance(model, X, y)
    return [_x_side(model, X), _y_side(model, X.shape[0], y)]


# Methods of ours that cannot be tested, and why.
_UNTESTED: dict[Any, str] = {
    est.MultilabelLDA: "which gives samples unequal weights, so their rows cannot be exchanged: "
    "use HypergraphSpectral, or CCA on the label matrix",
    est.LeastSquaresProjection: "which is not a singular value problem: test the projection that "
    "it stands for, or use bootstrap for how often features are selected",
    (est.SparsePLS, est.SparsePLSDA, est.OrthogonalPLS): "whose components are not those of a "
    "singular value problem: test PLSRegression or PLSDA, or use bootstrap",
}


def check_testable(estimator: Any) -> None:
    """Refuse an estimator whose components cannot be tested."""
    name = what_it_is(estimator)
    known = isinstance(estimator, Projection | CrossDecomposition | est.MultiviewCCA)
    if not known or isinstance(estimator, est.PCA):
        raise TypeError(
            f"estimator is {name}: permutation_test takes CCA, CanonicalRidge, MultiviewCCA, "
            "OrthonormalizedPLS, LDA, HypergraphSpectral, the PLS family, and kernel versions."
        )
    for kinds, why in _UNTESTED.items():
        if isinstance(estimator, kinds):
            raise TypeError(f"estimator is {name}, {why}.")
    for parameter in ("shrinkage", "label_rank"):
        if getattr(estimator, parameter, None) is not None:
            raise ValueError(
                f"{name} with {parameter}={getattr(estimator, parameter)!r} cannot be tested: set "
                f"{parameter}=None; a ridge (alpha) is taken into account."
            )
    if getattr(estimator, "approximation", None) is not None:
        raise ValueError(
            f"{name} with approximation={estimator.approximation!r} uses another kernel: set "
            "approximation=None, because permutation_test needs the kernel matrix anyway."
        )


def _covariance(model: CrossDecomposition, X: Any, y: Any) -> list[View]:
    """The PLS family: covariances, of PLSDA's classes as they are coded."""
    scale_x, scale_y = model._settings()
    Y = model._encode(as_labels(y), X.shape[0], None, reset=True)
    coding = model.coding if isinstance(model, est.PLSDA) else ""
    Y = Y[:, :-1] if coding == "reduced" else Y
    penalty = WHITENED if coding == "between" else AS_IT_IS
    return [View(X, *AS_IT_IS, scale=scale_x), View(Y, *penalty, scale=scale_y)]


def _x_side(model: Any, X: Any) -> View:
    if isinstance(model, est.CCA):
        return View(X, *model._x_penalty())
    penalty = AS_IT_IS if isinstance(model, est.KernelPLS) else (1.0, float(model.alpha))
    if not hasattr(model, "kernel_"):
        return View(X, *penalty)
    return View(np.asarray(model.kernel_(X, model.X_fit_), dtype=np.float64), *penalty, kernel=True)


def _y_side(model: Any, n: int, y: Any) -> View:
    Y = as_dense(model._encode(as_labels(y), n, None, False))
    if isinstance(model, est.HypergraphSpectral):
        # H is built once: permuting the samples permutes its rows.
        degree = Y.sum(axis=0)
        labels = Labels(degree, Y - degree / len(Y), model._edge_weight)
        return View(np.asarray(model._target.rows(Y, labels)), *AS_IT_IS)
    if isinstance(model, est.CCA):
        return View(Y, *model._y_penalty())
    return View(Y, *(WHITENED if isinstance(model, est.LDA | est.KernelCCA) else AS_IT_IS))
