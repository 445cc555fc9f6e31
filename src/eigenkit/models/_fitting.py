"""Fitting a pipeline on a file, in memory or block by block."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from eigenkit.files import Block, Data, FileError, Source, Target, read, target_of
from eigenkit.files._reading import join_labels, rows_per_block
from eigenkit.models._features import Blocks, Features, complete, learn_features
from eigenkit.models._linear import fit_linear, make_head, mean_auc
from eigenkit.models._model import Model, versions
from eigenkit.models._stream import Stream
from eigenkit.registry import METHODS, Method, find

Tick = Callable[[str, int], None]


def fit_model(
    source: Source,
    method: str,
    *,
    data: Data | None = None,
    task: str | None = None,
    params: dict[str, Any] | None = None,
    alphas: Sequence[float] | Callable[[Any], Sequence[float]] | None = None,
    cv: int = 5,
    scale: str = "none",
    missing: str = "error",
    text_kind: str = "tfidf",
    text_size: int = 2**16,
    ngrams: int = 1,
    stream: bool = False,
    checkpoint: str | Path | None = None,
    seed: int = 0,
    tick: Tick | None = None,
) -> Model:
    """Fit features, scaling, estimator and classifier on a file.

    Parameters
    ----------
    source : Source
        From :func:`eigenkit.files.open_file`.
    method : str
        A name of :data:`eigenkit.registry.METHODS`.
    data : Data, optional
        The file, if it was read already.
    task : {"classes", "labels", "numbers"}, optional
        What the labels are; found out by default.
    params : dict, optional
        Parameters of the estimator, as ``alpha`` or ``n_components``.
    alphas : sequence of float, or function of X that gives one, optional
        Choose alpha among these by cross-validation.
    cv : int
        Folds of that.
    scale : {"none", "standard", "maxabs"}
        Divide features by their standard deviation or largest absolute value.
    missing : {"error", "drop", "mean"}
        What to do about missing values.
    text_kind, text_size, ngrams
        How columns of text become features.
    stream : bool
        Read the file in blocks, once per step, and keep none of them.
    checkpoint : str or Path, optional
        With ``stream``: a file for the state of the fit, from which an interrupted one goes on.
    seed : int
        Of folds and classifiers.
    tick : callable, optional
        Called as ``tick(step, rows)`` when a step has taken in some rows.

    Returns
    -------
    Model
    """
    tick = tick or _quiet
    found = find(method)
    blocks = _in_blocks(source, tick) if stream else _in_memory(source, data, tick)
    labels = join_labels([block.labels for block in complete(blocks, missing)])
    if labels is not None and len(labels) == 0:
        raise FileError(source.path, "every row misses a value: nothing is left to fit.")
    target = target_of(
        source.path, labels, source.label_names, task, source.options.label_separator
    )
    _check_target(source.path, found, target)
    features = learn_features(
        source,
        blocks,
        scale=scale,
        missing=missing,
        text_kind=text_kind,
        text_size=text_size,
        ngrams=ngrams,
    )
    rows = _Rows(source.path, blocks, features, target, stream)
    if stream and checkpoint is not None:
        rows.checkpoint = checkpoint
        rows.fingerprint = _fingerprint(source, labels, features)
    estimator, search = _fit(found, params or {}, rows, alphas, cv, seed)
    linear = _on_top(found, estimator, rows)
    how = _how(source, found, estimator, rows, search, scale, stream, seed)
    return Model(found.name, features, estimator, linear, target, how)


def _quiet(step: str, rows: int) -> None:
    pass


def _in_memory(source: Source, data: Data | None, tick: Tick) -> Blocks:
    block = (data or read(source, lambda n: tick("reading", n))).block()
    return lambda: [block]


def _in_blocks(source: Source, tick: Tick) -> Blocks:
    def blocks() -> Iterator[Block]:
        for block in source.blocks(rows_per_block(source)):
            tick("reading", len(block))
            yield block

    return blocks


def _check_target(path: str, method: Method, target: Target) -> None:
    if target.kind in method.targets:
        return
    words = {"classes": "one class a row", "labels": "sets of labels", "numbers": "numbers"}
    able = [m.name for m in METHODS.values() if target.kind in m.targets]
    raise FileError(
        path,
        f"{method.name} does not learn from {words[target.kind]}, which this file holds: "
        f"use one of {', '.join(able)}, or say what the labels are with --task.",
    )


class _Rows:
    """X and y of the file; made once in memory, made anew for every pass over a stream."""

    def __init__(
        self, path: str, blocks: Blocks, features: Features, target: Target, stream: bool
    ) -> None:
        self.path, self.features, self.target = path, features, target
        self._blocks, self.stream = blocks, stream
        self.checkpoint: str | Path | None = None
        self.fingerprint = ""
        self.n = 0
        self._kept = None if stream else list(self._make())

    def _make(self) -> Iterator[tuple[Any, np.ndarray]]:
        self.n = 0
        for block in complete(self._blocks, self.features.missing):
            if len(block):
                y = self.target.encode(self.path, block.labels)
                self.n += len(y)
                yield self.features.matrix(self.path, block), y

    def __iter__(self) -> Iterator[tuple[Any, np.ndarray]]:
        return iter(self._kept) if self._kept is not None else self._make()


def _fit(
    method: Method, params: dict[str, Any], rows: _Rows, alphas: Any, cv: int, seed: int
) -> tuple[Any, dict[str, Any] | None]:
    estimator = method.make(**params)
    if rows.stream:
        if alphas is not None:
            raise ValueError("alpha cannot be chosen by cross-validation in blocks: give a number.")
        return _fit_blocks(method, estimator, rows), None
    ((X, y),) = rows
    if alphas is None:
        return estimator.fit(X, y), None
    return _search(
        estimator, X, y, alphas(X) if callable(alphas) else alphas, rows.target, cv, seed
    )


def _fit_blocks(method: Method, estimator: Any, rows: _Rows) -> Any:
    if not method.streams:
        raise ValueError(f"{method.name} cannot be fitted in blocks: raise --max-memory.")
    extra: dict[str, Any] = {}
    if rows.target.kind == "classes":
        extra["classes"] = np.array(rows.target.names)
    if rows.checkpoint is not None:
        with Stream(estimator, rows.checkpoint, source=rows.fingerprint) as stream:
            for position, (X, y) in enumerate(rows):
                stream.update(X, y, position=position, **extra)
    else:
        for X, y in rows:
            estimator.partial_fit(X, y, **extra)
    assert len(estimator.components_)  # a stream is solved when it is first asked: now
    return estimator


def _fingerprint(source: Source, labels: Any, features: Features) -> str:
    """What tells the blocks of one file from those of another."""
    digest = hashlib.sha256("\0".join(map(str, np.ravel(labels))).encode("utf-8"))
    for numbers in (features.scale, features.fill):
        digest.update(np.asarray(numbers, dtype=np.float64).tobytes())
    name = Path(source.path).name
    return f"{name} in blocks of {rows_per_block(source)} rows, {digest.hexdigest()[:16]}"


def _search(
    estimator: Any, X: Any, y: np.ndarray, alphas: Any, target: Target, cv: int, seed: int
) -> tuple[Any, dict[str, Any]]:
    from sklearn.model_selection import KFold, StratifiedKFold

    from eigenkit.estimators import AlphaSearchCV, Projection

    if not isinstance(estimator, Projection):
        raise ValueError(
            f"{type(estimator).__name__} has no alpha to choose: leave --alpha cv out."
        )
    folds = StratifiedKFold if target.kind == "classes" else KFold
    search = AlphaSearchCV(
        estimator,
        alphas=list(alphas),
        cv=folds(cv, shuffle=True, random_state=seed),
        head=make_head(target.kind, seed),
        scoring=mean_auc if target.kind == "labels" else None,
    ).fit(X, y)
    results = search.cv_results_
    return search.best_estimator_, {
        "alphas": results["alpha"].tolist(),
        "mean_score": results["mean_test_score"].tolist(),
        "std_score": results["std_test_score"].tolist(),
        "score": {"classes": "accuracy", "labels": "mean AUC", "numbers": "R2"}[target.kind],
        "folds": cv,
    }


def _on_top(method: Method, estimator: Any, rows: _Rows) -> Any:
    """The linear classifier, where the method does not predict classes itself."""
    if method.kind == "classifier" or rows.target.kind == "numbers":
        return None
    Z, y = [], []
    for X, part in rows:
        Z.append(np.asarray(estimator.transform(X), dtype=np.float64))
        y.append(part)
    labels = np.concatenate(y)
    if rows.target.kind == "classes":
        labels = labels[:, None] == np.array(rows.target.names, dtype=object)
    return fit_linear(np.vstack(Z), np.asarray(labels, dtype=np.float64))


def _how(
    source: Source,
    method: Method,
    estimator: Any,
    rows: _Rows,
    search: dict[str, Any] | None,
    scale: str,
    stream: bool,
    seed: int,
) -> dict[str, Any]:
    found = {k: v for k, v in source.found.items() if v is not None}
    plain = (bool, int, float, str, type(None))
    params = estimator.get_params(deep=False)
    return {
        "data": source.path.replace("\\", "/").rsplit("/", 1)[-1],
        "found": found,
        "n_rows": rows.n,
        "params": {k: v for k, v in params.items() if isinstance(v, plain)},
        "alpha_search": search,
        "scale": scale,
        "missing": rows.features.missing,
        "in_blocks": stream,
        "seed": seed,
        "versions": versions(),
    }
