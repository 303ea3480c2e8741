"""Reading like numpy: files of the package and of h5py, every kind of index, a growing file."""

import random

import h5py
import numpy as np
import pytest

import sluice

QUICK = {"durability": "none"}


@pytest.fixture
def path(tmp_path):
    """5 steps of x (7, 4, 3), and a fixed y (6,)."""
    path = tmp_path / "read.h5"
    values = np.arange(5 * 84.0).reshape(5, 7, 4, 3)
    with sluice.open(path, "w", **QUICK) as out:
        out.put("y", np.arange(6))
        out.put("scalar", 2.5)
        for step in range(5):
            with out.step(time=step / 4):
                out.put("x", values[step])
    return path


def test_texts_beyond_the_longest_type(tmp_path):
    texts = ["\u00e9" + "a" * 9_000_000, "short"]
    with sluice.open(tmp_path / "long.h5", "w", **QUICK) as out:
        out.put("x", 1.0)
        out.attrs["text"] = texts[0]
        out.attrs["texts"] = texts
        out.flush()
        with pytest.raises(sluice.Error, match="8388607"):
            out.put("long", np.zeros(1, "S8388608"))
        with pytest.raises(sluice.Error, match="8388607"):
            out.flush()
    with sluice.open(tmp_path / "long.h5") as f:
        assert f.attrs["text"] == texts[0]
        assert f.attrs["texts"] == texts


def test_what_is_there(path):
    with sluice.open(path) as f:
        assert f.steps == 5 and {"x", "y", "scalar"} <= set(f) and len(f) == len(list(f))
        np.testing.assert_array_equal(f.times, np.arange(5) / 4)
        x = f["x"]
        assert x.shape == (5, 7, 4, 3) and x.step_shape == (7, 4, 3) and x.ndim == 4
        assert x.dtype == np.float64 and len(x) == 5 and x.has_steps
        assert f["y"].shape == (6,) and not f["y"].has_steps
        assert f["scalar"][()] == 2.5 and f["scalar"][...] == 2.5
        assert "x" in f and "z" not in f and f.get("z") is None
        np.testing.assert_array_equal(np.asarray(x), np.arange(5 * 84.0).reshape(5, 7, 4, 3))


@pytest.mark.parametrize("dtype", [">f8", ">f4", "<f4", ">f2"])
def test_arrays_of_any_byte_order_receive_the_values(path, dtype):
    wanted = np.arange(84.0).reshape(7, 4, 3)
    with sluice.open(path) as f:
        x = f["x"]
        got = x.get(0, dtype=dtype)
        assert got.dtype == np.dtype(dtype)
        np.testing.assert_array_equal(got, wanted)
        np.testing.assert_array_equal(x.get_rows([6, 1], step=0, dtype=dtype), wanted[[6, 1]])
        strided = np.zeros((7, 4, 6), dtype)
        x.get(0, out=strided[..., ::2])
        np.testing.assert_array_equal(strided[..., ::2], wanted)
        deferred = x.get(0, dtype=dtype, deferred=True)
        f.perform_gets()
        np.testing.assert_array_equal(deferred, wanted)


def random_part(rng, extent):
    kind = rng.randrange(4)
    if kind == 0:
        return rng.randrange(-extent, extent)
    if kind == 1:
        return slice(None)
    ends = [None] + list(range(-extent - 2, extent + 3))
    step = rng.choice([None, 1, 2, 3, -1, -2, extent + 1])
    return slice(rng.choice(ends), rng.choice(ends), step)


def random_key(rng, shape):
    parts = [random_part(rng, extent) for extent in shape[:rng.randrange(len(shape) + 1)]]
    if rng.random() < 0.4:
        drop = rng.randrange(len(parts) + 1)
        tail = [random_part(rng, extent) for extent in shape[len(shape) - (len(parts) - drop):]]
        parts = parts[:drop] + [Ellipsis] + tail
    return parts[0] if len(parts) == 1 and rng.random() < 0.5 else tuple(parts)


def test_indices_mean_what_they_mean_to_numpy(path):
    rng = random.Random(4)
    values = {"x": np.arange(5 * 84.0).reshape(5, 7, 4, 3), "y": np.arange(6)}
    with sluice.open(path) as f:
        for _ in range(400):
            name = rng.choice("xxxy")
            key = random_key(rng, values[name].shape)
            got, expected = f[name][key], values[name][key]
            assert np.shape(got) == expected.shape, key
            np.testing.assert_array_equal(got, expected, err_msg=str(key))
        assert f["x"][-1, 2, 3, 1] == values["x"][-1, 2, 3, 1]


def test_lists_and_masks_mean_what_they_mean_to_h5py(path):
    mask = np.arange(7) % 3 == 0
    keys = [[0, 2], [4], np.array([1, 3, 4]), [1, 3], [True, False, True, True, False],
            (slice(None), [0, 2, 5]), (0, mask), (-1, [1, 6], 2), (slice(1, 4), mask, 2, 1),
            (0, slice(None), [0, 3]), (0, 3, [1, 2], 1), (..., [0, 2]), ([1, 4], 2, ..., 0),
            (slice(3, None, 1), 0, slice(None), [True, False, True])]
    with sluice.open(path) as f, h5py.File(path) as plain:
        for key in keys:
            expected = plain["x"][key]
            got = f["x"][key]
            assert np.shape(got) == expected.shape, key
            np.testing.assert_array_equal(got, expected, err_msg=str(key))
        assert f["x"][[]].shape == (0, 7, 4, 3)
        assert f["x"][0, [False] * 7].shape == (0, 4, 3)
        np.testing.assert_array_equal(f["x"][[-2, -1]], f["x"][3:5])
        np.testing.assert_array_equal(f["y"][[1, 5]], [1, 5])


@pytest.mark.parametrize("key", [(0, 7), (5,), (-6,), (0, 0, 0, 0, 0), (True,), (None,), ("x",),
                                 (1.0,), (..., ...), ([2, 1],), ([1, 1],), ([0, 5],), ([-6],),
                                 ([1.0],), ([[1, 2]],), ([[1], [1, 2]],), ([True, False],),
                                 ([0, 1], [0, 1]), (["x"],), (0, 0, [True] * 5)])
def test_other_indices_are_index_errors(path, key):
    with sluice.open(path) as f, pytest.raises(IndexError):
        f["x"][key]


def test_get_converts_and_fills_arrays_of_the_caller(path):
    values = np.arange(5 * 84.0).reshape(5, 7, 4, 3)
    with sluice.open(path) as f:
        x = f["x"]
        part = x.get(step=2, start=(1, 1, 0), count=(3, 2, 3), dtype="f4")
        assert part.dtype == np.float32
        np.testing.assert_array_equal(part, values[2, 1:4, 1:3].astype("f4"))
        room = np.zeros((4, 7)).T[:, ::-1]
        assert x.get(step=1, start=(0, 0, 2), count=(7, 4, 1),
                     out=room.reshape(7, 4, 1)) is not None
        into = np.zeros((7, 4, 3), order="F")
        x.get(step=3, out=into)
        np.testing.assert_array_equal(into, values[3])
        np.testing.assert_array_equal(x.get_rows([6, 0, 0], step=4), values[4][[6, 0, 0]])
        assert x.get_rows([], step=0).shape == (0, 4, 3)


def test_deferred_gets_are_filled_together(path):
    with sluice.open(path) as f:
        x = f["x"].get(2, (1, 0, 0), (3, 4, 3), deferred=True)
        y = f["y"].get(dtype="f4", deferred=True)
        f.perform_gets()
        np.testing.assert_array_equal(x, f["x"][2, 1:4])
        np.testing.assert_array_equal(y, np.arange(6, dtype="f4"))
        with pytest.raises(sluice.Error, match="step 9 of 5"):
            f["x"].get(9, deferred=True)
        with pytest.raises(sluice.Error, match="step 9 of 5"):
            f.perform_gets()


def test_a_deferred_part_goes_into_dense_memory(path):
    with sluice.open(path) as f:
        wide = np.zeros((7, 4, 6))
        dense = np.zeros((7, 4, 3))
        f["x"].get(1, out=dense, deferred=True)
        for action in (lambda: f["x"].get(1, out=wide[:, :, ::2], deferred=True), f.perform_gets):
            with pytest.raises(sluice.Error, match="get x: out must be C-contiguous where "
                               "deferred=True") as caught:
                action()
            assert caught.value.code == sluice.Code.UNSUPPORTED
            assert "stride_bytes" not in str(caught.value)
        f["x"].get(1, out=wide[:, :, ::2])
        f["x"].get(1, out=dense, deferred=True)
        f.perform_gets()
        np.testing.assert_array_equal(wide[:, :, ::2], dense)
    assert "C-contiguous" in sluice.Variable.get.__doc__


def test_a_file_that_h5py_made(tmp_path):
    path = tmp_path / "foreign.h5"
    values = np.arange(24, dtype=">i4").reshape(4, 6)
    with h5py.File(path, "w") as f:
        f["plain"] = values
        f.create_dataset("packed", data=values, chunks=(2, 3), compression="gzip", shuffle=True)
        f["group/flag"] = np.array([True, False])
        f["plain"].attrs["units"] = "m"
    with sluice.open(path) as f:
        assert f.steps == 0 and f.times.shape == (0,)
        np.testing.assert_array_equal(f["plain"][1:3, ::-1], values[1:3, ::-1])
        np.testing.assert_array_equal(f["packed"][...], values)
        np.testing.assert_array_equal(f["group/flag"][...], [True, False])
        assert f["plain"].attrs["units"] == "m"


def test_refresh_follows_a_run(tmp_path):
    path = tmp_path / "growing.h5"
    with sluice.open(path, "w", **QUICK) as out:
        with out.step(time=0):
            out.put("z", np.zeros(3))
        with sluice.open(path) as f:
            z = f["z"]
            assert f.steps == 1
            for step in range(1, 4):
                with out.step(time=step):
                    out.put("z", np.full(3, float(step)))
                    out.put("a", np.full(2, step))
                assert f.steps == step
                assert f.refresh() == step + 1
                assert (z[-1] == step).all() and z.shape == (step + 1, 3)
                assert (f["a"][-1] == step).all()
                np.testing.assert_array_equal(f.times, np.arange(step + 1))
                np.testing.assert_array_equal(f["time"][...], np.arange(step + 1))


def test_to_xarray(path):
    with sluice.open(path) as f:
        data = f.to_xarray()
        assert dict(data.sizes)["step"] == 5 and data["x"].shape == (5, 7, 4, 3)
        np.testing.assert_array_equal(data["time"], np.arange(5) / 4)
        values = np.arange(5 * 84.0).reshape(5, 7, 4, 3)
        np.testing.assert_array_equal(data["x"].isel(step=-1, x_0=slice(2, 5)), values[-1, 2:5])
        np.testing.assert_array_equal(data["x"][::2, [1, 3], 0].values, values[::2, [1, 3], 0])
        assert float(data.copy(deep=True)["x"].sum()) == values.sum()
        assert float(data["x"].sum()) == values.sum()


@pytest.mark.parametrize("ending", ["h5", "nc", "zarr", "rec"])
def test_names_of_dimensions_and_units_of_time(tmp_path, ending):
    path = tmp_path / f"named.{ending}"
    values = np.arange(2 * 12.0).reshape(2, 3, 4)
    with sluice.open(path, "w", **QUICK) as out:
        out.put("x", np.arange(4) / 2, dimensions=["x"])
        out.attrs_of("time")["units"] = "ps"
        u = out.define("u", float, (3, 4), steps=True, dimensions=("y", "x"))
        assert u.dimensions == ("y", "x")
        for step in range(2):
            with out.step(time=step / 4):
                out.put("u", values[step])
                out.put("energy", float(step))
    with sluice.open(path) as f:
        assert f["u"].dimensions == ("y", "x") and f["energy"].dimensions == ()
        assert dict(f.attrs_of("time")) == {"units": "ps"}
        data = f.to_xarray()
        assert data["u"].dims == ("step", "y", "x") and data["energy"].dims == ("step",)
        assert data["time"].attrs["units"] == "ps"
        np.testing.assert_array_equal(data["u"].sel(x=1.5).values, values[:, :, 3])


def test_names_that_xarray_cannot_have(tmp_path):
    path = tmp_path / "named.h5"
    with sluice.open(path, "w", **QUICK) as out:
        out.put("a", np.zeros((3, 3)), dimensions=["n", "n"])
        out.put("b", np.zeros(4), dimensions=["m"])
        out.put("c", np.zeros(5), dimensions=["m"])
        out.put("d", np.zeros((2, 6)), dimensions=["p", "q"])
        out.put("q", np.zeros((2, 6)), dimensions=["p", "r"])
        out.put("e", np.zeros(2), dimensions=["p"])
    with sluice.open(path) as f:
        data = f.to_xarray()
        assert {name: data[name].dims for name in "abcdqe"} == {
            "a": ("a_0", "a_1"), "b": ("b_0",), "c": ("c_0",), "d": ("d_0", "d_1"),
            "q": ("p", "r"), "e": ("p",)}
        assert [label.label for label in h5py.File(path)["a"].dims] == ["n", "n"]


def opened_by_xarray(path, group):
    xarray = pytest.importorskip("xarray")
    if path.suffix == ".zarr":
        pytest.importorskip("zarr")
        return xarray.open_zarr(path, group=group, consolidated=False, decode_times=False)
    icechunk = pytest.importorskip("icechunk")
    kept = icechunk.Repository.open(icechunk.local_filesystem_storage(str(path)))
    return xarray.open_zarr(kept.readonly_session("main").store, group=group, consolidated=False,
                            decode_times=False)


@pytest.mark.parametrize("ending", ["zarr", "icechunk"])
def test_xarray_opens_a_store_in_which_a_name_has_two_meanings(tmp_path, ending):
    path = tmp_path / f"named.{ending}"
    given = {"first": (4, "x"), "other": (5, "x"), "fixed": (3, "time"), "valued": (6, "mass"),
             "g/alone": (5, "x")}
    with sluice.open(path, "w", **QUICK) as out:
        for name, (size, dimension) in given.items():
            out.put(name, np.arange(size), dimensions=[dimension])
        out.put("mass", 2.5)
        out.flush()
        assert opened_by_xarray(path, None)["fixed"].dims == ("time",)  # there are no steps yet
        for step in range(2):
            with out.step(time=step):
                out.put("u", np.full(4, step), dimensions=["x"])
                out.put("v", np.full((4, 5), step), dimensions=["x", "x"])
    with sluice.open(path, "a", **QUICK) as out, out.step(time=2):
        out.put("u", np.full(4, 2))
        out.put("v", np.full((4, 5), 2))
    with opened_by_xarray(path, None) as data, opened_by_xarray(path, "g") as below:
        assert {name: data[name].dims for name in data} == {
            "first": ("x",), "other": ("dim_5",), "fixed": ("dim_3",), "valued": ("dim_6",),
            "mass": (), "u": ("time", "x"), "v": ("time", "dim_4", "dim_5")}
        assert data["other"].values.tolist() == list(range(5))
        assert data["v"].values[2, 3].tolist() == 5 * [2]
        assert data["time"].values.tolist() == [0, 1, 2]
        assert below["alone"].dims == ("x",)
    with sluice.open(path) as f:
        assert {name: f[name].dimensions for name in given} == {
            name: (dimension,) for name, (size, dimension) in given.items()}
        assert f["u"].dimensions == ("x",) and f["v"].dimensions == ("x", "x")


@pytest.mark.parametrize("ending", ["h5", "zarr"])
def test_an_empty_list_of_texts_is_an_attribute(tmp_path, ending):
    path = tmp_path / f"a.{ending}"
    with sluice.open(path, "w", **QUICK) as out:
        out.attrs["tags"] = np.array([], dtype=str)
        out.put("v", np.arange(3))
    with sluice.open(path) as f:
        assert list(f.attrs["tags"]) == [] and "tags" in list(f.attrs)
    if ending == "h5":
        with h5py.File(tmp_path / "b.h5", "w") as h:
            h.attrs["fixed"] = np.array([], "S4")
            h.attrs.create("texts", [], (0,), h5py.string_dtype())
        with sluice.open(tmp_path / "b.h5") as f:
            assert {name: list(f.attrs[name]) for name in f.attrs} == {"fixed": [], "texts": []}
