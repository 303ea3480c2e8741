"""Arguments and exit codes: 0 measured, 1 a contestant failed, 2 it could not begin."""

import argparse
import contextlib
import datetime
import json
import os
import signal
import sys

from . import (
    auto,
    checkpoint,
    compress,
    contended,
    durability,
    history,
    host,
    index,
    measure,
    mfdn,
    mpiio,
    namd,
    objects,
    occam,
    overlap,
    plugin,
    read,
    report,
    step,
    strategies,
    vampire,
    write,
    zarr,
)
from .cases import STRATEGIES, at_least
from .program import ProgramError

CASES = {
    case.NAME: case
    for case in (
        write, step, strategies, read, checkpoint, compress, index, durability, history, mfdn,
        mpiio, namd, occam, overlap, vampire, contended, auto, plugin, zarr,
        objects,
    )
}
REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RESULTS = os.path.join(REPOSITORY, "build", "bench")  # also the build folder of ./dev bench
FORMAT = 1  # of the JSON
MPIRUN = "mpirun --oversubscribe --bind-to none"  # a case may have another


def _words(text):
    return [word for word in text.split(",") if word]


def _key_value(text):
    key, equals, value = text.partition("=")
    if not equals or not key or "\t" in text or "\n" in text:
        raise argparse.ArgumentTypeError(f"not of the form key=value: {text}")
    return key, value


def _parser():
    parser = argparse.ArgumentParser(prog="bench/run", description=__doc__)
    cases = parser.add_subparsers(dest="case", required=True, metavar="case")
    for case in CASES.values():
        sub = cases.add_parser(case.NAME, help=case.HELP, description=case.HELP)
        case.add_arguments(sub)
        sub.add_argument(
            "--ranks", type=at_least(1), default=getattr(case, "RANKS", 4), help="(%(default)s)"
        )
        sub.add_argument(
            "--rounds", type=at_least(1), default=case.ROUNDS, help="(%(default)s)"
        )
        sub.add_argument("--warm-up", type=at_least(0), default=1, help="rounds (%(default)s)")
        sub.add_argument("--on", metavar="DIR", help="where the files go (default: the results')")
        sub.add_argument("--only", type=_words, metavar="A,B", help="these contestants alone")
        sub.add_argument(
            "--strategies",
            type=_words,
            default=getattr(case, "STRATEGIES", STRATEGIES),
            help="Sluice's, by comma",
        )
        sub.add_argument(
            "--set",
            type=_key_value,
            action="append",
            default=[],
            metavar="KEY=VALUE",
            help="an option of Sluice: storage, check, checksum, budget_mib, stripe_kib, coalesce",
        )
        sub.add_argument("--json", action="store_true", help="JSON to stdout instead of a table")
        sub.add_argument(
            "--build", metavar="DIR", help="(default: SLUICE_BUILD_DIR, else build/bench)"
        )
        sub.add_argument("--results", metavar="DIR", help="where JSON goes (default: build/bench)")
        sub.add_argument(
            "--mpirun", default=getattr(case, "MPIRUN", MPIRUN), help="(%(default)s)"
        )
        sub.add_argument(
            "--timeout", type=float, default=600, metavar="S", help="of one job (%(default)s)"
        )
    return parser


def _executables(case, contestants, build):
    """Paths of the programs that the contestants need."""
    found = {}
    for program in dict.fromkeys(contestant.program for contestant in contestants):
        folder = getattr(case, "FOLDERS", {}).get(program, "bench")
        path = os.path.join(os.path.abspath(build), folder, program)
        if not os.access(path, os.X_OK):
            raise ProgramError(f"{path} is not there: build it with ./dev build bench")
        found[program] = path
    return found


def _prepare(options):
    options.set = dict(options.set)
    options.build = options.build or os.environ.get("SLUICE_BUILD_DIR") or RESULTS
    options.results = options.results or RESULTS
    os.makedirs(options.results, exist_ok=True)
    options.on = os.path.abspath(options.on or options.results)
    if not os.path.isdir(options.on):
        raise ProgramError(f"{options.on} is not a folder: choose another with --on")


def _contestants(case, options):
    contestants = case.contestants(options)
    if options.only:
        unknown = set(options.only) - {contestant.name for contestant in contestants}
        if unknown:
            names = ", ".join(dict.fromkeys(contestant.name for contestant in contestants))
            raise ProgramError(f"no contestant {', '.join(sorted(unknown))}; there are {names}")
        contestants = [c for c in contestants if c.name in options.only]
    executables = _executables(case, contestants, options.build)
    contestants, absent = measure.present(case, contestants, executables)
    if not contestants:
        raise ProgramError(f"nothing to run: {', '.join(absent)} not built")
    measure.check_space(options.on, case.file_bytes(options))
    return contestants, executables, absent


def _activity(facts):
    if (facts["busy_cores"] or 0) > 0.1 * facts["cores"]:
        yield (
            f"{host.activity(facts)}, of {facts['cores']}: others were at work, and these are not "
            "the figures of a quiet machine"
        )


def _document(case, contestants, executables, absent, options):
    now = datetime.datetime.now(datetime.timezone.utc)
    facts = host.facts(options.on, REPOSITORY, options.mpirun)
    samples = measure.rounds(case, contestants, executables, options)
    result = measure.result(case, contestants, samples, options)
    shown = ("build", "results", "json")
    return {
        "format": FORMAT,
        "case": case.NAME,
        "date": now.strftime("%Y-%m-%dT%H%M%SZ"),
        "caption": case.caption(options),
        "options": {key: value for key, value in vars(options).items() if key not in shown},
        "host": facts,
        "absent": absent,
        "result": result,
        "remarks": [*case.remarks(result, options), *_activity(facts)],
    }


def _interrupted(number, frame):
    del frame
    raise SystemExit(128 + number)  # so that programs are ended and files removed


def main(arguments=None):
    """Returns the exit code."""
    signal.signal(signal.SIGTERM, _interrupted)
    options = _parser().parse_args(arguments)
    case = CASES[options.case]
    with contextlib.ExitStack() as stack:
        try:
            _prepare(options)
            if hasattr(case, "place"):
                stack.enter_context(case.place(options))
            prepared = _contestants(case, options)
        except (ProgramError, OSError) as error:
            print(f"bench: {error}", file=sys.stderr)
            return 2
        return _measure(case, *prepared, options)


def _measure(case, contestants, executables, absent, options):
    try:
        document = _document(case, contestants, executables, absent, options)
        stem = f"{case.NAME}-{document['date']}"
        written = [report.write_json(document, options.results, stem)]
        plot = getattr(case, "plot", report.plot)
        written.append(plot(case, document, options.results, stem, REPOSITORY))
    except (ProgramError, OSError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    if options.json:
        print(json.dumps(document))
    else:
        print(report.table(case, document, options))
        print("\n" + "\n".join(path for path in written if path))
    return 0
