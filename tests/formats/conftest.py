"""The folder with the sample files, and what their elements are (see write_samples.cpp)."""

import os
import shutil
import subprocess

import numpy
import pytest

STEPS = 4


def values(shape, step=0, dtype=float):
    """Element i of a variable in a step: 1000 step + i."""
    count = int(numpy.prod(shape))
    return (1000 * step + numpy.arange(count)).reshape(shape).astype(dtype)


def flags(shape, step=0):
    count = int(numpy.prod(shape))
    return ((numpy.arange(count) + step) % 3 == 0).reshape(shape)


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    subprocess.run([os.environ["SLUICE_WRITE_SAMPLES"], str(folder)], check=True)
    return folder


@pytest.fixture
def samples(made, tmp_path):
    """A copy, for tests that change the files."""
    return shutil.copytree(made, tmp_path / "samples")


@pytest.fixture
def tool():
    """Runs one of netCDF's or HDF5's programs, which the tests cannot do without."""

    def run(name, *arguments):
        assert shutil.which(name), f"{name} is not installed (netcdf-bin, hdf5-tools)"
        done = subprocess.run([name, *map(str, arguments)], capture_output=True, text=True)
        assert done.returncode == 0, f"{name}: {done.stderr}"
        return done.stdout

    return run
