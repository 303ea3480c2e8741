"""Seconds to write one variable through filter plugins of HDF5: h5py in one process beside Sluice
on 1, 2, ... ranks, with the same chunks, each the median of three files, closed and not synced.

    PYTHONPATH=python SLUICE_LIBRARY=... python bench/plugins.py FOLDER RANKS...
"""

import json
import os
import statistics
import subprocess
import sys
import time

import numpy

PLANES, ROWS, COLUMNS = 64, 256, 1024
CHUNK = (4, ROWS, COLUMNS)
OPTIONS = ["lz4", "bitshuffle:zstd,3", "blosc2:zstd,5", "zfp:accuracy=0.001", "sz3:abs=0.001",
           "bzip2:9"]
RUNS = 3


def field(first, count):
    """Smooth waves and noise in the last bits."""
    waves = numpy.sin(numpy.arange(1024) * 0.01)
    index = numpy.arange(count * ROWS * COLUMNS, dtype="u8") + numpy.uint64(first * ROWS * COLUMNS)
    noise = (index * numpy.uint64(2654435761) & numpy.uint64(0xFFFFFFFF)) >> numpy.uint64(16)
    smooth = waves[first:first + count, None, None] + waves[None, :ROWS, None] + waves
    return (smooth + noise.reshape(smooth.shape) * 2.0**-16 * 1e-4).astype("f4")


def write_by_sluice(folder):
    """On every rank; rank 0 prints the seconds of each option."""
    from mpi4py import MPI

    import sluice
    world = MPI.COMM_WORLD
    count = PLANES // world.size
    first = world.rank * count
    values = field(first, count)
    results = {}
    for option in OPTIONS:
        times = []
        for _ in range(RUNS):
            path = os.path.join(folder, "sluice.h5")
            if world.rank == 0 and os.path.exists(path):
                os.remove(path)
            world.Barrier()
            begin = time.perf_counter()
            with sluice.open(path, "w", comm=world, durability="none") as out:
                out.define("field", "float32", (PLANES, ROWS, COLUMNS), chunk=CHUNK,
                           compress=option)
                out.put("field", values, start=(first, 0, 0))
            world.Barrier()
            times.append(time.perf_counter() - begin)
        size = os.path.getsize(path) if world.rank == 0 else 0
        results[option] = (statistics.median(times), size)
    if world.rank == 0:
        print(json.dumps(results))


def write_by_h5py(folder):
    """hdf5plugin tells plugins which libhdf5 to call, where HDF5 has not loaded them itself."""
    os.environ.pop("HDF5_PLUGIN_PATH", None)
    import h5py
    import hdf5plugin
    filters = {
        "lz4": dict(shuffle=True, **hdf5plugin.LZ4()),
        "bitshuffle:zstd,3": hdf5plugin.Bitshuffle(cname="zstd", clevel=3),
        "blosc2:zstd,5": hdf5plugin.Blosc2(cname="zstd", clevel=5,
                                           filters=hdf5plugin.Blosc2.SHUFFLE),
        "zfp:accuracy=0.001": hdf5plugin.Zfp(accuracy=0.001),
        "sz3:abs=0.001": hdf5plugin.SZ3(absolute=0.001),
        "bzip2:9": dict(shuffle=True, **hdf5plugin.BZip2(blocksize=9)),
    }
    values = field(0, PLANES)
    results = {}
    for option in OPTIONS:
        times = []
        for _ in range(RUNS):
            path = os.path.join(folder, "h5py.h5")
            if os.path.exists(path):
                os.remove(path)
            begin = time.perf_counter()
            with h5py.File(path, "w") as out:
                out.create_dataset("field", data=values, chunks=CHUNK, **filters[option])
            times.append(time.perf_counter() - begin)
        results[option] = (statistics.median(times), os.path.getsize(path))
    return results


def main(folder, ranks):
    columns = {"h5py": write_by_h5py(folder)}
    for count in ranks:
        command = ["mpirun", "--oversubscribe", "-n", str(count), sys.executable, __file__,
                   "--rank", folder]
        import hdf5plugin
        result = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True,
                                env=dict(os.environ, HDF5_PLUGIN_PATH=hdf5plugin.PLUGIN_PATH))
        columns[f"{count} ranks"] = json.loads(result.stdout)
    print("| `compress` | " + " | ".join(f"{name}, s | MiB" for name in columns) + " |")
    print("|---" * (1 + 2 * len(columns)) + "|")
    for option in OPTIONS:
        cells = [f"{columns[name][option][0]:.2f} | {columns[name][option][1] / 2**20:.1f}"
                 for name in columns]
        print(f"| `{option}` | " + " | ".join(cells) + " |")


if sys.argv[1] == "--rank":
    write_by_sluice(sys.argv[2])
else:
    main(sys.argv[1], sys.argv[2:] or ["1", "2"])
