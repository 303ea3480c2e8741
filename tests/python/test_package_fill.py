"""Fill values of every type: written, read, converted and compared exactly, whoever set them."""

import json
import os
import subprocess

import h5py
import netCDF4
import numpy as np
import pytest
import sluice
import xarray
import zarr

QUICK = {"durability": "none"}
COMMAND = os.environ["SLUICE_COMMAND"]

VALUES = {
    "i1": np.int8(-128),
    "i8": np.int64(-9223372036854775806),
    "u8": np.uint64(2**64 - 2),
    "f4": np.float32(0.1),
    "f8": np.float64(9.969209968386869e36),
    "c8": np.complex64(1 - 2j),
    "c16": np.complex128(0.1 + 2j),
    "b1": np.True_,
    "S3": np.bytes_(b"abc"),
}
SUPPORTED = {"h5": set(VALUES), "nc": set(VALUES) - {"c8", "c16", "S3"},
             "zarr": set(VALUES) - {"S3"}}


def command(*arguments):
    return subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, text=True,
                          timeout=60, check=False)


def same(a, b):
    a, b = np.asarray(a), np.asarray(b)
    return a.dtype == b.dtype and a.tobytes() == b.tobytes()


def stored(path, name):
    """The values as another program reads them."""
    if path.suffix == ".nc":
        with netCDF4.Dataset(path) as data:
            data.set_auto_maskandscale(False)
            return data[name][:]
    if path.suffix == ".zarr":
        return zarr.open_group(path, mode="r")[name][:]
    with h5py.File(path) as data:
        return data[name][:]


@pytest.mark.parametrize("ending", SUPPORTED)
@pytest.mark.parametrize("compress", ["none", "deflate:1"])
def test_what_is_written_is_read(tmp_path, ending, compress):
    path = tmp_path / f"own.{ending}"
    names = sorted(SUPPORTED[ending])
    with sluice.open(path, "w", **QUICK) as out:
        for name in names:
            out.define(name, np.dtype(name), (5,), partial=True, fill=VALUES[name],
                       compress=compress)
            out.define(f"stepped_{name}", np.dtype(name), (5,), steps=True, partial=True,
                       fill=VALUES[name], compress=compress)
        with out.step():
            for name in names:
                out.put(name, np.zeros(2, name), shape=(5,))
                out.put(f"stepped_{name}", np.zeros(2, name), shape=(5,))
    for name in names:
        wanted = np.full(5, VALUES[name], dtype=name)
        wanted[:2] = np.zeros(2, name)
        with sluice.open(path) as data:
            if name == "S3":
                assert data[name].fill == "abc"
            else:
                assert same(data[name].fill, VALUES[name]), name
            raw = {"dtype": name} if name == "S3" else {}
            assert same(data[name].get(**raw), wanted), name
            assert same(data[f"stepped_{name}"].get(0, **raw), wanted), name
        found = np.asarray(stored(path, name))
        assert found.astype(name).tobytes() == wanted.tobytes(), name


MASKED = {"i2": -99, "i8": -99, "u4": 99, "f4": 0.1, "f8": -99.5}


def test_missing_values_of_a_store_are_missing_for_xarray(tmp_path):
    read = {}
    for ending, engine in (("nc", "netcdf4"), ("zarr", "zarr")):
        path = tmp_path / f"own.{ending}"
        with sluice.open(path, "w", **QUICK) as out:
            for dtype, fill in MASKED.items():
                out.define(dtype, dtype, (3,), steps=True, partial=True, fill=fill)
            with out.step():
                for dtype, fill in MASKED.items():
                    out.put(dtype, np.array([1, fill, 3], dtype))
        with sluice.open(path, "a", **QUICK) as out, out.step():
            for dtype in MASKED:
                out.put(dtype, np.array([4], dtype), start=(2,))
        with xarray.open_dataset(path, engine=engine) as data:
            read[ending] = data.load()
    for dtype in MASKED:
        values = read["zarr"][dtype].values
        assert np.isnan(values).tolist() == [[False, True, False], [True, True, False]], dtype
        assert np.array_equal(read["nc"][dtype].values, values, equal_nan=True), dtype


@pytest.mark.parametrize("ending", ["nc", "h5", "zarr"])
def test_missing_values_are_missing_in_to_xarray(tmp_path, ending):
    path = tmp_path / f"own.{ending}"
    with sluice.open(path, "w", **QUICK) as out:
        for dtype, fill in MASKED.items():
            out.define(dtype, dtype, (3,), partial=True, fill=fill)
            out.put(dtype, np.array([1, fill], dtype), start=(0,))
    with sluice.open(path) as file:
        data = xarray.decode_cf(file.to_xarray())
        for dtype in MASKED:
            assert np.isnan(data[dtype].values).tolist() == [False, True, True], dtype


@pytest.mark.parametrize("ending", ["nc", "h5", "zarr"])
def test_fills_of_the_upper_half_of_uint64_are_missing_in_to_xarray(tmp_path, ending):
    path = tmp_path / f"own.{ending}"
    with sluice.open(path, "w", **QUICK) as out:
        for name, fill in (("low", 2**63 - 1), ("high", 2**63), ("highest", 2**64 - 1)):
            out.define(name, np.uint64, (3,), partial=True, fill=fill)
            out.put(name, np.array([5], np.uint64), start=(1,))
    with sluice.open(path) as file:
        data = xarray.decode_cf(file.to_xarray())
        for name in ("low", "high", "highest"):
            assert np.isnan(data[name].values).tolist() == [True, False, True], name
            assert data[name].values[1] == 5


@pytest.mark.parametrize("ending", ["nc", "h5"])
def test_text_is_text_after_decoding(tmp_path, ending):
    path = tmp_path / f"text.{ending}"
    names = ["ab", "\u010dd", "xyz"]
    with sluice.open(path, "w", **QUICK) as out:
        out.put("names", np.array(names))
    with sluice.open(path) as file:
        data = xarray.decode_cf(file.to_xarray()).load()
        assert data["names"].values.tolist() == names


def test_missing_values_of_another_store_are_missing_in_to_xarray(tmp_path):
    theirs = xarray.Dataset({"x": ("i", [1.5, np.nan], {}, {"_FillValue": -0.1, "dtype": "f4"})})
    theirs.to_zarr(tmp_path / "x.zarr", zarr_format=3)
    with sluice.open(tmp_path / "x.zarr") as file:
        assert file["x"].attrs["_FillValue"] == np.float32(-0.1)
        data = xarray.decode_cf(file.to_xarray())
        assert np.isnan(data["x"].values).tolist() == [False, True]


@pytest.mark.parametrize("ending", ["nc", "h5", "zarr"])
def test_a_fill_value_alone_is_said_and_allows_no_holes(tmp_path, ending):
    path, copy = tmp_path / f"own.{ending}", tmp_path / "copy.nc"
    values = {"f4": 1e20, "i2": 0, "u8": 2**64 - 3}
    with sluice.open(path, "w", **QUICK) as out:
        for dtype, fill in values.items():
            out.define(dtype, dtype, (3,), fill=np.array(fill, dtype), steps=True)
        with out.step():
            for dtype, fill in values.items():
                out.put(dtype, np.array([1, fill, 3], dtype))
    assert command("convert", path, copy).returncode == 0
    assert command("verify", copy).returncode == 0
    for name in (path, copy):
        with sluice.open(name, "a", **QUICK) as out:
            with pytest.raises(sluice.Error) as caught:
                with out.step():
                    for dtype in values:
                        out.put(dtype, np.ones(2, dtype), start=(0,))
            assert caught.value.code == sluice.Code.HOLE
    with netCDF4.Dataset(copy) as data:
        for dtype, fill in values.items():
            assert same(data[dtype]._FillValue, np.array(fill, dtype)), dtype
            assert data[dtype][0].mask.tolist() == [False, True, False], dtype
    engine = {"nc": "netcdf4", "h5": "h5netcdf", "zarr": "zarr"}[ending]
    with xarray.open_dataset(path, engine=engine) as data:
        assert np.isnan(data["f4"].values[0]).tolist() == [False, True, False]
        assert np.isnan(data["i2"].values[0]).tolist() == [False, True, False]


def test_missing_values_of_float16(tmp_path):
    """netCDF has no such type."""
    own, theirs, copy = (tmp_path / f"{name}.zarr" for name in ("own", "theirs", "copy"))
    with sluice.open(own, "w", **QUICK) as out:
        out.define("x", "f2", (3,), partial=True, fill=-999)
        out.put("x", np.array([1, -999], "f2"), start=(0,))
    with xarray.open_zarr(own) as data:
        assert np.isnan(data["x"].values).tolist() == [False, True, True]
    values = xarray.Dataset({"x": ("i", [1, np.nan, 3], {}, {"_FillValue": -999, "dtype": "f2"})})
    values.to_zarr(theirs, zarr_format=3, consolidated=True)
    assert command("convert", theirs, copy).returncode == 0
    with xarray.open_zarr(copy) as data:
        assert np.isnan(data["x"].values).tolist() == [False, True, False]
    assert command("convert", theirs, tmp_path / "copy.h5").returncode == 0
    with h5py.File(tmp_path / "copy.h5") as data:
        assert data["x"].attrs["_FillValue"] == -999


SET = {"f4": -999.0, "f8": np.array([-999.0]), "i2": np.array([-999], "i4"), "i8": -999,
       "c16": -999.0}


def test_a_fill_value_that_a_program_sets_is_one_for_xarray(tmp_path):
    path = tmp_path / "own.zarr"
    with sluice.open(path, "w", **QUICK) as out:
        for dtype, fill in SET.items():
            out.put(dtype, np.array([1, -999, 3], dtype))
            out.attrs_of(dtype)["_FillValue"] = fill
    with sluice.open(path, "a", **QUICK) as out, out.step():
        out.put("later", np.zeros(2))
    with xarray.open_zarr(path) as data:
        for dtype in SET:
            assert np.isnan(data[dtype].values).tolist() == [False, True, False], dtype
    with sluice.open(path) as data:
        for dtype in ("f4", "f8", "i2", "i8"):
            assert data[dtype].attrs["_FillValue"] == -999, dtype


def test_a_fill_value_in_a_list_of_one_is_one(tmp_path):
    source = tmp_path / "foreign.h5"
    with h5py.File(source, "w") as data:
        for dtype in ("f4", "f8", "i2"):
            data[dtype] = np.array([1, -999, 3], dtype)
            data[dtype].attrs["_FillValue"] = np.array([-999], dtype)
    for ending, engine in (("nc", "netcdf4"), ("zarr", "zarr")):
        target = tmp_path / f"copy.{ending}"
        run = command("convert", source, target)
        assert run.returncode == 0 and "left out" not in run.stdout + run.stderr, run
        with xarray.open_dataset(target, engine=engine) as data:
            for dtype in ("f4", "f8", "i2"):
                is_missing = np.isnan(data[dtype].values).tolist()
                assert is_missing == [False, True, False], (ending, dtype)


@pytest.mark.parametrize("ending", ["nc", "h5", "zarr"])
def test_a_variable_without_a_fill_value_says_none(tmp_path, ending):
    """So that the copy of a definition, define(..., fill=v.fill), has none either."""
    given = {"bare": {}, "filled": {"fill": 0}, "partial": {"partial": True}}
    with sluice.open(tmp_path / f"own.{ending}", "w", **QUICK) as out:
        for name, options in given.items():
            out.define(name, "f4", (2,), **options)
            out.put(name, np.ones(2, "f4"))
    with sluice.open(tmp_path / f"own.{ending}") as file:
        assert {name: file[name].fill for name in given} == {"bare": None, "filled": 0,
                                                            "partial": 0}


def test_a_step_without_a_put_has_no_empty_object(tmp_path):
    path = tmp_path / "untouched.zarr"
    with sluice.open(path, "w", durability="step") as out:
        out.define("v", "u2", (20,), steps=True, varying=True, partial=True, fill=7,
                   compress="zstd:1")
        for step in range(3):
            with out.step():
                out.put("w", np.arange(4.0))
                if step == 1:
                    out.put_joined("v", np.arange(3, dtype="u2"))
    assert all(file.stat().st_size for file in path.rglob("*") if file.is_file())
    array = zarr.open_group(path, mode="r")["v"]
    assert (array[0] == 7).all() and (array[2] == 7).all()
    assert array[1][:3].tolist() == [0, 1, 2]
    with sluice.open(path) as data:
        assert (data["v"][0] == 7).all() and data["v"][1].tolist() == [0, 1, 2]
    assert command("verify", path).returncode == 0


def foreign_netcdf(path):
    with netCDF4.Dataset(path, "w") as data:
        data.createDimension("x", 3)
        for kind in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"):
            data.createVariable(kind, kind, ("x",))


def foreign_hdf5(path):
    with h5py.File(path, "w") as data:
        for name, value in VALUES.items():
            data.create_dataset(name, shape=(3,), dtype=name, fillvalue=value)
        data.create_dataset("big", shape=(3,), dtype=">i8", fillvalue=VALUES["i8"])


def foreign_zarr(path):
    group = zarr.create_group(path)
    for name, value in VALUES.items():
        if name in SUPPORTED["zarr"]:
            group.create_array(name, shape=(3,), chunks=(3,), dtype=name, fill_value=value)
    # By its bits, as the standard allows: 1.5 in single precision.
    group.create_array("bits", shape=(3,), chunks=(3,), dtype="f4", fill_value=0)
    document = path / "bits" / "zarr.json"
    text = document.read_text()
    assert '"fill_value": 0.0' in text
    document.write_text(text.replace('"fill_value": 0.0', '"fill_value": "0x3fc00000"'))
    zarr.consolidate_metadata(path)


@pytest.mark.parametrize("ending, make", [("nc", foreign_netcdf), ("h5", foreign_hdf5),
                                          ("zarr", foreign_zarr)])
def test_what_others_wrote_is_read_and_converted(tmp_path, ending, make):
    path = tmp_path / f"foreign.{ending}"
    make(path)
    with sluice.open(path) as data:
        names = [name for name in data if name != "x"]
        assert len(names) >= 9
        for name in names:
            wanted = np.asarray(stored(path, name))
            found = data[name][...]
            assert found.tobytes() == wanted.astype(found.dtype).tobytes(), name
            if name == "bits":
                assert (found == 1.5).all()
    copy = tmp_path / "copy.h5"
    converted = command("convert", path, copy)
    assert converted.returncode == 0, converted.stderr
    # The copy says the fill value in an attribute too, which a foreign file need not have.
    compared = command("diff", path, copy)
    assert compared.returncode == 0 or "different: 0 of" in compared.stdout, compared.stdout
    for name in names:
        wanted = np.asarray(stored(path, name))
        found = np.asarray(stored(copy, name))
        assert found.astype(wanted.dtype.newbyteorder("=")).tobytes() == \
            wanted.astype(wanted.dtype.newbyteorder("=")).tobytes(), name


def test_what_differs_in_the_last_digit_differs(tmp_path):
    for name, value in (("a.h5", 2**62 + 1), ("b.h5", 2**62)):
        with h5py.File(tmp_path / name, "w") as data:
            data.create_dataset("v", shape=(3,), dtype="i8", fillvalue=value)
    result = command("diff", tmp_path / "a.h5", tmp_path / "b.h5")
    assert result.returncode == 1, result.stdout + result.stderr


def test_a_fill_value_that_is_none_is_an_error(tmp_path):
    path = tmp_path / "bad.zarr"
    zarr.create_group(path).create_array("v", shape=(3,), chunks=(3,), dtype="i4", fill_value=7)
    zarr.consolidate_metadata(path)
    document = path / "zarr.json"
    sound = document.read_text()
    assert '"fill_value": 7' in sound
    for wrong in ('"seven"', "7.5", "4294967296", "[7]", "null"):
        document.write_text(sound.replace('"fill_value": 7', f'"fill_value": {wrong}'))
        with pytest.raises(sluice.Error, match="fill_value|value"):
            with sluice.open(path) as data:
                data["v"][...]


def test_what_does_not_fit_is_refused(tmp_path):
    for dtype, fill in (("i1", 128), ("u8", -1), ("i4", 0.5), ("f4", 1e39), ("f8", 1j), ("b1", 2),
                        ("S2", "abc"), ("f8", "x"), ("i8", [1, 2])):
        with pytest.raises(sluice.Error, match="fill"):
            with sluice.open(tmp_path / "refused.h5", "w", **QUICK) as out:
                out.define("v", np.dtype(dtype), (3,), partial=True, fill=fill)
    with pytest.raises(sluice.Error, match="single character"):
        with sluice.open(tmp_path / "refused.nc", "w", **QUICK) as out:
            out.define("text", np.dtype("S3"), (3,), partial=True, fill="abc")
    with sluice.open(tmp_path / "same.nc", "w", **QUICK) as out:
        out.define("same", np.dtype("S3"), (3,), partial=True, fill="aaa")


ENGINES = {"h5": "netcdf4", "nc": "netcdf4", "zarr": "zarr"}
MISSING = {"i2": -999, "i4": -999, "u4": 2**32 - 3, "i8": -(2**60) - 1, "f4": -999.5, "f8": 1e300}


@pytest.mark.parametrize("ending", ENGINES)
def test_the_attribute_and_not_the_fill_value_of_the_dataset_is_missing(tmp_path, ending):
    """The fillvalue of h5py is what absent elements read as; xarray goes by the attribute."""
    source, target = tmp_path / "foreign.h5", tmp_path / f"copy.{ending}"
    with h5py.File(source, "w") as data:
        for dtype, missing in MISSING.items():
            for name, fill in ((f"said_{dtype}", 0), (f"other_{dtype}", 7), (f"plain_{dtype}", 0)):
                made = data.create_dataset(name, (5,), dtype, chunks=(2,), fillvalue=fill)
                made[1:4] = np.array([0, missing, 7], dtype)
                if not name.startswith("plain"):
                    made.attrs["_FillValue"] = np.array(missing, dtype)
        made = data.create_dataset("narrow", data=np.array([7, 0, 255], "u1"), fillvalue=7)
        made.attrs["_FillValue"] = -999
    run = command("convert", source, target)
    is_left_out = ending == "nc"  # netCDF has it in the type of the variable only
    assert ("left out: narrow: attribute _FillValue" in run.stderr) == is_left_out
    assert run.returncode == (1 if is_left_out else 0), run.stderr
    compared = command("diff", source, target)
    assert compared.returncode == (1 if is_left_out else 0), compared.stdout
    assert "different: 0 of" in compared.stdout or not is_left_out, compared.stdout
    assert stored(target, "narrow").tolist() == [7, 0, 255]
    with h5py.File(source) as data, xarray.open_dataset(
            target, engine=ENGINES[ending], drop_variables=["narrow"]) as copy:
        for name in copy.data_vars:
            missing = MISSING[name.split("_")[1]]
            wanted = data[name][...]
            assert np.array_equal(stored(target, name), wanted), name
            mask = (wanted == missing) & (not name.startswith("plain"))
            assert np.isnan(copy[name].values).tolist() == mask.tolist(), name
    if ending == "nc":
        with netCDF4.Dataset(target) as copy:
            for name in (name for name in copy.variables if name.startswith("plain")):
                assert not np.ma.getmaskarray(copy[name][:]).any(), name


def set_with_an_attribute(path):
    with sluice.open(path, "w", strategy="file-per-process", **QUICK) as out:
        for name in ("v", "same"):
            out.define(name, np.int32, (4,), partial=True, fill=-1)
            out.put(name, np.array([1, -999], "i4"), start=(1,))
        out.attrs_of("v")["_FillValue"] = np.int32(-999)


@pytest.mark.parametrize("ending", ENGINES)
def test_a_merged_set_keeps_the_attribute_and_what_is_not_there(tmp_path, ending):
    source, target = tmp_path / "set.h5", tmp_path / f"merged.{ending}"
    set_with_an_attribute(source)
    run = command("merge", source, target)
    is_left_out = ending == "nc"  # netCDF has one only, which is also what is not there
    said = f"sluice: {target}: left out: v: attribute _FillValue ("
    assert run.stderr.startswith(said) == is_left_out and run.stderr.count("\n") == is_left_out, run
    assert run.returncode == (1 if is_left_out else 0), run
    with sluice.open(target) as data:
        for name in ("v", "same"):
            assert data[name][...].tolist() == [-1, 1, -999, -1]
    missing = [True, False, False, True]
    with xarray.open_dataset(target, engine=ENGINES[ending]) as data:
        assert np.isnan(data["v"].values).tolist() == (
            missing if is_left_out else [False, False, True, False])
        assert np.isnan(data["same"].values).tolist() == missing


def test_an_append_to_a_set_keeps_the_attribute(tmp_path):
    path = tmp_path / "set.h5"
    set_with_an_attribute(path)
    for step in range(2):
        with sluice.open(path, "a", strategy="file-per-process", **QUICK) as out, out.step():
            out.put("later", np.zeros(2) + step)
        with h5py.File(path) as data:
            assert data["v"].attrs["_FillValue"] == -999 and data["v"].fillvalue == -1
            assert data["same"].attrs["_FillValue"] == -1
            assert data["v"][...].tolist() == [-1, 1, -999, -1]


@pytest.mark.parametrize("ending", ENGINES)
def test_a_large_attribute_of_another_value_is_no_fill_value(tmp_path, ending):
    source, target = tmp_path / "foreign.h5", tmp_path / f"copy.{ending}"
    with h5py.File(source, "w") as data:
        for dtype in ("u8", "i4"):
            made = data.create_dataset(dtype, (6,), dtype, chunks=(2,), fillvalue=5)
            made[:4] = [1, 5, 3, 4]
            made.attrs["_FillValue"] = np.uint64(2**64 - 1)  # attributes of Sluice do not hold it
    unread = json.loads(command("ls", source, "--json").stdout)["unread_attributes"]
    assert len(unread) == 2, unread
    command("convert", source, target)
    for dtype in ("u8", "i4"):
        assert stored(target, dtype).tolist() == [1, 5, 3, 4, 5, 5]
    with xarray.open_dataset(target, engine=ENGINES[ending]) as data:
        for dtype in ("u8", "i4"):
            assert not np.isnan(data[dtype].values).any()
            assert data[dtype].encoding.get("_FillValue") != 5


@pytest.mark.parametrize("ending", ENGINES)
def test_the_default_of_uint64_is_a_fill_value_where_it_was_asked_for(tmp_path, ending):
    source, target = tmp_path / "foreign.nc", tmp_path / f"copy.{ending}"
    missing = 2**64 - 2
    with netCDF4.Dataset(source, "w") as data:
        data.createDimension("x", 3)
        for name, fill in (("asked", missing), ("larger", 2**64 - 1), ("default", None)):
            made = data.createVariable(name, "u8", ("x",), fill_value=fill)
            made[:] = np.array([1, 2, fill or missing], "u8")
    assert json.loads(command("ls", source, "--json").stdout)["unread_attributes"] == []
    for _ in range(2):  # also from a file of Sluice
        run = command("convert", source, target)
        assert run.returncode == 0, run.stderr
        for name in ("asked", "larger", "default"):
            wanted = [1, 2, 2**64 - 1 if name == "larger" else missing]
            assert stored(target, name).tolist() == wanted
        with xarray.open_dataset(target, engine=ENGINES[ending]) as data:
            for name in ("asked", "larger", "default"):
                mask = np.isnan(data[name].values)
                assert mask.tolist() == [False, False, name != "default"], name
        source, target = target, tmp_path / f"again.{ending}"
