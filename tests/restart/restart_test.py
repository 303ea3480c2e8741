"""restart_test.py APP PROGRAM SLUICE MPIEXEC...: runs of an app that are killed at random (the
whole job, one rank, or by a signal with a deadline) and restarted from their checkpoints on another
number of ranks, again and again, end with the result of an undisturbed run, to the app's stated
accuracy. SLUICE_LONG=1: 50 kills, else 3."""

import contextlib
import importlib.util
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
from apps import ROWS, command  # noqa: E402
from jobs import is_alive, kill, looks, processes_of  # noqa: E402

WAYS = ("job", "rank", "signal")
LIMIT_S = 600


class Test:
    def __init__(self, app, program, sluice, mpiexec):
        self.app, self.row, self.program = app, ROWS[app], Path(program)
        self.sluice, self.mpiexec = sluice, mpiexec
        self.kills = 50 if os.environ.get("SLUICE_LONG") == "1" else len(WAYS)
        self.seed = int(os.environ.get("SLUICE_SEED", "1"))
        self.source = random.Random(self.seed)
        self.done = {way: 0 for way in WAYS}
        self.late = 0  # signals whose deadline came before the run had ended

    def start(self, folder, ranks, strategy):
        return subprocess.Popen(
            command(self.app, str(self.program), self.mpiexec, ranks, strategy), cwd=folder,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)

    def undisturbed(self, folder):
        self.row.prepare(folder, self.program)
        run = self.start(folder, self.row.ranks[0], "serial")
        out, err = run.communicate(timeout=LIMIT_S)
        assert run.returncode == 0 and re.search(self.row.ended, out, re.M), out + err
        (folder / "state.h5").unlink()
        return self.row.result(folder, out)

    def disturb(self, run):
        """Counts the kill, unless the ranks have ended by themselves."""
        way = WAYS[sum(self.done.values()) % len(WAYS)]
        every = processes_of(run)
        ranks = [p for p in every if p != run.pid and self.is_rank(p)]
        if run.poll() is not None or not ranks:
            return
        if way == "job":
            kill(every)
        elif way == "rank":
            kill([self.source.choice(ranks)])
        else:
            # Charm++ has a handler of SIGTERM of its own.
            asked = signal.SIGUSR1 if self.row.by_charm else signal.SIGTERM
            for rank in ranks:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(rank, asked)
            with contextlib.suppress(subprocess.TimeoutExpired):
                run.wait(self.source.choice((0.1, 1, 30)))
            if run.poll() is None:
                self.late += 1
                kill(every)
        self.done[way] += 1

    def is_rank(self, process):
        """Of what the launcher has started: a rank, not a part of the launcher."""
        with contextlib.suppress(OSError):
            words = Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
            name = os.path.basename(words[0].decode())
            return name.startswith("python") if self.row.by_charm else name == self.program.name
        return False

    def wait_for_checkpoint(self, run, folder, after):
        """Until a checkpoint is there that was not there before; false where the run has ended."""
        state = folder / "state.h5"
        for _ in looks(120, 0.005):
            if run.poll() is not None:
                return False
            if state.exists() and state.stat().st_mtime_ns != after:
                return True
        raise AssertionError("no checkpoint within 120 s")

    def one_round(self, folder, goal, wanted):
        """One result, out of as many runs as are killed before it."""
        ranks = 0
        for _ in range(self.kills + 20):
            ranks = self.source.choice([r for r in self.row.ranks if r != ranks])
            state = folder / "state.h5"
            before = state.stat().st_mtime_ns if state.exists() else None
            run = self.start(folder, ranks, self.source.choice(
                ("shared", "collective", "forward")))
            wants = sum(self.done.values()) < self.kills
            if wants and self.wait_for_checkpoint(run, folder, before):
                time.sleep(self.source.uniform(0, 0.3))
                self.disturb(run)
            children = processes_of(run)
            out, err = run.communicate(timeout=LIMIT_S)
            while any(is_alive(process) for process in children):
                time.sleep(0.01)
            if before is not None:
                assert self.row.resumed in out or run.returncode != 0, out + err
            if run.returncode == 0 and re.search(self.row.ended, out, re.M):
                break
        else:
            raise AssertionError(f"seed {self.seed}, {folder.name}: no run ends: {out}{err}")
        where = f"seed {self.seed}, {folder.name}: "
        assert self.row.same(wanted, self.row.result(folder, out)), where + out
        for name in self.row.files:
            self.sluice_says("diff", goal / name, folder / name)
        self.sluice_says("checkpoints", state)

    def sluice_says(self, *words):
        said = subprocess.run([self.sluice, *map(str, words)], capture_output=True, text=True)
        assert said.returncode == 0, said.stdout + said.stderr

    def run(self, scratch):
        goal = scratch / "goal"
        goal.mkdir()
        wanted = self.undisturbed(goal)
        rounds = 0
        while sum(self.done.values()) < self.kills:
            rounds += 1
            folder = scratch / f"round{rounds}"
            folder.mkdir()
            self.row.prepare(folder, self.program)
            self.one_round(folder, goal, wanted)
        print(f"{self.app}: {sum(self.done.values())} kills ({self.done}, {self.late} signals with "
              f"a deadline that was too short) in {rounds} runs: the results are those of an "
              f"undisturbed run, {self.row.accuracy}")


if ROWS[sys.argv[1]].by_charm and importlib.util.find_spec("charm4py") is None:
    print("skipped: charm4py is not installed (python/requirements-dev.txt)")
    sys.exit(77)
os.environ["SLUICE_TIMEOUT_S"] = "60"
with tempfile.TemporaryDirectory() as name:
    Test(*sys.argv[1:4], sys.argv[4:]).run(Path(name))
