"""Writes RELIABILITY.md, and the lines that it sums up, from what the tests printed.

    reliability.py [--log LastTest.log] [--add] --data docs/reliability.json --page RELIABILITY.md

LOG is ctest's own log of a run (build/release/Testing/Temporary/LastTest.log); `./dev test --long`
gives its own. Every line of a test that begins with a number of the battery (T1, T2, ...) goes to
the data file, by test. The page is made of the data file alone, so the same data make the same
page. Without --log only the page is written. With --add the tests that the log lacks keep the lines
of their last run; else they are gone, and the page says what was not run.
"""

import argparse
import datetime
import fnmatch
import json
import re
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Count:
    """What of lines is summed up: groups of a pattern are added, those named most_* the largest
    counts; `kind` says of what the line is."""

    pattern: str
    text: str


@dataclass
class Part:
    number: str
    what: str
    tests: str
    counts: list
    by_kind: bool = False
    without_counts: str = "in every run of the tests"


KIND = r"(?P<kind>set \S+(?: keep| split)?|[^\s:]+)"
DAMAGE = (r"(?P<tried>\d+) tried, (?P<refused>\d+) refused, (?P<harmless>\d+) without effect, "
          r"(?P<unnoticed>\d+) unnoticed, (?P<unproven>\d+) not verified, (?P<crashed>\d+) "
          r"crashed, (?P<hung>\d+) hung")
DAMAGE_TEXT = ("{tried:,} tried: {refused:,} refused, {harmless:,} without effect, {unnoticed:,} "
               "unnoticed, {unproven:,} not verified, {crashed:,} crashed libhdf5, {hung:,} held "
               "it")

BATTERY = [
    Part("T1", "crash images", "crash/images_*, crash/npy_images, plugin/images", [
        Count(rf"T1 {KIND} .*?(?P<disks>\d+) disks(?:.*?(?P<second>\d+) second crashes)?"
              r".*?(?P<wrong>\d+) violations",
              "{disks:,} images, {second:,} second crashes inside recovery, {wrong:,} violations"),
    ], True),
    Part("T1b", "plain libhdf5 opens the file while it is written", "crash/live_reader", [
        Count(r"T1b .*after each of (?P<calls>\d+) storage calls.*: (?P<seen>\d+) times the old "
              r"state or the new one, (?P<refused>\d+) times refused",
              "opened {calls:,} times: {seen:,} the old state or the new one, {refused:,} refused"),
        Count(r"T1b .* read (?P<read>\d+) arrays .*: (?P<old>\d+) times the old values, "
              r"(?P<new>\d+) times the new ones, (?P<errors>\d+) errors",
              "open all the time, {read:,} arrays: {old:,} old, {new:,} new, {errors:,} errors"),
    ]),
    Part("T2", "kill -9 of a running mpirun", "crash/kill, plugin/kill", [
        Count(r"T2 (?P<kind>\S+ \S+) seed \d+: (?P<kills>\d+) kills .*?, (?P<steps>\d+) steps "
              r"acknowledged, (?P<lost>\d+) lost, .*? (?P<replayed>\d+) replayed, slowest recovery "
              r"(?P<most_s>[\d.]+) s",
              "{kills:,} kills, {steps:,} steps acknowledged, {lost:,} lost, {replayed:,} "
              "replayed, slowest recovery {most_s:.3f} s"),
    ], True),
    Part("T2b", "h5py opens the file while it is written", "crash/plain_reader", [
        Count(r"T2b .*: (?P<opened>\d+) times opened, (?P<refused>\d+) times refused",
              "{opened:,} times opened, {refused:,} times refused"),
    ]),
    Part("T3", "every storage call fails", "crash/faults_*, commit/faulty_step, plugin/faults", [
        Count(rf"T3 {KIND} .*: (?P<calls>\d+) calls, (?P<trials>\d+) trials, (?P<errors>\d+) "
              r"errors, (?P<reopen>\d+) files to be reopened, (?P<wrong>\d+) answered wrongly",
              "{calls:,} calls, {trials:,} trials, {errors:,} told as errors, {reopen:,} files had "
              "to be reopened, {wrong:,} answered wrongly"),
    ], True),
    Part("T4", "a really full disk", "commit/full_disk, storage/no_space", [
        Count(r"T4 .*: (?P<trials>\d+) trials, (?P<refused>\d+) steps refused, (?P<lost>\d+) lost",
              "{trials:,} trials, {refused:,} steps refused, {lost:,} lost"),
    ]),
    Part("T6", "flipped bits",
         "fuzz/damage, fuzz/flips_*, fuzz/zarr, compress/damage, parts/verify", [
        Count(rf"T6 (?P<kind>[^:]*): {DAMAGE}", DAMAGE_TEXT),
        Count(r"T6 (?P<kind>[^:]*): (?P<tried>\d+) tried, (?P<refused>\d+) refused by the reader, "
              r"(?P<verified>\d+) found by verify, (?P<harmless>\d+) without effect, "
              r"(?P<unnoticed>\d+) unnoticed",
              "{tried:,} tried: {refused:,} refused, {verified:,} found by verify, {harmless:,} "
              "without effect, {unnoticed:,} unnoticed"),
    ], True),
    Part("T7", "swapped sectors, cut files", "fuzz/damage", [
        Count(rf"T7 (?P<kind>[^:]*): {DAMAGE}", DAMAGE_TEXT),
        Count(r"T7 (?P<lengths>\d+) lengths of \d+ bytes, each refused",
              "cut at {lengths:,} lengths, each refused"),
    ]),
    Part("T8", "mutants to every reader",
         "fuzz/readers, fuzz/formats, fuzz/zarr, layout/npy, dialect/*", [
        Count(r"T8 (?P<kind>[^:]*): (?P<mutants>\d+) mutants(?: in \d+ s)?, "
              r"(?P<refused>\d+) refused",
              "{mutants:,} mutants, {refused:,} refused"),
    ], True),
    Part("T9", "hostile counts, extents, cycles, bombs", "fuzz/hostile, compress/damage", [
        Count(r"T9 (?P<kind>[^:]*): (?P<files>\d+) files, (?P<refused>\d+) refused",
              "{files:,} files, {refused:,} refused"),
    ]),
    Part("T10", "hostile names and links", "fuzz/hostile, model/names, parts/trust", [
        Count(r"T10 (?P<names>\d+) names, each refused", "{names:,} names, each refused"),
    ]),
    Part("T11", "a rank dies or stops", "crash/dead_rank, mpi/transport_timeout*", [
        Count(r"T11 (?P<kind>\w+): (?P<trials>\d+) trials, (?P<lost>\d+) steps lost, the slowest "
              r"end after (?P<most_s>[\d.]+) s",
              "{trials:,} trials, {lost:,} steps lost, the slowest end after {most_s:.1f} s"),
    ]),
    Part("T12", "divergent collectives", "conformance/* (divergence.*)", []),
    Part("T13", "sizes around 2^31 and 2^32",
         "commit/wide, storage/interrupted, storage/conformance", []),
    Part("T14", "shapes and random decompositions", "conformance/*", []),
    Part("T16", "files of earlier releases", "", [],
         without_counts="there is no earlier release"),
    Part("T17", "planted bugs", "crash/planted, plugin/planted", [
        Count(r"T17 (?P<caught>\d+) of (?P<all>\d+) caught", "{caught:,} of {all:,} caught"),
    ]),
]

LIMITS = """## What this does not prove

- The disk of the crash images is a model (`tests/crash/disk.hpp`): writes land whole, in 512-byte
  sectors, or as growth with garbage, in any combination until their file is synced. A disk that
  loses what it said it had is not in it.
- The ranks of crash images and faults are virtual ones in one process, with the storage in
  memory. The kills are of real processes on a real file system of one node; the page cache
  outlives them. No test here cuts the power of several nodes.
- A plain reader of a set of which a part is refused sees fill values in its place: such disks count
  as refused.
- T7 draws the sectors that are swapped at random. A sector that comes back from an earlier commit
  may go unnoticed where it holds HDF5's metadata alone, each block of which is right by its own
  checksum: one such was met in the form grouped.
- dcd and namdbin, whose durability is `close`, are not under crash images, faults and kills.
- Of records no other program is a reader: its images are looked at by Sluice alone.
- libhdf5 is the one that was built with; `tests/current_hdf5.sh` repeats images, faults and
  planted bugs with a current one.
- A text attribute or a dimension name that changed in a file whose time of modification is not
  that of its last commit is read as it is, since another program may have changed it on purpose:
  `sluice verify` says "changed outside". The flips keep the time of modification, as rot does.
"""


def read_log(text, date):
    """The tests of ctest's log that printed lines of the battery, or belong to it and failed."""
    tests = {}
    for section in re.split(r"^\d+/\d+ Testing: ", text, flags=re.MULTILINE)[1:]:
        name = section.split("\n", 1)[0].strip()
        lines = re.findall(r"^[.\s]*(T\d+b? .*)$", section, re.MULTILINE)
        is_passed = re.search(r"^Test Passed\.$", section, re.MULTILINE) is not None
        is_named = any(fnmatch.fnmatch(name, pattern.split(" ")[0]) for part in BATTERY
                       for pattern in part.tests.split(", "))
        if lines or (is_named and not is_passed):
            seconds = re.search(r"^Test time =\s*([\d.]+) sec", section, re.MULTILINE)
            tests[name] = {
                "date": date,
                "lines": [line.rstrip() for line in lines],
                "passed": is_passed,
                "seconds": float(seconds[1]) if seconds else 0,
            }
    return tests


def sums_of(count, lines):
    """By kind; {} where no line matches."""
    sums = {}
    for line in lines:
        match = re.match(count.pattern, line)
        if not match:
            continue
        groups = match.groupdict()
        row = sums.setdefault(groups.pop("kind", None) or "", dict.fromkeys(groups, 0))
        for name, text in groups.items():
            if name.startswith("most_"):
                row[name] = max(row[name], float(text))
            else:
                row[name] += int(text or 0)
    return sums


def total(sums):
    """Of all kinds."""
    rows = list(sums.values())
    return {name: (max if name.startswith("most_") else sum)(row[name] for row in rows)
            for name in rows[0]}


def page(data):
    tests = data["tests"]
    lines = [line for name in sorted(tests) for line in tests[name]["lines"]]
    dates = sorted({test["date"] for test in tests.values()})
    when = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    out = ["# What was proven, and how often", "",
           "Written by `tests/crash/reliability.py`, at the end of `./dev test --long`, from what",
           f"the tests printed (runs of {when});",
           "[docs/reliability.json](docs/reliability.json) has every line.",
           "[docs/durability.md](docs/durability.md) says what is promised.", ""]
    failed = sorted(name for name, test in tests.items() if not test["passed"])
    if failed:
        out += [f"**{len(failed)} of these tests failed: {', '.join(failed)}.**", ""]
    out += ["| | what | how often | tests |", "|---|---|---|---|"]
    kinds = []
    for part in BATTERY:
        texts = []
        for count in part.counts:
            sums = sums_of(count, lines)
            if sums:
                texts.append(count.text.format(**total(sums)))
            if part.by_kind:
                kinds += [(part.number, kind, count.text.format(**row))
                          for kind, row in sorted(sums.items()) if kind]
        otherwise = "not run" if part.counts else part.without_counts
        how_often = "; ".join(texts) or otherwise
        out.append(f"| {part.number} | {part.what} | {how_often} | {part.tests} |")
    out += ["", "## By layout and reader", "", "| | of | how often |", "|---|---|---|"]
    out += [f"| {number} | {kind} | {text} |" for number, kind, text in kinds]
    return "\n".join(out) + "\n\n" + LIMITS


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--log", type=Path)
    parser.add_argument("--add", action="store_true")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--page", type=Path, required=True)
    given = parser.parse_args()
    data = {"tests": {}}
    if given.add or not given.log:
        data = json.loads(given.data.read_text(encoding="utf-8"))
    if given.log:
        text = given.log.read_text(encoding="utf-8", errors="replace")
        data["tests"] |= read_log(text, str(datetime.date.today()))
        given.data.write_text(json.dumps(data, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    given.page.write_text(page(data), encoding="utf-8")


if __name__ == "__main__":
    main()
