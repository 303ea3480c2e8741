"""Case overlap: output while the ranks compute as long as the output takes alone."""

from .cases import Contestant, Metric, at_least

NAME = "overlap"
HELP = "output in the background while the ranks compute, beside parallel HDF5 and MPI-IO"
ROUNDS = 1  # of many pairs each
SHOWS_RATIOS = False
# As where every rank has a core: unbound, the kernel leaves three of four ranks on one of two cores
# for a third of a second when a thread has run on the other.
MPIRUN = "mpirun --oversubscribe --map-by core:OVERSUBSCRIBE --bind-to core:overload-allowed"
METRICS = {
    "visible": Metric("ms", 1, False),
    "of a copy": Metric("x", 2, False),
    "left": Metric("ms", 1, False),
    "cost": Metric("ms", 1, False),
    "overlap": Metric("%", 1, True),
    "durable": Metric("%", 0, True),
    "cpu": Metric("ms/GB", 0, False),
    "slowed": Metric("%", 1, False),
}
GOALS = (
    ("of a copy", lambda found: found <= 1.3, "visible <= 1.3 of a copy"),
    ("overlap", lambda found: found >= 95, "overlap >= 95 %"),
    ("durable", lambda found: found >= 100, "all durable when computing ends"),
    ("cpu", lambda found: found <= 60, "processor time of the threads <= 60 ms per GB"),
)
GOALS_OF = "sluice-forward"
COST_OF = "sluice-shared"
MOST_COST = 0.6
POLLS = 10
DEFLATED = "sluice-forward-deflate"


def add_arguments(parser):
    parser.add_argument(
        "--mib", type=at_least(1), default=64, help="doubles a rank and step (%(default)s)"
    )
    parser.add_argument("--pairs", type=at_least(2), default=15, help="(%(default)s)")


def contestants(options):
    common = {"mib": options.mib, "pairs": options.pairs}
    ours = common | {"strategy": "forward", "storage": "direct"} | options.set
    ours.setdefault("budget_mib", 4 * options.mib)
    found = []
    for name, more in (
        ("sluice-forward", {}),
        ("sluice-forward-no-checksum", {"checksum": 0}),
        ("sluice-forward-posix", {"storage": "posix"}),
        (DEFLATED, {"compress": "deflate:1", "mib": max(1, options.mib // 2)}),
        ("sluice-forward-2-nodes", {"ranks_per_node": max(1, options.ranks // 2), "polls": POLLS}),
        ("sluice-shared", {"strategy": "shared"}),
    ):
        found.append(
            Contestant(name, "bench_sluice", "overlap/sluice", ours | more, "Sluice", True)
        )
    for name in ("phdf5-collective", "mpiio-iwrite"):
        more = {"polls": POLLS} if name == "mpiio-iwrite" else {}
        found.append(Contestant(name, "bench_peers", f"overlap/{name}", common | more, "peers"))
    for name, more in (("adios2-bp5", {}), ("adios2-bp5-async", {"async": 1})):
        more = {"aggregation": "EveryoneWrites"} | more
        found.append(
            Contestant(name, "bench_peers", "overlap/adios2-bp5", common | more, "peers")
        )
    return found


def file_bytes(options):
    steps = options.pairs + 4
    return steps * options.ranks * options.mib << 20


def caption(options):
    return (
        f"{options.ranks} ranks, steps of {options.mib} MiB a rank, {options.pairs} pairs: the "
        "ranks compute as long as a step takes alone until it is durable, without output and "
        "beside it. Visible: what the end of a step takes, and that as a multiple of one copy of "
        "the same bytes. Left: what there is to wait for until the step is durable when computing "
        "has ended; overlap: the rest, as a part of what the step takes alone. Durable: steps that "
        "were when computing ended. Cpu: of all threads but the ranks' own. Slowed: computing "
        f"beside output. Cost: what a step takes beyond computing alone: visible, left and what it "
        f"slowed. Steps of {DEFLATED} have half of that. With 2 pretend nodes, and MPI-IO, the "
        f"ranks poll {POLLS} times a step. adios2-bp5: a file a step, closed and synced when its "
        "end is waited for; every rank writes; async: AsyncWrite. Ranks are bound to cores, in "
        "turn."
    )


def value(metric, contestant, values, options):
    del options
    if metric == "visible":
        return values["visible_s"] * 1e3
    if metric == "of a copy":
        return values["visible_of_copy"]
    if metric == "left":
        return values["left_s"] * 1e3
    if metric == "cost":
        return values["cost_s"] * 1e3
    if metric == "overlap":
        # What a blocking call takes is visible, not hidden.
        hidden_s = values["alone_s"] - values["left_s"]
        if contestant.name in ("phdf5-collective", "adios2-bp5", "sluice-shared"):
            hidden_s -= values["visible_s"]
        return max(0.0, 100 * hidden_s / values["alone_s"])
    if metric == "durable":
        return 100 * values["durable_share"] if contestant.name != "mpiio-iwrite" else None
    if metric == "cpu":
        return values["cpu_ms_per_gb"]
    return values["slow_percent"]


def remarks(result, options):
    del options
    costs = {row["name"]: row["summary"]["cost"]["median"] for row in result["contestants"]}
    for row in result["contestants"]:
        for values in row["samples"]:
            yield (
                f"{row['name']}: alone {values['alone_s'] * 1e3:.0f} ms a step; computing slowed "
                f"by {values['slow_percent']:.1f} % "
                f"({values['slow_low_percent']:.1f} .. {values['slow_high_percent']:.1f})"
            )
        if row["name"] == GOALS_OF:
            for metric, is_met, words in GOALS:
                median = row["summary"][metric]["median"]
                yield f"goal: {words}: {median:.2f}, {'met' if is_met(median) else 'not met'}"
            if COST_OF in costs:
                share = costs[GOALS_OF] / costs[COST_OF]
                yield (
                    f"goal: cost <= {MOST_COST} of {COST_OF}: {share:.2f}, "
                    f"{'met' if share <= MOST_COST else 'not met'}"
                )
