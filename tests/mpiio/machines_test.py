"""Machines that are not here, as the tests' library plays them (hooks.cpp): an MPI without large
counts; NFS on several nodes; containers of single ranks."""

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
TIMEOUT_S = 300
BOOT_ID = "/proc/sys/kernel/random/boot_id"
# On rank 1 the first argument stands for the id of the boot; what follows is the program.
OTHER_BOOT = f"""
if [ "${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}}" = 1 ]; then
  exec unshare -m sh -c 'mount --bind "$0" {BOOT_ID} && exec "$@"' "$@"
fi
shift
exec "$@"
"""


def may_mount():
    with tempfile.NamedTemporaryFile() as file:
        words = ["unshare", "-m", "mount", "--bind", file.name, BOOT_ID]
        return subprocess.run(words, capture_output=True, check=False).returncode == 0


def start(abi, ranks, program, *arguments, **environment):
    words = launch.words(abi, ranks, PROGRAMS / f"{program}.{abi}", *arguments,
                         preload=LATE_FOLDER / f"libsluice-mpiio-{abi}.so")
    return subprocess.run(words, env=os.environ | {"SLUICE_EXPLAIN": "1"} | environment,
                          capture_output=True, text=True, timeout=TIMEOUT_S, check=False)


def run(abi, ranks, program, *arguments, **environment):
    done = start(abi, ranks, program, *arguments, **environment)
    assert done.returncode == 0, f"{program} on {ranks} ranks of {abi}: {done.stdout}{done.stderr}"
    return done


class Machines(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="sluice-mpiio-machines-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.file = self.folder / "data"

    def test_an_mpi_without_large_counts(self):
        """An MPI 3.1 of the same ABI, such as Cray MPICH 8: the interface answers there too."""
        for abi in TESTED:
            for program, arguments, said in (("random_access", (5, 40), "right"),
                                             ("shapes", (), "8 shapes are right")):
                with self.subTest(abi=abi, program=program):
                    done = run(abi, 3, program, self.file, *arguments,
                               SLUICE_TEST_MPIIO_OLD_MPI="1")
                    self.assertIn(said, done.stdout)
                    self.assertIn("ranks; in the slowest rank", done.stderr)

    def test_nfs_on_several_nodes(self):
        """Each access locks its range. Elsewhere, and on one node, none does."""
        nfs = {"SLUICE_RANKS_PER_NODE": "1", "SLUICE_TEST_MPIIO_NFS": "1"}
        for abi in TESTED:
            with self.subTest(abi=abi):
                run(abi, 2, "locks", self.file, **nfs)
                self.assertIn("right", run(abi, 2, "random_access", self.file, 9, 30, **nfs).stdout)
        for without in nfs:
            done = start(TESTED[0], 2, "locks", self.file,
                         **{key: value for key, value in nfs.items() if key != without})
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("a write did not wait for the lock", done.stderr)

    def test_nfs_whose_server_is_a_node_of_the_run(self):
        """Rank 0 has the disk itself. It locks as the others do, which are on NFS."""
        for abi in TESTED:
            with self.subTest(abi=abi):
                run(abi, 2, "locks", self.file, SLUICE_RANKS_PER_NODE="1",
                    SLUICE_TEST_MPIIO_NFS="clients")

    def test_nodes_of_one_name(self):
        """Containers on several hosts, all with one host name: each host has its own boot."""
        if not may_mount():
            self.skipTest("this user may not mount")
        boot = self.folder / "boot"
        boot.write_text("00000000-0000-0000-0000-000000000001\n", encoding="ascii")
        for abi in TESTED:
            with self.subTest(abi=abi):
                words = launch.words(abi, 2, "sh", "-c", OTHER_BOOT, "sh", boot,
                                     PROGRAMS / f"locks.{abi}", self.file,
                                     preload=LATE_FOLDER / f"libsluice-mpiio-{abi}.so")
                done = subprocess.run(words, env=os.environ | {"SLUICE_TEST_MPIIO_NFS": "1"},
                                      capture_output=True, text=True, timeout=TIMEOUT_S,
                                      check=False)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_containers_of_single_ranks(self):
        """They share no memory: the shared pointer is a file, of which nothing is left."""
        for abi in TESTED:
            with self.subTest(abi=abi):
                for case in ("pointer", "groups"):
                    run(abi, 4, "agreements", case, self.file, SLUICE_TEST_MPIIO_CONTAINERS="1")
                run(abi, 3, "calls", self.folder / "calls", SLUICE_TEST_MPIIO_CONTAINERS="1")
                left = [path.name for path in self.folder.iterdir() if "pointer" in path.name]
                self.assertEqual(left, [])


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    unittest.main(verbosity=2)
