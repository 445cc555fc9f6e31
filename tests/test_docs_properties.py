"""The table of properties is found by trying; what the code promises must agree with it."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest
from sklearn.utils import get_tags

from eigenkit.estimators.registry import METHODS

FOUND = runpy.run_path(str(Path(__file__).parents[1] / "docs" / "properties.py"))
EACH = pytest.mark.parametrize("cls", FOUND["estimators"](), ids=lambda c: c.__name__)


@EACH
def test_scikit_learns_tags_are_true(cls):
    tags = get_tags(cls())
    assert tags.input_tags.sparse == FOUND["takes_sparse"](cls)
    assert tags.input_tags.allow_nan == (FOUND["takes_gaps"](cls) == FOUND["YES"])


@EACH
def test_everyone_learns_from_something(cls):
    assert FOUND["kinds"](cls) or not FOUND["supervised"](cls)
    assert FOUND["fits"](cls, FOUND["X"])


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_the_registry_promises_no_more_than_is_so(method):
    cls = method.estimator_class()
    made = method.make()
    for kind in method.targets:
        y = FOUND["KINDS"][kind]
        assert FOUND["works"](lambda y=y: made.fit(FOUND["X"], y)), kind
    assert method.streams == FOUND["streams"](cls)
    can_skip = FOUND["takes_gaps"](cls) != FOUND["NO"]
    assert (method.gaps is not None) == can_skip
    if can_skip:
        holed = np.where(np.arange(6) == 2, np.nan, FOUND["X"][:1])
        rows = np.vstack([holed, FOUND["X"][1:]])
        assert FOUND["works"](lambda: method.make(**method.gaps).fit(rows, y))


@pytest.mark.slow
def test_what_cannot_be_done_is_found():
    cannot = {
        name: [cls.__name__ for cls in FOUND["estimators"]() if cell(cls) == FOUND["NO"]]
        for name, cell in FOUND["COLUMNS"].items()
    }
    assert {"LDA", "ReGEC"} <= set(cannot["numbers"])
    assert {"PLSRegression"} <= set(cannot["classes"])
    assert {"KernelCCA", "KernelLDA"} <= set(cannot["streams"])
    assert {"LDA", "CCA"} <= set(cannot["missing values"])
    assert not cannot["estimator"]
    assert not cannot["sparse X"]


@pytest.mark.slow
def test_the_table_has_a_row_for_everyone():
    head, _, *rows, gap, note = FOUND["table"]().splitlines()
    assert not gap
    assert note.startswith(FOUND["WITH_SETTING"])
    assert "`PCA(solver='nipals')`" in note
    assert len(rows) == len(FOUND["estimators"]())
    assert {row.count("|") for row in rows} == {head.count("|")}
