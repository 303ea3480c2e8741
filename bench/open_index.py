"""Prints how many seconds h5py takes to open the index of a set, and to read one row through it."""

import sys
import time

import h5py

path, parts = sys.argv[1], int(sys.argv[2])
begin_s = time.perf_counter()
with h5py.File(path, "r") as file:
    field = file["field"]
    shape, kind = field.shape, field.dtype
    opened_s = time.perf_counter()
    row = field[0, parts // 2]
    read_s = time.perf_counter()
assert shape == (1, parts, row.size) and kind == "f8"
assert (row == parts // 2).all()
print(opened_s - begin_s, read_s - opened_s)
