"""The algebra behind planes, piece by piece: roots, ends of spectra, ties, shortest normals."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy import linalg as sla
from scipy import sparse

from eigenkit.data import Centered
from eigenkit.numerics.tolerances import EPS, SQUARES_RANGE, grain
from eigenkit.solvers import large_planes, planes
from eigenkit.solvers.large_planes import PlaneRows, largest_quotients


def _classes(rng, sizes=(12, 9, 14), d=4):
    """Rows [x, 1] of some classes, each near a plane of its own."""
    found = []
    for n in sizes:
        X = rng.normal(size=(n, d)) * rng.uniform(0.1, 2.0, d) + rng.normal(size=d)
        found.append(np.column_stack([X, np.ones(n)]))
    return found


def _quotient(z, A, B):
    return (z @ A @ z) / (z @ B @ z)


# -- roots and ends ------------------------------------------------------------------------


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e4])
def test_an_inverse_root_and_the_condition_it_was_found_at(unit, rng):
    A = rng.normal(size=(30, 5)) * [1, unit, 1, 1, 1 / unit]
    S = A.T @ A
    F, rcond = planes._inverse_root(S.copy())
    np.testing.assert_allclose(F.T @ S @ F, np.eye(5), atol=1e-12)
    scale = np.sqrt(S.diagonal())
    true = 1 / np.linalg.cond(S / scale / scale[:, None], 1)
    assert true / 10 < rcond <= true * 1.01  # of unit diagonals, whatever the units
    assert planes._inverse_root(-np.eye(3) + 2 * np.ones((3, 3)))[1] == 0.0


def test_the_first_eigenvector_and_of_tied_ones_the_shortest(rng):
    Q = np.linalg.qr(rng.normal(size=(5, 5)))[0]
    values = np.array([0.1, 0.1 + 1e-13, 0.1 + 1e-12, 0.4, 0.9])
    spectra, one = [(values, Q)], np.eye(5)
    np.testing.assert_array_equal(planes._ends(spectra, one, None, 1e-11).Z[0], Q[:, 0])
    np.testing.assert_array_equal(planes._ends(spectra, one, one, 1e-14).Z[0], Q[:, 0])
    length = rng.normal(size=(4, 5))
    found = planes._ends(spectra, one, length, 1e-11).Z[0]
    np.testing.assert_allclose(found @ found, 1.0)
    np.testing.assert_allclose(Q[:, 3:].T @ found, 0.0, atol=1e-12)
    shortest = np.linalg.svd(length @ Q[:, :3], compute_uv=False)[-1]
    assert np.linalg.norm(length @ found) == pytest.approx(shortest)


@pytest.mark.parametrize("sizes", [(12, 9), (12, 9, 14)])
def test_ends_are_the_smallest_shares_of_all_classes(sizes, rng):
    rows = _classes(rng, sizes)
    grams = planes.class_grams(rows)
    S = sum(grams)
    found = planes.regec_from_grams(grams, lambda: rows)
    for z, share, G in zip(found.Z, found.shares, grams, strict=True):
        values = sla.eigvalsh(G, S)
        assert share == pytest.approx(values[0], rel=1e-8)
        assert _quotient(z, G, S) == pytest.approx(values[0], rel=1e-8)
    again = planes.regec_from_rows(rows, np.eye(4, 5))
    singular = planes.regec_from_singular_grams(grams)
    for other in (again, singular):
        np.testing.assert_allclose(other.shares, found.shares, rtol=1e-7)
        for z, w in zip(other.Z, found.Z, strict=True):
            assert abs(z @ w) == pytest.approx(np.linalg.norm(z) * np.linalg.norm(w))


def test_gram_matrices_beyond_the_range_of_squares_are_not_used(rng):
    rows = _classes(rng, (12, 9))
    low, high = SQUARES_RANGE
    for factor, used in ((1.0, True), (1e-3 * low, False), (1e3 * high, False), (np.inf, False)):
        grams = planes.class_grams(rows)
        for G in grams:
            G[0] *= np.sqrt(factor)
            G[:, 0] *= np.sqrt(factor)
        with np.errstate(invalid="ignore"):
            assert (planes.regec_from_grams(grams) is not None) is used


def test_single_precision_trusts_gram_matrices_less(rng):
    """A direction of 1e-4 is beyond the rounding of float64, and not of float32."""
    A = rng.normal(size=(40, 5))
    A[:, 1] = A[:, 0] + 1e-4 * A[:, 1]
    rows = [np.column_stack([part, np.ones(20)]) for part in (A[:20], A[20:] * 0.7)]
    grams = planes.class_grams(rows)
    assert planes.regec_from_grams(grams, lambda: rows) is not None
    assert planes.regec_from_grams(grams) is None
    assert planes.regec_from_grams(grams, lambda: rows) is not None
    single = lambda: grain(sum(grams).diagonal(), 40, float(np.finfo(np.float32).eps))  # noqa: E731
    assert planes.regec_from_grams(grams, lambda: rows, single()) is not None
    A[:, 1] = A[:, 0] + 1e-6 * A[:, 2]
    rows = [np.column_stack([part, np.ones(20)]) for part in (A[:20], A[20:] * 0.7)]
    grams = planes.class_grams(rows)
    assert planes.regec_from_grams(grams, lambda: rows, single()) is None


def test_normals_are_shortest_in_the_units_of_distances(rng):
    """Rows of three directions in five: the values at the rows stay, what they do not see goes."""
    for unit in (np.ones(5), np.array([1.0, 1e-6, 1e6, 10.0, 1e-3])):
        X = rng.normal(size=(9, 3)) @ rng.normal(size=(3, 5)) / unit
        N = np.column_stack([X, np.ones(9)])
        F = rng.normal(size=(6, 4)) * np.append(unit, 1.0)[:, None]
        found = planes._shortest(F, N.T @ (N @ F), 1 / unit)
        np.testing.assert_allclose(N @ found, N @ F, atol=1e-8 * np.abs(N @ F).max())
        # The part of a normal, in units of distances, that no difference of rows sees.
        unseen = sla.null_space((X - X.mean(axis=0)) * unit)
        assert unseen.shape == (5, 2)
        np.testing.assert_allclose(unseen.T @ (found[:-1] * (1 / unit)[:, None]), 0.0, atol=1e-7)


@pytest.mark.parametrize("span", [1e3, 1e8])
def test_shortest_normals_keep_the_values_at_columns_of_any_size(span, rng):
    size = np.array([1.0, span, 1 / span, 10.0, 0.1])
    X = rng.normal(size=(9, 3)) @ rng.normal(size=(3, 5)) * size
    N = np.column_stack([X, np.ones(9)])
    F = rng.normal(size=(6, 4)) / np.append(size, 1.0)[:, None]
    found = planes._shortest(F, N.T @ (N @ F), np.ones(5))
    np.testing.assert_allclose(N @ found, N @ F, atol=1e-12 * np.abs(N @ F).max())


# -- pairs of forms ------------------------------------------------------------------------


def test_the_smallest_pair_of_two_forms(rng, monkeypatch):
    A, B = (M @ M.T for M in rng.normal(size=(2, 70, 90)))
    values = sla.eigvalsh(A, B)
    true = values[0] / (1 + values[0])
    for fast in (True, False):
        share, z, steps = planes.smallest_pair(np.tril(A), np.tril(B), fast=fast)
        assert share == pytest.approx(true, rel=1e-8)
        assert _quotient(z, A, A + B) == pytest.approx(true, rel=1e-8)
        assert (steps > 0) is fast
    small = planes.smallest_pair(np.tril(A[:64, :64]), np.tril(B[:64, :64]))
    assert small[2] == 0  # dense up to that order
    monkeypatch.setattr(planes, "LANCZOS_STEPS", 9)
    assert planes._lanczos(B, A) is None
    assert planes._lanczos(B, -A) is None


def test_planes_of_several_forms(rng):
    grams = planes.class_grams(_classes(rng))
    R = rng.normal(size=(4, 5))
    S = sum(grams)
    ridge = planes.regec_with_ridge(grams, 0.3, R)
    proximal = planes.gepsvm_from_grams(grams, 0.3)
    weight = np.array([1.0, 2.0, 1.0, 3.0, 1.0])
    crossed = planes.regec_with_diagonals(grams, 0.3, weight)
    for c, G in enumerate(grams):
        H = S - G
        D = 0.3 * np.diag(H.diagonal() / weight), 0.3 * np.diag(G.diagonal() / weight)
        for found, A, B in (
            (ridge, G + 0.3 * R.T @ R, H + 0.3 * R.T @ R),
            (proximal, G + 0.3 * np.eye(5), H),
            (crossed, G + D[0], H + D[1]),
        ):
            value = sla.eigvalsh(A, A + B)[0]
            assert found.shares[c] == pytest.approx(value, rel=1e-8)
            assert _quotient(found.Z[c], A, A + B) == pytest.approx(value, rel=1e-8)
    rows = _classes(np.random.default_rng(3))
    grams = planes.class_grams(rows)
    found = planes.gepsvm_from_rows(rows, 0.3, R)
    assert found.report.n_iter == 0
    for c, G in enumerate(grams):
        A, B = G + 0.3 * R.T @ R, sum(grams) - G
        assert found.shares[c] == pytest.approx(sla.eigvalsh(A, A + B)[0], rel=1e-7)


def test_several_large_forms_take_steps_and_those_of_gepsvm_none(rng):
    rows = [np.column_stack([rng.normal(size=(90, 69)) + c, np.ones(90)]) for c in range(3)]
    grams = planes.class_grams(rows)
    found = planes.regec_with_ridge(grams, 5.0)
    assert found.report.n_iter >= 3
    assert planes.gepsvm_from_grams(grams, 5.0).report.n_iter == 0
    for z, share, G in zip(found.Z, found.shares, grams, strict=True):
        A, B = G + 5.0 * np.eye(70), sum(grams) + 10.0 * np.eye(70)
        assert share == pytest.approx(sla.eigvalsh(A, B)[0], rel=1e-8)
        assert _quotient(z, A, B) == pytest.approx(share, rel=1e-8)


def test_two_classes_of_one_form_are_its_two_ends(rng):
    grams = planes.class_grams(_classes(rng, (12, 9)))
    found = planes.regec_with_ridge(grams, 0.3)
    A, B = (G + 0.3 * np.eye(5) for G in grams)
    values = sla.eigvalsh(A, A + B)
    np.testing.assert_allclose(found.shares, [values[0], 1 - values[-1]], rtol=1e-9)
    for z, M, value in zip(found.Z, (A, B), (values[0], 1 - values[-1]), strict=True):
        assert _quotient(z, M, A + B) == pytest.approx(value, rel=1e-9)
    lower = planes.lower_grams(_classes(np.random.default_rng(1)))
    full = planes.class_grams(_classes(np.random.default_rng(1)))
    for L, G in zip(lower, full, strict=True):
        np.testing.assert_allclose(np.tril(L), np.tril(G), atol=1e-12)


# -- by products only ----------------------------------------------------------------------


def _plane_rows(rng, sizes=(15, 11), d=6):
    X = np.where(rng.random((sum(sizes), d)) < 0.6, rng.normal(size=(sum(sizes), d)), 0.0)
    weight, S = rng.uniform(1, 4, sum(sizes)), sparse.csr_array(X)
    edges = np.cumsum([0, *sizes])
    parts = [slice(None), *(slice(a, b) for a, b in pairwise(edges))]
    whole, *pieces = (Centered(S[own], weight[own], center=False) for own in parts)
    root = np.sqrt(weight)[:, None]
    return PlaneRows.of(whole, pieces), root * np.column_stack([X, np.ones(len(X))])


def test_the_best_of_a_span_is_its_largest_quotient(rng):
    a, b = rng.normal(size=(2, 4, 3, 7))
    forms = np.stack([a @ np.swapaxes(a, -1, -2), b @ np.swapaxes(b, -1, -2)])
    values, weights = large_planes._best(forms)
    for c in range(4):
        true = sla.eigh(forms[0, c], forms[1, c])
        assert values[c] == pytest.approx(true[0][-1])
        assert _quotient(weights[c], *forms[:, c]) == pytest.approx(true[0][-1])
        assert weights[c] @ forms[1, c] @ weights[c] == pytest.approx(1.0)
    # A third vector that the first two span, or of length zero, changes nothing.
    for third in ([1.0, -2.0], [0.0, 0.0]):
        turn = np.vstack([np.eye(2), third])
        longer = turn @ forms[:, :, :2, :2] @ turn.T
        np.testing.assert_allclose(
            large_planes._best(longer)[0], large_planes._best(forms[:, :, :2, :2])[0], rtol=1e-8
        )
    assert large_planes._inverse_root(np.array([0.0, 4.0, 1e-310])).tolist() == [0.0, 0.5, 0.0]


def test_steps_towards_planes_are_counted_and_residuals_true(rng):
    rows, N = _plane_rows(rng)
    grams = [N[:15].T @ N[:15], N[15:].T @ N[15:]]
    ridges = (0.2, 0.5)
    for limit in (1, 2, 4):
        *_, steps, residuals = largest_quotients(rows, ridges, 0.0, limit)
        assert steps == limit
        assert residuals.min() > 0
    values, _, steps, residuals = largest_quotients(rows, ridges, 1e-6, 300)
    assert 4 < steps < 300
    assert residuals.max() <= 1e-6
    _, z, _, residuals = largest_quotients(rows, ridges, 0.0, 3)
    for c in (0, 1):
        own, other = grams[c], grams[1 - c]
        true = sla.eigvalsh(other + 0.2 * np.eye(7), own + 0.5 * np.eye(7))[-1]
        assert values[c] == pytest.approx(true, rel=1e-6)
        v = _quotient(z[c], other + 0.2 * np.eye(7), own + 0.5 * np.eye(7))
        r = (other + 0.2 * np.eye(7)) @ z[c] - v * (own + 0.5 * np.eye(7)) @ z[c]
        unit = 1 / (own.diagonal() + 0.5)
        size = np.sqrt(np.sum(r * r * unit) / np.sum((other @ z[c]) ** 2 * unit))
        assert residuals[c] == pytest.approx(size, rel=1e-6)


def test_sums_of_planes_are_those_of_their_rows(rng):
    rows, N = _plane_rows(rng, (7, 9, 5))
    bounds = [slice(0, 7), slice(7, 16), slice(16, 21)]
    grams = np.array([N[b].T @ N[b] for b in bounds])
    np.testing.assert_allclose(rows.sums, grams[:, -1], atol=1e-12)
    np.testing.assert_allclose(rows.squares, np.diagonal(grams, axis1=1, axis2=2), atol=1e-12)
    V = rng.normal(size=(3, 2, 7))
    marks = np.stack([rows.marks(V[:, i]) for i in range(2)], axis=1)
    np.testing.assert_allclose(marks, V @ N.T, atol=1e-12)
    images = rows.images(marks[:, 0])
    forms = rows.forms(V, marks)
    for c in range(3):
        other = grams.sum(axis=0) - grams[c]
        np.testing.assert_allclose(images[:, c], [other @ V[c, 0], grams[c] @ V[c, 0]], atol=1e-10)
        np.testing.assert_allclose(
            forms[:, c], [V[c] @ other @ V[c].T, V[c] @ grams[c] @ V[c].T], atol=1e-10
        )
    kept = rows.squares - rows.sums**2 / rows.squares[:, -1:]
    assert np.all(kept > -EPS * 100)
