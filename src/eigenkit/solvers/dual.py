"""Directions Z'A by their coefficients A, one for each sample, and the forms of the pencil on them.

With the scores S = Z W = Z Z'A of W = Z'A

    W'C = S'H        W'B W = S'S + ridge A'S        B W = Z'(S + ridge A)

so that with fewer samples than features only W itself has a row for every feature, and is made once
it is known which W is wanted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from eigenkit.linalg import Array
from eigenkit.pencil import Pencil
from eigenkit.solvers.krylov import Run


@dataclass(frozen=True)
class Dual:
    """Coefficients A and scores S (n x l both) of directions, for targets H and one ridge."""

    pencil: Pencil
    H: Array
    A: Array
    S: Array
    ridge: float

    @classmethod
    def of(cls, pencil: Pencil, H: Array, run: Run, ridge: float) -> Dual:
        """Of the coefficients that conjugate gradients have found."""
        S = pencil.Z.dual_normal(run.X) if run.image is None else run.image
        return cls(pencil, H, run.X, S, ridge)

    def turned(self, T: Array) -> Dual:
        """The directions W T."""
        return replace(self, A=self.A @ T, S=self.S @ T)

    @property
    def W(self) -> Array:
        """The directions themselves."""
        return np.asarray(self.pencil.Z.rmatmat(self.A))

    @property
    def cross(self) -> Array:
        """W'C."""
        return self.S.T @ self.H

    @property
    def square(self) -> Array:
        """W'B W."""
        return self.S.T @ self._image

    @property
    def _image(self) -> Array:
        """The coefficients of B W."""
        return self.S + self.ridge * self.A

    def errors(self, values: Array) -> tuple[float, float]:
        """||A W - B W Lambda|| relative to its parts, and the largest entry of W'B W - I."""
        Z, image, cross = self.pencil.Z, self._image, self.cross
        orthogonality = float(np.abs(self.S.T @ image - np.eye(len(values))).max(initial=0.0))
        gap = Z.rmatmat(self.H @ cross.T - image * values)
        part = self.pencil.C @ cross.T
        scale = Z.norm(part)
        part -= gap
        scale += Z.norm(part)
        return (Z.norm(gap) / scale if scale else 0.0), orthogonality
