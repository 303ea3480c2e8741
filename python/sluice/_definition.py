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
        dimensions = _names(name, given["dimensions"], extents)
        _same_length(name, "dimensions", dimensions, extents)
        names = [ffi.new("char[]", c_text(text, f"define {name}: dimensions"))
                 for text in dimensions]
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
                  not _are_same(_plain(what, defined[what]), _plain(what, value)))


def _plain(what: str, value: Any) -> Any:
    if what == "dimensions" and isinstance(value, str):
        return [value]
    return list(value) if isinstance(value, (list, tuple)) else value


def _names(name: str, dimensions: Any, shape: Sequence[int]) -> Sequence[str]:
    """The names of dimensions; of one dimension it may be the name itself. A text is a sequence
    too: of its letters."""
    if not isinstance(dimensions, (str, bytes)):
        return list(dimensions)
    if len(shape) != 1:
        raise Error(Code.INVALID_ARGUMENT,
                    f"define {name}: dimensions {dimensions!r} is one name for shape "
                    f"{tuple(shape)}: give a list with a name for each dimension")
    return [dimensions]


def _are_same(one: Any, other: Any) -> bool:
    return bool(one == other) or (one != one and other != other)  # NaN


def _same_length(name: str, what: str, values: Sequence[Any], shape: Sequence[int]) -> None:
    if len(values) != len(shape):
        raise Error(Code.INVALID_ARGUMENT,
                    f"define {name}: {len(values)} {what} for shape {tuple(shape)}")
