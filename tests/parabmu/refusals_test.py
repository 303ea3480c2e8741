"""What is wrong is refused in one line, on one rank, with the line's number."""

import os
import shutil
import unittest

import case

CASE = case.Case()


class Refusals(unittest.TestCase):
    def refused(self, script, *expected, ranks=3):
        result = case.run(CASE.folder, script, ranks)
        self.assertEqual(result.returncode, 2, result.stdout + result.stderr)
        said = [line for line in result.stderr.splitlines() if line.startswith("parabmu: ")]
        self.assertEqual(len(said), 1, result.stderr)
        for text in expected:
            self.assertIn(text, said[0])

    def with_model(self, *expected, text):
        case.write(CASE.folder, "bad.model", text)
        self.refused(CASE.script(model="bad.model"), "script:8: LOAD_MCTSCAN: ", *expected)

    def test_models(self):
        self.with_model("bad.model:4:", "line 2 says 3", text="\n3\n1 1 1 1 1\n2 1 2 1 1\n")
        self.with_model("bad.model:4:", "more voxels than the 1",
                        text="\n1\n1 1 1 1 1\n2 1 2 1 1\n")
        self.with_model("bad.model:3:", "outside the grid", text="\n1\n1 1 1 900 1\n")
        self.with_model("bad.model:3:", "outside the grid", text="\n1\n1 1 0 1 1\n")
        self.with_model("bad.model:3:", "material 7 is not in the materials",
                        text="\n1\n1 7 1 1 1\n")
        self.with_model("bad.model:4:", "second voxel", text="\n2\n1 1 1 1 1\n2 1 1 1 1\n")
        self.with_model("bad.model:3:", "not a voxel", text="\n1\n1 1 x 1 1\n")
        self.with_model("bad.model:2:", "number of voxels", text="\nfive\n")

    def test_scripts(self):
        self.refused("LOAD_MATERIALS_FILE materials.txt\nFROBNICATE 3\n", "script:2:",
                     "no command FROBNICATE")
        self.refused("\nMAX_ITER\n", "script:2:", "1 arguments, not 0")
        self.refused("MAX_ITER many\n", "script:1: MAX_ITER", "many")
        self.refused("ALGORITHM_FEA GAUSS\n", "script:1:", "JAPCG")
        self.refused("BALANCE perhaps\n", "script:1:", "on or off")
        self.refused("VOXEL_SIZE 1 0 1 1\n", "script:1:", "positive")
        self.refused("COMPUTE_SED\n", "script:1:", "LOAD_MCTSCAN")
        self.refused("LOAD_MATERIALS_FILE none.txt\n", "script:1:", "none.txt")
        self.refused(CASE.script(model="no.model"), "script:8:", "no.model")
        self.refused(CASE.script(load="LOAD_MCTSCANPAR", model="no.nc"), "script:8:", "no.nc")
        self.refused(CASE.script(prints=("PRINT_X none/d.txt",), most=1), "script:12:",
                     "none/d.txt")
        self.refused(CASE.script(prints=("PARPRINT_X none/d.nc",), most=1), "script:12:",
                     "none/d.nc")

    def test_materials_and_constraints(self):
        case.write(CASE.folder, "bad.txt", "1 17000 0.3 1\n2 17000 0.7 0\n")
        self.refused("LOAD_MATERIALS_FILE bad.txt\n", "bad.txt:2:", "nu")
        case.write(CASE.folder, "bad.txt", "1 17000 0.3 1\n2 17000\n")
        self.refused("LOAD_MATERIALS_FILE bad.txt\n", "bad.txt:2:")
        for line, expected in (("SELECT_NODE_3D 1 1 1 0 0 0 1 1 1", "belongs to no voxel"),
                               ("SELECT_NODE_3D 999 1 1 0 0 0 1 1 1", "belongs to no voxel"),
                               ("SELECT_NODE_3D 1 1 1 0 0 0 1 1", "9 numbers"),
                               ("SELECT_NODE_3D 0 1 1 0 0 0 1 1 1", "count from 1"),
                               ("HOLD_NODE 1 1 1 0 0 0 1 1 1", "no constraint")):
            case.write(CASE.folder, "bad.txt", "\n" + line + "\n")
            self.refused(CASE.script().replace("constraints.txt", "bad.txt"), "bad.txt:2:",
                         expected)
        nothing = CASE.script().replace("SELECT_NODE_FILE constraints.txt", "")
        self.refused(nothing, "nothing holds the model")

    def test_other_materials_after_a_load(self):
        case.write(CASE.folder, "one.txt", "1 17000 0.3 1\n")
        script = CASE.script().replace("COMPUTE_SED", "LOAD_MATERIALS_FILE one.txt\nCOMPUTE_SED")
        self.refused(script, "script:11: LOAD_MATERIALS_FILE: a.model: ",
                     "material 2 is not in the materials")

    def test_netcdf_models(self):
        made = case.convert(CASE.folder, "a.model", "a.nc")
        self.assertEqual(made.returncode, 0, made.stderr)
        script = CASE.script(load="LOAD_MCTSCANPAR", model="a.nc")
        script = script.replace(" ".join(map(str, CASE.grid)), "5 5 5")
        self.refused(script, "script:8:", "holds a grid of")
        case.write(CASE.folder, "one.txt", "1 17000 0.3 1\n")
        grid = ",".join(map(str, CASE.grid))
        case.convert(CASE.folder, "a.model", "b.nc", "--grid", grid)
        self.refused(CASE.script(load="LOAD_MCTSCANPAR", model="b.nc").replace(
            "materials.txt", "one.txt"), "material 2 is not in the materials")


class Checkpoints(unittest.TestCase):
    """A checkpoint of another problem is refused, though its shapes are the same."""

    def setUp(self):
        self.folder = case.new_folder()
        for name in ("a.model", "materials.txt", "constraints.txt"):
            shutil.copy(os.path.join(CASE.folder, name), self.folder)
        self.change("constraints.txt", "0.001", "0")  # the first residual is then the forces
        self.assertEqual(self.ran(most=20).returncode, 0)

    def change(self, name, old, new):
        text = case.read(self.folder, name).decode()
        self.assertIn(old, text)
        case.write(self.folder, name, text.replace(old, new))

    def ran(self, most=40, ranks=3, size="0.1 0.1 0.1 1"):
        script = CASE.script(most=most, before="CHECKPOINT state.h5 10")
        return case.run(self.folder, script.replace("0.1 0.1 0.1 1", size), ranks)

    def refused(self, result):
        self.assertEqual(result.returncode, 2, result.stdout + result.stderr)
        self.assertIn("state.h5: is a checkpoint of another model", result.stderr)

    def test_the_same_problem_goes_on(self):
        result = self.ran(ranks=2)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("went on from iteration 20", result.stdout)

    def test_other_materials(self):
        self.change("materials.txt", "17000", "21000")
        self.refused(self.ran(ranks=2))

    def test_another_voxel_size(self):
        self.refused(self.ran(size="0.2 0.1 0.1 1"))

    def test_the_load_negated(self):
        self.change("constraints.txt", "-0.5", "0.5")
        self.refused(self.ran())


class BadTexts(unittest.TestCase):
    def refused(self, text, *expected):
        folder = case.new_folder()
        case.write(folder, "bad.model" if text.startswith("\n") else "bad.txt", text)
        name = os.listdir(folder)[0]
        for ranks in (0, 3):
            result = case.convert(folder, name, "out.nc", ranks=ranks, name="txt2hdf5")
            self.assertEqual(result.returncode, 2, result.stderr)
            said = [line for line in result.stderr.splitlines() if line.startswith("sluice: ")]
            self.assertEqual(len(said), 1, result.stderr)
            for words in expected:
                self.assertIn(words, said[0])
            self.assertEqual(os.listdir(folder), [name], "something was written")

    def test_lines_are_named(self):
        body = "".join(f"{i} 1 {i} 1 1\n" for i in range(1, 2001))
        self.refused("\n2001\n" + body + "2001 1 zwei 1 1\n", "bad.model:2003:")
        self.refused("\n2001\n" + body + "2001 0 1 1 1\n", "bad.model:2003:", "material 0")
        self.refused("\n2001\n" + body, "bad.model:2:", "has 2000")
        head = "nNodes: 3\nNodes: 2  2  2\nMaterials: m.txt\n"
        rows = "0 0 0 0 1e-3 0 0\n1 1 0 0 0 0 0\n"
        self.refused(head + rows + "2 0 1 0 0 zero 0\n", "bad.txt:6:")
        self.refused(head + rows + "3 0 1 0 0 0 0\n", "bad.txt:6:", "does not match")
        self.refused(head + rows, "bad.txt:1:", "has 2")
        self.refused("nNodes: 3\nNodes: 2 2\n", "bad.txt:2:")


if __name__ == "__main__":
    unittest.main()
