"""
How do I spread a fit over a cluster?
=====================================

The rows stay on the workers of a Dask cluster, where tasks create them. Each pass over the data is one task per part,
and only sums travel between the machines. In this example the cluster is two threads on one machine; with a larger one
nothing changes but the time. (It needs the extra ``dask``; without it, the example fits in memory.)
"""

# %%
import importlib.util

import matplotlib.pyplot as plt
import numpy as np

from eigenkit import LDA, RowBlocks

here = importlib.util.find_spec("distributed") is not None


# %%
# A part is created by a function that runs on a worker: it may read a file or a table or, as here, draw random numbers. If a
# worker dies, another one creates its parts again.
def part(seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=4000)
    X = rng.normal(size=(4000, 30))
    X[:, :3] += 1.5 * np.eye(3)[y]
    return X, y


# %%
if here:
    from dask import delayed
    from distributed import Client

    with Client(
        n_workers=2,
        threads_per_worker=1,
        processes=False,
        dashboard_address="127.0.0.1:0",
    ) as client:
        blocks = RowBlocks.from_dask(client, [delayed(part)(seed) for seed in range(8)])
        model = LDA(alpha=1.0).fit(blocks)
else:
    print("Dask is not installed: the rows are fitted in memory instead.")
    model = LDA(alpha=1.0).fit(RowBlocks.from_arrays([part(seed) for seed in range(8)]))

# %%
# The model is the same as with all rows in the memory of one process, up to rounding.
X, y = map(np.concatenate, zip(*map(part, range(8)), strict=True))
whole = LDA(alpha=1.0).fit(X, y)
print(
    f"{len(X)} rows, largest difference of a weight: {np.abs(model.components_ - whole.components_).max():.1e}"
)

# %%
Z = model.transform(X[:2000])
for c in range(3):
    plt.scatter(*Z[y[:2000] == c].T, s=6, label=f"class {c}")
plt.xlabel("component 1")
plt.ylabel("component 2")
plt.legend()
plt.show()
