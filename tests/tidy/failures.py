"""failures.py LOG [LOG ...]: what failed in runs of ctest, in a few lines a test.

LOG is a LastTest.log. The output of a whole run is long, and where it is shown in part the reason
is seldom in it. Of each failed test this prints where GoogleTest, pytest and unittest say what was
expected, and the last lines; nothing where no test failed.
"""

import re
import sys
from pathlib import Path

MOST_TESTS = 12
MOST_REASON_LINES = 24
LAST_LINES = 8

_BEGIN = re.compile(r"^\d+/\d+ Testing: (\S+)$")
# Where a reason begins, and how many lines it takes.
_REASONS = [
    (re.compile(r"^(\[rank \d+\] .*: )?\S+:\d+: "), 6),  # GoogleTest, on rank 0 and on others
    (re.compile(r"^(>|E) {3}"), 1),  # pytest
    (re.compile(r"^(FAIL|ERROR): "), 12),  # unittest
    (re.compile(r"^(==\d+==ERROR: |SUMMARY: |.*runtime error: )"), 10),  # sanitizers
]


def failed(log):
    """Lines of the output of each test that failed when it was last run, by its name."""
    test, output, is_output, found = "", [], False, {}
    for line in log.splitlines():
        begin = _BEGIN.match(line)
        if begin:
            test, output, is_output = begin[1], [], False
        elif line == "Output:":
            is_output = True
        elif line == "<end of output>":
            is_output = False
        elif is_output:
            output.append(line)
        elif line in ("Test Failed.", "Test Fail Reason:"):  # the second: by what it printed
            found[test] = output[1:]  # without the ruler
        elif line == "Test Passed.":
            found.pop(test, None)
    return found


def summary(output):
    """The lines that say why, then the last ones; between them a mark where some are left out."""
    keep = set()
    for at, line in enumerate(output):
        for pattern, lines in _REASONS:
            if pattern.match(line):
                keep.update(range(at, min(at + lines, len(output))))
    keep = set(sorted(keep)[:MOST_REASON_LINES])
    keep.update(range(max(0, len(output) - LAST_LINES), len(output)))
    shown, before = [], -1
    for at in sorted(keep):
        if at != before + 1:
            shown.append("[...]")
        shown.append(output[at])
        before = at
    return shown


def main(names):
    found = [entry for name in names if Path(name).is_file()
             for entry in failed(Path(name).read_text(encoding="utf-8",
                                                      errors="replace")).items()]
    for test, output in found[:MOST_TESTS]:
        print(f"-- {test}")
        print("\n".join(summary(output)))
    if len(found) > MOST_TESTS:
        print(f"-- and {len(found) - MOST_TESTS} more")


if __name__ == "__main__":
    main(sys.argv[1:])
