"""Change the core at random and count what the tests notice.

    python tools/mutants.py --count 100 --seed 0

A mutant is one changed operator, comparison or constant, in a copy of the tree. The tests of
the core run once under coverage, to know which of them pass through which line. Every mutant is
then shown to those that pass through its line, the quickest first, until one fails or they have
taken ``--seconds``; a mutant that none of them notices survives and is printed. Tests run in forks
of one process that has collected them all, with other code in the function that is changed.
"""

from __future__ import annotations

import argparse
import ast
import gc
import hashlib
import inspect
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
CORE = [
    "data/*.py",
    "numerics/costs.py",
    "numerics/linalg.py",
    "moments/*.py",
    "pencil.py",
    "solvers/*.py",
    "targets.py",
]
# What runs the core and little else, without the long rounds over all estimators.
TESTS = """
accuracy bad_rows bayesian_cca block_scores blocked_data blocks_and_costs canonical_ridge choices
compiled component_equations core_edges core_rules data data_equations deflation diagnostics
dominated estimators extreme_numbers graph_equations graph_regularized hostile hostile_views
hypergraph_clustering invariances iterations kernel_estimators kernels large_planes latent_equations
lda least_squares linalg_equations linear_heads many_labels margin metamorphic moment_equations
moments multilabel multiple_kernels multiview nothing_to_learn offsets_and_units orthogonal_pls
ownership pairs_equations papers_multilabel papers_planes papers_shrinkage papers_statements
papers_two_stage pca pencil plane_equations plane_streams planes pls pls_cv pls_references
pls_streams plsda probabilistic_cca rank_and_offsets rare_ways rgcca routing row_blocks
sample_weight_units search second_looks shrinkage skipped_rows sklearn_names small_rules
solver_parts solvers sparse_and_masked sparse_cca sparse_labels sparse_pls stream_values streams
structured_data targets threads view_equations ways_taken
"""

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

# Switches that say what is known or may be reused, or which of our lines a warning names: they
# change no result.
SWITCHES = {"strict", "copy", "check_finite", "clean", "stacklevel"}
SWITCHES |= {"overwrite", *(f"overwrite_{name}" for name in "abcx")}
# Sizes of blocks, and those from which on another way is taken to the same numbers: time and
# memory depend on them, but no answer. What they are, and quotients and comparisons with them, is
# left alone; `tests/test_blocks_and_costs.py` says how large blocks may be.
SPEED = {"BLOCK", "BLOCK_BYTES", "CACHE_BYTES", "PARTS", "WORTH_PARTS", "READING", "FAN_IN"}
SPEED |= {"DENSE_ORDER", "GRAM_ORDER", "LANCZOS_ORDER"}
# Factors of 1 and -1, by which a product is a quotient.
SIGNS = {"sign", "sign[:, None]"}


@dataclass(frozen=True)
class Mutant:
    """The text between two places of a file, and what takes its place.

    Coverage may count a line of a long statement to the line where the statement begins.
    """

    path: Path
    line: int
    statement: int
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
    statement = 1
    for node in _code(tree):
        if isinstance(node, ast.stmt):
            statement = node.lineno
        for first, last, new in _changes(node, at, text):
            old = text[first:last]
            line = text.count("\n", 0, first) + 1
            found.append(Mutant(path, line, min(statement, line), first, last, old, new))
    return found


def _code(tree: ast.AST) -> Iterator[ast.AST]:
    """Nodes that compute: no annotations, docstrings, switches or sizes, nothing inside a raise."""
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        for node in value if isinstance(value, list) else [value]:
            if isinstance(node, ast.Raise | ast.JoinedStr) or not isinstance(node, ast.AST):
                continue
            if isinstance(node, ast.keyword) and node.arg in SWITCHES:
                continue
            if _only_speed(node):
                continue
            yield node
            yield from _code(node)


def _only_speed(node: ast.AST) -> bool:
    """Whether this sets one of SPEED, divides it into rows of blocks, or is a choice by it."""
    if isinstance(node, ast.Assign):
        return _mentions_speed(node.targets[0])
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "max":  # a row at least
        return any(isinstance(part, ast.BinOp) and _only_speed(part) for part in node.args)
    quotient = isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv)
    return (quotient or isinstance(node, ast.Compare)) and _mentions_speed(node)


def _mentions_speed(node: ast.AST) -> bool:
    return any(isinstance(part, ast.Name) and part.id in SPEED for part in ast.walk(node))


def _changes(node: ast.AST, at, text: str) -> Iterator[tuple[int, int, str]]:
    if isinstance(node, ast.BinOp) and ast.unparse(node.right) in SIGNS:
        return
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
    """Another constant, different enough to matter: large ones would hardly feel a change by 1."""
    if isinstance(value, bool):
        return str(not value)
    if isinstance(value, int):
        return {0: "1", 1: "2"}.get(value, str(value - 1 if value < 100 else value // 2))
    if abs(value) >= 1e4:
        return repr(value / 1e6)
    return repr(value * 1e6) if 0 < abs(value) < 0.1 else repr(value + 1.0)


class Coverage:
    """Which tests pass through which lines, and how long each takes."""

    def __init__(self, told: dict[str, Any]) -> None:
        self.seconds: dict[str, float] = told["seconds"]
        self.lines: dict[str, dict[str, list[str]]] = told["lines"]

    def tests(self, mutant: Mutant, seconds: float) -> list[str]:
        """Those that pass through the mutant, the quickest first, as many as take ``seconds``."""
        lines = self.lines.get(str(mutant.path), {})
        touched = range(mutant.statement, mutant.line + 1)
        found = {test for line in touched for test in lines.get(str(line), ()) if test}
        if not found:  # what runs when the module is imported may concern all who use it
            found = {test for tests in lines.values() for test in tests if test}
        chosen, spent = [], 0.0
        for test in sorted(found, key=lambda test: self.seconds.get(test, 0.0)):
            spent += self.seconds.get(test, 0.0)
            if spent > seconds:
                break
            chosen.append(test)
        return chosen


class _Contexts:
    """Tells coverage which test runs, and times it."""

    def __init__(self, coverage: Any) -> None:
        self.coverage, self.seconds = coverage, dict[str, float]()

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.coverage.switch_context(nodeid)

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration


def record(tree: Path, tests: list[str], out: Path) -> int:
    """Run the tests under coverage, in the process that this one started for it."""
    import coverage

    os.chdir(tree)
    cover = coverage.Coverage(data_file=None, include=[str(tree / "src" / "*")], config_file=False)
    contexts = _Contexts(cover)
    cover.start()
    code = pytest.main(["-q", "-p", "no:cacheprovider", *tests], plugins=[contexts])
    cover.stop()
    data = cover.get_data()
    lines = {
        str(Path(file).relative_to(tree)): data.contexts_by_lineno(file)
        for file in data.measured_files()
    }
    out.write_text(json.dumps({"lines": lines, "seconds": contexts.seconds}))
    return int(code)


class Forks:
    """A plugin of pytest: every mutant is shown its tests in a fork of the collected session."""

    def __init__(
        self, tree: Path, coverage: Coverage, chosen: list[Mutant], seconds: float
    ) -> None:
        self.tree, self.coverage, self.chosen, self.seconds = tree, coverage, chosen, seconds
        self.survivors: list[Mutant] = []
        self.functions: dict[CodeType, list[FunctionType]] = {}
        self.items: dict[str, Any] = {}

    def pytest_runtestloop(self, session: Any) -> bool:
        known, self.functions = self.coverage.seconds, existing_functions()
        self.items = {item.nodeid: item for item in session.items}
        if not self.passes(session, sorted(known, key=lambda test: known[test])[:20], {}):
            pytest.exit("the tests fail in a fork: nothing can be counted.", returncode=1)
        for mutant in self.chosen:
            shown = self.coverage.tests(mutant, self.seconds)
            noticed = bool(shown) and self.notices(mutant, session, shown)
            verdict = "noticed " if noticed else "SURVIVED"
            print(f"{verdict} {mutant} ({len(shown)} tests)", flush=True)
            self.survivors += [] if noticed else [mutant]
        return True

    def notices(self, mutant: Mutant, session: Any, tests: list[str]) -> bool:
        """Whether one of the tests fails."""
        place = self.tree / mutant.path
        text = place.read_text()
        changed = text[: mutant.start] + mutant.new + text[mutant.stop :]
        try:
            new = changed_code(text, changed)
        except SyntaxError:
            return True
        place.write_text(changed)
        try:
            if new:
                return not self.passes(session, tests, new)
            return not self.passes_anew(tests)  # what runs when the module is imported
        finally:
            place.write_text(text)

    def passes(self, session: Any, tests: list[str], new: dict[CodeType, CodeType]) -> bool:
        """Whether the tests pass with other code of functions, in a fork of this process."""
        child = os.fork()
        if child == 0:
            os.setsid()
            self.limit()
            silence = os.open(os.devnull, os.O_RDWR)
            for stream in range(3):
                os.dup2(silence, stream)
            code = 1
            try:
                for old, code_of_mutant in new.items():
                    for function in self.functions.get(old, ()):
                        function.__code__ = code_of_mutant
                session.items[:] = [self.items[test] for test in tests]
                session.config.pluginmanager.unregister(self)
                session.config.hook.pytest_runtestloop(session=session)
                code = int(session.testsfailed > 0)
            finally:
                os._exit(code)
        return _ends_well(child, 10 * self.most)

    @property
    def most(self) -> int:
        """Seconds after which a mutant hangs: of the processor, which may be busy otherwise."""
        return int(60 + 3 * self.seconds)

    def limit(self) -> None:
        import resource  # which Windows has not

        resource.setrlimit(resource.RLIMIT_CPU, (self.most, self.most))

    def passes_anew(self, tests: list[str]) -> bool:
        """Whether the tests pass, in a process that imports everything anew."""
        (self.tree / "chosen.txt").write_text("\n".join(tests))
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
        child = subprocess.Popen(
            [*command, "@chosen.txt"],
            cwd=self.tree,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=self.limit,
        )
        return _ends_well(child.pid, 10 * self.most)


def changed_code(text: str, changed: str) -> dict[CodeType, CodeType]:
    """The functions that a change of a file concerns: their code, and what it becomes."""
    before, after = (_functions(compile(t, "", "exec", dont_inherit=True)) for t in (text, changed))
    return {old: new for old, new in zip(before, after, strict=True) if old != new}


def existing_functions() -> dict[CodeType, list[FunctionType]]:
    """All functions by their code."""
    found: dict[CodeType, list[FunctionType]] = {}
    gc.unfreeze()  # those that were put aside are not listed
    for function in gc.get_objects():
        if isinstance(function, FunctionType):
            found.setdefault(function.__code__, []).append(function)
    gc.freeze()  # no fork need look at them, which would copy their memory
    return found


def _functions(code: CodeType) -> Iterator[CodeType]:
    for part in code.co_consts:
        if isinstance(part, CodeType):
            if part.co_flags & inspect.CO_OPTIMIZED:  # not the body of a class
                yield part
            yield from _functions(part)


def _ends_well(child: int, timeout: float) -> bool:
    """Whether a process ends without failing; one that hangs does not."""
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status) == 0
        time.sleep(0.01)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def _environment(tree: Path) -> dict[str, str]:
    one = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    path = os.pathsep.join([str(tree / "src"), str(tree)])
    return {**os.environ, **one, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}


def covered(tree: Path, tests: list[str], kept: Path | None) -> Coverage:
    """Run the tests as they are; those that fail would "notice" every mutant."""
    files = sorted(path for path in tree.rglob("*") if path.suffix in (".py", ".toml"))
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()
    if kept and kept.exists() and (told := json.loads(kept.read_text()))["digest"] == digest:
        return Coverage(told)
    out = tree / "coverage.json"
    command = [sys.executable, __file__, "--record", str(tree), str(out), *tests]
    if subprocess.run(command, env=_environment(tree), stdout=subprocess.DEVNULL).returncode:
        raise SystemExit("the tests fail without any change: nothing can be counted.")
    told = json.loads(out.read_text())
    if kept:
        kept.write_text(json.dumps({**told, "digest": digest}))
    return Coverage(told)


def _copied(tree: Path) -> Path:
    """What the tests need, in a place of its own."""
    tree.mkdir()
    for name in ("src", "tests", "papers", "pyproject.toml"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tree / name)
    return tree


def main() -> None:
    """Make mutants, run the tests, tell who survived."""
    if sys.argv[1:2] == ["--record"]:
        raise SystemExit(record(Path(sys.argv[2]), sys.argv[4:], Path(sys.argv[3])))
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=60.0, help="of tests for one mutant")
    parser.add_argument("--only", default="", help="files whose path contains this")
    parser.add_argument(
        "--map", type=Path, help="where to keep which tests pass through which lines"
    )
    parser.add_argument("--again", type=Path, help="only what survived in this output of a run")
    given = parser.parse_args()
    package = ROOT / "src" / "eigenkit"
    files = sorted({path.relative_to(ROOT) for glob in CORE for path in package.glob(glob)})
    sites = [m for path in files if given.only in str(path) for m in mutants_of(path)]
    chosen = random.Random(given.seed).sample(sites, min(given.count, len(sites)))
    if given.again:
        lived = given.again.read_text()
        chosen = [mutant for mutant in sites if f"SURVIVED {mutant} (" in lived]
    tests = [f"tests/test_{name}.py" for name in TESTS.split()]
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        tree = _copied(Path(folder).resolve() / "tree")
        forks = Forks(tree, covered(tree, tests, given.map), chosen, given.seconds)
        os.environ.update(_environment(tree))
        os.chdir(tree)
        sys.path[:0] = [str(tree / "src"), str(tree)]
        command = ["-x", "-q", "-s", "-p", "no:cacheprovider", *tests]
        if code := pytest.main(command, plugins=[forks]):
            raise SystemExit(int(code))
        os.chdir(ROOT)
    n, left = len(chosen), len(forks.survivors)
    print(f"\n{n - left} of {n} noticed ({(n - left) / max(n, 1):.0%}), of {len(sites)} possible")
    for mutant in forks.survivors:
        print(f"survived: {mutant}")


if __name__ == "__main__":
    main()
