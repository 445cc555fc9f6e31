"""The projections in the space of a kernel."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from eigenkit.estimators._both_sides import BothSides
from eigenkit.estimators._heads import ResponseProjection, regression
from eigenkit.estimators._kernel_space import NOT_LINEAR, DualCoefficients, KernelProjection
from eigenkit.estimators._streams import Result
from eigenkit.estimators.cca import OrthonormalizedPLS
from eigenkit.estimators.hypergraph import HypergraphSpectral
from eigenkit.estimators.lda import LDA
from eigenkit.exceptions import ConditionWarning
from eigenkit.moments import Problem
from eigenkit.numerics.linalg import Array
from eigenkit.numerics.tolerances import EXACT
from eigenkit.pencil import Pencil, Report, Solution
from eigenkit.shell import take_parameters
from eigenkit.solvers import Choice, Settings
from eigenkit.solvers.deflation import CrossProducts, decompose, gram_pays
from eigenkit.targets import TARGETS


class KernelOrthonormalizedPLS(DualCoefficients, OrthonormalizedPLS, KernelProjection):
    """Orthonormalized partial least squares in the space of a kernel.

    Maximizes ``tr(B'Kc Yc Yc'Kc B)`` over ``B'(Kc Kc + alpha Kc) B = I`` for the centred kernel
    Kc. With all components :meth:`predict` is kernel ridge regression with an intercept, with
    fewer reduced-rank kernel ridge regression. With a linear kernel it is
    :class:`OrthonormalizedPLS`.

    Parameters
    ----------
    n_components : int, optional
        Number of components, at most the rank of Kc Yc; all by default.
    {kernel_ridge}

    Attributes
    ----------
    {kernel_components}
    {dual_coefficients}

    Examples
    --------
    >>> import numpy as np
    >>> from eigenkit import KernelOrthonormalizedPLS
    >>> X = np.linspace(0, 6, 60)[:, None]
    >>> model = KernelOrthonormalizedPLS(gamma=1.0, alpha=0.01).fit(X, np.sin(X[:, 0]))
    >>> bool(model.score(X, np.sin(X[:, 0])) > 0.999)
    True
    """

    __init__ = KernelProjection.__init__


class KernelCCA(DualCoefficients, BothSides, ResponseProjection, KernelProjection):
    """Canonical correlation analysis in the space of a kernel, with a ridge on its side.

    Maximizes ``tr(B'Kc H H'Kc B)`` over ``B'(Kc Kc + alpha Kc) B = I`` with H = Yc (Yc'Yc)^(-1/2)
    for the centred kernel Kc. y keeps its own columns. With a linear kernel it is
    :class:`CCA`. With ``alpha=0`` and a kernel of full rank all correlations are 1.

    Parameters
    ----------
    n_components : int, optional
        Number of components, at most the rank of Kc Yc; all by default.
    {kernel_ridge}

    Attributes
    ----------
    {correlations}
    {kernel_attributes}
    y_rotations_ : array of shape (n_targets, n_components_)
        The projection of y.
    y_mean_ : array of shape (n_targets,)
    eigenvalues_ : array of shape (n_components_,)
    {dual_coefficients}

    {linnerud}
    >>> from eigenkit import KernelCCA
    >>> model = KernelCCA(kernel="rbf", gamma="scale", alpha=0.5).fit(X, Y)
    >>> x_scores, y_scores = model.transform(X, Y)
    >>> x_scores.shape
    (20, 3)
    """

    _target = TARGETS["cca"]

    def _keep_more(self, problem: Problem, solution: Solution) -> None:
        F, to_y = problem.labels.whiteners
        self._keep_regression(problem, regression(solution, self.n_components_) @ to_y)
        self.canonical_correlations_ = np.sqrt(self.eigenvalues_)
        self.y_rotations_ = F @ solution.basis[:, : self.n_components_]
        self.y_mean_ = self._y_mean_
        if self.alpha == 0 and np.all(self.eigenvalues_ > 1 - EXACT):
            warnings.warn(
                f"with alpha=0 this kernel fits any y on {problem.n_rows} samples, so canonical "
                "correlations are 1 by construction: set alpha > 0",
                ConditionWarning,
                stacklevel=2,
            )

    def _scores_of_x(self, X: Any) -> Array:
        return self._scores(X)


class KernelLDA(LDA, KernelProjection):
    """Discriminant analysis in the space of a kernel: a projection and a classifier.

    Maximizes ``tr(B'Kc H H'Kc B)`` over ``B'(Kc Kc + alpha Kc) B = I`` for the centred kernel Kc,
    with H the indicators of the classes over the roots of their sizes. Classifies with
    Gaussians of common covariance in that projection. With a linear kernel it is :class:`LDA`.

    Parameters
    ----------
    n_components : int, optional
        Number of components of :meth:`transform`, at most n_classes - 1; all by default.
        The classifier always uses all of them.
    priors : array of shape (n_classes,), optional
        Class probabilities; by default the shares of the classes in the data. A class without rows
        of positive weight must have 0.
    {kernel_ridge}

    Attributes
    ----------
    {kernel_attributes}
    explained_variance_ratio_ : array of shape (n_components_,)
        As in :class:`LDA`.
    eigenvalues_ : array of shape (n_components_,)
    classes_, priors_ : array of shape (n_classes,)
    dual_coef_ : array of shape (n_classes, n_fit), or (1, n_fit) for two classes
    intercept_ : array of shape (n_classes,), or (1,)
    {landmark_attributes}
    {what_was_done}

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from eigenkit import KernelLDA
    >>> X, y = make_circles(noise=0.05, factor=0.5, random_state=0)
    >>> KernelLDA(gamma=1.0, alpha=0.1).fit(X, y).score(X, y)
    1.0
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        priors: Any = None,
        label_rank: int | str | None = None,
        kernel: Any = "rbf",
        gamma: Any = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: Any = None,
        alpha: float = 1.0,
        solver: str = "auto",
        approximation: str | None = None,
        n_landmarks: int = 500,
        random_state: Any = None,
    ) -> None:
        take_parameters(self, locals())

    coef_ = Result(NOT_LINEAR)
    dual_coef_ = Result()
    _coef_name = "dual_coef_"

    # Covariances belong to the space of the kernel, and the ridge shrinks them.
    shrinkage: Any = None
    store_covariance: Any = False

    def _keep_means(self, problem: Problem, root: Array) -> None:
        """The means of classes are points of the feature space: there is nothing to keep."""


class KernelHypergraphSpectral(HypergraphSpectral, KernelProjection):
    """Hypergraph spectral learning in the space of a kernel, for multi-label data.

    Maximizes ``tr(B'Kc S Kc B)`` over ``B'(Kc Kc + alpha Kc) B = I`` for the centred kernel Kc,
    with S = I - L for the normalized Laplacian L of the hypergraph of the labels. With a
    linear kernel it is :class:`HypergraphSpectral`.

    Parameters
    ----------
    n_components : int, optional
        Number of components, at most the rank of Kc H; all by default.
    expansion : {"star", "clique", "zhou"}
        Which Laplacian of the hypergraph.
    label_weights : array of shape (n_labels,), optional
        Positive weights of the labels (hyperedges); 1 by default.
    {kernel_ridge}

    Attributes
    ----------
    {kernel_components}
    {landmark_attributes}
    classes_ : array
        Where y held one class per sample.
    {what_was_done}

    {multilabel}
    >>> from eigenkit import KernelHypergraphSpectral
    >>> KernelHypergraphSpectral(gamma="scale").fit_transform(X, Y).shape
    (100, 5)
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        expansion: str = "star",
        label_weights: Any = None,
        label_rank: int | str | None = None,
        kernel: Any = "rbf",
        gamma: Any = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: Any = None,
        alpha: float = 1.0,
        solver: str = "auto",
        approximation: str | None = None,
        n_landmarks: int = 500,
        random_state: Any = None,
    ) -> None:
        take_parameters(self, locals())


ONE_BY_ONE = "one component after the other"


class KernelPLS(DualCoefficients, ResponseProjection, KernelProjection):
    """Partial least squares regression in the space of a kernel.

    Every component is the direction of largest covariance with y in the space of features; its
    scores are then removed from the kernel and from y (PLS2). With a linear kernel, scores and
    predictions are those of PLS regression without scaling.

    Parameters
    ----------
    n_components : int or None
        Number of components; None for all.
    {kernel}
    {landmarks}

    Attributes
    ----------
    {kernel_attributes}
    eigenvalues_ : array of shape (n_components_,)
        Squared covariances of the components with what was left of y.
    y_loadings_ : array of shape (n_targets, n_components_)
    {dual_coefficients}

    {linnerud}
    >>> from eigenkit import KernelPLS
    >>> KernelPLS(n_components=2, gamma="scale").fit(X, Y).predict(X).shape
    (20, 3)
    """

    def __init__(
        self,
        n_components: int | None = 2,
        *,
        kernel: Any = "rbf",
        gamma: Any = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: Any = None,
        approximation: str | None = None,
        n_landmarks: int = 500,
        random_state: Any = None,
    ) -> None:
        take_parameters(self, locals())

    n_components: Any
    # There is no ridge, and one way to solve.
    alpha: Any = 0.0
    solver: Any = "auto"
    label_rank: Any = None
    _target = TARGETS["opls"]

    def _solve(self, problem: Problem, settings: Settings) -> Solution:
        Z, H = problem.pencil.Z.in_one_unit().with_scores(), np.asarray(problem.pencil.H)
        # More than there can be are refused with the number that there is.
        most = min(Z.shape)
        l = most if self.n_components is None else min(int(self.n_components), most)
        gram = Z.gram() if gram_pays(Z, l) else None
        found = decompose(CrossProducts.of(Z, H, problem.labels.grain, gram), l, "regression")
        report = Report("deflation", "kernel", ONE_BY_ONE)
        W, values = Z.to_X(found.x_rotations), found.singular_values**2
        return Solution(W, values, found.y_loadings, report)

    def _choice(self, pencil: Pencil, settings: Settings) -> Choice:
        return Choice("kernel", ONE_BY_ONE, {})

    def _keep_more(self, problem: Problem, solution: Solution) -> None:
        self.y_loadings_ = solution.basis
        self._keep_regression(problem, solution.basis.T)
