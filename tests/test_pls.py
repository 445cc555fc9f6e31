"""PLS estimators: agreement with scikit-learn, containers, gaps, weights, hostile input."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn import cross_decomposition as theirs
from sklearn.base import clone
from sklearn.datasets import load_linnerud, load_wine
from sklearn.exceptions import NotFittedError

from eigenkit import PLSSVD, SIMPLS, PLSCanonical, PLSRegression, RowBlocks
from eigenkit.exceptions import ConvergenceWarning, DegenerateDataWarning

FAMILY = [PLSRegression, SIMPLS, PLSCanonical, PLSSVD]
EACH = pytest.mark.parametrize("cls", FAMILY)
SCALES = pytest.mark.parametrize("scale", [True, False])
ARRAYS = [
    *("x_weights_", "y_weights_", "x_loadings_", "y_loadings_", "x_rotations_", "y_rotations_"),
    *("coef_", "intercept_"),
]


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 8)) @ rng.normal(size=(8, 8)) + 3
    return X, X[:, :3] @ rng.normal(size=(3, 4)) + rng.normal(size=(60, 4))


# The two checks that fit an orthogonal design get the warning that one component is all.


# -- agreement --------------------------------------------------------------------------


@SCALES
def test_regression_agrees_with_scikit_learn(data, scale):
    X, Y = data
    reference = theirs.PLSRegression(6, scale=scale, tol=1e-30, max_iter=5000)
    ours, reference = PLSRegression(6, scale=scale).fit(X, Y), reference.fit(X, Y)
    for name in [*ARRAYS, "x_scores_", "y_scores_"]:
        a, b = getattr(ours, name), getattr(reference, name)
        np.testing.assert_allclose(a, b, atol=1e-10 * np.abs(b).max(), err_msg=name)
    np.testing.assert_allclose(ours.predict(X), reference.predict(X), rtol=1e-10)
    for a, b in zip(ours.transform(X, Y), reference.transform(X, Y), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-10 * np.abs(b).max())
    T, U = ours.transform(X, Y)
    for a, b in zip(ours.inverse_transform(T, U), reference.inverse_transform(T, U), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10)


@SCALES
def test_canonical_agrees_with_scikit_learn(data, scale):
    X, Y = data
    ours = PLSCanonical(4, scale=scale).fit(X, Y)
    reference = theirs.PLSCanonical(4, scale=scale, algorithm="svd").fit(X, Y)
    for name in ARRAYS:
        a, b = getattr(ours, name), getattr(reference, name)
        np.testing.assert_allclose(a, b, atol=1e-10 * np.abs(b).max(), err_msg=name)


@SCALES
def test_svd_agrees_with_scikit_learn(data, scale):
    X, Y = data
    ours, reference = PLSSVD(4, scale=scale).fit(X, Y), theirs.PLSSVD(4, scale=scale).fit(X, Y)
    for a, b in zip(ours.transform(X, Y), reference.transform(X, Y), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-10 * np.abs(b).max())


@pytest.mark.parametrize("cls", [PLSRegression, PLSCanonical])
def test_nipals_gives_the_same_model(data, cls):
    X, Y = data
    ours, reference = cls(4).fit(X, Y), cls(4, algorithm="nipals", tol=1e-13).fit(X, Y)
    shares = ["x_explained_variance_ratio_", "y_explained_variance_ratio_"]
    for name in [*ARRAYS, "x_scores_", "y_scores_", *shares]:
        a, b = getattr(ours, name), getattr(reference, name)
        np.testing.assert_allclose(a, b, atol=1e-9 * np.abs(b).max(), err_msg=name)
    assert max(reference.n_iter_) > 1


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("algorithm", ["kernel", "nipals"])
def test_shares_of_y_add_up_to_r2_in_any_unit_of_y(data, algorithm, scale, weighted):
    X, Y = data
    weight = np.random.default_rng(0).uniform(0.5, 2, len(X)) if weighted else None
    for y in (Y, Y[:, :1]):
        model = PLSRegression(3, scale=scale, algorithm=algorithm).fit(X, y, sample_weight=weight)
        w = np.ones(len(X)) if weight is None else weight
        left = w @ ((y - model.predict(X).reshape(y.shape)) / model.y_std_) ** 2
        total = w @ ((y - model.y_mean_) / model.y_std_) ** 2
        share = model.y_explained_variance_ratio_
        np.testing.assert_allclose(share.sum(), 1 - left.sum() / total.sum())
        model.fit(X, 100 * y, sample_weight=weight)
        np.testing.assert_allclose(model.y_explained_variance_ratio_, share)


def test_nipals_takes_many_components_without_overflow():
    # Rotations of y by a recursion that only holds for canonical deflation grew to 1e160.
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(200, 4))
    smooth = np.cumsum(np.cumsum(rng.normal(size=(200, 40)), axis=1), axis=1) / 100
    X = smooth + Y @ np.sin(np.outer(np.arange(1, 5), np.linspace(0, 1, 40)))
    ours = PLSRegression(20, algorithm="nipals", max_iter=20000).fit(X, Y)
    np.testing.assert_allclose(ours.predict(X), PLSRegression(20).fit(X, Y).predict(X), atol=1e-5)


def _in_blocks(n, scale, X, Y):
    rows = RowBlocks.from_arrays([(X[:15], Y[:15]), (X[15:], Y[15:])])
    return PLSRegression(n, scale=scale).fit(rows)


def _streamed(n, scale, X, Y):
    model = PLSRegression(n, scale=scale).partial_fit(X[:15], Y[:15]).partial_fit(X[15:], Y[15:])
    assert model.n_components_  # what solves it
    return model


@pytest.mark.parametrize(
    "seeds", [range(4), pytest.param(range(4, 20), marks=pytest.mark.slow)], ids=str
)
@pytest.mark.parametrize("offset", [0.0, 1.0, 100.0, 1e4])
@pytest.mark.parametrize(
    "fit",
    [
        lambda n, scale, X, Y: PLSRegression(n, scale=scale).fit(X, Y),
        lambda n, scale, X, Y: PLSRegression(n, scale=scale, algorithm="nipals").fit(X, Y),
        lambda n, scale, X, Y: SIMPLS(n, scale=scale).fit(X, Y),
        lambda n, scale, X, Y: PLSCanonical(n, scale=scale).fit(X, Y),
        _in_blocks,
        _streamed,
    ],
)
def test_components_of_rounding_are_left_out(fit, offset, seeds):
    # Their scores are the rounding of the numbers as given, and coefficients grew to 1e14.
    for seed in seeds:
        rng = np.random.default_rng(seed)
        rank = int(rng.integers(1, 5))
        X = rng.normal(size=(40, rank)) @ rng.normal(size=(rank, 6)) + offset
        Y = rng.normal(size=(40, 5))
        with pytest.warns(DegenerateDataWarning, match="nothing left in common"):
            model = fit(5, bool(seed % 2), X, Y)
        assert model.n_components_ == rank
        assert np.abs(model.coef_).max() < 1e3


# -- what the model promises ------------------------------------------------------------


@pytest.mark.parametrize("cls", [PLSRegression, SIMPLS, PLSCanonical])
def test_fewer_components_need_no_new_fit(data, cls):
    X, Y = data
    model = cls(4).fit(X, Y)
    path = model.coef_path_
    staged = list(model.staged_predict(X))
    for l in range(1, 5):
        small = cls(l).fit(X, Y)
        np.testing.assert_allclose(model.predict(X, n_components=l), small.predict(X), rtol=1e-9)
        np.testing.assert_allclose(path[l - 1], small.coef_, rtol=1e-8)
        np.testing.assert_allclose(staged[l - 1], small.predict(X), rtol=1e-9)


def test_with_all_components_regression_is_least_squares(data):
    X, Y = data
    for cls in (PLSRegression, SIMPLS):
        beta = cls(n_components=None).fit(X, Y).coef_
        expected = np.linalg.lstsq(X - X.mean(axis=0), Y - Y.mean(axis=0))[0]
        np.testing.assert_allclose(beta.T, expected, rtol=1e-8)


def test_scaling_can_differ_for_x_and_y(data):
    X, Y = data
    Xs = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    both = PLSRegression(3, scale=(True, False)).fit(X, Y)
    reference = PLSRegression(3, scale=False).fit(Xs, Y)
    np.testing.assert_allclose(both.x_weights_, reference.x_weights_, atol=1e-12)
    np.testing.assert_allclose(both.predict(X), reference.predict(Xs))
    np.testing.assert_array_equal(both.y_std_, 1)


def test_explained_variance_adds_up(data):
    X, Y = data
    model = PLSRegression(8).fit(X, Y)
    assert np.isclose(model.x_explained_variance_ratio_.sum(), 1)
    Ys = (Y - Y.mean(axis=0)) / Y.std(axis=0, ddof=1)
    left = np.sum(((model.predict(X) - Y) / Y.std(axis=0, ddof=1)) ** 2) / np.sum(Ys**2)
    assert np.isclose(model.y_explained_variance_ratio_.sum(), 1 - left)


@EACH
@SCALES
def test_integer_weights_are_repeated_rows(data, cls, scale):
    X, Y = data
    weight = np.arange(60) % 4
    a = cls(3, scale=scale).fit(X, Y, sample_weight=weight)
    b = cls(3, scale=scale).fit(np.repeat(X, weight, axis=0), np.repeat(Y, weight, axis=0))
    np.testing.assert_allclose(a.x_rotations_, b.x_rotations_, atol=1e-11)
    np.testing.assert_allclose(a.transform(X), b.transform(X), atol=1e-10)
    assert a.x_scores_.shape == (60, 3)
    np.testing.assert_allclose(a.x_scores_, a.transform(X), atol=1e-10)


@EACH
@SCALES
@pytest.mark.parametrize("kind", ["csr_array", "csc_matrix", "coo_array", "lil_matrix"])
def test_sparse_is_dense(cls, scale, kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 30)) * (rng.random((50, 30)) < 0.2)
    Y = X[:, :3] + rng.normal(size=(50, 3))
    a = cls(3, scale=scale).fit(getattr(sparse, kind)(X), Y)
    b = cls(3, scale=scale).fit(X, Y)
    np.testing.assert_allclose(a.x_rotations_, b.x_rotations_, atol=1e-11)
    np.testing.assert_allclose(a.transform(sparse.csr_array(X)), b.transform(X), atol=1e-11)


@EACH
def test_sparse_x_is_never_made_dense(cls):
    """Dense, this matrix would take 16 GB."""
    rng = np.random.default_rng(0)
    X = sparse.random_array((20_000, 100_000), density=1e-5, rng=rng, format="csr")
    Y = np.column_stack([X.sum(axis=1), X[:, :50_000].sum(axis=1)])
    model = cls(2, scale=False).fit(X, Y)
    assert model.x_weights_.shape == (100_000, 2)


@EACH
def test_containers(data, cls):
    X, Y = data
    names = [f"f{i}" for i in range(8)]
    expected = cls(3).fit(X, Y).transform(X)
    for frame in (pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names)):
        model = cls(3).fit(frame, Y)
        np.testing.assert_allclose(model.transform(frame), expected)
        assert list(model.feature_names_in_) == names
    out = cls(3).set_output(transform="pandas").fit(X, Y).transform(X)
    assert list(out.columns) == [f"{cls.__name__.lower()}{i}" for i in range(3)]
    with pytest.raises(ValueError, match="feature names"):
        cls(3).fit(pd.DataFrame(X, columns=names), Y).transform(
            pd.DataFrame(X, columns=names[::-1])
        )


@EACH
def test_clone_pickle_and_inputs_untouched(data, cls):
    X, Y = data
    before = X.copy(), Y.copy()
    X.flags.writeable = Y.flags.writeable = False
    model = cls(2).fit(X, Y)
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(Y, before[1])
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.transform(X), model.transform(X))
    with pytest.raises(NotFittedError):
        clone(model).transform(X)


def test_one_response_gives_a_vector(data):
    X, Y = data
    assert PLSRegression(2).fit(X, Y[:, 0]).predict(X).shape == (60,)
    assert PLSRegression(2).fit(X, Y[:, :1]).predict(X).shape == (60, 1)


# -- missing values ---------------------------------------------------------------------


@pytest.mark.parametrize("cls", [PLSRegression, PLSCanonical])
def test_gaps_are_skipped(data, cls):
    """A few gaps change the model a little, and filling them in from it comes close."""
    X, Y = data
    rng = np.random.default_rng(1)
    gaps = rng.random(X.shape) < 0.02
    holed = np.where(gaps, np.nan, X)
    model = cls(3, algorithm="nipals").fit(holed, Y)
    full = cls(3).fit(X, Y)
    assert np.abs(np.sum(model.x_weights_ * full.x_weights_, axis=0)).min() > 0.95
    np.testing.assert_allclose(model.transform(holed), model.x_scores_, atol=1e-10)
    assert np.isfinite(model.predict(holed)).all()
    assert np.corrcoef(model.predict(holed)[:, 0], full.predict(X)[:, 0])[0, 1] > 0.98
    np.testing.assert_allclose(
        model.x_mean_, np.nanmean(holed, axis=0), atol=1e-12 * np.abs(X).max()
    )
    np.testing.assert_allclose(model.x_std_, np.nanstd(holed, axis=0, ddof=1))


@pytest.mark.parametrize("cls", [PLSRegression, PLSCanonical])
def test_a_complete_row_does_not_depend_on_the_gaps_of_others(cls, data):
    X, Y = data
    rng = np.random.default_rng(1)
    holed = np.where(rng.random(X.shape) < 0.3, np.nan, X)
    holed[:30] = X[:30]
    model = cls(3, algorithm="nipals").fit(holed, Y)
    alone = model.transform(holed[:30])
    np.testing.assert_allclose(alone, model.transform(holed)[:30], atol=1e-12)
    np.testing.assert_allclose(alone, model.x_scores_[:30], atol=1e-12)
    expected = (holed[:30] - model.x_mean_) @ model.coef_.T + model.intercept_
    np.testing.assert_allclose(model.predict(holed)[:30], expected, atol=1e-12)


@pytest.mark.parametrize("cls", [PLSRegression, PLSCanonical])
@pytest.mark.parametrize("scale", [False, True])
def test_with_gaps_a_share_is_what_leaves_the_observed_entries(cls, scale):
    """Scores of rows with gaps may be huge, and shares above 1 came out."""
    X, y = load_wine(return_X_y=True)
    X[np.random.default_rng(1).random(X.shape) < 0.05] = np.nan
    Y = np.column_stack([y == j for j in range(3)]).astype(float)
    model = cls(2, algorithm="nipals", scale=scale).fit(X, Y)
    E = (X - model.x_mean_) / model.x_std_
    T, P = model.transform(X), model.x_loadings_
    left = [np.nansum((E - T[:, :i] @ P[:, :i].T) ** 2) for i in range(3)]
    share = model.x_explained_variance_ratio_
    np.testing.assert_allclose(share, -np.diff(left) / left[0], atol=1e-10)
    assert share.min() > 0
    assert share.sum() < 1


def test_without_gaps_skipping_changes_nothing(data):
    """One gap in a sample of zero weight: the model is that of the other samples."""
    X, Y = data
    X[0, 0] = np.nan
    weight = np.ones(60)
    weight[0] = 0
    a = PLSRegression(3, algorithm="nipals", tol=1e-13).fit(X, Y, sample_weight=weight)
    b = PLSRegression(3).fit(X[1:], Y[1:])
    np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-8)
    assert np.isfinite(a.x_scores_).all()


def test_gaps_that_cannot_be_skipped(data):
    X, Y = data
    for index, what in (((slice(None), 2), "column 2"), ((5, slice(None)), "row 5")):
        holed = X.copy()
        holed[index] = np.nan
        with pytest.raises(ValueError, match=f"X holds no value in {what}"):
            PLSRegression(algorithm="nipals").fit(holed, Y)
    with pytest.raises(ValueError, match="X contains NaN"):
        PLSRegression().fit(np.where(X > 5, np.nan, X), Y)
    with pytest.raises(ValueError, match="X contains infinity"):
        PLSRegression(algorithm="nipals").fit(np.where(X > 5, np.inf, np.nan), Y)
    with pytest.raises(ValueError, match=r"X is sparse, but algorithm='nipals'"):
        PLSRegression(algorithm="nipals").fit(sparse.csr_array(X), Y)


def test_nipals_says_when_it_has_not_settled(data):
    with pytest.warns(ConvergenceWarning, match="NIPALS stopped after max_iter=1 steps"):
        PLSRegression(1, algorithm="nipals", max_iter=1).fit(*data)


# -- degenerate and hostile -------------------------------------------------------------


@EACH
@SCALES
def test_a_constant_feature_is_as_if_it_were_not_there(data, cls, scale):
    X, Y = data
    with pytest.warns(DegenerateDataWarning, match="1 of 9 features are constant"):
        model = cls(3, scale=scale).fit(np.column_stack([X, np.full(60, 0.1)]), Y)
    reference = cls(3, scale=scale).fit(X, Y)
    np.testing.assert_array_equal(model.x_rotations_[8], 0)
    np.testing.assert_allclose(model.x_rotations_[:8], reference.x_rotations_, atol=1e-11)


@EACH
def test_a_constant_response_is_predicted_as_such(data, cls):
    X, Y = data
    model = cls(3).fit(X, np.column_stack([np.full(60, 5.0), Y]))
    np.testing.assert_allclose(model.y_weights_[0], 0, atol=1e-12)
    if cls is not PLSSVD:
        np.testing.assert_allclose(model.predict(X)[:, 0], 5.0)


@EACH
@SCALES
@pytest.mark.parametrize("factor", [1e-300, 1e-160, 1e100, 1e160, 1e300])
def test_units_do_not_matter(data, cls, scale, factor):
    X, Y = data
    a, b = cls(3, scale=scale).fit(X * factor, Y), cls(3, scale=scale).fit(X, Y)
    np.testing.assert_allclose(a.x_weights_, b.x_weights_, atol=1e-11)
    if cls in (PLSRegression, SIMPLS):
        np.testing.assert_allclose(a.predict(X * factor), b.predict(X), rtol=1e-9)
        c = cls(3, scale=scale).fit(X, Y * factor)
        np.testing.assert_allclose(c.predict(X) / factor, b.predict(X), rtol=1e-9)


def test_a_large_offset_costs_no_more_digits_than_it_must(data):
    X, Y = data
    a, b = PLSRegression(3).fit(X + 1e9, Y), PLSRegression(3).fit(X, Y)
    np.testing.assert_allclose(a.predict(X + 1e9), b.predict(X), atol=1e-6)


def test_units_too_far_apart(data):
    X, Y = data
    with pytest.raises(ValueError, match="the units of X and y are too far apart"):
        PLSRegression().fit(X * 1e200, Y * 1e-200)


def test_components_that_do_not_exist(data):
    X, Y = data
    flat = X[:, :2] @ np.array([[1.0, 2, 3, 4, 5], [1, -1, 1, 2, 0]])
    with pytest.warns(
        DegenerateDataWarning,
        match="n_components=3, but X and y have nothing left in common after 2",
    ):
        model = PLSRegression(3).fit(flat, Y)
    assert model.n_components_ == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert PLSRegression(None).fit(flat, Y).n_components_ == 2


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (PLSRegression(0), r"n_components=0 is not valid: give an integer of at least 1"),
        (PLSRegression(1.5), r"n_components=1.5 is not valid"),
        (PLSRegression("a"), r"n_components='a' is not valid"),
        (PLSRegression(9), r"n_components=9 exceeds 8, the least of n_samples=60, n_features=8"),
        (PLSCanonical(5), r"n_components=5 exceeds 4, .* n_targets=4: give at most 4"),
        (PLSSVD(5), r"n_components=5 exceeds 4"),
        (PLSRegression(scale="yes"), r"scale='yes' is not valid: give True, False, or a pair"),
        (PLSRegression(scale=(True,)), r"scale=\(True,\) is not valid"),
        (PLSRegression(algorithm="svd"), r"algorithm='svd' is not known: choose one of 'kernel'"),
        (PLSRegression(tol=-1), r"tol=-1 is not valid"),
    ],
)
def test_parameters_are_checked(data, model, message):
    with pytest.raises(ValueError, match=message):
        model.fit(*data)


@EACH
def test_data_are_checked(data, cls):
    X, Y = data
    model = cls(1)
    for bad, message in [
        ((np.ones((60, 3)), Y), "X has zero variance"),
        ((X, np.ones((60, 2))), "y is constant"),
        ((np.where(X > 5, np.inf, X), Y), "X contains infinity"),
        ((X, np.where(Y > 5, np.nan, Y)), "y contains NaN"),
        ((X[:50], Y), "50 rows of X, 60 of y"),
        ((X, Y[:, :, None]), "3 dimensions"),
        ((X[:1], Y[:1]), "minimum of 2"),
        ((X, None), "requires y"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.fit(*bad)


def test_a_failed_fit_leaves_the_model_as_it_was(data):
    X, Y = data
    model = PLSRegression(2).fit(X, Y)
    before = model.predict(X)
    with pytest.raises(ValueError, match="y is constant"):
        model.fit(X[:, :3], np.ones(60))
    np.testing.assert_array_equal(model.predict(X), before)


def test_prediction_is_checked(data):
    model = PLSRegression(2).fit(*data)
    with pytest.raises(ValueError, match="n_components=3 exceeds 2, the number that was fitted"):
        model.predict(data[0], n_components=3)
    with pytest.raises(ValueError, match="y has 1 columns, but PLSRegression was fitted with 4"):
        model.transform(data[0], data[1][:, 0])


def test_nothing_in_common():
    X = np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1]])
    y = np.array([1.0, 1, -1, -1])
    with pytest.raises(ValueError, match="X'y is zero"):
        PLSRegression(1).fit(X, y)


def test_linnerud_by_hand():
    """The first weight is X'y over its length."""
    X, Y = load_linnerud(return_X_y=True)
    w = (X - X.mean(axis=0)).T @ (Y[:, 0] - Y[:, 0].mean())
    model = PLSRegression(1, scale=False).fit(X, Y[:, 0])
    w *= np.sign(w[np.argmax(abs(w))]) / np.linalg.norm(w)
    np.testing.assert_allclose(model.x_weights_[:, 0], w)


def test_responses_that_are_not_numbers_are_named(data):
    X, _ = data
    with pytest.raises(TypeError, match="y holds objects that are not numbers"):
        PLSRegression().fit(X, [{1, 2}] * len(X))
