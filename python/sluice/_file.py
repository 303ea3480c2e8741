"""Opening files, writing steps, and what is in a file."""

from __future__ import annotations

import contextlib
import functools
import math
import operator
import os
import threading
import warnings
import weakref
from collections.abc import Mapping
from typing import (Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple, TypeVar, Union,
                    cast)

import numpy as np

from ._attributes import Attributes
from ._definition import options_of
from ._library import (Code, Error, OneHandle, c_text, check, check_open, ffi, fortran_handle, free,
                       free_because, given_up, is_alone, lib, line_of, reason)
from ._open_files import note_lost, note_open, with_advice
from ._options import toml_of
from ._put import put_part, put_rows_by_id, put_rows_joined
from ._shared_failure import SharedFailure
from ._ticket import Ticket
from ._types import as_shape, hand_over, numbers, storable, type_of
from ._variable import Name, Variable

_Call = TypeVar("_Call", bound=Callable[..., Any])


def open(path: Union[str, "os.PathLike[str]"], mode: str = "r", comm: Any = None,
         **options: Any) -> "File":
    """Opens a file. Collective over `comm`.

    Args:
        path: The file, the same on every rank.
        mode: "r" reads; "w" writes under a temporary name and replaces an old file at the first
            commit; "x" as "w", but the file must not exist; "a" adds steps and variables.
        comm: An mpi4py communicator, which is duplicated; "self": this process alone, without MPI;
            None: the same, but an error where it would write as one of several ranks (of mpirun or
            srun), which would all write this file.
        options: As in sluice.toml (docs/settings.md), such as strategy="collective", writers=4,
            budget_bytes=2**28, durability="step", compress="zstd:3".

    Returns:
        The open file, also a context manager.

    Raises:
        Error: NOT_FOUND (a FileNotFoundError too), EXISTS, PERMISSION, LOCKED (another process
            writes it), FORMAT, VERSION, TRUNCATED, DAMAGED, INVALID_ARGUMENT (an option),
            BAD_NAME (a slash at its end, where the format is one file), UNSUPPORTED, IO, MPI
            (mpi4py belongs to another MPI than the one that is loaded).
    """
    return File(path, mode, comm, **options)


def _local(call: _Call) -> _Call:
    """For a local call of File: what it raises makes the commit fail too."""
    @functools.wraps(call)
    def failing(file: "File", *arguments: Any, **named: Any) -> Any:
        with file._lock:
            file._has_uncommitted = True
            try:
                return call(file, *arguments, **named)
            except Exception as error:
                file._fail_commit(error)
                raise

    return cast(_Call, failing)


class File(OneHandle, Mapping):
    """An open file: a mapping from names to variables, and a context manager.

    Leaving the context closes the file (collective). Leaving it by an exception drops what is not
    committed yet, and makes the other ranks' commits fail instead of wait, now and later: each has
    to open the file anew. Several threads may use a file: one call at a time, the others wait. Of
    several ranks only one thread may make collective calls of a file.

    Any call may raise Error WRONG_STATE (the file is closed); any collective call DIVERGENT (the
    ranks do not make the same call), TIMEOUT, MPI, and what another rank met.

    Writing::

        with sluice.open("spins.h5", "w", comm=MPI.COMM_WORLD) as out:
            for t in ...:
                with out.step(time=t):
                    out.put("spins", mine, shape=(atoms, 3), start=(first, 0))

    Reading::

        with sluice.open("spins.h5") as f:
            f["spins"][-1, 10:20]

    Attributes:
        path (str): The file.
        mode (str): How it was opened.
    """

    def __init__(self, path: Union[str, "os.PathLike[str]"], mode: str = "r", comm: Any = None,
                 **options: Any):
        self._handle = ffi.NULL
        # A thread has it around every call of the library on this file, which takes one at a time.
        # Each file has its own: where one waits for other ranks, the others go on.
        self._lock = threading.RLock()
        # What the library reads into at the next perform_gets(): put here before it hears of it, as
        # an exception such as KeyboardInterrupt may come between any two lines.
        self._deferred: List[Tuple[np.ndarray, np.ndarray]] = []
        self._kept: List[Any] = []  # memory that the library reads until the next commit
        self._has_given_up = False  # messages: no call of ranks together is possible any more
        self._shared_failure = SharedFailure()
        # Variables refer to their file, not vice versa: an unreferenced file is released at once,
        # with its lease, not when cycles are collected.
        self._variables: "weakref.WeakValueDictionary[str, Variable]" = \
            weakref.WeakValueDictionary()
        self._indices: Dict[str, int] = {}
        self._defined: Dict[str, Dict[str, Any]] = {}  # in this run, with which options
        self._in_step = False
        self._has_uncommitted = False
        self._process = os.getpid()
        self.path = os.fspath(path)
        self.mode = mode
        if "driver" in options:
            raise Error(Code.INVALID_ARGUMENT, f"{self.path}: no option \"driver\": "
                                               "comm=MPI.COMM_WORLD opens the file on all ranks")
        place = ffi.new("sluice_file**")
        words = (c_text(os.fsencode(self.path), "path"), c_text(mode, "mode"),
                 c_text(toml_of(options), "options"), place)
        alone = is_alone(comm, self.path, mode)
        try:
            if alone:
                check_open(lib.sluice_open_serial(*words), self.path)
            else:
                check_open(lib.sluice_open_f(fortran_handle(comm), *words), self.path)
        except Error as error:
            raise with_advice(error, self.path, mode) from None
        self._handle = place[0]
        self._is_open = True
        self._is_alone = alone
        self._speaks = alone or comm.Get_rank() == 0
        note_open(self)

    # -- describing -------------------------------------------------------------------------------

    @_local
    def define(self, name: str, dtype: Any, shape: Any = (), *, steps: bool = False, unit: str = "",
               description: str = "", partial: bool = False, fill: Any = None,
               dimensions: Union[str, Sequence[str], None] = None,
               chunk: Optional[Sequence[int]] = None,
               varying: bool = False, compress: str = "") -> Variable:
        """Defines a variable. Alike: every rank makes the same call, in the same order.

        The same definition again gives the same variable.

        Args:
            name: Name in the file; "/" makes groups.
            dtype: Type in the file, as numpy takes it.
            shape: Elements in each dimension, without the step.
            steps: Whether it has a value for every step.
            unit: The unit, stored as attribute `units`: what h5py, netCDF and xarray users read as
                attrs["units"].
            description: Words, stored as attribute `long_name`.
            partial: Whether elements may be left out; they read as `fill`.
            fill: One value that `dtype` holds, which elements that are left out have, and which
                the file says (`_FillValue`) also where `partial` is not given. None: zero with
                `partial`, else none.
            dimensions: A name for each dimension, without the step; of one dimension also the name
                itself.
            chunk: Tile of the file in elements; None: chosen from the first step.
            varying: Whether each step has its own number of rows: resize(), put_joined().
            compress: "deflate:6", "zstd:3+noshuffle", "round:10+zstd:3" (floats rounded to so many
                bits), "digits:4+zstd:3", a plugin of HDF5 such as "lz4", "none"; "": as the option
                of the file. See docs/compression.md.

        Raises:
            Error: BAD_NAME, EXISTS (another type, shape or option; "time", where that is the times
                of the steps already), INVALID_ARGUMENT, UNSUPPORTED.
        """
        given = {"steps": steps, "unit": unit, "description": description, "partial": partial,
                 "fill": fill, "dimensions": dimensions, "chunk": chunk, "varying": varying,
                 "compress": compress}
        extents = as_shape(shape)
        options, _kept = options_of(name, extents, given)
        place = ffi.new("sluice_variable*")
        self._call(lib.sluice_define, c_text(name, "define"),
                   type_of(storable(dtype), f"define {name}: "), len(extents), numbers(extents),
                   options, place)
        self._indices[name] = place[0]
        self._defined.setdefault(name, given)
        return self[name]

    @property
    def attrs(self) -> Attributes:
        """The attributes of the file."""
        return Attributes(self, "")

    @_local
    def attrs_of(self, owner: str) -> Attributes:
        """The attributes of a variable, a group, or the times of the steps. Local.

        Example::

            out.attrs_of("time")["units"] = "ps"

        Args:
            owner: Name of the variable or group; "time".
        """
        return Attributes(self, owner)

    # -- writing ----------------------------------------------------------------------------------

    def step(self, time: float = math.nan) -> "Step":
        """A step as a context manager.

        Leaving it commits (collective). Leaving it by an exception abandons it on every rank: the
        others get an Error from the end of theirs, and the file holds the steps before it::

            with out.step(time=t):
                out.put(...)

        Args:
            time: Time of the step in the simulation's unit, of which rank 0's is stored; NaN: none.
        """
        return Step(self, time)

    @_local
    def begin_step(self, time: float = math.nan) -> None:
        """Begins a step. Local.

        Args:
            time: As for step().

        Raises:
            Error: WRONG_STATE (the step before has not ended), UNSUPPORTED (the format stores no
                times).
        """
        self._call(lib.sluice_begin_step, time)
        self._in_step = True

    def end_step(self) -> Ticket:
        """Writes and commits the step. Collective. Arrays that were put may change afterwards.

        On failure the file holds the steps before this one, and the next step may be tried. What
        was put before the step, to variables without steps, is kept for the next commit; where it
        cannot be, the error says so.

        Returns:
            The receipt of the step.

        Raises:
            Error: What a put of this step met on any rank; OVERLAP, HOLE, DUPLICATE_ROW,
                MISSING_ROW, NO_SPACE, IO, OVER_BUDGET.
        """
        with self._lock:
            self._in_step = False
            return self._commit(lib.sluice_end_step)

    def abandon_step(self, why: str = "") -> None:
        """Ends the step without committing it, on a rank that cannot go on.

        Collective with the other ranks' end_step() (outside a step: flush() or close()), which
        fails. What was put before the step, to variables without steps, is kept for the next
        commit.

        Args:
            why: The reason, for the message.

        Raises:
            Error: WRONG_STATE (what was put before the step could not be kept: put it again).
        """
        with self._lock:
            self._in_step = False
            try:
                self._together(lib.sluice_abandon_step, reason(why) if why else ffi.NULL)
            finally:
                self._settle()

    @_local
    def put(self, variable: Name, data: Any, shape: Any = None,
            start: Optional[Sequence[int]] = None,
            *, allow_overflow: bool = False, **define: Any) -> None:
        """Puts this rank's part of a variable. Local; any number of times.

        A name that is not defined yet is defined first, with the type of `data` and the options
        `define`, and with steps inside a step. This first put is alike: every rank makes it, also
        with 0 elements, with the same type, `shape` and options. Text gets the width of the longest
        of `data` in bytes: where other ranks or steps may have longer ones, call define(name,
        "S16", ...) first. Later puts may give the same `shape` and options again. Dense arrays of a
        stored type are not copied: they must not change before the commit. Masked elements become
        the fill value of a partial variable; for others they are refused.

        Args:
            variable: A name or a Variable of this file.
            data: The part, an array of any strides.
            shape: Global shape of the variable, without the step; None: that of `data`, or the one
                that it was defined with.
            start: First element of the part; None: zeros.
            allow_overflow: Whether a narrowing conversion may lose values.
            define: Options of define(), for a new name; later the same ones may be given again.

        Raises:
            Error: OUT_OF_BOUNDS, TYPE_MISMATCH, OVER_BUDGET, EXISTS (with another shape),
                INVALID_ARGUMENT (another number of dimensions; a Variable of another file; other
                options than it was defined with), WRONG_STATE. The commit then fails too, on every
                rank. The commit converts the values: OVERFLOW (one does not fit) comes from it.
        """
        put_part(self, variable, data, shape, start, allow_overflow, define)

    @_local
    def put_rows(self, variable: Name, ids: Any, rows: Any, shape: Any = None,
                 **define: Any) -> None:
        """Puts rows by global index: rows[i] becomes row ids[i]. Local.

        Rows may come from any rank in any order, each exactly once, unless the variable is partial.
        The first put of a new name is made by every rank, also with 0 rows: see put().

        Args:
            variable: A name or a Variable of this file.
            ids: Indices of the rows, shape (n,); must not change before the commit.
            rows: The rows, shape (n, ...); must not change before the commit.
            shape: Global shape, for a new name.
            define: Options of define(), for a new name.

        Raises:
            Error: INVALID_ARGUMENT, TYPE_MISMATCH; DUPLICATE_ROW, MISSING_ROW and OUT_OF_BOUNDS
                from the commit.
        """
        put_rows_by_id(self, variable, ids, rows, shape, define)

    @_local
    def put_joined(self, variable: Name, rows: Any, shape: Any = None, **define: Any) -> None:
        """Puts this rank's rows of a varying variable behind those of the ranks before it. Local.

        For sizes that nobody knows beforehand: the step has as many rows as all ranks put together.
        A rank without rows need not call it, unless no rank has any: then one must, with 0 rows.
        The first put of a new name is made by every rank, also with 0 rows: see put(). Rows of
        several calls follow one another.

        Args:
            variable: A name or a Variable of this file, of which resize() and put() are not called
                in this step.
            rows: The rows, shape (n, ...); must not change before the commit.
            shape: The most rows of a step, and the shape of a row, for a new name.
            define: Options of define(), for a new name.

        Raises:
            Error: INVALID_ARGUMENT (not varying), TYPE_MISMATCH, WRONG_STATE (after resize() or
                put()), OUT_OF_BOUNDS (more than the shape); OUT_OF_BOUNDS also from the commit,
                where the ranks together have more.
        """
        put_rows_joined(self, variable, rows, shape, define)

    @_local
    def resize(self, variable: Name, rows: int) -> None:
        """Sets how many rows a varying variable has in this step. Alike; before the first put of
        it.

        Args:
            variable: A name or a Variable of this file.
            rows: Number of rows, 0 too.

        Raises:
            Error: OUT_OF_BOUNDS (more than the shape), INVALID_ARGUMENT (not varying), WRONG_STATE.
        """
        known = self._own("resize", variable)
        self._call(lib.sluice_resize, known._index, operator.index(rows))

    def flush(self) -> Ticket:
        """Commits what was defined and put outside steps. Collective.

        Returns:
            The receipt.

        Raises:
            Error: As end_step(); WRONG_STATE inside a step.
        """
        return self._commit(lib.sluice_flush)

    def poll(self) -> None:
        """Moves on what is on its way between nodes, without waiting. Local and cheap.

        For strategy "forward"; with others it does nothing.
        """
        self._call(lib.sluice_poll)

    def drain(self, seconds: float) -> bool:
        """Waits until every step that has ended is on disk. Local; between nodes every rank calls
        it.

        For a job that is about to be killed: steps that are on disk survive, later ones are lost.

        Args:
            seconds: The longest wait.

        Returns:
            Whether all steps are on disk.

        Raises:
            Error: What a step met on its way.
        """
        place = ffi.new("int32_t*")
        self._call(lib.sluice_drain, seconds, place)
        return place[0] != 0

    def close(self) -> None:
        """Commits what is not committed, and closes. Collective. A close that fails closes too.

        Raises:
            Error: As end_step(); WRONG_STATE (inside a step, or closed already).
        """
        with self._lock:
            try:
                self._together(lib.sluice_close)
            finally:
                # In a step it was refused; one that was dropped stays closed.
                self._is_open = self._in_step and self._handle != ffi.NULL
                self._settle()

    # -- reading ----------------------------------------------------------------------------------

    @property
    def steps(self) -> int:
        """Number of committed steps. Local."""
        count = ffi.new("int64_t*")
        self._call(lib.sluice_steps, count)
        return int(count[0])

    @property
    def times(self) -> np.ndarray:
        """Time of each step, a float64 array of shape (steps,); NaN where none was given.

        Local; reading.
        """
        times = np.empty(self.steps)
        place = ffi.new("double*")
        for step in range(times.size):
            self._call(lib.sluice_time, step, place)
            times[step] = place[0]
        return times

    def refresh(self) -> int:
        """Looks again at a file that another program is writing. Collective.

        Newer steps, variables and attributes become visible. Variables got before stay valid.

        Returns:
            The number of steps.

        Raises:
            Error: CHANGED_OUTSIDE (a variable is gone, or is another one); the old state stays.
        """
        with self._lock:
            self._call(lib.sluice_refresh)
            for variable in list(self._variables.values()):
                variable._learn()
            return self.steps

    def perform_gets(self) -> None:
        """Reads all parts that Variable.get(deferred=True) noted. Collective.

        Every rank has deferred the same variables and steps in the same order. The ranks wait for
        each other as often as in one get, so reading several variables together is faster.

        Raises:
            Error: DIVERGENT, and as Variable.get().
        """
        with self._lock:
            deferred = self._deferred
            try:
                self._call(lib.sluice_perform_gets, memory=deferred)
            except Error:
                self._deferred = []  # the library has forgotten them too
                raise
            self._deferred = []
        for into, read in deferred:  # until now the library wrote to what was read
            hand_over(read, into)

    def latest_good(self) -> Optional[int]:
        """The newest step of which every value can be read and matches its checksum. Collective.

        For programs that continue from it: the option restart_after. The call reads one step, and
        earlier ones only where that is damaged.

        Returns:
            The step; None where no step is good.
        """
        step = ffi.new("int64_t*")
        self._call(lib.sluice_latest_good, step)
        return int(step[0]) if step[0] >= 0 else None

    def to_xarray(self) -> Any:
        """The file as an xarray.Dataset, which reads when values are asked for (then collective).

        Steps are the dimension `step` with coordinate `time`, where times were given; a variable
        `step` of one value a step becomes its index. (In xarray.open_dataset the dimension is
        `time`: data.swap_dims(step="time").) Other dimensions have the file's names. Where the file
        has none, or one name has two sizes, they are called NAME_0, NAME_1, ... after their
        variable. A variable `time` of the file's own is the coordinate if it has one value a step;
        `times` has those of begin_step().

        Values are those that are stored: fill values, scale_factor, add_offset and the units of
        times are not applied; xarray.decode_cf() applies them. Threads, such as dask's, may read
        it; another process opens the file itself. xarray must be installed.
        """
        from ._xarray import dataset

        return dataset(self)

    def __getitem__(self, name: str) -> Variable:
        if self.mode == "r" and isinstance(name, str) and name.startswith("/"):
            name = name[1:]  # as h5py takes it
        with self._lock:
            variable = self._variables.get(name)
            if variable is None:
                if name not in self._indices:
                    place = ffi.new("sluice_variable*")
                    self._call(lib.sluice_find, c_text(name, "variable"), place)
                    self._indices[name] = place[0]
                variable = self._variables[name] = Variable(self, self._indices[name])
            elif not self._is_open:
                raise Error(Code.WRONG_STATE, f"{self.path}: is closed")
            return variable

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and super().__contains__(name)

    def __iter__(self) -> Iterator[str]:
        count = ffi.new("int32_t*")
        self._call(lib.sluice_variable_count, count)
        for index in range(count[0]):
            yield Variable(self, index).name

    def __len__(self) -> int:
        count = ffi.new("int32_t*")
        self._call(lib.sluice_variable_count, count)
        return int(count[0])

    # -- life -------------------------------------------------------------------------------------

    @property
    def closed(self) -> bool:
        """Whether the file was closed."""
        return not self._is_open

    def __enter__(self) -> "File":
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if kind is None:
            if self._is_open:
                self.close()
            return
        with self._lock:  # a call of another thread ends first
            if self._is_open:
                if self.mode != "r" and not self._shared_failure.is_in(error):
                    # Not by a commit that fails: the others may be in a call of another file.
                    free_because(self._handle, reason(line_of(error)))
                self._drop()

    def _abandon_quietly(self, error: BaseException) -> None:
        """Takes part in the other ranks' commit with the failure that is under way here."""
        try:
            self.abandon_step(line_of(error))
        except Error as own:  # what is under way is the better message
            if hasattr(error, "add_note"):  # Python 3.11
                error.add_note(str(own))

    def _drop(self) -> None:
        """Closes without committing. Local."""
        self._is_open = self._in_step = False
        handle, self._handle = self._handle, ffi.NULL
        self._kept.clear()
        free(handle)

    def __del__(self) -> None:
        if getattr(self, "_handle", ffi.NULL) == ffi.NULL:
            return
        if self._is_open and self.mode != "r":
            if self._has_uncommitted:
                note_lost(self)
            warnings.warn(f"{self.path} was never closed: what was not committed is lost",
                          ResourceWarning, source=self)
        self._drop()

    def __repr__(self) -> str:
        state = f"mode {self.mode!r}" if self._is_open else "closed"
        return f"<sluice.File {self.path!r} {state}>"

    # -- internal ---------------------------------------------------------------------------------

    def _call(self, function: Any, *arguments: Any, memory: Any = None) -> None:
        """`memory`: what the library reads into, beside what is kept."""
        with self._lock:  # the message of a failure is that of the last one on the handle
            if self._handle == ffi.NULL:
                raise Error(Code.WRONG_STATE, f"{self.path}: is closed")
            try:
                check(function(self._handle, *arguments), self._handle)
            except Error as error:
                if error.code in (Code.TIMEOUT, Code.MPI) and not self._has_given_up:
                    self._has_given_up = True  # later calls begin no message
                    given_up.append((memory, list(self._kept)))
                raise

    def _refuse(self, error: BaseException, call: Any, *arguments: Any) -> None:
        """Makes `call` fail with `error`, which the package has found itself. The library must
        refuse these arguments in any case."""
        code = error.code if isinstance(error, Error) else Code.INVALID_ARGUMENT
        with self._lock, contextlib.suppress(Error):  # it is `error`, which the caller raises
            self._call(lib.sluice_refuse, int(code), reason(line_of(error)))
            self._call(call, *arguments)

    def _fail_commit(self, error: Exception) -> None:
        """Makes the next commit fail on every rank with what a local call raises, as what the
        library itself refuses does. While reading: nothing."""
        self._refuse(error, lib.sluice_put_rows, -1, 0, ffi.NULL, -1, ffi.NULL)

    def _together(self, function: Any, *arguments: Any) -> None:
        """A call that commits, on all ranks."""
        self._shared_failure.forget()
        try:
            self._call(function, *arguments)
        except Error as error:
            if self._handle != ffi.NULL and lib.sluice_failed_together(self._handle):
                self._shared_failure.note(error)
            raise

    def _commit(self, function: Any) -> Ticket:
        place = ffi.new("sluice_ticket**")
        with self._lock:
            try:
                self._together(function, place)
            finally:
                self._settle()
        return Ticket(place[0], self._lock)

    def _settle(self) -> None:
        """After a commit, or the refusal of one: then what was put is still needed."""
        self._has_uncommitted = False
        if not lib.sluice_holds_memory(self._handle):
            self._kept.clear()

    def _own(self, call: str, variable: Name) -> Variable:
        """The variable; one of another file would be a variable here too, by its number."""
        if not isinstance(variable, Variable):
            return self[variable]
        if variable._file is not self:
            raise Error(Code.INVALID_ARGUMENT,
                        f"{self.path}: {call} {variable.name}: it is a variable of "
                        f"{variable._file!r}: give its name, or this file's variable")
        return variable


class Step:
    """A step that is being written; see File.step().

    Attributes:
        ticket (Ticket): The receipt, after the block; None before.
    """

    def __init__(self, file: File, time: float):
        self._file = file
        self._time = time
        self.ticket: Optional[Ticket] = None

    def __enter__(self) -> "Step":
        self._file.begin_step(self._time)
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if kind is None:
            self.ticket = self._file.end_step()
        elif self._file._is_open:
            self._file._abandon_quietly(error)
