"""A run writes records, and the same run files of text: each is made of the other, to the byte;
what is read from either is the same; a trajectory in the order of its particles.

  output_test.py RANKS
"""

import importlib.util
import json
import os
import sys

import h5py
import numpy

from case import COMMAND, FOLDER, NAMES, energies, fail, generate, make_folder, program, \
    require, run, same_folders

RANKS = int(sys.argv[1])
BLOCKS = 7
PARTICLES = 400 * BLOCKS


def convert(*words, ranks=0):
    return run(COMMAND, "convert", *words, ranks=ranks)


def read_texts(name):
    """The numbers of all lines of a kind of file, by its length, parts one after the other."""
    rows = []
    for part in range(1, RANKS + 1):
        with open(os.path.join(FOLDER, "ascii", f"{part}.{name}"), encoding="ascii") as file:
            rows += [line.split() for line in file]
    return rows


# The input as records on another number of parts than there are ranks, and as texts.
params = generate("input", 5, BLOCKS)
texts = generate("texts", RANKS, BLOCKS, "ascii=.true.")
# Compiled for text iopc writes text, and records where it is told to.
built = generate("built", RANKS, BLOCKS, of="iopc_ascii")
os.remove(os.path.join(FOLDER, built))
os.rename(os.path.join(FOLDER, texts), os.path.join(FOLDER, "texts.nml"))
require(same_folders("built", "texts") and "1.fort" in os.listdir(os.path.join(FOLDER, "built")),
        "iopc compiled with ASCII_FILE")
os.rename(os.path.join(FOLDER, "texts.nml"), os.path.join(FOLDER, texts))
generate("told", 5, BLOCKS, "ascii=.false.", of="iopc_ascii")
require(os.path.exists(os.path.join(FOLDER, "told", "init_bin.dat")), "ascii=.false.")
common = ["steps=20", "print_every=10", "conf_every=10", "density_every=5"]
make_folder("records")
make_folder("ascii")
printed = run(program("occam_checked"), params, *common, "folder='records'", ranks=RANKS)
as_text = run(program("occam_ascii"), texts, *common, "folder='ascii'", ranks=RANKS)
if RANKS not in (2, 4):  # the parts of the one run are blocks, so are those of 5 on 1 or 7 ranks
    require(energies(printed)[0][1:4] == energies(as_text)[0][1:4], printed + as_text)
make_folder("same")
seen = energies(run(program("occam_checked"), texts, *common, "folder='same'", ranks=RANKS))[-1]
run(program("occam"), texts, *common, "folder='same'", "output='none'", ranks=RANKS)
require(sorted(os.listdir(os.path.join(FOLDER, "same"))) == sorted(NAMES),
        "four files, and none for output='none'")

# Records to texts: those of the run that wrote texts. And back, and again.
for name in NAMES:
    convert(f"same/{name}", "made", "--format", "lines", ranks=2 if RANKS in (2, 7) else 0)
require(same_folders("ascii", "made"), "texts of records")
for name in NAMES:
    convert(f"ascii/{name}.template", f"again.{name}", ranks=RANKS if RANKS < 4 else 0)
    run(COMMAND, "verify", f"again.{name}")
    convert(f"again.{name}", "twice", "--format", "lines")
require(same_folders("ascii", "twice"), "texts of records of texts")
for name in ("conf", "energies"):  # every digit is in the text: the same records
    run(COMMAND, "diff", f"same/{name}", f"again.{name}")
run(COMMAND, "diff", "same/wvalues", "again.wvalues", "--tolerance", "1e-6", code=1)

# A trajectory by particle: what the texts say, rounded as they are.
convert("same/traj", "traj.h5", "--format", "h5md", ranks=min(RANKS, 2))
rows = read_texts("traj")
lines = numpy.array([row for row in rows if len(row) == 5], dtype=float)
frames = 3
require(len(lines) == frames * PARTICLES, f"{len(lines)} lines")
with h5py.File(os.path.join(FOLDER, "traj.h5")) as file:
    everything = file["particles/all"]
    position = everything["position/value"][:]
    require(position.shape == (frames, PARTICLES, 3), position.shape)
    require(everything["position/step"][:].tolist() == [0, 10, 20], "steps")
    require(numpy.allclose(everything["position/time"][:], [0, 0.3, 0.6]), "times")
    require((file["h5md"].attrs["version"] == [1, 1]).all(), "version")
    species = everything["species"][:]
    of_particle = {}
    for row in lines:
        of_particle.setdefault(int(row[0]), []).append(row)
    for particle in range(1, PARTICLES + 1):
        mine = numpy.array(of_particle[particle])
        require((mine[:, 1] == species[particle - 1] + 1).all(), "species")
        worst = abs(mine[:, 2:] - position[:, particle - 1]).max()
        require(worst < 6e-6, f"particle {particle}: off by {worst}")
if RANKS == 4 and importlib.util.find_spec("MDAnalysis") is None:
    print("no MDAnalysis: the H5MD file was read by h5py alone")
elif RANKS == 4:
    import MDAnalysis
    universe = MDAnalysis.Universe.empty(PARTICLES, trajectory=True)
    universe.load_new(os.path.join(FOLDER, "traj.h5"), format="H5MD")
    require(len(universe.trajectory) == frames, "frames in MDAnalysis")
    last = [step.positions.copy() for step in universe.trajectory][-1]
    require(numpy.allclose(last, position[-1] * 10, atol=1e-4), "positions in MDAnalysis")

# Observables, on one process and on as many.
tables = [json.loads(run(COMMAND, "stats", "same/energies", "--json", ranks=ranks))
          for ranks in (0, RANKS)]
require(tables[0] == tables[1], "stats on other ranks")
totals = tables[0][-1]["totals"]
for key, column in (("kinetic_kj_mol", 1), ("bond_kj_mol", 2), ("angle_kj_mol", 3),
                    ("field_kj_mol", 4)):
    require(abs(totals[key] - seen[column]) < 2e-3, f"{key}: {totals[key]}, not {seen[column]}")
conf = json.loads(run(COMMAND, "stats", "same/conf", "--json", "--bins", "4"))[-1]
chains = {row["particles"]: row for row in conf["chains"]}
require(set(chains) == {10, 20} and chains[10]["molecules"] == 4 * BLOCKS, conf["chains"])
squares, molecule = [], []
for row in read_texts("conf")[-len(read_texts("conf")) // 2:] if RANKS == 1 else []:
    if len(row) == 12:
        molecule.append([float(word) for word in row[2:5]])
    elif molecule:
        squares += [numpy.var(molecule, axis=0).sum()] if len(molecule) == 10 else []
        molecule = []
if squares:
    gyration = numpy.sqrt(numpy.mean(squares))
    require(abs(gyration - chains[10]["gyration_nm"]) < 1e-6, f"gyration {gyration}: {chains[10]}")
density = sum(sum(profile) for profile in conf["density_nm3"].values()) / 4
require(abs(density - 8.33) < 1e-3, f"density {density}")

# A run goes on from conf, on another number of ranks.
more = energies(run(program("occam_checked"), params, *common, "input='same/conf'",
                    "output='none'", "steps=5", ranks=3))
require(abs(more[0][5] - seen[5]) < 1e-2, f"restart at {more[0]}, after {seen}")

# What is wrong is said, and leaves nothing.
with open(os.path.join(FOLDER, "ascii", "1.traj"), "r+b") as file:
    file.seek(90)
    file.write(b"x")
said = run(COMMAND, "convert", "ascii/traj.template", "bad", code=1)
require("1.traj, line " in said and not os.path.exists(os.path.join(FOLDER, "bad")), said)
said = run(COMMAND, "convert", "same/traj", "ascii", "--format", "lines", code=1)
require("exists" in said or "already" in said, said)
if RANKS == 7:
    said = run(COMMAND, "convert", "ascii/conf.template", "bad", ranks=2, code=1)
    require("divide" in said, said)
print(f"occam's output on {RANKS} ranks: records and texts are the same")
if not energies(printed):
    fail("nothing printed")
