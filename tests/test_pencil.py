"""A report is read by people: every line says one thing, and what was not measured has none."""

from __future__ import annotations

import numpy as np

from eigenkit import LDA, LeastSquaresProjection
from eigenkit.pencil import Report


def told(**fields) -> list[str]:
    return str(Report("two_stage", "cg", "as asked", **fields)).splitlines()


def test_a_report_leaves_out_what_was_not_measured():
    assert told() == ["solved by: two_stage with cg (as asked)"]
    assert told(products="BLAS")[1:] == ["products with X: BLAS"]
    assert told(notes=("a", "b"))[1:] == ["note: a; b"]
    assert told(residual=1e-9)[1] == "residual: 1.0e-09"


def test_a_report_says_what_went_wrong():
    assert "iterations: 7, which stopped before they converged" in told(n_iter=7, converged=False)
    assert "iterations: 7, which converged" in told(n_iter=7)
    assert any("does not solve the eigenvalue problem" in line for line in told(equivalent=False))
    assert any(line.endswith("at most 2.0e-02") for line in told(label_rank=3, label_bound=0.02))


def test_what_models_tell_can_be_printed():
    X, y = np.random.default_rng(0).normal(size=(60, 5)), np.arange(60) % 3
    assert "cholesky" in str(LDA().plan(X, y))
    model = LDA().fit(X, y)
    assert f"condition number: {model.report_.condition:.1e}" in str(model.report_)
    least_squares = LeastSquaresProjection(target="lda").fit(X, y)
    assert "model: least squares, which does not solve" in str(least_squares.report_)
