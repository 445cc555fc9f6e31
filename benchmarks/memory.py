"""What a fit allocates at its peak, in a process of its own: ``python -m benchmarks.memory NAME``.

The data are loaded and the libraries warmed up by a small fit first. Then every allocation counts,
whether or not it reaches the peak of the process (``tracemalloc``, to which numpy reports its
arrays).
"""

from __future__ import annotations

import json
import subprocess
import sys
import tracemalloc

import numpy as np
from scipy import sparse
from sklearn.preprocessing import normalize

from eigenkit import HypergraphSpectral
from eigenkit.datasets import load_dataset


def peak(name: str) -> dict[str, float]:
    """Bytes of X, of six blocks of (n + d) x k numbers, and the peak of what fit allocates."""
    command = [sys.executable, "-m", "benchmarks.memory", name]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return dict(json.loads(printed))


def main() -> None:
    data = load_dataset(sys.argv[1])
    X = sparse.csr_array(normalize(data.X))
    Y = data.target[:, data.target.sum(axis=0) > 0].astype(float)
    HypergraphSpectral(regression="cg").fit(X[:200], Y[:200])
    tracemalloc.start()
    HypergraphSpectral().fit(X, Y)
    _, most = tracemalloc.get_traced_memory()
    size = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    blocks = 6 * np.float64().nbytes * sum(X.shape) * Y.shape[1]
    print(json.dumps({"X": size, "blocks": blocks, "peak": most}))


if __name__ == "__main__":
    main()
