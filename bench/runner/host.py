"""Facts of the machine that belong beside every figure."""

import os
import platform
import shlex
import subprocess
import time


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


def _cpu_times():
    """Seconds since the start of the machine, summed over its cores: busy, and all."""
    with open("/proc/stat", encoding="utf-8") as lines:
        ticks = [int(word) for word in lines.readline().split()[1:9]]
    idle = ticks[3] + ticks[4]  # idle, and waiting for the disk
    per_second = os.sysconf("SC_CLK_TCK")
    return (sum(ticks) - idle) / per_second, sum(ticks) / per_second


def _busy_cores(seconds=1):
    """How many cores others keep busy now. The load average would count what ended a minute ago,
    such as the case before this one."""
    try:
        busy, total = _cpu_times()
        time.sleep(seconds)
        busy_then, total_then = _cpu_times()
    except (OSError, ValueError, IndexError):
        return None
    passed = total_then - total
    if passed <= 0:
        return None
    # The time that waits for the disk may decrease: proc(5).
    return min(1.0, max(0.0, (busy_then - busy) / passed)) * os.cpu_count()


def activity(facts):
    """What else the machine did as a run began, as text; "" where that is not known."""
    if facts.get("busy_cores") is not None:
        return f"{facts['busy_cores']:.1f} cores busy as it began"
    if facts.get("load_1min") is not None:  # of runs before 30 November 2026
        return f"load {facts['load_1min']:.1f} as it began"
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
        "busy_cores": _busy_cores(),
    }
