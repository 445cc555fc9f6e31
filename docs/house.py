"""Draw the house from its imports: ``python docs/house.py`` writes _static/house.svg.

A box is a module or package of the library. It stands one floor above the highest thing that it
imports, so every line runs downwards; of lines that follow from others
none is drawn. What is imported inside a function counts too.
"""

from __future__ import annotations

import ast
from functools import cache
from html import escape
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "eigenkit"
PICTURE = Path(__file__).parent / "_static" / "house.svg"
WIDTH, BOX, HEIGHT, FLOOR = 920, 104, 28, 58
# The way of a sample: data, problem, solution, model.
SPINE = ("data", "targets", "moments", "pencil", "solvers", "estimators")


def parts() -> dict[str, list[Path]]:
    """The files of every module and package; the front door is not a room."""
    found: dict[str, list[Path]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        relative = path.relative_to(PACKAGE)
        name = relative.parts[0] if len(relative.parts) > 1 else relative.stem
        if name not in ("__init__", "__main__"):
            found.setdefault(name, []).append(path)
    return found


def imports(files: list[Path], names: set[str]) -> set[str]:
    """Which of ``names`` some files import; ``from eigenkit import CCA`` is of the estimators."""
    found: set[str] = set()
    for path in files:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module == "eigenkit":
                given = {alias.name for alias in node.names}
                found |= given if given <= names else {"estimators"}
            elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("eigenkit."):
                found.add(str(node.module).split(".")[1])
    return found & names


def house() -> tuple[dict[str, int], dict[str, set[str]]]:
    """The floor of every part, from 0, and the imports that do not follow from others."""
    files = parts()
    uses = {name: imports(paths, set(files)) - {name} for name, paths in files.items()}

    @cache
    def below(name: str) -> frozenset[str]:
        return frozenset(uses[name]).union(*(below(other) for other in uses[name]))

    @cache
    def floor(name: str) -> int:
        return 1 + max((floor(other) for other in uses[name]), default=-1)

    direct = {
        name: {o for o in others if not any(o in below(p) for p in others if p != o)}
        for name, others in uses.items()
    }
    return {name: floor(name) for name in files}, direct


def _places(floors: dict[str, int]) -> dict[str, tuple[float, float]]:
    """Where the boxes stand: the spine in the middle of its floor."""
    top = max(floors.values())
    places = {}
    for level in range(top + 1):
        names = sorted((n for n, f in floors.items() if f == level), key=lambda n: (n in SPINE, n))
        middle = len(names) // 2
        names = names[:middle][::-1] + names[middle:][::-1] if len(names) > 2 else names
        step = WIDTH / len(names)
        for i, name in enumerate(names):
            places[name] = ((i + 0.5) * step, 30 + (top - level) * FLOOR)
    return places


def picture() -> str:
    """The SVG."""
    floors, direct = house()
    places = _places(floors)
    height = 30 + max(floors.values()) * FLOOR + HEIGHT + 16
    lines = [
        f'<line x1="{places[a][0]:.0f}" y1="{places[a][1] + HEIGHT / 2:.0f}" '
        f'x2="{places[b][0]:.0f}" y2="{places[b][1] - HEIGHT / 2:.0f}"/>'
        for a in sorted(direct)
        for b in sorted(direct[a])
    ]
    boxes = [_box(name, *places[name]) for name in sorted(places)]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
            'font-family="sans-serif" font-size="12" text-anchor="middle">',
            f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
            '<g stroke="#9aa3af" stroke-width="1">',
            *lines,
            "</g>",
            *boxes,
            "</svg>\n",
        ]
    )


def _box(name: str, x: float, y: float) -> str:
    fill = "#d7e8f5" if name in SPINE else "#f2f4f7"
    return (
        f'<rect x="{x - BOX / 2:.0f}" y="{y - HEIGHT / 2:.0f}" width="{BOX}" height="{HEIGHT}" '
        f'rx="5" fill="{fill}" stroke="#5c6670"/>'
        f'<text x="{x:.0f}" y="{y + 4:.0f}">{escape(name)}</text>'
    )


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
