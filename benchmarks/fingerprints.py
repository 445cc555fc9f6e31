"""Fingerprints of the data sets that can be fetched, computed from copies that are at hand.

    EIGENKIT_DATA=folder python -m benchmarks.fingerprints > src/eigenkit/datasets/known.json

What is fetched must have them, see eigenkit.datasets.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import numpy as np

from eigenkit.datasets import Dataset, load_dataset
from eigenkit.datasets._fetch import digest, fingerprint
from eigenkit.datasets._sources import SETS, Files, OpenML

# Whole numbers and short decimals, which are the same text wherever the set is kept. The others
# have six decimals in some places and more in others.
EXACT = {"satimage", "optdigits", "ionosphere", "news20", "cleveland", "pima"}


def known(data: Dataset) -> dict[str, Any]:
    """One entry of the table."""
    found: dict[str, Any] = {"whole": asdict(fingerprint(data.X, data.target))}
    if data.splits:
        train, _ = data.splits[0]
        assert np.array_equal(train, np.arange(len(train)))
        found["train"] = asdict(fingerprint(data.X[train], data.target[train]))
    if data.name in EXACT:
        found["digest"] = digest(data.X, data.target)
    return found


def main() -> None:
    """Print the table, a line for every set."""
    names = [name for name, entry in SETS.items() if isinstance(entry.source, OpenML | Files)]
    sets = {name: known(load_dataset(name, download=False)) for name in names}
    lines = [f"  {json.dumps(name)}: {json.dumps(found)}" for name, found in sets.items()]
    print("{", ",\n".join(lines), "}", sep="\n")


if __name__ == "__main__":
    main()
