"""Rows that outgrow memory: a fit on a memory-mapped file under a limit of memory.

``python -m benchmarks.scale`` writes a float32 matrix (``--rows``, ``--features``) to a temporary
file, fits LDA on it through ``RowBlocks`` in a process that may take no more than ``--limit`` MB of
memory of its own, and prints the time beside that of one pass of the product X'X over the same
blocks, which nothing that is exact can do without.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np


def write(path: Path, n: int, d: int) -> None:
    """A matrix of correlated columns, block by block."""
    X = np.lib.format.open_memmap(path, "w+", np.float32, (n, d))
    rng = np.random.default_rng(0)
    mixing = rng.normal(size=(20, d))
    for start in range(0, n, 4096):
        rows = min(4096, n - start)
        X[start : start + rows] = rng.normal(size=(rows, 20)) @ mixing + rng.normal(size=(rows, d))
    X.flush()


def fit(path: Path, limit: int) -> dict[str, float]:
    """Fit in this process, with at most ``limit`` bytes beyond what Python has taken by itself."""
    from eigenkit import LDA, RowBlocks

    X = np.load(path, mmap_mode="r")
    y = np.arange(len(X)) % 10
    blocks = RowBlocks.from_arrays([(X, y)])
    taken = int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_DATA, (taken + limit, taken + limit))
    begun = time.perf_counter()
    gram = np.zeros((X.shape[1], X.shape[1]))
    for block, _ in blocks:
        rows = block.astype(np.float64)
        gram += rows.T @ rows
    product = time.perf_counter() - begun
    begun = time.perf_counter()
    LDA().fit(blocks)
    return {"pass": product, "fit": time.perf_counter() - begun}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--features", type=int, default=500)
    parser.add_argument("--limit", type=int, default=200, help="MB")
    parser.add_argument("--child", type=Path)
    given = parser.parse_args()
    if given.child is not None:
        print(json.dumps(fit(given.child, given.limit * 2**20)))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "X.npy"
        write(path, given.rows, given.features)
        command = [sys.executable, "-m", "benchmarks.scale", "--child", str(path)]
        run = subprocess.run(
            [*command, "--limit", str(given.limit)], check=True, capture_output=True, text=True
        )
        found = json.loads(run.stdout)
        size = path.stat().st_size / 2**20
    print(f"file {size:.0f} MB, limit {given.limit} MB beyond Python and its libraries: fitted")
    print(f"one pass of X'X {found['pass']:.1f} s, LDA {found['fit']:.1f} s", end="")
    print(f" ({found['fit'] / found['pass']:.1f} times)")


if __name__ == "__main__":
    main()
