"""A variable, or its dimension, has the name of an object that another program has put into the
file. In HDF5 such a dimension is a label alone; everything else is refused."""

import os
import subprocess

import h5py
import numpy
import pytest

import sluice


def labels(dataset):
    return [dimension.label for dimension in dataset.dims]


def scales(dataset):
    return [[scale.name for scale in dimension.values()] for dimension in dataset.dims]


def test_a_name_that_another_object_has_is_a_label_only(tmp_path):
    path = str(tmp_path / "taken.h5")
    with sluice.open(path, "w") as file, file.step(time=0.0):
        file.put("v", numpy.arange(4.0))
    with h5py.File(path, "r+") as file:
        file.create_group("g")
        file["s"] = h5py.SoftLink("/nowhere")
        file["c"] = numpy.zeros(3, [("a", "i4"), ("b", "f8")])
    for name in ("g", "s", "c", "x", "of_attributes"):
        with sluice.open(path, "a") as file:
            file.define("of_" + name, "f8", (4,), steps=True, partial=True, dimensions=(name,))
            if name == "of_attributes":
                file.attrs_of(name)["note"] = "a group"
            with file.step(time=1.0):
                file.put("v", numpy.arange(4.0))
                file.put("of_" + name, numpy.arange(4.0) + 1)
    with h5py.File(path) as file:
        for name in ("g", "s", "c"):
            assert labels(file["of_" + name]) == ["time", name]
            assert scales(file["of_" + name]) == [[], []]
        assert scales(file["of_x"]) == [["/time"], ["/x"]]


PROGRAM = """
import sys
import numpy
import sluice
from mpi4py import MPI
path, *words = sys.argv[1:]

def put(name, dimension):
    with sluice.open(path, "a", comm=MPI.COMM_WORLD, strategy="shared") as file:
        file.define(name, "f8", (4,), dimensions=(dimension,))
        file.put(name, numpy.ones(2), start=(2 * MPI.COMM_WORLD.rank,))

for name, dimension in zip(words[::2], words[1::2]):
    try:
        put(name, dimension)
    except sluice.Error as error:
        said = MPI.COMM_WORLD.gather(f"{error.code.name}: {error}")
        if MPI.COMM_WORLD.rank == 0:
            print(*said, sep="\\n", flush=True)
put("fine", "z")
"""


@pytest.mark.parametrize("ending", ["nc", "h5"])
@pytest.mark.parametrize("made", ["group", "type", "link", "compound"])
def test_a_name_that_another_object_has_is_refused_on_every_rank(tmp_path, ending, made):
    path, program = str(tmp_path / f"taken.{ending}"), tmp_path / "program.py"
    program.write_text(PROGRAM)
    with sluice.open(path, "w") as file:
        file.put("v", numpy.arange(3.0))
    with h5py.File(path, "r+") as file:
        if made == "group":
            file.create_group("taken")
        else:
            file["taken"] = {"type": numpy.dtype("i4,f8"), "link": h5py.SoftLink("/nowhere"),
                             "compound": numpy.zeros(3, "i4,f8")}[made]
    subjects = {("taken", "other"): "define taken", ("taken", "taken"): "define taken"}
    if ending == "nc":
        subjects["w", "taken"] = "dimension taken"  # in HDF5 a label alone
    if made != "group":
        subjects["taken/w", "d"] = "define taken/w"
    words = [word for pair in subjects for word in pair]
    told = subprocess.run([*os.environ["SLUICE_MPIEXEC"].split(), "-n", "2",
                           os.environ["SLUICE_PYTHON"], str(program), path, *words],
                          stdout=subprocess.PIPE, text=True, timeout=120,
                          check=True).stdout.splitlines()
    assert told == [f"EXISTS: rank 0: {path}: {subject}: another program made taken in this file: "
                    "use another name, or write a new file"
                    for subject in subjects.values() for _ in range(2)]
    with sluice.open(path) as file:
        assert file["fine"][...].tolist() == 4 * [1.0]
