"""
How do I fit a table that does not fit in memory?
=================================================

What a projection needs of the data is a sum over rows. So the rows may lie in files, and one pass over them, block by
block, gives the model of all of them, to rounding.
"""

# %%
# A table on disk, written in parts; here it is small, and the memory that is used is measured.
import tempfile
import tracemalloc
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from eigenkit import LDA, RowBlocks

folder = tempfile.TemporaryDirectory()
path = Path(folder.name)
rng = np.random.default_rng(0)
n, d = 60_000, 40
centres = 0.5 * rng.normal(size=(4, d))
y = rng.integers(4, size=n)
X = np.lib.format.open_memmap(path / "X.npy", mode="w+", shape=(n, d))
for start in range(0, n, 5000):
    rows = slice(start, start + 5000)
    X[rows] = centres[y[rows]] + rng.normal(size=(5000, d))
X.flush()
print(f"the table has {X.nbytes / 1e6:.0f} MB")

# %%
# Blocks are slices of a memory map here; ``RowBlocks.from_files("parts/*.csv", labels="class")`` takes files.
stored = np.load(path / "X.npy", mmap_mode="r")


def peak(size):
    """Fit in blocks of so many rows; megabytes allocated at the most."""
    parts = [(stored[i : i + size], y[i : i + size]) for i in range(0, n, size)]
    tracemalloc.start()
    model = LDA(alpha=1.0).fit(RowBlocks.from_arrays(parts))
    most = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    return model, most


sizes = [1000, 2000, 5000, 10_000, 20_000]
models, memory = zip(*(peak(size) for size in sizes), strict=True)

# %%
# The same model as in memory, whatever the blocks:
whole = LDA(alpha=1.0).fit(np.array(stored), y)
gap = max(np.abs(model.components_ - whole.components_).max() for model in models)
print(f"largest difference of a weight: {gap:.1e}")

# %%
plt.plot(sizes, memory, "o-", label="peak of a fit in blocks")
plt.axhline(X.nbytes / 1e6, color="tab:gray", lw=1, label="the whole table")
plt.xlabel("rows in a block")
plt.ylabel("MB")
plt.ylim(0)
plt.legend()
plt.show()
folder.cleanup()
