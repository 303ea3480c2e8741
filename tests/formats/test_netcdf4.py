"""netCDF-4 files as netCDF's own programs, netCDF4-python, h5netcdf and xarray see them."""

import h5py
import netCDF4
import numpy
import pytest
import xarray

from conftest import STEPS, flags, values

GRID = (6, 4)


def stepped(shape, dtype=float):
    return numpy.stack([values(shape, s, dtype) for s in range(STEPS)])


def test_ncdump_shows_dimensions_and_attributes(made, tool):
    head = tool("ncdump", "-h", made / "grid.nc")
    for line in (
        "time = UNLIMITED ; // (4 currently)",
        "y = 6 ;",
        "x = 4 ;",
        "dim_5 = 5 ;",
        "dim_5_2 = 5 ;",
        "double y(y) ;",
        "double temperature(time, y, x) ;",
        'temperature:units = "K" ;',
        'temperature:long_name = "temperature of air" ;',
        "temperature:valid_range = 0., 5000. ;",
        'string temperature:words = "one", "two" ;',
        "double time(time) ;",
        'time:units = "seconds since 2000-01-01" ;',
        "byte mask(y, x) ;",
        'mask:dtype = "bool" ;',
        "int some(time, y) ;",
        "some:_FillValue = -7 ;",
        "ubyte plain(time, dim_5, dim_5_2) ;",
        "double energy(time) ;",
        "char label(name, string6) ;",
        'label:_Encoding = "utf-8" ;',
        ':empty = "" ;',
        ":numbers = 1.5, 2.5 ;",
        ":is_test = 1b ;",
        "int64 inner(x) ;",
    ):
        assert line in head, f"{line} is not in:\n{head}"
    assert "phony_dim" not in head


def test_ncdump_shows_data(made, tool):
    text = tool("ncdump", "-v", "energy,label", made / "grid.nc")
    assert "energy = 0, 1000, 2000, 3000 ;" in text
    assert '"abc"' in text and '"uvwxyz"' in text


def check_grid(file):
    assert numpy.array_equal(file["temperature"][:], stepped(GRID))
    assert numpy.array_equal(file["x"][:], values((4,)))
    assert numpy.array_equal(file["y"][:], values((6,)))
    assert numpy.array_equal(file["time"][:], 0.5 * numpy.arange(STEPS))
    assert numpy.array_equal(file["mask"][:], flags(GRID))
    assert numpy.array_equal(file["plain"][:], stepped((5, 5), int).astype(numpy.uint8))
    assert numpy.array_equal(file["deep/inner"][:], values((4,)))
    some = numpy.ma.filled(file["some"][:], -7)
    expected = numpy.full((STEPS, 6), -7)
    for step in (0, 2):
        expected[step, 2:4] = values((6,), step)[2:4]
    assert numpy.array_equal(some, expected)


def test_netcdf4_python_reads(made):
    with netCDF4.Dataset(made / "grid.nc") as file:
        check_grid(file)
        assert numpy.ma.is_masked(file["some"][1])
        assert list(file["label"][:]) == ["abc", "uvwxyz"]
        assert file.title == "a grid — with a dash"
        assert file["temperature"].units == "K"
        assert file.dimensions["time"].isunlimited()


@pytest.mark.parametrize("engine", ["netcdf4", "h5netcdf"])
def test_xarray_opens(made, engine):
    with xarray.open_dataset(made / "grid.nc", engine=engine) as data:
        assert set(data.coords) == {"time", "x", "y"}
        assert data["temperature"].dims == ("time", "y", "x")
        assert numpy.array_equal(data["temperature"].values, stepped(GRID))
        assert data["mask"].dtype == bool
        assert numpy.array_equal(data["mask"].values, flags(GRID))
        assert data["time"].values[2] == numpy.datetime64("2000-01-01T00:00:01")
        assert float(data["temperature"].sel(x=2, y=3).isel(time=1)) == 1000 + 3 * 4 + 2
        assert numpy.isnan(data["some"].values[1]).all()
        assert data.attrs["title"] == "a grid — with a dash"


@pytest.mark.parametrize("engine", ["netcdf4", "h5netcdf"])
def test_xarray_opens_without_names(made, engine):
    with xarray.open_dataset(made / "nameless.nc4", engine=engine) as data:
        assert data["a"].dims == ("time", "dim_3", "dim_3_2")
        assert data["b"].dims == ("time", "dim_3")
        assert data["c"].shape == (STEPS, 0, 3)
        assert numpy.array_equal(data["b"].values, stepped((3,)))
        assert numpy.isnan(data["time"].values).all()
        assert data["time"].attrs["units"] == "1"


def test_varying_rows_have_a_length(made):
    with netCDF4.Dataset(made / "nameless.nc4") as file:
        assert list(file["v_length"][:]) == [1, 2, 3, 4]
        assert file["v"].rows_vary == "v_length"
        for step in range(STEPS):
            assert numpy.array_equal(file["v"][step, : step + 1], values((step + 1, 2), step))


def test_h5py_sees_creation_order_and_scales(made):
    with h5py.File(made / "grid.nc") as file:
        order = file["/"].id.get_create_plist().get_link_creation_order()
        assert order == h5py.h5p.CRT_ORDER_TRACKED | h5py.h5p.CRT_ORDER_INDEXED
        assert [d[0].name for d in file["temperature"].dims] == ["/time", "/y", "/x"]
        assert len(file["x"].attrs["REFERENCE_LIST"]) == 3
        ids = []
        file.visititems(lambda _, o: ids.append(o.attrs.get("_Netcdf4Dimid")))
        ids = [i for i in ids if i is not None]
        assert sorted(ids) == list(range(len(ids)))


def test_netcdf4_python_appends_a_variable(samples):
    path = samples / "grid.nc"
    with netCDF4.Dataset(path, "a") as file:
        added = file.createVariable("added", "f8", ("time", "x"), fill_value=-1.0)
        added[:] = stepped((4,))
        file.createDimension("fresh", 2)
        file.createVariable("other", "i4", ("fresh",))[:] = [1, 2]
        file["temperature"].comment = "added later"
    with netCDF4.Dataset(path) as file:
        check_grid(file)
        assert numpy.array_equal(file["added"][:], stepped((4,)))
        assert numpy.array_equal(file["other"][:], [1, 2])
    with h5py.File(path) as file:
        assert set(file["sluice"]) == {"commits", "checksums", "commit", "column", "word"}


def test_netcdf4_python_appends_a_step(samples):
    path = samples / "grid.nc"
    with netCDF4.Dataset(path, "a") as file:
        file["time"][STEPS] = 2.0
        file["temperature"][STEPS] = values(GRID, STEPS)
    with xarray.open_dataset(path, engine="netcdf4") as data:
        assert data.sizes["time"] == STEPS + 1
        assert numpy.array_equal(data["temperature"].values[STEPS], values(GRID, STEPS))
        assert numpy.array_equal(data["temperature"].values[:STEPS], stepped(GRID))


@pytest.mark.parametrize("name", ["grid.nc", "nameless.nc4"])
def test_nccopy_compresses(made, tmp_path, tool, name):
    tool("nccopy", "-d9", made / name, tmp_path / name)
    variable = "temperature" if name == "grid.nc" else "a"
    with netCDF4.Dataset(tmp_path / name) as copy, netCDF4.Dataset(made / name) as original:
        assert copy[variable].filters()["complevel"] == 9
        assert numpy.array_equal(copy[variable][:], original[variable][:])
        if name == "grid.nc":
            check_grid(copy)


def test_h5dump_and_ncgen_agree(made, tmp_path, tool):
    """The text of ncdump makes the same file again."""
    (tmp_path / "grid.cdl").write_text(tool("ncdump", made / "grid.nc"))
    tool("ncgen", "-4", "-o", tmp_path / "again.nc", tmp_path / "grid.cdl")
    with netCDF4.Dataset(tmp_path / "again.nc") as file:
        check_grid(file)
    tool("h5dump", "-H", made / "grid.nc")
