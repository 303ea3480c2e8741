"""Variables of an open file."""

from __future__ import annotations

import contextlib
import operator
from typing import Any, List, Optional, Sequence, Tuple, Union

import numpy as np

from ._attributes import Attributes
from ._library import Code, Error, OneHandle, ffi, lib, text_of
from ._selection import picks_several, resolve, take_out
from ._types import (address, as_ids, as_shape, as_text, dtype_of, hand_over, numbers, storable,
                     type_of)

#: How a call of a file says which variable.
Name = Union[str, "Variable"]


class Variable(OneHandle):
    """A variable of an open file: what is known of it and, in a file being read, its values.

    Indexing reads as numpy does: `f["spins"][-1, 10:20]`. The first dimension of a variable with
    steps is the step. Along one dimension there may be an increasing list of indices or a mask, as
    in h5py: `f["spins"][[0, 5]]`; of other dimensions than the step all from the first to the last
    is read. Reading is collective: every rank reads its own selection, an empty one too, of the
    same steps.

    Attributes:
        name (str): Name, with "/" between groups.
        dtype (numpy.dtype): Type of the values that are read. Text is str, of as many characters as
            it has bytes; raw bytes come with get(dtype="S16").
        step_shape (tuple): Shape of one step, without the step; of a varying variable the most.
        dimensions (tuple): Names of the dimensions, without the step; empty where there are none.
        has_steps (bool): Whether it has a value for every step.
        partial (bool): Whether elements may be left out.
        fill: Value of elements left out; None where none may be, and no fill value is given.
        varying (bool): Whether each step has its own number of rows: shape_of().
    """

    def __init__(self, file: Any, index: int):
        self._file = file
        self._index = index
        self._learn()

    def _learn(self) -> None:
        """What is known of it, now."""
        info = ffi.new("sluice_variable_info*", {"size": ffi.sizeof("sluice_variable_info")})
        with self._file._lock:  # a refresh() frees what `info` refers to
            self._file._call(lib.sluice_info, self._index, info)
            self._take_over(info)

    def _take_over(self, info: Any) -> None:
        self.name: str = text_of(info.name)
        stored = dtype_of(info.type)
        #: Of the values that it is read as: of text str, of at most as many characters as it has
        #: bytes. Raw bytes come with get(dtype="S16").
        self.dtype: np.dtype = np.dtype(f"U{stored.itemsize}") if stored.kind == "S" else stored
        self._stored = stored
        #: Shape of one step (of a varying variable: the most), without the step dimension.
        self.step_shape: Tuple[int, ...] = tuple(info.shape[d] for d in range(info.rank))
        named = info.rank > 0 and info.dimensions[0] != ffi.NULL
        #: Names of the dimensions, without the step; empty where there are none.
        self.dimensions: Tuple[str, ...] = tuple(
            text_of(info.dimensions[d]) for d in range(info.rank)) if named else ()
        #: Has it a value for every step?
        self.has_steps: bool = info.steps != 0
        #: May elements be left out? They read as `fill`.
        self.partial: bool = info.partial != 0
        self._hole: Any = self._fill_of(info.fill)
        self._has_fill = self.partial or info.fill != ffi.NULL
        #: Has each step its own number of rows? See shape_of().
        self.varying: bool = info.varying != 0

    @property
    def fill(self) -> Any:
        """Value of elements left out; None where none may be, and no fill value is given. Local."""
        # A fill value of zero without partial is in the attribute alone.
        return self._hole if self._has_fill or "_FillValue" in self.attrs else None

    def _fill_of(self, place: Any) -> Any:
        """One element, as numpy has it."""
        element = np.zeros(1, self._stored)
        if place != ffi.NULL:
            ffi.memmove(address(element), place, self._stored.itemsize)
        return (as_text(element, self.dtype) if self.dtype.kind == "U" else element)[0]

    @property
    def shape(self) -> Tuple[int, ...]:
        """Shape in the file: the number of steps first, if it has steps. Local."""
        return ((self._file.steps,) if self.has_steps else ()) + self.step_shape

    @property
    def ndim(self) -> int:
        """Number of dimensions, the step included."""
        return len(self.step_shape) + int(self.has_steps)

    @property
    def attrs(self) -> Attributes:
        """The attributes of the variable, such as attrs["units"]."""
        return Attributes(self._file, self.name)

    def shape_of(self, step: int = -1) -> Tuple[int, ...]:
        """Shape of one step. Local; reading.

        It is step_shape, but for varying variables, which may have fewer rows.

        Args:
            step: The step; -1: the newest.

        Raises:
            Error: OUT_OF_BOUNDS.
        """
        shape = ffi.new("int64_t[]", max(1, len(self.step_shape)))
        self._file._call(lib.sluice_shape, self._index, operator.index(step),
                         len(self.step_shape), shape)
        return tuple(shape[d] for d in range(len(self.step_shape)))

    def get(self, step: int = -1, start: Optional[Sequence[int]] = None,
            count: Optional[Sequence[int]] = None, *, dtype: Any = None,
            out: Optional[np.ndarray] = None, allow_overflow: bool = False,
            deferred: bool = False) -> np.ndarray:
        """Reads a part of one step. Collective; each rank reads its own part.

        Args:
            step: The step, the same on every rank; -1: the newest; ignored without steps.
            start: First element; None: zeros.
            count: Elements, 0 too; None: up to the end of the shape.
            dtype: Type to which values are converted; None: that of the variable.
            out: Array of shape `count` that receives the values; its type counts. It may be
                strided, such as every second column of an array, unless `deferred`.
            allow_overflow: Whether a narrowing conversion may lose values.
            deferred: The part is only noted, locally; File.perform_gets() reads all that are, and
                fills the arrays. `out` must be C-contiguous then, unless it is of str.

        Returns:
            The array.

        Raises:
            Error: OUT_OF_BOUNDS, TYPE_MISMATCH, OVERFLOW (unless allow_overflow), DAMAGED,
                TRUNCATED, CHANGED_OUTSIDE, IO, UNSUPPORTED (a filter that is not known, or a
                strided `out` of a deferred part).
        """
        get = lib.sluice_defer_get if deferred else lib.sluice_get_selection
        selection = ffi.new("sluice_selection*", {"size": ffi.sizeof("sluice_selection")})
        selection.allow_overflow = int(allow_overflow)
        try:
            step = operator.index(step)
            start = (0,) * len(self.step_shape) if start is None else as_shape(start)
            if count is None:
                shape = self.shape_of(step) if self.varying else self.step_shape
                count = tuple(max(0, n - s) for n, s in zip(shape, start))
            count = as_shape(count)
            starts, counts = numbers(start), numbers(count)
            selection.start, selection.count = starts, counts
            out = self._out_of(out, start, count, dtype or self.dtype)
            read = self._to_read(out)
            strides = numbers(read.strides)
            if not read.flags.c_contiguous:
                selection.stride_bytes = strides
            if deferred and not read.flags.c_contiguous:
                raise Error(Code.UNSUPPORTED,
                            f"get {self.name}: out must be C-contiguous where deferred=True: take "
                            "the array that get() returns, or leave deferred out")
            code = type_of(read.dtype, f"get {self.name}: ")
        except Exception as error:
            self._refuse(error, get, 0, ffi.NULL, 0, ffi.NULL)
            raise
        with self._file._lock:
            if deferred:
                self._file._deferred.append((out, read))
            self._file._call(get, self._index, code, address(read), len(starts), selection, step,
                             memory=read)
        if not deferred:
            hand_over(read, out)
        return out

    def _out_of(self, out: Optional[np.ndarray], start: Tuple[int, ...], count: Tuple[int, ...],
                dtype: Any) -> np.ndarray:
        """The array that a part is read into: `out`, or a new one."""
        if len(start) != len(count):
            raise Error(Code.INVALID_ARGUMENT,
                        f"get {self.name}: start {start} and count {count} differ in length")
        if out is None:
            return np.empty(tuple(max(0, c) for c in count), dtype=dtype)
        if out.shape != count or not out.flags.writeable:
            raise Error(Code.INVALID_ARGUMENT,
                        f"get {self.name}: out must be a writable array of shape {count}")
        return out

    def _to_read(self, out: np.ndarray) -> np.ndarray:
        """What the library reads into for `out`: bytes where `out` is of str, and numbers of native
        byte order. See hand_over()."""
        if out.dtype.kind == "U" and self._stored.kind == "S":
            return np.empty(out.shape, dtype=self._stored)
        return out if out.dtype.isnative else np.empty(out.shape, dtype=storable(out.dtype))

    def _refuse(self, error: BaseException, get: Any, *arguments: Any) -> None:
        """Takes part in the call `get` of the other ranks, which fails with `error` on every one
        (where it is deferred: in perform_gets)."""
        self._file._refuse(error, get, self._index, *arguments, -1)

    def get_rows(self, ids: Any, step: int = -1, *, dtype: Any = None) -> np.ndarray:
        r"""Reads rows by global index. Collective; each rank reads its own rows.

        Args:
            ids: Indices along the first dimension, shape (n,), in any order, repeats allowed.
            step: As for get().
            dtype: As for get().

        Returns:
            An array of shape (n, \*step_shape[1:]).

        Raises:
            Error: As get().
        """
        try:
            step = operator.index(step)
            wanted = as_ids(ids)
            rows = np.empty((wanted.size,) + self.step_shape[1:], dtype=dtype or self.dtype)
            read = self._to_read(rows)
            code = type_of(read.dtype, f"get_rows {self.name}: ")
        except Exception as error:
            self._refuse(error, lib.sluice_get_rows, 0, ffi.NULL, 0, ffi.NULL)
            raise
        self._file._call(lib.sluice_get_rows, self._index, code, address(read),
                         wanted.size, ffi.cast("int64_t*", wanted.ctypes.data), step,
                         memory=(read, wanted))
        hand_over(read, rows)
        return rows

    def __getitem__(self, key: Any) -> Any:
        try:
            along = resolve(key, self.shape)
            if self.has_steps and along[0].is_one and self.varying and self.step_shape:
                along[1:] = resolve(tuple(_spelled(key, self.ndim)[1:]) or Ellipsis,
                                    self.shape_of(along[0].start))
        except (IndexError, Error) as error:
            self._refuse_index(error, key)
            raise
        if not self.has_steps:
            return self._take(along, -1)
        steps, rest = along[0], along[1:]
        if steps.is_one:
            return self._take(rest, steps.start)
        if not len(steps.indices):
            shape = tuple(len(a.indices) for a in rest if not a.is_one)
            return np.empty((0,) + shape, dtype=self.dtype)
        with self._file._lock:
            if self._takes_together():
                return self._take_steps(rest, steps.indices)
        return np.stack([np.asarray(self._take(rest, step)) for step in steps.indices])

    def _takes_together(self) -> bool:
        """Are several steps read by one call? Not where parts are deferred, which are read when the
        program says so."""
        return not self.varying and not self._file._deferred

    def _refuse_index(self, error: Exception, key: Any) -> None:
        """Takes part in what the other ranks call, who have a good index."""
        with self._file._lock:
            if self.has_steps and self._takes_together() and \
                    picks_several(_spelled(key, self.ndim)[0]):
                self._fail_steps(error)
            else:
                self._refuse(error, lib.sluice_get_selection, 0, ffi.NULL, 0, ffi.NULL)

    def _take_steps(self, along: Sequence[Any], steps: Sequence[int]) -> np.ndarray:
        """The same of several steps, in one collective call."""
        counts = [a.count for a in along]
        hull = np.empty([len(steps)] + counts, dtype=self.dtype)
        read = self._to_read(hull)
        selection = ffi.new("sluice_selection*", {"size": ffi.sizeof("sluice_selection")})
        kept = [numbers([a.start for a in along]), numbers(counts)]
        selection.start, selection.count = kept
        code, first, each = type_of(read.dtype), address(read), read.strides[0]
        place = ffi.cast("char*", first)
        self._file._deferred.append((hull, read))
        try:
            for at, step in enumerate(steps):
                self._file._call(lib.sluice_defer_get, self._index, code, place + at * each,
                                 len(counts), selection, step)
        except BaseException as error:
            # Such as KeyboardInterrupt: the library forgets what it has noted. Of several ranks the
            # others may have been interrupted elsewhere, and do not come to the call.
            if self._file._is_alone or isinstance(error, Exception):
                self._fail_steps(error)
            raise
        self._file.perform_gets()
        return take_out(hull, along)

    def _fail_steps(self, error: BaseException) -> None:
        """Takes part in the one call of the other ranks that reads several steps."""
        self._refuse(error, lib.sluice_defer_get, 0, ffi.NULL, 0, ffi.NULL)
        with contextlib.suppress(Error):  # it is `error`
            self._file.perform_gets()

    def _take(self, along: Sequence[Any], step: int) -> Any:
        if self.varying and step >= 0 and along:
            return self._take_varying(along, step)
        hull = self.get(step, [a.start for a in along], [a.count for a in along])
        return take_out(hull, along)

    def _take_varying(self, along: Sequence[Any], step: int) -> Any:
        """Rows that the step does not have read as the fill value, so that steps can be stacked."""
        rows = self.shape_of(step)[0]
        first = along[0]
        there = max(0, min(first.count, rows - first.start))
        counts = [there] + [a.count for a in along[1:]]
        hull = np.full([first.count] + counts[1:], self._hole, dtype=self.dtype)
        starts = [first.start if there else 0] + [a.start for a in along[1:]]
        hull[:there] = self.get(step, starts, counts)
        return take_out(hull, along)

    def __len__(self) -> int:
        if self.ndim == 0:
            raise TypeError(f"{self.name} is a scalar")
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> np.ndarray:
        if copy is False:
            raise ValueError(f"{self.name}: copy=False cannot be: its values are in the file")
        values = np.asarray(self[...])
        return values if dtype is None else values.astype(dtype)

    def __repr__(self) -> str:
        what = f"{self.name!r} {self.dtype}"
        if self._file.closed:
            return f"<sluice.Variable {what} of {self._file!r}>"
        return f"<sluice.Variable {what} {self.shape}>"


def _spelled(key: Any, ndim: int) -> List[Any]:
    """The parts of an index, the first one that of the step, with slices for an ellipsis."""
    parts = list(key) if isinstance(key, tuple) else [key]
    dots = [at for at, part in enumerate(parts) if part is Ellipsis]
    whole = [slice(None)] * (ndim - len(parts) + len(dots))
    at = dots[0] if dots else len(parts)
    return parts[:at] + whole + [part for part in parts[at:] if part is not Ellipsis]
