"""Case step: what a step costs when its data is small."""

from .cases import Contestant, Metric, at_least

NAME = "step"
HELP = "fixed cost of one step with many small variables"
ROUNDS = 4  # of many steps each
STRATEGIES = ["serial", "shared", "collective", "forward"]
METRICS = {
    "median": Metric("ms", 3, False),
    "p90": Metric("ms", 3, False),
}
GOAL_MS = 1.0
GOAL_VARIABLES = 16
WARM_UP_STEPS = 20
SNAPSHOTS = "a file a step, durable"
SNAPSHOT_WARM_UP = 3
SNAPSHOT_GOAL_OF_BARE = 1.5
# Between steps of a simulation; what is written in the background has as long.
PAUSE_MS = 5
PAUSED = f"{GOAL_VARIABLES} variables, durability step, {PAUSE_MS} ms apart"
PAUSED_GOAL_MS = 0.5
# A synced step costs a disk flush or several; a tenth of the steps is enough for a median.
DURABLE_STEPS_DIVISOR = 10
DURABLE_STEPS_MIN = 20


def add_arguments(parser):
    parser.add_argument(
        "--variables",
        type=lambda text: [at_least(1)(word) for word in text.split(",")],
        default=[1, 16],
        help="numbers of variables (1,16)",
    )
    parser.add_argument("--steps", type=at_least(1), default=300, help="a round (%(default)s)")
    parser.add_argument(
        "--elements",
        type=at_least(1),
        default=1024,
        help="doubles a rank, variable and step (%(default)s)",
    )


def paused(options, common):
    found = [Contestant("bare", "bench_peers", "step/bare", common, PAUSED)]
    for strategy in options.strategies:
        parameters = common | options.set | {"strategy": strategy}
        name = f"sluice-{strategy}"
        found.append(Contestant(name, "bench_sluice", "step/sluice", parameters, PAUSED, True))
    return found


def contestants(options):
    found = []
    for variables in options.variables:
        for durability in ("none", "step"):
            steps = options.steps
            if durability == "step":
                steps = max(DURABLE_STEPS_MIN, steps // DURABLE_STEPS_DIVISOR)
            group = f"{variables} variables, durability {durability}"
            common = {
                "variables": variables,
                "elements": options.elements,
                "steps": steps,
                "warm_up": WARM_UP_STEPS,
                "durability": durability,
            }
            for peer in ("bare", "phdf5-collective"):
                found.append(Contestant(peer, "bench_peers", f"step/{peer}", common, group))
            for strategy in options.strategies:
                parameters = common | options.set | {"strategy": strategy}
                name = f"sluice-{strategy}"
                found.append(
                    Contestant(name, "bench_sluice", "step/sluice", parameters, group, True)
                )
            if durability == "step" and variables == GOAL_VARIABLES:
                found += paused(options, common | {"pause_ms": PAUSE_MS})
    common = {
        "variables": 1,
        "elements": options.elements,
        "steps": max(DURABLE_STEPS_MIN, options.steps // DURABLE_STEPS_DIVISOR),
        "warm_up": SNAPSHOT_WARM_UP,
        "durability": "step",
    }
    found.append(Contestant("bare", "bench_peers", "step/snapshot-bare", common, SNAPSHOTS))
    for strategy in options.strategies:
        parameters = common | options.set | {"strategy": strategy}
        found.append(
            Contestant(
                f"sluice-{strategy}",
                "bench_sluice",
                "step/snapshot-sluice",
                parameters,
                SNAPSHOTS,
                True,
            )
        )
    return found


def file_bytes(options):
    block_bytes = options.elements * 8 * options.ranks
    # Room for layouts that round a block up to some pages.
    rounded_bytes = max(block_bytes, options.ranks * 4096)
    return (options.steps + WARM_UP_STEPS) * max(options.variables) * rounded_bytes


def caption(options):
    return (
        f"One step of variables of {options.elements} doubles a rank, {options.ranks} ranks. Time: "
        "from a barrier to the slowest rank's return from the step; "
        f"{options.steps} steps a round ({DURABLE_STEPS_DIVISOR} times fewer where synced) after "
        f"{WARM_UP_STEPS} of warm-up, of which each round gives one median. Opening and closing "
        f"are not part of it, but where it is {SNAPSHOTS}: there bare is creation, writes, "
        "fdatasync, rename, and a sync of the folder. Where steps are apart, the ranks sleep "
        "before each. Bare: one pwrite a variable and rank, and one barrier; no format. "
        "Parallel HDF5 leaves its metadata in memory until the close where nothing is synced, "
        "Sluice's file is whole after every step. Ratios are of times: below 1, Sluice is faster."
    )


def value(metric, contestant, values, options):
    del contestant, options
    return values[f"{metric}_s"] * 1e3


def remarks(result, options):
    del options
    for row in result["ratios"]:
        if row["metric"] == "median" and row["to"] == "bare" and row.get("group") == SNAPSHOTS:
            met = "met" if row["pairwise_median"] <= SNAPSHOT_GOAL_OF_BARE else "not met"
            yield (
                f"goal: {SNAPSHOTS}: <= {SNAPSHOT_GOAL_OF_BARE} of bare: {row['of']} "
                f"{row['pairwise_median']:.2f}, {met}"
            )
    goals_ms = {f"{GOAL_VARIABLES} variables, durability none": GOAL_MS}
    for row in result["contestants"]:
        goal_ms = goals_ms.get(row["group"])
        if row["group"] == PAUSED and row["name"] == "sluice-forward":
            goal_ms = PAUSED_GOAL_MS
        if row["ours"] and goal_ms is not None:
            median_ms = row["summary"]["median"]["median"]
            met = "met" if median_ms <= goal_ms else "not met"
            yield (
                f"goal: {row['group']}: <= {goal_ms:g} ms: {row['name']} {median_ms:.3f} ms, {met}"
            )
