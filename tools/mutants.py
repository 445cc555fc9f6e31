"""Change the core at random and count what the tests notice.

    python tools/mutants.py --count 100 --seed 0

A mutant is one changed operator, comparison or constant, in a copy of the tree. The tests of
the core run until one fails; a mutant that none of them notices survives and is printed.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
CORE = ["data/*.py", "linalg.py", "moments/*.py", "pencil.py", "solvers/*.py", "targets.py"]
# Nearest first: most mutants die in the first seconds.
TESTS = ["targets", "operators", "data", "moments", "solvers", "estimators", "accuracy", "pca"]
TESTS += ["deflation", "pls", "pls_cv", "search", "multilabel", "multiview", "sparse_cca"]
TESTS += ["canonical_ridge", "kernel_estimators", "multiple_kernels", "shrinkage", "planes"]
TESTS += ["hostile*", "plsda", "kernels", "least_squares", "margin", "sparse_pls"]
TESTS += ["probabilistic_cca", "graph_regularized", "offsets_and_units", "threads"]

OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "/",
    ast.Div: "*",
    ast.Pow: "*",
    ast.FloorDiv: "*",
    ast.Lt: ">=",
    ast.LtE: "<",
    ast.Gt: "<=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.And: "or",
    ast.Or: "and",
    ast.Is: "is not",
    ast.IsNot: "is",
}
NAMES = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum", "True": "False"}
NAMES |= {"False": "True", "argmin": "argmax", "argmax": "argmin", "any": "all", "all": "any"}


@dataclass(frozen=True)
class Mutant:
    """The text between two places of a file, and what takes its place."""

    path: Path
    line: int
    start: int
    stop: int
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.old.strip()} -> {self.new.strip()}"


def mutants_of(path: Path) -> list[Mutant]:
    """Every change that can be made to a file."""
    text = (ROOT / path).read_text()
    tree = ast.parse(text)
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def at(line: int, column: int) -> int:
        # Columns of ast count bytes.
        begin = starts[line - 1]
        return begin + len(text[begin : starts[line]].encode()[:column].decode())

    found = []
    for node in _code(tree):
        for first, last, new in _changes(node, at, text):
            old = text[first:last]
            line = text.count("\n", 0, first) + 1
            found.append(Mutant(path, line, first, last, old, new))
    return found


def _code(tree: ast.AST) -> Iterator[ast.AST]:
    """Nodes that compute: no annotations, no docstrings, nothing inside a raise."""
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        for node in value if isinstance(value, list) else [value]:
            if isinstance(node, ast.Raise | ast.JoinedStr) or not isinstance(node, ast.AST):
                continue
            yield node
            yield from _code(node)


def _changes(node: ast.AST, at, text: str) -> Iterator[tuple[int, int, str]]:
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        yield from _between(node.left, node.right, node.op, at, text)
    elif isinstance(node, ast.Compare):
        left = node.left
        for op, right in zip(node.ops, node.comparators, strict=True):
            if type(op) in OPERATORS:
                yield from _between(left, right, op, at, text)
            left = right
    elif isinstance(node, ast.BoolOp):
        yield from _between(node.values[0], node.values[1], node.op, at, text)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Not):
        yield at(node.lineno, node.col_offset), at(node.operand.lineno, node.operand.col_offset), ""
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float, bool):
        yield (*_span(node, at), _other(node.value))
    elif isinstance(node, ast.Name) and node.id in NAMES:
        yield (*_span(node, at), NAMES[node.id])
    elif isinstance(node, ast.Attribute) and node.attr in NAMES:
        end = _span(node, at)[1]
        yield end - len(node.attr), end, NAMES[node.attr]


def _span(node: ast.expr, at) -> tuple[int, int]:
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    return at(node.lineno, node.col_offset), at(node.end_lineno, node.end_col_offset)


def _between(left: ast.expr, right: ast.expr, op: ast.AST, at, text: str):
    """The operator between two operands, where nothing but space and parentheses is beside it."""
    first, last = _span(left, at)[1], _span(right, at)[0]
    gap = text[first:last]
    symbol = gap.strip("() \n")
    if "#" not in gap and symbol and gap.count(symbol) == 1:
        place = first + gap.index(symbol)
        yield place, place + len(symbol), OPERATORS[type(op)]


def _other(value: float | bool) -> str:
    if isinstance(value, bool):
        return str(not value)
    if isinstance(value, int):
        return {0: "1", 1: "2"}.get(value, str(value - 1))
    return repr(value * 1e6) if 0 < abs(value) < 0.1 else repr(value + 1.0)


def nearest_first(mutant: Mutant, tests: list[str]) -> list[str]:
    """The tests of the same name as the file, then those of its folder, then the others."""
    own, folder = f"test_{mutant.path.stem}", f"test_{mutant.path.parent.name}"
    return sorted(tests, key=lambda test: (own not in test, folder not in test))


def run(mutant: Mutant, tree: Path, tests: list[str], timeout: float) -> bool:
    """Whether the tests notice."""
    place = tree / mutant.path
    text = (ROOT / mutant.path).read_text()
    changed = text[: mutant.start] + mutant.new + text[mutant.stop :]
    place.write_text(changed)
    try:
        ast.parse(changed)
        return not passes(tree, nearest_first(mutant, tests), timeout)
    except SyntaxError:
        return True
    finally:
        place.write_text(text)


def passes(tree: Path, tests: list[str], timeout: float) -> bool:
    """Whether the tests pass; one that hangs does not."""
    try:
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
        found = subprocess.run(command, cwd=tree, env=_environment(tree), timeout=timeout,
                               capture_output=True)  # fmt: skip
        return found.returncode == 0
    except subprocess.TimeoutExpired:
        return False


def _environment(tree: Path) -> dict[str, str]:
    one = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    path = os.pathsep.join([str(tree / "src"), str(tree)])
    return {**os.environ, **one, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}


def main() -> None:
    """Make mutants, run the tests, tell who survived."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds for one mutant")
    parser.add_argument("--only", default="", help="files whose path contains this")
    parser.add_argument("--tests", default="", help="only these, e.g. data,moments: quicker, and "
                        "what they miss counts as missed")  # fmt: skip
    given = parser.parse_args()
    package = ROOT / "src" / "eigenkit"
    files = sorted({path.relative_to(ROOT) for glob in CORE for path in package.glob(glob)})
    sites = [m for path in files if given.only in str(path) for m in mutants_of(path)]
    chosen = random.Random(given.seed).sample(sites, min(given.count, len(sites)))
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        tree = Path(folder)
        for name in ("src", "tests", "pyproject.toml"):
            source = ROOT / name
            copy = shutil.copytree if source.is_dir() else shutil.copy
            copy(source, tree / name)
        asked = given.tests.split(",") if given.tests else TESTS
        names = [p for t in asked for p in sorted((tree / "tests").glob(f"test_{t}.py"))]
        tests = list(dict.fromkeys(str(p.relative_to(tree)) for p in names))
        # Tests that fail as they are would "notice" every mutant.
        if not passes(tree, tests, 10 * given.timeout):
            raise SystemExit("the tests fail without any change: nothing can be counted.")
        survivors = []
        for i, mutant in enumerate(chosen, start=1):
            noticed = run(mutant, tree, tests, given.timeout)
            survivors += [] if noticed else [mutant]
            print(f"{i:4} {'noticed ' if noticed else 'SURVIVED'} {mutant}", flush=True)
    n, left = len(chosen), len(survivors)
    print(f"\n{n - left} of {n} noticed ({(n - left) / max(n, 1):.0%}), of {len(sites)} possible")
    for mutant in survivors:
        print(f"survived: {mutant}")


if __name__ == "__main__":
    main()
