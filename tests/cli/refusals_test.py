"""sluice convert to texts and folders of single codes: what these formats cannot hold is refused
before anything is written."""

import os
import time
import unittest

import h5py
import numpy

from command import BAD_INPUT, DIFFERS, FINE, new_path, sluice
from spins_test import made_folder


def file_of(attributes=None, **variables):
    with h5py.File(new_path(), "w") as file:
        for name, values in variables.items():
            file[name] = values
        for name, value in (attributes or {}).items():
            file.attrs[name] = value
        return file.filename


class Refusals(unittest.TestCase):
    def expect_refused(self, why, source, *options, ending=".txt", ranks=(0,)):
        for number in ranks:
            target = new_path(ending)
            result = sluice("convert", source, target, *options, ranks=number)
            self.assertEqual(result.returncode, BAD_INPUT, (number, result.stdout, result.stderr))
            self.assertIn(why, result.stderr)
            self.assertFalse(os.path.exists(target))


class Voxels(Refusals):
    @staticmethod
    def records(**changed):
        places = numpy.arange(1, 4, dtype="i4")
        return file_of(**{"voxel_x": places, "voxel_y": places, "voxel_z": places,
                          "voxel_material": numpy.ones(3, "u1"), **changed})

    def test_records_that_a_text_cannot_hold(self):
        far = numpy.array([1, 2, 2**20 + 1])
        for why, changed in (
                ("voxel_x", {"voxel_x": numpy.ones((3, 2), "i4")}),
                ("voxel_x", {"voxel_x": numpy.int32(1)}),
                ("row 2: material 0 is not", {"voxel_material": numpy.array([1, 255, 0], "u1")}),
                ("row 1: a coordinate", {"voxel_x": numpy.array([1, 0, 3])}),
                ("row 2: a coordinate", {"voxel_z": far}),
                ("-1", {"voxel_element": numpy.array([4, -1, 5])})):
            ranks = (0, 2) if why.startswith("row 2") else (0,)
            self.expect_refused(why, self.records(**changed), ranks=ranks)
        target = new_path(".txt")
        result = sluice("convert", self.records(voxel_element=numpy.array([4, 0, 5])), target)
        self.assertEqual(result.returncode, FINE, result.stderr)
        self.assertEqual(sluice("convert", target, new_path(".nc")).returncode, FINE)

    def test_a_grid_that_is_too_long_for_a_text(self):
        self.expect_refused("1048576", file_of(material=numpy.ones((1, 1, 2**20 + 1), "u1")))

    def test_displacements_that_a_text_cannot_hold(self):
        nodes = {"nodes": numpy.array([2, 2, 2])}
        for why, changed in (
                ("row 1: node 8 is outside", {"node_id": numpy.array([0, 8])}),
                ("row 0: a displacement is not finite",
                 {"displacement": numpy.array([[numpy.nan, 0, 0], [1, 2, 3]])})):
            self.expect_refused(why, file_of(nodes, **{"node_id": numpy.array([0, 7]),
                                                       "displacement": numpy.ones((2, 3)),
                                                       **changed}))

    def test_lines_that_would_be_more_than_one(self):
        grid = numpy.ones((2, 2, 2), "u1")
        for text in ("0.1 0.1 0.1\n4", "x" * 5000):
            self.expect_refused("voxel_size", file_of({"voxel_size": text}, material=grid))
        self.expect_refused("materials_file", file_of(
            {"nodes": numpy.array([2, 2, 2]), "materials_file": "m\n0 0 0 0 9 9 9"},
            displacement=numpy.ones((2, 3)), node_id=numpy.array([0, 7])))
        target = new_path(".txt")
        result = sluice("convert", file_of({"voxel_size": "0.1\t0.1 0.1"}, material=grid), target)
        self.assertEqual(result.returncode, FINE, result.stderr)


class Spins(Refusals):
    def spins(self, **attributes):
        """216 atoms of two materials."""
        target = new_path()
        result = sluice("convert", made_folder()[0], target)
        self.assertEqual(result.returncode, FINE, result.stderr)
        with h5py.File(target, "r+") as file:
            for name, value in attributes.items():
                file.attrs[name] = value
        return target

    def test_rows_of_files_that_are_not_those_of_the_atoms(self):
        for rows in ([-1, 217], [2**62, 216 - 2**62], [4, 213]):
            source = self.spins(vampire_rows_of_file=numpy.array(rows, "i8"))
            self.expect_refused("vampire_rows_of_file", source, "--format", "vampire", ending="")
        target = new_path("")
        source = self.spins(vampire_rows_of_file=numpy.array([0, 4, 212], "i8"))
        result = sluice("convert", source, target, "--format", "vampire")
        self.assertEqual(result.returncode, FINE, result.stderr)
        self.assertEqual(len([n for n in os.listdir(target) if n.endswith(".data")]), 12)

    def test_texts_of_materials_that_are_more_than_a_column(self):
        for attributes in ({"element": ["Fe\t9", "Co"]}, {"material_name": ["iron\nx", "cobalt"]}):
            source = self.spins(**attributes)
            self.expect_refused("material 0", source, "--format", "vampire", ending="")
            self.expect_refused("material 0", source, ending=".xyz")

    def test_materials_whose_number_a_file_cannot_list(self):
        for number in (-1, 65536):
            folder = made_folder()[0]
            meta = os.path.join(folder, "atoms-coords.meta")
            with open(meta, encoding="ascii") as file:
                text = file.read()
            with open(meta, "w", encoding="ascii") as file:
                file.write(text.replace("\n1\t", f"\n{number}\t"))
            self.expect_refused(f"material {number}", folder, ending=".h5")


class States(Refusals):
    @staticmethod
    def states(**changed):
        content = {"LENGTHS": numpy.array([2, 2]),
                   "GRP01/EigenVector01": numpy.arange(4, dtype="f4"),
                   "GRP01/Properties01": numpy.full(3, numpy.nan), **changed}
        return file_of(**{name: values for name, values in content.items() if values is not None})

    def test_what_records_do_not_hold_is_listed(self):
        vector = numpy.arange(4, dtype="f4")
        source = self.states(**{"GRP03/EigenVector03": vector, "other": numpy.ones(3),
                                "GRP01/Properties01": numpy.array([-31.5, numpy.nan, 0])})
        for ranks in (0, 2):
            for options, code in (((), DIFFERS), (("--drop",), FINE)):
                target = new_path("")
                result = sluice("convert", source, target, "--format", "mfdn", *options,
                                ranks=ranks)
                self.assertEqual(result.returncode, code, result.stderr)
                for name in ("GRP03/EigenVector03", "other", "GRP01/Properties01"):
                    self.assertIn(f"left out: {name} (not in the records", result.stderr)
                self.assertEqual(sorted(os.listdir(target)), ["mfdn_smwf001", "mfdn_smwf002"])
        result = sluice("convert", self.states(), new_path(""), "--format", "mfdn")
        self.assertEqual((result.returncode, result.stderr), (FINE, ""))

    def test_lengths_that_are_no_list_of_wave_functions(self):
        none = {"GRP01/EigenVector01": None, "GRP01/Properties01": None}
        for why, changed in (
                ("LENGTHS has the shape", {"LENGTHS": numpy.arange(6).reshape(2, 3)}),
                ("LENGTHS has the shape", {"LENGTHS": numpy.int64(4)}),
                ("has no GRP01/EigenVector01", none),
                ("has no GRP01/EigenVector01", {**none, "LENGTHS": numpy.array([1 << 61])})):
            self.expect_refused(why, self.states(**changed), "--format", "mfdn", ending="")


class Places(Refusals):
    def test_a_name_that_cannot_be_looked_up_fails_on_every_rank_at_once(self):
        loop = new_path("")
        os.symlink(loop, loop)
        began = time.monotonic()
        self.expect_refused(loop, os.path.join(loop, "x"), ending=".h5", ranks=(2,))
        self.assertLess(time.monotonic() - began, 8)

    def test_a_description_that_is_there_is_not_replaced(self):
        model, target = new_path(".model"), new_path(".nc")
        with open(model, "w", encoding="ascii") as file:
            file.write("\n1\n1 1 1 1 1\n")
        with open(target + ".xdmf", "w", encoding="ascii") as file:
            file.write("mine")
        result = sluice("convert", model, target)
        self.assertEqual(result.returncode, BAD_INPUT, result.stderr)
        self.assertIn(target + ".xdmf: exists already", result.stderr)
        self.assertFalse(os.path.exists(target))
        with open(target + ".xdmf", encoding="ascii") as file:
            self.assertEqual(file.read(), "mine")


if __name__ == "__main__":
    unittest.main()
