"""sluice convert to the texts and folders of single codes: what these formats cannot hold is refused
before anything is written."""

import os
import unittest

import h5py
import numpy

from command import BAD_INPUT, FINE, new_path, sluice


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
            self.expect_refused(why, self.records(**changed), ranks=(0, 2))
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


if __name__ == "__main__":
    unittest.main()
