"""T2 of the driver: kill -9 at random moments. After the next opening with the driver the file
holds the values of the last flush that returned, or of the one after; what is there before that is
opened by plain HDF5 with the same, or refused.

Children are forked from a process that has h5py loaded under the driver, but no file open.
"""

import os
import random
import signal
import subprocess
import sys
import tempfile
import time

import programs
import recorded
import values

KILLS = 600 if recorded.IS_LONG else 24
SEED = int(os.environ.get("SLUICE_CRASH_SEED", "20261124"))
NAMES = ["append", "in-place", "groups", "moving", "netcdf4", "pytables", "replaced", "latest"]
CONFIGS = ["", "apply=later"]

STARTER = """
import os, sys
sys.path.insert(0, sys.argv[1])
import programs
for line in sys.stdin:
    name, path, told, config = line.rstrip("\\n").split(" ")
    os.environ["HDF5_DRIVER_CONFIG"] = config
    child = os.fork()
    if child == 0:
        out = os.open(told, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            if name == "open":
                import h5py
                h5py.File(path, "r+").close()
            else:
                programs.PROGRAMS[name][0](path, lambda: os.write(out, b"x"))
            os.write(out, b".")
        except BaseException as problem:
            os.write(out, b"!" + repr(problem).encode())
        os._exit(0)
    print(child, flush=True)
    os.waitpid(child, 0)
    print("ended", flush=True)
"""


class Starter:
    def __init__(self):
        self.process = subprocess.Popen([sys.executable, "-c", STARTER, recorded.HERE],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env=recorded.driver_environment())

    def run(self, name, path, told, kill_after_s=None, config=""):
        """What the child told: an x for every flush, and a dot at its end."""
        self.process.stdin.write(f"{name} {path} {told} {config}\n")
        self.process.stdin.flush()
        child = int(self.process.stdout.readline())
        if kill_after_s is not None:
            time.sleep(kill_after_s)
            try:
                os.kill(child, signal.SIGKILL)
            except ProcessLookupError:
                pass
        assert self.process.stdout.readline() == "ended\n"
        if not os.path.exists(told):
            return ""  # killed before it had begun
        with open(told, encoding="ascii") as file:
            return file.read()


def digest(path):
    try:
        return values.digest_of(path) if os.path.exists(path) else None
    except values.Refused:
        return "refused"


def main():
    random.seed(SEED)
    starter = Starter()
    states, seconds = {}, {}
    folder = tempfile.mkdtemp(prefix="sluice-plugin-")
    for name in NAMES:
        run = recorded.Recorded(name)
        states[name] = run.states
        run.remove()
        path = os.path.join(folder, f"time-{name}.h5")
        programs.PROGRAMS[name][1](path)
        began = time.monotonic()
        assert starter.run(name, path, path + ".told").endswith("."), name
        seconds[name] = time.monotonic() - began
    kills = flushes = lost = unfinished = replayed = 0
    slowest = 0.0
    while kills < KILLS:
        name = NAMES[(kills + unfinished) % len(NAMES)]
        path = os.path.join(folder, f"{kills}-{unfinished}.h5")
        programs.PROGRAMS[name][1](path)
        config = CONFIGS[(kills + unfinished) // len(NAMES) % len(CONFIGS)]
        told = starter.run(name, path, path + ".told", random.uniform(0, seconds[name]), config)
        assert "!" not in told, told
        if told.endswith("."):
            unfinished += 1
            assert unfinished < 20 * KILLS
            continue
        kills += 1
        returned = told.count("x")
        flushes += returned
        allowed = states[name][returned:returned + 2]
        # Applied later, an older one is in place; but the first flush names the file.
        older = [state for state in states[name][:returned] if state] if config else []
        plain = digest(path)
        replayed += plain == "refused" or plain in older
        began = time.monotonic()
        if os.path.exists(path):
            opened = starter.run("open", path, path + ".opened")
            assert opened == "." or digest(path) is None, f"{name}: {opened}"
        slowest = max(slowest, time.monotonic() - began)
        if digest(path) not in allowed or plain not in (*older, *allowed, "refused"):
            lost += 1
            print(f"{name}: killed after flush {returned}: {path}")
    starter.process.stdin.close()
    starter.process.wait()
    print(f"T2 hdf5 driver seed {SEED}: {kills} kills of h5py, netCDF4 and PyTables, {flushes} "
          f"steps acknowledged, {lost} lost, {unfinished} ended before, {replayed} replayed, "
          f"slowest recovery {slowest:.3f} s")
    if lost == 0:
        subprocess.run(["rm", "-r", folder], check=True)
    sys.exit(1 if lost else 0)


main()
