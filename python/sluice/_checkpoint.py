"""The state of a run, saved now and then, and restored on any number of ranks."""

from __future__ import annotations

import contextlib
import difflib
import inspect
import operator
import os
from typing import (Any, Callable, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Tuple,
                    Union)

import numpy as np

from ._library import (Code, Error, OneHandle, c_text, check, check_open, ffi, fortran_handle,
                       free_because, given_up, is_alone, lib, line_of, reason, text_of)
from ._options import toml_of
from ._registered import in_c_order, refuse_mask, type_in_file, writable
from ._types import address, as_ids, as_shape, numbers, storable

_free = lib.sluice_checkpoint_free  # looked up before a finalizer needs it


class Restored(NamedTuple):
    """What Checkpoint.restore() took. False where there was no checkpoint.

    Attributes:
        number (int): Number of the checkpoint, from 1; 0: there was none.
        time (float): What save() got.
        ranks (int): Number of ranks that saved it.
        newer (tuple of str): Why newer ones were not taken, the newest first.
        kept (tuple of str): Names of bytes that another number of ranks had saved.
    """

    number: int
    time: float
    ranks: int
    newer: Tuple[str, ...]
    kept: Tuple[str, ...]

    def __bool__(self) -> bool:
        return self.number != 0


class Saved(NamedTuple):
    """What Checkpoint.save() did. False where the checkpoint could not be written.

    Attributes:
        number (int): Number of the checkpoint; 0: it could not be written.
        seconds (float): Time in the call, on the slowest rank.
        why (str): Why it could not be written; the last good one is still there.
        lost (str): Why the checkpoint before it was lost on its way to the disk, where a thread of
            the library writes it (strategy `forward`); else "". That of the last save is an error
            of drain() and close().
    """

    number: int
    seconds: float
    why: str
    lost: str

    def __bool__(self) -> bool:
        return self.number != 0


class Text:
    """A text that is saved and restored.

    Attributes:
        value (str): The text.
    """

    def __init__(self, value: str, most_bytes: int, name: str):
        self._what = f"checkpoint: {name}: "
        self._room = ffi.new("char[]", operator.index(most_bytes) + 1)
        self.value = value

    @property
    def value(self) -> str:
        return text_of(self._room)

    @value.setter
    def value(self, value: str) -> None:
        encoded = c_text(value, self._what + "text")
        if len(encoded) >= len(self._room):
            raise Error(Code.OVERFLOW, f"{self._what}a text of {len(encoded)} bytes, but room for "
                                       f"{len(self._room) - 1}: register it with more most_bytes")
        ffi.memmove(self._room, encoded + b"\0", len(encoded) + 1)


class Checkpoint(OneHandle):
    """The state of a run and its file; a context manager that closes it (collective).

    Left by an exception it writes nothing more, and the other ranks' collective calls fail instead
    of wait.

    What is registered is alike on every rank, in the same order, but for memory and places. New
    names come before the first save (WRONG_STATE): a checkpoint holds everything. The
    file need not be there: restore() and save() open it. Collective over `comm`::

        with sluice.Checkpoint("state.h5", comm=MPI.COMM_WORLD) as state:
            state.array("u", u, shape=(rows, columns), start=(first, 0))
            step = state.value("step", 0)      # a numpy array of one number
            state.restore()                    # into u and step, in place
            for step[()] in range(int(step), steps):
                if state.due():
                    state.save(time=dt * step)
                if state.ending:               # SIGTERM, SIGUSR1, or the end of the job's time
                    break
                advance(u)

    Args:
        path: The file, the same on every rank.
        comm: As for sluice.open().
        keep: The last so many checkpoints stay; 0: all, in one file. Default: 2.
        stop_on_failed_save: save() raises what it meets; else it says so in what it returns.
            Default: False.
        interval_s: A checkpoint is due so long after the last one. Default: 0, not by the clock.
            Without interval_s and interval_calls the interval follows from what a checkpoint costs
            and how often the job fails, by Daly's formula.
        interval_calls: One is due at every so many-th call of due(). Default: 0, not by calls.
        failure_interval_s: Mean time between failures of the whole job. Default: 0, five years
            divided by its nodes.
        end_time_s: When the job will be killed, in seconds since 1970; negative: never. Default: 0,
            what SLURM_JOB_END_TIME says, if it is set.
        margin_s: The last checkpoint is due so long before that. Default: 0, by what was measured.
        signals: SIGTERM and SIGUSR1 make the last checkpoint due. Default: True.
        scratch: Node-local storage, such as "$TMPDIR": a checkpoint is written there, and drained
            in the background while the run goes on. Default: "", to the file at once.
        incremental: A save leaves out what no rank has changed since the checkpoint before the last
            one, and refers to its bytes there; it needs keep, and excludes split_steps and
            split_bytes. Default: False.
        options: Of the file, as for sluice.open(), but neither keep_last nor restart_after. Where
            parts lie and which stay is changed only here and in the file's own table of
            sluice.toml.

    Raises:
        Error: INVALID_ARGUMENT (an option), UNSUPPORTED (a format or an object store that cannot
            keep the last few only), MPI.

    Attributes:
        path (str): The file.
    """

    def __init__(self, path: Union[str, "os.PathLike[str]"], comm: Any = None, *, keep: int = 2,
                 stop_on_failed_save: bool = False, interval_s: float = 0, interval_calls: int = 0,
                 failure_interval_s: float = 0, end_time_s: float = 0, margin_s: float = 0,
                 signals: bool = True, scratch: Union[str, "os.PathLike[str]"] = "",
                 incremental: bool = False, **options: Any):
        self._handle = ffi.NULL
        self._memory: dict = {}  # what the library reads and writes, by its name
        self._copies: dict = {}  # (array of the program, its copy in C's order), by its name
        self._has_given_up = False  # messages: no call of ranks together is possible any more
        self.path = os.fspath(path)
        lines = ffi.new("char[]", c_text(toml_of(options), "options"))
        folder = ffi.new("char[]", c_text(os.fsencode(scratch), "scratch"))
        asked = ffi.new("sluice_checkpoint_options*", {
            "size": ffi.sizeof("sluice_checkpoint_options"),
            "keep": operator.index(keep - (keep <= 0)),  # in C -1 is all, less is wrong
            "stop_on_failed_save": int(stop_on_failed_save), "ignore_signals": int(not signals),
            "interval_s": interval_s, "interval_calls": operator.index(interval_calls),
            "failure_interval_s": failure_interval_s, "end_time_s": end_time_s,
            "margin_s": margin_s, "file_options": lines, "scratch": folder,
            "incremental": int(incremental)})
        place = ffi.new("sluice_checkpoint**")
        name = c_text(os.fsencode(self.path), "path")
        alone = is_alone(comm, self.path, "w")
        try:
            if alone:
                check_open(lib.sluice_checkpoint_open_serial(name, asked, place), self.path)
            else:
                check_open(lib.sluice_checkpoint_open_f(fortran_handle(comm), name, asked, place),
                           self.path)
        except Error as error:
            raise _with_keyword(error, options) from None
        self._handle = place[0]

    # -- what the state is ------------------------------------------------------------------------

    def array(self, name: str, data: np.ndarray, shape: Any = None,
              start: Optional[Sequence[int]] = None) -> None:
        """Registers this rank's part of an array of all ranks, by its place. Local.

        The parts do not overlap and leave no holes. Registered again under its name an array has a
        new place.

        Args:
            name: Name in the file; "/" makes groups.
            data: The part, which save() reads and restore() writes in place: a writeable array of a
                stored type, dense, or a part of one such as u[1:-1, 1:-1]. Of one in another
                order, such as Fortran's, the package keeps a copy in C's order.
            shape: Shape of the whole array. Default: that of data.
            start: First element of the part. Default: zeros.

        Raises:
            Error: EXISTS (with another type or shape), BAD_NAME, TYPE_MISMATCH (a type that is
                stored as another), INVALID_ARGUMENT, UNSUPPORTED (other gaps than ghost cells),
                OUT_OF_BOUNDS.
        """
        with self._passing_on_refusal_of(name):
            memory = in_c_order(writable(name, data))
            extents = as_shape(memory.shape if shape is None else shape)
            starts = (0,) * memory.ndim if start is None else as_shape(start)
            if len(extents) != memory.ndim or len(starts) != memory.ndim:
                raise Error(Code.INVALID_ARGUMENT,
                            f"checkpoint: {name}: shape {extents} and start {starts} for data of "
                            f"shape {memory.shape}: each needs {memory.ndim} numbers")
            selection = ffi.new("sluice_selection*", {"size": ffi.sizeof("sluice_selection")})
            kept = [numbers(starts), numbers(memory.shape), numbers(memory.strides)]
            selection.start, selection.count, selection.stride_bytes = kept
            given = (type_in_file(name, memory), address(memory), len(extents), numbers(extents))
        self._add(name, memory, lib.sluice_checkpoint_array_selection, *given, selection)
        self._copies.pop(name, None)
        if memory is not data:
            self._copies[name] = (data, memory)

    def rows(self, name: str, ids: Any, data: np.ndarray, shape: Any) -> None:
        """Registers rows of an array of all ranks, by global index. Local.

        Each row belongs to exactly one rank. What was saved by rows may be restored by place, and
        the other way round.

        Args:
            name: Name in the file; "/" makes groups.
            ids: The global index of each row, from 0; copied.
            data: data[i] is row ids[i]; a dense writeable array.
            shape: Shape of the whole array.

        Raises:
            Error: As array().
        """
        with self._passing_on_refusal_of(name):
            memory = writable(name, data)
            wanted = as_ids(ids)
            extents = as_shape(shape)
            if not memory.flags.c_contiguous or len(extents) != memory.ndim or \
                    memory.shape != (wanted.size,) + extents[1:]:
                raise Error(Code.INVALID_ARGUMENT,
                            f"checkpoint: {name}: {wanted.size} ids need a dense array of shape "
                            f"{(wanted.size,) + extents[1:]}, not {memory.shape}")
            given = (type_in_file(name, memory), address(memory), len(extents), numbers(extents))
        self._add(name, memory, lib.sluice_checkpoint_rows, *given, wanted.size,
                  ffi.cast("int64_t*", wanted.ctypes.data))

    def value(self, name: str, initial: Any) -> np.ndarray:
        """Registers one value that is alike on every rank; rank 0's is saved. Local.

        Args:
            name: Name in the file.
            initial: The value, as long as nothing is restored.

        Returns:
            numpy.ndarray: An array without dimensions, which is saved and restored in place.

        Raises:
            Error: As array().
        """
        with self._passing_on_refusal_of(name):
            refuse_mask(name, initial)
            memory = np.array(initial, dtype=storable(np.asarray(initial).dtype))
            if memory.ndim != 0:
                raise Error(Code.INVALID_ARGUMENT,
                            f"checkpoint: {name}: one value, not {memory.size}: use array()")
            given = (type_in_file(name, memory), address(memory))
        self._add(name, memory, lib.sluice_checkpoint_value, *given)
        return memory

    def text(self, name: str, initial: str = "", most_bytes: int = 256) -> Text:
        """Registers a text that is alike on every rank; rank 0's is saved. Local.

        Args:
            name: Name in the file.
            initial: The text, as long as nothing is restored.
            most_bytes: The space for it in the file, in bytes of UTF-8.

        Returns:
            An object whose attribute `value` is the text.

        Raises:
            Error: As array(); OVERFLOW (a longer text).
        """
        with self._passing_on_refusal_of(name):
            memory = Text(initial, most_bytes, name)
        self._add(name, memory, lib.sluice_checkpoint_text, memory._room, len(memory._room) - 1)
        return memory

    def bytes(self, name: str, data: Any, keep_on_other_ranks: bool = False) -> None:
        """Registers bytes of this rank, such as the state of a random generator. Local.

        Args:
            name: Name in the file.
            data: A bytearray or a dense writeable array, of the same size on every rank.
            keep_on_other_ranks: The bytes stay as they are where another number of ranks restores
                them; else restore() then raises UNSUPPORTED.

        Raises:
            Error: As array().
        """
        with self._passing_on_refusal_of(name):
            refuse_mask(name, data)
            view = memoryview(data)
            if view.readonly or not view.c_contiguous:
                raise Error(Code.INVALID_ARGUMENT,
                            f"checkpoint: {name}: restore() writes into it: give a bytearray or a "
                            "dense array")
            memory = ffi.from_buffer(view, require_writable=True)
            given = (memory, view.nbytes, int(keep_on_other_ranks))
        self._add(name, (data, memory), lib.sluice_checkpoint_bytes, *given)

    @contextlib.contextmanager
    def _passing_on_refusal_of(self, name: Any) -> Iterator[None]:
        """Around checks before the library is called: what they refuse it must not save as it was
        registered before. Type 0 tells it."""
        try:
            yield
        except Exception:
            with contextlib.suppress(Error, TypeError):  # of the name
                check(lib.sluice_checkpoint_array_selection(
                    self._handle, c_text(name, "checkpoint"), 0, ffi.NULL, 0, ffi.NULL, ffi.NULL))
            raise

    def _add(self, name: str, memory: Any, register: Callable[..., int], *arguments: Any) -> None:
        before = self._memory.get(name)
        # Both, as an exception such as KeyboardInterrupt may come between any two lines.
        self._memory[name] = (before, memory)
        try:
            check(register(self._handle, c_text(name, "checkpoint"), *arguments))
        except Exception:
            self._memory[name] = before
            raise
        self._memory[name] = memory

    # -- saving and restoring ---------------------------------------------------------------------

    def restore(self) -> Restored:
        """Brings the newest good checkpoint back into the registered memory. Collective.

        Once, before the first save(). A checkpoint is good if every registered value can be read
        and matches its checksum. Where there is no file, the memory stays as it is. After an
        Error save() does not replace what is there.

        Returns:
            Restored: What was taken; false where there is no file.

        Raises:
            Error: DAMAGED (no checkpoint in the file is good), FORMAT (the file holds none),
                NOT_FOUND, TYPE_MISMATCH, INVALID_ARGUMENT (it holds something else than what is
                registered), UNSUPPORTED (bytes of another number of ranks), WRONG_STATE (a second
                restore, or one after a save).
        """
        taken = ffi.new("sluice_restored*", {"size": ffi.sizeof("sluice_restored")})
        self._fill_copies()  # what is not restored stays as it is
        self._call(lib.sluice_checkpoint_restore, taken)
        for data, memory in self._copies.values():
            data[...] = memory
        return Restored(taken.number, taken.time, taken.ranks, _lines(taken.why),
                        _lines(taken.kept))

    def save(self, time: float) -> Saved:
        """Saves a checkpoint. Collective.

        It returns when the checkpoint is on stable storage (with `scratch`: on that of the nodes);
        with strategy="forward" when the memory may change again. The next save() or drain() then
        waits for the rest, and while `ending` is true it drains by itself. A failure leaves the
        checkpoints before it.

        Without restore() the first one replaces the checkpoints of the file; a file that holds none
        is not replaced (the failure is EXISTS). After a restore() that failed, the failure is
        WRONG_STATE as long as the file is there: choose another name, restore what is there, or
        replace it by a new Checkpoint whose first call of the file is save().

        Args:
            time: Stored with it, in the simulation's unit.

        Returns:
            Saved: What was done, the same on every rank; false where it could not be written.

        Raises:
            Error: TIMEOUT, MPI; with stop_on_failed_save whatever it meets.
        """
        done = ffi.new("sluice_saved*", {"size": ffi.sizeof("sluice_saved")})
        self._fill_copies()
        self._call(lib.sluice_checkpoint_save, float(time), done)
        return Saved(done.number, done.seconds, text_of(done.why), text_of(done.lost))

    def due(self) -> bool:
        """Whether a checkpoint is due; the same on every rank. Collective; call it once a step.

        From the first call on SIGTERM and SIGUSR1 no longer end the process, where the program has
        no handlers of its own: they make a checkpoint due on every rank.
        """
        return self._answer(lib.sluice_checkpoint_due)

    @property
    def ending(self) -> bool:
        """Whether the job is about to end, as the last due() found. Local."""
        return self._answer(lib.sluice_checkpoint_ending)

    def drain(self, seconds: float) -> bool:
        """Waits until what was saved is on stable storage, in the folder of the file. Collective.

        For strategy="forward" and `scratch`; otherwise it is there already.

        Args:
            seconds: The longest wait.

        Returns:
            bool: Whether it is there.

        Raises:
            Error: What the checkpoint met on its way.
        """
        return self._answer(lib.sluice_checkpoint_drain, seconds)

    def close(self) -> None:
        """Closes the file, and gives the program its signals back. Collective.

        Raises:
            Error: What the last checkpoint met on its way; WRONG_STATE (a second close).
        """
        self._call(lib.sluice_checkpoint_close)
        self._memory.clear()
        self._copies.clear()

    def _fill_copies(self) -> None:
        for data, memory in self._copies.values():
            memory[...] = data

    def _call(self, function: Callable[..., int], *arguments: Any) -> None:
        try:
            check(function(self._handle, *arguments))
        except Error as error:
            if error.code in (Code.TIMEOUT, Code.MPI) and not self._has_given_up:
                self._has_given_up = True  # later calls begin no message
                given_up.append((dict(self._memory), dict(self._copies)))
            raise

    def _answer(self, call: Any, *arguments: Any) -> bool:
        place = ffi.new("int32_t*")
        self._call(call, *arguments, place)
        return bool(place[0])

    def __enter__(self) -> "Checkpoint":
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if kind is None:
            self.close()
        else:
            if self._handle != ffi.NULL:
                free_because(self._handle, reason(line_of(error)))
            self._give_back()

    def __del__(self) -> None:
        self._give_back()

    def _give_back(self) -> None:
        handle, self._handle = self._handle, ffi.NULL
        _free(handle)

    def __repr__(self) -> str:
        return f"<sluice.Checkpoint {self.path!r}>"


def _with_keyword(error: Error, options: Iterable[str]) -> Error:
    """The library knows the options of files, and not the arguments of Checkpoint."""
    own = [name for name in inspect.signature(Checkpoint).parameters if name != "options"]
    for name in options:
        text, unknown, _ = str(error).partition(f"there is no option \"{name}\": ")
        near = difflib.get_close_matches(name, own, 1, 0.75)
        if unknown and near:
            return Error(error.code, f"{text}{unknown}did you mean {near[0]}?")
    return error


def _lines(text: Any) -> Tuple[str, ...]:
    lines: List[str] = text_of(text).splitlines()
    return tuple(lines)
