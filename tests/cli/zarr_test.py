"""The command on Zarr stores: every verb that takes a file takes the folder."""

import json
import os
import shutil
import unittest

import h5py
import numpy
import xarray
import zarr

from command import BAD_INPUT, DIFFERS, FINE, flip, new_path, path, said, sluice


def new_store():
    return new_path().replace(".h5", ".zarr")


class Stores(unittest.TestCase):
    def store(self, *options, ranks=0):
        target = new_store()
        result = sluice("convert", "spins.h5", target, *options, ranks=ranks)
        self.assertEqual(result.returncode, FINE, result.stderr)
        return target

    def test_convert_there_and_back(self):
        for options, ranks in (((), 0), (("--compress", "deflate:6"), 3)):
            target = self.store(*options, ranks=ranks)
            result = sluice("diff", "spins.h5", target)
            self.assertEqual(result.returncode, FINE, result.stdout + result.stderr)
            with h5py.File(path("spins.h5")) as before:
                after = zarr.open_group(target, mode="r")
                self.assertTrue(numpy.array_equal(before["spins"][:], after["spins"][:]))
                self.assertTrue(numpy.array_equal(before["time"][:], after["time"][:]))
                self.assertEqual(before.attrs["title"], after.attrs["title"])
            back = new_path()
            self.assertEqual(sluice("convert", target, back, ranks=ranks).returncode, FINE)
            self.assertEqual(sluice("diff", "spins.h5", back).returncode, FINE)

    def test_xarray_opens_the_whole_tree(self):
        """Sizes of a dimension differ nowhere below a group, in that of Sluice neither."""
        for target in (self.store(), self.store("--compress", "deflate:6")):
            with xarray.open_datatree(target, engine="zarr", consolidated=False) as tree, \
                    h5py.File(path("spins.h5")) as before:
                self.assertTrue(numpy.array_equal(tree["spins"], before["spins"][:]))

    def test_folders_that_are_no_store_are_called_so(self):
        target = new_store()
        os.mkdir(target)
        self.assertIn("it is a folder: name a file", sluice("ls", target).stderr)
        # As a run leaves it that dies in its first step.
        with open(os.path.join(target, "zarr.json.sluice-new"), "wb"):
            pass
        for verb in ("ls", "verify"):
            result = sluice(verb, target)
            self.assertEqual(result.returncode, BAD_INPUT)
            self.assertIn("its first commit was not completed", result.stderr)

    def test_a_slash_at_the_end_of_the_name_changes_nothing(self):
        target = new_store()
        self.assertEqual(sluice("convert", "spins.h5", target + "/").returncode, FINE)
        self.assertEqual(sluice("diff", "spins.h5", target + "/").returncode, FINE)
        zarr.open_group(target, mode="r")
        other = new_path()
        result = sluice("convert", "spins.h5", other + "/")
        self.assertEqual(result.returncode, BAD_INPUT)
        self.assertIn("as that of a folder, and format hdf5 writes a file", result.stderr)
        self.assertFalse(os.path.exists(other))

    def test_ls_and_dump(self):
        target = self.store()
        told = json.loads(sluice("ls", target, "--json").stdout)
        self.assertTrue(told["written_by_sluice"])
        on_disk = sum(os.path.getsize(os.path.join(folder, name))
                      for folder, _, names in os.walk(target) for name in names)
        self.assertEqual(told["bytes"], on_disk)
        self.assertIn("4 steps, time 0 to 1.5", sluice("ls", target).stdout)
        for arguments in (("spins", "--step", "2"), ("coordinates",)):
            self.assertEqual(sluice("dump", target, *arguments).stdout,
                             sluice("dump", "spins.h5", *arguments).stdout)

    def test_verify_and_diff_find_a_flipped_bit(self):
        target = self.store(ranks=2)
        for ranks in (0, 2):
            self.assertEqual(sluice("verify", target, ranks=ranks).returncode, FINE)
        objects = os.path.join(target, "spins")
        name = sorted(n for n in os.listdir(objects) if n.startswith("c.2."))[-1]
        damaged = os.path.join(objects, name)
        flip(damaged, os.path.getsize(damaged) - 8)
        result = sluice("verify", target, "--json")
        self.assertEqual(result.returncode, DIFFERS)
        report = json.loads(result.stdout)[0]
        self.assertEqual([(f["variable"], f["step"]) for f in report["findings"]], [("spins", 2)])
        self.assertEqual(sluice("diff", "spins.h5", target).returncode, DIFFERS)

    def test_recover(self):
        target = self.store()
        self.assertIn("nothing to recover", sluice("recover", target).stdout)
        document = os.path.join(target, "spins", "zarr.json")
        with open(document, encoding="utf-8") as file:
            before = file.read()
        with open(document, "w", encoding="utf-8") as file:
            file.write("{")
        self.assertIn("1 of 1 change", sluice("recover", target).stdout)
        with open(document, encoding="utf-8") as file:
            self.assertEqual(file.read(), before)
        # A run that was to replace it died before its first commit.
        shutil.move(target, target + ".sluice-old")
        result = sluice("ls", target)
        self.assertEqual((result.returncode, len(said(result))), (BAD_INPUT, 1))
        self.assertIn("sluice recover", result.stderr)
        result = sluice("recover", target)
        self.assertEqual(result.returncode, FINE, result.stderr)
        self.assertEqual(sluice("diff", "spins.h5", target).returncode, FINE)

    def test_a_store_is_no_set_of_parts(self):
        for target in (self.store(), self.store().replace(".zarr", ".icechunk")):
            if target.endswith(".icechunk"):
                self.assertEqual(sluice("convert", "spins.h5", target).returncode, FINE)
            result = sluice("collect", target)
            self.assertEqual((result.returncode, len(said(result))), (BAD_INPUT, 1))
            self.assertIn("not the index of a set of parts", result.stderr)

    def test_watch(self):
        target = self.store()
        result = sluice("watch", target, "--all", "--until", "4", "--json")
        self.assertEqual(result.returncode, FINE, result.stderr)
        self.assertEqual([json.loads(line)["step"] for line in result.stdout.splitlines()],
                         [0, 1, 2, 3])


if __name__ == "__main__":
    unittest.main()
