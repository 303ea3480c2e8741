"""Case contended: on a mount that behaves like a striped parallel file system.

Its default constants are those of Jaguar's targets (179 MB/s) with a round trip of 0.5 ms and a
hand-over of 1.5 ms, all four times as slow, so that two cores keep up with 16 processes."""

import contextlib
import os
import subprocess

from . import mount, report
from .cases import Contestant, Metric, at_least
from .figures import verdict
from .program import ProgramError

NAME = "contended"
HELP = "on a mount that behaves like a striped parallel file system: locks, writers, reads"
ROUNDS = 4
RANKS = 16
SHOWS_RATIOS = False
METRICS = {
    "durable": Metric("MB/s", 0, True),
    "hand-overs": Metric("", 0, False),
    "of targets": Metric("%", 0, True),
}
DOUBLE_BYTES = 8
BY_RANKS = "by ranks"
PANELS_IN_ROW = 3
READING = "reading"
FORWARD = "sluice-forward"
COLLECTIVE = "sluice-collective"
POSIX = "posix"
INDEPENDENT = "phdf5-independent"
AT_ONCE = (POSIX, INDEPENDENT)
GOAL_OF_AT_ONCE = 2.5
GOAL_OF_WRITERS = 1.25
GOAL_OF_READS = 2.0


def add_arguments(parser):
    parser.add_argument("--mib", type=at_least(1), default=4, help="doubles a rank (%(default)s)")
    parser.add_argument("--step-mib", type=at_least(0), default=18,
                        help="the same for a step as long as a simulation's, with the two longer "
                        "runs; 0: none (%(default)s: 288 MiB of 16 ranks, 283 have 10 million "
                        "atoms)")
    parser.add_argument("--run", type=at_least(1), action="append", metavar="DOUBLES",
                        help="of one rank, before the next one's; may be repeated "
                        "(3073, 12289, 77291: 24, 96, 604 KiB)")
    parser.add_argument("--targets", type=at_least(1), default=4, help="(%(default)s)")
    parser.add_argument("--stripe-kib", type=at_least(4), default=1024, help="(%(default)s)")
    parser.add_argument("--bandwidth", default="45MB/s", help="of a target (%(default)s)")
    parser.add_argument("--latency", default="2ms", help="(%(default)s)")
    parser.add_argument("--lock", default="6ms", help="its hand-over (%(default)s)")
    parser.add_argument("--metadata", default="1ms", help="an open's turn (%(default)s)")


def runs(options):
    return options.run or [3073, 12289, 77291]


def _long_steps(options):
    """Runs of which a longer step is measured too: not the shortest, which would take minutes."""
    return (sorted(runs(options))[1:] or runs(options)) if options.step_mib else []


@contextlib.contextmanager
def place(options):
    """Measures on a mount, whose data lies in memory, else where --on says."""
    folder = mount.backing_folder(4 * file_bytes(options), options.on)
    arguments = ["--targets", str(options.targets), "--stripe", f"{options.stripe_kib}KiB",
                 "--bandwidth", options.bandwidth, "--latency", options.latency,
                 "--lock", options.lock, "--metadata", options.metadata]
    with mount.mounted(options.build, folder, arguments) as path:
        before = options.on
        options.on = path
        yield
        options.on = before


def observe(options):
    """Counters of the mount whose change over a job belongs to its values."""
    found = mount.counters(options.on)
    return {"hand_overs": found["hand_overs"], "opens": found["opens"],
            "writing": sum(target["written_bytes"] for target in found["targets"])
            / found["bandwidth_bytes_per_s"]}


def _doubling(last, first=1):
    counts = [first]
    while counts[-1] < last:
        counts.append(min(2 * counts[-1], last))
    return counts


def _ours(options, strategy, writers, common):
    return common | options.set | {
        "strategy": strategy, "writers": writers, "tile_bytes": options.stripe_kib << 10,
        "durability": "step", "form": "fixed",
    }


def contestants(options):
    found = []

    def add(name, job, ranks, group, parameters, ours=False):
        program = "bench_sluice" if ours else "bench_peers"
        found.append(Contestant(f"{name} x {ranks}" if group == BY_RANKS else name, program,
                                f"strategies/{job}", parameters, group, ours, ranks=ranks))

    ranks, targets = options.ranks, options.targets
    for run in runs(options):
        group = _group(run)
        common = {"mib": options.mib, "pattern": f"ragged-{run}", "presize": 1}
        for name, job in ((POSIX, "posix"), (INDEPENDENT, "phdf5-independent"),
                          ("mpiio-collective", "mpiio"), ("phdf5-collective", "phdf5-collective")):
            add(name, job, ranks, group, common)
        for strategy in ("forward", "collective"):
            for writers in _writers(options) if strategy == "forward" else [min(ranks, targets)]:
                name = f"sluice-{strategy} x {writers}"
                add(name, "sluice", ranks, group, _ours(options, strategy, writers, common), True)
        add("sluice-shared", "sluice", ranks, group, _ours(options, "shared", 0, common), True)
        add(READING, "posix-read", ranks, group, common)
    for run in _long_steps(options):
        group = _group(run, options.step_mib * ranks)
        common = {"mib": options.step_mib, "pattern": f"ragged-{run}", "presize": 1}
        add(POSIX, "posix", ranks, group, common)
        add("mpiio-collective", "mpiio", ranks, group, common)
        for writers in _writers(options)[:2]:
            add(f"{FORWARD} x {writers}", "sluice", ranks, group,
                _ours(options, "forward", writers, common), True)
    run = runs(options)[0]
    for count in _doubling(ranks, min(2, ranks)):
        # The same bytes together, however many ranks hold them.
        common = {"mib": max(1, options.mib * ranks // count), "pattern": f"ragged-{run}",
                  "presize": 1}
        add(INDEPENDENT, "phdf5-independent", count, BY_RANKS, common)
        writers = min(count, targets)
        add(FORWARD, "sluice", count, BY_RANKS, _ours(options, "forward", writers, common), True)
    return found


def _writers(options):
    return _doubling(options.ranks, min(options.targets, options.ranks))


def _group(run, step_mib=0):
    size = f", {step_mib} MiB" if step_mib else ""
    return f"runs of {run * DOUBLE_BYTES / 1024:.0f} KiB{size}"


def _rows(parameters):
    run = int(parameters["pattern"].partition("-")[2])
    return max(1, (parameters["mib"] << 20) // DOUBLE_BYTES // run)


def written_bytes(parameters, ranks):
    run = int(parameters["pattern"].partition("-")[2])
    return _rows(parameters) * run * DOUBLE_BYTES * ranks


def file_bytes(options):
    # A run that does not divide a rank's part, and libhdf5's alignment, take a little more.
    return 2 * options.ranks * max(options.mib, options.step_mib) << 20


def caption(options):
    return (
        f"{options.ranks} ranks, {options.mib} MiB of doubles each (or as many as the group says "
        f"together), one file on {options.targets} "
        f"targets of {options.bandwidth}, stripes of {options.stripe_kib} KiB, latency "
        f"{options.latency}, a lock's hand-over {options.lock} (bench/contended, every process a "
        "client with room for 1 MiB a target; its data in memory). Every rank has every ranks-th "
        "run of the file, which ends where no stripe does. posix, phdf5-independent: every rank "
        "writes its own runs, all at once. sluice-forward x N: N ranks write whole stripes, "
        "stripe s the one of number s mod N (the default where a file has stripes). Durable: "
        "from a barrier until the last rank has created, written, synced and closed; reading: "
        "until the last has read. All files have their size before anybody writes (FUSE lets one "
        "process at a time write beyond a file's end). Of targets: the time for which they were "
        "writing, as a part of all. By ranks: the same bytes from fewer ranks. 1 MB is 10^6 bytes. "
        "Samples of every "
        "contestant's last file were read back and compared."
    )


def _seconds(values):
    return max(seconds for name, seconds in values.items() if name.endswith("_s"))


def value(metric, contestant, values, options):
    if metric == "durable":
        return written_bytes(contestant.parameters, contestant.ranks) / 1e6 / _seconds(values)
    if contestant.name == READING:
        return None  # the file that it reads was written in the same job
    if metric == "hand-overs":
        return values["hand_overs"]
    return 100 * values["writing"] / options.targets / _seconds(values)


def _predicted(result, options):
    """Lines that compare with the model machine, whose constants are the mount's."""
    rows = [row for row in result["contestants"] if row["ours"]]
    asked, measured = [], []
    for row in rows:
        strategy = row["parameters"]["strategy"]
        ranks = row["ranks"]
        run = int(row["parameters"]["pattern"].partition("-")[2])
        asked.append(f"{ranks} {_rows(row['parameters'])} {run} {strategy} "
                     f"{row['parameters']['writers']}\n")
        measured.append(written_bytes(row["parameters"], ranks) / 1e6
                        / row["summary"]["durable"]["median"])
    ratios = []
    for row, seconds, line in zip(rows, measured, _answers(options, "".join(asked))):
        predicted_s = float(line.split()[0])
        ratios.append((row["parameters"]["strategy"], predicted_s / seconds))
        yield (f"model: {row['group']}: {row['name']}: {predicted_s:.2f} s predicted, "
               f"{seconds:.2f} s measured: {predicted_s / seconds:.2f}")
    for strategy in dict.fromkeys(strategy for strategy, _ in ratios):
        found = [ratio for of, ratio in ratios if of == strategy]
        yield (f"model: {strategy}: predicted of measured {min(found):.2f} to {max(found):.2f}, "
               f"in {len(found)} cases")


def _answers(options, asked):
    """What contended_predict says to so many lines."""
    path = os.path.join(os.path.abspath(options.build), "bench", "contended", "contended_predict")
    found = mount.counters(options.on)
    constants = {
        "targets": options.targets, "stripes": options.targets,
        "stripe_bytes": found["stripe_bytes"], "dirty_bytes": found["dirty_bytes"],
        "target_bytes_per_s": found["bandwidth_bytes_per_s"], "rpc_s": found["latency_s"],
        "handover_s": found["lock_s"], "opens_per_s": 1 / max(found["metadata_s"], 1e-9),
    }
    command = [path, *(f"{name}={value!r}" for name, value in constants.items())]
    try:
        answer = subprocess.run(command, input=asked, capture_output=True, text=True,
                                timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ProgramError(f"{path}: {error}") from error
    if answer.returncode != 0:
        raise ProgramError(answer.stderr.strip())
    return answer.stdout.splitlines()


def _medians(result, group):
    return {row["name"]: row["summary"]["durable"]["median"]
            for row in result["contestants"] if row["group"] == group}


def _of_group(group, medians):
    forward = {name: rate for name, rate in medians.items() if name.startswith(f"{FORWARD} x ")}
    collective = {name: rate for name, rate in medians.items() if name.startswith(COLLECTIVE)}
    for name in (name for name in AT_ONCE if name in medians):
        for of_ours in (forward, collective):
            if of_ours:
                best = max(of_ours, key=of_ours.get)
                ratio, what = of_ours[best] / medians[name], f"{group}: {best} of {name}"
                yield (verdict(what, ratio, GOAL_OF_AT_ONCE) if of_ours is forward
                       else f"{what}: {ratio:.2f}")
    if len(forward) > 1:
        yield verdict(f"{group}: forward, best of worst by writers",
                       max(forward.values()) / min(forward.values()), GOAL_OF_WRITERS, at_most=True)
    if READING in medians and POSIX in medians:
        yield verdict(f"{group}: reading of writing by posix", medians[READING] / medians[POSIX],
                       GOAL_OF_READS)


def remarks(result, options):
    for run in runs(options):
        yield from _of_group(_group(run), _medians(result, _group(run)))
    for run in _long_steps(options):
        group = _group(run, options.step_mib * options.ranks)
        yield from _of_group(group, _medians(result, group))
    medians = _medians(result, BY_RANKS)
    counts = _doubling(options.ranks, min(2, options.ranks))
    for name in (INDEPENDENT, FORWARD):
        rates = [medians[f"{name} x {count}"] for count in counts if f"{name} x {count}" in medians]
        if rates:
            yield (f"{name}, {counts[-1]} ranks of its best number: "
                   f"{rates[-1] / max(rates):.2f}")
    yield from _predicted(result, options)


def plot(case, document, folder, stem, repository):
    """Bars of every group, and both lines by ranks; returns the path, or None."""
    del case
    pyplot = report.pyplot_of(repository)
    if pyplot is None:
        return None
    rows = document["result"]["contestants"]
    groups = [g for g in dict.fromkeys(row["group"] for row in rows) if g != BY_RANKS]
    lines = -(-(len(groups) + 1) // PANELS_IN_ROW)
    figure, grid = pyplot.subplots(lines, PANELS_IN_ROW, squeeze=False,
                                   figsize=(5 * PANELS_IN_ROW, 4.5 * lines))
    axes = list(grid.flat)
    for unused in axes[len(groups) + 1:]:
        unused.remove()
    by_ranks = axes[len(groups)]
    for axis, group in zip(axes, groups):
        shown = [row for row in rows if row["group"] == group]
        found = [row["summary"]["durable"] for row in shown]
        axis.barh([row["name"] for row in shown], [s["median"] for s in found],
                  xerr=[[s["median"] - s["min"] for s in found],
                        [s["max"] - s["median"] for s in found]],
                  color=["tab:blue" if row["ours"] else "tab:gray" for row in shown])
        axis.invert_yaxis()
        axis.set(xlabel="MB/s durable, median, min to max", title=group)
    medians = _medians(document["result"], BY_RANKS)
    for name, colour in ((INDEPENDENT, "tab:gray"), (FORWARD, "tab:blue")):
        found = sorted((int(key.rpartition(" x ")[2]), rate) for key, rate in medians.items()
                       if key.startswith(name))
        if found:
            by_ranks.plot(*zip(*found), "o-", color=colour, label=name)
    by_ranks.set(xlabel="ranks", ylabel="MB/s durable", ylim=(0, None), title="the same bytes")
    by_ranks.legend()
    figure.tight_layout()
    path = os.path.join(folder, f"{stem}.png")
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
    return path
