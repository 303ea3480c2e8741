"""Writes RELIABILITY.md from what the crash battery printed.

    reliability.py LOG... > RELIABILITY.md

A LOG is the output of crash_images, crash_kill, crash_faults or crash_planted. Only what they
counted
is said; a part without a log is said to be missing.
"""

import datetime
import re
import sys

PARTS = {
    "T1": ("Crash images", r"^T1 .*$"),
    "T2": ("kill -9 of a running mpirun", r"^T2 .*$"),
    "T3": ("A storage call fails", r"^T3 .*$"),
    "T17": ("Planted bugs", r"^T17 \d+ of \d+ caught$"),
}


def lines_of(logs, pattern):
    found = []
    for log in logs:
        found += re.findall(pattern, log, re.MULTILINE)
    return found


def main(paths):
    logs = []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            logs.append(file.read())
    failed = [path for path, log in zip(paths, logs) if "[  FAILED  ]" in log]
    print("# What was proven, and how often\n")
    print(f"Written from the output of `tests/crash` on {datetime.date.today()}.")
    print("`docs/durability.md` says what is promised, and what is not.\n")
    if failed:
        print(f"**{len(failed)} of {len(paths)} logs report failures.**\n")
    for name, (title, pattern) in PARTS.items():
        print(f"## {name}: {title}\n")
        found = lines_of(logs, pattern)
        print("```\n" + "\n".join(found) + "\n```\n" if found else "Not run.\n")


if __name__ == "__main__":
    main(sys.argv[1:])
