"""sluice ls: what it shows is what h5py finds, of files by Sluice and by others."""

import glob
import json
import os
import subprocess
import sys
import unittest

import h5py
import netCDF4
import numpy
import zarr

from command import BAD_INPUT, FINE, new_path, path, said, sluice


COMES_AND_GOES = """
import os, sys
while True:
    names = [os.path.join(sys.argv[1], f"c.{i}.new") for i in range(300)]
    for name in names:
        open(name, "w").close()
    os.makedirs(os.path.join(sys.argv[1], "folder/of"), exist_ok=True)
    for name in names:
        os.remove(name)
    os.removedirs(os.path.join(sys.argv[1], "folder/of"))
"""


def foreign():
    """A file with what other tools make."""
    target = new_path()
    with h5py.File(target, "w") as file:
        file["big"] = numpy.arange(4, dtype=">f8")
        file.create_dataset("packed", data=numpy.zeros((64, 8), "i4"), chunks=(16, 8),
                            compression="gzip", shuffle=True)
        file["words"] = ["variable", "length"]
        file.create_dataset("none", data=h5py.Empty("f8"))
        file["deep/er/value"] = 1.5
        file["deep"].attrs["note"] = "of a group"
        file["evil\x1b[31m"] = numpy.int8(1)
        file["packed"].attrs["units"] = "K"
    return target


class Ls(unittest.TestCase):
    def test_table_of_a_run(self):
        result = sluice("ls", "spins.h5")
        self.assertEqual((result.returncode, result.stderr), (FINE, ""))
        rows = {line.split()[0]: line.split() for line in result.stdout.splitlines() if line}
        self.assertEqual(rows["coordinates"][1:],
                         ["float64", "30", "x", "3", "-", "nm", "720", "B", "contiguous"])
        self.assertEqual(rows["spins"][1:7], ["float64", "30", "x", "3", "4", "1"])
        self.assertEqual(rows["observables/energy"][1:5], ["float32", "scalar", "4", "eV"])
        self.assertIn("4 steps, time 0 to 1.5, 5 commits", result.stdout)
        self.assertIn("title    a film of iron", result.stdout)
        self.assertNotIn("places", result.stdout)
        self.assertIn("long_name  places", sluice("ls", "spins.h5", "--attributes").stdout)

    def test_fits_80_columns(self):
        for name in ("spins.h5", "types.h5", "grid.h5", "partial.h5"):
            for line in sluice("ls", name, "--attributes").stdout.splitlines():
                self.assertLessEqual(len(line), 80)
                self.assertEqual(line, line.rstrip())

    def test_json_is_what_h5py_finds(self):
        for name in ("spins.h5", "types.h5", "grid.h5"):
            told = json.loads(sluice("ls", name, "--json").stdout)
            with h5py.File(path(name)) as file:
                found = {}
                file.visititems(lambda key, item: found.update({key: item})
                                if isinstance(item, h5py.Dataset) else None)
                found = {k: v for k, v in found.items() if not k.startswith("sluice/")}
                self.assertEqual({v["name"] for v in told["variables"]}, set(found))
                for variable in told["variables"]:
                    dataset = found[variable["name"]]
                    stepped = variable["steps"] is not None
                    self.assertEqual(tuple(variable["shape"]), dataset.shape[stepped:])
                    self.assertEqual(variable["bytes"], dataset.nbytes)
                    chunk = dataset.chunks and list(dataset.chunks[stepped:])
                    self.assertEqual(variable["chunk"], chunk)
                    self.assertEqual(variable["unit"], dataset.attrs.get("units", ""))
                self.assertEqual(told["attributes"].get("title"), file.attrs.get("title"))
        self.assertEqual(json.loads(sluice("ls", "spins.h5", "--json").stdout)["times"],
                         [0, 0.5, 1, 1.5])

    def test_types_are_named_as_in_numpy(self):
        told = json.loads(sluice("ls", "types.h5", "--json").stdout)
        with h5py.File(path("types.h5")) as file:
            for variable in told["variables"]:
                expected = str(file[variable["name"]].dtype)
                expected = {"|S8": "string[8]"}.get(expected, expected)
                self.assertEqual(variable["type"], expected)

    def test_any_hdf5_file(self):
        target = foreign()
        result = sluice("ls", target, "--attributes")
        self.assertEqual(result.returncode, FINE)
        self.assertIn("not written by Sluice", result.stdout)
        self.assertRegex(result.stdout, r"big +float64 BE +4 ")
        self.assertRegex(result.stdout, r"packed +int32 +64 x 8 .* K .* 16 x 8 shuffle, deflate")
        self.assertRegex(result.stdout, r"words +variable-length strings")
        self.assertRegex(result.stdout, r"none +no data")
        self.assertRegex(result.stdout, r"Attributes of deep:\n +note  of a group")
        self.assertNotIn("\x1b", result.stdout, "a name must not command the terminal")
        unreadable = json.loads(sluice("ls", target, "--json").stdout)["unreadable"]
        self.assertEqual({u["name"] for u in unreadable}, {"words", "none"})

    def check_title(self, name, format_name, title, ours):
        result = sluice("ls", name)
        self.assertEqual((result.returncode, result.stderr), (FINE, ""))
        written = {True: " written by Sluice", False: ", not written by Sluice", None: ""}[ours]
        self.assertRegex(result.stdout.splitlines()[0], rf", {title}{written}$")
        told = json.loads(sluice("ls", name, "--json").stdout)
        self.assertEqual((told["format"], told["written_by_sluice"]), (format_name, ours))
        self.assertTrue(title.replace("\\", "").startswith(told["title"]))
        return told

    def test_names_the_format(self):
        made = {}
        for ending in (".nc", ".zarr"):
            made[ending] = new_path().replace(".h5", ending)
            self.assertEqual(sluice("convert", "spins.h5", made[ending]).returncode, FINE)
        made[".npy"] = new_path().replace(".h5", ".npy")
        numpy.save(made[".npy"], numpy.arange(6.0).reshape(2, 3))
        self.check_title("spins.h5", "hdf5", "HDF5", True)
        self.check_title(made[".nc"], "netcdf4", "netCDF-4", True)
        self.check_title(made[".zarr"], "zarr", "Zarr 3", True)
        told = self.check_title(made[".npy"], "npy", r"npy \(NumPy\)", None)
        self.assertEqual(told["variables"][0]["shape"], [2, 3])
        result = sluice("checkpoints", made[".npy"])
        self.assertEqual((result.returncode, result.stdout), (BAD_INPUT, ""))
        self.assertIn("holds no checkpoints", result.stderr)

    def test_names_the_format_of_others(self):
        target = new_path()
        with netCDF4.Dataset(target, "w") as file:
            file.createDimension("x", 3)
            file.createVariable("v", "f4", ("x",))[:] = 1
        self.check_title(target, "hdf5", "netCDF-4", False)
        with h5py.File(target + ".plain", "w") as file:
            file["v"] = 1.0
        self.check_title(target + ".plain", "hdf5", "HDF5", False)
        for version in (2, 3):
            folder = f"{target}.{version}.zarr"
            group = zarr.create_group(folder, zarr_format=version)
            group.create_array("v", data=numpy.arange(4.0))
            zarr.consolidate_metadata(folder)
            self.check_title(folder, "zarr", f"Zarr {version}", False)
        data = os.path.join(os.environ["SLUICE_SOURCE_DIR"], "..", "shared", "data", "namd",
                            "nopbc.dcd")
        if os.path.exists(data):  # real files are not in the tree
            told = self.check_title(data, "dcd", "DCD", None)
            self.assertGreater(told["steps"], 0)

    def test_records_have_the_rows_that_they_have(self):
        told = self.check_title("groups.rec", "records", "records", True)
        variables = {v["name"]: v for v in told["variables"]}
        # 1 + 2 + 3 integers, and of each rank a signature of 3 bytes.
        self.assertEqual(variables["data"]["rows"], [33, 33])
        self.assertEqual((variables["data"]["shape"], variables["data"]["bytes"]), ([33], 66))
        self.assertRegex(sluice("ls", "groups.rec").stdout, r"data +uint8 +33 +2 ")

    def test_steps_of_other_lengths(self):
        told = json.loads(sluice("ls", "varying.h5", "--json").stdout)
        particles = {v["name"]: v for v in told["variables"]}["particles"]
        self.assertEqual(particles["rows"], [0, 5, 10, 15])
        self.assertEqual((particles["shape"], particles["bytes"]), ([15, 2], 30 * 16))
        self.assertRegex(sluice("ls", "varying.h5").stdout, r"particles +float64 +0\.\.15 x 2 ")

    def test_a_store_that_is_being_written(self):
        """Objects come and go while the sizes of all are added up."""
        store = new_path(".zarr")
        group = zarr.open_group(store, mode="w")
        group.create_array("x", data=numpy.arange(4.0))
        zarr.consolidate_metadata(store)
        writer = subprocess.Popen(
            [sys.executable, "-c", COMES_AND_GOES, os.path.join(store, "x")])
        try:
            for _ in range(40):
                result = sluice("ls", store, "--json")
                self.assertEqual((result.returncode, result.stderr), (FINE, ""))
                self.assertGreater(json.loads(result.stdout)["bytes"], 0)
        finally:
            writer.kill()
            writer.wait()

    def test_numbers_as_small_as_they_can_be(self):
        target = new_path()
        values = {"double": 5e-324, "float": numpy.float32(1e-45), "max": 1.5e308}
        with h5py.File(target, "w") as file:
            file["x"] = numpy.array([2.5e-310, -5e-324])
            for name, value in values.items():
                file["x"].attrs[name] = value
            file["x"].attrs["list"] = [1e-320, 0.1]
        result = sluice("ls", target, "--json")
        self.assertEqual(result.returncode, FINE, result.stderr)
        found = json.loads(result.stdout)["variables"][0]["attributes"]
        self.assertEqual(found, {**values, "float": 1e-45, "list": [1e-320, 0.1]})
        result = sluice("dump", target, "x", "--json")
        self.assertEqual(result.returncode, FINE, result.stderr)

    def test_a_set_of_parts(self):
        told = self.check_title("set.h5", "hdf5", "HDF5, a set of 3 parts", True)
        sizes = [os.path.getsize(path(part["path"])) for part in told["parts"]]
        self.assertEqual([part["bytes"] for part in told["parts"]], sizes)
        self.assertEqual(told["bytes"], os.path.getsize(path("set.h5")) + sum(sizes))

    def test_lengths_that_are_still_in_the_journals_of_parts(self):
        """After a crash, or between two steps of a run: the part itself has no p_length yet."""
        self.assertTrue(glob.glob(path("interrupted.h5.parts/*.sluice-journal")))
        result = sluice("ls", "interrupted.h5", "--json")
        self.assertEqual((result.returncode, result.stderr), (FINE, ""))
        rows = {v["name"]: v["rows"] for v in json.loads(result.stdout)["variables"]}
        self.assertEqual(rows["p"], [3, 6, 9, 12])
        self.assertRegex(sluice("ls", "interrupted.h5").stdout, r"\np +float64 +3\.\.12 ")

    def test_says_it_once_under_mpirun(self):
        self.assertEqual(sluice("ls", "spins.h5", ranks=3).stdout, sluice("ls", "spins.h5").stdout)

    def test_one_line_for_what_is_no_hdf5_file(self):
        text = path("text.h5")
        with open(text, "w", encoding="utf-8") as file:
            file.write("step 1\n" * 100)
        for name, what in (("none.h5", "No such file"), (text, "not an HDF5 file"),
                           ("/", "directory")):
            result = sluice("ls", name)
            self.assertEqual((result.returncode, result.stdout), (BAD_INPUT, ""))
            self.assertEqual(len(result.stderr.splitlines()), 1)
            self.assertIn(what, result.stderr)
        result = sluice("ls", "none.h5", ranks=3)
        self.assertEqual((result.returncode, len(said(result))), (BAD_INPUT, 1))


if __name__ == "__main__":
    unittest.main()
