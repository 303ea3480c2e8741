"""The files that this process has open: after a fork, at its end, and where one is in the way."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import threading
import weakref
from typing import Any, List

from ._library import Code, Error, MissingFileError

# By their id(): a mapping has no hash.
_files: "weakref.WeakValueDictionary[int, Any]" = weakref.WeakValueDictionary()
_lost: List[str] = []  # those that were dropped with something uncommitted


def note_open(file: Any) -> None:
    """A File has been opened."""
    _files[id(file)] = file


def note_lost(file: Any) -> None:
    """A File goes without having been closed, and with something uncommitted."""
    if _is_told_here(file):
        _lost.append(file.path)


def _is_told_here(file: Any) -> bool:
    """By one rank, by the process that opened the file and not by its forks, and not where MPI has
    ended, at whose end the library has told."""
    mpi = sys.modules.get("mpi4py.MPI")
    return file._speaks and file._process == os.getpid() and \
        (mpi is None or not mpi.Is_finalized())


def _unlock_in_child() -> None:
    """After a fork: a thread that the child does not have may have held a lock."""
    for file in list(_files.values()):
        file._lock = threading.RLock()
    _lost.clear()  # its parent tells


def _tell() -> None:
    """At the end of the program: what it has forgotten to close."""
    still_open = [file.path for file in list(_files.values())
                  if file.mode != "r" and file._is_open and _is_told_here(file)]
    for path in _lost + still_open:
        with contextlib.suppress(Exception):  # no stderr
            print(f"sluice: {path}: was not closed when Python ended: what was not committed is "
                  "lost: close() it, or open it by `with`", file=sys.stderr)


os.register_at_fork(after_in_child=_unlock_in_child)
atexit.register(_tell)


def with_advice(error: Error, path: str, mode: str) -> Error:
    """The Error of opening, with what to do where nothing is there to be added to, or where it is
    this program that has the file open."""
    if error.code == Code.NOT_FOUND and mode == "a":
        return MissingFileError(error.code, f"{error} (mode \"a\" adds to a file that is there; "
                                            "\"w\" makes a new one)", error.rank, path)
    if error.code != Code.LOCKED:
        return error
    mine = [file for file in list(_files.values())
            if file.mode != "r" and file._is_open and
            os.path.realpath(file.path) == os.path.realpath(path)]
    if not mine:
        return error
    return Error(error.code, f"{error}: close() {mine[0]!r}, or `del` every name that it has, also "
                             "after an exception", error.rank)
