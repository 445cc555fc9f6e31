"""scikit-learn's contract, for every public estimator there is: checks, pipelines, searches."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import BaseEstimator, clone, is_regressor
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_checks, get_tags
from sklearn.utils.estimator_checks import check_estimator

import eigenkit
import eigenkit as ek


def _public() -> list[type]:
    found = [getattr(eigenkit, name) for name in eigenkit.__all__]
    return [c for c in found if inspect.isclass(c) and issubclass(c, BaseEstimator)]


def _parameters(cls: type) -> dict[str, inspect.Parameter]:
    return dict(inspect.signature(cls).parameters)


# What wraps an estimator needs one, and here a small grid.
WRAPPERS = {
    "AlphaSearchCV": lambda: ek.AlphaSearchCV(ek.LDA(), alphas=(0.1, 10.0), cv=3),
    "GraphRegularized": lambda: ek.GraphRegularized(ek.LDA(), n_neighbors=3),
    "KeepSearchCV": lambda: ek.KeepSearchCV(ek.SparsePLS(1), keep_x=(1, 2), cv=3),
}


def default(cls: type) -> Any:
    """As constructed by default."""
    return WRAPPERS.get(cls.__name__, cls)()


ESTIMATORS = _public()
PROJECTIONS = [cls for cls in ESTIMATORS if hasattr(cls, "transform")]
# Each of their fits is many.
LONG = ("AlphaSearchCV", "BayesianCCA", "KeepSearchCV", "MultipleKernelProjection")
LONG += ("GraphRegularized",)
# One of each base class: most of what is checked is written there.
FIRST = {cls.__bases__[-1]: cls for cls in reversed(ESTIMATORS)}.values()


def _quick_if_first(cls: type, value: Any) -> Any:
    quick = cls in FIRST and cls.__name__ not in LONG
    return value if quick else pytest.param(value, marks=pytest.mark.slow)


EACH = pytest.mark.parametrize("cls", ESTIMATORS, ids=lambda c: c.__name__)
EACH_PROJECTION = pytest.mark.parametrize("cls", PROJECTIONS, ids=lambda c: c.__name__)

# -- scikit-learn's checks ---------------------------------------------------------------

# Classes with these names are special to scikit-learn's checks: there fit_transform(X, y) is
# taken to give a pair, as transform(X, y) does. Ours gives the scores of X, so that it can be
# a step of a pipeline. Under any other name the same classes pass these checks too.
TWO_SIDED = ("CCA", "PLSCanonical", "PLSRegression", "PLSSVD")
PAIRS = ("check_transformer_general", "check_transformer_data_not_an_array")
SET_OUTPUT = (
    *("check_set_output_transform", "check_set_output_transform_pandas"),
    *("check_global_output_transform_pandas", "check_set_output_transform_polars"),
    *("check_global_set_output_transform_polars", "check_transformer_get_feature_names_out"),
    "check_transformer_get_feature_names_out_pandas",
)


def expected_failures(estimator: Any) -> dict[str, str]:
    if type(estimator).__name__ in TWO_SIDED:
        return dict.fromkeys(PAIRS, "fit_transform gives the scores of X, not a pair")
    if type(estimator).__name__ == "HypergraphClustering":
        return {
            "check_clustering": "an incidence matrix has no negative entries, the check's X does"
        }
    if getattr(estimator, "solver", None) == "nipals":
        why = "they call partial_fit, and gaps are skipped where all rows are at hand"
        return dict.fromkeys(("check_fit_score_takes_y", "check_n_features_in_after_fitting"), why)
    if type(estimator).__name__ not in WRAPPERS:
        return {}
    why = "folds cut repeated rows apart, so that weights do not equal repetition"
    graph = isinstance(estimator, ek.GraphRegularized)
    if graph:
        why = "a sample that is there twice is its own neighbour in the graph"
    kinds = ("dense", "sparse")
    expected = {f"check_sample_weight_equivalence_on_{kind}_data": why for kind in kinds}
    if graph:
        expected["check_classifiers_classes"] = "-1 marks rows without a class, as in scikit-learn"
    return expected


# Ways to the same answers that run other code.
FURTHER = [
    *(ek.LDA(solver="direct"), ek.CCA(alpha_y=2.0)),
    *(ek.LeastSquaresProjection(target=name) for name in ("lda", "star")),
    ek.LeastSquaresProjection(target="lda", alpha=0.01, l1_ratio=1.0),
    ek.HypergraphSpectral(expansion="clique", alpha=0.1),
    ek.AlphaSearchCV(ek.OrthonormalizedPLS(), alphas=(0.1, 10.0), cv=3),
    *(
        ek.PLSRegression(algorithm="nipals"),
        ek.PLSCanonical(algorithm="nipals"),
        ek.PCA(solver="nipals"),
    ),
    *(
        ek.PLSDA(1, coding="reduced"),
        ek.PLSDA(1, coding="between"),
        ek.ShrinkageRegression("ridge"),
    ),
    *(ek.ReGEC(regularization="ridge"), ek.ReGEC(kernel="rbf"), ek.GEPSVM(kernel="rbf")),
    ek.ReGEC(kernel="rbf", approximation="cholesky", n_landmarks=60),
    *(ek.MultipleKernelProjection(weights="best"), ek.MultipleKernelProjection(ek.KernelLDA())),
    *(cls(approximation="cholesky") for cls in ESTIMATORS if "approximation" in _parameters(cls)),
]


def _described(estimator: Any) -> str:
    return re.sub(r"\s+", " ", repr(estimator))


@pytest.mark.parametrize(
    "estimator",
    [
        *(_quick_if_first(cls, default(cls)) for cls in ESTIMATORS),
        *(pytest.param(further, marks=pytest.mark.slow) for further in FURTHER),
    ],
    ids=_described,
)
@pytest.mark.filterwarnings("ignore::eigenkit.exceptions.EigenkitWarning")
def test_scikit_learn_checks(estimator):
    expected = expected_failures(estimator)
    results = check_estimator(
        estimator, expected_failed_checks=expected, on_skip=None, on_fail=None
    )
    assert len(results) > 30
    assert {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"} == {}


@pytest.mark.slow
@pytest.mark.parametrize(
    "cls", [_quick_if_first(cls, cls) for cls in PROJECTIONS], ids=lambda c: c.__name__
)
@pytest.mark.filterwarnings("ignore")  # the checks mix frames and arrays on purpose
def test_checks_of_transformers_pass_under_another_name(cls):
    for name in (*(PAIRS if cls.__name__ in TWO_SIDED else ()), *SET_OUTPUT):
        getattr(estimator_checks, name)("Projection", default(cls))


# -- steps of pipelines ------------------------------------------------------------------


def data_for(estimator: Any) -> tuple[np.ndarray, Any]:
    """Iris, with y as the estimator wants it."""
    X, y = load_iris(return_X_y=True)
    if not get_tags(estimator).target_tags.required or not is_regressor(estimator):
        return X, y
    Y = np.column_stack([y == 0, y == 1, X[:, 0] * y]).astype(float)
    return X, Y if get_tags(estimator).target_tags.multi_output else Y[:, 2]


@EACH_PROJECTION
def test_fit_transform_gives_the_scores_of_x(cls):
    estimator = default(cls)
    X, y = data_for(estimator)
    scores = estimator.fit_transform(X, y)
    assert isinstance(scores, np.ndarray)
    assert scores.ndim == 2
    np.testing.assert_allclose(scores, estimator.transform(X), atol=1e-12)
    weighted = default(cls).fit_transform(X, y, sample_weight=np.arange(1.0, 151))
    assert weighted.shape[0] == len(X)


@pytest.mark.parametrize(
    "cls", [_quick_if_first(cls, cls) for cls in PROJECTIONS], ids=lambda c: c.__name__
)
def test_projections_are_steps_of_everything(cls):
    X, y = data_for(default(cls))
    head = LogisticRegression() if np.ndim(y) == 1 else Ridge()
    few = X[:, :3].copy()
    scores = default(cls).fit(few, y).transform(few)
    union = FeatureUnion([("ours", default(cls)), ("scaled", StandardScaler())])
    columns = ColumnTransformer([("ours", default(cls), slice(3))], remainder="passthrough")
    for step, expected in (
        (
            union,
            np.hstack([default(cls).fit(X, y).transform(X), StandardScaler().fit_transform(X)]),
        ),
        (columns, np.hstack([scores, X[:, 3:]])),
    ):
        np.testing.assert_allclose(step.fit_transform(X, y), expected, atol=1e-10)
        model = Pipeline([("scale", StandardScaler()), ("step", step), ("head", head)])
        assert model.fit(X, y).score(X, y) > 0.5
    pipeline = Pipeline([("ours", default(cls)), ("head", head)])
    grid = {"head__alpha" if np.ndim(y) == 2 else "head__C": [0.1, 1.0]}
    search = GridSearchCV(pipeline, grid, cv=3, error_score="raise").fit(X, y)
    assert search.predict(X).shape[0] == len(X)
    names = pipeline[:1].fit(X, y).get_feature_names_out()
    assert len(names) == pipeline[:1].transform(X).shape[1]


@EACH_PROJECTION
def test_transform_of_both_gives_both(cls):
    estimator = default(cls)
    own = getattr(estimator, "estimator", None)  # searches can do what it can
    own = own if hasattr(own, "transform") else estimator
    if "y" not in inspect.signature(type(own).transform).parameters:
        return
    X, y = data_for(estimator)
    if not is_regressor(estimator):
        y = np.eye(3)[y]
    x_scores, y_scores = estimator.fit(X, y).transform(X, y)
    np.testing.assert_array_equal(x_scores, estimator.transform(X))
    assert x_scores.shape == y_scores.shape


# -- frames as output --------------------------------------------------------------------

# What gives scores gives frames when told to; everything else gives what it always gives.
SCORES = ("transform", "fit_transform")
FURTHER_OUTPUT = [ek.PCA(2, whiten=True), ek.PCA(solver="nipals"), ek.KernelPCA(2, gamma=0.1)]


def _results(estimator: Any, X: Any, y: Any) -> dict[str, Any]:
    """What every method of a fitted model that takes X, or X and y, says of the data."""
    found = {}
    for name in dir(type(estimator)):
        if name.startswith(("_", "fit", "partial", "get", "set", "inverse", "sample", "plan")):
            continue
        if not callable(getattr(estimator, name, None)):
            continue
        given = list(inspect.signature(getattr(estimator, name)).parameters)
        if given[:1] == ["X"]:
            takes_y = given[1:2] == ["y"] and name not in SCORES
            found[name] = getattr(estimator, name)(X, y) if takes_y else getattr(estimator, name)(X)
    return found


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, tuple | list | Iterator):
        return all(map(_same, a, b))
    if sparse.issparse(a):
        return type(a) is type(b) and _same(a.toarray(), b.toarray())
    return type(a) is type(b) and bool(np.all(np.asarray(a) == np.asarray(b)))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["pandas", "polars"])
@pytest.mark.parametrize("everywhere", [False, True], ids=["set_output", "config"])
@pytest.mark.parametrize(
    "estimator",
    [*(_quick_if_first(cls, default(cls)) for cls in ESTIMATORS), *FURTHER_OUTPUT],
    ids=_described,
)
@pytest.mark.filterwarnings("ignore::eigenkit.exceptions.EigenkitWarning")
def test_only_scores_become_frames(estimator, everywhere, kind):
    projects = hasattr(estimator, "set_output")
    if not projects and not everywhere:
        return
    X, y = data_for(estimator)
    frame = pd.DataFrame(X, columns=list("abcd"))
    plain = clone(estimator).fit(frame, y)
    before = _results(plain, frame, y)
    model = clone(estimator) if everywhere else clone(estimator).set_output(transform=kind)
    with config_context(transform_output=kind if everywhere else None):
        after = _results(model.fit(frame, y), frame, y)
        if hasattr(estimator, "fit_transform"):
            after["fit_transform"] = clone(model).fit_transform(frame, y)
            before["fit_transform"] = plain.transform(frame)
    assert after.keys() == before.keys()
    for name, found in after.items():
        if name in SCORES and projects:
            assert type(found).__module__.startswith(kind), name
            np.testing.assert_allclose(np.asarray(found), before[name], rtol=1e-9, atol=1e-12)
        else:
            assert _same(found, before[name]), name


# -- names of the columns of y -----------------------------------------------------------

MATRIX_Y = [cls for cls in ESTIMATORS if cls.__name__ not in ("PCA", "KernelPCA", "MultiviewCCA")]


def _takes_a_frame(estimator: Any, X: np.ndarray) -> pd.DataFrame | None:
    """A y of several columns that the estimator takes, if there is one."""
    rng = np.random.default_rng(0)
    labels = pd.DataFrame((rng.random((len(X), 3)) < 0.5).astype(float), columns=list("abc"))
    numbers = pd.DataFrame(X[:, :3] + rng.normal(size=(len(X), 3)), columns=list("abc"))
    for y in (numbers, labels):
        try:
            model = clone(estimator).fit(X, y)
        except (ValueError, TypeError):
            continue
        if any("_y_names_" in vars(m) for m in (model, getattr(model, "best_estimator_", model))):
            return y
    return None


@pytest.mark.slow
@pytest.mark.parametrize(
    "cls", [_quick_if_first(cls, cls) for cls in MATRIX_Y], ids=lambda c: c.__name__
)
@pytest.mark.filterwarnings("ignore::eigenkit.exceptions.EigenkitWarning")
def test_columns_of_y_in_another_order_are_refused(cls):
    X = np.random.default_rng(1).normal(size=(60, 4))
    estimator = default(cls)
    y = _takes_a_frame(estimator, X)
    if y is None:
        assert cls.__name__ in ONE_COLUMN, "takes a matrix y and forgets its names"
        return
    other = y[["b", "a", "c"]]
    words = r"y has the columns \['b', 'a', 'c'\], but \w+ was fitted with \['a', 'b', 'c'\]: give"
    model = clone(estimator).fit(X, y)
    calls = []
    if hasattr(model, "score"):
        calls.append(model.score)
    if "y" in inspect.signature(getattr(model, "transform", len)).parameters:
        calls.append(model.transform)
    if hasattr(model, "latent"):
        calls.append(model.latent)
    for call in calls:
        call(X, y)
        call(X, y.to_numpy())
        with pytest.raises(ValueError, match=words):
            call(X, other)
    if hasattr(model, "partial_fit"):
        stream = clone(estimator).partial_fit(X, y)
        with pytest.raises(ValueError, match=words):
            stream.partial_fit(X, other)
        stream.partial_fit(X, y.to_numpy())
        with pytest.raises(ValueError, match="the columns of y have different names"):
            stream.merge(clone(estimator).partial_fit(X, other))
    model.fit(X, other)  # a new fit, a new y
    model.fit(X, y.to_numpy())
    assert "_y_names_" not in vars(model)


# What has one class or response for every sample, or does not look at y.
ONE_COLUMN = (
    *("LDA", "KernelLDA", "GEPSVM", "ReGEC", "ShrinkageRegression", "HypergraphClustering"),
    *("AlphaSearchCV", "GraphRegularized"),  # of LDA, here
)


# -- streams -----------------------------------------------------------------------------

STREAMING = [cls for cls in ESTIMATORS if hasattr(default(cls), "partial_fit")]
EACH_STREAM = pytest.mark.parametrize(
    "cls",
    [
        pytest.param(cls, marks=pytest.mark.slow) if cls.__name__ in LONG else cls
        for cls in STREAMING
    ],
    ids=lambda c: c.__name__,
)


def _kinds_of_y(estimator: Any, X: np.ndarray) -> list[Any]:
    """Classes in their order, and labels that some rows lack: whatever the estimator takes."""
    rng = np.random.default_rng(0)
    labels = (rng.random((len(X), 3)) < 0.4).astype(int)
    labels[:10] = 0
    numbers = X[:, :2] ** 2 + rng.normal(size=(len(X), 2))
    kinds = []
    for y in (np.repeat([0, 1, 2], len(X) // 3), labels, numbers):
        try:
            clone(estimator).fit(X, y)
        except ValueError:
            continue
        kinds.append(y)
    return kinds


def _results_agree(model: Any, whole: Any) -> None:
    """The attributes of a stream are those of a fit, but for what has one entry per row."""
    for name, value in vars(whole).items():
        if name.endswith("_") and not name.startswith("_") and name not in ROWWISE:
            found = getattr(model, name)
            if isinstance(value, np.ndarray | float) and name not in CHOSEN:
                np.testing.assert_allclose(found, value, rtol=1e-6, atol=1e-7, err_msg=name)


ROWWISE = ("x_scores_", "y_scores_")
CHOSEN = ("n_iter_", "report_", "x_weights_", "y_weights_", "y_rotations_", "y_loadings_")


@EACH_STREAM
@pytest.mark.filterwarnings("ignore::eigenkit.exceptions.EigenkitWarning")
def test_any_partition_streams_whatever_its_first_batch(cls):
    """One class at first, rows without a label at first or later, batches without a row."""
    X = np.random.default_rng(1).normal(size=(60, 4))
    estimator = default(cls)
    kinds = _kinds_of_y(estimator, X)
    assert kinds
    for y in kinds:
        X_y = X + 0.3 * y[:, None] if y.ndim == 1 else X + 0.3 * y[:, :1]
        whole = clone(estimator).fit(X_y, y)
        for order in (np.arange(60), np.r_[30:60, 0:30]):
            model, classes = clone(estimator), np.unique(y) if y.ndim == 1 else None
            for rows in np.split(order, [0, 5, 6, 6, 40, 50]):
                model.partial_fit(X_y[rows], y[rows], classes=classes)
            _results_agree(model, whole)
        alone = clone(estimator).partial_fit(X_y[:5], y[:5])  # of one class, or of no label
        assert alone.n_features_in_ == 4


@EACH_STREAM
def test_a_batch_of_no_rows_changes_nothing(cls):
    X, y = data_for(default(cls))
    model = default(cls).partial_fit(X[:0], y[:0])
    assert not hasattr(model, "n_features_in_")
    with pytest.raises(ValueError, match=r"X has no rows|inconsistent numbers of samples"):
        model.partial_fit(X[:0], y[:5])
    for empty in ([], pd.DataFrame(X[:0])):
        model.partial_fit(X, y).partial_fit(empty, [])
    assert model.n_features_in_ == 4


@EACH
def test_no_rows_are_refused_in_our_words(cls):
    X, y = data_for(default(cls))
    with pytest.raises(ValueError, match=r"X has no rows|holds no") as caught:
        default(cls).fit(X[:0], y[:0])
    assert "Found array" not in str(caught.value)


# -- strings -----------------------------------------------------------------------------

NUMBERS_ONLY = (
    *(
        "KeepSearchCV",
        "OrthogonalPLS",
        "PLSCanonical",
        "PLSRegression",
        "PLSRegressionCV",
        "PLSSVD",
        "SIMPLS",
    ),
    *("BayesianCCA", "ProbabilisticCCA", "ShrinkageRegression", "SparseCCA", "SparsePLS"),
)


@pytest.mark.slow
@EACH
@pytest.mark.filterwarnings("ignore::eigenkit.exceptions.EigenkitWarning")
def test_what_takes_strings_scores_them(cls):
    """Classes by their names; regressions by the columns that stand for them."""
    X, y = load_iris(return_X_y=True)
    names = np.array(["zebra", "ant", "cow"])[y]
    estimator = default(cls)
    if cls.__name__ in NUMBERS_ONLY:
        with pytest.raises(ValueError, match="y holds the string 'zebra'"):
            estimator.fit(X, names)
        return
    estimator.fit(X, names)
    if not hasattr(estimator, "score"):
        return
    weight = 1.0 + np.arange(150) % 3
    weighted = {"sample_weight": weight} if hasattr(estimator, "predict") else {}
    for options in ({}, weighted):
        score = estimator.score(X, names, **options)
        assert np.isfinite(score)
        assert not hasattr(estimator, "classes_") or 0 < score <= 1
    shuffled = names[np.random.default_rng(0).permutation(150)]
    if hasattr(estimator, "classes_"):
        assert estimator.score(X, shuffled) < estimator.score(X, names)
