"""Files that releases have written: read by this library, every value is as it is described; what
this library appends leaves them as they were; other programs read the same values.

Each folder beside this file is one release's: description.json, and the files (cases.py, write.py).
"""

import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path

import h5py
import netCDF4
import numpy as np
import pytest

import sluice

HERE = Path(__file__).resolve().parent
FORMATS = {"hdf5", "netcdf4", "npy", "zarr", "dcd", "namdbin", "records"}


def releases():
    return sorted(path.parent for path in HERE.glob("*/description.json"))


def described(release):
    return json.loads((release / "description.json").read_text(encoding="utf-8"))


def each_of(files):
    return pytest.mark.parametrize("release, name", files, ids=[f"{r.name}-{n}" for r, n in files])


FILES = [(release, name) for release in releases() for name in described(release)["files"]]
each_file = each_of(FILES)
each_release = pytest.mark.parametrize("release", releases(), ids=lambda release: release.name)


def wanted(variable, step):
    """One step's array, of what a description has."""
    values = variable["values"][step if variable["steps"] else 0]
    if variable["dtype"] == "text":
        return np.array(values)
    dtype = np.dtype(variable["dtype"])
    if dtype.kind == "c":
        pairs = np.array(values, "float64").reshape(*variable["shape"], 2)
        return (pairs[..., 0] + 1j * pairs[..., 1]).astype(dtype)
    if dtype.kind == "f":
        values = np.array(values, dtype="U32" if _has_text(values) else None).astype("float64")
    return np.array(values, dtype).reshape(variable["shape"])


def _has_text(values):
    return isinstance(values, str) or isinstance(values, list) and any(map(_has_text, values))


def check_values(stored, variable):
    for step in range(len(variable["values"])):
        there = stored.get(step) if variable["steps"] else stored.get()
        np.testing.assert_array_equal(there, wanted(variable, step), f"{stored.name}, step {step}")


def test_there_is_a_release_with_every_format():
    for release in releases():
        said = described(release)["files"].values()
        assert {one["format"] for one in said} == FORMATS, release.name
    assert "0.1.0" in [release.name for release in releases()]


@each_release
def test_no_byte_was_changed_since(release):
    sums = described(release)["sha256"]
    there = {str(path.relative_to(release)): hashlib.sha256(path.read_bytes()).hexdigest()
             for path in release.rglob("*") if path.is_file() and path.name != "description.json"}
    assert there == sums
    assert sum(path.stat().st_size for path in release.rglob("*") if path.is_file()) < 1_000_000


@each_file
def test_every_value_is_as_described(release, name):
    said = described(release)["files"][name]
    with sluice.open(release / name) as f:
        steps = max([len(v["values"]) for v in said["variables"].values() if v["steps"]],
                    default=0)
        assert f.steps == steps
        if said["times"]:
            assert f.times.tolist() == said["times"]
        assert set(f) - {"time"} == set(said["variables"])
        for key, value in said["attributes"].items():
            np.testing.assert_array_equal(f.attrs[key], value)
        for key, variable in said["variables"].items():
            stored = f[key]
            assert stored.has_steps == variable["steps"], key
            assert list(stored.step_shape) == variable["shape"], key
            if variable["dtype"] == "text":
                assert stored.dtype.kind == "U", key
            else:
                assert stored.dtype == np.dtype(variable["dtype"]), key
            if variable["dimensions"]:
                assert list(stored.dimensions) == variable["dimensions"], key
            for attribute, word in (("units", "unit"), ("long_name", "description")):
                if variable[word]:
                    assert stored.attrs[attribute] == variable[word], key
            check_values(stored, variable)


@each_release
def test_records_come_back_value_by_value(release):
    for name, groups in described(release)["records"].items():
        with sluice.records(release / name) as there:
            assert len(there) == len(groups)
            for number, parts in enumerate(groups):
                read = there.parts(number)
                assert len(read) == len(parts)
                for arrays, runs in zip(read, parts):
                    flat = [value for array in arrays for row in array.tolist()
                            for entry in row for value in np.ravel(entry).tolist()]
                    assert flat == [value for _, run in runs for value in run]


@each_file
def test_the_command_verifies_it(release, name):
    said = described(release)["files"][name]
    done = subprocess.run([os.environ["SLUICE_COMMAND"], "verify", release / name],
                          capture_output=True, text=True, check=False)
    assert done.returncode == (0 if said["checked"] else 2), done.stdout + done.stderr


def stepped_in(release, name):
    variables = described(release)["files"][name]["variables"]
    return {key: variable for key, variable in variables.items() if variable["steps"]}


@each_of([(release, name) for release, name in FILES if stepped_in(release, name)])
def test_a_step_appended_today_leaves_the_old_ones(release, name, tmp_path):
    said = described(release)["files"][name]
    stepped = stepped_in(release, name)
    shutil.copytree(release, tmp_path / "copy")
    path = tmp_path / "copy" / name
    with sluice.open(path, "a") as f:
        with f.step(**({"time": 9.0} if said["times"] else {})):
            for key, variable in stepped.items():
                f.put(key, wanted(variable, 0))
    with sluice.open(path) as f:
        for key, variable in said["variables"].items():
            check_values(f[key], variable)
        for key, variable in stepped.items():
            np.testing.assert_array_equal(f[key].get(-1), wanted(variable, 0), key)


@each_release
def test_other_programs_read_the_same(release):
    files = described(release)["files"]
    with h5py.File(release / "fields.h5") as f:
        for key in ("temperature", "of_int64", "deep/inside"):
            for step in range(3):
                said = wanted(files["fields.h5"]["variables"][key], step)
                np.testing.assert_array_equal(f[key][step], said, key)
    with h5py.File(release / "deflate.h5") as f:
        said = files["deflate.h5"]["variables"]["noise"]
        np.testing.assert_array_equal(f["noise"][1], wanted(said, 1))
        assert f["noise"].compression == "gzip"
    with h5py.File(release / "parts.h5") as f:
        said = files["parts.h5"]["variables"]["temperature"]
        np.testing.assert_array_equal(f["temperature"][2], wanted(said, 2))
    with netCDF4.Dataset(release / "fields.nc") as f:
        f.set_auto_mask(False)
        said = files["fields.nc"]["variables"]["temperature"]
        np.testing.assert_array_equal(f["temperature"][1], wanted(said, 1))
    said = files["array.npy"]["variables"]["array"]
    np.testing.assert_array_equal(np.load(release / "array.npy")[2], wanted(said, 2))
