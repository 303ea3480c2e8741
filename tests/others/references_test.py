"""References to chunks in other files: those of kerchunk as Sluice reads them, and those that
`sluice virtualize` makes as fsspec, zarr-python and xarray read them, equal to what h5py reads."""

import base64
import json
import os
import shutil
import subprocess
import warnings

import fsspec
import h5py
import netCDF4
import numpy as np
import pytest
import xarray
import zarr
from kerchunk.hdf import SingleHdf5ToZarr

import sluice as library
from others import COMMAND, sluice

warnings.filterwarnings("ignore")


def refused(*arguments):
    result = subprocess.run([COMMAND, *map(str, arguments)], stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, check=False)
    assert result.returncode != 0, result.stdout
    return result.stdout


def make_file(path):
    """What h5py stores in its ways, and the values of what can be referred to."""
    rng = np.random.default_rng(7)
    arrays = {
        "contiguous": rng.normal(size=(30, 7)),
        "chunked": np.arange(700, dtype="i4").reshape(70, 10),
        "zlib": np.arange(5000, dtype="f4").reshape(50, 100),
        "g/shuffled": np.arange(4000, dtype=">i8").reshape(40, 100),
        "g/checked": np.arange(999, dtype="u2"),
        "g/bool": np.arange(50) % 3 == 0,
        "g/complex": (np.arange(24) * (1 + 2j)).reshape(4, 6),
        "scalar": np.array(2.5),
        "sparse": np.full((20, 20), 7, "i2")}
    options = {"chunked": {"chunks": (16, 4)}, "zlib": {"chunks": (7, 30), "compression": "gzip"},
               "g/shuffled": {"chunks": (8, 100), "compression": 4, "shuffle": True},
               "g/checked": {"chunks": (100,), "compression": 1, "shuffle": True,
                             "fletcher32": True},
               "sparse": {"chunks": (8, 8), "fillvalue": 7}}
    with h5py.File(path, "w") as file:
        for name, values in arrays.items():
            if name == "sparse":
                file.create_dataset(name, shape=values.shape, dtype=values.dtype, **options[name])
            else:
                file.create_dataset(name, data=values, **options.get(name, {}))
        file["chunked"].attrs["unit"] = "m"
        file.attrs["title"] = "a file"
        file["sparse"][:5, :5] = 1
        arrays["sparse"][:5, :5] = 1
        left_out = {"lzf": file.create_dataset("lzf", data=np.zeros((64, 64)), compression="lzf")}
        left_out["text"] = file.create_dataset("text", data=["a", "bcd"])
        left_out["fields"] = file.create_dataset(
            "fields", data=np.zeros(4, np.dtype([("a", "i4"), ("b", "f8")])))
        compact = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        compact.set_layout(h5py.h5d.COMPACT)
        h5py.h5d.create(file.id, b"compact", h5py.h5t.NATIVE_INT32, h5py.h5s.create_simple((4,)),
                        compact)
        noise = file.create_dataset("noise", shape=(64,), chunks=(64,), dtype="u1",
                                    compression="gzip")
        noise.id.write_direct_chunk((0,), rng.bytes(64), filter_mask=1)
    return arrays, {*left_out, "compact", "noise"}


def opened(refs):
    fs = fsspec.filesystem("reference", fo=str(refs), asynchronous=False)
    return zarr.open_group(zarr.storage.FsspecStore.from_mapper(fs.get_mapper("")), mode="r",
                           zarr_format=2)


def test_virtualize_files_of_h5py(tmp_path):
    arrays, left_out = make_file(tmp_path / "x.h5")
    told = subprocess.run([COMMAND, "virtualize", tmp_path / "x.h5", "-o", tmp_path / "x.json"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=True)
    named = {line.split(": ")[1] for line in told.stderr.splitlines()}
    assert named == left_out, told.stderr
    group = opened(tmp_path / "x.json")
    for name, values in arrays.items():
        np.testing.assert_array_equal(group[name][...], values, name)
    assert group["chunked"].attrs["unit"] == "m"
    assert group.attrs["title"] == "a file"
    # And back: Sluice reads its own references, on one rank and by the command.
    with library.open(tmp_path / "x.json") as file:
        for name, values in arrays.items():
            np.testing.assert_array_equal(file[name][...], values, name)


@pytest.mark.parametrize("ending", ["h5", "nc"])
@pytest.mark.parametrize("compress", ["", "deflate:4"])
def test_virtualize_files_of_sluice(tmp_path, ending, compress):
    path = tmp_path / f"run.{ending}"
    grid = np.arange(6000, dtype="f8").reshape(60, 100)
    with library.open(path, "w", compress=compress) as out:
        out.put("x", np.arange(100.0), dimensions=["x"])
        field = out.define("field", "f8", grid.shape, steps=True, dimensions=["y", "x"])
        for step in range(3):
            with out.step(time=step / 2):
                out.put(field, grid + step)
                out.put("energy", np.float64(step))
    sluice("virtualize", path, "-o", tmp_path / "run.json")
    storage = {"consolidated": False, "storage_options": {"fo": str(tmp_path / "run.json")}}
    with xarray.open_dataset("reference://", engine="zarr", backend_kwargs=storage,
                             decode_times=False) as data:
        assert data["field"].dims == ("time", "y", "x")
        for step in range(3):
            np.testing.assert_array_equal(data["field"][step].values, grid + step)
        np.testing.assert_array_equal(data["energy"].values, [0, 1, 2])
        with h5py.File(path) as file:
            np.testing.assert_array_equal(data["field"].values, file["field"][...])
    with library.open(tmp_path / "run.json") as file:
        np.testing.assert_array_equal(file["field"][2], grid + 2)


def test_chunks_that_are_not_there_read_as_the_default_of_netcdf(tmp_path):
    path, refs = tmp_path / "x.nc", tmp_path / "x.json"
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("x", 6)
        for dtype in ("u8", "i8"):
            file.createVariable(dtype, dtype, ("x",), chunksizes=(2,))[:2] = [1, 2]
    sluice("virtualize", path, "-o", refs)
    with h5py.File(path) as file:
        for dtype, default in (("u8", 2**64 - 2), ("i8", -2**63 + 2)):
            values = file[dtype][...]
            assert values.tolist() == [1, 2] + 4 * [default]
            assert opened(refs)[dtype][...].tolist() == values.tolist()


def test_zeros_are_missing_in_xarray_only_where_a_fill_value_was_given(tmp_path):
    """Chunks that are not there read as zeros, and zeros of a variable without _FillValue stay."""
    path, refs = tmp_path / "x.h5", tmp_path / "x.json"
    rows = [np.array([0, 4_000_000_000, 2], "u4"), np.array([7], "u4")]
    with library.open(path, "w", compress="deflate:1") as out:
        ids = out.define("ids", "u4", [2000], steps=True, varying=True, chunk=[500])
        given = out.define("given", "i4", [3], steps=True, partial=True, fill=0)
        for step, some in enumerate(rows):
            with out.step(time=step):
                out.resize(ids, len(some))
                out.put(ids, some)
                if step == 1:
                    out.put(given, np.array([0, 5, 6], "i4"))
    with h5py.File(path, "a") as file:
        holes = file.create_dataset("holes", (6,), "i2", chunks=(2,), fillvalue=0)
        holes[:2] = [0, 3]
        expected = {name: file[name][...] for name in ("ids", "holes")}
    sluice("virtualize", path, "-o", refs)
    storage = {"consolidated": False, "storage_options": {"fo": str(refs)}}
    with xarray.open_dataset("reference://", engine="zarr", backend_kwargs=storage,
                             decode_times=False) as data:
        for name, values in expected.items():
            assert data[name].dtype == values.dtype, name
            np.testing.assert_array_equal(data[name].values, values, name)
        np.testing.assert_array_equal(data["given"].values, [3 * [np.nan], [np.nan, 5, 6]])
    with library.open(refs) as file:
        np.testing.assert_array_equal(file["holes"][...], expected["holes"])


def test_a_url_that_is_no_utf8_is_refused(tmp_path):
    make_file(tmp_path / "x.h5")
    odd, refs = os.fsencode(tmp_path) + b"/caf\xe9.h5", tmp_path / "x.json"
    shutil.copy(tmp_path / "x.h5", odd)
    for words in ([odd], [tmp_path / "x.h5", "--url", b"s3://a/caf\xe9.h5"]):
        told = subprocess.run([COMMAND, "virtualize", *words, "-o", refs], capture_output=True,
                              check=False)
        assert (told.returncode, refs.exists()) == (2, False), told
        assert b"is not UTF-8" in told.stderr and told.stderr.count(b"\n") == 1, told.stderr
    sluice("virtualize", tmp_path / "x.h5", "-o", refs, "--url", "s3://a/caf\u00e9.h5")
    assert json.loads(refs.read_text())["refs"]["chunked/0.0"][0] == "s3://a/caf\u00e9.h5"


def test_large_contiguous_data_is_several_chunks(tmp_path):
    values = np.zeros((96, 1 << 17))
    values[::5] = np.arange(20)[:, None]
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["v"] = values
    sluice("virtualize", tmp_path / "x.h5", "-o", tmp_path / "x.json")
    array = opened(tmp_path / "x.json")["v"]
    assert array.chunks == (48, 1 << 17)
    np.testing.assert_array_equal(array[47:50], values[47:50])


def test_rows_of_a_number_without_divisors_are_one_chunk(tmp_path):
    path, refs = tmp_path / "x.h5", tmp_path / "x.json"
    rows = 8388617  # a prime number
    with h5py.File(path, "w") as file:
        file.create_dataset("v", (rows, 2), "f8")[-1] = 7
    told = sluice("virtualize", path, "-o", refs)
    assert "1 variable, 1 chunk of" in told, told
    assert json.loads(refs.read_text())["refs"]["v/0.0"][2] == rows * 16


def test_all_that_references_leave_out_is_named(tmp_path):
    path, refs = tmp_path / "x.h5", tmp_path / "x.json"
    with h5py.File(path, "w") as file:
        file["v"] = np.arange(3)
        file["v"].attrs["pair"] = np.zeros((), dtype=[("a", "i4"), ("b", "f8")])
        file["v"].attrs["large"] = np.uint64(2**64 - 1)
        file.create_group("notes/inner").attrs["by"] = "somebody"
        file.create_group("empty")
    told = sluice("virtualize", path, "-o", refs)
    for name in ("v: attribute pair", "v: attribute large", "empty"):
        assert f"not referred to: {name}: " in told, told
    made = json.loads(refs.read_text())["refs"]
    assert json.loads(made["notes/inner/.zattrs"]) == {"by": "somebody"}
    assert "notes/.zgroup" in made and "notes/inner/.zgroup" in made


def test_references_of_kerchunk(tmp_path):
    arrays, left_out = make_file(tmp_path / "x.h5")
    with h5py.File(tmp_path / "x.h5", "a") as file:
        for name in left_out:
            del file[name]
    for threshold in (0, 600):  # chunks in the reference file itself
        refs = SingleHdf5ToZarr(str(tmp_path / "x.h5"), inline_threshold=threshold).translate()
        (tmp_path / "k.json").write_text(json.dumps(refs))
        expected = opened(tmp_path / "k.json")
        with library.open(tmp_path / "k.json") as file:
            for name in set(arrays) - {"g/checked"}:  # kerchunk knows no fletcher32
                np.testing.assert_array_equal(file[name][...], expected[name][...], name)
    told = json.loads(sluice("ls", tmp_path / "k.json", "--json"))
    assert not told["unreadable"]


def write(path, refs, **head):
    path.write_text(json.dumps({"version": 1, "refs": refs, **head} if head is not None else refs))


ARRAY = {"zarr_format": 2, "shape": [4], "chunks": [2], "dtype": "<i2", "order": "C",
         "compressor": None, "filters": None, "fill_value": 9}


@pytest.fixture(name="folder")
def folder_with_data(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data/x.bin").write_bytes(np.arange(8, dtype="<i2").tobytes())
    (tmp_path.parent / f"{tmp_path.name}.bin").write_bytes(bytes(100))
    return tmp_path


def values_of(path):
    with library.open(path) as file:
        return list(file["v"][...])


@pytest.mark.parametrize("is_inline", [True, False])
def test_shards_are_refused_as_such(folder, is_inline):
    group = zarr.create_group(folder / "s.zarr")
    array = group.create_array("v", shape=(8,), chunks=(2,), shards=(8,), dtype="<i2")
    array[:] = np.arange(8)
    group.create_array("w", data=np.arange(3, dtype="<i2"))
    store = folder / "s.zarr"
    refs = {"zarr.json": (store / "zarr.json").read_text()}
    for name in ("v", "w"):
        shard = (store / name / "c/0").read_bytes()
        refs[f"{name}/zarr.json"] = (store / name / "zarr.json").read_text()
        refs[f"{name}/c/0"] = ("base64:" + base64.b64encode(shard).decode() if is_inline
                               else [f"s.zarr/{name}/c/0", 0, len(shard)])
    write(folder / "r.json", refs)
    told = json.loads(sluice("ls", folder / "r.json", "--json"))
    assert "shards" in json.dumps(told["unreadable"]), told
    with library.open(folder / "r.json") as file:
        np.testing.assert_array_equal(file["w"][...], np.arange(3))
        with pytest.raises(library.Error, match="references to shards"):
            print(file["v"][...])


def test_spellings_of_references(folder):
    group = {".zgroup": json.dumps({"zarr_format": 2}), "v/.zarray": json.dumps(ARRAY)}
    refs = folder / "r.json"
    write(refs, {**group, "v/0": ["data/x.bin", 4, 4], "v/1": ["data/../data/x.bin", 0, 4]})
    assert values_of(refs) == [2, 3, 0, 1]
    refs.write_text(json.dumps({**group, "v/1": ["data/x.bin", 12, 4]}))  # version 0
    assert values_of(refs) == [9, 9, 6, 7]
    inline = "base64:" + base64.b64encode(np.array([5, 6], "<i2").tobytes()).decode()
    write(refs, {**group, "v/0": inline, "v/1": [f"file://{folder}/data/x.bin", 2, 4]})
    assert values_of(refs) == [5, 6, 1, 2]
    assert inline.endswith("==")
    write(refs, {**group, "v/0": inline.rstrip("=")})
    assert values_of(refs) == [5, 6, 9, 9]
    write(refs, {**group, "v/0": ["{{u}}/x.bin", 0, 4]}, templates={"u": "data"})
    assert values_of(refs) == [0, 1, 9, 9]
    (folder / "whole.bin").write_bytes(np.array([8, 7], "<i2").tobytes())
    write(refs, {**group, "v/.zarray": ARRAY, "v/0": ["whole.bin"]})
    assert values_of(refs) == [8, 7, 9, 9]


@pytest.mark.parametrize("url", ["../{name}.bin", "{parent}/{name}.bin", "data/../../{name}.bin",
                                 "file://{parent}/{name}.bin", "/etc/hostname", ".", "data/..",
                                 "{folder}/../{name}.bin"])
def test_a_reference_leads_nowhere_else(folder, url):
    refs = folder / "r.json"
    url = url.format(name=folder.name, parent=folder.parent, folder=folder)
    write(refs, {".zgroup": "{\"zarr_format\": 2}", "v/.zarray": ARRAY, "v/0": [url, 0, 4]})
    assert "in the folder of the reference file" in refused("dump", refs, "v")


def test_a_link_is_not_followed(folder):
    refs = folder / "r.json"
    (folder / "data/link").symlink_to(folder.parent / f"{folder.name}.bin")
    (folder / "out").symlink_to(folder.parent)
    for name in ("data/link", f"out/{folder.name}.bin"):
        write(refs, {".zgroup": "{\"zarr_format\": 2}", "v/.zarray": ARRAY, "v/0": [name, 0, 4]})
        assert "link" in refused("dump", refs, "v")


@pytest.mark.parametrize("reference, said", [
    (["data/x.bin", 14, 4], "which has 16"), (["data/x.bin", 1 << 62, 4], "which has 16"),
    (["data/x.bin", 4, 1 << 63], "which has 16"), (["data/y.bin", 0, 4], "is not there"),
    (["data/x.bin", 0, 3], "3 bytes"), (["data/x.bin", -1, 4], "neither text"),
    (["data/x.bin", 0], "neither text"), ([7, 0, 4], "neither text"), (5, "neither text"),
    ("base64:%%", "base64"), ("base64:AAA=", "bytes, not 4"), ("base64:AAAAA", "base64"),
    (["s3://bucket/x", 0, 4], "which is no file"), (["{{f(1)}}", 0, 4], "template")])
def test_wrong_references_are_refused(folder, reference, said):
    refs = folder / "r.json"
    write(refs, {".zgroup": "{\"zarr_format\": 2}", "v/.zarray": ARRAY, "v/0": reference})
    assert said in refused("dump", refs, "v")


def test_templates_stand_for_a_name_of_a_file_and_no_more(folder):
    group = {".zgroup": "{\"zarr_format\": 2}", "v/.zarray": ARRAY}
    refs = folder / "r.json"
    longest = "./" * ((4096 - len("data/x.bin")) // 2)
    write(refs, {**group, "v/0": ["{{u}}data/x.bin", 0, 4]}, templates={"u": longest})
    assert values_of(refs) == [0, 1, 9, 9]
    for text in ("{{u}}data/{{ none }}x.bin", "{{u}}/{{u}}data/x.bin", longest + "/./data/x.bin",
                 "{{large}}" * 6000):
        write(refs, {**group, "v/0": [text, 0, 4]},
              templates={"u": longest, "none": "./", "large": "a" * 1_000_000})
        told = refused("ls", refs)
        assert "r.json: the reference \"v/0\"" in told and "4096 bytes" in told, told
    # Each of them is short enough, and all of them together are not.
    write(refs, {**group, **{f"v/{i}": ["{{u}}data/x.bin"] for i in range(5000)}},
          templates={"u": longest})
    told = refused("ls", refs)
    assert "r.json: the reference \"v/" in told and "64 times" in told, told


def test_what_is_not_read_is_refused_by_name(folder):
    refs = folder / "r.json"
    write(refs, {}, gen=[{"key": "v/{{i}}", "url": "x", "dimensions": {"i": {"stop": 4}}}])
    assert "generators" in refused("ls", refs)
    refs.write_text(json.dumps({"version": 7, "refs": {}}))
    assert "version 7" in refused("ls", refs)
    refs.write_text("{" * 100)
    refused("ls", refs)
    refs.write_text("[1, 2]")
    refused("ls", refs)
    parquet = folder / "p.json"
    parquet.mkdir()
    (parquet / ".zmetadata").write_text(json.dumps(
        {"metadata": {".zgroup": {"zarr_format": 2}}, "record_size": 10000}))
    assert "Parquet" in refused("ls", parquet)


def test_what_cannot_be_virtualized(tmp_path):
    with library.open(tmp_path / "s.zarr", "w") as out:
        out.put("v", np.zeros(3))
    assert "Zarr store" in refused("virtualize", tmp_path / "s.zarr", "-o", tmp_path / "x.json")
    assert not (tmp_path / "x.json").exists()
    refused("virtualize", tmp_path / "none.h5", "-o", tmp_path / "x.json")
