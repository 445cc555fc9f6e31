"""Rows that outgrow memory: fits under a limit of memory, beside the passes that they must make.

``python -m benchmarks.scale csr`` writes ``--gigabytes`` of sparse rows with a million features and
fits LDA on them by the iterative solver, in a process whose address space is limited to
``--limit`` gigabytes. ``python -m benchmarks.scale dense`` writes a float32 matrix of ``--rows`` x
``--features`` and fits LDA on a memory map of it, with a limit on memory of its own. Both print
the time beside that of bare passes over the same blocks, as many as the fit has made, by the clock
and by the processor (which also tells on a busy machine); ``--folder`` keeps the data for another
run. ``stream`` prints what checkpoints cost a stream, ``cluster`` what workers cost and bring on
this machine: one job in one thread of this process, by one worker with one thread, and by two such
workers, on the same rows, beside what two processes gain that need not talk to each other.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

PER_ROW, CLASSES = 100, 4
BLOCK_ROWS = 100_000
FEATURES = {"csr": 1_000_000, "dense": 2_500}


# -- sparse rows ------------------------------------------------------------------------


def write_csr(folder: Path, gigabytes: float, d: int) -> None:
    """Blocks of rows in which words occur as in text; the first words tell the class."""
    n_blocks = max(1, round(gigabytes * 2**30 / (12 * PER_ROW * BLOCK_ROWS)))
    for i in range(n_blocks):
        rng = np.random.default_rng(i)
        y = rng.integers(0, CLASSES, BLOCK_ROWS)
        column = (d * rng.random((BLOCK_ROWS, PER_ROW)) ** 3).astype(np.int32)
        column[:, 0] = y  # a word of the class, now and then another
        column[rng.random(BLOCK_ROWS) < 0.3, 0] = 7
        X = csr(1.0 + rng.random(column.size), column, d)
        for name, array in (("values", X.data), ("columns", X.indices), ("rows", X.indptr)):
            array.tofile(folder / f"{i}.{name}")
        y.astype(np.int8).tofile(folder / f"{i}.classes")
    (folder / "width").write_text(str(d))


def csr(value: np.ndarray, column: np.ndarray, d: int) -> sparse.csr_array:
    """Rows with as many words each, some of them perhaps more than once."""
    indptr = np.arange(0, column.size + 1, PER_ROW, dtype=np.int32)
    X = sparse.csr_array((value, column.ravel(), indptr), shape=(len(column), d))
    X.sum_duplicates()
    return X


def read_block(folder: Path, i: int, d: int) -> tuple[sparse.csr_array, np.ndarray]:
    kinds = {"values": np.float64, "columns": np.int32, "rows": np.int32}
    parts = [np.fromfile(folder / f"{i}.{name}", dtype=kind) for name, kind in kinds.items()]
    X = sparse.csr_array(tuple(parts), shape=(len(parts[2]) - 1, d))
    return X, np.fromfile(folder / f"{i}.classes", dtype=np.int8).astype(np.int64)


def fit_csr(folder: Path, limit: float, tol: float) -> dict[str, Any]:
    """LDA under a limit of the address space, and bare passes over the same blocks."""
    from eigenkit import LDA, RowBlocks

    n, d = len(list(folder.glob("*.values"))), int((folder / "width").read_text())
    blocks = RowBlocks.from_arrays([partial(read_block, folder, i, d) for i in range(n)])
    made = counted(blocks)
    model = LDA(alpha=1e5, tol=tol)
    with limited(resource.RLIMIT_AS, int(limit * 2**30)):
        fit = measured(lambda: model.fit(made))
    most = peak()
    V, n_passes = np.random.default_rng(0).normal(size=(d, CLASSES)), made.runs
    each = measured(lambda: blocks.passes().run(bare_product, V))
    right = next(iter(blocks))
    return {
        "fit": fit,
        "passes": n_passes,
        "must": n_passes * each,
        "iterations": int(model.n_iter_),
        "accuracy": float(np.mean(model.predict(right[0]) == right[1])),
        "peak": most,
    }


def bare_product(blocks: Any, V: np.ndarray) -> np.ndarray:
    """X'(X V) without centring, weights or anything else."""
    total = np.zeros_like(V)
    for X, _, _ in blocks:
        total += X.T @ (X @ V)
    return total


# -- a dense memory map -----------------------------------------------------------------


def write_dense(path: Path, n: int, d: int) -> None:
    """A matrix of correlated columns, block by block."""
    X = np.lib.format.open_memmap(path, "w+", np.float32, (n, d))
    rng = np.random.default_rng(0)
    mixing = rng.normal(size=(20, d))
    for start in range(0, n, 4096):
        rows = min(4096, n - start)
        X[start : start + rows] = rng.normal(size=(rows, 20)) @ mixing + rng.normal(size=(rows, d))
    X.flush()


def fit_dense(path: Path, limit: float, tol: float) -> dict[str, Any]:
    """LDA with at most so much memory beyond what Python has taken by itself, and the map."""
    from eigenkit import LDA, RowBlocks

    X = np.load(path, mmap_mode="r")
    y = np.arange(len(X)) % 10
    blocks = RowBlocks.from_arrays([(X, y)])
    taken = int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
    made = counted(blocks)
    with limited(resource.RLIMIT_DATA, taken + int(limit * 2**30)):
        fit = measured(lambda: LDA(tol=tol).fit(made))
    n_passes = made.runs
    gram = measured(lambda: blocks.passes().run(bare_gram, X.shape[1]))
    each = measured(lambda: blocks.passes().run(bare_product, np.ones((X.shape[1], 10))))
    return {"fit": fit, "passes": n_passes, "must": gram + (n_passes - 1) * each}


def bare_gram(blocks: Any, d: int) -> np.ndarray:
    """X'X in float64."""
    total = np.zeros((d, d))
    for X, _, _ in blocks:
        rows = X.astype(np.float64)
        total += rows.T @ rows
    return total


# -- a stream with checkpoints ----------------------------------------------------------


def stream(seconds: float, rows: int = 200, d: int = 100) -> dict[str, float]:
    """Seconds of two streams that are fed in turn, without and with checkpoints every 30 s."""
    from eigenkit import LDA, Stream

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(rows, d)), np.arange(rows) % 3
    model, took, i = LDA(), {"without": 0.0, "with": 0.0}, 0
    with tempfile.TemporaryDirectory() as folder:
        fed = Stream(LDA(), Path(folder) / "state.ek")
        while took["with"] < seconds:
            took["without"] += timed(lambda: model.partial_fit(X, y))
            took["with"] += timed(lambda i=i: fed.update(X, y, position=i))
            i += 1
        took["with"] += timed(fed.close)
    return {**took, "batches": i}


@contextmanager
def limited(kind: int, most: int) -> Iterator[None]:
    """Within, the process cannot have more than so many bytes."""
    soft, hard = resource.getrlimit(kind)
    resource.setrlimit(kind, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(kind, (soft, hard))


def timed(function: Callable[[], Any]) -> float:
    return float(measured(function)[0])


def measured(function: Callable[[], Any]) -> np.ndarray:
    """Seconds by the clock, and of the processor."""
    begun = np.array([time.perf_counter(), time.process_time()])
    function()
    return np.array([time.perf_counter(), time.process_time()]) - begun


# -- a cluster of this machine ----------------------------------------------------------


def sparse_part(seed: int, classes: int, rows: int = 40_000, d: int = 20_000) -> Any:
    """Rows for which products wait for memory."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, rows)
    column = (d * rng.random((rows, PER_ROW)) ** 3).astype(np.int32)
    column[:, 0] = y
    return csr(rng.random(column.size), column, d), y


def dense_part(seed: int, rows: int = 20_000, d: int = 800) -> tuple[Any, np.ndarray]:
    """Rows for which X'X waits for the processor."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, CLASSES, rows)
    return rng.normal(size=(rows, d)) + np.eye(CLASSES, d)[y], y


# A pass costs the cluster tens of milliseconds, whatever it does: the first job has short passes,
# the second longer ones, the third only a few, and the fourth few and long ones.
_BY_PASSES: dict[str, Any] = {"alpha": 1e3, "regression": "cg", "tol": 1e-6}
JOBS: dict[str, tuple[Callable[[int], Any], dict[str, Any]]] = {
    "sparse, 4 classes": (partial(sparse_part, classes=4), _BY_PASSES),
    "sparse, 20 classes": (partial(sparse_part, classes=20), _BY_PASSES),
    "dense": (dense_part, {"alpha": 1e3}),
    "sparse, four times the rows": (
        partial(sparse_part, classes=4, rows=160_000),
        {"alpha": 1e4, "regression": "cg", "tol": 1e-3},
    ),
}


def cluster(job: str, n_parts: int = 8, rounds: int = 3) -> dict[str, float]:
    """Seconds of one fit of rows in memory: here in one thread, by one worker, and by two.

    In turns, as a machine is not equally fast all the time; the best of all rounds counts. Workers
    are those of ``--dask local``, one cluster at a time: others would take time from the one that
    is measured even where they have nothing to do. BLAS has one thread everywhere.
    """
    os.environ["OMP_NUM_THREADS"] = "1"  # of our own threads here, as of a worker's
    with threadpool_limits(1):
        ways = {"here": partial(fit_here, job, n_parts)}
        ways |= {f"workers {n}": partial(fit_there, job, n_parts, n) for n in (1, 2)}
        took = [{name: way() for name, way in ways.items()} for _ in range(rounds)]
    found = {name: min(each[name] for each in took) for name in ways}
    return {**found, "halves": halves(job, n_parts)}


def fit_here(job: str, n_parts: int) -> float:
    return best(alone(job, range(n_parts)))


def fit_there(job: str, n_parts: int, n_workers: int) -> float:
    """By workers that have started for it."""
    import dask

    from eigenkit import RowBlocks
    from eigenkit.models._dask_fit import local_cluster

    make, settings = JOBS[job]
    with local_cluster(n_workers) as client:
        there = RowBlocks.from_dask(client, [dask.delayed(make)(i) for i in range(n_parts)])
        return best(partial(_lda(settings).fit, there))


def best(fit: Callable[[], Any], repeats: int = 2) -> float:
    """The least time, after one more in which parts are made and memory is taken."""
    fit()
    return min(timed(fit) for _ in range(repeats))


def _lda(settings: dict[str, Any]) -> Any:
    from eigenkit import LDA

    return LDA(**settings)


def alone(job: str, seeds: range) -> Callable[[], Any]:
    """The fit of some parts in this process."""
    from eigenkit import RowBlocks

    make, settings = JOBS[job]
    held = [make(seed) for seed in seeds]
    blocks = RowBlocks.from_arrays([lambda pair=pair: pair for pair in held])
    return partial(_lda(settings).fit, blocks)


def halves(job: str, n_parts: int) -> float:
    """Seconds of two processes that know nothing of each other, each with half of the parts: no
    two workers of this machine can be faster.
    """
    context = multiprocessing.get_context("spawn")
    both = context.Barrier(2)
    with context.Pool(2, initializer=_met, initargs=(both,)) as pool:
        cut = range(n_parts // 2), range(n_parts // 2, n_parts)
        return max(pool.starmap(_half, [(job, seeds) for seeds in cut], chunksize=1))


def _met(both: Any) -> None:
    """Where the two processes wait for each other."""
    globals()["meet"] = both.wait


def _half(job: str, seeds: range) -> float:
    """The best of three fits that begin at the same time in both processes."""
    os.environ["OMP_NUM_THREADS"] = "1"
    fit = alone(job, seeds)
    with threadpool_limits(1):
        fit()
        return min(timed(fit) for _ in range(3) if globals()["meet"]() >= 0)


# -- running ----------------------------------------------------------------------------


def counted(blocks: Any) -> Any:
    """The blocks, which count the passes over them from now on."""
    passes = blocks.passes()
    run = passes.run
    blocks.runs = 0

    def counting(function: Any, *shared: Any) -> Any:
        blocks.runs += 1
        return run(function, *shared)

    passes.run = counting
    blocks.__class__ = type("Counted", (type(blocks),), {"passes": lambda self: passes})
    return blocks


def peak() -> float:
    """The most memory that this process has had, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def child(kind: str, path: Path, limit: float, tol: float) -> dict[str, Any]:
    """The fit in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.scale", kind, "--child", str(path)]
    command += ["--limit", str(limit), "--tol", str(tol)]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode:
        raise SystemExit(run.stderr)
    return json.loads(run.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    kinds = ["csr", "dense", "stream", "cluster"]
    parser.add_argument("kind", choices=kinds, default="csr", nargs="?")
    parser.add_argument("--gigabytes", type=float, default=4.0)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--features", type=int, help="1000000 for csr, 2500 for dense")
    parser.add_argument("--limit", type=float, help="GB; 2 for csr, 0.5 for dense")
    parser.add_argument("--tol", type=float, default=1e-6, help="of the iterative solver")
    parser.add_argument("--seconds", type=float, default=100.0, help="of the stream")
    parser.add_argument("--folder", type=Path, help="for the data, which stay there")
    parser.add_argument(
        "--jobs", nargs="+", choices=JOBS, default=list(JOBS), help="of the cluster"
    )
    parser.add_argument("--child", type=Path)
    given = parser.parse_args()
    limit = given.limit or (2.0 if given.kind == "csr" else 0.5)
    if given.kind == "stream":
        found = stream(given.seconds)
        share = found["with"] / found["without"] - 1
        print(f"stream of {found['batches']} batches: {found['without']:.1f} s", end="")
        print(f", with checkpoints {found['with']:.1f} s ({share:+.1%})")
        return
    if given.kind == "cluster":
        for job in given.jobs:
            found = cluster(job)
            here, one, two = found["here"], found["workers 1"], found["workers 2"]
            print(f"{job}: one thread here {here:.2f} s, one worker {one:.2f} s", end="")
            print(f" ({one / here:.2f} times that), two workers {two:.2f} s", end="")
            print(
                f" ({one / two:.2f} times faster than one; two processes that know nothing", end=""
            )
            print(f" of each other and do half each: {here / found['halves']:.2f})")
        return
    if given.child is not None:
        fit = fit_csr if given.kind == "csr" else fit_dense
        print(json.dumps(fit(given.child, limit, given.tol), default=list))
        return
    d = given.features or FEATURES[given.kind]
    with ExitStack() as stack:
        folder = given.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(exist_ok=True)
        place = folder if given.kind == "csr" else folder / "X.npy"
        if not any(folder.iterdir()) and given.kind == "csr":
            write_csr(place, given.gigabytes, d)
        elif not any(folder.iterdir()):
            write_dense(place, given.rows, d)
        size = sum(file.stat().st_size for file in folder.iterdir()) / 2**30
        found = child(given.kind, place, limit, given.tol)
    where = "of address space" if given.kind == "csr" else "beyond Python and its libraries"
    print(f"{given.kind}: {size:.2f} GB fitted within {limit:g} GB {where}")
    fit, must = found.pop("fit"), found.pop("must")
    for i, clock in enumerate(("by the clock", "of the processor")):
        print(f"{fit[i]:.1f} s {clock}, bare passes {must[i]:.1f} s ({fit[i] / must[i]:.2f} times)")
    print(", ".join(f"{key} {value:.3g}" for key, value in found.items()))


if __name__ == "__main__":
    main()
