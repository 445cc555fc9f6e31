"""Pictures and sets of them: bytes to pixels, with limits before anything is decoded."""

from __future__ import annotations

import hashlib
import io
import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from eigenkit.exceptions import ImageWarning
from eigenkit.files import FileError
from eigenkit.files._common import composed
from eigenkit.shell import shown

FORMATS = ("PNG", "JPEG", "TIFF", "WEBP")  # by content; no other decoder is ever run
MAX_PIXELS = 50_000_000
MAX_BYTES = 200_000_000


@dataclass(frozen=True, eq=False)
class Picture:
    """One image: where it is, the view it shows, and the hash of its content.

    Parameters
    ----------
    name : str
        Name of the file.
    view : str
        "" where there are no views.
    digest : str
        SHA-256 of the content.
    path : Path, optional
        The file; read when pixels are asked for.
    array : array of shape (height, width, 3), optional
        The pixels, where there is no file.
    max_pixels : int
        A file with more pixels is refused.
    """

    name: str
    view: str
    digest: str
    path: Path | None = None
    array: np.ndarray | None = field(default=None, repr=False)
    max_pixels: int = MAX_PIXELS

    def pixels(self, size: tuple[int, int] | None = None) -> np.ndarray:
        """Red, green and blue as unsigned bytes, brought to (height, width)."""
        if self.array is not None:
            image = pillow().fromarray(self.array)
        else:
            image = decode(self.path, self._content(), self.max_pixels)
        if size is not None and image.size != (size[1], size[0]):
            image = image.resize((size[1], size[0]), pillow().Resampling.BILINEAR)
        return np.asarray(image)

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width, without decoding."""
        if self.array is not None:
            return self.array.shape[0], self.array.shape[1]
        with guarded(self.path):
            image = opened(self.path, self._content(), self.max_pixels)
            width, height = image.size
            if image.format == "TIFF":  # some versions of the reader have turned it already
                width, height = image.tag_v2[256], image.tag_v2[257]
            lies = image.getexif().get(0x0112, 1) in range(5, 9)  # sides are exchanged
            return (width, height) if lies else (height, width)

    def _content(self) -> bytes:
        """The bytes that its digest is of: vectors of others would be kept under a wrong name."""
        content = content_of(self.path)
        if digest(content) != self.digest:
            raise FileError(self.path, "it has changed since it was read: read the sets again.")
        return content


@dataclass(frozen=True, eq=False)
class ImageSet:
    """Several images of one thing, which share their terms.

    Parameters
    ----------
    name : str
    pictures : tuple of Picture

    Examples
    --------
    >>> import numpy as np
    >>> from eigenkit.images import ImageSet
    >>> one = ImageSet.from_arrays("cat", [np.zeros((8, 8)), np.ones((8, 8, 3))])
    >>> len(one), one.views
    (2, ('',))
    """

    name: str
    pictures: tuple[Picture, ...]

    def __len__(self) -> int:
        return len(self.pictures)

    @property
    def views(self) -> tuple[str, ...]:
        """The views that its images show, in order."""
        return tuple(sorted({picture.view for picture in self.pictures}))

    @classmethod
    def from_arrays(
        cls, name: str, arrays: Iterable[Any], views: Sequence[str] | None = None
    ) -> ImageSet:
        """A set of arrays: (height, width) or (height, width, 3), bytes or numbers in [0, 1]."""
        images = [_from_array(name, i, array) for i, array in enumerate(arrays)]
        if not images:
            raise ValueError(f"set {shown(name)} holds no image: give at least one.")
        shows = list(views) if views is not None else [""] * len(images)
        if len(shows) != len(images):
            raise ValueError(f"set {shown(name)} has {len(images)} images and {len(shows)} views.")
        pictures = []
        for i, (view, image) in enumerate(zip(shows, images, strict=True)):
            known = digest(image.tobytes() + repr(image.shape).encode())
            pictures.append(Picture(str(i), composed(str(view)), known, None, image))
        return cls(composed(str(name)), tuple(pictures))


Sets = Sequence[ImageSet]


def _from_array(name: str, i: int, array: Any) -> np.ndarray:
    given = np.asarray(array)
    if given.ndim == 2:
        given = np.repeat(given[:, :, None], 3, axis=2)
    if given.ndim != 3 or given.shape[2] != 3 or given.size == 0 or given.dtype.kind not in "buif":
        raise ValueError(
            f"image {i} of set {shown(name)} has the shape {np.shape(array)}: give numbers of "
            "shape (height, width) or (height, width, 3)."
        )
    if given.dtype == np.uint8:
        return np.ascontiguousarray(given)
    numbers = given.astype(np.float64)
    if not np.all((numbers >= 0) & (numbers <= 1)):
        raise ValueError(
            f"image {i} of set {shown(name)} holds numbers outside [0, 1]: give unsigned bytes, "
            "or numbers in [0, 1]."
        )
    return np.round(255 * numbers).astype(np.uint8)


def view_in_words(view: str) -> str:
    """A view by its name; pictures beside the folders of views have none."""
    return view or "no view"


def readable(name: str) -> str:
    """A file name as text that every output can hold, with composed letters."""
    return composed(os.fsencode(name).decode("utf-8", "replace"))


def digest(content: bytes) -> str:
    """What tells a picture from others."""
    return hashlib.sha256(content).hexdigest()


def small_pictures(sets: Sets, size: tuple[int, int]) -> np.ndarray:
    """The first picture of every set, small: what a page shows of the sets seen in fit."""
    scale = 48 / max(size)
    small = max(round(scale * size[0]), 1), max(round(scale * size[1]), 1)
    return np.array([one.pictures[0].pixels(small) for one in sets])


def tell_names(names: Sequence[str], what: str, stacklevel: int) -> None:
    """Warn about things, if there are any: how many, and the names of some."""
    if names:
        more = " and more" if len(names) > 5 else ""
        text = f"{what} ({len(names)}): {', '.join(map(shown, names[:5]))}{more}"
        warnings.warn(text, ImageWarning, stacklevel=stacklevel)


# -- decoding ---------------------------------------------------------------------------


def pillow() -> Any:
    """The imaging library, which is an extra."""
    try:
        from PIL import Image
    except ImportError as error:
        raise ImportError("reading images needs pillow: pip install pillow.") from error
    return Image


@contextmanager
def guarded(path: Path | None) -> Iterator[None]:
    """What a decoder throws at a damaged file becomes one sentence about it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about metadata; sizes are checked here
            yield
    except (FileError, ImportError):
        raise
    except Exception as error:
        kind = type(error).__name__
        if kind == "DecompressionBombError":
            raise too_large(path, "too many pixels", MAX_PIXELS) from error
        reason = " ".join(str(error).split())[:100] or kind
        if kind == "UnidentifiedImageError":
            reason = "it is not a PNG, JPEG, TIFF or WebP file"
        message = f"it cannot be read as an image ({reason}): repair or remove it."
        raise FileError(path, message) from error


def too_large(path: Any, what: str, limit: int) -> FileError:
    """The refusal of a file that would take too much memory."""
    return FileError(path, f"it has {what}, the limit is {limit}: make it smaller.")


def opened(path: Path | None, content: bytes, max_pixels: int) -> Any:
    """An image whose header has been read: it is refused if it is too large or empty."""
    image = pillow().open(io.BytesIO(content), formats=FORMATS)
    if image.width * image.height > max_pixels:
        raise too_large(path, f"{image.width} x {image.height} pixels", max_pixels)
    if min(image.size) == 0:
        raise FileError(path, "it has no pixels: remove it.")
    return image


def decode(path: Path | None, content: bytes, max_pixels: int) -> Any:
    """An image as red, green and blue: upright, the first frame, on white where transparent."""
    from PIL import ImageOps

    with guarded(path):
        image = opened(path, content, max_pixels)
        has_16 = _has_16(image)
        image.load()
        upright = ImageOps.exif_transpose(image)
        if _is_one_number(image):
            return _from_numbers(path, upright, has_16)
        clear = upright.info.get("transparency")
        if has_16 and isinstance(clear, tuple):  # given as its pixels are in the file
            upright.info["transparency"] = tuple(value // 256 for value in clear)
        if "A" in upright.getbands() or "transparency" in upright.info:
            seen = upright.convert("RGBA")
            upright = pillow().alpha_composite(pillow().new("RGBA", seen.size, "white"), seen)
        found = upright.convert("RGB")
        found.info["bits"] = 16 if has_16 else 8
        return found


def _is_one_number(image: Any) -> bool:
    return bool(image.mode.startswith("I") or image.mode == "F")


def _has_16(image: Any) -> bool:
    """Whether its numbers have 16 bits; of colours, Pillow reads only the upper 8.

    This is known only before the pixels are loaded.
    """
    if _is_one_number(image):
        return bool(image.mode.startswith("I;") or (image.mode, image.format) == ("I", "PNG"))
    return any(";16" in str(tile[3]) for tile in image.tile)


def _from_numbers(path: Path | None, image: Any, has_16: bool) -> Any:
    """16 bits as 8; other numbers by how large they are: of 0..1, as 8 bits, or as 16."""
    values, clear = np.asarray(image), image.info.get("transparency")
    low, top = values.min(), values.max()
    if not 0 <= low <= top <= 65535:  # nor is NaN
        raise FileError(
            path,
            f"its pixels go from {low:g} to {top:g}: give numbers from 0 to 255, from 0 to 65535, "
            "or, with a decimal point, from 0 to 1.",
        )
    deep = has_16 or top > 255
    scale = 255 if values.dtype.kind == "f" and top <= 1 else 1
    grey = np.asarray(values // 256 if deep else np.round(scale * values), dtype=np.uint8)
    if clear is not None:
        grey = np.where(values == clear, np.uint8(255), grey)
    found = pillow().fromarray(grey).convert("RGB")
    found.info["bits"] = 16 if deep else 8
    found.info["largest"] = int(top) >> 8
    return found


def look_at(path: Path, view: str, max_pixels: int, *, whole: bool) -> tuple[Picture, bool]:
    """A file with a sound header (and pixels, if ``whole``), and whether it is nearly black.

    Of those with more than 8 bits, the pixels are looked at in any case.
    """
    content, dark = content_of(path), False
    with guarded(path):
        image = opened(path, content, max_pixels)
        deep = _is_one_number(image) or _has_16(image)
    if deep or whole:
        image = decode(path, content, max_pixels)
        largest = image.info.get("largest", np.asarray(image).max())  # clear pixels are white
        dark = image.info.get("bits") == 16 and largest < 4096 // 256
    return Picture(readable(path.name), view, digest(content), path, None, max_pixels), dark


def content_of(path: Path | None) -> bytes:
    """The bytes of a file, which is refused if it is too large."""
    assert path is not None
    try:
        with open(path, "rb") as stream:
            content = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise FileError(path, f"it cannot be read ({error.strerror}).") from error
    if len(content) > MAX_BYTES:
        raise too_large(path, f"more than {MAX_BYTES} bytes", MAX_BYTES)
    return content
