"""Running peers side by side: interleaved, best of several, on data that are at hand."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import sklearn
from threadpoolctl import threadpool_info

from eigenkit.datasets import Dataset, DatasetNotFound, load_dataset

RESULTS = Path(__file__).parent / "results"

# After a product, idle BLAS threads wait actively for 20 to 120 ms, depending on the processor, and
# would take a core from whoever runs next. So every run first waits until the process has been idle
# for a moment (in seconds), but not for ever.
MOMENT, LONGEST = 0.02, 1.0


def rest() -> None:
    """Wait until no thread of this process is busy."""
    for _ in range(round(LONGEST / MOMENT)):
        before = time.process_time()
        time.sleep(MOMENT)
        if time.process_time() - before < MOMENT / 4:
            return


def seconds(work: Callable[[], Any]) -> float:
    """Time of one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def race(
    runners: dict[str, Callable[[], Any]], repeat: int = 5, once: Collection[str] = ()
) -> dict[str, float]:
    """Best time of each runner over ``repeat`` rounds in which all of them take turns.

    Those named in ``once``, which take long, run in the first round only.
    """
    times: dict[str, list[float]] = {name: [] for name in runners}
    for turn in range(repeat):
        for name, run in runners.items():
            if turn == 0 or name not in once:
                rest()
                times[name].append(seconds(run))
    return {name: min(values) for name, values in times.items()}


def load(name: str) -> Dataset | None:
    """A data set, or None with a note if it is not available."""
    try:
        return load_dataset(name)
    except DatasetNotFound as error:
        print(f"(skipped: {error})")
        return None


def keep(found: Any, place: Path) -> None:
    """Write figures as JSON."""
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(json.dumps(found, indent=1) + "\n")


def machine() -> dict[str, Any]:
    """The machine and versions of the measurements."""
    return {
        "cores": len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count(),
        "blas_threads": [info["num_threads"] for info in threadpool_info()],
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
    }
