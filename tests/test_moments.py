"""Streams: any partition of the rows, in any order, gives the batch answer."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone

from conftest import ESTIMATORS, labels_for, projector_distance
from eigenkit import CCA, LDA, HypergraphSpectral, OrthonormalizedPLS
from eigenkit.moments import Factor, Rows


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
@settings(max_examples=60, deadline=None)
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


@settings(max_examples=30, deadline=None)
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


@settings(max_examples=40, deadline=None)
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

    def fail(*args):
        raise interrupt("stopped half-way")

    monkeypatch.setattr("eigenkit.estimators._streams.merge", fail)
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
    with pytest.raises(ValueError, match="0 sample"):
        model.partial_fit(X[:0], y[:0])
    np.testing.assert_allclose(model.components_, HypergraphSpectral().fit(X, y).components_)


def test_merge_refuses_what_does_not_fit(rng):
    X, y = _data("star", 60, 4, rng)
    model = HypergraphSpectral().partial_fit(X, y)
    with pytest.raises(TypeError, match="other is a CCA"):
        model.merge(CCA().partial_fit(X, y))
    with pytest.raises(ValueError, match="other keeps no stream"):
        model.merge(HypergraphSpectral().fit(X, y))
    with pytest.raises(ValueError, match="n_features_in differs"):
        model.merge(HypergraphSpectral().partial_fit(X[:, :3], y))
    with pytest.raises(ValueError, match="classes_ differ"):
        labels = np.arange(60) % 3
        LDA().partial_fit(X, labels).merge(LDA().partial_fit(X, labels + 1))


def test_too_many_features_for_a_summary(monkeypatch, rng):
    monkeypatch.setattr("eigenkit.moments.FACTOR_LIMIT_BYTES", 8 * 10 * 10)
    X, y = _data("opls", 40, 12, rng)
    model = OrthonormalizedPLS().partial_fit(X[:20], y[:20])  # the rows are still smaller
    assert isinstance(model._intake_.moments, Rows)
    with pytest.raises(ValueError, match=r"partial_fit would keep 16 x 16 numbers .* use fit"):
        model.partial_fit(X[20:], y[20:])
    assert isinstance(model._intake_.moments, Rows)


def test_the_summary_stays_small(rng):
    X, y = _data("star", 400, 6, rng)
    model = _stream(HypergraphSpectral(), X, y, np.array_split(np.arange(400), 40))
    assert isinstance(model._intake_.moments, Factor)
    width = 6 + len(np.unique(y, axis=0))
    assert model._intake_.moments.R.shape[0] <= 2 * width


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
