"""CCA, orthonormalized PLS and LDA against what users have today.

    python -m benchmarks.core [--quick]

Times in seconds, best of several interleaved runs. --quick leaves out scikit-learn's CCA,
which alone takes minutes. The sparse rows use news20, rcv1 and yahoo_arts, those that
eigenkit.datasets can get.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.cross_decomposition import CCA as SklearnCCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import Ridge
from sklearn.preprocessing import normalize

from benchmarks.race import Report, race, seconds
from eigenkit import CCA, LDA, OrthonormalizedPLS, alpha_path
from eigenkit.datasets import Dataset, DatasetNotFound, load_dataset
from eigenkit.moments import Rows
from eigenkit.solvers import REGRESSIONS, Settings, solve
from eigenkit.targets import TARGETS

# Relative residual to which the sparse regressions are run, ours and the peer's.
TOL = 1e-4

GRID = [float(alpha) for alpha in np.logspace(-2, 4, 7)]


def dense(report: Report, quick: bool) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 500))
    Y = (X[:, :20] + rng.normal(size=(20_000, 20)) > 0.8).astype(float)
    y = Y.argmax(axis=1)
    from cca_zoo.linear import CCA as ZooCCA  # a peer, from the extra `bench`

    best = race(
        {
            "ours": lambda: CCA().fit(X, Y),
            "product": lambda: X.T @ X,
            "zoo": lambda: ZooCCA(n_components=20).fit([X, Y]),
        }
    )
    report.add("CCA 20000 x 500 x 20 / cca-zoo CCA", best["ours"], best["zoo"], ">= 3x")
    report.add("CCA / one X.T @ X", best["ours"], best["product"], "<= 1.5x", ours_over_peer=True)
    if not quick:
        slow = seconds(lambda: SklearnCCA(n_components=20).fit(X, Y))
        report.add("CCA / scikit-learn CCA(20)", best["ours"], slow, ">= 300x")
    best = race(
        {
            "ours": lambda: LDA().fit(X, y),
            "svd": lambda: LinearDiscriminantAnalysis(solver="svd").fit(X, y),
            "eigen": lambda: LinearDiscriminantAnalysis(solver="eigen", shrinkage=0.1).fit(X, y),
        }
    )
    report.add("LDA 20000 x 500, 20 classes / scikit-learn svd", best["ours"], best["svd"], ">= 5x")
    report.add("LDA / scikit-learn eigen", best["ours"], best["eigen"], ">= 3x")
    one = race(
        {"one": lambda: CCA(alpha=0.01).fit(X, Y), "grid": lambda: alpha_path(CCA(), X, Y, GRID)}
    )
    report.add("CCA, seven alphas / one", one["grid"], one["one"], "<= 3x", ours_over_peer=True)


def wide(report: Report) -> None:
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(300, 3000)), np.arange(300) % 5
    best = race(
        {
            "ours": lambda: LDA().fit(X, y),
            "eigen": lambda: LinearDiscriminantAnalysis(solver="eigen", shrinkage=0.1).fit(X, y),
        },
        repeat=3,
    )
    report.add("ridge LDA 300 x 3000 / scikit-learn eigen", best["ours"], best["eigen"], ">= 50x")


def load(name: str) -> Dataset | None:
    """A data set, or None with a note if it is not to be had."""
    try:
        return load_dataset(name)
    except DatasetNotFound as error:
        print(f"(skipped: {error})")
        return None


SPARSE = {"news20": ("lda", LDA), "rcv1": ("cca", CCA), "yahoo_arts": ("opls", OrthonormalizedPLS)}


def labels(y: np.ndarray) -> tuple[Any, np.ndarray]:
    """y as the estimator wants it, and as a 0/1 matrix without empty labels."""
    if y.ndim == 1:
        return y, (y[:, None] == np.unique(y)).astype(float)
    Y = y[:, y.sum(axis=0) > 0].astype(float)
    return Y, Y


def text(report: Report) -> None:
    for name, (target, estimator) in SPARSE.items():
        data = load(name)
        if data is None:
            continue
        X = sparse.csr_array(normalize(data.X))
        y, J = labels(data.target)
        for alpha in (1.0, 0.01):
            _against_ridge(report, name, target, estimator, X, y, J, alpha)
        best = race(
            {
                "one": lambda e=estimator, X=X, y=y: e(alpha=GRID[0]).fit(X, y),
                "grid": lambda e=estimator, X=X, y=y: alpha_path(e(), X, y, GRID),
            },
            repeat=2,
        )
        work = f"{name}, seven alphas / one (0.01)"
        report.add(work, best["grid"], best["one"], "<= 3x", ours_over_peer=True)


def _against_ridge(
    report: Report,
    name: str,
    target: str,
    estimator: Any,
    X: Any,
    y: Any,
    J: np.ndarray,
    alpha: float,
) -> None:
    """Our whole fit against the peer's regression of the same targets, to the same residual."""
    pencil = Rows(X, J, None).problem(TARGETS[target], 1.0, alpha).pencil
    goal = np.linalg.norm(pencil.C)

    def residual(W: np.ndarray) -> float:
        return float(np.linalg.norm(pencil.C - pencil.apply_B(W)) / goal)

    model = estimator(alpha=alpha, tol=TOL)
    ours = min(seconds(lambda: model.fit(X, y)) for _ in range(3))
    (answer,) = REGRESSIONS[model.regression_](pencil, [alpha], TOL, 1000)
    assert answer is not None
    reached = max(residual(answer.W1), TOL)
    for tol in (TOL, TOL / 3, TOL / 10):  # the loosest that is as good as ours
        ridge = Ridge(alpha=alpha, solver="sparse_cg", tol=tol)
        peer = seconds(lambda ridge=ridge: ridge.fit(X, pencil.H))
        if residual(ridge.coef_.T) <= 1.05 * reached:
            break
    work = f"{name} {target}, alpha={alpha:g} ({model.regression_}) / Ridge sparse_cg"
    report.add(work, ours, peer, ">= 5x")


def overhead(report: Report) -> None:
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
        with Z.own_threads():
            for _ in range(count):
                Z.matmat(Z.rmatmat(H))

    best = race(
        {"solve": lambda: solve(pencil, Settings(regression="cg")), "products": products}, 3
    )
    work = f"block CG on news20, {count} products with X and X'"
    report.add(work, best["solve"], best["products"], "<= 1.3x", ours_over_peer=True)


def growth(report: Report) -> None:
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
        work = f"sparse, {what} doubled"
        report.add(work, best["double"], best["base"], "<= 2.3x", ours_over_peer=True)
    D = rng.normal(size=(20_000, 300))
    L = (rng.random((20_000, 10)) < 0.2).astype(float)
    E = np.vstack([D, D])
    M = np.vstack([L, L])
    best = race({"base": lambda: CCA().fit(D, L), "double": lambda: CCA().fit(E, M)})
    report.add("dense, n doubled", best["double"], best["base"], "<= 2.3x", ours_over_peer=True)


def memory(report: Report) -> None:
    """Peak memory of a fit on news20, in a process of its own, in multiples of X."""
    if load("news20") is None:
        return
    command = [sys.executable, "-m", "benchmarks.core", "--memory"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    bytes_of_X, extra, blocks = (float(part) for part in printed.split()[-3:])
    work = f"news20 peak memory, MB (+ 6 blocks of (n+d) x k: {blocks / 1e6:.0f})"
    total = (bytes_of_X + max(0.0, extra - blocks)) / 1e6
    report.add(work, total, bytes_of_X / 1e6, "<= 3x", ours_over_peer=True)


def measure_memory() -> None:
    data = load_dataset("news20")
    X = sparse.csr_array(normalize(data.X))
    y = data.target
    size = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    warm = sparse.random_array((500, 400), density=0.1, rng=np.random.default_rng(0), format="csr")
    LDA(regression="cg").fit(warm, np.arange(500) % 3)  # libraries loaded, threads started
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    LDA().fit(X, y)
    extra = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    print(size, extra, 6 * 8 * sum(X.shape) * 20)


def main() -> None:
    if "--memory" in sys.argv:
        measure_memory()
        return
    report = Report("core")
    dense(report, "--quick" in sys.argv)
    wide(report)
    text(report)
    overhead(report)
    memory(report)
    growth(report)
    report.save()


if __name__ == "__main__":
    main()
