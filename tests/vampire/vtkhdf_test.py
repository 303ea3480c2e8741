"""The application writes VTKHDF: what VTK reads of every step is what the same run has in HDF5.

  vtkhdf_test.py VAMPIRE MPIEXEC...
"""

import os
import subprocess
import sys
import tempfile

import h5py
import numpy

sys.path.insert(0, os.path.join(os.environ["SLUICE_SOURCE_DIR"], "tests", "support"))
from vtk_files import array, steps_of  # noqa: E402

VAMPIRE, *MPIEXEC = sys.argv[1:]
RUN = ["--lattice", "bcc", "--size", "6", "5", "4", "--start", "random", "--temperature", "100",
       "--steps", "20", "--every", "5"]

with tempfile.TemporaryDirectory() as folder:
    def run(ranks, output, *more):
        subprocess.run([*MPIEXEC, "-n", str(ranks), VAMPIRE, *RUN, "--output", output, *more],
                       cwd=folder, check=True, stdout=subprocess.DEVNULL)

    run(2, "spins.h5")
    for ranks, strategy in ((1, "serial"), (3, "shared"), (4, "collective")):
        run(ranks, "spins.vtkhdf", "--strategy", strategy)
        steps = steps_of(os.path.join(folder, "spins.vtkhdf"))
        with h5py.File(os.path.join(folder, "spins.h5")) as file:
            assert len(steps) == len(file["spins"]) == 5
            for step, (time, grid) in enumerate(steps):
                assert time == file["time"][step]
                numpy.testing.assert_array_equal(array(grid), file["coordinates"][:])
                numpy.testing.assert_array_equal(array(grid.GetPointData(), "spins"),
                                                 file["spins"][step])
                numpy.testing.assert_array_equal(array(grid.GetPointData(), "material"),
                                                 file["material"][:])
        print(f"{ranks} ranks, {strategy}: {grid.GetNumberOfPoints()} spins in 5 steps")
