"""Data sets: copies, damaged copies, fetching from fakes, and what is drawn."""

from __future__ import annotations

import bz2
import gzip
import json
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from urllib.error import URLError

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import subspace_angles

from eigenkit import CCA, HypergraphSpectral, datasets
from eigenkit.datasets import (
    Dataset,
    DatasetNotFound,
    data_folder,
    dataset_names,
    describe_dataset,
    load_dataset,
    make_noise,
    make_planted,
)
from eigenkit.datasets import _fetch as fetching
from eigenkit.datasets._fetch import KNOWN, Known, difference, digest, fingerprint
from eigenkit.datasets._sources import SETS, Bundled, Drawn, Files, OpenML
from eigenkit.exceptions import EigenkitWarning
from eigenkit.files import FileError

ROOT = Path(__file__).parent.parent
RNG = np.random.default_rng(0)
X = RNG.normal(size=(20, 4))
Y = (RNG.random((20, 3)) < 0.4).astype(np.int8)
CLASSES = (np.arange(20) % 3).astype(np.int8)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty data folder, and no network."""
    place = tmp_path / "data"
    place.mkdir()
    monkeypatch.setenv("EIGENKIT_DATA", str(place))
    monkeypatch.setattr(fetching, "urlopen", _no_network)
    return place


def _no_network(*args, **kwargs):
    raise URLError("no network")


# -- copies -----------------------------------------------------------------------------


def test_a_copy_is_read(folder):
    np.savez(folder / "yeast.npz", X=X.astype(np.float32), Y=Y, label_names=np.array(["a"]))
    data = load_dataset("yeast", download=False)
    np.testing.assert_array_equal(data.X, X.astype(np.float32))
    np.testing.assert_array_equal(data.target, Y)
    assert data.X.dtype == np.float64
    assert data.target.dtype == np.int64
    assert (data.n_samples, data.n_features, data.multilabel) == (20, 4, True)
    assert data.splits == []
    assert list(data.arrays) == ["label_names"]
    assert data.origin == describe_dataset("yeast")
    assert repr(data) == "Dataset('yeast', 20 x 4, 3 labels)"


def test_a_sparse_copy_is_read(folder):
    S = sparse.random_array((20, 9), density=0.3, rng=RNG, format="csr")
    parts = {"X_data": S.data, "X_indices": S.indices, "X_indptr": S.indptr, "X_shape": S.shape}
    np.savez(folder / "news20.npz", y=CLASSES, **parts)
    data = load_dataset("news20")
    assert isinstance(data.X, sparse.csr_array)
    assert abs(data.X - S).max() == 0
    assert not data.multilabel
    assert repr(data) == "Dataset('news20', 20 x 9, sparse, 3 classes)"


def test_responses_and_text_classes_are_read(folder):
    np.savez(folder / "yarn.npz", X=X, y=X[:, 0])
    assert repr(load_dataset("yarn")) == "Dataset('yarn', 20 x 4, one response)"
    np.savez(folder / "two.npz", X=X, Y=X[:, :2])
    assert repr(load_dataset("two")) == "Dataset('two', 20 x 4, 2 responses)"
    np.savez(folder / "text.npz", X=X, y=CLASSES.astype(str), Y=Y)
    data = load_dataset("text")
    assert data.multilabel
    assert data.arrays["y"].dtype.kind == "U"


def test_splits_are_pairs_of_row_numbers(folder):
    np.savez(folder / "usps.npz", X=X, y=CLASSES, train=np.arange(15), test=np.arange(15, 20))
    ((train, test),) = load_dataset("usps").splits
    np.testing.assert_array_equal(train, np.arange(15))
    np.testing.assert_array_equal(test, np.arange(15, 20))
    orders = np.stack([RNG.permutation(20) for _ in range(6)])
    np.savez(folder / "usps.npz", X=X, y=CLASSES, train=orders[:, :12], test=orders[:, 12:])
    data = load_dataset("usps")
    assert [(len(a), len(b)) for a, b in data.splits] == [(12, 8)] * 6
    np.testing.assert_array_equal(data.splits[4][1], orders[4, 12:])
    assert repr(data).endswith("6 splits)")


def test_a_file_of_ones_own_is_read(folder):
    np.savez(folder / "mine.npz", X=X, y=CLASSES)
    assert load_dataset("mine").origin == "A file of your own, mine.npz."
    with pytest.raises(ValueError, match="'mime' is not known: did you mean mine"):
        load_dataset("mime")


def test_the_folder_is_an_argument_a_variable_or_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("EIGENKIT_DATA", "~/sets")
    assert data_folder("here") == Path("here")
    assert data_folder() == Path.home() / "sets"
    monkeypatch.setenv("EIGENKIT_DATA", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert data_folder() == tmp_path / "eigenkit"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert data_folder() == Path.home() / ".cache" / "eigenkit"


@pytest.mark.parametrize("name", ["yeest", "syn5", "IDA_banana"])
def test_unknown_names_get_a_hint(name):
    with pytest.raises(ValueError, match=r"is not known: did you mean (yeast|syn|ida_banana)"):
        load_dataset(name)


@pytest.mark.parametrize("name", ["../yeast", "/etc/x", "", ".yeast", "a b", None, 3])
def test_names_do_not_lead_out_of_the_folder(name):
    with pytest.raises(ValueError, match="is not valid: give a name such as"):
        load_dataset(name)


# -- damaged copies ---------------------------------------------------------------------

ROWS = np.arange(20)
DAMAGED = {
    "no X": ({"Y": Y}, "neither X nor"),
    "no target": ({"X": X}, "neither Y"),
    "X is no matrix": ({"X": X[0], "y": CLASSES}, "X has shape"),
    "X is empty": ({"X": X[:0], "y": CLASSES[:0]}, "X has shape"),
    "X is text": ({"X": X.astype(str), "y": CLASSES}, "not plain numbers"),
    "NaN": ({"X": np.where(X > 1, np.nan, X), "y": CLASSES}, "NaN or infinite"),
    "NaN in y": ({"X": X, "y": np.full(20, np.nan)}, "NaN or infinite"),
    "too few labels": ({"X": X, "Y": Y[:19]}, r"Y has shape \(19, 3\), but X has 20 rows"),
    "Y is a vector": ({"X": X, "Y": CLASSES}, "Y has shape"),
    "y is a matrix": ({"X": X, "y": Y}, "y has shape"),
    "only train": ({"X": X, "Y": Y, "train": ROWS}, "only one of train and test"),
    "row 20": ({"X": X, "Y": Y, "train": ROWS[:9], "test": ROWS[9:] + 1}, "beyond the 20"),
    "row -1": ({"X": X, "Y": Y, "train": ROWS[:9] - 1, "test": ROWS[9:]}, "beyond the 20"),
    "overlap": ({"X": X, "Y": Y, "train": ROWS[:9], "test": ROWS[8:]}, "both in train and in"),
    "rows are no numbers": ({"X": X, "Y": Y, "train": X, "test": X}, "row numbers"),
    "splits differ": (
        {"X": X, "Y": Y, "train": ROWS[:18].reshape(9, 2), "test": ROWS[18:]},
        "train has 9 splits, but test has 1",
    ),
    "objects": ({"X": X.astype(object), "y": CLASSES}, "damaged or holds more than plain arrays"),
}


@pytest.mark.parametrize("case", DAMAGED)
def test_copies_that_contradict_themselves_are_refused(folder, case):
    arrays, message = DAMAGED[case]
    np.savez(folder / "yeast.npz", **arrays)
    with pytest.raises(FileError, match=rf"yeast\.npz: .*{message}"):
        load_dataset("yeast")


CSR = {
    "X_data": np.ones(4),
    "X_indices": np.array([0, 1, 2, 0]),
    "X_indptr": np.array([0, 2, 4]),
    "X_shape": np.array([2, 3]),
}


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("X_indices", np.array([0, 1, 3, 0])),
        ("X_indices", np.array([0, 1, -1, 0])),
        ("X_indices", np.array([0, 1, 2])),
        ("X_indices", np.array([0.0, 1, 2, 0])),
        ("X_indptr", np.array([0, 5, 4])),
        ("X_indptr", np.array([0, 4])),
        ("X_shape", np.array([2])),
        ("X_shape", np.array([-2, 3])),
        ("X_data", np.array([1.0, np.inf, 1, 1])),
    ],
)
def test_sparse_parts_that_do_not_fit_are_refused(folder, part, value):
    np.savez(folder / "rcv1.npz", y=np.array([0, 1]), **{**CSR, part: value})
    with pytest.raises(FileError, match=r"rcv1\.npz: "):
        load_dataset("rcv1")


def test_broken_files_are_refused(folder):
    path = folder / "yeast.npz"
    np.savez_compressed(path, X=X, Y=Y)
    whole = path.read_bytes()
    flipped = bytearray(whole)
    flipped[120] ^= 255
    with path.open("wb") as stream:
        np.save(stream, X)
    alone = path.read_bytes()
    for content in (whole[: len(whole) // 2], whole[:-8], bytes(flipped), alone, b"", b"\x80\x04."):
        path.write_bytes(content)
        with pytest.raises(FileError, match=r"yeast\.npz: it "):
            load_dataset("yeast")


# -- fetching ---------------------------------------------------------------------------


def test_without_network_the_message_says_what_to_do(folder):
    with pytest.raises(DatasetNotFound) as caught:
        load_dataset("yeast")
    message = str(caught.value)
    for part in ("yeast.npz", str(folder), "openml.org/d/40597", "no network", "put a file"):
        assert part in message
    with pytest.raises(DatasetNotFound, match=r"news20\.bz2 was not allowed \(download=False\)"):
        load_dataset("news20", download=False)
    with pytest.raises(DatasetNotFound, match=r"no public source .* R package pls"):
        load_dataset("yarn")
    assert isinstance(caught.value, OSError)
    assert list(folder.iterdir()) == []


class FakeOpenML:
    """OpenML with one small multi-label set; counts how often it is asked for it."""

    def __init__(self, monkeypatch, name="yeast", n_train=12):
        self.calls, self.data, self.labels = 0, X, Y
        self.first = SETS[name].source.first_row
        self.url = "https://example.org/data.arff"
        train = fingerprint(X[:n_train], Y[:n_train])
        bits = digest(np.round(X, 6), Y)
        monkeypatch.setitem(KNOWN, name, Known(fingerprint(X, Y), train, bits))
        monkeypatch.setattr(fetching, "_download", self.answer)

    def answer(self, url: str, path: Path) -> None:
        if url != self.url:
            about = {"url": self.url, "default_target_attribute": "a,b,c", "row_id_attribute": "id"}
            path.write_text(json.dumps({"data_set_description": about}))
            return
        self.calls += 1
        path.write_text(self.arff())

    def arff(self) -> str:
        d = self.data.shape[1]
        kinds = ["id INTEGER", *(f"'x {j}' NUMERIC" for j in range(d))]
        kinds += [f"{name} {{TRUE,FALSE}}" for name in "abc"]
        numbers = np.roll(np.round(self.data, 6), self.first, axis=0)
        labels = np.where(np.roll(self.labels, self.first, axis=0) > 0, "TRUE", "FALSE")
        rows = [
            ",".join([str(i), *(repr(float(v)) for v in x), *y])
            for i, (x, y) in enumerate(zip(numbers, labels, strict=True))
        ]
        head = ["@RELATION small", *(f"@ATTRIBUTE {kind}" for kind in kinds), "@DATA"]
        return "\n".join([*head, *rows]).replace("nan", "?") + "\n"


@pytest.mark.parametrize("name", ["yeast", "scene"])
def test_a_set_is_fetched_once_and_kept(folder, monkeypatch, name):
    fake = FakeOpenML(monkeypatch, name)
    data = load_dataset(name)
    again = load_dataset(name)
    assert fake.calls == 1
    assert [path.name for path in folder.iterdir()] == [f"{name}.npz"]
    for found in (data, again):
        np.testing.assert_allclose(found.X, X, atol=1e-6)
        np.testing.assert_array_equal(found.target, Y)
        np.testing.assert_array_equal(found.splits[0][0], np.arange(12))
        np.testing.assert_array_equal(found.splits[0][1], np.arange(12, 20))
        assert found.arrays["label_names"].tolist() == ["a", "b", "c"]
        assert found.origin == describe_dataset(name)
    with np.load(folder / f"{name}.npz") as stored:
        assert stored["Y"].dtype == np.int8


def test_a_set_of_unknown_bits_must_be_accepted(folder, monkeypatch):
    fake = FakeOpenML(monkeypatch)
    bits = KNOWN["yeast"].digest
    monkeypatch.setitem(KNOWN, "yeast", replace(KNOWN["yeast"], digest=""))
    with pytest.raises(DatasetNotFound, match=f"if you trust the source, .*sha256='{bits}'"):
        load_dataset("yeast")
    with pytest.raises(DatasetNotFound, match="their SHA-256 is"):
        load_dataset("yeast", sha256="0" * 64)
    assert list(folder.iterdir()) == []
    assert load_dataset("yeast", sha256=bits.upper()).n_samples == 20
    assert load_dataset("yeast").n_samples == 20
    assert fake.calls == 3


def test_what_openml_points_to_is_limited_and_no_file_of_ours(folder, server, monkeypatch):
    monkeypatch.setitem(KNOWN, "yeast", Known(fingerprint(X, Y)))
    monkeypatch.setattr(fetching, "_OPENML", server.address)
    monkeypatch.setattr(fetching, "_MOST_EXPANDED", 10**6)

    def points_to(url):
        about = {"url": url, "default_target_attribute": "a"}
        server.files["40597"] = json.dumps({"data_set_description": about}).encode()

    server.files["bomb"] = gzip.compress(
        b"@RELATION a\n@ATTRIBUTE a NUMERIC\n@DATA\n" + b"1\n" * 10**6
    )
    points_to(server.address + "bomb")
    with pytest.raises(DatasetNotFound, match="expands to more than 1000000 bytes"):
        load_dataset("yeast")
    points_to("file://localhost/a.arff")
    with pytest.raises(DatasetNotFound, match="is not an address to fetch from"):
        load_dataset("yeast")
    for answer in (b"{}", b"[1]", b"<html>", b'{"data_set_description": 3}'):
        server.files["40597"] = answer
        with pytest.raises(DatasetNotFound, match="cannot be read"):
            load_dataset("yeast")
    assert list(folder.iterdir()) == []


def test_rows_in_another_order_are_the_same_set_without_its_split(monkeypatch):
    fake = FakeOpenML(monkeypatch)
    order = np.roll(np.arange(20), 5)
    fake.data, fake.labels = X[order], Y[order]
    assert load_dataset("yeast").splits == []


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda X, Y: (X[:19], Y[:19]), "X has shape"),
        (lambda X, Y: (X[:, :3], Y), "X has shape"),
        (lambda X, Y: (X * 1.001, Y), "other sums"),
        (lambda X, Y: (X[:, ::-1], Y), "other sums"),
        (lambda X, Y: (X, Y[::-1]), "other sums"),
        (lambda X, Y: (X, 1 - Y), "other counts"),
        (lambda X, Y: (np.where(X > 1, X + 1e-3, X), Y), "other sums"),
    ],
)
def test_another_set_is_refused_and_not_kept(folder, monkeypatch, change, problem):
    fake = FakeOpenML(monkeypatch)
    fake.data, fake.labels = change(X, Y)
    with pytest.raises(DatasetNotFound, match=rf"40597 are not this set \(.*{problem}"):
        load_dataset("yeast")
    assert list(folder.iterdir()) == []


def test_a_folder_that_cannot_be_written_to_costs_only_time(tmp_path, monkeypatch):
    fake = FakeOpenML(monkeypatch)
    (tmp_path / "file").write_text("not a folder")
    with pytest.warns(EigenkitWarning, match="cannot be kept"):
        data = load_dataset("yeast", folder=tmp_path / "file" / "data")
    assert data.n_samples == 20
    assert fake.calls == 1


class Server:
    """A server on this machine with files in memory."""

    def __init__(self):
        self.files: dict[str, bytes] = {}
        self.announced: int | None = None
        files = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                body = files.files.get(self.path.strip("/"))
                if body is None:
                    self.send_error(404)
                    return
                self.send_response(200)
                self.send_header("Content-Length", str(files.announced or len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args):
                pass

        self.http = HTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.http.server_port}/"
        threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True).start()

    def serve(self, monkeypatch, name, files, whole, **changes):
        """Let this server be the source of a set."""
        source = replace(SETS[name].source, folder=self.address, names=tuple(files), **changes)
        shape = whole[0].shape
        monkeypatch.setitem(SETS, name, replace(SETS[name], shape=shape, source=source))
        monkeypatch.setitem(KNOWN, name, Known(fingerprint(*whole), digest=digest(*whole)))
        self.files = files


@pytest.fixture
def server(monkeypatch):
    from urllib.request import urlopen

    monkeypatch.setattr(fetching, "urlopen", urlopen)
    server = Server()
    yield server
    server.http.shutdown()
    server.http.server_close()


NEWS = b"1 1:2 3:1\n2 2:5\n1 1:1 2:1 # text\n3 3:4\n"
NEWS_X = sparse.csr_array(np.array([[2.0, 0, 1, 0], [0, 5, 0, 0], [1, 1, 0, 0], [0, 0, 4, 0]]))
NEWS_Y = np.array([1, 2, 1, 3])


def test_news_is_downloaded_and_checked_to_the_bit(folder, server, monkeypatch):
    server.serve(monkeypatch, "news20", {"n.bz2": bz2.compress(NEWS)}, (NEWS_X, NEWS_Y))
    known = Known(KNOWN["news20"].whole, digest=digest(NEWS_X, NEWS_Y))
    monkeypatch.setitem(KNOWN, "news20", known)
    data = load_dataset("news20")
    assert abs(data.X - NEWS_X).max() == 0
    np.testing.assert_array_equal(data.target, NEWS_Y)
    server.files = {}
    again = load_dataset("news20")
    assert abs(again.X - NEWS_X).max() == 0
    (folder / "news20.npz").unlink()
    monkeypatch.setitem(KNOWN, "news20", replace(known, digest="0" * 64))
    server.files = {"n.bz2": bz2.compress(NEWS)}
    with pytest.raises(DatasetNotFound, match="their SHA-256 is"):
        load_dataset("news20")
    assert list(folder.iterdir()) == []


def test_several_labels_per_line(server, monkeypatch):
    text = b"0,2 1:2 3:1\n1 2:5\n 1:1 2:1\n2 3:4\n"
    labels = np.array([[1, 0, 1], [0, 1, 0], [0, 0, 0], [0, 0, 1]])
    server.serve(monkeypatch, "rcv1", {"r.svm": text}, (NEWS_X, labels))
    monkeypatch.setitem(SETS, "rcv1", replace(SETS["rcv1"], what="3 labels"))
    data = load_dataset("rcv1")
    np.testing.assert_array_equal(data.target, labels)
    assert data.multilabel
    server.files = {"r.svm": text.replace(b"0,2", b"0,3")}
    with pytest.raises(DatasetNotFound, match="labels beyond the 3"):
        load_dataset("rcv1", folder="elsewhere")


def test_tables_are_put_together_and_rows_with_gaps_left_out(server, monkeypatch):
    a, b = b"1 2 5\n3 4 7\n", b"5 6 5\n"
    numbers = np.array([[1.0, 2], [3, 4], [5, 6]])
    server.serve(monkeypatch, "satimage", {"a": a, "b": b}, (numbers, np.array([5, 7, 5])))
    data = load_dataset("satimage")
    np.testing.assert_array_equal(data.X, numbers)
    np.testing.assert_array_equal(data.target, [5, 7, 5])
    text = b"1.0,2.0,0\n3.0,?,1\n3.0,4.0,2\n5.0,6.0,4\n"
    server.serve(monkeypatch, "cleveland", {"c": text}, (numbers, np.array([-1, 1, 1])))
    data = load_dataset("cleveland")
    np.testing.assert_array_equal(data.X, numbers)
    np.testing.assert_array_equal(data.target, [-1, 1, 1])
    np.testing.assert_array_equal(data.arrays["num"], [0, 2, 4])


def test_interrupted_and_damaged_transfers_leave_nothing(folder, server, monkeypatch):
    packed = bz2.compress(NEWS)
    server.serve(monkeypatch, "news20", {"n.bz2": packed}, (NEWS_X, NEWS_Y))
    server.announced = len(packed) + 100
    with pytest.raises(DatasetNotFound, match=r"cannot be read \(.*(ended after|Incomplete)"):
        load_dataset("news20")
    server.announced = None
    server.files = {"n.bz2": packed[:-10]}
    with pytest.raises(DatasetNotFound, match=r"\(the bz2 data are damaged\)"):
        load_dataset("news20")
    server.files = {"n.bz2": b"<html>Please log in</html>"}
    with pytest.raises(DatasetNotFound, match="cannot be read"):
        load_dataset("news20")
    server.files = {}
    with pytest.raises(DatasetNotFound, match="Not Found"):
        load_dataset("news20")
    monkeypatch.setattr(fetching, "_MOST_EXPANDED", 1000)
    server.files = {"n.bz2": bz2.compress(NEWS + b"#" + b"\n" * 2000)}
    with pytest.raises(DatasetNotFound, match="expands to more than 1000 bytes"):
        load_dataset("news20")
    monkeypatch.setattr(fetching, "_MOST_BYTES", 10)
    server.files = {"n.bz2": packed}
    with pytest.raises(DatasetNotFound, match="larger than 10 bytes"):
        load_dataset("news20")
    assert list(folder.iterdir()) == []


# -- the table --------------------------------------------------------------------------


def test_a_digest_knows_every_bit_but_not_the_order():
    order = RNG.permutation(len(X))
    for form in (np.asarray, sparse.csr_array, sparse.csc_array):
        assert digest(form(X)[order], Y[order]) == digest(X, Y)
    changed = X.copy()
    changed[3, 2] = np.nextafter(changed[3, 2], np.inf)
    assert digest(changed, Y) != digest(X, Y)
    assert digest(X, Y[::-1]) != digest(X, Y)


def test_fingerprints_survive_decimals_but_not_changes():
    target = np.where(X[:, 0] > 0, 1, -1)
    known = fingerprint(X, target)
    order = RNG.permutation(20)
    assert difference(np.round(X[order], 6), target[order], known) == ""
    assert difference(sparse.csr_array(X), target, known) == ""
    assert difference(X.astype(np.float32), target, known) == ""
    assert difference(X, -target, known) != ""
    assert difference(X + 0.01, target, known) != ""


@pytest.mark.parametrize("name", dataset_names())
def test_the_table_is_complete(name):
    entry = SETS[name]
    assert describe_dataset(name).endswith(".")
    assert (name in KNOWN) == isinstance(entry.source, OpenML | Files)
    if name in KNOWN:
        known = KNOWN[name]
        count, what = entry.what.split()
        assert known.whole.shape == entry.shape
        assert len(known.whole.counts) == int(count)
        assert (what == "labels") == (sum(known.whole.counts) != entry.shape[0])
    if isinstance(entry.source, Drawn | Bundled):
        data = load_dataset(name)
        assert data.X.shape == entry.shape
        assert entry.what in repr(data)


def test_targets_of_openml_are_decoded():
    cases = {
        "usps": (["1", "10", "3"], [0, 9, 2]),
        "ionosphere": (["g", "b"], [1, -1]),
        "pima": (["tested_negative", "tested_positive"], [-1, 1]),
        "scene": ([["TRUE", "FALSE"]], [[1, 0]]),
    }
    for name, (text, meant) in cases.items():
        found = SETS[name].source.decode(np.array(text, dtype=object))
        np.testing.assert_array_equal(found, meant)


def test_the_page_on_data_sets_has_the_table():
    page = (ROOT / "docs" / "datasets.md").read_text()
    kinds = {Drawn: "drawn", Bundled: "scikit-learn", OpenML: "OpenML", type(None): "by hand"}
    for name, entry in SETS.items():
        how = kinds.get(type(entry.source)) or ("UCI" if "uci" in entry.source.folder else "LIBSVM")
        n, d = entry.shape
        row = f"| `{name}` | {n} x {d} | {entry.what} | {how} | {entry.origin} |"
        assert row in page, row


@pytest.mark.parametrize("name", datasets.__all__)
def test_public_names_are_in_the_reference(name):
    reference = (ROOT / "docs" / "reference" / "datasets.md").read_text()
    assert f":: eigenkit.datasets.{name}\n" in reference or name == "DatasetNotFound"


# -- what is drawn ----------------------------------------------------------------------


def test_wine_comes_with_scikit_learn():
    data = load_dataset("wine")
    assert np.bincount(data.target).tolist() == [59, 71, 48]
    assert len(data.arrays["feature_names"]) == 13


@pytest.mark.parametrize("name", ["syn1", "syn3", "ndc", "planted"])
def test_what_is_drawn_depends_on_the_random_state_only(name):
    a, b, c = (load_dataset(name, random_state=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(a.X, b.X)
    np.testing.assert_array_equal(a.target, b.target)
    assert not np.array_equal(a.X, c.X)


def test_noise_is_noise():
    N, y = make_noise(4000, 6, 5, random_state=0)
    np.testing.assert_allclose(N.mean(axis=0), 0, atol=0.06)
    np.testing.assert_allclose(np.cov(N.T), np.eye(6), atol=0.1)
    np.testing.assert_allclose(np.bincount(y) / 4000, 0.2, atol=0.03)
    _, L = make_noise(4000, 6, 5, multilabel=True, random_state=0)
    assert set(np.unique(L)) == {0, 1}
    np.testing.assert_allclose(np.corrcoef(L.T), np.eye(5), atol=0.06)
    np.testing.assert_allclose(L.mean(axis=0), 0.5, atol=0.03)


@pytest.mark.parametrize("estimator", [CCA, HypergraphSpectral])
def test_the_planted_subspace_is_found(estimator):
    P, L, subspace = make_planted(8000, 20, 8, return_subspace=True, random_state=0)
    model = estimator(n_components=3).fit(P, L)
    found = model.transform(np.eye(20)) - model.transform(np.zeros((1, 20)))
    assert np.degrees(subspace_angles(found, subspace)).max() < 4
    np.testing.assert_allclose(subspace.T @ subspace, np.eye(3), atol=1e-12)


def test_planted_labels_are_correlated_and_never_empty():
    _, L = make_planted(500, 30, 10, random_state=0)
    np.testing.assert_allclose(L.mean(axis=0), 0.3)
    correlations = np.corrcoef(L.T)[np.triu_indices(10, 1)]
    assert np.abs(correlations).max() > 0.3
    S, L, subspace = make_planted(
        2000, 50, sparse_output=True, return_subspace=True, random_state=0
    )
    assert isinstance(S, sparse.csr_array)
    assert 0.09 < S.nnz / (2000 * 50) < 0.11
    model = CCA(n_components=3).fit(S, L)
    found = model.transform(np.eye(50)) - model.transform(np.zeros((1, 50)))
    assert np.degrees(subspace_angles(found, subspace)).max() < 20


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_informative": 9}, "n_informative=9 is not valid"),
        ({"n_labels": 0}, "n_labels=0"),
        ({"noise": -1}, "noise=-1"),
    ],
)
def test_planted_checks_its_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        make_planted(**arguments)


def test_a_data_set_is_frozen():
    data = Dataset("a", X, CLASSES)
    with pytest.raises(AttributeError):
        data.X = Y
