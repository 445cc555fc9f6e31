"""Iterations of the core step by step: the recursion that is stated, and when it ends."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import some_of
from eigenkit import PCA, RGCCA
from eigenkit.data import Centered
from eigenkit.numerics.tolerances import EPS
from eigenkit.pencil import Pencil
from eigenkit.solvers import krylov, stages
from eigenkit.solvers import lasso as lasso_module
from eigenkit.solvers.lasso import Sparsity, lasso
from eigenkit.solvers.stages import Choice


class _Matrix:
    """What the lasso asks of a view, from a dense matrix; products are counted."""

    def __init__(self, A):
        self.shape, self.A, self.count = A.shape, A, 0

    def gram(self):
        return self.A.T @ self.A

    def normal(self, V):
        self.count += 1
        return self.A.T @ (self.A @ V)


def _fista(G, c, penalty, bound, steps):
    """Accelerated proximal gradient steps (Beck and Teboulle), restarted where they overshoot."""
    last = z = np.zeros_like(c)
    t, restarts = 1.0, 0
    for _ in range(steps):
        w = z - (G @ z - c) / bound
        w = np.sign(w) * np.maximum(np.abs(w) - penalty / bound, 0)
        if np.dot(z - w, w - last) > 0:
            t, restarts = 1.0, restarts + 1
        t_next = 0.5 + np.sqrt(0.25 + t**2)
        z = w + (t - 1) / t_next * (w - last)
        last, t = w, t_next
    return last, restarts


@pytest.mark.parametrize("steps", [1, 2, 3, 100])
def test_steps_of_the_lasso_are_accelerated_and_restarted(steps, rng, monkeypatch):
    A = rng.normal(size=(30, 6)) @ np.diag([3.0, 1.0, 1.0, 0.5, 0.3, 0.1])
    c, bounds = A.T @ rng.normal(size=30), []

    def noted(product, bound, *given):
        bounds.append(bound)
        return inner(product, bound, *given)

    inner = lasso_module._proximal
    monkeypatch.setattr(lasso_module, "_proximal", noted)
    monkeypatch.setattr(lasso_module, "MAX_STEPS", steps)
    monkeypatch.setattr(lasso_module, "TOLERANCE", 0.0)
    w = lasso(_Matrix(A), Sparsity(0.05))(c, np.zeros(6))
    largest = np.linalg.norm(A, 2) ** 2
    assert largest < bounds[0] < 1.15 * largest  # shorter steps would only be slower
    expected, restarts = _fista(A.T @ A, c, 0.05 * np.abs(c).max(), bounds[0], steps)
    np.testing.assert_allclose(w, expected, rtol=1e-9, atol=1e-12 * np.abs(expected).max())
    assert restarts > 0 or steps < 100


def test_steps_of_the_lasso_end_where_weights_no_longer_change(rng, monkeypatch):
    monkeypatch.setattr(lasso_module, "GRAM_ORDER", 0)
    A = rng.normal(size=(30, 6))
    c = A.T @ rng.normal(size=30)
    view = _Matrix(A)
    fit = lasso(view, Sparsity(0.1))
    w = fit(c, np.zeros(6))
    view.count = 0
    again = fit(c, w)
    assert view.count <= 3  # nothing is left to do
    np.testing.assert_allclose(again, w, rtol=1e-7, atol=1e-9 * np.abs(w).max())


@pytest.mark.parametrize("nonnegative", [False, True])
def test_a_lasso_that_may_keep_all_has_no_penalty(nonnegative, rng):
    A, true = rng.normal(size=(30, 4)), np.array([1.0, 2.0, 0.5, 3.0])
    for count in (4, 9):
        w = lasso(_Matrix(A), Sparsity(0.5, count, nonnegative))(A.T @ A @ true, np.zeros(4))
        np.testing.assert_allclose(w, true, rtol=1e-6)


@pytest.mark.parametrize(("nonnegative", "unit"), some_of([False, True], [1e-3, 1.0, 1e3]))
def test_the_path_of_the_lasso_goes_on_to_the_next_variable(nonnegative, unit, rng):
    """It ends at the smallest penalty with so few variables: there another one would come in."""
    left = 0
    for _ in range(30):
        A = rng.normal(size=(8, 6)) @ rng.normal(size=(6, 6))
        c = unit * A.T @ rng.normal(size=8)
        inside = set()
        for count in range(1, 6):
            w = lasso(_Matrix(A), Sparsity(0.0, count, nonnegative))(c, np.zeros(6))
            rest, on = c - A.T @ (A @ w), w != 0
            assert 1 <= np.count_nonzero(on) <= count or (nonnegative and c.max() < 0)
            left += not inside <= set(np.flatnonzero(on))
            inside = set(np.flatnonzero(on))
            if not on.any():
                continue
            level = np.abs(rest[on]).max()
            np.testing.assert_allclose(rest[on], level * np.sign(w[on]), atol=1e-8 * unit)
            waiting = (rest if nonnegative else np.abs(rest))[~on]
            assert np.all(waiting <= level + 1e-8 * unit)
            # Either one more is at the level, or the level is zero, or none can come in.
            assert level < 1e-7 * unit or np.any(waiting > level - 1e-8 * unit)
    assert left > 3  # of the variables that were in


@pytest.mark.parametrize("shift", [1e-3, 1.0, 1e3])
def test_conjugate_gradients_end_at_what_rounding_allows(shift, rng):
    """A tolerance of zero: the residual is a rounding of the condition number then."""
    values, b = np.linspace(1.0, 3.0, 200), rng.normal(size=(200, 1))
    (run,) = krylov.block_cg(lambda Q: values[:, None] * Q, b, [shift], 0.0, 500)
    assert run.converged
    left = np.linalg.norm(b[:, 0] - (values + shift) * run.X[:, 0]) / np.linalg.norm(b)
    assert left < 30 * EPS * (3 + shift) / shift + 30 * EPS
    (early,) = krylov.block_cg(lambda Q: values[:, None] * Q, b, [shift], 1e-3, 500)
    assert early.n_iter < run.n_iter


@pytest.mark.parametrize(
    ("first", "order"), [("cg", ["cg", "cholesky", "svd"]), ("cholesky", ["cholesky", "svd"])]
)
def test_where_an_iteration_fails_the_cheapest_factorization_is_next(
    first, order, rng, monkeypatch
):
    """All give up but the last, which always has an answer."""
    pencil = Pencil.state(Centered(rng.normal(size=(9, 3))), rng.normal(size=(9, 1)), 1.0)
    costs = {"cg": 0.1, "dual_cholesky": 3.0, "cholesky": 2.0}
    monkeypatch.setattr(stages, "choose", lambda *given: Choice(first, "", costs))
    tried, svd = [], stages.REGRESSIONS["svd"]
    for name in stages.REGRESSIONS:
        gives_up = lambda problems, *_, name=name: tried.append(name) or [None]  # noqa: E731
        monkeypatch.setitem(stages.REGRESSIONS, name, gives_up)
    monkeypatch.setitem(
        stages.REGRESSIONS, "svd", lambda *given: tried.append("svd") or svd(*given)
    )
    ((answer, report),) = stages.regress([pencil], stages.Settings())
    assert tried == order
    assert answer.converged
    assert report.regression == "svd"


def test_the_report_says_why_another_method_took_over(rng, monkeypatch):
    """A method that gives up has not failed to converge."""
    pencil = Pencil.state(Centered(rng.normal(size=(9, 3))), rng.normal(size=(9, 1)), 1.0)
    choice = Choice("cg", "it is cheap", {"cg": 0.1, "cholesky": 2.0})
    monkeypatch.setattr(stages, "choose", lambda *given: choice)
    monkeypatch.setitem(stages.REGRESSIONS, "cg", lambda *given: [None])
    ((_, report),) = stages.regress([pencil], stages.Settings())
    assert report.reason == "it is cheap, but B is singular to rounding there: cholesky"


@pytest.mark.parametrize("model", [PCA(1, solver="nipals"), RGCCA(1, tau=0.5)])
def test_data_of_rank_one_are_settled_by_the_first_step(model):
    """Which also says that the first step is a step, and counts."""
    rng = np.random.default_rng(0)
    X = np.outer(rng.normal(size=20), rng.normal(size=5))
    model.fit([X, X] if isinstance(model, RGCCA) else X)
    assert model.n_iter_ == 1
