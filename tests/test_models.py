"""Model files give back the model they were made of, and refuse everything else."""

from __future__ import annotations

import hashlib
import json
import pickle
from pathlib import Path

import numpy as np
import pytest

from eigenkit import CCA
from eigenkit.estimators.registry import CLASSES, LABELS, METHODS, NUMBERS
from eigenkit.files import Block, FileError, Reading, open_file
from eigenkit.models import Model, fit_model, load, save
from eigenkit.models._container import read_container, write_container

STORED = Path(__file__).parent / "data" / "model_v1.ek"
RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 5))
W = RNG.normal(size=(5, 3))
TARGETS = {
    CLASSES: np.array(["u", "v", "w"])[(X @ W).argmax(axis=1)][:, None],
    LABELS: (X @ W > 0).astype(int),
    NUMBERS: (X @ W).round(6),
}


def table(kind: str) -> str:
    y = TARGETS[kind]
    names = [f"x{j}" for j in range(5)] + [f"t{j}" for j in range(y.shape[1])]
    rows = [[*map(repr, x.tolist()), *map(str, t.tolist())] for x, t in zip(X, y, strict=True)]
    return "\n".join(",".join(row) for row in [names, *rows]) + "\n"


def fitted(folder: Path, method: str, kind: str = CLASSES, **options: object) -> Model:
    path = folder / "train.csv"
    path.write_text(table(kind))
    return fit_model(open_file(str(path), Reading(labels=("t*",))), method, **options)


PAIRS = [(name, kind) for name, method in METHODS.items() for kind in method.targets]


@pytest.mark.slow
@pytest.mark.parametrize(("method", "kind"), PAIRS)
def test_every_method_survives_its_file_bit_for_bit(tmp_path: Path, method: str, kind: str) -> None:
    model = fitted(tmp_path, method, kind, scale="standard", missing="mean")
    save(model, tmp_path / "a.ek")
    again = load(tmp_path / "a.ek")
    block = Block(X)
    assert np.array_equal(model.predict("", block)[0], again.predict("", block)[0])
    if model.projects:
        assert np.array_equal(model.transform("", block), again.transform("", block))
    assert again.how == model.how
    assert str(again.estimator.report_) == str(model.estimator.report_)
    assert again.target == model.target
    if not METHODS[method].needs_views:  # what these columns share is chance
        better_than_guesses(model, kind)


@pytest.mark.parametrize("method", ["lda", "opls"])
def test_a_model_that_was_read_is_written_as_it_was(tmp_path: Path, method: str) -> None:
    save(fitted(tmp_path, method), tmp_path / "a.ek")
    save(load(tmp_path / "a.ek"), tmp_path / "b.ek")
    assert (tmp_path / "a.ek").read_bytes() == (tmp_path / "b.ek").read_bytes()


def better_than_guesses(model: Model, kind: str) -> None:
    found, _ = model.predict("", Block(X))
    truth = TARGETS[kind]
    if kind == NUMBERS:
        assert np.abs(found - truth).mean() < 0.5 * np.abs(truth).mean()
    else:
        assert np.mean(found.reshape(truth.shape) == truth) > 0.7


@pytest.mark.slow
@pytest.mark.parametrize("kind", [CLASSES, LABELS])
@pytest.mark.parametrize("method", [n for n, m in METHODS.items() if m.streams])
def test_blocks_give_the_model_of_the_whole(
    tmp_path: Path, method: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kind not in METHODS[method].targets:
        pytest.skip(f"{method} does not learn from {kind}")
    whole = fitted(tmp_path, method, kind, scale="standard")
    monkeypatch.setattr("eigenkit.models._fitting.rows_per_block", lambda source: 7)
    parts = fitted(tmp_path, method, kind, scale="standard", stream=True)
    save(parts, tmp_path / "parts.ek")
    parts = load(tmp_path / "parts.ek")
    assert parts.how["in_blocks"]
    assert parts.how["n_rows"] == len(X)
    if hasattr(whole.estimator, "transform"):
        Z, Z2 = (np.abs(m.transform("", Block(X))) for m in (whole, parts))
        np.testing.assert_allclose(Z, Z2, atol=1e-8)
    assert np.array_equal(whole.predict("", Block(X))[0], parts.predict("", Block(X))[0])


STREAMED = [
    (name, kind)
    for name, method in METHODS.items()
    if method.streams
    for kind in (CLASSES, LABELS, NUMBERS)
    if kind in method.targets
]


@pytest.mark.slow
@pytest.mark.parametrize("many", [False, True], ids=["rows", "factor"])
@pytest.mark.parametrize("looked", [False, True])
@pytest.mark.parametrize(("method", "kind"), STREAMED)
def test_a_stream_goes_on_after_its_file_was_read(
    tmp_path: Path,
    method: str,
    kind: str,
    looked: bool,
    many: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The same bits as without saving; before anybody has looked at results, or after."""
    if many:
        monkeypatch.setattr("eigenkit.moments.stream.BLOCK_BYTES", 0)
    # The classifier on top keeps to its number of components, which this method finds itself.
    fixed = {"params": {"n_components": 1}} if method == "bayesian_cca" else {}
    model = fitted(tmp_path, method, kind, stream=True, **fixed)
    stream, y = model.estimator, TARGETS[kind] if kind != CLASSES else TARGETS[kind][:, 0]
    for _ in range(3 * many):
        stream.partial_fit(X[:20], y[:20])
    answer = "transform" if hasattr(stream, "transform") else "distances"
    if looked:
        getattr(stream, answer)(X)
    save(model, tmp_path / "a.ek")
    again = load(tmp_path / "a.ek").estimator
    np.testing.assert_array_equal(getattr(again, answer)(X), getattr(stream, answer)(X))
    for each in (again, stream):
        each.partial_fit(X[20:25], y[20:25])
    np.testing.assert_array_equal(getattr(again, answer)(X), getattr(stream, answer)(X))
    names = ("components_", "x_rotations_", "coef_")
    name = next(name for name in names if hasattr(stream, name))
    np.testing.assert_array_equal(getattr(again, name), getattr(stream, name))


@pytest.mark.parametrize("part", ["R", "mean", "sets", "degree", "total", "recent"])
def test_moments_that_do_not_fit_together_are_refused(
    tmp_path: Path, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("eigenkit.moments.stream.BLOCK_BYTES", 0)
    model = fitted(tmp_path, "star", LABELS, stream=True)
    model.estimator.partial_fit(X[:3], TARGETS[LABELS][:3])
    moments = model.estimator._intake_.moments
    if part == "recent":
        object.__setattr__(moments.recent[0], "Y", moments.recent[0].Y[1:])
    else:
        factor = moments.factor
        value = -1.0 if part == "total" else getattr(factor, part)[..., :-1]
        object.__setattr__(factor, part, value)
    save(model, tmp_path / "a.ek")
    with pytest.raises(FileError, match="damaged or was tampered with"):
        load(tmp_path / "a.ek")


def test_alpha_by_cross_validation(tmp_path: Path) -> None:
    model = fitted(tmp_path, "star", LABELS, alphas=[1e-3, 1.0, 1e6], cv=3)
    search = model.how["alpha_search"]
    mean = np.array(search["mean_score"])
    largest = np.array(search["alphas"])[np.isclose(mean, mean.max(), rtol=1e-12)].max()
    assert model.estimator.alpha == largest < 1e6
    assert not search["at_the_end"]


@pytest.mark.parametrize(
    ("scores", "best", "rises"),
    [([0.5, 0.4], 0, True), ([0.5, 0.5], 1, False), ([0.1, 0.2 + 1e-15, 0.2], 2, False),
     ([0.1, 0.2], 1, True), ([0.5], 0, False), ([0.1, 0.3, 0.2], 1, False)],
)  # fmt: skip
def test_of_equal_alphas_the_largest_and_a_plateau_does_not_rise(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, scores: list[float], best: int, rises: bool
) -> None:
    told = lambda *args: np.array([scores, scores])  # noqa: E731
    monkeypatch.setattr("eigenkit.models._choosing.scores_by_alpha", told)
    alphas = [10.0**k for k in range(len(scores))]
    model = fitted(tmp_path, "star", LABELS, alphas=alphas, cv=2)
    assert model.estimator.alpha == alphas[best]
    assert model.how["alpha_search"]["at_the_end"] == rises


@pytest.mark.parametrize("kind", ["tfidf", "hashing"])
def test_text_is_kept_in_the_model(tmp_path: Path, kind: str) -> None:
    words = {"u": "apple pear plum", "v": "bolt screw nail", "w": "rain snow hail"}
    rows = [(words[c].split()[i // 3 % 3] + f" item{i}", c) for i, c in enumerate("uvw" * 12)]
    path = tmp_path / "a.csv"
    path.write_text("doc,c\n" + "".join(f"{t},{c}\n" for t, c in rows))
    source = open_file(str(path), Reading(labels=("c",), text=("doc",)))
    model = fit_model(source, "cca", text_kind=kind, text_size=256)
    save(model, tmp_path / "a.ek")
    again = load(tmp_path / "a.ek")
    block = Block(np.empty((3, 0)), {"doc": ["a pear", "one nail", "hail and rain"]})
    assert again.predict("", block)[0].tolist() == ["u", "v", "w"]
    assert np.array_equal(model.transform("", block), again.transform("", block))


def test_missing_values(tmp_path: Path) -> None:
    text = table(CLASSES).splitlines()
    text[2] = "," + text[2].split(",", 1)[1]
    path = tmp_path / "a.csv"
    path.write_text("\n".join(text))

    def fit(**options: str) -> Model:
        return fit_model(open_file(str(path), Reading(labels=("t0",))), "lda", **options)

    with pytest.raises(FileError, match=r"row 2, column 'x0' is missing: .*--missing mean"):
        fit()
    assert fit(missing="drop").how["n_rows"] == len(X) - 1
    model = fit(missing="mean")
    assert model.features.fill[0] == pytest.approx(np.delete(X[:, 0], 1).mean())
    model.predict("", Block(np.full((1, 5), np.nan)))


def test_infinite_values_are_named(tmp_path: Path) -> None:
    model = fitted(tmp_path, "lda")
    with pytest.raises(FileError, match="row 1, column 'x3' is infinite"):
        model.predict("new.csv", Block(np.array([[0, 0, 0, np.inf, 0.0]])))


def test_a_method_that_cannot_learn_from_this(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"lda does not learn from sets of labels.*use one of cca"):
        fitted(tmp_path, "lda", LABELS)


# -- hostile files ----------------------------------------------------------------------


def small(folder: Path) -> Path:
    save(fitted(folder, "lda"), folder / "small.ek")
    return folder / "small.ek"


def test_every_third_byte_flipped_is_refused(tmp_path: Path) -> None:
    path = small(tmp_path)
    whole = path.read_bytes()
    assert len(whole) < 10_000
    for i in range(0, len(whole), 3):
        path.write_bytes(whole[:i] + bytes([whole[i] ^ 0x41]) + whole[i + 1 :])
        with pytest.raises(FileError):
            load(path)


def test_every_truncation_is_refused(tmp_path: Path) -> None:
    path = small(tmp_path)
    whole = path.read_bytes()
    for n in range(0, len(whole), 13):
        path.write_bytes(whole[:n])
        with pytest.raises(FileError):
            load(path)
    path.write_bytes(whole + b"\0")
    with pytest.raises(FileError):
        load(path)


class Bomb:
    def __reduce__(self):
        return (Path("harm").write_text, ("done",))


@pytest.mark.parametrize("name", ["a.ek", "a.npz", "a.csv"])
def test_a_pickle_under_any_name_is_refused(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(
        FileError, match="it is a Python pickle, which can run code: it is not read"
    ):
        load(name)
    with pytest.raises(FileError, match="it is a Python pickle"):
        open_file(name)
    assert not Path("harm").exists()


def forge(path: Path, change) -> None:
    """Change the tree of a model and sign it again."""
    tree, arrays = read_container(str(path), 2**30)
    change(tree, arrays)
    with open(path, "wb") as stream:
        write_container(stream, tree, arrays)


def _set_class(tree, arrays) -> None:
    tree["estimator"]["class"] = "Popen"


def _hide_method(tree, arrays) -> None:
    tree["estimator"]["v"]["transform"] = 1


def _hide_private(tree, arrays) -> None:
    tree["estimator"]["v"]["__class__"] = 1


def _drop_parameter(tree, arrays) -> None:
    del tree["estimator"]["v"]["alpha"]


def _shrink_arrays(tree, arrays) -> None:
    arrays[:] = [a[:1] if a.ndim else a for a in arrays]


def _drop_arrays(tree, arrays) -> None:
    del arrays[1:]


def _unknown_kind(tree, arrays) -> None:
    tree["estimator"]["v"]["alpha"] = {"t": "call", "v": "os.system"}


def _no_features(tree, arrays) -> None:
    tree["features"] = None


def _strange_target(tree, arrays) -> None:
    tree["target"]["v"][0][1] = "nonsense"


def _claim_a_billion_features(tree, arrays) -> None:
    for pair in tree["features"]["v"]:
        if pair[0] == "n_numbers":
            pair[1] = 2**33
        if pair[0] == "names":
            pair[1] = None


def _negative_index(tree, arrays) -> None:
    tree["estimator"]["v"]["components_"]["v"] = -1


@pytest.mark.parametrize(
    "change",
    [
        _set_class,
        _hide_method,
        _hide_private,
        _drop_parameter,
        _shrink_arrays,
        _drop_arrays,
        _unknown_kind,
        _no_features,
        _strange_target,
        _negative_index,
        _claim_a_billion_features,
    ],
)
def test_forged_models_are_refused(tmp_path: Path, change) -> None:
    path = small(tmp_path)
    forge(path, change)
    with pytest.raises(FileError, match="damaged or was tampered with"):
        load(path)


def signed(text: bytes, body: bytes = b"") -> bytes:
    data = b"EIGENKIT" + len(text).to_bytes(8, "little") + text + body
    return data + hashlib.sha256(data).digest()


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"[]",
        b"{}",
        b"[" * 100_000 + b"]" * 100_000,
        json.dumps({"format": 1, "arrays": [["<f8", [2**47, 2**47]]], "tree": 0}).encode(),
        json.dumps({"format": 1, "arrays": [["<f8", [-1]]], "tree": 0}).encode(),
        json.dumps({"format": 1, "arrays": [["|O", [1]]], "tree": 0}).encode(),
        json.dumps({"format": 1, "arrays": {}, "tree": 0}).encode(),
        json.dumps({"format": 1, "arrays": [], "tree": 0}).encode(),
    ],
)
def test_lying_descriptions_are_refused(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "a.ek").write_bytes(signed(text))
    with pytest.raises(FileError, match="damaged or was tampered with"):
        load(tmp_path / "a.ek")


def test_a_later_format_says_so(tmp_path: Path) -> None:
    text = json.dumps({"format": 2, "arrays": [], "tree": None}).encode()
    (tmp_path / "a.ek").write_bytes(signed(text))
    with pytest.raises(FileError, match=r"its format is 2.*use a later eigenkit"):
        load(tmp_path / "a.ek")


def test_other_files_are_refused(tmp_path: Path) -> None:
    for content in (b"", b"hello", b"EIGENKIT", b"EIGENKIT" + b"\xff" * 8):
        (tmp_path / "a.ek").write_bytes(content)
        with pytest.raises(FileError):
            load(tmp_path / "a.ek")
    with pytest.raises(FileError, match="there is no such file"):
        load(tmp_path / "no.ek")
    with pytest.raises(FileError, match="this is a folder"):
        load(tmp_path)
    path = small(tmp_path)
    with pytest.raises(FileError, match="the limit is 100"):
        load(path, max_bytes=100)


def test_a_model_may_not_read_files_named_in_the_data(tmp_path: Path) -> None:
    # scikit-learn's vectorizers can be told to open what the data name; a model cannot tell them.
    path = small(tmp_path)

    def change(tree, arrays) -> None:
        pairs = tree["features"]["v"]
        column = {
            "name": "d",
            "kind": "hashing",
            "size": 8,
            "ngrams": 1,
            "words": {"t": "tuple", "v": []},
            "idf": {"t": "array", "v": 0},
            "input": "filename",
        }
        nested = {"t": "dict", "v": [[k, v] for k, v in column.items()]}
        pairs[:] = [[k, {"t": "list", "v": [nested]} if k == "text" else v] for k, v in pairs]

    forge(path, change)
    with pytest.raises(FileError, match="damaged or was tampered with"):
        load(path)


# -- later versions ---------------------------------------------------------------------


def test_a_stored_model_of_format_1_is_read() -> None:
    expected = json.loads(STORED.with_suffix(".json").read_text())
    model = load(STORED)
    block = Block(np.array(expected["X"]), {"doc": expected["doc"]})
    labels, S = model.predict("", block)
    assert labels.tolist() == expected["labels"]
    np.testing.assert_allclose(S, expected["scores"], atol=1e-10)
    np.testing.assert_allclose(model.transform("", block), expected["Z"], atol=1e-10)


def test_an_estimator_alone_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(
        TypeError, match="save takes a Model of fit_model, got a CCA: to store an est"
    ):
        save(CCA(), tmp_path / "a.ek")
    assert not list(tmp_path.iterdir())


def arff_of_colours(path: Path, pairs: list[str]) -> str:
    """Rows of a number, one of three colours and a class, which only red rows have."""
    names = ["x numeric", "colour {red,green,blue}", "kind {no,yes}"]
    header = ["@relation a", *(f"@attribute {name}" for name in names), "@data"]
    path.write_text("\n".join([*header, *pairs]) + "\n")
    return str(path)


COLOURS = ["red" if x > 0.5 else "green" if x > 0 else "blue" for x in X[:, 0]]
SPARSE = [
    f"{{0 {x:.3f}, 2 yes}}" if colour == "red" else f"{{0 {x:.3f}, 1 {colour}}}"
    for x, colour in zip(X[:, 1], COLOURS, strict=True)
]
DENSE = [
    f"{x:.3f},{colour},{'yes' if colour == 'red' else 'no'}"
    for x, colour in zip(X[:, 1], COLOURS, strict=True)
]


def test_sparse_numbers_beside_a_few_categories(tmp_path: Path) -> None:
    options = Reading(labels=("kind",), categorical=("colour",))
    models = [
        fit_model(open_file(arff_of_colours(tmp_path / name, rows), options), "lda")
        for name, rows in (("dense.arff", DENSE), ("sparse.arff", SPARSE))
    ]
    one, other = (
        model.transform("", Block(X[:3, :1], {"colour": COLOURS[:3]})) for model in models
    )
    np.testing.assert_allclose(abs(one), abs(other), rtol=1e-6)


def test_a_model_reads_the_category_that_sparse_rows_leave_out(tmp_path: Path) -> None:
    path = arff_of_colours(tmp_path / "sparse.arff", SPARSE)
    options = Reading(labels=("kind",), categorical=("colour",))
    model = fit_model(open_file(path, options), "lda")
    (block,) = open_file(path, Reading(expected=model.expected())).blocks(100)
    assert block.text["colour"] == COLOURS
    told, _ = model.predict(path, block)
    assert told.tolist() == ["yes" if colour == "red" else "no" for colour in COLOURS]
