"""Sessions: a file of plain bytes that any rank writes or reads whenever it likes."""

from __future__ import annotations

import os
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple, Union

import numpy as np

from ._library import (Error, c_text, check, check_open, ffi, fortran_handle, is_alone, lib,
                       text_of)
from ._options import toml_of

Done = Callable[[Optional[Error]], None]


class Session(NamedTuple):
    """A session of one file: a plain value that may be sent to any rank."""

    home: int
    number: int
    offset: int
    nbytes: int

    def _as_c(self) -> Any:
        return ffi.new("sluice_session*", tuple(self))


def open_sessions(path: Union[str, "os.PathLike[str]"], mode: str = "r", comm: Any = None,
                  **options: Any) -> "Sessions":
    """Opens a file of sessions. Collective over `comm`, an mpi4py communicator, or "self" or None:
    this process alone, as for open(). mode: "r" reads; "w" cuts off what was there; "x" as "w", but
    Error EXISTS where something was; "a" leaves it. options: as of open(): writers, tile_bytes,
    coalesce, budget_bytes, ..."""
    return Sessions(path, mode, comm, **options)


class Sessions:
    """An open file of sessions; a context manager that closes it (collective).

    A session is a range of the file, begun by one rank. Whoever has the Session writes parts of it
    in any order; every byte is written once. Callbacks come from poll(), wait(), wait_for_reads()
    and close(); what they raise is raised there.
    """

    def __init__(self, path: Union[str, "os.PathLike[str]"], mode: str = "r", comm: Any = None,
                 **options: Any):
        self._handle = ffi.NULL
        self._kept: Dict[int, Tuple[Any, ...]] = {}  # what C holds on to, by number
        self._done_with: List[int] = []
        self._last = 0
        self._raised: List[BaseException] = []
        self.path = os.fspath(path)
        place = ffi.new("sluice_session_file**")
        words = (c_text(os.fsencode(self.path), "path"), c_text(mode, "mode"),
                 c_text(toml_of(options), "options"), place)
        if is_alone(comm, self.path, mode):
            check_open(lib.sluice_session_file_open_serial(*words), self.path)
        else:
            check_open(lib.sluice_session_file_open_f(fortran_handle(comm), *words), self.path)
        self._handle = ffi.gc(place[0], lib.sluice_session_file_free)

    def start(self, offset: int, nbytes: int, complete: Optional[Done] = None,
              ready: Optional[Callable[[], None]] = None,
              after: Optional[Tuple[int, Any]] = None) -> Session:
        """A session of `nbytes` (0 too) from `offset` of the file on. Local.

        complete: called once with None when every byte is on disk, or with the Error why not.
        ready: reading: called when its beginning is in the readers' memory. after: an offset in the
        file, and bytes that are written there when all others of the session are on disk."""
        options = ffi.new("sluice_session_options*",
                          {"size": ffi.sizeof("sluice_session_options")})
        number = self._keep()
        self._kept[number] = kept = (ffi.callback("void(void*)", lambda _: self._guarded(ready)),
                                     self._done(number, complete))
        options.ready = kept[0] if ready is not None else ffi.NULL
        options.complete = kept[1]
        if after is not None:
            late = _bytes_of(after[1])
            options.after_offset, options.after_bytes = after[0], late.size
            options.after = ffi.from_buffer(late)
        place = ffi.new("sluice_session*")
        try:
            check(lib.sluice_session_start(self._handle, offset, nbytes, options, place))
        except Error:
            del self._kept[number]
            raise
        return Session(place.home, place.number, place.offset, place.bytes)

    def write(self, session: Session, offset: int, data: Any) -> None:
        """Copies the bytes of `data` (an array, or anything with a buffer) to `offset` of the file,
        inside the session. Local. Raises Error OUT_OF_BOUNDS."""
        memory = _bytes_of(data)
        check(lib.sluice_session_write(self._handle, session._as_c(),
                                       ffi.from_buffer(memory) if memory.size else ffi.NULL,
                                       memory.size, offset))

    def read(self, session: Session, offset: int, into: np.ndarray,
             done: Optional[Done] = None) -> None:
        """Fills the dense array `into` with the bytes of the file from `offset` on. Local: it must
        stay as it is until `done` is called with None, or with the Error why not. Without `done` a
        failure is raised by wait_for_reads()."""
        memory = into.reshape(-1).view(np.uint8)
        if memory.size and not np.shares_memory(memory, into):
            raise ValueError("read: the array is not dense")
        number = self._keep()
        call = self._done(number, self._raise if done is None else done)
        self._kept[number] = (call, memory)
        check(lib.sluice_session_read(self._handle, session._as_c(),
                                      ffi.from_buffer(memory) if memory.size else ffi.NULL,
                                      memory.size, offset, call, ffi.NULL))

    def end(self, session: Session) -> None:
        """On the home of a session that reads: its memory may be given back. Local."""
        check(lib.sluice_session_end(self._handle, session._as_c()))

    def poll(self) -> None:
        """Moves on what can be moved without waiting, and calls back. Local."""
        self._calling(lib.sluice_session_file_poll)

    def wait(self, session: Session) -> None:
        """On the home: until the session is complete (reading: ready). The others must poll
        meanwhile."""
        self._calling(lib.sluice_session_wait, session._as_c())

    def wait_for_reads(self) -> None:
        """Until every read of this rank was answered. The readers must poll meanwhile."""
        self._calling(lib.sluice_session_file_wait_for_reads)

    def close(self, session: Optional[Session] = None) -> None:
        """Nobody writes to the session any more: waits until it is complete. Without a session:
        closes all, and the file. Collective. Raises Error HOLE where bytes are missing, OVERLAP
        where some were written twice, on every rank."""
        if session is not None:
            self._calling(lib.sluice_session_close, session._as_c())
            return
        try:
            self._calling(lib.sluice_session_file_close)
        finally:
            self._kept.clear()

    def __enter__(self) -> "Sessions":
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if kind is None:
            self.close()

    def _keep(self) -> int:
        self._last += 1
        return self._last

    def _done(self, number: int, done: Optional[Done]) -> Any:
        def call(code: int, message: Any, _: Any) -> None:
            self._done_with.append(number)
            if done is not None:
                failure = None if code == lib.SLUICE_OK else Error(code, text_of(message))
                self._guarded(done, failure)

        return ffi.callback("sluice_done", call)

    def _raise(self, failure: Optional[Error]) -> None:
        if failure is not None:
            raise failure

    def _guarded(self, function: Any, *arguments: Any) -> None:
        try:
            function(*arguments)
        except BaseException as error:  # nothing may pass through C
            self._raised.append(error)

    def _calling(self, function: Any, *arguments: Any) -> None:
        """A call within which callbacks come."""
        code = function(self._handle, *arguments)
        for number in self._done_with:
            self._kept.pop(number, None)
        self._done_with.clear()
        if self._raised:
            raise self._raised.pop(0)
        check(code)


def _bytes_of(data: Any) -> np.ndarray:
    """The bytes of an array, dense in C order, or of anything with a buffer."""
    if isinstance(data, np.ndarray):
        return np.ascontiguousarray(data).reshape(-1).view(np.uint8)
    return np.frombuffer(data, dtype=np.uint8)
