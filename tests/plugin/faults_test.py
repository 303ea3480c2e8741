"""T3 of the driver: every call of the storage fails once, or from then on until it is mended, or
until the file is closed, with EIO and ENOSPC. The flush says so; the file stays at a flush that it
may hold; the program goes on, and what it writes afterwards is in the file, or it is told that it
is not."""

import ctypes
import errno
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile

import h5py
import numpy

import recorded

STEPS = 4
CONFIGS = ("", "apply=later")


def step_of(f, i):
    if i == 0:
        f.create_dataset("rows", (0, 20), maxshape=(None, 20), chunks=(4, 20), dtype="f8")
        f["fixed"] = numpy.zeros(300)
    f["rows"].resize(3 * (i + 1), axis=0)
    f["rows"][3 * i:] = i + 1
    f["fixed"][20:200] = i + 1
    f.attrs["step"] = i


def is_right(path, whole, last_possible, driver=None):
    """Does plain HDF5 find a step not older than the last of `whole`, and the rows of those?"""
    with h5py.File(path, "r", locking=False, driver=driver) as f:
        if not whole and "step" not in f.attrs:
            return  # the first step failed half-way, as was told, and a flush took what it had
        step = int(f.attrs["step"])
        rows = f["rows"][()]
        fixed = f["fixed"][()]
        assert max(whole, default=0) <= step <= last_possible, f"step {step}, {whole}"
        for i in whole:
            assert (rows[3 * i:3 * i + 3] == i + 1).all(), f"rows of step {i}: {rows[3 * i:]}"
        if whole == list(range(step + 1)):
            assert (fixed[20:200] == step + 1).all(), "fixed"


def judge_now(path, whole, last_possible):
    """What the file holds after a flush has failed: as the driver reads it a flush that it may
    hold; by HDF5's own driver that too, or the one before where that could not be brought in place
    (any where it is applied later), or it is refused. A file that has no name yet has no say."""
    if not whole:
        return
    with tempfile.TemporaryDirectory(prefix="sluice-plugin-") as folder:
        copy = os.path.join(folder, "file.h5")
        for end in ("", ".sluice-journal"):
            if os.path.exists(path + end):
                shutil.copy(path + end, copy + end)
        is_right(copy, whole, last_possible)
    try:
        h5py.File(path, "r", locking=False, driver="sec2").close()
    except OSError as problem:
        assert "signature" in str(problem), problem
        return
    is_later = os.environ["HDF5_DRIVER_CONFIG"] != ""
    is_right(path, [] if is_later else whole[:-1], last_possible, "sec2")


def flush_again(f, whole, i):
    """What a program does that waits for space: what it wrote before is in the file then."""
    try:
        f.flush()
        whole.append(i)
        return 0
    except (OSError, RuntimeError):
        return 1


ONCE, UNTIL_MENDED, UNTIL_CLOSED = 0, 1, 2


def carry_out(watched, path, nth, number, persistent):
    """Steps whose flush returned without an error, how many calls failed, and how many calls there
    were before the close."""
    h5py._errors.silence_errors()
    whole = []
    failed = 0
    if nth:
        watched.watched_fail(nth, number, int(persistent != ONCE), 100)
    try:
        f = h5py.File(path, "w")
    except OSError:
        watched.watched_heal()
        return None, 1, 0
    for i in range(STEPS):
        is_written = False
        try:
            step_of(f, i)
            is_written = True
            f.flush()
            whole.append(i)
        except (OSError, RuntimeError, ValueError, KeyError):
            failed += 1
            if persistent == UNTIL_MENDED:
                watched.watched_heal()
            if persistent != UNTIL_CLOSED:  # else nothing can be read either
                judge_now(path, whole, i)
            if is_written:
                failed += flush_again(f, whole, i)
            if i == 0 and not whole:
                break  # what follows needs it
        if persistent == UNTIL_MENDED and failed:
            watched.watched_heal()
    before_close = watched.watched_calls()
    try:
        f.close()
    except (OSError, RuntimeError, ValueError):
        failed += 1
    watched.watched_heal()
    return whole, failed, before_close


def trial(watched, folder, config, nth, number, persistent):
    """In a child, so that nothing of it remains. Returns what went wrong, failed calls, all calls,
    and those before the close."""
    path = os.path.join(folder, "file.h5")
    for name in os.listdir(folder):
        os.remove(os.path.join(folder, name))
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        os.environ["HDF5_DRIVER_CONFIG"] = config
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        try:
            whole, failed, before = carry_out(watched, path, nth, number, persistent)
            os.write(theirs,
                     json.dumps([whole, failed, watched.watched_calls(), before]).encode())
        except AssertionError as problem:
            os.write(theirs, json.dumps(f"while it ran: {problem}").encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    os.close(theirs)
    text = os.read(ours, 65536)
    os.close(ours)
    if not text:
        return "the program ended", 0, 0, 0
    told = json.loads(text)
    if isinstance(told, str):
        return told, 1, 0, 0
    whole, failed, calls, before = told
    if whole is None:
        return None, failed, calls, before
    try:
        if os.path.exists(path + ".sluice-journal"):
            subprocess.run([sys.executable, "-c",
                            "import h5py, sys; h5py.File(sys.argv[1], 'r+').close()", path],
                           check=True, capture_output=True)
        if whole or os.path.exists(path):
            # Through plain HDF5, in a process without the driver.
            done = subprocess.run([sys.executable, __file__, "check", path, json.dumps(whole)],
                                  env={**os.environ, "HDF5_DRIVER": ""}, capture_output=True,
                                  text=True, check=False)
            if done.returncode != 0:
                return done.stderr.strip().splitlines()[-1], failed, calls, before
    except (OSError, subprocess.CalledProcessError) as problem:
        return str(problem), failed, calls, before
    return None, failed, calls, before


def main():
    watched = ctypes.CDLL(os.environ["SLUICE_WATCHED_DRIVER"])
    watched.watched_calls.restype = ctypes.c_ulong
    watched.watched_fail.argtypes = [ctypes.c_ulong, ctypes.c_int, ctypes.c_int, ctypes.c_ulong]
    folder = tempfile.mkdtemp(prefix="sluice-plugin-")
    trials = errors = all_calls = 0
    faults = []
    every = 1 if recorded.IS_LONG else 59
    for config in CONFIGS:
        wrong, failed, calls, before_close = trial(watched, folder, config, 0, 0, ONCE)
        assert wrong is None and failed == 0, wrong
        all_calls += calls
        for number, persistent in itertools.product((errno.EIO, errno.ENOSPC),
                                                    (ONCE, UNTIL_MENDED, UNTIL_CLOSED)):
            first = 1 + (number + 3 * persistent) % every
            chosen = set(range(first, calls + 1, every))
            if persistent != UNTIL_MENDED and number == errno.EIO:
                chosen |= set(range(before_close + 1, calls + 1))  # every one of the close
            for nth in sorted(chosen):
                wrong, failed, *_ = trial(watched, folder, config, nth, number, persistent)
                trials += 1
                errors += 1 if failed else 0
                if wrong:
                    faults.append(f"call {nth} {errno.errorcode[number]} "
                                  f"{('once', 'until mended', 'until closed')[persistent]} "
                                  f"{config}: {wrong}")
    shutil.rmtree(folder)
    for fault in faults[:20]:
        print(fault)
    print(f"T3 hdf5-driver of one program: {all_calls} calls, {trials} trials, {errors} errors, 0 "
          f"files to be reopened, {len(faults)} answered wrongly")
    sys.exit(1 if faults else 0)


if sys.argv[1:2] == ["check"]:
    is_right(sys.argv[2], json.loads(sys.argv[3]), STEPS - 1)
elif os.environ.get("HDF5_DRIVER") != "sluice":
    os.execve(sys.executable, [sys.executable, *sys.argv],
              recorded.driver_environment(recorded.WATCHED))
else:
    main()
