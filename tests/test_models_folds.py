"""What fit says of rows left out, and what it chooses by them, is learned without those rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.impute import SimpleImputer
from sklearn.metrics import r2_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from eigenkit import OrthonormalizedPLS, PLSRegression
from eigenkit.evaluation import auto_alphas, evaluate
from eigenkit.files import Reading, open_file, read
from eigenkit.models import ComponentsCV, Preparation, fit_model
from eigenkit.models._choosing import InMemory

ALPHAS = [0.1, 5.0, 50.0]


@pytest.fixture
def rows(tmp_path: Path) -> tuple[str, np.ndarray, np.ndarray]:
    """Few rows, many gaps, and one value that moves the mean and the scale of its column."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    y = X[:, 0] + 0.3 * rng.normal(size=30)
    X[::3, 0], X[1, 0] = np.nan, 30.0
    path = tmp_path / "a.csv"
    np.savetxt(path, np.column_stack([X, y]), delimiter=",", header="a,b,c,y", comments="")
    return str(path), X, y


def fold_by_fold(estimator: Any, X: Any, y: Any, folds: Any) -> float:
    """The mean score where everything is learned from the training part."""
    scores = []
    for train, test in folds:
        made = make_pipeline(SimpleImputer(), StandardScaler(), estimator).fit(X[train], y[train])
        scores.append(r2_score(y[test], np.ravel(made.predict(X[test]))))
    return float(np.mean(scores))


def fitted(path: str, method: str, **options: Any) -> dict[str, Any]:
    source = open_file(path, Reading(labels=("y",)))
    options = {"missing": "mean", "scale": "standard", **options}
    return fit_model(source, method, task="numbers", **options).how


def test_quality_is_measured_without_a_look_at_the_rows_left_out(rows: Any) -> None:
    path, X, y = rows
    found = fitted(path, "opls", params={"alpha": 5.0})["quality"]["mean"]
    folds = InMemory("numbers", y, y, 5, 0).splits()
    assert found == pytest.approx(fold_by_fold(OrthonormalizedPLS(alpha=5.0), X, y, folds))


@pytest.mark.parametrize("stream", [False, True])
def test_alpha_is_chosen_without_a_look_at_the_rows_left_out(rows: Any, stream: bool) -> None:
    path, X, y = rows
    found = fitted(path, "opls", alphas=ALPHAS, cv=3, stream=stream)["alpha_search"]
    folds = InMemory("numbers", y, y, 3, 0).splits()
    right = [fold_by_fold(OrthonormalizedPLS(alpha=a), X, y, folds) for a in ALPHAS]
    np.testing.assert_allclose(found["mean_score"], right, rtol=1e-8)


@pytest.mark.parametrize("stream", [False, True])
def test_components_are_chosen_without_a_look_at_the_rows_left_out(rows: Any, stream: bool) -> None:
    path, X, y = rows
    found = fitted(path, "pls", components="cv", cv=3, stream=stream)["component_search"]
    assert found["values"] == [1, 2, 3]
    folds = InMemory("numbers", y, y, 3, 0).splits()
    tried = [PLSRegression(n_components=l, scale=False) for l in found["values"]]
    right = [fold_by_fold(estimator, X, y, folds) for estimator in tried]
    np.testing.assert_allclose(found["mean_score"], right, rtol=1e-6)


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("opls", {"alphas": auto_alphas}),
        ("pls", {"components": "cv"}),
        pytest.param("opls", {"alphas": ALPHAS, "components": "cv"}, marks=pytest.mark.slow),
    ],
)
def test_what_is_chosen_is_chosen_again_to_say_how_good_it_is(
    tmp_path: Path, rows: Any, method: str, options: Any
) -> None:
    """As a user would: a model of the other rows, which knows nothing of those left out."""
    path, X, y = rows
    found = fitted(path, method, **options)["quality"]
    scores = []
    for train, test in InMemory("numbers", y, y, 5, 0).splits():
        parts = [str(tmp_path / f"{name}.csv") for name in ("train", "test")]
        for part, own in zip(parts, (train, test), strict=True):
            table = np.column_stack([X, y])[own]
            np.savetxt(part, table, delimiter=",", header="a,b,c,y", comments="")
        source = open_file(parts[0], Reading(labels=("y",)))
        more: Any = {"missing": "mean", "scale": "standard", "task": "numbers", **options}
        model = fit_model(source, method, cv=3, quality=False, **more)
        new = read(open_file(parts[1], Reading(expected=model.expected())))
        scores.append(r2_score(y[test], np.ravel(model.predict(parts[1], new.block())[0])))
    assert found["nested"]
    np.testing.assert_allclose(
        [found["mean"], found["std"]], [np.mean(scores), np.std(scores, ddof=1)]
    )


@pytest.mark.slow
def test_noise_is_not_praised_for_what_was_chosen(tmp_path: Path) -> None:
    """Of many settings one is lucky on the rows by which it is chosen."""
    found = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        table = np.column_stack([rng.normal(size=(40, 10)), rng.random((40, 2)) < 0.5])
        path = tmp_path / f"{seed}.csv"
        names = ",".join([*"abcdefghij", "y_1", "y_2"])
        np.savetxt(path, table, delimiter=",", header=names, comments="")
        source = open_file(str(path), Reading(labels=("y_*",)))
        how = fit_model(source, "pls", components="cv").how
        found.append((max(how["component_search"]["mean_score"]), how["quality"]["mean"]))
    praised, said = np.mean(found, axis=0)
    assert praised > 0.51 > said


def test_stored_rows_are_prepared_by_all_rows_for_the_fit(rows: Any) -> None:
    path, _, _ = rows
    options: Any = {"missing": "mean", "scale": "standard", "alphas": [5.0], "cv": 3}
    sources = [open_file(path, Reading(labels=("y",))) for _ in range(2)]
    whole, blocks = (
        fit_model(source, "opls", task="numbers", stream=stream, **options)
        for source, stream in zip(sources, (False, True), strict=True)
    )
    np.testing.assert_allclose(blocks.estimator.components_, whole.estimator.components_, rtol=1e-8)


def test_medians_beside_text_are_learned_in_every_fold(tmp_path: Path) -> None:
    words = ["red", "green", "blue", "dark", "light"]
    lines = [f"{'' if i % 7 == 0 else i},{words[i % 5]} {words[i % 3]},{i % 2}" for i in range(40)]
    path = tmp_path / "a.csv"
    path.write_text("a,t,y\n" + "\n".join(lines))
    source = open_file(str(path), Reading(labels=("y",), text=("t",)))
    assert fit_model(source, "lda", missing="median").how["quality"] is not None


def _watched_preparation() -> tuple[list[int], Any]:
    """How many rows each call learned from, and what prepares rows."""
    sizes: list[int] = []
    learn = Preparation("mean", "standard")

    def prepare(training: Any) -> Any:
        sizes.append(len(training))
        return learn(training)

    return sizes, prepare


def test_compare_chooses_alpha_without_a_look_at_the_rows_left_out(rows: Any) -> None:
    """What prepares is asked for in every inner fold, not only in every split."""
    _, X, y = rows
    sizes, prepare = _watched_preparation()
    methods = {"opls": OrthonormalizedPLS()}
    options: Any = {"cv": 3, "inner_cv": 4, "alphas": [1.0, 10.0], "baselines": False}
    evaluate(X, y, methods, task="numbers", prepare=prepare, **options)
    assert sizes.count(15) == 3 * 4
    sizes.clear()
    evaluate(X, y > 0, methods, prepare=prepare, **options)
    assert len([n for n in sizes if n < 18]) == 3 * 4


@pytest.mark.parametrize("task", ["numbers", None])
def test_compare_chooses_components_without_a_look_at_the_rows_left_out(
    rows: Any, task: str | None
) -> None:
    _, X, y = rows
    sizes, prepare = _watched_preparation()
    search = ComponentsCV(PLSRegression(), cv=4)
    options: Any = {"cv": 3, "alphas": None, "baselines": False, "prepare": prepare}
    found = evaluate(X, y if task else y > 0, {"pls": search}, task=task, **options)
    (method,) = found["methods"]
    assert not method["failures"]
    assert "choose components" in method["seconds"]
    assert len([n for n in sizes if n < 18]) == 3 * 4
    chosen = search.choose(X, y, prepare)
    kept = [PLSRegression(n_components=l, scale=False) for l in (1, 2, 3)]
    scores = [fold_by_fold(each, X, y, InMemory("numbers", y, y, 4, 0).splits()) for each in kept]
    assert chosen.n_components == 1 + int(np.argmax(scores))


@pytest.mark.parametrize("method", ["plsda", "lda"])
def test_blocks_and_memory_choose_by_the_same_folds(tmp_path: Path, method: str) -> None:
    rng = np.random.default_rng(3)
    y = rng.integers(0, 5, 150)
    X = rng.normal(size=(5, 8))[y] + rng.normal(size=(150, 8))
    path = tmp_path / "a.csv"
    lines = [",".join([*map(str, row), f"c{k}"]) for row, k in zip(X, y, strict=True)]
    path.write_text("\n".join([",".join([*"abcdefgh", "class"]), *lines]))
    source = open_file(str(path), Reading(labels=("class",)))
    name = "component_search" if method == "plsda" else "alpha_search"
    how: Any = {"components": "cv"} if method == "plsda" else {"alphas": auto_alphas}
    whole, blocks = (
        fit_model(source, method, scale="standard", stream=stream, **how).how[name]
        for stream in (False, True)
    )
    assert blocks.keys() == whole.keys()
    np.testing.assert_allclose(blocks["mean_score"], whole["mean_score"], rtol=1e-9)


@pytest.mark.parametrize("stream", [False, True])
def test_a_grid_of_our_own_grows_in_blocks_too(rows: Any, stream: bool) -> None:
    path, _, _ = rows
    found = fitted(path, "opls", alphas=lambda X: [1e4, 1e5], cv=3, stream=stream)["alpha_search"]
    assert len(found["alphas"]) > 2
    assert not found["at_the_end"]
