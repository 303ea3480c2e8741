"""Whether the other ranks have an exception too, and need not be told of it."""

from __future__ import annotations

import contextlib
from typing import Any, Optional

from ._library import Code, Error


class SharedFailure:
    """The failure of a file's last commit, if all ranks have it."""

    def __init__(self) -> None:
        # What stands for it. The exception itself refers to the file, which must not refer to it.
        self._sign: Any = None

    def forget(self) -> None:
        """A new commit begins."""
        self._sign = None

    def note(self, error: BaseException) -> None:
        """All ranks have this failure."""
        self._sign = object()
        with contextlib.suppress(AttributeError):
            setattr(error, "_sluice_failure", self._sign)

    def is_in(self, error: Optional[BaseException]) -> bool:
        """Do the other ranks leave with `error`, or with what caused it, too?"""
        while error is not None:
            if self._sign is not None and getattr(error, "_sluice_failure", None) is self._sign:
                return True
            if isinstance(error, Error) and error.code in (Code.TIMEOUT, Code.MPI):
                return True  # they cannot be reached any more
            error = error.__cause__
        return False
