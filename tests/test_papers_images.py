"""Tables 6.1 to 6.4 from images: the rivals against their definitions, and the quick run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from eigenkit.images.rivals import SvmBank
from papers import Table, run_papers
from papers.annotation_images import QUICK, seconds
from papers.annotation_trial import unit_bank
from papers.image_rivals import haar, select, zp_scores
from papers.image_sets import ImageSets, patterns, shapes

pytest.importorskip("PIL.Image", reason="needs the extra [images]")


def test_coefficients_of_haar():
    """A constant has one kind of coefficient, and low ones hold the energy of a smooth image."""
    flat = haar(np.full((1, 64, 64), 0.5))
    assert np.flatnonzero(np.abs(flat[0]) > 1e-12).tolist() == list(range(16))
    np.testing.assert_allclose(flat[0, :16], 0.5 * 2**4)
    y, x = np.mgrid[:64, :64]
    smooth = np.sin(x / 20)[None] * np.cos(y / 25)
    assert np.sum(haar(smooth) ** 2) == pytest.approx(np.sum(smooth**2), rel=0.01)
    assert haar(smooth).shape == (1, 16 * 16)


def test_selection_is_relevant_and_not_redundant():
    rng = np.random.default_rng(0)
    y = (rng.random(300) < 0.5).astype(float)
    strong, weak = y + 0.3 * rng.normal(size=300), y + 1.5 * rng.normal(size=300)
    X = np.column_stack([strong, strong + 0.01 * rng.normal(size=300), weak, np.ones(300)])
    assert select(X, y, 2).tolist() in ([0, 2], [1, 2])
    assert 3 not in select(X, y, 4)


def test_single_pictures_are_what_is_measured():
    rng = np.random.default_rng(0)
    Y = np.repeat([[1.0, 0.0], [0.0, 1.0]], 10, axis=0)
    X = [np.hstack([y, 0, 0]) + 0.1 * rng.normal(size=(3, 4)) for y in Y]
    rows = rng.permutation(20)
    (scores,) = zp_scores(X, Y, rows[:10], rows[10:], [2])
    assert scores["f1_macro"] == 1.0


def test_a_balanced_program_is_bounded_by_its_cuts():
    rng = np.random.default_rng(0)
    kernels = np.array([(Z := rng.normal(size=(30, 3))) @ Z.T for _ in range(2)])
    bank, _ = unit_bank(kernels, np.arange(30))
    program = SvmBank(bank, (np.arange(30) < 6).astype(float), 1.0, balanced=True)
    mu, nu = np.array([0.5, 0.5]), np.array([0.9, 0.1])
    _, cut = program.cut(mu)
    assert program.cut(nu)[0] >= cut @ nu - 1e-2


def test_sets_are_read_back_from_folders(tmp_path: Path):
    given = shapes(0)
    images = ImageSets.from_folder(given, QUICK.names, QUICK.size, tmp_path)
    assert [len(one) for one in images.sets] == [len(one) for one in given[0]]
    order = [images.terms.index(t) for t in given[2]]
    np.testing.assert_array_equal(images.Y[:, order], given[1])
    terms, rows = images.choose(3, 20, 0)
    assert images.Y[np.ix_(rows, terms)].any(axis=1).all()


def test_pictures_of_annotated_genes():
    mask = np.ones((2, 3), dtype=bool)
    arrays = {
        "mask": mask,
        "group": np.array([1, 1, 2, 2]),
        "annotated": np.array([True, True, False, True]),
        "X": np.arange(24).reshape(4, 6) / 24,
        "Y": np.array([[1, 0], [0, 1], [1, 1], [1, 0]]),
        "label_names": np.array(["a", "b"]),
    }
    sets, Y, terms = patterns(arrays)
    assert [len(one) for one in sets] == [2, 1]
    assert Y.tolist() == [[1, 1], [1, 0]]
    assert terms == ["a", "b"]
    assert sets[0].pictures[0].pixels()[:, 0, 0].tolist() == [0, round(255 / 24)]


@pytest.mark.slow
def test_the_quick_run(tmp_path: Path):
    (result,) = run_papers(["annotation-images"], quick=True, out=tmp_path)
    tables = [block for block in result.blocks if isinstance(block, Table)]
    assert [table.title.partition(",")[0] for table in tables[:2]] == [
        "Macro F1 (Table 6.1)",
        "Micro F1 (Table 6.2)",
    ]
    assert all(0 <= value <= 1 for table in tables[:4] for row in table.ours for value in row)
    assert len(result.claims) == 3
    assert seconds(40, 4, 3) > 0
