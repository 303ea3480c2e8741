"""`sluice watch` beside a program that writes: the steps, their sizes and rates, how it ends."""

import json
import os
import subprocess
import time
import unittest

from command import (BAD_INPUT, COMMAND, DIFFERS, FINE, FOLDER, converted, new_path, sluice,
                     write_trajectory)

WRITER = os.environ["SLUICE_SLOW_WRITER"]
BYTES = 3000 * 8


def write(target, steps, pause_ms):
    return subprocess.Popen([WRITER, target, str(steps), str(pause_ms)], cwd=FOLDER)


class Watching(unittest.TestCase):
    def test_a_run_from_before_its_file_is_there_to_its_end(self):
        target = new_path()
        watcher = subprocess.Popen(
            [COMMAND, "watch", target, "--until", "6", "--timeout", "60", "--every", "0.02",
             "--all", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        writer = write(target, 6, 60)
        out, err = watcher.communicate(timeout=120)
        self.assertEqual((watcher.returncode, err, writer.wait(60)), (FINE, "", 0))
        steps = [json.loads(line) for line in out.splitlines()]
        self.assertEqual([step["step"] for step in steps], list(range(6)))
        self.assertEqual([step["time"] for step in steps], [0.5 * s for s in range(6)])
        self.assertEqual({step["bytes"] for step in steps}, {BYTES})
        self.assertIsNone(steps[0]["seconds"])
        for before, step in zip(steps, steps[1:]):
            seconds = (step["committed_ns"] - before["committed_ns"]) * 1e-9
            self.assertGreater(seconds, 0.05)  # the writer's pause
            self.assertAlmostEqual(step["seconds"], seconds, places=6)
            self.assertAlmostEqual(step["bytes_per_second"] * seconds / BYTES, 1, places=5)

    def test_commits_under_way_are_no_trouble(self):
        """As fast as both can: a look meets every moment of a commit."""
        target = new_path()
        writer = write(target, 200, 0)
        result = sluice("watch", target, "--until", 200, "--timeout", 60, "--every", 0.01, "--all")
        self.assertEqual((result.returncode, result.stderr, writer.wait(60)), (FINE, "", 0))
        lines = result.stdout.splitlines()
        self.assertRegex(lines[0], r"new-\d+\.h5: \d+ steps? so far$")
        self.assertEqual([line.split()[1] for line in lines[1:]], [str(s) for s in range(200)])

    def test_lines_for_people(self):
        target = new_path()
        self.assertEqual(write(target, 3, 30).wait(60), 0)
        result = sluice("watch", target, "--all", "--until", 3)
        lines = result.stdout.splitlines()
        self.assertEqual(lines[:2], [f"{target}: 3 steps so far", "step 0  time 0  23.4 KiB"])
        self.assertRegex(lines[2], r"^step 1  time 0\.5  23\.4 KiB  after [\d.]+ m?s$")
        self.assertEqual(sluice("watch", target, "--until", 3).stdout.splitlines(), lines[:1])

    def test_a_set_whose_lengths_are_still_in_the_journals_of_its_parts(self):
        result = sluice("watch", "interrupted.h5", "--all", "--until", 4, "--json")
        self.assertEqual((result.returncode, result.stderr), (FINE, ""))
        steps = [json.loads(line) for line in result.stdout.splitlines()]
        self.assertEqual([step["bytes"] for step in steps], [8 * (n + 1) for n in (3, 6, 9, 12)])

    def test_formats_without_a_log_of_commits(self):
        """Steps are those that a reader sees; when each was committed is not known."""
        trajectory = new_path(".dcd")
        write_trajectory(trajectory, 3)
        for path in (trajectory, converted(trajectory, "--drop", ending=".npy")):
            result = sluice("watch", path, "--all", "--until", 3, "--timeout", 5, "--json")
            self.assertEqual((result.returncode, result.stderr), (FINE, ""))
            steps = [json.loads(line) for line in result.stdout.splitlines()]
            self.assertEqual([(s["step"], s["bytes"]) for s in steps],
                             [(i, 24) for i in range(3)])
            for step in steps:
                self.assertEqual([step[key] for key in ("time", "committed_ns", "seconds")],
                                 3 * [None])

    def test_a_time_without_news_ends_it(self):
        target = new_path()
        self.assertEqual(write(target, 2, 0).wait(60), 0)
        result = sluice("watch", target, "--until", 5, "--timeout", 0.2)
        self.assertEqual(result.returncode, DIFFERS)
        self.assertIn("2 of 5 steps after 200 ms without a new one", result.stderr)
        self.assertEqual(sluice("watch", target, "--timeout", 0.2).returncode, FINE)

    def test_a_long_pause_does_not_prolong_it(self):
        target = new_path()
        self.assertEqual(write(target, 2, 0).wait(60), 0)
        for words in ((target,), ("never.h5",)):
            began = time.monotonic()
            sluice("watch", *words, "--timeout", 0.3, "--every", 20)
            self.assertLess(time.monotonic() - began, 10)

    def test_a_file_that_never_comes(self):
        result = sluice("watch", "never.h5", "--timeout", 0.2)
        self.assertEqual(result.returncode, BAD_INPUT)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        self.assertIn("never.h5", result.stderr)


if __name__ == "__main__":
    unittest.main()
