"""Case history: does a step cost more the more steps there are?"""

import os

from . import figures, report
from .cases import Contestant, Metric, at_least

NAME = "history"
HELP = "time and growth of the file, step by step, over ten thousand steps of one file"
ROUNDS = 4
STRATEGIES = ["shared"]
BUCKETS = 100
METRICS = {
    "first": Metric("ms", 3, False),
    "last": Metric("ms", 3, False),
    "first growth": Metric("B/step", 0, False),
    "last growth": Metric("B/step", 0, False),
}
# Of ten buckets each; times on a machine with other work scatter more than that.
MOST_GROWTH_BYTES = 1.02
MOST_GROWTH_S = 1.25


def add_arguments(parser):
    parser.add_argument("--steps", type=at_least(BUCKETS), default=10000, help="(%(default)s)")
    parser.add_argument("--variables", type=at_least(1), default=4, help="(%(default)s)")
    parser.add_argument(
        "--elements", type=at_least(1), default=512, help="doubles a rank and step (%(default)s)"
    )


def contestants(options):
    common = {
        "variables": options.variables,
        "elements": options.elements,
        "steps": options.steps // BUCKETS * BUCKETS,
        "bucket": options.steps // BUCKETS,
    }
    return [
        Contestant(
            f"sluice-{strategy}-{level}",
            "bench_sluice",
            "history/sluice",
            common | options.set | {"strategy": strategy, "durability": level},
            "",
            True,
        )
        for strategy in options.strategies
        for level in ("none", "step")
    ]


def raw_bytes(options):
    return options.ranks * options.variables * options.elements * 8


def file_bytes(options):
    return (options.steps + 1) * max(raw_bytes(options) * 2, options.variables * 8192)


def caption(options):
    return (
        f"{options.steps} steps of {options.variables} variables of {options.elements} doubles a "
        f"rank into one file, {options.ranks} ranks. Time: as in case step, median of each "
        f"hundredth of the run. Growth: of the file, a step, without its {raw_bytes(options)} "
        "bytes of values: checksums, chunk indexes, times, the log. First and last: medians of "
        "the first and last ten hundredths. The goal and the plot take of each hundredth the "
        "quickest round."
    )


def _buckets(samples, name, scale=1):
    """By hundredth, the least of all rounds: what else the machine does only adds to a time."""
    return [min(values[name.format(i)] for values in samples) * scale for i in range(BUCKETS)]


def _figure(metric, samples, options):
    # Growth comes in leaps, when a node of an index is made: its mean over ten counts.
    part = slice(0, 10) if metric.startswith("first") else slice(-10, None)
    if metric.endswith("growth"):
        found = _buckets(samples, "bytes{}")[part]
        return sum(found) / len(found) - raw_bytes(options)
    return figures.summary(_buckets(samples, "median{}_s", 1e3)[part])["median"]


def value(metric, contestant, values, options):
    del contestant
    return _figure(metric, [values], options)


def remarks(result, options):
    for row in result["contestants"]:
        found = {metric: _figure(metric, row["samples"], options) for metric in METRICS}
        slower = found["last"] / found["first"]
        larger = found["last growth"] / found["first growth"]
        verdict = slower <= MOST_GROWTH_S and larger <= MOST_GROWTH_BYTES
        yield (
            f"goal: no growth: {row['name']}: time {slower:.2f}, metadata {larger:.3f} of the "
            f"first steps', {'met' if verdict else 'not met'}"
        )


def plot(case, document, folder, stem, repository):
    """Time and growth of a step over the run; returns the path, or None."""
    del case
    pyplot = report.pyplot_of(repository)
    if pyplot is None:
        return None
    figure, (times, sizes) = pyplot.subplots(2, 1, sharex=True, figsize=(8, 6))
    options = document["options"]
    raw = options["ranks"] * options["variables"] * options["elements"] * 8
    for row in document["result"]["contestants"]:
        samples = row["samples"]
        bucket = row["parameters"]["bucket"]
        at = [(i + 0.5) * bucket for i in range(BUCKETS)]
        times.plot(at, _buckets(samples, "median{}_s", 1e3), label=row["name"])
        sizes.plot(at, [b - raw for b in _buckets(samples, "bytes{}")], label=row["name"])
    times.set_ylabel("one step, ms")
    sizes.set_ylabel("metadata added, B a step")
    sizes.set_xlabel("steps in the file")
    for axis in (times, sizes):
        axis.set_ylim(bottom=0)
        axis.legend()
        axis.grid(alpha=0.3)
    figure.tight_layout()
    path = os.path.join(folder, f"{stem}.png")
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
    return path
