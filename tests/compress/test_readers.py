"""Compressed files of every strategy as h5py, netCDF4 and xarray see them, and theirs as Sluice
does."""

import os
import subprocess

import h5py
import netCDF4
import numpy
import pytest
import xarray

PROGRAM = os.environ["SLUICE_WRITE_COMPRESSED"]
SHAPE = (61, 40)
STEPS = 3
TYPES = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32",
         "float64"]

try:
    import hdf5plugin  # noqa: F401  (h5py reads zstd with it)
    HAS_ZSTD = True
except ImportError:
    HAS_ZSTD = False


def expected(name, step):
    index = numpy.arange(numpy.prod(SHAPE)).reshape(SHAPE)
    return ((index // 50 + step) % 100).astype(name)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("compressed")
    subprocess.run([PROGRAM, str(made)], check=True)
    return made


def readable(folder, ending):
    """The files of an ending that this Python has the filters for."""
    names = sorted(p for p in folder.glob("*" + ending) if p.is_file())
    if not HAS_ZSTD:
        names = [p for p in names if "zstd" not in p.name]
    return names


def check(get):
    for name in TYPES:
        assert numpy.array_equal(get(name), expected(name, 0)), name
        assert get(name).dtype == numpy.dtype(name)
        for step in range(STEPS):
            assert numpy.array_equal(get(name + "_steps")[step], expected(name, step)), name


def test_h5py_reads_every_strategy(folder):
    paths = readable(folder, ".h5") + readable(folder, ".nc")
    assert len(paths) >= 16
    for path in paths:
        with h5py.File(path) as file:
            check(lambda name: file[name][:])
            if "file-per" not in path.name:
                dataset = file["float64_steps"]
                assert dataset.compression == ("gzip" if "deflate" in path.name else "unknown") or (
                    "zstd" in path.name)
                assert dataset.shuffle == ("noshuffle" not in path.name)
                assert dataset.id.get_storage_size() < dataset.nbytes / 4


def test_netcdf4_reads_every_strategy(folder):
    paths = [p for p in readable(folder, ".nc") if "zstd" not in p.name]
    assert len(paths) == 6
    for path in paths:
        with netCDF4.Dataset(path) as file:
            assert file["float64"].filters()["zlib"]
            check(lambda name: numpy.asarray(file[name][:]))


def test_xarray_reads_them(folder):
    for path in readable(folder, "collective.nc"):
        if "zstd" not in path.name:
            with xarray.open_dataset(path) as dataset:
                check(lambda name: dataset[name].values)


def sum_of(path, name="x"):
    done = subprocess.run([PROGRAM, "-", "read", str(path), name], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return float(done.stdout)


def weighed(data):
    flat = numpy.asarray(data, dtype=float).ravel()
    return float((flat * (numpy.arange(flat.size) % 7 + 1)).sum())


@pytest.mark.parametrize("options", [
    {"compression": "gzip"},
    {"compression": "gzip", "shuffle": True},
    {"compression": "gzip", "shuffle": True, "fletcher32": True},
    {"shuffle": True},
    {"fletcher32": True},
    {"compression": "lzf"},  # which libhdf5 itself must undo, or refuse
    {"scaleoffset": 0},
])
@pytest.mark.parametrize("dtype", ["<i4", ">i4", ">f8", "u1"])
def test_sluice_reads_h5pys(tmp_path, options, dtype):
    if "scaleoffset" in options and "f" in dtype:
        pytest.skip("scaleoffset of 0 digits rounds floating point")
    data = (numpy.arange(5000) // 30 % 100).reshape(50, 100).astype(dtype)
    with h5py.File(tmp_path / "theirs.h5", "w") as file:
        file.create_dataset("x", data=data, chunks=(7, 100), **options)
    if options.get("compression") == "lzf":
        done = subprocess.run([PROGRAM, "-", "read", str(tmp_path / "theirs.h5"), "x"],
                              capture_output=True, text=True)
        assert done.returncode == 1 and "x" in done.stderr
        return
    assert sum_of(tmp_path / "theirs.h5") == weighed(data)


def test_sluice_reads_missing_chunks_as_fill(tmp_path):
    with h5py.File(tmp_path / "theirs.h5", "w") as file:
        dataset = file.create_dataset("x", (40, 30), "<i4", chunks=(10, 30), compression="gzip",
                                      fillvalue=7)
        dataset[10:20] = 3
        data = dataset[:]
    assert sum_of(tmp_path / "theirs.h5") == weighed(data)


def test_sluice_reads_netcdfs(tmp_path):
    data = numpy.arange(3000.0).reshape(60, 50)
    with netCDF4.Dataset(tmp_path / "theirs.nc", "w") as file:
        file.createDimension("y", 60)
        file.createDimension("x", 50)
        variable = file.createVariable("v", "f8", ("y", "x"), compression="zlib", shuffle=True,
                                       fletcher32=True, chunksizes=(11, 50))
        variable[:] = data
    assert sum_of(tmp_path / "theirs.nc", "v") == weighed(data)
