"""Reading svmlight beside scikit-learn, a fit from a CSV beside pandas, the memory of a large CSV,
the start of every command, and a comparison on data like medical.

    python -m benchmarks.files [--megabytes 1000] [--rows 1000000] [--only starts csv_fit medical]

news20 is used where eigenkit.datasets can get it, else data of the same shape.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
from scipy import sparse

from benchmarks.race import RESULTS, keep, race
from eigenkit.datasets import DatasetNotFound, load_dataset


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
    readers = {
        "scikit-learn": lambda: load_svmlight_file(str(path))[0],
        "eigenkit": lambda: read(open_file(str(path))).X,
    }
    assert all(reader().nnz == X.nnz for reader in readers.values())
    best = race(readers, rounds)
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
    best = race({"fit": lambda: _run(fit, None), "pandas": lambda: pd.read_csv(path)}, repeat=2)
    found = {f"{name}_seconds": least for name, least in best.items()}
    return {**found, "readings": best["fit"] / best["pandas"]}


def _run(arguments: list[str], folder: Path | None) -> tuple[float, float]:
    """Wall-clock and processor seconds of a command, whose bytecode may be cached."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "eigenkit", *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=folder,
        env=environment,
        check=False,  # some are to fail, at once
    )
    seconds, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


# Commands that do next to nothing: what they take is the start.
STARTS = (
    "--help",
    "methods",
    "example flowers.csv --force",
    "inspect model.ek",
    "fit tags.csv --labels tag_* --method star --out model.ek --force",
    "predict model.ek new.csv --out labels.csv --force",
    "transform model.ek new.csv --out scores.csv --force",
    "score model.ek tags.csv",
    "explain model.ek new.csv",
    "export model.ek --csv weights.csv --force",
    "compare no.csv --labels tag_*",
    "report no.json",
    "test no.csv --labels tag_*",
    "merge no.ek none.ek --out both.ek",
    "follow no.csv --model model.ek --checkpoint state",
    "annotate predict no.ek no_folder",
)


def starts(folder: Path, rounds: int) -> dict[str, float]:
    """The least processor seconds of commands with small files or none."""
    for name in ("tags.csv", "new.csv"):
        _run(["example", name], folder)
    for command in STARTS:  # makes the model, and bytecode
        _run(command.split(), folder)
    return {c: min(_run(c.split(), folder)[1] for _ in range(rounds)) for c in STARTS}


def write_medical(path: Path, n: int = 978, d: int = 1449, labels: int = 45) -> None:
    """A table like the data set medical: words that occur or not, few labels per row.

    A report carries one label, or two, of very different frequencies; each label has words of
    its own, and the rest are common to all.
    """
    rng = np.random.default_rng(0)
    frequency = 1 / np.arange(1, labels + 1)
    Y = rng.multinomial(1, frequency / frequency.sum(), size=n)
    Y |= rng.multinomial(1, frequency / frequency.sum(), size=n) & (rng.random((n, 1)) < 0.25)
    own = rng.random((labels, d)) < 6 / d
    X = (rng.random((n, d)) < np.where(Y @ own > 0, 0.5, 9 / d)).astype(int)
    names = [*(f"word_{j}" for j in range(d)), *(f"label_{k}" for k in range(labels))]
    np.savetxt(path, np.hstack([X, Y]), "%d", ",", header=",".join(names), comments="")


SIX = "cca,star,clique,zhou,opls,mlda"


def medical(path: Path) -> dict[str, float]:
    """A whole comparison of six methods in five folds."""
    write_medical(path)
    command = ["compare", str(path), "--labels", "label_*", "--methods", SIX, "--cv", "5"]
    seconds, processor = _run(command, None)
    return {"seconds": seconds, "processor_seconds": processor}


def main() -> None:
    """Measure, print and keep."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", nargs="+", help="some of starts, csv_fit, medical, svmlight, csv")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        work = {
            "starts": lambda: starts(folder, options.rounds),
            "csv_fit": lambda: csv_fit(folder / "b.csv", options.rows),
            "medical": lambda: medical(folder / "medical.csv"),
            "svmlight": lambda: svmlight(folder / "a.svm", options.rounds),
            "csv": lambda: csv_memory(folder / "a.csv", options.megabytes),
        }
        found = {name: work[name]() for name in options.only or work}
    found["own_peak_megabytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    if not options.only:
        keep(found, RESULTS / "files.json")
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
