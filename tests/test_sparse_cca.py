"""Sparse CCA: planted directions, the dense limits of each method, and every kind of input."""

from __future__ import annotations

import pickle
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import linalg as sla
from scipy import sparse
from sklearn.cross_decomposition import PLSSVD
from sklearn.datasets import load_linnerud
from sklearn.linear_model import Lasso
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler

from eigenkit import CCA, KeepSearchCV, SparseCCA
from eigenkit.data import Centered
from eigenkit.exceptions import ConvergenceWarning, DegenerateDataWarning
from eigenkit.solvers.lasso import Sparsity, lasso, thresholded
from eigenkit.solvers.sparse_pairs import METHODS, View

rng = np.random.default_rng(5)
N = 200
X = rng.normal(size=(N, 30))
Y = rng.normal(size=(N, 20))
LATENT = rng.normal(size=(N, 2))
X[:, :3] += 2 * LATENT[:, :1]
Y[:, :2] += 2 * LATENT[:, :1]
X[:, 10:13] -= 1.3 * LATENT[:, 1:]
Y[:, 10:12] += 1.3 * LATENT[:, 1:]
PLANTED_X = [{0, 1, 2}, {10, 11, 12}]
PLANTED_Y = [{0, 1}, {10, 11}]


def supports(W: np.ndarray) -> list[set[int]]:
    return [set(np.flatnonzero(w).tolist()) for w in W.T]


@pytest.mark.parametrize("method", ["pmd", "alternating", "greedy"])
def test_planted_directions_are_found_by_number(method) -> None:
    model = SparseCCA(2, method=method, keep_x=3, keep_y=2).fit(X, Y)
    assert supports(model.x_weights_) == PLANTED_X
    assert supports(model.y_weights_) == PLANTED_Y
    x_scores, y_scores = model.transform(X, Y)
    reference = [np.corrcoef(a, b)[0, 1] for a, b in zip(x_scores.T, y_scores.T, strict=True)]
    assert np.allclose(model.canonical_correlations_, reference)
    assert np.all(model.canonical_correlations_ > 0.75)
    assert np.allclose(np.linalg.norm(x_scores, axis=0), 1)
    assert np.allclose(np.linalg.norm(y_scores, axis=0), 1)


@pytest.mark.parametrize("method", ["pmd", "alternating"])
def test_planted_directions_are_found_by_penalty(method) -> None:
    model = SparseCCA(2, method=method, penalty_x=0.4, penalty_y=0.4).fit(X, Y)
    assert supports(model.x_weights_) == PLANTED_X
    assert supports(model.y_weights_) == PLANTED_Y


def test_least_squares_finds_the_variables_of_every_target() -> None:
    model = SparseCCA(4, method="least_squares", penalty_x=0.5).fit(X, Y)
    found = set.union(*supports(model.x_weights_))
    assert found == PLANTED_X[0] | PLANTED_X[1]
    assert np.all(np.diff(model.canonical_correlations_) <= 1e-12)


def test_least_squares_minimizes_its_objective() -> None:
    """(3.23): each column of W is scikit-learn's lasso of a column of Yc (Yc'Yc)^(-1/2)."""
    Xs, Ys = (StandardScaler().fit_transform(A) / np.sqrt(N) for A in (X, Y))
    target = Ys @ sla.inv(sla.sqrtm(Ys.T @ Ys)).real
    model = SparseCCA(20, method="least_squares", penalty_x=0.4).fit(X, Y)
    for j in range(20):
        penalty = 0.4 * np.abs(Xs.T @ target[:, j]).max()
        w = Lasso(penalty / N, fit_intercept=False, tol=1e-12, max_iter=10**5).fit(Xs, target[:, j])
        w = w.coef_ / X.std(axis=0)
        w /= np.linalg.norm((X - X.mean(axis=0)) @ w)
        error = np.abs(np.abs(model.x_weights_) - np.abs(w)[:, None]).max(axis=0)
        assert error.min() < 1e-6


def test_without_a_penalty_pmd_is_plssvd() -> None:
    model = SparseCCA(penalty_x=0, penalty_y=0, tol=1e-12, max_iter=5000).fit(X, Y)
    theirs = PLSSVD(1).fit(X, Y)
    ours = model.x_weights_[:, 0] * X.std(axis=0)
    cosine = ours @ theirs.x_weights_[:, 0] / np.linalg.norm(ours)
    assert np.isclose(abs(cosine), 1, atol=1e-9)


def test_without_a_penalty_the_lasso_is_cca() -> None:
    dense = SparseCCA(method="alternating", penalty_x=0, penalty_y=0, tol=1e-7, max_iter=5000)
    reference = CCA(1, alpha=0).fit(X, Y).canonical_correlations_
    assert np.allclose(dense.fit(X, Y).canonical_correlations_, reference, atol=1e-6)


def test_greedy_with_all_variables_is_cca() -> None:
    A, B = X[:, :6], Y[:, :4]
    model = SparseCCA(method="greedy", keep_x=6, keep_y=4).fit(A, B)
    reference = CCA(1, alpha=0).fit(A, B)
    assert np.allclose(model.canonical_correlations_, reference.canonical_correlations_)
    assert np.allclose(np.abs(model.x_weights_), np.abs(reference.x_rotations_))


def test_each_greedy_step_is_the_best_one() -> None:
    A, B = X[:, 8:16], Y[:, 8:13]
    two = SparseCCA(method="greedy", keep_x=2, keep_y=1).fit(A, B)
    (first,) = supports(SparseCCA(method="greedy", keep_x=1, keep_y=1).fit(A, B).x_weights_)
    (j,) = supports(two.y_weights_)[0]
    r = {
        i: CCA(1, alpha=0).fit(A[:, [*first, i]], B[:, j]).canonical_correlations_[0]
        for i in set(range(8)) - first
    }
    assert supports(two.x_weights_) == [first | {max(r, key=lambda i: r[i])}]
    assert np.isclose(two.canonical_correlations_[0], max(r.values()))


@given(st.integers(1, 12), st.integers(1, 12), st.sampled_from(["pmd", "alternating"]))
@settings(max_examples=20, deadline=None)
def test_numbers_of_non_zeros_are_kept(m_x, m_y, method) -> None:
    model = SparseCCA(method=method, keep_x=m_x, keep_y=m_y, tol=1e-3).fit(X, Y)
    assert 1 <= np.count_nonzero(model.x_weights_) <= m_x
    assert 1 <= np.count_nonzero(model.y_weights_) <= m_y


@pytest.mark.parametrize("method", ["pmd", "alternating"])
def test_nonnegative(method) -> None:
    model = SparseCCA(2, method=method, nonnegative=True, penalty_x=0.3, penalty_y=0.3).fit(X, Y)
    assert np.all(model.x_weights_ >= 0)
    assert np.all(model.y_weights_ >= 0)
    assert supports(model.x_weights_)[0] == PLANTED_X[0]
    # The second pair needs a negative weight on one side: it is no longer there to find.
    assert supports(model.x_weights_)[1] != PLANTED_X[1]
    loose = SparseCCA(2, method=method, penalty_x=0.3, penalty_y=0.3).fit(X, Y)
    assert np.any(loose.x_weights_[:, 1] * loose.y_weights_[11, 1] < 0)


def test_lasso_meets_its_optimality_conditions() -> None:
    view = View.of(Centered(X), scale=True)
    t = rng.normal(size=N)
    c = view.rmatmat(t[:, None])[:, 0]
    w = lasso(view.X, Sparsity(0.3))(c, np.zeros(30))
    slack = c - view.X.gram() @ w
    penalty = 0.3 * np.abs(c).max()
    assert np.allclose(slack[w != 0], penalty * np.sign(w[w != 0]), atol=1e-7)
    assert np.all(np.abs(slack) <= penalty + 1e-7)
    assert 0 < np.count_nonzero(w) < 30
    positive = lasso(view.X, Sparsity(0.3, nonnegative=True))(c, np.zeros(30))
    assert np.all(positive >= 0)


@pytest.mark.parametrize("seed", [4, 9, 11, 16, 18])  # in all of them a variable leaves again
@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("count", [1, 4, 17])
def test_lasso_with_a_count_has_the_smallest_penalty_that_allows_it(
    count, nonnegative, seed
) -> None:
    """The variables in are at the penalty, and so is one more, which is about to enter."""
    rng = np.random.default_rng(seed)
    for _ in range(count == 17):  # the draws in which it came back with the wrong sign
        rng.normal(size=(30, 30)), rng.normal(size=(N, 1))
    view = View.of(Centered(X @ rng.normal(size=(30, 30))), scale=True)
    c = view.rmatmat(rng.normal(size=(N, 1)))[:, 0]
    w = lasso(view.X, Sparsity(0.0, count, nonnegative))(c, np.zeros(30))
    slack = c - view.X.gram() @ w
    size = slack if nonnegative else np.abs(slack)
    if np.count_nonzero(w) < count:  # only where no further variable would enter at all
        assert nonnegative
        assert size.max() < 1e-9
        return
    penalty = size[w != 0].min()
    assert np.allclose(slack[w != 0], penalty * np.sign(w[w != 0]), atol=1e-9)
    assert np.isclose(size[w == 0].max(), penalty, atol=1e-9)


@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("kind", ["design", "whole numbers", "copies"])
def test_lasso_with_a_count_takes_in_variables_that_are_tied(kind, nonnegative) -> None:
    """In balanced designs correlations are equal to the last bit, and so are those of copies."""
    rng = np.random.default_rng(3)
    for count in (1, 2, 3, 5) * 8:
        A = rng.integers(-1, 2, size=(16, 8)).astype(float)
        A = {"design": sla.hadamard(16)[:, 1:10], "copies": np.hstack([A, A])}.get(kind, A)
        view = View.of(Centered(A.astype(float)), scale=True)
        c = view.rmatmat(rng.integers(-1, 2, size=(16, 1)).astype(float))[:, 0]
        size = c if nonnegative else np.abs(c)
        w = lasso(view.X, Sparsity(0.0, count, nonnegative))(c, np.zeros(len(c)))
        assert np.count_nonzero(w) <= count
        if size.max() < 1e-9 or np.sum(size > size.max() - 1e-9) > count:
            continue  # nothing to enter, or more for the first place than there is room for
        slack = c - view.X.gram() @ w
        left = slack if nonnegative else np.abs(slack)
        penalty = left[w != 0].min()
        assert np.allclose(slack[w != 0], penalty * np.sign(w[w != 0]), atol=1e-9)
        assert left.max() <= penalty + 1e-9


def test_lasso_with_a_count_passes_over_copies() -> None:
    view = View.of(Centered(np.hstack([X, X, X[:, :2] - X[:, 2:4]])), scale=True)
    c = view.rmatmat(rng.normal(size=(N, 1)))[:, 0]
    w = lasso(view.X, Sparsity(0.0, 12))(c, np.zeros(62))
    assert np.count_nonzero(w) == 12
    assert np.all(np.isfinite(w))


def test_alternating_keeps_as_many_variables_as_it_is_asked_to() -> None:
    for seed in range(6):
        r = np.random.default_rng(seed)
        latent = r.normal(size=(100, 2))
        A = latent @ r.normal(size=(2, 20)) + r.normal(size=(100, 20))
        B = latent @ r.normal(size=(2, 12)) + r.normal(size=(100, 12))
        model = SparseCCA(2, method="alternating", keep_x=4, keep_y=3).fit(A, B)
        assert np.count_nonzero(model.x_weights_, axis=0).tolist() == [4, 4]
        assert np.count_nonzero(model.y_weights_, axis=0).tolist() == [3, 3]


@pytest.mark.parametrize("method", ["pmd", "greedy"])
def test_memory_grows_with_the_data_and_not_with_the_square_of_the_labels(method) -> None:
    k = 3000
    A, B = rng.normal(size=(30, 5)), rng.normal(size=(30, k))
    tracemalloc.start()
    SparseCCA(method=method, keep_x=2, keep_y=2).fit(A, B)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.2 * 8 * k * k


def test_lasso_without_the_gram_matrix_is_the_same(monkeypatch) -> None:
    view = View.of(Centered(X), scale=True)
    c = view.rmatmat(rng.normal(size=(N, 1)))[:, 0]
    whole = lasso(view.X, Sparsity(0.3))(c, np.zeros(30))
    monkeypatch.setattr("eigenkit.solvers.lasso.GRAM_ORDER", 0)
    assert np.allclose(lasso(view.X, Sparsity(0.3))(c, np.zeros(30)), whole, atol=1e-8)


def test_pmd_without_the_cross_product_matrix_is_the_same(monkeypatch) -> None:
    whole = SparseCCA(2).fit(X, Y)
    monkeypatch.setattr("eigenkit.solvers.sparse_pairs.CROSS_LIMIT", 30)
    assert np.allclose(SparseCCA(2).fit(X, Y).x_weights_, whole.x_weights_, atol=1e-6)
    greedy = SparseCCA(method="greedy", keep_x=3, keep_y=2).fit(X, Y)
    assert supports(greedy.x_weights_) == PLANTED_X[:1]


def test_deflation_takes_scores_out() -> None:
    view = View.of(Centered(X), scale=True)
    t = view.matmat(rng.normal(size=(30, 1)))[:, 0]
    after = view.without(t)
    assert np.allclose(t @ after.matmat(np.eye(30)), 0, atol=1e-12)
    assert np.allclose(after.squares, np.sum(after.matmat(np.eye(30)) ** 2, axis=0))
    assert np.allclose(after.X.gram(), view.X.gram())  # weights are for the columns as they are


@pytest.mark.parametrize("method", ["alternating", "greedy"])
def test_without_sparsity_all_pairs_are_those_of_cca(method) -> None:
    """Weights that were found beside earlier scores are for X itself: pairs came twice."""
    A, B = load_linnerud(return_X_y=True)
    how = {"keep_x": 3, "keep_y": 3} if method == "greedy" else {}
    how = how or {"penalty_x": 0, "penalty_y": 0, "tol": 1e-10, "max_iter": 5000}
    model, cca = SparseCCA(3, method=method, **how).fit(A, B), CCA(3, alpha=0).fit(A, B)
    np.testing.assert_allclose(model.canonical_correlations_, cca.canonical_correlations_, 1e-6)
    np.testing.assert_allclose(np.corrcoef(model.transform(A).T), np.eye(3), atol=1e-4)


@pytest.mark.parametrize("method", ["alternating", "greedy"])
def test_scores_overlap_only_as_far_as_sparsity_costs(method) -> None:
    A, B = load_linnerud(return_X_y=True)
    A, B = np.hstack([A, A**2]), np.hstack([B, B**2])
    T, U = SparseCCA(2, method=method, keep_x=3, keep_y=3).fit(A, B).transform(A, B)
    assert max(abs(np.corrcoef(S.T)[0, 1]) for S in (T, U)) < 0.5  # was above 0.9


def test_penalty_by_cross_validation() -> None:
    grid = {"penalty_x": [0.0, 0.3, 0.6], "penalty_y": [0.0, 0.3, 0.6]}
    search = GridSearchCV(SparseCCA(2), grid, cv=4).fit(X, Y)
    assert search.best_params_["penalty_x"] > 0
    assert search.best_params_["penalty_y"] > 0
    assert search.best_score_ > 0.7
    assert supports(search.best_estimator_.x_weights_)[0] == PLANTED_X[0]


@pytest.mark.parametrize("method", METHODS)
def test_sparse_is_dense_and_weights_are_repeats(method, monkeypatch) -> None:
    A = np.where(np.abs(X) > 1, X, 0.0)
    model = SparseCCA(2, method=method, keep_x=4, keep_y=4)
    whole = model.fit(A, Y).x_weights_.copy()
    monkeypatch.setattr(sparse.csr_array, "toarray", _only_products(sparse.csr_array.toarray))
    assert np.allclose(model.fit(sparse.csr_array(A), Y).x_weights_, whole, atol=1e-6)
    weight = rng.integers(0, 3, size=N)
    a = model.fit(A, Y, sample_weight=weight).x_weights_.copy()
    b = model.fit(np.repeat(A, weight, axis=0), np.repeat(Y, weight, axis=0)).x_weights_
    assert np.allclose(a, b, atol=1e-6)


def _only_products(original):
    """A d x d product may be made dense, the data (N rows) may not."""

    def toarray(self, *args, **kwargs):
        assert self.shape[0] != N, "densified"
        return original(self, *args, **kwargs)

    return toarray


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("scale", [1e-150, 1e-8, 1e8, 1e150])
def test_units_do_not_matter(method, scale) -> None:
    units = np.where(np.arange(30) % 2, scale, 1.0)
    model = SparseCCA(2, method=method, keep_x=3, keep_y=2)
    plain = model.fit(X, Y)
    reference, correlations = plain.x_weights_, plain.canonical_correlations_
    moved = SparseCCA(**model.get_params()).fit(X * units, Y * scale)
    assert np.allclose(moved.canonical_correlations_, correlations, rtol=1e-6)
    assert supports(moved.x_weights_) == supports(reference)


def test_float32_frames_pickle() -> None:
    frame = pd.DataFrame(X.astype(np.float32), columns=[f"x{i}" for i in range(30)])
    model = SparseCCA(2).set_output(transform="pandas").fit(frame, Y)
    assert model.x_weights_.dtype == np.float32
    assert list(model.transform(frame).columns) == ["sparsecca0", "sparsecca1"]
    copy = pickle.loads(pickle.dumps(model))
    assert np.array_equal(copy.x_weights_, model.x_weights_)
    assert np.allclose(model.x_weights_, SparseCCA(2).fit(X, Y).x_weights_, atol=1e-4)


def test_degenerate_data() -> None:
    with pytest.warns(DegenerateDataWarning, match="1 of 31 features are constant"):
        model = SparseCCA().fit(np.c_[X, np.full(N, 7.0)], np.c_[Y, np.ones(N)])
    assert model.x_weights_[30] == model.y_weights_[20] == 0
    one = SparseCCA().fit(X[:, :1], Y[:, 0])
    assert np.isclose(one.canonical_correlations_[0], np.corrcoef(X[:, 0], Y[:, 0])[0, 1])
    same = SparseCCA(method="alternating").fit(X, X)
    assert np.isclose(same.canonical_correlations_[0], 1)


def test_messages_and_state() -> None:
    model = SparseCCA().fit(X, Y)
    before = model.x_weights_.copy()
    cases = [
        ({"method": "magic"}, "method='magic' is not known"),
        ({"penalty_x": 1.0}, "penalty_x=1 leaves no variable"),
        ({"penalty_y": -0.1}, r"penalty_y=-0\.1 is not valid"),
        ({"keep_x": 0}, "keep_x=0 is not valid"),
        ({"method": "greedy"}, "method='greedy' needs keep_x"),
        ({"n_components": 0}, "n_components=0 is not valid"),
        ({"n_components": 21}, "n_components=21 exceeds"),
        (
            {"method": "greedy", "keep_x": 1, "keep_y": 1, "nonnegative": True},
            "not for method='greedy'",
        ),
    ]
    for parameters, message in cases:
        with pytest.raises(ValueError, match=message):
            SparseCCA(**parameters).fit(X, Y)
    for bad, message in [
        ((X, Y[:10]), "200 rows of X, 10 of y"),
        ((np.ones((9, 2)), Y[:9]), "X has zero variance"),
        ((X, np.ones(N)), "y is constant"),
        ((X, np.full((N, 2), np.nan)), "y contains NaN"),
        ((np.where(X > 2, np.inf, X), Y), "X contains infinity"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.fit(*bad)
        assert np.array_equal(model.x_weights_, before)
    with pytest.raises(ValueError, match="y has 3 columns, but SparseCCA was fitted with 20"):
        model.transform(X, Y[:, :3])
    with pytest.warns(ConvergenceWarning, match="pmd stopped after 1 sweeps"):
        SparseCCA(max_iter=1).fit(X, Y)


@pytest.mark.parametrize("method", ["pmd", "alternating", "greedy"])
def test_every_pair_may_keep_a_number_of_its_own(method: str) -> None:
    model = SparseCCA(2, method=method, keep_x=[4, 2], keep_y=[1, 3]).fit(X, Y)
    assert np.count_nonzero(model.x_weights_, axis=0).tolist() == [4, 2]
    assert np.count_nonzero(model.y_weights_, axis=0).tolist() == [1, 3]
    first = SparseCCA(1, method=method, keep_x=4, keep_y=1).fit(X, Y)
    assert np.allclose(model.x_weights_[:, :1], first.x_weights_)


def test_numbers_of_variables_in_words() -> None:
    with pytest.raises(TypeError, match="SparseCCA takes no n_nonzero_x: give keep_x"):
        SparseCCA(n_nonzero_x=3)
    with pytest.raises(ValueError, match="keep_y has 1 number for 2 components"):
        SparseCCA(2, keep_y=[3]).fit(X, Y)
    with pytest.raises(ValueError, match="'least_squares' takes one number for keep_x"):
        SparseCCA(2, method="least_squares", keep_x=[3, 2]).fit(X, Y)
    with pytest.raises(TypeError, match="is a SparseCCA: KeepSearchCV takes SparsePLS and"):
        KeepSearchCV(SparseCCA()).fit(X, Y)


def test_thresholds() -> None:
    c = np.array([3.0, -2.0, 1.0])
    assert np.allclose(thresholded(c, Sparsity(0.5)), [1.5, -0.5, 0])
    assert np.allclose(thresholded(c, Sparsity(0.0, nonnegative=True)), [3, 0, 1])
    assert np.allclose(thresholded(c, Sparsity(0.0, keep=9)), c)


COUNTS = {"keep_x": 2, "keep_y": 2}
SHAPES = [(2, 3, 3), (3, 3, 3), (3, 5, 2), (4, 1, 3), (20, 1, 3), (20, 3, 1), (6, 2, 6), (20, 4, 4)]


@pytest.mark.slow
@pytest.mark.parametrize("how", [{}, {"penalty_x": 0.0, "penalty_y": 0.0}, COUNTS])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.filterwarnings("ignore::eigenkit.exceptions.ConvergenceWarning")
def test_there_are_as_many_pairs_as_the_views_have_rank(shape, method, how) -> None:
    n, d, k = shape
    how = COUNTS if method == "greedy" else how
    for seed in range(3):
        draw = np.random.default_rng(seed)
        A, B = draw.normal(size=(n, d)), draw.normal(size=(n, k))
        if shape == (20, 4, 4):
            A[:, 3], B[:, 2:] = A[:, 0] - 2 * A[:, 1], B[:, :2] @ draw.normal(size=(2, 2))
        rank = min(np.linalg.matrix_rank(C - C.mean(axis=0)) for C in (A, B))
        with pytest.raises(ValueError, match=r"n_components=\d exceeds \d, the number of pairs"):
            SparseCCA(rank + 1, method=method, **how).fit(A, B)
        model = SparseCCA(1, method=method, **how).fit(A, B)
        assert np.abs(model.canonical_correlations_).max() <= 1 + 1e-12
        assert np.all(np.isfinite(model.transform(A)))


def test_greedy_pairs_do_not_depend_on_the_order_of_columns() -> None:
    for seed in range(20):
        draw = np.random.default_rng(seed)
        A = draw.normal(size=(36, 6))
        B = A[:, :3] @ draw.normal(size=(3, 3)) + draw.normal(size=(36, 3))
        p, q = draw.permutation(6), draw.permutation(3)
        first = SparseCCA(2, method="greedy", keep_x=3, keep_y=2).fit(A, B)
        other = SparseCCA(2, method="greedy", keep_x=3, keep_y=2).fit(A[:, p], B[:, q])
        np.testing.assert_allclose(
            other.canonical_correlations_, first.canonical_correlations_, rtol=1e-9
        )
        np.testing.assert_allclose(other.x_weights_, first.x_weights_[p], atol=1e-9)
        np.testing.assert_allclose(other.y_weights_, first.y_weights_[q], atol=1e-9)


@pytest.mark.parametrize("nonnegative", [False, True])
def test_the_lasso_of_few_rows_with_many_columns_is_that_of_gradient_steps(nonnegative, rng):
    X, t = rng.normal(size=(8, 60)), rng.normal(size=8)
    A = (X - X.mean(axis=0)) / np.linalg.norm(X - X.mean(axis=0), axis=0)
    c = A.T @ (t - t.mean())
    size = float((c if nonnegative else np.abs(c)).max())
    for share in (0.05, 0.3, 0.9):
        w = lasso(View.of(Centered(X), True).X, Sparsity(share, None, nonnegative))(c, np.zeros(60))
        theirs = Lasso(share * size / 8, fit_intercept=False, positive=nonnegative, tol=1e-13)
        theirs.set_params(max_iter=10**6).fit(A, t - t.mean())
        np.testing.assert_allclose(w, theirs.coef_, atol=1e-7 * np.abs(w).max())


def test_alternating_pairs_of_few_rows_take_no_gram_matrix(rng):
    X, Y = rng.normal(size=(5, 20000)), rng.normal(size=(5, 3))
    model = SparseCCA(1, method="alternating", penalty_x=0.1, penalty_y=0.1).fit(X, Y)
    assert np.count_nonzero(model.components_) <= 5
    assert model.canonical_correlations_[0] > 0.99
