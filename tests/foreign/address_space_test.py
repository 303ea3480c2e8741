"""A process with little address space reads a compressed variable of a large file."""

import os
import subprocess

import numpy

import sluice


def test_reading_takes_no_address_space_for_the_file(tmp_path):
    path = str(tmp_path / "large.h5")
    values = numpy.arange(1e5)
    with sluice.open(path, "w", durability="none") as file:
        file.define("packed", "f8", values.shape, steps=True, compress="deflate:1")
        with file.step(time=0.0):
            file.put("packed", values)
    os.truncate(path, 1 << 40)  # as if it had much else in it
    program = f"""
import resource, numpy, sluice
resource.setrlimit(resource.RLIMIT_AS, (16 << 30, 16 << 30))
with sluice.open({path!r}) as file:
    numpy.testing.assert_array_equal(file["packed"].get(0), numpy.arange(1e5))
"""
    done = subprocess.run([os.environ["SLUICE_PYTHON"], "-c", program], capture_output=True,
                          text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
