"""What the tests of other programs' files share: the list of differences, running the command.

Invariant: a case passes where it is equal and not listed, or different and listed with its reason;
a line of the list that no case of a complete run needed is an error.
"""

import fnmatch
import os
import subprocess
from pathlib import Path

import pytest

LONG = os.environ.get("SLUICE_LONG", "0") == "1"
ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("SLUICE_DATA", ROOT.parent / "shared/data"))
COMMAND = os.environ["SLUICE_COMMAND"]
FINE = 0


def listed():
    lines = (Path(__file__).parent / "differences.txt").read_text(encoding="utf-8").splitlines()
    rows = [[word.strip() for word in line.split("|")] for line in lines
            if line.strip() and not line.startswith("#")]
    assert all(len(row) == 3 and row[2] for row in rows), rows
    return rows


class Differences:
    """Those of one kind: `judge` is told of every case."""

    def __init__(self, kind):
        self.reasons = {name: why for other, name, why in listed() if other == kind}
        self.used = set()
        self.equal = 0
        self.different = []

    def judge(self, name, difference):
        """`difference`: what is not the same, in words; "" where all is."""
        known = [pattern for pattern in self.reasons if fnmatch.fnmatchcase(name, pattern)]
        self.used.update(known)
        if not difference:
            assert not known, f"{name}: is equal: take it from differences.txt"
            self.equal += 1
            return
        assert known, f"{name}: {difference}"
        assert any(difference_says(self.reasons[pattern], difference) for pattern in known), (
            f"{name}: {difference}, and differences.txt says {known}")
        self.different.append(name)

    def report(self, what):
        print(f"{what}: {self.equal} equal, {len(self.different)} different for a listed reason")
        if LONG:
            unused = set(self.reasons) - self.used
            assert not unused, f"differences.txt: nothing needs {sorted(unused)}"


def difference_says(why, difference):
    """A reason that quotes what is said, "..." in it, must be what is said."""
    quotes = why.split('"')[1::2]
    return all(quote in difference for quote in quotes)


def sluice(*arguments):
    """What the command says, both streams; it must succeed."""
    done = run(*arguments)
    assert done.returncode == FINE, done.stderr
    return done.stdout + done.stderr


def run(*arguments):
    return subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, text=True,
                          timeout=300, check=False)


def require(path):
    if not path.exists():
        pytest.skip(f"{path} is not there: it is no part of the project")
    return path


def some(cases, every):
    """All of them in a long run, one of `every` in a short one."""
    cases = list(cases)
    return cases if LONG else cases[::every]
