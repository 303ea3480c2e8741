"""Jobs that a test has started by mpirun, and how it kills them."""

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path


def ranks_of(run):
    """The processes that mpirun has started: they are in process groups of their own."""
    found = subprocess.run(["pgrep", "-P", str(run.pid)], capture_output=True, text=True)
    return [int(line) for line in found.stdout.split()]


def kill_job(run):
    """Kills mpirun and its ranks, and returns when none of them is left to write anything."""
    every = [run.pid, *ranks_of(run)]
    for process in every:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    limit = time.monotonic() + 60
    while any(is_alive(process) for process in every[1:]) and time.monotonic() < limit:
        time.sleep(0.01)


def is_alive(process):
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False
