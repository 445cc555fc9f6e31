"""What :mod:`benchmarks.real` leaves out: grids of alphas, wide data, overhead and growth.

    python -m benchmarks.core [--quick]

Dense columns are independent, so that nothing is ill-conditioned. Times in seconds, best of several
interleaved runs. --quick leaves out scikit-learn's CCA, which alone takes minutes. The sparse rows
use news20, rcv1 and yahoo_arts, those that eigenkit.datasets can get.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.cross_decomposition import CCA as SklearnCCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.preprocessing import normalize

from benchmarks.race import RESULTS, load, race, seconds
from benchmarks.real import labels
from benchmarks.table import Table, at_least, at_most
from eigenkit import CCA, LDA, OrthonormalizedPLS, alpha_path
from eigenkit.moments import Rows
from eigenkit.solvers import Settings, solve
from eigenkit.targets import TARGETS

GRID = [float(alpha) for alpha in np.logspace(-2, 4, 7)]


def dense(table: Table) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 500))
    Y = (X[:, :20] + rng.normal(size=(20_000, 20)) > 0.8).astype(float)
    best = race(
        {"one": lambda: CCA(alpha=0.01).fit(X, Y), "grid": lambda: alpha_path(CCA(), X, Y, GRID)}
    )
    work = "CCA, 20000 x 500, 20 labels"
    table.add(f"{work}, seven alphas", "one", best["grid"], best["one"], at_most(3))
    if "--quick" not in sys.argv:
        slow = seconds(lambda: SklearnCCA(n_components=20).fit(X, Y))
        table.add(work, "scikit-learn CCA(20)", best["one"], slow, at_least(300))


def wide(table: Table) -> None:
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(300, 3000)), np.arange(300) % 5
    best = race(
        {
            "ours": lambda: LDA().fit(X, y),
            "eigen": lambda: LinearDiscriminantAnalysis(solver="eigen", shrinkage=0.1).fit(X, y),
        },
        repeat=3,
    )
    work = "ridge LDA, 300 x 3000"
    table.add(work, "scikit-learn, eigen", best["ours"], best["eigen"], at_least(50))


SPARSE: dict[str, Any] = {"news20": LDA, "rcv1": CCA, "yahoo_arts": OrthonormalizedPLS}


def grids(table: Table) -> None:
    """Seven alphas on sparse text, against one."""
    for name, estimator in SPARSE.items():
        data = load(name)
        if data is None:
            continue
        X, y = sparse.csr_array(normalize(data.X)), labels(data.target)[0]
        best = race(
            {
                "one": lambda e=estimator, X=X, y=y: e(alpha=GRID[0]).fit(X, y),
                "grid": lambda e=estimator, X=X, y=y: alpha_path(e(), X, y, GRID),
            },
            repeat=2,
        )
        table.add(f"{name}, seven alphas", "one (0.01)", best["grid"], best["one"], at_most(3))


def overhead(table: Table) -> None:
    """The iterative solver against the products with X that it must make."""
    data = load("news20")
    if data is None:
        return
    X = sparse.csr_array(normalize(data.X))
    pencil = Rows(X, labels(data.target)[1], None).problem(TARGETS["lda"], 1.0, 1.0).pencil
    Z, H = pencil.Z, pencil.H
    pencil.C  # noqa: B018 (computed once, outside of the race)
    count = solve(pencil, Settings(regression="cg")).report.n_iter + 2

    def products() -> None:
        with Z.threads:
            for _ in range(count):
                Z.matmat(Z.rmatmat(H))

    best = race(
        {"solve": lambda: solve(pencil, Settings(regression="cg")), "products": products}, 3
    )
    peer = f"{count} products with X and X'"
    table.add("block CG on news20", peer, best["solve"], best["products"], at_most(1.3))


def growth(table: Table) -> None:
    """Time when one of n, d and the number of non-zeros doubles."""
    rng = np.random.default_rng(2)
    base = {"n": 20_000, "d": 20_000, "nnz": 1_000_000}

    def problem(n: int, d: int, nnz: int) -> Any:
        X = sparse.random_array((n, d), density=nnz / (n * d), rng=rng, format="csr")
        return X, (rng.random((n, 10)) < 0.2).astype(float)

    X, Y = problem(**base)
    for what in base:
        X2, Y2 = problem(**{**base, what: 2 * base[what]})
        best = race(
            {
                "base": lambda: OrthonormalizedPLS().fit(X, Y),
                "double": lambda X2=X2, Y2=Y2: OrthonormalizedPLS().fit(X2, Y2),
            },
            repeat=3,
        )
        table.add(
            f"sparse, {what} doubled", "as it was", best["double"], best["base"], at_most(2.3)
        )
    D = rng.normal(size=(20_000, 300))
    L = (rng.random((20_000, 10)) < 0.2).astype(float)
    E = np.vstack([D, D])
    M = np.vstack([L, L])
    best = race({"base": lambda: CCA().fit(D, L), "double": lambda: CCA().fit(E, M)})
    table.add("dense, n doubled", "as it was", best["double"], best["base"], at_most(2.3))


def main() -> None:
    parts = {"dense": dense, "wide": wide, "grids": grids, "overhead": overhead, "growth": growth}
    Table(RESULTS / "core.json").measure(parts, parts)


if __name__ == "__main__":
    main()
