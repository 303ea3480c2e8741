"""`sluice run --mpiio` and `sluice env --mpiio`: the ranks that a launcher starts have the
interface, and the program's exit code is its own."""

import os
import pathlib
import subprocess
import sys
import tempfile

COMMAND = os.environ["SLUICE_COMMAND"]
PROGRAMS = pathlib.Path(os.environ["SLUICE_MPIIO_PROGRAMS"])
TESTED = os.environ["SLUICE_MPIIO_TESTED"].split()


def start(*words, **more):
    return subprocess.run(words, capture_output=True, text=True, timeout=120, check=False, **more)


def launched(abi, folder):
    words = [f"mpirun.{abi}", *(["--oversubscribe"] if abi == "openmpi" else []), "-n", "2"]
    return [*words, str(PROGRAMS / f"snapshots.{abi}"), folder + "/spins-", "1", "100"]


def test_run(folder):
    for abi in TESTED:
        done = start(COMMAND, "run", "--mpiio", "--", *launched(abi, folder),
                     env=os.environ | {"SLUICE_EXPLAIN": "1"})
        assert done.returncode == 0 and done.stderr.count("2 ranks; in the slowest") == 1, done
        assert "left to the program's own MPI" not in done.stderr, done


def test_exit_codes():
    assert start(COMMAND, "run", "--mpiio", "sh", "-c", "exit 7").returncode == 7
    assert start(COMMAND, "run", "--mpiio", "--", "no-such-program").returncode == 127
    assert start(COMMAND, "run", "--mpiio").returncode == 2
    lost = start(COMMAND, "run", "--mpiio", "true",
                 env=os.environ | {"SLUICE_MPIIO_PATH": "/not/there"})
    assert lost.returncode != 0 and "SLUICE_MPIIO_PATH" in lost.stderr, lost


def test_env(folder):
    lines = start(COMMAND, "env", "--mpiio").stdout
    assert lines.startswith("export LD_PRELOAD='") and lines.count("\n") == 1, lines
    command = " ".join(launched(TESTED[0], folder))
    done = start("sh", "-c", f"eval \"$({COMMAND} env --mpiio)\"; {command}",
                 env=os.environ | {"SLUICE_EXPLAIN": "1"})
    assert "2 ranks; in the slowest" in done.stderr, done


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    with tempfile.TemporaryDirectory(prefix="sluice-mpiio-") as temporary:
        test_run(temporary)
        test_env(temporary)
    test_exit_codes()
