"""The shells: scikit-learn's contract, references, dtypes, containers, state."""

from __future__ import annotations

import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.cross_decomposition import CCA as SklearnCCA
from sklearn.datasets import load_iris, load_linnerud
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import eigenkit
from conftest import ESTIMATORS, labels_for, needs_lda_by_n, projector_distance
from eigenkit import (
    CCA,
    LDA,
    RGCCA,
    CanonicalRidge,
    HypergraphSpectral,
    MultiviewCCA,
    OrthonormalizedPLS,
)
from eigenkit.exceptions import ConditionWarning, DegenerateDataWarning, EigenkitWarning

# -- references --------------------------------------------------------------------------


@pytest.mark.parametrize("priors", [None, [0.2, 0.3, 0.5]])
@pytest.mark.parametrize("two_classes", [False, True])
def test_lda_is_that_of_scikit_learn(priors, two_classes):
    X, y = load_iris(return_X_y=True)
    if two_classes:
        X, y = X[50:], y[50:]
        priors = None if priors is None else [0.3, 0.7]
    ours = LDA(alpha=0.0, priors=priors).fit(X, y)
    theirs = LinearDiscriminantAnalysis(priors=priors).fit(X, y)
    needs_lda_by_n()
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-8)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-8)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-8)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-8)
    np.testing.assert_allclose(ours.means_, theirs.means_, atol=1e-12)
    np.testing.assert_allclose(
        np.exp(ours.predict_log_proba(X)), theirs.predict_proba(X), atol=1e-8
    )
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    Q = [np.linalg.qr(W)[0] for W in (ours.components_.T, theirs.scalings_)]
    assert projector_distance(*Q) < 1e-8


def test_ridge_lda_classifies_with_the_regularized_covariance(rng):
    X, y = load_iris(return_X_y=True)
    alpha = 7.0
    model = LDA(alpha=alpha).fit(X, y)
    means = np.array([X[y == j].mean(axis=0) for j in range(3)])
    within = sum((X[y == j] - means[j]).T @ (X[y == j] - means[j]) for j in range(3))
    precision = np.linalg.inv((within + alpha * np.eye(4)) / 150)
    distance = np.array([np.einsum("ij,jk,ik->i", X - m, precision, X - m) for m in means]).T
    posterior = np.exp(-0.5 * (distance - distance.min(axis=1, keepdims=True)))
    posterior /= posterior.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(X), posterior, atol=1e-10)


def test_cca_is_exact_where_scikit_learn_iterates(rng):
    X, Y = load_linnerud(return_X_y=True)
    model = CCA(alpha=0.0).fit(X, Y)
    Qx, _ = np.linalg.qr(X - X.mean(axis=0))
    Qy, _ = np.linalg.qr(Y - Y.mean(axis=0))
    exact = np.linalg.svd(Qx.T @ Qy, compute_uv=False)
    np.testing.assert_allclose(model.canonical_correlations_, exact, atol=1e-12)
    theirs = SklearnCCA(n_components=3, tol=1e-14, max_iter=10_000).fit(X, Y)
    x_scores, y_scores = model.transform(X, Y)
    for ours, other in zip((x_scores, y_scores), theirs.transform(X, Y), strict=True):
        correlation = [abs(np.corrcoef(ours[:, j], other[:, j])[0, 1]) for j in range(3)]
        np.testing.assert_allclose(correlation, 1.0, atol=1e-6)


def test_cca_scores_on_both_sides(rng):
    X = rng.normal(size=(80, 6))
    Y = X[:, :3] @ rng.normal(size=(3, 3)) + rng.normal(size=(80, 3))
    for alpha in (0.0, 5.0):
        model = CCA(alpha=alpha).fit(X, Y)
        t, u = model.transform(X, Y)
        B = (X - X.mean(axis=0)).T @ (X - X.mean(axis=0)) + alpha * np.eye(6)
        np.testing.assert_allclose(
            model.x_rotations_.T @ B @ model.x_rotations_, np.eye(3), atol=1e-10
        )
        np.testing.assert_allclose(u.T @ u, np.eye(3), atol=1e-10)
        np.testing.assert_allclose(t.T @ u, np.diag(model.canonical_correlations_), atol=1e-10)
        back, y_back = model.inverse_transform(t, u)
        Tc = t - t.mean(axis=0)
        best = Tc @ np.linalg.lstsq(Tc, X - X.mean(axis=0), rcond=None)[0] + X.mean(axis=0)
        np.testing.assert_allclose(back, best, atol=1e-9)
        np.testing.assert_allclose(y_back, Y, atol=1e-9)  # all components of y are kept


def test_cca_of_data_with_itself(rng):
    X = rng.normal(size=(40, 4))
    np.testing.assert_allclose(CCA(alpha=0.0).fit(X, X).canonical_correlations_, 1.0, atol=1e-12)


def test_predictions_with_all_components_are_ridge_regression(rng):
    X, Y = rng.normal(size=(50, 8)), rng.normal(size=(50, 3))
    expected = Ridge(alpha=2.0).fit(X, Y)
    for estimator in (OrthonormalizedPLS, CCA):
        model = estimator(alpha=2.0).fit(X, Y)
        np.testing.assert_allclose(model.predict(X), expected.predict(X), atol=1e-10)
        np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-10)


def test_correlations_of_one_by_construction_are_named(rng):
    X, Y = rng.normal(size=(12, 40)), rng.normal(size=(12, 2))
    with pytest.warns(ConditionWarning, match=r"12 samples, 40 features and alpha=0 .* alpha > 0"):
        model = CCA(alpha=0.0).fit(X, Y)
    np.testing.assert_allclose(model.canonical_correlations_, 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        CCA(alpha=1.0).fit(X, Y)
        CanonicalRidge(gamma_x=0.5, gamma_y=0).fit(X, Y)
        MultiviewCCA(alpha=1.0).fit([X, Y])
    with pytest.warns(ConditionWarning, match=r"gamma_x=0 .* are 1 by construction.* gamma_x > 0"):
        CanonicalRidge(gamma_x=0, gamma_y=0).fit(X, Y)
    with pytest.warns(ConditionWarning, match=r"and gamma_x=0 .* depend on y alone"):
        depends = CanonicalRidge(gamma_x=0, gamma_y=0.5).fit(X, Y)
    with pytest.warns(ConditionWarning, match=r"depend on y alone"):
        other = CanonicalRidge(gamma_x=0, gamma_y=0.5).fit(X[::-1, :11], Y)
    np.testing.assert_allclose(other.canonical_correlations_, depends.canonical_correlations_)
    for model in (MultiviewCCA(alpha=[0.0, 1.0]), RGCCA(tau=[0.0, 1.0])):
        with pytest.warns(ConditionWarning, match=r"40 features and (alpha|tau)=0 view 0 agrees"):
            model.fit([X, Y])


# -- numbers and containers --------------------------------------------------------------


@pytest.mark.parametrize("name", list(ESTIMATORS))
@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("shape", [(60, 6), (15, 40)])
def test_float32_stays_and_is_close(name, form, shape, rng):
    X = rng.normal(size=shape) * (rng.random(shape) < 0.5)
    y = labels_for(name, shape[0], rng)
    convert = sparse.csr_array if form == "sparse" else np.asarray
    single = ESTIMATORS[name]().fit(convert(X.astype(np.float32)), y)
    double = ESTIMATORS[name]().fit(convert(X), y)
    Z = single.transform(convert(X.astype(np.float32)))
    assert single.components_.dtype == single.mean_.dtype == Z.dtype == np.float32
    assert double.components_.dtype == np.float64
    np.testing.assert_allclose(Z, double.transform(convert(X)), atol=1e-4)


@pytest.mark.parametrize("name", list(ESTIMATORS))
def test_sparse_equals_dense(name, rng):
    X = rng.normal(size=(50, 7)) * (rng.random((50, 7)) < 0.3)
    y = labels_for(name, 50, rng)
    reference = ESTIMATORS[name](alpha=0.4).fit(X, y).transform(X)
    for form in (sparse.csr_array, sparse.csc_array, sparse.csr_matrix, sparse.csc_matrix):
        model = ESTIMATORS[name](alpha=0.4).fit(form(X), y)
        np.testing.assert_allclose(model.transform(form(X)), reference, atol=1e-10)


def test_memory_mapped_input(tmp_path, rng):
    X, y = rng.normal(size=(60, 5)), labels_for("star", 60, rng)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    np.testing.assert_array_equal(
        HypergraphSpectral().fit(mapped, y).transform(mapped),
        HypergraphSpectral().fit(X, y).transform(X),
    )


@pytest.mark.parametrize("name", list(ESTIMATORS))
def test_inputs_are_never_changed(name, rng):
    X, y = rng.normal(size=(50, 5)) + 1e5, labels_for(name, 50, rng)
    X[:, 2] = 3.3
    S = sparse.csr_array(X * (rng.random(X.shape) < 0.5))
    copies = X.copy(), y.copy(), S.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EigenkitWarning)
        for data in (X, S):
            for solver in ("two_stage", "direct"):
                ESTIMATORS[name](solver=solver).fit(data, y, np.arange(50)).transform(data)
    np.testing.assert_array_equal(X, copies[0])
    np.testing.assert_array_equal(y, copies[1])
    np.testing.assert_array_equal(S.toarray(), copies[2].toarray())


def test_frames_names_and_output(rng):
    frame = pd.DataFrame(rng.normal(size=(50, 3)), columns=["a", "b", "c"])
    Y = pd.DataFrame(labels_for("star", 50, rng), columns=list("wxyz"))
    model = HypergraphSpectral().set_output(transform="pandas").fit(frame, Y)
    out = model.transform(frame)
    assert list(out.columns) == [f"hypergraphspectral{j}" for j in range(3)]
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    with pytest.raises(ValueError, match="feature names"):
        model.transform(frame[["b", "a", "c"]])
    polar = HypergraphSpectral().set_output(transform="polars")
    assert isinstance(polar.fit_transform(pl.from_pandas(frame), Y), pl.DataFrame)


def test_strings_as_classes(rng):
    X, y = rng.normal(size=(40, 4)), np.array(["ant", "bee", "cat"] * 13 + ["ant"])
    indicator = (y[:, None] == np.unique(y)).astype(float)
    np.testing.assert_allclose(
        CCA().fit(X, y).components_, CCA().fit(X, indicator).components_, atol=1e-12
    )
    np.testing.assert_allclose(
        HypergraphSpectral().fit(X, y).components_,
        HypergraphSpectral().fit(X, indicator).components_,
        atol=1e-12,
    )
    assert set(LDA().fit(X, y).predict(X)) <= {"ant", "bee", "cat"}


def test_label_weights_matter_and_are_checked(rng):
    X, Y = rng.normal(size=(40, 8)), labels_for("star", 40, rng)
    plain = HypergraphSpectral().fit(X, Y)
    weighted = HypergraphSpectral(label_weights=[1, 2, 3, 10]).fit(X, Y)
    assert projector_distance(weighted.components_.T, plain.components_.T) > 1e-3
    same = HypergraphSpectral(label_weights=np.ones(4)).fit(X, Y)
    np.testing.assert_allclose(same.components_, plain.components_)
    for wrong in ([1, 2], [1, 2, 3, -1], [1, 2, 3, np.nan]):
        with pytest.raises(ValueError, match="give 4 positive numbers"):
            HypergraphSpectral(label_weights=wrong).fit(X, Y)


def test_priors_are_checked(rng):
    X, y = rng.normal(size=(40, 4)), np.arange(40) % 3
    for wrong in ([0.5, 0.5], [0.5, 0.6, -0.1], [0, 0, 0]):
        with pytest.raises(ValueError, match="priors="):
            LDA(priors=wrong).fit(X, y)


def test_degenerate_parts_are_named(rng):
    X, Y = rng.normal(size=(40, 4)), labels_for("star", 40, rng)
    X[:, 1] = 2.5
    with pytest.warns(DegenerateDataWarning, match="1 of 4 features are constant"):
        model = HypergraphSpectral().fit(X, Y)
    assert not model.components_[:, 1].any()
    Y[:, 2] = 0
    with pytest.warns(DegenerateDataWarning, match="labels are carried by no sample"):
        HypergraphSpectral().fit(np.delete(X, 1, axis=1), Y)


# -- state -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(ESTIMATORS))
def test_before_fit(name):
    with pytest.raises(NotFittedError):
        ESTIMATORS[name]().transform(np.ones((3, 2)))


@pytest.mark.parametrize("name", list(ESTIMATORS))
def test_refitting_leaves_nothing_stale(name, rng):
    model = ESTIMATORS[name]()
    y = labels_for(name, 60, rng)
    model.partial_fit(rng.normal(size=(60, 9)), y)
    X = rng.normal(size=(60, 5))
    model.fit(X, y)
    fresh = ESTIMATORS[name]().fit(X, y)
    assert vars(model).keys() == vars(fresh).keys()
    np.testing.assert_array_equal(model.transform(X), fresh.transform(X))


@pytest.mark.parametrize("name", list(ESTIMATORS))
def test_copies_project_alike(name, rng):
    X, y = rng.normal(size=(60, 5)), labels_for(name, 60, rng)
    model = ESTIMATORS[name]().fit(X, y)
    Z = model.transform(X)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).transform(X), Z)
    np.testing.assert_array_equal(clone(model).fit(X, y).transform(X), Z)
    with ThreadPoolExecutor(8) as pool:
        for other in pool.map(model.transform, [X] * 16):
            np.testing.assert_array_equal(other, Z)


@pytest.mark.parametrize("name", list(ESTIMATORS))
def test_what_was_done_is_told(name, rng):
    X, y = rng.normal(size=(60, 5)), labels_for(name, 60, rng)
    model = ESTIMATORS[name]()
    plan = model.plan(X, y)
    assert plan.regression == model.fit(X, y).regression_ == "cholesky"
    assert "predicted to take" in plan.reason == model.report_.reason
    assert model.solver_ == "two_stage"
    assert model.report_.residual < 1e-10
    assert model.report_.orthogonality < 1e-10
    assert 1 <= model.report_.condition < 1e3
    assert ESTIMATORS[name](regression="svd").fit(X, y).regression_ == "svd"
    assert ESTIMATORS[name](regression="cg").plan(X, y).reason == "as asked"


def test_components_are_a_prefix(rng):
    X, y = rng.normal(size=(60, 5)), labels_for("star", 60, rng)
    two, four = HypergraphSpectral(2).fit(X, y), HypergraphSpectral().fit(X, y)
    np.testing.assert_array_equal(two.components_, four.components_[:2])
    with pytest.raises(ValueError, match="n_components=5 exceeds 4"):
        HypergraphSpectral(5).fit(X, y)


def test_pipeline_and_grid_search():
    X, y = load_iris(return_X_y=True)
    pipeline = make_pipeline(LDA(), StandardScaler(), LinearSVC())
    search = GridSearchCV(pipeline, {"lda__alpha": [0.1, 10.0], "lda__n_components": [1, 2]}, cv=3)
    assert search.fit(X, y).best_score_ > 0.9


def test_every_public_name_has_an_example():
    for name in eigenkit.__all__:
        assert ">>> " in getattr(eigenkit, name).__doc__, name


LINEAR = {
    **ESTIMATORS,
    "canonical ridge": eigenkit.CanonicalRidge,
    "copies": eigenkit.MultilabelLDA,
    "pca": lambda: eigenkit.PCA(3),
}


@pytest.mark.parametrize("name", LINEAR)
@pytest.mark.filterwarnings("ignore::eigenkit.exceptions.DegenerateDataWarning")
def test_features_that_never_occur_change_nothing(name):
    """Sparse X with empty columns gives what the same numbers in a dense X give."""
    rng = np.random.default_rng(4)
    X = sparse.random_array((60, 12), density=0.5, rng=rng, format="csr")
    nothing = sparse.csr_array((60, 40))
    X = sparse.hstack([nothing, X[:, :5], nothing, X[:, 5:], nothing], format="csr")
    y = labels_for(name, 60, rng)
    found, expected = LINEAR[name]().fit(X, y), LINEAR[name]().fit(X.toarray(), y)
    for key, value in vars(expected).items():
        if isinstance(value, np.ndarray) and value.dtype.kind == "f" and not key.startswith("_"):
            np.testing.assert_allclose(
                getattr(found, key), value, atol=1e-9 * np.abs(value).max(), err_msg=key
            )
    for key in ("coef_", "x_loadings_"):
        if hasattr(expected, key):
            np.testing.assert_allclose(getattr(found, key), getattr(expected, key), atol=1e-9)
    np.testing.assert_allclose(found.transform(X), expected.transform(X.toarray()), atol=1e-9)


def test_a_path_of_alphas_knows_the_features_that_never_occur():
    rng = np.random.default_rng(5)
    X = sparse.hstack([sparse.random_array((40, 5), density=0.5, rng=rng), np.zeros((40, 9))])
    Y = labels_for("cca", 40, rng)
    for model in eigenkit.alpha_path(CCA(), X.tocsr(), Y, [0.1, 1.0]):
        one = CCA(alpha=model.alpha).fit(X.tocsr(), Y)
        np.testing.assert_allclose(model.x_loadings_, one.x_loadings_, atol=1e-12)
        assert model.x_rotations_.shape == (14, model.n_components_)


def test_what_is_not_in_memory_is_named():
    X = pl.DataFrame({"a": [1.0, 2.0, 3.0], "b": [2.0, 1.0, 0.0]})
    LDA().fit(X, [0, 1, 0])
    with pytest.raises(TypeError, match=r"X is a polars LazyFrame, .* give X.collect\(\)"):
        LDA().fit(X.lazy(), [0, 1, 0])
    with pytest.raises(TypeError, match=r"y is a polars LazyFrame, .* give y.collect\(\)"):
        LDA().fit(X, X[["a"]].lazy())
    with pytest.raises(TypeError, match="sample_weight is a polars LazyFrame"):
        LDA().fit(X, [0, 1, 0], sample_weight=X[["a"]].lazy())


def test_columns_and_methods_of_what_is_in_memory_do_not_make_it_lazy(rng):
    X = rng.normal(size=(9, 3))
    expected = LDA().fit(X, np.arange(9) % 3).transform(X)
    frame = pd.DataFrame(X, columns=["compute", "collect", "c"])
    found = LDA().fit(frame, np.arange(9) % 3).transform(frame)
    np.testing.assert_allclose(found, expected, atol=1e-12)

    class Computed(np.ndarray):
        """An array of another package, which has it in memory."""

        def compute(self):
            return self

    given = X.view(Computed)
    np.testing.assert_array_equal(LDA().fit(given, np.arange(9) % 3).transform(given), expected)
