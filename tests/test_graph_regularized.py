"""Samples without labels: the pencil with a graph in it, its marks, and the choice of mu."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import linalg as sla
from scipy import sparse
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.datasets import load_iris, make_moons
from sklearn.model_selection import GroupKFold, PredefinedSplit, StratifiedKFold
from sklearn.neighbors import kneighbors_graph
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import eigenkit
from conftest import projector_distance, some_of
from eigenkit import (
    CCA,
    LDA,
    PCA,
    GraphRegularized,
    HypergraphSpectral,
    KernelCCA,
    KernelLDA,
    KernelOrthonormalizedPLS,
    LeastSquaresProjection,
    MultilabelLDA,
    OrthonormalizedPLS,
    SparsePLS,
)
from eigenkit.estimators._alphas import best_of
from eigenkit.estimators._encoding import marked
from eigenkit.estimators._estimator import Projection
from eigenkit.exceptions import DegenerateDataWarning
from eigenkit.solvers import REGRESSIONS

# scikit-learn's checks of classifiers use -1 as a class; here it marks rows without one.
MARK = "-1 marks rows without labels, as in scikit-learn's semi_supervised"
# A graph is no sum over rows: a row given twice has another row at its side.
TWICE = "a sample that is there twice is its own neighbour"


def _cannot_hold(estimator):
    return {
        "check_classifiers_classes": MARK,
        "check_sample_weight_equivalence_on_dense_data": TWICE,
        "check_sample_weight_equivalence_on_sparse_data": TWICE,
    }


@pytest.mark.slow
@parametrize_with_checks(
    [GraphRegularized(LDA(), n_neighbors=3), GraphRegularized(OrthonormalizedPLS(), mu=0.0)],
    expected_failed_checks=_cannot_hold,
)
@pytest.mark.filterwarnings("ignore::eigenkit.exceptions.EigenkitWarning")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


N, LABELLED = 60, 25


@pytest.fixture
def data(rng):
    X = rng.normal(size=(N, 6)) + 2.0
    y = (X[:, 0] + 0.3 * rng.normal(size=N) > 2.0).astype(int)
    few = np.where(np.arange(N) < LABELLED, y, -1)
    return X, few


def edges_of(X, weights="heat"):
    A = kneighbors_graph(X, 10, mode="distance", include_self=False).toarray()
    there = A > 0
    length = A[there].mean() / 2
    A[there] = np.exp(-(A[there] ** 2) / (2 * length**2)) if weights == "heat" else 1.0
    A = np.maximum(A, A.T)
    return A / A[A > 0].mean()


def graph_of(X):
    A = edges_of(X)
    return np.diag(A.sum(axis=1)) - A


@pytest.mark.parametrize("solver", ["two_stage", "direct"])
@pytest.mark.parametrize("mu", [0.3, 20.0])
def test_the_pencil(data, mu, solver):
    """W'B W = I and A W = B W diag(lambda), with B = Xl'Xl + alpha I + mu n_l/n X'L X."""
    X, few = data
    model = GraphRegularized(LDA(alpha=0.5, solver=solver), mu=mu).fit(X, few)
    W = model.best_estimator_.components_.T
    Xl = X[:LABELLED] - X[:LABELLED].mean(axis=0)
    J = np.eye(2)[few[:LABELLED]]
    H = J / np.sqrt(J.sum(axis=0))
    H -= H.mean(axis=0)
    B = Xl.T @ Xl + 0.5 * np.eye(6) + mu * LABELLED / N * X.T @ graph_of(X) @ X
    A = Xl.T @ H @ H.T @ Xl
    np.testing.assert_allclose(W.T @ B @ W, np.eye(1), atol=1e-10)
    np.testing.assert_allclose(A @ W, B @ W * model.best_estimator_.eigenvalues_, atol=1e-9)
    values = sla.eigh(A, B, eigvals_only=True)
    np.testing.assert_allclose(model.best_estimator_.eigenvalues_, values[-1:], atol=1e-12)


@pytest.mark.parametrize("regression", ["cholesky", "dual_cholesky", "svd", "cg", "lsqr"])
def test_every_stage_one_method_gives_the_same(data, regression):
    X, few = data
    Y = np.where(few[:, None] < 0, np.nan, np.column_stack([few, X[:, 1] > 2, X[:, 2]]))
    reference = GraphRegularized(CCA(alpha=0.5, solver="direct"), mu=2.0).fit(X, Y)
    model = GraphRegularized(CCA(alpha=0.5, regression=regression, tol=1e-12), mu=2.0).fit(X, Y)
    W, W0 = (m.best_estimator_.components_.T for m in (model, reference))
    assert projector_distance(W, W0) < 1e-9


def test_the_kernel_pencil(data):
    """Kernel: B = Kl'Kl + alpha K + mu K L K in coefficients of all rows."""
    X, few = data
    mu, alpha, gamma = 3.0, 0.1, 0.2
    how = {"kernel": "rbf", "gamma": gamma, "alpha": alpha}
    model = GraphRegularized(KernelLDA(**how), mu=mu).fit(X, few)
    K = np.exp(-gamma * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    J = np.eye(2)[few[:LABELLED]]
    H = J / np.sqrt(J.sum(axis=0))
    H -= H.mean(axis=0)
    Kl = K[:LABELLED] - K[:LABELLED].mean(axis=0)
    B = Kl.T @ Kl + alpha * K + mu * LABELLED / N * K @ graph_of(X) @ K
    values, V = np.linalg.eigh(K)
    F = V / np.sqrt(values)
    D = H.T @ Kl @ F @ np.linalg.solve(F.T @ B @ F, F.T @ Kl.T @ H)
    expected = np.linalg.eigvalsh(D)[-1]
    assert np.isclose(model.best_estimator_.eigenvalues_[0], expected, rtol=1e-6)


@pytest.mark.parametrize(
    "estimator", [LDA(), OrthonormalizedPLS(), KernelLDA(kernel="rbf", gamma=0.1)]
)
def test_without_the_graph_it_is_the_labelled_answer(data, estimator):
    X, few = data
    if is_regressor(estimator):  # -1 would be a number
        few = np.where(few == -1, np.nan, few)
    plain = estimator.fit(X[:LABELLED], few[:LABELLED])
    model = GraphRegularized(estimator, mu=0.0).fit(X, few)
    np.testing.assert_array_equal(model.transform(X), plain.transform(X))
    tiny = GraphRegularized(estimator, mu=1e-13).fit(X, few)
    np.testing.assert_allclose(tiny.transform(X), plain.transform(X), atol=1e-4)


SUPERVISED = [
    name
    for name in eigenkit.__all__
    if isinstance(getattr(eigenkit, name), type)
    and issubclass(getattr(eigenkit, name), Projection)
    and getattr(eigenkit, name)._supervised
]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", SUPERVISED)
def test_a_light_graph_hardly_changes_any_projection(name, weighted, rng):
    """Labels of a row in any number, none at all included; rows of zero weight."""
    estimator = getattr(eigenkit, name)(2)
    X = rng.normal(size=(N, 6)) + 2.0
    Y = (X[:, :3] + rng.normal(size=(N, 3)) > 2.3).astype(float)
    y = Y.argmax(axis=1) if is_classifier(estimator) else Y
    assert (Y.sum(axis=1) == 0).any()
    weight = rng.integers(0, 3, N).astype(float) if weighted else None
    known = np.arange(N) % 2 == 0
    plain, graph = (
        GraphRegularized(estimator, mu=mu).fit(X, y, weight, labelled=known) for mu in (0.0, 1e-10)
    )
    for method in ("transform", "predict_proba", "decision_function", "predict"):
        if hasattr(plain, method) and not (method == "predict" and is_classifier(estimator)):
            expected, found = (np.abs(getattr(model, method)(X)) for model in (plain, graph))
            np.testing.assert_allclose(found, expected, atol=1e-6 * expected.max())


@pytest.mark.parametrize("target", ["cca", "opls", "lda"])
@pytest.mark.parametrize("l1_ratio", [0.0, 0.5])
def test_a_penalty_counts_once_beside_a_light_graph(target, l1_ratio, rng):
    X = rng.normal(size=(N, 6))
    Y = X[:, :3] + 0.1 * rng.normal(size=(N, 3))
    y = Y.argmax(axis=1) if target == "lda" else Y
    estimator = LeastSquaresProjection(target=target, alpha=5.0, l1_ratio=l1_ratio)
    known = np.arange(N) % 2 == 0
    plain, graph = (
        GraphRegularized(estimator, mu=mu).fit(X, y, labelled=known) for mu in (0.0, 1e-10)
    )
    method = "predict_proba" if target == "lda" else "predict"
    assert_allclose(getattr(graph, method)(X), getattr(plain, method)(X), atol=1e-6)


def test_class_balanced_labels_with_a_graph_by_the_definition(rng):
    X = rng.normal(size=(N, 5))
    Y = (X[:, :3] + rng.normal(size=(N, 3)) > 0.3).astype(float)
    A, mu, l = edges_of(X), 2.0, LABELLED
    model = GraphRegularized(MultilabelLDA(alpha=0.5), mu=mu, graph=A)
    found = model.fit(X, np.where(np.arange(N)[:, None] < l, Y, np.nan)).best_estimator_
    sample, label = np.nonzero(Y[:l])
    copies = X[sample]
    between = np.zeros((5, 5))
    for j in range(3):
        gap = copies[label == j].mean(axis=0) - copies.mean(axis=0)
        between += np.sum(label == j) * np.outer(gap, gap)
    Z = copies - copies.mean(axis=0)
    B = Z.T @ Z + 0.5 * np.eye(5) + mu * l / N * X.T @ (np.diag(A.sum(axis=1)) - A) @ X
    np.testing.assert_allclose(found.eigenvalues_, sla.eigvalsh(between, B)[::-1][:2], rtol=1e-9)


def test_all_ways_to_mark_are_one(data):
    X, few = data
    reference = GraphRegularized(LDA()).fit(X, few).transform(X)
    names = np.array(["no", "yes", None], dtype=object)[few]
    numbers = np.where(few < 0, np.nan, few)
    for y in (names, numbers):
        np.testing.assert_allclose(GraphRegularized(LDA()).fit(X, y).transform(X), reference)
    known = few >= 0
    told = GraphRegularized(LDA()).fit(X, np.abs(few), labelled=known)
    np.testing.assert_allclose(told.transform(X), reference)
    np.testing.assert_array_equal(told.labelled_, known)
    Y = np.where(few[:, None] < 0, np.nan, np.column_stack([few, few]))
    assert marked(Y).sum() == LABELLED
    Y[0] = 0.0  # known to carry no label
    assert marked(Y)[0]
    star = GraphRegularized(HypergraphSpectral(), mu=0.5).fit(X, Y)
    assert np.all(np.isfinite(star.transform(X)))


def test_own_graph_and_weights(data, rng):
    X, few = data
    for weights in ("heat", "uniform"):
        own = GraphRegularized(LDA(), graph=edges_of(X, weights)).fit(X, few)
        reference = GraphRegularized(LDA(), weights=weights).fit(X, few)
        np.testing.assert_allclose(own.transform(X), reference.transform(X), atol=1e-12)
    A = kneighbors_graph(X, 10, include_self=False)
    weight = rng.integers(0, 3, N).astype(float)
    weighted = GraphRegularized(LDA(), graph=A.maximum(A.T)).fit(X, few, sample_weight=weight)
    Xl = np.repeat(X[:LABELLED], weight[:LABELLED].astype(int), axis=0)
    yl = np.repeat(few[:LABELLED], weight[:LABELLED].astype(int))
    assert np.all(np.isfinite(weighted.transform(X)))
    alone = GraphRegularized(LDA(), mu=0.0).fit(X, few, sample_weight=weight)
    np.testing.assert_allclose(alone.transform(X), LDA().fit(Xl, yl).transform(X), atol=1e-10)
    for graph, message in [
        (A[:9], r"graph has shape \(9, 60\), but X has 60 rows"),
        (-A.maximum(A.T), "graph holds a negative"),
        (A, "graph is not symmetric"),
    ]:
        with pytest.raises(ValueError, match=message):
            GraphRegularized(LDA(), graph=graph).fit(X, few)


def _moons(seed):
    X, y = make_moons(300, noise=0.05, random_state=seed)
    rng, few = np.random.default_rng(seed), np.full(300, -1)
    for c in (0, 1):
        few[rng.choice(np.flatnonzero(y == c), 3, replace=False)] = c
    return X, few, *make_moons(300, noise=0.05, random_state=seed + 50)


@pytest.mark.slow
def test_moons_with_three_labels_each():
    scores = []
    for seed in range(5):
        X, few, T, t = _moons(seed)
        kernel = KernelLDA(kernel="rbf", gamma=20.0, alpha=0.01)
        graph = GraphRegularized(kernel, mu=10.0).fit(X, few)
        alone = kernel.fit(X[few >= 0], few[few >= 0])
        scores.append([graph.score(T, t), alone.score(T, t)])
    assert np.mean(scores, axis=0)[0] > 0.98
    assert np.mean(scores, axis=0)[1] < 0.9


def test_mu_is_chosen_with_zero_in_the_grid(data):
    X, few = data
    model = GraphRegularized(LDA(), mu=[0.0, 1.0, 100.0]).fit(X, few)
    assert model.fold_scores_.shape == (3, 3)
    mean = model.fold_scores_.mean(axis=0)
    assert model.mu_ == max(np.array([0.0, 1.0, 100.0])[mean > mean.max() - 1e-9])
    Y = np.where(few[:, None] < 0, np.nan, X[:, :2])
    chosen = GraphRegularized(OrthonormalizedPLS(), mu=[0.0, 1.0]).fit(X, Y)
    assert chosen.mu_ == 0.0  # the labelled rows tell everything here


def test_mu_is_chosen_for_classes_by_a_projection_that_predicts_none():
    """By the same head as alphas are: which classes are called what does not matter."""
    X, y = load_iris(return_X_y=True)
    few = np.where(np.arange(150) % 5 == 0, y, -1)
    names = np.array(["c", "a", "b", None], dtype=object)[few]
    search = GraphRegularized(HypergraphSpectral(), mu=[0.0, 1.0])
    by_number, by_name = search.fit(X, few).fold_scores_, clone(search).fit(X, names).fold_scores_
    assert_allclose(by_name, by_number)
    assert by_name.mean() > 0.7  # of three classes


def test_a_tie_goes_to_the_largest_mu():
    """Two clusters far apart: six labels have nothing to say against any mu."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 30)
    X = rng.normal(size=(60, 2)) + 20 * y[:, None]
    few = np.where(np.arange(60) % 10 == 0, y, -1)
    model = GraphRegularized(LDA(), mu=[0.0, 10.0, 1.0]).fit(X, few)
    assert np.all(model.fold_scores_ == 1.0)
    assert model.mu_ == 10.0


def test_the_same_votes_in_another_order_are_a_tie():
    votes = np.array([[0.1, 0.3], [0.2, 0.2], [0.3, 0.1]])
    means = votes.mean(axis=0)
    assert means[0] != means[1]  # or the test shows nothing
    assert best_of(votes) == best_of(votes[:, ::-1]) == 0


@pytest.fixture
def words(rng):
    """Sparse rows, of which one column is full and far from zero, and one is empty."""
    X = np.where(rng.random((N, 9)) < 0.4, rng.normal(size=(N, 9)) + 1.0, 0.0)
    X[:, 3], X[:, 5] = 1e4 + rng.normal(size=N), 0.0
    return X


SETTINGS = [{"regression": name, "tol": 1e-13} for name in REGRESSIONS]
SETTINGS += [{"solver": "direct"}, {"alpha": 0.0, "solver": "direct"}, {"alpha": 0.0}]


@pytest.mark.filterwarnings("ignore:1 of 9 features")
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_sparse_rows_give_what_dense_ones_give(words, weighted, settings, rng):
    X = words
    Y = (X[:, :3] + rng.normal(size=(N, 3)) > 1.0).astype(float)
    known = np.arange(N) % 3 > 0
    weight = rng.integers(0, 3, N).astype(float) if weighted else None
    model = GraphRegularized(HypergraphSpectral(**{"alpha": 0.5, **settings}), mu=2.0)
    dense = model.fit(X, Y, weight, labelled=known).transform(X)
    found = model.fit(sparse.csr_array(X), Y, weight, labelled=known)
    scores = found.transform(sparse.csr_array(X))
    np.testing.assert_allclose(np.abs(scores), np.abs(dense), atol=1e-8 * np.abs(dense).max())
    assert found.best_estimator_.report_.residual < 1e-9


@pytest.mark.filterwarnings("ignore:1 of 9 features")
@pytest.mark.parametrize("name", [n for n in SUPERVISED if not n.startswith("Kernel")])
def test_sparse_rows_with_every_projection(name, words, rng):
    estimator = getattr(eigenkit, name)(2)
    y = (words[:, :3] + rng.normal(size=(N, 3)) > 1.0).astype(float)
    y = y.argmax(axis=1) if is_classifier(estimator) else y
    known, rows = np.arange(N) % 3 > 0, sparse.csr_array(words)
    model = GraphRegularized(estimator, mu=1.0)
    dense = model.fit(words, y, labelled=known).transform(words)
    scores = model.fit(rows, y, labelled=known).transform(rows)
    np.testing.assert_allclose(np.abs(scores), np.abs(dense), atol=1e-6 * np.abs(dense).max())
    if hasattr(model, "predict_proba"):
        inside = model.best_estimator_
        assert inside.means_.shape == (3, 9)
        np.testing.assert_allclose(inside.mean_, words[known].mean(axis=0), rtol=1e-9)


def test_sparse_rows_are_not_made_dense(rng, monkeypatch):
    """20000 features; the products with X, and nothing else, find the answer."""
    X = sparse.random_array((300, 20000), density=0.005, rng=rng, format="csr")
    y = np.where(np.arange(300) < 100, np.arange(300) % 2, -1)
    X = sparse.csr_array(X + sparse.diags_array((y == 1) * 1.0, shape=X.shape))

    made = sparse.csr_array.toarray

    def refuse(self, *args, **kwargs):
        assert self.shape[1] < 10, "X was made dense"
        return made(self, *args, **kwargs)

    monkeypatch.setattr(sparse.csr_array, "toarray", refuse)
    monkeypatch.setattr(sparse.csr_array, "todense", refuse)
    model = GraphRegularized(LDA(), mu=0.5).fit(X, y)
    assert model.best_estimator_.report_.residual < 1e-7


def test_sparse_rows_with_an_l1_penalty_are_refused(words):
    model = GraphRegularized(LeastSquaresProjection(l1_ratio=1.0))
    with pytest.raises(ValueError, match="set l1_ratio=0, or reduce X by PCA first"):
        model.fit(sparse.csr_array(words), words[:, :2] > 1, labelled=np.arange(N) % 2 == 0)


def test_sparse_rows_by_a_linear_kernel(data):
    X, few = data
    rows = sparse.csr_array(np.where(X < 2, 0.0, X))
    kernel = GraphRegularized(KernelCCA(kernel="linear"), mu=2.0).fit(
        rows, few == 1, labelled=few >= 0
    )
    linear = GraphRegularized(CCA(), mu=2.0).fit(rows, few == 1, labelled=few >= 0)
    np.testing.assert_allclose(
        np.abs(kernel.transform(rows)), np.abs(linear.transform(rows)), atol=1e-6
    )


def test_the_recipe_with_all_rows_first(data):
    """PCA of all rows, then a fit on those with labels."""
    X, few = data
    known = few >= 0
    before = PCA(3).fit(X)
    model = make_pipeline(LDA()).fit(before.transform(X[known]), few[known])
    assert model.predict(before.transform(X)).shape == (N,)


def test_what_cannot_be_done_is_said(data):
    X, few = data
    with pytest.raises(TypeError, match="PCA, which learns from no labels"):
        GraphRegularized(PCA()).fit(X, few)
    for shrinkage in ("auto", 0.3):
        with pytest.raises(ValueError, match="give the estimator alpha instead"):
            GraphRegularized(LDA(shrinkage=shrinkage)).fit(X, few)
    with pytest.raises(TypeError, match="needs a projection of eigenkit"):
        GraphRegularized(SparsePLS()).fit(X, few)
    with pytest.raises(ValueError, match="y has labels for 0 samples"):
        GraphRegularized(LDA()).fit(X, np.full(N, -1))
    with pytest.raises(ValueError, match="mu=-1 is not valid"):
        GraphRegularized(LDA(), mu=-1).fit(X, few)
    with pytest.raises(ValueError, match="mu is empty"):
        GraphRegularized(LDA(), mu=[]).fit(X, few)
    with pytest.raises(ValueError, match="labelled must hold True or False for each of the 60"):
        GraphRegularized(LDA()).fit(X, few, labelled=np.ones(3, dtype=bool))
    model = GraphRegularized(LDA()).fit(X, few)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


@pytest.mark.slow
def test_long_edges_that_bridge_classes_say_little():
    """Noisy moons: some nearest neighbours are of the other moon, and further away than most."""
    shares = []
    for seed in range(6):
        X, y = make_moons(300, noise=0.1, random_state=seed)
        few = np.full(300, -1)
        few[np.r_[np.flatnonzero(y == 0)[:3], np.flatnonzero(y == 1)[:3]]] = [0, 0, 0, 1, 1, 1]
        kernel = KernelLDA(kernel="rbf", gamma=20.0, alpha=0.001)
        shares.append(
            [
                GraphRegularized(kernel, mu=10.0, weights=w).fit(X, few).score(X, y)
                for w in ("uniform", "heat")
            ]
        )
    uniform, heat = np.mean(shares, axis=0)
    assert heat > 0.98 > uniform


def test_equal_samples_have_edges_of_no_length():
    X = np.ones((12, 2))
    X[6:] += np.arange(12).reshape(6, 2)
    few = np.r_[0, 0, 0, -1, -1, -1, 1, 1, 1, -1, -1, -1]
    assert np.all(np.isfinite(GraphRegularized(LDA(), n_neighbors=3).fit(X, few).transform(X)))


def test_an_unknown_kind_of_weights_is_named(data):
    with pytest.raises(ValueError, match="weights='cosine' is not known"):
        GraphRegularized(LDA(), weights="cosine").fit(*data)


def test_minus_one_is_a_number_among_responses(rng):
    X = rng.normal(size=(40, 3))
    y = np.round(2 * X[:, 0])
    assert np.sum(y == -1) > 3
    model = GraphRegularized(OrthonormalizedPLS(), mu=0.0).fit(X, y)
    assert model.labelled_.all()
    np.testing.assert_allclose(model.predict(X), OrthonormalizedPLS().fit(X, y).predict(X))
    y[:5] = np.nan
    assert GraphRegularized(OrthonormalizedPLS(), mu=0.0).fit(X, y).labelled_.sum() == 35


@pytest.mark.parametrize(
    ("estimator", "kind", "own"),
    some_of([LDA(), KernelLDA(gamma=0.5)], ["dense", "sparse"], [False, True], every=2),
)
def test_rows_of_zero_weight_are_no_nodes(estimator, kind, own, rng):
    """Neither those with labels nor those without; whatever stands in them."""
    X = rng.normal(size=(40, 3)) + np.repeat([[0.0], [1.0]], 20, axis=0)
    y = np.where(rng.random(40) < 0.5, np.arange(40) // 20, -1)
    y[[0, 1, 38, 39]] = [0, 0, 1, 1]
    use = np.ones(40, dtype=bool)
    use[[1, 5, 20, 33]] = False
    as_kind = sparse.csr_array if kind == "sparse" else np.asarray
    A = (edges_of(X) > 0).astype(float) if own else None
    cut = None if A is None else A[np.ix_(use, use)]
    far = np.where(use[:, None], X, 1e3)
    for mu in (1.0, [0.0, 0.1]):
        few = GraphRegularized(estimator, mu=mu, graph=cut, n_neighbors=4).fit(
            as_kind(X[use]), y[use], sample_weight=np.ones(use.sum())
        )
        model = GraphRegularized(estimator, mu=mu, graph=A, n_neighbors=4).fit(
            as_kind(far), y, sample_weight=use.astype(float)
        )
        np.testing.assert_allclose(model.transform(X), few.transform(X), atol=1e-10)
        assert model.labelled_.shape == (40,)


def test_zero_weights_beside_a_precomputed_kernel_are_refused(rng):
    X, y = rng.normal(size=(12, 2)), np.arange(12) % 2
    model = GraphRegularized(KernelLDA(kernel="precomputed"))
    with pytest.raises(ValueError, match="sample_weight holds zeros"):
        model.fit(X @ X.T, y, sample_weight=np.arange(12.0))


@pytest.mark.parametrize("value", [0.0, 0.1, 1e6])
@pytest.mark.parametrize("seed", range(4))
def test_a_constant_feature_does_not_undo_the_graph(seed, value):
    """Its rounding in the rows of the graph was a feature that could cancel them."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(50, 5)), np.where(np.arange(50) % 3, np.arange(50) % 2, -1)
    model = GraphRegularized(LDA(alpha=0.0), mu=2.0)
    without = model.fit(X, y).transform(X)
    wider = np.insert(X, 2, value, axis=1)
    with pytest.warns(DegenerateDataWarning, match="1 of 6 features"):
        found = model.fit(wider, y).transform(wider)
    np.testing.assert_allclose(found, without, atol=1e-9)


@pytest.mark.parametrize(
    ("estimator", "kind", "offset"),
    some_of(
        [LDA(alpha=0.0), CCA(alpha=0.0), KernelLDA(kernel="linear", alpha=0.0)],
        [np.asarray, sparse.csr_array],
        [0.0, 1e4, 1e8, 1e11],
    ),
    ids=str,
)
def test_rounding_of_rows_far_from_zero_is_no_component_of_a_graph(estimator, kind, offset):
    rng = np.random.default_rng(0)
    low, full = rng.normal(size=(N, 2)) @ rng.normal(size=(2, 6)), rng.normal(size=(N, 6))
    y = np.where(np.arange(N) % 3, np.arange(N) % 4, -1)
    if is_regressor(estimator):
        y = np.where(y[:, None] < 0, np.nan, rng.normal(size=(N, 3)))
    model = GraphRegularized(estimator, mu=0.1)
    assert model.fit(kind(low + offset), y).best_estimator_.n_components_ == 2
    assert model.fit(kind(full + offset), y).best_estimator_.n_components_ == 3


@pytest.mark.parametrize("offset", [1e4, 1e8])
def test_neighbours_of_sparse_rows_far_from_zero(offset, rng):
    X, y = rng.normal(size=(N, 6)), np.where(np.arange(N) % 3, np.arange(N) % 2, -1)
    model = GraphRegularized(LDA(alpha=0.0), mu=0.5)
    near = model.fit(X, y).transform(X)
    far = sparse.csr_array(X + offset)
    np.testing.assert_allclose(model.fit(far, y).transform(far), near, atol=1e-14 * offset)


def test_a_class_named_as_the_mark_is_refused_in_words(data):
    X, _ = data
    with pytest.raises(ValueError, match="y holds no class but 1 beside marks of rows without"):
        GraphRegularized(LDA()).fit(X, np.where(X[:, 0] > 2, 1, -1))


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_classes_are_told_apart_by_the_spread_of_the_samples(kind, rng):
    """With the penalty of the graph as well, they seemed to overlap, and priors decided."""
    y = rng.integers(0, 3, size=200)
    X = rng.normal(size=(200, 5)) + 4.0 * np.eye(5)[y]
    few = np.full(200, -1)
    for c, n in enumerate((20, 8, 4)):
        few[np.flatnonzero(y == c)[:n]] = c
    model = GraphRegularized(LDA(alpha=0.0, store_covariance=True), mu=10.0).fit(kind(X), few)
    known, scores = few >= 0, model.transform(kind(X))
    on_scores = LDA(alpha=0.0).fit(scores[known], few[known])
    np.testing.assert_allclose(
        model.decision_function(kind(X)), on_scores.decision_function(scores), atol=1e-8
    )
    assert model.score(kind(X), y) > 0.95
    found = model.best_estimator_
    ours = found.scalings_.T @ found.covariance_ @ found.scalings_
    np.testing.assert_allclose(ours.diagonal(), 1.0, rtol=1e-9)
    within = LDA(alpha=0.0, store_covariance=True).fit(X[known], few[known]).covariance_
    np.testing.assert_allclose(found.covariance_, within, rtol=1e-8)


@pytest.mark.parametrize("estimator", [OrthonormalizedPLS(2, alpha=0.0), CCA(2, alpha=0.0)])
def test_responses_are_predicted_by_least_squares_on_scores(estimator, rng):
    X = rng.normal(size=(N, 6))
    Y = X[:, :3] + 0.1 * rng.normal(size=(N, 3))
    Y[25:] = np.nan
    model = GraphRegularized(estimator, mu=10.0).fit(X, Y)
    scores, known = model.transform(X), Y[:25]
    T = np.column_stack([np.ones(25), scores[:25]])
    expected = T @ np.linalg.lstsq(T, known, rcond=None)[0]
    np.testing.assert_allclose(model.predict(X)[:25], expected, atol=1e-9)


MARKS = {
    "none": np.array(["a", None, "b"], dtype=object),
    "nan": np.array([0.0, np.nan, 1.0]),
    "minus one": np.array([0, -1, 1]),
}


@pytest.mark.parametrize("mark", MARKS)
def test_rows_without_labels_are_left_out_of_the_score(mark, rng):
    X, y = rng.normal(size=(30, 3)), MARKS[mark][np.arange(30) % 3]
    known, weight = np.arange(30) % 3 != 1, rng.random(30)
    model = GraphRegularized(LDA(), n_neighbors=3).fit(X, y)
    right = model.predict(X[known]) == y[known]
    assert model.score(X, y) == pytest.approx(right.mean())
    expected = np.average(right, weights=weight[known])
    assert model.score(X, y, sample_weight=weight) == pytest.approx(expected)
    with pytest.raises(ValueError, match="y has labels for no sample: give some"):
        model.score(X[~known], y[~known])


def test_minus_one_is_scored_where_it_is_a_number(rng):
    X = rng.normal(size=(30, 3))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    model = GraphRegularized(OrthonormalizedPLS(), n_neighbors=3).fit(X, y)
    assert model.score(X, y) == pytest.approx(model.best_estimator_.score(X, y))


@pytest.mark.parametrize("masks", [False, True])
def test_splits_are_of_the_rows_that_were_given(masks, rng):
    """Not of those with labels, or with weights; the folds of a splitter are the same by number."""
    y = np.arange(60) % 3
    X = rng.normal(size=(60, 4)) + np.eye(4)[y]
    y[::4] = -1
    weight = np.where(np.arange(60) % 5, 1.0, 0.0)
    rows = np.flatnonzero((y >= 0) & (weight > 0))
    folds = [(rows[a], rows[b]) for a, b in StratifiedKFold(3).split(rows, y[rows])]
    if masks:
        folds = [tuple(np.isin(np.arange(60), part) for part in pair) for pair in folds]
    numbered, counted = (
        GraphRegularized(LDA(), mu=[0.0, 1.0], cv=cv).fit(X, y, sample_weight=weight)
        for cv in (folds, 3)
    )
    np.testing.assert_array_equal(numbered.fold_scores_, counted.fold_scores_)
    if not masks:  # the same folds by the number of each row
        fold = np.full(60, -1)
        for number, (_, test) in enumerate(folds):
            fold[test] = number
        cv = PredefinedSplit(fold)
        settled = GraphRegularized(LDA(), mu=[0.0, 1.0], cv=cv).fit(X, y, sample_weight=weight)
        np.testing.assert_array_equal(settled.fold_scores_, counted.fold_scores_)
    everywhere = list(GroupKFold(4).split(X, y, np.arange(60) // 5))
    grouped = GraphRegularized(LDA(), mu=[0.0, 1.0], cv=everywhere).fit(X, y)
    assert grouped.fold_scores_.shape == (4, 2)


def test_mu_is_chosen_for_sparse_labels_as_for_dense_ones(rng):
    """A projection without predictions is judged by least squares, which takes dense y only."""
    Y = (rng.random((60, 4)) < 0.4).astype(int)
    X = Y @ rng.normal(size=(4, 6)) + rng.normal(size=(60, 6))
    found = [
        GraphRegularized(HypergraphSpectral(), mu=[0.0, 1.0], n_neighbors=5).fit(X, labels)
        for labels in (Y, sparse.csr_array(Y))
    ]
    assert_allclose(found[0].fold_scores_, found[1].fold_scores_, rtol=1e-10)


@pytest.mark.parametrize("precomputed", [False, True])
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    ("linear", "kernel"),
    [(LDA, KernelLDA), (CCA, KernelCCA), (OrthonormalizedPLS, KernelOrthonormalizedPLS)],
)
def test_a_linear_kernel_predicts_as_the_features_do(linear, kernel, seed, precomputed):
    """Whatever signs the components of either have."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 5))
    Y = X[:, :3] + rng.normal(size=(60, 3))
    y = np.where(np.arange(60) % 2, Y.argmax(axis=1), -1)
    y = y if linear is LDA else np.where(y[:, None] < 0, np.nan, Y)
    by_features = GraphRegularized(linear(alpha=0.1), mu=1.0).fit(X, y)
    K = X @ X.T if precomputed else X
    words = "precomputed" if precomputed else "linear"
    by_kernel = GraphRegularized(kernel(kernel=words, alpha=0.1), mu=1.0).fit(K, y)
    name = "decision_function" if linear is LDA else "predict"
    assert_allclose(getattr(by_kernel, name)(K), getattr(by_features, name)(X), atol=1e-8)
