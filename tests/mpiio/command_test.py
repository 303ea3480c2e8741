"""`sluice run --mpiio` and `sluice env --mpiio`: the ranks that a launcher starts have the
interface, and the program's exit code is its own. What it records is what `sluice plan` takes."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

COMMAND = os.environ["SLUICE_COMMAND"]
PROGRAMS = pathlib.Path(os.environ["SLUICE_TEST_MPIIO_PROGRAMS"])
TESTED = os.environ["SLUICE_TEST_MPIIO_TESTED"].split()


def start(*words, **more):
    return subprocess.run(words, capture_output=True, text=True, timeout=120, check=False, **more)


def launched(abi, folder, files=1, spins=100):
    words = [f"mpirun.{abi}", *(["--oversubscribe"] if abi == "openmpi" else []), "-n", "2"]
    return [*words, str(PROGRAMS / f"snapshots.{abi}"), folder + "/spins-", str(files), str(spins)]


def test_run(folder):
    for abi in TESTED:
        done = start(COMMAND, "run", "--mpiio", "--", *launched(abi, folder),
                     env=os.environ | {"SLUICE_EXPLAIN": "1"})
        assert done.returncode == 0 and done.stderr.count("2 ranks; in the slowest") == 1, done
        assert "left to the program's own MPI" not in done.stderr, done


def test_python(folder):
    """mpi4py takes the calls with large counts where a library of the process has them: only that
    for MPICH does, which is there too."""
    if TESTED[0] != "openmpi":
        return
    program = pathlib.Path(folder) / "write.py"
    program.write_text(
        "import sys\n"
        "from mpi4py import MPI\n"
        "world = MPI.COMM_WORLD\n"
        "f = MPI.File.Open(world, sys.argv[1], MPI.MODE_RDWR | MPI.MODE_CREATE)\n"
        "f.Write_at_all(4 * world.rank, b'abcd')\n"
        "got = bytearray(4)\n"
        "f.Read_at(4 * world.rank, got)\n"
        "assert got == b'abcd', got\n"
        "f.Close()\n")
    written = pathlib.Path(folder) / "python.bin"
    done = start(COMMAND, "run", "--mpiio", "--", "mpirun.openmpi", "--oversubscribe", "-n", "2",
                 sys.executable, str(program), str(written),
                 env=os.environ | {"SLUICE_EXPLAIN": "1"})
    assert done.returncode == 0 and "2 ranks; in the slowest" in done.stderr, done
    assert "left to the program's own MPI" not in done.stderr, done
    assert written.read_bytes() == b"abcdabcd"


LARGE = """
import mmap, sys
from mpi4py import MPI
world = MPI.COMM_WORLD
f = MPI.File.Open(world, sys.argv[1], MPI.MODE_RDWR | MPI.MODE_CREATE)
assert f.Get_type_extent(MPI.DOUBLE) == 8
assert f.Get_type_extent(MPI.DOUBLE.Create_vector(2, 1, 3).Commit()) == 32

def class_of(action):
    try:
        action()
    except MPI.Exception as failure:
        return failure.Get_error_class()
    return MPI.SUCCESS

def register(name):
    convert = lambda *words: None
    return class_of(lambda: MPI.Register_datarep(name, convert, convert, lambda type: 1))

# More than an int holds, on one rank: the others are told. Nothing of it is touched.
most = 2**31 if world.rank == 1 else 1
failed = class_of(lambda: f.Write_at_all(0, [mmap.mmap(-1, most), most, MPI.BYTE]))
classes = world.gather((register("mine"), register("mine"), failed))
if world.rank == 0:
    print(classes)
f.Close()
"""


def test_large_counts_of_python(folder):
    """What takes no count is not refused for one."""
    if TESTED[0] != "openmpi":
        return
    program = pathlib.Path(folder) / "large.py"
    program.write_text(LARGE)
    words = ["mpirun.openmpi", "--oversubscribe", "-n", "2", sys.executable, str(program),
             str(pathlib.Path(folder) / "large.bin")]
    done = start(COMMAND, "run", "--mpiio", "--", *words)
    duplicate, count = 27, 2  # Open MPI's numbers
    assert done.returncode == 0 and done.stdout == f"{[(0, duplicate, count)] * 2}\n", done
    # The MPI itself answers alike, with and without the libraries.
    program.write_text(LARGE.replace("most = 2**31", "most = 1"))
    own, off = (start(*words_before, *words, env=os.environ | {"SLUICE_MPIIO": "off"})
                for words_before in ((), (COMMAND, "run", "--mpiio", "--")))
    assert own.returncode == 0 and (own.returncode, own.stdout) == (off.returncode, off.stdout), off


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


def test_record(folder):
    """A file for each step, of three ranks' contiguous parts."""
    record = pathlib.Path(folder) / "record.json"
    for abi in TESTED:
        record.unlink(missing_ok=True)
        done = start(COMMAND, "run", "--mpiio", "--", *launched(abi, folder, 4, 30_000),
                     env=os.environ | {"SLUICE_MPIIO_RECORD": str(record)})
        assert done.returncode == 0 and done.stderr == "", done
        [series] = json.loads(record.read_text())["series"]
        size = 24 * (2 * 30_000 + 17)
        assert (series["files"], series["steps"], series["ranks"]) == (4, 4, 2), series
        assert series["path"].endswith("spins-#.bin"), series
        assert series["independent_write_bytes"] == 4 * 16, series
        [kind] = series["collective_writes"]
        assert kind["bytes"] == 4 * size and not kind["interleaved"], kind
        assert kind["mean_run_bytes"] == size // 2, kind
        assert kind["alignment_bytes"] == 16, kind
        planned = start(COMMAND, "plan", "--from", record, "--ranks", "64", "--machine", "archer",
                        "--json")
        assert planned.returncode == 0, planned
        plan = json.loads(planned.stdout)
        assert plan["ranks"] == 64 and "2 ranks wrote" in plan["recorded"], plan
        for prediction in plan["predictions"]:
            assert abs(prediction["written_bytes"] / size - 1) < 0.02, prediction


def test_record_with_a_decimal_comma(folder):
    """The numbers of the record have points, whatever locale the program has set."""
    made = subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", f"{folder}/de_DE.UTF-8"],
                          capture_output=True, check=False) if shutil.which("localedef") else None
    if made is None or made.returncode > 1:  # 1: with warnings
        print("skipped: no localedef")
        return
    record = pathlib.Path(folder) / "comma.json"
    done = start(COMMAND, "run", "--mpiio", "--", *launched(TESTED[0], folder, 2, 30_000),
                 env=os.environ | {"SLUICE_MPIIO_RECORD": str(record), "LOCPATH": str(folder),
                                   "LC_ALL": "de_DE.UTF-8"})
    assert done.returncode == 0, done
    [series] = json.loads(record.read_text())["series"]
    assert series["open_s"] > 0, series


def test_records_that_are_none(folder):
    other = pathlib.Path(folder) / "other.json"
    other.write_text("[1, 2]")
    done = start(COMMAND, "run", "--mpiio", "--", *launched(TESTED[0], folder),
                 env=os.environ | {"SLUICE_MPIIO_RECORD": str(other)})
    assert done.returncode == 0 and "is no record of MPI-IO" in done.stderr, done
    assert other.read_text() == "[1, 2]"
    head = '{"sluice_mpiio_record": 1, "series": ['
    kind = '{"mean_run_bytes": 0, "bytes": 9, "interleaved": true, "calls": 1}'
    for text in ("", "[1, 2]", "{}", head + "]}", head + '{"collective_writes": 3}]}',
                 head + '{"path": "a", "ranks": 2, "steps": 1, "open_s": 1, "write_s": 0, '
                 f'"collective_writes": [{kind}]}}]}}',
                 head + '{"path": "a", "ranks": -2, "steps": 1, "open_s": 1, "write_s": 0, '
                 f'"collective_writes": [{kind}]}}]}}'):
        other.write_text(text)
        done = start(COMMAND, "plan", "--from", other)
        assert done.returncode == 2 and done.stderr.count("\n") == 1, (text, done)
        assert "other.json" in done.stderr, done


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    with tempfile.TemporaryDirectory(prefix="sluice-mpiio-") as temporary:
        test_run(temporary)
        test_env(temporary)
        test_python(temporary)
        test_large_counts_of_python(temporary)
        test_record(temporary)
        test_record_with_a_decimal_comma(temporary)
        test_records_that_are_none(temporary)
    test_exit_codes()
