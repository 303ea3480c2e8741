"""checksums=on: `sluice verify` finds every byte that changes without the driver, and never calls
a file damaged that is not: after any program, any kill, changes by plain HDF5, a table that is cut.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import h5py
import numpy

import programs
import recorded

FOLDER = tempfile.mkdtemp(prefix="sluice-plugin-")
SEED = int(os.environ.get("SLUICE_CRASH_SEED", "20261125"))
KILLS = 200 if recorded.IS_LONG else 12
ON = {**recorded.driver_environment(), "HDF5_DRIVER_CONFIG": "checksums=on"}


def path_of(name):
    return os.path.join(FOLDER, name)


def python(code, *arguments, environment=None):
    return subprocess.run([sys.executable, "-c", "import h5py, numpy, sys\n" + code, *arguments],
                          env=ON if environment is None else environment, capture_output=True,
                          text=True, timeout=120, check=False)


def run(code, *arguments, environment=None):
    done = python(code, *arguments, environment=environment)
    assert done.returncode == 0, done.stderr
    return done.stderr


def verify(path, launcher=()):
    done = subprocess.run([*launcher, os.environ["SLUICE_COMMAND"], "verify", "--json", path],
                          env={**os.environ, "HDF5_DRIVER": ""}, capture_output=True, text=True,
                          timeout=120, check=False)
    try:
        return done.returncode, json.loads(done.stdout)[0]
    except (ValueError, IndexError) as e:
        raise AssertionError(f"{path}: {done.returncode} {done.stdout} {done.stderr}") from e


def is_well(path):
    code, verdict = verify(path)
    size = os.path.getsize(path)
    return (code, verdict["state"], verdict["bytes"], verdict["uncovered"]) == (0, "ok", size, [])


def flip(path, offset, bit=0):
    """As a disk does: without a new time of modification."""
    times = os.stat(path)
    with open(path, "r+b") as file:
        file.seek(offset)
        byte = file.read(1)[0]
        file.seek(offset)
        file.write(bytes([byte ^ 1 << bit]))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


ROWS = """
with h5py.File(sys.argv[1], 'w') as f:
    rows = f.create_dataset('rows', (0, 1000), maxshape=(None, 1000), chunks=(16, 1000), dtype='f8')
    for i in range(4):
        rows.resize(16 * (i + 1), axis=0)
        rows[16 * i:] = numpy.random.default_rng(i).random((16, 1000))
        f.flush()
"""
PLAIN = {**os.environ, "HDF5_DRIVER": ""}


def test_every_program_is_well():
    for name, (_, before) in programs.PROGRAMS.items():
        for more in ("", ",apply=later", ",budget_bytes=1KiB"):
            config = "checksums=on" + more
            path = path_of(f"{name}-{config.replace(',', '-')}.h5")
            before(path)
            recorded.run_program(name, path, "plain", FOLDER, {**ON, "HDF5_DRIVER_CONFIG": config})
            code, verdict = verify(path)
            # What was there before has none, but for what was changed.
            assert (code, verdict["state"]) == (0, "ok"), (name, config, verdict)
            assert verdict["bytes"] == os.path.getsize(path) or before != programs.nothing, name


def test_flipped_bits_are_found():
    path = path_of("flips.h5")
    run(ROWS, path)
    assert is_well(path)
    draw = random.Random(SEED)
    size = os.path.getsize(path)
    for offset in [0, 8, size - 1, *(draw.randrange(size) for _ in range(12))]:
        flip(path, offset, offset % 8)
        code, verdict = verify(path)
        first = offset // 65536 * 65536
        last = min(first + 65536, size) - 1
        assert (code, verdict["state"], [f["elements"] for f in verdict["findings"]]) == (
            1, "damaged", [f"bytes {first} to {last}"]), (offset, verdict)
        flip(path, offset, offset % 8)
    assert is_well(path)
    flip(path, 70000)
    flip(path, 300000)
    launcher = [*os.environ["SLUICE_MPIEXEC"].split(), "-n", "3"]
    code, verdict = verify(path, launcher)
    assert code == 1 and verdict["finding_count"] == 2, verdict


def test_a_block_that_is_changed_in_part_stays_damaged():
    path = path_of("part.h5")
    run("f = h5py.File(sys.argv[1], 'w'); f['x'] = numpy.arange(100000.); f.close()", path)
    flip(path, 2048 + 8 * 50000)
    said = run("f = h5py.File(sys.argv[1], 'r+'); f['x'][50010:50020] = 0; f.close()", path)
    assert "do not match their checksum" in said, said
    code, verdict = verify(path)
    assert (code, verdict["finding_count"]) == (1, 1), verdict
    # Written anew as a whole it is well again.
    run("f = h5py.File(sys.argv[1], 'r+'); f['x'][:] = 1; f.close()", path)
    assert is_well(path), verify(path)


def test_other_programs_change_it():
    path = path_of("outside.h5")
    run(ROWS, path)
    run("f = h5py.File(sys.argv[1], 'r+'); f['rows'][0, 0] = 7; f.close()", path, environment=PLAIN)
    code, verdict = verify(path)
    assert (code, verdict["state"], verdict["stale_block_checksums"]) == (
        2, "not written by Sluice", True), verdict
    # With the driver, without checksums: as if by another program.
    run(ROWS, path)
    assert is_well(path)
    run("f = h5py.File(sys.argv[1], 'r+'); f['rows'][0, 0] = 8; f.close()", path,
        environment=recorded.driver_environment())
    assert verify(path)[1]["stale_block_checksums"]
    # What is written from then on has them.
    run("f = h5py.File(sys.argv[1], 'r+'); f['rows'][:16] = 9; f.close()", path)
    code, verdict = verify(path)
    assert (code, verdict["state"], len(verdict["uncovered"])) == (0, "ok", 1), verdict


def test_copies_and_new_files():
    path, copy = path_of("original.h5"), path_of("copy.h5")
    run(ROWS, path)
    for name in ("", ".sluice-checksums"):
        subprocess.run(["cp", "-p", path + name, copy + name], check=True)
    assert is_well(copy)
    run("f = h5py.File(sys.argv[1], 'w'); f['y'] = 1; f.close()", copy)
    assert is_well(copy)
    assert is_well(path)


def test_a_table_of_anything():
    path = path_of("table.h5")
    run(ROWS, path)
    table = path + ".sluice-checksums"
    with open(table, "rb") as file:
        good = file.read()
    draw = random.Random(SEED)
    bad = [b"", good[:7], good[:63], good[:-1], b"x" * len(good)]
    bad += [good[:at] + bytes([good[at] ^ 1 << draw.randrange(8)]) + good[at + 1:]
            for at in range(len(good)) if at < 64 or draw.random() < 0.3]
    for content in bad:
        with open(table, "wb") as file:
            file.write(content)
        code, verdict = verify(path)
        assert code == 2 and verdict["stale_block_checksums"], (content[:64], verdict)
    # Something else has its name: left alone, and said.
    os.remove(table)
    with open(table, "w", encoding="ascii") as file:
        file.write("notes of the user")
    said = run("f = h5py.File(sys.argv[1], 'r+'); f['z'] = 1; f.close()", path)
    assert "is not a table of checksums" in said, said
    with open(table, encoding="ascii") as file:
        assert file.read() == "notes of the user"
    with h5py.File(path, "r") as f:
        assert f["z"][()] == 1


def test_full_disk_costs_no_flush():
    """Where the table cannot be written the file is committed all the same."""
    path = path_of("limit.h5")
    os.mkdir(path + ".sluice-checksums")
    said = run(ROWS, path)
    assert "no checksums are kept any more" in said, said
    with h5py.File(path, "r") as f:
        assert f["rows"].shape == (64, 1000)


def test_kills():
    """Whatever is there after kill -9, and after recovery, is never called damaged."""
    draw = random.Random(SEED)
    code = "import h5py, numpy, sys, time\n" + ROWS.replace("range(4)", "range(400)").replace(
        "        f.flush()", "        rows[0, :7] = i\n        f.flush()\n"
        "        print(flush=True)\n        time.sleep(0.01)")
    stale = 0
    for kill in range(KILLS):
        path = path_of(f"kill{kill}.h5")
        with subprocess.Popen([sys.executable, "-c", code, path], env=ON,
                              stdout=subprocess.PIPE) as child:
            child.stdout.readline()
            time.sleep(draw.uniform(0, 0.15))
            child.send_signal(signal.SIGKILL)
            child.stdout.read()
        subprocess.run([os.environ["SLUICE_COMMAND"], "recover", path], env=PLAIN,
                       capture_output=True, check=False)
        code_seen, verdict = verify(path)
        assert verdict["state"] in ("ok", "not written by Sluice"), (path, verdict)
        assert code_seen in (0, 2)
        stale += verdict["stale_block_checksums"]
    print(f"{KILLS} kills, {stale} tables of another state, none called damaged (seed {SEED})")


def main():
    try:
        for name, test in sorted(globals().items()):
            if name.startswith("test_"):
                test()
                print(name, flush=True)
    finally:
        shutil.rmtree(FOLDER, ignore_errors=True)


main()
