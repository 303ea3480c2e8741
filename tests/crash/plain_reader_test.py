"""A plain h5py opens the file again and again while four ranks write steps as fast as they can: it
sees committed steps, whole, or is refused while a journal is applied; for how long is printed. By
default it sees those that are older than apply_every_s, with 0 all but the last. Of several
variables it may see different steps in one opening; with sluice.read_stable it does not.

SLUICE_LONG=1: for longer.
"""

import bisect
import importlib.util
import os
import shlex
import subprocess
import tempfile
import threading
import time
import unittest

import h5py

MPIEXEC = shlex.split(os.environ["SLUICE_MPIEXEC"])
VICTIM = os.environ["SLUICE_VICTIM"]
RANKS = 4
ROWS = 200
SECONDS = 60 if os.environ.get("SLUICE_LONG", "0") == "1" else 4
MORE_STEPS_THAN_FIT = 1_000_000
VARIABLES = 6
PAUSE_MS = 20  # so that a reading, of some milliseconds, fits between two commits
OPENS = 1000 if os.environ.get("SLUICE_LONG", "0") == "1" else 150
# Longer than a journal takes by orders, shorter than what a user would call for ever.
MOST_REFUSED_S = 2
# The default of apply_every_s, and what its thread may be late on a busy machine.
MOST_OLD_S = 0.2 + 2


class Writer:
    """The victim of the kill test, left alone."""

    def __init__(self, folder, ranks=RANKS, more_variables=0, pause_ms=0, apply_every_s="auto"):
        self.path = os.path.join(folder, "out.h5")
        self.acknowledged_s = []  # when, step by step
        self.run = subprocess.Popen(
            [*MPIEXEC, "-n", str(ranks), VICTIM, self.path, "shared", "0", "0", folder],
            env=os.environ | {"SLUICE_VICTIM_STEPS": str(MORE_STEPS_THAN_FIT),
                              "SLUICE_VICTIM_VARIABLES": str(more_variables),
                              "SLUICE_VICTIM_PAUSE_MS": str(pause_ms),
                              "SLUICE_APPLY_EVERY_S": apply_every_s},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.reader = threading.Thread(target=self.listen, daemon=True)
        self.reader.start()

    def listen(self):
        for line in self.run.stdout:
            if line.startswith("step "):
                self.acknowledged_s.append(time.monotonic())

    @property
    def acknowledged(self):
        """So many steps."""
        return len(self.acknowledged_s)

    def acknowledged_before(self, moment_s):
        """So many steps."""
        return bisect.bisect(self.acknowledged_s, moment_s)

    def end(self):
        self.run.kill()
        self.run.communicate()


def read_stable():
    """The function of the package, without its library."""
    path = os.path.join(os.environ["SLUICE_SOURCE_DIR"], "python", "sluice", "_stable.py")
    spec = importlib.util.spec_from_file_location("stable", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.read_stable


def step_counts(path):
    """Of each variable, and whether the last step of the first one has its values."""
    with h5py.File(path) as file:
        names = ["density", *(f"v{i}" for i in range(1, VARIABLES)), "time"]
        counts = [file[name].shape[0] for name in names]
        last = list(file["density"][counts[0] - 1])
    return counts, last == [(counts[0] - 1) * 1000 + row + 0.5 for row in range(ROWS)]


class PlainReader(unittest.TestCase):
    def test_read_stable_sees_one_commit_in_all_variables(self):
        read = read_stable()
        place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # where commits are fast
        with tempfile.TemporaryDirectory(prefix="sluice-plain-", dir=place) as folder:
            writer = Writer(folder, ranks=1, more_variables=VARIABLES - 1, pause_ms=PAUSE_MS)
            mixed = seen = 0
            try:
                while writer.acknowledged < 3:
                    self.assertIsNone(writer.run.poll(), "the writer ended by itself")
                    time.sleep(0.01)
                for _ in range(OPENS):
                    try:
                        mixed += len(set(step_counts(writer.path)[0])) > 1
                    except (OSError, KeyError):
                        pass  # refused
                    counts, is_whole = read(writer.path, step_counts, timeout=60)
                    self.assertEqual(len(set(counts)), 1, counts)
                    self.assertTrue(is_whole)
                    self.assertGreaterEqual(counts[0], seen)
                    seen = counts[0]
            finally:
                writer.end()
        print(f"T2b h5py beside a writer of {seen} steps in {VARIABLES} variables: {OPENS} plain "
              f"openings, {mixed} with different steps; by read_stable 0 of {OPENS}")

    def test_read_stable_says_what_is_in_the_way(self):
        read = read_stable()
        with tempfile.TemporaryDirectory(prefix="sluice-plain-") as folder:
            path = os.path.join(folder, "other.h5")
            self.assertRaises(FileNotFoundError, read, path, step_counts)
            with h5py.File(path, "w") as file:
                file["density"] = [1.0]
            with self.assertRaisesRegex(ValueError, "not written by Sluice"):
                read(path, step_counts)
            with open(path, "r+b") as file:
                file.write(b"\0")  # as while a journal is applied, and after a crash there
            with self.assertRaisesRegex(TimeoutError, "sluice recover"):
                read(path, step_counts, timeout=0.1)

    def look(self, writer, least):
        """The steps that h5py sees, None where it is refused, be it in the middle of reading."""
        try:
            with h5py.File(writer.path) as file:
                steps = file["density"].shape[0]
                last = list(file["density"][steps - 1])
        except (OSError, KeyError):
            return None
        self.assertGreaterEqual(steps, least, "an acknowledged step is not there")
        self.assertEqual(last, [(steps - 1) * 1000 + row + 0.5 for row in range(ROWS)])
        return steps

    def test_sees_every_step_but_the_last(self):
        # That may be acknowledged while its journal is still being applied.
        self.watch("0", lambda writer: writer.acknowledged - 1)

    def test_sees_steps_that_are_old_enough(self):
        self.watch("auto", lambda writer: writer.acknowledged_before(time.monotonic() - MOST_OLD_S))

    def watch(self, apply_every_s, least_of):
        """Whole steps, at least so many, or a refusal."""
        with tempfile.TemporaryDirectory(prefix="sluice-plain-") as folder:
            writer = Writer(folder, apply_every_s=apply_every_s)
            try:
                while writer.acknowledged == 0:
                    self.assertIsNone(writer.run.poll(), "the writer ended by itself")
                    time.sleep(0.01)
                refusals_s, opened, refused, seen = [], 0, 0, 0
                refused_since = None
                end = time.monotonic() + SECONDS
                while time.monotonic() < end:
                    steps = self.look(writer, least_of(writer))
                    now = time.monotonic()
                    if steps is None:
                        refused += 1
                        refused_since = refused_since or now
                        continue
                    self.assertGreaterEqual(steps, seen, "steps went away")
                    opened, seen = opened + 1, steps
                    if refused_since is not None:
                        refusals_s.append(now - refused_since)
                        refused_since = None
                self.assertIsNone(writer.run.poll(), "the writer ended by itself")
            finally:
                writer.end()
        refusals_s = sorted(refusals_s) or [0]
        half_s, longest_s = refusals_s[len(refusals_s) // 2], refusals_s[-1]
        self.assertGreater(opened, 0)
        self.assertLess(longest_s, MOST_REFUSED_S)
        print(f"T2b h5py beside a writer (apply_every_s={apply_every_s}) of {seen} steps in "
              f"{SECONDS} s: {opened} times opened, {refused} times refused; a refusal lasted "
              f"{1e3 * half_s:.1f} ms (half of them), {1e3 * longest_s:.1f} ms (the longest)")


if __name__ == "__main__":
    unittest.main()
