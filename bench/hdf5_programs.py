"""Programs of HDF5 as people write them, which flush again and again: under whichever driver the
environment names. One job a line on stdin, one answer a line on stdout (bench/runner/program.py).

Jobs: append/WAY, small/WAY, in-place/WAY, records/WAY. WAY is what they do to be safe at a
checkpoint: `flush` (sluice's driver makes that durable), `fsync` (flush, then fsync of the file),
`copy` (flush, copy the file, fsync the copy, rename it over the last copy). Times include the
close of the file: what a driver has put off is work, too.
"""

import json
import os
import shutil
import sys
import time

import h5py
import netCDF4
import numpy

ROW = 1000  # values


def _sync(path):
    descriptor = os.open(path, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def flush_only(path):
    del path


def fsync(path):
    _sync(path)


def copy(path):
    new = path + ".new"
    shutil.copyfile(path, new)
    _sync(new)
    os.rename(new, path + ".checkpoint")
    _sync_folder(os.path.dirname(path))


def _sync_folder(folder):
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


WAYS = {"flush": flush_only, "fsync": fsync, "copy": copy}


def append(path, bytes_each, flushes, make_safe):
    """Rows to a chunked dataset, whose last chunk is seldom full at a flush."""
    rows = max(1, bytes_each // (8 * ROW))
    values = numpy.random.default_rng(1).random((rows, ROW))
    with h5py.File(path, "w") as f:
        data = f.create_dataset("rows", (0, ROW), maxshape=(None, ROW), chunks=(128, ROW),
                                dtype="f8")
        f.flush()
        begin_s = time.perf_counter()
        for i in range(flushes):
            data.resize((i + 1) * rows, axis=0)
            data[i * rows:] = values
            f.flush()
            make_safe(path)
    seconds = time.perf_counter() - begin_s
    return seconds, values.nbytes * flushes, lambda f: (f["rows"][-rows:] == values).all()


def small(path, bytes_each, flushes, make_safe):
    """Datasets of 800 bytes, in a group for each flush."""
    count = max(1, bytes_each // 800)
    values = numpy.arange(100.0)
    with h5py.File(path, "w") as f:
        f.flush()
        begin_s = time.perf_counter()
        for i in range(flushes):
            group = f.create_group(f"step {i}")
            for j in range(count):
                group[f"values {j}"] = values
            f.flush()
            make_safe(path)
    seconds = time.perf_counter() - begin_s
    last = f"step {flushes - 1}/values {count - 1}"
    return seconds, values.nbytes * count * flushes, lambda f: (f[last][()] == values).all()


def in_place(path, bytes_each, flushes, make_safe):
    """A quarter of a contiguous dataset is changed for each flush."""
    part = max(1, bytes_each // 8)
    values = numpy.random.default_rng(2).random(part)
    with h5py.File(path, "w") as f:
        f["values"] = numpy.zeros(4 * part)
        f.flush()
        fsync(path)
        begin_s = time.perf_counter()
        for i in range(flushes):
            at = i % 4 * part
            f["values"][at:at + part] = values + i
            f.flush()
            make_safe(path)
    seconds = time.perf_counter() - begin_s
    last = (flushes - 1) % 4 * part
    return (seconds, values.nbytes * flushes,
            lambda f: (f["values"][last:last + part] == values + (flushes - 1)).all())


def records(path, bytes_each, flushes, make_safe):
    """A record of a netCDF-4 variable with an unlimited dimension for each flush."""
    values = numpy.random.default_rng(3).random(max(1, bytes_each // 8))
    with netCDF4.Dataset(path, "w") as f:
        f.createDimension("time", None)
        f.createDimension("x", values.size)
        clock = f.createVariable("time", "f8", ("time",))
        field = f.createVariable("field", "f8", ("time", "x"))
        f.sync()
        begin_s = time.perf_counter()
        for i in range(flushes):
            clock[i] = i
            field[i] = values
            f.sync()
            make_safe(path)
    seconds = time.perf_counter() - begin_s
    return seconds, values.nbytes * flushes, lambda f: (f["field"][-1] == values).all()


PROGRAMS = {"append": append, "small": small, "in-place": in_place, "records": records}


def carry_out(job, parameters):
    program, way = job.split("/")
    path = parameters["path"]
    for name in (path, path + ".checkpoint"):
        if os.path.exists(name):
            os.remove(name)
    flushes = int(parameters["flushes"])
    seconds, size, is_right = PROGRAMS[program](path, int(parameters["bytes"]), flushes, WAYS[way])
    if parameters.get("verify") == "1":
        with h5py.File(path, "r", driver="sec2") as f:
            if not is_right(f):
                raise ValueError(f"{job}: wrong values")
    is_driver = "libsluice_hdf5_driver" in open("/proc/self/maps", encoding="ascii").read()
    return {"seconds": seconds, "bytes": size, "flushes": flushes, "driver": int(is_driver)}


def main():
    if sys.argv[1:] == ["--list"]:
        print("\n".join(f"{program}/{way}" for program in PROGRAMS for way in WAYS))
        return
    for line in sys.stdin:
        job, *words = line.rstrip("\n").split("\t")
        values = carry_out(job, dict(word.split("=", 1) for word in words))
        print(json.dumps({"contestant": job, "values": values}), flush=True)


main()
