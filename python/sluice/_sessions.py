"""Sessions: a file of plain bytes that any rank writes or reads whenever it likes."""

from __future__ import annotations

import operator
import os
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple, Union

import numpy as np

from ._library import (Error, OneHandle, c_text, check, check_open, ffi, fortran_handle,
                       free_because, is_alone, lib, line_of, reason, text_of)
from ._options import toml_of

Done = Callable[[Optional[Error]], None]


class Session(NamedTuple):
    """A session of one file: a plain value that may be sent to any rank.

    Attributes:
        home (int): The rank that started it.
        number (int): Its number on that rank.
        offset (int): Its first byte in the file.
        nbytes (int): Its length in bytes.
    """

    home: int
    number: int
    offset: int
    nbytes: int

    def _as_c(self) -> Any:
        return ffi.new("sluice_session*", tuple(self))


def open_sessions(path: Union[str, "os.PathLike[str]"], mode: str = "r", comm: Any = None,
                  **options: Any) -> "Sessions":
    """Opens a file of sessions. Collective over `comm`.

    Args:
        path: The file, the same on every rank.
        mode: "r" reads; "w" cuts off what was there; "x" as "w", but the file must not exist; "a"
            keeps what is there.
        comm: As for sluice.open().
        options: As for sluice.open(): writers, first_writer, writer_spacing, writer_map, readers,
            tile_bytes, coalesce, budget_bytes, durability, timeout_s, ...

    Raises:
        Error: NOT_FOUND (a FileNotFoundError too), EXISTS, PERMISSION, LOCKED, INVALID_ARGUMENT,
            UNSUPPORTED (storage="mpiio"), IO, MPI.
    """
    return Sessions(path, mode, comm, **options)


class Sessions(OneHandle):
    """An open file of sessions; a context manager that closes it (collective).

    Left by an exception it drops what is not on disk, and the other ranks' polls and waits fail
    instead of wait.

    A session is a range of the file, started by one rank, its home. Whoever has the Session writes
    parts of it in any order; every byte is written once. Callbacks come from poll(), wait(),
    wait_for_reads() and close(), in the thread that opened the file; what they raise is raised
    there.

    Attributes:
        path (str): The file.
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
        """Starts a session. Local; this rank becomes its home.

        Args:
            offset: First byte in the file.
            nbytes: Length in bytes, 0 too.
            complete: Called once, with None when every byte is on disk, else with the Error.
            ready: When reading: called when its beginning is in the readers' memory.
            after: An offset in the file, and bytes that are written there when all others of the
                session are on disk.

        Raises:
            Error: OUT_OF_BOUNDS (beyond the largest file).
        """
        options = ffi.new("sluice_session_options*",
                          {"size": ffi.sizeof("sluice_session_options")})
        place_in_file = (operator.index(offset), operator.index(nbytes))
        number = self._keep()
        self._kept[number] = kept = (ffi.callback("void(void*)", lambda _: self._guarded(ready)),
                                     self._done(number, complete))
        options.ready = kept[0] if ready is not None else ffi.NULL
        options.complete = kept[1]
        if after is not None:
            late = _bytes_of(after[1])
            options.after_offset, options.after_bytes = operator.index(after[0]), late.size
            options.after = ffi.from_buffer(late)
        place = ffi.new("sluice_session*")
        try:
            check(lib.sluice_session_start(self._handle, *place_in_file, options, place))
        except Error:
            del self._kept[number]
            raise
        return Session(place.home, place.number, place.offset, place.bytes)

    def write(self, session: Session, data: Any, offset: int) -> None:
        """Writes bytes of a session. Local; it waits only where the budget is used up.

        Args:
            session: A session of this file.
            data: An array, or anything with a buffer; copied.
            offset: Place in the file, inside the session.

        Raises:
            Error: OUT_OF_BOUNDS (not inside the session), TIMEOUT (no room in the budget).
        """
        memory = _bytes_of(data)
        check(lib.sluice_session_write(self._handle, session._as_c(),
                                       ffi.from_buffer(memory) if memory.size else ffi.NULL,
                                       memory.size, operator.index(offset)))

    def read(self, session: Session, into: np.ndarray, offset: int,
             done: Optional[Done] = None) -> None:
        """Reads bytes of a session. Local.

        Args:
            session: A session of this file.
            into: A dense array that receives the bytes; it must stay as it is until `done` is
                called.
            offset: Place in the file, inside the session.
            done: Called with None, or with the Error; without it wait_for_reads() raises a failure.

        Raises:
            Error: OUT_OF_BOUNDS (not inside the session).
            ValueError: The array is not dense.
        """
        first = operator.index(offset)
        memory = into.reshape(-1).view(np.uint8)
        if memory.size and not np.shares_memory(memory, into):
            raise ValueError("read: the array is not dense")
        number = self._keep()
        call = self._done(number, self._raise if done is None else done)
        self._kept[number] = (call, memory)
        check(lib.sluice_session_read(self._handle, session._as_c(),
                                      ffi.from_buffer(memory) if memory.size else ffi.NULL,
                                      memory.size, first, call, ffi.NULL))

    def end(self, session: Session) -> None:
        """Frees the readers' memory of a session that is read. Local, on its home."""
        check(lib.sluice_session_end(self._handle, session._as_c()))

    def poll(self) -> None:
        """Moves on what can be moved without waiting, and calls back. Local.

        Bytes travel between ranks only inside calls of the library: call it now and then.
        """
        self._calling(lib.sluice_session_file_poll)

    def wait(self, session: Session) -> None:
        """Waits until a session is complete (reading: ready). Local, on its home.

        The other ranks must poll meanwhile.

        Raises:
            Error: The session's failure; TIMEOUT; WRONG_STATE (another rank is its home).
        """
        self._calling(lib.sluice_session_wait, session._as_c())

    def wait_for_reads(self) -> None:
        """Waits until every read of this rank is answered. Local.

        The readers must poll meanwhile.

        Raises:
            Error: The failure of a read without `done`; TIMEOUT.
        """
        self._calling(lib.sluice_session_file_wait_for_reads)

    def close(self, session: Optional[Session] = None) -> None:
        """Waits until a session is complete. No rank may write to it any more. Collective.

        Args:
            session: The session, the same on every rank; None: closes all, and the file.

        Raises:
            Error: HOLE (bytes are missing), OVERLAP (bytes were written twice), NO_SPACE, IO, on
                every rank.
        """
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
        elif self._handle != ffi.NULL:
            free_because(self._handle, reason(line_of(error)))
            handle, self._handle = self._handle, ffi.NULL
            ffi.release(handle)
            self._kept.clear()

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
