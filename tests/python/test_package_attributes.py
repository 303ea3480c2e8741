"""Attributes of numbers keep their types, in every format and in to_xarray()."""

import json
import os
import subprocess

import h5py
import netCDF4
import numpy as np
import pytest
import sluice
import xarray

QUICK = {"durability": "none"}
COMMAND = os.environ["SLUICE_COMMAND"]


def command(*arguments):
    return subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, text=True,
                          timeout=60, check=False)


def test_attributes_have_the_type_that_they_were_given(tmp_path):
    given = {"flag_values": np.array([0, 1], "i1"), "valid_min": np.int8(1), "flag": np.bool_(1),
             "valid_range": np.array([-5, 5], "i2"), "missing_value": np.int16(-99),
             "bytes": np.array([7], "u1"), "words": np.uint16(65535), "whole": 1}
    for ending in ("nc", "h5", "zarr"):
        path = tmp_path / f"own.{ending}"
        with sluice.open(path, "w", **QUICK) as out:
            out.put("x", np.zeros(3, "i2"))
            for name, value in given.items():
                out.attrs_of("x")[name] = value
        with sluice.open(path, "a", **QUICK) as out:
            out.put("y", np.zeros(3, "i2"))
        assert command("verify", path).returncode == 0
        with sluice.open(path) as file:
            for name, value in given.items():
                assert np.array_equal(file["x"].attrs[name], value), name
            for name in ("valid_min", "missing_value", "words"):
                assert type(file["x"].attrs[name]) is type(given[name]), name
            assert type(file["x"].attrs["flag"]) is bool
            assert json.dumps(file["x"].attrs["whole"]) == "1"
            assert file["x"].attrs["flag_values"].dtype == "i1"
    with netCDF4.Dataset(tmp_path / "own.nc") as data:
        for name, value in given.items():
            kind = {"flag": "i1", "whole": "i8"}.get(name) or value.dtype
            assert data["x"].getncattr(name).dtype == kind, name
    assert command("convert", tmp_path / "own.nc", tmp_path / "copy.h5").returncode == 0
    with h5py.File(tmp_path / "copy.h5") as data:
        for name in ("flag_values", "valid_min", "valid_range", "missing_value", "bytes", "words"):
            assert data["x"].attrs[name].dtype == given[name].dtype, name


@pytest.mark.parametrize("ending", ["nc", "h5", "zarr"])
def test_to_xarray_decodes_and_saves_as_open_dataset_does(tmp_path, ending):
    """The types of attributes say to which type packed values are unpacked, and whether two missing
    values are the same."""
    miss = np.float32(-1e20)
    path = tmp_path / f"run.{ending}"
    with sluice.open(path, "w", **QUICK) as out:
        out.define("sst", "f4", (3,), fill=miss)
        out.attrs_of("sst")["missing_value"] = miss
        out.put("sst", np.array([1, miss, 2], "f4"))
        out.define("packed", "i2", (3,), fill=np.int16(-9))
        out.put("packed", np.array([1, -9, 2], "i2"))
        out.attrs_of("packed")["scale_factor"] = np.float32(0.5)
        out.attrs_of("packed")["add_offset"] = np.float32(2)
        out.attrs_of("packed")["is_packed"] = out.attrs["restarted"] = True
    with sluice.open(path) as file:
        assert type(file["packed"].attrs["scale_factor"]) is np.float32
        raw = file.to_xarray()
        assert type(raw["sst"].attrs["_FillValue"]) is np.float32
        assert type(raw["packed"].attrs["_FillValue"]) is np.int16
        data = xarray.decode_cf(raw).load()
    assert data["packed"].dtype == "f4" and data["packed"].values[0] == 2.5
    data.to_netcdf(tmp_path / "saved.nc")
    with xarray.open_dataset(tmp_path / "saved.nc") as saved:
        assert np.isnan(saved["sst"].values).tolist() == [False, True, False]
        assert saved.attrs["restarted"] == saved["packed"].attrs["is_packed"] == 1
        np.testing.assert_array_equal(saved["packed"], data["packed"])
    if ending != "zarr":  # which has one type of numbers for attributes
        engine = {"nc": "netcdf4", "h5": "h5netcdf"}[ending]
        with xarray.open_dataset(path, engine=engine) as theirs:
            for name in ("sst", "packed"):
                np.testing.assert_array_equal(theirs[name], data[name])
                assert theirs[name].dtype == data[name].dtype
                for key, value in data[name].encoding.items():
                    assert type(theirs[name].encoding[key]) is type(value), (name, key)


def test_a_missing_value_is_cast_only_where_it_keeps_its_value(tmp_path):
    path = tmp_path / "theirs.h5"
    with h5py.File(path, "w") as data:
        for dtype in ("i2", "f4"):
            data[dtype] = np.arange(3, dtype=dtype)
        data["i2"].attrs["_FillValue"] = 40000
        data["f4"].attrs["_FillValue"] = [0.1]
    with sluice.open(path) as file:
        raw = file.to_xarray()
        assert raw["i2"].attrs["_FillValue"] == 40000
        assert type(raw["f4"].attrs["_FillValue"]) is np.float32


@pytest.mark.parametrize("name, options", [
    ("group.h5", {}), ("group.nc", {}), ("group.h5", {"strategy": "file-per-process"})])
def test_a_group_called_time_keeps_its_attributes(tmp_path, name, options):
    """Beside its variables a file has no times by that name."""
    with sluice.open(tmp_path / name, "w", **QUICK, **options) as out:
        out.put("time/x", np.arange(3.0))
        out.attrs_of("time")["flag"] = [1.5, 2.0]
    with h5py.File(tmp_path / name) as file:
        assert file["time"].attrs["flag"].tolist() == [1.5, 2.0]
    with sluice.open(tmp_path / name) as file:
        assert file.attrs_of("time")["flag"].tolist() == [1.5, 2.0]
