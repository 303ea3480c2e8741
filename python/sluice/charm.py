"""Sessions for chares of charm4py: a file of plain bytes that any chare writes or reads.

Example::

    import sluice.charm
    charm.start(main, modules=["sluice.charm"])      # registers the chares of this module

    out = sluice.charm.open("forces.bin", "w", writers=2)      # in a coroutine, on one PE
    done = Future()
    session = out.start(0, nbytes, complete=done)              # on any PE
    ...                     # `out` and `session` travel in your own messages, to any chare
    out.write(session, array, offset)                          # from any chare on any PE
    done.get()                        # every byte is on disk; raises the Error where it is not
    out.close()                                                # in a coroutine, on one PE

The bytes go to the PEs that own the tiles they lie in, as messages of Charm++. A thread of the
library, beside each PE, gathers and writes them. Only open() and close() wait, in their coroutine,
while all else continues.
"""

from __future__ import annotations

import collections
import itertools
import operator
import os
from typing import Any, Callable, Deque, Dict, Iterator, List, Optional, Set, Tuple, Union

import numpy as np
from charm4py import Chare, Future, Group, charm

from ._library import Code, Error, check, ffi, lib, text_of
from ._options import toml_of
from ._sessions import Session, _bytes_of

__all__ = ["File", "Session", "open"]

Complete = Union[Callable[[Optional[Error]], Any], Any]  # a callable, a Future, an entry method

_PERIOD_S = 0.0005  # between two looks at what the library has to say, where nothing came
_numbers = itertools.count()
_here: Dict[Tuple[int, int], "_Service"] = {}  # the open files of this PE, by File.key
_couriers: List[Any] = []  # the group that delivers messages of files opened on this PE, once made


class File:
    """A file of sessions, open on all PEs. A plain value: it may be sent to any chare."""

    def __init__(self, key: Tuple[int, int], path: str, group: Any):
        self.key = key
        self.path = path
        self._group = group

    def start(self, offset: int, nbytes: int, complete: Optional[Complete] = None,
              ready: Optional[Complete] = None,
              after: Optional[Tuple[int, Any]] = None) -> Session:
        """Starts a session. Local, on any PE.

        Args:
            offset: First byte in the file.
            nbytes: Length in bytes, 0 too.
            complete: Called once, with None when every byte is on disk, else with the Error: a
                function, a Future (whose get() raises it), or an entry method of a proxy.
            ready: When reading: the same, when the beginning of the session is in memory.
            after: An offset in the file, and bytes that are written there when all others of the
                session are on disk.
        """
        return self._service("session").start(offset, nbytes, complete, ready, after)

    def write(self, session: Session, data: Any, offset: int) -> None:
        """Writes bytes of a session. Local, from any chare on any PE.

        Where the budget is used up, a coroutine waits, and others run. Another entry method has the
        rest of one write copied beside the budget, and gets OVER_BUDGET for more than one, with
        nothing written.

        Args:
            session: A session of this file.
            data: An array, or anything with a buffer; copied.
            offset: Place in the file, inside the session.

        Raises:
            Error: OUT_OF_BOUNDS (not inside the session), OVER_BUDGET.
        """
        self._service("write").write(session, operator.index(offset), _bytes_of(data))

    def read(self, session: Session, into: np.ndarray, offset: int,
             done: Optional[Complete] = None) -> None:
        """Reads bytes of a session.

        Args:
            session: A session of this file.
            into: A dense array that receives the bytes.
            offset: Place in the file, inside the session.
            done: Called with None, or with the Error; `into` must stay until then. Without it the
                call returns when the array is full, in a coroutine.

        Raises:
            Error: OUT_OF_BOUNDS (not inside the session); without `done` what the read met.
        """
        service = self._service("read")
        if done is not None:
            service.read(session, offset, into, done)
            return
        full = Future()
        service.read(session, offset, into, full)
        full.get()  # raises an Error that it gets

    def close(self) -> None:
        """Completes all sessions, and closes the file on all PEs. In a coroutine, once.

        No chare may write any more.

        Raises:
            Error: The failure of any session: HOLE (bytes are missing), OVERLAP (bytes were written
                twice).
        """
        failure = _failure_of_all(lambda done: self._group.close(self.key, done))
        self._group.forget(self.key)
        if failure is not None:
            raise failure

    def _service(self, what: str) -> "_Service":
        service = _here.get(self.key)
        if service is None:
            raise Error(Code.WRONG_STATE,
                        f"{self.path}: {what}: is not open on PE {charm.myPe()}")
        return service


def open(path: Union[str, "os.PathLike[str]"], mode: str = "r", **options: Any) -> File:
    """Opens a file of sessions on all PEs. In a coroutine, on one PE.

    Args:
        path: The file; a relative path is one of this PE.
        mode: As for sluice.open_sessions().
        options: As for sluice.open_sessions().

    Returns:
        The file, when all PEs have opened it.

    Raises:
        Error: As sluice.open_sessions(); WRONG_STATE (the chares of this module are not
            registered).
    """
    if _Courier not in charm.registered:
        raise Error(Code.WRONG_STATE, "open: the chares of this module are not registered: "
                                      'charm.start(..., modules=["sluice.charm"])')
    if not _couriers:
        _couriers.append(Group(_Courier))
    group = _couriers[0]
    file = File((charm.myPe(), next(_numbers)), os.path.abspath(os.fspath(path)), group)
    failure = _failure_of_all(
        lambda done: group.open(file.key, file.path, mode, toml_of(options), done))
    if failure is not None:
        group.forget(file.key)
        raise failure
    return file


def _failure_of_all(ask: Callable[[Any], None]) -> Optional[Error]:
    """Waits until every PE has answered None or an Error; an Error, if there was any."""
    done = Future(charm.numPes())
    ask(done)
    try:
        done.get()  # raises one of them, when all have come
    except Error as failure:
        return failure
    return None


class _Courier(Chare):
    """On each PE: delivers the messages between the PEs of an open file."""

    def __init__(self) -> None:
        self._services: Dict[Tuple[int, int], "_Service"] = {}
        self._early: Dict[Tuple[int, int], List[bytes]] = {}  # messages that came before their file
        self._ended: Set[Tuple[int, int]] = set()
        self._is_polling = False

    def open(self, key: Tuple[int, int], path: str, mode: str, options: str, done: Any) -> None:
        """Begins to open a file; `done` gets None, or the Error."""
        try:
            service = _Service(path, mode, options, done)
        except Error as error:
            done.send(error)
            return
        self._services[key] = _here[key] = service
        for message in self._early.pop(key, []):
            service.deliver(message)
        if not self._is_polling:
            self._is_polling = True
            self.poll()

    def receive(self, key: Tuple[int, int], message: bytes) -> None:
        """Of the same file on another PE."""
        service = self._services.get(key)
        if service is not None:
            service.deliver(message)
            self._move(key, service)
        elif key not in self._ended:
            self._early.setdefault(key, []).append(message)

    def close(self, key: Tuple[int, int], done: Any) -> None:
        """Begins to close a file; `done` gets None, or the Error."""
        service = self._services.get(key)
        if service is None:
            done.send(Error(Code.WRONG_STATE, f"close: is not open on PE {charm.myPe()}"))
        else:
            service.close(done)

    def forget(self, key: Tuple[int, int]) -> None:
        """No PE needs it any more."""
        self._ended.add(key)
        self._early.pop(key, None)
        _here.pop(key, None)
        service = self._services.pop(key, None)
        if service is not None:
            service.free()

    def poll(self) -> None:
        """Advances its files, and runs again as long as there are any."""
        for key, service in list(self._services.items()):
            if key in self._services:  # a callback may have ended it
                self._move(key, service)
        self._is_polling = bool(self._services)
        if self._is_polling:
            charm.scheduleCallableAfter(self.poll, _PERIOD_S)

    def _move(self, key: Tuple[int, int], service: "_Service") -> None:
        for to, message in service.messages():
            self.thisProxy[to].receive(key, message)
        service.write_left()
        service.dispatch()


class _Service:
    """A file on this PE: the library's service, and the callbacks of its events."""

    def __init__(self, path: str, mode: str, options: str, opened: Complete):
        place = ffi.new("sluice_service**")
        check(lib.sluice_service_open(charm.myPe(), charm.numPes(), os.fsencode(path),
                                      mode.encode(), options.encode(), place))
        self._handle = place[0]
        self._path = path
        self._calls: Dict[Tuple[int, int], Complete] = {(lib.SLUICE_EVENT_OPENED, 0): opened}
        self._kept: Dict[int, np.ndarray] = {}  # what reads fill, by number
        self._left: Deque[Tuple[Session, int, np.ndarray]] = collections.deque()
        self._reads = 0
        self._is_closing = False

    def free(self) -> None:
        lib.sluice_service_free(self._handle)
        self._handle = ffi.NULL

    def messages(self) -> Iterator[Tuple[int, bytes]]:
        """Those that wait to be sent, each with its destination PE."""
        to, message, nbytes = ffi.new("int*"), ffi.new("const void**"), ffi.new("int64_t*")
        while self._handle != ffi.NULL:
            check(lib.sluice_service_next_outgoing(self._handle, to, message, nbytes))
            if nbytes[0] == 0:
                return
            yield to[0], bytes(ffi.buffer(message[0], nbytes[0]))

    def deliver(self, message: bytes) -> None:
        check(lib.sluice_service_deliver(self._handle, ffi.from_buffer(message), len(message)))

    def dispatch(self) -> None:
        """Calls whom the events are for."""
        event = ffi.new("sluice_event*")
        while self._handle != ffi.NULL:
            check(lib.sluice_service_next(self._handle, event))
            if event.kind == lib.SLUICE_EVENT_NONE:
                return
            failure = None
            if event.code != lib.SLUICE_OK:
                failure = Error(event.code, text_of(event.message))
            if event.kind == lib.SLUICE_EVENT_READ:
                self._kept.pop(event.number, None)
            call = self._calls.pop((event.kind, event.number), None)
            if call is not None:
                call(failure)

    def start(self, offset: int, nbytes: int, complete: Optional[Complete],
              ready: Optional[Complete], after: Optional[Tuple[int, Any]]) -> Session:
        options = ffi.new("sluice_session_options*", {"size": ffi.sizeof("sluice_session_options")})
        if after is not None:
            late = _bytes_of(after[1])
            options.after_offset, options.after_bytes = operator.index(after[0]), late.size
            options.after = ffi.from_buffer(late)
        place = ffi.new("sluice_session*")
        check(lib.sluice_service_start(self._handle, operator.index(offset),
                                       operator.index(nbytes), options, place))
        for kind, call in ((lib.SLUICE_EVENT_COMPLETE, complete), (lib.SLUICE_EVENT_READY, ready)):
            if call is not None:
                self._calls[kind, place.number] = call
        return Session(place.home, place.number, place.offset, place.bytes)

    def write(self, session: Session, offset: int, memory: np.ndarray) -> None:
        may_wait = not charm.threadMgr.isMainThread()
        while self._left:
            if not may_wait:
                raise Error(Code.OVER_BUDGET,
                            f"{self._path}: write: the budget is used up, and this entry method "
                            "cannot wait: make it a coroutine (@coro), or raise the budget")
            charm.sleep(_PERIOD_S)
        taken = self._write_some(session, offset, memory)
        while may_wait and taken < memory.size:
            charm.sleep(_PERIOD_S)
            taken += self._write_some(session, offset + taken, memory[taken:])
        if taken < memory.size:
            self._left.append((session, offset + taken, memory[taken:].copy()))

    def write_left(self) -> None:
        """What entry methods that could not wait have left to be written: at most the rest of one
        write."""
        while self._left:
            session, offset, memory = self._left.popleft()
            taken = self._write_some(session, offset, memory)
            if taken < memory.size:
                self._left.appendleft((session, offset + taken, memory[taken:]))
                return
        if self._is_closing:
            self._is_closing = False
            check(lib.sluice_service_close(self._handle))

    def _write_some(self, session: Session, offset: int, memory: np.ndarray) -> int:
        taken = ffi.new("int64_t*")
        check(lib.sluice_service_write(self._handle, session._as_c(),
                                       ffi.from_buffer(memory) if memory.size else ffi.NULL,
                                       memory.size, offset, taken))
        return taken[0]

    def read(self, session: Session, offset: int, into: np.ndarray, done: Complete) -> None:
        memory = into.reshape(-1).view(np.uint8)
        if memory.size and not np.shares_memory(memory, into):
            raise ValueError("read: the array is not dense")
        self._reads += 1
        check(lib.sluice_service_read(self._handle, session._as_c(),
                                      ffi.from_buffer(memory) if memory.size else ffi.NULL,
                                      memory.size, operator.index(offset), self._reads))
        self._kept[self._reads] = memory
        self._calls[lib.SLUICE_EVENT_READ, self._reads] = done

    def close(self, closed: Complete) -> None:
        self._calls[lib.SLUICE_EVENT_CLOSED, 0] = closed
        self._is_closing = True
