"""The manual pages: one for each verb and one for each function of C, as MANPATH of an installation
has them, without a complaint of the formatter.

    manual_test.py COMMAND
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMMAND = sys.argv.pop(1)
sys.path.insert(0, str(ROOT / "share/man"))

import pages  # noqa: E402


class Manual(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.man = Path(cls.folder.name) / "man"
        subprocess.run([sys.executable, "-B", ROOT / "share/man/pages.py", "--headers",
                        ROOT / "include/sluice", "--version", "1.2.3", "--command", COMMAND,
                        "--out", cls.man], check=True)
        shutil.copy(ROOT / "share/man/sluice.1", cls.man / "man1")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def shown(self, section, name):
        """A page as `man` finds and shows it."""
        done = subprocess.run(["man", section, name], text=True, check=True, timeout=60,
                              stdout=subprocess.PIPE,
                              env={**os.environ, "MANPATH": str(self.man), "MANPAGER": "cat",
                                   "MANWIDTH": "80", "LC_ALL": "C.UTF-8", "GROFF_NO_SGR": "1"})
        return re.sub(".\b", "", done.stdout)

    def test_every_verb_has_a_page(self):
        verbs = pages.verbs_of(COMMAND)
        self.assertGreater(len(verbs), 14)
        self.assertEqual({f"sluice-{verb}.1" for verb in verbs} | {"sluice.1"},
                         {path.name for path in (self.man / "man1").iterdir()})
        overview = (ROOT / "share/man/sluice.1").read_text().replace("\\-", "-")
        for verb in verbs:
            self.assertIn(f"sluice-{verb}", overview, "sluice.1 names every verb")

    def test_every_function_has_a_page(self):
        library = Path(COMMAND).parents[1] / "libsluice.so"
        nm = subprocess.run(["nm", "-D", "--defined-only", library], text=True, check=True,
                            stdout=subprocess.PIPE).stdout
        exported = set(re.findall(r" T (sluice_[a-z_]+)(?:@|$)", nm, re.M))
        self.assertGreater(len(exported), 90)
        # What the Fortran modules call is in no header.
        declared = "".join(p.read_text() for p in (ROOT / "include/sluice").glob("*.h"))
        public = {name for name in exported if re.search(rf"\b{name}\(", declared)}
        self.assertGreater(len(public), 90)
        self.assertEqual({f"{name}.3" for name in public} -
                         {path.name for path in (self.man / "man3").iterdir()}, set())

    @unittest.skipUnless(shutil.which("man"), "there is no program man")
    def test_as_a_reader_sees_them(self):
        page = self.shown("1", "sluice-verify")
        for part in ("sluice-verify - check every byte", "sluice verify [options] FILE...",
                     "--latest-good", "mpirun -n 8 sluice verify large.h5"):
            self.assertIn(part, page)
        page = self.shown("3", "sluice_end_step")
        for part in ("sluice_end_step - writes and commits the step", "#include <sluice/sluice.h>",
                     "int sluice_end_step(sluice_file* file, sluice_ticket** ticket);",
                     "SLUICE_ERROR_OVERLAP"):
            self.assertIn(part, page)

    @unittest.skipUnless(shutil.which("groff"), "there is no program groff")
    def test_the_formatter_complains_of_none(self):
        paths = sorted(self.man.glob("man*/*"))
        self.assertGreater(len(paths), 110)
        done = subprocess.run(["groff", "-mandoc", "-ww", "-Tutf8", *paths], check=False, text=True,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
