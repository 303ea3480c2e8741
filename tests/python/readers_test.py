"""Other programs read what Sluice wrote: h5py, netCDF4, xarray and h5dump find exactly the values,
types, attributes and fill values."""

import re
import shutil
import subprocess

import h5py
import netCDF4
import numpy
import pytest
import xarray
from oracle import EXTENTS, NUMBERS, SHAPE, SHAPES, STEPS, expect, formula, run, series


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("readers")
    run("writer", made)
    return made


@pytest.fixture(params=["serial", "shared"])
def path(request, folder):
    return str(folder / f"{request.param}.h5")


# -- h5py -----------------------------------------------------------------------------------------

def test_h5py_types(path):
    with h5py.File(path) as file:
        for name in NUMBERS:
            expect(file["types"][name][...], series(name, SHAPE))
        expect(file["extra/boolean"][...], series("bool", SHAPE))
        expect(file["extra/complex64"][...], series("complex64", SHAPE))
        expect(file["extra/complex128"][...], series("complex128", SHAPE))
        assert list(file["extra/names"].asstr()[...]) == ["a", "Grüß", "abcdef"]


def test_h5py_shapes_and_selections(path):
    with h5py.File(path) as file:
        for name, shape in SHAPES.items():
            dataset = file["shapes"][name]
            assert dataset.maxshape == (None, *shape)
            expect(dataset[...], series("float64", shape))
            expect(dataset[1], formula("float64", shape, 1))
        assert file["shapes/none"].shape == (STEPS, 0, 3)
        part = file["shapes/d3"][2, 1:6:2, 3, :]
        numpy.testing.assert_array_equal(part, formula("float64", EXTENTS[:3], 2)[1:6:2, 3, :])


def test_h5py_fixed_and_fill(path):
    with h5py.File(path) as file:
        expect(file["fixed/f"][...], formula("float64", (6, 4), 0))
        wanted = numpy.full((6, 4), -999.5)
        wanted[2:4] = formula("float64", (6, 4), 0)[2:4]
        expect(file["fixed/holes"][...], wanted)
        assert file["fixed/holes"].fillvalue == -999.5
        assert file["fixed/scalar"].shape == ()
        assert file["fixed/scalar"][()] == 42.25
        expect(file["fixed/never"][...], numpy.full(3, 7, "float32"))
        sparse = numpy.full((STEPS, 8), numpy.nan, "float32")
        sparse[0, 0:3] = sparse[2, 2:5] = [1, 2, 3]
        expect(file["fixed/sparse"][...], sparse)
        expect(file["time"][...], numpy.array([0, 0.25, 0.5]))


def test_h5py_attributes(path):
    with h5py.File(path) as file:
        for owner in (file, file["types"], file["types/int32"]):
            attributes = owner.attrs
            assert attributes["text"] == "Grüße"
            assert list(attributes["texts"]) == ["a", "größer"]
            for name, wanted in (("int32", numpy.int32(-7)), ("int64", numpy.int64(1 << 60)),
                                 ("float32", numpy.float32(0.1))):
                assert attributes[name] == wanted
                assert attributes[name].dtype == wanted.dtype
                assert attributes[name].shape == ()
            expect(attributes["float64s"], numpy.array([0.1, 1e300]))
            expect(attributes["int32s"], numpy.array([1, -2], "int32"))
        assert file["extra"].attrs["flag"] == numpy.True_
        assert file["types/float64"].attrs["units"] == "nm"


# -- netCDF4 --------------------------------------------------------------------------------------

def test_netcdf4_values(path):
    with netCDF4.Dataset(path) as file:
        file.set_auto_mask(False)
        for name in NUMBERS:
            expect(file["types"][name][...], series(name, SHAPE))
        for name, shape in SHAPES.items():
            expect(file["shapes"][name][...], series("float64", shape))
        assert file["fixed"]["scalar"][...] == 42.25


def test_netcdf4_masks_what_nobody_wrote(path):
    with netCDF4.Dataset(path) as file:
        holes = file["fixed"]["holes"][...]
        assert holes.mask.tolist() == [[row not in (2, 3)] * 4 for row in range(6)]
        assert file["fixed"]["holes"]._FillValue == -999.5


def test_netcdf4_attributes(path):
    with netCDF4.Dataset(path) as file:
        for owner in (file, file["types"], file["types"]["int32"]):
            assert owner.getncattr("text") == "Grüße"
            assert list(owner.getncattr("texts")) == ["a", "größer"]
            assert owner.getncattr("int32") == -7
            assert owner.getncattr("int64") == 1 << 60
            assert list(owner.getncattr("float64s")) == [0.1, 1e300]
        assert file["types"]["float64"].units == "nm"


# -- xarray ---------------------------------------------------------------------------------------

@pytest.mark.parametrize("engine", ["netcdf4", "h5netcdf"])
def test_xarray(path, engine):
    options = {"phony_dims": "sort"} if engine == "h5netcdf" else {}
    with xarray.open_dataset(path, engine=engine, group="types", **options) as data:
        for name in NUMBERS:
            expect(data[name].values, series(name, SHAPE))
        assert data["float64"].attrs["units"] == "nm"
        assert data.attrs["text"] == "Grüße"
    with xarray.open_dataset(path, engine=engine, group="shapes", **options) as data:
        for name, shape in SHAPES.items():
            expect(data[name].values, series("float64", shape))
    with xarray.open_dataset(path, engine=engine, group="fixed", **options) as data:
        holes = data["holes"].values  # xarray makes fill values NaN
        assert numpy.isnan(holes).sum() == 16
        numpy.testing.assert_array_equal(holes[2:4], formula("float64", (6, 4), 0)[2:4])


# -- h5dump ---------------------------------------------------------------------------------------

def dump(path, *options):
    if shutil.which("h5dump") is None:
        pytest.skip("h5dump is not installed (hdf5-tools)")
    done = subprocess.run(["h5dump", *options, path], capture_output=True, text=True, timeout=120,
                          check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def dumped(path, dataset, form):
    data = dump(path, "-y", "-m", form, "-w", "1", "-d", dataset).split("DATA {")[1]
    return [float(number) for number in re.findall(r"[-+.\w]+", data.split("}")[0])]


def test_h5dump_values(path):
    assert dumped(path, "/types/float64", "%.17g") == series("float64", SHAPE).ravel().tolist()
    for rank in range(1, 6):
        wanted = series("float64", EXTENTS[:rank]).ravel().tolist()
        assert dumped(path, f"/shapes/d{rank}", "%.17g") == wanted
    numbers = dump(path, "-y", "-w", "1", "-d", "/types/uint64").split("DATA {")[1].split("}")[0]
    assert [int(n) for n in re.findall(r"\d+", numbers)] == series("uint64", SHAPE).ravel().tolist()


def test_h5dump_reads_the_whole_file(path):
    text = dump(path)
    assert 'DATASET "complex128"' in text
    # Bytes above 127 come as they are, as octal numbers, or (1.10) as those of a signed int.
    plain = re.sub(r"\\(\d{3,11})", lambda m: chr(int(m[1], 8) & 255), text)
    assert "Grüße" in text or "Grüße" in plain.encode("latin-1", "replace").decode(errors="replace")
