"""A run writes H5MD itself: what MDAnalysis and HyMD's readers find there is what the run's records
and its printed energies say.

  h5md_test.py RANKS
"""

import importlib.util
import os
import sys

import h5py
import numpy

from case import COMMAND, DATA, FOLDER, TOML, energies, generate, make_folder, program, require, run

RANKS = int(sys.argv[1])
BLOCKS = 5
PARTICLES = 400 * BLOCKS
OBSERVABLES = {"kinetic_energy": 1, "bond_energy": 2, "angle_energy": 3, "field_energy": 4,
               "total_energy": 5, "temperature": 6}


def text(value):
    return value.decode() if isinstance(value, bytes) else value


def series(file, name):
    """value of an element, whose step and time are those of the run."""
    element = file[name]
    require(element["step"][:].tolist() == [0, 5, 10], f"{name}/step")
    require(numpy.allclose(element["time"][:], [0, 0.15, 0.3]), f"{name}/time")
    require("unit" in element["value"].attrs and element["time"].attrs["unit"] == "ps", f"{name}")
    return element["value"][:]


params = generate("input", RANKS, BLOCKS)
common = ["steps=10", "print_every=5", "density_every=5"]
make_folder("h5md")
make_folder("records")
printed = energies(run(program("occam_checked"), params, *common, "folder='h5md'",
                       "output='h5md'", ranks=RANKS))
require(sorted(os.listdir(os.path.join(FOLDER, "h5md"))) == ["conf", "traj.h5"], "two files")
run(program("occam_checked"), params, *common, "folder='records'", "output='records'", ranks=RANKS)
run(COMMAND, "verify", "h5md/traj.h5")
run(COMMAND, "diff", "h5md/conf", "records/conf")
run(COMMAND, "convert", "records/traj", "traj.h5", "--format", "h5md")

with h5py.File(os.path.join(FOLDER, "h5md", "traj.h5")) as file, \
        h5py.File(os.path.join(FOLDER, "traj.h5")) as converted:
    require((file["h5md"].attrs["version"] == [1, 1]).all(), "version")
    require({"author", "creator"} <= set(file["h5md"]), "author and creator")
    everything, same = file["particles/all"], converted["particles/all"]
    position = series(file, "particles/all/position")
    require(position.dtype == numpy.float32 and position.shape == (3, PARTICLES, 3), "positions")
    require((position == same["position/value"][:]).all(), "positions of the records")
    require((everything["species"][:] == same["species"][:]).all(), "species")
    require((everything["mass"][:] == 72).all(), "masses")
    box = everything["box"].attrs
    require(box["dimension"] == 3 and [text(word) for word in box["boundary"]] ==
            ["periodic"] * 3, "box")
    edges = series(file, "particles/all/box/edges")
    require((edges == same["box/edges/value"][:]).all(), "edges")
    for name, column in OBSERVABLES.items():
        values = series(file, f"observables/{name}")
        require(values.shape == (3, 1), f"{name}: {values.shape}")
        off = abs(values[:, 0] - [row[column] for row in printed]).max()
        require(off <= 1e-4, f"{name} is off by {off}")
    require(series(file, "observables/total_momentum").shape == (3, 3), "momentum")
    potential = series(file, "particles/all/potential")
    require(potential.shape == (3, PARTICLES) and (potential.std(axis=1) > 0).all(), "potentials")
    structure = file["parameters/vmd_structure"]
    require([text(name) for name in structure["name"][:]] ==
            ["T1", "T2", "T3", "H1", "H2", "H3", "P1", "P2", "P3", "P4", "P5", "W"], "names")
    resid = structure["resid"][:]
    require(numpy.bincount(numpy.bincount(resid))[[1, 10, 20]].tolist() ==
            [320 * BLOCKS, 4 * BLOCKS, 2 * BLOCKS], "molecules")
    bonds = structure["bond_from"][:], structure["bond_to"][:]
    require(len(bonds[0]) == BLOCKS * (4 * 9 + 2 * 19), "bonds")
    require((bonds[1] == bonds[0] + 1).all() and
            (resid[bonds[0] - 1] == resid[bonds[1] - 1]).all(), "bonds within molecules")

# The potentials are the records' too.
run(COMMAND, "convert", "records/wvalues", "lines", "--format", "lines")
for part in range(1, RANKS + 1):
    with open(os.path.join(FOLDER, "lines", f"{part}.wvalues"), encoding="ascii") as lines:
        rows = [line.split() for line in lines]
    last = [row for row in rows[len(rows) // 3 * 2:] if len(row) == 2]
    ids = numpy.array([int(row[0]) for row in last])
    off = abs(potential[2, ids - 1] - [float(row[1]) for row in last]).max()
    require(off <= 1e-6, f"potentials are off by {off}")

if importlib.util.find_spec("MDAnalysis") is None:
    print("no MDAnalysis: the H5MD file was read by h5py alone")
else:
    import MDAnalysis
    universe = MDAnalysis.Universe.empty(PARTICLES, trajectory=True)
    universe.load_new(os.path.join(FOLDER, "h5md", "traj.h5"), format="H5MD")
    require(len(universe.trajectory) == 3, "frames in MDAnalysis")
    for frame, found in enumerate(universe.trajectory):
        require(numpy.allclose(found.positions, position[frame] * 10, atol=1e-4), "positions in A")
        require(numpy.allclose(found.dimensions[:3], edges[frame] * 10), "box in A")
        require(abs(found.time - 0.15 * frame) < 1e-6, "time in ps")
        require(abs(found.data["kinetic_energy"][0] - printed[frame][1]) < 1e-3, "observables")

if os.path.exists(TOML):
    # HyMD's own system: what reads HyMD's trajectories reads this one's last frame.
    words = [f"toml='{TOML}'", f"hdf5='{os.path.join(DATA, 'copolymer.HDF5')}'", f"parts={RANKS}"]
    rows = []
    for folder, frame in (("hymd", ""), ("again", "hymd/traj.h5")):
        make_folder(folder)
        run(program("iopc"), "hymd", f"folder='{folder}'", f"frame='{frame}'", *words)
        rows.append(energies(run(program("occam"), f"{folder}/params.nml", f"folder='{folder}'",
                                 "output='h5md'", "steps=2", "print_every=1", "density_every=1",
                                 ranks=RANKS)))
    for column in (2, 3, 4):
        last, first = rows[0][-1][column], rows[1][0][column]
        require(abs(first - last) < 1e-5 * last, f"column {column}: {first}, not {last}")
print(f"occam's H5MD on {RANKS} ranks is what its records are")
