"""The state of a run, saved now and then, and restored on any number of ranks."""

from __future__ import annotations

import os
from typing import Any, List, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

from ._library import Code, Error, c_text, check, check_open, ffi, fortran_handle, is_alone, lib
from ._library import text_of
from ._options import toml_of
from ._types import address, as_ids, as_shape, numbers, storable, type_of

_free = lib.sluice_checkpoint_free  # looked up before a finalizer needs it


class Restored(NamedTuple):
    """What restore() took."""

    number: int  #: from 1, as save() counts; 0: there was no checkpoint
    time: float  #: given to save()
    ranks: int  #: that wrote it
    newer: Tuple[str, ...]  #: why newer ones were not taken, the newest first
    kept: Tuple[str, ...]  #: names of bytes that other ranks had saved, which stay as they are

    def __bool__(self) -> bool:
        return self.number != 0


class Saved(NamedTuple):
    """What save() did."""

    number: int  #: of the checkpoint; 0: it could not be written
    seconds: float  #: in the call, on the slowest rank
    why: str  #: it could not be written; the last good one is still there

    def __bool__(self) -> bool:
        return self.number != 0


class Text:
    """A text that is saved and restored: its `value`."""

    def __init__(self, value: str, most_bytes: int):
        self._room = ffi.new("char[]", int(most_bytes) + 1)
        self.value = value

    @property
    def value(self) -> str:
        return text_of(self._room)

    @value.setter
    def value(self, value: str) -> None:
        encoded = c_text(value, "text")
        if len(encoded) >= len(self._room):
            raise Error(Code.OVERFLOW, f"a text of {len(encoded)} bytes, but room for "
                                       f"{len(self._room) - 1}: register it with more most_bytes")
        ffi.memmove(self._room, encoded + b"\0", len(encoded) + 1)


class Checkpoint:
    """Checkpoints of one file. Use it as a context manager: leaving it closes (collective).

        with sluice.Checkpoint("state.h5", comm=MPI.COMM_WORLD) as state:
            state.array("u", u, shape=(rows, columns), start=(first, 0))
            step = state.value("step", 0)      # a numpy array of one number
            state.restore()                    # into u and step, in place
            for step[()] in range(int(step), steps):
                if state.due():
                    state.save(time=dt * step)
                if state.ending:               # SIGTERM, SIGUSR1, or the end of the job's time
                    break

    path: the file. comm: as for sluice.open(). keep: the last so many checkpoints stay; 0: all.
    stop_on_failed_save: save() raises what it meets; else it says so in what it returns.
    When due() is true: interval_s seconds after the last one; at every so many-th call
    (interval_calls); without either by what a checkpoint costs and how often the job fails
    (failure_interval_s; 0: five years divided by the nodes), by Daly's formula.
    end_time_s: when the job will be killed, in seconds since 1970 (0: by SLURM_JOB_END_TIME;
    negative: never); margin_s before it the last one is due (0: by what was measured).
    signals: SIGTERM and SIGUSR1 make the last one due. options: of the file, as sluice.open() has.
    """

    def __init__(self, path: Union[str, "os.PathLike[str]"], comm: Any = None, *, keep: int = 2,
                 stop_on_failed_save: bool = False, interval_s: float = 0, interval_calls: int = 0,
                 failure_interval_s: float = 0, end_time_s: float = 0, margin_s: float = 0,
                 signals: bool = True, **options: Any):
        self._handle = ffi.NULL
        self._memory: dict = {}  # what the library reads and writes, by its name
        self.path = os.fspath(path)
        lines = ffi.new("char[]", c_text(toml_of(options), "options"))
        asked = ffi.new("sluice_checkpoint_options*", {
            "size": ffi.sizeof("sluice_checkpoint_options"), "keep": keep,
            "stop_on_failed_save": int(stop_on_failed_save), "ignore_signals": int(not signals),
            "interval_s": interval_s, "interval_calls": interval_calls,
            "failure_interval_s": failure_interval_s, "end_time_s": end_time_s,
            "margin_s": margin_s, "file_options": lines})
        place = ffi.new("sluice_checkpoint**")
        name = c_text(os.fsencode(self.path), "path")
        if is_alone(comm, self.path, "w"):
            check_open(lib.sluice_checkpoint_open_serial(name, asked, place), self.path)
        else:
            check_open(lib.sluice_checkpoint_open_f(fortran_handle(comm), name, asked, place),
                       self.path)
        self._handle = place[0]

    # -- what the state is ------------------------------------------------------------------------

    def array(self, name: str, data: np.ndarray, shape: Any = None,
              start: Optional[Sequence[int]] = None) -> None:
        """This rank's part of an array of all ranks, of global `shape` (default: data's own), which
        begins at `start` (zeros). `data` is read by save() and written by restore(), in place: an
        array of a stored type, dense, or a part of one such as u[1:-1, 1:-1]. Registered again
        under its name it has a new place. Local."""
        memory = _writable(name, data)
        extents = as_shape(memory.shape if shape is None else shape)
        starts = (0,) * memory.ndim if start is None else as_shape(start)
        if len(starts) != memory.ndim:
            raise Error(Code.INVALID_ARGUMENT,
                        f"checkpoint: {name}: start {starts} for data of shape {memory.shape}")
        selection = ffi.new("sluice_selection*", {"size": ffi.sizeof("sluice_selection")})
        kept = [numbers(starts), numbers(memory.shape), numbers(memory.strides)]
        selection.start, selection.count, selection.stride_bytes = kept
        self._add(name, memory, lib.sluice_checkpoint_array_selection(
            self._handle, c_text(name, "checkpoint"), type_of(memory.dtype), address(memory),
            len(extents), numbers(extents), selection))

    def rows(self, name: str, data: np.ndarray, shape: Any, ids: Any) -> None:
        """Rows by global index: data[i] is row ids[i] of an array of all ranks. Local."""
        memory = _writable(name, data)
        wanted = as_ids(ids)
        extents = as_shape(shape)
        if not memory.flags.c_contiguous or memory.shape != (wanted.size,) + extents[1:]:
            raise Error(Code.INVALID_ARGUMENT,
                        f"checkpoint: {name}: {wanted.size} ids need a dense array of shape "
                        f"{(wanted.size,) + extents[1:]}, not {memory.shape}")
        self._add(name, memory, lib.sluice_checkpoint_rows(
            self._handle, c_text(name, "checkpoint"), type_of(memory.dtype), address(memory),
            len(extents), numbers(extents), wanted.size,
            ffi.cast("int64_t*", wanted.ctypes.data)))

    def value(self, name: str, initial: Any) -> np.ndarray:
        """One value that is alike on every rank: a numpy array without dimensions, which holds
        `initial` and is saved and restored. Local."""
        memory = np.array(initial, dtype=storable(np.asarray(initial).dtype))
        if memory.ndim != 0:
            raise Error(Code.INVALID_ARGUMENT,
                        f"checkpoint: {name}: one value, not {memory.size}: use array()")
        self._add(name, memory, lib.sluice_checkpoint_value(
            self._handle, c_text(name, "checkpoint"), type_of(memory.dtype), address(memory)))
        return memory

    def text(self, name: str, initial: str = "", most_bytes: int = 256) -> Text:
        """A text that is alike on every rank, of at most so many bytes (UTF-8). Local."""
        memory = Text(initial, most_bytes)
        self._add(name, memory, lib.sluice_checkpoint_text(
            self._handle, c_text(name, "checkpoint"), memory._room, int(most_bytes)))
        return memory

    def bytes(self, name: str, data: Any, keep_on_other_ranks: bool = False) -> None:
        """Bytes of this rank, such as a random generator's state: a bytearray or an array, of the
        same size on every rank. Another number of ranks cannot restore them: that is Error
        UNSUPPORTED, or they stay as they are. Local."""
        view = memoryview(data)
        if view.readonly or not view.c_contiguous:
            raise Error(Code.INVALID_ARGUMENT,
                        f"checkpoint: {name}: restore() writes into it: give a bytearray or a "
                        "dense array")
        memory = ffi.from_buffer(view, require_writable=True)
        self._add(name, (data, memory), lib.sluice_checkpoint_bytes(
            self._handle, c_text(name, "checkpoint"), memory, view.nbytes,
            int(keep_on_other_ranks)))

    def _add(self, name: str, memory: Any, code: int) -> None:
        check(code)
        self._memory[name] = memory

    # -- saving and restoring ---------------------------------------------------------------------

    def restore(self) -> Restored:
        """Brings back the newest checkpoint of which every registered value can be read and matches
        its checksum; false where there is no file. Error DAMAGED where none of them is good;
        NOT_FOUND, TYPE_MISMATCH, INVALID_ARGUMENT where the file holds something else than what is
        registered. Before the first save(). Collective."""
        taken = ffi.new("sluice_restored*", {"size": ffi.sizeof("sluice_restored")})
        check(lib.sluice_checkpoint_restore(self._handle, taken))
        return Restored(taken.number, taken.time, taken.ranks, _lines(taken.why),
                        _lines(taken.kept))

    def save(self, time: float) -> Saved:
        """Saves a checkpoint; `time` is stored with it. A failure leaves the checkpoints before it,
        and is in what is returned, the same on every rank. Collective."""
        done = ffi.new("sluice_saved*", {"size": ffi.sizeof("sluice_saved")})
        check(lib.sluice_checkpoint_save(self._handle, float(time), done))
        return Saved(done.number, done.seconds, text_of(done.why))

    def due(self) -> bool:
        """Is a checkpoint due? The same on every rank. Once a step. Collective."""
        return self._answer(lib.sluice_checkpoint_due)

    @property
    def ending(self) -> bool:
        """Is the job about to end, as the last due() found?"""
        return self._answer(lib.sluice_checkpoint_ending)

    def drain(self, seconds: float) -> bool:
        """Strategy forward: waits at most so long until what was saved is on stable storage.
        Collective."""
        return self._answer(lambda *words: lib.sluice_checkpoint_drain(words[0], seconds, words[1]))

    def close(self) -> None:
        """Collective."""
        check(lib.sluice_checkpoint_close(self._handle))
        self._memory.clear()

    def _answer(self, call: Any) -> bool:
        place = ffi.new("int32_t*")
        check(call(self._handle, place))
        return bool(place[0])

    def __enter__(self) -> "Checkpoint":
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if kind is None:
            self.close()
        else:
            self._give_back()

    def __del__(self) -> None:
        self._give_back()

    def _give_back(self) -> None:
        handle, self._handle = self._handle, ffi.NULL
        _free(handle)

    def __repr__(self) -> str:
        return f"<sluice.Checkpoint {self.path!r}>"


def _writable(name: str, data: Any) -> np.ndarray:
    if not isinstance(data, np.ndarray) or not data.flags.writeable:
        raise Error(Code.INVALID_ARGUMENT,
                    f"checkpoint: {name}: restore() writes into it: give a numpy array that is "
                    "writeable")
    if data.dtype != storable(data.dtype):
        raise Error(Code.TYPE_MISMATCH,
                    f"checkpoint: {name}: {data.dtype} is stored as {storable(data.dtype)}: "
                    "register an array of that type")
    return data


def _lines(text: Any) -> Tuple[str, ...]:
    lines: List[str] = text_of(text).splitlines()
    return tuple(lines)
