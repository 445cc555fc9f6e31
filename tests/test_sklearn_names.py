"""What scikit-learn's users type works, or is answered by a sentence that says what to use."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import decomposition
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_iris, load_linnerud
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_predict, cross_val_score

from eigenkit import CCA, GEPSVM, LDA, PCA, CanonicalRidge, KernelPCA, PLSRegression, ReGEC


@pytest.mark.parametrize(
    ("cls", "name", "message"),
    [
        (PCA, "copy", "PCA takes no copy: the caller's arrays are never changed"),
        (PCA, "iterated_power", "PCA takes no iterated_power: nothing here is random"),
        (PCA, "batch_size", "PCA takes no batch_size: give the batches to partial_fit"),
        (KernelPCA, "n_jobs", "KernelPCA takes no n_jobs: threads are"),
        (LDA, "covariance_estimator", "LDA takes no covariance_estimator: use shrinkage"),
        (CCA, "scale", "CCA takes no scale: correlations do not depend on units"),
        (CanonicalRidge, "alpha", "CanonicalRidge takes no alpha: use gamma_x"),
        (PLSRegression, "copy", "PLSRegression takes no copy"),
    ],
)
def test_foreign_parameters_get_a_sentence(cls, name, message):
    with pytest.raises(TypeError, match=message):
        cls(**{name: 1})
    with pytest.raises(TypeError, match="unexpected keyword argument 'strange'"):
        cls(strange=1)


@pytest.mark.parametrize("svd_solver", ["auto", "full", "covariance_eigh", "arpack", "randomized"])
def test_pca_knows_the_names_of_svd_solvers(svd_solver):
    X = np.random.default_rng(0).normal(size=(60, 12)) * np.arange(1, 13)
    theirs = decomposition.PCA(3, svd_solver="full").fit(X)
    ours = PCA(3, svd_solver=svd_solver, random_state=0).fit(X)
    np.testing.assert_allclose(ours.explained_variance_, theirs.explained_variance_, rtol=1e-9)
    np.testing.assert_allclose(np.abs(ours.components_), np.abs(theirs.components_), atol=1e-7)
    expected = {"full": "svd", "covariance_eigh": "gram", "auto": ours.solver_}
    assert ours.solver_ == expected.get(svd_solver, "lanczos")


def test_solvers_of_pca_that_disagree():
    X = np.eye(4)
    with pytest.raises(ValueError, match="svd_solver='magic' is not known"):
        PCA(svd_solver="magic").fit(X)
    with pytest.raises(ValueError, match="solver='gram' and svd_solver='full' contradict"):
        PCA(solver="gram", svd_solver="full").fit(X)


def test_kernel_pca_by_default_is_that_of_scikit_learn():
    X, _ = load_iris(return_X_y=True)
    ours, theirs = KernelPCA(3).fit(X), decomposition.KernelPCA(3).fit(X)
    np.testing.assert_allclose(ours.eigenvalues_, theirs.eigenvalues_, rtol=1e-9)
    np.testing.assert_allclose(np.abs(ours.eigenvectors_), np.abs(theirs.eigenvectors_), atol=1e-9)
    with pytest.raises(AttributeError, match="eigenvectors_ has a row for every sample"):
        KernelPCA(3, approximation="cholesky").fit(X).eigenvectors_


@pytest.mark.parametrize("model", [CCA(2), CanonicalRidge(2)])
def test_cca_keeps_no_scores_of_samples_and_says_where_they_are(model):
    X, Y = load_linnerud(return_X_y=True)
    for fitted in (clone(model).fit(X, Y), model.partial_fit(X, Y)):
        for name in ("x_scores_", "y_scores_"):
            with pytest.raises(AttributeError, match="no scores of samples are kept; use transf"):
                getattr(fitted, name)


# -- probabilities of the classifiers by planes ------------------------------------------


@pytest.mark.parametrize("cls", [ReGEC, GEPSVM])
@pytest.mark.parametrize("how", [{}, {"kernel": "rbf", "gamma": 0.1}])
def test_the_most_probable_class_is_the_predicted_one(cls, how):
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = cls(probability=True, **how).fit(X, names)
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.classes_[proba.argmax(axis=1)], model.predict(X))
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), proba, atol=1e-12)
    np.testing.assert_array_equal(model.predict(X), cls(**how).fit(X, names).predict(X))


@pytest.mark.parametrize("cls", [ReGEC, GEPSVM])
def test_probabilities_are_calibrated(cls):
    """On new samples they lose no more than a logistic curve fitted to the same distances."""
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    X = X[:, :8]
    ours = cross_val_predict(cls(probability=True), X, y, method="predict_proba", cv=5)
    theirs = cross_val_predict(
        CalibratedClassifierCV(cls(), ensemble=False), X, y, method="predict_proba", cv=5
    )
    shares = np.bincount(y) / len(y)
    chance = log_loss(y, np.tile(shares, (len(y), 1)))
    assert log_loss(y, ours) < 0.75 * chance
    assert log_loss(y, ours) < log_loss(y, theirs) + 0.1


def test_probabilities_of_a_precomputed_kernel():
    X, y = load_iris(return_X_y=True)
    K = np.exp(-0.1 * np.sum((X[:, None] - X) ** 2, axis=2))
    weight = np.arange(150) % 4
    given = ReGEC(kernel="precomputed", probability=True).fit(K, y, weight)
    same = ReGEC(kernel="rbf", gamma=0.1, probability=True).fit(X, y, weight)
    np.testing.assert_allclose(given.predict_proba(K), same.predict_proba(X), atol=1e-5)


def test_probabilities_must_be_asked_for():
    X, y = load_iris(return_X_y=True)
    model = ReGEC().fit(X, y)
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError, match="predict_proba"):
        model.predict_proba(X)
    with pytest.raises(ValueError, match="needs at least two samples of every class"):
        ReGEC(probability=True).fit(X[49:], y[49:])


# -- strings and score -------------------------------------------------------------------


def test_strings_can_be_scored():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    for model in (LDA(), ReGEC()):
        assert cross_val_score(model, X, names).mean() > 0.9


@pytest.mark.parametrize("make", [CCA, CanonicalRidge])
def test_strings_that_fit_has_not_seen_are_named(make):
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = make().fit(X, names)
    for method in (model.transform, model.score):
        with pytest.raises(ValueError, match="y holds the class 'rose', which the model does not"):
            method(X[:2], ["setosa", "rose"])
    with pytest.raises(ValueError, match="y holds the string 'setosa', which is not a number"):
        make().fit(X, X[:, :2] ** 2).transform(X, names)
