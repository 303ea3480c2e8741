"""Writes and reads every strategy and format with whatever MPI mpi4py has, or with none.

    mpiexec -n 4 python program.py FOLDER
    python program.py FOLDER [alone | h5py-first | h5py-last | netcdf-first | netcdf-last]

Prints one line: ranks, the MPI that the library found, how many cells passed.
"""

import os
import sys

import numpy as np

folder = sys.argv[1]
how = sys.argv[2] if len(sys.argv) > 2 else ""
if how == "h5py-first":
    import h5py
if how == "netcdf-first":
    import netCDF4
import sluice

if how == "h5py-last":
    import h5py
if how == "netcdf-last":
    import netCDF4

comm, rank, size = None, 0, 1
if how == "":
    from mpi4py import MPI
    comm = MPI.COMM_WORLD
    rank, size = comm.Get_rank(), comm.Get_size()

STRATEGIES = ("serial", "shared", "collective", "forward", "file-per-process", "file-per-node",
              "auto")
# The ending of a format's files, its options, and may a file of it be several?
FORMATS = {
    "hdf5": ("h5", {}, True),
    "hdf5-grouped": ("grouped.h5", {"format": "hdf5", "hdf5_layout": "grouped"}, False),
    "netcdf4": ("nc", {}, True),
    "zarr": ("zarr", {}, False),
    "npy": ("npy", {}, False),
    "records": ("rec", {}, False),
    "dcd": ("dcd", {}, False),
    "namdbin": ("coor", {}, False),
}
ROWS, COLUMNS = 12, 5


def part(step):
    first = rank * ROWS
    return np.arange(ROWS * COLUMNS, dtype=float).reshape(ROWS, COLUMNS) + 1000 * step + \
        first * COLUMNS, first


def whole(step):
    return np.arange(size * ROWS * COLUMNS, dtype=float).reshape(-1, COLUMNS) + 1000 * step


def path_of(form, strategy, options):
    return os.path.join(folder, f"{how or 'mpi'}-{strategy}-{len(options)}.{FORMATS[form][0]}")


def cell(form, strategy, **options):
    """Three steps, written and read by all ranks."""
    path = path_of(form, strategy, options)
    # Of the variable: as an option of the file it is for those of 4 KiB and more.
    compress = options.pop("compress", None)
    said = {"format": form, **FORMATS[form][1], **options}
    has_times = form not in ("npy", "dcd")
    with sluice.open(path, "w", comm=comm, strategy=strategy, **said) as out:
        if form == "dcd":
            out.define("positions", "float32", (size * ROWS, 3), steps=True)
        if compress is not None:
            out.define("x", "float64", (size * ROWS, COLUMNS), steps=True, compress=compress)
        for step in range(3):
            mine, first = part(step)
            with out.step(**({"time": 0.5 * step} if has_times else {})):
                if form == "dcd":
                    out.put("positions", mine[:, :3].astype("float32"), start=(first, 0))
                else:
                    out.put("x", mine, shape=(size * ROWS, COLUMNS), start=(first, 0))
    with sluice.open(path, comm=comm) as f:
        assert f.steps == 3, (path, f.steps)
        for step in range(3):
            if form == "dcd":
                there, wanted = f["positions"][step], whole(step)[:, :3].astype("float32")
            else:
                there, wanted = f["x"][step], whole(step)
            assert (there == wanted).all(), (path, step)
    return path


def restart(strategy):
    """NAMD's restart file: one array, without steps."""
    path = path_of("namdbin", strategy, {})
    mine, first = part(0)
    with sluice.open(path, "w", comm=comm, strategy=strategy) as out:
        out.put("positions", mine[:, :3], shape=(size * ROWS, 3), start=(first, 0))
    with sluice.open(path, comm=comm) as f:
        assert (f["positions"][:] == whole(0)[:, :3]).all(), path
    return path


def main():
    passed = []
    for form, (_, _, may_be_parts) in FORMATS.items():
        for strategy in STRATEGIES:
            if strategy.startswith("file-per") and not may_be_parts:
                continue  # docs/formats.md says why
            if size == 1 and strategy == "file-per-node":
                continue
            passed.append(restart(strategy) if form == "namdbin" else cell(form, strategy))
    for packed in ("deflate:6", "zstd:3"):
        passed.append(cell("hdf5", "forward", compress=packed, budget_bytes=2**26))
        passed.append(cell("zarr", "collective", compress=packed))
    if comm is not None:
        passed.append(cell("hdf5", "collective", storage="mpiio"))
    if comm is not None:
        comm.Barrier()
    if rank == 0:
        check_with_others(passed)
        said = " ".join(sluice.mpi_library().replace("\t", " ").split("\n")[0].split())[:48]
        print(f"passed: {size} ranks, MPI '{said}', {len(passed)} cells, {how or 'with mpi4py'}")


def check_with_others(passed):
    """The program's own HDF5 reads the same bytes, after the library's."""
    if how.startswith("h5py"):
        with h5py.File(next(p for p in passed if p.endswith("shared-0.h5"))) as f:
            assert (f["x"][2] == whole(2)).all()
        with h5py.File(os.path.join(folder, "own.h5"), "w") as f:
            f["y"] = whole(1)
        with sluice.open(os.path.join(folder, "own.h5")) as f:
            assert (f["y"][:] == whole(1)).all()
    if how.startswith("netcdf"):
        with netCDF4.Dataset(next(p for p in passed if p.endswith("shared-0.nc"))) as f:
            assert (f["x"][2] == whole(2)).all()


main()
