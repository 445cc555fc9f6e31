"""CCA, MultiviewCCA and PCA against their peers: ``python -m benchmarks.views [--quick]``.

Peers take turns, the best of several runs counts, and agreement is checked before time. Dense
data are drawn; sparse data are news20, or drawn where eigenkit.datasets cannot get it. Ratios
are printed and everything is written to benchmarks/results/views.json.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import linalg as sla
from scipy import sparse
from sklearn import decomposition

from eigenkit import CCA, PCA, MultiviewCCA
from eigenkit.datasets import DatasetNotFound, load_dataset

RESULTS = Path(__file__).parent / "results" / "views.json"

Fits = dict[str, Callable[[], np.ndarray]]


def interleaved(fits: Fits, repeats: int) -> tuple[dict[str, float], dict[str, np.ndarray]]:
    """Best seconds and last result of each, taking turns."""
    best = dict.fromkeys(fits, np.inf)
    results = {}
    for _ in range(repeats):
        for name, fit in fits.items():
            start = time.perf_counter()
            results[name] = fit()
            best[name] = min(best[name], time.perf_counter() - start)
    return best, results


def compare(title: str, fits: Fits, repeats: int, agree: Callable[[Any, Any], float]) -> dict:
    """Time the fits; the first is ours, the others are set against it."""
    best, results = interleaved(fits, repeats)
    ours = next(iter(fits))
    print(f"\n{title}")
    rows = {}
    for name, seconds in best.items():
        difference = agree(results[ours], results[name])
        ratio = seconds / best[ours]
        rows[name] = {"seconds": seconds, "ratio": ratio, "difference": difference}
        print(f"  {name:34s} {seconds:8.3f} s   x {ratio:6.2f}   differs by {difference:.1e}")
    return rows


def relative(a: np.ndarray, b: np.ndarray) -> float:
    """The largest difference of correlations."""
    return float(np.abs(np.asarray(a) - np.asarray(b)).max())


def angle(a: np.ndarray, b: np.ndarray) -> float:
    """The largest angle between the row spaces, in degrees."""
    return float(np.degrees(sla.subspace_angles(a.T, b.T).max()))


def _pearson(scores: list[np.ndarray]) -> np.ndarray:
    a, b = (s - s.mean(axis=0) for s in scores)
    return np.sum(a * b, axis=0) / np.sqrt(np.sum(a**2, axis=0) * np.sum(b**2, axis=0))


def views(n: int, d: int, k: int, repeats: int) -> dict:
    """Two views, all k components, no ridge."""
    from cca_zoo import linear as cca_zoo

    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    Y = X[:, :k] + 2 * rng.normal(size=(n, k))

    def peer(model: Any) -> Callable[[], np.ndarray]:
        # Its correlations are not attributes: the scores are computed outside of the clock.
        def fit() -> np.ndarray:
            fitted[type(model).__name__] = model.fit([X, Y])
            return np.empty(0)

        return fit

    fitted: dict[str, Any] = {}
    fits: Fits = {
        "eigenkit MultiviewCCA": lambda: MultiviewCCA(k, alpha=0).fit([X, Y]).eigenvalues_,
        "eigenkit CCA": lambda: CCA(k, alpha=0).fit(X, Y).canonical_correlations_,
        "cca-zoo MCCA": peer(cca_zoo.MCCA(k)),
        "cca-zoo CCA": peer(cca_zoo.CCA(k)),
    }

    def agree(a: np.ndarray, b: np.ndarray) -> float:
        return relative(a, b) if b.size else float("nan")

    rows = compare(f"two views, {n} x {d} and {n} x {k}", fits, repeats, agree)
    reference = fits["eigenkit CCA"]()
    for name, model in fitted.items():
        difference = relative(reference, np.abs(_pearson(model.transform([X, Y]))))
        rows[f"cca-zoo {name}"]["difference"] = difference
        print(f"  cca-zoo {name}: correlations differ by {difference:.1e}")
    return rows


def dense_pca(n: int, d: int, k: int, repeats: int) -> dict:
    """A decaying spectrum, k components."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, d)) * np.linspace(3, 1, d) + 1

    def stream(model: Any) -> np.ndarray:
        for start in range(0, n, 2000):
            model.partial_fit(X[start : start + 2000])
        return model.components_

    fits: Fits = {
        "eigenkit PCA": lambda: PCA(k).fit(X).components_,
        "scikit-learn PCA": lambda: decomposition.PCA(k).fit(X).components_,
        "eigenkit PCA, batches of 2000": lambda: stream(PCA(k)),
        "scikit-learn IncrementalPCA": lambda: stream(decomposition.IncrementalPCA(k)),
    }
    return compare(f"PCA, {k} of {n} x {d}, dense (degrees)", fits, repeats, angle)


def sparse_pca(k: int, repeats: int, quick: bool) -> dict:
    """news20 where it is at hand."""
    X, name = _random_text(quick) if quick else _news20()
    fits: Fits = {
        "eigenkit PCA": lambda: PCA(k).fit(X).components_,
        "scikit-learn PCA (arpack)": lambda: (
            decomposition.PCA(k, svd_solver="arpack", random_state=0).fit(X).components_
        ),
    }
    return compare(f"PCA, {k} of {name}, sparse (degrees)", fits, repeats, angle)


def _news20() -> tuple[Any, str]:
    try:
        return load_dataset("news20").X, "news20"
    except DatasetNotFound:
        return _random_text(quick=False)


def _random_text(quick: bool) -> tuple[Any, str]:
    n, d = (2000, 5000) if quick else (15000, 60000)
    rng = np.random.default_rng(2)
    X = sparse.random_array((n, d), density=0.0015, format="csr", rng=rng)
    popular = sparse.diags_array(1 / np.sqrt(np.arange(1, d + 1)))
    return sparse.csr_array(X @ popular), f"a random {n} x {d}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it runs")
    quick = parser.parse_args().quick
    warnings.simplefilter("ignore")
    n, d, k, repeats = (2000, 50, 5, 2) if quick else (20000, 500, 20, 5)
    report = {
        "views": views(n, d, k, repeats),
        "dense_pca": dense_pca(n, d, k, repeats),
        "sparse_pca": sparse_pca(10 if quick else 50, min(repeats, 3), quick),
    }
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
