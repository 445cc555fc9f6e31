"""Time as samples or features grow: the eigenvalue problem itself against regression."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import linalg as sla
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, eigsh
from sklearn.preprocessing import normalize

from eigenkit.datasets import Dataset, make_planted
from eigenkit.evaluation.samples import Samples, read_samples
from eigenkit.evaluation.trial import target_for
from eigenkit.moments import Rows
from eigenkit.numerics.linalg import Array
from eigenkit.numerics.tolerances import RANK_TOL
from eigenkit.targets import TARGETS
from papers.blocks import Block, Claim, Figure, Note, Table
from papers.drawing import lines, slope
from papers.study import Study

MULTILABEL = ("CCA", "OPLS", "HSL-Clique", "HSL-Star")
DIRECT = "direct"
# A small sparse set in place of text, for quick runs.
STAND_IN = "planted, sparse"
# Rows of unit length: the ridge is as large as one document.
GAMMA = 1.0
# Exponents above this are not what one would call linear.
LINEAR = 1.2
TARGET_NAMES = {
    "LDA": "lda",
    "CCA": "cca",
    "OPLS": "opls",
    "HSL-Clique": "clique",
    "HSL-Star": "star",
}


def lanczos_direct(X: Any, Y: Array, target: str, alpha: float) -> tuple[Array, Array]:
    """W and eigenvalues of the pencil as the papers' direct approach finds them.

    B = Xc'Xc + alpha I (d x d) is factored, B = L L', and the Lanczos algorithm finds the
    eigenvectors V of the symmetric matrix L^-1 Xc'H H'Xc L^-T; W = L^-T V. Its products with a
    vector go through M = L^-1 Xc'H (d x k), formed once, which is the cheapest way.
    """
    pencil = Rows(X, Y, None).problem(TARGETS[target], 1.0, alpha).pencil
    B = pencil.Z.gram()
    B.flat[:: len(B) + 1] += pencil.ridge
    L = sla.cholesky(B.T, lower=True, overwrite_a=True, check_finite=False)
    M = sla.solve_triangular(L, pencil.C, lower=True, check_finite=False)
    A = LinearOperator(L.shape, matvec=lambda v: M @ (M.T @ v), dtype=np.float64)
    start = np.random.default_rng(0).standard_normal(len(L))
    values, V = eigsh(A, k=M.shape[1], v0=start)
    keep = np.flatnonzero(values > RANK_TOL * values.max())[::-1]
    W = sla.solve_triangular(L, V[:, keep], lower=True, trans="T", check_finite=False)
    return pencil.Z.to_X(W), values[keep]


# -- data --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Documents:
    """Rows in random order and columns by falling frequency: any corner is a smaller set."""

    X: Any
    Y: Array
    single: bool

    @classmethod
    def of(cls, samples: Samples, seed: int) -> Documents:
        """The documents of a set; a term is as frequent as the documents that hold it are many."""
        rows = np.random.default_rng(seed).permutation(len(samples.Y))
        X = sparse.csr_array(samples.X)[rows]
        frequency = np.bincount(X.indices, minlength=X.shape[1])
        terms = np.argsort(-frequency, kind="stable")
        return cls(X[:, terms], samples.Y[rows], samples.single)

    def corner(self, n: int, d: int) -> tuple[Any, Array]:
        """n documents, d terms, rows of unit length, and the labels that occur."""
        Y = self.Y[:n]
        return normalize(self.X[:n, :d]), Y[:, Y.any(axis=0)]


def _data(study: Study, name: str) -> Dataset | None:
    if name != STAND_IN:
        return study.dataset(name)
    X, Y = make_planted(600, 400, 6, sparse_output=True, random_state=study.seed)
    return Dataset(name, X, Y)


# -- measuring ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Sweep:
    """Techniques on one set at growing ``sizes`` (pairs n, d), for a figure of the paper."""

    figure: str
    source: str
    dataset: str
    techniques: Sequence[str]
    sizes: Sequence[tuple[int, int]]

    @property
    def grown(self) -> int:
        """0 if samples grow, 1 if features do."""
        return 0 if self.sizes[0][0] != self.sizes[-1][0] else 1

    @property
    def axis(self) -> list[int]:
        """What grows."""
        return [size[self.grown] for size in self.sizes]

    @property
    def fixed(self) -> str:
        """What stays as it is, in words."""
        return f"{'dn'[self.grown]} = {self.sizes[0][1 - self.grown]}"

    @property
    def words(self) -> str:
        """What grows and what is fixed."""
        return f"{'nd'[self.grown]} = {self.axis[0]} to {self.axis[-1]}, {self.fixed}"


# An unfitted estimator of a technique, by the name of the approach; the direct one comes by itself.
Approaches = Mapping[str, Callable[[str], Any]]
# Seconds by technique and approach, in the order of the sizes.
Times = dict[str, dict[str, list[float]]]


def best_of(works: Mapping[str, Callable[[], Any]], repetitions: int) -> dict[str, float]:
    """The shortest time of each, taken in turns, so that a busy moment hits all alike."""
    best = dict.fromkeys(works, np.inf)
    for _ in range(repetitions):
        for name, work in works.items():
            start = time.perf_counter()
            work()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def _measure(
    documents: Documents, n: int, d: int, technique: str, approaches: Approaches, repetitions: int
) -> dict[str, float]:
    X, Y = documents.corner(n, d)

    def estimate(make: Callable[[str], Any]) -> None:
        model = make(technique).set_params(alpha=GAMMA)
        model.fit(X, target_for(model, Y, documents.single))

    works: dict[str, Callable[[], Any]] = {
        DIRECT: partial(lanczos_direct, X, Y, TARGET_NAMES[technique], GAMMA)
    }
    works |= {name: partial(estimate, make) for name, make in approaches.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # terms that no document of a corner holds
        return best_of(works, repetitions)


def time_sweeps(
    study: Study, sweeps: Sequence[Sweep], approaches: Approaches
) -> Iterator[tuple[Sweep, Times]]:
    """The times of every sweep whose data are available."""
    repetitions = 1 if study.quick else 2
    for sweep in sweeps:
        data = _data(study, sweep.dataset)
        if data is None:
            continue
        documents = Documents.of(read_samples(data.X, data.target), study.seed)
        times: Times = {t: {name: [] for name in (DIRECT, *approaches)} for t in sweep.techniques}
        for technique in sweep.techniques:
            for n, d in sweep.sizes:
                work = partial(_measure, documents, n, d, technique, approaches, repetitions)
                cell = study.timing(f"{sweep.dataset}, {technique}, n = {n}, d = {d}", work)
                for name, seconds in cell.items():
                    times[technique][name].append(seconds)
        yield sweep, times


# -- what is shown -----------------------------------------------------------------------


def shown(measured: Sequence[tuple[Sweep, Times]]) -> Iterator[Block]:
    """The figures, one table of times and slopes, and how the approaches compare."""
    for name in dict.fromkeys(sweep.figure for sweep, _ in measured):
        yield _figure([(sweep, times) for sweep, times in measured if sweep.figure == name])
    if measured:
        yield _table(measured)
        yield from _remarks(measured)


def _figure(parts: list[tuple[Sweep, Times]]) -> Figure:
    panels = [
        (technique, sweep, curves) for sweep, times in parts for technique, curves in times.items()
    ]
    n_columns = min(2, len(panels))
    n_rows = -(-len(panels) // n_columns)

    def draw(canvas: Any) -> None:
        axes = canvas.subplots(n_rows, n_columns, sharey=True, squeeze=False)
        for ax, (technique, sweep, curves) in zip(axes.flat, panels, strict=True):
            grows = ("number of samples", "number of features")[sweep.grown]
            title = f"{technique}, {sweep.fixed}"
            lines(ax, sweep.axis, curves, title=title, xlabel=grows, yscale="log")
            ax.get_legend().remove()
        for ax in axes[:, 0]:
            ax.set_ylabel("seconds")
        # One legend for all panels, where no curve runs.
        canvas.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)

    first = parts[0][0]
    words = "; ".join(sweep.words for sweep, _ in parts)
    caption = f"Computation time on {first.dataset}, {words} ({first.source})."
    return Figure(first.figure, caption, draw, (3.7 * n_columns, 2.5 * n_rows + 0.4))


def _table(measured: Sequence[tuple[Sweep, Times]]) -> Table:
    rows, values = [], []
    approaches: list[str] = []
    for sweep, times in measured:
        for technique, curves in times.items():
            approaches = list(curves)
            rows.append((sweep.dataset, technique, sweep.words))
            last = [curves[name][-1] for name in approaches]
            slopes = [slope(sweep.axis, curves[name]) for name in approaches]
            values.append([*last, *slopes])
    return Table(
        "Seconds at the largest size, and exponents p of time ~ size^p",
        ("data", "technique", "sizes"),
        rows,
        [*(f"{name}, s" for name in approaches), *(f"p, {name}" for name in approaches)],
        values,
        form=[".3f"] * len(approaches) + [".2f"] * len(approaches),
        note="Times are the shortest of two, taken in turns (one in a quick run). Exponents are "
        "fitted to all sizes on logarithmic scales.",
    )


def _remarks(measured: Sequence[tuple[Sweep, Times]]) -> Iterator[Note]:
    """How the others compare with the direct approach, from the measured times."""
    curves = [c for _, times in measured for c in times.values()]
    direct = np.concatenate([c[DIRECT] for c in curves])
    for name in list(curves[0])[1:]:
        ratio = direct / np.concatenate([c[name] for c in curves])
        last = [c[DIRECT][-1] / c[name][-1] for c in curves]
        yield Note(
            f"The direct approach takes {_range(last, '.1f')} times as long as {name} at the "
            f"largest sizes, and {np.median(ratio):.1f} times as long in the middle of all "
            f"{len(ratio)} points; {name} is the slower one at {np.sum(ratio < 1)} of them."
        )
    for axis, word in enumerate(("samples", "features")):
        grown = [(s, c) for s, times in measured if s.grown == axis for c in times.values()]
        if grown:
            sizes = _range([s.axis[-1] / s.axis[0] for s, _ in grown], ".0f")
            factors = ", ".join(
                f"{name} {_range([c[name][-1] / c[name][0] for _, c in grown], '.1f')}"
                for name in curves[0]
            )
            yield Note(f"With {sizes} times the {word} they take so many times as long: {factors}.")


def faster(measured: Sequence[tuple[Sweep, Times]], name: str, says: str) -> Claim:
    """Whether an approach is ahead of the direct one at the largest sizes."""
    last = [c[DIRECT][-1] / c[name][-1] for _, times in measured for c in times.values()]
    won = sum(ratio > 1 for ratio in last)
    return Claim(
        says,
        f"direct takes {_range(last, '.1f')} times as long as {name} at the largest sizes",
        "holds" if won == len(last) else "holds in part" if won else "differs",
    )


def growth(measured: Sequence[tuple[Sweep, Times]], name: str, says: str) -> Iterator[Claim]:
    """The exponents p of time ~ size^p of an approach, for samples and for features."""
    for axis, word in enumerate(("samples", "features")):
        found = [
            (slope(s.axis, c[name]), s.dataset)
            for s, times in measured
            if s.grown == axis
            for c in times.values()
        ]
        if found:
            powers = [p for p, _ in found]
            steep = sorted({data for p, data in found if p > LINEAR})
            told = f", above {LINEAR:g} on {' and '.join(steep)}" if steep else ""
            yield Claim(
                f"{says} the number of {word}.",
                f"{name}: exponent {_range(powers, '.1f')}{told}",
                "differs in kind" if steep else "holds",
            )


def _range(values: Sequence[float], form: str) -> str:
    low, high = format(min(values), form), format(max(values), form)
    return low if low == high else f"{low} to {high}"


SETTING = (
    "Features are the terms that the most documents of the whole set hold, samples are drawn at "
    "random (smaller sets are parts of larger ones), rows are scaled to unit length, labels that "
    f"no sample of a part carries are left out, and gamma = {GAMMA:g}; the papers do not name "
    "these choices. The direct approach is the papers': Xc'Xc + gamma I as a dense matrix, its "
    "Cholesky factor L, and the Lanczos algorithm on L⁻¹Xc'HH'XcL⁻ᵀ. We favour it where we can: "
    "Xc'Xc comes from a sparse product, which makes its time grow less with n than that of a "
    "dense one would, and L⁻¹Xc'H is formed once."
)
