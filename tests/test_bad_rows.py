"""Bad rows amid a stream: named one by one, and skipped at the cost of the file, not of theirs."""

from __future__ import annotations

import json
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from eigenkit import LDA, Stream
from eigenkit.cli import app
from eigenkit.files import FileError, Reading
from eigenkit.files._tolerant import tolerant
from eigenkit.models import _follow, _followed_lines, load


def _run(*arguments, code=0):
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    assert result.exit_code == code, result.output
    return result.output


def _frame(rng, n=200):
    y = np.arange(n) % 3
    X = rng.normal(size=(n, 3)) + np.eye(3)[y]
    return pd.DataFrame(X.round(4), columns=["u", "v", "w"]).assign(c=[*np.array([*"abc"])[y]])


@pytest.fixture
def site(tmp_path, rng):
    """A model that keeps a stream, the lines of further rows, and how they are followed."""

    class Site:
        folder, frame = tmp_path, _frame(rng)

        def start(self, header=True):
            first, state = self.folder / "first.csv", self.folder / "f.st"
            self.frame[:60].to_csv(first, index=False, header=header)
            words = "--labels", "-1", "--method", "lda", "--no-quality", "--checkpoint", state
            _run("fit", first, *words, "--out", self.folder / "m.ek", "--no-quality")

        def lines(self, header=True):
            return self.frame.to_csv(index=False, header=header).splitlines(keepends=True)

        def follow(self, text, *more, name="m", code=0):
            data, model = self.folder / "data.csv", self.folder / f"{name}.ek"
            data.write_bytes(text if isinstance(text, bytes) else text.encode())
            if not model.exists():
                model.write_bytes((self.folder / "m.ek").read_bytes())
            state = self.folder / f"{name}.st"
            words = "follow", data, "--model", model, "--checkpoint", state, "--once", *more
            return " ".join(_run(*words, code=code).split())

        def coef(self, name):
            return load(self.folder / f"{name}.ek").estimator.coef_

    return Site()


@pytest.mark.parametrize("chunk", [2**22, 300])
def test_a_file_without_names_counts_its_first_row_once(chunk, site, monkeypatch):
    monkeypatch.setattr(_follow, "_CHUNK", chunk)
    site.start(header=False)
    lines = site.lines(header=False)
    for end in (90, 140, 200):
        assert f": {60 + end} rows in" in site.follow("".join(lines[:end]))
    both = pd.concat([site.frame[:60], site.frame])
    whole = LDA().fit(both[["u", "v", "w"]].to_numpy(), both["c"].to_numpy())
    np.testing.assert_allclose(site.coef("m"), whole.coef_, rtol=1e-9, atol=1e-11)


BAD = {
    '"1,2,3,a\n': "line 102: 1 cells, where the first row has 4",  # a quote that is never closed
    "1,2,a\n": "line 102: 3 cells, where the first row has 4",
    "1,inf,3,a\n": "line 102, column 'v': the value is infinite",
    "1,2,3,\n": "line 102: the row has no class",
    "1,x,3,a\n": "line 102, column 'v': 'x' is not a number",
    "1,2\0,3,a\n": "line 102: it holds a byte that is not text",
    "1,,3,a\n": "line 102, column 'v': the value is missing",
}


@pytest.mark.parametrize("chunk", [2**22, 300])
@pytest.mark.parametrize("bad", BAD)
def test_a_bad_row_is_named_with_what_to_do(bad, chunk, site, monkeypatch):
    monkeypatch.setattr(_follow, "_CHUNK", chunk)
    site.start()
    lines = site.lines()
    text = "".join([*lines[:101], bad, *lines[101:]])
    told = site.follow(text, name="stopped", code=1)
    assert BAD[bad] in told
    assert "or leave such rows out with --on-error skip." in told
    said = json.loads(site.follow(text, "--on-error", "skip", "--json"))
    assert (said["rows"], said["n_skipped"]) == (260, 1)
    (skipped,) = said["skipped"]
    assert BAD[bad] in skipped["problem"]
    assert "--on-error" not in skipped["problem"]
    assert skipped["position"] == len("".join(lines[:101]) + bad)


def test_rows_of_two_encodings_are_told_apart(site):
    site.frame["c"] = site.frame["c"].replace({"a": "grün"})
    site.start()
    text = "".join(site.lines()).encode().splitlines(keepends=True)
    text.insert(101, "1,2,3,grün\n".encode("latin-1"))
    told = site.follow(b"".join(text), "--on-error", "skip")
    assert "260 rows" in told
    assert "line 102: it holds a byte that is not text." in told


def test_skipping_leaves_the_bits_of_the_good_rows(site):
    site.start()
    lines, bad = site.lines(), [*BAD]
    mixed = [lines[0]]
    for i, line in enumerate(lines[1:]):
        mixed += [bad[i % len(bad)], line] if i % 2 else [line]
    site.follow("".join(lines), name="clean")
    told = site.follow("".join(mixed), "--on-error", "skip", name="mixed")
    assert "bad rows skipped: 100" in told
    np.testing.assert_array_equal(site.coef("mixed"), site.coef("clean"))


def test_many_bad_rows_are_read_a_few_times(site, monkeypatch):
    site.start()
    count = {"opened": 0, "tolerant": 0}

    def counting(name, function):
        def counted(*given):
            count[name] += 1
            return function(*given)

        return counted

    monkeypatch.setattr(_followed_lines, "open_file", counting("opened", _followed_lines.open_file))
    monkeypatch.setattr(_followed_lines, "tolerant", counting("tolerant", tolerant))
    lines = site.lines()
    text = "".join([lines[0], *[*BAD] * 60, *lines[1:]])
    assert "bad rows skipped: 420" in site.follow(text, "--on-error", "skip")
    assert (count["opened"], count["tolerant"]) == (1, 2)


def test_nothing_but_bad_rows(site):
    site.start()
    text = site.lines()[0] + "".join([*BAD] * 3)
    told = site.follow(text, "--on-error", "skip")
    assert "60 rows in" in told
    assert "bad rows skipped: 21" in told
    more = "".join(site.lines()[1:])
    assert "260 rows in" in site.follow(text + more, "--on-error", "skip")


def test_other_columns_are_no_bad_rows(site):
    site.start()
    text = "".join(site.lines()).replace("v,", "other,", 1)
    told = site.follow(text, "--on-error", "skip", code=1)
    assert "1 of the 3 columns that the model was fitted on are not there: 'v'" in told


def test_bad_rows_of_pairs(tmp_path, rng):
    frame = _frame(rng)
    rows = [f"{c} 1:{u} 2:{v} 3:{w}\n" for u, v, w, c in frame.itertuples(index=False)]
    (tmp_path / "first.svm").write_text("".join(rows[:60]))
    words = ("--method", "lda", "--no-quality", "--checkpoint", tmp_path / "f.st")
    _run("fit", tmp_path / "first.svm", *words, "--out", tmp_path / "m.ek", "--no-quality")
    bad = ["a 1:x 2:3\n", "a 9:1\n", "a 1:1 1:2\n", "a 2\n", "z 1:1\n"]
    mixed = [*rows[:50], *bad[:2], *rows[50:], *bad[2:]]
    (tmp_path / "data.svm").write_text("".join(mixed))
    follow = ("follow", tmp_path / "data.svm", "--model", tmp_path / "m.ek", "--once",
              "--checkpoint", tmp_path / "m.st")  # fmt: skip
    told = " ".join(_run(*follow, code=1).split())
    assert "data.svm, line 51, column '1': 'x' is not a finite number: correct it, or" in told
    said = json.loads(_run(*follow, "--on-error", "skip", "--json"))
    assert (said["rows"], said["n_skipped"]) == (260, 5)
    places = ["line 51", "line 52", "line 203", "line 204", "line 205"]
    for place, each in zip(places, said["skipped"], strict=True):
        assert place in each["problem"]


class Fussy(LDA):
    """One that refuses large values."""

    def partial_fit(self, X, y, **more):
        if np.abs(X).max() > 1e200:
            raise ValueError("a value is too large")
        return super().partial_fit(X, y, **more)


def test_rows_that_only_the_estimator_refuses(site):
    site.start()
    model, lines = load(site.folder / "m.ek"), [line.encode() for line in site.lines()]
    options = model.target.as_read(Reading(expected=model.expected(), stream=True))
    layout = _followed_lines.Layout(model, "data.csv", "csv", options)
    layout.begin(lines[0], b"".join(lines[1:]))
    text = b"".join([*lines[1:101], b"1,1e300,3,a\n", *lines[101:]])
    (X, y, _), bad = _followed_lines.Arrivals(layout, text, 0, len(text), 0, Fussy(), True).sound()
    assert len(X) == len(y) == 200
    ((_, error),) = bad
    assert str(error) == "data.csv, line 102: a value is too large."


# -- interrupts between any two steps ----------------------------------------------------


class _Interrupt:
    """Raises KeyboardInterrupt at the n-th line of a function."""

    def __init__(self, code, n):
        self.code, self.left = code, n

    def __call__(self, frame, event, _):
        return self.line if frame.f_code is self.code else None

    def line(self, frame, event, _):
        if event == "line":
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt
        return self.line


@pytest.mark.parametrize("n", range(1, 25))
def test_an_interrupt_at_any_step_counts_a_batch_once(n, tmp_path, rng):
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 3
    batches = [(X[i : i + 20], y[i : i + 20]) for i in (0, 20, 40)]
    state, before = tmp_path / "s.ek", sys.gettrace()
    with pytest.raises(KeyboardInterrupt), Stream(LDA(), state) as stream:
        stream.update(*batches[0], position=0)
        sys.settrace(_Interrupt(Stream.feed.__code__, n))
        try:
            stream.update(*batches[1], position=1)
        finally:
            sys.settrace(before)
        raise KeyboardInterrupt  # feed had fewer steps
    with Stream(LDA(), state) as stream, warnings.catch_warnings():
        assert stream.position in (0, 1)
        assert stream.n_rows == 20 * (stream.position + 1)
        for i in range(stream.position + 1, 3):
            stream.update(*batches[i], position=i)
    assert stream.n_rows == 60
    with Stream(LDA(), tmp_path / "other.ek") as undisturbed:
        for i, batch in enumerate(batches):
            undisturbed.update(*batch, position=i)
    np.testing.assert_array_equal(stream.estimator.coef_, undisturbed.estimator.coef_)


def test_what_was_refused_leaves_the_stream_where_it_was(tmp_path, rng):
    X, y = rng.normal(size=(20, 3)), np.arange(20) % 2
    with Stream(LDA(), tmp_path / "s.ek", on_error="skip") as stream:

        def sound():
            return (X[:10], y[:10], {}), [(0, FileError("a.csv", "no row."))]

        def refused():
            raise ValueError("no batch")

        assert not stream.feed(refused, position=0, sound=sound)
        assert (stream.n_rows, stream.n_skipped, stream.position) == (10, 1, 0)
        assert stream.skipped == [(0, "a.csv: no row.")]
        with pytest.raises(ValueError, match="no batch"):  # nothing of it is to blame
            stream.feed(refused, position=1, sound=lambda: ((X, y, {}), []))
        assert (stream.n_rows, stream.position) == (10, 0)
