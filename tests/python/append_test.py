"""Programs take turns with a file: h5py and netCDF4 add to what Sluice wrote, Sluice reads it all
and goes on."""

import h5py
import netCDF4
import numpy
import pytest
from oracle import SHAPE, STEPS, expect, formula, read, run, series


@pytest.fixture
def path(tmp_path):
    run("writer", tmp_path)
    return tmp_path / "shared.h5"


def expect_intact(path, ranks=3):
    variables, _ = read(path, ranks)
    for step in range(STEPS):
        kind, shape, values = variables["types/int64"][step]
        got = numpy.frombuffer(values, kind).reshape(shape)
        numpy.testing.assert_array_equal(got, formula("int64", SHAPE, step))
    return variables


def test_h5py_adds_and_sluice_goes_on(path):
    with h5py.File(path, "r+") as file:
        file["added"] = numpy.arange(5.0)
        file.create_dataset("types/more", data=numpy.arange(4), compression="gzip")
        file.attrs["note"] = "edited"
        file["types/int64"].attrs["note"] = "seen"
    variables = expect_intact(path)
    expect(numpy.frombuffer(variables["added"][0][2]), numpy.arange(5.0))
    run("appender", path)
    expect_intact(path)
    with h5py.File(path) as file:
        assert file["types/float64"].shape == (STEPS + 1, *SHAPE)
        expect(file["types/float64"][STEPS], 1000 + numpy.arange(20.0).reshape(SHAPE))
        expect(file["types/int64"][:STEPS], series("int64", SHAPE))
        assert file["time"][...].tolist() == [0, 0.25, 0.5, 99]
        note = file.attrs["note"]  # bytes where netCDF wrote characters
        assert (note.decode() if isinstance(note, bytes) else note) == "edited"
        expect(file["added"][...], numpy.arange(5.0))
        expect(file["types/more"][...], numpy.arange(4))


def test_netcdf4_adds_a_variable(path):
    with netCDF4.Dataset(path, "a") as file:
        file.createDimension("five", 5)
        added = file.createVariable("added", "f8", ("five",))
        added[:] = numpy.arange(5.0)
        file.setncattr("note", "edited")
    variables = expect_intact(path)
    expect(numpy.frombuffer(variables["added"][0][2]), numpy.arange(5.0))
    with h5py.File(path) as file:
        expect(file["types/int64"][...], series("int64", SHAPE))
        note = file.attrs["note"]  # bytes where netCDF wrote characters
        assert (note.decode() if isinstance(note, bytes) else note) == "edited"


def test_sluice_appends_and_others_read(path):
    run("appender", path)
    run("appender", path)
    with h5py.File(path) as file:
        assert file["types/float64"].shape == (STEPS + 2, *SHAPE)
        expect(file["types/float64"][:STEPS], series("float64", SHAPE))
        assert file["time"][...].tolist() == [0, 0.25, 0.5, 99, 99]
        for dataset in ("fixed/f", "fixed/holes"):
            assert numpy.isfinite(file[dataset][...]).all()
    with netCDF4.Dataset(path) as file:
        assert file["types"]["float64"].shape == (STEPS + 2, *SHAPE)
