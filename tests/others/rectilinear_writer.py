"""Writes stores with random grids of unequal blocks, on all ranks of MPI:

    mpirun -n N python rectilinear_writer.py FOLDER CASES

Case s is the store FOLDER/s.zarr, with the variable g/v of the shape and values that case(s) gives.
"""

import itertools
import math
import random
import sys

import numpy as np

STRATEGIES = ("shared", "collective", "forward", "serial", "auto")


class Case:
    """One decomposition, drawn from its number alone."""

    def __init__(self, seed, ranks):
        draw = random.Random(seed)
        self.strategy = STRATEGIES[seed % len(STRATEGIES)]
        self.compress = draw.choice(["", "", "zstd:1", "deflate:1"])
        self.steps = draw.randint(1, 3)
        # A block a rank, in any order; the other ranks have none.
        self.lengths = [[]] * (ranks + 1)
        while math.prod(map(len, self.lengths)) not in range(1, ranks + 1):
            dimensions = draw.randint(1, 3)
            self.lengths = [[draw.randint(1, 400 if dimensions == 1 else 17)
                             for _ in range(draw.randint(2 if d == 0 else 1, 4))]
                            for d in range(dimensions)]
        self.shape = tuple(map(sum, self.lengths))
        cells = list(itertools.product(*(range(len(along)) for along in self.lengths)))
        self.owners = dict(zip(cells, draw.sample(range(ranks), len(cells))))

    def values(self, step):
        size = int(np.prod(self.shape))
        return (np.arange(size, dtype="f8").reshape(self.shape) + 1) * 1.25 + step * 1000

    def box(self, cell):
        starts = [sum(along[:at]) for along, at in zip(self.lengths, cell)]
        return tuple(slice(start, start + along[at])
                     for start, along, at in zip(starts, self.lengths, cell))


def is_regular(lengths):
    return all(len(set(along[:-1])) <= 1 and along[-1] <= along[0] for along in lengths)


def write(path, case, comm):
    import sluice
    with sluice.open(path, "w", comm=comm, strategy=case.strategy, rectilinear=True,
                     durability="none") as out:
        v = out.define("g/v", "f8", case.shape, steps=True, compress=case.compress)
        for step in range(case.steps):
            whole = case.values(step)
            with out.step(time=0.5 * step):
                for cell, owner in case.owners.items():
                    if owner == comm.rank:
                        box = case.box(cell)
                        out.put(v, np.ascontiguousarray(whole[box]),
                                start=[one.start for one in box])


if __name__ == "__main__":
    from mpi4py import MPI
    world = MPI.COMM_WORLD
    for number in range(int(sys.argv[2])):
        write(f"{sys.argv[1]}/{number}.zarr", Case(number, world.size), world)
