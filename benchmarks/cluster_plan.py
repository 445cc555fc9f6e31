"""What a fit costs on N machines: passes, bytes moved and hours, from rates measured here.

``python -m benchmarks.cluster_plan`` measures on this machine how fast one core multiplies sparse
rows with a block of vectors, reads from disk, and adds two sums, then counts what the iterative
solver does for ``--rows`` x ``--features`` x ``--labels`` and prints a table for docs/scale.md.
Nothing is fitted: it is arithmetic on measured rates, and says so.
"""

from __future__ import annotations

import argparse
import math
import tempfile
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from benchmarks.race import seconds
from eigenkit.data import add_transposed, sparse_product
from eigenkit.numerics.threads import FAN_IN

BYTES_PER_NUMBER = 12  # a float64 and an int32 index
CORES = 16
NETWORK = 1.25e9  # bytes a second, 10 Gbit


@dataclass(frozen=True)
class Rates:
    """Of one core: multiply-adds and bytes a second."""

    multiply: float
    read: float
    add: float


def measured(width: int = 200_000, rows: int = 20_000, per_row: int = 100, k: int = 32) -> Rates:
    """Rates of the loops that a pass is made of."""
    rng = np.random.default_rng(0)
    columns = np.sort((width * rng.random((rows, per_row)) ** 3).astype(np.int32), axis=1)
    indptr = np.arange(0, rows * per_row + 1, per_row, dtype=np.int32)
    X = sparse.csr_array((np.ones(columns.size), columns.ravel(), indptr), shape=(rows, width))
    V, slope = rng.normal(size=(width, k)), np.zeros((width, k))
    multiply = 2 * X.nnz * k / _seconds(lambda: add_transposed(slope, X, sparse_product(X, V)))
    add = slope.nbytes / _seconds(lambda: np.add(slope, V, out=slope))
    with tempfile.TemporaryFile() as file:
        file.write(V.tobytes())
        read = V.nbytes / _seconds(lambda: (file.seek(0), file.read()))
    return Rates(multiply, read, add)


def _seconds(work) -> float:
    return min(seconds(work) for _ in range(3))


@dataclass(frozen=True)
class Job:
    """Sizes of a fit."""

    rows: float
    features: float
    labels: float
    per_row: float
    iterations: int

    @property
    def passes(self) -> int:
        """One for the sums, one for Z'H, one an iteration, one for the answer."""
        return self.iterations + 3

    def cost(self, machines: int, rates: Rates) -> dict[str, float]:
        """Hours and bytes of all passes; sums go up a tree of the machines."""
        stored = self.rows * self.per_row
        block = 8 * self.features * self.labels
        levels = math.ceil(math.log(max(machines, 2), FAN_IN))
        compute = 2 * stored * self.labels / (rates.multiply * CORES * machines)
        read = BYTES_PER_NUMBER * stored / (rates.read * machines)
        moved = block * (1 + levels * (FAN_IN - 1)) / NETWORK  # V down once, sums up the tree
        added = block * levels * (FAN_IN - 1) / rates.add
        each = compute + read + moved + added
        return {
            "hours": self.passes * each / 3600,
            "moving": (moved + added) / each,
            "bytes": self.passes * block * 2 * machines,
            "held": BYTES_PER_NUMBER * stored / machines,
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    sizes = {"rows": 1e9, "features": 1e6, "labels": 1e3, "per-row": 100.0, "iterations": 30}
    for name, size in sizes.items():
        parser.add_argument(f"--{name}", type=type(size), default=size)
    job = Job(**vars(parser.parse_args()))
    rates = measured()
    multiply, read = f"{rates.multiply:.2g} multiply-adds", f"{rates.read / 1e9:.1f} GB/s"
    print(f"one core: {multiply} a second, reads {read}")
    stored = BYTES_PER_NUMBER * job.rows * job.per_row / 1e12
    block = 8 * job.features * job.labels / 1e9
    print(f"{job.passes} passes over {stored:.1f} TB, blocks of {block:.0f} GB\n")
    print("| machines | data on each | moved in all | hours | of which moving and adding |")
    print("|---:|---:|---:|---:|---:|")
    for machines in (1, 8, 64, 512):
        cost = job.cost(machines, rates)
        moved = f"{cost['held'] / 1e9:.0f} GB | {cost['bytes'] / 1e12:.1f} TB"
        print(f"| {machines} | {moved} | {cost['hours']:.1f} | {cost['moving']:.0%} |")


if __name__ == "__main__":
    main()
