"""What other programs do to a file while a program with the driver writes it: they cut it, or move
its folder. The next flush fails and says what happened. A file that the program itself makes
shorter is not taken for one that was cut."""

import os
import shutil
import subprocess
import sys
import tempfile

import h5py
import recorded

WRITER = """
import sys
import h5py
import numpy as np
f = h5py.File(sys.argv[1], sys.argv[2])
x = f.create_dataset(sys.argv[2] + "x", (64, 512), chunks=(8, 512), dtype="f8")
for step in range(int(sys.argv[3])):
    x[8 * step:8 * step + 8] = step
    f.flush()
print("writes", flush=True)
sys.stdin.readline()
for attempt in range(2):
    try:
        x[32:40] = 9.0
        f.attrs["attempt"] = attempt
        f.flush()
        print("flushed")
    except (OSError, RuntimeError) as error:
        print(error)
"""

SHRINKING = """
import os
import sys
import h5py
import numpy as np
for mode in ("w", "a", "a", "r+"):
    with h5py.File(sys.argv[1], mode) as f:
        for size in (400000, 1000, 100000):
            for flush in range(2):
                f["big"] = np.full(size, float(size))
                f.flush()
                del f["big"]
                f.flush()
        f[f"kept{len(f)}"] = np.arange(100.0)
        f.flush()
        longest = os.path.getsize(sys.argv[1])
    assert os.path.getsize(sys.argv[1]) < longest, "it does not become shorter"
with h5py.File(sys.argv[1], "r") as f:
    assert len(f) == 4 and all((x[:] == np.arange(100.0)).all() for x in f.values())
print("is whole")
"""


def cut_by_h5py(path):
    """Which is refused, but only after that."""
    try:
        h5py.File(path, "w", locking=True)
    except OSError:
        pass
    assert os.path.getsize(path) == 0, "HDF5 does not cut the file any more: change the pages"


def move_folder(path):
    os.rename(os.path.dirname(path), os.path.dirname(path) + "-moved")


def move_all_files(path):
    folder = os.path.dirname(path)
    os.makedirs(folder + "-moved")
    for name in os.listdir(folder):
        os.rename(os.path.join(folder, name), os.path.join(folder + "-moved", name))


def remove_lease(path):
    os.remove(path + ".sluice-lease")


CASES = ((cut_by_h5py, "has cut it"),
         (lambda path: os.truncate(path, os.path.getsize(path) // 2), "has cut it"),
         (move_folder, "its folder was moved or removed"),
         (move_all_files, "was moved or removed"),
         (remove_lease, ".sluice-lease: the record of the writer lease was removed"))
# The mode, and the number of flushes before the file is disturbed.
OPENINGS = (("w", 4), ("a", 4), ("a", 0))


def disturbed(folder, mode, flushes, disturb):
    path = os.path.join(folder, "run", "f.h5")
    os.makedirs(os.path.dirname(path))
    if mode == "a":
        h5py.File(path, "w").close()
    environment = {**recorded.driver_environment(), "HDF5_USE_FILE_LOCKING": "TRUE"}
    with subprocess.Popen([sys.executable, "-c", WRITER, path, mode, str(flushes)],
                          env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT) as writer:
        assert writer.stdout.readline() == "writes\n"
        disturb(path)
        said, _ = writer.communicate("\n", timeout=60)
    for name in os.listdir(folder):
        shutil.rmtree(os.path.join(folder, name))
    return said


def run_shrinking(folder):
    path = os.path.join(folder, "f.h5")
    said = subprocess.run([sys.executable, "-c", SHRINKING, path], text=True, check=False,
                          env=recorded.driver_environment(), stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=120).stdout
    assert said.endswith("is whole\n"), said
    os.remove(path)


def main():
    with tempfile.TemporaryDirectory(prefix="sluice-plugin-") as folder:
        run_shrinking(folder)
        for mode, flushes in OPENINGS:
            for disturb, expected in CASES:
                said = disturbed(folder, mode, flushes, disturb)
                assert "flushed" not in said, (mode, flushes, expected, said)
                assert expected in said, (mode, flushes, expected, said)
                assert "another writer has" not in said, (mode, flushes, expected, said)
    print(f"{len(OPENINGS) * len(CASES)} cases are noticed")


main()
