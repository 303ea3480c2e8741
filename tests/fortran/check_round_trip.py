"""Reads what round_trip.f90 wrote with h5py, which shares no code with it."""

import sys

import h5py
import numpy as np

ROWS = 1000
row = np.arange(1, ROWS + 1)[:, None]
component = np.arange(1, 4)[None, :]

with h5py.File(sys.argv[1]) as f:
    assert f["positions"].shape == (4, ROWS, 3)
    for step in range(4):
        expected = 1e6 * (step + 1) + 10.0 * row + component
        assert (f["positions"][step] == expected).all()
        assert (f["velocities"][step] == expected[:, ::-1].astype("f4")).all()
        assert (f["by_index"][step] == expected[::-1]).all()
    assert f["velocities"].dtype == np.float32
    assert (f["group/charge"][:] == (row - 1j * row)[:, 0]).all()
    assert f["group/charge"].dtype == np.complex64
    assert (f["small"][:] == row[:, 0] % 1000).all() and f["small"].dtype == np.int32
    assert f["even"].dtype == bool and (f["even"][:] == (row[:, 0] % 2 == 0)).all()
    assert [name.decode() for name in f["names"][:3]] == ["n1", "n2", "n3"]
    assert (f["energy"][:] == [1.25, 2.5, 3.75, 5.0]).all()
    sparse = f["sparse"][:]
    filled = {name: set(dataset[:].tolist()) for name, dataset in f["filled"].items()}
    assert filled == {"int": {-9223372036854775806}, "complex": {1 + 2j}, "logical": {True},
                      "text": {b"none"}}
    assert sparse[0] == 1 and (sparse > 0).sum() >= 1 and sparse[1] == -1
    assert f.attrs["title"] == "a Fortran file"
    assert (f.attrs["cell"] == [1.5, 2.5, 3.5]).all()
    assert f["positions"].attrs["particles"] == ROWS and f["positions"].attrs["units"] == "nm"
    small = f["small"].attrs
    for name, values, kind in [("flag_values", [0, 1], "i1"), ("flag", [-1], "i1"),
                               ("valid_range", [-100, 100], "i2"), ("missing_value", -32767, "i2"),
                               ("_FillValue", [-1], "i4")]:
        assert small[name].dtype == kind and np.all(small[name] == values), name
    assert (f["time"][:] == [0.5, 1.0, 1.5, 2.0]).all()
print("fortran round trip by h5py: ok")
