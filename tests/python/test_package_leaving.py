"""A rank leaves a file or a checkpoint by an exception: no other rank waits for it."""

import time

import numpy as np
import pytest

MPI = pytest.importorskip("mpi4py.MPI", reason="mpi4py is not installed")

import sluice  # noqa: E402
from on_ranks import EACH, folder_of_all, mine, whole  # noqa: E402
from sluice import Code  # noqa: E402

COMM = MPI.COMM_WORLD
RANK, RANKS = COMM.rank, COMM.size
QUICK = {"durability": "none", "timeout_s": 60}

pytestmark = pytest.mark.skipif(RANKS == 1, reason="nobody else is there")


@pytest.fixture
def folder():
    with folder_of_all() as made:
        yield made


def test_an_exception_outside_a_step_fails_the_others_close(folder):
    with pytest.raises(ValueError if RANK == 0 else sluice.Error, match="no more"):
        with sluice.open(folder / "outside.h5", "w", comm=COMM, **QUICK) as out:
            out.define("x", float, (3,))
            if RANK == 0:
                raise ValueError("no more")


def test_no_rank_waits_where_two_files_are_open(folder):
    began = time.monotonic()
    last = RANK == RANKS - 1
    with pytest.raises(ValueError if last else sluice.Error, match="no more") as caught:
        with sluice.open(folder / "a.h5", "w", comm=COMM, **QUICK) as one, \
                sluice.open(folder / "b.h5", "w", comm=COMM, **QUICK) as other:
            for out in (one, other, one):
                with out.step():
                    out.put("x", mine(out.steps), shape=(RANKS * EACH, 3), start=(RANK * EACH, 0))
                if last and out is other:
                    raise ValueError("no more")
    assert time.monotonic() - began < 15
    if not last:
        assert caught.value.code == Code.WRONG_STATE and caught.value.rank == RANKS - 1
    COMM.Barrier()
    for name in ("a.h5", "b.h5"):
        with sluice.open(folder / name, comm=COMM) as f:
            assert f.steps == 1
            np.testing.assert_array_equal(f["x"][0], whole(0))


@pytest.mark.parametrize("call", ["due", "save"])
def test_no_rank_waits_for_one_that_leaves_a_checkpoint(folder, call):
    began = time.monotonic()
    last = RANK == RANKS - 1
    with pytest.raises(ValueError if last else sluice.Error, match="no more") as caught:
        with sluice.Checkpoint(folder / "state.h5", comm=COMM, **QUICK) as state:
            state.array("x", mine(0), shape=(RANKS * EACH, 3), start=(RANK * EACH, 0))
            state.save(1)
            if last:
                raise ValueError("no more")
            state.due() if call == "due" else state.save(2)
    assert time.monotonic() - began < 15
    if not last:
        assert caught.value.code == Code.WRONG_STATE and caught.value.rank == RANKS - 1
    COMM.Barrier()
    with sluice.Checkpoint(folder / "state.h5", comm=COMM, **QUICK) as state:
        x = np.zeros((EACH, 3))
        state.array("x", x, shape=(RANKS * EACH, 3), start=(RANK * EACH, 0))
        assert state.restore().number == 1
        np.testing.assert_array_equal(x, mine(0))


@pytest.mark.parametrize("place", ["in a step", "outside", "a wrong put"])
def test_no_rank_waits_for_one_that_an_exception_takes_away(folder, place):
    began = time.monotonic()
    with pytest.raises((ValueError, sluice.Error)):
        with sluice.open(folder / "gone.h5", "w", comm=COMM, timeout_s=30) as out:
            wrong = RANK == RANKS - 1
            if wrong and place == "outside":
                raise ValueError("as meant")
            first = 99 * RANKS if wrong and place == "a wrong put" else RANK
            out.put("fixed", np.ones(1), shape=(RANKS,), start=(first,))
            with out.step():
                if wrong:
                    raise ValueError("as meant")
                out.put("x", mine(0), shape=(RANKS * EACH, 3), start=(RANK * EACH, 0))
    assert time.monotonic() - began < 15


def test_ranks_that_go_on_hear_that_one_left_in_a_step(folder):
    began = time.monotonic()
    last = RANK == RANKS - 1
    with pytest.raises(ValueError if last else sluice.Error, match="as meant"):
        with sluice.open(folder / "on.h5", "w", comm=COMM, timeout_s=30) as out:
            out.define("x", float, (RANKS * EACH, 3), steps=True)
            try:
                with out.step():
                    if last:
                        raise ValueError("as meant")
                    out.put("x", mine(0), start=(RANK * EACH, 0))
            except sluice.Error:
                pass
            with out.step():
                out.put("x", mine(0), start=(RANK * EACH, 0))
    assert time.monotonic() - began < 15


def fail_otherwise(out):
    raise ValueError("as meant")


def fail_by_a_name(out):
    out["as meant"]  # an error of the package, but of this rank alone


@pytest.mark.parametrize("fail", [fail_otherwise, fail_by_a_name])
def test_no_rank_waits_for_one_that_fails_after_a_step_failed_on_all(folder, fail):
    began = time.monotonic()
    with pytest.raises((ValueError, sluice.Error), match="as meant"):
        with sluice.open(folder / "later.h5", "w", comm=COMM, timeout_s=30) as out:
            out.define("x", float, (RANKS * EACH, 3), steps=True)
            wrong = RANK == RANKS - 1
            with pytest.raises(sluice.Error):
                with out.step():
                    out.put("x", mine(0), start=(RANK * EACH + int(wrong), 0))
            if wrong:
                fail(out)
            with out.step():
                out.put("x", mine(0), start=(RANK * EACH, 0))
    assert time.monotonic() - began < 25


def test_no_rank_waits_for_one_that_gives_the_failure_of_all_another_form(folder):
    began = time.monotonic()
    with pytest.raises((RuntimeError, sluice.Error)):
        with sluice.open(folder / "form.h5", "w", comm=COMM, timeout_s=30) as out:
            out.define("x", float, (RANKS * EACH, 3), steps=True)
            wrong = RANK == RANKS - 1
            try:
                with out.step():
                    out.put("x", mine(0), start=(RANK * EACH + int(wrong), 0))
            except sluice.Error as error:
                if RANK == 0:
                    raise RuntimeError("cannot write") from error
                raise
    assert time.monotonic() - began < 25
