"""Case mfdn: the wave functions of apps/mfdn, written and read by the diagonal ranks."""

import os

from . import report
from .cases import Contestant, Metric, at_least
from .figures import verdict

NAME = "mfdn"
HELP = "wave functions by size: root, file per process, MPI-IO, Sluice's strategies, parallel HDF5"
ROUNDS = 4
RANKS = 5
SHOWS_RATIOS = False
METRICS = {
    "time": Metric("s", 3, False),
    "cost": Metric("rank s", 3, False),
    "rate": Metric("MB/s", 0, True),
}
FLOAT_BYTES = 4
# Costs of Sluice's to the root's, and rates to the best bare reader's.
GOAL_AT_LARGEST = 0.6
GOAL_AT_SMALLEST = 1.1
GOAL_OF_READER = 0.9
GOAL_OF_COLLECTIVE = 3.0
ROOT = "root buffered"
OURS = "sluice independent"
WRITERS = (
    (ROOT, {"backend": "root"}),
    ("file per process + join", {"backend": "processes"}),
    ("mpiio independent", {"backend": "mpiio", "mode": "independent"}),
    ("mpiio collective", {"backend": "mpiio", "mode": "collective"}),
    ("mpiio collective cb_nodes=1",
     {"backend": "mpiio", "mode": "collective", "hints": "cb_nodes=1"}),
    ("bare", {"backend": "raw"}),
    ("sluice serial", {"backend": "hdf5", "strategy": "serial"}),
    (OURS, {"backend": "hdf5", "mode": "independent"}),
    ("sluice collective", {"backend": "hdf5", "mode": "collective"}),
    ("sluice file-per-process", {"backend": "hdf5", "strategy": "file-per-process"}),
    ("sluice file-per-node", {"backend": "hdf5", "strategy": "file-per-node",
                              "options": "writers=2"}),
    ("sluice independent posix",
     {"backend": "hdf5", "mode": "independent", "options": 'storage="posix"'}),
    ("sluice independent mpiio", {"backend": "hdf5-mpiio", "mode": "independent"}),
)
READERS = (
    (ROOT, {"backend": "root"}),
    ("file per process", {"backend": "processes"}),
    ("mpiio independent", {"backend": "mpiio", "mode": "independent"}),
    ("mpiio collective", {"backend": "mpiio", "mode": "collective"}),
    ("bare", {"backend": "raw"}),
    (OURS, {"backend": "hdf5", "mode": "independent"}),
    ("sluice unchecked", {"backend": "hdf5", "options": "checksum=false"}),
    ("sluice independent mpiio", {"backend": "hdf5-mpiio", "mode": "independent"}),
)
PIECES = (
    ("mpiio independent", {"backend": "mpiio", "mode": "independent"}),
    ("mpiio collective", {"backend": "mpiio", "mode": "collective"}),
    ("bare", {"backend": "raw"}),
    (OURS, {"backend": "hdf5", "mode": "independent"}),
    ("sluice collective", {"backend": "hdf5", "mode": "collective"}),
)
PEERS = tuple((f"phdf5 {mode}", {"mode": mode}) for mode in ("independent", "collective"))


def _sizes(text):
    return sorted(at_least(1)(word) for word in text.split(","))


def add_arguments(parser):
    parser.add_argument(
        "--mib",
        type=_sizes,
        default=[32, 128, 512, 2048],
        metavar="A,B",
        help="sizes of all vectors together (32,128,512,2048)",
    )
    parser.add_argument("--states", type=at_least(1), default=15, help="(%(default)s)")
    parser.add_argument(
        "--piece", type=at_least(1), default=16, help="floats of a piece (%(default)s)"
    )
    parser.add_argument(
        "--pieces-mib", type=at_least(1), default=64, help="size of what is in pieces (%(default)s)"
    )


def _parameters(options, mib, more):
    return {
        "dimension": (mib << 20) // FLOAT_BYTES // options.states,
        "states": options.states,
        "mib": mib,
    } | more


def _group(mib, what):
    return f"{mib} MiB, {what}"


def _pieces_group(options):
    return f"{options.pieces_mib} MiB, write in pieces of {options.piece * FLOAT_BYTES} bytes"


def contestants(options):
    found = []

    def add(group, mib, job, ways, more):
        for name, parameters in ways:
            parameters = _parameters(options, mib, parameters | more)
            found.append(
                Contestant(name, "bench_mfdn", job, parameters, group, name.startswith("sluice"))
            )
        job = job.replace("/", "/phdf5-")
        for name, parameters in PEERS:
            parameters = _parameters(options, mib, parameters | more)
            found.append(Contestant(name, "bench_peers", job, parameters, group))

    for mib in options.mib:
        add(_group(mib, "write"), mib, "mfdn/write", WRITERS, {})
    for mib in options.mib:
        add(_group(mib, "read"), mib, "mfdn/read", READERS, {})
    add(_pieces_group(options), options.pieces_mib, "mfdn/write", PIECES, {"piece": options.piece})
    return found


def file_bytes(options):
    # The one under test; for reading a flat one, parts, Sluice's and parallel HDF5's.
    return 5 * max(options.mib) << 20


def caption(options):
    return (
        f"{options.states} vectors of float32 over {options.ranks} diagonal ranks. Write: from a "
        "barrier until every rank has returned and the data is on the disk, as one file; so a file "
        "per process counts with the joining of all, its parts not synced. Read: every rank its "
        "parts, cold (POSIX_FADV_DONTNEED, and mincore says that nothing is left). Cost: ranks x "
        "time, the waiting ones too. Root: gathers and writes, reads and scatters, buffered. "
        "Bare: every rank its part by 4 MiB pwrites or preads, without a format. Every element of "
        "every last file written, and of every file read, was compared. 1 MB is 10^6 bytes."
    )


def value(metric, contestant, values, options):
    seconds = max(s for name, s in values.items() if name.endswith("_s"))
    if metric == "time":
        return seconds
    if metric == "cost":
        return options.ranks * seconds
    return (contestant.parameters["mib"] << 20) / 1e6 / seconds


def _medians(result, group):
    return {
        row["name"]: row["summary"]["time"]["median"]
        for row in result["contestants"]
        if row["group"] == group
    }


def remarks(result, options):
    goals = {min(options.mib): GOAL_AT_SMALLEST, max(options.mib): GOAL_AT_LARGEST}
    for mib in options.mib:
        times = _medians(result, _group(mib, "write"))
        if OURS in times and ROOT in times and mib in goals:
            yield verdict(f"{mib} MiB: cost of writing, {OURS} to root", times[OURS] / times[ROOT],
                          goals[mib], True)
        peers = [times[name] for name, _ in PEERS if name in times]
        if OURS in times and peers:
            yield f"{mib} MiB: cost of writing, {OURS} to parallel HDF5: " \
                  f"{times[OURS] / min(peers):.2f}"
        if {OURS, "sluice collective"} <= set(times):
            yield verdict(f"{mib} MiB, contiguous: rate of sluice independent to collective",
                          times["sluice collective"] / times[OURS], 1, False)
    for mib in options.mib:
        times = _medians(result, _group(mib, "read"))
        if {OURS, "bare"} <= set(times):
            yield verdict(f"{mib} MiB: rate of reading, {OURS} to bare",
                          times["bare"] / times[OURS], GOAL_OF_READER, False)
    times = _medians(result, _pieces_group(options))
    for who in ("sluice", "mpiio", "phdf5"):
        if {f"{who} independent", f"{who} collective"} <= set(times):
            ratio = times[f"{who} independent"] / times[f"{who} collective"]
            what = f"in pieces: rate of {who} collective to independent"
            yield (verdict(what, ratio, GOAL_OF_COLLECTIVE, False) if who == "sluice"
                   else f"{what}: {ratio:.2f}")


SHOWN = {
    "write": (ROOT, "file per process + join", "phdf5 collective", "phdf5 independent", OURS),
    "read": (ROOT, "file per process", "phdf5 collective", "phdf5 independent", OURS),
}
COLOURS = ("tab:red", "tab:gray", "tab:olive", "tab:green", "tab:blue")


def plot(case, document, folder, stem, repository):
    """Cost by size of the file, writing and reading; returns the path, or None."""
    del case
    pyplot = report.pyplot_of(repository)
    if pyplot is None:
        return None
    rows = document["result"]["contestants"]
    figure, axes = pyplot.subplots(1, 2, figsize=(11, 4.5), sharey=True)
    for axis, (what, names) in zip(axes, SHOWN.items()):
        for name, colour in zip(names, COLOURS):
            found = sorted(
                (row["parameters"]["mib"], row["summary"]["cost"])
                for row in rows
                if row["name"] == name and row["group"].endswith(", " + what)
            )
            if not found:
                continue
            sizes = [mib for mib, _ in found]
            width = 2.5 if name in (ROOT, OURS) else 1.2
            costs = [s["median"] for _, s in found]
            axis.plot(sizes, costs, marker="o", label=name, color=colour, linewidth=width)
        axis.set_xscale("log", base=2)
        axis.set_xticks(document["options"]["mib"], [str(m) for m in document["options"]["mib"]])
        axis.set_yscale("log")
        axis.set_xlabel("size of the wave functions (MiB)")
        axis.set_title(f"{what}: {document['options']['ranks']} diagonal ranks")
        axis.grid(True, which="both", alpha=0.3)
    axes[0].set_ylabel("cost: ranks x time (rank seconds)")
    axes[0].legend(fontsize=8)
    axes[1].legend(fontsize=8)
    figure.tight_layout()
    path = os.path.join(folder, f"{stem}.png")
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
    return path
