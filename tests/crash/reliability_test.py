"""RELIABILITY.md is made of docs/reliability.json alone, and that of what ctest printed."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "tests/crash/reliability.py"

T3 = ("T3 {}: {} calls, {} trials, {} errors, {} files to be reopened, {} answered wrongly, "
      "3.4 s\n")

LOG = f"""Start testing: Nov 23 17:22 UTC
----------------------------------------------------------
1/3 Testing: crash/faults_zarr
1/3 Test: crash/faults_zarr
Output:
----------------------------------------------------------
{T3.format("zarr shared append", 500, 1000, 900, 7, 0)}\
{T3.format("zarr forward make", 11, 22, 20, 1, 2)}\
{T3.format("set shared keep append", 5, 10, 9, 0, 0)}\
<end of output>
Test time =   3.80 sec
----------------------------------------------------------
Test Passed.
2/3 Testing: crash/kill
2/3 Test: crash/kill
Output:
----------------------------------------------------------
T2 npy shared seed 9: 5 kills (2 at a storage call, 0 before the file was open), 80 steps \
acknowledged, 0 lost, 1 there unannounced, 3 replayed, slowest recovery 0.036 s; took 9 s
T2 hdf5 shared seed 9: 6 kills (2 at a storage call, 0 before the file was open), 20 steps \
acknowledged, 0 lost, 1 there unannounced, 1 replayed, slowest recovery 0.140 s; took 9 s
<end of output>
Test time =  18.00 sec
----------------------------------------------------------
Test Passed.
3/3 Testing: crash/planted
3/3 Test: crash/planted
Output:
----------------------------------------------------------
<end of output>
Test time =   0.10 sec
----------------------------------------------------------
Test Failed.
"""


MUTANTS = """4/4 Testing: fuzz/zarr
4/4 Test: fuzz/zarr
Output:
----------------------------------------------------------
T8 zarr: 236 mutants in 401 s, 148 refused, seed 7
T8 journal: 20 mutants, 4 refused, seed 7
T6 flipped bits of a Zarr store: 1068 tried, 916 refused by the reader, 3 found by verify, 149 \
without effect, 0 unnoticed
<end of output>
Test time = 500.00 sec
----------------------------------------------------------
Test Passed.
"""


class Reliability(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.log, self.data, self.page = (Path(folder.name) / n for n in ("log", "data", "page"))

    def write(self, *arguments):
        subprocess.run([sys.executable, SCRIPT, *arguments, "--data", self.data, "--page",
                        self.page], check=True)
        return self.page.read_text(encoding="utf-8")

    def counts(self):
        return subprocess.run([sys.executable, SCRIPT, "--data", self.data, "--counts"], check=True,
                              capture_output=True, text=True).stdout

    def test_counts_are_those_of_the_run(self):
        self.log.write_text(LOG, encoding="utf-8")
        page = self.write("--log", self.log)
        self.assertIn("| 516 calls, 1,032 trials | 929 reported as errors, 8 files had to be "
                      "reopened, 2 wrong answers |", page)
        self.assertIn("T3  zarr: 511 calls, 1,022 trials: 920 reported as", self.counts())
        self.assertIn("T3  set shared keep: 5 calls,", self.counts())
        self.assertIn("| 11 kills, 100 acknowledged steps | 0 steps lost, 4 completed by recovery, "
                      "slowest recovery 0.140 s |", page)
        self.assertIn("**1 of these tests failed: crash/planted.**", page)
        self.assertIn("| T1 | Power failure | not run |  |", page)
        self.assertEqual(self.write(), page)

    def test_mutants_by_time_and_flips_of_a_store_count(self):
        self.log.write_text(MUTANTS, encoding="utf-8")
        page = self.write("--log", self.log)
        self.assertIn("T8  zarr: 236 mutants: 148 refused", self.counts())
        self.assertIn("| 256 mutants | 152 refused |", page)
        self.assertIn("| 1,068 bits of Zarr stores | 916 refused, 3 found by verify, 149 without "
                      "effect, 0 unnoticed |", page)

    def test_a_later_run_stands_in_the_place_of_an_earlier_one(self):
        self.log.write_text(LOG, encoding="utf-8")
        self.write("--log", self.log)
        later = LOG.split("2/3 Testing", 1)[0].replace(" 500 calls", " 489 calls")
        self.log.write_text(later, encoding="utf-8")
        self.write("--add", "--log", self.log)
        self.assertIn("T3  zarr: 500 calls,", self.counts())
        self.assertIn("T2  npy shared: 5 kills,", self.counts())
        self.write("--log", self.log)
        self.assertNotIn("npy shared", self.counts())

    def test_the_page_of_the_tree_is_that_of_its_data(self):
        self.data = ROOT / "docs/reliability.json"
        self.assertEqual(self.write(), (ROOT / "RELIABILITY.md").read_text(encoding="utf-8"))


if __name__ == "__main__":
    unittest.main()
