"""Arrays as numpy reads them, mapped into memory too."""

import numpy
import pytest

from conftest import STEPS, flags, values


def stepped(shape, dtype=float):
    return numpy.stack([values(shape, s, dtype) for s in range(STEPS)])


CASES = {
    "steps": stepped((5, 3)),
    "scalars": stepped((), numpy.float32),
    "fixed": values((4, 2, 3), dtype=numpy.int16),
    "flags": flags((10,)),
    "complex": values((6,), dtype=complex),
    "empty": numpy.zeros((STEPS, 0, 3), numpy.uint64),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("mode", [None, "r"])
def test_numpy_loads(made, name, mode):
    if mode == "r" and name == "empty":
        pytest.skip("numpy maps no empty arrays")
    array = numpy.load(made / f"{name}.npy", mmap_mode=mode)
    assert array.dtype == CASES[name].dtype
    assert array.shape == CASES[name].shape
    assert array.flags.c_contiguous
    assert numpy.array_equal(array, CASES[name])


@pytest.mark.parametrize("name", CASES)
def test_header_is_numpys(made, name):
    with open(made / f"{name}.npy", "rb") as file:
        assert numpy.lib.format.read_magic(file) == (1, 0)
        shape, fortran, dtype = numpy.lib.format.read_array_header_1_0(file)
        assert file.tell() == 4096
        assert (shape, fortran, dtype) == (CASES[name].shape, False, CASES[name].dtype)
        rest = file.read()
    assert len(rest) == CASES[name].nbytes


def test_mapped_array_can_be_changed(samples):
    array = numpy.load(samples / "steps.npy", mmap_mode="r+")
    array[1, 2, 0] = -5
    array.flush()
    expected = CASES["steps"].copy()
    expected[1, 2, 0] = -5
    assert numpy.array_equal(numpy.load(samples / "steps.npy"), expected)
