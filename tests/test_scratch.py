"""Files that are larger than memory: parsed once, kept as numbers, gone at the end."""

from __future__ import annotations

import errno
import os
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from eigenkit import LDA, RowBlocks
from eigenkit.cli import app
from eigenkit.files import FileError
from eigenkit.files._delimited import Delimited
from eigenkit.models import load
from eigenkit.models._blocks import Scratch, Stored


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_blocks_come_back_as_they_were(kind, dtype, rng, tmp_path):
    X = (rng.normal(size=(7, 5)) * (rng.random((7, 5)) < 0.5)).astype(dtype)
    given = sparse.csr_array(X) if kind == "sparse" else X
    scratch = Scratch(str(tmp_path))
    names = np.array(["a", "b"])
    codes = np.arange(7, dtype=np.int32) % 2
    block = replace(Stored.of(scratch, given), y=scratch.put(codes), names=names)
    found, y, _ = block.read(5)
    np.testing.assert_array_equal(found.toarray() if kind == "sparse" else found, X)
    assert found.dtype == dtype
    assert y.tolist() == names[codes].tolist()
    assert os.listdir(tmp_path) == []  # the file has no name


def test_a_full_disk_says_how_far_it_came(tmp_path, monkeypatch, rng):
    class Full:
        def write(self, data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        def close(self):
            pass

    scratch = Scratch(str(tmp_path))
    scratch.put(np.zeros(1000))
    scratch._file = Full()
    with pytest.raises(FileError, match=r"the disk is full after 7\.81 kB of parsed rows: set TMP"):
        scratch.put(np.zeros(1000))
    with pytest.raises(FileError, match="no scratch file can be made there"):
        Scratch(str(tmp_path / "nowhere"))


def _files(folder, rng, n=4):
    for i in range(n):
        X = rng.normal(size=(60, 3)).round(4) + np.eye(3)[np.arange(60) % 3]
        frame = pd.DataFrame(X, columns=list("uvw")).assign(c=list("abc" * 20))
        frame.to_csv(folder / f"part{i}.csv", index=False)
    return str(folder / "part*.csv")


def test_files_are_parsed_once(tmp_path, rng, monkeypatch):
    read = []
    before = Delimited.blocks

    def blocks(self, n_rows):
        read.append(self.path)
        return before(self, n_rows)

    monkeypatch.setattr(Delimited, "blocks", blocks)
    made = RowBlocks.from_files(_files(tmp_path, rng), "c")
    LDA().fit(made)
    LDA(regression="cg").fit(made)
    assert len(read) == 4
    folder, size = made.scratch_
    assert os.path.isdir(folder)
    assert size >= 4 * 60 * 3 * 8


def test_bad_values_are_named_by_their_row_in_their_file(tmp_path, rng, monkeypatch):
    monkeypatch.setattr("eigenkit.models._blocks.rows_per_block", lambda source: 16)
    pattern = _files(tmp_path, rng)
    place = tmp_path / "part2.csv"
    lines = place.read_text().splitlines()
    lines[50] = "," + lines[50].split(",", 1)[1]
    place.write_text("\n".join(lines))
    with pytest.raises(FileError, match=r"part2\.csv: the value in row 50, column 'u' is missing"):
        RowBlocks.from_files(pattern, "c")


def _run(*arguments, code=0):
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    assert result.exit_code == code, result.output
    return result.output


def test_the_command_line_takes_patterns_and_blocks(tmp_path, rng):
    pattern, out = _files(tmp_path, rng), tmp_path / "m.ek"
    _run("fit", pattern, "--labels", "c", "--method", "lda", "--out", out, "--no-quality")
    whole = load(out).estimator
    output = _run("fit", pattern, "--labels", "c", "--method", "lda", "--out", out, "--force",
                  "--stream")  # fmt: skip
    assert "one more pass over the file fits the model" in output
    np.testing.assert_allclose(load(out).estimator.coef_, whole.coef_, rtol=1e-9, atol=1e-11)
    output = _run("fit", pattern, "--labels", "c", "--method", "lda", "--out", out, "--force",
                  "--stream", "--alpha", "cv", "--alphas", "0.1,1000000", "--cv", "2")  # fmt: skip
    assert "of scratch" in output or "scratch file in" in output
    assert load(out).how["alpha_search"]["alphas"] == [0.1, 1000000.0]


def test_many_columns_go_through_the_scratch_file(tmp_path, rng, monkeypatch):
    monkeypatch.setattr("eigenkit.models._fitting._FEW", 10)
    y = np.arange(90) % 3
    X = sparse.csr_array((rng.random((90, 40)) < 0.2) * 1.0)
    for i in range(3):
        rows = slice(30 * i, 30 * i + 30)
        dump_svmlight_file(X[rows], y[rows], str(tmp_path / f"p{i}.svm"), zero_based=False)
    out = tmp_path / "m.ek"
    output = _run("fit", tmp_path / "*.svm", "--method", "lda", "--out", out, "--stream")
    assert "the rows are parsed into a scratch file" in output
    assert "the rows take" in output
    whole = LDA().fit(X, y)
    np.testing.assert_allclose(load(out).estimator.coef_, whole.coef_, rtol=1e-7, atol=1e-9)


def test_a_pattern_without_files(tmp_path):
    out = tmp_path / "m.ek"
    assert "no file matches the pattern" in _run(
        "fit", tmp_path / "*.csv", "--method", "lda", "--out", out, code=1
    )
