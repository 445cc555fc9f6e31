"""A fitted pipeline, from rows of a file to labels, its file, and those of several sites as one."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from eigenkit.estimators._streams import Intake
from eigenkit.files import Block, Expected, FileError, Source, Target, atomic
from eigenkit.files._common import REMEMBERED, listed
from eigenkit.files._errors import Skipped
from eigenkit.files._reading import other_dates
from eigenkit.files._targets import TASKS, natural
from eigenkit.late import versions
from eigenkit.models import _container, _linear
from eigenkit.models._features import TEXT_KINDS, Features, TextColumn
from eigenkit.numerics.linalg import Array
from eigenkit.shell import what_is

# The most that a model file may hold.
MAX_BYTES = 4 * 2**30
_TEXT = (*TEXT_KINDS, "categories")
_PARTS: dict[str, Any] = {"features": Features, "linear": _linear.Linear, "target": Target}


@dataclass(frozen=True)
class Model:
    """Features, scaling, estimator and classifier, with the names and how it was fitted."""

    method: str  # a name in eigenkit.estimators.registry.METHODS
    features: Features  # from rows of a file to X
    estimator: Any
    linear: _linear.Linear | None  # the classifier on top of a projection
    target: Target  # what is predicted
    how: dict[str, Any]  # how and on what it was fitted, with versions; plain JSON values

    @property
    def projects(self) -> bool:
        """Whether there is a projection to apply."""
        return hasattr(self.estimator, "transform")

    def expected(self) -> Expected:
        """The columns that a file must have, and how it is read by default."""
        told = {n: v for n, v in self.how.get("told", {}).items() if type(v) is REMEMBERED.get(n)}
        expected = self.features.expected(self.target.columns).as_in(self.how["found"])
        return replace(expected, told=told)

    def transform(self, path: str, block: Block) -> Array:
        """Components of some rows of a file."""
        if not self.projects:
            raise ValueError(f"{self.method} is a classifier without components: use predict.")
        return np.asarray(self.estimator.transform(self.features.matrix(path, block)))

    @property
    def weights(self) -> Array | None:
        """Weights of the features in the components (l x d), None where there are none."""
        W = getattr(self.estimator, "components_", None)
        return None if W is None else np.asarray(W)

    @property
    def n_components(self) -> int:
        """Number of columns of :meth:`transform`."""
        return self.transform("", self.row_of_zeros()).shape[1] if self.projects else 0

    def component_names(self) -> list[str]:
        """Names for the columns of :meth:`transform`."""
        return [f"{self.method}{j + 1}" for j in range(self.n_components)]

    def row_of_zeros(self) -> Block:
        """A row to try the model on."""
        kinds = self.features.categorical
        text = {c.name: [c.words[0] if c.name in kinds else ""] for c in self.features.text}
        return Block(np.zeros((1, self.features.n_numbers)), text)

    def predict(self, path: str, block: Block) -> tuple[np.ndarray, Array | None]:
        """Labels of some rows (classes, a 0/1 matrix or numbers), and scores behind them."""
        X = self.features.matrix(path, block)
        if self.linear is None:
            return np.asarray(self.estimator.predict(X)), self.own_scores(X)
        S = self.linear.decision(_linear.scores_of(self.estimator, X))
        if self.target.kind == "labels":
            return (S > 0).astype(np.int8), S
        return np.array(self.target.names, dtype=object)[S.argmax(axis=1)], S

    def ranked(
        self, path: str, block: Block, top: int | None, proba: bool = False
    ) -> tuple[np.ndarray, np.ndarray, Array]:
        """Row, label and score of the predicted labels, or of the ``top`` best; highest first."""
        labels, S = self.predict(path, block)
        S = self.probabilities(path, block) if proba else S
        if S is None:
            raise ValueError(f"{self.method} gives no scores: leave --long and --top out.")
        order = np.argsort(-S, axis=1, kind="stable")
        if top is None:
            best = np.arange(S.shape[1]) == S.argmax(axis=1)[:, None]
            told = labels != 0 if self.target.kind == "labels" else best
            keep = np.take_along_axis(told, order, axis=1)
        else:
            keep = np.broadcast_to(np.arange(S.shape[1]) < top, S.shape)
        rows, places = np.nonzero(keep)
        found = order[rows, places]
        return rows, found, S[rows, found]

    @property
    def has_probabilities(self) -> bool:
        """Whether the method, or the classifier on top of it, gives probabilities."""
        if self.linear is not None:
            return self.linear.kind == _linear.GAUSSIAN
        return hasattr(self.estimator, "predict_proba")

    def probabilities(self, path: str, block: Block) -> Array:
        """Probabilities of the classes or labels, in the order of the target's names."""
        if not self.has_probabilities:
            gaussian = ", or fit it with --classifier gaussian" if self.linear else ""
            able = f"a method that has them (lda, kernel_lda, plsda){gaussian}"
            raise ValueError(f"{self.method} has no probabilities: use --scores, or {able}.")
        X = self.features.matrix(path, block)
        if self.linear is not None:
            Z = _linear.scores_of(self.estimator, X)
            return self.linear.probabilities(Z, self.target.kind == "classes")
        return np.asarray(self.estimator.predict_proba(X))[:, self._class_columns()]

    def own_scores(self, X: Any) -> Array | None:
        """Scores of a method that classifies by itself, a column per class."""
        if self.target.kind == "numbers" or not hasattr(self.estimator, "decision_function"):
            return None
        S = np.asarray(self.estimator.decision_function(X))
        if S.ndim == 1:
            S = np.column_stack([-S, S])
        return S[:, self._class_columns()]

    def _class_columns(self) -> list[int]:
        """Positions of the classes of the target among those of the estimator."""
        place = {str(c): j for j, c in enumerate(self.estimator.classes_)}
        return [place[name] for name in self.target.names]


def how_fitted(
    source: Source, path: str, estimator: Any, n_rows: int, missing: str = "error"
) -> dict[str, Any]:
    """What every model file says about how it was made, if nothing was chosen or scaled."""
    plain = (bool, int, float, str, type(None))
    params = estimator.get_params(deep=False)
    return {
        **({"skipped": source.skipped.told()} if source.options.on_error == "skip" else {}),
        "data": path.replace("\\", "/").rsplit("/", 1)[-1],
        "found": {k: v for k, v in source.found.items() if v is not None},
        "told": source.options.told(),
        "n_rows": n_rows,
        "params": {k: v for k, v in params.items() if isinstance(v, plain)},
        "alpha_search": None,
        "component_search": None,
        "scale": "none",
        "missing": missing,
        "in_blocks": True,
        "seed": 0,
        "versions": versions(),
    }


# -- files ------------------------------------------------------------------------------


def save(model: Model, path: str | Path) -> None:
    """Write a model, all or nothing, in a format that runs no code when it is read.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from eigenkit.files import open_file
    >>> from eigenkit.models import fit_model, load, save
    >>> folder = tempfile.TemporaryDirectory()
    >>> place = Path(folder.name)
    >>> rows = [f"{i % 5},{i % 7},{'ab'[i % 5 > 2]}" for i in range(40)]
    >>> _ = (place / "a.csv").write_text("\\n".join(["u,v,class", *rows]))
    >>> from eigenkit.files import Reading
    >>> source = open_file(str(place / "a.csv"), Reading(labels=("class",)))
    >>> save(fit_model(source, "lda"), place / "a.ek")
    >>> load(place / "a.ek").target.names
    ('a', 'b')
    """
    if not isinstance(model, Model):
        what = f"save takes a Model of fit_model, got {what_is(model)}"
        raise TypeError(f"{what}: to store an estimator alone, use skops or pickle.")
    arrays: list[np.ndarray] = []
    estimator = _container.to_tree(model.estimator, arrays)
    tree = {"method": model.method, "estimator": estimator, "how": model.how}
    for name in _PARTS:
        part: Any = getattr(model, name)
        state: Any = None if part is None else dataclasses.asdict(part)
        if name == "features":
            state["text"] = list(state["text"])
        tree[name] = _container.to_tree(state, arrays)
    with atomic(path) as stream:
        _container.write_container(stream, tree, arrays)


def load(path: str | Path, max_bytes: int = MAX_BYTES) -> Model:
    """Read a model that :func:`save` wrote; anything else is refused in one sentence.

    Parameters
    ----------
    path : str or Path
    max_bytes : int
        Files larger than this are refused before they are read.

    Returns
    -------
    Model
    """
    path = str(path)
    tree, arrays = _container.read_container(path, max_bytes)
    if isinstance(tree, dict) and tree.get("kind") == "images":
        raise FileError(path, "it is a model of image sets: use eigenkit annotate predict.")
    if isinstance(tree, dict) and tree.get("kind") == "stream":
        raise FileError(path, "it holds the state of a stream: give the model file beside it.")
    with _container.putting_together(path):
        parts: dict[str, Any] = {}
        for name, cls in _PARTS.items():
            state = _container.from_tree(tree[name], arrays)
            if name == "features":
                state["text"] = tuple(TextColumn(**column) for column in state["text"])
            parts[name] = None if state is None else cls(**state)
        method, how = tree["method"], tree["how"]
        if not isinstance(how, dict) or not isinstance(method, str):
            raise _container.TreeError("it does not say how it was made")
        estimator = _container.from_tree(tree["estimator"], arrays)
        model = Model(method=method, estimator=estimator, how=how, **parts)
        _check_features(model.features, max((a.size for a in arrays), default=0))
        labels, _ = model.predict("", model.row_of_zeros())  # to see whether the parts fit together
        if model.linear is not None and model.linear.kind not in _linear.CLASSIFIERS:
            raise _container.TreeError("its classifier is not known")
        if len(labels) != 1 or model.target.kind not in TASKS:
            raise _container.TreeError("it predicts nothing sensible")
    return model


def _check_features(features: Features, largest: int) -> None:
    """Sizes must agree, and none may exceed the stored weights of all features."""
    fine = 0 < features.n_features <= largest and features.n_numbers >= 0
    fine &= all(0 < column.size <= 2**30 and 1 <= column.ngrams <= 10 for column in features.text)
    fine &= all(column.kind in _TEXT for column in features.text)
    fine &= features.names is None or len(features.names) == features.n_numbers
    fine &= len(features.scale) in (0, features.n_features) and not np.any(features.scale == 0)
    fine &= len(features.fill) in (0, features.n_numbers)
    if not fine:
        raise _container.TreeError("its features do not fit together")


# -- several models as one ---------------------------------------------------------------


def merge_models(models: Sequence[tuple[str, Model]], *, keep_rows: bool = True) -> Model:
    """The model of all rows that several models of one method and the same columns have taken in.

    Classes and labels are matched by their names; one that a site has never seen counts as absent
    there. Recent rows stay as they came, as in every stream; without ``keep_rows`` they become
    sums: the model is the same up to rounding, and can be followed and merged as before.
    """
    (first_name, first), *others = models
    for name, model in models:
        _check(name, model, first_name, first)
    names = first.target.names
    if first.target.kind != "numbers":
        names = tuple(sorted({n for _, m in models for n in m.target.names}, key=natural))
    merged = _relabelled(first, names)
    for _, model in others:
        merged.merge(_relabelled(model, names))
    if not keep_rows:
        merged._intake_ = Intake.of(merged, merged._intake_.moments.without_rows(*merged._kind()))
    target = replace(first.target, names=names)
    if first.target.columns == first.target.names:
        target = replace(target, columns=names)
    n_rows = merged._intake_.moments.n_rows
    how = {**first.how, "n_rows": n_rows, "quality": None}  # which was measured before
    if others:
        how["merged"] = len(models)
        told = [m.how["skipped"] for _, m in models if "skipped" in m.how]
        if told:
            how["skipped"] = reduce(Skipped.with_more, map(Skipped.as_told, told)).told()
    linear = None if first.linear is None else _linear.of_stream(merged, target)
    return replace(first, estimator=merged, linear=linear, target=target, how=how)


def _check(name: str, model: Model, first_name: str, first: Model) -> None:
    if "_intake_" not in vars(model.estimator):
        remedy = "fit it with --checkpoint, or update it with follow."
        raise FileError(name, f"it keeps no stream to merge: {remedy}")
    if problem := _linear.cannot_follow(model):
        raise FileError(name, problem)
    mine, theirs = model.features.names or (), first.features.names or ()
    if mine != theirs and sorted(mine) == sorted(theirs):
        what = f"its columns are those of {first_name} in another order"
        raise FileError(name, f"{what}: fit both in one order.")
    for what, here, there in _compared(model, first):
        if here != there:
            other = f"that of {first_name} is {there}: fit both alike."
            raise FileError(name, f"its {what} is {here}, {other}")
    if column := other_dates(*(m.how["found"].get("kinds") for m in (model, first))):
        raise FileError(name, f"it has other columns of dates than {first_name}.", column=column)
    pairs = ([getattr(m.features, what) for m in (model, first)] for what in ("scale", "fill"))
    if not all(np.array_equal(*pair) for pair in pairs):
        what = f"its features were scaled or filled in differently from those of {first_name}"
        remedy = "fit both with --scale none, or follow both from one model."
        raise FileError(name, f"{what}: {remedy}")


def _compared(model: Model, first: Model) -> Iterator[tuple[str, str, str]]:
    """What must be the same in both models: its name, and its two values."""
    yield "method", model.method, first.method
    yield "kind of labels", model.target.kind, first.target.kind
    both = model.features, first.features
    mine, theirs = ({*(f.names or ()), *(c.name for c in f.text)} for f in both)
    here, there = listed(sorted(mine - theirs), 4), listed(sorted(theirs - mine), 4)
    if mine != theirs:
        yield "set of columns", f"another, with {here or 'none'}", f"with {there or 'none'}"
    yield "number of features", str(model.features.n_features), str(first.features.n_features)
    expected, other = (repr(features.expected(())) for features in both)
    yield "way to read columns", expected, other
    if model.target.kind == "numbers":
        yield "response", listed(model.target.names), listed(first.target.names)
    theirs_too = first.estimator.get_params(deep=False)
    for param, value in model.estimator.get_params(deep=False).items():
        yield param, repr(value), repr(theirs_too.get(param))


def _relabelled(model: Model, names: tuple[str, ...]) -> Any:
    """A copy of the estimator of a model, with its labels in their places among ``names``."""
    stream = model.estimator
    place = np.array([names.index(name) for name in model.target.names], dtype=np.int64)
    made = clone(stream)
    described = {k: v for k, v in vars(stream._intake_.model).items() if k in vars(stream)}
    for key, value in described.items():
        setattr(made, key, value)
    moments = stream._intake_.moments
    if model.target.kind != "numbers":
        order = _linear.label_places(stream, model.target.names)
        moments = moments.relabelled(place[order], len(names))
        if made._n_labels_ == len(place):  # planes have the number of a class in one column
            made._n_labels_ = len(names)
    if hasattr(made, "classes_"):
        made.classes_ = np.array(names)
    made._intake_ = Intake.of(made, moments)
    return made
