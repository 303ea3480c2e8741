"""Where the command's files are: by symbolic links, at the limit of file size, pipes."""

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import unittest

from command import BAD_INPUT, COMMAND, FINE, copy, path, sluice

TIMEOUT_S = 60


class Places(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="sluice-places-")
        self.addCleanup(shutil.rmtree, self.folder)

    def at(self, name):
        return os.path.join(self.folder, name)

    def run_here(self, *arguments, **options):
        return subprocess.run([COMMAND, *arguments], cwd=self.folder, capture_output=True,
                              text=True, timeout=TIMEOUT_S, check=False, **options)

    def said_of(self, result):
        """Without the file's name and how long it took."""
        return re.sub(r"\d+ ms", "", re.sub(r'[^" ]*\.h5', "FILE", result.stdout))

    def test_verbs_agree_by_link(self):
        real = copy("spins.h5")
        os.symlink(real, self.at("link.h5"))
        for verb in (["ls", "--json"], ["dump", "spins"], ["verify"], ["recover"]):
            verb, *options = verb
            one = self.run_here(verb, real, *options)
            two = self.run_here(verb, self.at("link.h5"), *options)
            self.assertEqual((one.returncode, two.returncode), (FINE, FINE), two.stderr)
            self.assertEqual(self.said_of(one), self.said_of(two))

    def test_recover_finds_the_journal_by_link(self):
        real = copy("spins.h5")
        os.symlink(real, self.at("link.h5"))
        with open(real + ".sluice-journal", "wb") as journal:
            journal.write(b"torn")
        result = self.run_here("recover", "link.h5")
        self.assertEqual(result.returncode, FINE, result.stderr)
        self.assertIn("never became durable", result.stdout)
        self.assertFalse(os.path.exists(real + ".sluice-journal"))

    def test_recover_names_what_never_got_its_name(self):
        shutil.copy(copy("spins.h5"), self.at("whole.h5"))
        for name in ("whole.h5.sluice-new", "none.h5.sluice-new"):
            with open(self.at(name), "wb"):
                pass
        for options in ((), ("--dry-run",)):
            result = self.run_here("recover", "whole.h5", *options)
            self.assertEqual(result.returncode, FINE, result.stderr)
            self.assertIn("whole.h5: nothing to recover", result.stdout)
            self.assertIn("whole.h5.sluice-new: left by a program", result.stdout)
            result = self.run_here("recover", "--json", "whole.h5", *options)
            self.assertIs(json.loads(result.stdout)[0]["left_new_file"], True)
            result = self.run_here("recover", "none.h5", *options)
            self.assertEqual((result.returncode, result.stdout), (BAD_INPUT, ""))
            self.assertIn("none.h5.sluice-new is: a program writes it, or ended", result.stderr)
        os.remove(self.at("whole.h5.sluice-new"))
        result = self.run_here("recover", "whole.h5")
        self.assertEqual((result.returncode, len(result.stdout.splitlines())), (FINE, 1))
        result = self.run_here("recover", "whole.h5", "--json")
        self.assertIs(json.loads(result.stdout)[0]["left_new_file"], False)

    def test_convert_to_a_link_writes_its_target(self):
        os.symlink("target.h5", self.at("link.h5"))
        result = self.run_here("convert", path("spins.h5"), "link.h5")
        self.assertEqual(result.returncode, FINE, result.stderr)
        self.assertTrue(os.path.islink(self.at("link.h5")))
        self.assertEqual(sluice("diff", path("spins.h5"), self.at("target.h5")).returncode, FINE)

    def test_models_that_become_files_and_texts_behind_links(self):
        with open(self.at("a.model"), "w", encoding="ascii") as file:
            file.write("\n2\n1 1 1 1 1\n2 2 2 1 1\n")
        for source, ending in (("a.model", "nc"), ("link.nc", "model")):
            os.symlink(f"target.{ending}", self.at(f"link.{ending}"))
            result = self.run_here("convert", source, f"link.{ending}")
            self.assertEqual(result.returncode, FINE, result.stderr)
            self.assertTrue(os.path.islink(self.at(f"link.{ending}")))
            again = self.run_here("convert", source, f"link.{ending}")
            self.assertIn(f"link.{ending}: exists already", again.stderr)
        with open(self.at("a.model"), encoding="ascii") as file, \
                open(self.at("target.model"), encoding="ascii") as made:
            self.assertEqual(file.read(), made.read())
        self.assertFalse([name for name in os.listdir(self.folder) if ".sluice-" in name])

    def test_a_limit_of_file_size_is_an_error(self):
        def limited():
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
            resource.setrlimit(resource.RLIMIT_FSIZE, (1024, resource.RLIM_INFINITY))

        for target in ("small.h5", "small.zarr", "small.nc"):
            result = self.run_here("convert", path("spins.h5"), target, preexec_fn=limited)
            self.assertEqual(result.returncode, BAD_INPUT, result.stderr)
            self.assertIn("ulimit -f", result.stderr)
            self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
            self.assertFalse(os.path.exists(self.at(target)))

    def test_what_cannot_be_written_whole_leaves_nothing(self):
        def limited():
            resource.setrlimit(resource.RLIMIT_FSIZE, (256, resource.RLIM_INFINITY))

        named = {"RUN": path("spins.h5"), "GRID": path("grid.h5")}
        for words in ("plot RUN spins a.png", "report RUN a.html", "render RUN a.png",
                      "render RUN a.pov --povray", "virtualize RUN -o a.json",
                      "convert RUN a.xyz --frames 0", "convert RUN a.vtu --frames 0",
                      "plan --compress GRID --plot a.png",
                      "plan --ranks 4 --shape 99x99 --write a.toml"):
            words = [named.get(word, word) for word in words.split()]
            result = self.run_here(*words, preexec_fn=limited)
            self.assertEqual((result.returncode, result.stderr.count("\n")), (BAD_INPUT, 1), words)
            self.assertRegex(result.stderr, r"^sluice: a(-0+[0-9]?)?\.[a-z]+: ", words)
            self.assertEqual(os.listdir(self.folder), [], words)

    def test_a_pipe_is_refused_at_once(self):
        os.mkfifo(self.at("pipe.h5"))
        result = self.run_here("ls", "pipe.h5")
        self.assertEqual(result.returncode, BAD_INPUT)
        self.assertIn("pipe", result.stderr)


if __name__ == "__main__":
    unittest.main()
