"""Heat spreads along a rod, on any number of ranks, and goes on from its last checkpoint. spread.py
STEPS: prints the sum of the temperatures. spread.cpp, spread.c and spread.f90 do the same."""

import sys

import numpy as np
from mpi4py import MPI

import sluice  # 1

CELLS = 4096

comm = MPI.COMM_WORLD
left = comm.rank - 1 if comm.rank > 0 else MPI.PROC_NULL
right = comm.rank + 1 if comm.rank + 1 < comm.size else MPI.PROC_NULL
steps = int(sys.argv[1]) if len(sys.argv) > 1 else 100
first = CELLS * comm.rank // comm.size
n = CELLS * (comm.rank + 1) // comm.size - first
u = np.zeros(n + 2)
u[1:-1][np.arange(first, first + n) % 100 == 50] = 100

state = sluice.Checkpoint("spread.h5", comm, interval_calls=10)  # 2
state.array("u", u[1:-1], shape=CELLS, start=(first,))           # 3
step = state.value("step", np.int32(0))                          # 4
state.restore()                                                  # 5
while step < steps:
    comm.Sendrecv(u[1:2], left, recvbuf=u[-1:], source=right)
    comm.Sendrecv(u[-2:-1], right, recvbuf=u[:1], source=left)
    u[1:-1] += 0.25 * (u[:-2] - 2 * u[1:-1] + u[2:])
    step += 1
    if state.due():              # 6
        state.save(float(step))  # 7
    if state.ending:             # 8
        break                    # 9
state.close()                    # 10

every = np.zeros(CELLS)
every[first:first + n] = u[1:-1] * (1 + np.arange(first, first + n) % 7)
comm.Allreduce(MPI.IN_PLACE, every)
total = 0.0
for each in every:
    total += each
if comm.rank == 0:
    print(int(step), f"{total:.17g}")
