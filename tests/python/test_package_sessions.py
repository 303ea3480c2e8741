"""Sessions of the package on several ranks: every rank runs every test, under mpirun."""

import time

import numpy as np
import pytest

MPI = pytest.importorskip("mpi4py.MPI", reason="mpi4py is not installed")

import sluice  # noqa: E402
from on_ranks import folder_of_all  # noqa: E402
from sluice import Code  # noqa: E402

COMM = MPI.COMM_WORLD
RANK, RANKS = COMM.rank, COMM.size
QUICK = {"timeout_s": 60, "tile_bytes": 4096}


@pytest.fixture
def path():
    with folder_of_all() as folder:
        yield folder / "f"


def whole(count):
    return np.arange(count, dtype=np.float64)


def test_any_rank_writes_any_part(path):
    completed = []
    data = whole(10000)
    with sluice.open_sessions(path, "w", comm=COMM, **QUICK) as out:
        mine = out.start(16, data.nbytes, complete=completed.append,
                         after=(0, b"sixteen letters!")) if RANK == 0 else None
        session = COMM.bcast(mine)
        for first in range(100 * RANK, data.size, 100 * RANKS):
            out.write(session, data[first:first + 100], 16 + 8 * first)
            out.poll()
    assert completed == ([None] if RANK == 0 else [])
    COMM.Barrier()
    if RANK == 0:
        assert path.read_bytes() == b"sixteen letters!" + data.tobytes()


def test_what_was_written_is_read(path):
    if RANK == 0:
        path.write_bytes(whole(5000).tobytes())
    COMM.Barrier()
    ready = []
    with sluice.open_sessions(path, comm=COMM, readers=1, **QUICK) as f:
        session = COMM.bcast(f.start(0, 40000, ready=lambda: ready.append(1)) if RANK == 0
                             else None)
        got = np.zeros((10, 50))
        f.read(session, got, 8 * 500 * RANK)
        f.wait_for_reads()
        np.testing.assert_array_equal(got.ravel(), whole(5000)[500 * RANK:500 * RANK + 500])
        failures = []
        f.read(session, np.zeros(1), 0, failures.append)
        f.wait_for_reads()
        assert failures == [None]
    assert ready == ([1] if RANK == 0 else [])


def test_errors_reach_every_rank(path):
    out = sluice.open_sessions(path, "w", comm=COMM, **QUICK)
    told = []
    session = COMM.bcast(out.start(0, 100, complete=told.append) if RANK == 0 else None)
    with pytest.raises(sluice.Error) as error:
        out.write(session, b"ab", 99)
    assert error.value.code == Code.OUT_OF_BOUNDS
    if RANK == RANKS - 1:
        out.write(session, b"x" * 60, 0)
        out.write(session, b"y" * 50, 50)
    with pytest.raises(sluice.Error, match="written twice") as error:
        out.close()
    assert error.value.code == Code.OVERLAP
    assert [e.code for e in told] == ([Code.OVERLAP] if RANK == 0 else [])
    with pytest.raises(sluice.Error) as error:
        sluice.open_sessions(path.parent / "none", comm=COMM, **QUICK)
    assert error.value.code == Code.NOT_FOUND


def test_a_callback_that_raises_is_heard(path):
    def refuse(failure):
        raise ValueError("not like this")

    out = sluice.open_sessions(path, "w", comm=COMM, **QUICK)
    if RANK == 0:
        session = out.start(0, 3, complete=refuse)
        out.write(session, b"abc", 0)
        with pytest.raises(ValueError, match="not like this"):
            out.close()
    else:
        out.close()
    COMM.Barrier()


def test_poll_and_drain(path):
    with sluice.open(f"{path}.h5", "w", comm=COMM, strategy="forward", timeout_s=60) as out:
        for step in range(3):
            with out.step():
                out.put("x", whole(1000) + RANK,
                        shape=(1000 * RANKS,), start=(1000 * RANK,))
            out.poll()
        assert out.drain(60)
        COMM.Barrier()
    with sluice.open(f"{path}.h5", comm=COMM) as f:
        assert f.steps == 3


@pytest.mark.skipif(RANKS == 1, reason="nobody else is there")
def test_no_rank_waits_for_one_that_leaves_by_an_exception(path):
    began = time.monotonic()
    last = RANK == RANKS - 1
    with pytest.raises(ValueError if last else sluice.Error, match="no more") as caught:
        with sluice.open_sessions(path, "w", comm=COMM, **QUICK):
            if last:
                raise ValueError("no more")
    assert time.monotonic() - began < 15
    if not last:
        assert caught.value.code == Code.WRONG_STATE and caught.value.rank == RANKS - 1
    COMM.Barrier()
