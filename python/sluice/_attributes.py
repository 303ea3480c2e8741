"""Attributes as a mapping."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any, Iterator

import numpy as np

from ._library import Code, Error, c_text, ffi, lib, text_of
from ._types import address, as_dense, dtype_of, type_of


#: Python's numbers are of these types, and are handed over as such.
_PYTHON_TYPES = (np.int64, np.float64, np.complex128, np.bool_)


def _scalar(value: np.generic) -> Any:
    """Without its type a number is decoded otherwise: a scale_factor of float32 gives float32."""
    return value.item() if isinstance(value, _PYTHON_TYPES) else value


class Attributes(MutableMapping):
    """The attributes of a file or of one variable: a mapping from names to values.

    Values are bool, int, float, str, numpy scalars, or lists (one-dimensional arrays) of int, float
    or str. Numbers of numpy keep their type, but uint32 and uint64 become int64. A number that is
    read has its own type too: int64, float64 and booleans are int, float and bool, every other type
    is a scalar of numpy, such as np.float32, and lists of numbers are arrays. Setting is for
    files being written, and alike: every rank sets an attribute of the same name and type; values
    are not compared, and those of rank 0 are stored. Everything else is for files being read. An
    attribute cannot be removed. All calls are local.

    Raises:
        Error: NOT_FOUND (a KeyError too), BAD_NAME, TYPE_MISMATCH, UNSUPPORTED.
    """

    def __init__(self, file: Any, owner: str):
        self._file = file
        self._owner = c_text(owner, "owner")

    def __setitem__(self, name: str, value: Any) -> None:
        with self._file._lock:
            self._file._has_uncommitted = True
            try:
                self._set(name, value)
            except Exception as error:
                self._file._fail_commit(error)
                raise

    def _set(self, name: str, value: Any) -> None:
        call, owner, key = self._file._call, self._owner, c_text(name, "attribute")
        if isinstance(value, str):
            call(lib.sluice_set_text, owner, key, c_text(value, f"attribute {name}:"))
            return
        if isinstance(value, (list, tuple)) and value and all(isinstance(v, str) for v in value):
            texts = [ffi.new("char[]", c_text(text, f"attribute {name}:")) for text in value]
            call(lib.sluice_set_texts, owner, key, len(texts), ffi.new("char*[]", texts))
            return
        what = f"attribute {name}: "
        array = as_dense(value, what)
        if array.ndim > 1:
            raise Error(Code.INVALID_ARGUMENT,
                        f"attribute {name}: values of shape {array.shape}: only lists are stored")
        count = lib.SLUICE_SCALAR if array.ndim == 0 else array.size
        call(lib.sluice_set_attribute, owner, key, type_of(array.dtype, what), count,
             address(array))

    def __getitem__(self, name: str) -> Any:
        with self._file._lock:  # of one state of the file
            return self._get(name)

    def _get(self, name: str) -> Any:
        call, owner, key = self._file._call, self._owner, c_text(name, "attribute")
        kind, count = ffi.new("sluice_type*"), ffi.new("int64_t*")
        call(lib.sluice_attribute_info, owner, key, kind, count)
        is_scalar = count[0] == lib.SLUICE_SCALAR
        if kind[0] % 256 == lib.SLUICE_KIND_STRING:
            texts = self._texts(key, kind[0], 1 if is_scalar else count[0])
            return texts[0] if is_scalar else texts
        values = np.empty(1 if is_scalar else count[0], dtype=dtype_of(kind[0]))
        call(lib.sluice_get_attribute, owner, key, kind[0], values.size, address(values))
        return _scalar(values[0]) if is_scalar else values

    def _texts(self, key: Any, kind: int, count: int) -> list[str]:
        """Padded with NUL, so that one may have others in it; bytes that are no UTF-8 are kept."""
        if kind // 256 == lib.SLUICE_STRING_BYTES_MAX:
            return [self._long_text(key, index) for index in range(count)]
        held = np.zeros((count, kind // 256), dtype=np.uint8)
        self._file._call(lib.sluice_get_attribute, self._owner, key, kind, count, address(held))
        return [row.tobytes().rstrip(b"\0").decode("utf-8", "surrogateescape") for row in held]

    def _long_text(self, key: Any, index: int) -> str:
        """One for which there may be no type; it ends at its first NUL."""
        text = ffi.new("char**")
        self._file._call(lib.sluice_get_text, self._owner, key, index, text)
        return ffi.string(text[0]).decode("utf-8", "surrogateescape")

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str):
            return False
        has = ffi.new("int32_t*")
        self._file._call(lib.sluice_has_attribute, self._owner, c_text(name, "attribute"), has)
        return has[0] != 0

    def __len__(self) -> int:
        count = ffi.new("int64_t*")
        self._file._call(lib.sluice_attribute_count, self._owner, count)
        return int(count[0])

    def __iter__(self) -> Iterator[str]:
        for index in range(len(self)):
            yield self._name(index)

    def _name(self, index: int) -> str:
        name = ffi.new("char**")
        with self._file._lock:  # a refresh() frees it
            self._file._call(lib.sluice_attribute_name, self._owner, index, name)
            return text_of(name[0])

    def __delitem__(self, name: str) -> None:
        error = Error(Code.UNSUPPORTED, f"attribute {name}: attributes cannot be removed")
        self._file._fail_commit(error)
        raise error

    def __repr__(self) -> str:
        return f"<sluice attributes of {self._owner.decode() or 'the file'}>"
