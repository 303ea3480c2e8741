"""restart_test.py VAMPIRE SLUICE MPIEXEC...: runs that are killed at random (the whole job, one
rank, or by a signal that asks them to end) and restarted from their checkpoints on another number
of ranks, again and again, end with the spins and the output file of an undisturbed run, bit for
bit. SLUICE_LONG=1: 50 kills, else 2."""

import contextlib
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from jobs import is_alive, kill_job, ranks_of  # noqa: E402

WAYS = ("job", "rank", "signal")


def command(ranks, vampire, mpiexec, strategy):
    return [*mpiexec, "-n", str(ranks), vampire, "--digest", "--output", "spins.h5", "--lattice",
            "bcc", "--size", "6", "6", "6", "--start", "random", "--temperature", "300", "--steps",
            "1500", "--every", "50", "--checkpoint", "state.h5", "--checkpoint-every", "20",
            "--strategy", strategy]


def digest(out):
    return re.search(r"^digest: (\w+)$", out, re.M)[1]


def wait_for_checkpoint(run, folder, after):
    """Until a checkpoint is there that was not there before; false where the run has ended."""
    limit = time.monotonic() + 120
    state = folder / "state.h5"
    while run.poll() is None and time.monotonic() < limit:
        if state.exists() and state.stat().st_mtime_ns != after:
            return True
        time.sleep(0.005)
    assert run.poll() is not None, "no checkpoint within 120 s"
    return False


def disturb(run, way, source):
    """False where the ranks have ended by themselves."""
    ranks = ranks_of(run)
    if not ranks:
        return False
    if way == "job":
        kill_job(run)
    elif way == "signal":
        os.kill(run.pid, signal.SIGUSR1)  # mpirun hands it on; the run ends by itself
    else:
        with contextlib.suppress(ProcessLookupError):
            os.kill(source.choice(ranks), signal.SIGKILL)
    return True


def main(vampire, sluice, *mpiexec):
    kills = 50 if os.environ.get("SLUICE_LONG") == "1" else 2
    seed = int(os.environ.get("SLUICE_SEED", "1"))
    source = random.Random(seed)
    os.environ["SLUICE_TIMEOUT_S"] = "60"
    done = {way: 0 for way in WAYS}
    rounds = 0
    with tempfile.TemporaryDirectory() as name:
        goal = Path(name) / "goal"
        goal.mkdir()
        undisturbed = subprocess.run(command(2, vampire, mpiexec, "serial"), cwd=goal, timeout=600,
                                     capture_output=True, text=True)
        assert undisturbed.returncode == 0, undisturbed.stderr
        wanted = digest(undisturbed.stdout)
        while sum(done.values()) < kills:
            rounds += 1
            folder = Path(name) / f"round{rounds}"
            folder.mkdir()
            ranks = 0
            while True:
                ranks = source.choice([r for r in (1, 2, 3, 4) if r != ranks])
                state = folder / "state.h5"
                before = state.stat().st_mtime_ns if state.exists() else None
                run = subprocess.Popen(
                    command(ranks, vampire, mpiexec, source.choice(("shared", "collective"))),
                    cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                    start_new_session=True)
                wants = sum(done.values()) < kills
                way = WAYS[sum(done.values()) % 3]
                if wants and wait_for_checkpoint(run, folder, before):
                    time.sleep(source.uniform(0, 0.3))
                    if run.poll() is None and disturb(run, way, source):
                        done[way] += 1
                children = ranks_of(run)
                out, err = run.communicate(timeout=600)
                while any(is_alive(process) for process in children):
                    time.sleep(0.01)
                if before is not None:
                    assert "goes on from checkpoint" in out or run.returncode != 0, out + err
                if run.returncode == 0 and re.search(r"^ +1500 ", out, re.M):
                    break
            assert digest(out) == wanted, f"seed {seed}, round {rounds}: {out}"
            same = subprocess.run([sluice, "diff", str(goal / "spins.h5"),
                                   str(folder / "spins.h5")], capture_output=True, text=True)
            assert same.returncode == 0, f"seed {seed}, round {rounds}: {same.stdout}{same.stderr}"
            listed = subprocess.run([sluice, "checkpoints", str(folder / "state.h5")],
                                    capture_output=True, text=True)
            assert listed.returncode == 0, listed.stdout + listed.stderr
    print(f"{sum(done.values())} kills ({done}) in {rounds} runs: spins and output bit for bit "
          "those of an undisturbed run")


main(*sys.argv[1:])
