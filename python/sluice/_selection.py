"""What numpy-like indices mean: which box to read, and what to take out of it."""

from __future__ import annotations

import operator
from typing import Any, List, NamedTuple, Sequence, Tuple, Union

import numpy as np

Index = Union[int, slice, np.ndarray]

ACCEPTED = ("integers, slices (':'), one ellipsis ('...'), and increasing lists of integers or a "
            "mask along one dimension select from a variable")


class Along(NamedTuple):
    """One dimension of a selection."""

    start: int  # of the hull
    count: int  # elements of the hull
    inside: Index  # what to take out of the hull: 0 for an integer, a slice, or numbers of elements
    indices: Sequence[int]  # the elements that were asked for

    @property
    def is_one(self) -> bool:
        """Is it an integer, whose dimension the result does not have?"""
        return isinstance(self.inside, int)


def picks_several(part: Any) -> bool:
    """Is this part of an index a slice or a list, not an integer?"""
    return isinstance(part, (slice, list, tuple, range)) or \
        isinstance(part, np.ndarray) and part.ndim > 0


def take_out(hull: np.ndarray, along: Sequence[Along]) -> Any:
    """What was asked for of the hull, whose last dimensions are those of `along`."""
    lists = tuple(a.inside if isinstance(a.inside, np.ndarray) else slice(None) for a in along)
    rest = tuple(slice(None) if isinstance(a.inside, np.ndarray) else a.inside for a in along)
    if any(isinstance(a.inside, np.ndarray) for a in along):
        hull = hull[(..., *lists)]  # alone: numpy moves its dimension where there are integers too
    return hull[(..., *rest)] if hull.ndim > len(rest) else hull[rest]


def resolve(key: Any, shape: Sequence[int]) -> List[Along]:
    """The dimensions of a selection of an array of `shape`.

    Integers (negative ones count from the end), slices with any step, one ellipsis, and along one
    dimension an increasing list of integers or a mask; dimensions that are not mentioned are taken
    whole. Raises IndexError for anything else.
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
    along = [_along(part, extent, number)
             for number, (part, extent) in enumerate(zip(parts, shape))]
    if sum(picks_several(part) and not isinstance(part, slice) for part in parts) > 1:
        raise IndexError("lists and masks select along one dimension at a time: use one, and "
                         "select the rest from what that returns")
    return along


def _along(part: Any, extent: int, number: int) -> Along:
    if isinstance(part, slice):
        wanted = range(*part.indices(extent))
        if len(wanted) == 0:
            return Along(0, 0, slice(0, 0), wanted)
        first, last = min(wanted[0], wanted[-1]), max(wanted[0], wanted[-1])
        return Along(first, last - first + 1, slice(None, None, wanted.step), wanted)
    if picks_several(part):
        return _listed(part, extent, number)
    try:
        index = operator.index(part)
    except TypeError:
        raise IndexError(f"{ACCEPTED}, not {part!r}") from None
    if isinstance(part, bool):
        raise IndexError(f"{ACCEPTED}, not {part!r}")
    wanted_index = index + extent if index < 0 else index
    if not 0 <= wanted_index < extent:
        raise IndexError(f"index {index} is out of bounds for dimension {number} of {extent}")
    return Along(wanted_index, 1, 0, range(wanted_index, wanted_index + 1))


def _listed(part: Any, extent: int, number: int) -> Along:
    """A list of indices along a dimension, or a mask: what h5py takes."""
    try:
        given = np.asarray(part)
    except ValueError:
        raise IndexError(f"{ACCEPTED}, not {part!r}") from None
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iub"):
        raise IndexError(f"{ACCEPTED}, not {part!r}: read [...] and select from that")
    if given.dtype.kind == "b":
        if given.size != extent:
            raise IndexError(f"a mask of {given.size} for dimension {number} of {extent}")
        given = np.flatnonzero(given)
    wanted = given.astype(np.int64)
    wanted = np.where(wanted < 0, wanted + extent, wanted)
    if wanted.size == 0:
        return Along(0, 0, slice(0, 0), ())
    if wanted.min() < 0 or wanted.max() >= extent:
        raise IndexError(f"a list has indices out of bounds for dimension {number} of {extent}")
    if (np.diff(wanted) <= 0).any():
        raise IndexError(f"the list of dimension {number} does not increase: sort it, use "
                         "get_rows() for rows in any order, or select from what [...] returns")
    first, last = int(wanted[0]), int(wanted[-1])
    return Along(first, last - first + 1, wanted - first, wanted.tolist())
