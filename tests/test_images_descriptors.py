"""Descriptors against their definitions: counts, dimensions, and what must not change them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import ndimage

from eigenkit.images import DESCRIPTORS, Descriptor
from eigenkit.images.descriptors import THESIS
from eigenkit.images.descriptors.frame import (
    Frame,
    canny,
    gradient,
    grid,
    orientations,
)
from eigenkit.images.descriptors.local import complex_filters, jet, log_polar, offsets, soft_cells
from eigenkit.images.descriptors.whole import gabor_bank

DIMENSIONS = {
    "sift": 128,
    "pca_sift": 36,
    "shape_context": 36,
    "spin": 50,
    "steerable": 14,
    "differential": 14,
    "complex": 15,
    "moments": 20,
    "correlation": 81,
}
WHOLE = {
    "gabor-coarse": 384,
    "gabor-fine": 2592,
    "pixels-2": 10240,
    "pixels-4": 2560,
    "pixels-8": 640,
    "hog-8": 8 * 20 * 27,
    "hog-4": 4 * 10 * 27,
    "hog_smooth": 4 * 10 * 27,
    "pattern": 8 * 20,
    "hsv": 960,
    "lab": 900,
    "thumbnail": 768,
    "lbp": 944,
}


@pytest.fixture(scope="module")
def image():
    rng = np.random.default_rng(0)
    smooth = ndimage.gaussian_filter(rng.random((128, 320, 3)), (3, 3, 0))
    return (255 * (smooth - smooth.min()) / np.ptp(smooth)).astype(np.uint8)


def test_the_thesis_has_23():
    assert len(THESIS) == 23


@pytest.mark.parametrize(("r", "points"), [(16, 7 * 19), (32, 3 * 9)])
@pytest.mark.parametrize("name", DIMENSIONS)
def test_counts_and_dimensions_of_local_ones(image, name, r, points):
    descriptor = Descriptor(f"{name}-{r}").fit([image])
    (V,) = descriptor.transform([image])
    assert V.shape == (points, DIMENSIONS[name])
    assert V.dtype == np.float32
    assert np.all(np.isfinite(V))
    places = descriptor.places((128, 320))
    assert places.shape == (points, 2)
    np.testing.assert_allclose(places[0], [r / 320, r / 128])


@pytest.mark.parametrize("name", WHOLE)
def test_dimensions_of_global_ones(image, name):
    (v,) = Descriptor(name).transform([image])
    assert v.shape == (1, WHOLE[name])
    assert Descriptor(name).places((128, 320)) is None


@pytest.mark.parametrize("name", DESCRIPTORS)
@pytest.mark.parametrize("level", [0, 255])
def test_a_blank_image_gives_finite_numbers(image, name, level):
    blank = np.full((64, 64, 3), level, dtype=np.uint8)
    (v,) = Descriptor(name).fit([image]).transform([blank])
    assert np.all(np.isfinite(v))


def patch(image, r, k=0):
    x, y = grid(image.shape[:2], r)[k].astype(int)
    return np.s_[y - r : y + r, x - r : x + r]


def test_sift_is_the_histogram_of_its_definition(image):
    """Every pixel votes for two directions and four cells."""
    r, frame = 16, Frame(image)
    dx, dy = (g[patch(image, r, 5)].astype(float) for g in frame.gradient(r))
    H = np.zeros((4, 4, 8))
    for i in range(32):
        for j in range(32):
            u, v = j - 15.5, i - 15.5
            weight = np.hypot(dx[i, j], dy[i, j]) * np.exp(-(u * u + v * v) / (2 * r * r))
            turn = np.arctan2(dy[i, j], dx[i, j]) / (2 * np.pi) * 8
            for row in range(4):
                for column in range(4):
                    share = max(0, 1 - abs(v / 8 + 1.5 - row)) * max(
                        0, 1 - abs(u / 8 + 1.5 - column)
                    )
                    for k in range(8):
                        off = abs((turn - k + 4) % 8 - 4)
                        H[row, column, k] += weight * share * max(0, 1 - off)
    v = H.ravel() / np.linalg.norm(H)
    v = np.minimum(v, 0.2)
    expected = v / np.linalg.norm(v)
    np.testing.assert_allclose(Descriptor("sift-16").transform([image])[0][5], expected, atol=2e-5)


@pytest.mark.parametrize("r", [16, 32])
def test_pca_sift_takes_the_means_of_cells(image, r):
    g = Frame(image).gradient(r)
    side = r // 8
    for k in (0, 5, -1):
        blocks = np.stack([m[patch(image, r, k)] for m in g]).reshape(2, 16, side, 16, side)
        expected = blocks.mean(axis=(2, 4)).ravel()
        found = Descriptor(f"pca_sift-{r}")._compute(Frame(image))[k]
        np.testing.assert_allclose(found, expected / np.linalg.norm(expected), atol=1e-5)


def test_pca_sift_keeps_the_most_of_the_patches(image):
    descriptor = Descriptor("pca_sift-16").fit([image])
    full = descriptor._compute(Frame(image)).astype(float)
    C = descriptor.components_
    np.testing.assert_allclose(C @ C.T, np.eye(36), atol=1e-5)
    kept = np.sum((full @ C.T) ** 2)
    values = np.linalg.eigvalsh(full.T @ full)[::-1]
    np.testing.assert_allclose(kept, values[:36].sum(), rtol=1e-4)


def test_log_polar_cells_share_the_disc():
    W = log_polar(16)
    x, y = offsets(16)
    np.testing.assert_array_equal(W.sum(axis=1), np.hypot(x, y) < 16)
    assert W.shape[1] == 9
    np.testing.assert_allclose(W[:, 1:5].sum(axis=0), W[:, 1].sum())


def test_shape_context_counts_edges_only_along_a_line():
    bars = np.zeros((64, 64, 3), dtype=np.uint8)
    bars[:, 32:] = 255
    (v,) = Descriptor("shape_context-32").transform([bars])
    by_direction = v.reshape(9, 4).sum(axis=0)
    assert by_direction[0] > 0.99 * by_direction.sum()  # the gradient of the edge is along x


def test_canny_thins_a_step_to_one_line():
    step = np.zeros((20, 20), dtype=np.float32)
    step[:, 10:] = 1
    edges = canny(gradient(ndimage.gaussian_filter(step, 1.5)))
    np.testing.assert_array_equal(np.count_nonzero(edges, axis=1), 1)


def test_spin_rings_hold_shares_and_ignore_rotation_and_light(image):
    v = Descriptor("spin-16").transform([image])[0].reshape(-1, 5, 10)
    np.testing.assert_allclose(v.sum(axis=2), 1, atol=1e-5)
    square = np.ascontiguousarray(image[:64, :64])
    turned = np.ascontiguousarray(np.rot90(square))
    a, b = (Descriptor("spin-32").transform([x])[0] for x in (square, turned))
    np.testing.assert_allclose(a, b, atol=1e-5)
    darker = (image // 2 + 20).astype(np.uint8)
    w = Descriptor("spin-16").transform([darker])[0].reshape(-1, 5, 10)
    np.testing.assert_allclose(v, w, atol=0.02)


def test_jet_gives_the_derivatives_of_polynomials():
    """Correlated with x^i y^j / (i! j!), only the derivative (i, j) of its order answers."""
    sigma = 16 / 3
    x, y = (u / sigma for u in offsets(16))
    J = (x * y)[None] @ jet(16)
    expected = np.zeros(15)
    expected[4] = 1  # d/dx d/dy is the second of the second order
    np.testing.assert_allclose(J[0, :6], expected[:6], atol=0.06)
    np.testing.assert_allclose(np.ones(len(x)) @ jet(16), np.eye(15)[0], atol=1e-4)


@pytest.mark.parametrize("name", ["differential", "complex"])
def test_rotation_leaves_invariants_alone(image, name):
    square = np.ascontiguousarray(image[:64, :64])
    turned = np.ascontiguousarray(np.rot90(square))
    a, b = (Descriptor(f"{name}-32").transform([x])[0] for x in (square, turned))
    np.testing.assert_allclose(a, b, atol=2e-3 * np.abs(a).max())


def test_steerable_filters_turn_with_the_image(image):
    square = np.ascontiguousarray(image[:64, :64])
    a, b = (
        Descriptor("steerable-32").transform([x])[0][0]
        for x in (square, np.ascontiguousarray(np.rot90(square)))
    )
    np.testing.assert_allclose([b[0], b[1]], [a[1], -a[0]], atol=2e-4)


def test_complex_filters_are_fifteen_and_have_unit_length():
    W = complex_filters(16)
    assert W.shape == (1024, 15)
    np.testing.assert_allclose(np.linalg.norm(W, axis=0), 1, rtol=1e-5)


def test_moments_are_the_means_of_their_definition(image):
    r, frame = 16, Frame(image)
    dx, dy = (g[patch(image, r, 3)].astype(float).ravel() for g in frame.gradient(r))
    x, y = (u / r for u in offsets(r))
    powers = [x, y, x * x, x * y, y * y]
    plain = [np.mean(p * g) for g in (dx, dy) for p in powers]
    squared = [np.mean(p * g * g) for g in (dx, dy) for p in powers]
    expected = [*plain, *(np.sign(m) * np.sqrt(abs(m)) for m in squared)]
    np.testing.assert_allclose(
        Descriptor("moments-16").transform([image])[0][3], expected, atol=1e-5
    )


def test_correlation_of_patches_is_their_inner_product(image):
    V = Descriptor("correlation-16").transform([image])[0]
    np.testing.assert_allclose(V.mean(axis=1), 0, atol=1e-5)
    np.testing.assert_allclose(V.std(axis=1), 1, atol=1e-4)
    inverse = Descriptor("correlation-16").transform([255 - image])[0]
    np.testing.assert_allclose(np.mean(V * inverse, axis=1), -1, atol=1e-3)


def test_a_wave_answers_in_its_own_gabor_filter():
    wave = 127.5 * (1 + np.sin(2 * np.pi * 0.2 * np.arange(320)))
    image = np.repeat(np.broadcast_to(wave, (128, 320))[:, :, None], 3, axis=2).astype(np.uint8)
    v = Descriptor("gabor-coarse").transform([image])[0].reshape(24, 16).mean(axis=1)
    assert v.argmax() == 6  # the second octave from 0.4, along x
    np.testing.assert_array_equal(gabor_bank((16, 16))[:, 0, 0], 0)


def test_pixels_are_means_of_squares(image):
    grey = Frame(image).grey
    expected = grey.reshape(64, 2, 160, 2).mean(axis=(1, 3))
    v = Descriptor("pixels-2").transform([image])[0]
    np.testing.assert_allclose(v[0], expected.ravel(), atol=1e-6)


def test_a_pattern_knows_neither_background_nor_contrast(image):
    there, dimmed = Descriptor("pattern").transform([image, image // 2 + 60])
    np.testing.assert_allclose(dimmed, there, atol=0.01)
    levels = Frame(image).grey.reshape(8, 16, 20, 16).mean(axis=(1, 3))
    expected = (levels - levels.mean()) / np.linalg.norm(levels - levels.mean())
    np.testing.assert_allclose(there[0], expected.ravel(), atol=1e-5)
    flat = Descriptor("pattern").transform([np.full((128, 320, 3), 90, dtype=np.uint8)])[0]
    np.testing.assert_array_equal(flat, 0)


def test_smooth_gradients_tell_forms_under_noise():
    """Two pictures of one blob are closer to each other than to its mirror image."""
    y, x = np.mgrid[:128, :128]
    blob = 200 * np.exp(-((x - 50) ** 2 + (y - 70) ** 2) / 3000)[:, :, None]
    noise = np.random.default_rng(0).normal(30, 15, (3, 128, 128, 3))
    images = np.clip(np.stack([blob, blob, blob[:, ::-1]]) + noise, 0, 255).astype(np.uint8)
    apart = {}
    for name in ("hog-4", "hog_smooth"):
        one, same, other = Descriptor(name).transform(images)
        apart[name] = np.linalg.norm(one - other) / np.linalg.norm(one - same)
    assert apart["hog_smooth"] > 2 * apart["hog-4"]


def test_colours_against_known_values():
    pure = np.array([[[255, 0, 0], [0, 255, 0], [0, 0, 255], [255, 255, 255], [0, 0, 0]]])
    h, s, v = Frame(pure.astype(np.uint8)).hsv[:, 0]
    np.testing.assert_allclose(h[:3], [0, 1 / 3, 2 / 3], atol=1e-6)
    np.testing.assert_allclose(s, [1, 1, 1, 0, 0])
    np.testing.assert_allclose(v, [1, 1, 1, 1, 0])
    L, a, b = Frame(pure.astype(np.uint8)).lab[:, 0]
    np.testing.assert_allclose(L, [53.24, 87.74, 32.30, 100, 0], atol=0.05)
    np.testing.assert_allclose(a, [80.09, -86.18, 79.19, 0, 0], atol=0.1)
    np.testing.assert_allclose(b, [67.20, 83.18, -107.86, 0, 0], atol=0.1)


def test_histograms_are_roots_of_shares(image):
    for name in ("hsv", "lab"):
        v = Descriptor(name).transform([image])[0].reshape(5, -1)
        np.testing.assert_allclose(np.sum(v**2, axis=1), 1, rtol=1e-5)


def _thing(x=40, y=30):
    """A red bar and a blue square on white."""
    image = np.full((128, 128, 3), 255, dtype=np.uint8)
    image[y : y + 12, x : x + 40] = (200, 30, 30)
    image[y + 20 : y + 36, x : x + 16] = (30, 60, 200)
    return image


@pytest.mark.parametrize("name", ["spectrum", "spectrum_edges", "spectrum_turned", "correlogram"])
def test_spectra_stay_when_things_move(name):
    there, moved, other = Descriptor(name).transform(
        [_thing(), _thing(52, 58), 255 - np.tile(_thing()[::2, ::2], (2, 2, 1))]
    )
    np.testing.assert_allclose(moved, there, atol=1e-2)
    assert np.abs(other - there).max() > 0.1


def test_a_spectrum_stays_when_things_turn():
    turned = Descriptor("spectrum_turned").transform([_thing(), np.rot90(_thing())])
    np.testing.assert_allclose(*turned, atol=1e-2)
    flat = Descriptor("spectrum").transform([_thing(), np.rot90(_thing())])
    assert np.abs(flat[0] - flat[1]).max() > 0.1


def test_a_flat_colour_meets_itself_everywhere():
    v = Descriptor("correlogram").transform([np.full((128, 320, 3), 40, dtype=np.uint8)])[0]
    shares = v.reshape(4, 64) ** 2
    assert np.count_nonzero(shares) == 4
    np.testing.assert_allclose(shares.sum(axis=1), 1 - np.array([1, 3, 6, 12]) / 64, rtol=1e-5)


def test_directions_share_the_strength(image):
    g = Frame(image).gradient(16)
    np.testing.assert_allclose(orientations(g, 8).sum(axis=0), np.hypot(*g), rtol=1e-4, atol=1e-7)
    assert soft_cells(16).shape == (1024, 16)


def test_a_function_of_ones_own(image):
    mine = Descriptor("mine", lambda x: x.reshape(-1, 3)[:4])
    assert mine.transform([image])[0].shape == (4, 3)
    with pytest.raises(ValueError, match="descriptor 'bad' gave an array"):
        Descriptor("bad", lambda x: [np.nan]).transform([image])


def test_a_slip_of_the_pen():
    with pytest.raises(
        ValueError, match="descriptor 'sfit-16' is not known: did you mean 'sift-16'"
    ):
        Descriptor("sfit-16").transform([np.zeros((64, 64, 3), np.uint8)])
