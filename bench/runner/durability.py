"""Case durability: what it costs that a step survives a power cut."""

from .cases import Contestant, Metric, at_least

NAME = "durability"
HELP = "a step with durability step, close and none, beside the same bytes and one sync"
ROUNDS = 7
STRATEGIES = ["shared"]
METRICS = {"median": Metric("ms", 2, False)}
GOAL_OF_BYTES = 1.10
# (KiB a rank, steps a round, steps of warm-up): many steps where one is too quick to be told.
SIZES = ((64 << 10, 2, 1), (64, 15, 3))
LEVELS = ("step", "close", "none")


def add_arguments(parser):
    parser.add_argument(
        "--pause-ms",
        type=at_least(0),
        default=60,
        help="what the ranks sleep between steps, as a simulation computes (%(default)s)",
    )
    parser.add_argument(
        "--kib",
        type=lambda text: [at_least(1)(word) for word in text.split(",")],
        default=[kib for kib, _, _ in SIZES],
        help="sizes of a step, KiB a rank (65536,64)",
    )


def _counts(kib):
    return next(((steps, warm) for size, steps, warm in SIZES if kib >= size), SIZES[-1][1:])


def contestants(options):
    found = []
    for kib in options.kib:
        steps, warm_up = _counts(kib)
        group = f"{options.ranks} x {kib} KiB"
        common = {
            "variables": 1,
            "elements": kib * 1024 // 8,
            "steps": steps,
            "warm_up": warm_up,
            "pause_ms": options.pause_ms,
            "durability": "step",
        }
        found.append(Contestant("bytes+fdatasync", "bench_peers", "step/bytes-sync", common, group))
        found.append(
            Contestant("phdf5+flush+fsync", "bench_peers", "step/phdf5-collective", common, group)
        )
        for strategy in options.strategies:
            for level in LEVELS:
                parameters = common | options.set | {"strategy": strategy, "durability": level}
                name = f"sluice-{strategy}-{level}"
                found.append(
                    Contestant(name, "bench_sluice", "step/sluice", parameters, group, True)
                )
    return found


def file_bytes(options):
    return max(options.ranks * (kib << 10) * sum(_counts(kib)) for kib in options.kib)


def caption(options):
    return (
        f"One step of one variable into an open file, {options.ranks} ranks. Time: from a barrier "
        "to the slowest rank's return from the step; of each round the median of "
        + ", ".join(f"{_counts(kib)[0]} steps of {kib} KiB a rank" for kib in options.kib)
        + f" after some of warm-up, {options.pause_ms} ms of sleep before each. Bytes+fdatasync: "
        "preallocation, pwrite by every rank, one fdatasync by one. Parallel HDF5: H5Dwrite, "
        "H5Fflush and fsync; a crash in the middle of it may leave no readable file. With close "
        "and none Sluice's bytes may still be in memory where they were not written directly. "
        "Ratios are of times: below 1, Sluice is faster."
    )


def value(metric, contestant, values, options):
    del contestant, options
    return values[f"{metric}_s"] * 1e3


def remarks(result, options):
    del options
    for row in result["contestants"]:
        if any(values.get("direct") == 0 for values in row["samples"]):
            yield f"{row['group']}: {row['name']}: buffered"
    for row in result["ratios"]:
        large = row["group"].endswith(f" {SIZES[0][0]} KiB")
        if large and row["of"].endswith("-step") and row["to"] == "bytes+fdatasync":
            met = "met" if row["pairwise_median"] <= GOAL_OF_BYTES else "not met"
            yield (
                f"goal: {row['group']}: durable step <= {GOAL_OF_BYTES:.2f} of bytes+fdatasync: "
                f"{row['pairwise_median']:.2f}, {met}"
            )
