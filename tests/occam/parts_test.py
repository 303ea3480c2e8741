"""Preprocessing for many ranks by one process: one file of records in place of one of text a part,
with few file descriptors; each made of the other.

  parts_test.py PARTS
"""

import os
import resource
import sys

from case import COMMAND, FOLDER, generate, require, run, same_folders

PARTS = int(sys.argv[1])

resource.setrlimit(resource.RLIMIT_NOFILE, (256, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
generate("binary", PARTS, PARTS)
generate("texts", PARTS, PARTS, "ascii=.true.")
require(sorted(os.listdir(os.path.join(FOLDER, "binary"))) == ["init_bin.dat", "params.nml"],
        "one file of records")
require(len(os.listdir(os.path.join(FOLDER, "texts"))) == PARTS + 2, "a file a part")
run(COMMAND, "convert", "texts/init.template", "binary/back")
run(COMMAND, "diff", "binary/init_bin.dat", "binary/back")
run(COMMAND, "convert", "binary/init_bin.dat", "made", "--format", "lines", ranks=3)
os.remove(os.path.join(FOLDER, "texts", "params.nml"))
os.rename(os.path.join(FOLDER, "made", "fort.template"),
          os.path.join(FOLDER, "made", "init.template"))
require(same_folders("texts", "made"), f"the texts of {PARTS} parts")
print(f"parts: {PARTS} as records and as texts")
