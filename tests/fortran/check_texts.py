"""Reads what texts.f90 wrote with h5py, which shares no code with it."""

import sys

import h5py

TEXTS = [b"a\0b", b"\0\0cd", b" e \0f"]

with h5py.File(sys.argv[1]) as f:
    for name in ("texts", "rows"):
        found = f[name][:].tolist()
        assert len(found) % 3 == 0 and found == TEXTS * (len(found) // 3), (name, found)
    assert f["filled"][:].tolist() == [b"x\0y"] * 2
print("fortran texts by h5py: ok")
