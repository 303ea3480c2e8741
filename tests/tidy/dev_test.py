"""./dev as its user meets it: help that names every command, wrong words answered in one line."""

import re
import subprocess
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def dev(*arguments):
    return subprocess.run(
        [str(ROOT / "dev"), *arguments], capture_output=True, text=True, timeout=30, cwd="/"
    )


class Dev(unittest.TestCase):
    def test_help_names_every_command_with_an_example(self):
        for arguments in ((), ("--help",), ("-h",), ("help",), ("test", "--help")):
            answer = dev(*arguments)
            self.assertEqual(answer.returncode, 0)
            for command in ("setup", "build", "test", "demo", "bench", "check", "docs"):
                self.assertRegex(answer.stdout, rf"(?m)^  \./dev {command}\b")

    def test_wrong_words_are_answered_in_one_line(self):
        for arguments, named in (
            (("tset",), "tset"),
            (("build", "relaese"), "relaese"),
            (("demo", "nothing"), "nothing"),
            (("bench",), "./dev bench write"),
            (("check", "spelling"), "spelling"),
        ):
            answer = dev(*arguments)
            self.assertEqual(answer.returncode, 2, arguments)
            self.assertEqual(answer.stdout, "")
            self.assertRegex(answer.stderr, rf"\Adev: .*{re.escape(named)}.*\n\Z")

    def test_help_and_rules_agree_on_the_checks(self):
        text = (ROOT / "dev").read_text(encoding="utf-8")
        checks = set(re.findall(r"^check_(\w+)\(\)", text, re.MULTILINE))
        self.assertEqual(checks, {"format", "lint", "shell", "tidy", "links"})
        self.assertIn("only one of: format lint shell tidy links", dev("--help").stdout)


if __name__ == "__main__":
    unittest.main()
