"""A plain h5py opens the file again and again while four ranks write steps as fast as they can: it
sees committed steps, whole, or is refused while a journal is applied; for how long is printed.

SLUICE_LONG=1: for longer.
"""

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
# Longer than a journal takes by orders, shorter than what a user would call for ever.
MOST_REFUSED_S = 2


class Writer:
    """The victim of the kill test, left alone."""

    def __init__(self, folder):
        self.path = os.path.join(folder, "out.h5")
        self.acknowledged = 0  # steps
        self.run = subprocess.Popen(
            [*MPIEXEC, "-n", str(RANKS), VICTIM, self.path, "shared", "0", "0", folder],
            env=os.environ | {"SLUICE_VICTIM_STEPS": str(MORE_STEPS_THAN_FIT)},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.reader = threading.Thread(target=self.listen, daemon=True)
        self.reader.start()

    def listen(self):
        for line in self.run.stdout:
            if line.startswith("step "):
                self.acknowledged = int(line.split()[1]) + 1

    def end(self):
        self.run.kill()
        self.run.communicate()


class PlainReader(unittest.TestCase):
    def look(self, writer):
        """The steps that h5py sees, None where it is refused, be it in the middle of reading."""
        known = writer.acknowledged
        try:
            with h5py.File(writer.path) as file:
                steps = file["density"].shape[0]
                last = list(file["density"][steps - 1])
        except (OSError, KeyError):
            return None
        # The last one may be acknowledged while its journal is still being applied.
        self.assertGreaterEqual(steps, known - 1, "an acknowledged step is not there")
        self.assertEqual(last, [(steps - 1) * 1000 + row + 0.5 for row in range(ROWS)])
        return steps

    def test_sees_whole_steps_or_is_refused(self):
        with tempfile.TemporaryDirectory(prefix="sluice-plain-") as folder:
            writer = Writer(folder)
            try:
                while writer.acknowledged == 0:
                    self.assertIsNone(writer.run.poll(), "the writer ended by itself")
                    time.sleep(0.01)
                refusals_s, opened, refused, seen = [], 0, 0, 0
                refused_since = None
                end = time.monotonic() + SECONDS
                while time.monotonic() < end:
                    steps = self.look(writer)
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
        print(f"T2b h5py beside a writer of {seen} steps in {SECONDS} s: {opened} times opened, "
              f"{refused} times refused; a refusal lasted {1e3 * half_s:.1f} ms (half of them), "
              f"{1e3 * longest_s:.1f} ms (the longest)")


if __name__ == "__main__":
    unittest.main()
