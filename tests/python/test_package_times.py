"""Whose `time` is: the times given to begin_step, or a variable of the file's own."""

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
UNIT = "days since 2000-01-01"
DAY = 86400.0


def run(*arguments):
    return subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, text=True,
                          timeout=60, check=False)


def command(*arguments):
    result = run(*arguments)
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout


def write(path, own, scale):
    """Three steps of `u`, begun at multiples of `scale`; `own`: defines and puts `time`."""
    with sluice.open(path, "w", **QUICK) as out:
        if own:
            out.define("time", "f8", (), steps=True, unit=UNIT)
        else:
            out.attrs_of("time")["units"] = UNIT
        out.define("u", "f8", (3,), steps=True, dimensions=["x"])
        for step in range(3):
            with out.step(time=scale * step):
                if own:
                    out.put("time", float(step))
                out.put("u", np.arange(3.0) + step * step)
    return path


@pytest.mark.parametrize("ending", ["nc", "h5", "zarr"])
def test_a_variable_time_is_the_coordinate_of_the_steps(tmp_path, ending):
    """The times of the steps never get its unit."""
    own = write(tmp_path / f"own.{ending}", True, DAY)
    with sluice.open(own) as f:
        assert f.times.tolist() == [0, DAY, 2 * DAY]
        data = f.to_xarray()
        assert data["time"].dims == ("step",) and list(data.coords) == ["time"]
        assert data["time"].attrs == {"units": UNIT}
        assert data["time"].values.tolist() == f["time"][:].tolist() == [0, 1, 2]
        days = xarray.decode_cf(data)["time"].values
        assert days[2] == np.datetime64("2000-01-03")
        assert data["u"].coords["time"].values[1] == 1
    if ending == "nc":
        with xarray.open_dataset(own) as theirs:
            assert (theirs["time"].values == days).all()
    assert "3 steps, step times 0 to 172800, 3 commits" in command("ls", own)
    assert json.loads(command("ls", own, "--json"))["times"] == [0, DAY, 2 * DAY]


@pytest.mark.parametrize("ending", ["nc", "h5", "zarr"])
def test_pictures_have_the_axis_of_a_variable_time(tmp_path, ending):
    own = write(tmp_path / f"own.{ending}", True, DAY)
    given = write(tmp_path / f"given.{ending}", False, 1)
    pictures = []
    for one in (own, given):
        assert "3 steps" in command("ls", one)
        for arguments in (["--series"], ["--step", "2"]):
            target = tmp_path / f"{one.name}{len(arguments)}.png"
            command("plot", one, "u", target, *arguments)
            pictures.append(target.read_bytes())
        page = tmp_path / f"{one.name}.html"
        command("report", one, page)
        assert f"3 steps, time 0 to 2 {UNIT}</p>" in page.read_text()
    assert pictures[:2] == pictures[2:]
    assert "3 steps, time 0 to 2 days" in command("ls", given)


@pytest.mark.parametrize("ending", ["h5", "zarr"])
@pytest.mark.parametrize("shape, dtype", [((4,), "f8"), ((3, 2), "f8"), ((3,), "i4")])
def test_another_variable_time_is_no_coordinate(tmp_path, ending, shape, dtype):
    """Neither does it vanish from the dataset, nor do the times of the steps get its unit."""
    path, copy = tmp_path / f"other.{ending}", tmp_path / f"copy.{ending}"
    values = np.arange(np.prod(shape), dtype=dtype).reshape(shape)
    with sluice.open(path, "w", **QUICK) as out:
        out.put("time", values)
        out.attrs_of("time")["units"] = "K"
        for step in range(3):
            with out.step(time=DAY * step):
                out.put("u", np.ones(5))
    command("convert", path, copy)
    for one in (path, copy):
        with sluice.open(one) as f:
            data = f.to_xarray()
            assert "step" not in data["time"].dims and "time" not in data["u"].coords
            np.testing.assert_array_equal(data["time"].values, values)
            assert data["time"].attrs == {"units": "K"}
        assert "3 steps, step times 0 to 172800, " in command("ls", one)


@pytest.mark.parametrize("ending", ["h5", "zarr"])
def test_a_fixed_time_as_long_as_the_steps_is_converted(tmp_path, ending):
    """It was taken for the times of the steps, and lost."""
    path = tmp_path / f"axis.{ending}"
    with sluice.open(path, "w", **QUICK) as out:
        out.put("time", np.array([0.0, 7.0, 14.0]))
        out.attrs_of("time")["units"] = UNIT
        for step in range(3):
            with out.step(time=DAY * step):
                out.put("u", np.ones(5))
    for to in ("h5", "zarr"):
        copy = tmp_path / f"copy.{to}"
        command("convert", path, copy)
        with sluice.open(copy) as f:
            assert f["time"][:].tolist() == [0, 7, 14] and f.times.tolist() == [0, DAY, 2 * DAY]
        assert "3 steps, step times 0 to 172800, " in command("ls", copy)
    assert command("diff", path, copy)


def test_one_step_alone_has_the_time_of_its_own(tmp_path):
    own = write(tmp_path / "own.h5", True, DAY)
    told = json.loads(run("convert", own, tmp_path / "one.nc", "--step", "1", "--json").stdout)
    assert "step 1 alone, without steps; its time was 86400.0" in told["changes"]
    assert told["left_out"] == []
    with netCDF4.Dataset(tmp_path / "one.nc") as data:
        assert data["time"].units == UNIT and data["time"][...] == 1


def test_chosen_steps_keep_their_own_times(tmp_path):
    """Also where `time` is a variable of the file."""
    for own in (True, False):
        source = write(tmp_path / f"{own}.h5", own, DAY)
        for to in ("nc", "zarr"):
            copy = tmp_path / f"{own}.{to}"
            command("convert", source, copy, "--steps", "::2", "--variables", "u")
            with sluice.open(copy) as f:
                assert f.times.tolist() == [0, 2 * DAY]
                if own:
                    assert f["time"][:].tolist() == [0, 2]
                assert f.attrs_of("time")["units"] == UNIT
                assert f["u"][1].tolist() == [4, 5, 6]


def test_chosen_iterations_of_openpmd_keep_their_numbers(tmp_path):
    path = tmp_path / "pic.h5"
    with sluice.open(path, "w", format="openpmd", **QUICK) as out:
        for number in (0, 50, 120, 1000):
            out.attrs_of("time")["iteration"] = number
            with out.step(time=number / 2):
                out.put("meshes/E/x", np.full(3, float(number)))
    through = tmp_path / "through.zarr"
    command("convert", path, through, "--steps", "1::2")
    for source, options in ((path, ("--steps", "1::2")), (through, ())):
        copy = tmp_path / f"{source.name}.h5"
        command("convert", source, copy, "--format", "openpmd", *options)
        with h5py.File(copy) as file:
            assert sorted(file["data"], key=int) == ["50", "1000"]
            for number in (50, 1000):
                assert file[f"data/{number}/meshes/E/x"][:].tolist() == 3 * [number]
                assert file[f"data/{number}"].attrs["time"] == number / 2
