"""Streams that survive: every batch counts once, whatever happens to the process.

One file holds the moments, the position up to which they were taken in, and a checksum over
both; it is replaced as a whole. In two files, state and position could disagree after a crash, and
the result would be silently wrong.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import NoneType
from typing import Any, NoReturn

import numpy as np
from scipy import sparse

from eigenkit.estimators._streams import Streaming
from eigenkit.exceptions import RepeatedBatchWarning
from eigenkit.files import FileError, atomic
from eigenkit.files._common import listed
from eigenkit.files._writing import Lock
from eigenkit.models import _container
from eigenkit.models._model import MAX_BYTES
from eigenkit.shell import check_above_zero, check_choice, check_real, is_fitted_name, what_is

# Checkpoints take at most this share of the time, however large the state is.
SHARE = 0.05
# Messages of skipped batches that are kept; all are counted.
MESSAGES = 100


@dataclass(frozen=True)
class _Last:
    """Where a stream stands: one value, so that an interrupt finds all of it old or new."""

    position: int | None = None
    mark: str | None = None
    n_skipped: int = 0
    skipped: list[tuple[int, str]] = field(default_factory=list)


class Stream(AbstractContextManager["Stream"]):
    """A stream with checkpoints: every batch counts exactly once, even through crashes.

    Parameters
    ----------
    estimator : estimator with ``partial_fit``
        One of eigenkit's, new or fed. It is fed here, and gets what the file holds.
    path : str or Path
        The file of the state. If it exists, the stream goes on from there.
    every : float
        Seconds between checkpoints, or more if writing them takes long: at most a twentieth of
        the time goes into them. 0 writes one after every batch.
    half_life : float, optional
        Forget: everything seen before counts half as much after this many rows.
    on_error : {"raise", "skip"}
        What to do with a batch that is refused. Nothing of it counts in either case; "skip"
        goes on with the next and notes it in ``skipped``.
    source : str, optional
        Where the batches come from, in your words: the state of another source is refused, if
        it names one.

    Attributes
    ----------
    estimator : the estimator, with all that was taken in so far
    position : int or None
        Of the last batch that was taken in: feed from the one after it.
    n_rows, n_skipped : int
        Rows taken in, and batches skipped, since the stream began.
    skipped : list of (position, message)
        The last of them.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_iris
    >>> from eigenkit import LDA, Stream
    >>> X, y = load_iris(return_X_y=True)
    >>> folder = tempfile.TemporaryDirectory()
    >>> state = Path(folder.name) / "state.ek"
    >>> with Stream(LDA(), state) as stream:
    ...     taken = [stream.update(X[i::5], y[i::5], position=i) for i in range(3)]
    >>> with Stream(LDA(), state) as stream:  # after a crash, or tomorrow
    ...     print(stream.position)
    ...     taken = [stream.update(X[i::5], y[i::5], position=i) for i in range(5)]
    2
    >>> taken
    [False, False, False, True, True]
    >>> stream.estimator.predict(X[:3])
    array([0, 0, 0])
    """

    def __init__(
        self,
        estimator: Any,
        path: str | Path,
        *,
        every: float = 30.0,
        half_life: float | None = None,
        on_error: str = "raise",
        source: str | None = None,
    ) -> None:
        if not isinstance(estimator, Streaming) or not hasattr(estimator, "partial_fit"):
            remedy = "give an eigenkit estimator with partial_fit."
            raise TypeError(f"estimator is {what_is(estimator)}: {remedy}")
        self.every = check_real("every", every)
        if half_life is not None:
            half_life = check_above_zero("half_life", half_life, hint=", or None")
        self.half_life = half_life
        self.on_error = check_choice("on_error", on_error, ("raise", "skip"))
        self.source = source
        self.estimator: Any = estimator
        self.path = Path(path)
        self._last = _Last()
        _container.to_tree(estimator, [])  # refuse what cannot be stored before there is any state
        self._lock = Lock(self.path)
        try:
            self._resumed = self._resume() if self.path.exists() else None
        except BaseException:
            self._lock.release()
            raise
        self._written, self._cost, self._dirty = time.monotonic(), 0.0, False

    position = property(lambda self: self._last.position)
    mark = property(lambda self: self._last.mark)
    n_skipped = property(lambda self: self._last.n_skipped)
    skipped = property(lambda self: self._last.skipped)

    @property
    def n_rows(self) -> int:
        """Rows that the estimator has taken in as a stream."""
        intake = vars(self.estimator).get("_intake_")
        return 0 if intake is None else int(intake.moments.n_rows)

    # -- feeding -----------------------------------------------------------------------

    def update(
        self,
        X: Any,
        y: Any = None,
        *,
        position: int | None = None,
        after: int | None = None,
        **more: Any,
    ) -> bool:
        """Take in the batch of a position, unless it has been taken in already.

        Parameters
        ----------
        X, y
            As in ``partial_fit``.
        position : int, optional
            Where in the stream the batch ends, by default one more than the last. Batches are
            counted 0, 1, 2, ..., or with ``after`` in rows, bytes or anything that grows.
        after : int, optional
            Where the batch begins, which is where the previous one ended; by default
            ``position - 1``.
        **more
            Further arguments of ``partial_fit`` (``sample_weight``, ``classes``).

        Returns
        -------
        bool
            False for a batch that had been taken in before, or that was skipped.
        """
        return self.feed(lambda: (X, y, more), position=position, after=after)

    def feed(
        self,
        batch: Callable[[], tuple[Any, Any, dict[str, Any]]],
        *,
        position: int | None = None,
        after: int | None = None,
        mark: str | None = None,
        sound: Callable[[], tuple[Any, list[tuple[int, ValueError]]]] | None = None,
    ) -> bool:
        """:meth:`update` with a batch that is made when it is needed.

        Parameters
        ----------
        batch : callable
            Gives X, y and further arguments of ``partial_fit``; its ValueError counts as a
            refusal by the estimator.
        position, after
            As in :meth:`update`.
        mark : str, optional
            Identifies the source up to the position; kept with the position.
        sound : callable, optional
            Called if the batch is refused: gives the batch without its bad rows, and the position
            and error of each of these. The first error is raised, or all are skipped and the rest
            is taken in.

        Returns
        -------
        bool
            As in :meth:`update`.
        """
        if not self._lock.held:
            raise ValueError(
                f"this stream is closed, and another process may be writing {self.path.name}: "
                "open the file again with Stream, which continues from there."
            )
        position, after = self._place(position, after)
        if self._is_past(position, after):
            return False
        last, before = self._last, vars(self.estimator).copy()
        try:
            bad = self._taken(batch, sound, position)
            skipped = [*last.skipped, *bad][-MESSAGES:]
            self._last = _Last(position, mark, last.n_skipped + len(bad), skipped)  # now it counts
        except BaseException:
            if self._last is last:  # an interrupt may come between any two steps
                vars(self.estimator).clear()
                vars(self.estimator).update(before)
            raise
        self._dirty, since = True, time.monotonic() - self._written
        if since >= self.every and (self.every == 0 or since >= self._cost / SHARE):
            self.checkpoint()
        return not bad

    def _place(self, position: int | None, after: int | None) -> tuple[int, int]:
        if position is None:
            position = 0 if self.position is None else self.position + 1
        for name, value in (("position", position), ("after", after)):
            if isinstance(value, bool) or not hasattr(0 if value is None else value, "__index__"):
                raise TypeError(f"{name}={value!r} is not valid: give an integer.")
        after = position - 1 if after is None else after
        if after >= position:
            raise ValueError(f"after={after} is not before position={position}: swap them.")
        return int(position), int(after)

    def _is_past(self, position: int, after: int) -> bool:
        last = self.position
        if last is None or after == last:
            return False
        if after > last:
            raise ValueError(
                f"the batch from {after} to {position} leaves a gap: the stream has been fed up "
                f"to {last}, so give what comes next first."
            )
        if position > last:
            raise ValueError(
                f"the stream has been fed a part of the batch from {after} to {position}, up to "
                f"{last}: cut the batches where they were cut before."
            )
        if self._resumed is None or position > self._resumed:
            told = f"the batch at position {position} was given twice: it counts once"
            warnings.warn(told, RepeatedBatchWarning, stacklevel=4)
        return True

    def _taken(
        self, batch: Callable[[], Any], sound: Callable[[], Any] | None, position: int
    ) -> list[tuple[int, str]]:
        """Take a batch in; returns what is skipped of it, and why."""
        try:
            self._add(batch(), position)
            return []
        except (ValueError, TypeError) as error:
            rest, bad = (None, [(position, error)]) if sound is None else sound()
            if self.on_error == "raise" or not bad:
                raise (bad[0][1] if bad else error) from error.__cause__
        if rest is not None:
            self._add(rest, position)
        return [(where, str(problem)) for where, problem in bad]

    def _add(self, batch: tuple[Any, Any, dict[str, Any]], position: int) -> None:
        X, y, more = batch
        given = more if self.half_life is None else {**more, "half_life": self.half_life}
        try:
            self.estimator.partial_fit(X, y, **given)
        except ValueError as error:
            if (better := self._explained(error, X, position)) is None:
                raise
            raise better from error

    def _explained(self, error: ValueError, X: Any, position: int) -> ValueError | None:
        """An error that says which columns have changed, or which row is not finite."""
        batch, known = f"the batch up to {position}", vars(self.estimator)
        shape, began = (), known.get("n_features_in_")
        with suppress(ValueError):  # rows of different lengths
            shape = np.shape(X)
        names, before = getattr(X, "columns", None), known.get("feature_names_in_")
        other = None
        if began is not None and len(shape) == 2 and shape[1] != began:
            other = f"{shape[1]} columns", str(began)
        elif names is not None and before is not None and list(names) != list(before):
            other = f"the columns {listed(names)}", listed(before)
        if other is not None:
            what = f"{batch} has {other[0]}, but {self.path.name} began with {other[1]}"
            return ValueError(f"{what}: give the same columns, or another file.")
        rows: Any = ()
        with suppress(TypeError, ValueError):
            if sparse.issparse(X):
                rows = X.tocoo().row[~np.isfinite(X.tocoo().data)]
            else:
                rows = np.nonzero(~np.isfinite(np.asarray(X, dtype=np.float64)))[0]
        return ValueError(f"row {min(rows)} (from 0) of {batch}: {error}") if len(rows) else None

    # -- the file ----------------------------------------------------------------------

    def checkpoint(self) -> None:
        """Write the state now, as a whole or not at all."""
        begun = time.monotonic()
        arrays: list[Any] = []
        tree = {
            "kind": "stream",
            "settings": _container.to_tree(self._settings(), arrays),
            "estimator": _container.to_tree(self.estimator, arrays),
            "position": self.position,
            "mark": self.mark,
            "n_skipped": self.n_skipped,
            "skipped": _container.to_tree(self.skipped, arrays),
        }
        with atomic(self.path) as file:
            _container.write_container(file, tree, arrays)
        self._written, self._dirty = time.monotonic(), False
        self._cost = self._written - begun

    def _settings(self) -> dict[str, Any]:
        cls, parameters = type(self.estimator).__name__, self.estimator.get_params(deep=False)
        told = {"class": cls, "half_life": self.half_life, "source": self.source}
        return told | {f"estimator.{name}": value for name, value in parameters.items()}

    def _resume(self) -> int | None:
        """Continue from the state in the file; returns the position of its last batch."""
        try:
            tree, arrays = _container.read_container(str(self.path), MAX_BYTES)
        except FileError as error:
            problem = error.problem.rstrip(".").replace("the model file", "the state")
            told = "a model file of eigenkit: give one that fit wrote"
            problem = problem.replace(told, "a state")
            advice = "restore a copy of it, or start again with a new file."
            raise error.with_problem(f"{problem}; {advice}") from error
        if isinstance(tree, dict) and tree.get("kind") != "stream":
            raise FileError(str(self.path), "it holds a model: use another file for the state.")
        try:
            self._check_settings(_container.from_tree(tree["settings"], arrays))
            found = _container.from_tree(tree["estimator"], arrays)
            skipped = _container.from_tree(tree["skipped"], arrays)
            last = _Last(tree["position"], tree.get("mark"), tree["n_skipped"], skipped)
        except (_container.TreeError, KeyError, TypeError, RecursionError) as error:
            raise _container.damaged(str(self.path), "it holds no state of a stream") from error
        if type(found) is not type(self.estimator) or type(last.position) not in (int, NoneType):
            raise _container.damaged(str(self.path), "it holds no state of a stream")
        if any(is_fitted_name(name) for name in vars(self.estimator)):
            raise ValueError(
                f"the estimator has been fed, and {self.path.name} holds the state of a stream: "
                "give a new estimator, which continues from that state, or use another file."
            )
        for name, value in vars(found).items():
            if is_fitted_name(name):
                setattr(self.estimator, name, value)
        self._last = last
        return last.position

    def _check_settings(self, stored: dict[str, Any]) -> None:
        mine = self._settings()
        for name in {**stored, **mine}:
            theirs, given = (each.get(name) for each in (stored, mine))
            unsaid = name == "source" and theirs is None
            if repr(theirs) != repr(given) and not unsaid:
                begun = f"started with {name.replace('estimator.', '')}={theirs!r}"
                remedy = "give the same value, or use another file."
                problem = f"this stream was {begun}, but now it is {given!r}: {remedy}"
                raise FileError(str(self.path), problem)

    def close(self) -> None:
        """Write what has not been written, and let others write."""
        try:
            if self._dirty:
                self.checkpoint()
        finally:
            self._lock.release()

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        what = "a Stream is the only writer of its file, and cannot be copied or pickled"
        raise TypeError(f"{what}: use stream.estimator, or open the file where it is needed.")

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Stream({self.estimator!r}, {str(self.path)!r}, position={self.position})"
