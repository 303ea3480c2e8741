"""Case occam: what output and preprocessing cost the particle-field code of apps/occam, as text and
as records; and what a value costs alone."""

import hashlib
import os
import re
import shlex
import shutil

from . import figures, report
from .cases import Contestant, Metric, at_least
from .program import ProgramError, printed_by

NAME = "occam"
HELP = "a whole particle simulation without output, with text and with records; its preprocessor"
ROUNDS = 4
STRATEGIES = ["shared"]
SHOWS_RATIOS = False
METRICS = {
    "run": Metric("s", 2, False),
    "output": Metric("s", 4, False),
    "share": Metric("%", 2, False),
    "value": Metric("ns", 1, False),
}
FOLDERS = {"occam": "apps/occam", "iopc": "apps/occam"}
RUN, PREPROCESSOR, VALUE = "the whole run", "the preprocessor", "a value"
NONE, TEXT, RECORDS = "no output", "text", "records"
BLOCK_PARTICLES = 400
DENSITY_EVERY = 10
KINDS = ("traj", "conf", "wvalues", "energies")
# Of a particle: a line of text in traj and wvalues, conf, and 1.fort; the same as records.
FRAME_TEXT_BYTES, CONF_TEXT_BYTES, INPUT_TEXT_BYTES, RECORD_BYTES = 70, 205, 127, 72
GOAL_SHARE_PERCENT = 1
GOAL_OF_PREPROCESSING = 10
GOAL_VALUE_NS = 6
GOAL_OF_FORMATTED = 50


def add_arguments(parser):
    parser.add_argument("--particles", type=at_least(BLOCK_PARTICLES), default=200_000,
                        help="in blocks of 400 (%(default)s)")
    parser.add_argument("--steps", type=at_least(1), default=500, help="(%(default)s)")
    parser.add_argument("--every", type=at_least(1), default=100,
                        help="steps from one output to the next (%(default)s)")
    parser.add_argument("--values", type=at_least(1000), default=100_000,
                        help="particles of the loop over values (%(default)s)")


def _blocks(options):
    return max(options.particles // BLOCK_PARTICLES, options.ranks)


def _toml(settings):
    """Options of Sluice as the code takes them: TOML whose lines end with a semicolon."""
    def value(text):
        return text if re.fullmatch(r"[0-9.]+|true|false", text) else f'"{text}"'
    return "; ".join(f"{key} = {value(text)}" for key, text in settings.items())


def contestants(options):
    blocks = _blocks(options)
    common = {"blocks": blocks, "parts": options.ranks}
    run = common | {"steps": options.steps, "every": options.every}
    found = [Contestant(name, "occam", "run", run | {"way": way}, RUN)
             for name, way in ((NONE, "none"), (TEXT, "ascii"))]
    for strategy in options.strategies:
        more = {"way": "records", "options": _toml({"strategy": strategy} | options.set)}
        found.append(Contestant(f"sluice {strategy}", "occam", "run", run | more, RUN, True))
    for name, way in ((TEXT, "ascii"), (RECORDS, "records")):
        found.append(Contestant(name, "iopc", "preprocess", common | {"way": way}, PREPROCESSOR,
                                way == "records", ranks=1))
    found.append(Contestant("file_bwrite", "bench_records_fortran", "values",
                            {"particles": options.values, "rounds": 4}, VALUE, True, ranks=1))
    return found


def file_bytes(options):
    frames = options.steps // options.every + 1
    written = frames * FRAME_TEXT_BYTES + CONF_TEXT_BYTES
    # What verifying makes of records stands beside them; and the input.
    return options.particles * (2 * written + 2 * INPUT_TEXT_BYTES + RECORD_BYTES)


def caption(options):
    blocks = _blocks(options)
    return (
        f"{blocks * BLOCK_PARTICLES} particles (surfactant and water), {options.ranks} ranks, "
        f"{options.steps} steps, the density renewed every {DENSITY_EVERY}; output at the start "
        f"and every {options.every} steps: positions, potentials and energies, and at the end a "
        "state to go on from. The loop of the run, without reading its input. Output: time in "
        "opening, writing and closing, of the slowest rank; the ranks meet before each output, so "
        "that waiting for others is not in it, and compute before that what it shows. Share: of "
        "the run. Text is left to the page cache; each of Sluice's outputs is on the disk when it "
        "returns, or by forward when the run ends. The preprocessor, one process: "
        f"the input of {options.ranks} ranks, written as text, a file a rank, or as one file of "
        "records; making the particles is not in it. A value: a call of file_bwrite in a loop over "
        "particles, beside formatted output (bench/run records). Records are made text after the "
        "last round, and must be the texts that the program writes, to the byte."
    )


class Program:
    """A program that is begun anew for every job, in the folder of the job's path."""

    digests = {}  # of texts, by what they are of: those of both ways are the same

    @staticmethod
    def available(executable):
        del executable
        return {"run", "preprocess", "values"}

    def __init__(self, executable, ranks, mpirun, timeout_s, environment=()):
        self.executable = executable
        self.launch = [*shlex.split(mpirun), "-n", str(ranks)]
        self.launch_one = [*shlex.split(mpirun), "-n", "1"]
        self.timeout_s = timeout_s
        self.environment = environment
        self.folder = ""

    def end(self):
        """Nothing of it is left."""

    def run(self, job, parameters):
        """Carries out one job and returns its values, a dict of floats."""
        self.folder = os.path.dirname(parameters["path"])
        os.sync()  # what the contestant before left in memory
        values = getattr(self, "_" + job)(parameters)
        shutil.rmtree(os.path.join(self.folder, "out"), ignore_errors=True)
        return values

    def _call(self, *command):
        return printed_by(list(command), self.folder, self.timeout_s, self.environment)

    def _beside(self, *path):
        return os.path.normpath(os.path.join(os.path.dirname(self.executable), *path))

    def _make_folder(self, name):
        os.makedirs(os.path.join(self.folder, name))

    def _generate(self, folder, parameters, way):
        self._make_folder(folder)
        return self._call(*self.launch_one, self._beside("iopc"), "generate",
                          f"parts={parameters['parts']}", f"blocks={parameters['blocks']}",
                          f"folder='{folder}'", f"ascii={'TF'[way == 'records']}")

    def _run(self, parameters):
        if not os.path.isdir(os.path.join(self.folder, "input")):
            self._generate("input", parameters, "records")
        self._make_folder("out")
        printed = self._call(
            *self.launch, self.executable, "input/params.nml", "folder='out'",
            f"steps={parameters['steps']}", f"print_every={parameters['every']}",
            f"density_every={DENSITY_EVERY}", f"output='{parameters['way']}'",
            f"options='{parameters.get('options', '')}'")
        run_s, output_s = _numbers(printed, r"run: ([0-9.]+) s, of them output ([0-9.]+) s")
        if parameters["verify"] and parameters["way"] != "none":
            self._compare(KINDS, KINDS, parameters["way"])
        return {"run_s": run_s, "output_s": output_s}

    def _preprocess(self, parameters):
        printed = self._generate("out", parameters, parameters["way"])
        if parameters["verify"]:
            self._compare(("init_bin.dat",), ("fort",), parameters["way"])
        return {"output_s": _numbers(printed, r"written in ([0-9.]+) s")[0]}

    def _values(self, parameters):
        printed = self._call(self.executable, str(parameters["particles"]),
                             str(parameters["rounds"]))
        pattern = r"(?m)^ *{}, id and 3 coordinates +([0-9.]+) "
        return {"value_ns": _numbers(printed, pattern.format("file_bwrite"))[0],
                "formatted_ns": _numbers(printed, pattern.format("formatted"))[0]}

    def _compare(self, files, kinds, way):
        """The texts in out, or those that are made of its records, have one digest."""
        texts = os.path.join(self.folder, "out")
        if way == "records":
            texts = os.path.join(texts, "texts")
            command = self._beside("..", "..", "cli", "sluice")
            for name in files:
                self._call(command, "verify", f"out/{name}")
                self._call(command, "convert", f"out/{name}", "out/texts", "--format", "lines")
        digest = hashlib.sha256()
        for name in sorted(os.listdir(texts)):
            if name.partition(".")[0].isdigit() and name.partition(".")[2] in kinds:
                digest.update(name.encode())
                with open(os.path.join(texts, name), "rb") as file:
                    while piece := file.read(1 << 20):
                        digest.update(piece)
        if self.digests.setdefault((self.folder, kinds), digest.digest()) != digest.digest():
            raise ProgramError(f"{', '.join(kinds)}: texts and records differ")


def _numbers(printed, pattern):
    found = re.search(pattern, printed)
    if not found:
        raise ProgramError(f"nothing like '{pattern}' in what was printed: {printed.strip()}")
    return [float(word) for word in found.groups()]


def value(metric, contestant, values, options):
    del options
    if metric == "run":
        return values.get("run_s")
    if contestant.name == NONE:
        return None
    if metric == "output":
        return values.get("output_s")
    if metric == "share" and "run_s" in values:
        return 100 * values["output_s"] / values["run_s"]
    return values.get("value_ns") if metric == "value" else None


def _rows(result, group):
    return {row["name"]: row for row in result["contestants"] if row["group"] == group}


def _median(row, metric):
    return row["summary"][metric]["median"]


def _formatted_ns(row):
    return figures.summary([values["formatted_ns"] for values in row["samples"]])["median"]


def remarks(result, options):
    runs = _rows(result, RUN)
    for name, row in runs.items():
        if name == TEXT:
            yield f"output's share of the run, {name}: {_median(row, 'share'):.2f} %"
        if row["ours"]:
            yield figures.verdict(f"output's share of the run, {name}, %", _median(row, "share"),
                                  GOAL_SHARE_PERCENT, at_most=True)
        if name != NONE and NONE in runs:
            of = figures.ratio(row["metrics"]["run"], runs[NONE]["metrics"]["run"])
            yield f"the run with {name}, of that without output: {of['pairwise_median']:.3f}"
    made = _rows(result, PREPROCESSOR)
    if {TEXT, RECORDS} <= set(made):
        of = _median(made[TEXT], "output") / _median(made[RECORDS], "output")
        yield figures.verdict("preprocessing, text to records", of, GOAL_OF_PREPROCESSING)
    for row in _rows(result, VALUE).values():
        own_ns = _median(row, "value")
        yield figures.verdict("a value by file_bwrite, ns", own_ns, GOAL_VALUE_NS, at_most=True)
        yield figures.verdict("a value, formatted to file_bwrite", _formatted_ns(row) / own_ns,
                              GOAL_OF_FORMATTED)


def _bars(axis, title, unit, bars, goal=None, scale="linear"):
    """bars: (name, figure, is it ours)"""
    names, numbers, ours = zip(*bars)
    drawn = axis.bar(names, numbers, color=["tab:blue" if own else "tab:gray" for own in ours])
    axis.bar_label(drawn, fmt="%.3g", padding=2)
    axis.set(title=title, ylabel=unit, yscale=scale)
    if scale == "linear":
        axis.set_ylim(0, 1.15 * max(*numbers, goal or 0))
    if goal:
        axis.axhline(goal, color="tab:red", linestyle="--", linewidth=1)
        axis.text(axis.get_xlim()[1], goal, "goal ", color="tab:red", ha="right", va="bottom")


def plot(case, document, folder, stem, repository):
    """The run, output's share, the preprocessor, a value; returns the path, or None."""
    del case
    pyplot = report.pyplot_of(repository)
    if pyplot is None:
        return None
    result = document["result"]
    figure, axes = pyplot.subplots(1, 4, figsize=(15, 4))
    runs = _rows(result, RUN)
    if runs:
        _bars(axes[0], "the whole run", "s",
              [(name, _median(row, "run"), row["ours"]) for name, row in runs.items()])
    outputs = [(name, _median(row, "share"), row["ours"]) for name, row in runs.items()
               if name != NONE]
    if outputs:
        every = document["options"]["every"]
        _bars(axes[1], f"output's share, every {every} steps", "%", outputs, GOAL_SHARE_PERCENT)
    made = _rows(result, PREPROCESSOR)
    if made:
        _bars(axes[2], "the preprocessor's writing", "s",
              [(name, _median(row, "output"), row["ours"]) for name, row in made.items()])
    for name, row in _rows(result, VALUE).items():
        _bars(axes[3], "a value in a loop", "ns", [("formatted", _formatted_ns(row), False),
                                                   (name, _median(row, "value"), True)],
              GOAL_VALUE_NS, "log")
    figure.tight_layout()
    path = os.path.join(folder, f"{stem}.png")
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
    return path
