"""The examples of the pages on PCA, the CCA family, inference and multi-label data run."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"


@pytest.mark.parametrize("page", ["pca", "cca_family", "inference", "multilabel", "unlabelled"])
def test_examples_run(page) -> None:
    results = doctest.testfile(str(DOCS / f"{page}.md"), module_relative=False)
    assert results.attempted > 3
    assert results.failed == 0
