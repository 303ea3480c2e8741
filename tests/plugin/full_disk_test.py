"""A disk that is really full (a small tmpfs) in the middle of a flush: the call says so, the file
stays at the flush before, and the program goes on once there is space; what it wrote in between is
in the file then."""

import errno
import os
import shutil
import subprocess
import sys

import h5py
import numpy

import recorded

DISK = "SLUICE_TEST_DISK"
DISK_BYTES = 8 << 20


def plain(path):
    """What HDF5's own driver finds: (step, a value of each row, the fixed values)."""
    with h5py.File(path, "r", driver="sec2", locking=False) as f:
        return int(f.attrs["step"]), f["rows"][:, 0].tolist(), set(f["fixed"][()].tolist())


def fill(folder, spare_bytes):
    """Leaves `spare_bytes` of the disk."""
    path = os.path.join(folder, "ballast")
    place = os.statvfs(folder)
    with open(path, "wb") as f:
        f.write(bytes(place.f_bavail * place.f_bsize - spare_bytes))
    return path


def must_fail(action):
    """h5py makes an OSError or a RuntimeError of it, by the call of HDF5 that failed."""
    try:
        action()
    except (OSError, RuntimeError) as problem:
        assert f"errno = {errno.ENOSPC}" in str(problem), problem
        return
    raise AssertionError("there was space")


def begin(path):
    f = h5py.File(path, "w")
    f.create_dataset("rows", (0, 1000), maxshape=(None, 1000), chunks=(8, 1000), dtype="f8")
    f["fixed"] = numpy.zeros(100_000)
    step(f, 0)
    f.flush()
    return f


def step(f, i):
    f["rows"].resize(20 * (i + 1), axis=0)
    f["rows"][20 * i:] = i + 1
    f["fixed"][...] = i + 1
    f.attrs["step"] = i


def state(i):
    return i, [float(row // 20 + 1) for row in range(20 * (i + 1))], {float(i + 1)}


def fails_until_there_is_space(folder, path, f, spare_bytes, before, after):
    ballast = fill(folder, spare_bytes)
    step(f, after[0])
    for _ in range(2):
        must_fail(f.flush)
        assert plain(path) == before
    os.remove(ballast)
    f.flush()
    assert plain(path) == after


def test_no_space_for_the_data(folder):
    path = os.path.join(folder, "file.h5")
    f = begin(path)
    for i, spare_bytes in enumerate((0, 50_000, 100_000), start=1):
        fails_until_there_is_space(folder, path, f, spare_bytes, state(i - 1), state(i))
    f.close()
    assert os.listdir(folder) == ["file.h5"], os.listdir(folder)


def test_no_space_for_the_journal(folder):
    """The first journal of an opening; it has the new bytes of `fixed`."""
    path = os.path.join(folder, "file.h5")
    begin(path).close()
    for i, spare_bytes in enumerate((300_000, 600_000, 750_000), start=1):
        with h5py.File(path, "r+") as f:
            fails_until_there_is_space(folder, path, f, spare_bytes, state(i - 1), state(i))
    assert os.listdir(folder) == ["file.h5"], os.listdir(folder)


def test_no_space_at_the_close(folder):
    path = os.path.join(folder, "file.h5")
    f = begin(path)
    ballast = fill(folder, 0)
    step(f, 1)
    must_fail(f.close)
    assert plain(path) == state(0)
    os.remove(ballast)


def test_a_replaced_file_stays(folder):
    path = os.path.join(folder, "file.h5")
    begin(path).close()
    ballast = fill(folder, 64 << 10)
    f = h5py.File(path, "w")
    f["new"] = numpy.ones(50_000)
    must_fail(f.flush)
    assert plain(path) == state(0)
    os.remove(ballast)
    f.flush()
    with h5py.File(path, "r", driver="sec2", locking=False) as g:
        assert list(g) == ["new"] and (g["new"][()] == 1).all()
    f.close()


REWRITE = """
import sys, h5py, numpy
path, length, flushes = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
with h5py.File(path, "w") as f:
    f["fixed"] = numpy.zeros(length)
    for i in range(1, flushes + 1):
        f["fixed"][...] = i
        f.flush()
    assert (f["fixed"][()] == flushes).all()
"""


def test_the_journal_makes_room_for_the_next_flush(folder):
    """Nothing grows but the journal, which alone would fill the disk."""
    for config in ("apply=flush", "apply=later"):
        for length in (200_000, 100_000):  # 2 MiB in place are not deferred
            path = os.path.join(folder, "file.h5")
            ballast = fill(folder, 3 * 8 * length + (200 << 10))
            subprocess.run([sys.executable, "-c", REWRITE, path, str(length), "20"], check=True,
                           env={**os.environ, "HDF5_DRIVER_CONFIG": config})
            with h5py.File(path, "r", driver="sec2", locking=False) as f:
                assert (f["fixed"][()] == 20).all()
            assert sorted(os.listdir(folder)) == ["ballast", "file.h5"], os.listdir(folder)
            os.remove(path)
            os.remove(ballast)


def in_own_disk():
    """Starts this test again where it may mount a disk that nobody else sees."""
    mount = f'mount -t tmpfs -o size={DISK_BYTES} none /mnt && {DISK}=/mnt exec "$0" "$@"'
    for unshare in (["unshare", "-m"], ["unshare", "-rm"]):
        may = subprocess.run([*unshare, "sh", "-c", "mount -t tmpfs none /mnt"], check=False,
                             capture_output=True)
        if may.returncode == 0:
            return subprocess.run([*unshare, "sh", "-c", mount, sys.executable, __file__],
                                  env=recorded.driver_environment(), check=False).returncode
    print(f"skipped: no disk may be mounted here ({may.stderr.decode().strip()})")
    return 0


def main():
    for name, test in sorted(globals().items()):
        if name.startswith("test_"):
            folder = os.path.join(os.environ[DISK], name)
            os.mkdir(folder)
            test(folder)
            shutil.rmtree(folder)
            print(name, flush=True)


if DISK in os.environ:
    main()
else:
    sys.exit(in_own_disk())
