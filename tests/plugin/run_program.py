"""Runs one program: run_program.py NAME PATH plain FOLDER, which copies the file to FOLDER/1.h5, 2,
... at every flush; or NAME PATH watched DUMP, under the tests' driver, which writes down what was
done to the disk and prints where the flushes had returned."""

import ctypes
import json
import os
import shutil
import subprocess
import sys

import programs

name, path, how, target = sys.argv[1:]
program, _ = programs.PROGRAMS[name]
marks = []
if how == "watched":
    watched = ctypes.CDLL(os.environ["SLUICE_WATCHED_DRIVER"])
    watched.watched_mark.restype = ctypes.c_ulong
    program(path, lambda: marks.append(watched.watched_mark()))
    assert watched.watched_dump(target.encode()) == 0
else:
    def copy():
        marks.append(len(marks) + 1)
        to = shutil.copy(path, os.path.join(target, f"{len(marks)}.h5"))
        if os.environ.get("HDF5_DRIVER") != "sluice":
            # HDF5's own driver marks files of the newest format as open.
            subprocess.run(["h5clear", "-s", to], check=False, capture_output=True)
    program(path, copy)
print(json.dumps(marks))
