"""The physics: energies of HyMD's own frames as HyMD found them; energy and momentum kept without a
heat bath; the melt, its domains too, stays as HyMD left it."""

import os
import sys

import h5py
import numpy

from case import DATA, FOLDER, TOML, energies, generate, make_folder, program, require, run

BOX_NM = 10


def positions(path):
    """Of each frame: what each of the two species has, nm."""
    with h5py.File(path) as file:
        species = file["particles/all/species"][:]
        return [[numpy.mod(frame[species == kind], BOX_NM) for kind in (0, 1)]
                for frame in file["particles/all/position/value"][:]]


def profile_noise(one, other):
    """How far the density profiles (1 nm, each species and axis) of two frames are apart: the mean
    of squares over their expectation, 1 for independent particles of the same density."""
    def counts(frame):
        return numpy.array([numpy.histogram(kind[:, axis], BOX_NM, (0, BOX_NM))[0]
                            for kind in frame for axis in range(3)], dtype=float)

    a, b = counts(one), counts(other)
    return ((a - b) ** 2 / (a + b)).mean()


def cell_deviations(frame):
    """Over cells of 2 nm: the standard deviations of both species' sum and of their difference."""
    a, b = (numpy.histogramdd(kind, (5, 5, 5), [(0, BOX_NM)] * 3)[0] for kind in frame)
    return (a + b).std(), (a - b).std()


# Without data of others: a new system, the density renewed at every step.
params = generate("new", 1, 5)
rows = energies(run(program("occam"), params, "steps=600", "print_every=100", "density_every=1",
                    "time_step_ps=0.01", "thermostat_ps=0.1", "output='ascii'", "folder='new'",
                    ranks=2))
require(280 < sum(row[6] for row in rows[3:]) / len(rows[3:]) < 330, f"temperature: {rows}")
rows = energies(run(program("occam_checked"), params, "steps=40", "print_every=20",
                    "density_every=1", "time_step_ps=0.005", "output='none'", ranks=2))
require(all(row[7] < 1e-9 for row in rows), f"momentum: {rows}")

if not os.path.exists(TOML):
    print(f"no {TOML} (SLUICE_DATA): HyMD's own frames are left out")
    sys.exit(0)
with h5py.File(os.path.join(DATA, "copolymer-sim.H5")) as file:
    hymd = [[file[f"observables/{name}_energy/value"][frame, 0]
             for name in ("bond", "angle", "field")] for frame in (0, 1)]
frames = ["", os.path.join(DATA, "copolymer-sim.H5")]
for number, frame in enumerate(frames):
    folder = make_folder(f"frame{number}")
    run(program("iopc"), "hymd", "parts=3", f"folder='{folder}'", f"toml='{TOML}'",
        f"hdf5='{os.path.join(DATA, 'copolymer.HDF5')}'", f"frame='{frame}'")
    row = energies(run(program("occam"), f"{folder}/params.nml", "steps=0", "output='none'",
                       ranks=2))[0]
    for ours, theirs in zip(row[2:5], hymd[number]):
        require(abs(ours - theirs) < 2e-6 * theirs, f"frame {number}: {row}, HyMD {hymd[number]}")

# From HyMD's last frame on. Its bath, its steps: bonds, angles and field stay where they are.
make_folder("melt")
rows = energies(run(program("occam"), "frame1/params.nml", "steps=300", "print_every=60",
                    "folder='melt'", "output='h5md'", ranks=2))
for column, theirs, part in ((2, hymd[1][0], 0.05), (3, hymd[1][1], 0.08), (4, hymd[1][2], 0.01)):
    mean = sum(row[column] for row in rows[1:]) / len(rows[1:])
    require(abs(mean - theirs) < part * theirs, f"column {column}: {mean}, HyMD {theirs}")
# So does the density: profiles along all axes within counting noise, and the domains as sharp.
theirs = positions(os.path.join(DATA, "copolymer-sim.H5"))
ours = positions(os.path.join(FOLDER, "melt", "traj.h5"))
require(profile_noise(theirs[0], theirs[1]) > 3, "HyMD's melt has no domains that could move")
for frame in ours[1:]:
    noise = profile_noise(frame, theirs[1])
    require(noise < 0.5, f"density differs from HyMD's by {noise} of what counting gives")
    for found, expected in zip(cell_deviations(frame), cell_deviations(theirs[1])):
        require(abs(found - expected) < 0.15 * expected, f"cells: {found}, HyMD {expected}")
# Without it, the field renewed at every step: energy is kept.
rows = energies(run(program("occam"), "frame1/params.nml", "steps=10", "print_every=5",
                    "thermostat_ps=0", "density_every=1", "time_step_ps=0.005", "output='none'",
                    ranks=2))
drift = max(abs(row[5] - rows[0][5]) for row in rows) / rows[0][1]
require(drift < 2e-4 and all(row[7] < 1e-9 for row in rows), f"drift {drift}: {rows}")
print(f"physics: energy drifts by {drift:.1e} of the kinetic energy; "
      f"HyMD's energies to {2e-6:.0e}")
require(os.path.exists(os.path.join(FOLDER, "new", "1.traj")), "texts by a word at run time")
