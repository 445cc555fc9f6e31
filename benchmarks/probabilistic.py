"""Probabilistic CCA: how often a planted dimension is found, and missing entries beside imputers.

``python -m benchmarks.probabilistic [--quick]`` prints for 0 to 3 planted components the sets in
which BIC, held-out likelihood (5 folds) and AIC find the number, and the error of imputing 20 % of
the entries beside scikit-learn's imputers.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer
from sklearn.model_selection import KFold

from eigenkit import ProbabilisticCCA

N, D_X, D_Y = 200, 6, 5


def planted(seed: int, q: int) -> tuple[np.ndarray, np.ndarray]:
    """q latent variables, each with weights of random directions in both views, and noise."""
    rng = np.random.default_rng([seed, q])
    z = rng.normal(size=(N, q))
    views = (z @ rng.normal(size=(q, d)) + rng.normal(size=(N, d)) for d in (D_X, D_Y))
    X, Y = views
    return X, Y


def held_out(X: np.ndarray, Y: np.ndarray) -> int:
    """The number of components of the largest likelihood on rows left out."""
    scores = np.zeros(min(D_X, D_Y) + 1)
    for train, test in KFold(5).split(X):
        for q in range(len(scores)):
            if q == 0:  # both views on their own: the joint model without what they share
                model = ProbabilisticCCA(1, alpha=0.0).fit(X[train], Y[train])
                scores[0] += model.score_samples(X[test]).sum()
                other = ProbabilisticCCA(1, alpha=0.0).fit(Y[train], X[train])
                scores[0] += other.score_samples(Y[test]).sum()
            else:
                model = ProbabilisticCCA(q, alpha=0.0).fit(X[train], Y[train])
                scores[q] += model.score_samples(X[test], Y[test]).sum()
    return int(np.argmax(scores))


def dimensions(sets: int) -> None:
    print(f"planted dimension found, sets of {sets} (n = {N}, {D_X} and {D_Y} features)")
    print("  planted   BIC   held-out   AIC")
    for q in range(4):
        hits = np.zeros(3, dtype=int)
        for seed in range(sets):
            X, Y = planted(seed, q)
            bic = ProbabilisticCCA("bic", alpha=0.0).fit(X, Y).bic_
            p = np.arange(len(bic)) * (D_X + D_Y - np.arange(len(bic)))
            aic = bic - p * np.log(N) + 2 * p
            hits += [int(np.argmin(bic)) == q, held_out(X, Y) == q, int(np.argmin(aic)) == q]
        print(f"  {q:7d} {hits[0]:5d} {hits[1]:10d} {hits[2]:5d}")


def gaps(sets: int) -> None:
    others = {
        "IterativeImputer": IterativeImputer(max_iter=50, random_state=0),
        "KNNImputer": KNNImputer(),
        "mean": SimpleImputer(),
    }
    errors: dict[str, list[float]] = {name: [] for name in ("ProbabilisticCCA", *others)}
    for seed in range(sets):
        V = np.hstack(planted(seed, 2))
        holes = np.random.default_rng(seed).random(V.shape) < 0.2
        holes[holes.all(axis=1), 0] = False
        H = np.where(holes, np.nan, V)
        model = ProbabilisticCCA("bic", alpha=0.0).fit(H[:, :D_X], H[:, D_X:])
        filled = {"ProbabilisticCCA": np.hstack(model.impute(H[:, :D_X], H[:, D_X:]))}
        filled |= {name: imputer.fit_transform(H) for name, imputer in others.items()}
        for name, A in filled.items():
            errors[name].append(float(np.sqrt(np.mean((A - V)[holes] ** 2))))
    print(f"\nroot mean squared error of 20 % missing entries, {sets} sets")
    for name, values in errors.items():
        print(f"  {name:18s} {np.mean(values):.3f} +- {np.std(values) / np.sqrt(sets):.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the sets")
    quick = parser.parse_args().quick
    warnings.simplefilter("ignore")
    dimensions(10 if quick else 100)
    gaps(2 if quick else 20)


if __name__ == "__main__":
    main()
