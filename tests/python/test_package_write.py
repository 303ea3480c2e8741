"""What the package writes is what h5py reads."""

import json
import os
import subprocess
import sys

import h5py
import numpy as np
import pytest
import zarr

import sluice

QUICK = {"durability": "none"}
DTYPES = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32",
          "float64", "complex64", "complex128", "bool"]


def sample(dtype, shape):
    numbers = np.arange(int(np.prod(shape, dtype=int))).reshape(shape)
    if dtype == "bool":
        return numbers % 3 == 0
    if dtype.startswith("complex"):
        return (numbers + 1j * (numbers - 2)).astype(dtype)
    return numbers.astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_type_in_steps_and_fixed(tmp_path, dtype):
    path = tmp_path / "types.h5"
    data = sample(dtype, (4, 3))
    with sluice.open(path, "w", **QUICK) as out:
        out.put("fixed", data)
        for step in range(3):
            with out.step(time=0.5 * step):
                out.put("x", np.roll(data, step))
    with h5py.File(path) as f:
        assert f["x"].dtype == data.dtype and f["x"].shape == (3, 4, 3)
        for step in range(3):
            np.testing.assert_array_equal(f["x"][step], np.roll(data, step))
        np.testing.assert_array_equal(f["fixed"][...], data)
        np.testing.assert_array_equal(f["time"][...], [0, 0.5, 1])


@pytest.mark.parametrize("make", [
    lambda a: a, lambda a: a.T, lambda a: a[::2, ::-1], lambda a: np.asfortranarray(a),
    lambda a: a.astype(">f8"), lambda a: a[1:3], lambda a: a[:, 1], lambda a: a.tolist(),
    lambda a: a.astype("f2"), lambda a: a[0, 0], lambda a: a[:0]])
def test_arrays_of_any_layout(tmp_path, make):
    path = tmp_path / "layout.h5"
    data = make(np.arange(20.0).reshape(5, 4))
    with sluice.open(path, "w", **QUICK) as out:
        with out.step():
            out.put("x", data)
    with h5py.File(path) as f:
        np.testing.assert_array_equal(f["x"][0], np.asarray(data))


def test_parts_of_a_global_shape_in_any_number(tmp_path):
    path = tmp_path / "parts.h5"
    whole = np.arange(60.0).reshape(10, 6)
    with sluice.open(path, "w", **QUICK) as out:
        with out.step():
            out.put("x", whole[:4], shape=(10, 6))
            out.put("x", whole[4:, :2], start=(4, 0))
            for row in range(4, 10):
                for column in range(2, 6):
                    out.put("x", whole[row:row + 1, column:column + 1], start=(row, column))
    with h5py.File(path) as f:
        np.testing.assert_array_equal(f["x"][0], whole)


def test_rows_partial_and_varying(tmp_path):
    path = tmp_path / "rows.h5"
    rows = np.arange(30.0).reshape(10, 3)
    order = np.random.default_rng(1).permutation(10)
    with sluice.open(path, "w", **QUICK) as out:
        out.define("some", np.int32, (10,), steps=True, partial=True, fill=-7)
        out.define("few", float, (10, 3), steps=True, varying=True)
        for step in range(3):
            with out.step():
                out.put_rows("x", order, rows[order], shape=(10, 3))
                out.put("some", np.arange(step, dtype=np.int32))
                out.resize("few", 2 * step)
                out.put("few", rows[:2 * step])
                out.put_joined("joined", rows[:step], shape=(10, 3))
                out.put_joined("joined", rows[5:5 + step])
    with h5py.File(path) as f:
        np.testing.assert_array_equal(f["x"][1], rows)
        np.testing.assert_array_equal(f["some"][2], [0, 1] + [-7] * 8)
    with sluice.open(path) as f:
        assert [f["few"].shape_of(step) for step in range(3)] == [(0, 3), (2, 3), (4, 3)]
        np.testing.assert_array_equal(f["few"][2], rows[:4])
        assert [f["joined"].shape_of(step) for step in range(3)] == [(0, 3), (2, 3), (4, 3)]
        np.testing.assert_array_equal(f["joined"][2], rows[[0, 1, 5, 6]])
        np.testing.assert_array_equal(f["few"][-2, 1:], rows[1:2])
        assert f["few"][:, :4].shape == (3, 4, 3)
        np.testing.assert_array_equal(f["few"][1:, :4][1], rows[:4])


def test_definitions_and_attributes(tmp_path):
    path = tmp_path / "attributes.h5"
    with sluice.open(path, "w", **QUICK) as out:
        spins = out.define("magnet/spins", "f4", (8, 3), steps=True, unit="1",
                           description="directions", chunk=(4, 3), dimensions=("atom", "axis"))
        assert spins.name == "magnet/spins" and spins.has_steps and spins.step_shape == (8, 3)
        spins.attrs["damping"] = 0.1
        out.attrs["code"] = "magnet"
        out.attrs["seed"] = 42
        out.attrs["big"] = 2**40
        out.attrs["yes"] = True
        out.attrs["elements"] = ["Fe", "Gd"]
        out.attrs["masses"] = np.array([1.5, 2.5], dtype="f4")
        out.attrs["counts"] = [1, 2, 3]
        with out.step():
            out.put(spins, np.zeros((8, 3), "f4"))
    with h5py.File(path) as f:
        assert f["magnet/spins"].attrs["units"] in ("1", b"1")
        assert f["magnet/spins"].attrs["damping"] == 0.1
        assert f["magnet/spins"].chunks == (1, 4, 3)
        assert f.attrs["seed"] == 42 and f.attrs["big"] == 2**40 and bool(f.attrs["yes"]) is True
    with sluice.open(path) as f:
        attributes = f.attrs
        assert attributes["code"] == "magnet" and attributes["seed"] == 42
        assert attributes["yes"] is True and attributes["elements"] == ["Fe", "Gd"]
        np.testing.assert_array_equal(attributes["masses"], np.array([1.5, 2.5], "f4"))
        np.testing.assert_array_equal(attributes["counts"], [1, 2, 3])
        assert set(attributes) >= {"code", "seed", "big", "yes", "elements", "masses", "counts"}
        assert "nothing" not in attributes and attributes.get("nothing", 1) == 1
        assert f["magnet/spins"].attrs["units"] == "1"
        assert f["magnet/spins"].attrs["long_name"] == "directions"


def test_strings(tmp_path):
    path = tmp_path / "strings.h5"
    names = np.array(["Fe", "Gadolinium", "Ö"])
    with sluice.open(path, "w", **QUICK) as out:
        out.put("names", names)
        out.put("bytes", np.array([b"ab", b"c"]))
    with sluice.open(path) as f:
        assert f["names"][...].tolist() == names.tolist()
        assert f["names"][2] == "Ö" and isinstance(f["names"][2], str)
        assert f["names"].dtype == f["names"][...].dtype and f["names"].dtype.kind == "U"
        assert f["names"].get_rows([1, 0]).tolist() == ["Gadolinium", "Fe"]
        assert f["bytes"][...].tolist() == ["ab", "c"]
        assert f["bytes"].get(dtype="S2").tolist() == [b"ab", b"c"]
        deferred = f["names"].get(deferred=True)
        mine = f["names"].get(out=np.empty(3, "U20"), deferred=True)
        f.perform_gets()
        assert deferred.tolist() == mine.tolist() == names.tolist()
        with pytest.raises(sluice.Error) as caught:
            f["names"].get(dtype="U5")
        assert caught.value.code == sluice.Code.OVERFLOW


def test_bytes_that_are_no_text_come_back_the_same(tmp_path):
    path, copy = tmp_path / "bytes.h5", tmp_path / "copy.h5"
    raw = np.array([b"\xff\xfe", b"ok", b""])
    with sluice.open(path, "w", **QUICK) as out:
        out.put("raw", raw)
    with sluice.open(path) as f, sluice.open(copy, "w", **QUICK) as out:
        out.put("raw", f["raw"][...])
    with sluice.open(copy) as f:
        assert f["raw"].get(dtype="S2").tolist() == raw.tolist()


def test_text_of_steps_with_their_own_rows(tmp_path):
    path = tmp_path / "varying.h5"
    with sluice.open(path, "w", **QUICK) as out:
        out.define("names", "S3", (2,), steps=True, varying=True)
        for names in (["Fe", "Ni"], ["Co"]):
            with out.step():
                out.resize("names", len(names))
                out.put("names", np.array(names, "S3"))
    with sluice.open(path) as f:
        assert f["names"][...].tolist() == [["Fe", "Ni"], ["Co", ""]]


def test_append_create_and_replace(tmp_path):
    path = tmp_path / "modes.h5"
    for mode, steps in (("x", 1), ("a", 2), ("a", 3), ("w", 1)):
        with sluice.open(path, mode, **QUICK) as out:
            with out.step():
                out.put("x", np.arange(3))
            assert out.steps == steps
    with pytest.raises(sluice.Error) as error:
        sluice.open(path, "x")
    assert error.value.code == sluice.Code.EXISTS


def test_tickets(tmp_path):
    with sluice.open(tmp_path / "tickets.h5", "w", durability="step") as out:
        with out.step() as step:
            out.put("x", np.arange(3))
        assert step.ticket == (0, True, False)
        out.put("fixed", np.arange(2))
        assert out.flush().durable
        out.begin_step(2.0)
        out.put("x", np.arange(3))
        assert out.end_step().step == 1


def test_arrays_may_change_after_the_step_and_temporaries_live_until_then(tmp_path):
    path = tmp_path / "lifetime.h5"
    data = np.zeros(100000)
    with sluice.open(path, "w", **QUICK) as out:
        for step in range(4):
            data[:] = step
            with out.step():
                out.put("x", data)
                out.put("y", data[::2] + 1)  # nobody else holds this one
    with h5py.File(path) as f:
        for step in range(4):
            assert (f["x"][step] == step).all() and (f["y"][step] == step + 1).all()


def test_messages_come_to_a_handler_and_costs_into_a_log(tmp_path):
    heard = []
    sluice.set_message_handler(heard.append)
    try:
        with sluice.open(tmp_path / "told.h5", "w", strategy="forward", log="steps") as out:
            for step in range(3):
                with out.step(time=0.5 * step):
                    out.put("x", np.arange(1000.0))
        with sluice.open(tmp_path / "silent.h5", "w", strategy="forward", log="off") as out:
            out.put("x", np.arange(10))
    finally:
        sluice.set_message_handler(None)
    assert len(heard) == 1
    assert heard[0].startswith(f"sluice: {tmp_path / 'told.h5'}: 3 steps, 23.4 KiB: visible ")
    log = tmp_path / "told.h5.log.jsonl"
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["step"] for line in lines] == [0, 1, 2]
    assert [line["time"] for line in lines] == [0.0, 0.5, 1.0]
    assert [line["bytes"] for line in lines] == [8000] * 3


@pytest.mark.parametrize("name, options", [
    ("a.h5", {}), ("a.h5", {"split_steps": 1}), ("a.nc", {"keep_last": 2}),
    ("a.h5", {"strategy": "file-per-process"}), ("a.zarr", {}), ("a.npy", {})])
def test_a_path_is_of_the_folder_in_which_the_file_was_opened(tmp_path, monkeypatch, name, options):
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path)
    with sluice.open(name, "w", **QUICK, **options) as out:
        for step in range(3):
            monkeypatch.chdir(tmp_path if step == 0 else tmp_path / "sub")
            with out.step():
                out.put("x", np.full(4, float(step)))
    assert os.listdir(tmp_path / "sub") == []
    monkeypatch.chdir(tmp_path)
    with sluice.open(name) as file:
        monkeypatch.chdir(tmp_path / "sub")
        assert file.steps == options.get("keep_last", 3)
        np.testing.assert_array_equal(file["x"][file.steps - 1], np.full(4, 2.0))


def test_variables_of_a_group_are_found_by_zarr_in_any_order(tmp_path):
    with sluice.open(tmp_path / "order.zarr", "w", **QUICK) as out:
        for number, variable in enumerate(["a/x", "b/y", "c", "a/deep/u", "b/deep/v", "a/z"]):
            out.put(variable, np.full(3, number))
    group = zarr.open_group(tmp_path / "order.zarr", mode="r")
    for number, variable in enumerate(["a/x", "b/y", "c", "a/deep/u", "b/deep/v", "a/z"]):
        np.testing.assert_array_equal(group[variable][...], np.full(3, number))
    assert {"a/x", "a/z", "a/deep/u"} < {name for name, _ in group.members(max_depth=None)}


@pytest.mark.parametrize("ending", ["h5", "zarr"])
def test_a_variable_called_time_is_not_that_of_the_steps(tmp_path, ending):
    path = tmp_path / f"time.{ending}"
    times = np.arange(10000.0)
    with sluice.open(path, "w", **QUICK) as out:
        out.define("time", "f8", times.shape, compress="deflate:1")
        out.put("time", times)
    with sluice.open(path, "a", **QUICK) as out, out.step(time=3.5):
        out.put("v", np.arange(4.0))
    with sluice.open(path) as data:
        assert np.array_equal(data["time"][...], times)
        assert data.steps == 1 and data.times == [3.5]


def test_the_library_outlives_the_interpreter(tmp_path):
    """MPI calls it in MPI_Finalize, which mpi4py makes when Python has closed its libraries."""
    pytest.importorskip("mpi4py", reason="mpi4py is not installed")
    program = """
import sys
import numpy
from mpi4py import MPI
import sluice
with sluice.open(sys.argv[1], "w", comm=MPI.COMM_WORLD) as out:
    out.define("a", "f8", (10,), steps=True)
    with out.step():
        out.put("a", numpy.arange(10.0), start=(0,))
import asyncio  # after which Python ends in another order
"""
    for name in ("a.npy", "a.h5"):
        done = subprocess.run([sys.executable, "-c", program, str(tmp_path / name)], check=False,
                              capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, (name, done.returncode, done.stderr)
