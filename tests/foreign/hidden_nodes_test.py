"""Nodes that other programs add to Sluice's stores without adding them to the root's list."""

import numpy as np
import pytest
import zarr

import sluice


def write(path, **values):
    """A step of `a` and of others, in a new store or after the last step."""
    with sluice.open(path, "a" if path.exists() else "w") as out, out.step(time=1.0):
        out.put("a", np.arange(4.0))
        for name, value in values.items():
            out.put(name.replace("__", "/"), value)


def add_array(path, name, values):
    group = zarr.open_group(path, mode="a", use_consolidated=False)
    group.create_array(name, data=values, chunks=(2,))


def read(path, name):
    return zarr.open_array(path / name, mode="r")[...]


@pytest.fixture
def store(tmp_path):
    path = tmp_path / "run.zarr"
    write(path)
    return path


@pytest.mark.parametrize("name", ["mean", "mean/of/squares"])
def test_an_array_in_the_way_is_kept(store, name):
    add_array(store, "mean", np.full(4, 7.0))
    with pytest.raises(sluice.Error, match="another program has a node at mean") as failed:
        write(store, **{name: np.float64(1)})
    assert failed.value.code == sluice.Code.EXISTS
    assert list(read(store, "mean")) == [7] * 4
    write(store, other=np.float64(1))
    assert list(read(store, "mean")) == [7] * 4
    assert read(store, "a").shape == (2, 4)
    with sluice.open(store) as file:
        assert list(file["a"][1]) == [0, 1, 2, 3]


def test_groups_in_the_way_are_kept(store):
    add_array(store, "post/mean", np.full(4, 7.0))
    for name in ("post", "post/rms"):
        with pytest.raises(sluice.Error, match="another program has a node at post"):
            write(store, **{name: np.float64(1)})
    assert list(read(store, "post/mean")) == [7] * 4
    zarr.consolidate_metadata(store)
    write(store, post__rms=np.float64(3))
    assert list(read(store, "post/mean")) == [7] * 4
    assert zarr.open_group(store, mode="r")["post/rms"][...].tolist()[-1] == 3


def test_an_array_called_time_is_kept(tmp_path):
    path = tmp_path / "run.zarr"
    with sluice.open(path, "w") as out, out.step():
        out.put("a", np.arange(4.0))
    add_array(path, "time", np.full(4, 7.0))
    write(path)
    assert list(read(path, "time")) == [7] * 4
    with sluice.open(path) as file:
        assert file.times[1] == 1


def test_groups_of_ours_are_not_in_the_way(store):
    with sluice.open(store, "a") as out:
        out.attrs_of("run")["about"] = 1
        write_again = {"a": np.arange(4.0)}
        for name in ("run/mean", "run/rms"):
            with out.step():
                for known, values in write_again.items():
                    out.put(known, values)
            write_again[name] = np.float64(5)
        with out.step():
            for known, values in write_again.items():
                out.put(known, values)
    write(store, run__mean=np.float64(6), run__rms=np.float64(6), run__most=np.float64(7))
    assert read(store, "run/most").tolist()[-1] == 7
    assert zarr.open_group(store, mode="r")["run"].attrs["about"] == 1


@pytest.mark.parametrize("value", [np.float64(1), np.arange(6.0)])
def test_what_no_commit_has_is_removed_and_nothing_else(store, value):
    folder = store / "late"
    folder.mkdir()
    for name in ("c.0.0", "c.0", "c.2", "c.7.0", "c.1.5"):
        (folder / name).write_bytes(b"left by a run that ended before its commit")
    (folder / "notes.txt").write_text("mine")
    (folder / "c.txt").write_text("mine")
    (folder / "c").mkdir()
    write(store, late=value)
    write(store, late=value + 1)
    kept = {entry.name for entry in folder.iterdir()}
    assert {"notes.txt", "c.txt", "c", "zarr.json"} <= kept
    values = read(store, "late")
    np.testing.assert_array_equal(values[1], value)
    np.testing.assert_array_equal(values[2], value + 1)
    assert not (folder / "c.7.0").exists()
    assert zarr.open_array(folder, mode="r").fill_value == values.flat[0]  # step 0 has no object
