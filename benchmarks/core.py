"""What :mod:`benchmarks.real` leaves out: grids of alphas, wide data, overhead and growth.

    python -m benchmarks.core [--quick]

Dense columns are independent, so that nothing is ill-conditioned. Times in seconds, best of several
interleaved runs. --quick leaves out scikit-learn's CCA, which alone takes minutes. The sparse rows
use news20, rcv1 and yahoo_arts, those that eigenkit.datasets can get.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.cross_decomposition import CCA as SklearnCCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.preprocessing import normalize

from benchmarks.race import RESULTS, load
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
    work, one = "CCA, 20000 x 500, 20 labels", lambda: CCA(alpha=0.01).fit(X, Y)
    grid = partial(alpha_path, CCA(), X, Y, GRID)
    table.race(f"{work}, seven alphas", grid, {"one": (one, at_most(3))})
    if "--quick" not in sys.argv:
        peer, slow = "scikit-learn CCA(20)", SklearnCCA(n_components=20)
        table.race(work, one, {peer: (lambda: slow.fit(X, Y), at_least(300))}, once=[peer])


def wide(table: Table) -> None:
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(300, 3000)), np.arange(300) % 5
    eigen = LinearDiscriminantAnalysis(solver="eigen", shrinkage=0.1)
    peers = {"scikit-learn, eigen": (lambda: eigen.fit(X, y), at_least(50))}
    table.race("ridge LDA, 300 x 3000", lambda: LDA().fit(X, y), peers, 3)


SPARSE: dict[str, Any] = {"news20": LDA, "rcv1": CCA, "yahoo_arts": OrthonormalizedPLS}


def grids(table: Table) -> None:
    """Seven alphas on sparse text, against one."""
    for name, estimator in SPARSE.items():
        data = load(name)
        if data is None:
            continue
        X, y = sparse.csr_array(normalize(data.X)), labels(data.target)[0]
        one = partial(estimator(alpha=GRID[0]).fit, X, y)
        grid = partial(alpha_path, estimator(), X, y, GRID)
        table.race(f"{name}, seven alphas", grid, {"one (0.01)": (one, at_most(3))}, 2)


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

    peers = {f"{count} products with X and X'": (products, at_most(1.3))}
    table.race("block CG on news20", lambda: solve(pencil, Settings(regression="cg")), peers, 3)


def growth(table: Table) -> None:
    """Time when one of n, d and the number of non-zeros doubles."""
    rng = np.random.default_rng(2)
    base = {"n": 20_000, "d": 20_000, "nnz": 1_000_000}

    def problem(n: int, d: int, nnz: int) -> Any:
        X = sparse.random_array((n, d), density=nnz / (n * d), rng=rng, format="csr")
        return X, (rng.random((n, 10)) < 0.2).astype(float)

    X, Y = problem(**base)
    peers = {"as it was": (lambda: OrthonormalizedPLS().fit(X, Y), at_most(2.3))}
    for what in base:
        double = partial(OrthonormalizedPLS().fit, *problem(**{**base, what: 2 * base[what]}))
        table.race(f"sparse, {what} doubled", double, peers, 3)
    D = rng.normal(size=(20_000, 300))
    L = (rng.random((20_000, 10)) < 0.2).astype(float)
    peers = {"as it was": (lambda: CCA().fit(D, L), at_most(2.3))}
    table.race("dense, n doubled", partial(CCA().fit, np.vstack([D, D]), np.vstack([L, L])), peers)


def main() -> None:
    parts = {"dense": dense, "wide": wide, "grids": grids, "overhead": overhead, "growth": growth}
    Table(RESULTS / "core.json").measure(parts, parts)


if __name__ == "__main__":
    main()
