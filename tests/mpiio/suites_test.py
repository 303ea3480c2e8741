"""The tests of MPI-IO of MPICH, ROMIO, parallel HDF5 and PnetCDF (with FLASH-IO), unmodified, from
Debian's sources: what passes with the MPI's own MPI-IO passes with the interface in front of it,
writing through, and writing behind with a writer that is 3 to 30 ms late. Without its waits some
programs of every suite must fail.

SLUICE_SUITES_SOURCES: a folder in which the sources are kept; SLUICE_SUITES_ONLY: names of suites
and programs. Downloads and builds, so it is a long test."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

import launch
import suites

FOLDER = pathlib.Path(os.environ["SLUICE_TEST_MPIIO_FOLDER"])
LATE_FOLDER = pathlib.Path(os.environ["SLUICE_TEST_MPIIO_LATE_FOLDER"])
TESTED = os.environ["SLUICE_TEST_MPIIO_TESTED"].split()
ONLY = os.environ.get("SLUICE_SUITES_ONLY", "").split()
BEHIND = {"SLUICE_MPIIO_WRITE_BEHIND": "true", "SLUICE_TEST_MPIIO_LATE_MS": "3-30"}
# What fails with the interface only, and why.
KNOWN = {("mpich", "romio/error"): "looks for words of ROMIO's in the text of an error"}
# Suites that do not notice that waits are missing, and why.
NOTICES_NOTHING = {"flash": "writes every byte once, and reads nothing back"}
# Mode: the folder of the interface, and its settings.
MODES = {"without": (None, {}), "through": (FOLDER, {}), "behind": (LATE_FOLDER, BEHIND),
         "no waits": (LATE_FOLDER, BEHIND | {"SLUICE_TEST_MPIIO_LATE_MS": "20-60",
                                             "SLUICE_TEST_MPIIO_NO_WAITS": "1"})}


def run(abi, mode, program, place):
    """Returns whether it passed, and what it printed."""
    folder, settings = MODES[mode]
    words = launch.words(abi, program.ranks, program.executable, *program.arguments,
                         preload=folder and folder / f"libsluice-mpiio-{abi}.so")
    process = subprocess.Popen(words, cwd=place, text=True, env=os.environ | settings,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               start_new_session=True)
    try:
        output = process.communicate(timeout=program.limit_s)[0]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGTERM)  # mpirun ends its ranks
        try:
            output = process.communicate(timeout=20)[0]
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output = process.communicate()[0]
        return False, f"no end within {program.limit_s} s\n{output}"
    return program.passed(process.returncode, output), output


def run_mode(abi, mode, programs):
    """Returns name -> (passed, output)."""
    by_name = {program.name: program for program in programs}
    found = {}
    for program in programs:
        place = pathlib.Path(tempfile.mkdtemp(prefix="sluice-suites-"))
        (place / program.executable.name).symlink_to(program.executable)  # some start themselves
        if program.after:
            run(abi, mode, by_name[program.after], place)
        found[f"{program.suite}/{program.name}"] = run(abi, mode, program, place)
        shutil.rmtree(place)
    return found


def wanted(program):
    return not ONLY or program.suite in ONLY or program.name in ONLY


def check(abi, programs):
    """Returns how many programs fail with the interface only, but for those that are known to; and
    the names of those that pass behind."""
    bare = run_mode(abi, "without", programs)
    bad = 0
    for mode in ("through", "behind"):
        ours = run_mode(abi, mode, programs)
        for name, (passed, output) in ours.items():
            if not passed and bare[name][0]:
                reason = KNOWN.get((abi, name))
                bad += reason is None
                print(f"{abi} {name} fails {mode}: {reason or output[-2000:]}", flush=True)
        mended = sorted(name for name in ours if ours[name][0] and not bare[name][0])
        print(f"{abi}, {mode}: {sum(p for p, _ in ours.values())} of {len(ours)} pass;"
              f" only with the interface: {', '.join(mended) or 'none'}", flush=True)
    failed = sorted(name for name, (passed, _) in bare.items() if not passed)
    print(f"{abi}, without: {len(bare) - len(failed)} of {len(bare)} pass;"
          f" not: {', '.join(failed) or 'none'}", flush=True)
    return bad, {name for name, (passed, _) in ours.items() if passed}


def blind_suites(abi, programs, passing):
    """Of the suites that are here as a whole: those in which all that pass behind pass without its
    waits too, but for those that are known to. What takes many minutes is not run again."""
    programs = [program for program in programs
                if f"{program.suite}/{program.name}" in passing
                and program.limit_s == suites.Program.limit_s
                and (not ONLY or program.suite in ONLY)]
    found = run_mode(abi, "no waits", programs)
    blind = []
    for suite in dict.fromkeys(program.suite for program in programs):
        results = {name: passed for name, (passed, _) in found.items()
                   if name.startswith(f"{suite}/")}
        failed = sorted(name for name, passed in results.items() if not passed)
        reason = NOTICES_NOTHING.get(suite)
        print(f"{abi} {suite}, behind without waits: {len(failed)} of {len(results)} fail:"
              f" {', '.join(failed) or reason or 'none'}", flush=True)
        if not failed and reason is None:
            blind.append(suite)
    return blind


def main():
    place = pathlib.Path(os.environ.get("SLUICE_SUITES_SOURCES") or tempfile.mkdtemp())
    place.mkdir(parents=True, exist_ok=True)
    suites.fetch(place)
    bad = 0
    ran = 0
    for abi in TESTED:
        built = suites.Suites(place, place / f"built-{abi}", abi)
        programs = [program for program in built.all() if wanted(program)]
        for name, said in built.unbuilt.items():
            print(f"{abi} {name} was not built: {said.splitlines()[-1]}")
        if not programs:
            continue  # another MPI's
        ran += len(programs)
        failing, passing = check(abi, programs)
        bad += failing
        blind = blind_suites(abi, programs, passing)
        assert not blind, f"{abi}: {', '.join(blind)} do not notice that waits are missing"
    assert ran, "nothing to run"
    if "SLUICE_SUITES_SOURCES" not in os.environ:
        shutil.rmtree(place)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
