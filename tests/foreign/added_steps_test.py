"""Steps that programs of netCDF and HDF5 add to files of Sluice's."""

import contextlib
import shutil

import h5py
import netCDF4
import numpy
import pytest
import xarray

import sluice

from compare import sluice as command

OURS = 3
NAMES = ("u", "v")


def write(path, **options):
    with sluice.open(path, "w") as out:
        for step in range(OURS):
            with out.step(time=float(step)):
                for name in NAMES:
                    out.put(name, numpy.full(4, step + 1.0), dimensions=["x"], **options)


def add_with_netcdf(path, names, count):
    with netCDF4.Dataset(path, "a") as file:
        for name in names:
            for step in range(OURS, OURS + count):
                file[name][step] = step + (0.5 if name == "time" else 1)


def add_with_h5py(path, names, count):
    with h5py.File(path, "r+") as file:
        for name in names:
            file[name].resize(OURS + count, axis=0)
            for step in range(OURS, OURS + count):
                file[name][step] = step + (0.5 if name == "time" else 1)


ADD = {".nc": add_with_netcdf, ".h5": add_with_h5py}
every_format = pytest.mark.parametrize("ending", [".nc", ".h5"])


def remove(path):
    with contextlib.suppress(FileNotFoundError):
        path.unlink()
    shutil.rmtree(path, ignore_errors=True)


def values(path, name):
    with sluice.open(path) as file:
        return numpy.array([file[name][step][0] for step in range(file.steps)])


def times(path):
    with sluice.open(path) as file:
        return list(file.times)


def append(path, after=None, time=9.0):
    options = {} if after is None else {"restart_after": after}
    with sluice.open(path, "a", **options) as out:
        with out.step(time=time):
            for name in NAMES:
                out.put(name, numpy.full(4, 10.0))


def expect_sound(path):
    done = command("verify", path)
    assert done.returncode == 0, done.stdout + done.stderr
    return " ".join(done.stdout.split())


def converted(path, target):
    remove(target)
    done = command("convert", path, target)
    assert done.returncode == 0, done.stdout + done.stderr
    return " ".join((done.stdout + done.stderr).split())


@every_format
@pytest.mark.parametrize("count", [1, 2, 70])  # 64 rows of the log are a chunk
@pytest.mark.parametrize("compress", ["none", "deflate:1"])
def test_appending_goes_on_behind_them(tmp_path, ending, count, compress):
    path = tmp_path / ("a" + ending)
    write(path, compress=compress)
    ADD[ending](path, (*NAMES, "time"), count)
    for _ in range(2):
        append(path)
    steps = OURS + count
    added = [step + 0.5 for step in range(OURS, steps)]
    assert times(path) == [0, 1, 2, *added, 9, 9]
    for name in NAMES:
        assert list(values(path, name)) == [*range(1, steps + 1), 10, 10]
    with h5py.File(path) as file:
        assert list(file["time"]) == [0, 1, 2, *added, 9, 9]
        assert list(file["u"][:, 1]) == [*range(1, steps + 1), 10, 10]
    said = expect_sound(path)
    assert f"u, step {OURS}" in said
    assert f"u, step {steps}" not in said
    assert command("recover", path).returncode == 0
    for target in (".h5", ".nc", ".zarr"):
        converted(path, tmp_path / ("copy" + target))
        assert command("diff", path, tmp_path / ("copy" + target)).returncode == 0


@every_format
def test_they_are_read_with_their_times(tmp_path, ending):
    path, old = tmp_path / ("a" + ending), tmp_path / ("old" + ending)
    write(path)
    shutil.copy(path, old)
    ADD[ending](path, (*NAMES, "time"), 2)
    expected = [0, 1, 2, 3.5, 4.5]
    assert times(path) == expected
    assert command("diff", old, path).returncode == 1
    said = expect_sound(path)
    assert "u, step 3" in said and "v, step 4" in said and "u, step 2" not in said
    for target in (".h5", ".nc", ".zarr"):
        copy = tmp_path / ("copy" + target)
        converted(path, copy)
        assert times(copy) == expected
        assert list(values(copy, "v")) == [1, 2, 3, 4, 5]
        assert command("diff", path, copy).returncode == 0
    with xarray.open_dataset(tmp_path / "copy.nc", decode_times=False) as data:
        assert list(data["time"].values) == expected


@every_format
def test_a_restart_goes_back_into_them(tmp_path, ending):
    path = tmp_path / ("a" + ending)
    write(path)
    ADD[ending](path, (*NAMES, "time"), 3)
    append(path, after=3)
    assert times(path) == [0, 1, 2, 3.5, 9]
    assert list(values(path, "u")) == [1, 2, 3, 4, 10]
    append(path, after=0)
    assert times(path) == [0, 9]
    expect_sound(path)


@pytest.mark.parametrize("fill", [None, -1.0])
def test_netcdf_adds_to_one_variable(tmp_path, fill):
    path = tmp_path / "a.nc"
    write(path, **({} if fill is None else {"fill": fill}))
    add_with_netcdf(path, ["u"], 2)
    assert numpy.array_equal(times(path), [0, 1, 2, numpy.nan, numpy.nan], equal_nan=True)
    missing = numpy.float64(netCDF4.default_fillvals["f8"] if fill is None else fill)
    expected = [1, 2, 3, missing, missing]
    assert numpy.allclose(values(path, "v"), expected, rtol=1e-7)
    for target in (".h5", ".nc", ".zarr"):
        copy = tmp_path / ("copy" + target)
        said = converted(path, copy)
        assert "v: has no elements in steps 3 to 4" in said
        assert numpy.allclose(values(copy, "v"), expected, rtol=1e-7)
        assert list(values(copy, "u")) == [1, 2, 3, 4, 5]
    with netCDF4.Dataset(tmp_path / "copy.nc") as file:
        assert file["v"][:, 0].mask.tolist() == [False, False, False, True, True]
        assert len(file["time"]) == 5
    with xarray.open_zarr(tmp_path / "copy.zarr", consolidated=False,
                          decode_times=False) as data:
        assert data["time"].shape == (5,)
    expect_sound(path)
    if fill is None:
        with pytest.raises(sluice.Error, match="v has 3 steps, the file has 5.*sluice convert"):
            append(path)
        assert list(values(path, "u")) == [1, 2, 3, 4, 5]
        append(tmp_path / "copy.nc")
        path = tmp_path / "copy.nc"
    else:
        append(path)
    assert list(values(path, "u")) == [1, 2, 3, 4, 5, 10]
    assert numpy.allclose(values(path, "v"), [*expected, 10], rtol=1e-7)
    expect_sound(path)


def test_netcdf_adds_only_a_time(tmp_path):
    path = tmp_path / "a.nc"
    write(path, fill=-1.0)
    add_with_netcdf(path, ["time"], 1)
    assert times(path) == [0, 1, 2, 3.5]
    assert list(values(path, "u")) == [1, 2, 3, -1]
    for target in (".h5", ".nc", ".zarr"):
        converted(path, tmp_path / ("copy" + target))
        assert times(tmp_path / ("copy" + target)) == [0, 1, 2, 3.5]
    append(path)
    assert times(path) == [0, 1, 2, 3.5, 9]


def test_h5py_resizes_one_variable(tmp_path):
    path = tmp_path / "a.h5"
    write(path)
    add_with_h5py(path, ["u"], 2)
    assert list(values(path, "u")) == [1, 2, 3, 4, 5]
    assert "v: has no elements in steps 3 to 4" in converted(path, tmp_path / "copy.h5")
    assert list(values(tmp_path / "copy.h5", "u")) == [1, 2, 3, 4, 5]
    with pytest.raises(sluice.Error, match="v has 3 steps, the file has 5.*sluice convert"):
        append(path)
    expect_sound(path)
    append(tmp_path / "copy.h5")
    assert list(values(tmp_path / "copy.h5", "u")) == [1, 2, 3, 4, 5, 10]


def test_rows_of_a_dataset_of_h5py_are_no_steps(tmp_path):
    path = tmp_path / "a.h5"
    write(path)
    rows = numpy.arange(21.0).reshape(7, 3)
    with h5py.File(path, "r+") as file:
        file.create_dataset("events", data=rows, maxshape=(None, 3), chunks=(1, 3))
    append(path)
    with sluice.open(path) as file:
        assert file.steps == OURS + 1
        numpy.testing.assert_array_equal(file["events"][...], rows)
    with h5py.File(path) as file:
        numpy.testing.assert_array_equal(file["events"][...], rows)


def test_dimensions_of_groups_keep_their_variables(tmp_path):
    """A new dimension of ours takes a number, and those of groups are numbered after it."""
    path = tmp_path / "groups.nc"
    write(path)
    with netCDF4.Dataset(path, "a") as file:
        group = file.createGroup("post")
        for name, size in (("b", 3), ("n", 2)):
            group.createDimension(name, size)
        for name, dimensions, shape in (("b", ("b", "n"), (3, 2)), ("w", ("n", "b"), (2, 3))):
            group.createVariable(name, "f8", dimensions)[:] = numpy.arange(6.0).reshape(shape)
    with sluice.open(path, "a") as out, out.step(time=3.0):
        for name in NAMES:
            out.put(name, numpy.full(4, 4.0))
        out.put("late", numpy.arange(5.0), dimensions=["y"])
    with netCDF4.Dataset(path) as file:
        assert file["post/b"].dimensions == ("b", "n")
        assert file["post/w"].dimensions == ("n", "b")
        assert file["late"].dimensions == ("time", "y")
        assert file["post/w"][:].tolist() == [[0, 1, 2], [3, 4, 5]]
