"""Jobs that a test has started by mpirun, and how it kills them."""

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path


def processes_of(run):
    """The launcher and all that it has started, whatever is in between."""
    found = [run.pid]
    for process in found:
        children = subprocess.run(["pgrep", "-P", str(process)], capture_output=True, text=True)
        found += [int(line) for line in children.stdout.split()]
    return found


def looks(most_s, every_s):
    """`for _ in looks(60, 0.01)`: when to look whether something has happened. Counted, not timed:
    while the whole machine stands still, none is used up."""
    for _ in range(round(most_s / every_s)):
        yield
        time.sleep(every_s)


def kill(processes):
    """Kills them, and returns when none but the first, which is waited for elsewhere, is left."""
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    for _ in looks(60, 0.01):
        if not any(is_alive(process) for process in processes[1:]):
            return


def kill_job(run):
    """Kills a launcher and its ranks, and returns when none of them is left to write anything."""
    kill(processes_of(run))


def is_alive(process):
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False
