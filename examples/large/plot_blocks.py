"""
How do I fit a table that does not fit in memory?
=================================================

All that a projection needs of the data are sums over rows. So the rows can stay in files: passes over them, block by
block, give the same model as a fit in memory, up to rounding. **Answer:** pass :class:`eigenkit.RowBlocks` to ``fit``
in place of X.
"""

# %%
# A table on disk, written in parts. It is small here; what we measure is how much memory a fit takes.
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
# Here the blocks are slices of a memory map. For files, use ``RowBlocks.from_files("parts/*.csv", labels="class")``.
stored = np.load(path / "X.npy", mmap_mode="r")


def peak(size):
    """Fit in blocks of this many rows; return the model and the peak memory in megabytes."""
    parts = [(stored[i : i + size], y[i : i + size]) for i in range(0, n, size)]
    tracemalloc.start()
    model = LDA(alpha=1.0).fit(RowBlocks.from_arrays(parts))
    most = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    return model, most


sizes = [1000, 2000, 5000, 10_000, 20_000]
models, memory = zip(*(peak(size) for size in sizes), strict=True)

# %%
# The model is the same as in memory, whatever the size of the blocks.
whole = LDA(alpha=1.0).fit(np.array(stored), y)
gap = max(np.abs(model.components_ - whole.components_).max() for model in models)
print(f"largest difference of a weight: {gap:.1e}")

# %%
# The peak memory of a fit depends on the size of a block, not on the size of the table.
plt.plot(sizes, memory, "o-", label="peak during a fit in blocks")
plt.axhline(X.nbytes / 1e6, color="tab:gray", lw=1, label="the whole table")
plt.xlabel("rows in a block")
plt.ylabel("MB")
plt.ylim(0)
plt.legend()
plt.show()
folder.cleanup()
