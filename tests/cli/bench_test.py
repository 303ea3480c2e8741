"""sluice bench: alone and under mpirun, what it says and what it leaves behind."""

import json
import os
import re
import signal
import subprocess
import time
import unittest

from command import BAD_INPUT, COMMAND, FINE, FOLDER, MPIEXEC, said, sluice

BENCH = os.path.join(FOLDER, "bench")
os.mkdir(BENCH)


class Bench(unittest.TestCase):
    def measured(self, *options, ranks=0):
        result = sluice("bench", "--on", BENCH, "--mib", 1, *options, ranks=ranks)
        self.assertEqual((result.returncode, said(result)), (FINE, []))
        self.assertEqual(os.listdir(BENCH), [])
        return result.stdout

    def check(self, document, ranks, names):
        self.assertEqual((document["ranks"], document["bytes"]), (ranks, ranks << 20))
        found = [(row["strategy"], row["writers"]) for row in document["results"]]
        self.assertEqual(sorted(found), sorted(names))
        for row in document["results"]:
            self.assertEqual(len(row["durable_s"]), document["rounds"])
            for returned_s, durable_s in zip(row["returned_s"], row["durable_s"]):
                self.assertTrue(0 < returned_s <= durable_s)
            rate = (ranks << 20) / 1e6 / sorted(row["durable_s"])[document["rounds"] // 2]
            self.assertAlmostEqual(row["durable_mb_per_s"], rate, places=6)
            self.assertGreater(row["read_mb_per_s"], 0)
        self.check_recommendation(document)

    def check_recommendation(self, document):
        """The recommended row may be the default, or its rounds do not overlap the default's."""
        rows = {(row["strategy"], row["writers"]): row for row in document["results"]}
        chosen = tuple(document["recommended"].values())
        default = ("auto", 0)

        def is_faster(one, other, times):
            return max(rows[one][times]) < min(rows[other][times])

        if chosen != default:
            self.assertTrue(is_faster(chosen, default, "returned_s") or
                            any(is_faster(other, default, "durable_s") for other in rows))
        same = [tuple(row.values()) for row in document["no_difference"]]
        self.assertNotIn(chosen, same)
        for one in same:
            for times in ("durable_s", "returned_s"):
                middle, other = (sorted(rows[row][times])[len(rows[row][times]) // 2]
                                 for row in (chosen, one))
                self.assertTrue(middle >= 0.9 * other or not is_faster(chosen, one, times))

    def test_alone(self):
        self.check(json.loads(self.measured("--json")), 1, [("auto", 0), ("shared", 0)])

    def test_on_several_ranks(self):
        every = [("auto", 0), ("shared", 0), ("serial", 0), ("file-per-process", 0),
                 ("file-per-node", 0)]
        every += [(name, n) for name in ("collective", "forward") for n in (1, 2, 3)]
        self.check(json.loads(self.measured("--json", ranks=3)), 3, every)

    def test_the_recommendation_can_be_copied(self):
        text = self.measured(ranks=2)
        self.assertRegex(text, r"(?m)^STRATEGY +RETURNS +DURABLE +MB/S +SPREAD +READ MB/S$")
        name = re.search(r"(?m)^Recommended: (\S+)( x \d+)?\.$", text)
        self.assertIn("default" if name[1] == "auto" else f'strategy = "{name[1]}"', text)
        if "No difference seen" in text:
            self.assertRegex(text, r"No difference seen \(.*\):\n(  \S+( x \d+)?\n)+")
        self.assertLessEqual(max(map(len, text.splitlines())), max(80, len(BENCH) + 60))

    def test_a_short_time_is_kept_to(self):
        found = json.loads(sluice("bench", "--on", BENCH, "--seconds", 1, "--json").stdout)
        self.assertGreaterEqual(found["rounds"], 2)
        self.assertEqual(found["bytes"] % (1 << 20), 0)
        spent_s = sum(sum(row["durable_s"] + row["read_s"]) for row in found["results"])
        self.assertLess(spent_s, 20)

    def stopped(self, number, launcher=()):
        """Is told to stop while a file is there."""
        with subprocess.Popen([*launcher, COMMAND, "bench", "--on", BENCH, "--mib", "16"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as bench:
            while not any(files for _, _, files in os.walk(BENCH)) and bench.poll() is None:
                time.sleep(0.002)
            bench.send_signal(number)
            code = bench.wait(60)
        end_s = time.monotonic() + (10 if launcher else 0)  # the ranks end after their launcher
        while os.listdir(BENCH) and time.monotonic() < end_s:
            time.sleep(0.01)
        self.assertEqual(os.listdir(BENCH), [])
        return code

    def test_nothing_is_left_of_one_that_is_stopped(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            self.assertEqual(self.stopped(number), -number)
        self.assertNotEqual(self.stopped(signal.SIGTERM, (*MPIEXEC, "-n", "2")), 0)

    def test_a_folder_that_is_not_there(self):
        result = sluice("bench", "--on", os.path.join(FOLDER, "absent"), ranks=2)
        self.assertEqual((result.returncode, len(said(result))), (BAD_INPUT, 1))


if __name__ == "__main__":
    unittest.main()
