"""What the documents of Zarr stores say: those of Sluice are JSON for every reader, and one that
Sluice does not understand concerns its array alone."""

import json

import numpy as np
import pytest
import tensorstore
import zarr

import sluice as library
from others import run


def test_documents_of_sluice_are_json(tmp_path):
    """Words that JSON has not would keep tensorstore and Icechunk from the whole array."""
    path = tmp_path / "own.zarr"
    with library.open(path, "w") as out:
        out.put("x", np.arange(3.0))
        out.attrs_of("x")["missing"] = float("nan")
        out.attrs_of("x")["range"] = [-np.inf, np.inf]
    for file in path.rglob("zarr.json"):
        json.loads(file.read_text(), parse_constant=pytest.fail)
    store = tensorstore.open({"driver": "zarr3", "kvstore": {"driver": "file",
                                                             "path": f"{path}/x/"}}).result()
    assert store.read().result().tolist() == [0, 1, 2]
    assert zarr.open_group(path, mode="r")["x"].attrs["missing"] == "NaN"
    with library.open(path) as file:
        assert np.isnan(file["x"].attrs["missing"])
        assert list(file["x"].attrs["range"]) == [-np.inf, np.inf]


def test_an_array_that_is_not_understood_is_one_of_many(tmp_path):
    path = tmp_path / "group.zarr"
    group = zarr.open_group(path, mode="w")
    values = np.arange(12.0).reshape(3, 4)
    group.create_array("a", data=values, chunks=(3, 2), compressors=None)
    group.create_array("deep", shape=(1,) * 9, chunks=(1,) * 9, dtype="f4")
    for name, key, value in (("named", "codecs", ["bytes"]), ("odd", "fill_value", "many")):
        group.create_array(name, data=np.arange(4, dtype="u1"), compressors=None)
        document = path / name / "zarr.json"
        document.write_text(json.dumps({**json.loads(document.read_text()), key: value}))
    for is_consolidated in (False, True):
        if is_consolidated:  # zarr-python does not consolidate these
            for name in ("named", "odd"):
                (path / name / "zarr.json").unlink()
            zarr.consolidate_metadata(path, zarr_format=3)
        told = json.loads(run("ls", path, "--json").stdout)
        readable = {"a"} if is_consolidated else {"a", "named"}
        assert {v["name"] for v in told["variables"]} == readable, told
        said = run("ls", path).stdout + run("ls", path).stderr
        assert "deep" in said and "too many dimensions" in said, said
        assert is_consolidated or ("odd" in said and "many" in said), said
        with library.open(path) as file:
            np.testing.assert_array_equal(file["a"][...], values)
            if not is_consolidated:
                assert file["named"][...].tolist() == [0, 1, 2, 3]
