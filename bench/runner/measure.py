"""Rounds of all contestants, interleaved, every other one backwards: A B C D D C B A ...

So none always follows the same other, whose removed file the disk may still be busy with. The
rounds of a case are an even number where they are few, so that both directions weigh alike."""

import contextlib
import os
import shutil
import sys
import tempfile
import time

from . import figures
from .program import Program, ProgramError

# What is kept free beside the file under test.
SPARE_BYTES = 1 << 30


class Progress:
    """One line with the time left, on a terminal only."""

    def __init__(self, jobs):
        self.jobs = jobs
        self.done = 0
        self.start_s = time.monotonic()
        self.shown = sys.stderr.isatty()

    def next(self, text):
        if self.shown:
            elapsed_s = time.monotonic() - self.start_s
            left_s = elapsed_s / self.done * (self.jobs - self.done) if self.done else 0
            left = f", {left_s:.0f} s left" if self.done else ""
            sys.stderr.write(f"\r\033[K{text} ({self.done + 1} of {self.jobs}{left})")
            sys.stderr.flush()
        self.done += 1

    def clear(self):
        if self.shown:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()


def _kind(case):
    return getattr(case, "Program", Program)


def present(case, contestants, executables):
    """Splits the contestants into those that the programs hold and the names of the others."""
    held = {program: _kind(case).available(path) for program, path in executables.items()}
    here = [c for c in contestants if c.job in held[c.program]]
    absent = sorted({c.name for c in contestants if c not in here})
    return here, absent


def check_space(folder, file_bytes):
    free_bytes = shutil.disk_usage(folder).free
    if free_bytes < file_bytes + SPARE_BYTES:
        raise ProgramError(
            f"{folder}: {free_bytes >> 20} MiB are free, {(file_bytes + SPARE_BYTES) >> 20} MiB "
            "are needed: choose another folder with --on, or less data"
        )


def rounds(case, contestants, executables, options):
    """Runs every round and returns {contestant: [values of a round, ...]}, warm-up left out."""
    samples = {contestant_index: [] for contestant_index in range(len(contestants))}
    total = options.warm_up + options.rounds
    progress = Progress(total * len(contestants))
    check_space(options.on, case.file_bytes(options))
    observe = getattr(case, "observe", lambda _: {})
    with contextlib.ExitStack() as stack:
        folder = tempfile.mkdtemp(prefix="sluice-bench-", dir=options.on)
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        # One name for all: each removes the file of the one before.
        path = os.path.join(folder, "bench.h5")
        programs = {}
        for process in dict.fromkeys(contestant.process for contestant in contestants):
            name, environment, ranks = process
            programs[process] = _kind(case)(
                executables[name], ranks or options.ranks, options.mpirun, options.timeout,
                environment,
            )
            stack.callback(programs[process].end)
        stack.callback(progress.clear)
        for turn in range(total):
            number = turn + 1 - options.warm_up
            round_name = f"round {number}" if number > 0 else "warm-up"
            order = list(enumerate(contestants))
            for index, contestant in order if turn % 2 == 0 else reversed(order):
                progress.next(f"{round_name}: {contestant.group} {contestant.name}")
                last = {"verify": int(turn == total - 1)}
                before = observe(options)
                values = programs[contestant.process].run(
                    contestant.job, {"path": path} | contestant.parameters | last
                )
                values |= {name: now - before[name] for name, now in observe(options).items()}
                if turn >= options.warm_up:
                    samples[index].append(values)
    return samples


def result(case, contestants, samples, options):
    """Contestants with samples and summaries, and the ratios of ours to the others."""
    rows = []
    for index, contestant in enumerate(contestants):
        metrics = {
            metric: [case.value(metric, contestant, values, options) for values in samples[index]]
            for metric in case.METRICS
        }
        metrics = {metric: found for metric, found in metrics.items() if None not in found}
        rows.append(
            {
                "name": contestant.name,
                "group": contestant.group,
                "ours": contestant.ours,
                "ranks": contestant.ranks or options.ranks,
                "parameters": contestant.parameters,
                "samples": samples[index],
                "metrics": metrics,
                "summary": {metric: figures.summary(found) for metric, found in metrics.items()},
            }
        )
    return {"contestants": rows, "ratios": ratios(case, rows)}


def ratios(case, rows):
    """Every row of ours to every other of its group, metric by metric."""
    found = []
    for ours in (row for row in rows if row["ours"]):
        for other in (row for row in rows if not row["ours"] and row["group"] == ours["group"]):
            for metric in case.METRICS:
                theirs = other["metrics"].get(metric, [0])
                if metric in ours["metrics"] and all(theirs):
                    pair = figures.ratio(ours["metrics"][metric], theirs)
                    found.append(
                        {
                            "of": ours["name"],
                            "to": other["name"],
                            "group": ours["group"],
                            "metric": metric,
                        }
                        | pair
                    )
    return found
