"""drain_test.py MPIEXEC...: runs with scratch, most of them incremental, that are killed while a
checkpoint is drained, and then restarted, at times without the node's storage: what is restored is
the newest that was saved or the one after it, or, where the node is lost, the newest that was
drained or a later one. SLUICE_LONG=1: 200 kills while one is drained that refers to bytes of an
earlier one, two runs at once; else 2. With the word `victim` it is the run."""

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

ELEMENTS = 1 << 20  # 8 MB


def victim():
    """Says what it restored, saved and drained, until it is killed; `last`: only restores."""
    import numpy as np
    import sluice
    comm = None
    if os.environ.get("OMPI_COMM_WORLD_SIZE", "1") != "1":
        from mpi4py import MPI
        comm = MPI.COMM_WORLD
    rank, ranks = (comm.rank, comm.size) if comm else (0, 1)
    first, end = ELEMENTS * rank // ranks, ELEMENTS * (rank + 1) // ranks
    place = np.arange(first, end, dtype=np.float64)
    data = np.empty(end - first)
    wanted = np.sqrt(place)
    table = np.full(end - first, -1.0)  # never changes once it is there

    def say(*words):
        if rank == 0:
            print(*words, flush=True)

    with sluice.Checkpoint("state.h5", comm=comm, scratch=os.environ["NODE"],
                           incremental=os.environ["INCREMENTAL"] == "1", log="off") as state:
        state.array("data", data, shape=(ELEMENTS,), start=(first,))
        state.array("table", table, shape=(ELEMENTS,), start=(first,))
        key = state.value("key", np.int64(0))
        restored = state.restore()
        if restored:
            assert restored.number == key and (data == place + int(key)).all(), restored
            assert (table == wanted).all(), restored
        table[:] = wanted
        say("restored", int(key))
        while len(sys.argv) < 3:
            key[()] += 1
            data[:] = place + int(key)
            say("begun", int(key))
            saved = state.save(float(key))
            assert saved, saved.why
            say("saved", int(key))
            while not state.drain(0.001):
                say("draining", int(key))
            say("drained", int(key))


def value_of(words, name, otherwise):
    found = [int(line.split()[1]) for line in words if line.startswith(name + " ")]
    return found[-1] if found else otherwise


class Runs:
    def __init__(self, folder, mpiexec, seed):
        self.folder, self.mpiexec, self.source = folder, mpiexec, random.Random(seed)
        self.node = folder / "node"
        self.incremental = "0"
        self.kills = self.draining = self.sharing = self.lost = 0
        self.least = self.most = self.drained = 0

    def start(self, ranks, *words):
        launcher = [*self.mpiexec, "-n", str(ranks)] if ranks > 1 else []
        self.incremental = self.source.choice("0111")
        return subprocess.Popen([*launcher, sys.executable, "-B", __file__, "victim", *words],
                                cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True, start_new_session=True,
                                env={**os.environ, "NODE": str(self.node),
                                     "INCREMENTAL": self.incremental})

    def check(self, words):
        number = value_of(words, "restored", None)
        assert number is not None and self.least <= number <= self.most, (
            f"kill {self.kills}: {number}, not {self.least} to {self.most}: {words}")
        return number

    def kill_once(self):
        run = self.start(self.source.choice((1, 1, 1, 2)))
        words = []
        wanted = self.source.randint(2, 5)  # the third one leaves out what does not change
        for line in run.stdout:
            words.append(line.strip())
            if line.startswith("saved"):
                wanted -= 1
            if wanted <= 0 and line.startswith(("saved", "draining")):
                break
        time.sleep(self.source.choice((0, 0, self.source.uniform(0, 0.03))))
        kill_job(run)
        words += [line.strip() for line in run.stdout]
        errors = run.stderr.read()
        run.wait()
        assert any(word.startswith("saved") for word in words), (words, errors)
        number = self.check(words)
        self.kills += 1
        self.drained = value_of(words, "drained", number)
        self.least = value_of(words, "saved", number)
        self.most = value_of(words, "begun", number)
        self.draining += self.least > self.drained
        saves = sum(word.startswith("saved") for word in words)
        self.sharing += self.least > self.drained and self.incremental == "1" and saves > 2
        if self.source.random() < 0.4:
            shutil.rmtree(self.node, ignore_errors=True)
            self.lost += 1
            self.least = self.drained


def run_until(kills, mpiexec, seed):
    """Kills runs in a folder of their own until so many were sharing; the counts."""
    with tempfile.TemporaryDirectory() as name:
        runs = Runs(Path(name), mpiexec, seed)
        while runs.sharing < kills:
            runs.kill_once()
        last = runs.start(2, "last")
        out, err = last.communicate(timeout=300)
        assert last.returncode == 0, out + err
        runs.check(out.splitlines())
        left = [path for path in runs.node.rglob("*") if path.is_file()]
        assert not left, left
    return runs


def main(mpiexec):
    kills = 200 if os.environ.get("SLUICE_LONG") == "1" else 2
    seed = int(os.environ.get("SLUICE_SEED", "1"))
    at_once = min(2, kills // 2)
    with ThreadPoolExecutor(at_once) as pool:
        runs = list(pool.map(lambda n: run_until(kills // at_once, mpiexec, seed + n),
                             range(at_once)))

    def total(name):
        return sum(getattr(one, name) for one in runs)

    print(f"T2c drain: {total('kills')} kills, {total('draining')} while draining, "
          f"{total('sharing')} of these incremental, {total('lost')} nodes lost, 0 wrong")


if sys.argv[1:2] == ["victim"]:
    victim()
else:
    from jobs import kill_job
    os.environ["SLUICE_TIMEOUT_S"] = "60"
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    main(sys.argv[1:])
