"""Locks of files as without the driver: what a program asks for counts, unless the environment
says something."""

import os
import subprocess
import sys
import tempfile

import recorded

# locking; HDF5_USE_FILE_LOCKING; is the file read beside a writer without the driver?
CASES = (("None", None, False), ("True", None, False), ("False", None, True),
         ("False", "TRUE", False), ("False", "BEST_EFFORT", False), ("False", "other", True),
         ("True", "FALSE", True), ("None", "FALSE", True))
WRITER = """
import h5py, sys
f = h5py.File(sys.argv[1], "a")
f["x"] = 5
f.flush()
print("writes", flush=True)
sys.stdin.read()
"""


def environment(said, driver):
    kept = recorded.driver_environment() if driver else {**os.environ, "HDF5_DRIVER": ""}
    kept = {key: value for key, value in kept.items() if key != "HDF5_USE_FILE_LOCKING"}
    return kept if said is None else {**kept, "HDF5_USE_FILE_LOCKING": said}


def main():
    with tempfile.TemporaryDirectory(prefix="sluice-plugin-") as folder:
        path = os.path.join(folder, "locked.h5")
        with subprocess.Popen([sys.executable, "-c", WRITER, path], env=environment(None, False),
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
            assert writer.stdout.readline() == b"writes\n"
            for locking, said, is_read in CASES:
                code = f"import h5py, sys; h5py.File(sys.argv[1], 'r', locking={locking})['x'][()]"
                for driver in (True, False):
                    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True,
                                          text=True, env=environment(said, driver), timeout=60,
                                          check=False)
                    assert (done.returncode == 0) == is_read, (locking, said, driver, done)
            writer.stdin.close()
    print(f"{len(CASES)} cases are as without the driver")


main()
