"""What sluice convert keeps of other programs' HDF5 files, and what it names where it cannot."""

import os
import shutil
import subprocess
import sys

import h5py
import hdf5plugin
import netCDF4
import numpy
import pytest

import compare
import sluice

from compare import sluice as command


# Runs a command and says how many KiB it had at most: from a small process, as what a program is
# started from counts.
PEAK = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def space_padded(file, name, values):
    kind = h5py.h5t.C_S1.copy()
    kind.set_size(5)
    kind.set_strpad(h5py.h5t.STR_SPACEPAD)
    space = h5py.h5s.create_simple((len(values),))
    dataset = h5py.h5d.create(file.id, name.encode(), kind, space)
    dataset.write(h5py.h5s.ALL, h5py.h5s.ALL, numpy.array(values, "S5"))


@pytest.fixture
def source(tmp_path):
    path = str(tmp_path / "source.h5")
    with h5py.File(path, "w", libver=("earliest", "v110")) as file:
        file["a"] = numpy.arange(5.0)
        file["group/b"] = file["a"]
        file["same"] = file["group"]
        file["group/up"] = file["/"]
        file["soft"] = h5py.SoftLink("/a")
        file["soft_group"] = h5py.SoftLink("/group")
        file["dangling"] = h5py.SoftLink("/nowhere")
        file["outside"] = h5py.ExternalLink("other.h5", "/x")
        file["compound"] = numpy.array([(1, 2.5)], dtype=[("i", "i4"), ("f", "f8")])
        file.create_dataset("texts", data=["a", "bb"], dtype=h5py.string_dtype())
        file["enum"] = numpy.array([0, 1], dtype=h5py.enum_dtype({"A": 0, "B": 1}))
        file["opaque"] = numpy.void(b"xyz")
        file["half"] = numpy.arange(3, dtype="f2")
        file.create_group("empty")
        file.create_group("bare")
        file.create_group("group/bare")
        file["type"] = numpy.dtype("i4")
        file["null"] = h5py.Empty("f8")
        lists = file.create_dataset("lists", (2,), dtype=h5py.vlen_dtype("i4"))
        lists[0], lists[1] = [1, 2], [3]
        file.create_dataset("refs", data=[file["a"].ref, file["group"].ref], dtype=h5py.ref_dtype)
        file.create_dataset("big", data=numpy.arange(9000, dtype=">i2").reshape(90, 100),
                            compression="gzip", shuffle=True)
        file["x"] = numpy.arange(3)
        file["x"].make_scale("x")
        for name, kind in (("on_x", "f8"), ("compound_on_x", [("i", "i4")])):
            file[name] = numpy.zeros(3, dtype=kind)
            file[name].dims[0].attach_scale(file["x"])
        space_padded(file, "padded", [b"ab", b"c"])
        attributes = file["a"].attrs
        attributes["complex"] = 1 + 2j
        attributes["flags"] = numpy.array([True, False])
        attributes["large"] = numpy.uint64(2**64 - 1)
        attributes["small"] = numpy.uint64(2**63 - 1)
        attributes["matrix"] = numpy.arange(6).reshape(2, 3)
        attributes["half"] = numpy.float16(1.5)
        attributes["nothing"] = h5py.Empty("f4")
        attributes["leads_to"] = file["compound"].ref
        attributes["nul"] = numpy.bytes_(b"a\0b")
        attributes["enum"] = numpy.array(1, dtype=h5py.enum_dtype({"A": 0, "B": 1}))
        file["compound"].attrs["x"] = 3
        file["empty"].attrs["why"] = "kept"
        file.attrs["short"] = numpy.int16(4)
    return path


@pytest.mark.parametrize("ranks", [0, 3])
def test_hdf5_to_hdf5_keeps_everything(source, tmp_path, ranks):
    target = str(tmp_path / "target.h5")
    launcher = [*os.environ["SLUICE_MPIEXEC"].split(), "-n", str(ranks)] if ranks else []
    done = subprocess.run([*launcher, os.environ["SLUICE_COMMAND"], "convert", source, target],
                          capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert "left out" not in done.stderr
    assert compare.same_trees(source, target, []) == []
    with h5py.File(target) as file:
        assert file["group/b"] == file["a"]
        assert file["group/up"] == file["/"]
        assert [file[r] for r in file["refs"][...]] == [file["a"], file["group"]]
        assert list(file["compound_on_x"].dims[0].keys()) == ["x"]
        assert list(file["on_x"].dims[0].keys()) == ["x"]
        assert set(file) - {"sluice"} == set(h5py.File(source))
    done = command("verify", target)
    assert done.returncode == 0, done.stdout
    with sluice.open(target, "a") as file:  # goes on as any file of Sluice's
        file.put("added", numpy.arange(3))
    assert command("verify", target).returncode == 0
    again = str(tmp_path / "again.h5")
    assert command("convert", target, again, "--compress", "deflate:3").returncode == 0
    assert compare.same_trees(source, again, []) == []


def test_what_another_format_cannot_hold_is_named(source, tmp_path):
    for ending in (".nc", ".zarr"):
        target = str(tmp_path / ("target" + ending))
        done = command("convert", source, target)
        assert done.returncode == 1, done.stderr
        for name in ("compound", "texts", "enum", "opaque", "null", "lists", "refs", "outside",
                     "dangling", "type", "bare", "group/bare", "a: attribute complex",
                     "a: attribute flags", "a: attribute large", "a: attribute matrix",
                     "a: attribute enum"):
            assert f"left out: {name} (" in done.stderr, (name, done.stderr)
        assert "attribute small (" not in done.stderr
        dropped = str(tmp_path / ("dropped" + ending))
        done = command("convert", source, dropped, "--drop")
        assert done.returncode == 0 and "left out: compound (" in done.stderr
        with sluice.open(dropped) as file:  # a name that is a link has the values
            for name in ("a", "group/b", "same/b", "soft"):
                numpy.testing.assert_array_equal(file[name][...], numpy.arange(5.0))


def test_all_names_are_listed_and_read(source):
    with sluice.open(source) as file:
        for name in ("a", "group/b", "same/b", "soft", "soft_group/b"):
            assert name in list(file)
            numpy.testing.assert_array_equal(file[name][...], numpy.arange(5.0))
        assert list(file["padded"][...]) == ["ab", "c"]
        assert file["a"].attrs["nul"] == "a\0b"
        assert file["a"].attrs["small"] == 2**63 - 1
        assert "large" not in file["a"].attrs
    listing, _ = compare.listing(source)
    assert {"name": "a: attribute large", "type": "numbers above 2^63 - 1"} in listing[
        "unread_attributes"]


def test_h5md_lives_on_hard_links(tmp_path):
    datafiles = pytest.importorskip("MDAnalysisTests.datafiles")
    import MDAnalysis
    target = str(tmp_path / "cobrotoxin.h5md")
    done = command("convert", datafiles.H5MD_xvf, target)
    assert done.returncode == 0, done.stderr
    frames = []
    for path in (datafiles.H5MD_xvf, target):
        universe = MDAnalysis.Universe(datafiles.TPR_xvf, path, format="H5MD")
        frames.append([(step.time, step.data["step"], step.positions.copy())
                       for step in universe.trajectory])
    assert len(frames[0]) == 3
    for before, after in zip(*frames):
        assert before[:2] == after[:2]
        numpy.testing.assert_array_equal(before[2], after[2])
    with sluice.open(datafiles.H5MD_xvf) as file:
        assert "particles/trajectory/position/step" in list(file)


def test_a_failed_conversion_leaves_nothing(tmp_path):
    source = str(tmp_path / "source.h5")
    with sluice.open(source, "w") as file:
        for step in range(3):
            with file.step():
                file.put("x", numpy.full(5000, 1.0 + step))
    with open(source, "r+b") as raw:
        content = raw.read()
        raw.seek(content.index(numpy.full(4, 3.0).tobytes()) + 999 * 8)
        raw.write(b"\1")
    for ending in (".h5", ".nc", ".zarr", ".npy"):
        target = str(tmp_path / ("target" + ending))
        assert command("convert", source, target).returncode == 3  # changed outside Sluice
        assert sorted(os.listdir(tmp_path)) == ["source.h5"], ending


def test_convert_stays_within_its_budget(tmp_path):
    """128 MiB of one variable, and of one step, by 32 MiB."""
    source = str(tmp_path / "source.h5")
    values = numpy.arange(16 << 20, dtype="f8").reshape(1 << 12, -1)
    with h5py.File(source, "w") as file:
        file["fixed"] = values
        file["other"] = values[:2]
    with sluice.open(str(tmp_path / "steps.h5"), "w") as file:
        with file.step():
            file.put("x", values)
    for name, options in (("source", []), ("steps", []), ("steps", ["--compress", "deflate:1"])):
        target = str(tmp_path / "target.h5")
        done = subprocess.run([sys.executable, "-c", PEAK, os.environ["SLUICE_COMMAND"], "convert",
                               str(tmp_path / (name + ".h5")), target, "--budget-mib", "32",
                               *options], check=True, capture_output=True, text=True, timeout=120)
        # 128 MiB of data; the program itself and its libraries take about 30.
        assert int(done.stdout.split()[-1]) < 110 << 10, (name, options, done.stdout)
        with sluice.open(target) as file:
            numpy.testing.assert_array_equal(file["x" if name == "steps" else "fixed"][...].ravel(),
                                             values.ravel())
        os.remove(target)


def test_an_empty_time_is_no_time_of_steps(tmp_path):
    """netCDF's coordinate of an unlimited dimension, where only the other variables have values."""
    source = str(tmp_path / "source.nc")
    with h5py.File(source, "w") as file:
        time = file.create_dataset("time", (0,), "f8", maxshape=(None,), fillvalue=9.5)
        time.make_scale("time")
        time.attrs["units"] = "seconds since 2009-01-01"
        file.create_dataset("pr", data=numpy.arange(2, dtype="f4"), maxshape=(None,))
        file["pr"].dims[0].attach_scale(time)
    for ending in (".zarr", ".nc", ".h5"):
        between = str(tmp_path / ("between" + ending))
        assert command("convert", source, between).returncode == 0
        for last in (".h5", ".nc", ".zarr"):
            target = str(tmp_path / ("from" + ending.replace(".", "_") + last))
            assert command("convert", between, target).returncode == 0
            with sluice.open(target) as file:
                assert sorted(file) == ["pr", "time"], (ending, last)
                assert file["time"].shape == (0,) and file["time"].dtype == numpy.float64
                assert file["time"].attrs["units"] == "seconds since 2009-01-01"
                numpy.testing.assert_array_equal(file["pr"][...], [0, 1])
            assert command("verify", target).returncode == 0


def test_an_unlimited_dimension_is_named(tmp_path):
    source = str(tmp_path / "source.nc")
    with netCDF4.Dataset(source, "w") as file:
        file.createDimension("rec", None)
        file.createDimension("x", 3)
        file.createVariable("a", "i4", ("rec",))[:] = numpy.arange(5)
        file.createVariable("b", "f4", ("rec", "x"))[:] = numpy.arange(15).reshape(5, 3)
    for ending in (".nc", ".h5"):
        target = str(tmp_path / ("target" + ending))
        done = command("convert", source, target)
        assert done.returncode == 0, done.stderr
        assert "changed: rec: an unlimited dimension: its length is now fixed" in done.stderr
        assert len(done.stderr.splitlines()) == 1, done.stderr
        with netCDF4.Dataset(target) as file:
            assert {name: len(d) for name, d in file.dimensions.items()} == {"rec": 5, "x": 3}
            assert file["a"].dimensions == ("rec",) and file["b"].dimensions == ("rec", "x")
            numpy.testing.assert_array_equal(file["a"][:], numpy.arange(5))
            numpy.testing.assert_array_equal(file["b"][:], numpy.arange(15).reshape(5, 3))


def test_a_shape_that_could_grow_is_named(tmp_path):
    source = str(tmp_path / "source.h5")
    with h5py.File(source, "w") as file:
        file.create_dataset("fixed", data=numpy.arange(4.0))
        file.create_dataset("g/grows", data=numpy.arange(4.0), maxshape=(None,))
        file.create_dataset("limited", data=numpy.arange(4.0), maxshape=(9,))
        texts = file.create_dataset("texts", (2,), h5py.string_dtype(), maxshape=(None,))
        texts[...] = ["a", "bb"]
    target = str(tmp_path / "target.h5")
    done = command("convert", source, target)
    assert done.returncode == 0, done.stderr
    assert done.stderr.strip().endswith(
        "changed: g/grows, limited: could be resized: the shape is now fixed"), done.stderr
    with h5py.File(target) as file:
        assert file["texts"].maxshape == (None,)
    assert command("convert", source, str(tmp_path / "target.zarr"), "--drop").returncode == 0


def unreadable_ones(path):
    """Datasets of which libhdf5 has all bytes, or all that there is, and cannot read them."""
    with h5py.File(path, "w") as file:
        file["good"] = numpy.arange(5.0)
        file.create_dataset("sums", data=numpy.arange(900.0), chunks=(900,), fletcher32=True)
        file.create_dataset("zfp", data=numpy.arange(900.0), chunks=(300,),
                            **hdf5plugin.Zfp(rate=16))
        file.create_dataset("elsewhere", (5,), "i4", external=[("nowhere.raw", 0, 20)])
        at = file["sums"].id.get_chunk_info(0).byte_offset
    with open(path, "r+b") as raw:
        raw.seek(at + 80)
        raw.write(b"\1")


def stored(path, name):
    with h5py.File(path) as file:
        dataset = file[name].id
        return [dataset.read_direct_chunk(dataset.get_chunk_info(i).chunk_offset)
                for i in range(dataset.get_num_chunks())]


def test_what_cannot_be_read_is_carried(tmp_path):
    source, target = str(tmp_path / "source.h5"), str(tmp_path / "target.h5")
    unreadable_ones(source)
    done = command("convert", source, target)
    assert done.returncode == 0, done.stderr
    for name in ("sums", "zfp", "elsewhere"):
        assert f"changed: {name}: copied as it is, for it cannot be read here: " in done.stderr
    for name in ("sums", "zfp"):
        assert stored(source, name) == stored(target, name)
    with h5py.File(target) as file:
        assert list(file["good"]) == [0, 1, 2, 3, 4]
        assert file["elsewhere"].external == [("nowhere.raw", 0, 20)]
        numpy.testing.assert_allclose(file["zfp"][...], numpy.arange(900.0), atol=1)
    for ending in (".nc", ".zarr"):
        target = str(tmp_path / ("target" + ending))
        done = command("convert", source, target)
        assert done.returncode == 1, done.stderr
        for name in ("sums", "zfp", "elsewhere"):
            assert f"left out: {name} (not readable here: " in done.stderr
        assert done.stderr.count("left out") == 3
        with sluice.open(target) as file:
            assert sorted(file) == ["good"] and list(file["good"][...]) == [0, 1, 2, 3, 4]
        os.rename(target, target + ".first")
        assert command("convert", source, target, "--drop").returncode == 0


def test_a_soft_link_below_a_soft_link_stays_one(tmp_path):
    source, target = str(tmp_path / "source.h5"), str(tmp_path / "target.h5")
    with h5py.File(source, "w") as file:
        file["a_link"] = h5py.SoftLink("/group")
        file["group/x"] = numpy.arange(3)
        file["group/inner/y"] = numpy.arange(4.0)
        file["group/link"] = h5py.SoftLink("/group/inner")
        file["group/outside"] = h5py.ExternalLink("other.h5", "/x")
    done = command("convert", source, target)
    assert done.returncode == 0, done.stderr
    assert compare.same_trees(source, target, []) == []


def test_names_of_attributes_that_begin_with_a_slash(tmp_path):
    source, target = str(tmp_path / "source.h5"), str(tmp_path / "target.h5")
    with h5py.File(source, "w") as file:
        file["x"] = numpy.arange(3)
        for owner in (file, file["x"]):
            owner.attrs["/attr1"] = "text"
    done = command("convert", source, target)
    assert done.returncode == 0, done.stderr
    assert compare.same_trees(source, target, []) == []
    done = command("convert", source, str(tmp_path / "target.zarr"))
    assert done.returncode == 1 and done.stderr.count("attribute /attr1 (") == 2, done.stderr


def test_netcdf4_to_netcdf4_carries(tmp_path):
    """netCDF's own types, text and groups, with the dimensions that only they have."""
    source, target = str(tmp_path / "source.nc"), str(tmp_path / "target.nc")
    with netCDF4.Dataset(source, "w") as file:
        for name, size in (("x", 3), ("only", 2), ("rec", None), ("unused", 7)):
            file.createDimension(name, size)
        file.createVariable("a", "f8", ("x",))[:] = [1, 2, 3]
        file.createVariable("only", "i4", ("only",))[:] = [4, 5]
        file.createVariable("names", str, ("only",))[:] = numpy.array(["one", "two"], object)
        file.createVariable("log", str, ("rec",))[:] = numpy.array(["p", "q", "r"], object)
        colour = file.createEnumType("i1", "colour_t", {"red": 0, "blue": 1})
        file.createVariable("colours", colour, ("x",))[:] = [0, 1, 1]
        pair = file.createCompoundType(numpy.dtype([("i", "i4"), ("f", "f8")]), "pair_t")
        file.createVariable("pairs", pair, ("x",))[:] = numpy.array(
            [(1, 0.5), (2, 1.5), (3, 2.5)], dtype=[("i", "i4"), ("f", "f8")])
        lists = file.createVLType("i4", "list_t")
        ragged = file.createVariable("ragged", lists, ("only",))
        ragged[0], ragged[1] = numpy.arange(3, dtype="i4"), numpy.arange(1, dtype="i4")
        group = file.createGroup("inner")
        group.title = "a group"
        group.createDimension("z", 2)
        group.createVariable("words", str, ("z",))[:] = numpy.array(["u", "vv"], object)
        file["a"].setncattr_string("words", ["several", "texts"])
    done = command("convert", source, target)
    assert done.returncode == 0, done.stderr
    with netCDF4.Dataset(source) as old, netCDF4.Dataset(target) as new:
        for one in (old, new):
            one.set_auto_mask(False)
        assert sorted(new.variables) == sorted(old.variables)
        assert {n: len(d) for n, d in new.dimensions.items()} == {
            "x": 3, "only": 2, "rec": 3}  # no variable has the other one
        assert new.dimensions["rec"].isunlimited()
        for name in old.variables:
            assert new[name].dimensions == old[name].dimensions
            assert new[name].dtype == old[name].dtype
            before, after = old[name][:], new[name][:]
            assert all(numpy.array_equal(p, q) for p, q in zip(before, after)), name
        assert list(new["inner/words"][:]) == ["u", "vv"] and new["inner"].title == "a group"
        assert list(new["a"].words) == ["several", "texts"]
        assert sorted(new.enumtypes) == ["colour_t"] and sorted(new.cmptypes) == ["pair_t"]
    assert command("verify", target).returncode == 0
    dumped = subprocess.run(["ncdump", target], capture_output=True, text=True, timeout=60,
                            check=True)
    assert "colours = red, blue, blue" in dumped.stdout


def test_groups_that_keep_the_order_of_their_links(tmp_path):
    """h5py reads every group of the new file: it has as many links as it says."""
    source = str(tmp_path / "source.h5")
    with h5py.File(source, "w", track_order=True) as file:
        file.create_group("many", track_order=True)
        for name in ("2", "1", "2/a", "1/a", "2/a/a2", "1/a/a2"):
            file.create_group(name, track_order=True)
        for top in "21":
            for name in ("b", "a/a2/a22", "a/a2/a21", "a/a1", "c"):
                file.create_group(f"{top}/{name}", track_order=True)
        file["2/a/a2/a22/x"] = numpy.arange(3)
        file["2/a/a2/a22/x"].make_scale("x")
        file["1/compound"] = numpy.zeros(3, dtype=[("i", "i4")])
        file["1/compound"].dims[0].attach_scale(file["2/a/a2/a22/x"])
        file["1/z"] = h5py.SoftLink("/2/a")
        for number in range(20):  # more than lie in the group itself
            file.create_group(f"many/{number:02}", track_order=True)
    target = str(tmp_path / "target.h5")
    done = command("convert", source, target)
    assert done.returncode == 0, done.stderr
    assert compare.same_trees(source, target, []) == []
    with h5py.File(source) as old, h5py.File(target) as new:
        for name in ("1", "1/a", "1/a/a2", "many"):
            assert sorted(new[name]) == sorted(old[name])
            assert len(new[name]) == len(old[name])
            for group in (old[name], new[name]):
                assert group.id.get_create_plist().get_link_creation_order() == 3
    assert command("verify", target).returncode == 0


def test_names_that_netcdf4_invents_do_not_go_along(tmp_path):
    source = str(tmp_path / "source.nc")
    with sluice.open(source, "w") as file:
        file.put("a", numpy.arange(6.0).reshape(2, 3))
        with file.step(0.5):
            file.put("b", numpy.arange(3))
    target = str(tmp_path / "target.h5")
    assert command("convert", source, target).returncode == 0
    done = command("verify", target)
    assert done.returncode == 0, done.stdout
    with sluice.open(target) as file:
        numpy.testing.assert_array_equal(file["a"][...], numpy.arange(6.0).reshape(2, 3))
        numpy.testing.assert_array_equal(file["b"][0], numpy.arange(3))


def test_unlimited_virtual_datasets(tmp_path):
    for part in range(2):
        with h5py.File(tmp_path / f"part{part}.h5", "w") as file:
            file.create_dataset("x", data=numpy.arange(6.0).reshape(3, 2) + 10 * part,
                                maxshape=(None, 2))
    path = str(tmp_path / "virtual.h5")
    layout = h5py.VirtualLayout(shape=(3, 4), maxshape=(None, 4), dtype="f8")
    for part in range(2):
        source = h5py.VirtualSource(f"part{part}.h5", "x", shape=(3, 2), maxshape=(None, 2))
        layout[0:h5py.UNLIMITED, 2 * part:2 * part + 2] = source[0:h5py.UNLIMITED, :]
    with h5py.File(path, "w", libver=("earliest", "v110")) as file:
        file.create_virtual_dataset("x", layout, fillvalue=-1)
    with h5py.File(path) as file:
        expected = file["x"][...]
    assert expected.shape == (3, 4)
    with sluice.open(path) as file:
        numpy.testing.assert_array_equal(file["x"][...], expected)
    os.remove(tmp_path / "part1.h5")
    done = command("ls", path)
    assert "part1.h5 is not there" in done.stdout, done.stdout


def test_one_unreadable_dataset_refuses_nothing_else(tmp_path):
    """As a newer libhdf5 writes it."""
    path = str(tmp_path / "newer.h5")
    with h5py.File(path, "w", libver="latest") as file:
        file["good"] = numpy.arange(4)
        file["bad"] = numpy.arange(4.0)
        file["group/good"] = numpy.arange(3)
        file["bad"].attrs["note"] = "x"
        at = h5py.h5o.get_info(file["bad"].id).addr
    with open(path, "r+b") as raw:  # an object header of a version that nobody knows yet
        raw.seek(at)
        assert raw.read(4) == b"OHDR"
        raw.seek(at + 4)
        raw.write(b"\x7f")
    done = command("ls", path)
    assert done.returncode == 0, done.stderr
    assert "bad" in done.stdout
    with sluice.open(path) as file:
        assert sorted(file) == ["good", "group/good"]
        numpy.testing.assert_array_equal(file["good"][...], numpy.arange(4))
    done = command("verify", path)
    assert done.returncode == 2
    said = done.stdout + done.stderr
    assert "not written by Sluice" in said and "bad (" in said and "DAMAGED" not in said, said
    target = str(tmp_path / "target.h5")
    done = command("convert", path, target)
    assert done.returncode == 1 and "left out: bad (" in done.stderr
    with h5py.File(target) as file:
        assert list(file["group/good"]) == [0, 1, 2]


def test_a_boolean_and_texts_of_xarray(tmp_path):
    xarray = pytest.importorskip("xarray")
    path = str(tmp_path / "xarray.nc")
    xarray.Dataset({"flags": ("x", [True, False]), "names": ("x", ["a", "bb"]),
                    "y": ("x", [1.0, 2.0])}).to_netcdf(path, engine="netcdf4")
    with sluice.open(path) as file:
        assert list(file["flags"][...]) == [True, False]
        assert list(file["y"][...]) == [1.0, 2.0]
    target = str(tmp_path / "target.h5")
    assert command("convert", path, target).returncode == 0
    with h5py.File(target) as file:
        assert [t.decode() for t in file["names"][...]] == ["a", "bb"]
    shutil.copy(target, str(tmp_path / "target.nc"))
    with xarray.open_dataset(str(tmp_path / "target.nc"), engine="h5netcdf",
                             phony_dims="sort") as back:
        assert list(back["names"].values) == ["a", "bb"]
