"""CCA, MultiviewCCA and PCA against their peers: ``python -m benchmarks.views [--quick]``.

Peers take turns, the best of several runs counts, and agreement is checked before time. Dense
data are drawn; sparse data are news20, or drawn where eigenkit.datasets cannot get it. Ratios
are printed and everything is written to benchmarks/results/views.json.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import linalg as sla
from scipy import sparse
from sklearn import decomposition

from benchmarks.race import RESULTS, race
from benchmarks.real import in_batches
from eigenkit import CCA, PCA, MultiviewCCA
from eigenkit.datasets import DatasetNotFound, load_dataset

Fits = dict[str, Callable[[], Any]]
Answer = Callable[[Any], np.ndarray]


def compare(title: str, fits: Fits, repeats: int, answer: Answer, agree: Callable) -> dict:
    """Time the fits; the first is ours, the others and their answers are set against it."""
    answers = {name: answer(fit()) for name, fit in fits.items()}
    best = race(fits, repeats)
    ours = next(iter(fits))
    print(f"\n{title}")
    rows = {}
    for name, seconds in best.items():
        difference = agree(answers[ours], answers[name])
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
    fits: Fits = {
        "eigenkit MultiviewCCA": lambda: MultiviewCCA(k, alpha=0).fit([X, Y]),
        "eigenkit CCA": lambda: CCA(k, alpha=0).fit(X, Y),
        "cca-zoo MCCA": lambda: cca_zoo.MCCA(k).fit([X, Y]),
        "cca-zoo CCA": lambda: cca_zoo.CCA(k).fit([X, Y]),
    }

    def correlations(model: Any) -> np.ndarray:
        if isinstance(model, MultiviewCCA):
            return model.eigenvalues_
        if isinstance(model, CCA):
            return model.canonical_correlations_
        return np.abs(_pearson(model.transform([X, Y])))

    title = f"two views, {n} x {d} and {n} x {k} (correlations)"
    return compare(title, fits, repeats, correlations, relative)


def dense_pca(n: int, d: int, k: int, repeats: int) -> dict:
    """A decaying spectrum, k components."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, d)) * np.linspace(3, 1, d) + 1

    fits: Fits = {
        "eigenkit PCA": lambda: PCA(k).fit(X),
        "scikit-learn PCA": lambda: decomposition.PCA(k).fit(X),
        "eigenkit PCA, batches of 2000": lambda: in_batches(PCA(k), X, 2000),
        "scikit-learn IncrementalPCA": lambda: in_batches(decomposition.IncrementalPCA(k), X, 2000),
    }
    return compare(f"PCA, {k} of {n} x {d}, dense (degrees)", fits, repeats, _components, angle)


def _components(model: Any) -> np.ndarray:
    return model.components_


def sparse_pca(k: int, repeats: int, quick: bool) -> dict:
    """news20 where it is at hand."""
    X, name = _random_text(quick) if quick else _news20()
    fits: Fits = {
        "eigenkit PCA": lambda: PCA(k).fit(X),
        "scikit-learn PCA (arpack)": lambda: decomposition.PCA(
            k, svd_solver="arpack", random_state=0
        ).fit(X),
    }
    return compare(f"PCA, {k} of {name}, sparse (degrees)", fits, repeats, _components, angle)


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
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "views.json").write_text(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
