"""One writer at a time: a lock beside a file, held by a living process and by nothing else."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from eigenkit.files import FileError
from eigenkit.files._writing import lock


class Lock:
    """The right to write a file, from now until :meth:`release` or the end of the process.

    The system itself holds the lock and lets go of it when the process ends, however it ends: a
    lock file that a killed process has left behind locks nothing. Where files cannot be locked
    (Windows), the number of a living process in the lock file counts.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = str(path)
        place = Path(path).absolute()
        self._place = place.with_name(f".{place.name[:100]}.lock")
        self._handle: int | None = self._taken()

    def _taken(self) -> int:
        while True:
            try:
                handle = os.open(self._place, os.O_RDWR | os.O_CREAT, 0o600)
            except OSError as error:
                raise FileError(self._path, f"it cannot be locked ({error.strerror}).") from error
            if not _locked(handle):
                holder = os.read(handle, 20).decode("ascii", "replace").strip()
                os.close(handle)
                raise FileError(
                    self._path,
                    f"another process{f' ({holder})' if holder else ''} is writing it: end that "
                    "one first, or name another file.",
                )
            if _same_file(handle, self._place):  # not one that its last holder has just removed
                os.truncate(handle, 0)
                os.pwrite(handle, str(os.getpid()).encode("ascii"), 0)
                return handle
            os.close(handle)

    @property
    def held(self) -> bool:
        """Whether it has not been released."""
        return self._handle is not None

    def release(self) -> None:
        """Let others write."""
        if self._handle is not None:
            with suppress(OSError):
                self._place.unlink()
            os.close(self._handle)
            self._handle = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self.release()


def _locked(handle: int) -> bool:
    found = lock(handle)
    if found is None:
        holder = os.read(handle, 20)
        os.lseek(handle, 0, os.SEEK_SET)
        return not holder or int(holder) == os.getpid() or not _alive(int(holder))
    return found


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except OSError as error:
        return not isinstance(error, ProcessLookupError)
    return True


def _same_file(handle: int, place: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), os.stat(place))
    except OSError:
        return False
