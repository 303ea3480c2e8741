"""What the benchmark programs that are Python scripts under mpirun share: they read a job a line,
and answer each with a line."""

import json
import sys
import time

import numpy
from mpi4py import MPI

comm = MPI.COMM_WORLD
COLUMNS = 1024
SPARE_S = 0.001  # between two looks for the next job


def field(first, count):
    """Rows of the array that is written."""
    values = numpy.arange(first * COLUMNS, (first + count) * COLUMNS, dtype="f8")
    return values.reshape(count, COLUMNS) * 0.5


def lines():
    """The lines of rank 0; the others sleep until it has one, so as to disturb nobody."""
    while True:
        if comm.rank == 0:
            line = sys.stdin.readline()
            for rank in range(1, comm.size):
                comm.send(line, rank)
        else:
            while not comm.iprobe(source=0):
                time.sleep(SPARE_S)
            line = comm.recv(source=0)
        if not line:
            return
        yield line


def serve(carry_out):
    """Carries out the jobs: `carry_out` has the name and the parameters, and returns the values."""
    for line in lines():
        job, *words = line.rstrip("\n").split("\t")
        values = carry_out(job, dict(word.split("=", 1) for word in words))
        if comm.rank == 0:
            print(json.dumps({"contestant": job, "values": values}), flush=True)
