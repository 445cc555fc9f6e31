"""Constructors that follow from the parameters of a class."""

from __future__ import annotations

import dataclasses
import inspect
import pickle
from dataclasses import KW_ONLY
from typing import ClassVar

import pytest
from sklearn.base import BaseEstimator, clone

from eigenkit import CCA, PLSDA, PLSSVD, LeastSquaresProjection, PLSRegression, SparsePLSDA
from eigenkit.shell import parameters


@parameters
class Base(BaseEstimator):
    n_components: int | None = None
    _: KW_ONLY
    alpha: float = 1.0
    solver: str = "auto"

    _known: ClassVar = ("auto",)
    fitted_: float


@parameters
class Narrow(Base):
    n_components: int | None = 2
    _: KW_ONLY
    beta: float = 0.5

    solver = "direct"


def test_what_is_annotated_with_a_default_is_a_parameter():
    assert Base().get_params() == {"n_components": None, "alpha": 1.0, "solver": "auto"}
    assert vars(Base(3, alpha=2.0)) == {"n_components": 3, "alpha": 2.0, "solver": "auto"}
    kinds = {name: p.kind.name for name, p in inspect.signature(Base).parameters.items()}
    assert kinds["n_components"] == "POSITIONAL_OR_KEYWORD"
    assert kinds["alpha"] == kinds["solver"] == "KEYWORD_ONLY"


def test_parameters_are_inherited_unless_set_without_an_annotation():
    assert Narrow().get_params() == {"n_components": 2, "alpha": 1.0, "beta": 0.5}
    assert Narrow().solver == "direct"
    assert Base().n_components is None


def test_defaults_belong_to_the_objects():
    assert not hasattr(Base, "alpha")
    assert not dataclasses.is_dataclass(Base)  # it holds more than its parameters
    assert hash(Base()) != hash(Base())
    again = pickle.loads(pickle.dumps(clone(Narrow(4))))
    assert again.n_components == 4


@pytest.mark.parametrize("given", [{"gamma": 1.0}, {"solver": "auto"}])
def test_other_parameters_are_refused_by_the_name_of_the_class(given):
    with pytest.raises(TypeError, match=r"Narrow\.__init__\(\) got an unexpected keyword"):
        Narrow(**given)
    with pytest.raises(TypeError, match="positional"):
        Narrow(1, 2.0)


def test_those_of_the_library():
    assert CCA(2, alpha_y=0.5).get_params()["alpha_y"] == 0.5
    assert PLSSVD().n_components is None
    assert PLSRegression().n_components == 2
    assert set(PLSDA().get_params()) == {"n_components", "coding", "scale"}
    left = {"n_components", "keep_x", "penalty_x", "scale", "tol", "max_iter"}
    assert set(SparsePLSDA().get_params()) == left
    assert not {"solver", "label_rank"} & set(LeastSquaresProjection().get_params())
