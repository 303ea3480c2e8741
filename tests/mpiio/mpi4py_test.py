"""mpi4py's own tests of MPI-IO (test_io, test_file of its source), unmodified, with the interface
in front of Open MPI, on 1 and on 3 ranks. Builds mpi4py from its source, so it is a long test."""

import os
import pathlib
import subprocess
import sys
import tempfile

VERSION = "3.1.4"
FOLDER = pathlib.Path(os.environ["SLUICE_TEST_MPIIO_FOLDER"])


def run(*words, **more):
    return subprocess.run(words, check=True, **more)


def build(folder):
    """A Python with mpi4py, and the folder of its tests."""
    python = folder / "python" / "bin" / "python"
    run(sys.executable, "-m", "venv", folder / "python")
    # Its build needs a setuptools of its time.
    run(python, "-m", "pip", "install", "-q", "setuptools<66", "wheel", "numpy")
    run(python, "-m", "pip", "download", "-q", "--no-deps", "--no-build-isolation",
        "--no-binary", ":all:", "-d", folder, f"mpi4py=={VERSION}")
    run("tar", "-xzf", folder / f"mpi4py-{VERSION}.tar.gz", "-C", folder)
    run(python, "-m", "pip", "install", "-q", "--no-build-isolation", folder / f"mpi4py-{VERSION}",
        env=os.environ | {"MPICC": "mpicc.openmpi"})
    return python, folder / f"mpi4py-{VERSION}" / "test"


def main():
    if "openmpi" not in os.environ["SLUICE_TEST_MPIIO_TESTED"].split():
        print("skipped: no Open MPI")
        return
    with tempfile.TemporaryDirectory(prefix="sluice-mpi4py-") as temporary:
        python, tests = build(pathlib.Path(temporary))
        library = FOLDER / "libsluice-mpiio-openmpi.so"
        for ranks in (1, 3):
            done = run("mpirun.openmpi", "--oversubscribe", "-n", str(ranks), "-x",
                       f"LD_PRELOAD={library}", python, "runtests.py", "-i", "test_io", "-i",
                       "test_file", cwd=tests, stderr=subprocess.PIPE, text=True, timeout=600)
            assert done.stderr.count("Ran 42 tests") == ranks, done.stderr
            assert "FAILED" not in done.stderr, done.stderr


if __name__ == "__main__":
    main()
