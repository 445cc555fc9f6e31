"""Streams: any partition of the rows, in any order, gives the batch answer."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone

from conftest import ESTIMATORS, labels_for, projector_distance
from eigenkit import (
    CCA,
    LDA,
    PCA,
    HypergraphSpectral,
    MultilabelLDA,
    OrthonormalizedPLS,
    PLSRegression,
)
from eigenkit.estimators._encoding import as_labels
from eigenkit.moments import Rows


@pytest.fixture(autouse=True, scope="module", params=["rows", "factor"])
def _kept_as(request):
    """Once with few rows kept as they are, once with everything in the factor at once."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "factor":
            patch.setattr("eigenkit.moments.stream.BLOCK_BYTES", 0)
        yield


def _data(name, n, d, rng, kind="dense"):
    X = rng.normal(size=(n, d)) + rng.normal(size=d) * 3
    if kind == "sparse":
        X = sparse.csr_array(X * (rng.random((n, d)) < 0.3))
    return X, labels_for(name, n, rng)


def _bound(model):
    """What rounding may do: W is determined to eps times the condition of B and of the pencil."""
    spread = model.eigenvalues_[0] / model.eigenvalues_[-1]
    return 1e-10 + 1e-15 * (model.report_.condition + spread)


def _stream(model, X, y, parts, **declared):
    for rows in parts:
        model.partial_fit(X[rows], y[rows], **declared)
    return model


@pytest.mark.filterwarnings("ignore::eigenkit.exceptions.ConditionWarning")
@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    name=st.sampled_from(sorted(ESTIMATORS)),
    shape=st.sampled_from([(90, 4), (20, 30), (40, 12)]),
    kind=st.sampled_from(["dense", "sparse"]),
    alpha=st.sampled_from([0.0, 0.7]),
    data=st.data(),
)
def test_any_partition_in_any_order(seed, name, shape, kind, alpha, data):
    rng = np.random.default_rng(seed)
    X, y = _data(name, *shape, rng, kind)
    cuts = data.draw(st.lists(st.integers(1, shape[0] - 1), max_size=8, unique=True))
    parts = np.split(rng.permutation(shape[0]), sorted(cuts))
    declared = {"classes": np.unique(y)} if name == "lda" else {}
    whole = ESTIMATORS[name](alpha=alpha).fit(X, y)
    streamed = _stream(ESTIMATORS[name](alpha=alpha), X, y, parts, **declared)
    assert projector_distance(streamed.components_.T, whole.components_.T) < _bound(whole)
    np.testing.assert_allclose(streamed.eigenvalues_, whole.eigenvalues_, atol=1e-9)
    np.testing.assert_allclose(streamed.mean_, whole.mean_, atol=1e-12)


@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    name=st.sampled_from(sorted(ESTIMATORS)),
    split=st.floats(0.05, 0.95),
)
def test_merge_equals_one_stream(seed, name, split):
    rng = np.random.default_rng(seed)
    X, y = _data(name, 80, 5, rng)
    cut = int(80 * split)
    declared = {"classes": np.unique(y)} if name == "lda" else {}
    left = ESTIMATORS[name](alpha=0.3).partial_fit(X[:cut], y[:cut], **declared)
    right = ESTIMATORS[name](alpha=0.3).partial_fit(X[cut:], y[cut:], **declared)
    whole = ESTIMATORS[name](alpha=0.3).fit(X, y)
    assert projector_distance(left.merge(right).components_.T, whole.components_.T) < 1e-10


@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    name=st.sampled_from(sorted(ESTIMATORS)),
    kind=st.sampled_from(["dense", "sparse"]),
    alpha=st.sampled_from([0.0, 1.0]),
)
def test_integer_weights_are_repeated_rows(seed, name, kind, alpha):
    rng = np.random.default_rng(seed)
    X, y = _data(name, 40, 5, rng, kind)
    times = rng.integers(0, 4, 40)
    times[:12] = 1
    rows = np.repeat(np.arange(40), times)
    weighted = ESTIMATORS[name](alpha=alpha).fit(X, y, sample_weight=times)
    repeated = ESTIMATORS[name](alpha=alpha).fit(X[rows], y[rows])
    np.testing.assert_allclose(weighted.eigenvalues_, repeated.eigenvalues_, atol=1e-9)
    bound = _bound(repeated)
    assert projector_distance(weighted.components_.T, repeated.components_.T) < bound
    streamed = ESTIMATORS[name](alpha=alpha)
    declared = {"classes": np.unique(y)} if name == "lda" else {}
    for part in np.array_split(np.arange(40), 5):
        streamed.partial_fit(X[part], y[part], sample_weight=times[part] + 0.0, **declared)
    assert projector_distance(streamed.components_.T, repeated.components_.T) < bound


def test_every_sample_twice_gives_the_same_space(rng):
    for name in set(ESTIMATORS) - {"clique"}:  # its degrees leave the sample itself out
        X, y = _data(name, 40, 8, rng)
        once = ESTIMATORS[name](alpha=0.0).fit(X, y)
        twice = ESTIMATORS[name](alpha=0.0).fit(np.vstack([X, X]), np.concatenate([y, y]))
        Q = [np.linalg.qr(m.components_.T)[0] for m in (once, twice)]
        assert projector_distance(*Q) < 1e-9


def test_classes_declared_up_front(rng):
    X, y = _data("lda", 60, 4, rng)
    order = np.argsort(y)  # the first batches hold one class only
    model = _stream(LDA(), X, y, np.array_split(order, 10), classes=[0, 1, 2])
    np.testing.assert_allclose(model.predict_proba(X), LDA().fit(X, y).predict_proba(X), atol=1e-10)


def test_a_class_never_seen_has_no_chance(rng):
    X, y = _data("lda", 60, 4, rng)
    model = LDA().partial_fit(X, y, classes=[0, 1, 2, 3])
    assert model.predict_proba(X).shape == (60, 4)
    assert not model.predict_proba(X)[:, 3].any()


def test_undeclared_class_is_refused_and_changes_nothing(rng):
    X, y = _data("lda", 60, 4, rng)
    model = LDA().partial_fit(X, y)
    before = model.components_.copy()
    with pytest.raises(ValueError, match=r"y holds the class .*7.* pass classes="):
        model.partial_fit(X, np.full(60, 7))
    np.testing.assert_array_equal(model.components_, before)


@pytest.mark.parametrize("interrupt", [ValueError, KeyboardInterrupt])
def test_a_failed_batch_changes_nothing(interrupt, rng, monkeypatch):
    X, y = _data("star", 60, 4, rng)
    model = HypergraphSpectral().partial_fit(X, y)
    state = pickle.dumps(vars(model))

    def fail(*args, **options):
        raise interrupt("stopped half-way")

    monkeypatch.setattr("eigenkit.moments.Moments.add", fail)
    with pytest.raises(interrupt):
        model.partial_fit(X, y)
    assert pickle.dumps(vars(model)) == state


def test_batches_of_other_shapes_are_refused(rng):
    X, y = _data("star", 60, 4, rng)
    model = HypergraphSpectral().partial_fit(X, y)
    with pytest.raises(ValueError, match="5 features, but HypergraphSpectral is expecting 4"):
        model.partial_fit(np.ones((3, 5)), y[:3])
    with pytest.raises(ValueError, match="y has 3 columns, the first batch had 4"):
        model.partial_fit(X, y[:, :3])
    with pytest.raises(ValueError, match="X contains NaN"):
        model.partial_fit(X * np.nan, y)
    with pytest.raises(ValueError, match="X has no rows"):
        model.partial_fit(X[:0], y[:3])
    np.testing.assert_allclose(model.components_, HypergraphSpectral().fit(X, y).components_)


def test_merge_refuses_what_does_not_fit(rng):
    X, y = _data("star", 60, 4, rng)
    model = HypergraphSpectral().partial_fit(X, y)
    with pytest.raises(
        TypeError, match="other is of the class CCA: merge needs a model of the class Hyp"
    ):
        model.merge(CCA().partial_fit(X, y))
    with pytest.raises(ValueError, match="other keeps no stream"):
        model.merge(HypergraphSpectral().fit(X, y))
    with pytest.raises(
        ValueError, match=r"the columns of X differ \(4 here, 3 in other\): feed both"
    ):
        model.merge(HypergraphSpectral().partial_fit(X[:, :3], y))
    with pytest.raises(ValueError, match="classes_ differ"):
        labels = np.arange(60) % 3
        LDA().partial_fit(X, labels).merge(LDA().partial_fit(X, labels + 1))
    with pytest.raises(ValueError, match="pass classes= with all of them to the first partial_fit"):
        LDA().partial_fit(X, labels).merge(LDA().partial_fit(X, 0 * labels))


@pytest.mark.parametrize("make", [PCA, PLSRegression, HypergraphSpectral], ids=lambda m: m.__name__)
def test_merge_refuses_other_columns(make, rng):
    X = pd.DataFrame(rng.normal(size=(20, 3)), columns=["a", "b", "c"])
    y = (rng.random((20, 2)) < 0.5).astype(float)
    stream = make().partial_fit(X, y)
    for other in (X[["c", "b", "a"]], X.set_axis(["p", "q", "r"], axis=1), X.to_numpy()):
        with pytest.raises(ValueError, match="feature_names_in_ differ"):
            stream.merge(make().partial_fit(other, y))
    assert stream.merge(make().partial_fit(X, y))._intake_.moments.n_rows == 40


def test_too_many_features_for_a_summary(monkeypatch, rng):
    monkeypatch.setattr("eigenkit.moments.stream.BLOCK_BYTES", 0)
    monkeypatch.setattr("eigenkit.moments.stream.STREAM_LIMIT_BYTES", 1600)
    X, y = _data("opls", 40, 12, rng)
    model = OrthonormalizedPLS().partial_fit(X[:14], y[:14])  # the rows are still smaller
    said = r"partial_fit would keep 16 x 16 numbers .* or all 40 rows .* use fit.* fewer features"
    with pytest.raises(ValueError, match=said):
        model.partial_fit(X[14:], y[14:])
    assert model._intake_.moments.n_rows == 14
    monkeypatch.setattr("eigenkit.moments.stream.STREAM_LIMIT_BYTES", 1000)
    X, y = _data("star", 40, 3, rng)
    with pytest.raises(ValueError, match=r"X and the distinct label sets have .* expansion='zhou'"):
        HypergraphSpectral().partial_fit(X, np.hstack([y, rng.permutation(y), y[::-1]]))


def test_the_summary_stays_small(rng, monkeypatch):
    monkeypatch.setattr("eigenkit.moments.stream.BLOCK_BYTES", 0)
    X, y = _data("star", 400, 6, rng)
    model = _stream(HypergraphSpectral(), X, y, np.array_split(np.arange(400), 40))
    width = 6 + len(np.unique(y, axis=0))
    assert model._intake_.moments.factor.R.shape == (width, width)
    assert _room(model) < 3 * 8 * width**2


def _room(model):
    """Bytes that the moments of a stream take."""
    return len(pickle.dumps(model._intake_.moments, protocol=5))


def test_sets_of_tags_take_no_more_room_than_the_rows(rng):
    """Nearly every row of tags is a set of its own: a column for each would be n x n numbers."""
    n, k = 3000, 300
    X, y = rng.normal(size=(n, 5)), (rng.random((n, k)) < 0.02).astype(float)
    model = _stream(HypergraphSpectral(), X, y, np.array_split(np.arange(n), 6))
    assert len(np.unique(y, axis=0)) > 0.9 * n
    assert _room(model) < 1.2 * (X.nbytes + y.size)
    zhou = _stream(HypergraphSpectral(expansion="zhou"), X, y, np.array_split(np.arange(n), 6))
    assert _room(zhou) < 1.2 * max(8 * (5 + k) ** 2, X.nbytes + y.size)
    whole = HypergraphSpectral(expansion="zhou").fit(X, y)
    np.testing.assert_allclose(zhou.eigenvalues_, whole.eigenvalues_, rtol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(ESTIMATORS))
def test_sparse_rows_are_kept_while_they_are_smaller_than_the_factor(name, rng):
    X, y = _data(name, 600, 300, rng, "sparse")
    X = X.multiply(X > 2.5).tocsr()
    model = _stream(ESTIMATORS[name](), X, y, np.array_split(np.arange(600), 60))
    assert model._intake_.moments.factor is None
    assert len(model._intake_.moments.recent) < 10
    whole = ESTIMATORS[name]().fit(X, y)
    np.testing.assert_allclose(model.eigenvalues_, whole.eigenvalues_, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("rank", [3, 7])
@pytest.mark.parametrize("name", ["pca", *sorted(ESTIMATORS)])
def test_streams_and_fit_judge_rank_alike(name, rank, rng):
    n, d = 900, 12
    X = rng.normal(size=(n, rank)) @ rng.normal(size=(rank, d)) + 3.0
    y = labels_for(name, n, rng)
    make = PCA if name == "pca" else lambda: ESTIMATORS[name](alpha=0.0)
    whole, model = make().fit(X, y), _stream(make(), X, y, np.array_split(np.arange(n), 45))
    assert model.n_components_ == whole.n_components_
    np.testing.assert_allclose(model.eigenvalues_, whole.eigenvalues_, rtol=1e-7)


def test_streams_and_fit_judge_the_rank_of_labels_alike(rng):
    X = rng.normal(size=(900, 4))
    y = X @ rng.normal(size=(4, 2)) @ rng.normal(size=(2, 6)) + 5.0
    whole = CCA(alpha=0.1).fit(X, y)
    model = _stream(CCA(alpha=0.1), X, y, np.array_split(np.arange(900), 45))
    assert model.n_components_ == whole.n_components_ == 2


# -- targets and streams that change ----------------------------------------------------


def test_a_stream_of_label_sets_serves_every_expansion(rng):
    X, y = _data("star", 80, 5, rng)
    model = HypergraphSpectral(expansion="star").partial_fit(X[:40], y[:40])
    for expansion in ("clique", "zhou", "star"):
        other = HypergraphSpectral(expansion=expansion, label_weights=[1, 2, 3, 4.0]).merge(model)
        other.partial_fit(X[40:], y[40:])
        whole = HypergraphSpectral(expansion=expansion, label_weights=[1, 2, 3, 4.0]).fit(X, y)
        np.testing.assert_allclose(other.eigenvalues_, whole.eigenvalues_, atol=1e-10)


def test_a_stream_without_label_sets_says_what_it_cannot_become(rng):
    X, y = _data("zhou", 80, 5, rng)
    model = HypergraphSpectral(expansion="zhou").partial_fit(X[:40], y[:40])
    with pytest.raises(ValueError, match="needs no label sets, and kept none"):
        HypergraphSpectral(expansion="star").merge(model)
    with pytest.raises(ValueError, match="needs no label sets, and kept none"):
        model.set_params(expansion="clique").partial_fit(X, y)
    with pytest.raises(ValueError, match="label_weights differ from those that this stream"):
        model.set_params(expansion="zhou", label_weights=[1, 2, 3, 4.0]).partial_fit(X, y)
    sets = HypergraphSpectral(expansion="star").partial_fit(X[40:], y[40:])
    both = sets.set_params(expansion="zhou").merge(model.set_params(label_weights=None))
    whole = HypergraphSpectral(expansion="zhou").fit(X, y)
    np.testing.assert_allclose(both.eigenvalues_, whole.eigenvalues_, atol=1e-10)


# -- forgetting -------------------------------------------------------------------------


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    name=st.sampled_from(["pca", *sorted(ESTIMATORS)]),
    kind=st.sampled_from(["dense", "sparse"]),
    half_life=st.sampled_from([4.0, 30.0, 1e4]),
    data=st.data(),
)
def test_forgetting_is_a_fit_with_fading_weights(seed, name, kind, half_life, data):
    """Whatever the batches: a row with a rows after it counts 2^(-a / half_life)."""
    rng = np.random.default_rng(seed)
    n = 90
    X, y = _data(name, n, 4, rng, kind)
    cuts = data.draw(st.lists(st.integers(1, n - 1), max_size=8, unique=True))
    make = PCA if name == "pca" else lambda: ESTIMATORS[name](alpha=0.3)
    declared = {"classes": np.unique(y)} if name == "lda" else {}
    stream = make()
    for rows in np.split(np.arange(n), sorted(cuts)):
        stream.partial_fit(X[rows], y[rows], **declared, half_life=half_life)
    fade = 2.0 ** (-np.arange(n - 1, -1, -1) / half_life)
    rows = Rows(X, np.empty((n, 0)) if name == "pca" else _encoded(stream, y), None, fade)
    expected = stream._intake_.model._state(rows)
    solved = stream._intake_.model._solve(expected, stream._settings())
    np.testing.assert_allclose(stream.mean_, expected.mean, atol=1e-9)
    scale = solved.eigenvalues[0]
    if name == "pca":
        np.testing.assert_allclose(stream.singular_values_, solved.eigenvalues, atol=1e-9 * scale)
    else:
        np.testing.assert_allclose(stream.eigenvalues_, solved.eigenvalues, atol=1e-8 * scale)


def _encoded(model, y):
    return model._intake_.model._encode(as_labels(y), len(y), None, False)


@pytest.mark.parametrize("name", ["cca", "opls", "lda", "star", "zhou"])
def test_forgetting_equals_sample_weights(name, rng):
    X, y = _data(name, 60, 4, rng)
    fade = 2.0 ** (-np.arange(59, -1, -1) / 20.0)
    stream = ESTIMATORS[name]()
    for rows in np.array_split(np.arange(60), 7):
        stream.partial_fit(X[rows], y[rows], half_life=20.0)
    whole = ESTIMATORS[name]().fit(X, y, sample_weight=fade)
    np.testing.assert_allclose(stream.components_, whole.components_, atol=1e-9)
    if name == "lda":
        np.testing.assert_allclose(stream.predict_proba(X), whole.predict_proba(X), atol=1e-9)


def test_a_forgetting_stream_follows_a_drift(rng):
    """The classes change sides: a stream that forgets is right, one that does not is not."""

    def batch(sign):
        y = np.arange(60) % 2
        return rng.normal(size=(60, 3)) + sign * np.outer(2 * y - 1, [2.0, 0, 0]), y

    steady, forgetful = LDA(), LDA()
    for sign in [1] * 10 + [-1] * 4:
        X, y = batch(sign)
        steady.partial_fit(X, y)
        forgetful.partial_fit(X, y, half_life=60)
    X, y = batch(-1)
    assert forgetful.score(X, y) > 0.9
    assert steady.score(X, y) < 0.2


def test_what_has_faded_takes_no_room(rng):
    X, y = rng.normal(size=(4000, 3)), (rng.random((4000, 40)) < 0.1).astype(float)
    model = HypergraphSpectral()
    for rows in np.array_split(np.arange(4000), 40):
        model.partial_fit(X[rows], y[rows], half_life=10.0)
    assert sum(len(part.Y) for part in model._intake_.moments.recent) < 700
    assert model._intake_.moments.n_rows == 4000


def test_rows_without_labels_make_others_older(rng):
    """Those of zero weight are not there at all."""
    n = 40
    X, Y = rng.normal(size=(n, 3)), (rng.random((n, 3)) < 0.4).astype(int)
    Y[10:20], Y[-1] = 0, 0
    stream = MultilabelLDA()
    for rows in np.array_split(np.arange(n), 4):
        stream.partial_fit(X[rows], Y[rows], half_life=10.0)
    fade = 2.0 ** (-np.arange(n - 1, -1, -1) / 10)
    np.testing.assert_allclose(
        stream.components_, MultilabelLDA().fit(X, Y, fade).components_, rtol=1e-9, atol=1e-12
    )
    weight = (np.arange(n) % 3 > 0).astype(float)
    there = weight > 0
    one = MultilabelLDA().partial_fit(X, Y, weight, half_life=10.0)
    other = MultilabelLDA().partial_fit(X[there], Y[there], half_life=10.0)
    np.testing.assert_array_equal(one.components_, other.components_)


@pytest.mark.parametrize("half_life", [0, -1.0, np.nan, "long"])
def test_a_half_life_that_is_none_is_refused(half_life, rng):
    X, y = _data("lda", 30, 3, rng)
    with pytest.raises(ValueError, match="half_life="):
        LDA().partial_fit(X, y, half_life=half_life)


def test_a_long_silence_forgets_everything_before(rng):
    X, y = _data("opls", 60, 3, rng)
    model = OrthonormalizedPLS().partial_fit(1e3 * X, y)
    for _ in range(40):
        model.partial_fit(X, y, half_life=1.0)
    recent = OrthonormalizedPLS().partial_fit(X, y, half_life=1.0)
    np.testing.assert_allclose(model.eigenvalues_, recent.eigenvalues_, rtol=1e-6)


def test_ill_conditioned_streams_keep_their_digits(rng):
    X = rng.normal(size=(200, 5)) @ np.diag(10.0 ** -np.arange(5)) @ rng.normal(size=(5, 5))
    y = X @ rng.normal(size=(5, 2)) + 1e-3 * rng.normal(size=(200, 2))
    whole = OrthonormalizedPLS(alpha=0.0).fit(X, y)
    model = _stream(OrthonormalizedPLS(alpha=0.0), X, y, np.array_split(np.arange(200), 9))
    np.testing.assert_allclose(model.predict(X), whole.predict(X), atol=1e-9)


def test_a_stream_survives_pickling_and_forgets_on_clone(rng):
    X, y = _data("cca", 50, 4, rng)
    model = CCA().partial_fit(X[:30], y[:30])
    copy = pickle.loads(pickle.dumps(model)).partial_fit(X[30:], y[30:])
    model.partial_fit(X[30:], y[30:])
    np.testing.assert_array_equal(copy.components_, model.components_)
    assert not hasattr(clone(model), "components_")
    assert "_intake_" not in vars(model.fit(X, y))
