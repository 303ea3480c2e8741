"""What a variable is defined with, as the library takes it, and whether it is the same again."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence, Tuple

from ._library import Code, Error, c_text, ffi
from ._types import address, as_dense, as_shape, numbers, type_of


def options_of(name: str, extents: Sequence[int], given: Dict[str, Any]) -> Tuple[Any, List[Any]]:
    """The options of File.define(), all `given`, for C; and the memory that they refer to."""
    options = ffi.new("sluice_variable_options*", {"size": ffi.sizeof("sluice_variable_options")})
    kept: List[Any] = []
    for flag in ("steps", "partial", "varying"):
        setattr(options, flag, int(given[flag]))
    for what in ("unit", "description", "compress"):
        kept.append(ffi.new("char[]", c_text(given[what], f"define {name}: {what}")))
        setattr(options, what, kept[-1] if given[what] else ffi.NULL)
    if given["fill"] is not None:
        value = as_dense(given["fill"], f"define {name}: fill: ")
        if value.ndim != 0:
            raise Error(Code.INVALID_ARGUMENT, f"define {name}: fill must be one value")
        kept.append(value)
        options.fill = address(value)
        options.fill_type = type_of(value.dtype, f"define {name}: fill: ")
    if given["dimensions"] is not None:
        _same_length(name, "dimensions", given["dimensions"], extents)
        names = [ffi.new("char[]", c_text(text, f"define {name}: dimensions"))
                 for text in given["dimensions"]]
        kept += [*names, ffi.new("char*[]", names)]
        options.dimensions = kept[-1]
    if isinstance(given["chunk"], bool):  # as in h5py; it would be (1,)
        raise TypeError(f"define {name}: chunk must be a shape, not {given['chunk']}")
    if given["chunk"] is not None:
        tile = as_shape(given["chunk"])
        _same_length(name, "chunk", tile, extents)
        kept.append(numbers(tile))
        options.chunk = kept[-1]
    return options, kept


def other_options(defined: Optional[Dict[str, Any]], given: Dict[str, Any]) -> List[str]:
    """Which of the options `given` a variable was not `defined` with in this run (None: it was not
    defined in it)."""
    return sorted(what for what, value in given.items()
                  if defined is None or what not in defined or
                  not _are_same(_plain(defined[what]), _plain(value)))


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, (list, tuple)) else value


def _are_same(one: Any, other: Any) -> bool:
    return bool(one == other) or (one != one and other != other)  # NaN


def _same_length(name: str, what: str, values: Sequence[Any], shape: Sequence[int]) -> None:
    if len(values) != len(shape):
        raise Error(Code.INVALID_ARGUMENT,
                    f"define {name}: {len(values)} {what} for shape {tuple(shape)}")
