"""Centred kernel ridge regression for many terms at once, with its leave-one-out scores.

With the centred kernel Kc = U diag(s) U' of n sets and labels Y, the fit is

    F = U diag(s / (s + alpha)) U' (Y - mean) + mean

and the prediction for a set by all others is exact without fitting again:

    y_i - f_i(-i) = (y_i - f_i) / (1 - h_i),   h_i = 1/n + sum_j U_ij^2 s_j / (s_j + alpha)

The same holds for a group of sets that are left out together, with 1 - h_i as the matrix I - H_gg
of the group. What is regressed are the terms, and beside them their principal components: terms
that go together are learned together, and few sets are enough for what many terms share. Each of
these targets has an alpha of its own, that of its least squared error on the sets left out: they
differ in how much can be learned of them. A term is then halfway between what its own regression
and what the components say, brought to log-odds by a line for every term (Platt's method), so
that terms can be compared with each other.

Several regressions for the same terms have log-odds that add up. A sum of kernels has one alpha and
one set of weights for a term, whatever each kernel knows about it. Where every kernel has a
regression of its own, one that says nothing of a term gives all sets nearly the same log-odds, and
counts for little in the mean. In it, a kernel counts by the square of what its mean AUC is above
chance.

What all terms get is a description of a set, too: sets with like descriptions have like terms. A
second regression has a Gaussian of the roots of the probabilities as its kernel, and is a quarter
of the scores. Training sets are described by what regressions without them say.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import eigh

from eigenkit.evaluation.metrics import mean_auc
from eigenkit.kernels.sets import MeanMap
from eigenkit.numerics.linalg import Array
from eigenkit.numerics.threads import ahead, blas_threads

ALPHAS = tuple(10.0 ** np.arange(-2.0, 1.01, 0.25))
# The least slope of log-odds, per deviation of the scores.
FLATTEST = 1e-3
# The part of the second regression in the scores.
SHARE = 0.25
# What counts as an AUC above chance where there is none.
LEAST = 0.01
# A kernel whose mean variance is less is the same for all sets, but for the rounding of float32;
# scores of one term that differ by less, relatively, are the same.
SAME_KERNEL, SAME_SCORE = 1e-6, 1e-9


@dataclass(frozen=True, eq=False)
class Spectrum:
    """The eigenvectors of a centred kernel, from which every alpha follows."""

    U: Array
    s: Array

    @classmethod
    def of(cls, K: Array) -> Spectrum:
        """Of a kernel that is not centred yet."""
        Kc = K - K.mean(axis=0)
        Kc -= Kc.mean(axis=1, keepdims=True)
        tells = float(np.trace(Kc)) > SAME_KERNEL * float(np.trace(K))
        s, U = eigh((Kc + Kc.T) / 2, check_finite=False, driver="evd", overwrite_a=True)
        return cls(U, np.maximum(s, 0) if tells else np.zeros_like(s))

    def leave_one_out(
        self, Y: Array, alphas: Sequence[float], groups: Any = None
    ) -> Iterator[Array]:
        """Scores of every set by all others, or by those of other groups: alpha by alpha."""
        mean = Y.mean(axis=0)
        along = self.U.T @ (Y - mean)
        shares = self.s / (self.s + np.asarray(alphas)[:, None])
        rest = 1 - 1 / len(Y) - shares @ (self.U**2).T
        several = []  # the rows of all groups of two, of three and so on: a line for every group
        if groups is not None:
            _, inside, sizes = np.unique(groups, return_inverse=True, return_counts=True)
            order, own = np.argsort(inside, kind="stable"), sizes[np.sort(inside)]
            together = np.unique(sizes[sizes > 1])
            several = [order[own == size].reshape(-1, size) for size in together]
        for share, alone in zip(shares, rest, strict=True):
            missed = Y - mean - self.U @ (share[:, None] * along)
            S = np.asarray(Y - missed / alone[:, None])
            for inside in several:
                # I - H_gg; group by group, whose rows stay in the cache.
                H = np.array([(U * share) @ U.T for U in (self.U[rows] for rows in inside)])
                rest_g = np.eye(inside.shape[1]) - 1 / len(share) - H
                S[inside] = Y[inside] - np.linalg.solve(rest_g, missed[inside])
            yield S

    def coefficients(self, T: Array, alpha: Any) -> Array:
        """A (n x k) with scores ``K_new A + b``, by an alpha for every column (or one for all).

        Its columns sum to zero, so centring is in it.
        """
        each, A = np.broadcast_to(alpha, T.shape[1]), np.empty(T.shape)
        for value in np.unique(each):
            Y = T[:, each == value]
            own = self.U @ ((self.U.T @ (Y - Y.mean(axis=0))) / (self.s + value)[:, None])
            A[:, each == value] = own - own.mean(axis=0)
        return A

    def without(
        self, A: Array, alpha: Array, parts: Sequence[np.ndarray], block: int = 64
    ) -> Iterator[Array]:
        """Coefficients (a column for every alpha) when sets are left out, one part after the other.

        With A = M Y the equations of the other sets go on to hold when the labels of those left
        out are changed, and A - M_g inv(M_gg) A_g is what makes their coefficients vanish. The
        columns of M are made for some parts at a time.
        """
        for start in range(0, len(parts), block):
            some = parts[start : start + block]
            rows = np.unique(np.concatenate(some))
            M = {}  # with coefficients M Y
            for value in np.unique(alpha):
                columns = self.U @ (self.U[rows] / (self.s + value)).T
                M[value] = columns - columns.mean(axis=0)
            for part in some:
                left, place = A.copy(), np.searchsorted(rows, part)
                for value, columns in M.items():
                    own, of = columns[:, place], np.flatnonzero(alpha == value)
                    left[:, of] -= own @ np.linalg.solve(own[part], A[np.ix_(part, of)])
                yield left


def means_of_others(Y: Array, groups: Any) -> Array:
    """For every set the mean of Y over all others, or over those of other groups.

    It is lower for sets that carry a term than for others: where nothing can be learned, scores of
    sets left out would rank them upside down, unless all are taken from the same mean.
    """
    inside = np.arange(len(Y)) if groups is None else np.unique(groups, return_inverse=True)[1]
    own = np.zeros((int(inside.max()) + 1, Y.shape[1]))
    np.add.at(own, inside, Y)
    sizes = np.bincount(inside)[inside, None]
    return np.asarray((Y.sum(axis=0) - own[inside]) / (len(Y) - sizes))


def without_rounding(S: Array) -> Array:
    """Scores of a term that differ by rounding as one: their order would tell the labels that
    they were computed from."""
    same = np.ptp(S, axis=0) <= SAME_SCORE * (1 + np.abs(S).max(axis=0))
    return np.where(same, S.mean(axis=0), S)


@dataclass(frozen=True, eq=False)
class Targets:
    """What is regressed for some terms: Y R, from which ``(Y R) back`` makes terms again.

    Targets are the terms themselves, and their principal components; half of a term comes back
    from itself and half from the components.
    """

    R: Array  # (n_terms, n_targets)
    back: Array  # (n_targets, n_terms)

    @classmethod
    def of(cls, Y: Array) -> Targets:
        """Of the terms of some sets."""
        centred, own = Y - Y.mean(axis=0), np.eye(Y.shape[1])
        _, V = eigh(centred.T @ centred)
        return cls(np.hstack([own, V]), np.vstack([own, V.T]) / 2)


@dataclass(frozen=True, eq=False)
class Ridge:
    """A fitted regression: log-odds of terms are ``K_new @ coefficients + intercept``.

    Those ``held_out`` are of every set by all others, from the mean that all sets have in common.
    """

    coefficients: Array  # (n, n_terms)
    intercept: Array  # (n_terms,)
    held_out: Array  # (n, n_terms)
    alpha: Array  # (n_targets,)
    targets: Targets  # ``back`` times the slopes of the log-odds

    def scores(self, K_new: Array) -> Array:
        """Log-odds of new sets."""
        return np.asarray(K_new @ self.coefficients + self.intercept)

    def calibrated(self, slopes: Array | float, offsets: Array | float) -> Ridge:
        """With log-odds that are a line of the present ones."""
        return replace(
            self,
            coefficients=slopes * self.coefficients,
            intercept=slopes * self.intercept + offsets,
            held_out=slopes * self.held_out + offsets,
            targets=replace(self.targets, back=slopes * self.targets.back),
        )


def fit_ridge(K: Array, Y: Array, groups: Any = None) -> Ridge:
    """Every target with the alpha that predicts it best for sets left out; terms as log-odds."""
    spectrum, targets = Spectrum.of(K), Targets.of(Y)
    T = Y @ targets.R
    unit = float(spectrum.s.mean()) or 1.0  # alpha relative to the mean eigenvalue
    least, alpha, held_out = np.full(T.shape[1], np.inf), np.zeros(T.shape[1]), np.zeros(T.shape)
    alphas = [value * unit for value in ALPHAS]
    for value, scores in zip(alphas, spectrum.leave_one_out(Y, alphas, groups), strict=True):
        S = scores @ targets.R  # linear in Y
        error = np.sum((T - S) ** 2, axis=0)
        better = error < least
        least[better], alpha[better], held_out[:, better] = error[better], value, S[:, better]
    A = spectrum.coefficients(T, alpha) @ targets.back
    if not spectrum.s.any():
        A = np.zeros_like(A)  # times a kernel that is the same for all sets, but for rounding
    held_out = held_out @ targets.back + Y.mean(axis=0) - means_of_others(Y, groups)
    held_out = without_rounding(held_out)
    intercept = Y.mean(axis=0) - K.mean(axis=0) @ A
    return Ridge(A, intercept, held_out, alpha, targets).calibrated(*calibrate(Y, held_out))


# -- several regressions ------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Second:
    """The regression on what the first ones say of all terms.

    ``slopes`` and ``offsets`` (n_terms,) make log-odds of the scores that it is given.
    """

    kernel: MeanMap  # a Gaussian, with the training sets
    ridge: Ridge
    slopes: Array
    offsets: Array

    def scores(self, S: Array) -> Array:
        """Its part of the scores, from those of the first regressions."""
        X = roots(self.slopes * S + self.offsets)
        return self.ridge.scores(self.kernel.transform_block(X, np.ones(len(X), dtype=np.intp)))

    def calibrated(self, slopes: Array, offsets: Array) -> Second:
        """Slopes times its scores, where those that it is given are ``slopes * S + offsets``."""
        own = self.slopes / slopes
        ridge = self.ridge.calibrated(slopes, 0.0)
        return Second(self.kernel, ridge, own, self.offsets - own * offsets)


@dataclass(frozen=True, eq=False)
class Committee:
    """Fitted regressions whose scores add up.

    ``held_out`` (n, n_terms) are log-odds of every set by all others. The second regression was
    fitted to such numbers, and knows them better than those of new sets: ``weights.fit_judged``
    puts honest ones there. ``alone`` is the same without the second regression, where it was not
    calibrated again since.
    """

    members: tuple[Ridge, ...]  # one for each kernel
    held_out: Array
    counts: Array  # (n_members,): by how much each counts; they sum to one
    second: Second | None = None
    alone: Committee | None = None

    def scores(self, rows: Sequence[Array]) -> Array:
        """Log-odds of new sets, from a kernel with the training sets for every member."""
        parts = [member.scores(K_new) for member, K_new in zip(self.members, rows, strict=True)]
        return with_second(np.sum(parts, axis=0), self.second)

    def calibrated(self, slopes: Array, offsets: Array) -> Committee:
        """With log-odds that are a line of the present ones."""
        members = tuple(m.calibrated(slopes, offsets / len(self.members)) for m in self.members)
        second = self.second.calibrated(slopes, offsets) if self.second else None
        return Committee(members, slopes * self.held_out + offsets, self.counts, second)


def with_second(S: Array, second: Second | None) -> Array:
    """Scores with what the second regression, if there is one, makes of them."""
    return S if second is None else S + second.scores(S)


def roots(S: Array) -> Array:
    """Of the probabilities: rare terms are told from absent ones."""
    return np.sqrt(probabilities(S))


def fit_committee(kernels: Iterable[Array], Y: Array, groups: Any = None) -> Committee:
    """A regression for every kernel; of several a mean, and a second one on what they say."""
    with blas_threads(len(Y)):
        members = [ridge for _, ridge in ahead(lambda K: fit_ridge(K, Y, groups), kernels)]
    if len(members) == 1:
        return Committee((members[0],), members[0].held_out, np.ones(1))
    above = np.array([mean_auc(Y, m.held_out) for m in members]) - 0.5
    counts = np.maximum(above, LEAST) ** 2
    counts /= counts.sum()
    scaled = tuple(m.calibrated(n, 0.0) for m, n in zip(members, counts, strict=True))
    first = Committee(scaled, np.sum([m.held_out for m in scaled], axis=0), counts)
    first = first.calibrated(*calibrate(Y, first.held_out))
    X = roots(first.held_out)
    kernel = MeanMap(random_state=0).fit_blocks(X, [(X, np.ones(len(X), dtype=np.intp))])
    ridge = fit_ridge(kernel.kernel_of_fit(), Y, groups)
    ridge = ridge.calibrated(SHARE / (1 - SHARE), 0.0)
    held_out = first.held_out + ridge.held_out
    second = Second(kernel, ridge, np.ones(Y.shape[1]), np.zeros(Y.shape[1]))
    both = replace(first, held_out=held_out, second=second)
    return replace(both.calibrated(*calibrate(Y, held_out)), alone=first)


# -- probabilities -------------------------------------------------------


def calibrate(Y: Array, S: Array) -> tuple[Array, Array]:
    """Slopes (above 0) and offsets of sigmoids from held-out scores (Platt's method).

    Where scores say nothing of a term, the slope is so small that all probabilities are that of
    the term, and the order of the sets is kept.
    """
    found = np.array([_sigmoid(y, s) for y, s in zip(Y.T, S.T, strict=True)])
    return found[:, 0], found[:, 1]


def _sigmoid(y: Array, s: Array) -> tuple[float, float]:
    """By Newton's method, on targets that leave room for what has not been seen."""
    n_1, n_0 = y.sum(), len(y) - y.sum()
    prior, scale = float(prior_of(y)), float(s.std())
    if scale <= SAME_SCORE * (1 + np.abs(s).max()):
        return FLATTEST, prior - FLATTEST * float(s.mean())
    target = np.where(y > 0, (n_1 + 1) / (n_1 + 2), 1 / (n_0 + 2))
    X = np.column_stack([s / scale, np.ones(len(s))])
    w = np.array([0.0, prior])
    for _ in range(50):
        p = probabilities(X @ w)
        g = X.T @ (p - target)
        H = (X * (p * (1 - p))[:, None]).T @ X + 1e-6 * len(s) * np.eye(2)
        step = np.linalg.solve(H, g)
        w = w - step / max(1.0, float(np.abs(step).max()))
        if np.abs(step).max() < 1e-8:
            break
    if w[0] > FLATTEST:
        return float(w[0] / scale), float(w[1])
    return FLATTEST / scale, prior - FLATTEST * float(s.mean()) / scale


def prior_of(Y: Array) -> Array:
    """Log-odds of terms where nothing else is known of a set."""
    n_1 = Y.sum(axis=0)
    return np.asarray(np.log((n_1 + 1) / (len(Y) - n_1 + 1)))


def probabilities(S: Array) -> Array:
    """From log-odds."""
    return np.asarray(1 / (1 + np.exp(-np.clip(S, -500, 500))))
