"""Record groups as numpy arrays."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Iterator, List, Tuple, Union

import numpy as np

from ._file import File
from ._library import Code, Error
from ._types import dtype_of

#: (number of the type, how many scalars): see docs/formats/records.md.
Run = Tuple[int, int]
_WINDOW_RUNS = 1024
_WIDE = {64: "V16", 66: "V16", 68: "V32",
         65: np.longdouble if np.dtype(np.longdouble).itemsize == 16 else "V16",
         67: np.clongdouble if np.dtype(np.clongdouble).itemsize == 32 else "V32"}


def records(path: Union[str, "os.PathLike[str]"], comm: Any = None, **options: Any) -> "Records":
    """Opens a file that sluice::Records or the Fortran module fpio wrote. Collective over `comm`.

    Args:
        path: The file, the same on every rank.
        comm: An mpi4py communicator; None: this process alone, which gets the parts of all ranks.
        options: As for sluice.open().

    Raises:
        Error: FORMAT (the file holds no records), and as sluice.open().
    """
    return Records(path, comm, **options)


class Records(Sequence):
    """The record groups of a file, in order: a sequence, and a context manager.

    ``groups[g]`` is group g as one structured array, where its parts allow that: a loop that wrote
    an id and three coordinates for each particle gives an array with fields f0 (an integer) and f1
    (of shape (3,)), one row for each particle. ``groups.parts(g)`` works for every group. Strings
    are bytes without the blanks at their end. Kinds that numpy does not have are raw bytes ("V16").

    Of several readers each gets its parts: rank r of M gets r*P//M to (r+1)*P//M - 1 of P.
    """

    def __init__(self, path: Union[str, "os.PathLike[str]"], comm: Any = None, **options: Any):
        self._file = File(path, "r", comm, **options)
        self._rank, self._ranks = (0, 1) if comm is None else (comm.Get_rank(), comm.Get_size())
        if "sluice_records" not in self._file.attrs:
            self._file.close()
            raise Error(Code.FORMAT, f"{os.fspath(path)}: holds no records: open it by sluice.open")

    def __len__(self) -> int:
        return self._file.steps

    def __getitem__(self, group: int) -> np.ndarray:
        """A whole group (-1: the last one) as one structured array. Collective.

        Raises:
            Error: TYPE_MISMATCH where its values are not the same fields again and again: use
                parts().
        """
        arrays = [array for part in self.parts(group) for array in part]
        kinds = {array.dtype for array in arrays}
        if len(kinds) > 1:
            raise Error(Code.TYPE_MISMATCH,
                        f"{self._file.path}: record group {group} has {len(kinds)} kinds of "
                        "records: use parts(), which gives an array a kind")
        return np.concatenate(arrays) if arrays else np.empty(0, dtype=[])

    def parts(self, group: int) -> List[List[np.ndarray]]:
        """The parts of a group: a list for each rank that wrote one. Collective.

        Args:
            group: Number of the group; negative: from the end.

        Returns:
            For each part a list of structured arrays, one for each stretch of the same fields.

        Raises:
            IndexError: There is no such group.
            Error: DAMAGED, TRUNCATED, IO.
        """
        number = group + len(self) if group < 0 else group
        if not 0 <= number < len(self):
            raise IndexError(f"record group {group} of {len(self)}")
        table = self._file["parts"]
        count = table.shape_of(number)[0]
        first = self._rank * count // self._ranks
        last = (self._rank + 1) * count // self._ranks
        rows = table.get(number, (first, 0), (last - first, 3))
        begin = int(rows[0, 0]) if len(rows) else 0
        end = int(rows[-1].sum()) if len(rows) else 0
        data = self._file["data"].get(number, (begin,), (end - begin,))
        return [self._decode(data, *(int(word) for word in row), begin) for row in rows]

    def _decode(self, data: np.ndarray, offset: int, signature_bytes: int, payload_bytes: int,
                begin: int) -> List[np.ndarray]:
        at = offset - begin + signature_bytes
        signature = data[at - signature_bytes:at].tobytes()
        end = at + payload_bytes
        arrays = []
        for body, times in _segments(signature):
            dtype = _dtype_of(body)
            count = times
            if times == 1 and len(body) == 1:  # values of one type: a row each
                dtype, count = _dtype_of([(body[0][0], 1)]), body[0][1]
            if dtype.itemsize * count > end - at:
                raise Error(Code.DAMAGED, f"{self._file.path}: the signature of a part promises "
                                          "more than there is")
            arrays.append(np.frombuffer(data, dtype, count, at))
            at += dtype.itemsize * count
        return arrays

    def close(self) -> None:
        """Closes the file. Collective. Arrays that were read stay."""
        self._file.close()

    def __enter__(self) -> "Records":
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<sluice.Records {self._file.path!r}>"


def _scalar(code: int) -> np.dtype:
    return np.dtype(_WIDE[code]) if code in _WIDE else dtype_of(code)


def _dtype_of(body: List[Run]) -> np.dtype:
    return np.dtype([(f"f{i}", _scalar(code), (count,)) if count > 1 else (f"f{i}", _scalar(code))
                     for i, (code, count) in enumerate(body)])


def _numbers(signature: bytes) -> Iterator[int]:
    value = shift = 0
    for byte in signature:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            yield value
            value = shift = 0


def _segments(signature: bytes) -> Iterator[Tuple[List[Run], int]]:
    """(runs, how often they come one after the other), in order."""
    numbers = _numbers(signature)
    window: List[Run] = []   # the last runs
    pending: List[Run] = []  # runs that are in no segment yet: the end of the window
    for distance in numbers:
        if distance == 0:
            run = (next(numbers), next(numbers))
            window.append(run)
            pending.append(run)
        else:
            body, length = window[-distance:], next(numbers)
            times, rest = divmod(length, distance)
            if len(pending) >= distance and times > 0:
                if len(pending) > distance:
                    yield pending[:-distance], 1
                yield body, times + 1
                pending = []
            elif times > 0:
                if pending:
                    yield pending, 1
                yield body, times
                pending = []
            pending = pending + body[:rest]
            whole = body * min(times, _WINDOW_RUNS // distance + 1)
            window = window + whole + body[:rest]
        window = window[-_WINDOW_RUNS:]
    if pending:
        yield pending, 1
