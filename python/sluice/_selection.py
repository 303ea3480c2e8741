"""What numpy-like indices mean: which box to read, and what to take out of it."""

from __future__ import annotations

import operator
from typing import Any, List, NamedTuple, Sequence, Tuple, Union

Index = Union[int, slice]


class Along(NamedTuple):
    """One dimension of a selection."""

    start: int  # of the hull
    count: int  # elements of the hull
    inside: Index  # what to take out of the hull: 0 for an integer, else a slice
    indices: range  # the elements that were asked for


def resolve(key: Any, shape: Sequence[int]) -> List[Along]:
    """The dimensions of a selection of an array of `shape`.

    Integers (negative ones count from the end), slices with any step, and one ellipsis; dimensions
    that are not mentioned are taken whole. Raises IndexError for anything else.
    """
    parts = key if isinstance(key, tuple) else (key,)
    dots = [at for at, part in enumerate(parts) if part is Ellipsis]
    if len(dots) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    given = len(parts) - len(dots)
    if given > len(shape):
        raise IndexError(f"too many indices: {given} for {len(shape)} dimensions")
    whole: Tuple[Any, ...] = (slice(None),) * (len(shape) - given)
    at = dots[0] if dots else len(parts)
    parts = parts[:at] + whole + parts[at + len(dots):]
    return [_along(part, extent, number) for number, (part, extent) in enumerate(zip(parts, shape))]


def _along(part: Any, extent: int, number: int) -> Along:
    if isinstance(part, slice):
        wanted = range(*part.indices(extent))
        if len(wanted) == 0:
            return Along(0, 0, slice(0, 0), wanted)
        first, last = min(wanted[0], wanted[-1]), max(wanted[0], wanted[-1])
        return Along(first, last - first + 1, slice(None, None, wanted.step), wanted)
    try:
        index = operator.index(part)
    except TypeError:
        raise IndexError("only integers, slices (':') and one ellipsis ('...') select from a "
                         f"variable, not {part!r}: use get_rows() for lists of rows") from None
    if isinstance(part, bool):
        raise IndexError("only integers, slices (':') and one ellipsis ('...') select from a "
                         f"variable, not {part!r}")
    wanted_index = index + extent if index < 0 else index
    if not 0 <= wanted_index < extent:
        raise IndexError(f"index {index} is out of bounds for dimension {number} of {extent}")
    return Along(wanted_index, 1, 0, range(wanted_index, wanted_index + 1))
