"""A dimension has the name of an object that another program has put into the file: the variable
has labels, and no scales."""

import h5py
import numpy

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
