"""Weights of the kernels: equal, learned, half of each; or a regression for every kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from eigenkit.data import CenteredKernel
from eigenkit.estimators.splits import k_fold, splits_of
from eigenkit.images.committee import Committee, fit_committee
from eigenkit.images.kernels import ViewKernel, equal_weights, subsets, with_views
from eigenkit.images.ridge import calibrate, prior_of, quality, without_rounding
from eigenkit.numerics.linalg import Array
from eigenkit.numerics.threads import ahead
from eigenkit.solvers.kernel_weights import KernelBank, best_single, silp
from eigenkit.targets import TARGETS, Labels

# Which "auto" chooses from, and all that can be asked for.
CHOICES = ("each", "equal", "learned", "half")
WEIGHTS = (*CHOICES, "best", "auto")
IN_WORDS = {how: f"{how} weights" for how in WEIGHTS} | {"each": "a regression for each"}
TOL, MAX_ITER, ALPHA = 1e-2, 100, 3.0
# Rows of kernels that are summed at a time.
MIX_ROWS = 64
# Folds by which several regressions are judged: as many as these sets allow, from and to.
FOLD_SETS, FOLDS = 5000, (3, 10)


def mixed(K: np.ndarray, theta: Array) -> Array:
    """sum_j theta_j K_j, brought to a unit diagonal: a view that is missing shrinks nothing."""
    total = mix(K, theta)
    return unit_diagonal(total, np.diagonal(total), np.diagonal(total))


def mix(K: np.ndarray, theta: Array) -> Array:
    """sum_j theta_j K_j, in double precision; some rows at a time, which stay in the cache."""
    used = np.flatnonzero(theta)
    total = np.zeros(K.shape[1:])
    for start in range(0, len(total), MIX_ROWS):
        rows = slice(start, start + MIX_ROWS)
        for j in used:
            total[rows] += theta[j] * K[j, rows]
    return total


def unit_diagonal(K: Array, own: Array, other: Array) -> Array:
    """K over the roots of the self-similarities."""
    left, right = (np.sqrt(np.where(d > 0, d, 1)) for d in (own, other))
    return np.asarray(K / left[:, None] / right)


@dataclass(frozen=True, eq=False)
class Candidate:
    """A way to weigh kernels.

    ``base`` is what counts as equal weights, zero for kernels that are left out. Where each kernel
    has a regression, those that share a name in ``parts`` share theirs.
    """

    kernels: str  # in words
    base: Array  # (n_kernels,)
    how: str = "equal"  # one of WEIGHTS, but "auto"
    parts: Sequence[str] | None = None

    def thetas(self, K: np.ndarray, Y: Array) -> Array:
        """Factors of all kernels, with sum one: a row for each regression, the sum of all first."""
        if self.how == "each":
            return self._each()
        used = self.base > 0
        theta = np.zeros((1, len(K)))
        some = K if used.all() else K[used]
        theta[:, used] = kernel_weights(some, Y, self.how, self.base[used])
        return theta

    def _each(self) -> Array:
        names = np.arange(len(self.base)) if self.parts is None else np.array(self.parts)
        names = np.where(self.base > 0, names, names[np.argmax(self.base > 0)])
        alone = [self.base * (names == name) for name in dict.fromkeys(names.tolist())]
        rows = np.array([self.base, *alone] if len(alone) > 1 else [self.base])
        return np.asarray(rows / rows.sum(axis=1, keepdims=True))


def kernel_weights(
    K: np.ndarray, Y: Array, how: str, base: Array | None = None, target: str = "clique"
) -> Array:
    """Factors theta of the kernels, with sum one."""
    p = len(K)
    equal = np.full(p, 1 / p) if base is None else base / base.sum()
    if how == "equal" or p == 1:
        return np.asarray(equal)
    theta = _learned(K, Y, target, how == "best")
    return np.asarray((theta + equal) / 2) if how == "half" else theta


def _learned(K: np.ndarray, Y: Array, target: str, single: bool) -> Array:
    H = TARGETS[target].rows(Y, Labels(Y.sum(axis=0), Y - Y.mean(axis=0)))
    bank, scales = bank_of(K)
    bank.aim(np.asarray(H - H.mean(axis=0)), ALPHA)
    found = best_single(bank) if single else silp(bank, TOL, MAX_ITER)
    theta = found.weights * scales
    if not np.any(theta > 0):  # no kernel tells two sets apart
        return np.full(len(K), 1 / len(K))
    return np.asarray(theta / theta.sum())


def bank_of(K: np.ndarray) -> tuple[KernelBank, Array]:
    """The kernels, centred and with the trace n; and their factors."""
    p, n = K.shape[:2]
    bank, scales = KernelBank(p, n), np.zeros(p)
    for j in range(p):
        centred = CenteredKernel(K[j].astype(np.float64), overwrite=True).outer()
        trace = float(np.trace(centred))
        if trace > 1e-9 * n:  # a kernel that is the same for all sets tells nothing
            scales[j] = n / trace
        bank.put(j, scales[j] * centred)
    return bank, scales


@dataclass(frozen=True, eq=False)
class Kernels:
    """Kernels of some sets, and of new ones with them."""

    K: np.ndarray  # (n_kernels, n, n)
    K_new: np.ndarray  # (n_kernels, n_new, n)
    own_new: Array  # (n_kernels, n_new): self-similarities of the new sets

    def mixed(self, theta: Array) -> tuple[Array, Array]:
        """Both sums with these weights, brought to a unit diagonal."""
        K = mix(self.K, theta)
        own = np.diagonal(K)
        new = unit_diagonal(mix(self.K_new, theta), theta @ self.own_new, own)
        return unit_diagonal(K, own, own), new

    def fitted(self, thetas: Array, Y: Array, groups: Any) -> tuple[Committee, list[Array]]:
        """Regressions for the terms Y of the sets, and the kernels of the new ones for each."""
        rows: list[Array] = []

        def kernels() -> Iterator[Array]:
            for theta in thetas:
                K, K_new = self.mixed(theta)
                rows.append(K_new)
                yield K

        return fit_committee(kernels(), Y, groups), rows


@dataclass(frozen=True, eq=False)
class Trial(Kernels):
    """Kernels with the terms of all sets: something to choose by."""

    Y: Array  # (n, n_terms)
    Y_new: Array  # (n_new, n_terms)
    new: np.ndarray  # (n_new,): which of all sets are new here
    groups: Any = None  # (n,), or none

    def committee(self, thetas: Array) -> tuple[Committee, list[Array]]:
        """Regressions with these weights, and the kernels of the new sets for each."""
        groups = self.groups
        known = None if groups is None or np.all(groups == groups[0]) else groups
        return self.fitted(thetas, self.Y, known)

    def scores(self, thetas: Array) -> Array:
        """Log-odds of the new sets, with these weights."""
        committee, rows = self.committee(thetas)
        return committee.scores(rows)


def fold_trials(
    K: np.ndarray, Y: Array, seed: int, groups: Any = None, folds: int = 3
) -> Iterator[Trial]:
    """Folds, one after the other."""
    groups = None if groups is None else np.asarray(groups)
    for fit, check in folds_of(Y, groups, folds, seed):
        inside, across = K[:, fit][:, :, fit], K[:, check][:, :, fit]
        own = np.array([np.diagonal(k)[check] for k in K])
        known = None if groups is None else groups[fit]
        yield Trial(inside, across, own, Y[fit], Y[check], check, known)


def fit_judged(
    K: np.ndarray,
    thetas: Array,
    Y: Array,
    groups: Any,
    seed: int,
    trials: Iterable[Trial] | None = None,
) -> Committee:
    """Regressions with these weights, calibrated on log-odds of sets that they have not seen.

    The scores of one regression for sets left out are exact. Those of several are not: what is
    fitted to scores of sets left out finds that a set is the less like those of its own terms as it
    is not among them, which is true of no new set. So all regressions of folds (or of the trials)
    are fitted without their new sets; those of folds keep the kernels, which know no terms. Folds
    also say whether the second regression is any good; trials of unseen views have half of the
    sets, too few for it to show, and it stays.
    """
    whole = fit_committee((mixed(K, theta) for theta in thetas), Y, groups)
    in_folds = trials is None
    if in_folds and len(thetas) == 1:
        return whole
    if trials is None:
        trials = fold_trials(K, Y, seed, groups, int(np.clip(FOLD_SETS // len(Y), *FOLDS)))
    ways = _ways(whole)
    scores, qualities = np.full((len(ways), *Y.shape), np.nan), np.zeros(len(ways))
    for trial in trials:
        found, rows = trial.committee(thetas)
        shift = prior_of(Y) - prior_of(trial.Y)  # how frequent terms are is known of all sets
        for i, way in enumerate(_ways(found)):
            S = way.scores(rows) + shift
            scores[i, trial.new], qualities[i] = S, qualities[i] + quality(trial.Y_new, S)
    best = int(np.argmax(qualities)) if in_folds else len(ways) - 1
    known = np.isfinite(scores[best]).all(axis=1)
    S = without_rounding(scores[best, known])
    slopes, offsets = calibrate(Y[known], S)
    judged = ways[best].calibrated(slopes, offsets)
    held_out = judged.held_out.copy()
    held_out[known] = slopes * S + offsets
    return replace(judged, held_out=held_out)


def _ways(committee: Committee) -> list[Committee]:
    """Without the second regression, and with it."""
    return [committee] if committee.alone is None else [committee.alone, committee]


def choose(
    trials: Iterable[Trial], candidates: Sequence[Candidate]
) -> tuple[Candidate, list[float]]:
    """The candidate of the best mean quality; the first where it is a tie."""
    if len(candidates) == 1:
        return candidates[0], []

    def scored(trial: Trial, candidate: Candidate) -> float:
        return quality(trial.Y_new, trial.scores(candidate.thetas(trial.K, trial.Y)))

    scores = [[found for _, found in ahead(partial(scored, t), candidates)] for t in trials]
    means = np.mean(scores, axis=0)
    return candidates[int(np.argmax(means))], [float(mean) for mean in means]


def choose_kernels(
    kernels: Any,
    weights: str,
    fitted: Sequence[ViewKernel],
    trials: Callable[[], Iterable[Trial]],
) -> tuple[Candidate, dict[str, float]]:
    """Which kernels, by their sum with equal weights; their weights; what every choice reaches."""
    candidates = [
        Candidate(name + words, equal_weights(used, fitted, within))
        for name, used in subsets(kernels, fitted, weights).items()
        for words, within in with_views(fitted, used)
    ]
    best, scores = choose(trials(), candidates)
    asked = CHOICES if weights == "auto" else (weights,)
    parts = [kernel.plan.name for kernel in fitted]
    ways = [
        Candidate(best.kernels, best.base, how, parts)
        for how in (asked if np.count_nonzero(best.base) > 1 else ("equal",))
    ]
    chosen, of_ways = choose(trials(), ways)
    found = {c.kernels: x for c, x in zip(candidates, scores, strict=False)}
    return chosen, found | {
        f"{way.kernels}, {IN_WORDS[way.how]}": x for way, x in zip(ways, of_ways, strict=False)
    }


def folds_of(Y: Array, groups: Any, folds: int, seed: int) -> Iterator[tuple[Any, Any]]:
    """Folds that keep groups together."""
    if groups is None:
        return k_fold(Y, folds, np.random.default_rng(seed))
    names, inside = np.unique(groups, return_inverse=True)
    folds = min(folds, len(names))
    part = np.random.default_rng(seed).permutation(len(names)) % folds
    return splits_of(part[inside], folds)
