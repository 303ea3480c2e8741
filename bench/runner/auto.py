"""Case auto: does `auto` choose as well as who tries everything, on three kinds of file system?"""

import contextlib
import os
import tempfile

from . import mount, report
from .cases import Contestant, Metric, at_least

NAME = "auto"
HELP = "auto beside every fixed strategy: disk, memory and a contended mount, five patterns"
ROUNDS = 3
SHOWS_RATIOS = False
METRICS = {"durable": Metric("MB/s", 0, True)}
PATTERNS = ("contiguous", "pencils", "small", "ragged-12289", "ragged-77291")
PLACES = ("disk", "tmpfs", "contended")
TARGETS = 4
MOUNT = ("--targets", str(TARGETS), "--bandwidth", "45MB/s", "--latency", "2ms", "--lock", "6ms",
         "--metadata", "1ms")
FIXED = ("serial", "shared", "collective", "forward", "file-per-process")
AUTO = "auto"
GOAL = 0.9


def add_arguments(parser):
    parser.add_argument("--mib", type=at_least(1), default=8, help="doubles a rank (%(default)s)")
    parser.add_argument("--pattern", choices=PATTERNS, action="append",
                        help="only this one; may be repeated")
    parser.add_argument("--place", choices=PLACES, action="append",
                        help="only this one; may be repeated")


@contextlib.contextmanager
def place(options):
    """A folder on each file system, in options.folders."""
    wanted = options.place or PLACES
    options.folders = {}
    with contextlib.ExitStack() as stack:
        for name, parent in (("disk", options.on), ("tmpfs", mount.MEMORY)):
            if name in wanted and os.path.isdir(parent):
                options.folders[name] = stack.enter_context(
                    tempfile.TemporaryDirectory(prefix="sluice-auto-", dir=parent))
        if "contended" in wanted:
            parent = mount.backing_folder(4 * file_bytes(options), options.on)
            options.folders["contended"] = stack.enter_context(
                mount.mounted(options.build, parent, MOUNT))
        yield


def _fixed(options):
    writers = min(TARGETS, options.ranks)
    for strategy in FIXED:
        yield strategy, {"strategy": strategy}
    for strategy in ("collective", "forward"):
        yield f"{strategy} x {writers}", {"strategy": strategy, "writers": writers}


def contestants(options):
    found = []
    for name, folder in options.folders.items():
        for pattern in options.pattern or PATTERNS:
            for strategy, parameters in (*_fixed(options), (AUTO, {"strategy": AUTO})):
                found.append(Contestant(
                    strategy, "bench_sluice", "strategies/sluice",
                    {"mib": options.mib, "pattern": pattern, "durability": "step",
                     "path": os.path.join(folder, "bench.h5")} | options.set | parameters,
                    f"{name}: {pattern}", True))
    return found


def file_bytes(options):
    return 2 * options.ranks * options.mib << 20


def caption(options):
    return (
        f"{options.ranks} ranks x about {options.mib} MiB of doubles, one step of a stepped 3-D "
        "variable. Durable: from a barrier until the last rank has created, written, synced and "
        f"closed. contended: bench/contended {' '.join(MOUNT)}. "
        "contiguous: slabs. pencils: the ranks divide the last two dimensions. small, ragged-N: "
        "every rank has every ranks-th run of 512 or N doubles. x N: so many writers; else as many "
        "as nodes. 1 MB is 10^6 bytes. Samples of every contestant's last file were read back and "
        "compared."
    )


def value(metric, contestant, values, options):
    del metric
    pattern = contestant.parameters["pattern"]
    bytes_ = options.mib << 20
    if pattern.startswith("ragged-"):
        run_bytes = 8 * int(pattern.partition("-")[2])
        bytes_ = max(1, bytes_ // run_bytes) * run_bytes
    seconds = max(s for name, s in values.items() if name.endswith("_s"))
    return options.ranks * bytes_ / 1e6 / seconds


def remarks(result, options):
    del options
    missed = 0
    groups = list(dict.fromkeys(row["group"] for row in result["contestants"]))
    for group in groups:
        medians = {row["name"]: row["summary"]["durable"]["median"]
                   for row in result["contestants"] if row["group"] == group}
        chosen = medians.pop(AUTO, None)
        if chosen is None or not medians:
            continue
        best = max(medians, key=medians.get)
        ratio = chosen / medians[best]
        missed += ratio < GOAL
        yield (f"goal: {group}: auto of {best}: {ratio:.2f}, "
               f"{'met' if ratio >= GOAL else 'not met'} (>= {GOAL:g})")
    yield f"auto is within 10 % of the best in {len(groups) - missed} of {len(groups)} cases"


def plot(case, document, folder, stem, repository):
    """Auto's part of the best fixed strategy, a bar a case; returns the path, or None."""
    del case
    pyplot = report.pyplot_of(repository)
    if pyplot is None:
        return None
    found = {}
    for row in document["result"]["contestants"]:
        of_group = found.setdefault(row["group"], {})
        of_group[row["name"]] = row["summary"]["durable"]["median"]
    ratios = {group: medians[AUTO] / max(rate for name, rate in medians.items() if name != AUTO)
              for group, medians in found.items() if AUTO in medians and len(medians) > 1}
    figure, axis = pyplot.subplots(figsize=(8, 1.2 + 0.3 * len(ratios)))
    axis.barh(list(ratios), list(ratios.values()),
              color=["tab:blue" if ratio >= GOAL else "tab:red" for ratio in ratios.values()])
    axis.axvline(GOAL, color="k", linestyle="--")
    axis.invert_yaxis()
    axis.set(xlabel="auto's durable bandwidth, as a part of the best fixed strategy's")
    figure.tight_layout()
    path = os.path.join(folder, f"{stem}.png")
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
    return path
