"""Streams as values: what was taken in, and results that do not depend on who looked when."""

from __future__ import annotations

import copy
import inspect
import pickle
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import estimator_html_repr
from sklearn.utils.validation import check_is_fitted

import eigenkit
from eigenkit import (
    CCA,
    GEPSVM,
    LDA,
    PCA,
    PLSDA,
    CanonicalRidge,
    HypergraphSpectral,
    LeastSquaresProjection,
    MultilabelLDA,
    MultiviewCCA,
    PLSCanonical,
    PLSRegression,
    ReGEC,
    RowBlocks,
    SparsePLSDA,
)
from eigenkit import OrthonormalizedPLS as OPLS

N, D = 40, 4


def _classes(rng):
    return np.arange(N) % 3


def _labels(rng):
    J = (rng.random((N, 3)) < 0.4).astype(float)
    J[:6] = np.tile(np.eye(3), (2, 1))
    return J


def _none(rng):
    return np.zeros((N, 1))


STREAMS = {
    "CCA": (CCA, _labels),
    "LDA": (LDA, _classes),
    "PCA": (PCA, _none),
    "OPLS": (OPLS, _labels),
    "CanonicalRidge": (CanonicalRidge, _labels),
    "MultilabelLDA": (MultilabelLDA, _labels),
    "star": (HypergraphSpectral, _labels),
    "clique": (lambda **kw: HypergraphSpectral(expansion="clique", **kw), _labels),
    "zhou": (lambda **kw: HypergraphSpectral(expansion="zhou", **kw), _labels),
}
every_stream = pytest.mark.parametrize("name", STREAMS)


def _data(name, rng):
    make, labels = STREAMS[name]
    return make, rng.normal(size=(N, D)), labels(rng)


def _fitted_names(model):
    return {
        n for n in dir(model) if n.endswith("_") and not n.startswith("_") and hasattr(model, n)
    }


@every_stream
def test_a_stream_has_the_attributes_of_a_fit(name, rng):
    make, X, y = _data(name, rng)
    stream = make().partial_fit(X[:30], y[:30]).partial_fit(X[30:], y[30:])
    assert _fitted_names(stream) == _fitted_names(make().fit(X, y))


@every_stream
def test_a_stream_that_cannot_be_solved_yet_can_be_looked_at(name, rng):
    make, X, y = _data(name, rng)
    known = {"classes": [0, 1, 2]} if name == "LDA" else {}
    stream = make().partial_fit(X[:1], y[:1], **known)
    for look in (repr, str, estimator_html_repr, dir, vars, inspect.getmembers, clone):
        look(stream)
    stream._repr_html_()
    assert not hasattr(stream, "components_")
    assert not hasattr(stream, "mean_")
    assert getattr(stream, "eigenvalues_", None) is None
    with pytest.raises(NotFittedError, match=r"cannot be solved from the 1 rows .* taken in: "):
        stream.transform(X)
    with pytest.raises(AttributeError):
        stream.components_
    for again in (copy.copy(stream), copy.deepcopy(stream), pickle.loads(pickle.dumps(stream))):
        again.partial_fit(X[1:], y[1:])
        np.testing.assert_allclose(again.mean_, make().fit(X, y).mean_, atol=1e-12)
    assert not hasattr(stream, "components_")  # the copies have a life of their own


@every_stream
def test_looking_changes_nothing_to_come(name, rng):
    make, X, y = _data(name, rng)
    watched, quiet = make(), make()
    known = {"classes": [0, 1, 2]} if name == "LDA" else {}
    for rows in np.array_split(np.arange(N), 8):
        watched.partial_fit(X[rows], y[rows], **known)
        quiet.partial_fit(X[rows], y[rows], **known)
        hasattr(watched, "components_")
    np.testing.assert_array_equal(watched.components_, quiet.components_)
    assert vars(watched).keys() == vars(quiet).keys()


@pytest.mark.parametrize("looked", [False, True])
@every_stream
def test_parameters_take_effect_when_data_are_taken_in(name, looked, rng):
    """As with fit: what set_params changes holds from the next partial_fit or merge on."""
    make, X, y = _data(name, rng)
    stream = make().partial_fit(X[:30], y[:30])
    if looked:
        stream.transform(X)
    stream.set_params(n_components=1)
    np.testing.assert_array_equal(
        stream.components_, make().partial_fit(X[:30], y[:30]).components_
    )
    stream.partial_fit(X[30:], y[30:])
    assert len(stream.components_) == 1


@every_stream
def test_a_new_estimator_takes_over_a_stream_under_its_own_parameters(name, rng):
    make, X, y = _data(name, rng)
    stream = make().partial_fit(X, y)
    other = clone(stream).set_params(n_components=1).merge(stream)
    np.testing.assert_allclose(other.components_, make(n_components=1).fit(X, y).components_)
    other.partial_fit(X[:3], y[:3])
    stream.partial_fit(X[:3], y[:3])
    np.testing.assert_allclose(other.components_, stream.components_[:1], atol=1e-12)
    with pytest.raises(ValueError, match="this model keeps no stream"):
        make().fit(X, y).merge(stream)
    with pytest.raises(ValueError, match="other keeps no stream"):
        make().merge(make())


@every_stream
def test_fit_ends_a_stream_and_partial_fit_begins_one(name, rng):
    make, X, y = _data(name, rng)
    model = make().partial_fit(X[:20], y[:20]).fit(X, y)
    np.testing.assert_array_equal(model.components_, make().fit(X, y).components_)
    model.partial_fit(X[20:], y[20:])
    expected = make().partial_fit(X[20:], y[20:])
    np.testing.assert_array_equal(model.components_, expected.components_)


@every_stream
def test_a_wrong_parameter_is_refused_before_anything_is_taken_in(name, rng):
    make, X, y = _data(name, rng)
    stream = make().partial_fit(X, y)
    before = stream.components_
    with pytest.raises(ValueError, match="n_components=-3"):
        stream.set_params(n_components=-3).partial_fit(X, y)
    with pytest.raises(ValueError, match="n_components=-3"):
        stream.merge(make().partial_fit(X, y))
    np.testing.assert_array_equal(stream.components_, before)


def test_warnings_come_once_for_each_solution(rng):
    X, y = rng.normal(size=(N, D)), np.arange(N) % 3
    X[:, 2] = 1.0
    stream = LDA().partial_fit(X, y)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        stream.transform(X)
        stream.predict(X)
    assert len(said) == 1


def test_an_unfitted_estimator_is_not_fitted():
    with pytest.raises(NotFittedError):
        check_is_fitted(LDA())
    assert not hasattr(LDA(), "components_")
    with pytest.raises(AttributeError, match="'LDA' object has no attribute 'coef_'"):
        LDA().coef_


def test_a_stream_that_forgets_follows_classes_that_move(rng):
    remembers, forgets = LDA(), LDA()
    right = np.zeros(2)
    for step, angle in enumerate(np.linspace(0, np.pi, 40)):
        y = np.arange(80) % 2
        direction = np.array([np.cos(angle), np.sin(angle)])
        X = rng.normal(size=(80, 2)) + 1.5 * (2 * y[:, None] - 1) * direction
        if step >= 30:
            right += [remembers.score(X, y), forgets.score(X, y)]
        remembers.partial_fit(X, y, classes=[0, 1])
        forgets.partial_fit(X, y, classes=[0, 1], half_life=160)
    assert right[1] / 10 > 0.85 > 0.7 > right[0] / 10


WEIGHTED = {
    **STREAMS,
    "PLSRegression": (PLSRegression, _labels),
    "PLSCanonical": (PLSCanonical, _labels),
    "PLSDA": (PLSDA, _classes),
    "SparsePLSDA": (SparsePLSDA, _classes),
    "LeastSquaresProjection": (LeastSquaresProjection, _labels),
    "MultiviewCCA": (lambda: MultiviewCCA(groups=[0, 0, 1, 1]), _none),
    "ReGEC": (ReGEC, _classes),
    "GEPSVM": (GEPSVM, _classes),
}


def _shown(model, X):
    return (model.transform if hasattr(model, "transform") else model.decision_function)(X)


@pytest.mark.parametrize("silent", ["first", "second", "last"])
@pytest.mark.parametrize("name", WEIGHTED)
def test_batches_of_zero_weight_change_nothing(rng, name, silent):
    make, labels = WEIGHTED[name]
    X, Y, weight = rng.normal(size=(N, D)), labels(rng), rng.random(N) + 0.5
    parts = np.split(np.arange(N), 4)
    weight[parts[{"first": 0, "second": 1, "last": 3}[silent]]] = 0.0
    whole = make().fit(X, Y, sample_weight=weight)
    blocks = RowBlocks.from_arrays([(X[rows], Y[rows], weight[rows]) for rows in parts])
    stream = make()
    for rows in parts:
        stream.partial_fit(X[rows], Y[rows], sample_weight=weight[rows])
    for model in (stream, make().fit(blocks)):
        np.testing.assert_allclose(_shown(model, X), _shown(whole, X), atol=1e-8)


def test_weights_that_are_all_zero_are_nothing_to_learn_from(rng):
    X, y, nothing = rng.normal(size=(N, D)), np.arange(N) % 3, np.zeros(N)
    stream = LDA().partial_fit(X, y, sample_weight=nothing)
    with pytest.raises(NotFittedError):
        check_is_fitted(stream)
    with pytest.raises(ValueError, match="no block"):
        LDA().fit(RowBlocks.from_arrays([(X, y, nothing)]))
    with pytest.raises(ValueError, match="zero for every sample"):
        LDA().fit(X, y, sample_weight=nothing)


READ = {"LDA": "coef_", "PLSRegression": "coef_", "PLSDA": "coef_", "ReGEC": "eigenvalues_"}


@pytest.mark.parametrize("name", READ)
def test_two_threads_that_read_a_stream_find_all_of_it(rng, name, monkeypatch):
    make, labels = WEIGHTED[name]
    stream = make().partial_fit(rng.normal(size=(N, D)), labels(rng))
    monkeypatch.setattr(type(stream), "__setattr__", _slowly, raising=False)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(partial(_later, stream, READ[name]), range(8)))
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])


def _later(stream, attribute, i):
    time.sleep(0.003 * i)
    return getattr(stream, attribute)


def _slowly(model, name, value):
    object.__setattr__(model, name, value)
    time.sleep(0.002)


@pytest.mark.parametrize("size", [1e-200, 1e200])
@pytest.mark.parametrize("name", ["PLSRegression", "SIMPLS", "SparseCCA", "ReGEC", "LDA"])
def test_streams_of_numbers_whose_squares_leave_the_range(name, size, rng):
    model = getattr(eigenkit, name)()
    model.set_params(**{"alpha": 0.0} if name == "LDA" else {})
    X, y = rng.normal(size=(40, 4)) * size, np.arange(40) % 2
    X[y == 0] += size
    stream = clone(model)
    for rows in (slice(0, 15), slice(15, 40)):
        stream.partial_fit(X[rows], y[rows])
    whole = clone(model).fit(X, y)
    attribute = "coef_" if hasattr(whole, "coef_") else "canonical_correlations_"
    expected = getattr(whole, attribute)
    atol = 1e-6 * np.abs(expected).max()
    np.testing.assert_allclose(getattr(stream, attribute), expected, atol=atol)
