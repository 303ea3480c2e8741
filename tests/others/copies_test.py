"""Copies of a store of Sluice by xarray and zarr-python: stores of these programs, whatever the
copied attributes say."""

import json
import warnings

import numpy as np
import pytest
import xarray
import zarr

import sluice as library
from others import sluice

warnings.filterwarnings("ignore")


def copy_by_xarray(source, path, version):
    with xarray.open_zarr(source, consolidated=True) as data:
        data = data if version == 3 else data.drop_encoding()  # version 2 knows no serializer
        data.to_zarr(path, zarr_format=version, consolidated=True)


def rechunk_by_xarray(source, path, version):
    with xarray.open_zarr(source, consolidated=True) as data:
        data.load().drop_encoding().to_zarr(path, zarr_format=version, consolidated=False)


def copy_by_zarr_python(source, path, version):
    """All arrays, those of Sluice itself among them."""
    source = zarr.open_group(source, mode="r")
    root = zarr.open_group(path, mode="w", zarr_format=version)
    root.attrs.update(dict(source.attrs))
    for name, array in source.members(max_depth=None):
        if isinstance(array, zarr.Array):
            root.create_array(name, data=array[...]).attrs.update(dict(array.attrs))


@pytest.mark.parametrize("copy", [copy_by_xarray, rechunk_by_xarray, copy_by_zarr_python])
@pytest.mark.parametrize("version", [2, 3])
def test_a_copy_of_a_store_of_sluice_is_not_taken_for_one(tmp_path, copy, version):
    """What the store said of itself comes along with the attributes, and is not true of it."""
    source, path = tmp_path / "run.zarr", tmp_path / "copy.zarr"
    expected = {"x": np.arange(12.0).reshape(3, 4), "fixed": np.arange(5, dtype="i4"),
                "rows": np.array([[0, 0], [1, 0], [1, 2]], "i4"), "time": np.arange(3.0)}
    with library.open(source, "w", log="off") as out:
        out.attrs["title"] = "a run"
        out.put("fixed", expected["fixed"])
        out.define("rows", "i4", (2,), steps=True, varying=True, chunk=(2,))
        for step in range(3):
            with out.step(time=float(step)):
                out.put("x", expected["x"][step])
                out.resize("rows", step)
                out.put("rows", expected["rows"][step, :step])
    copy(source, path, version)
    assert "sluice" in zarr.open_group(path, mode="r").attrs
    for file in (path, tmp_path / "back.h5", tmp_path / "back.zarr"):
        if file != path:
            assert "sluice: " not in sluice("convert", path, file)
        with library.open(file) as opened:
            for name, values in expected.items():
                assert opened[name][...].dtype == values.dtype, name
                np.testing.assert_array_equal(opened[name][...], values, name)
            assert opened.attrs["title"] == "a run" and "sluice" not in opened.attrs
            assert not any(name.startswith("sluice") for name in opened)
            assert "rows_vary" not in opened["rows"].attrs
    assert f"Zarr {version}, not written by Sluice" in sluice("ls", path)
    told = json.loads(sluice("ls", path, "--json"))
    assert not told["unreadable"] and not told["unread_attributes"], told
    refusal = "which can only be read" if version == 2 else "only to a store that Sluice wrote"
    before = sorted((file, file.read_bytes()) for file in path.rglob("*") if file.is_file())
    with pytest.raises(library.Error, match=refusal):
        library.open(path, "a")
    assert sorted((f, f.read_bytes()) for f in path.rglob("*") if f.is_file()) == before
