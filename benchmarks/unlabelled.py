"""Samples without labels: ``python -m benchmarks.unlabelled [--quick] [--only ...]``.

Accuracy on new rows over seeds, beside LabelSpreading, SelfTraining and a PCA of all rows before
the fit. Kernel widths, ridge and mu were chosen on seeds from 1000 on; the seeds printed here are
others. LabelSpreading chooses its own gamma, and one row of ours its mu, on the labels at hand.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from sklearn.datasets import load_digits, make_moons
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier

from benchmarks.race import load
from eigenkit import LDA, PCA, GraphRegularized, KernelLDA

PER_CLASS = 3
GRID = [0.0, 0.1, 1.0, 10.0]
Set = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def hidden(y: np.ndarray, seed: int) -> np.ndarray:
    """y with all labels but a few of every class hidden (-1)."""
    rng, few = np.random.default_rng(seed), np.full(len(y), -1)
    for c in np.unique(y):
        few[rng.choice(np.flatnonzero(y == c), PER_CLASS, replace=False)] = c
    return few


def moons(seeds: range, noise: float) -> Iterator[Set]:
    for seed in seeds:
        X, y = make_moons(300, noise=noise, random_state=seed)
        yield X, hidden(y, seed), *make_moons(500, noise=noise, random_state=seed + 5000)


def split(X: np.ndarray, y: np.ndarray, seeds: range) -> Iterator[Set]:
    for seed in seeds:
        A, T, a, t = train_test_split(X, y, test_size=0.4, stratify=y, random_state=seed)
        yield A, hidden(a, seed), T, t


class ChosenSpreading:
    """LabelSpreading with the gamma that is best for labels hidden in turn; all rows stay."""

    def __init__(self, gammas: Sequence[float]) -> None:
        self.gammas = gammas

    def fit(self, X, few):
        known = np.flatnonzero(few >= 0)
        folds = list(StratifiedKFold(PER_CLASS).split(known, few[known]))
        hits = [sum(self._hits(X, few, known[test], g) for _, test in folds) for g in self.gammas]
        self.model = self._spread(self.gammas[int(np.argmax(hits))]).fit(X, few)
        return self

    def _hits(self, X, few, hide, gamma: float) -> int:
        left = few.copy()
        left[hide] = -1
        return int(np.sum(self._spread(gamma).fit(X, left).transduction_[hide] == few[hide]))

    def _spread(self, gamma: float) -> LabelSpreading:
        return LabelSpreading(kernel="rbf", gamma=gamma, max_iter=200)

    def score(self, T, t) -> float:
        return self.model.score(T, t)


class OnLabelled:
    """A fit on the labelled rows; with ``first``, after a PCA of all rows."""

    def __init__(self, model, first=None) -> None:
        self.model, self.first = model, first

    def fit(self, X, few):
        if self.first is not None:
            X = self.first.fit(X).transform(X)
        self.model.fit(X[few >= 0], few[few >= 0])
        return self

    def score(self, T, t) -> float:
        return self.model.score(T if self.first is None else self.first.transform(T), t)


Makers = dict[str, Callable[[], object]]


def rivals(
    kernel: Callable[[], KernelLDA], gammas: Sequence[float], components: int | None
) -> Makers:
    """Self-training has our own base: probabilities of an SVC come from a fit to so few labels
    (Platt's) that turns classes round, below chance, where the SVC itself is right.
    """
    made: Makers = {
        "LabelSpreading rbf, gamma by CV": lambda: ChosenSpreading(gammas),
        "LabelSpreading knn": lambda: LabelSpreading(kernel="knn", n_neighbors=7, max_iter=200),
        "SelfTraining KernelLDA": lambda: SelfTrainingClassifier(kernel()),
    }
    if components:
        made["PCA of all rows, then LDA"] = lambda: OnLabelled(LDA(), PCA(components))
    return made


def table(title: str, sets: Callable[[], Iterator[Set]], makers: Makers) -> None:
    print(f"\n{title}")
    scores: dict[str, list[float]] = {name: [] for name in makers}
    for X, few, T, t in sets():
        for name, make in makers.items():
            scores[name].append(make().fit(X, few).score(T, t))
    reference = np.array(next(iter(scores.values())))
    for name, values in scores.items():
        gain = np.array(values) - reference
        error = gain.std(ddof=1) / np.sqrt(len(gain))
        print(f"  {name:34s} {np.mean(values):.3f}   {gain.mean():+.3f} +- {error:.3f}", flush=True)


def kernel_makers(gamma: float, alpha: float, mu: float, components: int | None = None) -> Makers:
    def kernel() -> KernelLDA:
        return KernelLDA(kernel="rbf", gamma=gamma, alpha=alpha)

    return {
        "KernelLDA, labelled rows": lambda: OnLabelled(kernel()),
        f"GraphRegularized, mu={mu:g}": lambda: GraphRegularized(kernel(), mu=mu),
        "  the same, weights='uniform'": lambda: GraphRegularized(
            kernel(), mu=mu, weights="uniform"
        ),
        "GraphRegularized, mu by CV": lambda: GraphRegularized(kernel(), mu=GRID),
        **rivals(kernel, [gamma * f for f in (0.1, 0.3, 1, 3, 10)], components),
    }


def text(seeds: range) -> None:
    data = load("news20")
    if data is None:
        return
    y = np.asarray(data.target)
    keep = np.isin(y, np.unique(y)[:5])
    rows = np.random.default_rng(0).permutation(np.flatnonzero(keep))[:2000]
    X, y = data.X[rows], y[rows]

    def kernel() -> KernelLDA:
        return KernelLDA(kernel="linear", alpha=1.0)

    makers: Makers = {
        "KernelLDA linear, labelled rows": lambda: OnLabelled(kernel()),
        "GraphRegularized, mu=0.1": lambda: GraphRegularized(kernel(), mu=0.1),
        "GraphRegularized, mu by CV": lambda: GraphRegularized(kernel(), mu=GRID),
        "PCA of all rows, then LDA": lambda: OnLabelled(LDA(), PCA(50)),
    }
    few = range(max(2, seeds.stop // 4))
    table("news20, 5 groups, 1200 rows, new rows", lambda: split(X, y, few), makers)


def two_moons(seeds: range) -> None:
    for noise in (0.05, 0.1, 0.15):
        title = f"two moons, noise {noise}, {PER_CLASS} labels a class of 300, new rows"
        table(title, lambda noise=noise: moons(seeds, noise), kernel_makers(20.0, 0.001, 10.0))


def digits(seeds: range) -> None:
    X, y = load_digits(return_X_y=True)
    X, y = X[:1500] / 16.0, y[:1500]
    title = f"digits, {PER_CLASS} labels a class of 900, new rows"
    few = range(max(2, seeds.stop // 2))
    table(title, lambda: split(X, y, few), kernel_makers(0.05, 0.01, 10.0, 30))


PARTS = {"moons": two_moons, "digits": digits, "text": text}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a few seeds")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in chosen.only:
        PARTS[name](range(3 if chosen.quick else 20))


if __name__ == "__main__":
    main()
