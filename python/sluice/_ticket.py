"""The receipt of a commit."""

from __future__ import annotations

from typing import Any, Tuple

from ._library import OneHandle, check, ffi, lib


class Ticket(OneHandle):
    """The receipt of a commit.

    With strategy "forward" the commit may still be on its way. Tickets compare as (step, durable,
    skipped). A ticket may be asked after its file is closed.
    """

    def __init__(self, handle: Any, lock: Any):
        self._handle = ffi.gc(handle, lib.sluice_ticket_free)
        self._lock = lock  # that of the file

    @property
    def step(self) -> int:
        """Number of the step. Local."""
        return int(self._ask(lib.sluice_ticket_step, "int64_t*"))

    @property
    def durable(self) -> bool:
        """Whether the step survives kill -9, the loss of a node and a power cut, now. Local."""
        return bool(self._ask(lib.sluice_ticket_durable, "int32_t*"))

    @property
    def skipped(self) -> bool:
        """Whether the step was left out (on_error="skip_step"). Local."""
        return bool(self._ask(lib.sluice_ticket_skipped, "int32_t*"))

    def wait(self) -> None:
        """Waits until `durable` will not change any more. Local.

        Between nodes the other ranks must call into the library meanwhile: File.poll().

        Raises:
            Error: What the commit met on its way; TIMEOUT.
        """
        with self._lock:
            check(lib.sluice_ticket_wait(self._handle))

    def _ask(self, function: Any, kind: str) -> Any:
        place = ffi.new(kind)
        with self._lock:
            check(function(self._handle, place))
        return place[0]

    def _values(self) -> Tuple[int, bool, bool]:
        return (self.step, self.durable, self.skipped)

    def __eq__(self, other: Any) -> bool:
        return self._values() == (other._values() if isinstance(other, Ticket) else other)

    def __hash__(self) -> int:
        return hash(self.step)

    def __repr__(self) -> str:
        return "Ticket(step={}, durable={}, skipped={})".format(*self._values())
