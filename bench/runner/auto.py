"""Case auto: does `auto` choose as well as who tries everything, on three kinds of file system?"""

import contextlib
import os
import tempfile

from . import figures, mount, report
from .cases import Contestant, Metric, at_least

NAME = "auto"
HELP = "auto beside every fixed strategy: disk, memory and a contended mount, five patterns"
ROUNDS = 11  # fewer, and the noise of one decides which contestant is the best
SHOWS_RATIOS = False
METRICS = {"durable": Metric("MB/s", 0, True)}
PATTERNS = ("contiguous", "pencils", "small", "ragged-12289", "ragged-77291")
LOCAL = ("disk", "tmpfs")
PLACES = (*LOCAL, "contended")
SILENT = "silent"  # contended, but nobody is told how it stripes files
TARGETS = 4
MOUNT = ("--targets", str(TARGETS), "--bandwidth", "45MB/s", "--latency", "2ms", "--lock", "6ms",
         "--metadata", "1ms")
FIXED = ("serial", "shared", "collective", "forward", "file-per-process")
AUTO = "auto"
AGAIN = "auto again"  # the same, to show what the noise is
ANY = "auto, files=allow_multiple"
FORMULAS = "auto without autotune"
IN_PARTS = ("file-per-process",)
GOAL = 0.9
# On disk and in memory 8 MiB a rank are written before a clock is sure of it.
LOCAL_FACTOR = 4


def add_arguments(parser):
    parser.add_argument("--mib", type=at_least(1), default=8,
                        help="doubles a rank on the contended mount; elsewhere "
                             f"{LOCAL_FACTOR} times as many (%(default)s)")
    parser.add_argument("--pattern", choices=PATTERNS, action="append",
                        help="only this one; may be repeated")
    parser.add_argument("--place", choices=(*PLACES, SILENT), action="append",
                        help="only this one; may be repeated; silent: the contended mount, which "
                             "does not say how it stripes files")
    parser.add_argument("--steps", type=at_least(1), default=1,
                        help="of every file; with several auto learns from them, and runs without "
                             "that too (%(default)s)")


@contextlib.contextmanager
def place(options):
    """A folder on each file system, in options.folders."""
    wanted = options.place or PLACES
    options.folders = {}
    with contextlib.ExitStack() as stack:
        for name, parent in (("disk", options.on), ("tmpfs", mount.MEMORY)):
            if name in wanted and os.path.isdir(parent):
                options.folders[name] = stack.enter_context(
                    tempfile.TemporaryDirectory(prefix="sluice-auto-", dir=parent))
        for name, arguments in (("contended", MOUNT), (SILENT, (*MOUNT, "--silent"))):
            if name in wanted:
                parent = mount.backing_folder(4 * file_bytes(options), options.on)
                options.folders[name] = stack.enter_context(
                    mount.mounted(options.build, parent, arguments))
        yield


def _fixed(options):
    writers = min(TARGETS, options.ranks)
    for strategy in FIXED:
        yield strategy, {"strategy": strategy}
    for strategy in ("collective", "forward"):
        yield f"{strategy} x {writers}", {"strategy": strategy, "writers": writers}
    yield (f"collective x {writers} cyclic",
           {"strategy": "collective", "writers": writers, "tiles": "cyclic"})


def _mib(name, options):
    return LOCAL_FACTOR * options.mib if name in LOCAL else options.mib


def contestants(options):
    found = []
    for name, folder in options.folders.items():
        for pattern in options.pattern or PATTERNS:
            ours = [(AUTO, {"strategy": "auto"}), (AGAIN, {"strategy": "auto"}),
                    (ANY, {"strategy": "auto", "files": "allow_multiple"})]
            if options.steps > 1:
                ours.append((FORMULAS, {"strategy": "auto", "autotune": "false"}))
            for strategy, parameters in (*_fixed(options), *ours):
                found.append(Contestant(
                    strategy, "bench_sluice", "strategies/sluice",
                    {"mib": _mib(name, options), "pattern": pattern, "durability": "step",
                     "steps": options.steps, "path": os.path.join(folder, "bench.h5")}
                    | options.set | parameters,
                    f"{name}: {pattern}", True))
    return found


def file_bytes(options):
    mib = max(_mib(name, options) for name in options.place or PLACES)
    return (1 + options.steps) * options.ranks * mib << 20


def caption(options):
    return (
        f"{options.ranks} ranks x about {_mib('disk', options)} MiB of doubles "
        f"({_mib('contended', options)} MiB on the contended mount) a step, "
        f"{options.steps} of them, of a stepped 3-D variable. Durable: from a barrier until the "
        "last rank has created, written, synced and closed. contended: bench/contended "
        f"{' '.join(MOUNT)}; silent: so that it does not say how it stripes files. "
        "contiguous: slabs. pencils: the ranks divide the last two dimensions. small, ragged-N: "
        "every rank has every ranks-th run of 512 or N doubles. x N: so many writers; else as many "
        "as the strategy takes. auto again: the same once more, for the noise; "
        "files=allow_multiple: it may make several files; without autotune: without trying other "
        "ways. 1 MB is 10^6 bytes. Samples of every contestant's last file were read back and "
        "compared."
    )


def value(metric, contestant, values, options):
    del metric
    pattern = contestant.parameters["pattern"]
    bytes_ = contestant.parameters["mib"] << 20
    if pattern.startswith("ragged-"):
        run_bytes = 8 * int(pattern.partition("-")[2])
        bytes_ = max(1, bytes_ // run_bytes) * run_bytes
    seconds = max(s for name, s in values.items() if name.endswith("_s"))
    return options.steps * options.ranks * bytes_ / 1e6 / seconds


def _best(rates, names):
    """Of the contestants of those names the one of the highest median."""
    medians = {name: figures.summary(rates[name])["median"] for name in names if name in rates}
    return max(medians, key=medians.get) if medians else None


def _compared(result):
    """By group and way of `auto`: the best fixed strategy that it may take, auto's part of that and
    of itself, round by round."""
    found = {}
    for group in dict.fromkeys(row["group"] for row in result["contestants"]):
        rates = {row["name"]: row["metrics"]["durable"] for row in result["contestants"]
                 if row["group"] == group}
        fixed = [name for name in rates if name not in (AUTO, AGAIN, ANY, FORMULAS)]
        one_file = [name for name in fixed if name not in IN_PARTS]
        for auto, rivals in ((AUTO, one_file), (ANY, fixed), (FORMULAS, one_file)):
            best = _best(rates, rivals)
            if auto in rates and best is not None:
                ratio = figures.ratio(rates[auto], rates[best])["pairwise_median"]
                noise = (figures.ratio(rates[AGAIN], rates[AUTO])["pairwise_median"]
                         if AGAIN in rates else float("nan"))
                found[f"{group}: {auto}"] = (best, ratio, noise)
    return found


def remarks(result, options):
    del options
    compared = _compared(result)
    for case, (best, ratio, noise) in compared.items():
        yield (f"goal: {case} of {best}: {ratio:.2f}, "
               f"{'met' if ratio >= GOAL else 'not met'} (>= {GOAL:g}); "
               f"auto again of auto: {noise:.2f}")
    one_file = "of those that make one file"
    for auto, rivals in ((AUTO, one_file), (ANY, "of all"), (FORMULAS, one_file)):
        ratios = [ratio for case, (_, ratio, _) in compared.items() if case.endswith(f": {auto}")]
        met = sum(ratio >= GOAL for ratio in ratios)
        if ratios:
            yield f"{auto} is within 10 % of the best {rivals} in {met} of {len(ratios)} cases"


def plot(case, document, folder, stem, repository):
    """Auto's part of the best fixed strategy that it may take, a bar a case; returns the path,
    or None."""
    del case
    pyplot = report.pyplot_of(repository)
    if pyplot is None:
        return None
    compared = _compared(document["result"])
    ratios = [ratio for _, ratio, _ in compared.values()]
    figure, axis = pyplot.subplots(figsize=(9, 1.2 + 0.27 * len(ratios)))
    axis.barh(list(compared), ratios,
              color=["tab:blue" if ratio >= GOAL else "tab:red" for ratio in ratios])
    axis.plot([noise for _, _, noise in compared.values()], list(compared), "k|", markersize=12,
              label="auto again, as a part of auto")
    axis.axvline(GOAL, color="k", linestyle="--")
    axis.invert_yaxis()
    axis.legend(loc="lower left", bbox_to_anchor=(0, 1))
    axis.set(xlabel="auto's durable bandwidth, as a part of the best fixed strategy's\n"
                    "(auto: of those that make one file; files=allow_multiple: of all)")
    figure.tight_layout()
    path = os.path.join(folder, f"{stem}.png")
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
    return path
