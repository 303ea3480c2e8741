"""T11: one rank of a real mpirun dies or stops while steps are written. The run ends in bounded
time; of a stopped rank the others say which one it is;
every acknowledged step is in the file, whole.

SLUICE_LONG=1: many more trials.
"""

import os
import random
import re
import shlex
import signal
import subprocess
import tempfile
import threading
import time
import unittest

import h5py

MPIEXEC = shlex.split(os.environ["SLUICE_MPIEXEC"])
VICTIM = os.environ["SLUICE_VICTIM"]
COMMAND = os.environ["SLUICE_COMMAND"]
RANKS = 4
ROWS = 200
TIMEOUT_S = 8  # below it a rank in a slow sync is silent like a stopped one
MOST_S = 30
STRATEGIES = ("shared", "serial", "collective", "forward", "file-per-process", "file-per-node")


def value(step, row):
    return step * 1000 + row + 0.5


def is_gone(process):
    """Also where nobody has waited for it: then its files are closed."""
    try:
        with open(f"/proc/{process}/stat", encoding="ascii") as file:
            return file.read().rsplit(")", 1)[1].split()[0] in "ZX"
    except OSError:
        return True


class Trial:
    """One run of the victim, a signal to one of its ranks, and what became of it."""

    def __init__(self, strategy, rank, number, delay_s, steps=None, **environment):
        folder = tempfile.TemporaryDirectory(prefix="sluice-dead-")
        self.folder = folder
        self.path = os.path.join(folder.name, "out.h5")
        self.acknowledged = -1
        environment = {**os.environ, "SLUICE_VICTIM_TIMEOUT_S": str(TIMEOUT_S), **environment}
        self.run = subprocess.Popen(
            [*MPIEXEC, "-n", str(RANKS), VICTIM, self.path, strategy, "0", "0", folder.name],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
        self.wait_for(f"step {steps or random.randrange(1, 6)}")
        time.sleep(delay_s)
        with open(os.path.join(folder.name, str(rank)), encoding="ascii") as file:
            self.pid = int(file.read())
        began = time.monotonic()
        os.kill(self.pid, number)
        self.ended_s = []  # when ranks said what they met, which is when their files are gone
        watchdog = threading.Timer(2 * MOST_S, self.run.kill)
        watchdog.start()
        try:
            self.errors = ""
            for line in self.run.stderr:
                self.errors += line
                if line.startswith("victim: "):
                    self.ended_s.append(time.monotonic() - began)
            out, _ = self.run.communicate(timeout=2 * MOST_S)
        finally:
            watchdog.cancel()
            self.end()
        self.seconds = time.monotonic() - began
        for line in out.splitlines():
            self.note(line)

    def note(self, line):
        if line.startswith("step "):
            self.acknowledged = int(line.split()[1])

    def wait_for(self, wanted):
        for line in self.run.stdout:
            self.note(line)
            if line.strip() == wanted:
                return
        raise AssertionError("the run ended by itself: " + self.run.stderr.read())

    def end(self):
        """Nothing of the run stays behind, whatever happened; only what was started here."""
        ranks = []
        for rank in range(RANKS):
            try:
                with open(os.path.join(self.folder.name, str(rank)), encoding="ascii") as file:
                    ranks.append(int(file.read()))
                os.kill(ranks[-1], signal.SIGKILL)
            except (OSError, ValueError):
                pass  # gone already
        self.run.kill()
        self.run.wait()
        # They are the launcher's children: only it could wait for them. A rank that has been sent
        # a SIGKILL still holds the writer lease until it is gone.
        end = time.monotonic() + MOST_S
        while not all(is_gone(rank) for rank in ranks):
            if time.monotonic() > end:
                raise AssertionError(f"of {ranks} some are still there {MOST_S} s after SIGKILL")
            time.sleep(0.01)


class DeadRank(unittest.TestCase):
    def check_file(self, trial):
        done = subprocess.run([COMMAND, "recover", trial.path], capture_output=True, text=True,
                              timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        verified = subprocess.run([COMMAND, "verify", trial.path], capture_output=True, text=True,
                                  timeout=60, check=False)
        self.assertEqual(verified.returncode, 0, verified.stdout + verified.stderr)
        with h5py.File(trial.path) as file:
            steps = file["density"].shape[0]
            self.assertGreaterEqual(steps, trial.acknowledged + 1, "an acknowledged step is lost")
            for step in range(steps):
                found = file["density"][step]
                self.assertEqual(list(found), [value(step, row) for row in range(ROWS)])

    def try_all(self, number, names_it):
        random.seed(11)
        trials = 60 if os.environ.get("SLUICE_LONG", "0") == "1" else len(STRATEGIES)
        slowest_s = 0
        for index in range(trials):
            strategy = STRATEGIES[index % len(STRATEGIES)]
            rank = (0, 3, 1, 2)[(index + index // 4) % 4]  # root, last, two between
            with self.subTest(strategy=strategy, rank=rank):
                trial = Trial(strategy, rank, number, random.random() * 0.05)
                self.addCleanup(trial.folder.cleanup)
                self.assertNotEqual(trial.run.returncode, 0)
                self.assertLess(trial.seconds, MOST_S)
                if names_it:
                    self.assertRegex(trial.errors, rf"victim: .*for rank\(s\)[ ,0-9]*\b{rank}\b")
                    self.assertRegex(trial.errors, r"victim: .*timeout_s|did not|waited")
                self.check_file(trial)
                slowest_s = max(slowest_s, trial.seconds)
        print(f"T11 {signal.Signals(number).name}: {trials} trials, 0 steps lost, the slowest end "
              f"after {slowest_s:.1f} s")

    def test_killed(self):
        self.try_all(signal.SIGKILL, False)  # mpirun itself ends the others

    def test_stopped(self):
        self.try_all(signal.SIGSTOP, True)

    def test_who_has_missed_a_rank_waits_no_second_time(self):
        """A rank stops while its bytes are on their way and the others wait for the step."""
        timeout_s = 8
        trial = Trial("forward", 0, signal.SIGSTOP, 0.2, steps=1, SLUICE_VICTIM_WAIT="1",
                      SLUICE_VICTIM_TIMEOUT_S=str(timeout_s), SLUICE_VICTIM_SYNC_MS="1000")
        self.addCleanup(trial.folder.cleanup)
        self.assertRegex(trial.errors, rf"waited {timeout_s}[.0]* s for commit")
        self.assertLess(min(trial.ended_s), 2 * timeout_s)
        self.check_file(trial)
        print(f"T11 forward: the others end after {min(trial.ended_s):.1f} s, with timeout_s "
              f"{timeout_s}")


if __name__ == "__main__":
    unittest.main()
