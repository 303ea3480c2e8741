"""Programs as people write them: none knows of the driver. Each takes the path of its file and
calls `flushed()` whenever a flush, or the close, has returned. `before(path)`, where there is one,
makes the file that is there already, by plain HDF5. In the long tests they flush more often.
"""

import os

import h5py
import netCDF4
import numpy
import tables

STEPS = 16 if os.environ.get("SLUICE_LONG") else 5


def append(path, flushed):
    with h5py.File(path, "w") as f:
        rows = f.create_dataset("rows", (0, 40), maxshape=(None, 40), chunks=(8, 40), dtype="f8")
        for i in range(STEPS):
            rows.resize(3 * (i + 1), axis=0)
            rows[3 * i:] = i + 1
            f.attrs["step"] = i
            f.flush()
            flushed()
    flushed()


def _arrays(path):
    with h5py.File(path, "w") as f:
        f["plain"] = numpy.zeros(500)
        f.create_dataset("chunked", data=numpy.zeros((40, 40)), chunks=(10, 10))


def in_place(path, flushed):
    with h5py.File(path, "r+") as f:
        for i in range(1, STEPS):
            f["plain"][100:400] = i
            f["chunked"][5:25, i] = i
            f.flush()
            flushed()
    flushed()


def attributes(path, flushed):
    with h5py.File(path, "a") as f:
        for i in range(STEPS):
            f.attrs[f"number {i}"] = i
            f.attrs["text"] = "x" * (10 + 30 * i)
            f["plain"].attrs["array"] = numpy.full(20, i)
            f.flush()
            flushed()
        del f.attrs["number 2"]
    flushed()


def groups(path, flushed):
    with h5py.File(path, "w") as f:
        for i in range(STEPS - 1):
            group = f.create_group(f"run {i}")
            for j in range(3):
                group[f"values {j}"] = numpy.arange(60) * i + j
            if i > 1:
                del f[f"run {i - 2}"]
            f.flush()
            flushed()
    flushed()


def moving(path, flushed):
    """Compressed chunks that change their size, and so their place."""
    noise = numpy.random.default_rng(7)
    with h5py.File(path, "w") as f:
        data = f.create_dataset("d", (4, 300), chunks=(1, 300), dtype="i4", compression="gzip")
        for i in range(STEPS):
            data[i % 4] = noise.integers(0, 10 ** (i % 8 + 1), 300)
            data[0, :50] = i
            f.flush()
            flushed()
    flushed()


def _record_file(path):
    """netCDF flushes whenever it has defined something; so that is done before."""
    with netCDF4.Dataset(path, "w") as f:
        f.createDimension("time", None)
        f.createDimension("x", 30)
        f.createVariable("time", "f8", ("time",))
        f.createVariable("field", "f4", ("time", "x"), zlib=True).units = "m"


def records(path, flushed):
    with netCDF4.Dataset(path, "a") as f:
        for i in range(STEPS):
            f["time"][i] = i * 0.5
            f["field"][i] = numpy.arange(30) * (i + 1)
            f.sync()
            flushed()
    flushed()


def table(path, flushed):
    with tables.open_file(path, "w") as f:
        rows = f.create_table("/", "t", {"a": tables.Int32Col(), "b": tables.Float64Col()},
                              chunkshape=16)
        for i in range(STEPS - 1):
            for j in range(10):
                rows.row["a"], rows.row["b"] = i, j / (i + 1)
                rows.row.append()
            f.flush()
            flushed()
    flushed()


def replaced(path, flushed):
    """A new file over an old one."""
    with h5py.File(path, "w") as f:
        f["new"] = numpy.arange(200)
        f.flush()
        flushed()
        f["more"] = numpy.arange(50)
        f["new"][10:20] = -1
        f.flush()
        flushed()
    flushed()


def latest(path, flushed):
    """The newest format, and a user block in front of it."""
    with h5py.File(path, "w", libver="latest", userblock_size=1024) as f:
        rows = f.create_dataset("rows", (0,), maxshape=(None,), chunks=(32,), dtype="i8")
        for i in range(STEPS - 1):
            rows.resize(20 * (i + 1), axis=0)
            rows[20 * i:] = i
            f.attrs["step"] = i
            f.flush()
            flushed()
    flushed()


def text(path, flushed):
    """Strings of any length lie in heaps that are changed in place."""
    with h5py.File(path, "w") as f:
        lines = f.create_dataset("lines", (0,), maxshape=(None,), chunks=(8,),
                                 dtype=h5py.string_dtype())
        for i in range(STEPS):
            lines.resize(3 * (i + 1), axis=0)
            lines[3 * i:] = [f"line {i}", "x" * (40 * i), ""]
            lines[0] = "first " * (i + 1)
            f.flush()
            flushed()
    flushed()


def resized(path, flushed):
    """Two dimensions without a limit (a B-tree of version 2), which grow and shrink."""
    with h5py.File(path, "w", libver="latest") as f:
        data = f.create_dataset("d", (4, 4), maxshape=(None, None), chunks=(4, 4), dtype="i4")
        shapes = ((8, 8), (20, 12), (6, 6), (24, 24))
        for i in range(STEPS - 1):
            shape = shapes[i % len(shapes)]
            data.resize(shape)
            data[...] = numpy.arange(data.size).reshape(shape) * (i + 1)
            f.flush()
            flushed()
    flushed()


def many(path, flushed):
    """Many small datasets, so that groups get new indexes; some are moved and deleted."""
    with h5py.File(path, "a") as f:
        for i in range(STEPS - 1):
            for j in range(12):
                f[f"g{i}/values {j}"] = numpy.arange(4) + 10 * i + j
            if i:
                f.move(f"g{i - 1}/values 3", f"g{i}/moved")
                del f[f"g{i - 1}/values 5"]
            f.flush()
            flushed()
    flushed()


def rewritten(path, flushed):
    """Much data in place, so that the journal begins anew again and again."""
    with h5py.File(path, "w") as f:
        data = f.create_dataset("d", (24, 250), dtype="f8", chunks=None)
        for i in range(STEPS + 4):
            data[...] = numpy.arange(data.size).reshape(data.shape) * (i + 1)
            f.attrs["step"] = i
            f.flush()
            flushed()
    flushed()


def free_space(path, flushed):
    """A file that keeps its free space, of which HDF5 writes the rest while it closes."""
    with h5py.File(path, "w", fs_strategy="fsm", fs_persist=True) as f:
        for i in range(STEPS - 2):
            f[f"values {i}"] = numpy.arange(300) * (i + 1)
            if i:
                del f[f"values {i - 1}"]
            f.flush()
            flushed()
    flushed()


def filled(path, flushed):
    """A new file where an empty one is."""
    with h5py.File(path, "w") as f:
        for i in range(STEPS - 2):
            f[f"values {i}"] = numpy.arange(20_000) * (i + 1)
            f.attrs["step"] = i
            f.flush()
            flushed()
    flushed()


def _empty(path):
    with open(path, "wb"):
        pass


def nothing(path):
    """There is no file before."""


PROGRAMS = {
    "append": (append, nothing), "in-place": (in_place, _arrays),
    "attributes": (attributes, _arrays), "groups": (groups, nothing), "moving": (moving, nothing),
    "netcdf4": (records, _record_file), "pytables": (table, nothing),
    "replaced": (replaced, _arrays),
    "latest": (latest, nothing),
    "rewritten": (rewritten, nothing), "text": (text, nothing),
    "resized": (resized, nothing), "many": (many, _arrays), "free-space": (free_space, nothing),
    "filled": (filled, _empty),
}
