"""Case vampire: a snapshot of spins in each of VAMPIRE's modes and through Sluice, by writers."""

import math
import os

from . import report
from .cases import Contestant, Metric, at_least
from .figures import verdict

NAME = "vampire"
HELP = "a snapshot of spins by mode and writers: VAMPIRE's files, HDF5, text with a flush a line"
ROUNDS = 4
SHOWS_RATIOS = False
METRICS = {
    "cached": Metric("MB/s", 0, True),
    "durable": Metric("MB/s", 0, True),
}
ATOM_BYTES = 24
# Ranks' shares are whole pages, so that nobody's bytes share one with another's.
PAGE_ATOMS = 512
# What a line costs does not depend on how many there are, and 27 million take minutes.
MOST_LINES = 250_000
MOST_TEXT = 2_500_000
LINES = "text, a flush a line"
GOAL_OF_LINES = 100
GOAL_OF_BARE = 0.9
GOAL_OF_SHARED = 1.1
SHARED = ("own mpi-io", "hdf5 shared")
PER_PROCESS = ("own file-per-process", "hdf5 file-per-process")


def _numbers(text):
    return sorted({at_least(1)(word) for word in text.split(",")})


def add_arguments(parser):
    parser.add_argument(
        "--atoms", type=_numbers, default=[1_000_000, 27_000_000], metavar="A,B",
        help="of a snapshot (1000000,27000000)",
    )
    parser.add_argument(
        "--writers", type=_numbers, metavar="A,B",
        help="ranks that write (1, 2, 4, ... up to --ranks)",
    )


def _writers(options):
    return options.writers or sorted(
        {2**power for power in range(options.ranks.bit_length()) if 2**power < options.ranks}
        | {options.ranks}
    )


def _atoms(options, wanted):
    """As many as the ranks, however few of them write, share in whole pages."""
    unit = PAGE_ATOMS * math.lcm(options.ranks, *_writers(options))
    return -(-wanted // unit) * unit


def _group(atoms):
    return f"{atoms / 1e6:g} million atoms"


def contestants(options):
    found = []
    for wanted in options.atoms:
        atoms = _atoms(options, wanted)

        def add(name, job, writers, ranks, more, group=_group(wanted), atoms=atoms, only=()):
            program = "bench_sluice" if job in ("own", "sluice") else "bench_peers"
            parameters = {"atoms": atoms, "elements": 3 * atoms // ranks, "from": writers} | more
            found.append(
                Contestant(f"{name} x {writers}", program, f"vampire/{job}", parameters, group,
                           program == "bench_sluice", only, ranks=ranks)
            )

        # Each synced; the widest also as it is without a sync.
        def add_ours(name, job, writers, ranks, more):
            add(name, job, writers, ranks, more, only=("durable",))
            if writers == _writers(options)[-1] or more.get("strategy") == "serial":
                unsynced = {"durable": 0} if job == "own" else {"durability": "none"}
                add(name, job, writers, ranks, more | unsynced, only=("cached",))

        few = _atoms(options, min(wanted, MOST_LINES))
        for writers in _writers(options):
            add("bare", "bare", writers, writers, {})
            add(LINES, "lines", writers, writers, {}, atoms=few)
            for mode in ("file-per-process", "mpi-io"):
                add_ours(f"own {mode}", "own", writers, writers, {"mode": mode})
            add_ours("own file-per-node", "own", writers, options.ranks,
                     {"mode": "file-per-node", "nodes": writers})
            for strategy in ("file-per-process", "shared"):
                add_ours(f"hdf5 {strategy}", "sluice", writers, writers,
                         options.set | {"strategy": strategy, "durability": "step"})
            add_ours("hdf5 file-per-node", "sluice", writers, options.ranks,
                     options.set | {"strategy": "file-per-node", "writers": writers,
                                    "durability": "step"})
        add("mpiio", "mpiio", options.ranks, options.ranks, {})
        add("own text file-per-process", "own", options.ranks, options.ranks,
            {"mode": "file-per-process", "text": 1}, only=("durable",),
            atoms=_atoms(options, min(wanted, MOST_TEXT)))
        add_ours("hdf5 serial", "sluice", 1, options.ranks,
                 options.set | {"strategy": "serial", "durability": "step"})
    return found


def file_bytes(options):
    # Text and what is being removed take more than the atoms' own bytes.
    return 2 * ATOM_BYTES * _atoms(options, max(options.atoms))


def caption(options):
    return (
        f"One snapshot of spins, {ATOM_BYTES} bytes an atom, into new files; {options.ranks} ranks "
        "hold the atoms (of file-per-process, one shared file and the bare write: as many as "
        "write). Time: from a barrier to the last rank, creation, metas and closing included. "
        "Durable: all of it is on the disk. Cached: the write calls have returned, nothing was "
        "synced. Own: VAMPIRE's files, binary where not said. Bare: 4 MiB pwrites with O_DIRECT "
        "into one preallocated file. Text, a flush a line: C++'s endl into a file a rank, at most "
        f"{MOST_LINES} atoms; VAMPIRE's own text at most {MOST_TEXT}. Each bandwidth is of "
        f"{ATOM_BYTES} bytes an atom, of text too. 1 MB is 10^6 bytes. Every number of every "
        "last file of VAMPIRE's, and samples of the others, were read back and compared."
    )


def value(metric, contestant, values, options):
    del options
    if contestant.only and metric not in contestant.only:
        return None
    seconds = values["write_s" if metric == "cached" else "close_s"]
    return ATOM_BYTES * contestant.parameters["atoms"] / 1e6 / seconds


def _medians(result, group, metric="durable"):
    """{(name without its writers, writers): MB/s}"""
    return {
        (row["name"].rpartition(" x ")[0], row["parameters"]["from"]):
            row["summary"][metric]["median"]
        for row in result["contestants"]
        if row["group"] == group and metric in row["summary"]
    }


def _best(medians, names):
    found = {key: rate for key, rate in medians.items() if key[0].startswith(names)}
    key = max(found, key=found.get, default=None)
    return (None, 0) if key is None else (f"{key[0]} x {key[1]}", found[key])


def remarks(result, options):
    for wanted in options.atoms:
        group = _group(wanted)
        medians = _medians(result, group)
        binary = {key: rate for key, rate in medians.items() if "text" not in key[0]}
        best, rate = _best(binary, ("own", "hdf5"))
        if best is None:
            continue
        _, lines = _best(medians, (LINES,))
        if lines:
            yield verdict(f"{group}: {best} of {LINES}, durable", rate / lines, GOAL_OF_LINES)
        _, bare = _best(medians, ("bare",))
        if bare:
            yield verdict(f"{group}: {best} of bare, durable", rate / bare, GOAL_OF_BARE)
        for shared, apart in zip(SHARED, PER_PROCESS):
            rates = [medians.get((name, options.ranks)) for name in (shared, apart)]
            if None not in rates:
                yield verdict(f"{group}: {shared} slower than {apart}, durable",
                              rates[1] / rates[0], GOAL_OF_SHARED, at_most=True)
    for row in result["contestants"]:
        if any(values.get("direct") == 0 for values in row["samples"]):
            yield f"{row['name']}: the file system refuses O_DIRECT, so its writes were buffered"


STYLES = {"bare": ("k", "--"), LINES: ("tab:red", "-"), "mpiio": ("tab:gray", ":")}
COLOURS = {"file-per-process": "tab:green", "mpi-io": "tab:blue", "shared": "tab:blue",
           "file-per-node": "tab:orange", "serial": "tab:purple"}


def plot(case, document, folder, stem, repository):
    """Durable bandwidth by writers, one picture a size; returns the path, or None."""
    del case
    pyplot = report.pyplot_of(repository)
    if pyplot is None:
        return None
    wanted = document["options"]["atoms"]
    figure, axes = pyplot.subplots(1, len(wanted), figsize=(1 + 5.5 * len(wanted), 5),
                                   squeeze=False, sharey=True)
    for axis, atoms in zip(axes[0], wanted):
        medians = _medians(document["result"], _group(atoms))
        for name in dict.fromkeys(name for name, _ in medians):
            found = sorted((count, rate) for (of, count), rate in medians.items() if of == name)
            colour, line = STYLES.get(name) or (
                COLOURS[name.split()[-1]], "-" if name.startswith("own") else "-.")
            axis.plot(*zip(*found), marker="v" if "text" in name else "o", color=colour,
                      linestyle=line, label=name)
        counts = sorted({count for _, count in medians})
        axis.set(xlabel="ranks that write", title=f"{_group(atoms)}, durable", yscale="log")
        axis.set_xticks(counts, [str(count) for count in counts])
        axis.grid(True, which="both", alpha=0.3)
    axes[0][0].set_ylabel(f"MB/s of {ATOM_BYTES} bytes an atom")
    axes[0][-1].legend(fontsize=8, loc="center left", bbox_to_anchor=(1.02, 0.5))
    figure.tight_layout()
    path = os.path.join(folder, f"{stem}.png")
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
    return path
