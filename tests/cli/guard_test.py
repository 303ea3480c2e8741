"""What the command does where libhdf5 crashes, or comes to no end: one line, and nothing left over.

A library that is loaded in front makes the reads of a file named victim* misbehave.
"""

import os
import signal
import subprocess
import tempfile
import time
import unittest

from command import BAD_INPUT, COMMAND, FINE, FOLDER, MPIEXEC, copy, path, sluice

VICTIM = os.path.realpath(path("victim.h5"))
VERBS = [["ls"], ["verify"], ["dump", None, "spins"], ["stats"], ["verify", "--latest-good"],
         ["convert", None, "made.h5"], ["convert", None, "made.nc"], ["diff", None, "spins.h5"]]


def victim():
    target = path("victim.h5")
    os.replace(copy("spins.h5"), target)
    return target


def run(arguments, how, seconds="0.5", **more):
    environment = {**os.environ, "LD_PRELOAD": os.environ["SLUICE_BAD_READS"],
                   "SLUICE_BAD_READ": how, "SLUICE_GUARD": seconds, **more}
    return subprocess.run([COMMAND, *arguments], cwd=FOLDER, env=environment, capture_output=True,
                          text=True, timeout=60, check=False)


def words(verb):
    return [verb[0], "victim.h5", *[word for word in verb[1:] if word]]


class Guard(unittest.TestCase):
    def setUp(self):
        victim()
        self.before = set(os.listdir(FOLDER))

    def expect_one_line(self, result, *texts):
        self.assertEqual(result.returncode, BAD_INPUT, result)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        self.assertTrue(result.stderr.startswith(f"sluice: {VICTIM}: "), result.stderr)
        for text in texts:
            self.assertIn(text, result.stderr)
        left = set(os.listdir(FOLDER)) - self.before
        self.assertFalse({name for name in left if name.startswith(("made.h5", "made.nc")) and
                          not name.endswith((".sluice-new", ".sluice-lease"))}, left)
        self.assertFalse([name for name in left if name.startswith("core")], left)

    def test_a_crash_is_one_line(self):
        for verb in VERBS:
            with self.subTest(verb=verb):
                self.expect_one_line(run(words(verb), "crash"), "libhdf5 crashed (SIGSEGV)",
                                     "in H5", "damaged")

    def test_an_endless_loop_is_one_line(self):
        for verb in VERBS[:3]:
            with self.subTest(verb=verb):
                self.expect_one_line(run(words(verb), "loop"), "did not finish within 0.5 s",
                                     "in H5")

    def test_too_much_memory_is_one_line(self):
        for verb in VERBS[:3]:
            with self.subTest(verb=verb):
                self.expect_one_line(
                    run(words(verb), "grow", "0", SLUICE_GUARD_BYTES=str(200 << 20)),
                    "reading it took more than 200 MiB of memory")

    def test_a_sound_file_stays_below_the_limit_of_memory(self):
        result = run(["verify", "victim.h5"], "none", "0", SLUICE_GUARD_BYTES=str(200 << 20))
        self.assertEqual((result.returncode, result.stderr), (FINE, ""))

    def test_killed_by_the_kernel_is_one_line(self):
        self.expect_one_line(run(["verify", "victim.h5"], "killed"), "killed (SIGKILL)")

    def test_a_sound_file_is_none(self):
        result = run(["verify", "victim.h5"], "none")
        self.assertEqual((result.returncode, result.stderr), (FINE, ""))

    def test_the_exit_code_of_who_ignores_ends_of_processes(self):
        result = subprocess.run(["env", "--ignore-signal=CHLD", COMMAND, "verify", "victim.h5"],
                                cwd=FOLDER, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((result.returncode, result.stderr), (FINE, ""))

    def test_a_signal_reaches_the_work(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            environment = {**os.environ, "LD_PRELOAD": os.environ["SLUICE_BAD_READS"],
                           "SLUICE_BAD_READ": "loop", "SLUICE_GUARD": "0"}
            with subprocess.Popen([COMMAND, "ls", "victim.h5"], cwd=FOLDER, env=environment,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
                self.assertTrue(wait_for(lambda: children(process.pid)))
                child = children(process.pid)[0]
                process.send_signal(number)
                self.assertEqual(process.wait(timeout=30), -number)
                self.assertTrue(wait_for(lambda: not os.path.exists(f"/proc/{child}")))
                self.assertEqual(process.stderr.read(), b"")

    def test_an_interrupted_conversion_leaves_nothing(self):
        environment = {**os.environ, "LD_PRELOAD": os.environ["SLUICE_SLOW_READS"]}
        for number, ending in ((signal.SIGINT, ".nc"), (signal.SIGTERM, ".icechunk")):
            folder = path(f"of-{number.value}")
            os.mkdir(folder)
            process = subprocess.Popen(
                [COMMAND, "convert", path("grid.h5"), os.path.join(folder, "a" + ending),
                 "--compress", "deflate:9"], env=environment, stdout=subprocess.PIPE)
            limit = time.monotonic() + 30
            while not os.listdir(folder) and time.monotonic() < limit:
                time.sleep(0.01)
            process.send_signal(number)
            process.communicate(timeout=30)
            self.assertEqual((process.returncode, os.listdir(folder)), (-number, []))

    def test_interrupted_texts_and_folders_leave_nothing(self):
        sources = path("sources")
        os.mkdir(sources)
        for name, text in (("a.model", "\n1\n1 1 1 1 1\n"), ("1.x", "   1\n"), ("2.x", "   2\n"),
                           ("x.template", "files %d.x\n(i4) n:int32\n")):
            with open(os.path.join(sources, name), "w", encoding="ascii") as file:
                file.write(text)
        model, records = (os.path.join(sources, name) for name in ("model.nc", "records"))
        for source, made in (("a.model", model), ("x.template", records)):
            result = sluice("convert", os.path.join(sources, source), made)
            self.assertEqual(result.returncode, FINE, result.stderr)
        environment = {**os.environ, "LD_PRELOAD": os.environ["SLUICE_SLOW_READS"],
                       "SLUICE_SLOW_WRITES": "1"}
        spins = path("spins.h5")
        for words in (["convert", spins, "a.xyz", "--frames", "0"],
                      ["convert", spins, "a.vtu", "--frames", "0:2"],
                      ["convert", spins, "a.vtkhdf", "--frames", "0:2"],
                      ["render", spins, "a.pov", "--povray"], ["render", spins, "a.png"],
                      ["convert", model, "a.model"],
                      ["convert", records, "texts", "--format", "lines"]):
            with self.subTest(words=words), tempfile.TemporaryDirectory() as folder:
                process = subprocess.Popen([COMMAND, *words], cwd=folder, env=environment)
                began = wait_for(lambda: any(".sluice-" in name for _, _, names in os.walk(folder)
                                             for name in names))
                process.send_signal(signal.SIGINT)
                self.assertEqual(process.wait(timeout=30), -signal.SIGINT)
                self.assertTrue(began)
                self.assertEqual(os.listdir(folder), [])

    def test_the_work_ends_with_the_command(self):
        environment = {**os.environ, "LD_PRELOAD": os.environ["SLUICE_BAD_READS"],
                       "SLUICE_BAD_READ": "loop", "SLUICE_GUARD": "0"}
        with subprocess.Popen([COMMAND, "ls", "victim.h5"], cwd=FOLDER, env=environment) as process:
            self.assertTrue(wait_for(lambda: children(process.pid)))
            time.sleep(0.2)
            child = children(process.pid)[0]
            process.kill()
            process.wait(timeout=30)
            self.assertTrue(wait_for(lambda: is_gone(child)))

    def test_one_process_where_it_is_off(self):
        result = run(["ls", "victim.h5"], "crash", seconds="off")
        self.assertEqual(result.returncode, -signal.SIGSEGV)

    def test_under_mpirun(self):
        result = sluice("verify", "victim.h5", ranks=2)
        self.assertEqual((result.returncode, result.stderr), (FINE, ""))
        environment = {**os.environ, "SLUICE_BAD_READ": "crash",
                       "LD_PRELOAD": os.environ["SLUICE_BAD_READS"]}
        result = subprocess.run([*MPIEXEC, "-n", "2", COMMAND, "verify", "victim.h5"], cwd=FOLDER,
                                env=environment, capture_output=True, text=True, timeout=60,
                                check=False)
        self.assertNotEqual(result.returncode, FINE)
        self.assertIn(f"sluice: {VICTIM}: libhdf5 crashed (SIGSEGV)", result.stderr)


def children(process):
    try:
        with open(f"/proc/{process}/task/{process}/children", encoding="ascii") as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


def is_gone(process):
    """Also where nobody has waited for it."""
    try:
        with open(f"/proc/{process}/stat", encoding="ascii") as file:
            return file.read().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


def wait_for(condition, seconds=20):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.01)
    return False


if __name__ == "__main__":
    unittest.main()
