"""Directions of a pencil on the way to its solution, by what is known of them.

With fewer samples than features an iteration finds only the coefficients A of directions W = Z'A,
one for each sample. With the scores S = Z W = Z Z'A

    W'C = S'H        W'B W = S'S + ridge A'S        B W = Z'(S + ridge A)

so that W itself, which has a row for every feature, is made once it is known which W is wanted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from eigenkit.numerics.linalg import Array
from eigenkit.pencil import Pencil


@dataclass(frozen=True)
class Directions:
    """W of a pencil in the units of Z, and B W and W'B W where those are known."""

    problem: Pencil
    W: Array
    BW: Array | None = None
    square: Array | None = None

    @property
    def cross(self) -> Array:
        """W'C."""
        return self.problem.Z.inner(self.W, self.problem.C)

    def turned(self, T: Array) -> Directions:
        """W T."""
        return Directions(self.problem, self.W @ T, None if self.BW is None else self.BW @ T)

    def some(self, keep: Any) -> Directions:
        """Some of the columns of W."""
        BW = None if self.BW is None else self.BW[:, keep]
        return Directions(self.problem, self.W[:, keep], BW)

    def errors(self, values: Array) -> tuple[float, float]:
        """||A W - B W Lambda|| relative to its parts, and the largest entry of W'B W - I.

        B W is overwritten.
        """
        Z, C = self.problem.Z, self.problem.C
        BW = self.problem.forms(self.W)[0] if self.BW is None else self.BW
        orthogonality = float(np.abs(Z.inner(self.W, BW) - np.eye(len(values))).max(initial=0.0))
        # In place from here on: these are as large as W, which may be the largest thing there is.
        gap = C @ Z.inner(C, self.W)
        BW *= values
        scale = Z.norm(gap) + Z.norm(BW)
        gap -= BW
        return (Z.norm(gap) / scale if scale else 0.0), orthogonality


@dataclass(frozen=True)
class Dual:
    """Coefficients A and scores S (n x l both) of directions, for targets H and one ridge."""

    problem: Pencil
    H: Array
    A: Array
    S: Array
    ridge: float

    def turned(self, T: Array) -> Dual:
        """The directions W T."""
        return replace(self, A=self.A @ T, S=self.S @ T)

    def some(self, keep: Any) -> Dual:
        """Some of the directions."""
        return replace(self, A=self.A[:, keep], S=self.S[:, keep])

    @cached_property
    def W(self) -> Array:
        """The directions themselves."""
        return np.asarray(self.problem.Z.rmatmat(self.A))

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
        """The same for these."""
        Z, image, cross = self.problem.Z, self._image, self.cross
        orthogonality = float(np.abs(self.S.T @ image - np.eye(len(values))).max(initial=0.0))
        gap = Z.rmatmat(self.H @ cross.T - image * values)
        part = self.problem.C @ cross.T
        scale = Z.norm(part)
        part -= gap
        scale += Z.norm(part)
        return (Z.norm(gap) / scale if scale else 0.0), orthogonality


Span = Directions | Dual
