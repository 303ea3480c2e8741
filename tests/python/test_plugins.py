"""Filter plugins of HDF5 in every strategy and layout that has them: written by all ranks, read by
h5py with hdf5plugin, and by the ranks in another division; and the other way round. Under
mpirun."""

import os

import hdf5plugin
import numpy as np
import pytest

os.environ["HDF5_PLUGIN_PATH"] = hdf5plugin.PLUGIN_PATH

import h5py  # noqa: E402
from mpi4py import MPI  # noqa: E402

import sluice  # noqa: E402
from on_ranks import folder_of_all, only_on_rank_0  # noqa: E402

COMM = MPI.COMM_WORLD
RANK, RANKS = COMM.rank, COMM.size
ROWS, COLUMNS, STEPS = 24, 640, 2
BOUND = 0.01

# The option, its filter's number, how h5py writes the same, and how far values may be.
PLUGINS = {
    "lz4": (32004, hdf5plugin.LZ4(), 0),
    "bitshuffle:zstd,3": (32008, hdf5plugin.Bitshuffle(cname="zstd", clevel=3), 0),
    "blosc2:zstd,5": (32026, hdf5plugin.Blosc2(cname="zstd", clevel=5), 0),
    f"zfp:accuracy={BOUND}": (32013, hdf5plugin.Zfp(accuracy=BOUND), BOUND),
    f"sz3:abs={BOUND}": (32024, hdf5plugin.SZ3(absolute=BOUND), BOUND),
}
STRATEGIES = ["serial", "shared", "collective", "forward", "auto", "file-per-process",
              "file-per-node"]
# Zarr has compressors of its own, VTK's readers have no plugins, and steps that are groups are not
# compressed at all.
ENDINGS = [".h5", ".nc"]
OTHERS = {".zarr": {}, ".vtkhdf": {}, ".npy": {}, ".h5": {"hdf5_layout": "grouped"}}


def field(step):
    rows, columns = np.indices((ROWS, COLUMNS))
    return (50 * np.sin(rows / 5 + step) * np.cos(columns / 40)).astype("f4")


def part(rank, ranks):
    return slice(ROWS * rank // ranks, ROWS * (rank + 1) // ranks)


def expect_near(values, wanted, bound):
    error = np.abs(values.astype("f8") - wanted.astype("f8")).max()
    assert error <= bound * 1.001, error


def write(path, option, strategy):
    with sluice.open(path, "w", comm=COMM, strategy=strategy, timeout_s=60, log="off") as out:
        out.define("v", "float32", (ROWS, COLUMNS), steps=True, chunk=(4, COLUMNS),
                   compress=option)
        out.define("fixed", "float32", (ROWS, COLUMNS), chunk=(4, COLUMNS), compress=option)
        mine = part(RANK, RANKS)
        out.put("fixed", field(9)[mine], start=(mine.start, 0))
        for step in range(STEPS):
            with out.step(time=step):
                out.put("v", field(step)[mine], start=(mine.start, 0))


def filters_of(dataset):
    """Those of the first file that has the chunks: an index of a set is virtual."""
    if dataset.is_virtual:
        source = dataset.virtual_sources()[0]
        folder = os.path.dirname(dataset.file.filename)
        with h5py.File(os.path.join(folder, source.file_name)) as file:
            return filters_of(file[source.dset_name])
    made = dataset.id.get_create_plist()
    return [made.get_filter(i)[0] for i in range(made.get_nfilters())]


@pytest.mark.parametrize("option", PLUGINS)
def test_h5py_reads_what_ranks_wrote(option):
    number, _, bound = PLUGINS[option]
    for strategy in STRATEGIES:
        for ending in ENDINGS:
            with folder_of_all() as folder:
                path = str(folder / ("file" + ending))
                write(path, option, strategy)

                def look():
                    with h5py.File(path) as file:
                        assert number in filters_of(file["v"]), (strategy, ending)
                        assert number in filters_of(file["fixed"]), (strategy, ending)
                        expect_near(file["fixed"][:], field(9), bound)
                        for step in range(STEPS):
                            expect_near(file["v"][step], field(step), bound)

                only_on_rank_0(look)
                mine = part(RANKS - 1 - RANK, RANKS)
                with sluice.open(path, comm=COMM) as file:
                    for step in range(STEPS):
                        got = file["v"][step, mine]
                        expect_near(np.asarray(got), field(step)[mine], bound)


@pytest.mark.parametrize("option", PLUGINS)
def test_ranks_read_what_h5py_wrote(option):
    with folder_of_all() as folder:
        path = str(folder / "theirs.h5")
        if RANK == 0:
            with h5py.File(path, "w") as file:
                file.create_dataset("v", data=field(3), chunks=(5, 100), **PLUGINS[option][1])
        COMM.Barrier()
        mine = part(RANK, RANKS)
        with sluice.open(path, comm=COMM) as file:
            expect_near(np.asarray(file["v"][mine]), field(3)[mine], PLUGINS[option][2])
        COMM.Barrier()


def test_other_layouts_refuse_them():
    for ending, options in OTHERS.items():
        with folder_of_all() as folder:
            with pytest.raises(sluice.Error) as refused:
                with sluice.open(str(folder / ("file" + ending)), "w", comm=COMM, timeout_s=60,
                                 log="off", **options) as out:
                    out.define("v", "float32", (ROWS, COLUMNS), steps=True, compress="lz4")
            assert refused.value.code == sluice.Code.UNSUPPORTED, refused.value
            COMM.Barrier()
