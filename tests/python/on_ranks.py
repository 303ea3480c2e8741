"""For tests that every rank runs: a folder that all ranks see, and what rank 0 alone looks at."""

import contextlib
import tempfile
from pathlib import Path

from mpi4py import MPI

COMM = MPI.COMM_WORLD


@contextlib.contextmanager
def folder_of_all():
    """Rank 0's temporary folder, removed when all ranks have left it."""
    with tempfile.TemporaryDirectory() if COMM.rank == 0 else contextlib.nullcontext() as made:
        yield Path(COMM.bcast(made))
        COMM.Barrier()


def only_on_rank_0(look):
    """What rank 0 finds wrong, every rank reports."""
    failure = None
    if COMM.rank == 0:
        try:
            look()
        except BaseException as e:  # noqa: B902
            failure = f"{type(e).__name__}: {e}"
    failure = COMM.bcast(failure)
    assert failure is None, failure
