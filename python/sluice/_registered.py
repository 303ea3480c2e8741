"""What may be registered for a checkpoint: memory that is saved and restored in place."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._library import Code, Error
from ._types import storable, type_of


def refuse_mask(name: str, data: Any) -> None:
    """Also of one without masked elements: they may be masked later."""
    if isinstance(data, np.ma.MaskedArray):
        raise Error(Code.INVALID_ARGUMENT,
                    f"checkpoint: {name}: it is a masked array, whose mask would be lost: register "
                    "its data and its mask, as two arrays")


def type_in_file(name: str, memory: np.ndarray) -> int:
    return type_of(memory.dtype, f"checkpoint: {name}: ")


def writable(name: str, data: Any) -> np.ndarray:
    refuse_mask(name, data)
    if not isinstance(data, np.ndarray) or not data.flags.writeable:
        raise Error(Code.INVALID_ARGUMENT,
                    f"checkpoint: {name}: restore() writes into it: give a numpy array that is "
                    "writeable")
    if data.dtype != storable(data.dtype):
        raise Error(Code.TYPE_MISMATCH,
                    f"checkpoint: {name}: {data.dtype} is stored as {storable(data.dtype)}: "
                    "register an array of that type")
    return data


def in_c_order(data: np.ndarray) -> np.ndarray:
    """`data`, or a copy of it where it is dense, but its dimensions have another order in memory.
    Of those the library knows nothing."""
    order = np.argsort(data.strides, kind="stable")[::-1]
    if data.flags.c_contiguous or not data.transpose(order).flags.c_contiguous:
        return data
    return np.ascontiguousarray(data)
