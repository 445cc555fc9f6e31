"""A fitted linear model as one affine map of the features, also for other programs.

    scores = x A + b

The map is read off the model: b is its value at zero, and the rows of A are its values at the
unit vectors, minus b. Models that are not affine are refused: kernels and nearest planes by their
class (far from the data they look flat), all others if they disagree with the map elsewhere."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, Any

import numpy as np

from eigenkit.estimators._planes import ProximalPlanes
from eigenkit.files import write_table
from eigenkit.models._model import Model
from eigenkit.numerics.linalg import Array, ratio

_ROWS = 256
# How far rounding may move a map from an affine one, relative to its size.
_ROUNDING = 1e-6


@dataclass(frozen=True)
class Affine:
    """``x A + b`` for features x as they stand in the file, missing values filled in."""

    A: Array
    b: Array


def components_map(model: Model) -> Affine:
    if not model.projects:
        raise ValueError(f"{model.method} has no components.")
    return _map_of(model, lambda X: np.asarray(model.estimator.transform(X)))


def scores_map(model: Model) -> Affine:
    """From features to the scores of classes or labels, or to the numbers predicted."""
    if model.linear is not None:
        to_components, head = components_map(model), model.linear
        B = head.weights
        return Affine(to_components.A @ B, (to_components.b - head.mean) @ B + head.intercept)
    if model.target.kind == "numbers":
        return _map_of(model, lambda X: np.asarray(model.estimator.predict(X)))
    if not hasattr(model.estimator, "decision_function"):
        raise ValueError(f"{model.method} has no scores that add up from features.")
    return _map_of(model, lambda X: np.asarray(model.own_scores(X)))


def through_components(model: Model, to_scores: Affine) -> Array | None:
    """How much a unit of each component adds to the scores; None if these depend on more."""
    if model.linear is not None:
        return model.linear.weights
    if not model.projects:
        return None
    A = components_map(model).A
    length = np.linalg.norm(A, axis=0)  # components may be of very different lengths
    B = np.linalg.lstsq(A / np.where(length > 0, length, 1.0), to_scores.A)[0]
    B = ratio(B, length[:, None])
    error, size = np.abs(A @ B - to_scores.A), np.abs(A) @ np.abs(B) + np.abs(to_scores.A).max()
    return B if np.all(error <= _ROUNDING * size) else None


def _map_of(model: Model, function: Callable[[Array], Array]) -> Affine:
    """A and b of a function of the scaled features, for features as they are."""
    params = model.estimator.get_params(deep=False)
    has_kernel = params.get("kernel", "linear") != "linear" or "kernels" in params
    if has_kernel or isinstance(model.estimator, ProximalPlanes):
        raise _bent(model)
    d, scale = model.features.n_features, model.features.scale

    def values(X: Array) -> Array:
        return np.asarray(function(X), dtype=np.float64).reshape(len(X), -1)

    b = values(np.zeros((1, d)))[0]
    A = np.vstack([values(np.eye(min(_ROWS, d - i), d, i)) - b for i in range(0, d, _ROWS)])
    X = np.random.default_rng(0).normal(size=(3, d))
    true = values(X)
    size = np.abs(X) @ np.abs(A) + np.abs(b) + np.abs(true)
    if not np.all(np.abs(X @ A + b - true) <= _ROUNDING * size + 1e-300):
        raise _bent(model)
    return Affine(A / scale[:, None] if len(scale) else A, b)


def _bent(model: Model) -> ValueError:
    what = f"{model.method} is not an affine map of the features, which this needs"
    return ValueError(f"{what}: use a linear method, one without kernels or planes.")


_OPSET = 17
_IR = 8


def weight_table(model: Model, stream: IO[bytes]) -> None:
    """Write a row for every feature and a column for every component and score.

    The last row holds what is added to every row.
    """
    columns: dict[str, Affine] = {}
    if model.projects:
        columns["component"] = components_map(model)
    columns["score"] = scores_map(model)
    names = ["feature"]
    values: list[Any] = [[*model.features.feature_names(), "(added to every row)"]]
    for kind, found in columns.items():
        titles = range(1, found.A.shape[1] + 1) if kind == "component" else model.target.names
        names += [f"{kind} {title}" for title in titles]
        values += list(np.vstack([found.A, found.b]).T)
    write_table(stream, "csv", names, [values])


def onnx_bytes(model: Model) -> bytes:
    """The model as an ONNX graph in double precision.

    Its input ``X`` holds the features in their order (the metadata names them), missing values
    as NaN if the model fills them in. Outputs: ``components`` where there are any; ``scores``
    and ``label`` (the number of the class, or 0 and 1 for every label), or ``prediction``.
    """
    try:
        import onnx
    except ImportError:
        raise ImportError("ONNX files need onnx: pip install onnx.") from None
    make, kinds, value = onnx.helper, onnx.TensorProto, onnx.helper.make_tensor_value_info
    d, fill, target = model.features.n_features, model.features.fill, model.target
    nodes, constants, outputs = [], [], []

    def constant(name: str, numbers: Any) -> str:
        array = np.ascontiguousarray(numbers, dtype=np.float64)
        constants.append(onnx.numpy_helper.from_array(array, name))
        return name

    def node(operation: str, inputs: list[str], output: str, **attributes: Any) -> None:
        nodes.append(make.make_node(operation, inputs, [output], **attributes))

    def affine(found: Affine, name: str) -> None:
        node("MatMul", [entry, constant(f"{name}_A", found.A)], f"{name}_x")
        node("Add", [f"{name}_x", constant(f"{name}_b", found.b)], name)
        outputs.append(value(name, kinds.DOUBLE, [None, found.A.shape[1]]))

    entry = "X"
    if len(fill):
        node("IsNaN", ["X"], "missing")
        filled = constant("fill", np.pad(fill, (0, d - len(fill))))
        node("Where", ["missing", filled, "X"], "complete")
        entry = "complete"
    if model.projects:
        affine(components_map(model), "components")
    affine(scores_map(model), "prediction" if target.kind == "numbers" else "scores")
    if target.kind == "classes":
        node("ArgMax", ["scores"], "label", axis=1, keepdims=0)
        outputs.append(value("label", kinds.INT64, [None]))
    elif target.kind == "labels":
        node("Greater", ["scores", constant("zero", 0.0)], "positive")
        node("Cast", ["positive"], "label", to=kinds.INT64)
        outputs.append(value("label", kinds.INT64, [None, len(target.names)]))
    inputs = [value("X", kinds.DOUBLE, [None, d])]
    graph = make.make_graph(nodes, "eigenkit", inputs, outputs, constants)
    made = make.make_model(graph, opset_imports=[make.make_opsetid("", _OPSET)], ir_version=_IR)
    meta = {"feature_names": model.features.feature_names(), "names": list(target.names)}
    make.set_model_props(made, {k: json.dumps(v) for k, v in meta.items()})
    onnx.checker.check_model(made)
    return bytes(made.SerializeToString())
