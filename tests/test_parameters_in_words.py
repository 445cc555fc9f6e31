"""Parameters of the wrong kind, for every estimator: one sentence that names what was wrong."""

from __future__ import annotations

import re
import traceback
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.model_selection import GroupKFold

import eigenkit as ek
from conftest import some_of
from eigenkit.analysis import bootstrap, permutation_test, vip_scores
from eigenkit.evaluation import (
    LabelStratifiedKFold,
    auto_alphas,
    f1_by_frequency,
    inverse_propensities,
    precision_at_k,
    propensity_scored_precision_at_k,
    stratify,
)
from eigenkit.kernels.sets import MeanMap, VisualWords
from test_contract import ESTIMATORS, data_for, default

RAGGED = [[1, 2], [3]]
WRONG: dict[str, Any] = {
    "a word": "abc",
    "bytes": b"abc",
    "words": ["a", "b", "c"],
    "too large": 10**400,
    "ragged": RAGGED,
    "a dict": {"a": 1},
    "an object": object(),
    "a matrix": np.eye(3),
    "a sparse matrix": sparse.eye(3),
    "complex": 1 + 2j,
}
# What is handed on to scikit-learn, which says what it wants.
THEIRS = {"kernel_params"}
# Anything may be a kernel.
OPEN = {"kernel", "kernels"}


def _said(act: Callable[[], Any]) -> str | None:
    """What an error says, None where there is none; errors that are not ours come through."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            act()
    except (ValueError, TypeError) as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        if "eigenkit" in last.filename and "raise" in (last.line or ""):
            return str(error)
        raise
    return None


@pytest.mark.parametrize(("cls", "kind"), some_of(ESTIMATORS, WRONG, every=10))
def test_a_parameter_of_the_wrong_kind_is_named(cls: type, kind: str) -> None:
    X, y = data_for(default(cls))
    for name in default(cls).get_params(deep=False).keys() - THEIRS - OPEN:
        model = default(cls).set_params(**{name: WRONG[kind]})
        said = _said(lambda model=model: model.fit(X[::6], y[::6]))  # type: ignore[misc]
        if said is not None:
            assert name in said, (name, said)
            assert "\n" not in said, (name, said)


FLAGS = [
    ek.LDA(store_covariance="no"),
    ek.PCA(whiten=1),
    ek.ReGEC(probability=np.ones(2)),
    ek.SparseCCA(nonnegative="yes"),
    ek.SparseCCA(scale=None),
    ek.KernelPCA(fit_inverse_transform="no"),
    ek.ShrinkageRegression(bounded=2),
    ek.MultipleKernelProjection("lda", verbose="quiet"),
]


@pytest.mark.parametrize("model", FLAGS, ids=repr)
def test_flags_are_true_or_false(model: Any) -> None:
    X = np.random.default_rng(0).normal(size=(30, 4))
    with pytest.raises(ValueError, match="give True or False"):
        model.fit(X, np.arange(30) % 2)


@pytest.mark.parametrize("value", [0, -1.0, np.inf, np.nan, "a", True, None])
def test_a_half_life_is_above_zero(value: Any) -> None:
    model = ek.PCA()
    if value is None:
        return
    with pytest.raises(ValueError, match=r"half_life=.*give a finite number above 0, or None"):
        model.partial_fit(np.eye(4), half_life=value)


Y, S = np.tile(np.eye(3), (4, 1)), np.random.default_rng(0).normal(size=(12, 3))
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "alphas": lambda v: ek.alpha_path(ek.LDA(), S, np.arange(12) % 3, v),
    "keep_x": lambda v: ek.KeepSearchCV(ek.SparsePLS(1), keep_x=v).fit(S, Y),
    "shares": lambda v: stratify(Y, v, np.random.default_rng(0)),
    "Y": lambda v: stratify(v, [1.0, 1.0], np.random.default_rng(0)),
    "groups": lambda v: list(LabelStratifiedKFold(2).split(S, Y, v)),
    "X": auto_alphas,
    "bounds": lambda v: f1_by_frequency(Y, Y, np.ones(3), v),
    "frequency": lambda v: f1_by_frequency(Y, Y, v),
    "weight": lambda v: propensity_scored_precision_at_k(Y, S, v),
    "Y ": lambda v: precision_at_k(v, S),
    "Y  ": inverse_propensities,
    "y": ek.label_powerset,
    "ample": lambda v: ek.PCA(1).fit(S, sample_weight=v),  # "Sample weights", in one case
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_argument_of_the_wrong_kind_is_named(name: str) -> None:
    for value in (*WRONG.values(), 1.5, True, [], np.array(2.0)):
        said = _said(lambda value=value: FUNCTIONS[name](value))  # type: ignore[misc]
        assert said is None or (name.strip() in said and "\n" not in said), said


@pytest.mark.parametrize("make", [ek.MultiviewCCA, ek.RGCCA], ids=lambda make: make.__name__)
@pytest.mark.parametrize("groups", [[0, 0, np.nan], [0, None, 1], [None] * 3, RAGGED])
def test_groups_of_columns_are_complete(make: Callable[..., Any], groups: list[Any]) -> None:
    with pytest.raises(ValueError, match=r"groups (holds a missing value|is a ragged list)"):
        make(1, groups=groups).fit(S)


def test_more_draws_than_memory_are_refused(rng: np.random.Generator) -> None:
    X, y = rng.normal(size=(30, 3)), rng.normal(size=30)
    with pytest.raises(ValueError, match="too many: ask for at most 100,000,000"):
        permutation_test(ek.CCA(1), X, y, n_permutations=2**70)
    with pytest.raises(ValueError, match="resamples need"):
        bootstrap(ek.CCA(1), X, y, n_bootstraps=2**70)


@pytest.mark.parametrize("level", ["5 %", None, 5, np.nan])
def test_levels_are_shares(level: Any, rng: np.random.Generator) -> None:
    test = permutation_test(ek.CCA(1), *rng.normal(size=(2, 20, 2)), n_permutations=9)
    for told in (test.n_significant, test.summary):
        with pytest.raises(ValueError, match=r"level=.*give a finite number from 0 to 1"):
            told(level)


def test_folds_by_groups_are_those_of_a_grid_search(rng: np.random.Generator) -> None:
    X = rng.normal(size=(60, 4))
    y, groups = X[:, 0] + rng.normal(size=60), rng.permutation(np.repeat([30, 10, 20, 5, 7, 9], 10))
    ours = ek.PLSRegressionCV(2, cv=GroupKFold(3)).fit(X, y, groups=groups)
    splits = list(GroupKFold(3).split(X, y, groups))
    given = ek.PLSRegressionCV(2, cv=splits).fit(X, y)
    np.testing.assert_array_equal(ours.fold_errors_, given.fold_errors_)


def test_what_label_rank_leaves_is_said(rng: np.random.Generator) -> None:
    X, Y = rng.normal(size=(40, 6)), (rng.uniform(size=(40, 4)) < 0.4).astype(float)
    with pytest.raises(ValueError, match=r"n_components=3 exceeds 2.*with label_rank=2"):
        ek.HypergraphSpectral(3, label_rank=2).fit(X, Y)


# -- what scikit-learn, numpy and joblib would say in words of theirs -----------------------

_RNG = np.random.default_rng(0)
_X, _Y = _RNG.normal(size=(30, 4)), _RNG.normal(size=(30, 2))
_CLASSES = np.arange(30) % 2
_SETS = [_RNG.normal(size=(3, 2)) for _ in range(6)]
_BLOCKS = ek.RowBlocks.from_arrays([(_X, _Y)])
CASES: dict[str, tuple[Callable[[], Any], str]] = {
    "seed": (lambda: ek.KernelPCA(random_state=-1).fit(_X), "random_state=-1 is not valid"),
    "seed of words": (lambda: VisualWords(random_state=-1).fit(_SETS), "random_state=-1 is not"),
    "seed of draws": (lambda: bootstrap(ek.CCA(1), _X, _Y, random_state="x"), "random_state='x'"),
    "no jobs": (lambda: permutation_test(ek.CCA(1), _X, _Y, n_jobs=0), "n_jobs=0 is not valid"),
    "jobs": (lambda: bootstrap(ek.CCA(1), _X, _Y, n_jobs="x"), "n_jobs='x' is not valid"),
    "one fold": (
        lambda: ek.AlphaSearchCV(ek.LDA(), cv=1).fit(_X, _CLASSES),
        "cv=1 is not valid: give an integer of at least 2",
    ),
    "more folds than rows": (
        lambda: ek.AlphaSearchCV(ek.CCA(), cv=31).fit(_X, _Y),
        "cv=31 exceeds 30, the rows that have a weight: give at most 30",
    ),
    "no pairs": (
        lambda: ek.AlphaSearchCV(ek.LDA(), cv=[1, 2]).fit(_X, _CLASSES),
        "cv must give pairs of rows",
    ),
    "scoring": (
        lambda: ek.AlphaSearchCV(ek.LDA(), scoring="x").fit(_X, _CLASSES),
        "scoring='x' is not known",
    ),
    "starts": (
        lambda: ek.HypergraphClustering(2, n_init=2**70).fit(np.abs(_X)),
        r"n_init=1180591620717411303424 exceeds 1000000",
    ),
    "width": (lambda: VisualWords(2, gamma=1e308).fit_transform(_SETS), "gamma=1e.308 is too"),
    "width of means": (lambda: MeanMap(gamma=1e308).fit_transform(_SETS), "gamma=1e.308 is too"),
    "vip": (lambda: vip_scores(ek.CCA()), "model is a CCA: VIP scores need a fitted PLS"),
    "vip of nothing": (lambda: vip_scores(None), "model is a NoneType: give a fitted PLS"),
    "blocks": (lambda: permutation_test(ek.CCA(), _BLOCKS), "blocks, but rows are drawn from all"),
    "blocks, drawn": (lambda: bootstrap(ek.CCA(), _BLOCKS, _Y), "blocks, but rows are drawn from"),
    "bytes": (lambda: ek.LDA().fit(_X, np.array([b"a", b"b"])[_CLASSES]), "y holds bytes: decode"),
    "bytes as numbers": (
        lambda: ek.CCA().fit(_X, [b"a", b"b"] * 15),
        "y holds the string b'a', wh",
    ),
    "bytes of objects": (
        lambda: ek.PLSDA(1).fit(_X, np.array([b"a", "b"], object)[_CLASSES]),
        "by",
    ),
    "sparse scores": (
        lambda: ek.PCA(2).fit(_X).inverse_transform(sparse.csr_array(_Y)),
        "is a sparse matrix: give a dense array",
    ),
    "sparse weights": (
        lambda: ek.PCA(2).fit(_X, sample_weight=sparse.csr_array(_Y)),
        "sample_weight is a sparse matrix: give plain",
    ),
    "weights in columns": (
        lambda: ek.PCA(2).fit(_X, sample_weight=_Y),
        r"sample_weight has shape \(30, 2\), give one number per row",
    ),
    "sparse priors": (
        lambda: ek.LDA(priors=sparse.eye(2)).fit(_X, _CLASSES),
        "priors is a sparse matrix: give an array",
    ),
    "sparse classes": (
        lambda: ek.LDA().fit(_X, sparse.csr_array(_CLASSES[:, None])),
        "y is a sparse matrix: give an array of one class per sample",
    ),
    "client": (lambda: ek.RowBlocks.from_dask(None, [_X]), "client is a NoneType: give a dist"),
    "files": (lambda: ek.RowBlocks.from_files([], labels="y"), "files is empty: give names"),
}


@pytest.mark.parametrize("case", CASES)
def test_the_words_are_ours(case: str) -> None:
    act, words = CASES[case]
    said = _said(act)
    assert said is not None
    assert re.search(words, said), said
    assert "\n" not in said
