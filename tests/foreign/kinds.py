"""Every kind of file that Sluice writes in HDF5, written anew: by one rank, and where the kind
needs them by four."""

import os
import sys

import numpy

import sluice

ROWS = 6
STEPS = 3
OPTIONS = {
    "plain.h5": {},
    "plain.nc": {},
    "grouped.h5": {"hdf5_layout": "grouped"},
    "deflated.h5": {"compress": "deflate:4"},
    "deflated.nc": {"compress": "deflate:1+noshuffle"},
    "zstd.h5": {"compress": "zstd:3"},
    "zstd.nc": {"compress": "zstd:3"},
    "rounded.h5": {"compress": "round:9+deflate:2"},
    "rounded.nc": {"compress": "digits:4+deflate:2"},
    "unchecked.h5": {"checksum": False},
    "parts.h5": {"split_steps": 2},
    "parts.nc": {"split_steps": 2},
    "parts-zstd.nc": {"split_steps": 1, "compress": "zstd:1"},
    "kept.h5": {"keep_last": 2},
    "kept.nc": {"keep_last": 2},
}
# By four ranks, two of a node.
PARALLEL = {
    "process.h5": {"strategy": "file-per-process"},
    "process.nc": {"strategy": "file-per-process"},
    "process-deflated.nc": {"strategy": "file-per-process", "compress": "deflate:1"},
    "node.h5": {"strategy": "file-per-node", "ranks_per_node": 2},
    "node.nc": {"strategy": "file-per-node", "ranks_per_node": 2},
    "collective.h5": {"strategy": "collective", "compress": "deflate:1"},
    "forward.nc": {"strategy": "forward"},
}
RANKS = 4
OTHERS = ("image.vtkhdf", "mesh.vtkhdf", "checkpoint.h5", "checkpoint.nc", "bare.h5")
KINDS = [*OPTIONS, *PARALLEL, *OTHERS]


def _attributes(file):
    file.attrs["title"] = "a file of every kind"
    file.attrs["count"] = 7
    file.attrs["scales"] = numpy.array([0.5, 2.0, -1.0])
    file.attrs["names"] = ["one", "two", ""]
    file.attrs_of("x")["colour"] = "red"
    file.attrs_of("group")["depth"] = numpy.float32(1.5)
    file.attrs_of("time")["units"] = "ps"


def write(path, comm=None, **options):
    """Steps of all shapes beside values without steps. Each rank writes rows of its own, others in
    each step."""
    rank, ranks = (comm.rank, comm.size) if comm else (0, 1)
    grid = numpy.arange(ROWS * 8 * 5, dtype="f8").reshape(ROWS * 8, 5)
    more = {} if options.get("hdf5_layout") == "grouped" else {"chunk": (8, 2)}
    is_netcdf = path.endswith(".nc")
    with sluice.open(path, "w", comm=comm, **options) as file:
        file.define("x", "f8", grid.shape, steps=True, unit="nm", description="position",
                    dimensions=("row", "axis"))
        file.define("tiles", "f4", grid.shape, steps=True, **more)
        file.define("group/inner", "i2", (len(grid),), steps=True)
        file.define("holes", "f8", (len(grid),), steps=True, partial=True, fill=-7.25)
        file.define("rows", "i8", (4 * len(grid),), steps=True, varying=True)
        file.define("joined", "f4", (4 * len(grid), 2), steps=True, varying=True)
        file.define("energy", "f8", (), steps=True)
        file.define("fixed", "i4", (1000,), partial=True, fill=-1)
        file.define("number", "u2", ())
        file.define("words", "S5", (7,))
        if not is_netcdf:
            file.define("waves", "c16", (9,))
            file.define("half", "f2", (9,))
        _attributes(file)
        if rank == 0:
            file.put("fixed", numpy.arange(900, dtype="i4"), start=(50,))
            file.put("number", numpy.uint16(65535))
            file.put("words", numpy.array([b"abc", b"", b"abcde"] + 4 * [b"x"]))
            if not is_netcdf:
                file.put("waves", numpy.arange(9) * (1 + 2j))
                file.put("half", numpy.arange(9, dtype="f2") / 3)
        for step in range(STEPS):
            cuts = [0, *[(r * len(grid)) // ranks + step for r in range(1, ranks)], len(grid)]
            low, high = cuts[rank:rank + 2]
            with file.step(time=0.5 * step):
                file.put("x", grid[low:high] / 3 + step, start=(low, 0))
                file.put("tiles", (grid[low:high] / 7 - step).astype("f4"), start=(low, 0))
                file.put("group/inner", numpy.arange(low, high, dtype="i2") * (step + 1),
                         start=(low,))
                if rank == step % ranks:
                    file.put("holes", numpy.array([1.0, 2.0]) + step, start=(2 * step,))
                rows = (step + 1) * 5 * ranks
                file.resize("rows", rows)
                file.put("rows", numpy.arange(5 * (step + 1)) + 100 * rank + step,
                         start=(5 * (step + 1) * rank,))
                file.put_joined("joined", numpy.full((rank + step, 2), 10 * rank + step, "f4"))
                if rank == 0:
                    file.put("energy", numpy.float64(-1.5 * step))


def write_image(path):
    with sluice.open(path, "w", compress="deflate:1") as file:
        file.attrs_of("VTKHDF")["Type"] = "ImageData"
        file.attrs["title"] = "an image"
        for step in range(STEPS):
            with file.step(time=0.5 * step):
                file.put("VTKHDF/PointData/field", numpy.arange(60.0).reshape(3, 4, 5) + step)
                file.put("beside", numpy.arange(4) + step)


def write_mesh(path):
    most = 100
    with sluice.open(path, "w") as file:
        file.attrs_of("VTKHDF")["Type"] = "UnstructuredGrid"
        for step in range(STEPS):
            n = 3 + step
            points = numpy.arange(3.0 * (n + 2)).reshape(n + 2, 3)
            with file.step(time=0.5 * step):
                file.put_joined("VTKHDF/Points", points, shape=(most, 3))
                file.put_joined("VTKHDF/Connectivity",
                                (numpy.arange(n)[:, None] + [0, 1, 2]).ravel(), shape=(3 * most,))
                file.put_joined("VTKHDF/Offsets", 3 * numpy.arange(n + 1), shape=(most + 1,))
                file.put_joined("VTKHDF/Types", numpy.full(n, 5, dtype="u1"), shape=(most,))
                file.put_joined("VTKHDF/PointData/height", points[:, 2].copy(), shape=(most,))


def write_checkpoint(path):
    state = numpy.arange(100.0).reshape(20, 5)
    with sluice.Checkpoint(path) as checkpoint:
        checkpoint.array("state", state)
        counter = checkpoint.value("counter", 3)
        checkpoint.text("phase", "warm")
        checkpoint.bytes("raw", bytearray(range(50)))
        checkpoint.restore()
        for step in range(STEPS):
            counter[...] = step
            state += 1
            checkpoint.save(0.5 * step)


def write_bare(path):
    """Without steps, and with a variable of no elements."""
    with sluice.open(path, "w") as file:
        file.put("deep/er/x", numpy.arange(12.0).reshape(3, 4))
        file.put("none", numpy.zeros((0, 3)))


def write_alone(folder):
    for name, options in OPTIONS.items():
        write(os.path.join(folder, name), **options)
    write_image(os.path.join(folder, "image.vtkhdf"))
    write_mesh(os.path.join(folder, "mesh.vtkhdf"))
    write_checkpoint(os.path.join(folder, "checkpoint.h5"))
    write_checkpoint(os.path.join(folder, "checkpoint.nc"))
    write_bare(os.path.join(folder, "bare.h5"))


def write_together(folder):
    from mpi4py import MPI
    for name, options in PARALLEL.items():
        write(os.path.join(folder, name), MPI.COMM_WORLD, **options)


if __name__ == "__main__":
    write_together(sys.argv[1])
