"""Compressed files of every type and strategy as h5py, netCDF4, zarr-python, tensorstore and xarray
see them, and theirs as Sluice does.

SLUICE_LONG=1: with every codec, and the strategy that is chosen."""

import os
import subprocess

import h5py
import netCDF4
import numpy
import pytest
import tensorstore
import xarray
import zarr

PROGRAM = os.environ["SLUICE_WRITE_COMPRESSED"]
SHAPE = (61, 40)
STEPS = 3
TYPES = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32",
         "float64", "bool"]
COMPLEX = ["complex64", "complex128"]

try:
    import hdf5plugin  # noqa: F401  (h5py reads zstd with it)
    HAS_ZSTD = True
except ImportError:
    HAS_ZSTD = False


def expected(name, step):
    index = numpy.arange(numpy.prod(SHAPE)).reshape(SHAPE)
    value = (index // 50 + step) % 100
    return (value - 1j * value if name in COMPLEX else value).astype(name)


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


def check(get, types=TYPES, dtype_of=numpy.dtype):
    for name in types:
        assert numpy.array_equal(get(name), expected(name, 0)), name
        assert get(name).dtype == dtype_of(name)
        for step in range(STEPS):
            assert numpy.array_equal(get(name + "_steps")[step], expected(name, step)), name


def test_h5py_reads_every_strategy(folder):
    paths = readable(folder, ".h5") + readable(folder, ".nc")
    assert len(paths) >= 24
    for path in paths:
        is_netcdf = path.suffix == ".nc"
        with h5py.File(path) as file:
            check(lambda name: file[name][:], TYPES[:-1] if is_netcdf else TYPES + COMPLEX)
            if "file-per" not in path.name and "none" not in path.name:
                dataset = file["float64_steps"]
                assert dataset.compression == ("gzip" if "deflate" in path.name else "unknown") or (
                    "zstd" in path.name)
                assert dataset.shuffle == ("noshuffle" not in path.name)
                assert dataset.id.get_storage_size() < dataset.nbytes / 4


def test_netcdf4_reads_every_strategy(folder):
    paths = [p for p in readable(folder, ".nc") if "zstd" not in p.name]
    assert len(paths) >= 12
    for path in paths:
        with netCDF4.Dataset(path) as file:
            assert file["float64"].filters()["zlib"] == ("none" not in path.name)
            # netCDF has no booleans: they are bytes there.
            check(lambda name: numpy.asarray(file[name][:]),
                  dtype_of=lambda name: numpy.dtype("int8" if name == "bool" else name))


def test_xarray_reads_them(folder):
    for path in readable(folder, "collective.nc"):
        if "zstd" not in path.name:
            with xarray.open_dataset(path) as dataset:
                check(lambda name: dataset[name].values, TYPES[:-1])


def stores(folder):
    paths = sorted(folder.glob("*.zarr"))
    assert len(paths) >= 12
    return paths


def test_zarr_reads_every_strategy(folder):
    for path in stores(folder):
        group = zarr.open_group(path, mode="r")
        assert group.attrs["title"] == "compressed"
        check(lambda name: group[name][...], TYPES + COMPLEX)
        assert list(group["time"][:]) == [0, 0.5, 1]
        # Without the consolidated metadata: every array has its own document.
        alone = zarr.open_array(path / "float64_steps", mode="r")
        assert numpy.array_equal(alone[2, 5:50:3], expected("float64", 2)[5:50:3])


def test_tensorstore_reads_every_strategy(folder):
    for path in stores(folder):
        def get(name):
            spec = {"driver": "zarr3",
                    "kvstore": {"driver": "file", "path": f"{path}/{name}/"}}
            return tensorstore.open(spec, read=True).result().read().result()
        check(get, TYPES + COMPLEX)


def test_xarray_opens_stores(folder):
    for path in stores(folder):
        with xarray.open_zarr(path) as dataset:
            check(lambda name: dataset[name].values, TYPES + COMPLEX)
            assert dataset["float64_steps"].dims == ("time", "dim_61", "dim_40")
            assert list(dataset["time"].values) == [0, 0.5, 1]


def test_stores_are_compressed_and_sharded(folder):
    group = zarr.open_group(folder / "deflate_6-shared.zarr", mode="r")
    array = group["float64_steps"]
    assert array.shards == (1, 18, 40) and array.chunks == (1, 9, 40)
    assert array.nbytes_stored() < array.nbytes / 4
    codec = array.compressors[0].to_dict()
    assert codec["name"] == "blosc" and codec["configuration"]["cname"] == "zlib"
    assert codec["configuration"]["shuffle"] == "shuffle"
    objects = (folder / "none-shared.zarr" / "int8_steps").glob("c*")
    assert sorted(p.name for p in objects) == [
        f"c.{step}.{shard}.0" for step in range(STEPS) for shard in range(4)]


@pytest.mark.parametrize("compressors", [None, "zstd", "gzip", "blosc", "lz4"])
@pytest.mark.parametrize("shards", [None, (20, 30)])
@pytest.mark.parametrize("dtype", ["<i4", ">f8", ">u2"])
def test_sluice_reads_zarrs(tmp_path, compressors, shards, dtype):
    made = {"zstd": zarr.codecs.ZstdCodec(), "gzip": zarr.codecs.GzipCodec(),
            "blosc": zarr.codecs.BloscCodec(cname="zlib", typesize=4, shuffle="shuffle"),
            "lz4": zarr.codecs.BloscCodec(cname="lz4", typesize=4, shuffle="shuffle"),
            None: None}[compressors]
    data = (numpy.arange(4000) // 30 % 100).reshape(80, 50).astype(dtype)
    group = zarr.open_group(tmp_path / "theirs.zarr", mode="w", zarr_format=3)
    array = group.create_array("g/x", shape=data.shape, dtype=data.dtype, chunks=(10, 15),
                               shards=shards, compressors=made)
    array[:] = data
    zarr.consolidate_metadata(tmp_path / "theirs.zarr")
    assert sum_of(tmp_path / "theirs.zarr", "g/x") == weighed(data)


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
    {"compression": "lzf"},
    {"compression": "lzf", "shuffle": True, "fletcher32": True},
    {"scaleoffset": 0},
])
@pytest.mark.parametrize("dtype", ["<i4", ">i4", ">f8", "u1"])
def test_sluice_reads_h5pys(tmp_path, options, dtype):
    if "scaleoffset" in options and "f" in dtype:
        pytest.skip("scaleoffset of 0 digits rounds floating point")
    data = (numpy.arange(5000) // 30 % 100).reshape(50, 100).astype(dtype)
    with h5py.File(tmp_path / "theirs.h5", "w") as file:
        file.create_dataset("x", data=data, chunks=(7, 100), **options)
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
