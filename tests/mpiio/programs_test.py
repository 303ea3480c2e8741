"""Programs that nobody has changed, with the interface in front of their MPI: the random accesses
hold, failures are the same on all ranks, and files are byte for byte those of the program alone."""

import contextlib
import os
import pathlib
import subprocess
import sys
import unittest

import launch

FOLDER = pathlib.Path(os.environ["SLUICE_TEST_MPIIO_FOLDER"])
PROGRAMS = pathlib.Path(os.environ["SLUICE_TEST_MPIIO_PROGRAMS"])
TESTED = os.environ["SLUICE_TEST_MPIIO_TESTED"].split()
IS_LONG = os.environ.get("SLUICE_LONG") == "1"
TIMEOUT_S = 300


def library(abi):
    return FOLDER / f"libsluice-mpiio-{abi}.so"


def run(abi, ranks, program, *arguments, preload=None, environment=None):
    words = launch.words(abi, ranks, PROGRAMS / f"{program}.{abi}", *arguments, preload=preload)
    done = subprocess.run(words, env=os.environ | (environment or {}), capture_output=True,
                          text=True, timeout=TIMEOUT_S, check=False)
    assert done.returncode == 0, f"{program} on {ranks} ranks of {abi}: {done.stdout}{done.stderr}"
    return done


def files_of(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


class Programs(unittest.TestCase):
    def setUp(self):
        import tempfile

        folder = tempfile.TemporaryDirectory(prefix="sluice-mpiio-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_random_accesses(self):
        cases = 2_500 if IS_LONG else 120  # each of 3 to 6 accesses
        for abi in TESTED:
            for ranks in (1, 2, 3, 4) if IS_LONG else (3,):
                with self.subTest(abi=abi, ranks=ranks):
                    done = run(abi, ranks, "random_access", self.folder / "random.dat",
                               40 + ranks, cases, preload=library(abi))
                    self.assertIn(f"{cases} cases on {ranks} ranks: right", done.stdout)

    def test_random_accesses_between_nodes_without_direct_writes(self):
        cases = 2_500 if IS_LONG else 60
        done = run(TESTED[0], 2, "random_access", self.folder / "random.dat", 7, cases,
                   preload=library(TESTED[0]),
                   environment={"SLUICE_MPIIO_STORAGE": "posix", "SLUICE_RANKS_PER_NODE": "1"})
        self.assertIn("right", done.stdout)

    def test_failures(self):
        for abi in TESTED:
            for ranks in (1, 3):
                with self.subTest(abi=abi, ranks=ranks):
                    done = run(abi, ranks, "failures", self.folder / "failing.dat",
                               preload=library(abi))
                    self.assertIn(f"rank {ranks - 1}: {self.folder}/failing.dat: write of ",
                                  done.stderr)
                    self.check_lines(done.stderr.splitlines(), ranks)
                    self.check_reasons(done.stderr, ranks)

    def check_reasons(self, said, ranks):
        """Each failure has a line of who, which file, and why; but not that a file is missing, or
        is there, for programs try that."""
        name, last = f"{self.folder}/failing.dat", ranks - 1
        expected = [(last, name, "a negative count"), (last, name, "a negative offset"),
                    (0, name, "an unknown data representation"),
                    (0, name, "the file is open for reading only"),
                    (0, name, "needs one of MPI_MODE_RDONLY, MPI_MODE_WRONLY and MPI_MODE_RDWR"),
                    (0, f"{name}.not-there/file", "cannot be created: its folder does not exist"),
                    (0, str(self.folder), "is a folder"),
                    (0, f"{name}.read-only", "its file system is mounted for reading only")]
        if ranks > 1:
            other = f"{name}.other"
            expected += [
                (0, name, "opened with different modes: RDONLY on one rank, RDWR on another"),
                (1, other, "another name than rank 0's, and no such file is there"),
                (1, other, "is another file than rank 0's")]
        for rank, path, why in expected:
            self.assertEqual(said.count(f"sluice: rank {rank}: {path}: {why}\n"), 1, (why, said))
            self.assertEqual(said.count(f": {path}: {why}"), 1, (why, said))
        self.assertNotIn("not-there: ", said)
        self.assertNotIn("failing.dat: creating", said)
        self.assertNotIn("failing.dat: deleting", said)

    def test_fatal_handlers(self):
        """Where an error handler ends the program, the call and the file are named."""
        for abi in TESTED:
            for case, function in (("fatal-open", "MPI_File_open"),
                                   ("fatal-read", "MPI_File_read_at_all"),
                                   ("fatal-close", "MPI_File_close")):
                with self.subTest(abi=abi, case=case):
                    path = self.folder / case
                    words = launch.words(abi, 2, PROGRAMS / f"failures.{abi}", case, path,
                                         preload=library(abi))
                    done = subprocess.run(words, capture_output=True, text=True, check=False,
                                          timeout=TIMEOUT_S)
                    self.assertNotEqual(done.returncode, 0)
                    self.assertRegex(done.stderr, rf"sluice: rank \d: {function}: {path}: .*; "
                                                  "the error handler ends the program")

    def settings_said(self, abi, **environment):
        """What stderr has of a program with these settings."""
        return run(abi, 3, "snapshots", self.folder / "spins-", 1, 100, preload=library(abi),
                   environment={"SLUICE_EXPLAIN": "1"} | environment).stderr

    def test_wrong_settings(self):
        """A value that is not allowed, and a name that is none, is told once."""
        boolean = "expected true or false (on, off, yes, no, 1, 0)"
        for abi in TESTED:
            for name, value, told in (
                    ("SLUICE_MPIIO_STORAGE", "drect",
                     "=drect: expected auto, writeback, posix or direct: it is auto"),
                    ("SLUICE_MPIIO_WRITE_BEHIND", "treu", f"=treu: {boolean}: it is false"),
                    ("SLUICE_MPIIO", "of", f"=of: {boolean}: it is true"),
                    ("SLUICE_MPIIO_BUDGET_MIB", "2GB",
                     "=2GB: expected a whole number of MiB from 8 on: it is 256"),
                    ("SLUICE_MPIIO_BUDGET_MIB", "2",
                     "=2: expected a whole number of MiB from 8 on: it is 256"),
                    ("SLUICE_MPIIO_WRIT_BEHIND", "1", ": there is no such setting; there are ")):
                with self.subTest(abi=abi, name=name, value=value):
                    said = self.settings_said(abi, **{name: value})
                    self.assertEqual(said.count(f"sluice: {name}{told}"), 1, said)
                    self.assertIn("ranks; in the slowest rank", said)  # the interface answered

    def test_words_of_switches(self):
        for abi in TESTED:
            for value in ("OFF", "false", "No", "0"):
                with self.subTest(abi=abi, value=value):
                    self.assertNotIn("sluice:", self.settings_said(abi, SLUICE_MPIIO=value))
            for value, is_on in (("TRUE", True), ("yes", True), ("On", True), ("1", True),
                                 ("False", False), ("", False)):
                with self.subTest(abi=abi, value=value):
                    said = self.settings_said(abi, SLUICE_MPIIO_WRITE_BEHIND=value)
                    self.assertEqual("written behind: " in said, is_on, said)
                    self.assertNotIn("expected", said)

    def check_lines(self, lines, ranks):
        """Of all ranks but the first that fail again and again: of those in collective calls the
        lowest says it, of the others each; and once."""
        def said(name, error):
            return [line.partition(": write of ")[0] for line in lines
                    if f"{name}: write of " in line and error in line]

        def by(rank, name):
            return f"sluice: rank {rank}: {self.folder}/{name}"

        full, alone, no_space = "failing.dat.full", "failing.dat.alone", "No space left on device"
        self.assertEqual(said(full, no_space), [by(min(1, ranks - 1), full)])
        self.assertEqual(said(full, "Input/output error"), [by(ranks - 1, full)])
        self.assertEqual(sorted(said(alone, no_space)),
                         [by(rank, alone) for rank in (range(1, ranks) if ranks > 1 else [0])])

    def test_calls(self):
        for abi in TESTED:
            for ranks in (1, 3):
                with self.subTest(abi=abi, ranks=ranks):
                    run(abi, ranks, "calls", self.folder / "calls.dat", preload=library(abi))

    def test_agreements(self):
        for abi in TESTED:
            for case, ranks in (("groups", 4), ("hints", 3), ("paths", 3), ("pointer", 1),
                                ("pointer", 3), ("reserving", 2), ("sparse", 3),
                                ("threads", 1)):
                with self.subTest(abi=abi, case=case, ranks=ranks):
                    run(abi, ranks, "agreements", case, self.folder / "agreed.dat",
                        preload=library(abi))

    def test_shapes(self):
        for abi in TESTED:
            for preload in (None, library(abi)) if IS_LONG else (library(abi),):
                with self.subTest(abi=abi, preload=preload):
                    done = run(abi, 3, "shapes", self.folder / "shapes.dat", preload=preload)
                    self.assertIn("8 shapes are right", done.stdout)

    def test_shapes_in_stripes(self):
        """Of a folder that says how its files are striped, where the file system keeps that."""
        with contextlib.suppress(OSError):
            os.setxattr(self.folder, "user.striping", b"size=65536 count=4")
        done = run(TESTED[0], 3, "shapes", self.folder / "shapes.dat", preload=library(TESTED[0]))
        self.assertIn("8 shapes are right", done.stdout)

    def same_files(self, abi, ranks, program, name, *arguments):
        """Runs with and without, in folders of their own. Returns the run with the interface."""
        with_, without = self.folder / "with", self.folder / "without"
        for folder in (with_, without):
            folder.mkdir(exist_ok=True)
            for path in folder.iterdir():
                path.unlink()
        done = run(abi, ranks, program, with_ / name, *arguments, preload=library(abi),
                   environment={"SLUICE_EXPLAIN": "1"})
        run(abi, ranks, program, without / name, *arguments)
        ours, theirs = files_of(with_), files_of(without)
        self.assertEqual(list(ours), list(theirs))
        for path, content in ours.items():
            self.assertTrue(content == theirs[path], f"{path} of {program} differs")
        self.assertIn("ranks; in the slowest rank", done.stderr)
        return done

    def test_hdf5(self):
        if not (PROGRAMS / "hdf5_program.openmpi").exists():
            self.skipTest("no parallel HDF5 for Open MPI")
        for ranks in (1, 2, 3, 4) if IS_LONG else (3,):
            with self.subTest(ranks=ranks):
                done = self.same_files("openmpi", ranks, "hdf5_program", "data.h5")
                self.assertTrue(ranks == 1 or "exchanged: " in done.stderr, done.stderr)

    def test_pnetcdf(self):
        if not (PROGRAMS / "pnetcdf_program.openmpi").exists():
            self.skipTest("no PnetCDF")
        for ranks in (1, 2, 3, 4) if IS_LONG else (3,):
            with self.subTest(ranks=ranks):
                self.same_files("openmpi", ranks, "pnetcdf_program", "data.nc")

    def test_snapshots(self):
        for abi in TESTED:
            with self.subTest(abi=abi):
                self.same_files(abi, 3, "snapshots", "spins-", 3, 20_000)

    def test_another_mpi(self):
        """The library of the other MPI says one line on one rank, and leaves the program alone."""
        if len(TESTED) < 2:
            self.skipTest("one MPI only")
        for abi, other in (TESTED, TESTED[::-1]):
            with self.subTest(abi=abi):
                done = run(abi, 3, "snapshots", self.folder / "spins-", 1, 100,
                           preload=library(other))
                self.assertEqual(done.stderr.count("MPI-IO is left to the program's own MPI"), 1)

    def test_programs_without_mpi(self):
        for abi in TESTED:
            done = subprocess.run(["/bin/sh", "-c", "echo fine"], capture_output=True, text=True,
                                  env=os.environ | {"LD_PRELOAD": str(library(abi))}, check=True)
            self.assertEqual((done.stdout, done.stderr), ("fine\n", ""))

    def test_nothing_else_is_exported(self):
        for abi in TESTED:
            symbols = subprocess.run(["nm", "-D", "--defined-only", library(abi)],
                                     capture_output=True, text=True, check=True).stdout.split("\n")
            names = {line.split()[2] for line in symbols if line}
            plain = {name for name in names if name.startswith("MPI_")}
            self.assertEqual(names, plain | {f"P{name}" for name in plain})
            self.assertGreaterEqual(len(plain), 62)


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    unittest.main(verbosity=2)
