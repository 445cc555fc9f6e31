"""Models for other programs: ONNX graphs and tables of weights."""

from __future__ import annotations

import json
from typing import IO, Any

import numpy as np

from eigenkit.files import write_table
from eigenkit.models._affine import Affine, components_map, scores_map
from eigenkit.models._model import Model

_OPSET = 17
_IR = 8


def weight_table(model: Model, stream: IO[bytes]) -> None:
    """A row for every feature, a column for every component and score; the last row is added."""
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
    make, kinds = onnx.helper, onnx.TensorProto
    d = model.features.n_features
    nodes, constants, outputs = [], [], []

    def constant(name: str, value: Any) -> str:
        array = np.ascontiguousarray(value, dtype=np.float64)
        constants.append(onnx.numpy_helper.from_array(array, name))
        return name

    def affine(found: Affine, name: str) -> None:
        nodes.append(
            make.make_node("MatMul", [entry, constant(f"{name}_A", found.A)], [f"{name}_x"])
        )
        nodes.append(make.make_node("Add", [f"{name}_x", constant(f"{name}_b", found.b)], [name]))
        outputs.append(make.make_tensor_value_info(name, kinds.DOUBLE, [None, found.A.shape[1]]))

    entry = "X"
    if len(model.features.fill):
        fill = np.zeros(d)
        fill[: model.features.n_numbers] = model.features.fill
        nodes.append(make.make_node("IsNaN", ["X"], ["missing"]))
        nodes.append(
            make.make_node("Where", ["missing", constant("fill", fill), "X"], ["complete"])
        )
        entry = "complete"
    if model.projects:
        affine(components_map(model), "components")
    if model.target.kind == "numbers":
        affine(scores_map(model), "prediction")
    else:
        affine(scores_map(model), "scores")
        outputs.append(_decide(make, kinds, nodes, constant, model))
    graph = make.make_graph(
        nodes,
        "eigenkit",
        [make.make_tensor_value_info("X", kinds.DOUBLE, [None, d])],
        outputs,
        constants,
    )
    made = make.make_model(graph, opset_imports=[make.make_opsetid("", _OPSET)], ir_version=_IR)
    meta = {"feature_names": model.features.feature_names(), "names": list(model.target.names)}
    make.set_model_props(made, {k: json.dumps(v) for k, v in meta.items()})
    onnx.checker.check_model(made)
    return bytes(made.SerializeToString())


def _decide(make: Any, kinds: Any, nodes: list[Any], constant: Any, model: Model) -> Any:
    if model.target.kind == "classes":
        nodes.append(make.make_node("ArgMax", ["scores"], ["label"], axis=1, keepdims=0))
        return make.make_tensor_value_info("label", kinds.INT64, [None])
    nodes.append(make.make_node("Greater", ["scores", constant("zero", 0.0)], ["positive"]))
    nodes.append(make.make_node("Cast", ["positive"], ["label"], to=kinds.INT64))
    return make.make_tensor_value_info("label", kinds.INT64, [None, len(model.target.names)])
