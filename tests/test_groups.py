"""Rows that belong together are never divided between training and test."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from eigenkit import CCA, LDA, OrthonormalizedPLS, PLSRegression
from eigenkit.analysis import permutation_test
from eigenkit.cli import app
from eigenkit.evaluation import evaluate, k_fold, partition, stratify
from eigenkit.evaluation.classifiers import LinearSVM
from eigenkit.evaluation.detail import Outcome
from eigenkit.evaluation.samples import make_splits, read_samples
from eigenkit.evaluation.trial import Plan, choose_alpha
from eigenkit.models import ComponentsCV, load
from eigenkit.models._choosing import InMemory

PATIENTS, VISITS = 24, 6
LABELS = ["--labels", "dx", "-m", "lda"]


@pytest.fixture
def rows() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Visits of one patient are alike; the diagnosis of a patient has nothing to do with them."""
    rng = np.random.default_rng(0)
    patient = np.repeat(np.arange(PATIENTS), VISITS)
    X = 3 * rng.normal(size=(PATIENTS, 12))[patient] + rng.normal(size=(len(patient), 12))
    return X.round(3), (np.arange(PATIENTS) % 2)[patient], patient


@pytest.fixture
def file(rows: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    X, y, patient = rows
    names = [f"x{j}" for j in range(X.shape[1])]
    lines = [
        [*x, "ill" if d else "well", f"p{p}"]
        for x, d, p in zip(X.tolist(), y, patient, strict=True)
    ]
    Path("a.csv").write_text(
        "\n".join(",".join(map(str, line)) for line in [[*names, "dx", "patient"], *lines])
    )
    return "a.csv"


def run(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == code, result.output
    return " ".join(result.output.split())


# -- splits -----------------------------------------------------------------------------


def apart(groups: np.ndarray, split: Any) -> bool:
    train, test = split
    return len(train) > 0 and len(test) > 0 and not np.intersect1d(groups[train], groups[test]).size


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_parts_of_any_share_keep_groups_and_labels(rows: Any, share: float) -> None:
    _, y, patient = rows
    Y = np.eye(2)[y]
    part = stratify(Y, [share, 1 - share], np.random.default_rng(1), patient)
    first, second = (np.flatnonzero(part == i) for i in (0, 1))
    assert apart(patient, (first, second))
    assert abs(len(first) / len(Y) - share) < 1 / PATIENTS
    assert abs(Y[first, 0].mean() - 0.5) <= 0.2


def test_every_way_to_split_keeps_groups(rows: Any) -> None:
    _, y, patient = rows
    Y, rng = np.eye(2, dtype=int)[y], np.random.default_rng(0)
    splits = [
        *k_fold(Y, 4, rng, patient),
        *k_fold(Y, 4, rng, patient, stratified=False),
        partition(Y, 0.7, rng, patient),
    ]
    assert all(apart(patient, split) for split in splits)
    for numbers in (False, True):
        samples = read_samples(rows[0], Y, numbers=numbers, groups=patient)
        for how in ({"cv": 5, "train_size": None}, {"cv": 2, "train_size": 0.6}):
            made, words = make_splits(samples, repeats=2, seed=0, **how)
            assert all(apart(patient, split) for split in made)
            assert "of 24 groups" in words


def test_what_cannot_be_kept_together_is_refused(rows: Any) -> None:
    _, y, patient = rows
    samples = read_samples(rows[0], y, groups=patient)
    known: Any = {"repeats": 1, "seed": 0}
    with pytest.raises(ValueError, match=r"cv=30 is not valid: give from 2 to 24 folds"):
        make_splits(samples, 30, train_size=None, **known)
    with pytest.raises(ValueError, match=r"train_size=0.99 is not valid.*groups on both sides"):
        make_splits(samples, 5, train_size=0.99, **known)
    divided = [(np.arange(3), np.arange(3, 144))]
    with pytest.raises(ValueError, match="cv holds a split with a group on both sides"):
        make_splits(samples, divided, train_size=None, **known)
    with pytest.raises(ValueError, match=r"groups has shape \(3,\)"):
        evaluate(rows[0], y, {"lda": LDA()}, groups=patient[:3])


class Seen(LDA):
    """Notes the rows that it is fitted on, by their first feature."""

    fits: list[np.ndarray] = []  # noqa: RUF012

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        Seen.fits.append(np.asarray(X[:, 0]))
        return super().fit(X, y, sample_weight)


def test_every_fit_of_a_comparison_has_all_rows_of_a_patient_or_none(rows: Any) -> None:
    X, y, patient = rows
    X = np.column_stack([np.arange(len(X)), X])
    Seen.fits.clear()
    record = evaluate(X, y, {"lda": Seen()}, groups=patient, baselines=False, alphas=[1.0, 9.0])
    assert record["protocol"]["splits"] == "stratified 5-fold cross-validation of 24 groups"
    assert len(Seen.fits) >= 5
    for which in Seen.fits:
        counts = np.bincount(patient[which.astype(int)])
        assert set(counts) <= {0, VISITS}


def test_alpha_and_components_are_chosen_between_groups(rows: Any) -> None:
    """Both choices see other rows of a patient as known, without groups."""
    X, y, patient = rows
    seen: list[tuple[Any, Any]] = []

    def note(part: Any) -> Any:
        seen.append(part[:, 0])
        return lambda X: X

    X = np.column_stack([np.arange(len(X)), X])
    samples = read_samples(X, y, prepare=note, groups=patient)
    plan = Plan(LinearSVM(), [1.0], 3, "auc", "same", 0)
    choose_alpha(CCA(), samples, np.arange(len(y)), plan, Outcome())
    search = ComponentsCV(PLSRegression(), cv=3)
    search.choose(X, samples.Y, note, patient)
    assert len(seen) == 6
    for rows_of_part in seen:
        assert set(np.bincount(patient[rows_of_part.astype(int)])) <= {0, VISITS}
    part = InMemory("numbers", X, X[:, 1], 4, 0, groups=patient)
    for inner in part.parts(3):
        assert set(np.bincount(inner.groups)) <= {0, VISITS}
        assert len(list(inner.folds())) == 3


def test_a_comparison_of_numbers_keeps_groups(rows: Any) -> None:
    X, _, patient = rows
    response = np.random.default_rng(1).normal(size=PATIENTS)[patient]
    scores = [
        evaluate(X, response, {"opls": OrthonormalizedPLS()}, task="numbers", groups=groups)[
            "methods"
        ][0]["scores"]["r2"]["mean"]
        for groups in (None, patient)
    ]
    assert scores[0] > 0.1 > scores[1]


# -- the command line --------------------------------------------------------------------


def test_compare_and_fit_do_not_praise_what_knows_the_patients(file: str) -> None:
    known = json.loads(run("compare", file, *LABELS, "--ignore", "patient", "--json"))
    new = json.loads(run("compare", file, *LABELS, "--groups", "patient", "--json"))
    auc = [each["methods"][0]["scores"]["auc"]["mean"] for each in (known, new)]
    assert auc[0] > 0.8 > 0.7 > auc[1]
    assert new["data"]["n_features"] == 12
    assert "--groups patient" in new["next"]
    assert new["protocol"]["splits"].endswith("of 24 groups")
    run("fit", file, *LABELS, "--ignore", "patient", "--out", "a.ek")
    text = run("fit", file, *LABELS, "--groups", "patient", "--out", "b.ek")
    assert "in 5-fold cross-validation, rows of one patient together" in text
    known, new = (load(path).how["quality"]["mean"] for path in ("a.ek", "b.ek"))
    assert known > 0.75 > 0.65 > new
    assert load("b.ek").how["groups"] == {"column": "patient", "n": 24}
    assert load("b.ek").features.n_features == 12
    assert "kept together: rows of one 'patient' (24 groups)" in run("inspect", "b.ek")
    assert np.array_equal(load("a.ek").estimator.components_, load("b.ek").estimator.components_)


def test_a_model_needs_no_groups_to_predict(file: str) -> None:
    run("fit", file, *LABELS, "--groups", "patient", "--out", "b.ek", "--no-quality")
    lines = [line.rpartition(",")[0] for line in Path(file).read_text().split("\n")]
    Path("new.csv").write_text("\n".join(lines))
    assert "accuracy" in run("score", "b.ek", "new.csv")
    text = run("compare", file, *LABELS, "--groups", "patient", "--test", "new.csv")
    assert "measured on a test file" in text.lower()


def test_partitions_keep_groups_and_the_record_says_so(file: str) -> None:
    options = ["--groups", "patient", "--train-size", "0.7", "--repeats", "2", "--json"]
    record = json.loads(run("compare", file, *LABELS, *options))
    words = record["protocol"]["splits"]
    assert words == "2 stratified random partitions of 24 groups, 70% for training"


def test_a_run_with_groups_is_not_that_without(file: str, monkeypatch: Any) -> None:
    """What an interrupted run has done is taken up only by the same run."""
    from eigenkit.evaluation import comparing

    runs = []
    found = comparing.identity
    monkeypatch.setattr(comparing, "identity", lambda *p: runs.append(found(*p)) or runs[-1])
    for options in (["--ignore", "patient"], ["--groups", "patient"]):
        run("compare", file, *LABELS, *options, "--out", "r.json", "--force")
    assert runs[0] != runs[1]


def test_groups_need_all_rows_in_memory(file: str) -> None:
    message = run("fit", file, *LABELS, "--groups", "patient", "--stream", "--out", "c.ek", code=1)
    assert "--groups needs all rows in memory" in message
    message = run(
        "fit", file, *LABELS, "--groups", "patient", "--dask", "local", "--out", "c.ek", code=2
    )
    assert "--groups" in message


def test_a_row_without_a_group_is_refused_or_dropped(file: str) -> None:
    text = Path(file).read_text().split("\n")
    text[3] = text[3].rpartition(",")[0] + ","
    Path(file).write_text("\n".join(text))
    options = [*LABELS, "--groups", "patient", "--out", "d.ek"]
    message = run("fit", file, *options, code=1)
    assert "the group in row 3, column 'patient' is missing" in message
    run("fit", file, *options, "--missing", "drop")
    assert load("d.ek").how["n_rows"] == PATIENTS * VISITS - 1


@pytest.mark.parametrize("suffix", ["arff", "parquet"])
def test_other_tables_have_groups(file: str, suffix: str) -> None:
    import pandas as pd

    table = pd.read_csv(file)
    if suffix == "parquet":
        table.to_parquet("a.parquet")
    else:
        names = [f"@attribute {name} numeric" for name in table.columns[:-2]]
        head = ["@relation a", *names, "@attribute dx {ill,well}", "@attribute patient string"]
        rows = Path(file).read_text().split("\n")[1:]
        Path("a.arff").write_text("\n".join([*head, "@data", *rows]))
    record = json.loads(
        run("compare", f"a.{suffix}", *LABELS, "--groups", "patient", "--json", "--no-baselines")
    )
    plain = json.loads(
        run("compare", file, *LABELS, "--groups", "patient", "--json", "--no-baselines")
    )
    assert record["methods"][0]["scores"] == plain["methods"][0]["scores"]


def test_resamples_draw_whole_groups(file: str) -> None:
    options = [*LABELS, "--out", "e.ek", "--force", "--no-quality", "--stability", "30"]
    run("fit", file, *options, "--ignore", "patient")
    alone = load("e.ek").how["stability"]["components"][0]["features"]
    run("fit", file, *options, "--groups", "patient")
    together = load("e.ek").how["stability"]["components"][0]["features"]
    width = [np.mean([f["upper"] - f["lower"] for f in found]) for found in (alone, together)]
    assert width[1] > 1.5 * width[0]


def test_the_remedy_for_a_column_of_names_that_repeat(file: str) -> None:
    message = run("compare", file, *LABELS, code=1)
    assert "column 'patient' holds text ('p0')" in message
    remedies = message.partition("holds text")[2]
    assert "--groups patient" in remedies
    assert remedies.index("--groups") < remedies.index("--categorical")
    assert "--index" in remedies
    assert "--ignore" in remedies


def test_a_test_within_groups_says_what_does_not_vary(rows: Any) -> None:
    X, y, patient = rows
    with pytest.raises(ValueError, match="y is the same within every group"):
        permutation_test(LDA(), X, y, groups=patient, n_permutations=9)
    with pytest.raises(ValueError, match="X is the same within every group"):
        permutation_test(
            LDA(), X[VISITS * patient], np.arange(len(y)) % 2, groups=patient, n_permutations=9
        )
