"""Files that are being written, or were until their writer was killed: what ls, dump, verify and
watch say of them agrees, verify raises no false alarm, and recover leaves no trace of it.

SLUICE_LONG=1: many more trials.
"""

import json
import os
import random
import shlex
import signal
import struct
import subprocess
import tempfile
import time
import unittest

MPIEXEC = shlex.split(os.environ["SLUICE_MPIEXEC"])
VICTIM = os.environ["SLUICE_VICTIM"]
COMMAND = os.environ["SLUICE_COMMAND"]
ROWS = 200
IS_LONG = os.environ.get("SLUICE_LONG", "0") == "1"
SECONDS = 60 if IS_LONG else 3
# More steps than a simulation writes; without a pause the file grows by gigabytes a minute.
PAUSE_MS = 3
TRIALS = 60 if IS_LONG else 4


def value(step, row):
    return step * 1000 + row + 0.5


def scratch():
    """Where a sync costs nothing, so that commits follow one another as fast as they can."""
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    return tempfile.TemporaryDirectory(prefix="sluice-unfinished-", dir=place)


def sluice(*arguments):
    return subprocess.run([COMMAND, *arguments], capture_output=True, text=True, timeout=120,
                          check=False)


class Writer:
    """The victim of the kill test, on so many ranks."""

    def __init__(self, folder, strategy, ranks):
        self.path = os.path.join(folder, "out.h5")
        self.folder, self.ranks = folder, ranks
        self.run = subprocess.Popen(
            [*MPIEXEC, "-n", str(ranks), VICTIM, self.path, strategy, "0", "0", folder],
            env=os.environ | {"SLUICE_VICTIM_STEPS": "1000000",
                              "SLUICE_VICTIM_PAUSE_MS": str(PAUSE_MS)},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def wait_for_step(self, step):
        for line in self.run.stdout:
            if line.strip() == f"step {step}":
                return
        raise AssertionError("the writer ended by itself: " + self.run.stderr.read())

    def kill(self):
        """SIGKILL to what was started here; returns the last step that was announced."""
        for rank in range(self.ranks):
            with open(os.path.join(self.folder, str(rank)), encoding="ascii") as file:
                os.kill(int(file.read()), signal.SIGKILL)
        out, _ = self.run.communicate()
        steps = [line.split()[1] for line in out.splitlines(True)
                 if line.startswith("step ") and line.endswith("\n")]
        return int(steps[-1]) if steps else -1


class Unfinished(unittest.TestCase):
    def report(self, path):
        done = sluice("verify", "--json", path)
        self.assertIn(done.returncode, (0, 1, 3), done.stderr)
        return json.loads(done.stdout)[0]

    def test_verify_beside_a_writer_raises_no_false_alarm(self):
        for strategy in ("shared", "forward"):
            with self.subTest(strategy=strategy), scratch() as folder:
                writer = Writer(folder, strategy, 1)
                runs = steps = 0
                try:
                    writer.wait_for_step(100)
                    end = time.monotonic() + SECONDS
                    while time.monotonic() < end:
                        report = self.report(writer.path)
                        self.assertEqual(report["state"], "ok", report["findings"][:3])
                        self.assertTrue(report["unfinished"])
                        self.assertFalse(report["modified_since_commit"])
                        self.assertGreaterEqual(report["steps"], steps)
                        self.assertGreaterEqual(report["checksums"], report["steps"])
                        runs, steps = runs + 1, report["steps"]
                        good = sluice("verify", "--latest-good", "--json", writer.path).stdout
                        self.assertGreaterEqual(json.loads(good)[0]["latest_good"], steps - 1)
                    self.assertIsNone(writer.run.poll(), "the writer ended by itself")
                finally:
                    writer.kill()
                print(f"verify beside a writer, {strategy}: {runs} runs, 0 false alarms, "
                      f"{steps} steps")

    def check_damage(self, path, steps):
        """Rot after a recovery is told as such."""
        last = value(steps - 1, 7)
        with open(path, "rb") as file:
            data = file.read()
        at = data.rfind(struct.pack("<d", last))
        self.assertGreater(at, 0)
        stat = os.stat(path)
        with open(path, "r+b") as file:
            file.seek(at)
            file.write(bytes([data[at] ^ 1]))
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
        self.assertEqual(self.report(path)["state"], "damaged")

    def check_agreement(self, path, acknowledged):
        listed = json.loads(sluice("ls", "--json", path).stdout)
        steps = listed["steps"]
        self.assertGreater(steps, acknowledged)
        self.assertTrue(listed["unfinished"])
        self.assertIn("sluice recover", sluice("ls", path).stdout)
        report = self.report(path)
        self.assertEqual((report["state"], report["steps"]), ("ok", steps))
        self.assertTrue(report["unfinished"])
        self.assertFalse(report["modified_since_commit"])
        text = sluice("verify", path).stdout
        self.assertIn(f"verified up to step {steps - 1}", text)
        self.assertNotIn("outside", text)
        dumped = json.loads(sluice("dump", "--json", path, "density").stdout)
        self.assertEqual(dumped["steps"][-1]["values"],
                         [value(steps - 1, row) for row in range(ROWS)])
        self.assertEqual(dumped["steps"][-1]["step"], steps - 1)
        watched = sluice("watch", "--all", "--json", "--until", str(steps), "--timeout", "10", path)
        self.assertEqual(len(watched.stdout.splitlines()), steps)
        self.assertEqual(sluice("recover", path).returncode, 0)
        report = self.report(path)
        self.assertEqual((report["state"], report["steps"]), ("ok", steps))
        self.assertFalse(report["unfinished"])
        self.assertFalse(report["modified_since_commit"])
        self.check_damage(path, steps)

    def test_after_a_kill_all_verbs_agree(self):
        random.seed(7)
        for trial in range(TRIALS):
            strategy = ("shared", "forward")[trial % 2]
            ranks = (1, 4)[trial // 2 % 2]
            with self.subTest(trial=trial, strategy=strategy), scratch() as folder:
                writer = Writer(folder, strategy, ranks)
                try:
                    writer.wait_for_step(random.randrange(1, 30))
                    time.sleep(random.random() * 0.1)
                finally:
                    acknowledged = writer.kill()
                self.check_agreement(writer.path, acknowledged)


if __name__ == "__main__":
    unittest.main()
