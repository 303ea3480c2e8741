"""Case index: how long h5py takes to open the index of a set of many parts."""

import os

from .cases import Contestant, Metric, at_least

REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

NAME = "index"
HELP = "opening the index of a set of 1,024 parts in h5py"
ROUNDS = 7
METRICS = {"open": Metric("ms", 2, False), "first read": Metric("ms", 2, False)}
GOAL_MS = 10.0


def add_arguments(parser):
    parser.add_argument("--parts", type=at_least(1), default=1024, help="(%(default)s)")


def contestants(options):
    common = {"parts": options.parts}
    python = os.path.join(REPOSITORY, ".venv", "bin", "python")
    environment = (("SLUICE_PYTHON", python),) if os.access(python, os.X_OK) else ()
    return [
        Contestant(
            "h5py", "bench_sluice", "index/h5py", common, "", True, environment=environment
        ),
        Contestant("libhdf5", "bench_sluice", "index/libhdf5", common),
    ]


def file_bytes(options):
    return options.parts << 14


def caption(options):
    return (
        f"A set of {options.parts} parts, one a virtual rank of one process, with one stepped "
        "variable. open: h5py.File(index) and its dataset's shape and type, cached. first read: "
        "one row, which opens the part that holds it. libhdf5: the same calls from C."
    )


def value(metric, contestant, values, options):
    del contestant, options
    return values["open_s" if metric == "open" else "read_s"] * 1e3


def remarks(result, options):
    for row in result["contestants"]:
        median_ms = row["summary"]["open"]["median"]
        met = "met" if median_ms <= GOAL_MS else "not met"
        yield (
            f"goal: {options.parts} parts open in <= {GOAL_MS:g} ms: "
            f"{row['name']} {median_ms:.2f} ms, {met}"
        )
