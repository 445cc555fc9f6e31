"""Weights of the kernels: equal, learned, half of each; or a regression for every kernel.

What is chosen on sets that were left out holds for new sets of the same views. Where new ones show
others (another camera, another maker), every view is left out in turn, together with half of the
sets: sets that show it alone are annotated by the other half without it, as new ones will be.

Every view of a set is then a row of the regression. With one row for a set, only the mean score of
its pictures has to be right; with a row for every view, the score of each has to be, so that what
tells views from each other counts less.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Any

import numpy as np

from eigenkit.data import CenteredKernel
from eigenkit.estimators.splits import k_fold, splits_of
from eigenkit.images.extraction import Vectors
from eigenkit.images.files import ImageSet, Sets, view_in_words
from eigenkit.images.kernels import Places, Plan, ViewKernel, choices, fit_kernels
from eigenkit.images.ridge import Committee, calibrate, fit_committee, prior_of, without_rounding
from eigenkit.images.term_reports import quality
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
        used = self.base > 0
        if self.how == "each":
            names = np.arange(len(used)) if self.parts is None else np.array(self.parts)
            names = np.where(used, names, names[np.argmax(used)])
            alone = [self.base * (names == name) for name in dict.fromkeys(names.tolist())]
            rows = np.array([self.base, *alone] if len(alone) > 1 else [self.base])
            return np.asarray(rows / rows.sum(axis=1, keepdims=True))
        theta = np.zeros((1, len(K)))
        theta[:, used] = kernel_weights(K if used.all() else K[used], Y, self.how, self.base[used])
        return theta


def kernel_weights(
    K: np.ndarray, Y: Array, how: str, base: Array | None = None, target: str = "clique"
) -> Array:
    """Factors theta of the kernels, with sum one."""
    equal = np.full(len(K), 1 / len(K)) if base is None else base / base.sum()
    if how == "equal" or len(K) == 1:
        return np.asarray(equal)
    H = TARGETS[target].rows(Y, Labels(Y.sum(axis=0), Y - Y.mean(axis=0)))
    bank, scales = bank_of(K)
    bank.aim(np.asarray(H - H.mean(axis=0)), ALPHA)
    found = best_single(bank) if how == "best" else silp(bank, TOL, MAX_ITER)
    theta = found.weights * scales
    if not np.any(theta > 0):  # no kernel tells two sets apart
        theta = np.ones(len(K))
    theta = theta / theta.sum()
    return np.asarray((theta + equal) / 2 if how == "half" else theta)


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
    """Kernels of some sets with their terms, and of new sets with them."""

    K: np.ndarray  # (n_kernels, n, n)
    K_new: np.ndarray  # (n_kernels, n_new, n)
    own_new: Array  # (n_kernels, n_new): self-similarities of the new sets
    Y: Array  # (n, n_terms)
    groups: Any  # (n,), or none

    def committee(self, thetas: Array) -> tuple[Committee, list[Array]]:
        """Regressions with these weights, and the kernels of the new sets for each."""
        rows: list[Array] = []

        def kernels() -> Iterator[Array]:
            for theta in thetas:
                K = mix(self.K, theta)
                own = np.diagonal(K)
                rows.append(unit_diagonal(mix(self.K_new, theta), theta @ self.own_new, own))
                yield unit_diagonal(K, own, own)

        return fit_committee(kernels(), self.Y, self.groups), rows


@dataclass(frozen=True, eq=False)
class Trial(Kernels):
    """Kernels with the terms of all sets: something to choose by."""

    Y_new: Array  # (n_new, n_terms)
    new: np.ndarray  # (n_new,): which of all sets are new here

    def scores(self, thetas: Array) -> Array:
        """Log-odds of the new sets, with these weights."""
        committee, rows = self.committee(thetas)
        return committee.scores(rows)

    def judge(self, candidate: Candidate) -> float:
        """How well the scores of a candidate tell the terms of the new sets."""
        return quality(self.Y_new, self.scores(candidate.thetas(self.K, self.Y)))


def fold_trials(
    K: np.ndarray, Y: Array, seed: int, groups: Any = None, folds: int = 3
) -> Iterator[Trial]:
    """Folds, one after the other."""
    for fit, check in folds_of(Y, groups, folds, seed):
        inside, across = K[:, fit][:, :, fit], K[:, check][:, :, fit]
        own = np.array([np.diagonal(k)[check] for k in K])
        yield Trial(inside, across, own, Y[fit], groups_of(groups, fit), Y[check], check)


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
    scores = [[found for _, found in ahead(trial.judge, candidates)] for trial in trials]
    means = np.mean(scores, axis=0)
    return candidates[int(np.argmax(means))], [float(mean) for mean in means]


def choose_kernels(
    kernels: Any, weights: str, fitted: Sequence[ViewKernel], trials: Callable[[], Iterable[Trial]]
) -> tuple[Candidate, dict[str, float]]:
    """Which kernels, by their sum with equal weights; their weights; what every choice reaches."""
    candidates = [Candidate(*choice) for choice in choices(kernels, fitted, weights).items()]
    best, scores = choose(trials(), candidates)
    asked = CHOICES if weights == "auto" else (weights,)
    if np.count_nonzero(best.base) <= 1:
        asked = ("equal",)
    parts = [kernel.plan.name for kernel in fitted]
    ways = [Candidate(best.kernels, best.base, how, parts) for how in asked]
    chosen, of_ways = choose(trials(), ways)
    found = {c.kernels: x for c, x in zip(candidates, scores, strict=False)}
    words = [f"{way.kernels}, {IN_WORDS[way.how]}" for way in ways]
    return chosen, found | dict(zip(words, of_ways, strict=False))


def groups_of(groups: Any, rows: Any) -> Any:
    """The groups of some sets; none where all are of one, as sets are then left out one by one."""
    own = None if groups is None else np.asarray(groups)[rows]
    return None if own is None or np.all(own == own[0]) else own


def folds_of(Y: Array, groups: Any, folds: int, seed: int) -> Iterator[tuple[Any, Any]]:
    """Folds that keep groups together."""
    if groups is None:
        return k_fold(Y, folds, np.random.default_rng(seed))
    names, inside = np.unique(groups, return_inverse=True)
    folds = min(folds, len(names))
    part = np.random.default_rng(seed).permutation(len(names)) % folds
    return splits_of(part[inside], folds)


# -- new sets with views that no training set shows ---------------------------------------


def views_apart(sets: Sets) -> tuple[list[ImageSet], np.ndarray]:
    """Every view of every set as a set of its own, and the place of the set that it is of."""
    parts, of = [], []
    for i, one in enumerate(sets):
        for view in one.views:
            name = f"{one.name}, {view_in_words(view)}" if len(one.views) > 1 else one.name
            parts.append(ImageSet(name, tuple(p for p in one.pictures if p.view == view)))
            of.append(i)
    return parts, np.array(of, dtype=np.intp)


def rows_of_views(
    sets: Sets, vectors: Vectors, Y: Array, groups: Any
) -> tuple[list[ImageSet], Vectors, Array, np.ndarray]:
    """Every view of every set as a row; those of one set are of one group."""
    parts, of = views_apart(sets)
    _, own = _of_views(sets, vectors, [(i, part.views) for i, part in zip(of, parts, strict=True)])
    return parts, own, Y[of], of if groups is None else groups[of]


def _of_views(
    sets: Sets, vectors: Vectors, rows: Sequence[tuple[int, Sequence[str]]]
) -> tuple[list[ImageSet], Vectors]:
    """The pictures of some views, and their vectors, for rows of the place of a set and views."""
    kept = [(i, [p.view in views for p in sets[i].pictures]) for i, views in rows]
    parts = [ImageSet(sets[i].name, tuple(compress(sets[i].pictures, own))) for i, own in kept]
    return parts, {
        name: [list(compress(given[i], own)) for i, own in kept] for name, given in vectors.items()
    }


def unseen_trials(
    plans: Sequence[Plan],
    places: Places,
    sets: Sets,
    vectors: Vectors,
    Y: Array,
    groups: Any,
    seed: int,
) -> list[Trial]:
    """For every view, sets that show it annotated by other sets without it."""
    seen = sorted({view for one in sets for view in one.views})
    if len(seen) < 2:
        raise ValueError(
            "views='unseen' leaves out one view after the other, and these sets show one only: "
            "give sets with two views or more, or views=False."
        )
    trials = []
    for view in seen:
        others = [other for other in seen if other != view]
        for train, check in folds_of(Y, groups, 2, seed):
            train = np.array([i for i in train if set(sets[i].views) - {view}], dtype=np.intp)
            check = np.array([i for i in check if view in sets[i].views], dtype=np.intp)
            if not (len(train) and len(check)):
                continue
            inside = _of_views(sets, vectors, [(i, others) for i in train])
            kernels, K = fit_kernels(plans, [None], *inside, places, seed)
            new, own = _of_views(sets, vectors, [(i, [view]) for i in check])
            K_new = np.array([kernel.transform(new, own, places) for kernel in kernels])
            ones, known = np.ones((len(K), len(check))), groups_of(groups, train)
            trials.append(Trial(K, K_new, ones, Y[train], known, Y[check], check))
    return trials
