"""Steps are appended to copies of other programs, which have libhdf5 reuse what it counts as free:
several a session, small and large ones, also after steps were dropped."""

import os
import subprocess

import h5py
import numpy
import pytest

import sluice

from compare import sluice as command

OURS, MORE = 3, 4
ROWS = {"one": 1, "page": 512, "large": 3000}


def write(path, **options):
    with sluice.open(path, "w", **options) as file:
        file.attrs["title"] = "a text in a heap"
        for step in range(OURS):
            with file.step(time=float(step)):
                put(file, step)


def put(file, value):
    for name, rows in ROWS.items():
        file.put(name, numpy.full(rows, value, "f8"), shape=(rows,))


def by_h5py(source, target):
    with h5py.File(source) as old, h5py.File(target, "w") as new:
        for name in old:
            old.copy(name, new)
        for name, value in old.attrs.items():
            new.attrs[name] = value


def by(*program):
    return lambda source, target: subprocess.run([*program, source, target], check=True, timeout=60)


COPIES = {
    "h5py": by_h5py,
    "nccopy": by("nccopy"),
    "h5repack": by("h5repack"),
    "free lists": by("h5repack", "-S", "FSM_AGGR"),
    "aggregated": by("h5repack", "-S", "AGGR"),
    "pages": by("h5repack", "-S", "PAGE"),
    "large pages": by("h5repack", "-S", "PAGE", "-G", "65536"),
}
KINDS = {"plain.h5": {}, "plain.nc": {}, "grouped.h5": {"hdf5_layout": "grouped"}}


def copied(folder, kind, copy):
    source, target = str(folder / kind), str(folder / ("copy-" + kind))
    write(source, **KINDS[kind])
    COPIES[copy](source, target)
    return target


def check(path, expected):
    with sluice.open(path) as file:
        for name, rows in ROWS.items():
            found = [file[name].get(step) for step in range(file.steps)]
            numpy.testing.assert_array_equal(found, [numpy.full(rows, v) for v in expected])
    done = command("verify", path)
    assert done.returncode == 0, done.stdout


def pairs():
    """Without those that are refused."""
    for kind in KINDS:
        for copy in COPIES:
            if not (copy == "nccopy" and kind != "plain.nc") and not (
                    "pages" in copy and kind == "grouped.h5"):
                yield kind, copy


@pytest.mark.parametrize("kind,copy", list(pairs()))
def test_every_step_of_a_session_is_appended(tmp_path, kind, copy):
    target = copied(tmp_path, kind, copy)
    expected = list(range(OURS))
    for session in range(2):
        with sluice.open(target, "a") as file:
            for step in range(MORE):
                expected.append(10 * (session + 1) + step)
                file.attrs["title"] = "another text" * expected[-1]
                with file.step(time=float(expected[-1])):
                    put(file, expected[-1])
    check(target, expected)


@pytest.mark.parametrize("kind,copy", list(pairs()))
def test_the_space_of_dropped_steps_is_not_written_again(tmp_path, kind, copy):
    target = copied(tmp_path, kind, copy)
    with sluice.open(target, "a", restart_after=0) as file:
        for step in range(MORE):
            with file.step(time=10.0 + step):
                put(file, 10 + step)
    check(target, [0, *range(10, 10 + MORE)])


@pytest.mark.parametrize("strategy", ["shared", "forward"])
def test_steps_of_three_ranks(tmp_path, strategy):
    target = copied(tmp_path, "plain.h5", "free lists")
    program = tmp_path / "program.py"
    program.write_text(f"""
import numpy
import sluice
from mpi4py import MPI
rank, ranks = MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size
with sluice.open({target!r}, "a", comm=MPI.COMM_WORLD, strategy="{strategy}") as file:
    for step in range({MORE}):
        with file.step(time=10.0 + step):
            for name, rows in {ROWS!r}.items():
                first, last = rows * rank // ranks, rows * (rank + 1) // ranks
                file.put(name, numpy.full(last - first, 10.0 + step), start=(first,))
""")
    launcher = os.environ["SLUICE_MPIEXEC"].split()
    subprocess.run([*launcher, "-n", "3", os.environ["SLUICE_PYTHON"], str(program)], check=True,
                   timeout=120)
    check(target, [*range(OURS), *range(10, 10 + MORE)])


@pytest.mark.parametrize("kind,strategy", [
    ("plain.h5", ["-S", "FSM_AGGR", "-P", "1"]),
    ("plain.nc", ["-S", "PAGE", "-P", "1"]),
    ("grouped.h5", ["-S", "PAGE"]),
])
def test_other_strategies_are_refused(tmp_path, kind, strategy):
    source, target, again = (str(tmp_path / (name + kind)) for name in ("a-", "b-", "c-"))
    write(source, **KINDS[kind])
    by("h5repack", *strategy)(source, target)
    with pytest.raises(sluice.Error, match="file space strategy .* sluice convert"):
        sluice.open(target, "a")
    check(target, range(OURS))
    assert command("convert", target, again).returncode == 0
    with sluice.open(again, "a") as file, file.step(time=10.0):
        put(file, 10)
    check(again, [*range(OURS), 10])
