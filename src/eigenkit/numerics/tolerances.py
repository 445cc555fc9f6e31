"""The one home of tolerances: what counts as rounding, as equal, as well conditioned, and why.

All are relative to the size of what they are compared with. Where an iteration stops is a matter
of its algorithm and of ``tol``, and stands there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

# The distance from 1 to the next number.
EPS = float(np.finfo(np.float64).eps)

# Divisors of zero become this: the quotient is large, and finite where its dividend is below 1.
TINY = 1e-300

# Squares of numbers inside this range, and their sums, neither overflow nor vanish.
SQUARES_RANGE = (1e-140, 1e140)

# -- rounding ---------------------------------------------------------------------------

# Numbers that differ by no more than this are equal: a few units in the last place, as much as a
# shift and a scale may have cost.
ROUNDING = 8 * EPS

# A column with a smaller spread, relative to its mean, is constant up to the rounding of sums of
# sums: the means are rounded once more with every merge.
STREAM_ROUNDING = 8 * ROUNDING

# Sums of up to some thousand weights or shares that differ by less are equal.
SUM_ROUNDING = 1e-12

# Below this an eigenvalue of a k x k matrix of products, or a pivot of one, is rounding: with
# k of some hundreds, EPS k is about a tenth of it.
RANK_TOL = 1e-12

# Directions in which a matrix of products of the data has less than this share of its largest
# eigenvalue are rounding of its sums, which have as many terms as there are rows.
PRODUCTS_RANK_TOL = 1e-10

# A vector with less than this share of its length outside a span lies in it, and two closer than
# this are parallel: a length comes from squares that are known to 1e-15 or so, times a few
# hundred terms, and this is far below what two variables differ by that are not copies.
DEPENDENT = 1e-10

# Eigenvalues of a whitened matrix, which lie in [0, 1], that are closer than this are one.
EIGENVALUE_TIE = 1e-11

# Gains of variables closer than this are equal, whatever rounding says. Ties are common, as
# variables chosen for one pair are often collinear once its scores are taken out.
GAIN_TIE = 1e-9

# Entries of a vector closer than this to the largest may be the largest for another solver, which
# has found the vector to eight digits or more.
ENTRY_TIE = 1e-6

# -- products instead of the data ---------------------------------------------------------
# Z'Z has the square of the condition of Z: a reciprocal condition r of Z'Z leaves -log10(EPS / r)
# digits. These compare r, or what stands for it.

# Twelve digits as it stands.
TWELVE_DIGITS = 1e-3

# Ten digits: enough where there is no residual that could restore more.
TEN_DIGITS = 1e-6

# The components may be told apart before the digits are restored: only those that are kept need
# the residuals then, and they are computed where B W is needed anyway.
TOLD_APART = 1e-9

# Residuals from the data restore the digits; below, the factor is not used: with 1e-13 the tenth
# digit at cond(X) = 1e6 depended on the processor.
REPAIRABLE = 1e-11

# Solved as it is, where a few digits are all that is asked for; below, the solution of least norm.
SOLVABLE = 1e-13

# A difference of squares below this share of them has lost too many digits: eleven are left here.
DIFFERENCE = 1e-5

# What has become shorter than this share is known to a digit more when it is computed anew.
ONE_DIGIT = 0.1

# -- what users give -----------------------------------------------------------------------

# How far from symmetric, and how negative, a kernel or a graph may be: those that come from files
# or from float32 have seven to eight digits.
SYMMETRY_TOL = 1e-8

# Targets fitted to this count as fitted exactly, and correlations this close to 1 as 1.
EXACT = 1e-8


def precision(A: Any) -> float:
    """The distance from 1 to the next number in the type of A; whole numbers count as float64."""
    return float(np.finfo(A.dtype).eps) if A.dtype.kind == "f" else EPS


def step(eps: float) -> float:
    """By how much of its size a number may be off that came in this precision: single precision is
    mostly what numbers are stored in, and they count as rounded once, by two units."""
    return ROUNDING if eps == EPS else 2 * eps


def grain(squares: Any, n: int, eps: float = EPS) -> Any:
    """How long the columns of n samples may be by the rounding of their numbers alone.

    ``squares`` are the squared lengths of the columns as they were given, before a mean was
    subtracted, ``eps`` is the distance from 1 to the next number in their precision. Every number
    is off by some units in its last place, whatever is subtracted from it later: by ROUNDING of its
    size, as numbers do that count as equal. In a matrix E of such errors with columns of lengths e
    they can be treated as independent, so E diag(1 / e) has no singular value above 1 + sqrt(d / n)
    (Marchenko and Pastur), and |E w| <= (1 + sqrt(d / n)) |e * w|. A direction w is rounding where
    its scores are not longer than |grain * w|, see :func:`along`. With a spread of 1 and an offset
    of 1e12 that is a few thousandths: no direction of data of full rank is lost.
    """
    return step(eps) * (1 + np.sqrt(len(squares) / n)) * np.sqrt(squares)


def along(V: Any, lengths: Any) -> Any:
    """|lengths * v| for the columns v of V."""
    return np.linalg.norm(V * np.reshape(lengths, (-1, 1)), axis=0)


def above_rounding(values: Any, *sizes: int) -> Any:
    """Which singular values (or eigenvalues) of a matrix of these sizes are not rounding, by the
    bound of LAPACK: they are known to EPS times the largest, times the larger size."""
    return values > values.max(initial=0.0) * EPS * max(sizes)
