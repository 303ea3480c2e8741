"""Case namd: the trajectory of a molecular dynamics code, written by few of its ranks."""

import os

from . import report
from .cases import Contestant, Metric, at_least

NAME = "namd"
HELP = "atoms in patches: a file a writer, one writer at a time, all at once, and forward"
ROUNDS = 4
RANKS = 8
SHOWS_RATIOS = False
METRICS = {
    "visible": Metric("ms/step", 1, False),
    "total": Metric("s", 3, False),
    "rate": Metric("MB/s", 0, True),
}
ATOM_BYTES = 24
OURS = "forward"
OWN = {
    "a file a writer": {"way": "files"},
    "one at a time": {"way": "in-turn"},
    "all at once": {"way": "at-once"},
}


def _counts(text):
    return sorted({at_least(1)(word) for word in text.split(",")})


def add_arguments(parser):
    parser.add_argument("--atoms", type=at_least(1), default=1_000_000, help="(%(default)s)")
    parser.add_argument("--patches", type=at_least(1), default=216, help="(%(default)s)")
    parser.add_argument("--steps", type=at_least(1), default=6, help="(%(default)s)")
    parser.add_argument(
        "--compute-ms", type=at_least(0), default=300, help="before each step (%(default)s)"
    )
    parser.add_argument(
        "--writers", type=_counts, default=[1, 2, 4, 8], metavar="A,B", help="ranks (1,2,4,8)"
    )


def _group(writers):
    return f"{writers} writer{'s' * (writers > 1)}"


def contestants(options):
    common = {"atoms": options.atoms, "patches": options.patches, "steps": options.steps,
              "compute_ms": options.compute_ms}
    settings = {"strategy": "forward", "log": "off"} | options.set
    lines = (f"{k} = {v}" if v.isdigit() else f'{k} = "{v}"' for k, v in settings.items())
    ours = {"way": "sluice", "settings": ";".join(lines)}
    found = []
    for writers in options.writers:
        if writers > options.ranks:
            continue
        for name, way in (OWN | {OURS: ours}).items():
            found.append(Contestant(name, "bench_namd", "namd/write",
                                    common | way | {"writers": writers}, _group(writers),
                                    name == OURS))
    return found


def file_bytes(options):
    return options.atoms * ATOM_BYTES * (options.steps + 1)


def caption(options):
    return (
        f"{options.atoms} atoms in {options.patches} patches on {options.ranks} ranks, arbitrary "
        f"ids, {ATOM_BYTES} bytes an atom, {options.steps} steps with {options.compute_ms} ms of "
        "computing before each. Visible: time of the slowest rank in calls of the output, the "
        "close included, by steps. Total: from the first step until everything is on the disk. "
        "Rate: bytes by total without computing. The first three write NAMD's binary files, a step "
        "each, by POSIX calls and a sync; forward writes H5MD with checksums, every step durable. "
        "All positions of the last run of each were read back and compared. 1 MB is 10^6 bytes."
    )


def value(metric, contestant, values, options):
    del contestant
    if metric == "visible":
        return 1e3 * values["visible_s"] / options.steps
    if metric == "total":
        return values["total_s"]
    computing_s = options.steps * options.compute_ms / 1e3
    megabytes = options.atoms * ATOM_BYTES * options.steps / 1e6
    return megabytes / max(values["total_s"] - computing_s, 1e-6)


def _medians(result, metric):
    return {
        (row["name"], row["parameters"]["writers"]): row["summary"][metric]["median"]
        for row in result["contestants"]
    }


def remarks(result, options):
    visible = _medians(result, "visible")
    for writers in options.writers:
        own = {name: visible[name, writers] for name in OWN if (name, writers) in visible}
        if own and (OURS, writers) in visible:
            best = min(own, key=own.get)
            yield (f"{_group(writers)}: visible, forward to the best of the others ({best}): "
                   f"{visible[OURS, writers] / own[best]:.2f}")


def plot(case, document, folder, stem, repository):
    """Visible time and total by writers; returns the path, or None."""
    del case
    pyplot = report.pyplot_of(repository)
    if pyplot is None:
        return None
    options = document["options"]
    figure, axes = pyplot.subplots(1, 2, figsize=(11, 4.5))
    for axis, metric, label in ((axes[0], "visible", "visible to the computation (ms a step)"),
                                (axes[1], "total", "until everything is on the disk (s)")):
        medians = _medians(document["result"], metric)
        for name in dict.fromkeys(name for name, _ in medians):
            found = sorted((count, figure_) for (of, count), figure_ in medians.items()
                           if of == name)
            axis.plot(*zip(*found), marker="o", label=name, linewidth=2.5 if name == OURS else 1.2)
        counts = sorted({count for _, count in medians})
        axis.set(xlabel="ranks that write", ylabel=label)
        axis.set_xscale("log", base=2)
        axis.set_xticks(counts, [str(count) for count in counts])
        axis.set_ylim(bottom=0)
        axis.grid(True, alpha=0.3)
    computing_s = options["steps"] * options["compute_ms"] / 1e3
    axes[1].axhline(computing_s, color="gray", linestyle=":", label="computing alone")
    axes[1].legend(fontsize=8)
    figure.suptitle(f"{options['atoms']:,} atoms on {options['ranks']} ranks")
    figure.tight_layout()
    path = os.path.join(folder, f"{stem}.png")
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
    return path
