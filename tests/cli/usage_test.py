"""The command line itself: help, versions, wrong usage, the progress bar."""

import os
import pty
import re
import subprocess
import unittest

from command import BAD_INPUT, COMMAND, FINE, FOLDER, MPIEXEC, said, sluice

VERBS = ("ls", "dump", "diff", "verify", "checkpoints", "recover", "collect", "merge",
         "virtualize", "watch", "convert", "plot", "report", "render", "stats", "bench", "plan",
         "run", "doctor")


class Usage(unittest.TestCase):
    def test_help_teaches_by_example(self):
        for arguments in ([], *([verb] for verb in VERBS)):
            result = sluice(*arguments, "--help")
            self.assertEqual((result.returncode, result.stderr), (FINE, ""))
            self.assertIn("Examples:\n  sluice ", result.stdout)
            self.assertLessEqual(max(map(len, result.stdout.splitlines())), 80, result.stdout)
        for verb in VERBS:
            self.assertRegex(sluice("--help").stdout, rf"\n  {verb} +\w")

    def test_usage_says_what_must_be_given(self):
        for verb, usage in (("report", "[options] FILE [TO]"), ("doctor", "[options] [FOLDER]"),
                            ("virtualize", "[options] --output JSON FILE"),
                            ("run", "[--mpiio] -- COMMAND [ARGUMENT...]"),
                            ("merge", "[options] FILE TO"), ("verify", "[options] FILE...")):
            self.assertIn(f"\nUsage: sluice {verb} {usage}\n", sluice(verb, "--help").stdout)
        for verb, option in (("dump", "--steps"), ("dump", "--rows"), ("render", "--frames")):
            self.assertIn(f"\n  {option} A:B ", sluice(verb, "--help").stdout)

    def test_examples_of_several_lines_are_one_command(self):
        for verb in VERBS:
            lines = sluice(verb, "--help").stdout.split("\nExamples:\n")[1].splitlines()
            for line, following in zip(lines, lines[1:]):
                in_quotes = any(word in line for word in ("python -c", "engine="))
                if following.startswith("   ") and not in_quotes:
                    self.assertTrue(line.endswith(" \\"), line)

    def test_help_of_a_verb_either_way(self):
        self.assertEqual(sluice("help", "verify").stdout, sluice("verify", "--help").stdout)
        self.assertEqual(sluice("help").stdout, sluice("--help").stdout)

    def test_version(self):
        result = sluice("--version")
        self.assertEqual(result.returncode, FINE)
        self.assertRegex(result.stdout, r"^sluice \d+\.\d+\.\d+ \(libhdf5 \d+\.\d+\.\d+\)\n$")

    def test_wrong_usage_is_one_line(self):
        for arguments, what in (([], "no verb is given"),
                                (["list"], "no verb list; the verbs are ls, "),
                                (["verfy"], "no verb verfy; did you mean verify?"),
                                (["conv"], "did you mean convert?"), (["ls"], "FILE"),
                                (["ls", "a", "b"], "not expected"),
                                (["--quick", "ls", "a"], "--quick"),
                                (["dump", "spins.h5"], "VARIABLE"),
                                (["dump", "spins.h5", "spins", "--step", "x"], "--step"),
                                (["dump", "spins.h5", "spins", "--csv", "--json"], "--json"),
                                (["dump", "spins.h5", "spins", "--rows", ":2", "--count", "1,1"],
                                 "--rows"),
                                (["verify"], "FILE")):
            result = sluice(*arguments)
            self.assertEqual((result.returncode, result.stdout), (BAD_INPUT, ""), arguments)
            self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
            self.assertTrue(result.stderr.startswith("sluice: "))
            self.assertIn(what, result.stderr)
            self.assertIn("--help", result.stderr)

    def test_one_voice_under_mpirun(self):
        result = sluice("dump", "spins.h5", ranks=3)
        self.assertEqual((result.returncode, len(said(result))), (BAD_INPUT, 1))
        result = sluice("--help", ranks=3)
        self.assertEqual((result.returncode, result.stdout.count("Usage:")), (FINE, 1))

    def run_under(self, launcher, *words, **environment):
        return subprocess.run([*launcher, COMMAND, *words], cwd=FOLDER, capture_output=True,
                              text=True, timeout=60, check=False,
                              env={**os.environ, **environment})

    def test_no_colours_where_open_mpi_makes_the_terminal(self):
        result = self.run_under([*MPIEXEC, "-n", "2"], "verify", "grid.h5", TERM="xterm")
        self.assertEqual(result.returncode, FINE, result.stderr)
        self.assertNotIn("\x1b", result.stdout)

    def test_what_needs_no_mpi_under_a_launcher(self):
        nowhere = {"OMPI_COMM_WORLD_RANK": "0", "SLUICE_MPI": "/no/libmpi.so"}
        for ranks, words, code in (("2", ["--version"], FINE), ("2", ["ls", "--help"], FINE),
                                   ("2", ["help", "ls"], FINE), ("2", ["ls", "grid.h5"], BAD_INPUT),
                                   ("1", ["ls", "grid.h5"], FINE)):
            result = self.run_under([], *words, OMPI_COMM_WORLD_SIZE=ranks, **nowhere)
            self.assertEqual(result.returncode, code, (words, result.stderr))
            self.assertEqual(bool(result.stdout), code == FINE)
        # A launcher in a launcher: the size of the outer one says nothing.
        for more in ({"PMI_SIZE": "4"}, {"SLURM_STEP_NUM_TASKS": "4"}):
            result = self.run_under([], "ls", "grid.h5", OMPI_COMM_WORLD_SIZE="1", **nowhere,
                                    **more)
            self.assertEqual(result.returncode, BAD_INPUT)

    def test_in_a_program_of_one_rank(self):
        # As its first rank would call it, while the others do something else.
        one = 'test "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" = 1 || exec "$@"'
        result = self.run_under([*MPIEXEC, "-n", "2", "sh", "-c", one, "sh"], "ls", "grid.h5",
                                SLUICE_MPI="none")
        self.assertEqual(result.returncode, FINE, result.stderr)
        self.assertEqual(result.stdout, sluice("ls", "grid.h5").stdout)

    def test_output_that_cannot_be_written(self):
        for words in (["ls", "spins.h5"], ["watch", "spins.h5"]):  # the latter at once
            with open("/dev/full", "wb") as full:
                result = subprocess.run([COMMAND, *words], cwd=FOLDER, stdout=full,
                                        stderr=subprocess.PIPE, text=True, timeout=60, check=False)
            self.assertEqual(result.returncode, BAD_INPUT)
            self.assertIn("writing the output failed", result.stderr)


def on_a_terminal(*arguments, **environment):
    """(exit code, what a pseudo-terminal shows) of the command."""
    ours, theirs = pty.openpty()
    done = subprocess.Popen([COMMAND, *arguments], cwd=FOLDER, stdout=theirs, stderr=theirs,
                            env={**os.environ, "TERM": "xterm", **environment})
    os.close(theirs)
    shown = b""
    try:
        while piece := os.read(ours, 4096):
            shown += piece
    except OSError:  # how a terminal ends
        pass
    os.close(ours)
    return done.wait(timeout=60), shown.decode()


class Colours(unittest.TestCase):
    def setUp(self):
        try:
            for end in pty.openpty():
                os.close(end)
        except OSError as error:
            self.skipTest(f"no pseudo-terminal here: {error}")

    def test_on_a_terminal_only(self):
        self.assertEqual(on_a_terminal("verfy")[1].count("\x1b[1;31msluice:\x1b[0m there is"), 1)
        self.assertIn("\x1b[32mgrid.h5: ok", on_a_terminal("verify", "grid.h5")[1])
        self.assertNotIn("\x1b", sluice("verfy").stderr + sluice("verify", "grid.h5").stdout)

    def test_not_where_they_are_refused(self):
        for refusal in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
            self.assertNotIn("\x1b", on_a_terminal("verfy", **refusal)[1])

    def test_json_has_none(self):
        self.assertNotIn("\x1b[3", on_a_terminal("verify", "grid.h5", "--json")[1])


class ProgressBar(unittest.TestCase):
    """Reads are slowed down by a library that is loaded in front."""

    def run_slowly(self, stderr):
        environment = {**os.environ, "LD_PRELOAD": os.environ["SLUICE_SLOW_READS"]}
        return subprocess.Popen([COMMAND, "verify", "grid.h5"], cwd=FOLDER, env=environment,
                                stdout=subprocess.PIPE, stderr=stderr)

    def on_a_terminal(self, start):
        """What `start`, given a file for stderr, shows there and prints."""
        try:
            ours, theirs = pty.openpty()
        except OSError as error:
            self.skipTest(f"no pseudo-terminal here: {error}")
        process = start(theirs)
        os.close(theirs)
        shown = b""
        while True:
            try:
                piece = os.read(ours, 4096)
            except OSError:  # how a terminal ends
                break
            if not piece:
                break
            shown += piece
        os.close(ours)
        out = process.communicate(timeout=60)[0].decode()
        self.assertEqual(process.returncode, FINE)
        self.assertTrue(shown.endswith(b"\r\x1b[K"), "the bar is gone at the end")
        return shown.decode(), out

    def test_on_a_terminal(self):
        shown, out = self.on_a_terminal(self.run_slowly)
        bars = re.findall(r"verify grid\.h5  \[#+\.*\] +(\d+) %  [\d.]+ MiB/s  \d.* left", shown)
        self.assertGreaterEqual(len(bars), 1, shown)
        self.assertEqual(sorted(bars, key=int), bars)
        self.assertIn("grid.h5: ok", out)

    def test_of_predictions_says_how_many(self):
        one_core = {min(os.sched_getaffinity(0))}  # else a large machine is ready too soon
        shown, out = self.on_a_terminal(lambda stderr: subprocess.Popen(
            [COMMAND, "plan", "--ranks", "12000", "--shape", "4096x4096x4096"],
            stdout=subprocess.PIPE, stderr=stderr,
            preexec_fn=lambda: os.sched_setaffinity(0, one_core)))
        bars = re.findall(r"plan  \[#*\.*\] +\d+ %  (\d+) of (\d+)  \d.* left", shown)
        self.assertGreaterEqual(len(bars), 1, shown)
        self.assertEqual(sorted(bars, key=lambda bar: int(bar[0])), bars)
        self.assertEqual(len({total for _, total in bars}), 1)
        self.assertIn("<- this", out)

    def test_not_into_a_file(self):
        process = self.run_slowly(subprocess.PIPE)
        self.assertEqual(process.communicate(timeout=60)[1], b"")


if __name__ == "__main__":
    unittest.main()
