"""Writes three steps, each rank its part, and reads the neighbour's part back."""

import sys

import numpy
from mpi4py import MPI

import sluice

COMM = MPI.COMM_WORLD
EACH = 1000


def value(rank, step):
    return rank * 1e6 + numpy.arange(EACH) + step * 0.5


with sluice.open(sys.argv[1], "w", comm=COMM, strategy="collective") as out:
    out.define("x", float, (EACH * COMM.size,), steps=True, unit="nm")
    for step in range(3):
        with out.step(time=0.1 * step):
            out.put("x", value(COMM.rank, step), start=(EACH * COMM.rank,))
with sluice.open(sys.argv[1], comm=COMM) as f:
    other = (COMM.rank + 1) % COMM.size
    theirs = f["x"][-1, EACH * other:EACH * (other + 1)]
    assert f.steps == 3 and (theirs == value(other, 2)).all(), theirs
