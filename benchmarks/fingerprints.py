"""Fingerprints of the data sets that can be fetched, computed from copies that are at hand.

    EIGENKIT_DATA=folder python -m benchmarks.fingerprints > src/eigenkit/datasets/_known.py

What is fetched must have them, see eigenkit.datasets; run ``ruff format`` afterwards.
"""

from __future__ import annotations

import numpy as np

from eigenkit.datasets import Dataset, load_dataset
from eigenkit.datasets._fingerprint import digest, fingerprint
from eigenkit.datasets._sources import SETS, Files, OpenML

# Whole numbers and short decimals, which are the same text wherever the set is kept. The others
# have six decimals in some places and more in others.
EXACT = {"satimage", "optdigits", "ionosphere", "news20", "cleveland", "pima"}

HEAD = '''"""Fingerprints of the sets that can be fetched; written by benchmarks.fingerprints."""

from __future__ import annotations

from eigenkit.datasets._fingerprint import Fingerprint, Known

KNOWN: dict[str, Known] = {'''


def known(data: Dataset) -> str:
    """One entry of the table."""
    parts = [repr(fingerprint(data.X, data.target))]
    if data.splits:
        train, _ = data.splits[0]
        assert np.array_equal(train, np.arange(len(train)))
        parts.append(f"train={fingerprint(data.X[train], data.target[train])!r}")
    if data.name in EXACT:
        parts.append(f"digest={digest(data.X, data.target)!r}")
    return f"    {data.name!r}: Known({', '.join(parts)}),"


def main() -> None:
    """Print the module."""
    names = [name for name, entry in SETS.items() if isinstance(entry.source, OpenML | Files)]
    print(HEAD)
    for name in names:
        print(known(load_dataset(name, download=False)))
    print("}")


if __name__ == "__main__":
    main()
