"""Classifiers by proximal planes: GEPSVM and ReGEC."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from eigenkit.estimators._class_rows import ClassGrams, ClassRows
from eigenkit.estimators._planes import ProximalPlanes
from eigenkit.shell import take_parameters
from eigenkit.solvers.large_planes import PlaneSums, planes_from_products
from eigenkit.solvers.planes import (
    Planes,
    gepsvm_from_grams,
    gepsvm_from_rows,
    regec_ridge_from_rows,
    regec_with_diagonals,
    regec_with_ridge,
)

TOO_LARGE = (
    "{} leaves the problem singular, and sparse X with that many rows and columns is only "
    "multiplied with: {}."
)


class GEPSVM(ProximalPlanes):
    """Generalized eigenvalue proximal support vector machine.

    The plane ``x'w + b = 0`` of a class minimizes::

        (sum over the class of (x'w + b)^2 + alpha (|w|^2 + b^2)) / sum over the rest of (x'w + b)^2

    one eigenproblem per class, and a sample belongs to the class whose plane is nearest. With
    a kernel the features of a sample are its kernel values with the training samples (or with
    a few landmarks among them).

    Parameters
    ----------
    alpha : float
        Ridge, the delta of the paper; 0 gives the planes of the linear ReGEC.
    {surfaces}

    Attributes
    ----------
    {planes}
    eigenvalues_ : array of shape (n_classes,)
        The minimized quotients: small where a class is near its plane and the rest far.
    {surface_attributes}

    {iris}
    >>> from eigenkit import GEPSVM
    >>> bool(GEPSVM().fit(X, y).score(X, y) > 0.95)
    True
    """

    def _planes(self, rows: ClassRows | ClassGrams) -> Planes:
        if self.alpha == 0:
            return rows.unregularized()
        if rows.R is None:
            return gepsvm_from_grams(rows.lower_grams(), float(self.alpha))
        return gepsvm_from_rows(rows.parts, float(self.alpha), rows.R)

    def _from_products(self, rows: PlaneSums) -> Planes:
        if self.alpha == 0:
            raise ValueError(TOO_LARGE.format("alpha=0", "give alpha > 0"))
        return planes_from_products(rows, float(self.alpha), 0.0)


class ReGEC(ProximalPlanes):
    """Regularized general eigenvalue classifier.

    The plane ``x'w + b = 0`` of a class minimizes::

        sum over the class of (x'w + b)^2 / sum over the rest of (x'w + b)^2

    For two classes one eigenproblem gives both planes, at the two ends of its spectrum, and
    a sample belongs to the class whose plane is nearest. With a kernel the features of a
    sample are its kernel values with the training samples (or with a few landmarks).

    Parameters
    ----------
    alpha : float
        Regularization, the delta of the paper.
    regularization : {"auto", "exchange", "diagonal", "ridge"}
        "exchange" adds alpha times the matrix of one side to the other: eigenvalues move,
        planes do not. "diagonal" adds alpha times the diagonal of that matrix, "ridge"
        ``alpha (|w|^2 + b^2)`` to both sides. "auto" takes "exchange" for the linear kernel and
        "diagonal" for the others, whose problem is singular otherwise. Sparse data with more
        than 4000 rows and columns are used in products only, which requires a ridge.
    {surfaces}

    Attributes
    ----------
    {planes}
    eigenvalues_ : array of shape (n_classes,)
        The minimized quotients, regularization included.
    {surface_attributes}

    {iris}
    >>> from eigenkit import ReGEC
    >>> bool(ReGEC().fit(X, y).score(X, y) > 0.95)
    True
    >>> ReGEC(kernel="rbf", gamma=0.1).fit(X, y).distances(X[:2]).shape
    (2, 3)
    """

    def __init__(
        self,
        alpha: float = 1e-3,
        *,
        regularization: str = "auto",
        kernel: Any = "linear",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        approximation: str | None = None,
        n_landmarks: int = 500,
        random_state: Any = None,
        probability: bool = False,
    ) -> None:
        take_parameters(self, locals())

    regularization: str
    _rules: ClassVar = {"regularization": ("auto", "exchange", "diagonal", "ridge")}

    def _settings(self) -> None:
        super()._settings()
        if self.regularization == "diagonal" and self._is_linear:
            raise ValueError(
                "regularization='diagonal' is for kernels, but kernel='linear': choose "
                "'exchange' or 'ridge'."
            )

    @property
    def _regularizes(self) -> str:
        """How the pencil is regularized; with alpha=0, "exchange" leaves its planes unchanged."""
        if self.alpha == 0:
            return "exchange"
        if self.regularization == "auto":
            large = getattr(self, "_by_products_", False)
            return "ridge" if large else "exchange" if self._is_linear else "diagonal"
        return self.regularization

    def _planes(self, rows: ClassRows | ClassGrams) -> Planes:
        alpha = float(self.alpha)
        if self._regularizes == "exchange":
            return rows.unregularized()
        if self._regularizes == "diagonal":
            # How many samples a column counts for; that of the constant counts for one.
            weight = None if rows.column is None else np.append(rows.column**2, 1.0)
            return regec_with_diagonals(rows.lower_grams(), alpha, weight)
        if self._is_linear and rows.R is not None:
            return regec_ridge_from_rows(rows.parts, alpha, rows.R)
        return regec_with_ridge(rows.lower_grams(), alpha, rows.R)

    def _from_products(self, rows: PlaneSums) -> Planes:
        if self._regularizes == "exchange":
            given = "alpha=0" if self.alpha == 0 else "regularization='exchange'"
            raise ValueError(TOO_LARGE.format(given, "give alpha > 0 and regularization='ridge'"))
        return planes_from_products(rows, float(self.alpha), float(self.alpha))

    @property
    def _exchanged(self) -> float:
        return float(self.alpha) if self._regularizes == "exchange" else 0.0
