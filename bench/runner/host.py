"""Facts of the machine that belong beside every figure."""

import os
import platform
import shlex
import subprocess


def _first_line(command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip().partition("\n")[0]


def _from_file(path, key):
    try:
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                name, _, text = line.partition(":")
                if name.strip() == key:
                    return text.strip()
    except OSError:
        pass
    return ""


def facts(folder, repository, mpirun):
    """A dict of strings and numbers; what cannot be found is empty."""
    commit = _first_line(["git", "-C", repository, "describe", "--always", "--dirty"])
    return {
        "commit": commit,
        "cpu": _from_file("/proc/cpuinfo", "model name"),
        "cores": os.cpu_count(),
        "memory": _from_file("/proc/meminfo", "MemTotal"),
        "kernel": platform.release(),
        "file_system": _first_line(["findmnt", "-n", "-o", "FSTYPE", "-T", folder]),
        "mpi": _first_line([shlex.split(mpirun)[0], "--version"]),
        "load_1min": os.getloadavg()[0],
    }
