"""Displacements: the same on any number of ranks and by every way of input and output, and those of
an independent program.

SLUICE_LONG=1: on more numbers of ranks."""

import os
import unittest

import netCDF4
import numpy

import case
import oracle

CASE = case.Case()


def model_of(folder):
    made = case.convert(folder, "a.model", "a.nc", "--grid", ",".join(map(str, CASE.grid)))
    assert made.returncode == 0, made.stderr


class Solution(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = CASE.folder
        cls.first = case.run(cls.folder, CASE.script(), 1, "--residuals", "r1")
        assert cls.first.returncode == 0, cls.first.stderr
        cls.text = case.read(cls.folder, "d.txt")
        model_of(cls.folder)

    def run_case(self, *arguments, ranks, **words):
        result = case.run(self.folder, CASE.script(**words), ranks, *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("solver: converged", result.stdout)
        return result

    def test_is_that_of_scipy(self):
        places, found = case.displacements(self.text)
        where, expected = oracle.solve(CASE.rows, CASE.materials, CASE.size, CASE.constraints)
        self.assertTrue(numpy.array_equal(places, where))
        self.assertLess(numpy.abs(found - expected).max(), 1e-6 * numpy.abs(expected).max())

    def test_is_bit_identical_on_any_number_of_ranks(self):
        for ranks in (3, 4, 7) if case.LONG else (4, 7):
            self.run_case("--residuals", "r", ranks=ranks)
            self.assertEqual(case.read(self.folder, "r"), case.read(self.folder, "r1"), ranks)
            self.assertEqual(case.read(self.folder, "d.txt"), self.text, ranks)

    def test_every_mix_of_serial_and_parallel_is_the_same(self):
        for ranks in (1, 3, 7) if case.LONG else (3,):
            for load, model in (("LOAD_MCTSCAN", "a.model"), ("LOAD_MCTSCANPAR", "a.nc")):
                self.run_case(ranks=ranks, load=load, model=model,
                              prints=("PRINT_X d.txt", "PARPRINT_X d.nc"))
                self.assertEqual(case.read(self.folder, "d.txt"), self.text)
                os.path.exists(self.folder + "/back.txt") and os.remove(self.folder + "/back.txt")
                back = case.convert(self.folder, "d.nc", "back.txt", ranks=ranks, name="hdf52txt")
                self.assertEqual(back.returncode, 0, back.stderr)
                self.assertEqual(case.read(self.folder, "back.txt"), self.text, (ranks, load))

    def test_records_balanced_or_not(self):
        folder = self.folder
        made = case.convert(folder, "a.model", "records.h5", "--records", "--grid",
                            ",".join(map(str, CASE.grid)))
        self.assertEqual(made.returncode, 0, made.stderr)
        with netCDF4.Dataset(f"{folder}/records.h5") as source, \
                netCDF4.Dataset(f"{folder}/only.nc", "w") as target:
            target.createDimension("voxel", len(CASE.rows))
            for name in ("voxel_x", "voxel_y", "voxel_z", "voxel_material"):
                kind = source[name].dtype
                target.createVariable(name, kind, ("voxel",), zlib=True)[:] = source[name][:]
        runs = ((1, "on"), (3, "off"), (4, "on"), (7, "off"))
        for ranks, balance in runs if case.LONG else runs[1:3]:
            self.run_case(ranks=ranks, load="LOAD_MCTSCANPAR", model="only.nc",
                          before=f"BALANCE {balance}")
            self.assertEqual(case.read(folder, "d.txt"), self.text, (ranks, balance))
        self.run_case(ranks=3, load="LOAD_MCTSCANPAR", model="a.nc", before="BALANCE off")
        self.assertEqual(case.read(folder, "d.txt"), self.text)

    def test_energy_is_half_the_work_of_the_forces(self):
        only_forces = [c for c in CASE.constraints if c[4] == (0, 0, 0) or c[3] == (0, 0, 0)]
        case.write(self.folder, "forces.txt", "".join(
            "SELECT_NODE_3D {} {} {}  {} {} {}  {} {} {}\n".format(x, y, z, *v, *c)
            for x, y, z, v, c in only_forces))
        script = CASE.script(prints=("PRINT_X e.txt",)).replace("constraints.txt", "forces.txt")
        result = case.run(self.folder, script, 2)
        energy = float(result.stdout.split("energy: ")[1].split()[0])
        places, found = case.displacements(case.read(self.folder, "e.txt"))
        at = {tuple(p): u for p, u in zip(places + 1, found)}
        work = sum(numpy.dot(v, at[x, y, z]) for x, y, z, v, c in only_forces if c == (0, 0, 0))
        self.assertAlmostEqual(energy / (work / 2), 1, places=8)

    def test_says_so_where_it_does_not_converge(self):
        result = case.run(self.folder, CASE.script(most=5), 3, "--residuals", "r5")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("NOT CONVERGED: after 5 iterations the residual is", result.stdout)
        self.assertEqual(len(case.read(self.folder, "r5").split()), 6)

    def test_netcdf_programs_and_vtk_read_the_results(self):
        self.run_case(ranks=3, prints=("PARPRINT_X d.nc", "COMPRESS deflate:1", "PARPRINT_X e.nc"))
        places, found = case.displacements(self.text)
        with netCDF4.Dataset(f"{self.folder}/d.nc") as file:
            self.assertEqual(file.Conventions, "CF-1.8")
            self.assertTrue(file["node_id"].filters()["zlib"])
            self.assertFalse(file["displacement"].filters()["zlib"])
            self.assertEqual(file["displacement"].dimensions, ("node", "axis"))
            self.assertTrue(numpy.allclose(file["displacement"][:], found, rtol=1e-9, atol=0))
            exact = file["displacement"][:]
        with netCDF4.Dataset(f"{self.folder}/e.nc") as file:
            self.assertTrue(file["displacement"].filters()["zlib"])
            self.assertTrue(numpy.array_equal(file["displacement"][:], exact))
        from vtkmodules.util.numpy_support import vtk_to_numpy
        from vtkmodules.vtkIOXdmf2 import vtkXdmfReader
        for name in ("d.nc", "a.nc"):
            reader = vtkXdmfReader()
            reader.SetFileName(f"{self.folder}/{name}.xdmf")
            reader.Update()
            output = reader.GetOutputDataObject(0)
            if name == "a.nc":
                cells = vtk_to_numpy(output.GetCellData().GetArray("material"))
                self.assertEqual(output.GetDimensions(), tuple(n + 1 for n in CASE.grid))
                self.assertEqual(int((cells != 0).sum()), len(CASE.rows))
                self.assertEqual(int(cells.sum()), int(CASE.rows[:, 0].sum()))
                continue
            self.assertEqual(output.GetNumberOfPoints(), len(found))
            points = vtk_to_numpy(output.GetPoints().GetData())
            vectors = vtk_to_numpy(output.GetPointData().GetArray("displacement"))
            self.assertTrue(numpy.allclose(points, places * 0.1, atol=1e-5))
            self.assertTrue(numpy.allclose(vectors, found, rtol=1e-6, atol=0))


if __name__ == "__main__":
    unittest.main()
