"""Memory that cannot be registered for a checkpoint, and such that can."""

import numpy as np
import pytest

import sluice
from sluice import Code

FIELD = np.ones((4, 6))


@pytest.mark.parametrize("register", [
    lambda state: state.array("u", np.zeros((4, 12))[:, ::2]),
    lambda state: state.array("u", [0.0]),
    lambda state: state.array("u", np.zeros((4, 6), dtype="M8[s]")),
    lambda state: state.array("u", np.zeros((4, 6)), start=(0,)),
    lambda state: state.array("u", np.zeros((4, 6)), shape=(4.5, 6)),
    lambda state: state.array("u", np.zeros((4, 6)), start=(1, 0)),
    lambda state: state.array("u", np.ma.zeros((4, 6))),
    lambda state: state.rows("u", [0, 1], np.zeros((4, 6)), (4, 6)),
    lambda state: state.rows("u", [0, 1, 2, 4], np.zeros((4, 6)), (4, 6)),
    lambda state: state.value("u", np.zeros(2)),
    lambda state: state.text("u", "too long", 3),
    lambda state: state.bytes("u", b"not writable"),
])
def test_what_is_refused_is_not_saved_as_it_was_before(tmp_path, register):
    with sluice.Checkpoint(tmp_path / "state.h5", log="off") as state:
        state.array("u", FIELD)
        with pytest.raises((sluice.Error, TypeError)):
            register(state)
        saved = state.save(0.0)
        assert not saved and "u" in saved.why
        state.array("u", 2 * FIELD)
        assert state.save(1.0)
    with sluice.open(tmp_path / "state.h5") as f:
        assert (f["u"][-1] == 2 * FIELD).all()


def test_a_name_of_another_shape_leaves_what_is_registered(tmp_path):
    with sluice.Checkpoint(tmp_path / "state.h5", log="off") as state:
        state.array("u", FIELD)
        with pytest.raises(sluice.Error, check=lambda e: e.code == Code.EXISTS):
            state.array("u", np.zeros(3))
        assert state._memory["u"] is FIELD and state.save(0.0)


def test_a_refusal_of_a_name_that_is_none_is_that_of_the_program(tmp_path):
    with sluice.Checkpoint(tmp_path / "state.h5", log="off") as state:
        with pytest.raises(sluice.Error, match="writeable"):
            state.array("a\0b", [1.0])
        with pytest.raises(sluice.Error, match="writeable"):
            state.array(3, [1.0])
        with pytest.raises(sluice.Error, match="writeable"):
            state.array("new", [1.0])
        state.array("u", FIELD)
        assert state.save(0.0)


@pytest.mark.parametrize("part", [
    np.arange(5.0).reshape(1, 5).T,
    np.arange(12.0).reshape(3, 1, 4)[:, :, 1:3],
    np.arange(24.0).reshape(4, 6)[1:3, 2:3],
    np.lib.stride_tricks.as_strided(np.arange(8.0), (1, 4, 1, 2, 1), (3, 16, 5, 8, 7)),
    np.lib.stride_tricks.as_strided(np.arange(1.0), (1, 1), (-40, 0)),
])
def test_the_stride_of_a_single_element_says_nothing(tmp_path, part):
    wanted = part.copy()
    with sluice.Checkpoint(tmp_path / "state.h5", log="off") as state:
        state.array("u", part)
        assert state.save(0.0)
    part[...] = -1
    with sluice.Checkpoint(tmp_path / "state.h5", log="off") as state:
        state.array("u", part)
        assert state.restore() and (part == wanted).all()
