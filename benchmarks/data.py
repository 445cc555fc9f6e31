"""Data sets for benchmarks, from the folder that EIGENKIT_DATA names (NAME.npz, plain arrays)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse


def load(name: str) -> tuple[Any, np.ndarray] | None:
    """X (ndarray or CSR) and labels, or None with a note if the set is not there."""
    folder = os.environ.get("EIGENKIT_DATA")
    path = Path(folder or "") / f"{name}.npz"
    if folder is None or not path.exists():
        print(f"(skipped: {name}.npz is not in EIGENKIT_DATA={folder})")
        return None
    with np.load(path, allow_pickle=False) as stored:
        y = stored["Y"] if "Y" in stored else stored["y"]
        if "X_indptr" not in stored:
            return stored["X"].astype(np.float64), y
        parts = stored["X_data"].astype(np.float64), stored["X_indices"], stored["X_indptr"]
        return sparse.csr_array(parts, shape=tuple(stored["X_shape"])), y
