"""The whole real model: minutes. Its script as it is on up to 50 ranks, and solved to the end,
beside scipy's conjugate gradients."""

import os
import shutil
import unittest

import numpy

import case
import oracle


@unittest.skipUnless(case.LONG, "only with SLUICE_LONG=1")
@unittest.skipUnless(case.HAS_DATA, case.NO_DATA)
class Whole(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = case.new_folder()
        for name in os.listdir(case.DATA):
            shutil.copyfile(os.path.join(case.DATA, name), os.path.join(cls.folder, name))
        cls.script = case.read(cls.folder, "o-test.voxfe.script").decode() + "\nPRINT_X d.txt\n"

    def run_script(self, script, ranks, residuals):
        result = case.run(self.folder, script, ranks, "--residuals", residuals, timeout=1800)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout, numpy.loadtxt(os.path.join(self.folder, residuals))

    def test_the_real_script_as_it_is(self):
        expected = text = None
        for ranks in (1, 3, 4, 7, 50):
            said, residuals = self.run_script(self.script, ranks, "r")
            self.assertIn("NOT CONVERGED: after 500 iterations", said)
            found = case.read(self.folder, "d.txt")
            if expected is None:
                expected, text = residuals, found
            self.assertLess(numpy.abs(residuals[:101] / expected[:101] - 1).max(), 1e-6)
            self.assertEqual(found, text, ranks)

    def test_to_the_end(self):
        script = self.script.replace("MAX_ITER 500", "MAX_ITER 20000")
        script = script.replace("TOLERANCE 1e-09", "TOLERANCE 1e-12")
        text = None
        for ranks in (1, 4, 50):
            said, _ = self.run_script(script, ranks, "r")
            self.assertIn("solver: converged", said)
            found = case.read(self.folder, "d.txt")
            text = text or found
            self.assertEqual(found, text, ranks)
        rows = numpy.loadtxt(case.MODEL, skiprows=2, dtype=int)[:, 1:]
        with open(os.path.join(self.folder, "constraints.txt"), encoding="ascii") as file:
            lines = [line.split()[1:] for line in file]
        constraints = [(*map(int, w[:3]), tuple(map(float, w[3:6])), tuple(map(int, w[6:])))
                       for w in lines]
        where, expected = oracle.solve(rows, {1: (17000, 0.3), 2: (17000, 0.3)}, (0.1,) * 3,
                                       constraints, direct=False)
        places, values = case.displacements(text)
        self.assertTrue(numpy.array_equal(places, where))
        self.assertLess(numpy.abs(values - expected).max(), 1e-6 * numpy.abs(expected).max())


if __name__ == "__main__":
    unittest.main()
