"""Probabilistic and Bayesian CCA: planted dimensions and supports, intervals, missing entries.

``python -m benchmarks.probabilistic [--quick]`` prints for 0 to 3 planted components the sets in
which each criterion finds the number, and the planted correlations where BIC does not; how strong
three planted correlations have to be for BIC to find them; supports and coverage of BayesianCCA on
sparse loadings, and where components share columns; its time; and the error of imputing 20 % of
the entries beside scikit-learn's imputers. HQC was chosen on sets with seeds from 1000 on, and so
were the starts of the Bayesian search; the seeds printed here are others.
"""

from __future__ import annotations

import argparse
import time
import warnings
from itertools import permutations

import numpy as np
from scipy.stats import norm
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer
from sklearn.model_selection import KFold

from eigenkit import BayesianCCA, ProbabilisticCCA

N, D_X, D_Y = 200, 6, 5


def draw(seed: int, q: int) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray]:
    """Two views of q latent variables, and the canonical correlations that were planted.

    Every latent variable has weights of random directions in both views; the rest is noise.
    """
    rng = np.random.default_rng([seed, q])
    z = rng.normal(size=(N, q))
    views, roots = [], []
    for d in (D_X, D_Y):
        W = rng.normal(size=(q, d))
        views.append(z @ W + rng.normal(size=(N, d)))
        P, s, _ = np.linalg.svd(W, full_matrices=False)
        roots.append(P * (s / np.sqrt(1 + s**2)) @ P.T)  # of z on x, in z's own axes
    return (views[0], views[1]), np.linalg.svd(roots[0] @ roots[1], compute_uv=False)


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


def chosen(X: np.ndarray, Y: np.ndarray) -> dict[str, int]:
    """The number of components that each criterion takes."""
    model = ProbabilisticCCA("bic", alpha=0.0).fit(X, Y)
    p = np.arange(len(model.bic_)) * (D_X + D_Y - np.arange(len(model.bic_)))
    return {
        "BIC": model.n_components_,
        "HQC": int(np.argmin(model.hqc_)),
        "AIC": int(np.argmin(model.bic_ - p * np.log(N) + 2 * p)),
        "held-out": held_out(X, Y),
        "Bayesian": BayesianCCA().fit(X, Y).n_components_,
    }


def dimensions(sets: int) -> None:
    print(f"planted dimension found, sets of {sets} (n = {N}, {D_X} and {D_Y} features)")
    missed: list[float] = []
    for q in range(4):
        hits: dict[str, int] = {}
        for seed in range(sets):
            views, roots = draw(seed, q)
            found = chosen(*views)
            hits = {name: hits.get(name, 0) + (k == q) for name, k in found.items()}
            if found["BIC"] < q:
                missed.append(roots[-1])
        if q == 0:
            print("  planted" + "".join(f"{name:>10s}" for name in hits))
        print(f"  {q:7d}" + "".join(f"{n:10d}" for n in hits.values()), flush=True)
    if missed:
        print(
            f"  BIC took too few in {len(missed)} sets: their weakest planted correlation is "
            f"{np.median(missed):.2f} in the median, {max(missed):.2f} at most"
        )


def equal_roots(seed: int, q: int, root: float) -> tuple[np.ndarray, np.ndarray]:
    """Views with q canonical correlations of the same size, and no others."""
    rng = np.random.default_rng([seed, q])
    z, X, Y = (rng.normal(size=(N, d)) for d in (q, D_X, D_Y))
    for V in (X, Y):
        V[:, :q] = np.sqrt(root) * z + np.sqrt(1 - root) * V[:, :q]
    return X, Y


def strengths(sets: int, q: int = 3) -> None:
    print(f"\n{q} planted correlations of the same size: found by BIC, sets of {sets}")
    for root in (0.3, 0.4, 0.45, 0.5, 0.55, 0.6):
        models = (
            ProbabilisticCCA("bic", alpha=0.0).fit(*equal_roots(seed, q, root))
            for seed in range(sets)
        )
        print(f"  {root:.2f} {sum(m.n_components_ == q for m in models):7d}", flush=True)


def sparse_planted(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """Two shared components on few of 10 and 8 columns, and one of X alone; the loadings."""
    W_x, W_y = np.zeros((10, 3)), np.zeros((8, 3))
    W_x[:3, 0], W_x[3:5, 1], W_x[5:8, 2] = 1.0, 1.2, 1.0
    W_y[:3, 0], W_y[3:5, 1] = 0.8, 1.5
    z = rng.normal(size=(N, 3))
    X, Y = (z @ W.T + rng.normal(size=(N, len(W))) for W in (W_x, W_y))
    return X, Y, [W_x[:, :2], W_y[:, :2]]


def sparse_loadings(sets: int) -> None:
    levels = (0.5, 0.8, 0.95)
    right = np.zeros(2, dtype=int)
    errors = np.zeros(2, dtype=int)
    inside = {level: np.zeros(2) for level in levels}
    predicted = dict.fromkeys(levels, 0.0)
    seconds = []
    for seed in range(sets):
        rng = np.random.default_rng([seed, 99])
        X, Y, truth = sparse_planted(rng)
        begin = time.process_time()
        model = BayesianCCA().fit(X, Y)
        seconds.append(time.process_time() - begin)
        right[0] += model.n_components_ == 2
        T, U, _ = sparse_planted(rng)
        mean, deviation = model.predict(T, return_std=True)
        for level in levels:
            near = np.abs(U - mean) <= norm.ppf(0.5 + level / 2) * deviation
            predicted[level] += float(np.mean(near)) / sets
        if model.n_components_ != 2:
            continue
        found = [model.x_relevance_ > 0.5, model.y_relevance_ > 0.5]
        order = [0, 1] if found[0][:3, 0].sum() >= found[0][:3, 1].sum() else [1, 0]
        wrong = [f[:, order] != (t != 0) for f, t in zip(found, truth, strict=True)]
        right[1] += not any(w.any() for w in wrong)
        errors += [sum(int(w.sum()) for w in wrong), sum(w.size for w in wrong)]
        for level in levels:
            for A, t in zip(model.loading_intervals(level), truth, strict=True):
                size, on = np.abs(A[:, order]), (t != 0) & (np.ptp(A[:, order], axis=-1) > 0)
                holds = (size.min(axis=-1) <= t) & (t <= size.max(axis=-1))
                inside[level] += [holds[on].sum(), on.sum()]
    print(f"\nsparse loadings (n = {N}, 10 and 8 features, 2 shared components), {sets} sets")
    print(f"  number found in {right[0]}, every loading judged rightly in {right[1]};")
    print(f"  {errors[0]} of {errors[1]} loadings judged wrongly where the number was found")
    for level in levels:
        share = inside[level][0] / inside[level][1]
        print(
            f"  intervals of level {level:.2f}: hold {share:.3f} of the loadings, "
            f"{predicted[level]:.3f} of new y"
        )
    print(f"  a fit takes {np.median(seconds):.2f} s of processor time in the median")


def overlapping(sets: int, q: int = 3) -> None:
    """Components that share columns: what an interval is worth where a loading was misjudged."""
    inside: dict[bool, list[bool]] = {True: [], False: []}
    found = wrong = 0
    for seed in range(sets):
        rng = np.random.default_rng([seed, 98])
        truth = np.zeros((15, q))  # 8 columns of X and 7 of y, three of each for a component
        for k in range(q):
            rows = np.concatenate([rng.permutation(8)[:3], 8 + rng.permutation(7)[:3]])
            truth[rows, k] = rng.choice([-1.0, 1.0], 6) * rng.uniform(0.7, 1.5, 6)
        A = rng.normal(size=(N, q)) @ truth.T + rng.normal(size=(N, 15))
        model = BayesianCCA().fit(A[:, :8], A[:, 8:])
        if model.n_components_ != q:
            continue
        found += 1
        bounds = np.vstack(model.loading_intervals(0.95))
        across = truth.T @ bounds.mean(axis=-1)
        order = max(permutations(range(q)), key=lambda o: np.abs(across[range(q), list(o)]).sum())
        bounds, sign = bounds[:, list(order)], np.sign(across[range(q), list(order)])
        used = np.ptp(bounds, axis=-1) > 0
        right = bool(np.all(used == (truth != 0)))
        wrong += not right
        at, on = truth * sign, used & (truth != 0)
        inside[right] += ((bounds[..., 0] <= at) & (at <= bounds[..., 1]))[on].tolist()
    print(f"\noverlapping loadings (n = {N}, 8 and 7 features, {q} components), {sets} sets")
    print(f"  number found in {found}, some loading misjudged in {wrong} of these")
    for right, word in ((True, "every loading was judged rightly"), (False, "some were not")):
        share = float(np.mean(inside[right])) if inside[right] else float("nan")
        print(f"  intervals of level 0.95 hold {share:.3f} of the loadings where {word}")


def gaps(sets: int) -> None:
    others = {
        "IterativeImputer": IterativeImputer(max_iter=50, random_state=0),
        "KNNImputer": KNNImputer(),
        "mean": SimpleImputer(),
    }
    errors: dict[str, list[float]] = {
        name: [] for name in ("ProbabilisticCCA", "BayesianCCA", *others)
    }
    for seed in range(sets):
        V = np.hstack(draw(seed, 2)[0])
        holes = np.random.default_rng(seed).random(V.shape) < 0.2
        holes[holes.all(axis=1), 0] = False
        H = np.where(holes, np.nan, V)
        model = ProbabilisticCCA("bic", alpha=0.0).fit(H[:, :D_X], H[:, D_X:])
        bayes = BayesianCCA().fit(H[:, :D_X], H[:, D_X:])
        filled = {
            name: np.hstack(m.impute(H[:, :D_X], H[:, D_X:]))
            for name, m in (("ProbabilisticCCA", model), ("BayesianCCA", bayes))
        }
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
    strengths(10 if quick else 100)
    sparse_loadings(10 if quick else 100)
    overlapping(10 if quick else 100)
    gaps(2 if quick else 20)


if __name__ == "__main__":
    main()
