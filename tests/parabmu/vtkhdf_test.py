"""PARPRINT_X into VTKHDF: voxels, materials and displacements as VTK reads them are those of the
model and of the netCDF file; a second load is a second step; the same on any number of ranks."""

import os
import sys
import unittest

import h5py
import numpy

from case import LONG, Case, run

sys.path.insert(0, os.path.join(os.environ["SLUICE_SOURCE_DIR"], "tests", "support"))
from vtk_files import array, steps_of  # noqa: E402


class Vtkhdf(unittest.TestCase):
    def test_two_loads(self):
        for ranks in (1, 3, 4) if LONG else (3,):
            with self.subTest(ranks=ranks):
                self.check(Case(), ranks)

    def check(self, case, ranks):
        script = case.script(tolerance="1e-6", prints=("PARPRINT_X one.nc",
                                                       *2 * ("PARPRINT_X all.vtkhdf",)))
        done = run(case.folder, script, ranks)
        self.assertEqual(done.returncode, 0, done.stderr)
        steps = steps_of(os.path.join(case.folder, "all.vtkhdf"))
        self.assertEqual([time for time, _ in steps], [0, 1])
        with h5py.File(os.path.join(case.folder, "one.nc")) as file:
            ids, moved = file["node_id"][:], file["displacement"][:]
            places = numpy.stack([file[axis][:] for axis in "xyz"], axis=1)
        row_of = {node: row for row, node in enumerate(ids)}
        for _, grid in steps:
            rows = numpy.array([row_of[node] for node in array(grid.GetPointData(), "node")])
            self.assertEqual(set(rows), set(range(len(ids))))
            numpy.testing.assert_array_equal(array(grid), places[rows])
            numpy.testing.assert_array_equal(array(grid.GetPointData(), "displacement"),
                                             moved[rows])
            self.check_cells(case, grid)

    def check_cells(self, case, grid):
        """Each voxel of the model once, with its material and its own eight nodes."""
        size = numpy.array(case.size)
        low = []
        for cell in range(grid.GetNumberOfCells()):
            bounds = numpy.array(grid.GetCell(cell).GetBounds()).reshape(3, 2)
            numpy.testing.assert_allclose(bounds[:, 1] - bounds[:, 0], size, rtol=1e-5)
            low.append(numpy.round(bounds[:, 0] / size).astype(int) + 1)
        materials = array(grid.GetCellData(), "material")
        found = numpy.column_stack([materials, numpy.array(low)])
        order = numpy.lexsort(found.T)
        expected = numpy.asarray(case.rows)[:, :4]
        numpy.testing.assert_array_equal(found[order], expected[numpy.lexsort(expected.T)])


if __name__ == "__main__":
    unittest.main()
