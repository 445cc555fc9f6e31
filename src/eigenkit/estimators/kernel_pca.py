"""Principal components in the space of a kernel."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from eigenkit.data import Data, as_dense, project
from eigenkit.estimators._kernel_space import KernelSpace
from eigenkit.estimators._validation import NO_DIGITS, check_scores
from eigenkit.kernels import Kernel, KernelRows, check_kernel_size, landmark_map
from eigenkit.moments import Rows
from eigenkit.numerics.linalg import Array, Cholesky
from eigenkit.numerics.tolerances import SOLVABLE
from eigenkit.pencil import Answer
from eigenkit.shell import UNCHANGED, check_at_most, check_flag, take_parameters
from eigenkit.solvers.spectral import principal


class KernelPCA(KernelSpace):
    """Principal component analysis in the space of a kernel.

    Kc = V diag(eigenvalues) V' for the centred kernel; the scores of the training samples are
    V diag(sqrt(eigenvalues)). With a linear kernel these are the principal components of X.

    Parameters
    ----------
    n_components : int, optional
        Number of components, at most the rank of Kc; all by default.
    {kernel}
    alpha : float
        Ridge of the regression from scores back to samples, for :meth:`inverse_transform`.
    fit_inverse_transform : bool
        Whether to learn that regression.
    {landmarks}

    Attributes
    ----------
    eigenvalues_ : array of shape (n_components_,)
        Of the centred kernel matrix, decreasing.
    explained_variance_ratio_ : array of shape (n_components_,)
        Their shares of its trace.
    eigenvectors_ : array of shape (n_fit, n_components_)
        Of the centred kernel matrix: ``components_.T * sqrt(eigenvalues_)``. Not with landmarks.
    dual_coef_ : array of shape (n_fit, n_features)
        Regression of the samples on the kernel of their scores, for the inverse.
    {kernel_attributes}
    {landmark_attributes}
    {report}
    n_components_, n_features_in_, feature_names_in_

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from eigenkit import KernelPCA
    >>> X, _ = make_circles(factor=0.3, random_state=0)
    >>> model = KernelPCA(2, kernel="rbf", gamma=2.0, fit_inverse_transform=True, alpha=0.01).fit(X)
    >>> model.inverse_transform(model.transform(X)).shape
    (100, 2)
    """

    _instead: ClassVar = {
        "copy_X": UNCHANGED,
        "n_jobs": "threads are those of the linear algebra library",
        "remove_zero_eig": "components without variance are never kept",
        **dict.fromkeys(
            ("eigen_solver", "iterated_power", "tol", "max_iter"),
            "the eigenvalues are exact, and a few of many come from a Lanczos method",
        ),
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        kernel: Any = "linear",
        gamma: Any = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: Any = None,
        alpha: float = 1.0,
        fit_inverse_transform: bool = False,
        approximation: str | None = None,
        n_landmarks: int = 500,
        random_state: Any = None,
    ) -> None:
        take_parameters(self, locals())

    n_components: int | None
    alpha: float
    fit_inverse_transform: bool
    _supervised = False
    _rules: ClassVar = {"fit_inverse_transform": check_flag}

    def _settings(self) -> None:
        self._check_kernel()
        if self.fit_inverse_transform and self._precomputed:
            raise ValueError(
                "fit_inverse_transform=True needs the samples themselves, but kernel='precomputed' "
                "gives only their inner products: set it to False."
            )

    _take = KernelSpace._rows

    def _state(self, sample: Rows) -> tuple[Rows, Data]:
        """The rows, and what they are to the kernel."""
        return sample.positive(), self._in_kernel_space(sample).centered()

    def _check_informative(self, problem: tuple[Rows, Data]) -> None:
        self._check_kernel_matrix(problem[1])

    def _solve(self, problem: tuple[Rows, Data], settings: None) -> Answer:
        return principal(problem[1], self.n_components)

    def _keep(self, problem: tuple[Rows, Data], solution: Answer) -> None:
        rows, Z = problem
        W, values, trace = solution.found
        if not len(values):
            raise ValueError(NO_DIGITS)
        rank = "the rank of the centred kernel"
        check_at_most("n_components", self.n_components, len(values), rank)
        W, self.mean_ = self._on_rows(W, Z.mean)
        self.eigenvalues_ = values
        self.explained_variance_ratio_ = values / trace
        self.n_components_ = len(values)
        self.components_ = np.ascontiguousarray(W.T)
        if self.fit_inverse_transform:
            self._keep_inverse(rows)

    def _keep_inverse(self, rows: Rows) -> None:
        """Ridge regression of X on the kernel of the scores, as scikit-learn does it."""
        T = project(KernelRows(self.kernel_, rows.X, self.X_fit_), self.mean_, self.components_.T)
        dense = as_dense(rows.X)
        given = Kernel(self.kernel, self.gamma_, self.degree, self.coef0, self.kernel_params)
        self._score_kernel_ = given
        index = slice(None) if self.approximation is None else self.landmarks_
        self._score_fit_ = T[index]
        K = given(T, self._score_fit_)
        if self.approximation is None:
            check_kernel_size(len(K))
            self.dual_coef_ = _ridge(K, dense, self.alpha, rows.weight)
        else:
            N = landmark_map(K[index])
            F, w = K @ N, rows.weights()[:, None]
            self.dual_coef_ = N @ _ridge(F.T @ (F * w), F.T @ (dense * w), self.alpha)

    def inverse_transform(self, X: Any) -> Array:
        """Pre-images: the samples whose scores are about these, by a learned regression.

        {samples_of_scores}
        """
        check_is_fitted(self)
        if not hasattr(self, "dual_coef_"):
            raise NotFittedError(
                "inverse_transform needs fit_inverse_transform=True when the model is fitted."
            )
        scores = check_scores("X", X, self.n_components_)
        K = self._score_kernel_(scores.astype(np.float64), self._score_fit_)
        return (K @ self.dual_coef_).astype(self._dtype_, copy=False)

    @property
    def eigenvectors_(self) -> Array:
        """Eigenvectors of the centred kernel matrix, one column per component."""
        check_is_fitted(self)
        if self.approximation is not None:
            raise AttributeError(
                "eigenvectors_ has a row for every sample, which a model by landmarks does not "
                "keep: use transform."
            )
        return np.asarray(self.components_.T * np.sqrt(self.eigenvalues_))


def _ridge(K: Array, X: Array, alpha: float, weight: Array | None = None) -> Array:
    """(K + alpha W^-1)^-1 X; where that is singular, the solution of least norm."""
    B = np.array(K)
    B.flat[:: len(B) + 1] += alpha if weight is None else alpha / weight
    factor = Cholesky.of(B.copy())
    if factor is not None and factor.rcond > SOLVABLE:
        return factor.solve(np.asarray(X, dtype=np.float64))
    return np.asarray(np.linalg.lstsq(B, X, rcond=None)[0])
