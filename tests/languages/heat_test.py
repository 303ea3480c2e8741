"""heat_test.py SLUICE HEAT...: every HEAT (a program or a Python script) writes the same file on 4
ranks, says `sluice diff` and says h5diff, and so does every one that goes on from another's."""

import itertools
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import h5py
import numpy as np

RANKS = "4"


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


def command(program, ranks, *files):
    python = [sys.executable, "-B"] if program.suffix == ".py" else []
    mpiexec = os.environ["SLUICE_MPIEXEC"].split()
    return [*mpiexec, "-n", ranks, *python, str(program), *files]


def heat(program, *files):
    run(*command(program, RANKS, *files))


def language(program):
    return program.name.replace("heat_", "").replace("heat.", "")


def must_be_equal(sluice, a, b):
    run(sluice, "diff", a, b)
    # All but the record of commits, in which the file's own times stand.
    assert run("h5diff", "--exclude-path=/sluice/commits", a, b) == "", f"h5diff {a} {b}"


def check_content(path):
    """That equal files are not equally wrong: the heat equation, on one processor."""
    u = np.zeros((66, 32))
    with h5py.File(path) as f:
        assert f.attrs["title"] == "heat on a plate" and f["temperature"].attrs["units"] == "K"
        heater = f["heater"][:]
        assert heater.dtype == bool and heater.sum() == 8 and heater[32, 8:16].all()
        assert f["temperature"].shape == (8, 64, 32)
        for step in range(8):
            old = u.copy()
            around = old[:-2] + old[2:]
            around = around[:, 1:-1] + old[1:-1, :-2] + old[1:-1, 2:]
            u[1:-1, 1:-1] += 0.1 * (around - 4 * old[1:-1, 1:-1])
            u[1:-1][heater] = 100
            assert np.allclose(f["temperature"][step], u[1:-1], rtol=0, atol=1e-12)
        assert np.allclose(f["time"][:], 0.1 * np.arange(8))


def check_too_many_ranks(program, folder):
    """A rank without a row would pass its neighbours' on to itself."""
    words = command(program, "65", f"{folder}/none.h5")
    run = subprocess.run(words, capture_output=True, text=True, timeout=600)
    assert run.returncode != 0 and "heat: 65 ranks for 64 rows: use fewer" in run.stderr, run
    assert not Path(folder, "none.h5").exists()


def main(sluice, *programs):
    os.environ["SLUICE_DURABILITY"] = "none"
    with tempfile.TemporaryDirectory() as folder:
        first, later = {}, {}
        for program in map(Path, programs):
            first[program] = f"{folder}/{language(program)}.h5"
            heat(program, first[program])
            if program.suffix != ".py" or os.environ.get("SLUICE_LONG") == "1":  # 65 interpreters
                check_too_many_ranks(program, folder)
        check_content(next(iter(first.values())))
        for a, b in itertools.combinations(first.values(), 2):
            must_be_equal(sluice, a, b)
        for writer, reader in itertools.permutations(first, 2):
            name = f"{folder}/{language(reader)}-of-{language(writer)}.h5"
            heat(reader, name, first[writer])
            later[reader, writer] = name
        goal = next(iter(later.values()))
        different = subprocess.run([sluice, "diff", goal, next(iter(first.values()))],
                                   capture_output=True)
        assert different.returncode == 1, "going on from a file must make a difference"
        for name in later.values():
            must_be_equal(sluice, goal, name)
        print(f"{len(first)} languages, {len(first) + len(later)} files: equal")


main(*sys.argv[1:])
