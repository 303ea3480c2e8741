"""For tests that every rank runs: a folder that all ranks see, values of which each has a part, and
what rank 0 alone looks at."""

import contextlib
import tempfile
from pathlib import Path

import numpy as np
from mpi4py import MPI

COMM = MPI.COMM_WORLD
EACH = 5  # rows of a rank


@contextlib.contextmanager
def folder_of_all():
    """Rank 0's temporary folder, removed when all ranks have left it."""
    with tempfile.TemporaryDirectory() if COMM.rank == 0 else contextlib.nullcontext() as made:
        yield Path(COMM.bcast(made))
        COMM.Barrier()


def whole(step):
    """The rows of all ranks."""
    return np.arange(COMM.size * EACH * 3.0).reshape(COMM.size * EACH, 3) + 1000 * step


def mine(step):
    """Those of this rank."""
    return whole(step)[COMM.rank * EACH:(COMM.rank + 1) * EACH]


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
