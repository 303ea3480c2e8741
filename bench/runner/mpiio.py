"""Case mpiio: unmodified programs of MPI-IO, with and without the interface before their MPI."""

import contextlib
import os

from . import contended
from .cases import Contestant, Metric, at_least
from .figures import verdict

NAME = "mpiio"
HELP = "parallel HDF5, PnetCDF and bare MPI-IO: by OMPIO, by ROMIO, and through Sluice's interface"
ROUNDS = 6
SHOWS_RATIOS = False
METRICS = {
    "visible": Metric("MB/s", 0, True),
    "durable": Metric("MB/s", 0, True),
    "of a copy": Metric("x", 2, False),
    "hand-overs": Metric("", 0, False),
}
GOAL = 0.9  # of the better of the two
GOAL_OF_LARGE = 1.5  # the same, for large collective writes until they are durable
GOAL_OF_COPY = 1.5
GOAL_OF_AT_ONCE = contended.GOAL_OF_AT_ONCE
SMALL_CALLS = 2000
SNAPSHOTS = 3
PAIRS = 4
COLLECTIVE = "HDF5 collective"
INDEPENDENT = "HDF5 independent"
LARGE = ("contiguous", "runs of 1 MiB", COLLECTIVE)
COMPUTING = "HDF5 beside computing"
# Group: job and parameters; patterns are those of the case strategies.
GROUPS = {
    "contiguous": ("strategies/mpiio", {"pattern": "contiguous"}),
    "runs of 1 MiB": ("strategies/mpiio", {"pattern": "ragged-131072"}),
    "runs of 4 KiB": ("strategies/mpiio", {"pattern": "small"}),
    "runs of 512 B": ("strategies/mpiio", {"pattern": "ragged-64"}),
    COLLECTIVE: ("strategies/phdf5-collective", {"pattern": "pencils"}),
    INDEPENDENT: ("strategies/phdf5-independent", {"pattern": "contiguous"}),
    "PnetCDF": ("strategies/pnetcdf", {"pattern": "pencils"}),
    "writes of 128 B": ("mpiio/small", {"bytes": 128, "calls": SMALL_CALLS}),
    "writes of 1 KiB": ("mpiio/small", {"bytes": 1024, "calls": SMALL_CALLS}),
    "writes of 4 KiB": ("mpiio/small", {"bytes": 4096, "calls": SMALL_CALLS}),
    "snapshots": ("mpiio/snapshots", {"files": SNAPSHOTS}),
    COMPUTING: ("overlap/phdf5-collective", {"pairs": PAIRS, "flush": 0}),
}
CONTENDED_RANKS = 16
CONTENDED_MIB = 4
CONTENDED_RUN = 12289  # doubles of a rank before the next one's: 96 KiB, no whole stripe
CONTENDED_GROUPS = {
    group: (f"strategies/phdf5-{name}", {"pattern": f"ragged-{CONTENDED_RUN}", "presize": 1})
    for group, name in ((COLLECTIVE, "collective"), (INDEPENDENT, "independent"))
}


def add_arguments(parser):
    parser.add_argument("--mib", type=at_least(1), default=32, help="a rank (%(default)s)")
    parser.add_argument(
        "--library", metavar="FILE", default="", help="libsluice-mpiio-openmpi.so (the build's)"
    )
    parser.add_argument("--groups", default="", metavar="A,B", help="these alone")
    parser.add_argument(
        "--contended", action="store_true",
        help=f"parallel HDF5 of {CONTENDED_RANKS} ranks on the mount of the case contended instead"
    )
    parser.set_defaults(step_mib=0, targets=4, stripe_kib=1024, bandwidth="45MB/s", latency="2ms",
                        lock="6ms", metadata="1ms")


def _groups(options):
    groups = CONTENDED_GROUPS if options.contended else GROUPS
    return {name: groups[name] for name in options.groups.split(",") if name} or groups


def _ways(options):
    library = options.library or os.path.join(
        options.build, "mpiio", "libsluice-mpiio-openmpi.so"
    )
    ours = ("LD_PRELOAD", os.path.abspath(library))
    return [
        ("ompio", (("OMPI_MCA_io", "ompio"),), False),
        ("romio", (("OMPI_MCA_io", "romio321"),), False),
        ("through", (ours,), True),
        ("behind", (ours, ("SLUICE_MPIIO_WRITE_BEHIND", "true")), True),
    ]


def contestants(options):
    ranks, mib = (CONTENDED_RANKS, CONTENDED_MIB) if options.contended else (0, options.mib)
    return [
        Contestant(name, "bench_peers", job, {"mib": mib, "form": "contiguous"} | parameters,
                   group, ours, environment=environment, ranks=ranks)
        for group, (job, parameters) in _groups(options).items()
        for name, environment, ours in _ways(options)
        # Independent writes always go through.
        if (job, name) != ("mpiio/small", "behind")
    ]


@contextlib.contextmanager
def place(options):
    with contended.place(options) if options.contended else contextlib.nullcontext():
        yield


def observe(options):
    return contended.observe(options) if options.contended else {}


def file_bytes(options):
    if options.contended:
        return CONTENDED_RANKS * CONTENDED_MIB << 20
    return (PAIRS + 4) * options.ranks * options.mib << 20


def caption(options):
    mount = (
        f"{CONTENDED_RANKS} ranks x {CONTENDED_MIB} MiB in runs of {8 * CONTENDED_RUN >> 10} KiB "
        "on a mount that behaves like a striped parallel file system (case contended), by programs "
        "that do not know of Sluice. "
    )
    disk = (
        f"{options.ranks} ranks x {options.mib} MiB into one new file by programs that do not know "
        f"of Sluice. Writes of a size: {SMALL_CALLS} by each rank alone. Snapshots: {SNAPSHOTS} "
        "files, each opened, written and closed, none synced. Beside computing: steps, while the "
        "ranks compute as long as a step takes alone, synced at the end; of a copy: what the call "
        "takes, as a multiple of one copy of the same bytes. HDF5 collective and PnetCDF write "
        "pencils, whose runs are 2 KiB. "
    )
    return (mount if options.contended else disk) + (
        "ompio and romio: Open MPI's two implementations of MPI-IO. through and behind: the same "
        "program with libsluice-mpiio-openmpi.so preloaded, the latter with "
        "SLUICE_MPIIO_WRITE_BEHIND=true. Visible: until the calls that write have returned. "
        "Durable: until synced and closed."
        + (" Hand-overs: of locks of the mount." if options.contended else "")
    )


def _bytes_of(contestant, options):
    parameters = contestant.parameters
    ranks = contestant.ranks or options.ranks
    if options.contended:
        return contended.written_bytes(parameters, ranks)
    if contestant.job == "mpiio/small":
        return ranks * parameters["bytes"] * parameters["calls"]
    return ranks * (parameters["mib"] << 20) * parameters.get("files", 1)


def value(metric, contestant, values, options):
    if metric == "hand-overs":
        return values.get("hand_overs")
    if contestant.job.startswith("overlap/"):
        return {"visible": _bytes_of(contestant, options) / 1e6 / values["visible_s"],
                "of a copy": values["visible_of_copy"]}.get(metric)
    names = {"visible": "write_s", "durable": "close_s"}
    if contestant.job == "mpiio/snapshots":
        names = {"visible": "close_s"}  # nothing is durable
    return _bytes_of(contestant, options) / 1e6 / values[names[metric]] if metric in names else None


def _median(rows, group, name, metric):
    for row in rows:
        if (row["group"], row["name"]) == (group, name):
            return row["summary"].get(metric, {}).get("median")
    return None


def _best(rows, group, metric):
    found = [_median(rows, group, name, metric) for name in ("ompio", "romio")]
    return max((rate for rate in found if rate), default=None)


def remarks(result, options):
    rows = result["contestants"]
    for row in rows:
        if not row["ours"]:
            continue
        group, name = row["group"], row["name"]
        for metric in ("visible", "durable"):
            best = _best(rows, group, metric)
            rate = _median(rows, group, name, metric)
            if best and rate:
                is_large = group in LARGE and metric == "durable" and not options.contended
                yield verdict(f"{group}: {name} of the better of the two, {metric}", rate / best,
                              GOAL_OF_LARGE if is_large else GOAL)
        copies = _median(rows, group, name, "of a copy")
        if copies and name == "behind":
            yield verdict(f"{group}: behind, of a copy", copies, GOAL_OF_COPY, at_most=True)
    if options.contended:
        alone = _best(rows, INDEPENDENT, "durable")
        for name in ("through", "behind"):
            rate = _median(rows, COLLECTIVE, name, "durable")
            if alone and rate:
                yield verdict(f"collective {name} of independent without, durable", rate / alone,
                              GOAL_OF_AT_ONCE)
