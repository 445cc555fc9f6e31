"""Levels, power and coverage of the inference: ``python -m benchmarks.inference [--quick]``.

Every row simulates data sets of which the truth is known. Levels: how often a component that is
not there is called real, for the first component (no component in the data) and for the
second (one strong component in the data). Power: how often one that is there is found. Coverage:
how often bootstrap intervals of weights that are zero contain zero.

Results are written as they come; rows that are there are not run again unless ``--only`` names
them. ``--page FILE`` writes the page of the docs from what is there, without running anything.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy import stats
from sklearn.base import clone

from benchmarks.inference_settings import (
    COVERAGE,
    LEVELS,
    POWER,
    Setting,
    Truth,
    pairs,
)
from benchmarks.race import RESULTS, keep
from eigenkit import CCA
from eigenkit.analysis import bootstrap, permutation_test

FILE = RESULTS / "inference.json"
NOMINAL = (0.05, 0.10)
PERMUTATIONS = 99
RESAMPLES = 200

# Data sets a row, in full and with --quick; a bootstrap is many fits.
SETS = {"levels": (2000, 40), "power": (1000, 40), "coverage": (200, 10)}

# The first step has power near 1: the level of the second must then be close on both sides.
NEAR_ONE = 0.98


# -- levels ------------------------------------------------------------------------------


def p_values(setting: Setting, n_real: int, seed: int) -> np.ndarray:
    data, options = setting.draw(np.random.default_rng([seed, n_real]), n_real)
    model = clone(setting.model).set_params(n_components=1 + n_real)
    test = permutation_test(model, *data, **options, n_permutations=PERMUTATIONS, random_state=seed)
    return test.p_values[: 1 + n_real]


def rates(p: np.ndarray) -> list[float]:
    """How often p is at most each nominal level."""
    return [float(np.mean(p <= level + 1e-12)) for level in NOMINAL]


def level(setting: Setting, n_sets: int, run: Parallel) -> dict[str, Any]:
    """Rates of the first component without any, and of both with one."""
    none = np.array(run(delayed(p_values)(setting, 0, seed) for seed in range(n_sets)))
    one = np.array(run(delayed(p_values)(setting, 1, seed) for seed in range(n_sets)))
    power = rates(one[:, 0])
    return {
        "first": rates(none[:, 0]),
        "power": power,
        "second": rates(one[:, 1]),
        "allowed": setting.allowed,
        "n_sets": n_sets,
    }


# -- power -------------------------------------------------------------------------------


def bartlett(X: np.ndarray, Y: np.ndarray) -> float:
    """The textbook chi-squared approximation of Wilks' test, for normal data."""
    n, d, k = len(X), X.shape[1], Y.shape[1]
    Q, R = (np.linalg.qr(A - A.mean(axis=0))[0] for A in (X, Y))
    r = np.linalg.svd(Q.T @ R, compute_uv=False)
    chi2 = -(n - 1 - (d + k + 1) / 2) * np.sum(np.log(1 - r**2))
    return float(stats.chi2.sf(chi2, d * k))


def decisions(rho: float, seed: int) -> list[float]:
    X, Y = pairs((rho,), 40, 5, 4)(np.random.default_rng([seed, 7]))
    found = [
        permutation_test(
            CCA(1, alpha=0), X, Y, statistic=name, n_permutations=PERMUTATIONS, random_state=seed
        ).p_values[0]
        for name in ("wilks", "trace", "roy")
    ]
    return [*found, bartlett(X, Y)]


def power(rho: float, n_sets: int, run: Parallel) -> dict[str, Any]:
    """How often one pair of correlation rho among 5 and 4 variables is found, n = 40."""
    p = np.array(run(delayed(decisions)(rho, seed) for seed in range(n_sets)))
    names = ("wilks", "trace", "roy", "chi-squared (normal theory)")
    found = {name: rates(column) for name, column in zip(names, p.T, strict=True)}
    return found | {"n_sets": n_sets}


# -- coverage ----------------------------------------------------------------------------

# The rules were settled on draws of number 11; these had not been looked at before.
FRESH = 29


def covered(truth: Truth, seed: int) -> tuple[list[bool], list[bool], bool]:
    """Which zero weights are not called real, which others are, and whether ties are flagged.

    Of components that are not flagged; where there is a tie, of those that are.
    """
    data = truth.draw(np.random.default_rng([seed, FRESH]))
    found = bootstrap(truth.model, *data, n_bootstraps=RESAMPLES, random_state=seed)
    flagged = np.array([any(j in group for group in found.tied) for j in (0, 1)])
    use = np.broadcast_to(flagged == truth.tied, found.takes_part.shape)
    zero = ~found.takes_part[truth.zero & use]
    real = found.takes_part[~truth.zero & use]
    return zero.tolist(), real.tolist(), any({0, 1} <= set(group) for group in found.tied)


def coverage(truth: Truth, n_sets: int, run: Parallel) -> dict[str, Any]:
    """How often zeros are covered and others found, and how often the pair is flagged as tied."""
    rows = run(delayed(covered)(truth, seed) for seed in range(n_sets))
    zero, real, flagged = zip(*rows, strict=True)
    return {
        "zeros_covered": float(np.mean(np.concatenate(zero))),
        "others_found": float(np.mean(np.concatenate(real))),
        "flagged": float(np.mean(flagged)),
        "tied": truth.tied,
        "n_sets": n_sets,
    }


# -- running and printing ----------------------------------------------------------------

TABLES: dict[str, tuple[Callable[..., dict[str, Any]], dict[str, Any]]] = {
    "levels": (level, LEVELS),
    "power": (power, POWER),
    "coverage": (coverage, COVERAGE),
}


def run_all(results: dict[str, Any], path: Path, only: str | None, quick: bool, jobs: int) -> None:
    """Run the rows that are wanted and missing, and write after each."""
    run = Parallel(n_jobs=jobs)
    for table, (work, rows) in TABLES.items():
        for name, row in rows.items():
            done = results.setdefault(table, {})
            if (name in done and only is None) or (only is not None and only not in name):
                continue
            start = time.perf_counter()
            n_sets = SETS[table][quick]
            done[name] = work(row, n_sets, run)
            keep(results, path)
            print(f"{table}: {name} ({time.perf_counter() - start:.0f} s)", flush=True)


def verdict(row: dict[str, Any]) -> str:
    """Whether a row of levels keeps its bar: above by no more than allowed, and close on both
    sides where the first step finds its component nearly always."""
    excess = max(
        got - nominal
        for step in ("first", "second")
        for got, nominal in zip(row[step], NOMINAL, strict=True)
    )
    if excess > row["allowed"]:
        return "too high"
    below = max(nominal - got for got, nominal in zip(row["second"], NOMINAL, strict=True))
    return "too low" if row["power"][0] >= NEAR_ONE and below > 0.03 else "yes"


def pair(values: list[float]) -> str:
    return " / ".join(f"{value:.3f}" for value in values)


def tables(results: dict[str, Any]) -> str:
    """All tables, in Markdown."""
    levels = [
        [name, *(pair(r[step]) for step in ("first", "second", "power")), verdict(r), r["n_sets"]]
        for name, r in in_order("levels", results)
    ]
    statistics = ("wilks", "trace", "roy", "chi-squared (normal theory)")
    powers = [
        [name, *(pair(r[statistic]) for statistic in statistics), r["n_sets"]]
        for name, r in in_order("power", results)
    ]
    shares = ("zeros_covered", "others_found", "flagged")
    covers = [
        [name, *(f"{r[share]:.3f}" for share in shares), "yes" if r["tied"] else "no", r["n_sets"]]
        for name, r in in_order("coverage", results)
    ]
    heads = {
        ABOUT_LEVELS: "data | component 1, none real | component 2, one real | "
        "power of component 1 | within the bar | data sets",
        ABOUT_POWER: "truth | Wilks | trace | Roy | chi-squared, normal theory | data sets",
        ABOUT_COVERAGE: "data | zeros covered | others found | flagged as tied | tied | data sets",
    }
    lines = []
    for (about, head), rows in zip(heads.items(), (levels, powers, covers), strict=True):
        cells = [head, *(" | ".join(map(str, row)) for row in rows)]
        above, *below = [f"| {line} |" for line in cells]
        lines += [about, above, "|---" * 6 + "|", *below, ""]
    return "\n".join(lines)


def in_order(table: str, results: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    found = results.get(table, {})
    return [(name, found[name]) for name in TABLES[table][1] if name in found]


PAGE = f"""# Levels, power and coverage, measured

A test at the level 0.05 should call noise real in 5 of 100 data sets, and an interval of 95 %
should contain the truth in 95 of 100. Do [the permutation test and the bootstrap](inference.md)
keep these promises? Here they are applied to many simulated data sets for which the truth is known.

`python -m benchmarks.inference --json docs/inference_levels.json` simulates and counts; with
`--page docs/inference_levels.md` it writes this page from the stored counts. Every test makes
{PERMUTATIONS} permutations, every bootstrap {RESAMPLES} resamples. The data are described in
`benchmarks/inference_settings.py`. The rules were settled on other simulated data than those
counted here, except for the bounds of the bootstrap's intervals, as
[the page about them](inference.md#how-it-works) says.

"""
ABOUT_LEVELS = f"""## Levels

How often is a component called real that is not? Each cell has two shares, at the levels
{NOMINAL[0]:.2f} and {NOMINAL[1]:.2f}. The first column is for data in which nothing is real, the
second for data with one real component, and the third says how often that one was found.

The bar: no share more than 0.03 above its level (0.04 for covariances of variables without a
variance), and, where the first component is nearly always found, the second no more than 0.03
below. With 2000 data sets the standard errors are 0.005 and 0.007.
"""
ABOUT_POWER = f"""## Power

How often is a real component found, by each [statistic](inference.md#statistics)? The last
column is the classical test of normal theory, for comparison. Each cell is again for the levels
{NOMINAL[0]:.2f} and {NOMINAL[1]:.2f}.
"""
ABOUT_COVERAGE = """## Coverage

How often does an interval of 95 % for a weight that is truly zero contain zero (it should in 0.93
to 0.97 of the cases), and how often are the others found to be different from zero? In the last two
rows two components are equally strong, so their directions are arbitrary: they should be flagged
as tied, in about 95 % of the data sets. For tied components, the columns count the test of whether
a variable takes part in their common space.

With 200 data sets the standard errors of the coverage are about 0.006.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--quick", action="store_true", help="few data sets: minutes, rough numbers"
    )
    parser.add_argument("--only", help="run the rows whose name contains this, again if they exist")
    parser.add_argument("--json", type=Path, default=FILE, help="where the numbers are kept")
    parser.add_argument("--page", type=Path, help="write the page of the docs from the numbers")
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    results = json.loads(arguments.json.read_text()) if arguments.json.exists() else {}
    if arguments.page:
        arguments.page.write_text(PAGE + tables(results))
        return
    warnings.simplefilter("ignore")
    if arguments.quick:
        results = {}
    run_all(results, arguments.json, arguments.only, arguments.quick, arguments.jobs)
    print(tables(results))


if __name__ == "__main__":
    main()
