"""sluice convert of files of other programs: names that the new file cannot have are left out."""

import json
import os
import unittest

import h5py
import netCDF4
import numpy
import zarr

from command import BAD_INPUT, DIFFERS, FINE, converted, new_path, sluice

ENDINGS = (".h5", ".nc", ".zarr", ".icechunk")


def fill(file, kind):
    """A file that has an object where Sluice keeps its own group."""
    file["kept"] = numpy.arange(3.0)
    if kind == "dataset":
        file["sluice"] = numpy.ones(3)
        file["sluice"].attrs["note"] = 1
    elif kind == "group":
        file["sluice/x"], file["sluice/g/y"] = numpy.ones(3), 1.0
        file["sluice"].attrs["note"] = 1
        file["sluicex"] = numpy.ones(3)
    elif kind == "empty":
        file.create_group("sluice").attrs["note"] = 1
    elif kind == "linked":
        file["sluice/x"] = file["kept"]
    elif kind == "scale":
        file["sluice"] = numpy.ones(3)
        file["sluice"].make_scale("sluice")
        file["kept"].dims[0].attach_scale(file["sluice"])


def group_time(flags, has_variable):
    """A file of each format with a group `time` that has the attribute `flag`."""
    h5, nc, store = new_path(), new_path(".nc"), new_path(".zarr")
    with h5py.File(h5, "w") as file:
        file["ok"] = numpy.arange(3.0)
        file.create_group("time").attrs["flag"] = flags
        if has_variable:
            file["time/x"] = numpy.arange(3.0)
    with netCDF4.Dataset(nc, "w") as file:
        file.createDimension("x", 3)
        file.createVariable("ok", "f8", ("x",))[:] = 1.0
        file.createGroup("time").flag = flags
        if has_variable:
            file["time"].createVariable("x", "f8", ("x",))[:] = 1.0
    group = zarr.open_group(store, mode="w")
    group.create_array("ok", shape=(3,), dtype="f8")[...] = 1.0
    group.create_group("time").attrs["flag"] = flags
    if has_variable:
        group.create_array("time/x", shape=(3,), dtype="f8")[...] = 1.0
    return h5, nc, store


class Reserved(unittest.TestCase):
    def convert(self, source, ending):
        """The new file and the names that are listed as left out, if there are any."""
        target = new_path(ending)
        result = sluice("convert", source, target, "--json")
        left = {one.split()[0].rstrip(":") for one in json.loads(result.stdout)["left_out"]}
        self.assertEqual(result.returncode, DIFFERS if left else FINE, result.stderr)
        self.assertEqual(sluice("verify", target).returncode, FINE)
        dropped = sluice("convert", source, new_path(ending), "--drop")
        self.assertEqual(dropped.returncode, FINE, dropped.stderr)
        return target, left

    def test_an_object_called_sluice_does_not_fail_the_others(self):
        variables = {"dataset": {"sluice"}, "group": {"sluice/x", "sluice/g/y", "sluice"},
                     "empty": {"sluice"}, "linked": {"sluice/x"}, "scale": {"sluice"}}
        for kind, all_of_them in variables.items():
            source = new_path()
            with h5py.File(source, "w") as file:
                fill(file, kind)
            for ending in ENDINGS:
                with self.subTest(kind=kind, ending=ending):
                    target, left = self.convert(source, ending)
                    # Copied as a whole, the file lacks one object: the group, or the dataset.
                    self.assertEqual(left - {"kept"},
                                     {"sluice"} if ending == ".h5" else all_of_them)
                    # Copied, it loses its scale with that.
                    self.assertEqual("kept" in left, (kind, ending) == ("scale", ".h5"))
                    for name in ("kept", "sluicex")[:2 if kind == "group" else 1]:
                        told = sluice("dump", target, name)
                        self.assertEqual(told.returncode, FINE, told.stderr)

    def test_nothing_else_is_there(self):
        source = new_path()
        with h5py.File(source, "w") as file:
            file["sluice"] = numpy.ones(3)
        for ending in (".nc", ".zarr", ".npy"):
            target = new_path(ending)
            result = sluice("convert", source, target)
            self.assertEqual(result.returncode, BAD_INPUT, result.stderr)
            self.assertIn("choose another name", result.stderr)
            self.assertFalse(os.path.exists(target))

    def test_a_dimension_called_sluice_has_no_name_in_netcdf(self):
        source, target = new_path(), new_path(".nc")
        with h5py.File(source, "w") as file:
            file["v"] = numpy.arange(3.0)
            file["v"].dims[0].label = "sluice"
        result = sluice("convert", source, target)
        self.assertEqual(result.returncode, FINE, result.stderr)
        self.assertIn("the names of the dimensions of v are left out", result.stderr)
        with netCDF4.Dataset(target) as file:
            self.assertEqual(file["v"].dimensions, ("dim_3",))

    def test_what_has_the_name_of_a_dimension_is_listed(self):
        """Of a label alone Sluice makes a scale, which is an object of that name."""
        for kind in ("compound", "type", "group", "link", "further name"):
            source = new_path()
            with h5py.File(source, "w") as file:
                file["v"], file["w"] = numpy.arange(4.0), numpy.arange(3.0)
                file["v"].dims[0].label, file["w"].dims[0].label = "x", "y"
                if kind == "group":
                    file.create_group("x").attrs["note"] = 1
                elif kind == "further name":
                    file["x"] = file["c"] = numpy.zeros(4, "i4,f8")
                else:
                    file["x"] = {"type": numpy.dtype("i4,f8"), "link": h5py.SoftLink("/w"),
                                 "compound": numpy.zeros(4, "i4,f8")}[kind]
                file["y"] = numpy.arange(3.0)
                file["y"].make_scale("y")
                file["w"].dims[0].attach_scale(file["y"])
            target, left = self.convert(source, ".h5")
            self.assertEqual(left, {"x"}, kind)
            with h5py.File(target) as file:
                self.assertEqual([scale.name for scale in file["v"].dims[0].values()], ["/x"])
                self.assertEqual(len(file["x"].attrs.keys() & {"note"}), 0)
                self.assertEqual(file["w"][...].tolist(), [0.0, 1.0, 2.0])

    def test_attributes_of_a_group_called_time_stay_or_are_listed(self):
        """The name is that of the times of steps, which a file without steps does not have."""
        flags = [1.5, 2.0]
        for has_variable in (False, True):
            for source in group_time(flags, has_variable):
                for ending in ENDINGS:
                    with self.subTest(has_variable=has_variable, source=source, ending=ending):
                        target, left = self.convert(source, ending)
                        kept = has_variable or not ending.startswith((".h5", ".nc")) or (
                            # Copied as a whole.
                            os.path.splitext(source)[1] == ending or
                            (source.endswith(".nc") and ending == ".h5"))
                        self.assertEqual(left, set() if kept else {"time"})
                        if ending in (".h5", ".nc"):
                            with h5py.File(target) as file:
                                self.assertEqual("time" in file, kept)
                                found = file["time"].attrs["flag"].tolist() if kept else flags
                        else:
                            made = converted(target, ending=".zarr")
                            found = zarr.open_group(made, mode="r")["time"].attrs["flag"]
                        self.assertEqual(found, flags)


if __name__ == "__main__":
    unittest.main()
