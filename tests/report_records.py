"""Small records for the tests of the record and the report."""

from __future__ import annotations

import copy
from functools import cache
from typing import Any

import numpy as np
from sklearn.datasets import make_multilabel_classification

from eigenkit import CCA, LDA, HypergraphSpectral, PLSRegression
from eigenkit.evaluation import evaluate

HOSTILE = "</script><script>alert(1)</script>"
LABELS = [HOSTILE, "<b>&amp;</b>", "a\x1b[31mb\u202ec", "[bold]x[/bold]", "=1+1"]


def data(n: int = 150) -> tuple[Any, Any]:
    return make_multilabel_classification(n, 8, n_classes=5, random_state=0)


@cache
def _hostile() -> dict[str, Any]:
    X, Y = data()
    methods = {"cca": CCA(), f"star{HOSTILE}": HypergraphSpectral(), "lda": LDA()}
    features = [f"<img src=x onerror=alert({i})>" for i in range(8)]
    return evaluate(
        X,
        Y,
        methods,
        cv=2,
        inner_cv=2,
        alphas=[0.1, 1.0, 10.0],
        name=f"name {HOSTILE}",
        label_names=LABELS,
        feature_names=features,
        command=f"eigenkit compare '{HOSTILE}'",
    )


def hostile() -> dict[str, Any]:
    """A record in which every name tries to break out."""
    return copy.deepcopy(_hostile())


@cache
def _classes() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    y = np.repeat(["red", "green", "blue"], 30)
    X = rng.normal(size=(90, 5)) + 2 * np.eye(5)[np.repeat([0, 1, 2], 30)]
    return evaluate(X, y, {"lda": LDA(), "cca": CCA()}, cv=3, alphas=None)


def classes() -> dict[str, Any]:
    """A record of data with one class per sample."""
    return copy.deepcopy(_classes())


@cache
def _numbers() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 6))
    Y = X[:, :2] + rng.normal(size=(80, 2))
    return evaluate(X, Y, {"pls": PLSRegression(3), "cca": CCA()}, task="numbers", cv=3)


def numbers() -> dict[str, Any]:
    """A record of data with numbers to predict."""
    return copy.deepcopy(_numbers())


@cache
def _many() -> dict[str, Any]:
    rng = np.random.default_rng(1)
    Z = rng.normal(size=(200, 4))
    X = Z @ rng.normal(size=(4, 10)) + rng.normal(size=(200, 10))
    Y = (Z @ rng.normal(size=(4, 14)) + rng.normal(size=(200, 14)) > 1).astype(int)
    names = [f"tag {i}" for i in range(14)]
    methods = {"cca": CCA(alpha=1.0), "star": HypergraphSpectral(alpha=1.0)}
    return evaluate(X, Y, methods, cv=2, alphas=None, label_names=names)


def many() -> dict[str, Any]:
    """A record with more labels than curves that can be told apart."""
    return copy.deepcopy(_many())
