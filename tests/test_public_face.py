"""One public face: what every estimator takes and has is described, and means the same."""

from __future__ import annotations

import inspect
import json
import runpy
from dataclasses import replace
from html import escape
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris

from eigenkit import (
    CCA,
    GEPSVM,
    LDA,
    PLSDA,
    RGCCA,
    AlphaSearchCV,
    BayesianCCA,
    HypergraphSpectral,
    KernelLDA,
    MultipleKernelProjection,
    PLSRegression,
    ProbabilisticCCA,
    SparseCCA,
    SparsePLS,
    alpha_path,
)
from eigenkit.estimators._estimator import Estimator
from eigenkit.models._container import from_tree, to_tree
from eigenkit.pencil import Report
from eigenkit.shell import with_article
from test_contract import ESTIMATORS, PROJECTIONS, data_for, default

FACE = runpy.run_path(str(Path(__file__).parents[1] / "docs" / "face.py"))
EACH = pytest.mark.parametrize("cls", ESTIMATORS, ids=lambda c: c.__name__)


@EACH
def test_every_parameter_is_described(cls):
    assert set(FACE["parameters"](cls)) <= FACE["described"](cls, "Parameters")


@EACH
def test_every_fit_takes_the_same(cls):
    names = list(inspect.signature(cls.fit).parameters)
    assert names[:3] == ["self", "X", "y"]
    assert "sample_weight" not in names or names[3] == "sample_weight"


@EACH
@pytest.mark.filterwarnings("ignore::eigenkit.exceptions.EigenkitWarning")
def test_every_attribute_is_described(cls):
    model = default(cls)
    X, y = data_for(model)
    model.fit(X, y)
    fitted = {n for n in vars(model) if n.endswith("_") and not n.startswith("_")}
    assert "n_features_in_" in fitted
    if "..." not in cls.__doc__.split("Attributes")[1]:  # "As in", for what another class has
        assert fitted <= FACE["described"](cls, "Attributes")
    if cls in PROJECTIONS and "n_components" in FACE["parameters"](cls):
        assert model.n_components_ == model.transform(X).shape[1]
    if "max_iter" in FACE["parameters"](cls):
        assert "tol" in FACE["parameters"](cls)
        assert min(np.ravel(model.n_iter_)) >= 1


@pytest.mark.parametrize("cls", sorted(PROJECTIONS, key=lambda c: c.__name__))
@pytest.mark.filterwarnings("ignore::eigenkit.exceptions.EigenkitWarning")
def test_every_projection_of_features_has_means_and_components(cls):
    if {"kernel", "kernels", "estimator"} & {*FACE["parameters"](cls)}:
        return  # components of samples, not of features, or those of another estimator
    model = default(cls)
    X, y = data_for(model)
    scores = model.fit(X, y).transform(X)
    assert np.allclose((X - model.mean_) @ model.components_.T, scores)


ANSWERS = ("transform", "decision_function", "predict", "predict_proba", "predict_log_proba")
ANSWERS += ("score_samples", "predict_top", "distances", "correct")


def _said_of_float32(model, X):
    for name in ANSWERS:
        if hasattr(model, name):
            said = getattr(model, name)(X)
            for part in said if isinstance(said, list | tuple) else [said]:
                assert part.dtype.kind in "biUO" or part.dtype == np.float32, name


@pytest.mark.parametrize(
    "model", [MultipleKernelProjection(KernelLDA()), PLSDA(), GEPSVM(probability=True)], ids=str
)
def test_probabilities_of_float32_samples_are_float32(model):
    X, y = load_iris(return_X_y=True)
    _said_of_float32(model.fit(X.astype(np.float32), y), X.astype(np.float32))


@EACH
@pytest.mark.filterwarnings("ignore::eigenkit.exceptions.EigenkitWarning")
def test_what_is_said_of_float32_samples_is_float32(cls):
    model = default(cls)
    X, y = data_for(model)
    X = X.astype(np.float32)
    _said_of_float32(model.fit(X, y), X)
    if not {"kernel", "kernels"} & {*FACE["parameters"](cls)}:  # dual coefficients keep all digits
        for name in ("components_", "mean_", "coef_"):
            assert getattr(model, name, X).dtype == np.float32, name


def test_the_table_has_a_row_for_everyone():
    rows = FACE["table"]().splitlines()[2:]
    found = [row.split("`")[1].removeprefix("~eigenkit.") for row in rows]
    assert found == sorted((cls.__name__ for cls in ESTIMATORS), key=str.lower)


# -- in a notebook ----------------------------------------------------------------------


@EACH
@pytest.mark.filterwarnings("ignore::eigenkit.exceptions.EigenkitWarning")
def test_a_notebook_shows_what_the_report_knows(cls):
    model = default(cls)
    assert "as fitted" not in model._repr_html_()
    X, y = data_for(model)
    model.fit(X, y)
    shown = model._repr_html_()
    assert cls.__name__ in shown  # scikit-learn's picture
    for name, text in model.report_.facts().items():
        assert escape(name) in shown
        assert escape(text) in shown
    assert model._repr_mimebundle_()["text/html"]


@EACH
@pytest.mark.filterwarnings("ignore::eigenkit.exceptions.EigenkitWarning")
def test_every_fitted_estimator_reports_how_and_why(cls):
    model = default(cls)
    assert not hasattr(model, "report_")
    X, y = data_for(model)
    report = model.fit(X, y).report_
    assert isinstance(report, Report)
    assert all((report.solver, report.regression, report.reason))
    assert str(report).startswith("solved by: ")
    assert report.n_iter <= max(np.ravel(getattr(model, "n_iter_", report.n_iter)))
    kept: list[np.ndarray] = []
    again = from_tree(json.loads(json.dumps(to_tree(report, kept))), kept)
    assert str(again) == str(report)


# Kernels need all rows at once.
STREAMS = [c for c in ESTIMATORS if hasattr(c, "partial_fit") and not c.__name__.startswith("Ker")]


@pytest.mark.parametrize("cls", STREAMS, ids=lambda c: c.__name__)
@pytest.mark.filterwarnings("ignore::eigenkit.exceptions.EigenkitWarning")
def test_every_stream_reports_what_it_found(cls):
    model = default(cls)
    X, y = data_for(model)
    model.partial_fit(X, y)
    assert model.report_ is model._intake_.model.report_
    assert escape(model.report_.reason) in model._repr_html_()


def _not_converged():
    X, Y = np.random.default_rng(0).normal(size=(2, 40, 6))
    gaps = np.where(np.arange(240).reshape(40, 6) % 11 == 0, np.nan, X)
    once = {"tol": 0.0, "max_iter": 1}
    return [
        (SparsePLS(2, keep_x=2, keep_y=2, **once), X, Y),
        (SparseCCA(2, penalty_x=0.3, penalty_y=0.3, **once), X, Y),
        (PLSRegression(2, algorithm="nipals", **once), X, Y),
        (RGCCA(1, groups=[0, 0, 1, 1, 2, 2], scheme="horst", **once), X, None),
        (ProbabilisticCCA(1, **once), gaps, Y),
        (BayesianCCA(1, **once), X, Y),
        (MultipleKernelProjection(KernelLDA(alpha=1.0), ["rbf", "linear"], **once), X, Y[:, 0] > 0),
    ]


@pytest.mark.parametrize(("model", "X", "y"), _not_converged(), ids=lambda m: type(m).__name__)
@pytest.mark.filterwarnings("ignore::eigenkit.exceptions.EigenkitWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_report_says_that_iterations_did_not_converge(model, X, y):
    report = model.fit(X, y).report_
    assert report.n_iter >= 1
    assert not report.converged
    assert "stopped before they converged" in str(report)


def test_a_notebook_shows_a_stream_that_cannot_be_solved_yet():
    model = LDA().partial_fit([[0.0, 1.0], [1.0, 3.0]], ["a", "a"], classes=["a", "b"])
    shown = model._repr_html_()
    assert "not yet" in shown
    assert "rows taken in" in shown
    model.partial_fit([[5.0, 2.0], [6.0, 0.0]], ["b", "b"])
    assert "solved by" in model._repr_html_()


def test_what_a_notebook_shows_is_escaped():
    model = HypergraphSpectral().fit([[0.0], [1.0], [3.0]], ["a", "b", "a"])
    model.report_ = replace(model.report_, reason="<script>alert(1)</script>")
    shown = model._repr_html_()
    assert "<script>alert(1)" not in shown
    assert "&lt;script&gt;alert(1)" in shown


# As many as it may try: it takes the best of those that there are.
UP_TO = {"PLSRegressionCV"}
COUNTED = [cls for cls in ESTIMATORS if "n_components" in FACE["parameters"](cls)]


@pytest.mark.parametrize("cls", COUNTED, ids=lambda c: c.__name__)
@pytest.mark.filterwarnings("ignore::eigenkit.exceptions.EigenkitWarning")
def test_too_many_components_are_refused_in_the_same_words(cls):
    model = default(cls).set_params(n_components=10_000)
    X, y = data_for(model)
    if cls.__name__ in UP_TO:
        assert model.fit(X, y).n_components_ < 10_000
        return
    with pytest.raises(ValueError, match=r"^n_components=10000 exceeds (\d+), .*: give at most \1"):
        model.fit(X, y)


@EACH
def test_every_fit_goes_the_one_way(cls):
    assert issubclass(cls, Estimator)
    assert cls._fit is Estimator._fit
    assert cls.fit is Estimator.fit or list(inspect.signature(cls.fit).parameters)[4:]


def test_messages_name_kinds_with_the_right_article():
    for name in ("AlphaSearchCV", "LDA", "RGCCA", "int", "ndarray", "SVC", "object", "OPLS"):
        assert with_article(name) == f"an {name}"
    for name in ("CCA", "ReGEC", "SIMPLS", "list", "PCA", "DataFrame", "UMAP", "KernelPCA"):
        assert with_article(name) == f"a {name}"
    with pytest.raises(TypeError, match="estimator is an AlphaSearchCV: alpha_path needs"):
        alpha_path(AlphaSearchCV(CCA()), np.eye(3), np.eye(3), [1.0])
    with pytest.raises(TypeError, match="X is a dict: give an array"):
        CCA().fit({}, np.eye(3))


def test_a_docstring_elsewhere_may_have_braces_of_its_own():
    class Mine(LDA):
        """Discriminant analysis of a template.

        {no_part_of_ours}
        {samples}
        """

    text = inspect.getdoc(Mine)
    assert "{no_part_of_ours}\nParameters" in text
    assert "{samples}" not in text
