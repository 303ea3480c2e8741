"""Writing behind, with a writer that is 3 to 30 ms late: random accesses against a model, what is
promised of visibility, failures, memory and ends, and files byte for byte. Without its waits the
same tests must fail."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import launch

LATE_FOLDER = pathlib.Path(os.environ["SLUICE_TEST_MPIIO_LATE_FOLDER"])
PROGRAMS = pathlib.Path(os.environ["SLUICE_TEST_MPIIO_PROGRAMS"])
TESTED = os.environ["SLUICE_TEST_MPIIO_TESTED"].split()
IS_LONG = os.environ.get("SLUICE_LONG") == "1"
TIMEOUT_S = 900
BEHIND = {"SLUICE_MPIIO_WRITE_BEHIND": "true", "SLUICE_TEST_MPIIO_LATE_MS": "3-30",
          "SLUICE_EXPLAIN": "1"}


def start(abi, ranks, program, *arguments, preload=True, **environment):
    """`preload`: the interface whose writer is late."""
    library = LATE_FOLDER / f"libsluice-mpiio-{abi}.so"
    words = launch.words(abi, ranks, PROGRAMS / f"{program}.{abi}", *arguments,
                         preload=library if preload else None)
    return subprocess.run(words, env=os.environ | BEHIND | environment, capture_output=True,
                          text=True, timeout=TIMEOUT_S, check=False)


def run(abi, ranks, program, *arguments, **more):
    done = start(abi, ranks, program, *arguments, **more)
    assert done.returncode == 0, f"{program} on {ranks} ranks of {abi}: {done.stdout}{done.stderr}"
    return done


class Behind(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="sluice-mpiio-behind-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.file = self.folder / "data"

    def test_random_accesses(self):
        cases = 2_500 if IS_LONG else 12
        for abi in TESTED:
            for ranks in (1, 2, 3, 4) if IS_LONG else (3,):
                with self.subTest(abi=abi, ranks=ranks):
                    # The long run is late by less, to come to its cases.
                    late = {"SLUICE_TEST_MPIIO_LATE_MS": "0-3"} if IS_LONG else {}
                    done = run(abi, ranks, "random_access", self.file, 60 + ranks, cases, **late)
                    self.assertIn("right", done.stdout)
                    self.assertIn("written behind: ", done.stderr)

    def test_exchange_in_shared_memory(self):
        """Also of the smallest pieces, which are sent in the library that users have."""
        for abi in TESTED:
            with self.subTest(abi=abi):
                done = run(abi, 3, "random_access", self.file, 11, 2_500 if IS_LONG else 100,
                           SLUICE_MPIIO_WRITE_BEHIND="false", SLUICE_TEST_MPIIO_LATE_MS="")
                self.assertIn("right", done.stdout)
                self.assertNotIn("written behind", done.stderr)

    def test_without_waits(self):
        """The planted bug: the tests above see whether anybody waits."""
        abi = TESTED[0]
        wrong = {"SLUICE_TEST_MPIIO_NO_WAITS": "1"}
        for words in (("random_access", self.file, 63, 25), ("behind", "visibility", self.file)):
            self.file.unlink(missing_ok=True)
            self.assertNotEqual(start(abi, 3, *words, **wrong).returncode, 0)

    def test_promises(self):
        for abi in TESTED:
            for ranks in (1, 3) if abi == TESTED[0] else (3,):
                for case in ("visibility", "failures", "durability"):
                    with self.subTest(abi=abi, ranks=ranks, case=case):
                        self.file.unlink(missing_ok=True)
                        run(abi, ranks, "behind", case, self.file)

    def test_shapes(self):
        for abi in TESTED:
            with self.subTest(abi=abi):
                done = run(abi, 3, "shapes", self.file)
                self.assertIn("8 shapes are right", done.stdout)

    def test_budget(self):
        late = {"SLUICE_TEST_MPIIO_LATE_MS": "0-1"}
        run(TESTED[0], 2, "behind", "budget", self.file, SLUICE_MPIIO_BUDGET_MIB="16", **late)
        run(TESTED[0], 1, "behind", "short", self.file, SLUICE_MPIIO_BUDGET_MIB="8", **late)

    def test_waits_for_memory(self):
        """Nobody waits for memory of what is never written, nor without a limit."""
        few = {"SLUICE_MPIIO_BUDGET_MIB": "8"}
        for abi in TESTED:
            with self.subTest(abi=abi):
                run(abi, 2, "behind", "threads", self.file, SLUICE_TIMEOUT_S="10", **few)
                late = {"SLUICE_TEST_MPIIO_LATE_MS": "2000-2000"}
                done = run(abi, 2, "behind", "slow", self.file, SLUICE_TIMEOUT_S="0.2", **few,
                           **late)
                self.assertEqual(done.stderr.count("SLUICE_MPIIO_BUDGET_MIB has no room"), 1)

    def test_exit_without_close(self):
        for abi in TESTED:
            with self.subTest(abi=abi):
                self.file.unlink(missing_ok=True)
                done = run(abi, 3, "behind", "exit", self.file)
                right = b"".join(bytes([step]) * 900_000 for step in (1, 2, 3))
                for end in ("", ".2"):
                    self.assertEqual(pathlib.Path(f"{self.file}{end}").read_bytes(), right)
                for end in (".full", ".full2"):
                    said = f"{self.file}{end}: write of "
                    self.assertEqual(done.stderr.count(said), 3, done.stderr)

    def test_the_time_limit_is_a_number(self):
        """One rank says where it is none."""
        for text, said in (("half a minute", 1), (" +30 ", 0)):
            done = run(TESTED[0], 2, "behind", "visibility", self.file, SLUICE_TIMEOUT_S=text)
            self.assertEqual(done.stderr.count("SLUICE_TIMEOUT_S"), said, done.stderr)

    def test_between_nodes(self):
        """There writes go through, and the report says so."""
        done = run(TESTED[0], 2, "behind", "visibility", self.file, SLUICE_RANKS_PER_NODE="1",
                   SLUICE_TEST_MPIIO_NO_WAITS="1")
        self.assertIn("written through, for its ranks are on several nodes", done.stderr)

    def same_files(self, program, name, *arguments, ranks=3):
        behind, alone = self.folder / "behind", self.folder / "alone"
        for folder in (behind, alone):
            folder.mkdir()
        done = run("openmpi", ranks, program, behind / name, *arguments)
        run("openmpi", ranks, program, alone / name, *arguments, preload=False)
        self.assertIn("written behind: ", done.stderr)
        ours, theirs = ({path.name: path.read_bytes() for path in sorted(folder.iterdir())}
                        for folder in (behind, alone))
        self.assertEqual(list(ours), list(theirs))
        for path, content in ours.items():
            self.assertTrue(content == theirs[path], f"{path} of {program} differs")

    def test_hdf5(self):
        if not (PROGRAMS / "hdf5_program.openmpi").exists():
            self.skipTest("no parallel HDF5 for Open MPI")
        self.same_files("hdf5_program", "data.h5")

    def test_pnetcdf(self):
        if not (PROGRAMS / "pnetcdf_program.openmpi").exists():
            self.skipTest("no PnetCDF")
        self.same_files("pnetcdf_program", "data.nc")

    def test_snapshots(self):
        if "openmpi" not in TESTED:
            self.skipTest("no Open MPI")
        self.same_files("snapshots", "spins-", 3, 20_000)


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    unittest.main(verbosity=2)
