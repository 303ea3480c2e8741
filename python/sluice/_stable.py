"""Reading a file with h5py, netCDF4 or xarray while Sluice writes it.

Invariant: what is returned was read between two checks of the log of commits that found the same
last commit, each in a reopened file; so no commit was applied in between.
"""

import time
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

_LOG = "sluice/commits"
_PAUSE_S = 0.005


def _last_commit(path: Any) -> bytes:
    """The last row of the log of commits, which no two commits have alike."""
    import h5py  # only who reads with it needs it

    with h5py.File(path, "r") as file:
        if _LOG not in file:
            raise ValueError(f"{path}: has no log of commits: it was not written by Sluice")
        log = file[_LOG]
        return log.shape[0].to_bytes(8, "little") + (log[-1].tobytes() if len(log) else b"")


def read_stable(path: Any, read: Callable[[Any], T], *, timeout: float = 10.0) -> T:
    """Reads a file with h5py, netCDF4 or xarray while Sluice writes it: read(path) of one commit.

    A plain reader that opens a file while a commit is put in place may see some variables with the
    step and others without it. This function calls `read`, and checks before and after whether a
    commit came in between. If so, or if the file cannot be opened because it is just being changed,
    it tries again::

        steps, x = sluice.read_stable("out.h5", lambda path: my_reading(path))

    Args:
        path: The file.
        read: Opens the file itself and returns what it read (not an open file). It may be called
            many times.
        timeout: The longest time for it in seconds.

    Raises:
        FileNotFoundError: There is no such file.
        TimeoutError: The time was not enough; the text says what to do.
        ValueError: Sluice did not write the file.

    The process must not have the file open otherwise meanwhile.
    """
    end = time.monotonic() + timeout
    why: BaseException | None = None
    while True:
        try:
            before = _last_commit(path)
            result = read(path)
            if _last_commit(path) == before:
                return result
            why = None
        except FileNotFoundError:
            raise
        except (OSError, KeyError, RuntimeError) as error:
            why = error  # refused in the middle of a commit
        if time.monotonic() > end:
            raise TimeoutError(
                f"{path}: no two looks in {timeout} s found the same commit: read less at once, or "
                "with sluice.File" if why is None else
                f"{path}: could not be read for {timeout} s: if no run is writing it, run "
                f"`sluice recover {path}`") from why
        time.sleep(_PAUSE_S)
