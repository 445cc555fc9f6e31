"""A zoo of inputs and small references that many tests share."""

from __future__ import annotations

import gc
import random
import sys
from collections.abc import Callable, Generator, Iterable, Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from browsing import BROWSER, FLAGS
from eigenkit import CCA, LDA, HypergraphSpectral, OrthonormalizedPLS

# Scripts that made values to compare with: they need what a test machine does not have.
collect_ignore = ["references"]

# The same examples every time: a failure can be seen again, and a lucky run hides nothing.
settings.register_profile("eigenkit", derandomize=True, deadline=None)
settings.load_profile("eigenkit")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--shuffle", type=int, metavar="SEED", help="run the tests in random order")
    parser.addoption("--kills", type=int, default=200, help="kills of a stream in the slow test")
    parser.addoption("--dask-fits", type=int, default=2, help="fits with killed Dask workers")


def pytest_runtest_setup() -> None:
    """Pictures that were drawn before, in examples of docstrings too, count for no test."""
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """Thousands of tests that stay to the end need no collector of garbage to walk over them."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        _first_example()
        gc.freeze()


@settings(max_examples=1)
@given(st.none())
def _first_example(_: None) -> None:
    """Older versions of hypothesis look for who holds their random numbers, at their first
    example: before the collector leaves out what it froze."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Files stay together, so that what their tests share is made once, and whoever is done
    first takes over from the others."""
    if config.getoption("dist") != "load":  # the default of -n
        return None
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--shuffle") is not None:
        random.Random(config.getoption("--shuffle")).shuffle(items)


def slow_but(values: Iterable[str], *quick: str) -> list[Any]:
    """All values as parameters of a test, all but some of them slow."""
    return [v if v in quick else pytest.param(v, marks=pytest.mark.slow) for v in values]


def some_of(*axes: Iterable[Any], every: int = 3) -> list[Any]:
    """All combinations as parameters, all but every third one slow.

    Of several axes each value is among the quick ones, and there meets many of the others.
    """
    combinations = product(*(enumerate(axis) for axis in axes))
    return [
        pytest.param(*values, marks=() if sum(places) % every == 0 else pytest.mark.slow)
        for places, values in (zip(*pairs, strict=True) for pairs in combinations)
    ]


ESTIMATORS: dict[str, Callable[..., Any]] = {
    "cca": CCA,
    "opls": OrthonormalizedPLS,
    "lda": LDA,
    "star": lambda **kw: HypergraphSpectral(expansion="star", **kw),
    "clique": lambda **kw: HypergraphSpectral(expansion="clique", **kw),
    "zhou": lambda **kw: HypergraphSpectral(expansion="zhou", **kw),
}


def needs_lda_by_n() -> None:
    """Skip where scikit-learn's LDA is another one."""
    if tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 9):
        pytest.skip("divides the covariance by n - k, where ours and later versions divide by n")


def labels_for(name: str, n: int, rng: np.random.Generator) -> np.ndarray:
    """Labels of the kind that an estimator wants: classes for LDA, a 0/1 matrix else."""
    if name == "lda":
        return np.arange(n) % 3
    Y = (rng.random((n, 4)) < 0.4).astype(float)
    Y[: 4 * 2] = np.tile(np.eye(4), (2, 1))  # no label without samples
    return Y


def make_X(kind: str, rng: np.random.Generator) -> Any:
    """One animal of the zoo."""
    tall = rng.normal(size=(60, 8))
    if kind == "sparse tall":
        return sparse.csr_array(tall * (rng.random(tall.shape) < 0.4))
    if kind == "sparse wide":
        return sparse.csr_array(rng.normal(size=(14, 50)) * (rng.random((14, 50)) < 0.3))
    if kind == "csc":
        return sparse.csc_array(tall * (rng.random(tall.shape) < 0.4))
    if kind == "wide":
        return rng.normal(size=(14, 50))
    if kind == "square":
        return rng.normal(size=(30, 30))
    if kind == "rank-deficient":
        tall[:, 3], tall[:, 4], tall[1] = tall[:, 2], 1.5, tall[0]
        return tall
    if kind == "shifted":
        return tall + 1e4
    if kind == "fortran":
        return np.asfortranarray(tall)
    if kind == "scaled columns":
        return tall * 10.0 ** np.arange(-4, 4)
    return tall


ZOO = (
    "tall",
    "fortran",
    "wide",
    "square",
    "rank-deficient",
    "shifted",
    "scaled columns",
    "sparse tall",
    "sparse wide",
    "csc",
)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20240601)


def dense(X: Any) -> np.ndarray:
    return np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)


def near(value: float, rel: float = 1e-9) -> Any:
    """Equal up to rounding, however small: pytest's own takes all within 1e-12 for equal."""
    return pytest.approx(value, rel=rel, abs=0.0)


def projector_distance(W: np.ndarray, W0: np.ndarray) -> float:
    """||W W' - W0 W0'||_2 relative to ||W0 W0'||_2: blind to signs and order."""
    reference = W0 @ W0.T
    return float(np.linalg.norm(W @ W.T - reference, 2) / np.linalg.norm(reference, 2))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=BROWSER, args=FLAGS)
        yield opened
        opened.close()
