"""Heat spreads over a plate, on any number of ranks. heat.py FILE [FROM]: writes every step to
FILE; goes on from the last step of FROM. heat.cpp, heat.c and heat.f90 write the same file."""

import sys

import numpy as np
from mpi4py import MPI

import sluice

ROWS, COLUMNS, STEPS = 64, 32, 8

comm = MPI.COMM_WORLD
if comm.size > ROWS:
    sys.exit(f"heat: {comm.size} ranks for {ROWS} rows: use fewer" if comm.rank == 0 else 2)
up = comm.rank - 1 if comm.rank > 0 else MPI.PROC_NULL
down = comm.rank + 1 if comm.rank + 1 < comm.size else MPI.PROC_NULL
first = ROWS * comm.rank // comm.size
n = ROWS * (comm.rank + 1) // comm.size - first
u = np.zeros((n + 2, COLUMNS))
i, j = np.mgrid[first:first + n, 0:COLUMNS]
heater = (i == ROWS // 2) & (j >= COLUMNS // 4) & (j < COLUMNS // 2)

if len(sys.argv) > 2:
    with sluice.open(sys.argv[2], comm=comm) as f:
        u[1:-1] = f["temperature"].get(start=(first, 0), count=(n, COLUMNS))

with sluice.open(sys.argv[1], "w", comm=comm) as out:
    out.attrs["title"] = "heat on a plate"
    out.define("temperature", float, (ROWS, COLUMNS), steps=True, unit="K")
    out.put("heater", heater, shape=(ROWS, COLUMNS), start=(first, 0))
    for t in range(STEPS):
        comm.Sendrecv(u[1], up, recvbuf=u[-1], source=down)
        comm.Sendrecv(u[-2], down, recvbuf=u[0], source=up)
        old = u.copy()
        u[1:-1, 1:-1] = old[1:-1, 1:-1] + 0.1 * (
            old[:-2, 1:-1] + old[2:, 1:-1] + old[1:-1, :-2] + old[1:-1, 2:] - 4 * old[1:-1, 1:-1])
        u[1:-1][heater] = 100
        with out.step(time=0.1 * t):
            out.put("temperature", u[1:-1], start=(first, 0))
