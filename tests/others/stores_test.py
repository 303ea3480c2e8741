"""Zarr stores of zarr-python (versions 2 and 3 of the format) and tensorstore, and numpy's files:
every value, attribute and name as these programs read them, or a reason that is listed.

SLUICE_LONG=1: every type with every compressor and form."""

import itertools
import json
import math
import warnings

import h5py
import icechunk
import numpy as np
import pytest
import tensorstore
import zarr
from numcodecs import LZ4, BZ2, Blosc, GZip, Zlib, Zstd

import sluice as library
from others import LONG, Differences, run, sluice

warnings.filterwarnings("ignore")

TYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
         "float16", "float32", "float64", "complex64", "complex128", ">i4", ">f8", ">u2", ">f2",
         ">c16"]
COMPRESSORS = {
    "none": None, "zlib": Zlib(3), "gzip": GZip(4), "zstd": Zstd(2),
    "blosc-zstd": Blosc("zstd", 3, Blosc.SHUFFLE), "blosc-zlib": Blosc("zlib", 3, Blosc.NOSHUFFLE),
    "blosc-lz4": Blosc("lz4", 5, Blosc.SHUFFLE), "blosc-bits": Blosc("zstd", 3, Blosc.BITSHUFFLE),
    "lz4": LZ4(), "bz2": BZ2(1)}
FORMS = {"whole": ((7, 5), (7, 5), "C", "."), "ragged": ((7, 5), (3, 2), "C", "."),
         "nested": ((7, 5), (3, 2), "C", "/"), "fortran": ((7, 5), (3, 2), "F", "."),
         "line": ((13,), (4,), "F", "."), "point": ((), (), "C", "."),
         "nothing": ((0, 3), (1, 3), "C", ".")}
VERSION3 = {
    "none": {"compressors": None},
    "gzip": {"compressors": zarr.codecs.GzipCodec()},
    "zstd": {"compressors": zarr.codecs.ZstdCodec()},
    "blosc-zstd": {"compressors": zarr.codecs.BloscCodec(cname="zstd", shuffle="shuffle")},
    "blosc-zlib": {"compressors": zarr.codecs.BloscCodec(cname="zlib", shuffle="noshuffle")},
    "blosc-lz4": {"compressors": zarr.codecs.BloscCodec(cname="lz4", shuffle="shuffle")},
    "blosc-bits": {"compressors": zarr.codecs.BloscCodec(cname="lz4hc", shuffle="bitshuffle")},
    "sharded": {"compressors": zarr.codecs.ZstdCodec(), "shards": (6, 4)},
    "transposed": {"compressors": None, "filters": zarr.codecs.TransposeCodec(order=(1, 0))},
    "crc32c": {"compressors": [zarr.codecs.GzipCodec(), zarr.codecs.Crc32cCodec()]}}


def values_of(shape, dtype):
    dtype = np.dtype(dtype)
    index = np.arange(int(np.prod(shape))).reshape(shape)
    if dtype.kind == "b":
        return index % 3 == 0
    if dtype.kind == "c":
        return (index / 4 - 1j * index).astype(dtype)
    return (index / 4 if dtype.kind == "f" else index * 7 % 120).astype(dtype)


def difference(path, expected):
    """What sluice reads otherwise than `expected` (name: array); "" where nothing."""
    with library.open(path) as file:
        for name, array in expected.items():
            if name not in file:
                told = json.loads(sluice("ls", path, "--json"))
                why = [entry for entry in told["unreadable"] if entry["name"] == name]
                return f"{name}: not read: {why[0]['type'] if why else 'not there'}"
            found = file[name][...]
            if found.dtype != array.dtype.newbyteorder("="):
                return f"{name}: is {found.dtype}"
            if found.shape != array.shape or not np.array_equal(found, array,
                                                                array.dtype.kind in "fc"):
                return f"{name}: other values"
    return ""


def cases(*lists):
    """All combinations; in a short run each member of each list at least once."""
    lists = [list(one) for one in lists]
    if LONG:
        return itertools.product(*lists)
    most = max(len(one) for one in lists)
    return [tuple(one[i % len(one)] for one in lists) for i in range(most)]


@pytest.mark.parametrize("consolidated", [True, False])
def test_version_2_of_zarr_python(tmp_path, consolidated):
    differences = Differences("zarr2")
    for number, (dtype, compressor, form) in enumerate(cases(TYPES, COMPRESSORS, FORMS)):
        shape, chunks, order, separator = FORMS[form]
        values = values_of(shape, dtype)
        path = tmp_path / f"{number}.zarr"
        if consolidated:
            group = zarr.open_group(path, mode="w", zarr_format=2)
            place, name = {"store": group.store_path.store, "name": "g/x"}, "g/x"
        else:
            place, name = {"store": path}, path.stem
        array = zarr.create_array(**place, shape=shape, chunks=chunks, dtype=dtype, order=order,
                                  compressors=COMPRESSORS[compressor], zarr_format=2,
                                  chunk_key_encoding={"name": "v2", "separator": separator})
        array[...] = values
        array.attrs.update({"unit": "m", "n": 3, "list": [1.5, 2.5]})
        if consolidated:
            zarr.consolidate_metadata(path, zarr_format=2)
        expected = zarr.open(path, mode="r", zarr_format=2)
        expected = {name: np.asarray((expected[name] if consolidated else expected)[...])}
        np.testing.assert_array_equal(expected[name], values)
        case = f"{np.dtype(dtype).str} {compressor} {form}"
        found = difference(path, expected)
        differences.judge(case, found)
        if not found and number % 5 == 0:
            with library.open(path) as file:
                attributes = file[name].attrs if name in file else {}
                assert (attributes["unit"], attributes["n"]) == ("m", 3)
                assert list(attributes["list"]) == [1.5, 2.5]
            back = tmp_path / f"{number}.h5"
            sluice("convert", path, back)
            assert difference(back, expected) == ""
    differences.report("Zarr stores, version 2")


def test_all_that_is_inside_blosc(tmp_path):
    """Every compressor but snappy, how it shuffles, and blocks: one, several, and a short last."""
    path = tmp_path / "blosc.zarr"
    group = zarr.open_group(path, mode="w", zarr_format=2)
    expected = {}
    for number, (inside, shuffle, dtype, block_bytes, rows) in enumerate(cases(
            ["blosclz", "lz4", "lz4hc", "zlib", "zstd"],
            [Blosc.NOSHUFFLE, Blosc.SHUFFLE, Blosc.BITSHUFFLE, Blosc.AUTOSHUFFLE],
            ["int8", "uint16", "int32", "float64", "complex128", ">i4"], [0, 1024, 5000],
            [7, 20011])):
        values = (np.arange(rows) // 9 % 101).astype(dtype)
        name = f"a{number}"
        group.create_array(name, shape=(rows,), chunks=(max(4, rows // 2),), dtype=dtype,
                           compressors=Blosc(inside, 5, shuffle, block_bytes))[...] = values
        expected[name] = values
    zarr.consolidate_metadata(path, zarr_format=2)
    assert len(expected) >= 6
    assert difference(path, expected) == ""


def test_version_3_of_zarr_python(tmp_path):
    differences = Differences("zarr3")
    for number, (dtype, form) in enumerate(cases([t for t in TYPES if t[0] != ">"], VERSION3)):
        values = values_of((11, 7), dtype)
        path = tmp_path / f"{number}.zarr"
        group = zarr.open_group(path, mode="w")
        array = group.create_array("g/x", shape=values.shape, chunks=(3, 2), dtype=dtype,
                                   dimension_names=("a", "b"), **VERSION3[form])
        array[...] = values
        group.attrs["title"] = "a store"
        zarr.consolidate_metadata(path)
        expected = {"g/x": zarr.open_group(path, mode="r")["g/x"][...]}
        differences.judge(f"{dtype} {form}", difference(path, expected))
    differences.report("Zarr stores, version 3")


def test_tensorstore(tmp_path):
    differences = Differences("tensorstore")
    blosc = {"id": "blosc", "cname": "zstd", "clevel": 3, "shuffle": 1}
    forms = {
        "zarr none": ("zarr", {"compressor": None}), "zarr zlib": (
            "zarr", {"compressor": {"id": "zlib", "level": 3}}),
        "zarr blosc": ("zarr", {"compressor": blosc}),
        "zarr3 plain": ("zarr3", {"codecs": [{"name": "bytes"}]}),
        "zarr3 gzip": ("zarr3", {"codecs": [{"name": "bytes"}, {"name": "gzip"}]}),
        "zarr3 sharded": ("zarr3", {"codecs": [{"name": "sharding_indexed", "configuration": {
            "chunk_shape": [3, 2], "codecs": [{"name": "bytes"}, {"name": "zstd"}]}}]})}
    types = ["bool", "int8", "uint16", "int32", "uint64", "float16", "float32", "float64",
             "complex64"]
    for number, (dtype, form) in enumerate(cases(types, forms)):
        driver, metadata = forms[form]
        values = values_of((11, 7), dtype)
        path = tmp_path / f"{number}.zarr"
        chunk = (6, 4)
        grid = {"chunks": chunk} if driver == "zarr" else {"chunk_grid": {
            "name": "regular", "configuration": {"chunk_shape": chunk}}}
        store = tensorstore.open(
            {"driver": driver, "kvstore": {"driver": "file", "path": str(path) + "/"},
             "metadata": {"shape": values.shape, **grid, **metadata}},
            create=True, dtype=tensorstore.dtype(dtype), shape=values.shape).result()
        store.write(values).result()
        expected = {path.stem: np.asarray(store.read().result())}
        differences.judge(f"{dtype} {form}", difference(path, expected))
    differences.report("stores of tensorstore")


def test_numbers_that_json_has_no_word_for(tmp_path):
    for version in (2, 3):
        path = tmp_path / f"{version}.zarr"
        group = zarr.open_group(path, mode="w", zarr_format=version)
        array = group.create_array("x", shape=(3,), dtype="f4", fill_value=np.nan, compressors=None,
                                   chunks=(3,))
        array.attrs.update({"missing": float("nan"), "range": [float("-inf"), 2.0, float("inf")],
                            "text": "NaN, \"Infinity\": -Infinity", "_FillValue": float("nan")})
        zarr.consolidate_metadata(path, zarr_format=version)
        words = "".join(file.read_text() for file in path.rglob("*") if file.name.startswith(
            (".zattrs", ".zmetadata", "zarr.json")))
        assert "NaN," in words, "zarr-python no longer writes the bare word"
        with library.open(path) as file:
            attributes = file["x"].attrs
            assert np.isnan(attributes["missing"]) and np.isnan(attributes["_FillValue"])
            assert list(attributes["range"]) == [-np.inf, 2, np.inf]
            assert attributes["text"] == "NaN, \"Infinity\": -Infinity"
            assert np.isnan(file["x"][...]).all()
        assert "DAMAGED" not in run("verify", path).stdout
        sluice("ls", path)


@pytest.mark.parametrize("version", [2, 3])
def test_a_group_without_consolidated_metadata(tmp_path, version):
    bare = tmp_path / "bare.zarr"
    group = zarr.open_group(bare, mode="w", zarr_format=version)
    group.attrs["title"] = "bare"
    values = {}
    for number, name in enumerate(("x", "g/y", "g/inner/z")):
        values[name] = np.arange(12.0).reshape(3, 4) + number
        array = group.create_array(name, data=values[name], chunks=(2, 3), compressors=None)
        array.attrs["number"] = number
    group["g"].attrs["of"] = "a group"
    group.create_group("empty")
    (bare / "g" / "notes").mkdir()
    (bare / "g" / "notes" / "file.txt").write_text("of no node")
    assert difference(bare, values) == ""
    with library.open(bare) as file:
        assert file.attrs["title"] == "bare" and file.attrs_of("g")["of"] == "a group"
        assert [file[name].attrs["number"] for name in values] == [0, 1, 2]
    back = tmp_path / "back.h5"
    done = run("convert", bare, back)
    assert done.returncode == 1 and "left out: empty (an empty group)" in done.stderr, done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert difference(back, values) == ""
    (bare / "g" / "loop").symlink_to(bare / "g", target_is_directory=True)
    done = run("ls", bare)
    assert done.returncode == 2 and "Too many levels" in done.stderr, done.stderr
    assert len(done.stderr.splitlines()) == 1


def add_steps(path, mode, steps):
    with library.open(path, mode, log="off") as out:
        if mode == "w":
            out.define("g/v", "f8", (4, 6), steps=True)
            out.attrs["title"] = "of Sluice"
        for step in steps:
            with out.step(time=float(step)):
                out.put("g/v", np.full((4, 6), float(step)))


def add_theirs(root, nan=math.nan):
    theirs = root.create_array("theirs", data=np.arange(24, dtype=">i4").reshape(4, 6),
                               chunks=(3, 4), compressors=zarr.codecs.GzipCodec(),
                               chunk_key_encoding={"name": "default", "separator": "/"})
    theirs.attrs.update({"of": {"an": "object"}, "none": None, "limit": nan, "n": 2**64 - 1})
    root.create_array("texts", data=np.array(["a", "bc"]))
    root.create_group("empty/inner")
    root["g"].attrs.update({"mixed": [1, "a", None], "calibration": [1, 2.5]})
    root.attrs["history"] = [{"by": "another"}, {"at": nan}]


def nodes_of(root):
    """Everything that zarr-python says of the nodes that Sluice did not make, and attributes."""
    found = {name: root[name].metadata.to_dict() for name in ("theirs", "texts", "empty/inner")}
    for document in found.values():
        document.pop("consolidated_metadata", None)
    attributes = {name: dict(root[name].attrs) for name in ("g", "theirs", "empty")}
    mine = {name: value for name, value in root.attrs.items() if name != "sluice"}
    return repr((sorted(found.items()), attributes, mine))


class Store:
    """A store of Sluice to which zarr-python adds something."""

    def __init__(self, path, consolidated):
        self.path, self.consolidated = path, consolidated

    def change(self, what):
        if self.path.suffix == ".zarr":
            what(zarr.open_group(self.path, mode="r+", use_consolidated=False))
            if self.consolidated:
                zarr.consolidate_metadata(self.path)
            return
        session = self.repository().writable_session("main")
        what(zarr.open_group(session.store, mode="r+"), 0.5)  # Icechunk refuses NaN
        session.commit("theirs")

    def repository(self):
        return icechunk.Repository.open(icechunk.local_filesystem_storage(str(self.path)))

    def look(self):
        if self.path.suffix == ".zarr":
            return zarr.open_group(self.path, mode="r")
        return zarr.open_group(self.repository().readonly_session("main").store, mode="r")


@pytest.mark.parametrize("ending", ["zarr", "icechunk"])
def test_a_step_leaves_what_others_added_as_it_was(tmp_path, ending):
    store = Store(tmp_path / f"run.{ending}", True)
    add_steps(store.path, "w", [0])
    store.change(add_theirs)
    before = nodes_of(store.look())
    for step in (1, 2):
        add_steps(store.path, "a", [step])
        root = store.look()
        assert nodes_of(root) == before
        np.testing.assert_array_equal(root["theirs"][...], np.arange(24).reshape(4, 6))
        assert list(root["texts"][...]) == ["a", "bc"]
        np.testing.assert_array_equal(root["g/v"][step], np.full((4, 6), float(step)))
        np.testing.assert_array_equal(root["time"][...], np.arange(step + 1.0))
    assert "DAMAGED" not in run("verify", store.path).stdout
    with library.open(store.path, "a", log="off") as out:
        out.attrs_of("theirs")["seen"] = 7
        with out.step(time=3.0):
            out.put("g/v", np.full((4, 6), 3.0))
    root = store.look()
    assert root["theirs"].attrs["seen"] == 7 and root["theirs"].attrs["of"] == {"an": "object"}
    np.testing.assert_array_equal(root["theirs"][...], np.arange(24).reshape(4, 6))


@pytest.mark.parametrize("ending", ["zarr", "icechunk"])
@pytest.mark.parametrize("name", ["theirs", "texts", "texts/below", "empty"])
def test_arrays_of_others_are_not_written_to(tmp_path, ending, name):
    store = Store(tmp_path / f"run.{ending}", True)
    add_steps(store.path, "w", [0])
    store.change(add_theirs)
    before = nodes_of(store.look())
    with pytest.raises(library.Error, match="another program made"):
        with library.open(store.path, "a", log="off") as out:
            with out.step():
                out.put("g/v", np.ones((4, 6)))
                out.put(name, np.zeros((4, 6), dtype="i4"))
    assert nodes_of(store.look()) == before


def test_documents_of_others_are_not_recovered(tmp_path):
    """The root's copy of them may be older than they are."""
    store = Store(tmp_path / "run.zarr", True)
    add_steps(store.path, "w", [0])
    store.change(add_theirs)
    store.consolidated = False
    store.change(lambda root, *_: root["theirs"].resize((8, 6)))
    add_steps(store.path, "a", [1])
    sluice("recover", store.path)
    assert zarr.open_array(store.path / "theirs", mode="r").shape == (8, 6)


def test_attributes_without_a_counterpart_are_listed(tmp_path):
    path = tmp_path / "theirs.zarr"
    root = zarr.open_group(path, mode="w")
    array = root.create_array("g/x", data=np.arange(3.0))
    array.attrs.update({"object": {"a": 1}, "objects": [{"a": 1}], "mixed": [1, "a"], "null": None,
                        "empty": [], "large": 2**63, "larges": [1, 2**64 - 1], "n": 2**63 - 1,
                        "inexact": [2**60 + 1, 0.5], "exact": [2**60, 0.5]})
    root.attrs["root"] = {}
    kinds = {"the file: attribute root": "an object of JSON",
             "g/x: attribute object": "an object of JSON", "g/x: attribute null": "null",
             "g/x: attribute objects": "a list of objects, of lists, or of several types",
             "g/x: attribute mixed": "a list of objects, of lists, or of several types",
             "g/x: attribute inexact": "a list of objects, of lists, or of several types",
             "g/x: attribute empty": "an empty list",
             "g/x: attribute large": "numbers above 2^63 - 1",
             "g/x: attribute larges": "numbers above 2^63 - 1"}
    told = json.loads(sluice("ls", path, "--json"))
    assert {entry["name"]: entry["type"] for entry in told["unread_attributes"]} == kinds
    with library.open(path) as file:
        found = dict(file["g/x"].attrs.items())
        assert found.pop("exact").tolist() == [2**60, 0.5] and found == {"n": 2**63 - 1}
    done = run("convert", path, tmp_path / "copy.h5")
    assert done.returncode == 1
    assert all(f"left out: {name} ({kind})" in done.stderr for name, kind in kinds.items())


def test_attributes_of_sluice_that_another_program_changed(tmp_path):
    path = tmp_path / "run.zarr"
    changed = {"i4": 0.5, "f4": "text", "double": [1, 2], "f4s": [0.1, "a"], "i4s": [1, 2**40],
               "i8": True, "wide": 2**40, "texts": "one", "fine": 3, "text": 7, "f4exact": 2.5}
    with library.open(path, "w", log="off") as out:
        out.put("x", np.arange(3.0), shape=(3,))
        out.attrs.update({"i4": np.int32(1), "f4": np.float32(1.5), "double": 1.0,
                          "f4s": np.array([1, 2], "f4"), "i4s": np.array([1, 2], "i4"), "i8": 3,
                          "wide": np.int32(4), "texts": ["a", "b"], "fine": np.int32(1),
                          "text": "seven", "f4exact": np.float32(1)})
    zarr.open_group(path, mode="r+", use_consolidated=False).attrs.update(changed)
    zarr.consolidate_metadata(path)
    with library.open(path) as file:
        found = {name: value for name, value in file.attrs.items()}
    changed.pop("f4s")  # of numbers and text: nothing that Sluice has
    assert {name: getattr(value, "tolist", lambda v=value: v)() for name, value in found.items()
            } == changed
    assert "the file: attribute f4s" in sluice("ls", path)
    assert run("convert", path, tmp_path / "copy.h5").returncode == 1  # f4s is left out
    with h5py.File(tmp_path / "copy.h5") as file:
        assert (file.attrs["fine"].dtype, file.attrs["f4exact"].dtype) == (np.int32, np.float32)


@pytest.mark.parametrize("version", [2, 3])
def test_a_fill_value_of_uint64(tmp_path, version):
    path, fill = tmp_path / "u.zarr", 2**64 - 1
    array = zarr.create_array(path, shape=(4,), chunks=(2,), dtype="u8", fill_value=fill,
                              zarr_format=version)
    array[0] = 5
    if version == 3:
        array.attrs["_FillValue"] = fill
    assert difference(path, {"u": np.array([5, fill, fill, fill], "u8")}) == ""
    copy = tmp_path / "copy.nc"
    assert "left out" not in sluice("convert", path, copy, "--compress", "none")
    with h5py.File(copy) as file:
        assert file["u"].attrs["_FillValue"] == np.uint64(fill)
        assert list(file["u"]) == [5, fill, fill, fill]


def test_absent_chunks_of_uint64_have_the_fill_value_of_the_array(tmp_path):
    """The attribute says which elements are missing; xarray writes both for themselves."""
    path, missing = tmp_path / "u.zarr", 2**64 - 1
    array = zarr.create_array(path, shape=(6,), chunks=(2,), dtype="u8", fill_value=0)
    array[:] = np.array([0, 0, 5, missing, 0, 0], "u8")
    array.attrs["_FillValue"] = missing
    assert [file.name for file in (path / "c").iterdir()] == ["1"]
    assert difference(path, {"u": array[...]}) == ""
    told = json.loads(sluice("ls", path, "--json"))["unread_attributes"]
    assert told == [{"name": "u: attribute _FillValue", "type": "numbers above 2^63 - 1"}]
    done = run("convert", path, tmp_path / "copy.h5", "--compress", "none")
    assert (done.returncode, "left out: u: attribute _FillValue" in done.stderr) == (1, True)
    with h5py.File(tmp_path / "copy.h5") as file:
        assert file["u"][...].tolist() == array[...].tolist()


def test_version_2_is_only_read(tmp_path):
    array = tmp_path / "a.zarr"
    zarr.create_array(array, data=np.arange(3), zarr_format=2, compressors=None)
    before = sorted(file.name for file in array.iterdir())
    with pytest.raises(library.Error, match="only be read"):
        library.open(array, "a")
    assert sorted(file.name for file in array.iterdir()) == before
    assert [v["name"] for v in json.loads(sluice("ls", array, "--json"))["variables"]] == ["a"]


def test_files_of_numpy(tmp_path):
    differences = Differences("npy")
    for number, dtype in enumerate(TYPES + ["S5", "<U3", "float128", "M8[s]"]):
        for order in "CF":
            values = (values_of((7, 5), dtype) if np.dtype(dtype).kind not in "SUM" and
                      dtype != "float128" else np.arange(35).reshape(7, 5).astype(dtype))
            path = tmp_path / f"{number}{order}.npy"
            np.save(path, np.asarray(values, order=order))
            try:
                with library.open(path) as file:
                    found = file[path.stem][...]
                if values.dtype.kind == "S":
                    found = np.char.encode(found).astype(values.dtype)
                told = "" if np.array_equal(found, values) and (
                    found.dtype == values.dtype.newbyteorder("=")) else f"is {found.dtype}"
            except library.Error as error:
                told = str(error)
            differences.judge(f"{np.dtype(dtype).str} {order}", told)
    differences.report("numpy's files")


@pytest.mark.parametrize("ending", [".h5", ".zarr", ".npy", ".rec"])
def test_float16_is_a_type(tmp_path, ending):
    import h5py

    special = [0, -0.0, 1, 65504, 2 ** -24, -2 ** -14, np.inf, -np.inf, np.nan, 0.1, 1 / 3]
    values = np.array(special * 2, "f2").reshape(2, -1)
    path = tmp_path / ("x" + ending)
    with library.open(path, "w") as out:
        out.put("x", values)
    with library.open(path) as file:
        found = file["x" if ending != ".npy" else "x"][...]
        assert found.dtype == np.float16 and found.tobytes() == values.tobytes()
    if ending == ".h5":
        theirs = h5py.File(path)["x"]
        assert theirs.dtype == np.float16 and theirs[...].tobytes() == values.tobytes()
        with h5py.File(tmp_path / "theirs.h5", "w") as file:
            file.create_dataset("x", data=values.astype(">f2"), chunks=(1, 4), compression=5)
        assert difference(tmp_path / "theirs.h5", {"x": values}) == ""
    elif ending == ".zarr":
        theirs = zarr.open_group(path, mode="r")["x"]
        assert theirs.dtype == np.float16 and theirs[...].tobytes() == values.tobytes()
    elif ending == ".npy":
        assert np.load(path).tobytes() == values.tobytes()
    said = sluice("dump", path, "x")
    assert "0.3333" in said and "65504" in said and "0.1" in said
    with pytest.raises(library.Error, match="netcdf4 holds no float16"), library.open(
            tmp_path / "x.nc", "w") as out:
        out.put("x", values)


def test_float16_is_converted(tmp_path):
    exact = np.array([0.5, -3, 65504, 1e-7, 2049], "f8")
    path = tmp_path / "x.h5"
    with library.open(path, "w") as out:
        out.define("x", "float16", (5,))
        out.define("filled", "float16", (3,), partial=True, fill=-1.5)
        out.put("x", exact)
    with library.open(path) as file:
        assert file["x"][...].tobytes() == exact.astype("f2").tobytes()
        assert file["filled"][...].tolist() == [-1.5] * 3
    with pytest.raises(library.Error, match="does not fit float16"), library.open(
            tmp_path / "y.h5", "w") as out:
        out.define("x", "float16", (1,))
        out.put("x", np.array([65520.0]))
