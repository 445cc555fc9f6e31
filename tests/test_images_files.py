"""Image sets from folders: every odd picture is read right, every bad one refused in a sentence."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import warnings
import zlib
from pathlib import Path

import numpy as np
import pytest

from eigenkit.files import FileError
from eigenkit.images import ImageSet, ImageWarning, read_labels, read_sets
from eigenkit.images.folders import read_groups

Image = pytest.importorskip("PIL.Image", reason="needs the extra [images]")


@pytest.fixture
def folder(tmp_path):
    for name in ("a", "b"):
        (tmp_path / "images" / name).mkdir(parents=True)
        Image.new("RGB", (6, 4), (200, 10, 30)).save(tmp_path / "images" / name / "1.png")
    return tmp_path / "images"


def put(folder, image, name="2.png", **options):
    image.save(folder / "a" / name, **options)
    (picture,) = (p for p in read_sets(folder)[0].pictures if p.name == name)
    return picture.pixels()


def test_sets_views_and_order(folder):
    (folder / "b" / "ventral").mkdir()
    Image.new("L", (6, 4)).save(folder / "b" / "ventral" / "z.jpg")
    a, b = read_sets(folder)
    assert (a.name, len(a), a.views) == ("a", 1, ("",))
    assert (b.name, len(b), b.views) == ("b", 2, ("", "ventral"))
    assert a.pictures[0].digest == b.pictures[0].digest
    assert a.pictures[0].shape == (4, 6)
    np.testing.assert_array_equal(a.pictures[0].pixels()[0, 0], [200, 10, 30])
    assert a.pictures[0].pixels((8, 3)).shape == (8, 3, 3)


def test_a_table_groups_files(folder, tmp_path):
    table = tmp_path / "files.csv"
    table.write_text("file,set,view\na/1.png,x,left\nb/1.png,x,right\n")
    (one,) = read_sets(folder, table=table)
    assert (one.name, one.views) == ("x", ("left", "right"))
    table.write_text("file,set\n../../secret.png,x\n")
    with pytest.raises(FileError, match=r"line 2: '../../secret.png' is not in the folder"):
        read_sets(folder, table=table)
    table.write_text("name,set\n")
    with pytest.raises(FileError, match="no column 'file'"):
        read_sets(folder, table=table)


def test_rows_of_a_table_in_any_order_give_what_the_folder_gives(folder, tmp_path):
    (folder / "b" / "left").mkdir()
    for name in ("0.png", "b/0.png", "b/left/9.png"):
        Image.new("RGB", (6, 4)).save(folder / ("a" if "/" not in name else "") / name)
    table = tmp_path / "files.csv"
    rows = ["b/left/9.png,b,left", "b/1.png,b,", "a/1.png,a,", "b/0.png,b,", "a/0.png,a,"]
    table.write_text("\n".join(["file,set,view", *rows]))
    told, listed = (
        [(s.name, [(p.view, p.path) for p in s.pictures]) for s in read_sets(folder, table=t)]
        for t in (table, None)
    )
    assert told == listed


def test_a_file_is_in_a_set_once_and_in_two_with_a_note(folder, tmp_path):
    table = tmp_path / "files.csv"
    table.write_text("file,set,view\na/1.png,x,left\nb/../a/1.png,x,right\n")
    with pytest.raises(FileError, match=r"line 3: 'a/1.png' is in the set 'x' already"):
        read_sets(folder, table=table)
    table.write_text("file,set\na/1.png,x\na/1.png,y\nb/1.png,y\n")
    with pytest.warns(ImageWarning, match=r"^files are in more than one set \(1\): 'a/1.png'$"):
        assert [len(one) for one in read_sets(folder, table=table)] == [1, 2]


def test_sixteen_bits_alpha_cmyk_palette_and_rotation(folder):
    deep = Image.fromarray(np.full((4, 6), 0x8000, dtype=np.uint16))
    assert np.all(put(folder, deep) == 0x80)
    clear = Image.new("RGBA", (6, 4), (0, 0, 0, 0))
    assert np.all(put(folder, clear) == 255)
    half = put(folder, Image.new("LA", (6, 4), (0, 128)))
    assert np.all(np.abs(half.astype(int) - 127) <= 1)
    cmyk = put(folder, Image.new("CMYK", (6, 4), (0, 255, 255, 0)), "2.jpg")
    assert cmyk[0, 0, 0] > 200
    assert cmyk[0, 0, 1:].max() < 60
    assert put(folder, Image.new("P", (6, 4))).shape == (4, 6, 3)
    assert put(folder, Image.new("1", (6, 4), 1)).min() == 255
    turned = Image.new("RGB", (6, 4), "white")
    exif = turned.getexif()
    exif[0x0112] = 6
    pixels = put(folder, turned, "3.jpg", exif=exif)
    assert pixels.shape == (6, 4, 3)
    assert read_sets(folder)[0].pictures[-1].shape == (6, 4)


@pytest.mark.parametrize("name", ["2.jpg", "2.tif", "2.png", "2.webp"])
@pytest.mark.parametrize("orientation", [1, 3, 5, 6, 8, 99])
def test_the_shape_is_that_of_the_pixels_however_they_are_turned(folder, name, orientation):
    image = Image.new("RGB", (12, 4), "white")
    exif = image.getexif()
    exif[0x0112] = orientation
    pixels = put(folder, image, name, exif=exif)
    turned = orientation in (5, 6, 8)
    assert pixels.shape == ((12, 4, 3) if turned else (4, 12, 3))
    assert read_sets(folder)[0].pictures[-1].shape == pixels.shape[:2]


def test_the_first_frame_of_several(folder):
    frames = [Image.new("RGB", (6, 4), colour) for colour in ("red", "blue")]
    for name in ("2.tif", "2.webp", "2.png"):
        pixels = put(folder, frames[0], name, save_all=True, append_images=frames[1:])
        (folder / "a" / name).unlink()
        assert pixels[0, 0, 0] > 200
        assert pixels[0, 0, 2] < 60


def test_the_content_counts_and_not_the_name(folder):
    Image.new("RGB", (6, 4), "red").save(folder / "a" / "2.jpg", format="PNG")
    assert read_sets(folder)[0].pictures[-1].pixels()[0, 0, 0] == 255


def test_a_file_that_changed_is_not_taken_for_what_it_was(folder, tmp_path):
    from eigenkit.images import Descriptor
    from eigenkit.images.extraction import Cache, extract

    sets, cache = read_sets(folder), Cache(tmp_path / "cache")
    Image.new("RGB", (8, 8), "blue").save(folder / "a" / "1.png")
    changed = "1.png: it has changed since it was read: read the sets again"
    with pytest.raises(FileError, match=changed):
        extract(sets[:1], [Descriptor("thumbnail")], (16, 16), cache=cache)
    with pytest.raises(FileError, match=changed):
        assert sets[0].pictures[0].shape
    assert cache.get(sets[0].pictures[0].digest, (16, 16)) == {}


def test_names_with_markup_and_bytes(folder):
    odd = "<img src=x onerror=alert(1)>"
    os.rename(folder / "a", folder / odd)
    assert read_sets(folder)[0].name == odd


def bomb(width, height):
    """A PNG whose header claims any size."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(b"\0" * 100)), (b"IEND", b"")]
    body = b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )
    return b"\x89PNG\r\n\x1a\n" + body


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "it is not a PNG, JPEG, TIFF or WebP file"),
        (b"not an image", "it is not a PNG, JPEG, TIFF or WebP file"),
        (b"GIF89a" + b"\0" * 50, "it is not a PNG, JPEG, TIFF or WebP file"),
        (bomb(60_000, 60_000), "too many pixels, the limit is 50000000"),
        (bomb(20_000, 5_000), "20000 x 5000 pixels, the limit is 50000000"),
        (bomb(2**31 - 1, 2**31 - 1), "limit"),
    ],
)
def test_refused_when_listed(folder, content, message):
    (folder / "a" / "2.png").write_bytes(content)
    with pytest.raises(FileError, match=message) as error:
        read_sets(folder)
    assert str(error.value).startswith(str(folder / "a" / "2.png"))
    with pytest.warns(ImageWarning, match="left out"):
        assert len(read_sets(folder, unreadable="skip")[0]) == 1


@pytest.mark.parametrize("name", ["2.png", "2.jpg", "2.webp", "2.tif"])
def test_truncated(folder, name):
    rng = np.random.default_rng(0)
    noise = Image.fromarray(rng.integers(0, 255, (64, 64, 3), dtype=np.uint8))
    noise.save(folder / "a" / name)
    content = (folder / "a" / name).read_bytes()
    (folder / "a" / name).write_bytes(content[: len(content) // 2])
    with pytest.raises(FileError, match="cannot be read as an image"):
        read_sets(folder)[0].pictures[-1].pixels()
    with pytest.warns(ImageWarning, match="left out"):
        assert len(read_sets(folder, unreadable="skip")[0]) == 1


def test_links_out_of_the_folder_and_strange_files(folder, tmp_path):
    Image.new("RGB", (6, 4)).save(tmp_path / "secret.png")
    (folder / "a" / "2.png").symlink_to(tmp_path / "secret.png")
    with pytest.raises(FileError, match="link that leads out of the folder"):
        read_sets(folder)
    (folder / "a" / "2.png").unlink()
    (folder / "a" / "2.png").symlink_to(folder / "a" / "nowhere.png")
    with pytest.raises(FileError, match="cannot be read"):
        read_sets(folder)
    (folder / "a" / "2.png").unlink()
    os.mkfifo(folder / "a" / "2.png")
    with pytest.raises(FileError, match="it is not a file"):
        read_sets(folder)
    (folder / "a" / "2.png").unlink()
    (folder / "a" / "notes.txt").write_text("x")
    (folder / "a" / "old.BMP").write_text("x")
    (folder / "loose.png").write_text("x")
    with pytest.warns(ImageWarning, match=r"left alone \(3\): 'notes.txt', "):
        assert len(read_sets(folder)[0]) == 1


@pytest.mark.parametrize("by_table", [False, True])
def test_links_out_of_the_folder_are_left_out_with_other_unreadable_files(
    folder, tmp_path, by_table
):
    Image.new("RGB", (16, 16)).save(tmp_path / "secret.png")
    (tmp_path / "other").mkdir()
    Image.new("RGB", (16, 16)).save(tmp_path / "other" / "1.png")
    whole = {one.name: len(one) for one in read_sets(folder)}
    (folder / "a" / "link.png").symlink_to(tmp_path / "secret.png")
    (folder / "a" / "nowhere.png").symlink_to(folder / "nothing.png")
    (folder / "z").symlink_to(tmp_path / "other")
    table = None
    if by_table:
        table = tmp_path / "table.csv"
        files = [p for one in sorted(folder.iterdir()) for p in sorted(one.rglob("*.png"))]
        files.append(folder / "z" / "1.png")
        rows = [f"{p.relative_to(folder)},{p.relative_to(folder).parts[0]}" for p in files]
        table.write_text("\n".join(["file,set", *dict.fromkeys(rows)]))
    with pytest.raises(FileError, match="link that leads out of the folder"):
        read_sets(folder, table=table)
    with pytest.warns(ImageWarning) as told:
        found = read_sets(folder, table=table, unreadable="skip")
    assert {one.name: len(one) for one in found} == whole
    left = [str(note.message) for note in told]
    for name in ("link.png", "nowhere.png", "z/1.png" if by_table else "z"):
        assert sum("left out: " in note and f"/{name}" in note for note in left) == 1


def test_a_link_to_itself_is_no_picture(folder):
    (folder / "a" / "round.png").symlink_to("round.png")
    with pytest.raises(FileError, match=r"round\.png: it cannot be read \(Too many levels"):
        read_sets(folder)
    with pytest.warns(ImageWarning, match="left out: .*round"):
        assert len(read_sets(folder, unreadable="skip")) == 2


def test_links_of_folders_lead_nowhere_outside(folder, tmp_path):
    (tmp_path / "other").mkdir()
    Image.new("RGB", (6, 4)).save(tmp_path / "other" / "1.png")
    (folder / "c").symlink_to(tmp_path / "other")
    with pytest.raises(FileError, match="link that leads out of the folder"):
        read_sets(folder)


@pytest.mark.parametrize("place", ["c", "a/out", "a/view/out"])
def test_links_out_of_the_folder_are_never_looked_into(folder, tmp_path, monkeypatch, place):
    whole = [len(one) for one in read_sets(folder)]
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "deep").mkdir(parents=True)
    (folder / place).parent.mkdir(exist_ok=True)
    (folder / place).symlink_to(elsewhere)
    listed, entries = [], os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: listed.append(path) or entries(path))
    names = os.listdir
    monkeypatch.setattr(os, "listdir", lambda path: listed.append(path) or names(path))
    with pytest.raises(FileError, match=rf"{place}: it is a link that leads out of the folder"):
        read_sets(folder)
    with pytest.warns(ImageWarning, match=f"left out: .*{place}: it is a link that leads out"):
        assert [len(one) for one in read_sets(folder, unreadable="skip")] == whole
    assert not [path for path in listed if Path(path).is_relative_to(folder / place)]
    assert listed


def test_empty_folders(folder, tmp_path):
    (folder / "c").mkdir()
    with pytest.raises(FileError, match="this set holds no image"):
        read_sets(folder)
    with pytest.raises(FileError, match="no such folder"):
        read_sets(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileError, match="holds no set of images"):
        read_sets(tmp_path / "empty")


def test_what_systems_leave_in_folders_is_passed_over(folder):
    """Archives of a Mac, previews and hidden files, beside the sets and inside them."""
    for place in (folder, folder / "a", folder / "a" / "front"):
        place.mkdir(exist_ok=True)
        Image.new("RGB", (6, 4)).save(place / "._1.png")
        for name in (".DS_Store", "Thumbs.db", "desktop.ini"):
            (place / name).write_bytes(b"?")
        for name in ("__MACOSX", "@eaDir", ".thumbnails", "$RECYCLE.BIN"):
            (place / name / "below").mkdir(parents=True)
            for inside in (place / name, place / name / "below"):
                Image.new("RGB", (6, 4)).save(inside / "1.png")
    Image.new("RGB", (6, 4)).save(folder / "a" / "front" / "2.png")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        a, b = read_sets(folder)
    assert [(p.view, p.name) for p in a.pictures] == [("", "1.png"), ("front", "2.png")]
    assert (b.name, len(b)) == ("b", 1)


@pytest.mark.parametrize("array", [np.zeros(3), np.zeros((2, 2, 2)), np.full((2, 2), 7.0), "a"])
def test_bad_arrays(array):
    with pytest.raises(ValueError, match="image 0 of set 'x'"):
        ImageSet.from_arrays("x", [array])


# -- labels -----------------------------------------------------------------------------


def test_labels_as_lists_and_as_columns(folder, tmp_path):
    sets = read_sets(folder)
    table = tmp_path / "labels.csv"
    table.write_text("set,terms\nb,sea|sky\na,sky\n")
    Y, terms = read_labels(table, sets)
    assert terms == ["sea", "sky"]
    np.testing.assert_array_equal(Y, [[0, 1], [1, 1]])
    table.write_text("set;sea;sky\nb;1;1\na;0;1\n")
    Y, terms = read_labels(table, sets)
    np.testing.assert_array_equal(Y, [[0, 1], [1, 1]])


def test_sets_without_labels_and_labels_without_sets(folder, tmp_path):
    table = tmp_path / "labels.csv"
    table.write_text("set,terms\na,sky\nz,sea\n")
    with pytest.warns(ImageWarning) as told:
        Y, _ = read_labels(table, read_sets(folder))
    assert np.isnan(Y[1]).all()
    assert {str(w.message).split(":")[0] for w in told} == {
        "rows of the labels name sets without images (1)",
        "sets have no labels and are kept as unlabelled (1)",
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name,terms\na,b\n", "no column 'set'"),
        ("set,terms\na,b\na,c\n", "line 3: set 'a' has a row already"),
        ("set,sea\na,2\n", "line 2, column 'sea': '2' is neither 0 nor 1"),
        ("set,sea,sea\na,1,1\n", "two columns have the same name"),
        ("set,sea\na\n", "line 2: it has 1 cells, expected 2"),
        ("set\na\n", "no column of terms"),
        ("set,id,terms\na,1,sky\n", "column 'id' beside 'terms'"),
        ("set,terms\n", "it names no term"),
        ("", "no column 'set'"),
    ],
)
@pytest.mark.filterwarnings("ignore::eigenkit.images.ImageWarning")
def test_bad_labels(folder, tmp_path, text, message):
    (tmp_path / "labels.csv").write_text(text)
    with pytest.raises(FileError, match=message):
        read_labels(tmp_path / "labels.csv", read_sets(folder))


def test_columns_of_groups_in_any_order_and_beside_others(folder, tmp_path):
    (tmp_path / "groups.csv").write_text("gene,group,set\n1,g,b\n2,h,a\n")
    assert read_groups(tmp_path / "groups.csv", read_sets(folder)) == ["group h", "group g"]


def test_groups_without_sets_and_sets_without_groups(folder, tmp_path):
    table = tmp_path / "groups.csv"
    table.write_text("set,group\na,g\nz,g\na,g\n")
    with pytest.warns(ImageWarning) as told:
        assert read_groups(table, read_sets(folder)) == ["group g", "set b"]
    assert [str(w.message) for w in told] == [
        "rows of the groups name sets without images (1): 'z'",
        "sets have no group and are groups of their own (1): 'b'",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("set,group\na,g\nb,g\na,h\n", "line 4: set 'a' is in the group 'g' already"),
        ("set,group\nz,g\n", "it names none of the sets: it has 'z', the folder 'a'"),
        ("set,group\na,g\nb\n", "line 3: a row needs a set and a group"),
        ("set,group\n", "it names no set"),
        ("", "it has no column 'set'"),
        ("set,gene\na,g\n", r"it has no column 'group': its columns are \['set', 'gene'\]"),
    ],
)
def test_bad_groups(folder, tmp_path, text, message):
    (tmp_path / "groups.csv").write_text(text)
    with pytest.raises(FileError, match=message):
        read_groups(tmp_path / "groups.csv", read_sets(folder))


@pytest.mark.slow
def test_nothing_imports_pillow_before_an_image_is_read():
    code = (
        "import sys, eigenkit, eigenkit.cli, eigenkit.images, eigenkit.images.page; "
        "sys.exit('PIL' in sys.modules or 'cv2' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_without_pillow_a_sentence_says_what_to_install(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ImportError, match="pip install pillow"):
        read_sets(folder)
    one = ImageSet.from_arrays("x", [np.zeros((4, 4))])
    with pytest.raises(ImportError, match="pip install pillow"):
        one.pictures[0].pixels()
