"""sluice merge: one file of a set, that has its name when it is complete and not before."""

import json
import os
import signal
import subprocess
import time
import unittest

import h5py

from command import BAD_INPUT, COMMAND, FINE, FOLDER, new_path, said, sluice

STEPS, STEP_BYTES = 16, 3000 * 8
SET = os.path.join(FOLDER, "merge", "many.h5")


def setUpModule():
    os.mkdir(os.path.dirname(SET))
    with open(os.path.join(os.path.dirname(SET), "sluice.toml"), "w", encoding="ascii") as file:
        file.write('strategy = "file-per-process"\n')
    subprocess.run([os.environ["SLUICE_SLOW_WRITER"], SET, str(STEPS), "0"],
                   cwd=os.path.dirname(SET), check=True, timeout=60)


def interrupt(verb, number, target):
    """Sends a signal in the middle of the steps, of which each takes half a second."""
    building = target + ".sluice-convert"
    environment = {**os.environ, "LD_PRELOAD": os.environ["SLUICE_SLOW_READS"],
                   "SLUICE_SLOW_READ_BYTES": str(STEP_BYTES)}
    with subprocess.Popen([COMMAND, verb, SET, target], env=environment) as command:
        while not (os.path.exists(building) or os.path.exists(target)) and command.poll() is None:
            time.sleep(0.01)
        time.sleep(1.2)
        command.send_signal(number)
        return command.wait(60)


class Merge(unittest.TestCase):
    def expect_whole(self, target):
        self.assertEqual(sluice("verify", target).returncode, FINE)
        self.assertEqual(sluice("diff", SET, target).returncode, FINE)
        with h5py.File(target) as file:
            self.assertEqual(file["x"].shape, (STEPS, 1000, 3))

    def test_the_same_values_in_one_file(self):
        for ranks in (0, 2):
            target = new_path()
            result = sluice("merge", SET, target, ranks=ranks)
            self.assertEqual((result.returncode, said(result)), (FINE, []), result.stderr)
            self.expect_whole(target)
            self.assertFalse(os.path.exists(target + ".sluice-convert"))

    def test_an_interrupted_one_leaves_no_file_that_passes_for_whole(self):
        for verb in ("merge", "convert"):
            for number in (signal.SIGTERM, signal.SIGKILL):
                target = new_path()
                self.assertEqual(interrupt(verb, number, target), -number)
                self.assertFalse(os.path.exists(target), verb)
                result = sluice(verb, SET, target)
                self.assertEqual(result.returncode, FINE, result.stderr)
                self.expect_whole(target)
                name = os.path.basename(target)
                self.assertEqual([n for n in os.listdir(FOLDER) if n.startswith(name)], [name])

    def test_a_name_that_is_taken_is_refused_in_words_of_the_command(self):
        for verb in ("merge", "convert"):
            before = os.path.getsize(os.path.join(FOLDER, "grid.h5"))
            result = sluice(verb, SET, "grid.h5")
            self.assertEqual(result.returncode, BAD_INPUT)
            self.assertRegex(said(result)[0], r"grid\.h5: exists already: choose another name$")
            self.assertEqual(os.path.getsize(os.path.join(FOLDER, "grid.h5")), before)

    def test_a_name_that_leads_nowhere_is_an_error_of_all_ranks(self):
        loop = new_path()
        os.symlink(loop, loop)
        for verb in ("merge", "convert"):
            result = sluice(verb, SET, loop, ranks=2)
            self.assertEqual(result.returncode, BAD_INPUT, result.stderr)
            self.assertEqual(len(said(result)), 1, result.stderr)
            self.assertNotIn("mpi_abort", result.stderr.lower(), "the others waited for rank 0")

    def test_the_compression_stays_and_the_size_is_that_of_the_set(self):
        folder = os.path.join(FOLDER, "packed")
        os.mkdir(folder)
        with open(os.path.join(folder, "sluice.toml"), "w", encoding="ascii") as file:
            file.write('strategy = "file-per-process"\ncompress = "deflate:6"\n')
        packed = os.path.join(folder, "packed.h5")
        subprocess.run([os.environ["SLUICE_SLOW_WRITER"], packed, "3", "0"], cwd=folder,
                       check=True, timeout=60)
        parts = packed + ".parts"
        size = sum(os.path.getsize(os.path.join(parts, name)) for name in os.listdir(parts))
        for verb in ("merge", "convert"):
            target = new_path()
            result = sluice(verb, packed, target, *(["--json"] if verb == "convert" else []))
            self.assertEqual(result.returncode, FINE, result.stderr)
            with h5py.File(target) as file:
                self.assertEqual((file["x"].compression, file["x"].compression_opts), ("gzip", 6))
            if verb == "convert":
                self.assertEqual(json.loads(result.stdout)["bytes_before"],
                                 os.path.getsize(packed) + size)

    def test_one_file_is_no_set(self):
        target = new_path()
        result = sluice("merge", "grid.h5", target)
        self.assertEqual(result.returncode, BAD_INPUT)
        self.assertIn("one plain file already", result.stderr)
        self.assertFalse(os.path.exists(target) or os.path.exists(target + ".sluice-convert"))


if __name__ == "__main__":
    unittest.main()
