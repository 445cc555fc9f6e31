"""Projections on a weighted sum of kernels, with the weights learned."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from eigenkit.data import CenteredKernel
from eigenkit.estimators._encoding import check_same_rows, check_y_given, labels_of
from eigenkit.estimators._estimator import Transformer, stated
from eigenkit.estimators._folds import Delegating
from eigenkit.estimators._kernel_space import FeatureRows, KernelMatrices, KernelProjection
from eigenkit.estimators._validation import check_weight, check_X, numbers_in
from eigenkit.estimators.kernel import (
    KernelCCA,
    KernelHypergraphSpectral,
    KernelLDA,
    KernelOrthonormalizedPLS,
)
from eigenkit.kernels import Kernel, check_positive, check_square
from eigenkit.numerics.costs import BANK_LIMIT_BYTES
from eigenkit.numerics.linalg import Array
from eigenkit.pencil import Report
from eigenkit.shell import check_choice, check_flag, check_real, optional, shown, what_is
from eigenkit.solvers.kernel_weights import (
    KernelBank,
    KernelWeights,
    Step,
    best_of,
    best_single,
    silp,
)

# What the kernels see.
Samples = FeatureRows | KernelMatrices

# Kernel projections that can be asked for by name.
NAMED: dict[str, Callable[[], KernelProjection]] = {
    "star": partial(KernelHypergraphSpectral, expansion="star"),
    "clique": partial(KernelHypergraphSpectral, expansion="clique"),
    "zhou": partial(KernelHypergraphSpectral, expansion="zhou"),
    "cca": KernelCCA,
    "opls": KernelOrthonormalizedPLS,
    "lda": KernelLDA,
}


def _write_progress(step: Step) -> None:
    sys.stderr.write(
        f"kernel weights, iteration {step.iteration}: objective {step.objective:.6g}, "
        f"gap {step.gap:.1e}\n"
    )


class MultipleKernelProjection(Delegating, Transformer):
    """A kernel projection on a sum of kernels whose weights are learned from y.

    With K = sum_j theta_j K_j the weights minimize ``alpha tr(H'(Kc + alpha I)^-1 H)``, the part
    of the target H of ``estimator`` that ridge regression on the kernel leaves unexplained,
    over theta >= 0 with ``tr(Kc) = n_samples``. The problem is convex; it is solved to a
    duality gap that is reported.

    Parameters
    ----------
    estimator : kernel projection or {"star", "clique", "zhou", "cca", "opls", "lda"}, optional
        Which projection (:class:`KernelHypergraphSpectral`, by default, :class:`KernelCCA`,
        :class:`KernelLDA`, :class:`KernelOrthonormalizedPLS`), or its target by name: it
        determines the target, alpha and the number of components. Its own kernel is not used.
    kernels : list, or "precomputed", optional
        Names, callables or :class:`Kernel` objects, each of which may use its own columns. By
        default Gaussian kernels of five widths. With "precomputed" X is a list of kernel
        matrices: n x n in :meth:`fit`, new samples by training samples later.
    weights : {"silp", "uniform", "best"} or array of shape (n_kernels,)
        Learned by the semi-infinite linear program; the same for all; all on the one kernel of
        the smallest objective; or given.
    n_components, alpha : int and float, optional
        In place of those of ``estimator``.
    tol : float
        Relative duality gap at which the program stops.
    max_iter : int
        The largest number of cuts.
    verbose : bool or callable
        True writes a line per iteration to the standard error stream; a function is called
        with every :class:`eigenkit.solvers.kernel_weights.Step` instead.

    Attributes
    ----------
    weights_ : array of shape (n_kernels,)
        Shares of the kernels in the trace of their sum; they sum to one.
    theta_ : array of shape (n_kernels,)
        The factors: :meth:`kernel_matrix` is ``sum_j theta_[j] * K_j``.
    objective_, bound_, gap_ : float
        The objective, a lower bound of its minimum, and their relative difference.
    history_ : list of Step
        Objective, bound and gap of every iteration.
    n_iter_ : int
    converged_ : bool
    kernels_ : tuple of Kernel
        As they were used.
    X_fit_ : array or sparse matrix of shape (n_fit, n_features)
    estimator_ : kernel projection
        Fitted on the sum.
    eigenvalues_, components_, n_components_, classes_
        Those of ``estimator_``; a class is left out if all of its rows have zero weight.
    {report_and_names}

    {multilabel}
    >>> from eigenkit import Kernel, KernelHypergraphSpectral, MultipleKernelProjection
    >>> views = [Kernel("rbf", gamma=0.01, columns=slice(0, 10)), Kernel("linear"), "cosine"]
    >>> model = MultipleKernelProjection(KernelHypergraphSpectral(alpha=1.0), views)
    >>> model.fit_transform(X, Y).shape
    (100, 5)
    >>> bool(model.gap_ <= 1e-3)
    True
    """

    def __init__(
        self,
        estimator: Any = None,
        kernels: Any = None,
        *,
        weights: Any = "silp",
        n_components: int | None = None,
        alpha: float | None = None,
        tol: float = 1e-3,
        max_iter: int = 200,
        verbose: Any = False,
    ) -> None:
        self.estimator = estimator
        self.kernels = kernels
        self.weights = weights
        self.n_components = n_components
        self.alpha = alpha
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose

    def _take(self, X: Any, y: Any, sample_weight: Any) -> tuple[Samples, Any, Array | None]:
        check_y_given(self, y)
        sample: Samples
        if self._precomputed:
            sample, self._dtype_ = KernelMatrices.read(X), np.dtype(np.float64)
            check_square(sample.X[0], "kernels[0]")
            self.n_features_in_ = n = len(sample.X[0])
        else:
            X = check_X(self, X, reset=True, min_samples=2, finite=False, own=True)
            sample, self._dtype_, n = FeatureRows(X), X.dtype, X.shape[0]
        y = labels_of(self, y, reset=True)
        weight = check_weight(sample_weight, n)
        check_same_rows(n, y.shape[0])
        self._index_ = np.arange(n)
        if weight is not None and not weight.all():
            self._index_ = used = np.flatnonzero(weight)
            sample, y, weight = sample.take(used), y[used], weight[used]
        return sample.finite(), y, weight

    _rules: ClassVar = {"alpha": optional(check_real)}

    def _settings(self) -> None:
        if isinstance(self.estimator, str):
            check_choice("estimator", self.estimator, NAMED)
        elif self.estimator is not None and not isinstance(self.estimator, KernelProjection):
            raise TypeError(
                f"estimator is {what_is(self.estimator)}: give a kernel projection of "
                "eigenkit, such as KernelHypergraphSpectral()."
            )
        if isinstance(self.weights, str):
            check_choice("weights", self.weights, ("silp", "uniform", "best"))

    def _learn(self, sample: tuple[Samples, Any, Array | None], settings: None) -> None:
        """The weights of the kernels, then the projection on their sum: a problem of its own."""
        X, y, weight = sample
        self.kernels_ = X.fitted(self.kernels, weight)
        own = {"n_components": self.n_components, "alpha": self.alpha}
        given = {name: value for name, value in own.items() if value is not None}
        inner = clone(self._asked())
        self.estimator_ = inner.set_params(kernel="precomputed", approximation=None, **given)
        self.X_fit_ = None if self._precomputed else X.X
        bank, scales, roundings = self._bank(X, y, weight)
        found = self._learned(bank)
        self.weights_ = found.weights
        self.theta_ = found.weights * scales
        self.objective_, self.bound_, self.gap_ = found.objective, found.bound, found.gap
        self.history_, self.converged_ = list(found.history), found.converged
        self.n_iter_ = len(found.history)
        del bank  # the largest thing here, not needed any more
        K = X.combined(self.kernels_, self.theta_, None)
        self.estimator_._fit(K, y, weight, rounding=float(self.theta_ @ roundings))
        self._take_over(self.estimator_, "eigenvalues_", "components_", "n_components_", "classes_")
        self.report_ = self._report(found)

    def _report(self, solution: KernelWeights) -> Report:
        """How the projection was found, and before it the weights."""
        found: Report = self.estimator_.report_
        by = self.weights if isinstance(self.weights, str) else "as given"
        if by == "silp":
            found = replace(found, n_iter=self.n_iter_, converged=solution.converged)
        return found.noting(f"weights of the kernels: {by}, with a gap of {solution.gap:.1e}")

    def _bank(self, X: Samples, y: Any, weight: Array | None) -> tuple[KernelBank, Array, Array]:
        """All kernels, centred and of the trace n, with the target; their factors and rounding."""
        n, p = y.shape[0], len(self.kernels_)
        if 4 * p * n * n > BANK_LIMIT_BYTES:
            raise ValueError(
                f"{p} kernels of {n} samples would need {4 * p * n * n / 2**30:.1f} GB (the limit "
                f"is {BANK_LIMIT_BYTES / 2**30:g} GB): use fewer kernels or samples."
            )
        # The target does not depend on the kernel.
        H = np.asarray(stated(self.estimator_, np.eye(n), y, weight)[1].pencil.H)
        alpha = check_real("alpha", self.estimator_.alpha)
        if alpha == 0.0:
            raise ValueError(
                "with alpha=0 every kernel of full rank explains y equally well: give the "
                "estimator an alpha above 0."
            )
        bank, scales, roundings = KernelBank(p, n).aim(H, alpha), np.empty(p), np.empty(p)
        for j, kernel in enumerate(self.kernels_):
            K, roundings[j] = X.matrix(j, kernel, weight)
            Z = CenteredKernel(K, weight, overwrite=True)
            if Z.vanishes:
                raise ValueError(f"kernels[{j}] is constant over the samples: leave it out.")
            if not getattr(kernel, "positive", False):  # some are not by design
                check_positive(Z.outer(), f"kernels[{j}]")
            scale = Z.total / float(np.trace(Z.outer()))
            scales[j] = Z.ridge(scale)
            bank.put(j, scale * Z.outer())
        return bank, scales, roundings

    def _learned(self, bank: KernelBank) -> KernelWeights:
        p, asked = bank.p, self.weights if isinstance(self.weights, str) else None
        if asked == "silp":
            told = callable(self.verbose) or check_flag("verbose", self.verbose)
            progress = self.verbose if callable(self.verbose) else _write_progress
            return silp(bank, self.tol, self.max_iter, progress if told else None)
        if asked == "best":
            return best_single(bank)
        if asked == "uniform":
            return best_of(bank, [np.full(p, 1.0 / p)])
        given = numbers_in("weights", self.weights)
        if given.shape != (p,) or not np.all(np.isfinite(given)) or np.any(given < 0):
            raise ValueError(
                f"weights={shown(self.weights)} is not valid: give {p} numbers >= 0, one per "
                "kernel."
            )
        if not given.any():
            raise ValueError("weights are zero for every kernel: give some kernel a weight.")
        return best_of(bank, [given / given.sum()])

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.kernels, str) and self.kernels == "precomputed"

    def _new(self, X: Any) -> Samples:
        if not self._precomputed:
            return FeatureRows(check_X(self, X, reset=False))
        matrices = KernelMatrices.read(X).X
        p, n, columns = len(self.theta_), self.n_features_in_, matrices[0].shape[1]
        if (len(matrices), columns) != (p, n):
            raise ValueError(
                f"X holds {len(matrices)} kernels with {columns} columns: give {p}, with a column "
                f"for each of the {n} training samples."
            )
        return KernelMatrices([K[:, self._index_] for K in matrices]).finite()

    def kernel_matrix(self, X: Any) -> Array:
        """The learned kernel between new samples and the training samples.

        Parameters
        ----------
        X : as in :meth:`transform`

        Returns
        -------
        array of shape (n_samples, n_fit)
        """
        check_is_fitted(self)
        # As they were asked for: without the means that centring removes, where these show.
        kernels = tuple(
            replace(k, shift=None) if isinstance(k, Kernel) and k.kernel == "linear" else k
            for k in self.kernels_
        )
        return self._new(X).combined(kernels, self.theta_, self.X_fit_)

    def transform(self, X: Any) -> Array:
        """Project new samples.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            With ``kernels="precomputed"`` a list of matrices (n_samples, n_fit).

        {scores}
        """
        # As an array: the containers of set_output are for what is returned here.
        return np.asarray(self._answer("transform", X))

    def _answer(self, method: str, X: Any) -> Any:
        """In the precision of the samples: the sum of their kernels is always in float64."""
        said = np.asarray(super()._answer(method, X))
        return said.astype(self._dtype_, copy=False) if said.dtype.kind == "f" else said

    def _asked(self) -> Any:
        """The kernel projection that ``estimator`` means; None for an unknown name."""
        if isinstance(self.estimator, str):
            return NAMED[self.estimator]() if self.estimator in NAMED else None
        return KernelHypergraphSpectral() if self.estimator is None else self.estimator

    def _handed(self, X: Any) -> tuple[Any, Array]:
        check_is_fitted(self)
        K = self._new(X).combined(self.kernels_, self.theta_, self.X_fit_)
        return self.estimator_, K

    def __sklearn_tags__(self) -> Any:
        tags: Any = get_tags(self._asked() or KernelHypergraphSpectral())
        tags.input_tags.sparse, tags.input_tags.pairwise = not self._precomputed, False
        return tags
