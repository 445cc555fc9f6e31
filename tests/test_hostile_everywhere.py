"""What no array can be made of, for every public estimator: an answer, or one sentence of ours."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_linnerud
from sklearn.utils import get_tags

from conftest import some_of
from eigenkit import CCA, LDA, PCA, AlphaSearchCV, KernelPCA, PLSRegression, ReGEC, alpha_path
from eigenkit.exceptions import EigenkitWarning
from test_contract import ESTIMATORS, WRAPPERS, data_for, default

EACH = pytest.mark.parametrize("cls", ESTIMATORS, ids=lambda c: c.__name__)
N = 150
NAMES = np.array(["a", "b", "c"])[np.arange(N) % 3]
GAPS = np.where(np.arange(N) % 7 == 0, None, NAMES)


def _outcome(cls: type, X: Any, y: Any) -> Exception | None:
    """The error that fitting gives, with the model as it was; None where it can be used."""
    model = default(cls)
    before = dict(vars(model))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", EigenkitWarning)
        try:
            model.fit(X, y)
        except Exception as error:
            assert vars(model).keys() == before.keys()
            return error
    return None


def _one_sentence(error: Exception | None, start: str) -> None:
    assert isinstance(error, ValueError | TypeError), error
    text = str(error)
    assert start in text
    assert "\n" not in text


FRAME = ["p", "q", "p", "r"]
X_CASES = {
    "dict": (lambda X: {"a": X[:, 0], "b": X[:, 1]}, "X is a dict: give an array"),
    "set": (lambda X: {1, 2, 3}, "X is a set: give an array"),
    "path": (lambda X: "data.csv", "X is a str: give an array"),
    "nothing": (lambda X: None, "X is a NoneType: give an array"),
    "0-d": (lambda X: np.array(3.0), "X is a single number"),
    "number": (lambda X: 3.0, "X is a single number"),
    "two names": (lambda X: pd.DataFrame(X, columns=FRAME), "X has several columns named 'p'"),
    "?": (lambda X: pd.DataFrame([["?", *X[0, 1:]], *X[1:].tolist()]), "X holds the string '?'"),
    "words": (lambda X: np.full(X.shape, "word"), "X holds the string 'word'"),
    "complex": (lambda X: X + 1j, "X is complex"),
    "one dimension": (lambda X: X[:, 0], "X has one dimension"),
    "ragged": (lambda X: [[1.0, 2.0], [3.0]] * (N // 2), "X is a ragged list"),
}


@pytest.mark.parametrize(("cls", "case"), some_of(ESTIMATORS, X_CASES))
def test_what_is_not_a_matrix_of_numbers(cls, case):
    X, y = data_for(default(cls))
    make, sentence = X_CASES[case]
    _one_sentence(_outcome(cls, make(X), y), sentence)


@pytest.mark.slow
@EACH
@pytest.mark.parametrize("form", [str, object])
def test_numbers_in_disguise_are_read(cls, form):
    X, y = data_for(default(cls))
    assert _outcome(cls, X.astype(form), y) is None


Y_CASES = {
    "dict": ({"a": 1}, "y is a dict"),
    "0-d": (np.array(1.0), "y is a single number"),
    "path": ("labels.csv", "y is a str"),
    "NA strings": (pd.Series(GAPS, dtype="string"), "y"),
    "None among strings": (np.array(GAPS, dtype=object), "y"),
    "NaN among strings": (np.where(GAPS == None, np.nan, NAMES.astype(object)), "y"),  # noqa: E711
    "NA among integers": (pd.Series([pd.NA, *([1, 2, 0] * 50)[1:]], dtype="Int64"), "y"),
}


@pytest.mark.slow
@EACH
@pytest.mark.parametrize("case", Y_CASES)
def test_labels_that_are_missing_or_none(cls, case):
    estimator = default(cls)
    given, sentence = Y_CASES[case]
    if not get_tags(estimator).target_tags.required:
        return
    error = _outcome(cls, data_for(estimator)[0], given)
    if cls.__name__ in ("ProbabilisticCCA", "BayesianCCA", "GraphRegularized") and error is None:
        return  # they take missing entries, or samples without labels, as they are
    _one_sentence(error, sentence)


@pytest.mark.slow
@EACH
@pytest.mark.parametrize("value", [10**400, "1", np.array(1.0), None, {}, np.nan, True, -1])
def test_ridges_that_are_no_numbers(cls, value):
    alpha = inspect.signature(cls).parameters.get("alpha")
    if alpha is None or alpha.default is value:
        return
    estimator = default(cls).set_params(alpha=value)
    X, y = data_for(estimator)
    with pytest.raises(ValueError, match=r"alpha=.{1,60} is not valid: give a finite number"):
        estimator.fit(X, y)


@pytest.mark.slow
@EACH
@pytest.mark.filterwarnings("ignore::eigenkit.exceptions.EigenkitWarning")
def test_numpy_scalars_are_numbers(cls):
    estimator = default(cls)
    names = inspect.signature(cls).parameters
    new = {"alpha": np.float32(0.5), "tol": np.float64(1e-6), "max_iter": np.int32(300)}
    estimator.set_params(**{name: value for name, value in new.items() if name in names})
    X, y = data_for(estimator)
    estimator.fit(X, y)


@pytest.mark.slow
@EACH
@pytest.mark.filterwarnings("ignore::eigenkit.exceptions.EigenkitWarning")
def test_names_of_features_do_not_outlive_a_refit(cls):
    estimator = default(cls)
    X, y = data_for(estimator)
    estimator.fit(pd.DataFrame(X, columns=list("abcd")), y)
    assert list(estimator.feature_names_in_) == list("abcd")
    estimator.fit(X, y)
    assert not hasattr(estimator, "feature_names_in_")


# -- mapping back ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model", [CCA(2), PLSRegression(2), PCA(2), KernelPCA(2, fit_inverse_transform=True)]
)
@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (np.ones((3, 5)), "X has 5 columns, but the model has 2 components"),
        ([[np.nan, 1.0]], "X contains NaN"),
        ([1.0, 2.0], "Expected 2D array"),
        ({"a": 1}, "X is a dict"),
        ([["a", "b"]], "X holds the string 'a'"),
    ],
)
def test_scores_to_map_back_are_checked(model, scores, message):
    X, Y = load_linnerud(return_X_y=True)
    model.fit(X, Y)
    with pytest.raises((ValueError, TypeError), match=message):
        model.inverse_transform(scores)
    frame = pd.DataFrame(model.transform(X))
    np.testing.assert_array_equal(
        model.inverse_transform(frame), model.inverse_transform(frame.to_numpy())
    )


# -- searches over what they cannot take -------------------------------------------------


@pytest.mark.parametrize("model", [ReGEC(), PLSRegression(), PCA(), "lda", LDA])
def test_alphas_of_estimators_without_one(model):
    X, _ = load_linnerud(return_X_y=True)
    y = np.arange(len(X)) % 2
    for search in (lambda: AlphaSearchCV(model).fit(X, y), lambda: alpha_path(model, X, y, [1.0])):
        with pytest.raises(TypeError, match=r"^estimator is .*: alpha_path needs a projection"):
            search()


def test_every_wrapper_is_known():
    missing = inspect.Parameter.empty
    for cls in ESTIMATORS:
        needed = [p for p in inspect.signature(cls).parameters.values() if p.default is missing]
        assert not needed or cls.__name__ in WRAPPERS, cls
