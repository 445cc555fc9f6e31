"""Draw the pictures of the pages about images: ``python docs/pictures.py [name ...]``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from PIL import Image

from eigenkit.images import Descriptor, ImageAnnotator, Plan, make_shapes
from eigenkit.images.descriptors import THESIS
from eigenkit.images.descriptors.frame import Frame, canny, grid
from eigenkit.images.descriptors.local import (
    cells,
    complex_filters,
    jet,
    log_polar,
    monomials,
    rings,
    soft_cells,
)
from eigenkit.images.descriptors.whole import gabor_bank

HERE = Path(__file__).parent / "_static"
R = 16


def sets_picture() -> Any:
    """Four sets of shapes with their terms."""
    sets, Y, terms = make_shapes(4, random_state=2)
    figure, axes = plt.subplots(4, 4, figsize=(6.2, 6.6), layout="constrained")
    for row, one, y in zip(axes, sets, Y, strict=True):
        carried = [t for t, has in zip(terms, y, strict=True) if has]
        row[0].set_title(f"{one.name}: {', '.join(carried)}", loc="left", fontsize=9)
        for k, axis in enumerate(row):
            axis.axis("off")
            if k < len(one):
                axis.imshow(one.pictures[k].pixels())
    return figure


def weights_picture() -> Any:
    """What each local descriptor weighs in a patch, and the spectrum of the Gabor filters."""
    shown = {
        "sift: 4 x 4 cells": soft_cells(R)[:, 5],
        "pca_sift: 16 x 16 cells": cells(R, 16) @ np.random.default_rng(0).random(256),
        "shape_context: 9 cells": log_polar(R) @ np.arange(1, 10),
        "spin: a ring": rings(R)[:, 2],
        "steerable: d/dx d/dy": jet(R)[:, 4],
        "differential: d4/dx4": jet(R)[:, 10],
        "complex: m = 3, n = 1": complex_filters(R)[:, 6].real,
        "moments: x y": monomials(R)[:, 3],
        "correlation: 9 x 9 cells": cells(R, 9) @ np.random.default_rng(1).random(81),
    }
    figure, axes = plt.subplots(2, 5, figsize=(9, 4), layout="constrained")
    for axis, (name, w) in zip(axes.flat, shown.items(), strict=False):
        top = np.abs(w).max()
        axis.imshow(w.reshape(2 * R, 2 * R), cmap="RdBu_r", vmin=-top, vmax=top)
        axis.set_title(name, fontsize=8)
    bank = np.fft.fftshift(gabor_bank((64, 160)).max(axis=0))
    axes.flat[9].imshow(bank, cmap="magma", aspect="auto")
    axes.flat[9].set_title("gabor: 24 filters, spectrum", fontsize=8)
    for axis in axes.flat:
        axis.set(xticks=[], yticks=[])
    return figure


def grids_picture() -> Any:
    """One image, the two grids, its edges, and what Gabor filters and pixels keep of it."""
    image = make_shapes(3, size=128, random_state=4)[0][1].pictures[0].pixels()
    frame = Frame(image)
    figure, axes = plt.subplots(1, 5, figsize=(10, 2.4), layout="constrained")
    for axis, r in zip(axes, (16, 32), strict=False):
        axis.imshow(image)
        axis.plot(*grid(frame.size, r).T, ".", color="black", markersize=3)
        axis.set_title(f"grid of radius {r}", fontsize=8)
    axes[2].imshow(canny(frame.gradient(R)) > 0, cmap="gray_r")
    axes[2].set_title("edges (shape_context)", fontsize=8)
    energy = Descriptor("gabor-fine").transform([image])[0].reshape(24, 6, 18).sum(axis=0)
    axes[3].imshow(energy, cmap="magma", aspect="auto")
    axes[3].set_title("gabor-fine, sum of 24", fontsize=8)
    axes[4].imshow(Descriptor("pixels-8").transform([image])[0].reshape(16, 16), cmap="gray")
    axes[4].set_title("pixels-8", fontsize=8)
    for axis in axes:
        axis.set(xticks=[], yticks=[])
    return figure


def features_picture() -> Any:
    """Each of the 23 features of one picture: patches that are alike have colours that are."""
    images = [_wide(seed) for seed in range(8)]
    figure, axes = plt.subplots(8, 3, figsize=(9, 11), layout="constrained")
    axes.flat[0].imshow(images[0])
    axes.flat[0].set_title("the picture, 128 x 320", fontsize=8)
    for axis, name in zip(axes.flat[1:], THESIS, strict=True):
        descriptor = Descriptor(name).fit(images)
        axis.imshow(_seen(descriptor, images), aspect="auto", cmap="gray")
        axis.set_title(name, fontsize=8)
    for axis in axes.flat:
        axis.set(xticks=[], yticks=[])
    return figure


def _wide(seed: int) -> np.ndarray:
    """Three shapes beside each other."""
    sets, _, _ = make_shapes(3, size=128, random_state=seed)
    return np.hstack([one.pictures[0].pixels() for one in sets])[:, :320]


def _seen(descriptor: Descriptor, images: list[np.ndarray]) -> np.ndarray:
    """What a descriptor keeps of the first image, as an image."""
    (first, *others) = descriptor.transform(images)
    if descriptor.name.startswith("pixels"):
        factor = int(descriptor.name.split("-")[1])
        return first.reshape(128 // factor, 320 // factor)
    if descriptor.name.startswith("gabor"):
        shape = (2, 8) if "coarse" in descriptor.name else (6, 18)
        first = first.reshape(24, *shape)
        return _coloured(first.reshape(24, -1).T, first.reshape(24, -1).T, shape)
    r = descriptor.radius
    shape = (128 // r - 1, 320 // r - 1)
    return _coloured(first, np.vstack([first, *others]), shape)


def _coloured(vectors: np.ndarray, everything: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """Three principal components as red, green and blue."""
    mean = everything.mean(axis=0)
    _, _, V = np.linalg.svd(everything - mean, full_matrices=False)
    Z = (vectors - mean) @ V[:3].T
    low, high = np.percentile(Z, [2, 98], axis=0)
    return np.clip((Z - low) / np.maximum(high - low, 1e-9), 0, 1).reshape(*shape, 3)


def evidence_picture() -> Any:
    """Parts of the score of "ring" at the points of new pictures."""
    sets, Y, terms = make_shapes(120, size=64)
    plan = Plan("sift-16", "pyramid", {"bins": "vocabulary", "n_levels": 5})
    model = ImageAnnotator([plan], size=(128, 128), weights="equal").fit(sets, Y, terms)
    new, given, _ = make_shapes(40, size=64, random_state=1)
    j = terms.index("ring")
    chosen = [one for one, y in zip(new, given, strict=True) if y[j]][:4]
    figure, axes = plt.subplots(1, 4, figsize=(9, 2.5), layout="constrained")
    for axis, one in zip(axes, chosen, strict=True):
        why = model.explain(one)
        piece = max(why.evidence, key=lambda e: e.shares[:, j].sum())
        axis.imshow(one.pictures[piece.picture].pixels())
        shares = piece.shares[:, j]
        axis.scatter(
            *(64 * piece.places.T),
            c=shares,
            s=600 * np.abs(shares) / np.abs(shares).max(),
            cmap="RdBu_r",
            vmin=-np.abs(shares).max(),
            vmax=np.abs(shares).max(),
            alpha=0.6,
        )
        axis.set_title(f"ring: {why.probabilities[j]:.0%}", fontsize=9)
        axis.set(xticks=[], yticks=[])
    return figure


PICTURES = {
    "images-sets": sets_picture,
    "images-weights": weights_picture,
    "images-grids": grids_picture,
    "images-features": features_picture,
    "images-evidence": evidence_picture,
}


def main() -> None:
    """Write them all, or those named."""
    HERE.mkdir(exist_ok=True)
    for name in sys.argv[1:] or PICTURES:
        figure = PICTURES[name]()
        figure.savefig(HERE / f"{name}.png", dpi=80, metadata={"Software": None})
        plt.close(figure)
        picture = Image.open(HERE / f"{name}.png").convert("RGB")
        picture.quantize(64).save(HERE / f"{name}.png", optimize=True)  # a third of the bytes


if __name__ == "__main__":
    main()
