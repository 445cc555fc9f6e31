"""Displays hold what they show, follow scikit-learn's convention, and draw every projection."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris

from eigenkit import CCA, LDA, PCA, KernelCCA, KernelLDA, PLSRegression, ReGEC
from eigenkit.analysis import (
    BiplotDisplay,
    CoefficientsDisplay,
    CorrelationCircleDisplay,
    LoadingsDisplay,
    RegionsDisplay,
    ScoresDisplay,
    ScreeDisplay,
    WeightsDisplay,
)
from eigenkit.estimators._described import PICTURES

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
X, y = load_iris(return_X_y=True)
Y = np.eye(3)[y]


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


def test_the_scores_of_one_component_are_drawn_along_it():
    two = y < 2
    fitted = LDA().fit(X[two], y[two])
    shown = fitted.plot("scores", X[two], y[two])
    assert shown.components == (0,)
    assert [text.get_text() for text in shown.ax_.get_yticklabels()] == ["0", "1"]
    drawn = [marks.get_offsets() for marks in shown.ax_.collections]
    Z = fitted.transform(X[two])
    np.testing.assert_allclose(np.vstack(drawn)[:, 0], Z[:, 0])
    assert [bool(np.all(np.abs(at[:, 1] - k) < 0.31)) for k, at in enumerate(drawn)] == [True] * 2
    numbers = CCA().fit(X[:, :3], X[:, 3])
    (marks,) = numbers.plot("scores", X[:, :3], X[:, 3]).ax_.collections
    np.testing.assert_allclose(marks.get_offsets()[:, 1], X[:, 3])
    assert len(numbers.plot("scores", X[:, :3]).ax_.get_yticklabels()) == 1
    chosen = LDA().fit(X, y).plot("scores", X, y, components=(1,))
    assert chosen.ax_.get_xlabel() == "component 2"
    for kind in ("circle", "biplot"):
        with pytest.raises(ValueError, match="there is one component, which ScoresDisplay and"):
            fitted.plot(kind, X[two])


@pytest.mark.parametrize(("kind", "name"), PICTURES.items())
def test_a_model_draws_every_display_of_itself(kind, name):
    samples = {"scores": (X, y), "biplot": (X, y), "circle": (X,), "regions": (X[:, :2], y)}
    shown = (X,) if kind == "loadings" else samples.get(kind, ())
    fitted = LDA().fit(X[:, :2] if kind == "regions" else X, y)
    drawn = fitted.plot(kind, *shown)
    assert type(drawn).__name__ == name
    assert fitted.plot(kind, *shown, ax=drawn.ax_).figure_ is drawn.figure_


def test_a_picture_of_another_name_is_refused():
    fitted = LDA().fit(X, y)
    fitted.plot("scree")
    with pytest.raises(ValueError, match="kind='pie' is not known: choose one of 'scores'"):
        fitted.plot("pie")


def test_weights_of_scaled_features_are_those_of_the_features_as_they_are():
    fitted = PLSRegression(2).fit(X, Y)
    shown = WeightsDisplay.from_estimator(fitted, component=1, top=1)
    expected = fitted.x_rotations_[:, 1] / X.std(axis=0, ddof=1)
    assert np.isclose(np.ravel(shown.weights)[0], expected[np.argmax(np.abs(expected))])


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


def test_loadings_are_the_correlations_of_the_circle_by_size():
    fitted = LDA().fit(X, y)
    circle = CorrelationCircleDisplay.from_estimator(fitted, X).correlations[:, 1]
    shown = LoadingsDisplay.from_estimator(fitted, X, component=1, top=3)
    assert np.allclose(np.abs(shown.weights), np.sort(np.abs(circle))[::-1][:3])
    assert shown.ax_.get_xlabel() == "correlation with component 2"
    with pytest.raises(ValueError, match=r"components=\(7,\) is not valid: there are 2"):
        LoadingsDisplay.from_estimator(fitted, X, component=7)


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


def test_coefficients_come_by_size_for_a_response_or_class():
    fitted = PLSRegression(2).fit(X, Y)
    shown = CoefficientsDisplay.from_estimator(fitted, target=2, top=3)
    order = np.argsort(-np.abs(fitted.coef_[2]))[:3]
    assert np.allclose(shown.coefficients, fitted.coef_[2][order])
    assert shown.names == [f"feature {j}" for j in order]
    assert shown.ax_.get_xlabel() == "coefficient for response 2"
    assert np.allclose([bar.get_width() for bar in shown.ax_.patches], shown.coefficients)
    lda = LDA().fit(X, np.array(["a", "b", "c"])[y])
    assert CoefficientsDisplay.from_estimator(lda, target=1).target == "b"
    two = LDA().fit(X[:100], y[:100])
    assert CoefficientsDisplay.from_estimator(two).target == "1"
    with pytest.raises(ValueError, match="target=3 is not valid: there are 3, from 0"):
        CoefficientsDisplay.from_estimator(fitted, target=3)
    with pytest.raises(ValueError, match="PCA has no coef_"):
        CoefficientsDisplay.from_estimator(PCA(2).fit(X))


def test_regions_of_two_components_are_those_of_the_samples_there():
    fitted = LDA().fit(X, y)
    shown = RegionsDisplay.from_estimator(fitted, X, y, resolution=40)
    assert np.allclose(shown.points, fitted.transform(X))
    Z = np.column_stack([g.ravel() for g in shown.grid])
    rows = Z @ np.linalg.pinv(fitted.components_).T + fitted.mean_
    assert np.allclose(fitted.transform(rows), Z)
    assert np.array_equal(fitted.predict(rows), shown.regions.ravel())
    assert [t.get_text() for t in shown.ax_.get_legend().get_texts()] == ["0", "1", "2"]


def test_regions_of_two_features_are_what_is_predicted():
    fitted = ReGEC(kernel="rbf").fit(X[:100, :2], y[:100])
    shown = RegionsDisplay.from_estimator(fitted, X[:100, :2], y[:100], resolution=20)
    told = fitted.predict(np.column_stack([g.ravel() for g in shown.grid]))
    assert np.array_equal(told, shown.regions.ravel())
    assert shown.ax_.get_xlabel() == "feature 0"
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=list("abcd"))  # without a warning
    RegionsDisplay.from_estimator(LDA().fit(frame, y), frame, y, resolution=5)
    with pytest.raises(ValueError, match="KernelLDA is not a linear projection of the features"):
        RegionsDisplay.from_estimator(KernelLDA(alpha=1.0).fit(X, y), X, y)
    with pytest.raises(ValueError, match="PCA predicts no classes: give a classifier"):
        RegionsDisplay.from_estimator(PCA(2).fit(X), X, y)
