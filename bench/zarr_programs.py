"""Writes one array into a new Zarr store from all ranks, in several ways: the program of the case
zarr. Reads a job a line, and answers each with a line; --list prints the jobs.

Rows are divided among the ranks, equally or in the ratio 9 : 11 : 9 : 11 ... What the ranks of a
peer write never shares a chunk, without which nobody would write it safely."""

import os
import shutil
import sys
import time

import numpy
import tensorstore
import zarr
from rank_jobs import COLUMNS, comm, field, serve

import sluice


def cuts(rows, is_equal):
    """The first row of every rank, and the end; multiples of a chunk of the peers."""
    shares = [10 if is_equal else (9, 11)[rank % 2] for rank in range(comm.size)]
    if sum(shares) != 10 * comm.size:
        shares[-1] += 10 * comm.size - sum(shares)
    unit = rows // (10 * comm.size)
    return [unit * sum(shares[:rank]) for rank in range(comm.size + 1)], unit


def by_sluice(options):
    def write(path, rows, bounds, values, is_durable, unit):
        del unit
        with sluice.open(path, "w", comm=comm, durability="step" if is_durable else "none",
                         **options) as out:
            out.define("field", float, (rows, COLUMNS), steps=True)
            with out.step(time=0.0):
                out.put("field", values, start=(bounds[comm.rank], 0))
    return write


def make_safe(path):
    """This rank's part of all files, and their folders."""
    for number, (folder, _, names) in enumerate(sorted(os.walk(path))):
        for at, name in enumerate(sorted(names)):
            if (number + at) % comm.size == comm.rank:
                sync(os.path.join(folder, name))
        if number % comm.size == comm.rank:
            sync(folder)


def sync(path):
    held = os.open(path, os.O_RDONLY)
    os.fsync(held)
    os.close(held)


def chunk_rows(bounds, unit):
    """The largest chunk of which every rank has whole ones."""
    return int(numpy.gcd.reduce([b - a for a, b in zip(bounds, bounds[1:])])) or unit


def by_zarr(path, rows, bounds, values, is_durable, unit):
    if comm.rank == 0:
        zarr.create_group(path).create_array(
            "field", shape=(1, rows, COLUMNS), chunks=(1, chunk_rows(bounds, unit), COLUMNS),
            dtype="f8", compressors=None)
    comm.Barrier()
    zarr.open_array(path + "/field", mode="r+")[0, bounds[comm.rank]:bounds[comm.rank + 1]] = values
    comm.Barrier()
    if is_durable:
        make_safe(path)


def by_tensorstore(path, rows, bounds, values, is_durable, unit):
    spec = {
        "driver": "zarr3",
        "kvstore": {"driver": "file", "path": path + "/field/", "file_io_sync": is_durable},
        "metadata": {
            "shape": [1, rows, COLUMNS], "data_type": "float64",
            "chunk_grid": {"name": "regular", "configuration": {
                "chunk_shape": [1, chunk_rows(bounds, unit), COLUMNS]}},
            "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        },
    }
    if comm.rank == 0:
        tensorstore.open(spec, create=True).result()
    comm.Barrier()
    array = tensorstore.open(spec, open=True).result()
    array[0, bounds[comm.rank]:bounds[comm.rank + 1]].write(values).result()


WAYS = {
    "sluice": by_sluice({"format": "zarr", "rectilinear": "false"}),
    "sluice-rectilinear": by_sluice({"format": "zarr", "rectilinear": "true"}),
    "sluice-icechunk": by_sluice({"format": "icechunk"}),
    "zarr-python": by_zarr,
    "tensorstore": by_tensorstore,
}
JOBS = [f"{way}/{blocks}/{kind}" for way in WAYS for blocks in ("equal", "unequal")
        for kind in ("cached", "durable")]


def stored(path, way):
    if way == "sluice-icechunk":
        with sluice.open(path) as file:
            return file["field"].get(step=0)
    os.environ["ZARR_ARRAY__RECTILINEAR_CHUNKS"] = "True"
    if way == "sluice-rectilinear":  # zarr-python 3.2 is newer than what is needed here
        with sluice.open(path) as file:
            return file["field"].get(step=0)
    return zarr.open_array(path + "/field", mode="r")[0]


def carry_out(job, parameters):
    way, blocks, kind = job.split("/")
    rows = int(parameters["mib"]) * comm.size * (1 << 20) // 8 // COLUMNS
    rows -= rows % (10 * comm.size)
    bounds, unit = cuts(rows, blocks == "equal")
    values = field(bounds[comm.rank], bounds[comm.rank + 1] - bounds[comm.rank])
    path = os.path.splitext(parameters["path"])[0] + ".store"
    if comm.rank == 0:
        for old in (path, path + ".sluice-old"):
            shutil.rmtree(old, ignore_errors=True)
        os.sync()
    comm.Barrier()
    begin_s = time.perf_counter()
    WAYS[way](path, rows, bounds, values, kind == "durable", unit)
    comm.Barrier()
    seconds = time.perf_counter() - begin_s
    if parameters.get("verify") == "1" and comm.rank == 0:
        if not numpy.array_equal(stored(path, way), field(0, rows)):
            raise ValueError(f"{job}: wrong values")
    return {"seconds": seconds, "bytes": rows * COLUMNS * 8}


if sys.argv[1:] == ["--list"]:
    print("\n".join(JOBS))
else:
    serve(carry_out)
