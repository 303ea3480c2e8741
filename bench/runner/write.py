"""Case write: every rank's doubles into one file, as one step of a stepped variable."""

from .cases import Contestant, Metric, at_least

NAME = "write"
HELP = "bandwidth of one large step, cached and durable, beside MPI-IO and parallel HDF5"
ROUNDS = 7
METRICS = {
    "cached": Metric("MB/s", 0, True),
    "durable": Metric("MB/s", 0, True),
}
GOAL_OF_BARE = 0.95
SMALL_MIB = 256


def add_arguments(parser):
    parser.add_argument("--mib", type=at_least(1), default=256, help="doubles a rank (%(default)s)")
    parser.add_argument(
        "--form",
        choices=("stepped", "fixed"),
        default="stepped",
        help="parallel HDF5's dataset: unlimited and chunked as Sluice's (default), or contiguous",
    )


def contestants(options):
    common = {"mib": options.mib}
    hdf5 = common | {"form": options.form}
    peers = [
        Contestant("bare", "bench_peers", "write/bare", common),
        Contestant("mpiio", "bench_peers", "write/mpiio", common),
        Contestant("phdf5-collective", "bench_peers", "write/phdf5-collective", hdf5),
        Contestant("phdf5-independent", "bench_peers", "write/phdf5-independent", hdf5),
    ]
    for strategy in options.strategies:
        for suffix, durability, metric in (("", "step", "durable"), ("-nosync", "none", "cached")):
            parameters = common | options.set | {"strategy": strategy, "durability": durability}
            name = f"sluice-{strategy}{suffix}"
            peers.append(
                Contestant(name, "bench_sluice", "write/sluice", parameters, "", True, (metric,))
            )
    return peers


def file_bytes(options):
    return options.ranks * options.mib << 20


def caption(options):
    return (
        f"{options.ranks} ranks x {options.mib} MiB of doubles into one new file. Time: from a "
        "barrier to the last rank, creation and preallocation included. Cached: until the write "
        "calls have returned. Durable: until synced and closed. Bare: 4 MiB pwrites with O_DIRECT "
        "into preallocated space. Sluice's cached figures are those of durability none (nosync), "
        "its durable ones those of durability step. 1 MB is 10^6 bytes. Samples of every "
        "contestant's last file were read back from the disk and compared."
    )


def value(metric, contestant, values, options):
    if contestant.only and metric not in contestant.only:
        return None
    seconds = values["write_s" if metric == "cached" else "close_s"]
    return file_bytes(options) / 1e6 / seconds


def remarks(result, options):
    for row in result["contestants"]:
        if any(values.get("direct") == 0 for values in row["samples"]):
            yield f"{row['name']}: the file system refuses O_DIRECT, so its writes were buffered"
    if options.ranks * options.mib < SMALL_MIB:
        yield f"less than {SMALL_MIB} MiB: fixed costs weigh more than bandwidth"
    rows = [r for r in result["ratios"] if r["metric"] == "durable" and r["to"] == "bare"]
    for row in rows:
        met = "met" if row["pairwise_median"] >= GOAL_OF_BARE else "not met"
        yield (
            f"goal: durable >= {GOAL_OF_BARE} of bare: {row['of']} "
            f"{row['pairwise_median']:.2f}, {met}"
        )
