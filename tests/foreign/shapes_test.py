"""Datasets of which another program has changed the shape or the type: those that Sluice keeps for
itself, and steps with a dataset of their own. An error says so, and nothing is read or written
beyond what there is."""

import os
import re

import h5py
import numpy
import pytest

import sluice

LISTS = ["NumberOfPoints", "NumberOfCells", "NumberOfConnectivityIds", "Steps/Values",
         "Steps/PartOffsets", "Steps/NumberOfParts", "Steps/PointOffsets",
         "Steps/PointDataOffsets/u"]
TABLES = ["Steps/CellOffsets", "Steps/ConnectivityIdOffsets"]  # a column for each topology
RANKS = [0, 1, 2, 9, 32]


def put_step(file, step):
    with file.step(time=0.5 * step):
        file.put_joined("VTKHDF/Points", numpy.full((4, 3), float(step)), shape=(9, 3))
        file.put_joined("VTKHDF/Connectivity", numpy.arange(4), shape=(9,))
        file.put_joined("VTKHDF/Offsets", numpy.array([0, 4]), shape=(9,))
        file.put_joined("VTKHDF/Types", numpy.array([9], "u1"), shape=(8,))
        file.put_joined("VTKHDF/PointData/u", numpy.full(4, float(step)), shape=(9,))


@pytest.fixture(scope="module")
def mesh(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("mesh") / "mesh.vtkhdf")
    with sluice.open(path, "w", log="off") as file:
        file.attrs_of("VTKHDF")["Type"] = "UnstructuredGrid"
        for step in range(3):
            put_step(file, step)
    return path


def replaced(source, target, name, make):
    """A copy in which `make` has made another dataset of that name, and of the same time."""
    with open(source, "rb") as old, open(target, "wb") as new:
        new.write(old.read())
    with h5py.File(target, "r+") as file:
        kind = file[name].dtype
        attributes = dict(file[name].attrs)
        del file[name]
        made = make(file, kind)
        for key, value in attributes.items():
            if key not in ("CLASS", "NAME", "REFERENCE_LIST", "DIMENSION_LIST"):
                made.attrs[key] = value
    stat = os.stat(source)
    os.utime(target, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def of_rank(name, rank):
    def make(file, kind):
        shape = (3,) * rank if rank < 3 else (3,) + (1,) * (rank - 1)
        options = {"maxshape": (None,) + shape[1:], "chunks": (4,) + shape[1:]} if rank else {}
        return file.create_dataset(name, shape, kind, **options)
    return make


def goes_on(path, **options):
    with sluice.open(path, "a", log="off", **options) as file:
        put_step(file, file.steps)


@pytest.mark.parametrize("rank", RANKS)
def test_lists_of_vtk(mesh, tmp_path, rank):
    for name in (LISTS if rank != 1 else []) + (TABLES if rank != 2 else []):
        path = str(tmp_path / "m.vtkhdf")
        replaced(mesh, path, "VTKHDF/" + name, of_rank("VTKHDF/" + name, rank))
        for options in ({}, {"restart_after": 0}):
            with pytest.raises(sluice.Error) as caught:
                goes_on(path, **options)
            assert caught.value.code == sluice.Code.DAMAGED, (name, options, caught.value)
            assert name in str(caught.value) and "number of dimensions" in str(caught.value)
        with sluice.open(path) as file:
            assert file.steps == 3


def test_lists_of_vtk_are_not_written_to_other_files(mesh, tmp_path):
    victim = tmp_path / "victim"
    content = bytes(1000)
    for name in LISTS + TABLES:
        shape = (3, 1) if name in TABLES else (3,)

        def external(file, kind, name=name, shape=shape):
            list_ = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            list_.set_external(str(victim).encode(), 0, h5py.h5f.UNLIMITED)
            space = h5py.h5s.create_simple(shape, (h5py.h5s.UNLIMITED, *shape[1:]))
            return h5py.Dataset(h5py.h5d.create(file.id, b"VTKHDF/" + name.encode(),
                                                h5py.h5t.py_create(kind), space, list_))
        victim.write_bytes(content)
        path = str(tmp_path / "m.vtkhdf")
        replaced(mesh, path, "VTKHDF/" + name, external)
        with pytest.raises(sluice.Error) as caught:
            goes_on(path)
        assert victim.read_bytes() == content, name
        assert "chunks" in str(caught.value), caught.value
        assert caught.value.code == sluice.Code.UNSUPPORTED, caught.value
        assert "append to a file that sluice convert made of it" in str(caught.value)


@pytest.mark.parametrize("rank", [0, 2, 8])
@pytest.mark.parametrize("options", [{}, {"restart_after": 0}])
def test_time_of_another_rank_is_no_list_of_times(tmp_path, rank, options):
    source, path = str(tmp_path / "source.h5"), str(tmp_path / "run.h5")
    with sluice.open(source, "w", log="off") as file:
        for step in range(3):
            with file.step(time=0.5 * step):
                file.put("x", numpy.full(3, float(step)))
    replaced(source, path, "time", of_rank("time", rank))
    with h5py.File(path) as file:
        before = file["time"].shape, file["time"][()].tolist()
    with sluice.open(path, "a", log="off", **options) as file:
        first = file.steps
        with file.step(time=9.0):
            file.put("x", numpy.full(3, 9.0))
    with sluice.open(path) as file:
        assert (file.steps, first) == ((2, 1) if options else (4, 3))
        numpy.testing.assert_array_equal(file["x"][first], numpy.full(3, 9.0))
        assert file.times[first] == 9.0
    with h5py.File(path) as file:
        assert (file["time"].shape, file["time"][()].tolist()) == before


OTHER_STEPS = {
    "has another type": numpy.arange(8, dtype="f4"),
    "has another type than": numpy.arange(8),
    "has another type than the other steps": numpy.arange(8, dtype=">f8"),
    "has shape (3), the other steps have (8)": numpy.arange(3.0),
    "has shape (9), the other steps have (8)": numpy.arange(9.0),
    "has another number of dimensions": numpy.ones((2, 4)),
}


@pytest.mark.parametrize("checksum", [True, False])
@pytest.mark.parametrize("message", OTHER_STEPS)
def test_a_step_that_is_not_like_the_others(tmp_path, message, checksum):
    path = str(tmp_path / "grouped.h5")
    with sluice.open(path, "w", hdf5_layout="grouped", checksum=checksum) as file:
        for step in range(3):
            with file.step(time=float(step)):
                file.put("v", numpy.arange(8.0) + step)
    with h5py.File(path, "r+") as file:
        del file["step_000001/v"]
        file["step_000001/v"] = OTHER_STEPS[message]
    with sluice.open(path) as file:
        with pytest.raises(sluice.Error, match="v, step 1: " + re.escape(message)):
            file["v"].get(1)
        for step in (0, 2):
            numpy.testing.assert_array_equal(file["v"].get(step), numpy.arange(8.0) + step)
