"""Runs one program: run_program.py NAME PATH plain FOLDER, which copies the file to FOLDER/1.h5, 2,
... at every flush; or NAME PATH watched DUMP, under the tests' driver, which writes down what was
done to the disk and prints where the flushes had returned."""

import ctypes
import json
import os
import shutil
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
        shutil.copy(path, os.path.join(target, f"{len(marks)}.h5"))
    program(path, copy)
print(json.dumps(marks))
