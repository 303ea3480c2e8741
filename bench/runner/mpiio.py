"""Case mpiio: unmodified programs of MPI-IO, with and without the interface before their MPI."""

import os

from .cases import Contestant, Metric, at_least

REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

NAME = "mpiio"
HELP = "parallel HDF5, PnetCDF and bare MPI-IO: by OMPIO, by ROMIO, and through Sluice's interface"
ROUNDS = 5
METRICS = {
    "visible": Metric("MB/s", 0, True),
    "durable": Metric("MB/s", 0, True),
}
GOAL = 0.9  # of the better of the two
SMALL_BYTES = 1024
SMALL_CALLS = 2000
# (group, job, parameters); patterns are those of the case strategies.
GROUPS = [
    ("contiguous", "strategies/mpiio", {"pattern": "contiguous"}),
    ("runs of 1 MiB", "strategies/mpiio", {"pattern": "ragged-131072"}),
    ("runs of 4 KiB", "strategies/mpiio", {"pattern": "small"}),
    ("runs of 512 B", "strategies/mpiio", {"pattern": "ragged-64"}),
    ("HDF5 collective", "strategies/phdf5-collective", {"pattern": "pencils"}),
    ("HDF5 independent", "strategies/phdf5-independent", {"pattern": "contiguous"}),
    ("PnetCDF", "strategies/pnetcdf", {"pattern": "pencils"}),
    ("small writes", "mpiio/small", {"bytes": SMALL_BYTES, "calls": SMALL_CALLS}),
]


def add_arguments(parser):
    parser.add_argument("--mib", type=at_least(1), default=32, help="a rank (%(default)s)")
    parser.add_argument(
        "--library", metavar="FILE", default="", help="libsluice-mpiio-openmpi.so (the build's)"
    )
    parser.add_argument("--groups", default="", metavar="A,B", help="these alone")


def _library(options):
    library = options.library or os.path.join(
        options.build, "mpiio", "libsluice-mpiio-openmpi.so"
    )
    return os.path.abspath(library)


def contestants(options):
    ways = [
        ("ompio", (("OMPI_MCA_io", "ompio"),), False),
        ("romio", (("OMPI_MCA_io", "romio321"),), False),
        ("through", (("LD_PRELOAD", _library(options)),), True),
    ]
    chosen = options.groups.split(",") if options.groups else [group for group, _, _ in GROUPS]
    return [
        Contestant(
            f"{name}", "bench_peers", job, {"mib": options.mib, "form": "contiguous"} | parameters,
            group, ours, environment=environment,
        )
        for group, job, parameters in GROUPS
        if group in chosen
        for name, environment, ours in ways
    ]


def file_bytes(options):
    return options.ranks * options.mib << 20


def caption(options):
    return (
        f"{options.ranks} ranks x {options.mib} MiB into one new file by programs that do not know "
        f"of Sluice (small writes: {SMALL_CALLS} of {SMALL_BYTES} bytes by each rank alone). ompio "
        "and romio: Open MPI's two implementations of MPI-IO. through: the same program with "
        "libsluice-mpiio-openmpi.so preloaded. Visible: until the write calls have returned. "
        "Durable: until synced and closed. HDF5 collective and PnetCDF write pencils, whose runs "
        "are 2 KiB."
    )


def value(metric, contestant, values, options):
    seconds = values["write_s" if metric == "visible" else "close_s"]
    if contestant.job == "mpiio/small":
        return options.ranks * SMALL_BYTES * SMALL_CALLS / 1e6 / seconds
    return file_bytes(options) / 1e6 / seconds


def remarks(result, options):
    del options
    for row in result["contestants"]:
        if not row["ours"]:
            continue
        for metric in METRICS:
            peers = [
                other["summary"][metric]["median"]
                for other in result["contestants"]
                if other["group"] == row["group"] and not other["ours"]
            ]
            if peers:
                factor = row["summary"][metric]["median"] / max(peers)
                met = "met" if factor >= GOAL else "not met"
                yield (
                    f"goal: {metric} >= {GOAL} of the better of the two: {row['group']} "
                    f"{factor:.2f}, {met}"
                )
