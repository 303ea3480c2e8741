"""numpy's element types and the library's, and arrays as the library takes them."""

from __future__ import annotations

import operator
from typing import Any, Iterator, Optional, Sequence, Tuple

import numpy as np

from ._library import Code, Error, ffi, lib

_KINDS = {
    "int8": lib.SLUICE_INT8,
    "int16": lib.SLUICE_INT16,
    "int32": lib.SLUICE_INT32,
    "int64": lib.SLUICE_INT64,
    "uint8": lib.SLUICE_UINT8,
    "uint16": lib.SLUICE_UINT16,
    "uint32": lib.SLUICE_UINT32,
    "uint64": lib.SLUICE_UINT64,
    "float16": lib.SLUICE_FLOAT16,
    "float32": lib.SLUICE_FLOAT32,
    "float64": lib.SLUICE_FLOAT64,
    "complex64": lib.SLUICE_COMPLEX64,
    "complex128": lib.SLUICE_COMPLEX128,
    "bool": lib.SLUICE_BOOL,
}
_NAMES = {number: name for name, number in _KINDS.items()}


#: What to store in place of a kind of dtype.
_INSTEAD = {
    "O": "give numbers of at most 64 bits, text, or an array of one such type",
    "M": "store int64 numbers, and an attribute units such as \"seconds since 2000-01-01\"",
    "m": "store int64 numbers, and an attribute units such as \"seconds\"",
    "T": "give an array of \"U16\" or \"S16\"",
}


def type_of(dtype: np.dtype, what: str = "") -> int:
    """The sluice_type of a dtype; Error TYPE_MISMATCH where there is none. `what`: the beginning of
    its message."""
    if dtype.kind == "S" and dtype.itemsize > lib.SLUICE_STRING_BYTES_MAX:
        raise Error(Code.UNSUPPORTED, f"{what}text of {dtype.itemsize} bytes an element: at most "
                                      f"{lib.SLUICE_STRING_BYTES_MAX}")
    if dtype.kind == "S" and dtype.itemsize > 0:
        return lib.SLUICE_KIND_STRING + 256 * dtype.itemsize
    number = _KINDS.get(dtype.name)
    if number is None:
        advice = _INSTEAD.get(dtype.kind, "convert it first")
        raise Error(Code.TYPE_MISMATCH, f"{what}numpy's {dtype} has no Sluice type: {advice}")
    return number


def dtype_of(number: int) -> np.dtype:
    """The dtype of a sluice_type as it is read; strings are bytes ("S16"), see as_text()."""
    if number % 256 == lib.SLUICE_KIND_STRING and number > 255:
        return np.dtype(f"S{number // 256}")
    return np.dtype(_NAMES[number])


def storable(dtype: Any) -> np.dtype:
    """The dtype in which values of `dtype` are handed over: native byte order, bytes for
    str."""
    dtype = np.dtype(dtype)
    if dtype.kind == "U":
        return np.dtype(f"S{max(1, dtype.itemsize)}")
    return dtype if dtype.kind == "T" else dtype.newbyteorder("=")


def as_dense(data: Any, what: str = "") -> np.ndarray:
    """The values as a dense row-major array of a type that the library knows: itself where it is
    one already, else a copy. `what`: the beginning of the message of an Error."""
    plain, mask = without_mask(data)
    if mask is not None and mask.any():
        raise Error(Code.INVALID_ARGUMENT, f"{what}{int(mask.sum())} elements are masked: fill "
                                           "them first (data.filled(value))")
    array = np.asarray(plain)
    if isinstance(plain, (list, tuple)):
        _require_kept(plain, array, what)
    if array.dtype.kind == "U":
        array = np.char.encode(array, "utf-8", "surrogateescape")
    if array.dtype.kind == "S" and array.dtype.itemsize == 0:
        array = array.astype("S1")
    wanted = storable(array.dtype)
    # ascontiguousarray makes scalars one-dimensional
    return np.ascontiguousarray(array, dtype=wanted).reshape(array.shape)


def _require_kept(values: Any, array: np.ndarray, what: str) -> None:
    """Error TYPE_MISMATCH where numpy has made texts of numbers, or rounded integers, to give all
    of a list one type."""
    if array.dtype.kind not in "USfc":
        return
    for one in _to_compare(values, array.dtype):
        is_text = isinstance(one, (str, bytes))
        is_rounded = (not is_text and isinstance(one, (int, np.integer)) and
                      array.dtype.kind in "fc" and int(array.dtype.type(one).real) != int(one))
        if is_rounded or is_text != (array.dtype.kind in "US"):
            raise Error(Code.TYPE_MISMATCH,
                        f"{what}{one!r} is not kept in a list that numpy takes for {array.dtype}: "
                        "give values of one type, or an array")


def _to_compare(values: Any, dtype: np.dtype) -> Iterator[Any]:
    """The elements of lists in lists that `dtype` may not keep. Of an array in them, only those
    that its own type leaves open: the elements may be many."""
    kept = (str, bytes) if dtype.kind in "US" else (float, complex)
    for one in values:
        if type(one) in kept:
            continue
        if isinstance(one, (list, tuple)):
            yield from _to_compare(one, dtype)
        elif isinstance(one, (str, bytes, int, float, complex, np.generic)):
            yield one
        else:
            part = np.asarray(one)
            if not _keeps_all(dtype, part):
                yield from part.astype(object).flat


def _keeps_all(dtype: np.dtype, part: np.ndarray) -> bool:
    if part.size == 0 or part.dtype == dtype:
        return True
    if part.dtype.kind in "iu" and dtype.kind in "fc":
        digits = np.finfo(dtype).nmant + 1  # every integer of so many binary digits is exact
        return max(-int(part.min()), int(part.max())) <= 2**digits
    return part.dtype.kind in ("US" if dtype.kind in "US" else "bfc")


def without_mask(data: Any) -> Tuple[Any, Optional[np.ndarray]]:
    """The values of a masked array, and where they are masked (None: `data` has no mask)."""
    if not isinstance(data, np.ma.MaskedArray):
        return data, None
    return data.data, np.ma.getmaskarray(data)


def as_text(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Strings as they are stored (UTF-8) as str; bytes that are no UTF-8 are kept as Python keeps
    those of file names, and become the same bytes when they are put."""
    text = np.char.decode(array, "utf-8", "surrogateescape")
    if text.dtype.itemsize > dtype.itemsize:
        raise Error(Code.OVERFLOW, f"text of {text.dtype.itemsize // 4} characters does not fit "
                                   f"{dtype}")
    return text.astype(dtype).reshape(array.shape)


def hand_over(read: np.ndarray, out: np.ndarray) -> None:
    """Gives what the library has read into `read` to `out`, of which it is the kind that the
    library knows; nothing where they are the same."""
    if read is not out:
        out[...] = as_text(read, out.dtype) if out.dtype.kind == "U" else read
    if isinstance(out, np.ma.MaskedArray):
        out.mask = np.ma.nomask  # all elements have been read


def as_ids(ids: Any) -> np.ndarray:
    """Row ids, shape (rows,), as the library takes them."""
    array = as_dense(ids)
    if array.size == 0:
        array = array.astype(np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise Error(Code.INVALID_ARGUMENT,
                    f"row ids must be a list of integers, not {array.dtype} of shape {array.shape}")
    return np.ascontiguousarray(array, dtype=np.int64)


def numbers(values: Optional[Sequence[int]]) -> Any:
    """Integers as int64_t*, NULL for None."""
    if values is None:
        return ffi.NULL
    return ffi.new("int64_t[]", list(map(operator.index, values)))


def address(array: np.ndarray) -> Any:
    """The address of an array's first element."""
    return ffi.cast("void*", array.ctypes.data)


def as_shape(shape: Any) -> Tuple[int, ...]:
    """An integer or a sequence of them as a tuple. A fraction is a TypeError, as in numpy: rounded,
    it would be another place."""
    if hasattr(shape, "__index__") and np.ndim(shape) == 0:
        return (operator.index(shape),)
    return tuple(map(operator.index, shape))
