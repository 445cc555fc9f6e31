"""Annotating with several kernels: kernels of image sets, their weights, an SVM per term."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise, product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn import config_context
from sklearn.decomposition import TruncatedSVD
from sklearn.metrics.pairwise import cosine_similarity, euclidean_distances
from sklearn.svm import SVC, LinearSVC

from eigenkit.data import CenteredKernel
from eigenkit.datasets import Dataset
from eigenkit.estimators.splits import k_fold
from eigenkit.evaluation.classifiers import decide
from eigenkit.evaluation.metrics import score_all
from eigenkit.numerics.linalg import Array
from eigenkit.solvers.kernel_weights import KernelBank, best_single, silp
from eigenkit.targets import TARGETS, Labels

# How the weights of the kernels are found, and for which target.
METHODS = {"star": "star", "clique": "clique", "kCCA": "cca", "uniform": None, "best": "star"}
LEARNED = ("star", "clique", "kCCA")
MEASURES = ("f1_macro", "f1_micro", "precision_macro", "recall_macro", "auc")
ALPHAS = (1.0, 10.0)
COSTS = (0.1, 0.3, 1.0)
UNBALANCED_COSTS = (1.0, 3.0, 10.0)  # rare terms need more where errors on them weigh no more
RIDGES, MIDDLE_COST = (1.0, 10.0, 100.0), 0.3  # for the look at one alpha for all methods
TOL = 1e-3

Kind = tuple[str, float]
Scores = dict[str, float]
Choice = tuple[float, float]
Numbers = NDArray[np.integer[Any]]  # of rows or of terms


# -- kernels ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Images:
    """Image sets: non-negative features in views, terms, and kinds of kernels for every view."""

    X: sparse.csr_array
    Y: Array
    offsets: Sequence[int]
    kinds: Sequence[Kind]

    @classmethod
    def of(cls, data: Dataset, kinds: Sequence[Kind]) -> Images:
        """The data set, whose array ``view_offsets`` says which columns are one view."""
        offsets = data.arrays["view_offsets"].tolist()
        return cls(sparse.csr_array(data.X), data.target.astype(np.float64), offsets, kinds)

    @property
    def names(self) -> list[str]:
        """What the kernels are, in words."""
        views = range(1, len(self.offsets))
        return [f"view {view}, {in_words(kind)}" for view, kind in product(views, self.kinds)]

    @cached_property
    def kernels(self) -> np.ndarray:
        """All kernels between all image sets; in single precision, as they take most memory."""
        views = [self.X[:, start:stop] for start, stop in pairwise(self.offsets)]
        return np.array([K for view in views for K in _kernels(view, self.kinds)])

    def choose(self, n_terms: int, n_sets: int, seed: int) -> tuple[Numbers, Numbers]:
        """Numbers of the most frequent terms, and of image sets that carry one of them at least.

        With fewer such sets than asked for, all. A larger number of sets holds the smaller ones.
        """
        terms = np.sort(np.argsort(-self.Y.sum(axis=0), kind="stable")[:n_terms])
        annotated = np.flatnonzero(self.Y[:, terms].any(axis=1))
        rng = np.random.default_rng([seed, n_terms])
        return terms, rng.permutation(annotated)[:n_sets]


def in_words(kind: Kind) -> str:
    """The name and, except for the cosine, the factor."""
    return kind[0] if kind[0] == "cosine" else f"{kind[0]} {kind[1]:g}"


def _kernels(V: sparse.csr_array, kinds: Sequence[Kind]) -> Iterator[np.ndarray]:
    squared = euclidean_distances(V, squared=True)
    distance = chi_squared(V)
    for kind, factor in kinds:
        if kind == "Gaussian":  # factor 1: as gamma="scale" of scikit-learn
            mean_square = V.multiply(V).mean() - V.mean() ** 2
            K = np.exp(-factor * squared / (V.shape[1] * mean_square))
        elif kind == "chi-squared":
            K = np.exp(-factor * distance / distance.mean())
        else:
            K = cosine_similarity(V)
        yield K.astype(np.float32)


def chi_squared(V: Any) -> Array:
    """sum_j (x_j - y_j)^2 / (x_j + y_j) between all rows of a non-negative matrix.

    As (x - y)^2 / (x + y) = x + y - 4 xy / (x + y), only words that both have take work.
    """
    V = sparse.csc_array(V)
    common = np.zeros((V.shape[0], V.shape[0]))
    for start, stop in pairwise(V.indptr):
        rows, x = V.indices[start:stop], V.data[start:stop]
        common[np.ix_(rows, rows)] += np.outer(x, x) / np.add.outer(x, x)
    total = np.asarray(V.sum(axis=1)).ravel()
    return np.asarray(np.maximum(total[:, None] + total - 4 * common, 0.0))


# -- one partition ----------------------------------------------------------------------


class Partition:
    """Training and test rows: weights of the kernels are learned on the one, scored on the other.

    What :class:`~eigenkit.MultipleKernelProjection` does, taken apart so that all methods and
    ridges share the centred kernels.
    """

    def __init__(
        self, kernels: np.ndarray, Y: Array, train: Numbers, test: Numbers, balanced: bool = True
    ) -> None:
        self.kernels, self.Y, self.train, self.test = kernels, Y, train, test
        self.balanced = balanced
        self.bank, self.scales = unit_bank(kernels, train)

    def weights(self, method: str, alpha: float) -> Array:
        """Shares of the kernels in the trace of their sum."""
        target = METHODS[method]
        if target is None:
            return np.full(len(self.kernels), 1 / len(self.kernels))
        self.bank.aim(target_matrix(target, self.Y[self.train]), alpha)
        found = best_single(self.bank) if method == "best" else silp(self.bank, TOL, 200)
        return found.weights

    def validated(self, method: str, alpha: float) -> list[float]:
        """Macro F1 for every C."""
        found = self.scores(self.weights(method, alpha), self.costs)
        return [scores["f1_macro"] for scores in found]

    @property
    def costs(self) -> tuple[float, ...]:
        """Values of C to choose from."""
        return COSTS if self.balanced else UNBALANCED_COSTS

    def scores(self, weights: Array, costs: Iterable[float]) -> list[Scores]:
        """How well SVMs on the sum of kernels annotate the test rows, for every C."""
        theta = weights * self.scales
        K = mixed(self.kernels, theta, self.train, self.train)
        K_new = mixed(self.kernels, theta, self.test, self.train)
        Y, Y_new = self.Y[self.train], self.Y[self.test]
        return [measures(Y_new, annotate(K, K_new, Y, C, self.balanced)) for C in costs]


def unit_bank(kernels: np.ndarray, rows: Numbers) -> tuple[KernelBank, Array]:
    """The kernels between some rows, centred and with the trace n; and their factors."""
    bank, scales = KernelBank(len(kernels), len(rows)), np.empty(len(kernels))
    for j, K in enumerate(kernels):
        centred = CenteredKernel(K[np.ix_(rows, rows)].astype(np.float64), overwrite=True).K
        scales[j] = len(rows) / np.trace(centred)
        bank.put(j, scales[j] * centred)
    return bank, scales


def target_matrix(name: str, Y: Array) -> Array:
    """H of the target, centred."""
    H = TARGETS[name].rows(Y, Labels(Y.sum(axis=0), Y - Y.mean(axis=0)))
    return np.asarray(H - H.mean(axis=0))


def mixed(kernels: np.ndarray, theta: Array, rows: Numbers, columns: Numbers) -> Array:
    """sum_j theta_j K_j between some rows and columns."""
    K = np.zeros((len(rows), len(columns)))
    for j in np.flatnonzero(theta):
        K += theta[j] * kernels[j][np.ix_(rows, columns)]
    return K


def annotate(K: Array, K_new: Array, Y: Array, C: float, balanced: bool) -> Array:
    """Scores of an SVM for every term; positive where new samples are annotated with it."""
    A, bias = np.zeros(Y.T.shape), Y[0] - 0.5  # for terms that all rows carry, or none

    def train(j: int) -> None:
        model = SVC(C=C, kernel="precomputed", class_weight="balanced" if balanced else None)
        with config_context(assume_finite=True, skip_parameter_validation=True):
            model.fit(K, Y[:, j])  # checks of K for every term would take an eighth of the time
        A[j, model.support_] = model.dual_coef_[0]
        bias[j] = model.intercept_[0]

    list(_threads().map(train, np.flatnonzero(Y.min(axis=0) < Y.max(axis=0))))
    return np.asarray(K_new @ A.T + bias)


@cache
def _threads() -> ThreadPoolExecutor:
    """One for each processor: libsvm lets other threads run."""
    return ThreadPoolExecutor(os.cpu_count())


def measures(Y: Array, S: Array) -> Scores:
    """The thesis's four measures, and the AUC, which does not depend on a threshold."""
    found = score_all(Y, S, (S > 0).astype(np.float64))
    return {name: found[name] for name in MEASURES}


# -- all methods on one partition -------------------------------------------------------


def choose(
    kernels: np.ndarray, Y: Array, rows: Numbers, rng: np.random.Generator, balanced: bool = True
) -> dict[str, Choice]:
    """alpha and C of every method: the best macro F1 of two-fold cross-validation in the rows."""
    folds = [
        Partition(kernels, Y, rows[fit], rows[check], balanced)
        for fit, check in k_fold(Y[rows], 2, rng)
    ]
    return {method: _choice(method, folds) for method in METHODS}


def _choice(method: str, folds: Sequence[Partition]) -> Choice:
    alphas = ALPHAS if METHODS[method] else ALPHAS[:1]  # uniform weights know no alpha
    scores = np.array([[fold.validated(method, alpha) for alpha in alphas] for fold in folds])
    i, j = np.unravel_index(scores.mean(axis=0).argmax(), scores.shape[1:])
    return alphas[i], folds[0].costs[j]


def halves(rows: Numbers, rng: np.random.Generator) -> tuple[Numbers, Numbers]:
    """A random partition with the ratio 1:1."""
    order = rng.permutation(rows)
    return order[: len(rows) // 2], order[len(rows) // 2 :]


def annotate_partition(
    images: Images, terms: Numbers, rows: Numbers, seed: Sequence[int], *, balanced: bool = True
) -> dict[str, Any]:
    """Choose alpha and C within one random half of the rows, and score on the other.

    Gives for every method its measures with alpha, C and weights, and under "single" the measures
    of each kernel alone, with the C of "best".
    """
    rng = np.random.default_rng(list(seed))
    train, test = halves(rows, rng)
    kernels, Y = images.kernels, images.Y[:, terms]
    choice = choose(kernels, Y, train, rng, balanced)
    whole = Partition(kernels, Y, train, test, balanced)
    found: dict[str, Any] = {}
    for method, (alpha, C) in choice.items():
        weights = whole.weights(method, alpha)
        scores = whole.scores(weights, [C])[0]
        found[method] = {**scores, "alpha": alpha, "C": C, "weights": weights.tolist()}
    if balanced:
        cost = choice["best"][1:]
        found["single"] = [whole.scores(w, cost)[0] for w in np.eye(len(kernels))]
    return found


def annotate_with_one_alpha(
    images: Images, terms: Numbers, rows: Numbers, seed: Sequence[int]
) -> dict[str, list[float]]:
    """Macro F1 on the same partition with the same alpha, each of RIDGES, for all methods."""
    train, test = halves(rows, np.random.default_rng(list(seed)))
    whole = Partition(images.kernels, images.Y[:, terms], train, test)

    def f1(method: str, alpha: float) -> float:
        return whole.scores(whole.weights(method, alpha), [MIDDLE_COST])[0]["f1_macro"]

    found = {method: [f1(method, alpha) for alpha in RIDGES] for method in LEARNED}
    return {**found, "uniform": [f1("uniform", RIDGES[0])] * len(RIDGES)}


# -- what else one would try: a linear SVM per term on the features of all views ----------------


# Name -> components of a truncated SVD, or 0 for the features as they are.
PLAIN = {"linear SVM, all features": 0, "truncated SVD (100) + linear SVM": 100}
PLAIN_COSTS = (0.1, 1.0, 10.0)


def annotate_plainly(
    images: Images, name: str, terms: Numbers, train: Numbers, test: Numbers, C: float
) -> Scores:
    """The measures of one of PLAIN."""
    Z, Z_new = images.X[train], images.X[test]
    if PLAIN[name]:
        svd = TruncatedSVD(min(PLAIN[name], Z.shape[1] - 1), random_state=0)
        Z, Z_new = svd.fit_transform(Z), svd.transform(Z_new)
    Y = images.Y[:, terms]
    model = LinearSVC(C=C, class_weight="balanced", max_iter=10_000, random_state=0)
    S, _ = decide(model, Z, Y[train], Z_new, single=False, scale=False)
    return measures(Y[test], S)


def annotate_partition_plainly(
    name: str, images: Images, terms: Numbers, rows: Numbers, seed: Sequence[int]
) -> dict[str, Any]:
    """The same partition and the same choice of C as :func:`annotate_partition` makes."""
    rng = np.random.default_rng(list(seed))
    train, test = halves(rows, rng)
    folds = list(k_fold(images.Y[np.ix_(train, terms)], 2, rng))

    def validated(C: float) -> float:
        found = [annotate_plainly(images, name, terms, train[f], train[c], C) for f, c in folds]
        return float(np.mean([scores["f1_macro"] for scores in found]))

    C = max(PLAIN_COSTS, key=validated)
    return {**annotate_plainly(images, name, terms, train, test, C), "C": C}
