"""What sluice convert may not take over, or cannot: named, and nothing else is harmed."""

import h5py
import numpy
import pytest

import sluice

from compare import same_trees, sluice as command


def external(file, name, kind, elements, raw):
    """A dataset whose elements are in a file of its own."""
    list_ = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    kind = h5py.h5t.py_create(kind, logical=True)
    list_.set_external(str(raw).encode(), 0, 2 * elements * kind.get_size())
    h5py.h5d.create(file.id, name.encode(), kind, h5py.h5s.create_simple((elements,)), list_)


KINDS = {"refs": h5py.ref_dtype, "regions": h5py.regionref_dtype, "texts": h5py.string_dtype(),
         "lists": h5py.vlen_dtype("i4"),
         "fields": numpy.dtype([("i", "i4"), ("to", h5py.ref_dtype)]),
         "plain_fields": numpy.dtype([("i", "i4"), ("f", "f4")])}


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_written_to_files_that_are_only_named(tmp_path, kind):
    victim = tmp_path / "victim"
    content = bytes(range(1, 201)) if kind == "plain_fields" else bytes(200)
    source, target = str(tmp_path / "source.h5"), str(tmp_path / "target.h5")
    with h5py.File(source, "w") as file:
        file["a"] = numpy.arange(5.0)
        external(file, "elsewhere", KINDS[kind], 4, victim)
        address = h5py.h5o.get_info(file["a"].id).addr
    if kind in ("refs", "fields"):  # that lead to a dataset, so that they change
        one = address.to_bytes(8, "little")
        content = (one if kind == "refs" else bytes(4) + one) * 4 + bytes(40)
    victim.write_bytes(content)
    done = command("convert", source, target)
    assert victim.read_bytes() == content
    if kind == "plain_fields":
        assert done.returncode == 0, done.stderr
    else:
        assert done.returncode == 1, done.stderr
        assert "left out: elsewhere (" in done.stderr and "in other files" in done.stderr
    with h5py.File(target) as file:
        assert list(file["a"]) == [0, 1, 2, 3, 4]
        assert ("elsewhere" in file) == (kind == "plain_fields")


def test_nothing_is_written_to_the_sources_of_a_virtual_dataset(tmp_path):
    source, target = str(tmp_path / "source.h5"), str(tmp_path / "target.h5")
    other = tmp_path / "other.h5"
    with h5py.File(other, "w") as file:
        file["a"] = numpy.arange(3)
        file.create_dataset("refs", data=[file["a"].ref] * 2, dtype=h5py.ref_dtype)
    content = other.read_bytes()
    with h5py.File(source, "w") as file:
        file["b"] = numpy.arange(3)
        file.create_dataset("own", data=[file["b"].ref] * 2, dtype=h5py.ref_dtype)
        for name, place in (("theirs", "other.h5"), ("ours", ".")):
            layout = h5py.VirtualLayout(shape=(2,), dtype=h5py.ref_dtype)
            layout[:] = h5py.VirtualSource(place, "refs" if place != "." else "own", shape=(2,),
                                           dtype=h5py.ref_dtype)
            file.create_virtual_dataset(name, layout)
    done = command("convert", source, target)
    assert done.returncode == 0, done.stderr
    assert other.read_bytes() == content
    with h5py.File(target) as file:
        for name in ("own", "ours"):
            assert [file[r] for r in file[name][...]] == [file["b"]] * 2


def test_no_time_is_appended_to_a_file_that_is_only_named(tmp_path):
    path, victim = str(tmp_path / "run.h5"), tmp_path / "victim"
    with sluice.open(path, "w") as file:
        for number in range(2):
            with file.step(time=float(number)):
                file.put("x", numpy.arange(3.0))
    with h5py.File(path, "r+") as file:
        del file["time"]
        list_ = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        list_.set_external(str(victim).encode(), 0, h5py.h5f.UNLIMITED)
        space = h5py.h5s.create_simple((2,), (h5py.h5s.UNLIMITED,))
        h5py.h5d.create(file.id, b"time", h5py.h5t.IEEE_F64LE, space, list_)
    content = bytes(range(100))
    victim.write_bytes(content)
    with pytest.raises(sluice.Error):
        with sluice.open(path, "a") as file:
            with file.step(time=2.0):
                file.put("x", numpy.arange(3.0))
    assert victim.read_bytes() == content


def test_a_dataset_whose_chunks_are_not_found_is_named(tmp_path):
    source, target = str(tmp_path / "source.h5"), str(tmp_path / "target.h5")
    with h5py.File(source, "w") as file:
        file["a"] = numpy.arange(3)
        file.create_dataset("texts", data=["some", "words"] * 50, dtype=h5py.string_dtype(),
                            chunks=(10,))
        file.create_dataset("empty", (7,), dtype=h5py.string_dtype(), chunks=(5,))
    with open(source, "r+b") as raw:
        content = raw.read()
        # The index of chunks is a node of type 1, those of groups are of type 0.
        at = content.index(b"TREE\1")
        assert content.count(b"TREE\1") == 1
        raw.seek(at)
        raw.write(b"EERT")
    done = command("convert", source, target)
    assert done.returncode == 1, done.stderr
    assert done.stderr.count("left out: ") == 1 and "left out: texts (" in done.stderr, done.stderr
    with h5py.File(target) as file:
        assert sorted(set(file) - {"sluice"}) == ["a", "empty"]
        assert file["empty"].shape == (7,)


def test_references_to_what_is_left_out_are_null(tmp_path):
    source, target = str(tmp_path / "source.h5"), str(tmp_path / "target.h5")
    fields = numpy.dtype([("i", "i4"), ("to", h5py.ref_dtype)])
    with h5py.File(source, "w") as file:
        external(file, "away", h5py.string_dtype(), 2, tmp_path / "raw")  # which is left out
        file["b"] = numpy.arange(3)
        refs = [file["away"].ref, file["b"].ref]
        file.create_dataset("refs", data=refs, dtype=h5py.ref_dtype)
        lists = file.create_dataset("lists", (1,), h5py.vlen_dtype(h5py.ref_dtype))
        lists[0] = numpy.array(refs, dtype=h5py.ref_dtype)
        file.create_dataset("fields", data=numpy.array([(1, refs[0]), (2, refs[1])], fields))
        file["b"].attrs["refs"] = numpy.array(refs, dtype=h5py.ref_dtype)
    done = command("convert", source, target)
    assert done.returncode == 1, done.stderr
    for name in ("refs", "lists", "fields", "b: attribute refs"):
        assert f"left out: {name} (references to what is not there)" in done.stderr, done.stderr
    assert done.stderr.count("left out: ") == 5
    with h5py.File(target) as file:
        for found in (file["refs"][...], file["lists"][0], file["fields"]["to"],
                      file["b"].attrs["refs"]):
            assert not found[0] and file[found[1]] == file["b"]
        assert list(file["fields"]["i"]) == [1, 2]


def test_references_that_cannot_be_read_are_left_out(tmp_path):
    """With all names, and then references to them are null, whatever was translated first."""
    source, target = str(tmp_path / "source.h5"), str(tmp_path / "target.h5")
    with h5py.File(source, "w") as file:
        file["b"] = numpy.arange(3)
        for name in ("a_many", "m_many"):
            many = file.create_dataset(name, (33 << 20,), h5py.ref_dtype, chunks=(1 << 10,))
            many[0] = file["b"].ref
        file["z/name"] = file["m_many"]
        file.create_dataset("c_refs", data=[file["m_many"].ref, file["b"].ref],
                            dtype=h5py.ref_dtype)
        file["b"].attrs["to"] = file["m_many"].ref
    done = command("convert", source, target)
    assert done.returncode == 1, done.stderr
    for name in ("a_many", "m_many"):
        assert f"left out: {name} ({name}: has 276824064 bytes, more than" in done.stderr, \
            done.stderr
    assert "left out: z/name (the same as m_many, which is left out)" in done.stderr
    assert "left out: c_refs (references to what is not there)" in done.stderr
    with h5py.File(target) as file:
        assert sorted(set(file) - {"sluice"}) == ["b", "c_refs", "z"]
        assert list(file["z"]) == []
        assert not file["c_refs"][0] and file[file["c_refs"][1]] == file["b"]
        assert not file["b"].attrs["to"]


@pytest.mark.parametrize("form", ["grouped", "openpmd"])
def test_what_others_put_into_the_groups_of_steps_is_kept(tmp_path, form):
    options = {"hdf5_layout": "grouped"} if form == "grouped" else {"format": "openpmd"}
    group = "step_000003" if form == "grouped" else "data/30"
    name = "x" if form == "grouped" else "meshes/x"
    source = str(tmp_path / "source.h5")
    with sluice.open(source, "w", **options) as file:
        for number in range(5):
            if form == "openpmd":
                file.attrs_of("time")["iteration"] = 10 * number
            with file.step(time=float(number)):
                file.put(name, numpy.arange(3.0) + number)
    with h5py.File(source, "r+") as file:
        file[group + "/analysis"] = numpy.arange(4)
        file[group + "/deep/er"] = numpy.array([(1, 2.5)], dtype=[("i", "i4"), ("f", "f8")])
        file[group + "/deep"].attrs["by"] = "somebody"
        file[group + "/link"] = h5py.SoftLink("/" + group + "/analysis")
        file.create_group(group + "/empty/er")
        file[group].attrs["note"] = "of the group"
    for number, more in enumerate(([], ["--compress", "deflate:4"])):
        target = str(tmp_path / f"target{number}.h5")
        done = command("convert", source, target, *more)
        assert done.returncode == 0, done.stderr
        with h5py.File(target) as file:
            assert list(file[group + "/analysis"]) == [0, 1, 2, 3]
            assert list(file[group + "/link"]) == [0, 1, 2, 3]
            assert file[group + "/deep/er"]["f"][0] == 2.5
            assert file[group + "/deep"].attrs["by"] == "somebody"
            assert list(file[group + "/empty"]) == ["er"]
            assert file[group].attrs["note"] == "of the group"
        with sluice.open(target) as file:
            assert file.steps == 5
            for step in range(5):
                numpy.testing.assert_array_equal(file[name][step], numpy.arange(3.0) + step)
        done = command("verify", target)
        assert done.returncode == 0, done.stdout
        again = str(tmp_path / f"again{number}.h5")
        assert command("convert", target, again).returncode == 0
        assert same_trees(target, again, []) == []
    zarr = str(tmp_path / "target.zarr")
    done = command("convert", source, zarr)
    assert done.returncode == 1, done.stderr
    for below in ("analysis", "deep/er", "link"):
        assert f"left out: {group}/{below} (of another program, in the group of a step)" in \
            done.stderr, done.stderr
    words = "an empty group of another program, in the group of a step"
    assert f"left out: {group}/empty/er ({words})" in done.stderr, done.stderr
    if form == "grouped":
        assert (f"left out: {group}: attribute note (of another program, in the group of a step)"
                in done.stderr), done.stderr
    assert done.stderr.count("left out: ") == (5 if form == "grouped" else 4), done.stderr
    with sluice.open(zarr) as file:
        assert sorted(file) == sorted([name, "time"])


def test_attributes_that_others_gave_to_steps_are_kept_or_named(tmp_path):
    source, target = str(tmp_path / "source.h5"), str(tmp_path / "target.h5")
    with sluice.open(source, "w", hdf5_layout="grouped") as file:
        file.attrs_of("x")["units"] = "m"
        file.attrs_of("time")["units"] = "s"
        for number in range(3):
            with file.step(time=float(number)):
                file.put("x", numpy.arange(3.0) + number)
                file.put("deep/flag", numpy.arange(3) == number)
    done = command("convert", source, target)
    assert done.returncode == 0, done.stderr  # Sluice's own attributes are none of others
    with h5py.File(source, "r+") as file:
        file["step_000001"].attrs["note"] = "of the group"
        file["step_000002/x"].attrs["note"] = "of the step"
    for to, why in ((str(tmp_path / "other.h5"), "the new file has no such place"),
                    (str(tmp_path / "target.zarr"), "of another program, in the group of a step")):
        done = command("convert", source, to)
        assert done.returncode == 1, done.stderr
        for owner in ("step_000001", "step_000002/x"):
            assert f"left out: {owner}: attribute note ({why})" in done.stderr, done.stderr
        assert done.stderr.count("left out: ") == 2, done.stderr
