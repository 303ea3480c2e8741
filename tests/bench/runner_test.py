"""bench/run from end to end, with sizes of a MiB: every contestant that was built runs, its data is
verified, and the report holds what it promises."""

import json
import os
import subprocess
import sys
import tempfile
import types
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "bench"))

from runner import figures, host, mpiio  # noqa: E402
from runner.cli import CASES  # noqa: E402

PEERS = "bare,mpiio,phdf5-collective,phdf5-independent"


class Figures(unittest.TestCase):
    def test_summary(self):
        found = figures.summary([5, 1, 3, 2, 4])
        self.assertEqual(found, {"min": 1, "q1": 2, "median": 3, "q3": 4, "max": 5})
        self.assertEqual(set(figures.summary([7]).values()), {7})

    def test_ratio_of_pairs_is_not_that_of_medians(self):
        found = figures.ratio([1, 20, 30], [1, 10, 60])
        self.assertEqual(found, {"of_medians": 2, "pairwise_median": 1})

    def test_ratio_refuses_samples_of_different_rounds(self):
        with self.assertRaises(ValueError):
            figures.ratio([1, 2], [1])


class Contestants(unittest.TestCase):
    def test_rates_of_ragged_runs_are_of_the_bytes_that_are_written(self):
        options = types.SimpleNamespace(contended=True, groups="", library="", build=".", ranks=4,
                                        mib=1)
        for contestant in mpiio.contestants(options):
            run = int(contestant.parameters["pattern"].partition("-")[2])
            runs = (contestant.parameters["mib"] << 20) // (8 * run)
            rate = mpiio.value("durable", contestant, {"close_s": 1}, options)
            self.assertEqual(rate, contestant.ranks * runs * 8 * run / 1e6)

    def test_few_rounds_are_an_even_number_of_them(self):
        for case in CASES.values():
            if 1 < case.ROUNDS < 7:
                self.assertEqual(case.ROUNDS % 2, 0, case.NAME)


class Activity(unittest.TestCase):
    def test_of_a_core_that_computes_is_seen(self):
        with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as other:
            try:
                busy = host.facts(".", ".", "mpirun")["busy_cores"]
            finally:
                other.kill()
        self.assertGreater(busy, 0.3)
        self.assertLessEqual(busy, os.cpu_count())

    def test_is_said_of_old_results_too(self):
        self.assertEqual(host.activity({"load_1min": 2.51}), "load 2.5 as it began")
        self.assertEqual(host.activity({}), "")


class Run(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.results = os.path.join(folder.name, "results")
        self.data = os.path.join(folder.name, "data")
        os.mkdir(self.data)

    def run_bench(self, case, *options):
        command = [sys.executable, os.path.join(ROOT, "bench", "run"), case, "--ranks", "2"]
        command += ["--results", self.results, "--on", self.data, *options]
        return subprocess.run(command, capture_output=True, text=True, timeout=240)

    def measured(self, case, *options):
        done = self.run_bench(case, "--json", *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(os.listdir(self.data), [], "files were left behind")
        document = json.loads(done.stdout)
        kept = [name for name in os.listdir(self.results) if name.endswith(".json")]
        self.assertEqual(kept, [f"{case}-{document['date']}.json"])
        with open(os.path.join(self.results, kept[0]), encoding="utf-8") as file:
            self.assertEqual(json.load(file), document)
        return document

    def test_write(self):
        document = self.measured("write", "--mib", "1", "--rounds", "3")
        rows = {row["name"]: row for row in document["result"]["contestants"]}
        expected = {"bare", "mpiio", "sluice-shared", "sluice-serial"}
        self.assertLessEqual(expected - set(document["absent"]), set(rows))
        for row in rows.values():
            self.assertEqual(len(row["samples"]), 3)
            for found in row["summary"].values():
                self.assertGreater(found["min"], 0)
            for values in row["samples"]:
                self.assertLessEqual(values["write_s"], values["close_s"])
        self.assertNotIn("cached", rows["sluice-shared"]["summary"])
        self.assertNotIn("durable", rows["sluice-shared-nosync"]["summary"])
        pairs = {(r["of"], r["to"], r["metric"]) for r in document["result"]["ratios"]}
        self.assertIn(("sluice-shared", "bare", "durable"), pairs)
        self.assertIn(("sluice-serial-nosync", "mpiio", "cached"), pairs)

    def test_step(self):
        document = self.measured(
            "step", "--variables", "1,16", "--steps", "30", "--rounds", "1", "--warm-up", "0"
        )
        groups = {row["group"] for row in document["result"]["contestants"] if row["ours"]}
        self.assertEqual(len(groups), 6)  # the last two: steps that are apart, a file a step
        for row in document["result"]["contestants"]:
            for values in row["samples"]:
                self.assertLess(0, values["median_s"])
                self.assertLessEqual(values["median_s"], values["p90_s"])
        self.assertTrue(any("16 variables" in line for line in document["remarks"]))

    def test_durability(self):
        document = self.measured(
            "durability", "--kib", "1024,64", "--rounds", "1", "--warm-up", "0", "--pause-ms", "0"
        )
        rows = {(row["name"], row["group"]) for row in document["result"]["contestants"]}
        for level in ("step", "close", "none"):
            self.assertIn((f"sluice-shared-{level}", "2 x 64 KiB"), rows)
        self.assertIn(("bytes+fdatasync", "2 x 1024 KiB"), rows)

    def test_checkpoint(self):
        document = self.measured(
            "checkpoint", "--mib", "1", "--saves", "1", "--rereads", "1", "--rounds", "1",
            "--warm-up", "0",
        )
        rows = {(row["name"], row["group"]): row for row in document["result"]["contestants"]}
        for name in ("sluice-forward", "sluice-scratch", "posix"):
            values = rows[name, "saving"]["samples"][0]
            self.assertLess(0, values["visible_s"])
            self.assertLessEqual(values["visible_s"], values["durable_s"])
        for name in ("sluice-50%-all", "sluice-50%-incremental"):
            self.assertLess(0, rows[name, "saving what changes"]["samples"][0]["visible_s"])
        for group in ("restart, warm", "restart, cold"):
            for name in ("2-to-2", "2-to-1"):
                self.assertGreater(rows[name, group]["samples"][0]["restore_of_bare"], 0)
        self.assertEqual(len([r for r in document["remarks"] if r.startswith("goal")]), 6)

    def test_history(self):
        document = self.measured(
            "history", "--steps", "200", "--rounds", "1", "--warm-up", "0", "--elements", "512"
        )
        for row in document["result"]["contestants"]:
            self.assertEqual(row["parameters"]["bucket"], 2)
            growth = [row["samples"][0][f"bytes{i}"] for i in range(100)]
            self.assertGreaterEqual(min(growth), 2 * 4 * 512 * 8)
        self.assertEqual(len([r for r in document["remarks"] if "no growth" in r]), 2)

    def test_mfdn(self):
        program = os.path.join(os.environ["SLUICE_BUILD_DIR"], "bench", "bench_mfdn")
        if not os.path.exists(program):
            self.skipTest("no Fortran in this build")
        document = self.measured(
            "mfdn", "--mib", "1,2", "--pieces-mib", "1", "--rounds", "1", "--warm-up", "0"
        )
        rows = document["result"]["contestants"]
        groups = {row["group"] for row in rows}
        self.assertEqual(len(groups), 5)
        for row in rows:
            for found in row["metrics"]["cost"]:
                self.assertAlmostEqual(found, 2 * row["metrics"]["time"][0])
        remarks = "\n".join(document["remarks"])
        self.assertRegex(remarks, r"goal: 1 MiB: cost of writing, .* \(<= 1\.1\)")
        self.assertRegex(remarks, r"goal: 2 MiB: cost of writing, .* \(<= 0\.6\)")
        self.assertRegex(remarks, r"goal: in pieces: .* \(>= 3\)")

    def test_occam(self):
        program = os.path.join(os.environ["SLUICE_BUILD_DIR"], "apps", "occam", "occam")
        if not os.path.exists(program):
            self.skipTest("no Fortran in this build")
        document = self.measured(
            "occam", "--particles", "4000", "--steps", "20", "--every", "10", "--values", "2000",
            "--rounds", "1", "--warm-up", "0", "--set", "durability=none", "--set", "checksum=false"
        )
        rows = {row["name"]: row["summary"] for row in document["result"]["contestants"]
                if row["group"] == "the whole run"}
        self.assertEqual(set(rows), {"no output", "text", "sluice shared"})
        self.assertNotIn("output", rows["no output"])
        for name in ("text", "sluice shared"):
            output, run = (rows[name][metric]["median"] for metric in ("output", "run"))
            self.assertLess(0, output)
            self.assertLess(output, run)
            self.assertAlmostEqual(rows[name]["share"]["median"], 100 * output / run)
        remarks = "\n".join(document["remarks"])
        self.assertRegex(remarks, r"share of the run, text: \d")
        self.assertRegex(remarks, r"goal: output's share of the run, sluice shared.*\(<= 1\)")
        self.assertRegex(remarks, r"goal: preprocessing, text to records: .*\(>= 10\)")
        self.assertRegex(remarks, r"goal: a value by file_bwrite, ns: .*\(<= 6\)")
        self.assertRegex(remarks, r"goal: a value, formatted to file_bwrite: .*\(>= 50\)")

    def test_namd(self):
        document = self.measured(
            "namd", "--atoms", "3001", "--patches", "7", "--steps", "2", "--compute-ms", "5",
            "--writers", "1,2", "--rounds", "1", "--warm-up", "0"
        )
        rows = document["result"]["contestants"]
        self.assertEqual({(row["name"], row["group"]) for row in rows},
                         {(name, group) for group in ("1 writer", "2 writers")
                          for name in ("a file a writer", "one at a time", "all at once",
                                       "forward")})
        for row in rows:
            values = row["samples"][0]
            self.assertGreater(values["total_s"], 2 * 0.005)
            self.assertLess(values["visible_s"], values["total_s"])
            self.assertGreater(row["metrics"]["rate"][0], 0)
        self.assertEqual(len([r for r in document["remarks"] if "best of the others" in r]), 2)

    def test_vampire(self):
        document = self.measured(
            "vampire", "--atoms", "3000,5000", "--writers", "1,2", "--rounds", "1", "--warm-up", "0"
        )
        rows = document["result"]["contestants"]
        self.assertEqual({row["group"] for row in rows}, {"0.003 million atoms",
                                                          "0.005 million atoms"})
        for row in rows:
            writers = int(row["name"].split(" x ")[1])
            self.assertEqual(row["parameters"]["from"], writers)
            self.assertEqual(row["parameters"]["atoms"] % 1024, 0)
        durable = {row["name"] for row in rows if "durable" in row["summary"]}
        for name in ("bare", "own mpi-io", "own file-per-process", "own file-per-node",
                     "hdf5 shared", "hdf5 file-per-process", "hdf5 file-per-node"):
            self.assertLessEqual({f"{name} x 1", f"{name} x 2"}, durable)
        remarks = "\n".join(document["remarks"])
        self.assertRegex(remarks, r"goal: 0.005 million atoms: .* of bare, durable: .* \(>= 0\.9\)")
        self.assertRegex(remarks, r"own mpi-io slower than own file-per-process.* \(<= 1\.1\)")

    def can_mount(self):
        program = os.path.join(os.environ["SLUICE_BUILD_DIR"], "bench", "contended", "contended")
        if not os.path.exists(program) or not os.access("/dev/fuse", os.R_OK | os.W_OK):
            self.skipTest("no libfuse in this build, or no mounts on this machine")

    def test_contended(self):
        self.can_mount()
        document = self.measured(
            "contended", "--ranks", "4", "--mib", "1", "--run", "5003", "--rounds", "1",
            "--warm-up", "0", "--targets", "2", "--step-mib", "2"
        )
        rows = {(row["group"], row["name"]): row for row in document["result"]["contestants"]}
        unaligned = rows["runs of 39 KiB", "posix"]["samples"][0]
        # Each of 4 ranks has runs in each of 4 stripes: all but the first one take it from another.
        self.assertGreaterEqual(unaligned["hand_overs"], 3 * 4)
        for name in ("sluice-forward x 2", "sluice-collective x 2"):
            whole = rows["runs of 39 KiB", name]["samples"][0]
            self.assertLess(whole["hand_overs"], unaligned["hand_overs"] / 4)
        self.assertIn(("by ranks", "sluice-forward x 4"), rows)
        step = rows["runs of 39 KiB, 8 MiB", "sluice-forward x 2"]
        self.assertEqual(step["parameters"]["mib"], 2)
        remarks = "\n".join(document["remarks"])
        for what in (r"sluice-[\w-]+ x \d of posix: .* \(>= 2\.5\)", r"by writers: .* \(<= 1\.25\)",
                     r"reading of writing by posix: .* \(>= 2\)",
                     r"model: forward: predicted of measured [\d.]+ to [\d.]+, in 6 cases"):
            self.assertRegex(remarks, what)

    def test_auto(self):
        self.can_mount()
        document = self.measured(
            "auto", "--mib", "1", "--rounds", "1", "--warm-up", "0", "--pattern", "small",
            "--pattern", "ragged-12289"
        )
        groups = {row["group"] for row in document["result"]["contestants"]}
        self.assertEqual(groups, {f"{place}: {pattern}" for place in ("disk", "tmpfs", "contended")
                                  for pattern in ("small", "ragged-12289")})
        for rivals in ("of those that make one file", "of all"):
            self.assertRegex("\n".join(document["remarks"]),
                             rf"within 10 % of the best {rivals} in \d of 6 cases")

    def test_report(self):
        self.assertEqual(self.run_bench("write", "--mib", "1", "--rounds", "1", "--only", PEERS)
                         .returncode, 0)
        command = [sys.executable, os.path.join(ROOT, "bench", "run"), "report"]
        done = subprocess.run([*command, "--results", self.results], capture_output=True,
                              text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(done.stdout.strip(), encoding="utf-8") as file:
            text = file.read()
        self.assertIn('name="viewport"', text)
        self.assertIn("phdf5-collective", text)
        self.assertNotRegex(text, r'(src|href)="(?!data:|#)', "it needs no other file")
        empty = subprocess.run([*command, "--results", self.data], capture_output=True, text=True,
                               timeout=60)
        self.assertEqual((empty.returncode, empty.stdout), (2, ""))

    def test_table(self):
        done = self.run_bench("write", "--mib", "1", "--rounds", "1", "--only", PEERS)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, "", "no progress but on a terminal")
        self.assertRegex(done.stdout, r"(?m)^bare( +\d+){6}$")

    def refused(self, code, pattern, *options):
        done = self.run_bench("write", "--mib", "1", "--rounds", "1", *options)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertRegex(done.stderr, rf"\Abench: [^\n]*{pattern}[^\n]*\n\Z")
        self.assertEqual(os.listdir(self.data), [], "files were left behind")

    def test_bad_input_is_one_line(self):
        self.refused(2, "absent is not a folder", "--on", os.path.join(self.folder, "absent"))
        self.refused(2, "no contestant nobody", "--only", "nobody")
        self.refused(2, "bench_peers is not there", "--build", self.folder)
        self.refused(2, "MiB are free", "--mib", str(1 << 30))

    def test_a_program_that_fails_or_hangs_is_one_line(self):
        peers = ("--only", "bare", "--mpirun")
        self.refused(1, "ended with code 3", *peers, "sh -c 'exit 3'")
        self.refused(1, "no answer in 1 s", *peers, "sh -c 'sleep 60'", "--timeout", "1")
        self.refused(1, "no-such-mpirun: No such file", *peers, "no-such-mpirun")


if __name__ == "__main__":
    unittest.main()
