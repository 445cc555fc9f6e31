"""The compiled product is scipy's, for every type and width, and can be switched off."""

from __future__ import annotations

import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from eigenkit import CCA
from eigenkit.data import Centered
from eigenkit.data.dense import _cross
from eigenkit.data.matrices import SparseRows
from eigenkit.files._cells import MISSING
from eigenkit.numerics import compiled

needs_library = pytest.mark.skipif(
    not compiled.available(), reason="there was no C compiler, or EIGENKIT_COMPILED=0"
)
TOL = {"float64": 1e-14, "float32": 1e-6}


def matrix(rng: np.random.Generator, real: str, index: str, shape=(40, 30)) -> sparse.csr_array:
    X = rng.normal(size=shape) * (rng.random(shape) < 0.3)
    X[3], X[-1] = 0.0, 0.0
    X = sparse.csr_array(X.astype(real))
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    return X


@needs_library
@pytest.mark.parametrize("index", ["int32", "int64"])
@pytest.mark.parametrize("real", ["float64", "float32"])
@pytest.mark.parametrize("k", [*range(1, 38), 63, 64, 65, 71, 100, 130])
def test_it_is_the_product(rng, real, index, k):
    X = matrix(rng, real, index)
    V = rng.normal(size=(30, k)).astype(real)
    out = np.full((40, k), np.nan, dtype=real)
    compiled.rows_product(X, V, out)(slice(5, 23))
    np.testing.assert_allclose(out[5:23], (X @ V)[5:23], rtol=TOL[real], atol=10 * TOL[real])
    assert np.isnan(out[:5]).all()
    assert np.isnan(out[23:]).all()


@pytest.mark.skipif(not compiled.takes_gradients(), reason="no compiler, or no AVX2")
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("index", ["int32", "int64"])
@pytest.mark.parametrize("k", [4, 8, 12, 16])
def test_both_products_of_sparse_rows_at_once(rng, k, index, weighted):
    X = matrix(rng, "float64", index)
    V, offset = rng.normal(size=(30, k)), rng.normal(size=k)
    r = rng.random(40) if weighted else None
    sums = rng.normal(size=(30, k)), rng.normal(size=k), rng.normal(size=(k, k))
    expected = [A.copy() for A in sums]
    root = np.ones(40) if r is None else r
    Z = root[:, None] * (X @ V - offset)
    for A, more in zip(expected, (X.T @ (root[:, None] * Z), root @ Z, Z.T @ Z), strict=True):
        A += more
    assert compiled.add_gradient(X, V, offset, r, *sums)
    for found, right in zip(sums, expected, strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("k", [1, 3, 4, 16, 17])
def test_columns_for_both_products_begin_at_a_cache_line(rng, k):
    V = rng.normal(size=(30, k))
    wide = compiled.for_gradient(V)
    np.testing.assert_array_equal(wide[:, :k], V)
    assert not wide[:, k:].any()
    if not compiled.takes_gradients() or k > 16:
        assert wide is V
    else:
        assert wide.shape[1] % 4 == 0
        assert wide.ctypes.data % compiled.LINE == 0


@pytest.mark.parametrize("shape", [(0, 4), (1, 1), (7, 3), (1000, 8)])
def test_memory_begins_at_a_cache_line(shape):
    made = [compiled.lined_up(shape) for _ in range(5)]
    assert all(A.shape == shape and A.flags.c_contiguous for A in made)
    assert all(A.ctypes.data % compiled.LINE == 0 for A in made if A.size)


@pytest.mark.parametrize("k", [3, 20])
def test_other_widths_and_types_are_left_to_others(rng, k):
    X, V = matrix(rng, "float64", "int32"), rng.normal(size=(30, k))
    sums = np.zeros((30, k)), np.zeros(k), np.zeros((k, k))
    assert not compiled.add_gradient(X, V, np.zeros(k), None, *sums)
    assert not compiled.add_gradient(X.astype(np.float32), V, np.zeros(k), None, *sums)
    assert not any(A.any() for A in sums)


needs_dense = pytest.mark.skipif(
    not compiled.takes_dense(np.zeros((1, 1))), reason="no compiler, or a processor without AVX2"
)


@needs_dense
@pytest.mark.parametrize("n", [1, 3, 16, 37])
@pytest.mark.parametrize("d", [1, 2, 4, 7, 30])
@pytest.mark.parametrize("k", [1, 4, 5, 8, 12, 16, 20, 63, 64])
def test_dense_rows_with_few_columns(rng, n, d, k):
    X = rng.normal(size=(n, d + 3))[:, 1 : d + 1]  # rows that are not next to each other
    V, offset, H = rng.normal(size=(d, k)), rng.normal(size=(1, k)), rng.normal(size=(n, k))
    close = {"rtol": 1e-12, "atol": 1e-12}
    Z, slope = compiled.dense_gradient(X, V, offset, H)
    np.testing.assert_allclose(Z, X @ V - offset, **close)
    np.testing.assert_allclose(slope, X.T @ (X @ V - offset - H), **close)
    without = compiled.dense_gradient(X, V, offset, None)[1]
    np.testing.assert_allclose(without, X.T @ (X @ V - offset), **close)
    np.testing.assert_allclose(compiled.dense_gradient(X, None, None, H)[1], X.T @ H, **close)
    alone, nothing = compiled.dense_gradient(X, V, offset, slope=False)
    np.testing.assert_array_equal(alone, Z)
    assert nothing.shape == (0, k)
    total, squares = compiled.dense_sums(X)
    np.testing.assert_allclose(total, X.sum(axis=0), **close)
    np.testing.assert_allclose(squares, (X * X).sum(axis=0), **close)


@needs_dense
@pytest.mark.parametrize("shape", [(600, 3), (7, 1100), (259, 513)])
def test_sums_of_more_rows_and_columns_than_are_taken_at_once(rng, shape):
    X = 5 + rng.normal(size=shape)
    total, squares = compiled.dense_sums(X)
    np.testing.assert_allclose(total, X.sum(axis=0), rtol=1e-14)
    np.testing.assert_allclose(squares, (X * X).sum(axis=0), rtol=1e-14)


def test_what_the_dense_functions_do_not_take_is_left_to_blas(rng):
    X = rng.normal(size=(50, 6))
    for strange in (X.astype(np.float32), np.asfortranarray(X), X[:, ::2], X.astype(">f8")):
        assert not compiled.takes_dense(strange)
    taken = range(2, 65) if compiled.takes_dense(X) else ()
    assert [k for k in range(70) if compiled.takes_dense(X, k)] == list(taken)
    V, H = rng.normal(size=(6, 3)), rng.normal(size=(50, 3))
    for P in (X, np.asfortranarray(X), X[::2], X[::-1]):
        data, Z, U = Centered(P), P - P.mean(axis=0), H[: len(P)]
        slope, square = data.gradient(V, U)
        np.testing.assert_allclose(slope, Z.T @ (Z @ V - U), atol=1e-12)
        np.testing.assert_allclose(square, (Z @ V).T @ (Z @ V), atol=1e-12)
        np.testing.assert_allclose(data.matmat(V), Z @ V, atol=1e-12)
        np.testing.assert_allclose(_cross(P, U), P.T @ U, atol=1e-12)


@needs_library
def test_rows_asked_for_alone_or_together_have_the_same_bits(rng):
    X, V = matrix(rng, "float64", "int32"), rng.normal(size=(30, 45))
    whole, parts = np.empty((40, 45)), np.empty((40, 45))
    compiled.rows_product(X, V, whole)(slice(0, 40))
    for i in range(40):
        compiled.rows_product(X, V, parts)(slice(i, i + 1))
    assert np.array_equal(whole, parts)


@needs_library
def test_empty_matrices_and_no_columns(rng):
    for shape, k in (((5, 4), 0), ((1, 4), 3)):
        X, V = sparse.csr_array(shape), rng.normal(size=(4, k))
        out = np.full((shape[0], k), np.nan)
        compiled.rows_product(X, V, out)(slice(0, shape[0]))
        assert not out.any()


def test_layouts_it_cannot_take_are_left_to_scipy(rng):
    X, V = matrix(rng, "float64", "int32"), rng.normal(size=(30, 4))
    mixed = X.copy()
    mixed.indices = mixed.indices.astype(np.int64)
    swapped = X.copy()
    swapped.data = swapped.data.astype(">f8")
    out = np.zeros((40, 4))
    for A, B in ((X, np.asfortranarray(V)), (X, V.astype(np.float32)), (mixed, V), (swapped, V)):
        assert compiled.rows_product(A, B, out) is None
    assert not out.any()


@pytest.mark.parametrize("switch", ["0", "1"])
def test_both_ways_give_the_same_model(rng, monkeypatch, switch):
    monkeypatch.setenv("EIGENKIT_COMPILED", switch)
    X = matrix(rng, "float64", "int32", shape=(60, 20))
    Y = rng.normal(size=(60, 3))
    if switch == "0":
        assert not compiled.available()
    sparse_fit = CCA(regression="cg", tol=1e-12).fit(X, Y)
    dense_fit = CCA(regression="cholesky").fit(X.toarray(), Y)
    np.testing.assert_allclose(sparse_fit.components_, dense_fit.components_, atol=1e-10)


def test_row_blocks_share_the_memory_of_the_matrix(rng, monkeypatch):
    monkeypatch.setenv("EIGENKIT_COMPILED", "0")
    from eigenkit.data.matrices import _row_slice

    X = matrix(rng, "float64", "int32", shape=(400, 30))
    part = _row_slice(X, slice(3, 9))
    assert np.shares_memory(part.data, X.data)
    assert np.shares_memory(part.indices, X.indices)
    np.testing.assert_array_equal(part.toarray(), X.toarray()[3:9])
    V = rng.normal(size=(30, 5))
    np.testing.assert_allclose(SparseRows(X) @ V, X.toarray() @ V, atol=1e-12)


def test_without_a_compiler_nothing_is_built_and_nothing_fails(tmp_path):
    script = Path(__file__).parents[1] / "hatch_build.py"
    if not script.exists():
        pytest.skip("the build script is part of the source tree only")
    folder = tmp_path / "src" / "eigenkit" / "compiled"
    folder.mkdir(parents=True)
    (tmp_path / "hatch_build.py").write_text(script.read_text())
    (folder / "products.c").write_text("this is not C")
    for environment in ({"PATH": ""}, {"PATH": "/usr/bin:/bin", "CC": "no-such-compiler"}):
        command = [sys.executable, "hatch_build.py"]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True)
        assert done.returncode == 1
        assert not list(folder.glob("*.so"))
        assert not list(folder.glob("*.part"))


def test_a_library_left_behind_by_an_update_is_not_used(tmp_path, monkeypatch):
    if not compiled.available():
        pytest.skip("there is no library to leave behind")
    library = tmp_path / "products.so"
    shutil.copy(compiled.LIBRARY, library)
    monkeypatch.setattr(compiled, "LIBRARY", library)
    load = compiled._library.__wrapped__
    assert load() is not None  # without its source
    source = library.with_suffix(".c")
    shutil.copy(Path(compiled.__file__).with_name("products.c"), source)
    assert load() is not None
    source.write_text(source.read_text() + "/* changed */")
    with pytest.warns(RuntimeWarning, match="compile it again with 'python hatch_build.py'"):
        assert load() is None
    assert not compiled._is_current(object(), source)  # one from before there were such marks


def test_the_report_says_what_made_the_products(rng, monkeypatch):
    X, Y = matrix(rng, "float64", "int32"), rng.normal(size=(40, 2))
    assert CCA().fit(X.toarray(), Y).report_.products == "BLAS"
    expected = "compiled" if compiled.available() else "scipy"
    assert CCA().fit(X, Y).report_.products == expected
    monkeypatch.setenv("EIGENKIT_COMPILED", "0")
    assert CCA().fit(X, Y).report_.products == "scipy"


FORMS = ["%r", "%.17g", "%.6g", "%.3f", "%.18e", "%+.9E"]


@needs_library
@pytest.mark.parametrize("form", FORMS)
def test_numbers_of_a_table_are_those_of_python(rng, form):
    X = rng.normal(size=(400, 5)) * 10.0 ** rng.integers(-40, 40, size=(400, 5))
    X = np.vstack([X, np.arange(-10, 15).reshape(5, 5), 2.0 ** np.arange(53, 78).reshape(5, 5)])
    X = X if form != "%.3f" else np.clip(X, -1e9, 1e9)
    cells = [[form % value for value in row] for row in X.tolist()]
    for mark in ",;\t|":
        text = "\n".join(mark.join(row) for row in cells)
        found = compiled.read_table(text.encode(), mark, [compiled.NUMBER] * 5)
        if found is None:  # a number halfway between two others is left to somebody else
            assert form in ("%.17g", "%.18e")
            continue
        assert found[0].tobytes() == np.array(cells).astype(float).tobytes()


@needs_library
def test_a_table_is_read_with_what_is_no_number_in_it(rng):
    X = rng.normal(size=(50, 3))
    words = ["ä", "b c", "", '"quoted; mark"', "d"] * 10
    lines = [f"{a!r};{w};{b!r};{c!r}\n\n" for (a, b, c), w in zip(X.tolist(), words, strict=True)]
    text, N = "".join(lines).encode(), compiled.NUMBER
    table, (cells,) = compiled.read_table(text, ";", [N, compiled.TEXT, N, N])
    np.testing.assert_array_equal(table[:, [0, 2, 3]], X)
    assert cells == [word.strip('"') for word in words]
    table, none = compiled.read_table(text, ";", [N, compiled.NOTHING, N, N])
    assert none == []
    assert np.isnan(table[:, 1]).all()


@needs_library
def test_words_for_a_missing_value_are_nan_and_empty_lines_are_none():
    for word in MISSING:
        for cell in (word, word.upper(), f" {word} ", f'"{word}"'):
            table, _ = compiled.read_table(
                f"1,{cell}\n\n{cell}, -0\n".encode(), ",", [compiled.NUMBER] * 2
            )
            np.testing.assert_array_equal(table, [[1, np.nan], [np.nan, 0]])
            assert np.signbit(table[1, 1])


@needs_library
def test_decimal_commas_are_read():
    table, _ = compiled.read_table(b'1,5;-,25\n"2,0";3\n', ";", [compiled.NUMBER] * 2, ",")
    np.testing.assert_array_equal(table, [[1.5, -0.25], [2, 3]])
    assert compiled.read_table(b"1.5;2\n", ";", [compiled.NUMBER] * 2, ",") is None


@needs_library
@pytest.mark.parametrize(
    "text",
    [
        *("1,2,3", "1", "1,x", '1,"2"3', "1,-", "1,.", "1,1e", "1,1 2", "1,-nan", "1,1_0", "1,0x1"),
        *("1,2\r", "1,12345678901234567890", "1,1e999", "1,\u0661", "1,9007199254740993.0"),
        *("1,nano", "1,nul", '1,"2', "1,inf", "1,na na"),
    ],
)
def test_whatever_is_no_plain_number_is_left_to_the_careful_reader(text):
    assert compiled.read_table(text.encode(), ",", [compiled.NUMBER] * 2) is None


@needs_library
@pytest.mark.parametrize(
    "text", ["1,a,b", "1", '1,"a"b', '1,a"b', '1,"a""b"', '1,"a\nb"', '1,"a', '1,a"', "x,a"]
)
def test_text_that_needs_care_is_left_to_the_careful_reader(text):
    assert compiled.read_table(text.encode(), ",", [compiled.NUMBER, compiled.TEXT]) is None


def _is_halfway(cell):
    """Whether a number with a point lies just between two floats."""
    exact, near = Fraction(cell), Fraction(float(cell))
    return (
        "." in cell and exact != near and abs(exact - near) == Fraction(np.spacing(float(near))) / 2
    )


@needs_library
def test_numbers_of_any_length_wherever_the_text_ends(rng):
    """Digits are read eight at a time: every number of them, and every place of the point."""
    cells = []
    for n in range(1, 20):
        for point in range(-1, n + 1):
            digits = "".join(map(str, rng.integers(0, 10, n)))
            number = digits if point < 0 else f"{digits[:point]}.{digits[point:]}"
            cells += [number, f"-{number}", f"{'0' * int(rng.integers(4))}{number}"]
    cells = [cell for cell in cells if not _is_halfway(cell)]  # those are left to somebody else
    table, _ = compiled.read_table("\n".join(f"{c},{c}" for c in cells).encode(), ",", [1, 1])
    assert table.tobytes() == np.array([[float(c)] * 2 for c in cells]).tobytes()
    for cell in cells:
        for text in (cell, f"{cell}\n", f"{cell}\n{cell}"):
            table, _ = compiled.read_table(text.encode(), ",", [compiled.NUMBER])
            assert table.tobytes() == np.array([float(c) for c in text.split()]).tobytes(), cell
            assert compiled.read_table(f"{text}/".encode(), ",", [compiled.NUMBER]) is None
            assert compiled.read_table(f":{text}".encode(), ",", [compiled.NUMBER]) is None


@pytest.mark.parametrize("compiled_too", [False, True])
def test_lines_are_found_with_and_without_compiled_code(monkeypatch, compiled_too):
    if not compiled_too:
        monkeypatch.setenv("EIGENKIT_COMPILED", "0")
    text = b"ab\n\nc\nd"
    found = [
        compiled.after_lines(text, at, 7, most) for at in (0, 3) for most in (0, 1, 2, 9, None)
    ]
    assert found[:5] == [(0, 0), (1, 3), (2, 4), (4, 7), (4, 7)]
    assert found[5:] == [(0, 3), (1, 4), (2, 6), (3, 7), (3, 7)]
    assert compiled.after_lines(text, 0, 5) == (3, 5)
