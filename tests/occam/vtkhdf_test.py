"""A run writes VTKHDF itself: what VTK finds in it is what the same run has in H5MD, and the field
is that of the particles.

  vtkhdf_test.py RANKS
"""

import os
import sys

import h5py
import numpy

from case import COMMAND, FOLDER, generate, make_folder, program, require, run

sys.path.insert(0, os.path.join(os.environ["SLUICE_SOURCE_DIR"], "tests", "support"))
from vtk_files import array, steps_of  # noqa: E402

RANKS = int(sys.argv[1])
params = generate("input", RANKS, 5)
common = ["steps=10", "print_every=5", "density_every=5"]
for way in ("vtkhdf", "h5md"):
    make_folder(way)
    run(program("occam_checked"), params, *common, f"folder='{way}'", f"output='{way}'",
        ranks=RANKS)
folder = os.path.join(FOLDER, "vtkhdf")
require(sorted(os.listdir(folder)) == ["conf", "field.vtkhdf", "traj.vtkhdf"], "three files")
run(COMMAND, "verify", "vtkhdf/traj.vtkhdf")
run(COMMAND, "verify", "vtkhdf/field.vtkhdf")

particles = steps_of(os.path.join(folder, "traj.vtkhdf"))
fields = steps_of(os.path.join(folder, "field.vtkhdf"))
with h5py.File(os.path.join(FOLDER, "h5md", "traj.h5")) as file:
    everything = file["particles/all"]
    species = everything["species"][:]
    box = everything["box/edges/value"][0]
    names = [name.decode() for name in file["parameters/vmd_structure/name"][:]]
    require(len(particles) == len(fields) == 3, "steps")
    for step, (time, grid) in enumerate(particles):
        require(abs(time - 0.15 * step) < 1e-12, "times")
        data = grid.GetPointData()
        require((array(grid) == everything["position/value"][step]).all(), "positions")
        require(numpy.allclose(array(data, "potential"), everything["potential/value"][step],
                               rtol=1e-6, atol=1e-6), "potentials")
        require((array(data, "species") == species).all(), "species")
for step, (time, image) in enumerate(fields):
    cell = numpy.array(image.GetSpacing())
    shape = numpy.array(image.GetDimensions())
    require(numpy.allclose(cell * shape, box), "the mesh fills the box")
    for number, name in enumerate(names):
        density = array(image.GetPointData(), f"density_{name}")
        off = density.sum() * cell.prod() - (species == number).sum()
        require(abs(off) < 1e-6 * len(species), f"step {step}: {name} is off by {off}")
        require(numpy.isfinite(array(image.GetPointData(), f"potential_{name}")).all(), name)
    # cloud-in-cell: a type's density is spread as its particles are
    number = numpy.bincount(species).argmax()
    x = array(particles[step][1])[species == number].astype(float)
    spread = numpy.zeros(shape[::-1])
    low = numpy.floor(x / cell).astype(int)
    into = x / cell - low
    for corner in range(8):
        side = numpy.array([corner & 1, corner >> 1 & 1, corner >> 2])
        weight = numpy.where(side, into, 1 - into).prod(axis=1)
        at = (low + side) % shape
        numpy.add.at(spread, (at[:, 2], at[:, 1], at[:, 0]), weight)
    found = array(image.GetPointData(), f"density_{names[number]}").reshape(shape[::-1])
    off = abs(found * cell.prod() - spread).max() / spread.max()
    require(off < 1e-4, f"step {step}: the density is off by {off}")
print(f"{RANKS} ranks: {len(species)} particles, mesh {tuple(shape)}, 3 steps")
