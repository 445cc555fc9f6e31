"""What else could annotate sets: other weights, one program per term, single images, plain pooling.

Every rival gets the kernels or vectors of the training sets with their terms, chooses whatever it
chooses inside them, and gives scores and thresholds for new sets.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import sklearn

from eigenkit.images.ridge import calibrate, fit_ridge
from eigenkit.images.term_reports import is_learnable, thresholds
from eigenkit.images.weights import Candidate, Kernels, bank_of
from eigenkit.kernels.sets import Pooled
from eigenkit.kernels.sets._sets import sums
from eigenkit.numerics.linalg import Array
from eigenkit.numerics.threads import thread_map
from eigenkit.solvers.kernel_weights import KernelBank, silp

Scores = tuple[Array, Array]  # scores of new sets, thresholds


@dataclass(frozen=True, eq=False)
class Fold(Kernels):
    """Training and new sets, as kernels and as vectors.

    Vectors are a matrix for every set, one per picture: all global descriptors side by side.
    """

    chosen: Scores  # by the annotator
    base: Array  # (n_kernels,): equal weights for the kernels between sets, zero for others
    pictures: list[Array]
    pictures_new: list[Array]
    seed: int


def by_weights(fold: Fold, how: str) -> Scores:
    """Ridge regression on the sum of the set kernels with these weights."""
    return on_sum(fold, Candidate("set kernels", fold.base, how).thetas(fold.K, fold.Y))


def on_sum(fold: Fold, thetas: Array) -> Scores:
    """Ridge regression on a sum of kernels."""
    committee, rows = fold.committee(thetas)
    return committee.scores(rows), thresholds(fold.Y, committee.held_out)


def on_kernel(K: Array, K_new: Array, fold: Fold) -> Scores:
    """Ridge regression on one kernel."""
    ridge = fit_ridge(K, fold.Y, fold.groups)
    return ridge.scores(K_new), thresholds(fold.Y, ridge.held_out)


# -- one program per term ---------------------------------------------------------------


class SvmBank:
    """The criterion of a soft-margin SVM for one term, as cuts of the semi-infinite program.

    F(mu) is the largest value of sum(a) - 1/2 sum_j mu_j (a y)' K_j (a y) over the box of the
    SVM, so every solution a bounds F from below for all weights.
    """

    def __init__(self, bank: KernelBank, y: Array, C: float, *, balanced: bool = False) -> None:
        self.bank, self.y, self.C, self.p = bank, y, C, bank.p
        self.weight = "balanced" if balanced else None

    def cut(self, weights: Array) -> tuple[float, Array]:
        """F at the weights, and the cut there."""
        model = sklearn.svm.SVC(C=self.C, kernel="precomputed", class_weight=self.weight)
        model.fit(self.bank.mix(weights), self.y)
        signed = np.zeros(len(self.y))
        signed[model.support_] = model.dual_coef_[0]
        values = np.abs(signed).sum() - self.bank.inner(np.outer(signed, signed)) / 2
        return float(values @ weights), values


def one_program_per_term(fold: Fold, C: float = 1.0, tol: float = 0.05, most: int = 100) -> Scores:
    """SVM1: for every term weights of its own, by the criterion of its SVM; ridge on the sum."""
    used = fold.base > 0
    bank, scales = bank_of(fold.K[used])
    S, limits = np.zeros((len(fold.own_new[0]), fold.Y.shape[1])), np.zeros(fold.Y.shape[1])

    def annotate(j: int) -> None:
        found = silp(SvmBank(bank, fold.Y[:, j], C), tol, most)  # type: ignore[arg-type]
        theta = np.zeros((1, len(used)))
        theta[0, used] = found.weights * scales
        scores, limit = on_sum(replace(fold, Y=fold.Y[:, [j]]), theta / theta.sum())
        S[:, j], limits[j] = scores[:, 0], limit[0]

    thread_map(annotate, np.flatnonzero(is_learnable(fold.Y)))
    return S, limits


# -- without kernels between sets -------------------------------------------------------


def plain(fold: Fold) -> Scores:
    """A Gaussian machine on mean, maximum and deviation of the vectors of a set."""
    kernel = Pooled(random_state=fold.seed)
    K = kernel.fit_transform(fold.pictures)
    return on_kernel(K.astype(np.float64), kernel.transform(fold.pictures_new), fold)


def plain_linear(fold: Fold) -> Scores:
    """A linear machine on the means of the vectors of a set."""
    X, X_new = (np.array([x.mean(axis=0) for x in p]) for p in (fold.pictures, fold.pictures_new))
    return on_kernel(*linear_kernels(X, X_new), fold)


def linear_kernels(X: Array, X_new: Array) -> tuple[Array, Array]:
    """Inner products of centred rows, of mean size one."""
    mean = X.mean(axis=0)
    size = float(np.mean(np.sum((X - mean) ** 2, axis=1))) or 1.0
    K, K_new = (((Z - mean) @ (X - mean).T / size).astype(np.float64) for Z in (X, X_new))
    return K, K_new


def image_wise(fold: Fold) -> Scores:
    """Z&P: every picture carries the terms of its set; a discriminant for each term; then means.

    For two classes the discriminant is the least squares direction, so it is ridge regression
    of the terms on the vectors of single pictures, alpha chosen with sets left out as a whole.
    """
    K, K_new = linear_kernels(np.vstack(fold.pictures), np.vstack(fold.pictures_new))
    own, new = (np.array([len(p) for p in x]) for x in (fold.pictures, fold.pictures_new))
    of = np.repeat(np.arange(len(own)), own)
    groups = of if fold.groups is None else np.asarray(fold.groups)[of]
    ridge = fit_ridge(K, fold.Y[of], groups)
    held_out = sums(ridge.held_out, own) / own[:, None]
    S = sums(ridge.scores(K_new), new) / new[:, None]
    slopes, offsets = calibrate(fold.Y, held_out)
    return slopes * S + offsets, thresholds(fold.Y, slopes * held_out + offsets)


CHOSEN, PLAIN = "chosen by the annotator", "mean, maximum, deviation, Gaussian"
# Rivals that differ in the weights of the set kernels.
_WEIGHTS = {
    "set kernels, equal weights": "equal",
    "set kernels, learned weights": "learned",
    "set kernels, half equal and half learned": "half",
    "best single kernel": "best",
}
RIVALS: dict[str, Callable[[Fold], Scores]] = {
    CHOSEN: lambda fold: fold.chosen,
    **{name: partial(by_weights, how=how) for name, how in _WEIGHTS.items()},
    "one program per term (SVM1)": one_program_per_term,
    "single images, discriminant (Z&P)": image_wise,
    "mean of vectors, linear": plain_linear,
    PLAIN: plain,
}
# Parameters of the annotator that does what a rival does, for those that it can do.
FITTED: dict[str, dict[str, str]] = {
    CHOSEN: {},
    **{name: {"kernels": "default", "weights": how} for name, how in _WEIGHTS.items()},
    PLAIN: {"kernels": "pooled"},
}
