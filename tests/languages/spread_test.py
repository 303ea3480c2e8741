"""spread_test.py SLUICE SPREAD...: every SPREAD (examples/spread.*) goes on from a checkpoint of
every other, on another number of ranks, and ends as if nothing had happened; also where it was
killed, and where a signal ended it. At most ten lines of it are the library's (in C
eleven), and
docs/checkpoint.md shows them as they are."""

import itertools
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import h5py

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from jobs import kill_job, looks  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
STEPS = 95
MARK = re.compile(r"\s*(?://|/\*|!|#) (\d+)(?: \*/)?$")


def command(program, ranks, steps):
    python = [sys.executable, "-B"] if program.suffix == ".py" else []
    return [*os.environ["SLUICE_MPIEXEC"].split(), "-n", str(ranks), *python, str(program),
            str(steps)]


def spread(program, ranks, steps, folder):
    """(steps, sum) that it prints."""
    done = subprocess.run(command(program, ranks, steps), cwd=folder, capture_output=True,
                          text=True, timeout=120)
    assert done.returncode == 0, f"{program} {ranks} {steps}: {done.stdout}{done.stderr}"
    reached, total = done.stdout.split()
    return int(reached), float(total)


def near(one, other):
    """Equal but for the order in which compilers of two languages add."""
    return one[0] == other[0] and abs(one[1] / other[1] - 1) < 1e-13


def numbers(sluice, folder):
    """The checkpoints that are good, the newest first."""
    done = subprocess.run([sluice, "checkpoints", "spread.h5", "--json"], cwd=folder,
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr + done.stdout
    listed = json.loads(done.stdout)["checkpoints"]
    assert all(one["good"] for one in listed) and len(listed) <= 2, listed
    assert all(one["written"] == one["bytes"] for one in listed), "nothing is shared"
    return [one["number"] for one in listed]


def check_shown(name):
    """The lines that are the library's: at most ten, and those of the page."""
    page = (ROOT / "docs" / "checkpoint.md").read_text()
    lines = (ROOT / "examples" / name).read_text().splitlines()
    marked = [(int(MARK.search(line)[1]), MARK.sub("", line)) for line in lines if
              MARK.search(line)]
    assert [number for number, _ in marked] == list(range(1, len(marked) + 1)), marked
    most = 11 if name == "spread.c" else 10  # C has no exception that tells what is wrong
    assert len(marked) <= most, f"{name}: {len(marked)} lines"
    for _, line in marked:
        assert line.strip() in page, f"docs/checkpoint.md does not show {line.strip()}"
    rest = [line for line in lines if line.strip() and not MARK.search(line)]
    assert not any(re.search(r"sluice|state[.%]", line, re.I) for line in rest[3:]), name
    assert len(rest) <= 70, f"{name}: {len(rest)} lines"


def check_without_a_word(programs):
    """Without STEPS they take 100; a file that is no checkpoint is told, and left as it is."""
    for program in programs:
        with tempfile.TemporaryDirectory() as folder:
            words = command(program, 2, "")[:-1]
            run = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=120)
            assert run.returncode == 0 and run.stdout.startswith("100 "), (program, run)
            file = Path(folder, "spread.h5")
            file.write_text("something else")
            run = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=120)
            assert run.returncode != 0 and "spread.h5: " in run.stderr, (program, run)
            assert file.read_text() == "something else", program


def stopped(program, ranks, folder, number):
    """Ends a run of many steps by a signal, once it has saved a checkpoint."""
    with subprocess.Popen(command(program, ranks, 10 ** 8), cwd=folder, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, start_new_session=True) as run:
        for _ in looks(60, 0.01):
            if (folder / "spread.h5").exists():
                break
        kill_job(run) if number == signal.SIGKILL else os.kill(run.pid, number)
        out, err = run.communicate(timeout=60)
    return run.returncode, out, err


def check_damaged(sluice, program, folder):
    """A checkpoint that is damaged is listed as such, and the one before is gone on with."""
    spread(program, 2, 45, folder)
    newest = max((folder / "spread.h5.parts").glob("*.h5"))
    with h5py.File(newest, "r") as part:
        at = part["u"].id.get_chunk_info(0).byte_offset if part["u"].chunks else \
            part["u"].id.get_offset()
    with open(newest, "r+b") as part:
        part.seek(at + 100)
        byte = part.read(1)
        part.seek(at + 100)
        part.write(bytes([byte[0] ^ 1]))
    command = [sluice, "checkpoints", "spread.h5"]
    text = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)
    assert text.returncode == 1 and re.search(r"^ +4 +40 .* 2 .*DAMAGED: .*u", text.stdout, re.M) \
        and re.search(r"^ +3 +30 .* good$", text.stdout, re.M), text
    listed = json.loads(subprocess.run([*command, "--json"], cwd=folder, capture_output=True,
                                       text=True, timeout=60).stdout)["checkpoints"]
    assert [one["good"] for one in listed] == [False, True] and "u" in listed[0]["why"], listed
    assert [(one["number"], one["time"], one["ranks"]) for one in listed] == [
        (4, 40, 2), (3, 30, 2)] and listed[1]["why"] is None, listed
    spread(program, 3, 45, folder)
    assert numbers(sluice, folder) == [5, 3], "gone on with the third, which is still there"
    with h5py.File(folder / "other.h5", "w") as other:
        other["x"] = 1
    refused = subprocess.run([sluice, "checkpoints", "other.h5"], cwd=folder, capture_output=True,
                             text=True, timeout=60)
    assert refused.returncode == 2 and "no checkpoints" in refused.stderr, refused


def main(sluice, *names):
    is_long = os.environ.get("SLUICE_LONG") == "1"
    os.environ["SLUICE_DURABILITY"] = "none"
    programs = [Path(name) for name in names]
    for ending in ("cpp", "c", "f90", "py"):
        check_shown(f"spread.{ending}")
    goals = {}
    for program in programs:
        with tempfile.TemporaryDirectory() as folder:
            goals[program] = spread(program, 3, STEPS, folder)
    check_without_a_word(programs)
    goal = next(iter(goals.values()))
    assert goal[0] == STEPS and all(near(g, goal) for g in goals.values()), goals
    pairs = list(zip(programs, programs[1:] + programs[:1]))
    for first, second in itertools.permutations(programs, 2) if is_long else pairs:
        with tempfile.TemporaryDirectory() as folder:
            assert spread(first, 3, 45, folder)[0] == 45
            assert numbers(sluice, folder) == [4, 3]
            assert near(spread(second, 2, STEPS, folder), goals[second]), (first, second)
            assert numbers(sluice, folder) == [9, 8]
    ends = [(programs[0], signal.SIGKILL), (programs[-1], signal.SIGUSR1)]
    for program, number in itertools.product(programs, (signal.SIGKILL, signal.SIGUSR1)) \
            if is_long else ends:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            code, out, err = stopped(program, 2, folder, number)
            if number != signal.SIGKILL:
                assert code == 0, (code, out, err)
            last = numbers(sluice, folder)[0]
            reached, _ = spread(program, 3, 10 * last + 20, folder)
            assert reached >= 10 * last
            with tempfile.TemporaryDirectory() as other:
                alone, going_on = (spread(program, 1, reached, other),
                                   spread(program, 4, reached, folder))
                assert alone == going_on, (program, number, last, reached, alone, going_on)
    for program in programs if is_long else programs[-2:-1]:
        with tempfile.TemporaryDirectory() as folder:
            spread(program, 3, 45, folder)
            assert spread(program, 2, STEPS, folder) == goals[program], "bit for bit"
    with tempfile.TemporaryDirectory() as name:
        check_damaged(sluice, programs[0], Path(name))
    print(f"{len(programs)} languages: every restart ends as the undisturbed run")


main(*sys.argv[1:])
