"""eigenkit fit --checkpoint: an interrupted fit goes on, and ends where it would have ended."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from conftest import some_of
from eigenkit import Stream
from eigenkit.cli import app
from eigenkit.files import Block
from eigenkit.models import load

RNG = np.random.default_rng(5)
X = RNG.normal(size=(70, 3)).round(4)
CLASS = np.where(X[:, 0] + X[:, 1] > 0, "up", "down")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for module in ("_fitting", "_blocks"):
        monkeypatch.setattr(f"eigenkit.models.{module}.rows_per_block", lambda source: 10)
    _write("data.csv", CLASS)


def _write(name: str, classes: np.ndarray, values: np.ndarray = X) -> None:
    rows = [f"{a},{b},{c},{k}" for (a, b, c), k in zip(values.tolist(), classes, strict=True)]
    Path(name).write_text("\n".join(["a,b,c,class", *rows]) + "\n")


def _fit(out: str, *more: str, code: int = 0, data: str = "data.csv") -> str:
    arguments = ["fit", data, "--labels", "class", "--method", "lda", "--out", out, *more]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == code, result.output
    return result.output


def _scores(name: str) -> np.ndarray:
    return load(name).transform("", Block(X))


def _interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fit whose state holds four blocks."""
    original, fed = Stream.update, []

    def update(self: Stream, *args: object, **options: object) -> bool:
        if len(fed) == 4:
            raise KeyboardInterrupt
        fed.append(options["position"])
        return original(self, *args, **options)

    with monkeypatch.context() as patch:
        patch.setattr(Stream, "update", update)
        said = _fit("again.ek", "--checkpoint", "state.ek", code=130)
    assert "is kept in state.ek, and the same command continues from there" in said
    assert not Path("again.ek").exists()


def test_an_interrupted_fit_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    _fit("whole.ek", "--stream")
    _interrupt(monkeypatch)
    original = Stream.update
    taken: list[bool] = []
    monkeypatch.setattr(
        Stream, "update", lambda self, *a, **o: taken.append(original(self, *a, **o)) or taken[-1]
    )
    _fit("again.ek", "--checkpoint", "state.ek")
    assert taken == [False] * 4 + [True] * (len(taken) - 4)
    assert len(taken) > 6
    np.testing.assert_array_equal(_scores("again.ek"), _scores("whole.ek"))


def test_a_state_of_other_data_is_refused() -> None:
    _fit("a.ek", "--checkpoint", "state.ek")
    _write("data.csv", CLASS[::-1])
    assert "started with source=" in _fit("b.ek", "--checkpoint", "state.ek", code=1)
    _write("data.csv", CLASS)
    said = _fit("b.ek", "--checkpoint", "state.ek", "--alpha", "7", code=1)
    assert "started with alpha=1.0, but now it is 7.0" in said
    said = _fit("b.ek", "--checkpoint", "state.ek", "--ignore", "c", code=1)
    assert "started with source='data.csv, 3 features in blocks" in said
    assert "now it is 'data.csv, 2 features" in said


@pytest.mark.parametrize(("interrupted", "row"), some_of([False, True], [0, 39, 40, 69], every=2))
def test_a_state_of_other_values_is_refused(
    interrupted: bool, row: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if interrupted:
        _interrupt(monkeypatch)
    else:
        _fit("a.ek", "--checkpoint", "state.ek")
    changed = X.copy()
    changed[row, 1] *= 1000.0
    _write("data.csv", CLASS, changed)
    assert "started with source=" in _fit("b.ek", "--checkpoint", "state.ek", code=1)
    assert not Path("b.ek").exists()
    _write("data.csv", CLASS)
    _fit("b.ek", "--checkpoint", "state.ek")


def test_a_state_of_other_sparse_values_is_refused() -> None:
    text = "".join(f"{k % 2} {1 + k % 3}:{k + 1}\n" for k in range(40))
    Path("data.svm").write_text(text)
    command = ("fit", "data.svm", "--method", "lda", "--checkpoint", "state.ek", "--out")
    assert CliRunner().invoke(app, [*command, "a.ek"]).exit_code == 0
    Path("data.svm").write_text(text.replace(":7\n", ":8\n"))
    said = CliRunner().invoke(app, [*command, "b.ek"])
    assert said.exit_code == 1
    assert "started with source=" in said.output


def test_a_checkpoint_needs_blocks() -> None:
    assert "--no-stream is given" in _fit("a.ek", "--checkpoint", "s.ek", "--no-stream", code=2)
    assert "alpha or components have to be given" in _fit(
        "a.ek", "--checkpoint", "s.ek", "--alpha", "cv", code=2
    )


def test_rows_may_have_different_numbers_of_labels() -> None:
    tags = ["".join(np.where([a, b], ["0", "1"], "")) for a, b in X[:, :2] > 0]
    lines = (f"{','.join(t)} 1:{a} 2:{b} 3:{c}" for t, (a, b, c) in zip(tags, X, strict=True))
    Path("tags.svm").write_text("\n".join(lines) + "\n")
    for more in ((), ("--checkpoint", "state.ek"), ("--checkpoint", "state.ek")):
        words = [
            "fit",
            "tags.svm",
            "--method",
            "cca",
            "--stream",
            "--out",
            "m.ek",
            "--force",
            *more,
        ]
        result = CliRunner().invoke(app, [*words, *more])
        assert result.exit_code == 0, result.output
