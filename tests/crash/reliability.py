"""Writes RELIABILITY.md from what the tests printed.

    reliability.py LOG... > RELIABILITY.md

A LOG is the output of crash_images, crash_npy_images, crash_live_reader, crash_kill, crash_faults,
crash_planted, commit_full_disk, fuzz_readers, fuzz_damage, fuzz_hostile,
tests/crash/dead_rank_test.py or tests/crash/plain_reader_test.py. Only what they counted is said;
a part without a log is said to be missing. The sums of T1 are taken from its lines, so a run that
was stopped early counts with what it finished.

An earlier RELIABILITY.md is a LOG too: its runs of T1 and T2 are added, and its other parts stand
where no later log has them. Give it first.
"""

import datetime
import re
import sys

# Which test is which of the battery, by name in ctest.
TESTS = {
    "T1": ("crash images", "crash/images_*, crash/npy_images, crash/live_reader"),
    "T2": ("kill -9 of a running mpirun", "crash/kill"),
    "T3": ("every storage call fails", "crash/faults, storage/interrupted, commit/faulty_step"),
    "T4": ("a really full disk", "commit/full_disk, storage/no_space"),
    "T6": ("flipped bits", "fuzz/damage, compress/damage, parts/verify"),
    "T7": ("swapped blocks, cut files", "fuzz/damage"),
    "T8": ("mutants to every reader", "fuzz/readers, layout/npy, dialect/*"),
    "T9": ("hostile counts, extents, cycles, bombs", "fuzz/hostile, compress/damage"),
    "T10": ("hostile names and links", "fuzz/hostile, model/names, parts/trust"),
    "T11": ("a rank dies or stops", "crash/dead_rank, mpi/transport_timeout"),
    "T12": ("divergent collectives", "conformance/* (divergence.*)"),
    "T13": ("sizes around 2^31 and 2^32", "commit/wide, storage/interrupted, storage/conformance"),
    "T14": ("shapes and random decompositions", "conformance/random, conformance/* (shapes.*)"),
    "T16": ("files of earlier releases", "none: there is no earlier release"),
    "T17": ("planted bugs", "crash/planted"),
}

PARTS = {
    "T1": ("Crash images", r"^T1 .*$"),
    "T2": ("kill -9 of a running mpirun", r"^T2 .*$"),
    "T3": ("A storage call fails", r"^T3 .*$"),
    "T4": ("A full disk", r"^T4 .*$"),
    "Plain readers": ("plain libhdf5 opens the file while it is written", r"^T[12]b .*$"),
    "T6, T7": ("Flipped bits, swapped sectors and cut files", r"^T[67] .*$"),
    "T8": ("Mutants of files, to every reader", r"^T8 .*$"),
    "T9, T10": ("Hostile files and names", r"^T(?:9|10) .*$"),
    "T11": ("A rank dies or stops", r"^T11 .*$"),
    "T17": ("Planted bugs", r"^T17 \d+ of \d+ caught$"),
}
ROW = re.compile(
    r"^T1 (set file-per-\w+|set shared \w+|\S+) .*? (\d+) disks .*? (\d+) second crashes "
    r".*?(\d+) violations", re.MULTILINE)
KILLS = re.compile(
    r"^T2 \S+ \S+ seed \d+: (\d+) kills .*?, (\d+) steps acknowledged, (\d+) lost, "
    r".*? (\d+) replayed, slowest recovery ([\d.]+) s$", re.MULTILINE)
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
- dcd and namdbin, whose durability is `close`, are not under crash images.
- Of records no other program is a reader: its images are looked at by Sluice alone.
- libhdf5 is the one that was built with; `tests/current_hdf5.sh` repeats images, faults and
  planted bugs with a current one. Damage inside a global heap, where libhdf5 keeps text
  attributes, has no checksum: text may change unnoticed, and libhdf5 1.10 may walk a damaged heap
  for ever.
"""


HEAD = "# What was proven, and how often"


def lines_of(logs, pattern, adds_up):
    """Of all logs where they add up; otherwise an earlier report's only where no log has any."""
    found = []
    for log in logs:
        lines = re.findall(pattern, log, re.MULTILINE)
        if lines and not adds_up:
            found = [(is_later, line) for is_later, line in found if is_later]
        found += [(not log.startswith(HEAD), line) for line in lines]
    return [line for _, line in found]


def totals(logs):
    """One line a format: sums over the finished rows."""
    sums = {}
    for log in logs:
        for name, disks, second, violations in ROW.findall(log):
            row = sums.setdefault(name, [0, 0, 0])
            for i, number in enumerate((disks, second, violations)):
                row[i] += int(number)
    for name, (disks, second, violations) in sums.items():
        yield (f"{name}: {disks} crash images, {second} second crashes inside recovery, "
               f"{violations} violations")


def sum_of_kills(logs):
    rows = [row for log in logs for row in KILLS.findall(log)]
    kills, steps, lost, replayed = (sum(int(row[i]) for row in rows) for i in range(4))
    slowest_s = max(float(row[4]) for row in rows)
    return (f"{kills} kills, {steps} steps acknowledged, {lost} lost, {replayed} replayed, "
            f"slowest recovery {slowest_s:.3f} s")


def main(paths):
    logs = []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            logs.append(file.read())
    failed = [path for path, log in zip(paths, logs) if "[  FAILED  ]" in log]
    print(f"{HEAD}\n")
    print(f"Written by `tests/crash/reliability.py` on {datetime.date.today()} from what the tests "
          "printed.")
    earlier = [day for log in logs if log.startswith(HEAD)
               for day in re.findall(r"reliability.py` on (\S+) from", log)]
    if earlier:
        print(f"Runs of T1 and T2 that the report of {earlier[0]} counted are counted here too.")
    print("`docs/durability.md` says what is promised.\n")
    if failed:
        print(f"**{len(failed)} of {len(paths)} logs report failures.**\n")
    print("## The battery\n\n| | what | tests |\n|---|---|---|")
    print("".join(f"| {number} | {what} | {tests} |\n" for number, (what, tests) in TESTS.items()))
    for name, (title, pattern) in PARTS.items():
        print(f"## {name}: {title}\n")
        found = lines_of(logs, pattern, name in ("T1", "T2"))
        if name == "T1" and found:
            print("".join(f"- {line}\n" for line in totals(logs)))
        if name == "T2" and found:
            print(f"- {sum_of_kills(logs)}\n")
        print("```\n" + "\n".join(found) + "\n```\n" if found else "Not run.\n")
    print(LIMITS, end="")


if __name__ == "__main__":
    main(sys.argv[1:])
