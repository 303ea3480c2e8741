"""Writes RELIABILITY.md from docs/reliability.json, and that from what the tests printed.

    reliability.py [--log LastTest.log] [--add] --data docs/reliability.json --page RELIABILITY.md
    reliability.py --data docs/reliability.json --counts

LOG is ctest's own log of a run (build/release/Testing/Temporary/LastTest.log); `./dev test --long`
gives its own. Every line of a test that begins with a number of the battery (T1, T2, ...) goes to
the data file, by test. The page is a summary of the data file alone, so the same data make the same
page. Without --log only the page is written. With --add the tests that the log lacks keep the lines
of their last run; else they are gone, and the page says what was not run. With --counts the counts
are printed by layout and reader.
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
    counts; `kind` says of what the line is. `often` and `result` are the texts of the page."""

    pattern: str
    often: str
    result: str


@dataclass
class Part:
    """A row of the page. `what` is done; where nothing is counted, `otherwise` says how often."""

    number: str
    title: str
    what: str
    tests: str
    counts: list
    by_kind: bool = False
    otherwise: str = "in every run of the tests"


KIND = r"(?P<kind>set \S+(?: keep| split)?|[^\s:]+)"
DAMAGE = (r"(?P<tried>\d+) tried, (?P<refused>\d+) refused, (?P<harmless>\d+) without effect, "
          r"(?P<unnoticed>\d+) unnoticed, (?P<unproven>\d+) not verified, (?P<crashed>\d+) "
          r"crashed, (?P<hung>\d+) hung")
DAMAGE_RESULT = ("{refused:,} refused, {harmless:,} without effect, {unnoticed:,} unnoticed, "
                 "{unproven:,} not verified, {crashed:,} crashes and {hung:,} hangs of libhdf5")

BATTERY = [
    Part("T1", "Power failure",
         "Every storage call of runs of four ranks is recorded. The disks that a power failure at "
         "each place could leave are built and checked, also with a second failure during "
         "recovery", "crash/images_*, crash/npy_images, crash/branch_images, plugin/images", [
        Count(rf"T1 {KIND} .*?(?P<disks>\d+) disks(?:.*?(?P<second>\d+) second crashes)?"
              r".*?(?P<wrong>\d+) violations",
              "{disks:,} disks, {second:,} second failures", "{wrong:,} violations"),
    ], True),
    Part("T1b", "Plain reader",
         "Plain libhdf5 opens the file after every storage call of a run, or holds it open",
         "crash/live_reader", [
        Count(r"T1b .*after each of (?P<calls>\d+) storage calls.*: (?P<seen>\d+) times the old "
              r"state or the new one, (?P<refused>\d+) times refused",
              "opened {calls:,} times", "{seen:,} the old or the new state, {refused:,} refused"),
        Count(r"T1b .* read (?P<read>\d+) arrays .*: (?P<old>\d+) times the old values, "
              r"(?P<new>\d+) times the new ones, (?P<errors>\d+) errors",
              "{read:,} arrays of an open file", "{old:,} old, {new:,} new, {errors:,} errors"),
    ]),
    Part("T1c", "Power failure while checkpoints are saved",
         "The same for runs that save checkpoints, and drain them from node-local storage, which "
         "is lost or not. Runs continue from every 16th disk", "checkpoint/images_*", [
        Count(r"T1c (?P<kind>incremental [^:]*): (?P<disks>\d+) disks, (?P<back>\d+) gave the "
              r"last drained one, (?P<wrong>\d+) violations",
              "{disks:,} disks with incremental",
              "{wrong:,} violations, {back:,} gave the last drained one"),
        Count(r"T1c (?P<kind>all [^:]*): (?P<disks>\d+) disks, (?P<back>\d+) gave the last "
              r"drained one, (?P<wrong>\d+) violations",
              "{disks:,} without it", "{wrong:,} violations, {back:,} gave the last drained one"),
    ], True),
    Part("T2", "Kill",
         "A running `mpirun` is killed by `kill -9`; the file is then opened and compared",
         "crash/kill, plugin/kill", [
        Count(r"T2 (?P<kind>\S+ \S+) seed \d+: (?P<kills>\d+) kills .*?, (?P<steps>\d+) steps "
              r"acknowledged, (?P<lost>\d+) lost, .*? (?P<replayed>\d+) replayed, slowest recovery "
              r"(?P<most_s>[\d.]+) s",
              "{kills:,} kills, {steps:,} acknowledged steps",
              "{lost:,} steps lost, {replayed:,} completed by recovery, slowest recovery "
              "{most_s:.3f} s"),
    ], True),
    Part("T2b", "h5py beside a writer", "h5py opens the file while four ranks write it",
         "crash/plain_reader", [
        Count(r"T2b .*: (?P<opened>\d+) times opened, (?P<refused>\d+) times refused",
              "{opened:,} times opened", "{refused:,} times refused"),
    ]),
    Part("T2c", "Kill while a checkpoint is drained",
         "A run that saves to node-local storage is killed; the next one restores, at times "
         "without that storage", "checkpoint/drain", [
        Count(r"T2c drain: (?P<kills>\d+) kills, (?P<draining>\d+) while draining, "
              r"(?P<sharing>\d+) of these incremental, (?P<lost>\d+) nodes lost, (?P<wrong>\d+) "
              r"wrong",
              "{kills:,} kills, {draining:,} while draining, {sharing:,} of these where a "
              "checkpoint refers to an earlier one, {lost:,} times with the node's storage lost",
              "{wrong:,} wrong restarts"),
    ]),
    Part("T3", "Failing storage", "Every storage call of a run is made to fail, one at a time",
         "crash/faults_*, commit/faulty_step, plugin/faults", [
        Count(rf"T3 {KIND} .*: (?P<calls>\d+) calls, (?P<trials>\d+) trials, (?P<errors>\d+) "
              r"errors, (?P<reopen>\d+) files to be reopened, (?P<wrong>\d+) answered wrongly",
              "{calls:,} calls, {trials:,} trials",
              "{errors:,} reported as errors, {reopen:,} files had to be reopened, {wrong:,} wrong "
              "answers"),
    ], True),
    Part("T4", "Full disk", "A small disk, or a limit of file sizes, is really filled",
         "commit/full_disk, storage/no_space", [
        Count(r"T4 .*: (?P<trials>\d+) trials, (?P<refused>\d+) steps refused, (?P<lost>\d+) lost",
              "{trials:,} trials", "{refused:,} steps refused, {lost:,} lost"),
    ]),
    Part("T6", "Flipped bits", "One bit of a file is changed; the file is read and verified",
         "fuzz/damage, fuzz/flips_*, fuzz/zarr, compress/damage, parts/verify", [
        Count(rf"T6 (?P<kind>[^:]*): {DAMAGE}", "{tried:,} bits", DAMAGE_RESULT),
        Count(r"T6 (?P<kind>[^:]*): (?P<tried>\d+) tried, (?P<refused>\d+) refused by the reader, "
              r"(?P<verified>\d+) found by verify, (?P<harmless>\d+) without effect, "
              r"(?P<unnoticed>\d+) unnoticed",
              "{tried:,} bits of Zarr stores",
              "{refused:,} refused, {verified:,} found by verify, {harmless:,} without effect, "
              "{unnoticed:,} unnoticed"),
    ], True),
    Part("T7", "Swapped sectors, cut files", "Sectors of a file are exchanged; a file is cut",
         "fuzz/damage", [
        Count(rf"T7 (?P<kind>[^:]*): {DAMAGE}", "{tried:,} swaps", DAMAGE_RESULT),
        Count(r"T7 (?P<lengths>\d+) lengths of \d+ bytes, each refused",
              "{lengths:,} lengths", "each refused"),
    ]),
    Part("T8", "Mutants", "Mutated files go to every reader",
         "fuzz/readers, fuzz/formats, fuzz/zarr, layout/npy, dialect/*", [
        Count(r"T8 (?P<kind>[^:]*): (?P<mutants>\d+) mutants(?: in \d+ s)?, "
              r"(?P<refused>\d+) refused",
              "{mutants:,} mutants", "{refused:,} refused"),
    ], True),
    Part("T9", "Hostile files", "Files with false counts and extents, cycles, compression bombs",
         "fuzz/hostile, compress/damage", [
        Count(r"T9 (?P<kind>[^:]*): (?P<files>\d+) files, (?P<refused>\d+) refused",
              "{files:,} files", "{refused:,} refused"),
    ]),
    Part("T10", "Hostile names", "Names and links that lead out of the folder",
         "fuzz/hostile, model/names, parts/trust", [
        Count(r"T10 (?P<names>\d+) names, each refused", "{names:,} names", "each refused"),
    ]),
    Part("T11", "A rank dies or stops", "One rank of a run is killed or stopped",
         "crash/dead_rank, mpi/transport_timeout*", [
        Count(r"T11 (?P<kind>\w+): (?P<trials>\d+) trials, (?P<lost>\d+) steps lost, the slowest "
              r"end after (?P<most_s>[\d.]+) s",
              "{trials:,} trials", "{lost:,} steps lost, the others ended within {most_s:.1f} s"),
    ]),
    Part("T12", "Divergent ranks", "Ranks call a collective with different arguments",
         "conformance/divergence", []),
    Part("T13", "Large sizes", "Sizes around 2^31 and 2^32",
         "commit/wide, storage/interrupted, storage/conformance", []),
    Part("T14", "Shapes", "All shapes of the conformance suite, and random decompositions",
         "conformance/*", []),
    Part("T16", "Earlier releases", "Files of earlier releases are read", "", [],
         otherwise="there is no earlier release"),
    Part("T17", "Planted bugs",
         "Bugs are planted in the commit protocol; the tests above must notice them",
         "crash/planted, plugin/planted", [
        Count(r"T17 (?P<caught>\d+) of (?P<all>\d+) caught", "{all:,} bugs", "{caught:,} noticed"),
    ]),
]

REPEAT = """## Repeat it

```
./dev test --long -R crash/images        # one row: a pattern of the last column
./dev test --long                        # all rows; writes this page
python3 tests/crash/reliability.py --data docs/reliability.json --counts   # by layout and reader
```

Random tests print their seed. A seed that fails becomes a test of its own.
"""

LIMITS = """## What this does not prove

- The disk of T1 is a model (`tests/crash/disk.hpp`). Writes land whole, in 512-byte sectors, or as
  growth with garbage, in any combination, until their file is synced. A disk that loses what it
  acknowledged is not modelled.
- The ranks of T1 and T3 are virtual ranks in one process, with the storage in memory. T2 kills real
  processes on a real file system of one node; the page cache outlives them. No test here cuts the
  power of several nodes.
- A plain reader of a set of which a part is refused sees fill values in its place. Such disks count
  as refused.
- T7 draws the swapped sectors at random. A sector that comes back from an earlier commit may go
  unnoticed where it holds HDF5's metadata alone, each block of which has a right checksum of its
  own. One such case was met, in the grouped layout.
- dcd and namdbin, whose durability is `close`, are not part of T1, T2 and T3.
- No other program reads records, so T1 checks them with Sluice alone.
- libhdf5 is that of the build. `tests/current_hdf5.sh` repeats T1, T3 and T17 with a current one.
- A text attribute or a dimension name that changed in a file whose time of modification is not that
  of its last commit is read as it is, because another program may have changed it on purpose.
  `sluice verify` says "changed outside". T6 keeps the time of modification, as silent damage does.
"""


def read_log(text, date):
    """The tests of ctest's log that printed lines of the battery, or belong to it and failed."""
    tests = {}
    for section in re.split(r"^\d+/\d+ Testing: ", text, flags=re.MULTILINE)[1:]:
        name = section.split("\n", 1)[0].strip()
        lines = re.findall(r"^[.\s]*(T\d+[bc]? .*)$", section, re.MULTILINE)
        is_passed = re.search(r"^Test Passed\.$", section, re.MULTILINE) is not None
        is_named = any(fnmatch.fnmatch(name, pattern) for part in BATTERY
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


def rows_of(part, lines):
    """How often and with what result, in all; and the same by kind."""
    often, results, kinds = [], [], []
    for count in part.counts:
        sums = sums_of(count, lines)
        if sums:
            often.append(count.often.format(**total(sums)))
            results.append(count.result.format(**total(sums)))
        kinds += [(kind, count.often.format(**row), count.result.format(**row))
                  for kind, row in sorted(sums.items()) if kind]
    otherwise = "not run" if part.counts else part.otherwise
    return "; ".join(often) or otherwise, "; ".join(results), kinds


def all_lines(tests):
    return [line for name in sorted(tests) for line in tests[name]["lines"]]


def page(data):
    tests = data["tests"]
    lines = all_lines(tests)
    dates = sorted({test["date"] for test in tests.values()})
    when = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    out = ["# Reliability", "",
           "This page summarises what was done to break files and programs of Sluice, how often,",
           "and with what result. [Durability](docs/durability.md) says what is promised.", "",
           f"The counts are of runs of {when}. `tests/crash/reliability.py` writes this",
           "page at the end of `./dev test --long`. [docs/reliability.json](docs/reliability.json)",
           "has every line that the tests printed.", ""]
    failed = sorted(name for name, test in tests.items() if not test["passed"])
    if failed:
        out += [f"**{len(failed)} of these tests failed: {', '.join(failed)}.**", ""]
    out += ["| | test | how often | result |", "|---|---|---|---|"]
    out += [f"| {part.number} | {part.title} | {often} | {result} |"
            for part in BATTERY for often, result, _ in (rows_of(part, lines),)]
    out += ["", "## What each test does", "", "| | what is done | tests |", "|---|---|---|"]
    out += [f"| {part.number} | {part.what} | {part.tests} |" for part in BATTERY]
    return "\n".join(out) + "\n\n" + REPEAT + "\n" + LIMITS


def counts_by_kind(data):
    lines = all_lines(data["tests"])
    return "".join(f"{part.number}  {kind}: {often}: {result}\n"
                   for part in BATTERY if part.by_kind
                   for kind, often, result in rows_of(part, lines)[2])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--log", type=Path)
    parser.add_argument("--add", action="store_true")
    parser.add_argument("--data", type=Path, required=True)
    wanted = parser.add_mutually_exclusive_group(required=True)
    wanted.add_argument("--page", type=Path)
    wanted.add_argument("--counts", action="store_true")
    given = parser.parse_args()
    data = {"tests": {}}
    if given.add or not given.log:
        data = json.loads(given.data.read_text(encoding="utf-8"))
    if given.log:
        text = given.log.read_text(encoding="utf-8", errors="replace")
        data["tests"] |= read_log(text, str(datetime.date.today()))
        given.data.write_text(json.dumps(data, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    if given.counts:
        print(counts_by_kind(data), end="")
    else:
        given.page.write_text(page(data), encoding="utf-8")


if __name__ == "__main__":
    main()
