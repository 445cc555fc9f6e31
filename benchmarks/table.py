"""A table of ratios that is kept in a file, row by row, and the page that is made from it."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.race import keep, machine, race

Bar = tuple[str, float]
SIGNS = {"at least": "≥", "at most": "≤"}


def at_least(ratio: float) -> Bar:
    """The peer should take so many times as long as we do."""
    return "at least", ratio


def at_most(ratio: float) -> Bar:
    """We may take so many times as long as the peer, or need so many times as much."""
    return "at most", ratio


@dataclass(frozen=True)
class Row:
    """One comparison: seconds (or what else the work says) of ours and of the peer."""

    name: str
    work: str
    peer: str
    ours: float
    theirs: float
    bar: Bar
    date: str

    @property
    def ratio(self) -> float:
        """How many times faster; where the bar is "at most", how many times as much."""
        upward = self.bar[0] == "at least"
        return self.theirs / self.ours if upward else self.ours / self.theirs

    @property
    def met(self) -> bool:
        """Whether the ratio is on the right side of its bar."""
        return self.ratio >= self.bar[1] if self.bar[0] == "at least" else self.ratio <= self.bar[1]

    def __str__(self) -> str:
        figures = f"{self.ours:9.4f} {self.theirs:9.4f} {self.ratio:7.2f}"
        mark = "" if self.met else "  MISSED"
        what = f"{self.work} / {self.peer}"
        return f"{what:92} {figures}  {self.bar[0]} {self.bar[1]:g}{mark}"


@dataclass
class Table:
    """Rows by the names under which they can be run again."""

    path: Path
    rows: list[Row] = field(default_factory=list)
    name: str = ""
    machine: str = ""

    @classmethod
    def read(cls, path: Path) -> Table:
        """What the file holds, or nothing yet."""
        if not path.exists():
            return cls(path)
        found = json.loads(path.read_text())
        rows = [Row(**{**row, "bar": tuple(row["bar"])}) for row in found["rows"]]
        return cls(path, rows, machine=described(found["machine"]))

    def begin(self, name: str) -> None:
        """The rows of this name are measured anew."""
        self.name = name
        self.rows = [row for row in self.rows if row.name != name]

    def add(self, work: str, peer: str, ours: float, theirs: float, bar: Bar) -> None:
        """One more row, printed at once."""
        date = datetime.date.today().isoformat()
        self.rows.append(Row(self.name, work, peer, ours, theirs, bar, date))
        print(self.rows[-1], flush=True)

    def race(
        self,
        work: str,
        ours: Callable[[], Any],
        peers: Mapping[str, tuple[Callable[[], Any], Bar]],
        repeat: int = 5,
        once: Collection[str] = (),
    ) -> None:
        """One row for every peer, all of which take turns with ours."""
        runs = {peer: run for peer, (run, _) in peers.items()}
        best = race({"ours": ours, **runs}, repeat, once)
        for peer, (_, bar) in peers.items():
            self.add(work, peer, best["ours"], best[peer], bar)

    def measure(self, parts: Mapping[str, Callable[[Table], None]], names: Iterable[str]) -> None:
        """Run the parts with these names, and save after each."""
        for name in names:
            self.begin(name)
            parts[name](self)
            self.save(list(parts))

    def save(self, order: list[str]) -> None:
        """Write the file, with the rows in the order of their names."""
        self.rows.sort(key=lambda row: order.index(row.name))
        keep({"machine": machine(), "rows": [asdict(row) for row in self.rows]}, self.path)

    def markdown(self) -> str:
        """The rows as a table."""
        head = "| work | other program | ours | theirs | ratio | goal | |\n"
        head += "|---|---|--:|--:|--:|--:|---|\n"
        return head + "".join(_cells(row) for row in self.rows)


def _cells(row: Row) -> str:
    bar = f"{SIGNS[row.bar[0]]} {row.bar[1]:g}"
    figures = f"{row.ours:.3g} | {row.theirs:.3g} | {row.ratio:.2f}"
    return f"| {row.work} | {row.peer} | {figures} | {bar} | {'' if row.met else 'missed'} |\n"


def described(found: dict[str, Any]) -> str:
    """The machine in a sentence."""
    threads = ", ".join(str(count) for count in dict.fromkeys(found["blas_threads"]))
    versions = ", ".join(f"{name} {found[name]}" for name in ("numpy", "scipy", "scikit-learn"))
    return f"{found['cores']} cores, BLAS threads {threads}; Python {found['python']}, {versions}"
