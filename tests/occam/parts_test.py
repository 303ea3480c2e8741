"""Many ranks' input and output by few processes with few file descriptors: one file of records in
place of one of text a rank, each made of the other.

  parts_test.py PARTS
"""

import os
import resource
import sys

from case import COMMAND, FOLDER, NAMES, energies, generate, make_folder, program, require, run, \
    same_folders

PARTS = int(sys.argv[1])
BLOCKS = 16  # 6,400 particles in 5,216 molecules

resource.setrlimit(resource.RLIMIT_NOFILE, (256, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))


def entries(folder):
    return sorted(os.listdir(os.path.join(FOLDER, folder)))


# The preprocessor's: PARTS files of text, or one of records.
params = generate("binary", PARTS, BLOCKS)
generate("texts", PARTS, BLOCKS, "ascii=.true.")
require(entries("binary") == ["init_bin.dat", "params.nml"], "one file of records")
require(len(entries("texts")) == PARTS + 2, "a file a part")
run(COMMAND, "convert", "texts/init.template", "binary/back")
run(COMMAND, "diff", "binary/init_bin.dat", "binary/back")
run(COMMAND, "convert", "binary/init_bin.dat", "made", "--format", "lines", ranks=3)
os.remove(os.path.join(FOLDER, "texts", "params.nml"))
os.rename(os.path.join(FOLDER, "made", "fort.template"),
          os.path.join(FOLDER, "made", "init.template"))
require(same_folders("texts", "made"), f"the texts of {PARTS} parts")
seen = energies(run(program("occam_checked"), params, "steps=1", "print_every=1", "output='none'",
                    ranks=2))
require(len(seen) == 2, f"{PARTS} parts read by 2 ranks: {seen}")

# A run's: 4 * PARTS files of text, or four of records.
for way in ("records", "ascii"):
    run(os.environ["OCCAM_MANY_PARTS"], way, PARTS, BLOCKS, make_folder(way))
require(entries("records") == sorted(NAMES), "four files of records")
require(entries("ascii") == sorted([f"{name}.template" for name in NAMES] +
                                   [f"{part}.{name}" for name in NAMES
                                    for part in range(1, PARTS + 1)]), "four files of text a part")
for name in NAMES:
    run(COMMAND, "convert", f"records/{name}", "lines", "--format", "lines")
require(same_folders("ascii", "lines"), f"the {4 * PARTS} texts of {PARTS} parts")
make_folder("again")
for name in NAMES:
    run(COMMAND, "convert", f"ascii/{name}.template", f"again/{name}")
    run(COMMAND, "verify", f"again/{name}")
for name in ("conf", "energies"):  # every digit is in the text: the same records
    run(COMMAND, "diff", f"records/{name}", f"again/{name}")
make_folder("twice")
for name in ("traj", "wvalues") if PARTS < 1000 else ():  # thousands of files take their time
    run(COMMAND, "convert", f"again/{name}", "twice", "--format", "lines")
for name in entries("twice"):
    with open(os.path.join(FOLDER, "twice", name), "rb") as made, \
            open(os.path.join(FOLDER, "ascii", name), "rb") as written:
        require(made.read() == written.read(), name)
print(f"parts: {4 * PARTS} texts are 4 files of records")
