"""Lines of Python that run as programs of their own, with the driver or without it."""

import os
import subprocess
import sys

import recorded


def python(code, *arguments, driver=False, config=""):
    environment = {**os.environ, "HDF5_DRIVER": ""}
    environment.pop("HDF5_DRIVER_CONFIG", None)
    if driver:
        environment = {**recorded.driver_environment(), "HDF5_DRIVER_CONFIG": config}
    return subprocess.run([sys.executable, "-W", "ignore", "-c",
                           "import h5py, numpy, os, sys\n" + code, *arguments], env=environment,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
                          check=False)


def plain(code, *arguments):
    done = python(code, *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
