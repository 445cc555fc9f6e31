"""What a report recommends depends on what was found, not on how long it took."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import make_multilabel_classification

from eigenkit import CCA, KernelCCA, OrthonormalizedPLS
from eigenkit.evaluation import evaluate
from eigenkit.evaluation.record import from_dict
from eigenkit.report.tables import comparison
from eigenkit.report.words import headline, protocol_sentence, recommended


@pytest.fixture(scope="module")
def run():
    X, Y = make_multilabel_classification(80, 6, n_classes=3, random_state=0)
    methods = {"kernel": KernelCCA(kernel="linear"), "cca": CCA(), "short": OrthonormalizedPLS(2)}
    record = evaluate(X, Y, methods, cv=3, alphas=None, baselines=False, name="small")
    found = from_dict(record)
    same = found.methods[1].scores  # nothing tells them apart
    return replace(found, methods=[replace(method, scores=same) for method in found.methods])


def with_seconds(run, seconds):
    def took(method, mean):
        times = {name: replace(score, mean=mean) for name, score in method.seconds.items()}
        return replace(method, seconds=times)

    return replace(run, methods=list(map(took, run.methods, seconds)))


@pytest.mark.parametrize("seconds", [(1.0, 2.0, 3.0), (3.0, 2.0, 1.0), (2.0, 1.0, 3.0)])
def test_the_simplest_is_that_with_the_fewest_components_however_long_it_took(run, seconds):
    timed = with_seconds(run, seconds)
    assert recommended(timed).name == "short"
    assert "The simplest of them is short." in headline(timed)


def test_a_straight_projection_is_simpler_than_one_with_a_kernel(run):
    two = replace(run, methods=run.methods[:2])
    assert np.all([m.model.n_components == 3 for m in two.methods])
    assert recommended(two).name == "cca"


def test_of_equally_simple_methods_the_highest_is_taken(run):
    cca = run.methods[1]
    two = replace(run, methods=[replace(cca, name="a"), replace(cca, name="b")])
    assert "They are equally simple, so take the highest." in headline(two)
    assert recommended(two).name == "a"


def test_planes_are_not_simpler_than_components(run):
    cca, short = run.methods[1:]
    planes = replace(cca, name="planes", model=replace(cca.model, n_components=0))
    assert recommended(replace(run, methods=[planes, cca, short])).name == "short"
    without = replace(
        planes, name="all features", baseline=True
    )  # and nothing is simpler than that
    found = headline(replace(run, methods=[cca, without, replace(short, baseline=True)]))
    assert "The simplest of them is all features, and of the methods cca." in found


def shifted(method, name, offsets):
    """The method with other numbers on its three splits."""
    auc = method.scores["auc"]
    values = [value + offset for value, offset in zip(auc.values, offsets, strict=True)]
    moved = replace(auc, values=values, mean=float(np.mean(values)))
    return replace(method, name=name, scores={**method.scores, "auc": moved})


def test_what_is_far_behind_is_not_taken_for_its_simplicity(run):
    short, cca = run.methods[2], run.methods[1]
    # Far behind in the mean, but three splits so different that the interval holds zero.
    far = shifted(short, "far", [-0.3, -0.02, -0.14])
    found = headline(replace(run, methods=[cca, far]))
    assert "cca and far are not distinguishable on these splits" in found
    assert "No other comes within one standard error of that, so take the highest." in found
    assert "These splits do not tell how far behind far is: more are needed" in found
    assert recommended(replace(run, methods=[cca, far])).name == "cca"
    assert recommended(replace(run, methods=[cca, short, far])).name == "short"
    found = headline(replace(run, methods=[cca, short, far]))
    assert "The simplest of those within one standard error of that is short." in found


def test_of_one_split_the_highest_is_taken(run):
    def first(method):
        auc = method.scores["auc"]
        one = replace(auc, values=auc.values[:1], mean=auc.values[0], std=None)
        return replace(method, scores={**method.scores, "auc": one})

    protocol = replace(run.protocol, n_splits=1)
    less = shifted(run.methods[2], "less", [-0.01] * 3)
    one = replace(run, protocol=protocol, methods=[first(run.methods[1]), first(less)])
    assert recommended(one).name == "cca"


def test_equally_simple_methods_are_told_from_those_far_behind(run):
    cca = run.methods[1]
    same = [replace(cca, name="a"), replace(cca, name="b")]
    far = shifted(cca, "far", [-0.3, -0.02, -0.14])
    found = headline(replace(run, methods=[*same, far]))
    assert "Those within one standard error of that are equally simple, so take the hig" in found


def test_what_chance_would_give_is_said(run):
    cca = run.methods[1]
    auc = cca.scores["auc"]
    steps = [0.5 + step - v for step, v in zip((0.01, -0.02, 0.03), auc.values, strict=True)]
    guess = shifted(cca, "guess", steps)
    assert "None is clearly better than chance (0.5)." in headline(replace(run, methods=[guess]))
    assert "chance" not in headline(run)


def test_errors_have_as_many_decimals_as_their_unit_needs():
    x = np.random.default_rng(0).normal(size=(60, 3))
    for unit, cell in ((1e5, r"\d{5} ± \d+"), (1e-5, r"0\.0{4,5}\d{3} ± 0\.0{4,}\d+")):
        y = unit * (x @ [1.0, 2.0, 3.0] + 0.5 * x[:, 0] ** 2)[:, None]
        record = evaluate(x, y, {"cca": CCA()}, cv=3, alphas=None, name="n", task="numbers")
        table = comparison(from_dict(record))
        assert re.fullmatch(cell, table.rows[0][2])
        assert re.fullmatch(r"0\.\d{3} ± 0\.\d{3}", table.rows[0][1])
        strong = {i for i, j in table.strong if j == 2}
        assert "mean" not in {table.rows[i][0] for i in strong}


def test_one_split_is_no_first_of_several(run):
    told = protocol_sentence(replace(run, protocol=replace(run.protocol, n_splits=1)))
    assert "27 test samples); projection" in told


def test_a_test_file_is_no_split(run):
    assert " training and 27 test samples in the first); projection" in protocol_sentence(run)
    told = protocol_sentence(replace(run, protocol=replace(run.protocol, test_begins=53)))
    assert told.startswith("Measured on a test file (53 training and 27 test samples); projection")
