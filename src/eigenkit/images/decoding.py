"""Bytes to pixels: four formats by content, limits before anything is decoded."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from eigenkit.files import FileError

FORMATS = ("PNG", "JPEG", "TIFF", "WEBP")  # by content; no other decoder is ever run
MAX_PIXELS = 50_000_000
MAX_BYTES = 200_000_000


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
        if type(error).__name__ == "DecompressionBombError":
            raise too_large(path, "too many pixels", MAX_PIXELS) from error
        raise FileError(
            path, f"it cannot be read as an image ({_reason(error)}): repair or remove it."
        ) from error


def _reason(error: Exception) -> str:
    text = " ".join(str(error).split())
    if type(error).__name__ == "UnidentifiedImageError":
        return "it is not a PNG, JPEG, TIFF or WebP file"
    return text[:100] or type(error).__name__


def too_large(path: Any, what: str, limit: int) -> FileError:
    """The refusal of a file that would take too much memory."""
    return FileError(path, f"it has {what}, the limit is {limit}: make it smaller.")


def decode(path: Path | None, content: bytes, max_pixels: int) -> Any:
    """An image as red, green and blue: upright, the first frame, on white where transparent."""
    from PIL import ImageOps

    Image = pillow()
    with guarded(path):
        image = Image.open(io.BytesIO(content), formats=FORMATS)
        if image.width * image.height > max_pixels:
            raise too_large(path, f"{image.width} x {image.height} pixels", max_pixels)
        if min(image.size) == 0:
            raise FileError(path, "it has no pixels: remove it.")
        image.load()
        upright = ImageOps.exif_transpose(image)
        if not is_deep(image):
            return _on_white(upright)
        values = np.asarray(upright)
        has_16 = image.mode.startswith("I;") or (image.mode, image.format) == ("I", "PNG")
        found = Image.fromarray(_as_bytes(path, values, has_16)).convert("RGB")
        found.info["bits"] = 16 if has_16 or values.max() > 255 else 8
        return found


def is_deep(image: Any) -> bool:
    """Whether a pixel is one number of more than 8 bits."""
    return bool(image.mode.startswith("I") or image.mode == "F")


def _as_bytes(path: Path | None, values: np.ndarray, has_16: bool) -> np.ndarray:
    """16 bits as 8; other numbers by how large they are: of 0..1, as 8 bits, or as 16."""
    low, top = values.min(), values.max()
    if not 0 <= low <= top <= 65535:  # nor is NaN
        raise FileError(
            path,
            f"its pixels go from {low:g} to {top:g}: give numbers from 0 to 255, from 0 to 65535, "
            "or, with a decimal point, from 0 to 1.",
        )
    if has_16 or top > 255:
        return np.asarray(values // 256, dtype=np.uint8)
    one = values.dtype.kind == "f" and top <= 1
    return np.asarray(np.round(255 * values if one else values), dtype=np.uint8)


def _on_white(image: Any) -> Any:
    Image = pillow()
    if "A" in image.getbands() or "transparency" in image.info:
        seen = image.convert("RGBA")
        white = Image.new("RGBA", seen.size, "white")
        return Image.alpha_composite(white, seen).convert("RGB")
    return image.convert("RGB")


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
