"""What the tests run on several ranks: writes, reads or appends a store at an address.

usage: writer.py ACTION ADDRESS JSON; the JSON has the options of sluice.open, and

  shape, cut     of the variable `x`, and along which dimensions its blocks are cut
  seed           of the cuts; none: equal blocks
  first, steps   the numbers of the steps
  wait           a file: before every step but the first waits until it is gone
"""

import json
import sys
import time
from pathlib import Path

import numpy as np
from mpi4py import MPI

import sluice

COMM = MPI.COMM_WORLD
RANK, RANKS = COMM.rank, COMM.size


def values(shape, step):
    size = int(np.prod(shape))
    return (np.arange(size, dtype="f8") * 0.5 + 1e6 * step).reshape(shape)


def blocks(shape, seed):
    """Slices along the dimensions 0 and 1: as many as ranks, unequal where there is a seed."""
    rows = 2 if RANKS % 2 == 0 and len(shape) > 1 else 1
    columns = RANKS // rows
    counts = (columns, rows)
    cuts = []
    random = np.random.default_rng(seed)
    for extent, count in zip(shape, counts):
        inner = [extent * i // count for i in range(1, count)]
        if seed is not None and count > 1:
            inner = sorted(random.choice(np.arange(1, extent), count - 1, replace=False))
        cuts.append([0, *map(int, inner), extent])
    at = (RANK % columns, RANK // columns)
    own = [slice(cuts[d][at[d]], cuts[d][at[d] + 1]) for d in range(min(2, len(shape)))]
    return tuple(own)


def write(path, mode, told):
    shape = tuple(told.pop("shape"))
    seed = told.pop("seed", None)
    first, steps = told.pop("first", 0), told.pop("steps", 2)
    wait = told.pop("wait", None)
    own = blocks(shape, seed)
    start = [s.start for s in own] + [0] * (len(shape) - len(own))
    with sluice.open(path, mode, comm=COMM, timeout_s=told.pop("timeout_s", 60), **told) as out:
        out.attrs["seed"] = -1 if seed is None else seed
        for step in range(first, first + steps):
            with out.step(time=float(step)):
                mine = values(shape, step)[own]
                out.put("x", mine, shape=shape, start=start)
                first, last = 4 * RANK // RANKS, 4 * (RANK + 1) // RANKS
                out.put("small", np.full(last - first, step, "i4"), shape=(4,), start=(first,))
            if RANK == 0:
                print(f"step {step}", flush=True)
            limit = time.monotonic() + 60
            while wait and Path(wait).exists() and time.monotonic() < limit:
                time.sleep(0.02)


def read(path, told):
    shape = tuple(told["shape"])
    own = blocks(shape, told.get("seed"))
    with sluice.open(path, comm=COMM, timeout_s=60) as f:
        assert f.steps == told["steps"], f.steps
        for step in range(f.steps):
            np.testing.assert_array_equal(f["x"][(step, *own)], values(shape, step)[own])


def main():
    action, path, text = sys.argv[1:]
    told = json.loads(text)
    try:
        read(path, told) if action == "read" else write(path, action, told)
    except sluice.Error as e:
        sys.stdout.write(f"rank {RANK}: {e.code.name}: {e}\n")  # in one piece
        sys.stdout.flush()
        COMM.Barrier()
        sys.exit(3)
    except AssertionError as e:
        print(f"rank {RANK}: {e}", flush=True)
        COMM.Abort(4)


main()
