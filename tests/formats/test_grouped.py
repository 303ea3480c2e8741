"""The two forms in which steps of different lengths are kept in plain HDF5, as h5py sees them."""

import h5py
import numpy

from conftest import STEPS, values


def test_a_group_a_step(made, tool):
    with h5py.File(made / "grouped.h5") as file:
        groups = [name for name in file if name.startswith("step_")]
        assert groups == [f"step_{s:06d}" for s in range(STEPS)]
        for step, name in enumerate(groups):
            group = file[name]
            assert group.attrs["time"] == 0.25 * step
            atoms = group["atoms"]
            assert atoms.shape == (2 * step, 3)
            assert atoms.attrs["units"] == "m"
            assert numpy.array_equal(atoms[:], values((2 * step, 3), step))
            assert ("deep/energy" in group) == (step != 2)
            if step != 2:
                assert group["deep/energy"][()] == 1000 * step
        assert numpy.array_equal(file["box"][:], values((3,)))
        assert "time" not in file
    tool("h5dump", "-H", made / "grouped.h5")


def test_a_length_for_every_step(made):
    with h5py.File(made / "varying.h5") as file:
        assert file["atoms"].shape == (STEPS, 8, 3)
        assert list(file["atoms_length"][:]) == [2 * s for s in range(STEPS)]
        assert file["atoms"].attrs["rows_vary"] == "atoms_length"
        for step in range(STEPS):
            rows = file["atoms"][step]
            assert numpy.array_equal(rows[: 2 * step], values((2 * step, 3), step))
            assert (rows[2 * step :] == 0).all()
