"""What streams keep of rows, against the rows themselves: sums, factors, fading and labels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from eigenkit.data import LocalPasses
from eigenkit.moments import BlockedRows, Factor, Rows, stream
from eigenkit.moments.rows import NEGLIGIBLE
from eigenkit.moments.stream import ClassMoments, Moments
from eigenkit.targets import TARGETS

CUT, REST = slice(0, 13), slice(13, 20)
SETS = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])  # in order


def _rows(rng, n=20, offset=0.0, weighted=True, fade=None):
    X = rng.normal(size=(n, 3)) + offset
    Y = SETS[rng.integers(0, 3, n)]
    return Rows(X, Y, rng.uniform(0.5, 2, n) if weighted else None, fade)


def _beside(rows, sets):
    """What stands beside X: one column for every set, or Y."""
    return (rows.Y[:, None, :] == SETS).all(axis=2).astype(float) if sets else rows.Y


def _factor(rows, sets=False):
    return Factor.of(rows, _beside(rows, sets), SETS if sets else None)


def _check(factor, rows, G):
    """A factor is its rows: every sum written out."""
    w = rows.weights() * rows.fades()
    joint = np.hstack([rows.X, G])
    mean = w @ joint / w.sum()
    C = joint - mean
    np.testing.assert_allclose(factor.mean, mean, rtol=1e-12)
    np.testing.assert_allclose(factor.R.T @ factor.R, (w[:, None] * C).T @ C, atol=1e-10)
    np.testing.assert_allclose(factor.degree, w @ rows.Y)
    assert factor.total == pytest.approx(w.sum())
    assert factor.count == pytest.approx(rows.fades().sum())


@pytest.mark.parametrize("sets", [False, True])
def test_factors_add_up_as_rows_do(sets, rng):
    a, b = _rows(rng, 20), _rows(rng, 7, offset=3.0)
    both = a.append(b)
    joint = _factor(both, sets)
    _check(joint, both, _beside(both, sets))
    merged = _factor(a, sets).merge(_factor(b, sets))
    _check(merged, both, _beside(both, sets))
    assert merged.n_rows == 27
    assert len(merged.R) == merged.R.shape[1]  # in as few rows as it takes
    counted = _factor(_rows(rng, weighted=False), sets)
    assert counted.counted
    assert not merged.counted
    assert not counted.merge(merged).counted
    assert counted.merge(counted).counted


def test_means_far_from_zero_keep_the_digits_of_the_rows(rng):
    """What the first mean misses by rounding is found in the differences."""
    base = np.rint(rng.normal(size=(50, 3)) * 2**10) / 2**10
    rows = Rows(base + 2.0**30, SETS[rng.integers(0, 3, 50)], rng.integers(1, 9, 50) / 8)
    factor = Factor.of(rows, rows.Y, None)
    w = rows.weight
    mean = w @ base / w.sum()
    C = np.sqrt(w)[:, None] * (base - mean)
    np.testing.assert_allclose(factor.R[:, :3], C, atol=1e-12)
    np.testing.assert_allclose(factor.mean[:3] - 2.0**30, mean, atol=2e-7)


@pytest.mark.parametrize("sets", [False, True])
def test_a_faded_factor_is_that_of_faded_rows(sets, rng):
    rows = _rows(rng)
    _check(_factor(rows, sets).faded(0.25), rows.faded(0.25), _beside(rows, sets))
    again = _factor(rows.faded(0.5), sets).faded(0.5)
    _check(again, rows.faded(0.25), _beside(rows, sets))
    gone = NEGLIGIBLE**2 / 20
    assert _factor(rows, sets).faded(0.99 * gone) is None
    assert _factor(rows, sets).faded(1.01 * gone) is not None


def test_label_sets_that_hardly_count_are_forgotten(rng):
    """A set counts by its share of the rows: two sets of 1 and of 19 rows of 20."""
    Y = SETS[[0] + [1] * 19]
    rows = Rows(rng.normal(size=(20, 3)), Y, None)
    factor = Factor.of(rows, _beside(rows, True)[:, :2], SETS[:2])
    assert factor.faded(1.01 * NEGLIGIBLE).sets.tolist() == SETS[:2].tolist()
    left = factor.faded(0.99 * NEGLIGIBLE)
    assert left.sets.tolist() == [SETS[1].tolist()]
    assert left.mean.shape == (4,)
    assert left.R.shape[1] == 4


@pytest.mark.parametrize("name", ["opls", "star", "zhou"])
@pytest.mark.parametrize("folded", [False, True])
def test_labels_in_new_places_are_those_of_rows_with_new_places(name, folded, rng):
    target, columns = TARGETS[name], np.array([3, 1])
    rows = _rows(rng)
    wide = Rows(rows.X, np.zeros((20, 4)), rows.weight)
    wide.Y[:, columns] = rows.Y
    moments = Moments.begin(target, 1.0).add(rows, target, 1.0)
    moments = moments._folded(target) if folded else moments
    found = moments.relabelled(columns, 4).problem(target, 1.0, 0.5)
    true = wide.problem(target, 1.0, 0.5)
    np.testing.assert_allclose(found.labels.degree, true.labels.degree)
    Z, H = found.pencil.Z.toarray(), np.asarray(found.pencil.H)
    D, T = true.pencil.Z.toarray(), np.asarray(true.pencil.H)
    np.testing.assert_allclose(Z.T @ Z, D.T @ D, atol=1e-10)
    np.testing.assert_allclose(Z.T @ H, D.T @ T, atol=1e-10)


def test_weights_of_labels_stay_with_their_labels(rng):
    weight, target = np.array([1.0, 2.0]), TARGETS["star"]
    moments = Moments.begin(target, weight).add(_rows(rng), target, weight)
    assert moments.relabelled(np.array([0, 1]), 2).n_rows == 20
    for columns, k in (([1, 0], 2), ([0, 1], 3), ([0, 2], 3)):
        with pytest.raises(ValueError, match="label_weights belong to labels"):
            moments.relabelled(np.array(columns), k)


def test_moments_of_classes_are_those_of_their_rows(rng):
    X, y, w = rng.normal(size=(30, 3)), np.arange(30) % 2, rng.uniform(1, 2, 30)
    whole = ClassMoments.begin(2).add(Rows(X, y[:, None] * 1.0, w))
    parts = [
        ClassMoments.begin(2).add(Rows(X[c], y[c, None] * 1.0, w[c]))
        for c in (slice(0, 11), slice(11, 30))
    ]
    merged = parts[0].merge(parts[1])
    assert whole.n_rows == merged.n_rows == 30
    for moments in (whole, merged, whole.relabelled(np.array([2, 0]), 3)):
        places = [0, 1] if len(moments.parts) == 2 else [2, 0]
        factors = moments.factors()
        assert [f is None for f in factors].count(True) == len(factors) - 2
        for c, place in enumerate(places):
            own = y == c
            _check(factors[place], Rows(X[own], np.empty((15, 0)), w[own]), np.empty((15, 0)))
    faded = ClassMoments.begin(2)
    for c in (slice(0, 11), slice(11, 30)):
        faded = faded.add(Rows(X[c], y[c, None] * 1.0, w[c]), half_life=10.0)
    fade = np.exp2(-np.arange(29.0, -1.0, -1.0) / 10.0)
    for c, factor in enumerate(faded.factors()):
        own = y == c
        rows = Rows(X[own], np.empty((15, 0)), w[own], fade[own])
        _check(factor, rows, np.empty((15, 0)))


@pytest.mark.parametrize("name", ["weight", "fade"])
def test_rows_without_weights_beside_others_weigh_one(name, rng):
    plain, given = _rows(rng, 4, weighted=False), rng.uniform(1, 2, 3)
    other = replace(_rows(rng, 3, weighted=False), **{name: given})
    assert getattr(plain.append(plain), name) is None
    np.testing.assert_array_equal(getattr(plain.append(other), name), [1, 1, 1, 1, *given])
    np.testing.assert_array_equal(getattr(other.append(plain), name), [*given, 1, 1, 1, 1])
    np.testing.assert_array_equal(getattr(other.append(other), name), [*given, *given])
    both = plain.append(other)
    np.testing.assert_array_equal(both.X, np.vstack([plain.X, other.X]))
    np.testing.assert_array_equal(both.Y, np.vstack([plain.Y, other.Y]))
    thin = [replace(part, X=sparse.csr_array(part.X)) for part in (plain, other)]
    assert sparse.issparse(thin[0].append(thin[1]).X)
    np.testing.assert_array_equal(thin[0].append(thin[1]).X.toarray(), both.X)
    np.testing.assert_array_equal(thin[0].append(other).X, both.X)


@pytest.mark.parametrize("kind", ["none", "counts", "shares", "faded"])
def test_one_sample_weighs_the_same_in_every_statement(kind, rng):
    """1 where weights count repetitions, faded or not; else the mean weight of what is left."""
    weight = {"counts": rng.integers(1, 4, 20) * 1.0, "shares": rng.uniform(0.3, 2, 20)}.get(kind)
    fade = np.linspace(0.2, 1.0, 20) if kind == "faded" else None
    for both in (False, True) if kind == "faded" else (False,):
        w = rng.uniform(0.3, 2, 20) if both else weight
        rows = _rows(rng)
        rows = Rows(rows.X, rows.Y, w, fade)
        u = rows.weights() * rows.fades()
        one = u.sum() / rows.fades().sum() if kind == "shares" or both else 1.0
        target = TARGETS["opls"]
        stated = [rows.problem(target, 1.0, 0.5), _factor(rows).problem(target, 1.0, 0.5)]
        stated.append(_factor(rows, True).problem(target, 1.0, 0.5))
        if fade is None:
            blocks = [(rows.X[c], rows.Y[c], None if w is None else w[c]) for c in (CUT, REST)]
            passes = LocalPasses(lambda blocks=blocks: [blocks])
            stated.append(BlockedRows(passes, passes, passes).problem(target, 1.0, 0.5))
        for problem in stated:
            assert problem.labels.one == pytest.approx(one)
            assert problem.total == pytest.approx(u.sum())
            assert problem.n_rows == 20
        for problem in stated[1:3]:
            assert problem.pencil.Z.freedom == pytest.approx(u.sum() - one)
        for Z in _factor(rows).sides():
            assert Z.freedom == pytest.approx(u.sum() - one)


def test_rows_take_the_room_that_they_say(rng):
    dense = Rows(np.ones((4, 3)), np.ones((4, 2), np.uint8), None)
    assert dense.n_bytes == 4 * 3 * 8 + 4 * 2
    S = sparse.random_array((10, 6), density=0.3, rng=rng, format="csr")
    assert Rows(S, np.ones((10, 1)), None).n_bytes == (
        S.data.nbytes + S.indices.nbytes + S.indptr.nbytes + 80
    )
    moments = Moments.begin(TARGETS["opls"], 1.0).add(dense, TARGETS["opls"], 1.0)
    assert moments.n_bytes == 104
    folded = moments._folded(TARGETS["opls"])
    assert folded.n_bytes == folded.factor.R.nbytes > 0


def test_parts_of_other_sizes_and_kinds_are_refused(rng):
    rows = _rows(rng)
    rows.check(3, 2)
    factors = _factor(rows), _factor(rows, True)
    for part in factors:
        part.check(3, 2)
    for part in (rows, *factors):
        for d, k in ((2, 2), (4, 2), (3, 1), (3, 3)):
            with pytest.raises(ValueError, match=f"{d} features and {k} labels"):
                part.check(d, k)
    with pytest.raises(ValueError, match="not rows"):
        Rows(rows.X, rows.Y, rows.weight[:-1]).check(3, 2)
    with pytest.raises(ValueError, match="not rows"):
        Rows(rows.X, rows.Y, None, np.ones(19)).check(3, 2)
    for name in ("star", "opls"):
        moments = Moments.begin(TARGETS[name], 1.0).add(rows, TARGETS[name], 1.0)
        moments._folded(TARGETS[name]).check(3, 2)
        other = replace(moments._folded(TARGETS[name]), by_sets=name == "opls")
        with pytest.raises(ValueError, match="are inconsistent"):
            other.check(3, 2)


def test_rows_are_factored_when_that_takes_less_room(rng, monkeypatch):
    """And are refused when neither they nor their factor may be kept."""
    target = TARGETS["opls"]
    monkeypatch.setattr(stream, "BLOCK_BYTES", 400)

    def taken(n, d):
        rows = Rows(np.ones((n, d)) * np.arange(n)[:, None], np.ones((n, 1)), None)
        return Moments.begin(target, 1.0).add(rows, target, 1.0)

    assert taken(20, 2).factor is None  # 20 rows of two numbers and a byte: 340 bytes
    assert taken(24, 2).factor is not None  # 408 bytes, above the block and the factor of 3 x 3
    assert taken(24, 9).factor is None  # a factor takes 10 x 10 numbers, and is worth 4 of those
    assert taken(60, 9).factor is not None
    monkeypatch.setattr(stream, "STREAM_LIMIT_BYTES", 700)
    with pytest.raises(ValueError, match="10 columns together"):
        taken(24, 9)  # 1752 bytes of rows
    with pytest.raises(ValueError, match="10 columns together"):
        taken(60, 9)  # 800 bytes of a factor
    assert taken(60, 2).factor is not None
