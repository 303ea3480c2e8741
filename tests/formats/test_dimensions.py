"""Names of dimensions in plain HDF5, as h5py, xarray, netCDF's and HDF5's programs see them."""

import h5py
import netCDF4
import numpy
import pytest
import xarray

from conftest import STEPS, flags, values

GRID = (6, 4)
LABELS = {
    "y": ["y"], "x": ["x"], "temperature": ["time", "y", "x"], "mask": ["y", "x"],
    "some": ["time", "y"], "deep/inner": ["x"], "label": ["name"], "plain": ["", "", ""],
}
GRIDS = ["grid.h5", "grid_set.h5"]
LATER = ["later.h5", "later_set.h5"]
ENGINES = ["netcdf4", "h5netcdf"]


def stepped(shape, dtype=float):
    return numpy.stack([values(shape, s, dtype) for s in range(STEPS)])


def labels(dataset):
    return [dimension.label for dimension in dataset.dims]


def scales(dataset):
    return [[scale.name for scale in dimension.values()] for dimension in dataset.dims]


def check_labels(file):
    for name, expected in LABELS.items():
        assert labels(file[name]) == expected, name
    assert scales(file["temperature"]) == [["/time"], ["/y"], ["/x"]]
    assert scales(file["energy"]) == [["/time"]]
    assert scales(file["deep/inner"]) == [["/x"]]
    assert scales(file["plain"]) == [[], [], []]
    assert file["time"].attrs["units"] == "seconds since 2000-01-01"
    assert numpy.array_equal(file["temperature"][:], stepped(GRID))
    assert numpy.array_equal(file["x"][:], values((4,)))
    assert numpy.array_equal(file["y"][:], values((6,)))
    assert numpy.array_equal(file["mask"][:], flags(GRID))
    assert numpy.array_equal(file["time"][:], 0.5 * numpy.arange(STEPS))


@pytest.mark.parametrize("name", GRIDS)
def test_h5py_reads_labels_and_scales(made, name):
    with h5py.File(made / name) as file:
        check_labels(file)
        for scale in ("time", "y", "x", "name"):
            assert file[scale].is_scale
        # each scale knows the datasets that it belongs to, as H5DSattach_scale leaves it
        assert {file[ref].name for ref, _ in file["x"].attrs["REFERENCE_LIST"]} == {
            "/temperature", "/mask", "/deep/inner"}


@pytest.mark.parametrize("name", GRIDS)
@pytest.mark.parametrize("engine", ENGINES)
def test_xarray_shows_names(made, name, engine):
    with xarray.open_dataset(made / name, engine=engine) as data:
        assert data["temperature"].dims == ("time", "y", "x")
        assert data["mask"].dims == ("y", "x")
        assert data["some"].dims == ("time", "y")
        assert data["energy"].dims == ("time",)
        assert data["label"].dims[0] == "name"
        assert {"time", "x", "y"} <= set(data.coords)
        assert data["time"].values[2] == numpy.datetime64("2000-01-01T00:00:01")
        assert numpy.array_equal(data["temperature"].values, stepped(GRID))
        assert float(data["temperature"].sel(x=2, y=3).isel(time=1)) == 1000 + 3 * 4 + 2


@pytest.mark.parametrize("name", GRIDS)
def test_netcdf_shows_names(made, tool, name):
    head = tool("ncdump", "-h", made / name)
    for line in ("time = UNLIMITED ; // (4 currently)", "y = 6 ;", "x = 4 ;", "name = 2 ;",
                 "double temperature(time, y, x) ;", "int some(time, y) ;", "int64 inner(x) ;",
                 "double time(time) ;", "double energy(time) ;", 'temperature:units = "K" ;'):
        assert line in head, f"{line} is not in:\n{head}"
    with netCDF4.Dataset(made / name) as file:
        assert file["temperature"].dimensions == ("time", "y", "x")
        assert numpy.array_equal(file["temperature"][:], stepped(GRID))


def test_h5repack_keeps_names(made, tmp_path, tool):
    tool("h5repack", "-f", "GZIP=4", made / "grid.h5", tmp_path / "packed.h5")
    with h5py.File(tmp_path / "packed.h5") as file:
        check_labels(file)
    with xarray.open_dataset(tmp_path / "packed.h5", engine="h5netcdf") as data:
        assert data["temperature"].dims == ("time", "y", "x")
    assert "DIMENSION_LABELS" in tool("h5dump", "-A", made / "grid.h5")


def test_h5py_appends(samples):
    """Another program may add to the dimensions that it finds."""
    with h5py.File(samples / "grid.h5", "a") as file:
        added = file.create_dataset("added", data=values((4,)))
        added.dims[0].attach_scale(file["x"])
        file["mask"].dims[0].label = "row"
    with h5py.File(samples / "grid.h5") as file:
        assert scales(file["added"]) == [["/x"]]
        assert labels(file["mask"]) == ["row", "x"]


@pytest.mark.parametrize("name", LATER)
def test_coordinates_and_times_may_come_later(made, name):
    with h5py.File(made / name) as file:
        assert labels(file["early"]) == ["time", "y", "x"]
        assert scales(file["early"]) == [["/time"], ["/y"], ["/x"]]
        assert numpy.array_equal(file["x"][:], values((5,)))
        assert numpy.array_equal(file["time"][:], [numpy.nan, 0.5], equal_nan=True)
        assert file["time"].attrs["units"] == "ps"
        # a name of two sizes, and one that a group has: labels alone
        assert labels(file["long_x"]) == ["x"] and scales(file["long_x"]) == [[]]
        assert labels(file["taken"]) == ["other"] and scales(file["taken"]) == [[]]
        assert labels(file["other/deep"]) == ["y"] and scales(file["other/deep"]) == [[]]
        for scale in ("time", "y", "x"):
            assert {file[ref].name for ref, _ in file[scale].attrs["REFERENCE_LIST"]} == {"/early"}
        assert numpy.array_equal(file["early"][:], [values((3, 5)), values((3, 5), 1)])


@pytest.mark.parametrize("name", LATER)
@pytest.mark.parametrize("engine", ENGINES)
def test_xarray_takes_what_came_later(made, name, engine):
    with xarray.open_dataset(made / name, engine=engine) as data:
        assert data["early"].dims == ("time", "y", "x")
        assert numpy.array_equal(data["early"].sel(x=2).values[1], values((3, 5), 1)[:, 2])


def test_a_group_a_step_has_labels_and_units(made):
    with h5py.File(made / "grouped.h5") as file:
        for step in range(STEPS):
            group = file[f"step_{step:06d}"]
            assert labels(group["atoms"]) == ["atom", "axis"]
            assert group.attrs["time_units"] == "ps"
