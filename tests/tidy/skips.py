"""Finds what a run of ctest skipped and tests/allowed_skips.txt does not list.

    python3 skips.py --log build/release/Testing/Temporary/LastTest.log --allowed FILE

Whole tests count, and tests within one: of GoogleTest, pytest and unittest, and what a script tells
by a line "skipped: WHAT". With SLUICE_LONG=1 an entry `short` allows nothing. Prints one line for
each that is not listed; exit code 1 where there is one.
"""

import argparse
import fnmatch
import os
import re
import sys
from pathlib import Path

_BEGIN = re.compile(r"^\d+/\d+ Test(?:ing)?: (\S+)$")
_INSIDE = [
    re.compile(r"^\[  SKIPPED \] ([^\s,]+)(?:, where .*)?(?: \(\d+ ms\))?$"),  # GoogleTest
    re.compile(r"^SKIPPED \[\d+\] (.*)$"),  # pytest -rs
    re.compile(r"^(?:OK|FAILED) \(.*?(skipped=\d+)"),  # unittest
    re.compile(r"^skipped: (.*)$"),  # scripts
]


def skipped(log):
    """(test of ctest, what was skipped within it), each once, in order."""
    test, found = "", {}
    for line in log.splitlines():
        begin = _BEGIN.match(line)
        if begin:
            test = begin[1]
        for pattern in _INSIDE:
            match = pattern.match(line)
            # The count that GoogleTest begins its list with is no name.
            if match and not re.match(r"\d+ test", match[1]):
                found[test, match[1]] = None
    return list(found)


def read_allowed(text):
    """Entries "WHEN | TEST | WITHIN | WHY"; TEST and WITHIN are patterns of a shell."""
    entries = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        parts = [part.strip() for part in line.split("|", 3)]
        if len(parts) != 4 or parts[0] not in ("any", "short") or not all(parts):
            raise ValueError(f"line {number} is not 'any|short | TEST | WITHIN | WHY': {line}")
        entries.append(parts)
    return entries


def not_allowed(log, allowed, is_long):
    entries = [e for e in read_allowed(allowed) if not (is_long and e[0] == "short")]
    return [(test, within) for test, within in skipped(log)
            if not any(fnmatch.fnmatchcase(test, e[1]) and fnmatch.fnmatchcase(within, e[2])
                       for e in entries)]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--log", required=True, type=Path)
    parser.add_argument("--allowed", required=True, type=Path)
    arguments = parser.parse_args()
    log = arguments.log.read_text(encoding="utf-8", errors="replace")
    allowed = arguments.allowed.read_text(encoding="utf-8")
    found = not_allowed(log, allowed, os.environ.get("SLUICE_LONG") == "1")
    for test, within in found:
        print(f"{test}: skipped, and {arguments.allowed.name} does not list it: {within}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
