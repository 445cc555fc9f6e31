"""Reading svmlight beside scikit-learn, a fit from a CSV beside pandas, the memory of a large CSV,
and the start of the program.

    python -m benchmarks.files [--megabytes 1000] [--rows 1000000]

news20 is used where eigenkit.datasets can get it, else data of the same shape.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
from scipy import sparse

from eigenkit.datasets import DatasetNotFound, load_dataset

RESULTS = Path(__file__).parent / "results" / "files.json"


def news20() -> tuple[sparse.csr_matrix, np.ndarray]:
    """The papers' text data, or random counts of their shape and density."""
    with suppress(DatasetNotFound):
        data = load_dataset("news20")
        return sparse.csr_matrix(data.X), data.target
    X = sparse.random_array((15935, 62061), density=0.0013, random_state=0, format="csr")
    X.data = np.ceil(X.data * 5)
    return sparse.csr_matrix(X), np.random.default_rng(0).integers(1, 21, 15935)


def svmlight(path: Path, rounds: int) -> dict[str, float]:
    """Best times of both readers, taken in turn."""
    from sklearn.datasets import dump_svmlight_file, load_svmlight_file

    from eigenkit.files import open_file, read

    X, y = news20()
    dump_svmlight_file(X, y, str(path), zero_based=False)
    times: dict[str, list[float]] = {"scikit-learn": [], "eigenkit": []}
    for _ in range(rounds):
        for name, work in (
            ("scikit-learn", lambda: load_svmlight_file(str(path))[0]),
            ("eigenkit", lambda: read(open_file(str(path))).X),
        ):
            begin = time.perf_counter()
            found = work()
            times[name].append(time.perf_counter() - begin)
            assert found.nnz == X.nnz
    best = {name: min(found) for name, found in times.items()}
    return {**best, "ratio": best["scikit-learn"] / best["eigenkit"]}


def write_csv(path: Path, megabytes: int) -> tuple[int, int]:
    """A table of random numbers of about this size."""
    rng = np.random.default_rng(0)
    rows, columns = 0, 100
    with open(path, "wb") as stream:
        while stream.tell() < megabytes * 1e6:
            np.savetxt(stream, rng.normal(size=(5000, columns)), fmt="%.6g", delimiter=",")
            rows += 5000
    return rows, columns


_READ = """
import resource, sys, time
from eigenkit.files import open_file, read
open_file(sys.argv[1])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
begin = time.perf_counter()
X = read(open_file(sys.argv[1])).X
print(time.perf_counter() - begin, X.nbytes, before * 1024,
      resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"""


def csv_memory(path: Path, megabytes: int) -> dict[str, float]:
    """Peak memory of reading a CSV, above that of the imports, relative to its numbers."""
    write_csv(path, megabytes)
    out = subprocess.check_output([sys.executable, "-c", _READ, str(path)], text=True)
    seconds, numbers, before, peak = (float(word) for word in out.split())
    return {
        "megabytes": path.stat().st_size / 1e6,
        "seconds": seconds,
        "numbers_megabytes": numbers / 1e6,
        "peak_over_numbers": (peak - before) / numbers,
    }


def csv_fit(path: Path, rows: int) -> dict[str, float]:
    """A whole fit of rows with 30 features and a class, beside two readings by pandas' C parser."""
    import pandas as pd

    rng = np.random.default_rng(0)
    names = [*(f"x{j}" for j in range(30)), "label"]
    for k in range(0, rows, 50_000):
        table = pd.DataFrame(rng.normal(size=(min(50_000, rows - k), 30)), columns=names[:-1])
        table["label"] = (table["x0"] + rng.normal(size=len(table)) > 0).astype(int)
        table.to_csv(path, index=False, header=k == 0, mode="a")
    model = str(path.with_suffix(".ek"))
    fit = ["fit", str(path), "--labels", "label", "--method", "lda", "--force", "--out", model]
    ours, theirs = [], []
    for _ in range(2):
        ours.append(start(fit, 1))
        begin = time.perf_counter()
        pd.read_csv(path)
        theirs.append(time.perf_counter() - begin)
    return {
        "fit_seconds": min(ours),
        "pandas_seconds": min(theirs),
        "readings": min(ours) / min(theirs),
    }


def start(arguments: list[str], rounds: int) -> float:
    """Best time of a command that should come at once."""
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "eigenkit", *arguments], stdout=subprocess.DEVNULL, check=True
        )
        times.append(time.perf_counter() - begin)
    return min(times)


def main() -> None:
    """Measure, print and keep."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = {
            "help_seconds": start(["--help"], options.rounds),
            "methods_seconds": start(["methods"], options.rounds),
            "csv_fit": csv_fit(Path(folder) / "b.csv", options.rows),
            "svmlight": svmlight(Path(folder) / "a.svm", options.rounds),
            "csv": csv_memory(Path(folder) / "a.csv", options.megabytes),
        }
    found["own_peak_megabytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(found, indent=2))
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
