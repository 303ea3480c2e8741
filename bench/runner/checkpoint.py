"""Case checkpoint: what a checkpoint costs the run, and how fast a run gets it back."""

import contextlib
import os
import shutil
import tempfile

from .cases import Contestant, Metric, at_least

NAME = "checkpoint"
HELP = "a checkpoint beside a file a rank and parallel HDF5; restarts on fewer ranks"
ROUNDS = 4
SHOWS_RATIOS = False
METRICS = {
    "visible": Metric("ms", 1, False),
    "of a copy": Metric("x", 2, False),
    "durable": Metric("ms", 1, False),
    "restart": Metric("ms", 1, False),
    "of bare": Metric("x", 2, True),
}
SAVING = "saving"
PARTLY = "saving what changes"
CHANGES = (0, 50, 90, 100)  # percent
MEMORY = "/dev/shm"
UNCHECKED = "unchecked"
MOST_COPIES = 1.5
LEAST_OF_BARE = 0.9


def add_arguments(parser):
    parser.add_argument(
        "--mib", type=at_least(1), default=64, help="doubles a rank (%(default)s)"
    )
    parser.add_argument(
        "--saves", type=at_least(1), default=3, help="of a job, after a first (%(default)s)"
    )
    parser.add_argument(
        "--rereads", type=at_least(1), default=3, help="of a job, after a first (%(default)s)"
    )


@contextlib.contextmanager
def place(options):
    """Folders that stand for node-local storage: on the same disk, and in memory."""
    options.scratches = {}
    with contextlib.ExitStack() as stack:
        folders = [("scratch", options.on)]
        if os.access(MEMORY, os.W_OK):
            folders.append(("scratch-memory", MEMORY))
        for name, parent in folders:
            folder = tempfile.mkdtemp(prefix="sluice-bench-", dir=parent)
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
            options.scratches[name] = folder
        yield


def contestants(options):
    common = {"mib": options.mib}
    saving = common | {"saves": options.saves}
    found = []
    ours = [
        ("shared", {"strategy": "shared"}),
        ("collective", {"strategy": "collective"}),
        ("forward", {"strategy": "forward"}),
        ("forward-keep-0", {"strategy": "forward", "keep": 0}),
        ("file-per-process", {"strategy": "file-per-process"}),
    ]
    for name, folder in options.scratches.items():
        ours.append((name, {"strategy": "file-per-process", "scratch": folder}))
    for name, more in ours:
        parameters = saving | more | options.set
        found.append(
            Contestant(
                f"sluice-{name}", "bench_sluice", "checkpoint/sluice", parameters, SAVING, True
            )
        )
    for name in ("posix", "phdf5-collective", "phdf5-independent"):
        found.append(
            Contestant(name, "bench_peers", f"checkpoint/{name}", saving, SAVING)
        )
    for changes in CHANGES:
        for name, incremental in (("all", 0), ("incremental", 1)):
            found.append(
                Contestant(
                    f"sluice-{changes}%-{name}", "bench_sluice", "checkpoint/partly",
                    saving | {"strategy": "shared", "changes": changes,
                              "incremental": incremental} | options.set,
                    PARTLY, True,
                )
            )
    for cold in (0, 1):
        found += _restarts(options, common | {"strategy": "shared", "cold": cold})
    return found


def _restarts(options, parameters):
    group = f"restart, {'cold' if parameters['cold'] else 'warm'}"
    parameters = parameters | {"rereads": options.rereads} | options.set
    some = [options.ranks, max(1, options.ranks - 1), max(1, options.ranks // 2)]
    for ranks in dict.fromkeys(some):
        yield Contestant(
            f"{options.ranks}-to-{ranks}", "bench_sluice", "checkpoint/restart",
            parameters | {"to": ranks}, group, True,
        )
    yield Contestant(
        UNCHECKED, "bench_sluice", "checkpoint/restart",
        parameters | {"to": options.ranks, "checksum": 0}, group, True,
    )


def file_bytes(options):
    # Three kept ones at most, and those that are being written and drained.
    return 5 * options.ranks * options.mib << 20


def caption(options):
    return (
        f"{options.ranks} ranks x {options.mib} MiB of doubles. Visible: what the run waits for; "
        "of a copy: the same beside one copy of the same bytes by all ranks at once, into memory "
        "that was touched. Durable: until the checkpoint is on stable storage, by its name, in the "
        "folder of the file. Each is durable before the next one begins. sluice-*: two are kept "
        "(keep-0: all, in one file). scratch: first on node-local storage, which is a folder of "
        "the same disk, or of memory. posix: a file a rank, fsync, rename, fsync of the folder. "
        "N%: a state of ten arrays of which N % change between two saves, all written or with "
        "incremental. phdf5: one new file, H5Fflush, fsync, rename. restart: from opening the "
        "file until the last rank has its values, checksums compared (unchecked: without); bare: "
        "the same ranks read as many bytes of the same file by 4 MiB preads. Cold: "
        "POSIX_FADV_DONTNEED before each."
    )


def value(metric, contestant, values, options):
    del contestant, options
    key, factor = {
        "visible": ("visible_s", 1e3),
        "of a copy": ("visible_of_copy", 1),
        "durable": ("durable_s", 1e3),
        "restart": ("restore_s", 1e3),
        "of bare": ("restore_of_bare", 1),
    }[metric]
    return values[key] * factor if key in values else None


def remarks(result, options):
    del options
    for row in result["contestants"]:
        summary = row["summary"]
        if row["name"].startswith("sluice-forward"):
            found = summary["of a copy"]["median"]
            yield (
                f"goal: {row['name']}: visible <= {MOST_COPIES} copies: {found:.2f}, "
                f"{'met' if found <= MOST_COPIES else 'not met'}"
            )
        if "of bare" in summary and row["name"] != UNCHECKED:
            found = summary["of bare"]["median"]
            yield (
                f"goal: {row['group']}, {row['name']}: >= {LEAST_OF_BARE} of bare reading: "
                f"{found:.2f}, {'met' if found >= LEAST_OF_BARE else 'not met'}"
            )
