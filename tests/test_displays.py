"""Displays hold what they show, follow scikit-learn's convention, and draw every projection."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris

from eigenkit import CCA, LDA, PCA, KernelCCA, PLSRegression, ReGEC
from eigenkit.analysis import (
    BiplotDisplay,
    CorrelationCircleDisplay,
    ScoresDisplay,
    ScreeDisplay,
    WeightsDisplay,
)

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
X, y = load_iris(return_X_y=True)
Y = np.eye(3)[y]


@pytest.fixture(autouse=True)
def _closed():
    yield
    matplotlib.pyplot.close("all")


@pytest.mark.parametrize(
    "model",
    [LDA(), CCA(), PCA(2), PLSRegression(2), KernelCCA(alpha=1.0)],
    ids=lambda m: type(m).__name__,
)
def test_scores_circle_and_biplot_of_every_projection(model):
    fitted = model.fit(X, y if isinstance(model, LDA) else Y)
    Z = np.asarray(fitted.transform(X))[:, :2]
    shown = ScoresDisplay.from_estimator(fitted, X, y)
    assert np.allclose(shown.scores, Z)
    assert len(shown.ax_.collections) == 3
    circle = CorrelationCircleDisplay.from_estimator(fitted, X)
    expected = np.corrcoef(np.column_stack([X, Z]).T)[:4, 4:]
    assert np.allclose(circle.correlations, expected, atol=1e-10)
    both = BiplotDisplay.from_estimator(fitted, X, y)
    assert np.allclose(both.circle.correlations, expected, atol=1e-10)
    assert both.figure_ is both.ax_.figure


def test_sparse_rows_give_the_same_correlations():
    fitted = LDA().fit(X, y)
    dense, stored = (
        CorrelationCircleDisplay.from_estimator(fitted, part) for part in (X, sparse.csr_array(X))
    )
    assert np.allclose(dense.correlations, stored.correlations, atol=1e-10)


def test_plot_draws_again_into_axes_of_ones_own():
    shown = ScreeDisplay.from_estimator(LDA().fit(X, y))
    _, ax = matplotlib.pyplot.subplots()
    assert shown.plot(ax) is shown
    assert shown.ax_ is ax
    assert np.allclose(ax.lines[0].get_ydata(), LDA().fit(X, y).eigenvalues_)


def test_weights_come_by_size_with_the_names_of_a_frame():
    pd = pytest.importorskip("pandas")
    fitted = LDA().fit(pd.DataFrame(X, columns=list("abcd")), y)
    shown = WeightsDisplay.from_estimator(fitted, top=2)
    order = np.argsort(-np.abs(fitted.components_[0]))[:2]
    assert shown.names == ["abcd"[j] for j in order]
    assert np.allclose(shown.weights, fitted.components_[0][order])


def test_what_cannot_be_drawn_is_one_sentence():
    fitted = LDA().fit(X, y)
    with pytest.raises(ValueError, match=r"components=\(0, 5\) is not valid: there are 2, counted"):
        ScoresDisplay.from_estimator(fitted, X, components=(0, 5))
    with pytest.raises(ValueError, match=r"y has shape \(3,\): give one class for each of 150"):
        ScoresDisplay.from_estimator(fitted, X, [1, 2, 3])
    with pytest.raises(ValueError, match="component=9 is not valid: there are 2"):
        WeightsDisplay.from_estimator(fitted, component=9)
    with pytest.raises(ValueError, match="ReGEC has no components: give a projection"):
        ScoresDisplay.from_estimator(ReGEC().fit(X[:100], y[:100]), X)
