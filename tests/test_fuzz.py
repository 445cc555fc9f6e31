"""Damaged files of every format: a result that makes sense, or one sentence, nothing else."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from eigenkit.files import Block, FileError, Reading, open_file, read, target_of
from eigenkit.models import fit_model, load, save
from eigenkit.models._container import read_container, write_container

RNG = np.random.default_rng(0)
X = RNG.normal(size=(12, 4)).round(3)
FEW, MANY = 200, 5000

# Words that have upset readers of numbers, names and sizes.
WORDS = [
    b"9" * 4400, b"-1", b"1e999", b"nan", b"\xc2\xb9", b"\xd9\xa3", b"{\xc2\xb9 1}", b"_", b"'",
    b'"', b"\\", b"{", b"}", b",", b":", b"#", b"%", b"\n", b"\r", b"\x00", b"\xff", b" ", b"\t",
    b"0:", b"qid:1", b"18446744073709551616", b"2147483648", b"\xe2\x80\xa8", b"@data\n", b"?",
]  # fmt: skip


def mutated(data: bytes, rng: np.random.Generator) -> bytes:
    """The data with one to four accidents."""
    found = bytearray(data)
    for _ in range(rng.integers(1, 5)):
        if not found:
            break
        i, j = sorted(rng.integers(0, len(found) + 1, size=2).tolist())
        j = min(j, i + int(rng.integers(1, 40)))
        kind = rng.integers(0, 7)
        if kind == 0 and i < len(found):
            found[i] ^= 1 << int(rng.integers(0, 8))
        elif kind == 1 and i < len(found):
            found[i] = int(rng.choice([0, 1, 127, 128, 255, int(rng.integers(0, 256))]))
        elif kind == 2:
            del found[i:j]
        elif kind == 3:
            found[i:i] = found[i:j]
        elif kind == 4:
            found[i:i] = WORDS[int(rng.integers(0, len(WORDS)))]
        elif kind == 5:
            found[i:j] = WORDS[int(rng.integers(0, len(WORDS)))]
        elif rng.random() < 0.3:
            del found[i:]
    return bytes(found)


# -- data files -------------------------------------------------------------------------


def csv() -> bytes:
    rows = [",".join(map(repr, x)) + f",{'uv'[i % 2]}" for i, x in enumerate(X.tolist())]
    return "\n".join(["a,b,c,d,label", *rows, ""]).encode()


def numbers() -> bytes:
    return "\n".join(";".join(map(repr, x)) for x in X.tolist()).encode()


def svmlight() -> bytes:
    rows = [f"{i % 3},{i % 2} 1:{x[0]} 2:{x[1]} 7:{x[3]} # {i}" for i, x in enumerate(X.tolist())]
    return "\n".join(rows).encode()


ARFF_HEAD = (
    "@relation 'r: -C 1'\n@attribute u {0,1}\n@attribute 'a b' numeric\n@attribute v real\n@data\n"
)


def arff() -> bytes:
    return (ARFF_HEAD + "".join(f"{i % 2},{x[0]},{x[1]}\n" for i, x in enumerate(X))).encode()


def sparse_arff() -> bytes:
    rows = (f"{{0 {i % 2},1 {x[0]},2 {x[1]}}}\n" for i, x in enumerate(X))
    return (ARFF_HEAD + "".join(rows)).encode()


def npz() -> bytes:
    kept = io.BytesIO()
    np.savez(kept, X=X, y=np.arange(12) % 2, feature_names=np.array(list("abcd")))
    return kept.getvalue()


def packed_csr() -> bytes:
    kept, S = io.BytesIO(), sparse.csr_array(np.where(X > 0, X, 0))
    parts = {"X_data": S.data, "X_indices": S.indices, "X_indptr": S.indptr, "X_shape": S.shape}
    np.savez_compressed(kept, Y=np.eye(12), **parts)
    return kept.getvalue()


def parquet() -> bytes:
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet as writer

    kept = io.BytesIO()
    columns = {"a": X[:, 0], "b": X[:, 1], "label": [f"c{i % 2}" for i in range(12)]}
    writer.write_table(arrow.table(columns), kept)
    return kept.getvalue()


def gzipped() -> bytes:
    import gzip

    return gzip.compress(csv(), mtime=0)


FILES: dict[str, tuple[str, Callable[[], bytes], dict[str, Any]]] = {
    "csv": ("a.csv", csv, {"labels": ("label",)}),
    "numbers": ("a.txt", numbers, {"labels": ("-1",)}),
    "text": ("a.tsv", lambda: csv().replace(b",", b"\t"), {"text": ("label",)}),
    "svmlight": ("a.svm", svmlight, {}),
    "arff": ("a.arff", arff, {}),
    "sparse arff": ("b.arff", sparse_arff, {"labels": ("u",)}),
    "npz": ("a.npz", npz, {}),
    "packed csr": ("b.npz", packed_csr, {}),
    "parquet": ("a.parquet", parquet, {"labels": ("label",)}),
    "gzip": ("a.csv.gz", gzipped, {"labels": ("label",)}),
}


def check_reading(path: Path, options: Reading) -> bool:
    """Whether the file is read; a refusal must be one sentence that begins with its name."""
    try:
        data = read(open_file(str(path), options))
        n = data.X.shape[0]
        assert n > 0
        values = data.X.data if sparse.issparse(data.X) else data.X
        assert values.dtype == np.float64
        assert data.labels is None or len(data.labels) == n
        assert all(len(cells) == n for cells in data.text.values())
        if data.labels is not None:
            y = target_of(str(path), data.labels, data.source.label_names)
            assert len(y.encode(str(path), data.labels)) == n
    except FileError as error:
        check_sentence(str(error), str(path))
        return False
    return True


def check_sentence(message: str, path: str) -> None:
    assert message.startswith(path), message
    assert message.isprintable() or not any(c in message for c in "\n\r\x00\x1b"), repr(message)
    assert message.endswith((".", "?")), message
    assert len(message) - len(path) < 600, message


def fuzz_reader(kind: str, folder: Path, count: int) -> None:
    name, make, options = FILES[kind]
    whole, path = make(), folder / name
    reading = Reading(max_bytes=2**24, max_features=10**6, **options)
    path.write_bytes(whole)
    assert check_reading(path, reading)
    for seed in range(count):
        path.write_bytes(mutated(whole, np.random.default_rng(seed)))
        try:
            check_reading(path, reading)
        except Exception as error:
            raise AssertionError(f"{kind}, mutation {seed}: {error!r}") from error


@pytest.mark.slow
@pytest.mark.parametrize("kind", FILES)
@pytest.mark.filterwarnings("ignore:.* classes such as .*:UserWarning")  # a note, and a true one
def test_thousands_of_damaged_files(kind: str, tmp_path: Path) -> None:
    fuzz_reader(kind, tmp_path, MANY)


# -- model files ------------------------------------------------------------------------


def stored(folder: Path) -> Path:
    (folder / "a.csv").write_bytes(csv())
    source = open_file(str(folder / "a.csv"), Reading(labels=("label",)))
    save(fit_model(source, "lda", scale="standard", missing="mean"), folder / "a.ek")
    return folder / "a.ek"


def check_model(path: Path) -> bool:
    """Whether it loads; what loads predicts finite scores and one of its classes."""
    try:
        model = load(path, max_bytes=2**24)
        labels, S = model.predict("", Block(X))
    except FileError as error:
        check_sentence(str(error), str(path))
        return False
    assert set(labels) <= set(model.target.names)
    assert S is None or np.isfinite(S).all()
    return True


def signed(data: bytes) -> bytes:
    body = data[:-32]
    return body + hashlib.sha256(body).digest()


STRANGE = [None, True, -1, 0, 2**63, 1e308, "", "x", [], {}, [[]], {"t": "float", "v": "nan"}]
STRANGE += [{"t": "array", "v": 0}, {"t": "tuple", "v": []}, {"t": [], "v": 0}, "<f8", "object"]


def changed_tree(node: Any, rng: np.random.Generator) -> Any:
    """The same JSON with something strange at a random place."""
    if not isinstance(node, list | dict) or not node or rng.random() < 0.15:
        return STRANGE[int(rng.integers(0, len(STRANGE)))]
    copy = dict(node) if isinstance(node, dict) else list(node)
    keys = list(copy) if isinstance(copy, dict) else range(len(copy))
    key = keys[int(rng.integers(0, len(keys)))]
    if isinstance(copy, dict) and rng.random() < 0.1:
        del copy[key]
    else:
        copy[key] = changed_tree(copy[key], rng)
    return copy


def changed_header(data: bytes, rng: np.random.Generator) -> bytes:
    n = int.from_bytes(data[8:16], "little")
    head = changed_tree(json.loads(data[16 : 16 + n]), rng)
    text = json.dumps(head).encode()
    text += b" " * (-(len(text) - n) % 64)  # arrays stay aligned
    return signed(data[:8] + len(text).to_bytes(8, "little") + text + data[16 + n :])


ATTACKS: dict[str, Callable[[bytes, np.random.Generator], bytes]] = {
    "bytes": mutated,
    "signed bytes": lambda data, rng: signed(mutated(data, rng)),
    "signed header": changed_header,
}


def fuzz_model(attack: str, folder: Path, count: int) -> None:
    path = stored(folder)
    whole = path.read_bytes()
    assert check_model(path)
    for seed in range(count):
        path.write_bytes(ATTACKS[attack](whole, np.random.default_rng(seed)))
        try:
            check_model(path)
        except Exception as error:
            raise AssertionError(f"{attack}, mutation {seed}: {error!r}") from error


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_damaged_or_forged_model_is_refused_in_one_sentence(attack: str, tmp_path: Path) -> None:
    fuzz_model(attack, tmp_path, FEW)


@pytest.mark.slow
@pytest.mark.parametrize("attack", ATTACKS)
def test_thousands_of_forged_models(attack: str, tmp_path: Path) -> None:
    fuzz_model(attack, tmp_path, MANY)


def test_arrays_that_are_not_finite_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = stored(tmp_path)
    tree, arrays = read_container(str(path), 2**24)
    for i, array in enumerate(arrays):
        if array.dtype.kind != "f" or not array.size:
            continue
        spoiled = [a.copy() for a in arrays]
        spoiled[i].flat[-1] = np.nan
        with pytest.raises(ValueError, match="not finite"):
            write_container(io.BytesIO(), tree, spoiled)
        with path.open("wb") as stream, monkeypatch.context() as forger:
            forger.setattr("eigenkit.models._container._finite", lambda array: True)
            write_container(stream, tree, spoiled)
        with pytest.raises(FileError, match="not finite"):
            load(path)
