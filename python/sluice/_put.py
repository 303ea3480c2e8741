"""What a put does: takes this rank's part, finds its variable, and hands them to the library.

Each function for a call of File, which has the file's lock. The file keeps the memory of the part
until the library has read it.
"""

from __future__ import annotations

from typing import Any, Dict, Optional, Sequence, Tuple, cast

import numpy as np

from ._definition import other_options
from ._library import Code, Error, NotFoundError, ffi, lib
from ._types import address, as_dense, as_ids, as_shape, numbers, type_of, without_mask
from ._variable import Name, Variable

_DEFINED_BY = {"steps", "unit", "description", "partial", "fill", "dimensions", "chunk", "varying",
               "compress"}


def put_part(file: Any, variable: Name, data: Any, shape: Any, start: Optional[Sequence[int]],
             allow_overflow: bool, define: Dict[str, Any]) -> None:
    """File.put()."""
    array, mask, code = _taken("put", variable, data)
    known = _for_put(file, "put", variable, array, shape, define)
    array = _filled(known, array, mask)
    selection = ffi.new("sluice_selection*", {"size": ffi.sizeof("sluice_selection")})
    first = (0,) * array.ndim if start is None else as_shape(start)
    if len(first) != array.ndim:
        raise Error(Code.INVALID_ARGUMENT,
                    f"put {known.name}: start {first} for data of shape {array.shape}")
    starts = numbers(first)
    counts = numbers(array.shape)
    selection.start, selection.count = starts, counts
    selection.allow_overflow = int(allow_overflow)
    file._kept.append(array)
    file._call(lib.sluice_put_selection, known._index, code, address(array), array.ndim,
               selection)


def put_rows_by_id(file: Any, variable: Name, ids: Any, rows: Any, shape: Any,
                   define: Dict[str, Any]) -> None:
    """File.put_rows()."""
    array, mask, code = _taken("put_rows", variable, rows)
    wanted = as_ids(ids)
    if array.ndim == 0 or array.shape[0] != wanted.size:
        raise Error(Code.INVALID_ARGUMENT,
                    f"put_rows: {wanted.size} ids for rows of shape {array.shape}")
    known = _for_rows(file, "put_rows", variable, array, shape, define, "its global shape")
    array = _filled(known, array, mask)
    file._kept += [array, wanted]
    file._call(lib.sluice_put_rows, known._index, code, address(array), wanted.size,
               ffi.cast("int64_t*", wanted.ctypes.data))


def put_rows_joined(file: Any, variable: Name, rows: Any, shape: Any,
                    define: Dict[str, Any]) -> None:
    """File.put_joined()."""
    array, mask, code = _taken("put_joined", variable, rows)
    if array.ndim == 0:
        raise Error(Code.INVALID_ARGUMENT, f"put_joined {variable}: a scalar has no rows")
    if _known(file, "put_joined", variable) is None:
        define.setdefault("varying", True)
    known = _for_rows(file, "put_joined", variable, array, shape, define,
                      "the shape with the most rows of a step")
    array = _filled(known, array, mask)
    file._kept.append(array)
    file._call(lib.sluice_put_joined, known._index, code, address(array), array.shape[0])


def _taken(call: str, variable: Any, values: Any) -> Tuple[np.ndarray, Optional[np.ndarray], int]:
    """What is put, as the library takes it; its mask; its sluice_type."""
    what = f"{call} {variable.name if isinstance(variable, Variable) else variable}: "
    plain, mask = without_mask(values)
    array = as_dense(plain, what)
    return array, mask, type_of(array.dtype, what)


def _filled(variable: Variable, array: np.ndarray, mask: Optional[np.ndarray]) -> np.ndarray:
    """`array` with the variable's fill value where `mask` says so."""
    if mask is None or not mask.any():
        return array
    if not variable.partial:
        raise Error(Code.INVALID_ARGUMENT,
                    f"put {variable.name}: {int(mask.sum())} elements are masked: fill them "
                    "(data.filled(value)), or define the variable with partial=True, whose fill "
                    "value they get")
    filled = array.copy()
    filled[mask] = variable.fill
    return filled


def _known(file: Any, call: str, variable: Name) -> Optional[Variable]:
    """The variable, if it is defined."""
    try:
        return file._own(call, variable)
    except NotFoundError:
        return None


def _for_rows(file: Any, call: str, variable: Name, array: np.ndarray, shape: Any,
              define: Dict[str, Any], missing: str) -> Variable:
    """The variable of a put of rows, defined where it is new and `missing` was given."""
    if shape is None and _known(file, call, variable) is None:
        raise Error(Code.INVALID_ARGUMENT,
                    f"{call} {variable}: it is not defined yet: give {missing}")
    known = _for_put(file, call, variable, array, shape, define)
    if known.step_shape[1:] != array.shape[1:]:
        raise Error(Code.INVALID_ARGUMENT,
                    f"{call} {known.name}: rows of shape {array.shape[1:]} for a variable of "
                    f"shape {known.step_shape}")
    return known


def _for_put(file: Any, call: str, variable: Name, array: np.ndarray, shape: Any,
             define: Dict[str, Any]) -> Variable:
    """The variable of a put, defined where it is new. `shape`: None: that of `array`, or the
    one that it was defined with."""
    known = _known(file, call, variable)
    if known is None:
        define.setdefault("steps", file._in_step)
        extents = array.shape if shape is None else shape
        return file.define(cast(str, variable), array.dtype, extents, **define)
    if shape is not None and as_shape(shape) != known.step_shape:
        raise Error(Code.EXISTS, f"{call} {known.name}: shape {as_shape(shape)}, but it was "
                                 f"defined with {known.step_shape}")
    others = other_options(file._defined.get(known.name), define)
    if others and known.name not in file._defined and set(others) <= _DEFINED_BY:
        # Of an appended file, whose library knows with what it was defined.
        same = {"steps": known.has_steps, "varying": known.varying, "partial": known.partial,
                "fill": known.fill if known.partial else None, **define}
        return file.define(known.name, known._stored, known.step_shape, **same)
    if others:
        raise Error(Code.INVALID_ARGUMENT, f"{call} {known.name}: it is defined already, with "
                                           f"other {', '.join(others)}")
    return known
