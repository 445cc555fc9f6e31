"""Classifiers on top of projections: what they are, and that Gaussians follow from sums."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from functools import reduce

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from conftest import some_of
from eigenkit.cli import app
from eigenkit.estimators.registry import METHODS
from eigenkit.files import FileError, Target
from eigenkit.models import _linear as module
from eigenkit.models import load, save


def _labels(rng, n=300, k=4):
    """Features that know something of k labels, which rows may have several of, or none."""
    Y = (rng.random((n, k)) < 0.3).astype(float)
    return rng.normal(size=(n, 6)) @ rng.normal(size=(6, 6)) + Y @ rng.normal(size=(k, 6)), Y


def _reference(Z, y):
    """Gaussians with a common covariance, the plain way."""
    return LinearDiscriminantAnalysis(solver="lsqr").fit(Z, y)


def test_gaussian_classes_are_those_of_the_textbook(rng):
    Z, y = rng.normal(size=(200, 3)), np.repeat([0, 1, 2, 3], [80, 60, 40, 20])
    Z += y[:, None] * [1.0, -0.5, 0.0]
    other = Z * [1e-4, 1.0, 1e3] + [5.0, 0.0, 1e4]  # units and offsets do not matter
    rule = module.fit_linear(other, np.eye(4)[y], "gaussian", single=True)
    S, told = rule.decision(other), _reference(Z, y).decision_function(Z)
    np.testing.assert_allclose(S - S[:, :1], told - told[:, :1], rtol=1e-7, atol=1e-7)
    assert rule.words == "Gaussian classifier"


def test_gaussian_labels_are_each_against_their_absence(rng):
    Z, Y = _labels(rng)
    S = module.fit_linear(Z, Y, "gaussian").decision(Z)
    for j in range(Y.shape[1]):
        np.testing.assert_allclose(S[:, j], _reference(Z, Y[:, j]).decision_function(Z), rtol=1e-8)


def test_labels_that_nobody_has_or_everybody(rng):
    Z, Y = _labels(rng)
    Y[:, 0], Y[:, 1] = 0, 1
    S = module.fit_linear(Z, Y, "gaussian").decision(Z)
    assert np.all(S[:, 0] == -1e300)
    assert np.all(S[:, 1] == 1e300)
    classes = np.eye(3)[np.arange(len(Z)) % 2]
    S = module.fit_linear(Z, classes, "gaussian", single=True).decision(Z)
    assert np.all(S[:, 2] == -1e300)
    assert np.abs(S[:, :2]).max() < 1e3


def test_sums_of_scores_are_those_of_their_parts(rng):
    Z, Y = _labels(rng)
    Z, Y[100:, 0] = Z + 1e3, 0  # a label that some parts lack
    whole, parts = module.ScoreSums.of(Z, Y), np.array_split(np.arange(len(Z)), [7, 8, 120])
    found = reduce(module.ScoreSums.merge, (module.ScoreSums.of(Z[i], Y[i]) for i in parts))
    for name, value in vars(whole).items():
        np.testing.assert_allclose(getattr(found, name), value, rtol=1e-9, atol=1e-9, err_msg=name)


def test_gaussians_have_probabilities(rng, tmp_path):
    Z, Y = _labels(rng)
    y = np.array([*"abc"])[Y[:, :2].sum(axis=1).astype(int)]
    frame = pd.DataFrame(Z, columns=[*"uvwxyz"])
    tags = pd.DataFrame(Y.astype(int), columns=[f"t{j}" for j in range(Y.shape[1])])
    frame.assign(c=y).to_csv(tmp_path / "classes.csv", index=False)
    pd.concat([frame, tags], axis=1).to_csv(tmp_path / "labels.csv", index=False)
    for name, labels, columns in (("classes", "c", [*"abc"]), ("labels", "t*", list(tags))):
        data, out = tmp_path / f"{name}.csv", tmp_path / f"{name}.ek"
        fit = ("fit", data, "--labels", labels, "--method", "cca", "--no-quality", "--out", out)
        _run(*fit)
        found = tmp_path / "found.csv"
        predict = ("predict", out, data, "--proba", "--out", found, "--force")
        assert "or fit it with --classifier gaussian" in _run(*predict, code=1)
        _run(*fit, "--force", "--classifier", "gaussian")
        _run(*predict)
        table = pd.read_csv(found)
        P = table[[f"probability {each}" for each in columns]].to_numpy()
        scores = load(out).estimator.transform(Z)
        if name == "classes":
            expected = _reference(scores, y).predict_proba(scores)
        else:
            expected = np.array([_reference(scores, y).predict_proba(scores)[:, 1] for y in Y.T]).T
        np.testing.assert_allclose(P, expected, rtol=1e-6, atol=1e-9)
        _run(*predict, "--top", "1")
        np.testing.assert_allclose(pd.read_csv(found)["probability"], P.max(axis=1), rtol=1e-9)


def test_what_is_certain_has_probability_one(rng):
    Z, Y = _labels(rng)
    Y[:, 0], Y[:, 1] = 0, 1
    P = module.fit_linear(Z, Y, "gaussian").probabilities(Z, single=False)
    assert np.all(P[:, 0] == 0)
    assert np.all(P[:, 1] == 1)
    classes = np.eye(3)[np.arange(len(Z)) % 2]
    P = module.fit_linear(Z, classes, "gaussian", single=True).probabilities(Z, single=True)
    assert np.all(P[:, 2] == 0)
    np.testing.assert_allclose(P.sum(axis=1), 1)


PROJECTIONS = [name for name, m in METHODS.items() if m.kind == "projection" and m.streams]
STREAMED = [
    combination
    for combination in some_of([False, True], PROJECTIONS, ["classes", "labels"], every=2)
    for _, name, kind in [combination.values]
    if kind in METHODS[name].targets
]


def _stream(name, kind, rng, half_life=None):
    X, Y = _labels(rng)
    names = tuple("abcd") if kind == "labels" else tuple("cab")
    y = Y if kind == "labels" else np.array(names, dtype=object)[Y[:, :2].sum(axis=1).astype(int)]
    target = Target(kind, names)
    views = {"groups": np.arange(6) // 3} if METHODS[name].needs_views else {}
    model = METHODS[name].make(**views)
    for rows in np.array_split(np.arange(len(X)), 4):
        model.partial_fit(X[rows], y[rows], half_life=half_life, **target.in_parts())
    J = Y if kind == "labels" else (y[:, None] == np.array(names, dtype=object)).astype(float)
    return model, target, X, J


@pytest.mark.parametrize(("small", "name", "kind"), STREAMED)
def test_streams_give_the_sums_of_their_scores(small, name, kind, rng, monkeypatch):
    if small:  # rows are put into the factor early
        monkeypatch.setattr("eigenkit.moments.stream.BLOCK_BYTES", 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, target, X, J = _stream(name, kind, rng)
        if module.lacks_labels(model, target):
            assert name in ("pca", "multiview_cca") or kind == "labels"
            assert name in ("pca", "multiview_cca", "mlda", "zhou", "ls_zhou")
            return
        found = module.ScoreSums.of_stream(model, target)
        Z = np.asarray(model.transform(X))
    whole = module.ScoreSums.of(Z, J)
    size = np.sqrt(whole.scatter.diagonal())
    assert (found.n_rows, found.total) == (300, 300.0)
    np.testing.assert_allclose(found.degree, whole.degree, rtol=1e-12)
    np.testing.assert_allclose(found.mean / size, whole.mean / size, atol=1e-10)
    np.testing.assert_allclose(found.means / size, whole.means / size, atol=1e-10)
    np.testing.assert_allclose(
        found.scatter / size / size[:, None], whole.scatter / size / size[:, None], atol=1e-9
    )


@pytest.mark.parametrize(("name", "kind"), [("star", "labels"), ("cca", "classes")])
def test_streams_that_forget_weigh_their_rows(name, kind, rng):
    model, target, X, J = _stream(name, kind, rng, half_life=50)
    weight = np.exp2(-np.arange(len(X) - 1.0, -1.0, -1.0) / 50)
    found = module.ScoreSums.of_stream(model, target)
    Z = np.asarray(model.transform(X))
    np.testing.assert_allclose(found.total, weight.sum(), rtol=1e-10)
    np.testing.assert_allclose(found.mean, weight @ Z / weight.sum(), atol=1e-10)
    mean = (J * weight[:, None]).T @ Z / (weight @ J)[:, None]
    np.testing.assert_allclose(found.means, mean - found.mean, rtol=1e-8, atol=1e-10)
    Zc = (Z - found.mean) * np.sqrt(weight)[:, None]
    np.testing.assert_allclose(found.scatter, Zc.T @ Zc, rtol=1e-8, atol=1e-9)


# -- by the command line -----------------------------------------------------------------


def _run(*arguments, code=0):
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    assert result.exit_code == code, result.output
    return " ".join(result.output.split())


def _table(rng, kind, n=240):
    X, Y = _labels(rng, n)
    frame = pd.DataFrame(X.round(3), columns=[*"uvwxyz"])
    if kind == "labels":
        return frame.assign(**{f"tag_{j}": Y[:, j].astype(int) for j in range(4)}), "tag_*"
    return frame.assign(c=np.array(["red", "blue", "green"])[Y[:, :2].sum(axis=1).astype(int)]), "c"


def _decisions(path, frame):
    model = load(path)
    X = frame[[*"uvwxyz"]].to_numpy()
    return model.linear.decision(np.asarray(model.estimator.transform(X)))


@pytest.mark.parametrize(
    ("method", "kind", "more"),
    [
        ("star", "labels", ()),
        ("cca", "classes", ()),
        ("zhou", "classes", ()),
        ("pls", "labels", ("--components", "3")),
        ("mlda", "classes", ()),
    ],
)
def test_fit_checkpoint_follow_and_merge_agree(method, kind, more, tmp_path, rng):
    frame, labels = _table(rng, kind)
    words = (
        "--labels",
        labels,
        "--method",
        method,
        "--classifier",
        "gaussian",
        "--no-quality",
        *more,
    )

    def fit(rows, name, *options):
        rows.to_csv(tmp_path / f"{name}.csv", index=False)
        _run("fit", tmp_path / f"{name}.csv", *words, *options, "--out", tmp_path / f"{name}.ek")
        return tmp_path / f"{name}.ek"

    whole = _decisions(fit(frame, "whole"), frame)
    assert "then a Gaussian classifier" in _run("inspect", tmp_path / "whole.ek")
    found = {
        "stream": fit(frame, "stream", "--stream"),
        "checkpoint": fit(frame, "checkpoint", "--checkpoint", tmp_path / "c.st"),
        "left": fit(frame[:100], "left", "--checkpoint", tmp_path / "l.st"),
        "right": fit(frame[100:], "right", "--checkpoint", tmp_path / "r.st"),
    }
    _run("merge", found.pop("left"), found.pop("right"), "--out", tmp_path / "merged.ek")
    found["merged"] = tmp_path / "merged.ek"
    follow = ("follow", tmp_path / "right.csv", "--once", "--checkpoint", tmp_path / "f.st")
    _run(*follow, "--model", tmp_path / "left.ek")
    found["followed"] = tmp_path / "left.ek"
    for path in found.values():
        np.testing.assert_allclose(_decisions(path, frame), whole, rtol=1e-7, atol=1e-8)
    _run("predict", tmp_path / "merged.ek", tmp_path / "whole.csv", "--out", tmp_path / "p.csv")


def test_what_does_not_follow_from_sums_says_what_does(tmp_path, rng):
    frame, labels = _table(rng, "labels")
    frame.to_csv(tmp_path / "a.csv", index=False)
    out, state = tmp_path / "m.ek", tmp_path / "s.st"

    def told(method, *more):
        fit = ("fit", tmp_path / "a.csv", "--labels", labels, "--method", method, "--no-quality")
        said = _run(*fit, *more, "--checkpoint", tmp_path / f"{method}.st", "--out", out, "--force")
        follow = ("follow", tmp_path / "a.csv", "--model", out, "--checkpoint", state, "--once")
        merge = ("merge", out, "--no-rows", "--out", tmp_path / "all.ek")
        return said, *(_run(*command, code=1) for command in (follow, merge))

    said, *errors = told("star")
    assert "follow and merge need --classifier gaussian" in said
    for error in errors:
        assert "star has a linear SVM on top" in error
        assert "--classifier gaussian" in error
    for method in ("pca", "zhou"):
        said, *errors = told(method, "--classifier", "gaussian")
        for error in errors:
            assert f"the sums of {method} do not tell which rows have which label" in error
    assert not state.exists()


def test_a_class_that_only_one_site_has_seen(tmp_path, rng):
    frame, _ = _table(rng, "classes")
    few = frame[frame["c"] != "green"]
    for name, rows in (("few", few[:80]), ("all", frame[80:])):
        rows.to_csv(tmp_path / f"{name}.csv", index=False)
        _run("fit", tmp_path / f"{name}.csv", "--labels", "c", "--method", "star", "--no-quality",
             "--classifier", "gaussian", "--checkpoint", tmp_path / f"{name}.st",
             "--out", tmp_path / f"{name}.ek")  # fmt: skip
    _run("merge", tmp_path / "few.ek", tmp_path / "all.ek", "--out", tmp_path / "merged.ek")
    both = pd.concat([few[:80], frame[80:]])
    both.to_csv(tmp_path / "both.csv", index=False)
    _run("fit", tmp_path / "both.csv", "--labels", "c", "--method", "star", "--no-quality",
         "--classifier", "gaussian", "--out", tmp_path / "both.ek")  # fmt: skip
    np.testing.assert_allclose(
        _decisions(tmp_path / "merged.ek", frame),
        _decisions(tmp_path / "both.ek", frame),
        rtol=1e-8,
        atol=1e-9,
    )


@pytest.mark.parametrize("method", ["star", "lda"])
def test_a_class_that_comes_later(method, tmp_path, rng):
    frame, _ = _table(rng, "classes")
    frame.to_csv(tmp_path / "a.csv", index=False)
    on_top = () if method == "lda" else ("--classifier", "gaussian")
    _run("fit", tmp_path / "a.csv", "--labels", "c", "--method", method, "--no-quality", *on_top,
         "--out", tmp_path / "m.ek")  # fmt: skip
    follow = ("follow", tmp_path / "b.csv", "--model", tmp_path / "m.ek", "--once",
              "--checkpoint", tmp_path / "s.st")  # fmt: skip
    late = frame.sort_values("c", kind="stable", ascending=False)  # red, then green, then blue
    n = int((late["c"] != "blue").sum())
    for end in (n, len(late)):
        late[:end].to_csv(tmp_path / "b.csv", index=False)
        _run(*follow)
        told = tmp_path / f"{end}.csv"
        _run("predict", tmp_path / "m.ek", tmp_path / "b.csv", "--scores", "--out", told)
        found = set(pd.read_csv(told).iloc[:, 0])
        assert found == {"red", "green"} | ({"blue"} if end > n else set())
    assert load(tmp_path / "m.ek").how["n_rows"] == len(frame)


def test_other_classifiers_are_not_merged(tmp_path, rng):
    frame, labels = _table(rng, "classes")
    for name, kind in (("a", "gaussian"), ("b", "svm")):
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
        _run("fit", tmp_path / f"{name}.csv", "--labels", labels, "--method", "star",
             "--classifier", kind, "--no-quality", "--checkpoint", tmp_path / f"{name}.st",
             "--out", tmp_path / f"{name}.ek")  # fmt: skip
    models = tmp_path / "a.ek", tmp_path / "b.ek"
    assert "star has a linear SVM" in _run("merge", *models, "--out", tmp_path / "c.ek", code=1)


@pytest.mark.parametrize(
    ("kind", "method"), [("labels", "star"), ("classes", "lda"), ("classes", "regec")]
)
def test_score_takes_files_larger_than_memory(kind, method, tmp_path, rng, monkeypatch):
    frame, labels = _table(rng, kind)
    if kind == "classes":
        frame.loc[[3, 200], "c"] = ""  # rows without a class are left out
    frame[10:].to_csv(tmp_path / "a.csv", index=False)
    fit = ("fit", tmp_path / "a.csv", "--labels", labels, "--missing", "drop", "--no-quality")
    _run(*fit, "--method", method, "--out", tmp_path / "m.ek")
    frame.to_csv(tmp_path / "b.csv", index=False)
    score = ("score", tmp_path / "m.ek", tmp_path / "b.csv", "--json")
    monkeypatch.setattr("eigenkit.models._blocks.rows_per_block", lambda source: 50)
    whole, blocks = (json.loads(_run(*score, *more)) for more in ((), ("--max-memory", "5kB")))
    assert blocks["rows"] == whole["rows"] == (240 if kind == "labels" else 238)
    assert blocks["scores"] == pytest.approx(whole["scores"], rel=1e-9)


def test_the_option_is_checked(tmp_path, rng):
    frame, labels = _table(rng, "classes")
    frame.to_csv(tmp_path / "a.csv", index=False)
    fit = ("fit", tmp_path / "a.csv", "--labels", labels, "--out", tmp_path / "m.ek")
    assert "lda predicts by itself" in _run(
        *fit, "--method", "lda", "--classifier", "gaussian", code=2
    )
    assert "--classifier" in _run(*fit, "--method", "star", "--classifier", "knn", code=2)


def test_what_a_model_was_judged_by_is_what_it_has(tmp_path, rng):
    frame, labels = _table(rng, "labels")
    frame.to_csv(tmp_path / "a.csv", index=False)
    scores = {}
    for kind in ("svm", "gaussian"):
        _run("fit", tmp_path / "a.csv", "--labels", labels, "--method", "star",
             "--classifier", kind, "--out", tmp_path / f"{kind}.ek")  # fmt: skip
        model = load(tmp_path / f"{kind}.ek")
        assert model.linear.kind == kind
        scores[kind] = model.how["quality"]["mean"]
    assert scores["svm"] != scores["gaussian"]


def test_an_unknown_classifier_in_a_file_is_refused(tmp_path, rng):
    frame, labels = _table(rng, "classes")
    frame.to_csv(tmp_path / "a.csv", index=False)
    _run("fit", tmp_path / "a.csv", "--labels", labels, "--method", "star", "--no-quality",
         "--out", tmp_path / "m.ek")  # fmt: skip
    model = load(tmp_path / "m.ek")
    save(replace(model, linear=replace(model.linear, kind="other")), tmp_path / "n.ek")
    with pytest.raises(FileError, match="its classifier is not known"):
        load(tmp_path / "n.ek")
