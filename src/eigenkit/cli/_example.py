"""example: small files to try everything on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from eigenkit.cli import _options as o
from eigenkit.cli._console import Result, clean, table
from eigenkit.cli._start import quickly


def example(given: o.Given) -> Result:
    name = given.name
    if name is None:
        rows = [[name, words] for name, (words, _) in FILES.items()]
        return Result({"files": list(FILES)}, table(["file", "what it holds"], rows))
    o.choice("NAME", name, FILES)
    # Late, as a list of the files needs none of it.
    tools = ("check_output", "atomic", "write_table")
    check_output, atomic, write_table = (quickly(f"eigenkit.files:{tool}") for tool in tools)
    place = check_output(name, given.force)
    names, columns = FILES[name][1]()
    with atomic(place) as stream:
        write_table(stream, "csv", names, [columns])
    n = len(columns[0])
    return Result({"out": str(place), "rows": n}, f"wrote {n} rows to {clean(place)}")


def _tags() -> tuple[list[str], list[Any]]:
    """Counts of words, and tags that depend on three themes behind them."""
    import numpy as np

    rng = np.random.default_rng(0)
    n, words, tags, themes = 300, 30, 4, 3
    T = rng.gamma(0.5, size=(n, themes))
    mix = rng.dirichlet(np.full(words, 0.3), size=themes)
    X = rng.poisson(30 * T @ mix)
    noise = 0.3 * rng.normal(size=(n, tags))
    Y = T @ rng.normal(size=(themes, tags)) + noise
    Y = (np.median(Y, axis=0) + 0.2 < Y).astype(int)
    names = [f"word_{j + 1}" for j in range(words)] + [f"tag_{c}" for c in "abcd"]
    return names, list(np.hstack([X, Y]).T)


def _new() -> tuple[list[str], list[Any]]:
    """More rows like those of tags.csv, without their tags."""
    names, columns = _tags()
    return names[:30], [column[::6] for column in columns[:30]]


def _flowers() -> tuple[list[str], list[Any]]:
    """Fisher's irises by name, from scikit-learn's file: its loader takes a second to import."""
    from importlib.metadata import distribution

    import numpy as np

    place = distribution("scikit-learn").locate_file("sklearn/datasets/data/iris.csv")
    lines = Path(str(place)).read_text().split()
    table = np.array([line.split(",") for line in lines[1:]])
    species = np.array(lines[0].split(",")[2:])[table[:, -1].astype(int)]
    names = [f"{part}_{side}" for part in ("sepal", "petal") for side in ("length", "width")]
    return [*names, "species"], [*table[:, :-1].astype(float).T, species.tolist()]


def _spectra() -> tuple[list[str], list[Any]]:
    """Smooth curves of a few substances, and how much of two of them there is."""
    import numpy as np

    rng = np.random.default_rng(0)
    grid = np.linspace(0, 1, 60)
    peaks = np.exp(-(((grid - rng.random((5, 1))) / 0.12) ** 2))
    amounts = rng.gamma(2.0, size=(120, 5))
    X = (amounts @ peaks + 0.02 * rng.normal(size=(120, 60))).round(4)
    Y = (amounts[:, :2] + 0.05 * rng.normal(size=(120, 2))).round(3)
    return [*(f"nm{1000 + 10 * j}" for j in range(60)), "fat", "water"], [*X.T, *Y.T]


def _sensors() -> tuple[list[str], list[Any]]:
    """Two states seen by three instruments, each with errors of its own."""
    import numpy as np

    rng = np.random.default_rng(0)
    state = rng.normal(size=(160, 2))
    widths = {"sound": 5, "light": 4, "heat": 3}
    X = [state @ rng.normal(size=(2, d)) + 0.7 * rng.normal(size=(160, d)) for d in widths.values()]
    names = [f"{name}_{j + 1}" for name, d in widths.items() for j in range(d)]
    alarm = np.where(state[:, 0] > 0.5, "yes", "no").tolist()
    return [*names, "alarm"], [*np.hstack(X).round(4).T, alarm]


FILES: dict[str, tuple[str, Callable[[], tuple[list[str], list[Any]]]]] = {
    "tags.csv": ("300 rows of 30 counts, four columns tag_* of 0 and 1", _tags),
    "new.csv": ("rows as in tags.csv without their tags, to predict", _new),
    "flowers.csv": ("150 irises of three species", _flowers),
    "spectra.csv": ("120 spectra with two responses, fat and water", _spectra),
    "sensors.csv": ("160 rows of three instruments, sound_*, light_* and heat_*", _sensors),
}
