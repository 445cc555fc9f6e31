"""Streams that survive: every batch counts once, whatever happens to the process.

One file holds the moments, the position up to which they were taken in, and a checksum over
both; it is replaced as a whole. State and position in two files can disagree after a crash, and
then the result is wrong in silence.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn, Self

import numpy as np
from scipy import sparse

from eigenkit.estimators._streams import Streaming
from eigenkit.exceptions import RepeatedBatchWarning
from eigenkit.files import FileError, atomic
from eigenkit.files._common import listed
from eigenkit.files._writing import Lock
from eigenkit.models._container import damaged, read_container, write_container
from eigenkit.models._model import MAX_BYTES
from eigenkit.models._trees import TreeError, from_tree, to_tree
from eigenkit.shell import check_above_zero, check_choice, check_real, is_fitted_name, what_is

# Checkpoints take at most this share of the time, however large the state is.
SHARE = 0.05
# Messages of skipped batches that are kept; all are counted.
MESSAGES = 100


class Stream:
    """A stream with checkpoints: every batch counts exactly once, even through crashes.

    Parameters
    ----------
    estimator : estimator with ``partial_fit``
        One of eigenkit's, new or fed. It is fed here, and gets what the file holds.
    path : str or Path
        The file of the state. If it exists, the stream goes on from there.
    every : float
        Seconds between checkpoints, more where writing them takes long: at most one part in
        twenty of the time goes into them. 0 writes one after every batch.
    half_life : float, optional
        Forget: everything seen before counts half as much after this many rows.
    on_error : {"raise", "skip"}
        What to do with a batch that is refused. Nothing of it counts in either case; "skip"
        goes on with the next and notes it in ``skipped``.
    source : str, optional
        What the batches come from, in words of yours: a state of another source is refused.

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
            raise TypeError(
                f"estimator is {what_is(estimator)}: give one of eigenkit's that has partial_fit."
            )
        self.every = check_real("every", every)
        if half_life is not None:
            half_life = check_above_zero("half_life", half_life, hint=", or None")
        self.half_life = half_life
        self.on_error = check_choice("on_error", on_error, ("raise", "skip"))
        self.source = source
        self.estimator: Any = estimator
        self.path = Path(path)
        self.position: int | None = None
        self.mark: str | None = None
        self.n_rows, self.n_skipped = _n_rows(estimator), 0
        self.skipped: list[tuple[int, str]] = []
        to_tree(estimator, [])  # what cannot be stored is refused before there is any state
        self._lock = Lock(self.path)
        try:
            self._resumed = self._resume() if self.path.exists() else None
        except BaseException:
            self._lock.release()
            raise
        self._written, self._cost, self._dirty = time.monotonic(), 0.0, False

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
            Where in the stream the batch ends: by default one more than the last. Batches
            count 0, 1, 2, ..., or with ``after`` in rows, bytes or whatever grows.
        after : int, optional
            Where it begins, which is where the one before it ended; by default
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
        parts: Callable[[], list[dict[str, Any]]] = list,
    ) -> bool:
        """:meth:`update` with a batch that is made when it is needed.

        Parameters
        ----------
        batch : callable
            Gives X, y and further arguments of ``partial_fit``; what it refuses by a ValueError
            counts as refused by the estimator.
        position, after
            As in :meth:`update`.
        mark : str, optional
            What tells the source, up to the position, from others; kept with the position.
        parts : callable, optional
            Gives arguments of this method for the parts of the batch, which are fed in its place
            where it is to be skipped; none where it has no parts.

        Returns
        -------
        bool
            As in :meth:`update`.
        """
        if not self._lock.held:
            raise ValueError(
                f"this stream was closed, and others may write {self.path.name}: open it again "
                "with Stream, which goes on from there."
            )
        position, after = self._place(position, after)
        if self._is_past(position, after):
            return False
        problem = self._refusal(batch, position)
        if problem is not None and (smaller := parts()):
            taken = [self.feed(**part) for part in smaller]
            return all(taken)
        if problem is not None:
            self.n_skipped += 1
            self.skipped = [*self.skipped, (position, problem)][-MESSAGES:]
        self.position, self.mark, self._dirty = position, mark, True
        self._checkpoint_if_due()
        return problem is None

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
                f"the batch after {after} up to {position} leaves a gap: the stream has taken in "
                f"everything up to {last}, feed what comes after that first."
            )
        if position > last:
            raise ValueError(
                f"the batch after {after} up to {position} was taken in up to {last}, but not "
                "beyond: feed the batches as they were cut before."
            )
        if self._resumed is None or position > self._resumed:
            warnings.warn(
                f"the batch at position {position} was given again: it counts once",
                RepeatedBatchWarning,
                stacklevel=4,
            )
        return True

    def _refusal(self, batch: Callable[[], Any], position: int) -> str | None:
        """Take a batch in, or say why it is to be skipped."""
        try:
            X, y, more = batch()
            given = more if self.half_life is None else {**more, "half_life": self.half_life}
            try:
                self.estimator.partial_fit(X, y, **given)
            except ValueError as error:
                if (better := self._explained(error, X, position)) is None:
                    raise
                raise better from error
        except (ValueError, TypeError) as error:
            if self.on_error == "raise":
                raise
            return str(error)
        self.n_rows = _n_rows(self.estimator)
        return None

    def _explained(self, error: ValueError, X: Any, position: int) -> ValueError | None:
        """An error that says which columns have changed, or which row is not finite."""
        batch, known = f"the batch up to {position}", vars(self.estimator)
        shape, began = _shape(X), known.get("n_features_in_")
        names, before = getattr(X, "columns", None), known.get("feature_names_in_")
        other = None
        if began is not None and len(shape) == 2 and shape[1] != began:
            other = f"{shape[1]} columns", str(began)
        elif names is not None and before is not None and list(names) != list(before):
            other = f"the columns {listed(names)}", listed(before)
        if other is not None:
            return ValueError(
                f"{batch} has {other[0]}, but {self.path.name} began with {other[1]}: give the "
                "same columns, or another file."
            )
        row = _first_not_finite(X)
        return None if row is None else ValueError(f"row {row} (from 0) of {batch}: {error}")

    # -- the file ----------------------------------------------------------------------

    def _checkpoint_if_due(self) -> None:
        since = time.monotonic() - self._written
        if since >= self.every and (self.every == 0 or since >= self._cost / SHARE):
            self.checkpoint()

    def checkpoint(self) -> None:
        """Write the state now, as a whole or not at all."""
        begun = time.monotonic()
        arrays: list[Any] = []
        tree = {
            "kind": "stream",
            "settings": to_tree(self._settings(), arrays),
            "estimator": to_tree(self.estimator, arrays),
            "position": self.position,
            "mark": self.mark,
            "n_skipped": self.n_skipped,
            "skipped": to_tree(self.skipped, arrays),
        }
        with atomic(self.path) as file:
            write_container(file, tree, arrays)
        self._written, self._dirty = time.monotonic(), False
        self._cost = self._written - begun

    def _settings(self) -> dict[str, Any]:
        parameters = self.estimator.get_params(deep=False)
        return {
            "class": type(self.estimator).__name__,
            "half_life": self.half_life,
            "source": self.source,
            **{f"estimator.{name}": value for name, value in parameters.items()},
        }

    def _resume(self) -> int | None:
        """Go on from the state in the file; the position of its last batch."""
        tree, arrays = read_container(str(self.path), MAX_BYTES)
        if isinstance(tree, dict) and tree.get("kind") != "stream":
            raise FileError(str(self.path), "it holds a model: name another file for the state.")
        try:
            self._check_settings(from_tree(tree["settings"], arrays))
            found = from_tree(tree["estimator"], arrays)
            position, mark, n_skipped = tree["position"], tree.get("mark"), tree["n_skipped"]
            skipped = from_tree(tree["skipped"], arrays)
        except (TreeError, KeyError, TypeError, RecursionError) as error:
            raise damaged(str(self.path), "it holds no state of a stream") from error
        if type(found) is not type(self.estimator) or not _is_position(position):
            raise damaged(str(self.path), "it holds no state of a stream")
        if any(is_fitted_name(name) for name in vars(self.estimator)):
            raise ValueError(
                f"estimator has taken in data, and {self.path.name} holds a stream: give a new "
                "estimator, which goes on from there, or another file."
            )
        for name, value in vars(found).items():
            if is_fitted_name(name):
                setattr(self.estimator, name, value)
        self.position, self.mark = position, mark
        self.n_skipped, self.skipped = n_skipped, skipped
        self.n_rows = _n_rows(found)
        return self.position

    def _check_settings(self, stored: dict[str, Any]) -> None:
        mine = self._settings()
        for name in {**stored, **mine}:
            theirs, given = (each.get(name) for each in (stored, mine))
            if repr(theirs) != repr(given):
                raise FileError(
                    str(self.path),
                    f"this stream began with {name.replace('estimator.', '')}={theirs!r}, now it "
                    f"is {given!r}: give the same, or another file.",
                )

    def close(self) -> None:
        """Write what has not been written, and let others write."""
        try:
            if self._dirty:
                self.checkpoint()
        finally:
            self._lock.release()

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError(
            "a Stream is the one writer of its file, and cannot be copied or pickled: take "
            "stream.estimator, or open the file where it is needed."
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Stream({self.estimator!r}, {str(self.path)!r}, position={self.position})"


def _n_rows(estimator: Any) -> int:
    """Rows that an estimator has taken in as a stream."""
    intake = vars(estimator).get("_intake_")
    return 0 if intake is None else int(intake.moments.n_rows)


def _is_position(value: Any) -> bool:
    return value is None or (isinstance(value, int) and not isinstance(value, bool))


def _shape(X: Any) -> tuple[int, ...]:
    try:
        return np.shape(X)
    except ValueError:  # rows of different lengths
        return ()


def _first_not_finite(X: Any) -> int | None:
    if sparse.issparse(X):
        X = X.tocoo()
        rows = X.row[~np.isfinite(X.data)]
    else:
        try:
            A = np.asarray(X, dtype=np.float64)
        except (TypeError, ValueError):
            return None
        rows = np.flatnonzero(~np.isfinite(A.reshape(len(A), -1)).all(axis=1))
    return int(rows.min()) if len(rows) else None
