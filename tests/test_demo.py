"""The demo runs, and its table says what the library promises."""

from __future__ import annotations

import subprocess
import sys

import pytest

from eigenkit import demo


@pytest.mark.slow
def test_demo_prints_a_table_and_saves_a_picture(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    pytest.importorskip("plotly")
    assert demo.main(tmp_path) == 0
    out = capsys.readouterr().out
    assert "HypergraphSpectral star" in out
    assert (tmp_path / "eigenkit-demo.png").stat().st_size > 10_000
    page = (tmp_path / "eigenkit-demo.html").read_text()
    assert "six generated labels" in page
    assert "report to open in a browser" in out


def test_without_a_matplotlib_that_can_be_imported_there_is_no_picture(tmp_path, monkeypatch):
    (tmp_path / "matplotlib.py").write_text("raise ImportError('no shared library')")
    monkeypatch.delitem(sys.modules, "matplotlib", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    assert demo.picture(tmp_path / "a.png") is None


@pytest.mark.slow
def test_two_stage_equals_direct_on_the_embedded_data():
    lines = demo.run("generated", *demo.multilabel())
    assert len(lines) == 5 * (len(demo.SOLVERS) + 1)
    for line in lines:
        if line.solver == "two_stage":
            assert line.equivalence < 1e-12


def test_wrong_usage_is_told():
    done = subprocess.run(
        [sys.executable, "-m", "eigenkit", "nonsense"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "usage" in done.stderr.lower()
    assert "Traceback" not in done.stderr
