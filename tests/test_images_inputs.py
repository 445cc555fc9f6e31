"""What users give to annotate: read as it is meant, or answered by one sentence or a note."""

from __future__ import annotations

import json
import struct
import unicodedata
import zlib

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.exceptions import NotFittedError

from eigenkit.cli import app
from eigenkit.files import FileError
from eigenkit.images import (
    Descriptor,
    ImageAnnotator,
    ImageSet,
    ImageWarning,
    Plan,
    adapt,
    load_annotator,
    make_shapes,
    read_labels,
    read_sets,
    save_annotator,
)
from eigenkit.images.checks import by_name, check_groups, check_terms, name_new_views
from eigenkit.images.comparison import FinishedFolds, compare
from eigenkit.images.descriptors.frame import pooled
from eigenkit.images.folders import read_groups
from eigenkit.images.kernels import DEFAULT, plans_of
from eigenkit.images.shapes import write_folder
from eigenkit.images.term_reports import how_good, in_words

Image = pytest.importorskip("PIL.Image", reason="needs the extra [images]")

RED = Image.new("RGB", (6, 4), (200, 10, 30))
PIECES = unicodedata.normalize("NFD", "café")


def blank_sets(*names):
    return [ImageSet.from_arrays(name, [np.zeros((16, 16))]) for name in names]


def small_model(**parameters):
    return ImageAnnotator(["thumbnail"], size=(16, 16), weights="equal", **parameters)


@pytest.fixture(scope="module")
def shapes():
    return make_shapes(30, size=32)


@pytest.fixture(scope="module")
def fitted(shapes):
    return small_model().fit(*shapes)


@pytest.fixture
def folder(tmp_path):
    for name in ("a", "b"):
        (tmp_path / "images" / name).mkdir(parents=True)
        RED.save(tmp_path / "images" / name / "1.png")
    return tmp_path / "images"


@pytest.fixture
def labels(tmp_path):
    def written(text):
        (tmp_path / "labels.csv").write_text(text, encoding="utf-8")
        return tmp_path / "labels.csv"

    return written


# -- folders and tables -----------------------------------------------------------------


def test_pictures_below_the_folder_of_a_view_are_told(folder):
    deep = folder / "a" / "front" / "old" / "older"
    deep.mkdir(parents=True)
    RED.save(deep / "lost.png")
    RED.save(deep.parent / "also.png")
    (deep.parent / ".hidden").touch()
    with pytest.warns(ImageWarning, match=r"below the folders of views.* \(2\): 'also.png', "):
        assert [len(one) for one in read_sets(folder)] == [1, 1]


def test_letters_in_pieces_and_in_one_piece_are_the_same_name(folder, labels, tmp_path):
    (folder / PIECES).mkdir()
    RED.save(folder / PIECES / f"{PIECES}.png")
    *_, last = sets = read_sets(folder)
    assert last.name == "café"
    Y, terms = read_labels(labels(f"set,terms\na,{PIECES}\nb,café|x\ncafé,{PIECES}\n"), sets)
    assert terms == ["café", "x"]
    np.testing.assert_array_equal(Y, [[1, 0], [1, 1], [1, 0]])
    table = tmp_path / "files.csv"
    table.write_text(f"file,set\ncafé/café.png,{PIECES}\na/1.png,café\n", encoding="utf-8")
    (one,) = read_sets(folder, table=table)
    assert (one.name, len(one)) == ("café", 2)
    groups = labels(f"set,group\na,{PIECES}\nb,café\n{PIECES},other\n")
    assert len(set(read_groups(groups, sets))) == 2
    assert ImageSet.from_arrays(PIECES, [np.zeros((4, 4))]).name == "café"
    (folder / "café").mkdir()
    with pytest.raises(FileError, match="there are two folders named 'café'"):
        read_sets(folder)


@pytest.mark.parametrize("word", ["NA", "nan", "?", "N/A"])
def test_a_missing_value_is_no_term(folder, labels, word):
    sets = read_sets(folder)
    for text in (f"set,terms\na,{word}\nb,red\n", f"set,red\na,{word}\nb,1\n"):
        with pytest.warns(
            ImageWarning, match=r"sets have no labels and are kept as unlabelled \(1\): 'a'"
        ):
            Y, terms = read_labels(labels(text), sets)
        assert terms == ["red"]
        np.testing.assert_array_equal(Y, [[np.nan], [1]])
    with pytest.raises(FileError, match=r"line 2: .* stands for a missing value"):
        read_labels(labels(f"set,terms\na,red|{word}\nb,red\n"), sets)
    with pytest.raises(FileError, match=r"line 2, column 'blue': .* is neither 0 nor 1"):
        read_labels(labels(f"set,red,blue\na,1,{word}\nb,1,0\n"), sets)
    with pytest.raises(FileError, match="line 2: a row needs a set and a group"):
        read_groups(labels(f"set,group\na,{word}\n"), sets)


def test_an_empty_cell_says_that_there_is_no_term(folder, labels):
    with pytest.warns(
        ImageWarning, match=r"sets carry no term, as their cells are empty \(1\): 'a'"
    ):
        Y, _ = read_labels(labels("set,terms\na,\nb,red\n"), read_sets(folder))
    np.testing.assert_array_equal(Y, [[0], [1]])


def test_sets_to_learn_from_have_a_name_each(shapes):
    """Pages and tables know sets by their names: of two with one name, they would show the same."""
    sets, Y, terms = shapes
    named = [*sets[:-1], ImageSet(sets[0].name, sets[-1].pictures)]
    for learn in (small_model().fit, compare):
        with pytest.raises(ValueError, match=f"sets has {sets[0].name!r} twice: give each once"):
            learn(named, Y, terms)


@pytest.mark.parametrize("name", ["red|blue", ""])
def test_a_term_that_cannot_be_listed_is_refused(shapes, name):
    sets, Y, terms = shapes
    with pytest.raises(
        ValueError, match=r"cannot be told apart from others in a list separated by \|"
    ):
        small_model().fit(sets, Y, [name, *terms[1:]])


# -- pixels -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (np.array([[0, 7, 255]], dtype=np.int32), [0, 7, 255]),
        (np.array([[0, 256, 65535]], dtype=np.int32), [0, 1, 255]),
        (np.array([[0, 255, 65535]], dtype=np.uint16), [0, 0, 255]),
        (np.array([[0, 0.5, 1]], dtype=np.float32), [0, 128, 255]),
        (np.array([[0, 1.4, 200]], dtype=np.float32), [0, 1, 200]),
        (np.array([[0, 512.5, 65535]], dtype=np.float32), [0, 2, 255]),
    ],
)
def test_deep_pixels_by_their_range(folder, values, expected):
    Image.fromarray(values).save(folder / "a" / "deep.tif")
    _, deep = read_sets(folder)[0].pictures
    np.testing.assert_array_equal(deep.pixels()[0, :, 1], expected)


@pytest.mark.parametrize("wrong", [-1, 70_000, np.nan, np.inf])
def test_other_pixels_are_refused_when_files_are_read(folder, wrong):
    for kind in (np.int32, np.float32) if np.isfinite(wrong) else (np.float32,):
        _refuses(folder, np.array([[0, wrong]], dtype=kind))


def _refuses(folder, values):
    Image.fromarray(values).save(folder / "a" / "odd.tif")
    with pytest.raises(FileError, match=r"odd\.tif: its pixels go from .*: give numbers from 0"):
        read_sets(folder)
    with pytest.warns(ImageWarning, match="left out: .*its pixels go"):
        assert len(read_sets(folder, unreadable="skip")[0]) == 1


def test_twelve_bits_in_sixteen_are_told(folder):
    Image.fromarray(np.array([[0, 4095]], dtype=np.uint16)).save(folder / "a" / "12.tif")
    Image.fromarray(np.array([[0, 0.01]], dtype=np.float32)).save(folder / "b" / "dark.tif")
    with pytest.warns(ImageWarning, match=r"without a pixel above 4095 .* \(1\): '12\.tif'"):
        read_sets(folder)


def png(kind, values, clear=None):
    """A PNG of 16 bits: grey (0), RGB (2) or RGBA (6); Pillow does not write those of colours."""
    height, width = values.shape[:2]
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in values)
    chunks = [
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 16, kind, 0, 0, 0)),
        *([(b"tRNS", np.asarray(clear, dtype=">u2").tobytes())] if clear is not None else []),
        (b"IDAT", zlib.compress(rows)),
        (b"IEND", b""),
    ]
    parts = [
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in chunks
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def test_twelve_bits_in_sixteen_of_colour_are_told(folder):
    dark = np.array([[[4095, 100, 3000, 65535], [0, 0, 256, 65535]]])
    (folder / "a" / "rgb.png").write_bytes(png(2, dark[..., :3]))
    (folder / "a" / "rgba.png").write_bytes(png(6, dark))
    (folder / "b" / "bright.png").write_bytes(png(2, 16 * dark[..., :3]))
    told = r"without a pixel above 4095 .* \(2\): 'rgb\.png', 'rgba\.png'$"
    with pytest.warns(ImageWarning, match=told):
        a, b = read_sets(folder)
    np.testing.assert_array_equal(a.pictures[1].pixels()[0], [[15, 0, 11], [0, 0, 1]])
    np.testing.assert_array_equal(b.pictures[1].pixels()[0], [[255, 6, 187], [0, 0, 16]])


def test_clear_pixels_are_white_and_do_not_hide_twelve_bits(folder):
    (folder / "a" / "grey.png").write_bytes(png(0, np.array([[4095, 7, 300]]), 7))
    with pytest.warns(ImageWarning, match=r"without a pixel above 4095 .* \(1\): 'grey\.png'$"):
        read_sets(folder)


def test_the_transparent_colour_of_sixteen_bits_is_white(folder):
    grey = np.array([[0x1234, 0x1235, 0x8000]])
    (folder / "a" / "grey.png").write_bytes(png(0, grey, 0x1234))
    colours = np.array([[[0x1234, 0x8000, 0], [0x8000, 0x8000, 0]]])
    (folder / "a" / "rgb.png").write_bytes(png(2, colours, [0x1234, 0x8000, 0]))
    _, grey, rgb = read_sets(folder)[0].pictures
    np.testing.assert_array_equal(grey.pixels()[0, :, 1], [255, 0x12, 0x80])
    np.testing.assert_array_equal(rgb.pixels()[0], [[255, 255, 255], [0x80, 0x80, 0]])


# -- arguments --------------------------------------------------------------------------


def test_an_index_of_names_says_which_row_is_of_which_set(shapes):
    pandas = pytest.importorskip("pandas")
    sets = blank_sets("a", "b", "c", "d", PIECES)
    frame = pandas.DataFrame({"x": [1, 0, 0, 0, 1]}, index=[PIECES, "d", "c", "b", "a"])
    np.testing.assert_array_equal(check_terms(frame, None, sets)[0][:, 0], [1, 0, 0, 0, 1])
    turned = frame.set_axis(["a", "b", "c", "d", "café"][::-1]).iloc[::-1]
    turned.iloc[0] = 0
    np.testing.assert_array_equal(check_terms(turned, None, sets)[0][:, 0], [0, 0, 0, 0, 1])
    by_place = frame.reset_index(drop=True)
    np.testing.assert_array_equal(check_terms(by_place, None, sets)[0], by_place)
    groups = pandas.Series([0, 1, 2, 3, 4], index=["e", "d", "c", "b", "a"])
    with pytest.raises(ValueError, match="the index of groups has names, and 'café' is not among"):
        check_groups(groups, sets)
    assert by_name("groups", groups, sets[:2]).tolist() == [4, 3]
    twice = frame.set_axis(["a", "b", "c", "d", "d"])
    with pytest.raises(ValueError, match="the index of Y has a name twice"):
        check_terms(twice, None, sets[:4])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"kernels": ["hsv", "hsv"]}, "kernels has 'hsv mean map' twice"),
        ({"kernels": ["hsv", Plan("hsv")]}, "kernels has 'hsv mean map' twice"),
        ({"kernels": ["sift-x"]}, "descriptor 'sift-x' is not known"),
        ({"kernels": ["hsv:nothing"]}, "kind='nothing' is not known"),
        ({"descriptors": ["hsv"]}, "descriptors has 'hsv', which is not a Descriptor"),
        ({"descriptors": [Descriptor("m", np.mean)] * 2}, "descriptors has 'm' twice"),
        ({"descriptors": [Descriptor("hsv", np.mean)]}, "'hsv' has the name of a built-in one"),
        ({"n_jobs": 0}, "n_jobs=0 is not valid"),
        ({"random_state": None}, "random_state=None is not valid"),
        ({"cache": 3}, "cache=3 is not valid"),
        ({"size": (32.5, 32)}, r"size=\(32.5, 32\) is not valid"),
        ({"size": "32x32"}, "size='32x32' is not valid"),
    ],
)
def test_wrong_parameters_get_one_sentence(shapes, parameters, message):
    with pytest.raises((ValueError, TypeError), match=message):
        small_model().set_params(**parameters).fit(*shapes)


def test_a_cache_that_cannot_be_written_is_named(shapes, tmp_path):
    (tmp_path / "file").write_text("not a folder")
    for place in (tmp_path / "file", tmp_path / "file" / "below"):
        sentence = rf"{place}: the cache cannot be written there \(.+\): name another folder"
        with pytest.raises(FileError, match=sentence):
            small_model(cache=place).fit(*shapes)
        with pytest.raises(FileError, match=sentence):
            FinishedFolds(small_model(cache=place), "key").put(0, small_model(), None)


def test_groups_that_are_missing_and_models_that_are_not_fitted(shapes, fitted, tmp_path):
    sets, Y, terms = shapes
    with pytest.raises(ValueError, match="groups holds a missing value"):
        small_model().fit(sets, Y, terms, [None, *range(29)])
    with pytest.raises(NotFittedError):
        save_annotator(small_model(), tmp_path / "m.ek")
    save_annotator(fitted, tmp_path / "m.ek")
    with pytest.raises(ValueError, match="has the name of a built-in one"):
        load_annotator(tmp_path / "m.ek", [Descriptor("thumbnail", np.mean)])


def test_a_kernel_is_named_as_on_the_command_line():
    own = [Descriptor("mine: all", np.mean)]
    assert plans_of(["sift-32:pyramid", "hsv", "mine: all"], own) == (
        Plan("sift-32", "pyramid"),
        Plan("hsv"),
        Plan("mine: all"),
    )


# -- small images -----------------------------------------------------------------------


def test_cells_smaller_than_pixels_have_the_pixel_that_they_are_in():
    np.testing.assert_array_equal(pooled(np.arange(3.0)[None], 1, 6)[0], [0, 0, 1, 2, 2, 2])
    maps = np.random.default_rng(0).random((2, 8, 6))
    np.testing.assert_allclose(pooled(maps, 4, 3), maps.reshape(2, 4, 2, 3, 2).mean(axis=(2, 4)))


@pytest.mark.parametrize("size", [(16, 16), (32, 200), (33, 33), (48, 48), (63, 40)])
def test_default_descriptors_at_small_sizes(size):
    image = np.random.default_rng(0).integers(0, 256, (*size, 3), dtype=np.uint8)
    for plan in plans_of("auto", (), size):
        (vectors,) = Descriptor(plan.descriptor).transform([image])
        assert vectors.size, plan
        assert np.isfinite(vectors).all(), plan


def test_kernels_without_room_for_their_patches_are_left_out(shapes):
    model = ImageAnnotator("default", size=(16, 16))
    with pytest.warns(
        ImageWarning, match=r"kernels are left out, .*16 x 16.*\(3\): 'dense_sift-16 fisher'"
    ):
        model._prepare(shapes[0])
    assert len(model._plans()) == len(DEFAULT) - 3
    with pytest.raises(ValueError, match="too small for sift-16"):
        ImageAnnotator(["sift-16"], size=(16, 16))._prepare(shapes[0])


# -- what is said -----------------------------------------------------------------------


def test_a_note_counts_the_sets_with_new_views():
    sets = [ImageSet.from_arrays(f"s{i}", [np.zeros((4, 4))] * 2, ["a", "b"]) for i in range(3)]
    with pytest.warns(ImageWarning, match="are in 3 of 3 sets, such as 'b' of set 's0'"):
        name_new_views(sets, {"a", None})


def test_what_no_term_tells_is_not_known(fitted):
    n = len(fitted.terms_)
    good = how_good(fitted, np.zeros((3, n)), np.zeros((3, n)))
    assert (good["mean AUC"], good["mean F1"]) == (None, None)
    assert in_words(good).startswith("mean AUC not known, precision at one not known, mean F1 not")
    good = how_good(fitted, np.ones((3, n)), np.zeros((3, n)))
    assert "mean AUC not known, precision at one 1.000" in in_words(good)


def test_adapting_twice_to_the_same_sets_changes_nothing(fitted):
    new = make_shapes(30, size=32, random_state=1)[0]
    once = adapt(fitted, new)
    S = once.decision_function(new)
    assert not np.allclose(S, fitted.decision_function(new))
    np.testing.assert_allclose(adapt(once, new).decision_function(new), S)


# -- the command ------------------------------------------------------------------------

FAST = ["--kernels", "thumbnail", "--size", "16x16", "--no-cache", "--jobs", "1"]


def run(*arguments):
    return CliRunner().invoke(app, ["annotate", *map(str, arguments)])


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    place = tmp_path_factory.mktemp("drawn")
    sets, Y, terms = make_shapes(12, size=16)
    write_folder(sets, Y, ["=red", *terms[1:]], place)
    answer = run("fit", place / "images", place / "labels.csv", "--out", place / "m.ek", *FAST)
    assert answer.exit_code == 0, answer.output
    return place


def test_a_picture_is_never_replaced(drawn):
    picture = next((drawn / "images").rglob("*.png"))
    before = picture.read_bytes()
    inputs = drawn / "images", drawn / "labels.csv"
    for words in (
        ("fit", *inputs, "--out", picture),
        ("fit", *inputs, "--out", drawn / "n.ek", "--report", picture),
        ("compare", *inputs, "--report", picture),
        ("predict", drawn / "m.ek", drawn / "images", "--out", picture),
    ):
        answer = run(*words, "--force", "--no-cache")
        assert answer.exit_code != 0
        assert "it is a picture, which is not replaced" in answer.output
    assert picture.read_bytes() == before


def test_formulas_are_kept_on_request(drawn):
    words = ("predict", drawn / "m.ek", drawn / "images", "--no-cache", "--proba")
    assert ",'=red" in run(*words).stdout
    assert ",=red" in run(*words, "--keep-formulas").stdout


def test_options_that_make_no_sense(drawn):
    words = ("fit", drawn / "images", drawn / "labels.csv", "--out", drawn / "n.ek", "--no-cache")
    assert "0 is not a number of processes" in run(*words, "--jobs", 0).output
    assert "'hsv mean map' twice" in run(*words, "--kernels", "hsv,hsv", "--size", "16x16").output


def test_sets_and_their_views_are_both_counted(tmp_path):
    sets, Y, terms = make_shapes(12, size=16)
    write_folder(sets, Y, terms, tmp_path)
    for one in sorted((tmp_path / "images").iterdir())[:8]:
        (one / "side").mkdir()
        Image.new("RGB", (16, 16)).save(one / "side" / "x.png")
    words = ("fit", tmp_path / "images", tmp_path / "labels.csv", "--out", tmp_path / "m.ek")
    answer = run(*words, *FAST, "--unseen-views", "--json")
    record = json.loads(answer.stdout)
    assert (record["n_sets"], record["n_labelled"], record["n_set_views"]) == (12, 12, 20)
    answer = run(*words, *FAST, "--unseen-views", "--force")
    assert "12 sets in 20 set-views, 12 with labels" in answer.stdout
