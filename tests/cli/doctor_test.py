"""sluice doctor: what it finds, for people and for programs."""

import json
import os
import signal
import subprocess
import tempfile
import time
import unittest

from command import COMMAND, FINE, sluice

NAMES = {"MPI", "HDF5", "file system", "stripe", "writing", "O_DIRECT", "locks", "shared memory",
         "huge pages"}


class Doctor(unittest.TestCase):
    def found(self, *words):
        result = sluice("doctor", *words, "--json")
        self.assertEqual(result.returncode, FINE, result.stderr)
        return {one["name"]: one for one in json.loads(result.stdout)["findings"]}

    def test_a_folder(self):
        with tempfile.TemporaryDirectory() as folder:
            found = self.found(folder)
            self.assertEqual(set(found), NAMES)
            for one in found.values():
                self.assertIn(one["state"], ("ok", "slow", "missing"))
                self.assertTrue(one["found"])
            self.assertEqual(found["HDF5"]["state"], "ok")
            self.assertEqual(found["writing"]["state"], "ok")
            self.assertEqual(os.listdir(folder), [])  # nothing is left

    def test_nothing_is_left_of_one_that_is_stopped(self):
        with tempfile.TemporaryDirectory() as folder:
            codes = []
            while -signal.SIGTERM not in codes and len(codes) < 50:  # it may have ended before
                with subprocess.Popen([COMMAND, "doctor", folder],
                                      stdout=subprocess.DEVNULL) as doctor:
                    while not os.listdir(folder) and doctor.poll() is None:
                        time.sleep(0.0005)
                    doctor.send_signal(signal.SIGTERM)
                    codes.append(doctor.wait(60))
                self.assertEqual(os.listdir(folder), [])
            self.assertIn(-signal.SIGTERM, codes)

    def test_an_mpi_is_found_and_named(self):
        mpi = self.found(tempfile.gettempdir())["MPI"]
        self.assertEqual(mpi["state"], "ok", mpi)
        self.assertRegex(mpi["found"], r"(Open MPI|MPICH|MPI).*lib.*\.so")

    def test_a_wrong_mpi_is_told_with_the_remedy(self):
        os.environ["SLUICE_MPI"] = "/no/libmpi.so"
        try:
            mpi = self.found(tempfile.gettempdir())["MPI"]
        finally:
            del os.environ["SLUICE_MPI"]
        self.assertEqual(mpi["state"], "missing")
        self.assertIn("/no/libmpi.so", mpi["found"])
        self.assertIn("SLUICE_MPI", mpi["remedy"])

    def test_of_a_rank_whose_mpi_cannot_be_loaded(self):
        # Rank 0 of several tells it, once; the others have nothing to add.
        for rank, ranks in (("0", "2"), ("0", "1")):
            result = self.as_rank(rank, ranks, "doctor", tempfile.gettempdir(), "--json")
            self.assertEqual((result.returncode, result.stderr), (FINE, ""))
            mpi = next(one for one in json.loads(result.stdout)["findings"] if one["name"] == "MPI")
            self.assertEqual(mpi["state"], "missing")
        result = self.as_rank("1", "2", "doctor", tempfile.gettempdir(), "--json")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (FINE, "", ""))

    @staticmethod
    def as_rank(rank, ranks, *words):
        environment = {**os.environ, "OMPI_COMM_WORLD_RANK": rank, "OMPI_COMM_WORLD_SIZE": ranks,
                       "SLUICE_MPI": "/no/libmpi.so"}
        return subprocess.run([COMMAND, *words], env=environment, capture_output=True, text=True,
                              timeout=60, check=False)

    def test_without_mpi_by_request(self):
        os.environ["SLUICE_MPI"] = "none"
        try:
            mpi = self.found(tempfile.gettempdir())["MPI"]
        finally:
            del os.environ["SLUICE_MPI"]
        self.assertEqual((mpi["state"], "SLUICE_MPI=none" in mpi["found"]), ("missing", True))

    def test_a_folder_that_is_not_there(self):
        found = self.found("/no/such/folder")
        self.assertEqual(found["writing"]["state"], "missing")
        self.assertIn("/no/such/folder", found["writing"]["found"])

    def test_for_people(self):
        with tempfile.TemporaryDirectory() as folder:
            result = sluice("doctor", folder)
            self.assertEqual(result.returncode, FINE, result.stderr)
            for name in NAMES:
                self.assertIn(name, result.stdout)


if __name__ == "__main__":
    unittest.main()
