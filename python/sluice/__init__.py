"""Sluice: parallel arrays of a simulation in plain HDF5, netCDF-4, Zarr and VTKHDF files.

Example::

    with sluice.open("spins.h5", "w", comm=MPI.COMM_WORLD, strategy="collective") as out:
        with out.step(time=t):
            out.put("spins", mine, shape=(atoms, 3), start=(first, 0))

    with sluice.open("spins.h5") as f:
        f["spins"][-1, 10:20]
        f["spins"].attrs["units"], f.steps, f.times

    with sluice.records("traj.rec") as groups:  # of sluice::Records, or Fortran's module fpio
        groups[-1]["f1"]

Dimensions are in numpy's order. Shapes, starts, counts, rows and steps are integers: a fraction is
a TypeError. Collective calls are made by every rank of the communicator, in the same order; alike
means that every rank makes the same call; others are local. Failures raise `sluice.Error`, whose
`code` is one of `sluice.Code`. If a local call on a file that is being written fails, within a step
or outside, the next commit (the end of a step, flush() or close()) fails on every rank, once.
"""

from ._attributes import Attributes
from ._checkpoint import Checkpoint, Restored, Saved
from ._file import File, Step, open
from ._library import (Code, Error, MissingFileError, NotFoundError, mpi_library, read_on_root,
                       set_message_handler, version)
from ._records import Records, records
from ._sessions import Session, Sessions, open_sessions
from ._stable import read_stable
from ._ticket import Ticket
from ._variable import Variable

__all__ = ["Attributes", "Checkpoint", "Code", "Error", "File", "MissingFileError",
           "NotFoundError", "Records", "Restored", "Saved", "Session", "Sessions", "Step", "Ticket",
           "Variable", "mpi_library", "open", "open_sessions", "read_on_root", "read_stable",
           "records", "set_message_handler", "version"]
__version__ = version()
