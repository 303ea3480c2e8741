"""Copies that nccopy, h5repack and h5copy make of every kind of Sluice's files: the same values,
and a verdict of `sluice verify` that is true."""

import os
import shutil
import subprocess

import h5py
import netCDF4
import numpy
import pytest

import sluice

from compare import sluice as command

X = numpy.arange(1200.0).reshape(40, 30)
BIG = numpy.arange(1e5, dtype="f4").reshape(100, 1000)
STEPS = 3


def write(path, **options):
    with sluice.open(path, "w", **options) as file:
        file.define("x", "f8", X.shape, steps=True)
        file.define("fixed", "i4", (1000,))
        packs = options.get("hdf5_layout") != "grouped"
        file.define("packed", "f4", BIG.shape, steps=True, compress="deflate:4" if packs else "")
        file.define("holes", "f8", (6,), steps=True, partial=True, fill=-7.25)
        file.define("words", "S5", (7,))
        file.put("fixed", numpy.arange(1000, dtype="i4"))
        file.put("words", numpy.array([b"abc", b"", b"abcde"] + 4 * [b"x"]))
        file.attrs["title"] = "copied"
        for step in range(STEPS):
            with file.step(time=0.5 * step):
                file.put("x", X + step)
                file.put("packed", BIG + step)
                file.put("holes", numpy.array([1.0, 2.0]) + step, start=(2 * step,))


KINDS = {
    "plain.h5": {},
    "plain.nc": {},
    "grouped.h5": {"hdf5_layout": "grouped"},
    "set.h5": {"split_steps": 2},
    "set.nc": {"split_steps": 2},
}
COPIES = {
    "h5repack": ["h5repack"],
    "contiguous": ["h5repack", "-l", "CONTI"],
    "compact": ["h5repack", "-l", "fixed:COMPA"],
    "chunks": ["h5repack", "-l", "x:CHUNK=2x7x10"],
    "gzip": ["h5repack", "-f", "GZIP=9"],
    "shuffled": ["h5repack", "-f", "SHUF", "-f", "GZIP=3"],
    "nccopy": ["nccopy"],
    "nccopy-d": ["nccopy", "-d9"],
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("copies")
    for name, options in KINDS.items():
        write(str(folder / name), **options)
    return folder


def holes(step):
    row = numpy.full(6, -7.25)
    row[2 * step:2 * step + 2] = [1.0 + step, 2.0 + step]
    return row


def check(path):
    with sluice.open(path) as file:
        assert file.steps == STEPS
        assert list(file.times) == [0.5 * s for s in range(STEPS)]
        for step in range(STEPS):
            numpy.testing.assert_array_equal(file["x"].get(step), X + step)
            numpy.testing.assert_array_equal(file["packed"].get(step), BIG + step)
            numpy.testing.assert_array_equal(file["holes"].get(step), holes(step))
        numpy.testing.assert_array_equal(file["fixed"][...], numpy.arange(1000))
        assert list(file["words"][...]) == ["abc", "", "abcde", "x", "x", "x", "x"]
        assert file.attrs["title"] == "copied"


def copied(made, kind, copy):
    """The copy, or None where the other program refuses."""
    if copy.startswith("nccopy") and not kind.endswith(".nc"):
        return None
    if kind == "grouped.h5" and copy == "chunks":
        return None  # its x is many datasets
    target = str(made / f"{copy}-{kind}")
    program, *options = COPIES[copy]
    done = subprocess.run([program, *options, str(made / kind), target], capture_output=True,
                          text=True, timeout=120, check=False)
    return target if done.returncode == 0 else None


@pytest.mark.parametrize("copy", COPIES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_copy_is_what_it_is(made, kind, copy):
    target = copied(made, kind, copy)
    if target is None:
        # h5repack 1.10 makes no compact ones of virtual datasets.
        assert (copy.startswith("nccopy") and kind.endswith(".h5")) or copy == "chunks" or (
            copy == "compact" and kind.startswith("set")), copy
        return
    check(target)
    verdict = command("verify", target)
    assert verdict.returncode == 0, verdict.stdout
    # Parts that are gone, or changed, are nothing to a copy that holds the elements itself.
    with h5py.File(target) as file:
        holds_all = kind.startswith("set") and not any(
            file[name].is_virtual for name in ("x", "packed", "holes", "fixed"))
    if holds_all:
        parts = str(made / (kind + ".parts"))
        os.rename(parts, parts + "-away")
        try:
            check(target)
            assert "x" in command("verify", target).stdout
        finally:
            os.rename(parts + "-away", parts)


@pytest.mark.parametrize("options", [[], ["-d5"]])
def test_booleans_are_booleans_in_a_copy_of_nccopy(tmp_path, options):
    """nccopy gives every attribute a dimension, by which bytes and booleans differ in netCDF-4."""
    given = {"yes": True, "no": False, "byte": numpy.int8(1)}
    path, copy = str(tmp_path / "flags.nc"), str(tmp_path / "copy.nc")
    with sluice.open(path, "w") as file:
        file.attrs.update(given)
        file.put("x", X)
        file["x"].attrs.update(given)
    subprocess.run(["nccopy", *options, path, copy], check=True, timeout=60)
    with sluice.open(copy) as file:
        for attributes in (file.attrs, file["x"].attrs):
            assert {name: attributes[name] for name in given} == given
            assert type(attributes["yes"]) is bool and type(attributes["byte"]) is numpy.int8
    verdict = command("verify", copy)
    assert verdict.returncode == 0, verdict.stdout
    with netCDF4.Dataset(copy, "a") as file:
        file.setncattr("yes", numpy.int8(0))
    verdict = command("verify", copy)
    assert verdict.returncode == 3 and "attribute yes differs" in verdict.stdout, verdict.stdout


@pytest.mark.parametrize("kind", ["set.h5", "set.nc"])
def test_what_was_changed_in_a_copy_of_a_set_is_seen(made, kind):
    target = copied(made, kind, "gzip")
    with h5py.File(target, "r+") as file:
        file["x"][1, 2, 3] = -1.0
    with sluice.open(target) as file:
        assert file["x"].get(1)[2, 3] == -1.0
    with sluice.open(str(made / kind)) as file:
        assert file["x"].get(1)[2, 3] == X[2, 3] + 1


def test_a_set_of_which_one_variable_was_copied(made):
    target = str(made / "mixed.h5")
    shutil.copy(str(made / "set.h5"), target)
    with h5py.File(target, "r+") as file:
        values = file["x"][...]
        del file["x"]
        file["x"] = values
        assert file["holes"].is_virtual
    check(target)
    assert command("verify", target).returncode == 0


def test_damage_in_a_copy_is_found(made):
    for copy in ("contiguous", "chunks", "gzip"):
        target = copied(made, "plain.h5", copy)
        with h5py.File(target, "r+") as file:
            file["x"][1, 2, 3] = -1.0
        verdict = command("verify", target)
        assert verdict.returncode == 3, verdict.stdout
        assert "x" in verdict.stdout
        with sluice.open(target) as file:
            with pytest.raises(sluice.Error):
                file["x"].get(1)


def test_damage_in_chunks_that_are_parts_of_a_record(made):
    """Compressed, and in smaller chunks than they were put in."""
    source, target = str(made / "plain.h5"), str(made / "small-chunks.h5")
    for chunk in ("1x30x300", "1x100x999"):
        subprocess.run(["h5repack", "-l", f"packed:CHUNK={chunk}", source, target], check=True,
                       timeout=60)
        check(target)
        with h5py.File(target, "r+") as file:
            file["packed"][1, 50, 500] = -1.0
        with sluice.open(target) as file:
            packed = file["packed"]
            for box in (numpy.s_[...], numpy.s_[50:51, 500:501], numpy.s_[99:, 999:]):
                with pytest.raises(sluice.Error, match=r"packed.* does not match its checksum"):
                    packed.get(1)[...] if box is ... else packed[1][box]
            for step in (0, 2):
                numpy.testing.assert_array_equal(packed.get(step), BIG + step)


def test_a_copy_that_cannot_grow_is_not_appended_to(made):
    for copy in ("contiguous", "chunks", "gzip"):
        target = copied(made, "plain.h5", copy)
        with pytest.raises(sluice.Error, match="sluice convert"):
            sluice.open(target, "a")
        check(target)


@pytest.mark.parametrize("checksum", [True, False])
def test_a_log_that_filters_make_smaller_than_its_rows(tmp_path, checksum):
    source, target = str(tmp_path / "many.h5"), str(tmp_path / "copy.h5")
    steps = 4000
    with sluice.open(source, "w", durability="none", checksum=checksum) as file:
        for step in range(steps):
            with file.step(time=float(step)):
                file.put("v", numpy.array([step // 100.0]))
    chunks = {"v": "1000x1", "time": "1000", "sluice/commits": f"{steps}x8"}
    if checksum:
        chunks["sluice/checksums"] = "100000"
    each = [word for name, chunk in chunks.items()
            for word in ("-l", f"{name}:CHUNK={chunk}", "-f", f"{name}:SHUF", "-f",
                         f"{name}:GZIP=9")]
    subprocess.run(["h5repack", *each, source, target], check=True, timeout=60)
    assert os.path.getsize(target) < 64 * steps
    with sluice.open(target) as file:
        assert file.steps == steps
        numpy.testing.assert_array_equal(file["v"].get(steps - 1), [39.0])
    verdict = command("verify", target)
    assert verdict.returncode == 0, verdict.stdout


@pytest.mark.parametrize("kind", ["plain.h5", "plain.nc"])
def test_h5copy_of_a_variable(made, kind):
    target = str(made / ("h5copy-" + kind))
    subprocess.run(["h5copy", "-i", str(made / kind), "-o", target, "-s", "/x", "-d", "/x"],
                   check=True, timeout=60)
    with sluice.open(target) as file:
        numpy.testing.assert_array_equal(file["x"][...], [X + s for s in range(STEPS)])
    assert command("verify", target).returncode == 2  # has no checksums


@pytest.mark.parametrize("strategy", ["file-per-process", "file-per-node"])
def test_a_set_of_many_ranks_that_move(tmp_path, strategy):
    """As four ranks, two of a node, wrote it, with another decomposition in every step."""
    program = tmp_path / "program.py"
    program.write_text(f"""
import numpy
import sluice
from mpi4py import MPI
rank, ranks = MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size
options = {{"ranks_per_node": 2}} if "{strategy}" == "file-per-node" else {{}}
for ending in ("h5", "nc"):
    with sluice.open("moving." + ending, "w", comm=MPI.COMM_WORLD, strategy="{strategy}",
                     **options) as file:
        file.define("x", "f8", (40,), steps=True)
        for step, shift in enumerate((0, 3, 7)):
            cuts = [0] + [10 * r + shift for r in range(1, ranks)] + [40]
            low, high = cuts[rank:rank + 2]
            with file.step():
                file.put("x", numpy.arange(low, high, dtype="f8") + step, start=(low,))
""")
    launcher = os.environ["SLUICE_MPIEXEC"].split()
    subprocess.run([*launcher, "-n", "4", os.environ["SLUICE_PYTHON"], str(program)], cwd=tmp_path,
                   check=True, timeout=120)
    for ending in ("h5", "nc"):
        path = str(tmp_path / ("moving." + ending))
        done = command("verify", path)
        assert done.returncode == 0 and "ok" in done.stdout, done.stdout
        parts = sorted(os.listdir(path + ".parts"))
        assert len(parts) == (4 if strategy == "file-per-process" else 2)
        for name in parts:
            done = command("verify", os.path.join(path + ".parts", name))
            assert done.returncode == 0, done.stdout
    subprocess.run(["nccopy", str(tmp_path / "moving.nc"), str(tmp_path / "copy.nc")], check=True,
                   timeout=60)
    with sluice.open(str(tmp_path / "copy.nc")) as file:
        for step in range(3):
            numpy.testing.assert_array_equal(file["x"].get(step), numpy.arange(40.0) + step)
    with netCDF4.Dataset(tmp_path / "copy.nc") as file:
        assert file["x"].shape == (3, 40)


def test_vtk_opens_netcdf(made):
    """Its CF reader takes the numbers of dimensions for positions."""
    vtk = pytest.importorskip("vtk")
    numpy_support = pytest.importorskip("vtk.util.numpy_support")
    path = str(made / "vtk.nc")
    values = numpy.arange(12.0).reshape(3, 4)
    with sluice.open(path, "w") as file:
        file.define("field", "f8", values.shape, steps=True, dimensions=("y", "x"))
        for step in range(STEPS):
            with file.step(time=float(step)):
                file.put("field", values + step)
    reader = vtk.vtkNetCDFCFReader()
    reader.SetFileName(path)
    reader.Update()
    array = reader.GetOutputDataObject(0).GetPointData().GetArray("field")
    expected = [(values + step).ravel() for step in range(STEPS)]
    numpy.testing.assert_array_equal(numpy_support.vtk_to_numpy(array),
                                     numpy.concatenate(expected))
    with h5py.File(path) as file:
        numbers = {name: int(file[name].attrs["_Netcdf4Dimid"]) for name in ("time", "y", "x")}
    assert sorted(numbers.values()) == [0, 1, 2]
