"""BLAS threads are lowered for no longer than a call, and ours keep to what the user allows."""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification
from threadpoolctl import ThreadpoolController, threadpool_limits

import eigenkit as ek
from eigenkit.numerics import threads
from eigenkit.numerics.threads import ahead, blas_threads, thread_map


def blas() -> list[int]:
    found = ThreadpoolController().select(user_api="blas").lib_controllers
    return [library.num_threads for library in found]


@pytest.fixture
def two_threads() -> Any:
    with threadpool_limits(2, user_api="blas"):
        yield


@pytest.mark.usefixtures("two_threads")
def test_limits_are_restored_whatever_the_order_of_exits() -> None:
    before = blas()
    a, b = blas_threads(0), blas_threads(0)
    a.__enter__()
    b.__enter__()
    assert set(blas()) == {1}
    a.__exit__(None, None, None)
    assert set(blas()) == {1}, "b still needs it"
    b.__exit__(None, None, None)
    assert blas() == before


@pytest.mark.usefixtures("two_threads")
def test_large_orders_and_errors_leave_the_limits_alone() -> None:
    before = blas()
    with blas_threads(threads.SMALL + 1):
        assert blas() == before
    with pytest.raises(ZeroDivisionError), blas_threads(3):
        1 / 0
    assert blas() == before


@pytest.mark.usefixtures("two_threads")
def test_many_threads_at_once_leave_the_limits_as_they_were() -> None:
    before = blas()

    def worker(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for _ in range(20):
            with blas_threads(10):
                np.linalg.svd(rng.normal(size=(5 + seed, 6)))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(worker, range(8)))
    assert blas() == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.usefixtures("two_threads")
def test_a_child_process_begins_without_a_limit() -> None:
    read, write = os.pipe()
    with blas_threads(0):
        child = os.fork()
        if child == 0:
            os.write(write, bytes(blas()))
            os._exit(0)
        os.waitpid(child, 0)
    assert set(os.read(read, 100)) == {2}


def test_our_threads_keep_to_the_limits_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    with threadpool_limits(4, user_api="blas"):
        assert threads.available() == 4
        with blas_threads(0):
            assert threads.available() == 4, "our own limit on BLAS is not the user's"
        monkeypatch.setenv("OMP_NUM_THREADS", "3")
        assert threads.available() == 3
        monkeypatch.setenv("OMP_NUM_THREADS", "2,1")
        assert threads.available() == 2
        monkeypatch.setenv("OMP_NUM_THREADS", "nonsense")
        assert threads.available() == 4
        with threadpool_limits(1, user_api="blas"):
            assert threads.available() == 1


def test_thread_map_gives_results_in_order_and_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "available", lambda: 3)
    used = set()

    def square(i: int) -> int:
        used.add(threading.get_ident())
        return i * i

    assert threads.thread_map(square, range(50)) == [i * i for i in range(50)]
    with pytest.raises(ZeroDivisionError):
        threads.thread_map(lambda i: 1 / i, [1, 0, 2])


MODELS = {
    "CCA": (lambda: ek.CCA(2), "responses"),
    "LDA": (lambda: ek.LDA(2), "classes"),
    "HypergraphSpectral": (lambda: ek.HypergraphSpectral(2), "labels"),
    "PCA": (lambda: ek.PCA(2), "responses"),
    "KernelLDA": (lambda: ek.KernelLDA(2), "classes"),
    "PLSRegression": (lambda: ek.PLSRegression(2), "responses"),
    "PLSDA": (lambda: ek.PLSDA(2), "classes"),
    "OrthonormalizedPLS": (lambda: ek.OrthonormalizedPLS(2), "responses"),
}


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.usefixtures("two_threads")
def test_eight_estimators_in_eight_threads_give_what_they_give_alone(kind: str) -> None:
    rng = np.random.default_rng(0)
    X: Any = rng.normal(size=(80, 10)) * (rng.random((80, 10)) < 0.5)
    J = (rng.random((80, 3)) < 0.5).astype(float)
    y = {"responses": X[:, :2] + J[:, :2], "labels": J, "classes": J @ [1, 2, 4] % 3}
    X = sparse.csr_array(X) if kind == "sparse" else X

    def scores(name: str) -> np.ndarray:
        make, labels = MODELS[name]
        return np.asarray(make().fit(X, y[labels]).transform(X))

    alone = {name: scores(name) for name in MODELS}
    before = blas()
    with ThreadPoolExecutor(8) as pool:
        together = dict(zip(MODELS, pool.map(scores, MODELS), strict=True))
    for name, expected in alone.items():
        np.testing.assert_allclose(together[name], expected, rtol=1e-10, atol=1e-12, err_msg=name)
    assert blas() == before


@pytest.mark.slow
def test_neighbours_and_means_of_scikit_learn_leave_the_threads_as_they_were(two_threads):
    """They set the threads of BLAS without counting: overlapping, they would leave one."""
    X, Y = make_multilabel_classification(300, 6, n_classes=4, random_state=0)
    before = blas()
    for model in (
        ek.ManyLabelClassifier(n_neighbors=5),
        ek.HypergraphClustering(3, n_init=3, random_state=0),
        ek.GraphRegularized(ek.OrthonormalizedPLS(), n_neighbors=3),
    ):
        with ThreadPoolExecutor(6) as pool:
            list(pool.map(lambda _, m=model: _fit_and_use(clone(m), X, Y), range(18)))
        assert blas() == before


def _fit_and_use(model: Any, X: np.ndarray, Y: np.ndarray) -> None:
    model.fit(X, Y)
    if hasattr(model, "predict"):
        model.predict(X)


@pytest.mark.usefixtures("two_threads")
def test_work_in_threads_may_be_handed_to_threads_again(monkeypatch) -> None:
    """All threads of the pool may be waiting: what none of them has begun is not waited for."""
    monkeypatch.setattr(threads, "available", lambda: 8)

    def outer(i: int) -> list[int]:
        return threads.thread_map(lambda j: i * j, range(20))

    found = threads.thread_map(outer, range(40))
    assert found == [[i * j for j in range(20)] for i in range(40)]


@pytest.mark.parametrize("threads", [1, 2])
def test_items_made_ahead_come_in_order_and_raise_where_they_are_due(monkeypatch, threads) -> None:
    monkeypatch.setattr("eigenkit.numerics.threads.available", lambda: threads)

    def items():
        yield from range(50)
        raise ValueError("no more")

    got = []
    with pytest.raises(ValueError, match="no more"):
        for item in ahead(str, items()):
            got.append(item)
    assert got == [(k, str(k)) for k in range(50)]
    assert list(ahead(str, [])) == []


@pytest.mark.parametrize("threads", [1, 2])
def test_results_made_ahead_raise_where_they_are_due(monkeypatch, threads) -> None:
    monkeypatch.setattr("eigenkit.numerics.threads.available", lambda: threads)
    found = ahead(lambda k: 6 // k, [3, 2, 0, 1])
    assert [next(found), next(found)] == [(3, 2), (2, 3)]
    with pytest.raises(ZeroDivisionError):
        next(found)


def test_a_result_is_made_while_the_one_before_it_is_in_use(monkeypatch) -> None:
    monkeypatch.setattr("eigenkit.numerics.threads.available", lambda: 2)
    events = [threading.Event(), threading.Event()]
    found = ahead(lambda k: events[k].set(), range(2))
    assert next(found) == (0, None)
    assert events[1].wait(10)
    found.close()


def test_nothing_is_made_after_the_reader_has_left(monkeypatch) -> None:
    monkeypatch.setattr("eigenkit.numerics.threads.available", lambda: 2)
    made: list[int] = []
    found = ahead(made.append, range(100))
    assert next(found) == (0, None)
    found.close()
    before = len(made)
    assert before <= 2
    time.sleep(0.05)
    assert len(made) == before


def test_readers_in_all_threads_of_ours_do_not_wait_for_each_other(monkeypatch) -> None:
    monkeypatch.setattr("eigenkit.numerics.threads.available", lambda: 4)
    many = range(4 * (os.cpu_count() or 1))
    assert thread_map(lambda k: sum(a * b for a, b in ahead(abs, range(k))), many) == [
        sum(i * i for i in range(k)) for k in many
    ]
