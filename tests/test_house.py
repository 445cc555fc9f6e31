"""The picture in CONTRIBUTING is that of the code, and its walk names what there is."""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GUIDE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def _loaded(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def house():
    module = _loaded(ROOT / "docs" / "house.py")
    module.house = cache(module.house)
    return module


def test_the_picture_is_that_of_the_code(house):
    assert house.PICTURE.read_text(encoding="utf-8") == house.picture(), "run python docs/house.py"
    assert "docs/_static/house.svg" in GUIDE


def test_every_import_points_downwards(house):
    floors, direct = house.house()
    for name, others in direct.items():
        assert all(floors[other] < floors[name] for other in others), name


def test_the_spine_stands_in_its_order(house):
    floors, _ = house.house()
    assert floors["data"] < floors["pencil"] < floors["solvers"] < floors["estimators"]


WALK = GUIDE.split("## One sample's way through it")[1].split("\n## ")[0]


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`(eigenkit\.[\w.]+)`", WALK))))
def test_the_walk_names_what_there_is(name):
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for attribute in parts[cut:]:
            found = getattr(found, attribute)
        return
    raise AssertionError(name)


def test_the_way_of_a_fit_is_counted(capsys):
    tool = ROOT / "tools" / "walk.py"
    if not tool.exists():
        pytest.skip("the tools are not part of this copy")
    _loaded(tool).main(["--list", "HypergraphSpectral"])
    printed = capsys.readouterr().out
    rows = [line for line in printed.splitlines()[1:] if not line.startswith(" ")]
    assert len(rows) == 6
    assert all(int(count) > 0 for row in rows for count in row.split()[-4:])
    assert "estimators/_estimator.py Estimator.fit 1" in printed
    # The steps that the guide names are on the way.
    for step in ("check_X", "encode_labels", "Rows.problem", "regress", "finish"):
        assert f" {step} " in printed
