"""What a report recommends depends on what was found, not on how long it took."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import make_multilabel_classification

from eigenkit import CCA, KernelCCA, OrthonormalizedPLS
from eigenkit.evaluation import evaluate
from eigenkit.record import from_dict
from eigenkit.report.words import headline, recommended


@pytest.fixture(scope="module")
def run():
    X, Y = make_multilabel_classification(80, 6, n_classes=3, random_state=0)
    methods = {"kernel": KernelCCA(kernel="linear"), "cca": CCA(), "short": OrthonormalizedPLS(2)}
    record = evaluate(X, Y, methods, cv=3, alphas=None, baselines=False, name="small", seed=0)
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
