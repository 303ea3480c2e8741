"""The converters: exact inverses of each other, on any number of ranks and within a small budget;
how small the files are."""

import os
import random
import shutil
import subprocess
import sys
import unittest

import netCDF4
import numpy

import case

sys.path.insert(0, os.path.join(os.environ["SLUICE_SOURCE_DIR"], "apps", "parabmu"))
import bone


def converted(test, folder, source, target, *options, ranks=0, name="sluice"):
    result = case.convert(folder, source, target, *options, ranks=ranks, name=name)
    test.assertEqual(result.returncode, 0, result.stderr)
    return os.path.getsize(os.path.join(folder, target))


def displacement_text(nodes, grid, chance):
    lines = [f"nNodes: {len(nodes)}", "Nodes: {}  {}  {}".format(*grid), "Materials: ./m.txt"]
    for number in nodes:
        x, y, z = number % grid[0], number // grid[0] % grid[1], number // (grid[0] * grid[1])
        values = [chance.choice([0.0, chance.gauss(0, 1e-3), -1e-300, 12.5]) for _ in range(3)]
        lines.append(f"{number} {x} {y} {z} " + " ".join(f"{v:.9e}" for v in values))
    return "\n".join(lines) + "\n"


class Inverses(unittest.TestCase):
    def both_ways(self, folder, source, *options):
        expected = case.read(folder, source)
        ways = [(ranks, budget) for ranks in (0, 1, 3, 7) for budget in (256, 1)]
        if not case.LONG:  # each number of ranks, and each budget with one rank and with several
            ways = [(0, 1), (1, 256), (3, 1), (7, 256)]
        for ranks, budget in ways:
            stem = f"of-{ranks}-{budget}"
            converted(self, folder, source, stem + ".nc", "--budget-mib", str(budget), *options,
                      ranks=ranks, name="txt2hdf5")
            converted(self, folder, stem + ".nc", stem + ".txt", ranks=ranks, name="hdf52txt")
            self.assertEqual(case.read(folder, stem + ".txt"), expected, stem)

    def test_a_generated_bone(self):
        folder = case.new_folder()
        bone.write(os.path.join(folder, "bone.model"), planes=40, scale=0.5)
        self.both_ways(folder, "bone.model")

    def test_voxels_out_of_order_and_numbered_at_will(self):
        folder = case.new_folder()
        chance = random.Random(8)
        places = [(x, y, z) for x in range(1, 9) for y in range(1, 7) for z in range(1, 30)]
        chance.shuffle(places)
        body = "".join(f"{chance.randrange(10**9)} {chance.randrange(1, 256)} {x} {y} {z}\n"
                       for x, y, z in places)
        case.write(folder, "b.model", f"0.1 0.1 0.2\n{len(places)}\n{body}")
        self.both_ways(folder, "b.model")

    def test_displacements(self):
        folder = case.new_folder()
        chance = random.Random(9)
        grid = (60, 50, 40)
        nodes = sorted(chance.sample(range(grid[0] * grid[1] * grid[2]), 30000))
        case.write(folder, "d.txt", displacement_text(nodes, grid, chance))
        self.both_ways(folder, "d.txt")
        with netCDF4.Dataset(os.path.join(folder, "of-3-1.nc")) as file:
            self.assertEqual(file["node_id"][:].tolist(), nodes)

    def test_netcdf_copies_them(self):
        if shutil.which("nccopy") is None:
            self.skipTest("no nccopy here (Debian's netcdf-bin)")
        folder = case.new_folder()
        bone.write(os.path.join(folder, "bone.model"), planes=12, scale=0.3)
        converted(self, folder, "bone.model", "bone.nc", "--records", ranks=3)
        subprocess.run(["nccopy", "bone.nc", "copy.nc"], cwd=folder, check=True, timeout=60)
        with netCDF4.Dataset(os.path.join(folder, "bone.nc")) as before, \
                netCDF4.Dataset(os.path.join(folder, "copy.nc")) as after:
            self.assertEqual(list(before.variables), list(after.variables))
            for name, variable in before.variables.items():
                self.assertTrue(numpy.array_equal(variable[:], after[name][:]), name)


@unittest.skipUnless(case.HAS_DATA, case.NO_DATA)
class RealModel(unittest.TestCase):
    def test_shrinks_fifty_times_and_comes_back(self):
        folder = case.new_folder()
        shutil.copyfile(case.MODEL, os.path.join(folder, "o.model"))
        text = case.read(folder, "o.model")
        for ranks, options in ((0, ()), (3, ("--records",))):
            size = converted(self, folder, "o.model", f"{ranks}.nc", *options, "--grid",
                             "148,148,48", ranks=ranks)
            self.assertGreaterEqual(len(text) / size, 50)
            converted(self, folder, f"{ranks}.nc", f"{ranks}.model", ranks=ranks)
            self.assertEqual(case.read(folder, f"{ranks}.model"), text)
        with netCDF4.Dataset(os.path.join(folder, "3.nc")) as file:
            rows = numpy.loadtxt(text.decode().splitlines()[2:], dtype=int)
            self.assertTrue(numpy.array_equal(file["voxel_x"][:], rows[:, 2]))
            self.assertEqual(int(numpy.count_nonzero(file["material"][:])), len(rows))

    def test_displacements_shrink_and_come_back(self):
        folder = case.new_folder()
        for name in os.listdir(case.DATA):
            shutil.copyfile(os.path.join(case.DATA, name), os.path.join(folder, name))
        script = case.read(folder, "o-test.voxfe.script").decode()
        script = script.replace("MAX_ITER 500", "MAX_ITER 20") + "PARPRINT_X d.nc\n"
        if "PRINT_X ./displacement.txt" not in script:
            script += "PRINT_X ./displacement.txt\n"
        result = case.run(folder, script, 3)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("NOT CONVERGED: after 20", result.stdout)
        text = case.read(folder, "displacement.txt")
        size = converted(self, folder, "displacement.txt", "t.nc", ranks=3)
        self.assertGreaterEqual(len(text) / size, 2.6)
        self.assertGreaterEqual(len(text) / os.path.getsize(os.path.join(folder, "d.nc")), 2.6)
        converted(self, folder, "d.nc", "back.txt", ranks=3)
        self.assertEqual(case.read(folder, "back.txt"), text)


@unittest.skipUnless(case.LONG, "29 million voxels: only with SLUICE_LONG=1")
class WholeBone(unittest.TestCase):
    def test_shrinks_190_times_and_comes_back(self):
        folder = case.new_folder()
        grid, voxels = bone.write(os.path.join(folder, "bone.model"))
        self.assertEqual(grid[2], 884)
        self.assertGreater(voxels, 28.5e6)
        text = os.path.getsize(os.path.join(folder, "bone.model"))
        size = converted(self, folder, "bone.model", "bone.nc", ranks=4)
        self.assertGreaterEqual(text / size, 190)
        converted(self, folder, "bone.nc", "back.model", ranks=3)
        same = subprocess.run(["cmp", "bone.model", "back.model"], cwd=folder, check=False)
        self.assertEqual(same.returncode, 0)


if __name__ == "__main__":
    unittest.main()
