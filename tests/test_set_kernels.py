"""Pyramid match kernels against a direct count, and hostile sets."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from eigenkit import ReGEC
from eigenkit.kernels.sets import (
    FisherVectors,
    MeanMap,
    Pooled,
    PyramidMatch,
    VisualWords,
    pyramid_match,
)
from eigenkit.kernels.sets._vocabulary import ALIKE, stacks

BINS = ["uniform", "vocabulary"]


def collection(n_sets=12, d=3, seed=0, largest=9):
    random = np.random.default_rng(seed)
    return [random.standard_normal((random.integers(1, largest), d)) for _ in range(n_sets)]


def naive(bins, a, b):
    """Sum over levels of weight times *new* matches, finest level first, bin by bin."""
    total, before = 0.0, 0
    for level in range(bins.n_levels):
        side = bins.side * 2**level
        last = level == bins.n_levels - 1
        cells = [
            [(0,) if last else tuple(np.floor((p - bins.origin) / side).astype(int)) for p in s]
            for s in (a, b)
        ]
        matches = sum(min(cells[0].count(c), cells[1].count(c)) for c in set(cells[0]))
        total += (matches - before) / 2**level
        before = matches
    return total


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("n_levels", [1, 2, 5])
def test_uniform_bins_equal_a_naive_pyramid_match(d, n_levels):
    sets = collection(d=d)
    model = PyramidMatch(n_levels=n_levels, normalize=False).fit(sets)
    expected = [[naive(model.bins_, a, b) for b in sets] for a in sets]
    np.testing.assert_allclose(model.transform(sets), expected, rtol=1e-12)


def test_vocabulary_bins_equal_a_naive_count():
    sets = collection(n_sets=8, largest=30)
    model = PyramidMatch("vocabulary", n_levels=4, branching=3, normalize=False, random_state=0)
    K = model.fit_transform(sets)
    tree = model.bins_
    expected = np.zeros((8, 8))
    paths = [[_path(tree, p) for p in s] for s in sets]
    for node in range(len(tree.centers)):
        counts = np.array([sum(node in path for path in own) for own in paths])
        parent = next((p for p in range(tree.n_bins) if node in _children(tree, p)), None)
        step = tree.weights[node] - (0.0 if parent is None else tree.weights[parent])
        expected += step * np.minimum.outer(counts, counts)
    np.testing.assert_allclose(K, expected, rtol=1e-10)


def _path(tree, point):
    path = [0]
    while len(children := _children(tree, path[-1])):
        gaps = [np.linalg.norm(point - tree.centers[child]) for child in children]
        path.append(children[int(np.argmin(gaps))])
    return path


def _children(tree, node):
    return list(range(tree.first[node], tree.first[node] + tree.n_children[node]))


def test_weights_grow_from_coarse_to_fine():
    points = np.vstack(collection(n_sets=40))
    tree = PyramidMatch("vocabulary", branching=4, random_state=1).fit([points]).bins_
    for node in range(tree.n_bins):
        assert all(tree.weights[c] >= tree.weights[node] for c in _children(tree, node))


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), bins=st.sampled_from(BINS), d=st.integers(1, 4))
def test_positive_semidefinite_with_unit_diagonal(seed, bins, d):
    sets = [*collection(seed=seed, d=d), np.empty((0, d)), np.empty((0, d))]
    K = pyramid_match(sets, bins=bins, n_levels=4, branching=3, random_state=seed)
    np.testing.assert_allclose(K, K.T, atol=1e-14)
    np.testing.assert_allclose(K.diagonal(), 1, atol=1e-12)
    assert np.linalg.eigvalsh(K)[0] > -1e-12
    assert K.min() >= 0
    assert K.max() <= 1 + 1e-12


@pytest.mark.parametrize("bins", BINS)
def test_function_and_transformer(bins):
    sets, new = collection(), collection(n_sets=5, seed=1)
    model = PyramidMatch(bins, n_levels=4, random_state=0)
    np.testing.assert_allclose(model.fit_transform(sets), model.fit(sets).transform(sets))
    assert model.transform(new).shape == (5, 12)
    both = pyramid_match([*sets, *new], bins=bins, n_levels=4, random_state=0)
    cross = pyramid_match(sets, new, bins=bins, n_levels=4, random_state=0)
    np.testing.assert_allclose(cross, both[:12, 12:])
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.transform(new), model.transform(new))
    assert clone(model).get_params() == model.get_params()


def test_dense_and_sparse_products_agree(monkeypatch):
    sets = collection(n_sets=30, largest=20)
    expected = pyramid_match(sets, n_levels=5)
    for share in (0.0, 1.0):
        monkeypatch.setattr("eigenkit.kernels.sets._pyramid.DENSE_SHARE", share)
        np.testing.assert_allclose(pyramid_match(sets, n_levels=5), expected, atol=1e-14)


def test_order_of_points_and_of_sets_does_not_matter():
    sets = collection()
    K = pyramid_match(sets, n_levels=5)
    np.testing.assert_allclose(pyramid_match([s[::-1] for s in sets], n_levels=5), K)
    np.testing.assert_allclose(pyramid_match(sets[::-1], n_levels=5), K[::-1, ::-1])


def test_coordinates_are_appended():
    features = collection(d=2)
    random = np.random.default_rng(5)
    places = [random.uniform(0, 1, (len(s), 2)) for s in features]
    pairs = list(zip(features, places, strict=True))
    joined = [np.hstack([s, 3 * p]) for s, p in pairs]
    np.testing.assert_allclose(pyramid_match(pairs, coordinate_weight=3.0), pyramid_match(joined))


def test_equal_sets_match_fully_and_duplicated_points_count():
    a = np.array([[0.0], [1.0]])
    K = pyramid_match([a, a.copy(), np.repeat(a, 2, axis=0)], n_levels=3, normalize=False)
    np.testing.assert_allclose(K, [[2, 2, 2], [2, 2, 2], [2, 2, 4]])
    same = pyramid_match([np.ones((3, 2)), np.ones((5, 2))], bins="vocabulary")
    np.testing.assert_allclose(same, [[1, 3 / np.sqrt(15)], [3 / np.sqrt(15), 1]])


@pytest.mark.parametrize("bins", BINS)
def test_empty_sets(bins):
    sets = [np.empty((0, 2)), np.array([[1.0, 2.0]]), []]
    np.testing.assert_allclose(pyramid_match(sets, bins=bins), [[1, 0, 1], [0, 1, 0], [1, 0, 1]])
    np.testing.assert_allclose(pyramid_match([[], []], bins=bins), np.ones((2, 2)))


@pytest.mark.parametrize("classifier", [SVC(kernel="precomputed"), ReGEC(kernel="precomputed")])
@pytest.mark.parametrize("bins", BINS)
def test_classification_of_sets(classifier, bins):
    random = np.random.default_rng(0)
    y = np.repeat([0, 1], 25)
    sets = [random.normal(0, 1 + label, (30, 2)) for label in y]
    pipe = make_pipeline(PyramidMatch(bins, n_levels=4, random_state=0), classifier)
    assert cross_val_score(pipe, sets, y, cv=3).mean() > 0.75


@pytest.mark.parametrize(
    ("sets", "error", "message"),
    [
        ([np.ones((2, 2)), np.ones((2, 3))], ValueError, "vectors with 2 and with 3 numbers"),
        ([np.ones((2, 2)), np.ones(2)], ValueError, "Set 1 of X has 1 dimension"),
        ([np.array([[1.0, np.nan]])], ValueError, "Set 0 of X contains NaN"),
        ([np.array([["a"]])], ValueError, "Set 0 of X is not a matrix of real numbers"),
        ([np.array([[1j]])], ValueError, "Set 0 of X is not a matrix of real numbers"),
        ([(np.ones((2, 2)), np.ones((3, 2)))], ValueError, "give \\(features, coordinates\\)"),
        ([], ValueError, "X holds no set"),
        (np.ones((3, 2)), TypeError, "give a list of matrices"),
        ((x for x in []), TypeError, "give a list of matrices"),
    ],
)
def test_bad_sets(sets, error, message):
    with pytest.raises(error, match=message):
        pyramid_match(sets)


def test_new_sets_of_another_width():
    model = PyramidMatch().fit(collection(d=3))
    with pytest.raises(ValueError, match="vectors of 2 numbers, but those seen in fit had 3"):
        model.transform(collection(d=2))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"bins": "random"}, "bins='random' is not known"),
        ({"n_levels": 0}, "n_levels=0 is not valid"),
        ({"side": 0}, "side=0 is not valid"),
        ({"branching": 1}, "branching=1 is not valid"),
        ({"coordinate_weight": -1.0}, "coordinate_weight=-1.0 is not valid"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        PyramidMatch(**parameters).fit(collection())


# -- the other kernels ------------------------------------------------------------------

OTHERS = {
    "mean map": MeanMap(random_state=0),
    "fisher": FisherVectors(3, random_state=0),
    "words": VisualWords(4, random_state=0),
    "pooled": Pooled(random_state=0),
    "pyramid": PyramidMatch("vocabulary", n_levels=3, branching=3, random_state=0),
}


@pytest.mark.parametrize("kernel", OTHERS.values(), ids=OTHERS)
def test_every_kernel_keeps_the_contract(kernel):
    sets, new = collection(n_sets=15, largest=12), collection(n_sets=4, seed=1)
    K = clone(kernel).fit_transform(sets)
    np.testing.assert_allclose(K, K.T, atol=1e-12)
    np.testing.assert_allclose(K.diagonal(), 1, atol=1e-10)
    assert np.linalg.eigvalsh(K)[0] > -1e-9
    fitted = clone(kernel).fit(sets)
    np.testing.assert_allclose(fitted.transform(sets), K, atol=1e-10)
    alone = np.vstack([fitted.transform([one]) for one in new])
    np.testing.assert_allclose(fitted.transform(new), alone, atol=1e-10)
    turned = [one[::-1] for one in new]
    np.testing.assert_allclose(fitted.transform(turned), alone, atol=1e-10)


@pytest.mark.parametrize("kernel", OTHERS.values(), ids=OTHERS)
def test_empty_sets_are_like_each_other_only(kernel):
    sets = [*collection(n_sets=6), np.empty((0, 3)), []]
    K = clone(kernel).fit_transform(sets)
    np.testing.assert_allclose(K[-2:, -2:], 1)
    np.testing.assert_allclose(K[-2:, :-2], 0)


@pytest.mark.parametrize("kernel", OTHERS.values(), ids=OTHERS)
def test_single_precision_is_close(kernel):
    sets = collection(n_sets=10)
    small = [one.astype(np.float32) for one in sets]
    expected = clone(kernel).fit_transform(sets)
    np.testing.assert_allclose(clone(kernel).fit_transform(small), expected, atol=1e-4)


def test_mean_map_is_the_mean_over_pairs():
    sets = collection(n_sets=5)
    model = MeanMap(2.0, random_state=0).fit(sets)

    def mean(a, b):
        return np.mean([[np.exp(-model.scale_ * np.sum((x - y) ** 2)) for x in a] for y in b])

    expected = [[mean(a, b) / np.sqrt(mean(a, a) * mean(b, b)) for b in sets] for a in sets]
    np.testing.assert_allclose(model.transform(sets), expected, rtol=1e-10)
    distances = [
        np.sum((x - y) ** 2)
        for i, x in enumerate(np.vstack(sets))
        for y in np.vstack(sets)[i + 1 :]
    ]
    assert model.scale_ == pytest.approx(2.0 / np.median(distances))


def test_fisher_vectors_are_gradients_of_the_likelihood():
    """Of the log-likelihood by means and deviations, over the roots of the Fisher information."""
    sets = collection(n_sets=3, largest=20)
    mixture = FisherVectors(3, random_state=0).fit(sets).mixture_
    x = sets[0]

    def likelihood(means, deviations):
        z = (x[:, None] - means) / deviations
        logs = np.log(mixture.weights) - 0.5 * (z**2).sum(axis=2) - np.log(deviations).sum(axis=1)
        top = logs.max(axis=1, keepdims=True)
        return np.mean(top[:, 0] + np.log(np.exp(logs - top).sum(axis=1)))

    from eigenkit.kernels.sets._fisher import _gradients

    F = _gradients(mixture, x, np.array([len(x)])).reshape(2, 3, 3)
    m, s, p, h = mixture.means, mixture.deviations, mixture.weights[:, None], 1e-6
    for i in range(3):
        for j in range(3):
            step = np.zeros_like(m)
            step[i, j] = h
            by_mean = (likelihood(m + step, s) - likelihood(m - step, s)) / (2 * h)
            by_deviation = (likelihood(m, s + step) - likelihood(m, s - step)) / (2 * h)
            assert F[0, i, j] == pytest.approx((by_mean * s / np.sqrt(p))[i, j], abs=1e-5)
            assert F[1, i, j] == pytest.approx((by_deviation * s / np.sqrt(2 * p))[i, j], abs=1e-5)


def test_words_compare_shares():
    sets = [np.zeros((2, 1)), np.array([[0.0], [9.0]]), np.full((3, 1), 9.0)]
    model = VisualWords(2, gamma=1.0, random_state=0).fit(sets)
    distances = [0.5**2 / 1.5 + 0.5, 2.0, 0.5 + 0.5**2 / 1.5]
    expected = np.exp(-np.array(distances) / np.mean(distances))
    K = model.transform(sets)
    np.testing.assert_allclose([K[0, 1], K[0, 2], K[1, 2]], expected, rtol=1e-10)


def test_training_sets_are_kept_as_counts():
    sets = collection(n_sets=6, largest=30)
    model = PyramidMatch("vocabulary", n_levels=3, random_state=0).fit(sets)
    assert model.counts_.shape == (6, model.bins_.n_bins)
    np.testing.assert_array_equal(model.counts_[:, [0]].toarray().ravel(), [len(s) for s in sets])
    assert not any(isinstance(v, np.ndarray) and v.ndim == 2 for v in vars(model).values())


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (MeanMap(0.0), "gamma=0.0 is not valid"),
        (VisualWords(0), "n_words=0 is not valid"),
        (FisherVectors(-1), "n_gaussians=-1 is not valid"),
        (Pooled(0.0), "gamma=0.0 is not valid"),
    ],
)
def test_bad_parameters_of_the_others(kernel, message):
    with pytest.raises(ValueError, match=message):
        kernel.fit(collection())


@pytest.mark.parametrize("kernel", OTHERS.values(), ids=OTHERS)
def test_sets_may_come_in_blocks(kernel):
    sets = [x.astype(np.float32) for x in collection(n_sets=9, largest=12)]
    whole = clone(kernel).set_params(random_state=0).fit(sets)
    points = np.vstack(sets)
    parts = [sets[:4], sets[4:5], sets[5:]]
    blocks = [(np.vstack(part), np.array([len(x) for x in part])) for part in parts]
    model = clone(kernel).set_params(random_state=0).fit_blocks(points, blocks)
    assert model.n_sets_in_ == 9
    expected = whole.fit_transform(sets)
    np.testing.assert_allclose(model.kernel_of_fit(), expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(model.transform(sets[:2]), expected[:2], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("bins", BINS)
def test_few_new_sets_and_many_give_the_same(bins, monkeypatch):
    sets, new = collection(n_sets=20, largest=30), collection(n_sets=5, seed=1, largest=30)
    model = PyramidMatch(bins, n_levels=4, random_state=0).fit(sets)
    few = model.transform(new)
    monkeypatch.setattr("eigenkit.kernels.sets._pyramid.FEW_SETS", 0)
    np.testing.assert_allclose(few, model.transform(new), rtol=1e-10, atol=1e-14)


# -- many clusters at once ----------------------------------------------------------------


def test_every_row_is_in_one_stack_once():
    group = np.random.default_rng(0).integers(0, 400, 3000) ** 2 // 400
    seen = np.zeros(len(group), dtype=int)
    for names, rows, real in stacks(group):
        np.testing.assert_array_equal(group[rows], np.broadcast_to(names[:, None], rows.shape))
        np.add.at(seen, rows[real], 1)
        sizes = real.sum(axis=1)
        assert rows.shape[1] == sizes.max() <= ALIKE * sizes.min() + 1
    np.testing.assert_array_equal(seen, 1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_children_are_the_clusters_of_their_bin(dtype):
    """Planted: five far places, in each three close ones, in each ten points; one place is bare."""
    rng = np.random.default_rng(3)
    places = 1000 + 100 * rng.permutation(np.eye(5))
    close = places[:, None] + 5 * np.eye(5)[:3]
    points = close[:, :, None] + 0.1 * rng.normal(size=(5, 3, 10, 5))
    points[0] = places[0]
    tree = PyramidMatch("vocabulary", n_levels=3, branching=5, random_state=0)
    tree = tree.fit([points.reshape(-1, 5).astype(dtype)]).bins_
    np.testing.assert_array_equal(tree.n_children[:1], 5)
    order = np.argmin(np.linalg.norm(tree.centers[1:6, None] - places, axis=2), axis=1)
    assert sorted(order) == list(range(5))
    for node, place in enumerate(order, 1):
        own = points[place].reshape(-1, 5)
        np.testing.assert_allclose(tree.centers[node], own.mean(axis=0), rtol=1e-5)
        inside = tree.paths(own.astype(dtype))
        assert np.all(inside[:, 1] == node)
        assert np.all(inside[:, 2] == -1) if place == 0 else tree.n_children[node] == 5
        for child in _children(tree, node):
            mine = own[inside[:, 2] == child]
            np.testing.assert_allclose(tree.centers[child], mine.mean(axis=0), rtol=1e-5)


def test_few_sets_are_like_others_too():
    """Their points are soon alone in a bin, which must not outweigh the bins that are shared."""
    rng = np.random.default_rng(0)
    sets = [rng.normal(size=(9, 8)) + rng.normal(size=8) for _ in range(30)]
    K = pyramid_match(sets, bins="vocabulary", random_state=0)
    assert np.median(K[np.triu_indices(30, 1)]) > 0.1  # it was 0.004


def test_copies_of_a_point_weigh_as_other_bins_of_their_level():
    rng = np.random.default_rng(0)
    points = np.vstack([np.zeros((200, 3)), rng.normal(size=(400, 3))])
    tree = PyramidMatch("vocabulary", n_levels=4, random_state=0).fit([points]).bins_
    path = tree.paths(points)
    level = int(np.flatnonzero(path[0] >= 0)[-1])
    others, sizes = np.unique(path[200:, level], return_counts=True)
    told = others[(sizes > 1) & (others >= 0)]
    around = tree.weights[path[0, level - 1]]
    assert tree.weights[path[0, level]] <= max(around, tree.weights[told].max())
