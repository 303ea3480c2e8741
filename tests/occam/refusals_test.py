"""Inputs that occam and iopc refuse in a line."""

import os

from case import FOLDER, generate, make_folder, program, require, run

COMMON = ("steps=2", "print_every=1")


def refused(what, *words, ranks=0):
    said = run(*words, ranks=ranks, code=2)
    require(what in said and "Fortran runtime error" not in said, f"{what}: {said}")


# A file of text a rank: none is left out.
texts = generate("texts", 3, 8, "ascii=.true.")
refused("occam: texts/3.fort would not be read", program("occam_checked"), texts, *COMMON,
        "output='none'", ranks=2)
run(program("occam_checked"), texts, *COMMON, "output='none'", ranks=3)

# A conf that this run would replace.
params = generate("start", 2, 8)
occam = (program("occam_checked"), params, *COMMON)
run(*occam, "folder='start'", ranks=2)
for folder in ("start", "./start", "start/"):
    refused("start/conf is where this run's last state goes", *occam, "input='start/conf'",
            f"folder='{folder}'", ranks=2)
run(*occam, "input='start/conf'", f"folder='{make_folder('next')}'", "seed=2", ranks=3)
refused("start/conf is where this run's last state goes", *occam, "input='start/conf'",
        "folder='start'", "conf_every=-1", ranks=2)
run(*occam, "input='start/conf'", "output='none'", ranks=1)
run(*occam, "input='start/conf'", "folder='start'", "output='ascii'", ranks=2)

# More rules than there is room for.
for name, row in (("chi", '["A", "B", 1.0]'), ("bonds", '["A", "B", 0.5, 0.0]'),
                  ("angle_bonds", '["A", "B", "A", 180.0, 0.0]')):
    with open(os.path.join(FOLDER, "many.toml"), "w", encoding="utf-8") as file:
        file.write(f"box_size = [5.0, 5.0, 5.0]\n{name} = [\n" + f"  {row},\n" * 65 + "]\n")
    refused(f"iopc: {name}: more than 64 rows", program("iopc_checked"), "hymd", "folder='start'",
            "toml='many.toml'", "hdf5='none.hdf5'")
print("occam: refused in a line")
