"""Realistic data, against what people use today: ratios of times of runs that take turns.

    python -m benchmarks.real [--only NAME ...] [--json FILE] [--page FILE]

Each row of the table can be run by itself and replaces its old figures in the file: ``--only``
takes the names that ``--list`` prints. A ratio should be above a bar of "at least", and below one
of "at most". ``--page`` writes the page of the docs from the file and runs nothing.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import decomposition
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import Ridge
from sklearn.preprocessing import normalize

from benchmarks.memory import peak
from benchmarks.race import RESULTS, race
from benchmarks.table import Table, at_least, at_most, described
from eigenkit import (
    CCA,
    LDA,
    PCA,
    HypergraphSpectral,
    MultiviewCCA,
    OrthonormalizedPLS,
    PLSRegression,
)
from eigenkit.datasets import load_dataset
from eigenkit.moments import Rows
from eigenkit.solvers import REGRESSIONS
from eigenkit.targets import TARGETS

FILE = RESULTS / "real.json"

# Relative residual to which the sparse regressions are run, ours and the peer's.
TOL = 1e-4

# Rounds of work that takes a tenth of a second; at least one should run undisturbed.
SHORT = 12


def factors(n: int, d: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """30 factors plus noise, means of 3, and k labels that depend on the factors."""
    rng = np.random.default_rng(0)
    F = rng.normal(size=(n, 30))
    X = 3 + F @ rng.normal(size=(30, d)) + 0.3 * rng.normal(size=(n, d))
    return X, (F[:, :k] + rng.normal(size=(n, k)) > 0.8).astype(float)


def dense_cca(table: Table) -> None:
    from cca_zoo.linear import CCA as ZooCCA

    X, Y = factors(20_000, 400, 20)
    peers = {
        "one product X'X": (lambda: X.T @ X, at_most(2.0)),
        "cca-zoo CCA": (lambda: ZooCCA(n_components=20).fit([X, Y]), at_least(4.0)),
    }
    work = "CCA, 20000 x 400, 30 factors, 20 labels"
    table.race(work, lambda: CCA().fit(X, Y), peers, SHORT)


def dense_lda(table: Table) -> None:
    X, Y = factors(20_000, 400, 20)
    y = Y.argmax(axis=1)
    eigen = LinearDiscriminantAnalysis(solver="eigen", shrinkage=0.1)
    svd = LinearDiscriminantAnalysis(solver="svd")
    peers = {
        "scikit-learn, eigen": (lambda: eigen.fit(X, y), at_least(4.0)),
        "scikit-learn, svd": (lambda: svd.fit(X, y), at_least(10.0)),
    }
    work = "LDA, 20000 x 400, 30 factors, 20 classes"
    table.race(work, lambda: LDA().fit(X, y), peers, SHORT)


# -- sparse text ------------------------------------------------------------------------

TEXT: dict[str, tuple[str, Any]] = {
    "yahoo_education": ("star", HypergraphSpectral),
    "news20": ("lda", LDA),
    "rcv1": ("cca", CCA),
    "yahoo_arts": ("opls", OrthonormalizedPLS),
}


def text(name: str, alpha: float) -> Callable[[Table], None]:
    """Our whole fit against the peer's regression of the same targets, to the same residual."""

    def row(table: Table) -> None:
        target, estimator = TEXT[name]
        data = load_dataset(name)
        X = sparse.csr_array(normalize(data.X))
        y, J = labels(data.target)
        pencil = Rows(X, J, None).problem(TARGETS[target], 1.0, alpha).pencil
        model = estimator(alpha=alpha, tol=TOL).fit(X, y)
        (answer,) = REGRESSIONS[model.regression_]([pencil], TOL, 1000)
        assert answer is not None
        ridge = as_good_ridge(X, pencil, max(residual(pencil, answer.W1), TOL))
        work, peer = (
            f"{name}, {target}, alpha = {alpha:g} ({model.regression_})",
            "Ridge, sparse_cg",
        )
        bar = at_least(8.0 if (name, alpha) == ("yahoo_education", 0.01) else 6.0)
        peers = {peer: (lambda: ridge.fit(X, pencil.H), bar)}
        table.race(work, lambda: model.fit(X, y), peers, 3, once=[peer])

    return row


def residual(pencil: Any, W: np.ndarray) -> float:
    """Of the normal equations of the first targets, relative to Z'H."""
    C = pencil.C[:, : W.shape[1]]
    return float(np.linalg.norm(C - pencil.forms(W)[0]) / np.linalg.norm(C))


def as_good_ridge(X: Any, pencil: Any, reached: float) -> Ridge:
    """The peer at the loosest tolerance that is as good as ours, judged by a few targets."""
    for tol in (TOL, TOL / 3, TOL / 10):
        ridge = Ridge(alpha=pencil.alpha, solver="sparse_cg", tol=tol).fit(X, pencil.H[:, :3])
        if residual(pencil, ridge.coef_.T) <= 1.05 * reached:
            break
    return ridge


def labels(y: np.ndarray) -> tuple[Any, np.ndarray]:
    """y as the estimator wants it, and as a 0/1 matrix without empty labels."""
    if y.ndim == 1:
        return y, (y[:, None] == np.unique(y)).astype(float)
    Y = y[:, y.sum(axis=0) > 0].astype(float)
    return Y, Y


def memory(table: Table) -> None:
    """What a fit allocates at its peak, against 3 X and six blocks of (n + d) x k numbers."""
    found = peak("yahoo_education")
    work = "yahoo_education, star: peak of what fit allocates, MB"
    allowed = 3 * found["X"] + found["blocks"]
    bar = at_most(1.0)
    table.add(work, "3 X + 6 blocks (n + d) x k", found["peak"] / 1e6, allowed / 1e6, bar)


# -- many labels ------------------------------------------------------------------------


def delicious(table: Table) -> None:
    data = load_dataset("delicious")
    train = data.splits[0][0]
    X, Y = data.X[train].toarray().astype(float), data.target[train].astype(float)
    best = race(
        {
            "opls": lambda: OrthonormalizedPLS(50).fit(X, Y),
            "star": lambda: HypergraphSpectral().fit(X, Y),
            "ridge": lambda: Ridge(solver="cholesky").fit(X, Y),
        }
    )
    for name, ours in (("OrthonormalizedPLS(50)", "opls"), ("star, all components", "star")):
        work = f"Delicious, 12920 x 500, 983 labels, {name}"
        table.add(work, "Ridge, cholesky", best[ours], best["ridge"], at_most(1.5))


def growth(table: Table) -> None:
    """Time as the number of labels grows: against that of 100 labels, per label."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 2000)) + rng.normal(size=(5000, 20)) @ rng.normal(size=(20, 2000))
    Y = {k: (rng.random((5000, k)) < 0.02).astype(float) for k in (100, 1000, 3000)}
    best = race({str(k): lambda k=k: HypergraphSpectral().fit(X, Y[k]) for k in Y}, repeat=2)
    for k in (1000, 3000):
        work = f"star, 5000 x 2000, {k} labels"
        bar = at_most(1.0)
        table.add(
            work, f"{k // 100} times that of 100 labels", best[str(k)], k / 100 * best["100"], bar
        )


# -- streams, PLS, views, PCA -----------------------------------------------------------


def in_batches(estimator: Any, n_components: int, X: np.ndarray, size: int) -> Any:
    """The components after the rows came in batches."""
    model = estimator(n_components)
    for start in range(0, len(X), size):
        model.partial_fit(X[start : start + size])
    return model.components_


def streams(table: Table) -> None:
    rng = np.random.default_rng(0)
    for n, d, size, bar in ((40_000, 2, 200, 2.0), (20_000, 200, 1000, 1.0)):
        X = rng.normal(size=(n, d)) + 5
        l = min(d, 20)
        work = f"stream of {n} x {d} in batches of {size}, PCA"
        theirs = partial(in_batches, decomposition.IncrementalPCA, l, X, size)
        peers = {"IncrementalPCA": (theirs, at_most(bar))}
        table.race(work, partial(in_batches, PCA, l, X, size), peers)


def pls(table: Table) -> None:
    from ikpls.numpy import PLS as IKPLS

    X, _ = factors(20_000, 400, 20)
    rng = np.random.default_rng(1)
    Y = X @ rng.normal(size=(400, 20)) / 20 + rng.normal(size=(20_000, 20))
    peers = {"ikpls": (lambda: IKPLS(algorithm=2).fit(X, Y, A=20), at_least(1.3))}
    work = "PLSRegression(20), 20000 x 400, 20 responses"
    table.race(work, lambda: PLSRegression(20).fit(X, Y), peers, SHORT)


def views(table: Table) -> None:
    from cca_zoo.linear import CCA as ZooCCA

    X, _ = factors(20_000, 400, 20)
    Y = X[:, :20] + 2 * np.random.default_rng(1).normal(size=(20_000, 20))
    scores = [s - s.mean(axis=0) for s in ZooCCA(n_components=20).fit([X, Y]).transform([X, Y])]
    a, b = (s / np.linalg.norm(s, axis=0) for s in scores)
    found = MultiviewCCA(20, alpha=0).fit([X, Y]).eigenvalues_
    np.testing.assert_allclose(found, np.abs(np.sum(a * b, axis=0)), rtol=1e-6)
    peers = {"cca-zoo CCA": (lambda: ZooCCA(n_components=20).fit([X, Y]), at_least(4.0))}
    work = "MultiviewCCA(20), 20000 x 400 and 20000 x 20"
    table.race(work, lambda: MultiviewCCA(20, alpha=0).fit([X, Y]), peers, SHORT)


def dense_pca(table: Table) -> None:
    X, _ = factors(20_000, 400, 20)
    ours, theirs = (model.fit(X).explained_variance_ for model in (PCA(20), decomposition.PCA(20)))
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    peers = {"scikit-learn": (lambda: decomposition.PCA(20).fit(X), at_least(1.0))}
    table.race("PCA(20), 20000 x 400", lambda: PCA(20).fit(X), peers, SHORT)


def sparse_pca(table: Table) -> None:
    X = load_dataset("news20").X
    peer = decomposition.PCA(20, svd_solver="arpack", random_state=0)
    peers = {"scikit-learn, arpack": (lambda: peer.fit(X), at_least(2.0))}
    table.race("PCA(20), news20, sparse", lambda: PCA(20).fit(X), peers, 2)


ROWS: dict[str, Callable[[Table], None]] = {
    "cca": dense_cca,
    "lda": dense_lda,
    **{f"{name}-{alpha:g}": text(name, alpha) for name in TEXT for alpha in (1.0, 0.01)},
    "memory": memory,
    "delicious": delicious,
    "growth": growth,
    "streams": streams,
    "pls": pls,
    "views": views,
    "pca": dense_pca,
    "sparse-pca": sparse_pca,
}


PAGE = """# Benchmarks

How long does eigenkit take for work that other programs can do as well? Every row below is one
fit, timed with eigenkit and with a program that people use for it today.

{table}
*Ours* and *theirs* are seconds (megabytes in the row on memory), so smaller is better. Where the
goal is at least a number (≥), the ratio says how many times faster eigenkit is; where it is at most
a number (≤), how many times as much eigenkit takes. Rows that miss their goal say so.

## What is compared

- **Dense data** (the rows with sizes) have correlated columns whose means are far from zero. "One
  product X'X" is a bound that no method of this kind gets below.
- **Text** (news20, part of rcv1, two Yahoo sets) is sparse, with rows of unit length. A row names
  the data set, the method, the ridge and, in brackets, what solved the regression. The peer is
  scikit-learn's `Ridge`, run to the residual that we reach: it does only the regression, which is
  the first half of our fit.
- **Many labels**: Delicious has 983. "10 times that of 100 labels" asks whether time grows faster
  than the number of labels.
- **Memory**: the peak of what a fit allocates, against three copies of X and six blocks of
  (n + d) x k numbers for n samples, d features and k labels.

All programs take turns in one process, each when the BLAS threads of the one before have stopped
waiting, which would take its cores. The best of several runs counts.

## Machine, dates and command

{machine}. Rows were measured between {first} and {last}, each with the code of its day.

`python -m benchmarks.real` runs all rows on your machine, and `--only NAME` some of them, which
leaves the others as they were. `python -m benchmarks.real --json {json} --page docs/benchmarks.md`
writes this page from the stored figures.
"""

PRECISION = """
## Many labels: how good, and at what price

Delicious has 12920 web pages to learn from and 3185 to judge by, described by 500 words and tagged
with 983 tags. P@3 is the share of right tags among the three that a method ranks first, in percent.
Settings were chosen on a part of the training pages. Seconds (of the processor, in one run) and
megabytes are those of the last fit and of ranking the test pages.
`python -m benchmarks.delicious` prints these figures. {machine}.

| method | settings | P@1 | P@3 | P@5 | seconds | MB |
|---|---|--:|--:|--:|--:|--:|
"""


def page(table: Table, delicious: Path) -> str:
    """The page of the docs, from the figures that are kept."""
    dates = sorted(row.date for row in table.rows)
    text = PAGE.format(
        json=f"docs/{table.path.name}",
        machine=table.machine,
        first=dates[0],
        last=dates[-1],
        table=table.markdown(),
    )
    if not delicious.exists():
        return text
    found = json.loads(delicious.read_text())
    head = PRECISION.format(machine=described(found["machine"]))
    return text + head + "".join(precision(*row) for row in found["rows"].items())


def precision(name: str, found: dict[str, Any]) -> str:
    """One method as a row."""
    shares = " | ".join(f"{found[f'P@{k}']:.1f}" for k in (1, 3, 5))
    cost = f"{found['seconds']:.1f} | {found['MB']:.0f}"
    return f"| {name} | {found['settings']} | {shares} | {cost} |\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=ROWS, default=list(ROWS), metavar="NAME")
    parser.add_argument("--list", action="store_true", help="print the names of the rows")
    parser.add_argument("--json", type=Path, default=FILE, help="where the figures are kept")
    parser.add_argument("--page", type=Path, help="write the page of the docs from the file")
    given = parser.parse_args()
    table = Table.read(given.json)
    if given.list:
        print(" ".join(ROWS))
    elif given.page:
        given.page.write_text(page(table, given.json.with_name("delicious.json")))
    else:
        warnings.simplefilter("ignore")
        table.measure(ROWS, given.only)


if __name__ == "__main__":
    main()
