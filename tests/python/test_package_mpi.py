"""The package on several ranks: every rank runs every test, under mpirun."""

import os
import threading

import numpy as np
import pytest

MPI = pytest.importorskip("mpi4py.MPI", reason="mpi4py is not installed")

import sluice  # noqa: E402
from on_ranks import EACH, folder_of_all, mine, whole  # noqa: E402
from sluice import Code  # noqa: E402

COMM = MPI.COMM_WORLD
RANK, RANKS = COMM.rank, COMM.size
QUICK = {"durability": "none", "timeout_s": 60}
ALONE = ("self", MPI.COMM_SELF)  # two ways of saying: this process


@pytest.fixture
def folder():
    with folder_of_all() as made:
        yield made


@pytest.mark.parametrize("strategy", ["serial", "shared", "collective"])
def test_ranks_write_one_file_that_all_read(folder, strategy):
    path = folder / "one.h5"
    with sluice.open(path, "w", comm=COMM, strategy=strategy, **QUICK) as out:
        out.attrs["ranks"] = RANKS
        for step in range(3):
            with out.step(time=step):
                out.put("x", mine(step), shape=(RANKS * EACH, 3), start=(RANK * EACH, 0))
    with sluice.open(path, comm=COMM) as f:
        assert f.steps == 3 and f.attrs["ranks"] == RANKS
        first = RANK * EACH
        np.testing.assert_array_equal(f["x"][-1, first:first + EACH], mine(2))
        np.testing.assert_array_equal(f["x"][:, RANK], [whole(step)[RANK] for step in range(3)])
        assert f["x"][0, RANK:RANK].shape == (0, 3)
    if RANK == 0:
        import h5py
        with h5py.File(path) as f:
            np.testing.assert_array_equal(f["x"][...], [whole(step) for step in range(3)])
        with sluice.open(path) as f:
            np.testing.assert_array_equal(f["x"][1], whole(1))


def test_rows_in_any_order(folder):
    order = np.random.default_rng(3).permutation(RANKS * EACH)
    own = order[RANK::RANKS]
    with sluice.open(folder / "rows.h5", "w", comm=COMM, **QUICK) as out:
        with out.step():
            out.put_rows("x", own, whole(0)[own], shape=(RANKS * EACH, 3))
    with sluice.open(folder / "rows.h5", comm=COMM) as f:
        np.testing.assert_array_equal(f["x"].get_rows(own[::-1]), whole(0)[own[::-1]])


@pytest.mark.skipif(RANKS == 1, reason="nobody else is there")
def test_the_first_put_of_a_name_is_one_of_every_rank(folder):
    rows = np.full((2, 3), float(RANK))
    puts = [(lambda out, some: out.put("put", some, shape=(2, 3))),
            (lambda out, some: out.put_rows("rows", range(len(some)), some, shape=(2, 3))),
            (lambda out, some: out.put_joined("joined", some, shape=(2, 3)))]
    for number, put in enumerate(puts):
        with pytest.raises(sluice.Error, match="in Python a put of a new name") as caught:
            with sluice.open(folder / f"first{number}.h5", "w", comm=COMM, **QUICK) as out:
                with out.step():
                    if RANK == 0:
                        put(out, rows)
        assert caught.value.code == Code.DIVERGENT
        with sluice.open(folder / f"good{number}.h5", "w", comm=COMM, **QUICK) as out:
            with out.step():
                put(out, rows if RANK == 0 else rows[:0])
            with out.step():
                if RANK == 0:
                    put(out, rows)
            assert out.steps == 2


def test_what_was_put_before_a_step_outlives_it(folder):
    with sluice.open(folder / "before.h5", "w", comm=COMM, **QUICK) as out:
        mesh = mine(7)
        out.put("mesh", mesh, shape=(RANKS * EACH, 3), start=(RANK * EACH, 0))
        with pytest.raises((ValueError, sluice.Error)):
            with out.step():
                if RANK == RANKS - 1:
                    raise ValueError("as meant")
        mesh[:] = -1  # the library has a copy
        with out.step():
            out.put("x", mine(0), shape=(RANKS * EACH, 3), start=(RANK * EACH, 0))
    with sluice.open(folder / "before.h5", comm=COMM) as f:
        assert f.steps == 1
        np.testing.assert_array_equal(f["x"][0], whole(0))
        np.testing.assert_array_equal(f["mesh"][...], whole(7))


def test_an_exception_on_one_rank_fails_the_step_of_all(folder):
    with sluice.open(folder / "exception.h5", "w", comm=COMM, **QUICK) as out:
        with out.step():
            out.put("x", mine(0), shape=(RANKS * EACH, 3), start=(RANK * EACH, 0))
        with pytest.raises(ValueError if RANK == RANKS - 1 else sluice.Error) as caught:
            with out.step():
                out.put("x", mine(1), start=(RANK * EACH, 0))
                if RANK == RANKS - 1:
                    raise ValueError("the solver diverged")
        assert "the solver diverged" in str(caught.value)
        if RANK != RANKS - 1:
            assert caught.value.code == Code.WRONG_STATE and caught.value.rank == RANKS - 1
        with out.step():
            out.put("x", mine(2), start=(RANK * EACH, 0))
        assert out.steps == 2


@pytest.mark.skipif(RANKS == 1, reason="nobody else is there")
def test_what_every_rank_put_has_a_remedy(folder):
    for value, word in ((1.0, "put it on one rank only"), (np.ones(4), "shape= and start=")):
        with sluice.open(folder / "all.h5", "w", comm=COMM, **QUICK) as out:
            out.put("mass", value)
            with pytest.raises(sluice.Error, match=word):
                out.flush()


@pytest.mark.skipif(RANKS == 1, reason="nobody else is there")
def test_an_attribute_of_one_rank_has_a_remedy(folder):
    with pytest.raises(sluice.Error, match="sets the same attributes"):
        with sluice.open(folder / "one.h5", "w", comm=COMM, **QUICK) as out:
            if RANK == 0:
                out.attrs["date"] = "today"
            out.put("h", np.ones(1), (RANKS,), (RANK,))


@pytest.mark.parametrize("mistake, word", [
    (lambda out: out.put("x", mine(0), start=(RANK * EACH + 0.5, 0)), "TypeError"),
    (lambda out: out.put("x", mine(0), start=(0,)), "start"),
    (lambda out: out.put(out["x"], mine(0), strat=(0, 0)), "strat"),
    (lambda out: out.attrs.__setitem__("matrix", mine(0)), "matrix"),
])
def test_what_the_package_refuses_on_one_rank_fails_the_commit_of_all(folder, mistake, word):
    with sluice.open(folder / "mistake.h5", "w", comm=COMM, **QUICK) as out:
        out.define("x", float, (RANKS * EACH, 3), steps=True)
        out.begin_step()
        if RANK == RANKS - 1:
            with pytest.raises((sluice.Error, TypeError)):
                mistake(out)
        out.put("x", mine(0), start=(RANK * EACH, 0))
        with pytest.raises(sluice.Error, match=word) as caught:
            out.end_step()
        assert caught.value.rank == RANKS - 1
        with out.step():
            out.put("x", mine(1), start=(RANK * EACH, 0))
        assert out.steps == 1


def test_a_name_that_another_program_took_is_refused_on_all_ranks(folder):
    zarr = pytest.importorskip("zarr")
    path = folder / "taken.zarr"
    with sluice.open(path, "w", comm=COMM, **QUICK) as out:
        with out.step():
            out.put("x", mine(0), shape=(RANKS * EACH, 3), start=(RANK * EACH, 0))
    if RANK == 0:
        zarr.open_group(path, mode="r+").create_array("texts", shape=(2,), dtype=str)
        zarr.consolidate_metadata(path)
    COMM.Barrier()
    with sluice.open(path, "a", comm=COMM, **QUICK) as out:
        with pytest.raises(sluice.Error, match="another program made"):
            with out.step():
                out.put("texts", np.ones(3, dtype="i2"), shape=(3,))
        with out.step():
            out.put("x", mine(1), start=(RANK * EACH, 0))
            out.put("mine", mine(2), shape=(RANKS * EACH, 3), start=(RANK * EACH, 0))
    with sluice.open(path, comm=COMM) as f:
        np.testing.assert_array_equal(f["x"][1], whole(1))
        np.testing.assert_array_equal(f["mine"][1], whole(2))


def test_a_wrong_row_of_a_varying_step_is_an_error_on_all(folder):
    with sluice.open(folder / "few.h5", "w", comm=COMM, **QUICK) as out:
        out.define("few", float, (10, 3), steps=True, varying=True)
        for rows in (9, 2):
            with out.step():
                out.resize("few", rows)
                if RANK == 0:
                    out.put("few", np.ones((rows, 3)))
    with sluice.open(folder / "few.h5", comm=COMM, timeout_s=30) as f:
        own = RANK == RANKS - 1
        with pytest.raises(IndexError if own else sluice.Error):
            f["few"][1, 5 if own else 0]
        np.testing.assert_array_equal(f["few"][0, 5], np.ones(3))


@pytest.mark.skipif(MPI.Query_thread() < MPI.THREAD_MULTIPLE, reason="MPI takes one thread")
def test_threads_read_a_file_each_in_any_order(folder):
    for name in "ab":
        with sluice.open(folder / f"{name}.h5", "w", comm=COMM, **QUICK) as out, out.step():
            out.put("x", mine(ord(name)), shape=(RANKS * EACH, 3), start=(RANK * EACH, 0))
    found = []
    with sluice.open(folder / "a.h5", comm=COMM, timeout_s=60) as a, \
            sluice.open(folder / "b.h5", comm=COMM, timeout_s=60) as b:

        def read(name, file):
            for _ in range(10):
                found.append((file["x"][0] == whole(ord(name))).all())

        both = [threading.Thread(target=read, args=one) for one in (("a", a), ("b", b))]
        for thread in both if RANK % 2 == 0 else reversed(both):
            thread.start()
        for thread in both:
            thread.join()
    assert found == [True] * 20


@pytest.mark.skipif(RANKS == 1, reason="nobody else is there")
def test_texts_of_other_widths_are_refused_with_what_to_do(folder):
    with pytest.raises(sluice.Error, match=r'define\(\) it before, such as "S16"') as caught:
        with sluice.open(folder / "texts.h5", "w", comm=COMM, **QUICK) as out, out.step():
            text = np.array(["ab" * (1 + RANK)], "U12")
            out.put("labels", text, shape=(RANKS,), start=(RANK,))
    assert caught.value.code == Code.DIVERGENT
    with sluice.open(folder / "texts.h5", "w", comm=COMM, **QUICK) as out, out.step():
        out.define("labels", "S16", (RANKS,), steps=True)
        out.put("labels", np.array(["ab" * (1 + RANK)]), start=(RANK,))
    with sluice.open(folder / "texts.h5", comm=COMM) as f:
        assert f["labels"][0].tolist() == ["ab" * (1 + rank) for rank in range(RANKS)]


@pytest.mark.skipif(RANKS == 1, reason="nobody else is there")
def test_a_step_that_fails_before_a_definition_lets_the_run_go_on(folder):
    with sluice.open(folder / "before.h5", "w", comm=COMM, **QUICK) as out:
        def put_fixed():
            out.put("fixed", np.ones(1), shape=(RANKS,), start=(RANK,))

        put_fixed()
        with pytest.raises((ValueError, sluice.Error), match="as meant"):
            with out.step():
                if RANK == RANKS - 1:
                    raise ValueError("as meant")  # the others have defined x
                out.put("x", mine(0), shape=(RANKS * EACH, 3), start=(RANK * EACH, 0))
        put_fixed()
        with out.step():
            out.put("x", mine(1), shape=(RANKS * EACH, 3), start=(RANK * EACH, 0))
    with sluice.open(folder / "before.h5", comm=COMM) as f:
        np.testing.assert_array_equal(f["x"][0], whole(1))
        np.testing.assert_array_equal(f["fixed"][...], np.ones(RANKS))


def test_a_refused_commit_leaves_what_was_put(folder):
    with sluice.open(folder / "refused.h5", "w", comm=COMM, **QUICK) as out:
        own = np.arange(5000.0) + 5000 * RANK
        out.put("fixed", own * 2, shape=(5000 * RANKS,), start=(5000 * RANK,))
        with pytest.raises(sluice.Error, match="no step"):
            out.end_step()
        with out.step():
            out.put("x", own * 3, shape=(5000 * RANKS,), start=(5000 * RANK,))
            for commit in (out.flush, out.close):
                with pytest.raises(sluice.Error) as caught:
                    commit()
                assert caught.value.code == Code.WRONG_STATE and not out.closed
            reused = [np.full(5000, -1.0) for _ in range(40)]
        assert len(reused) == 40
    with sluice.open(folder / "refused.h5", comm=COMM) as f:
        everything = np.arange(5000.0 * RANKS)
        np.testing.assert_array_equal(f["fixed"][...], 2 * everything)
        np.testing.assert_array_equal(f["x"][0], 3 * everything)


WRONG_READS = {
    "out": lambda x, wrong: x.get(out=np.empty((1 if wrong else RANKS * EACH, 3))),
    "dtype": lambda x, wrong: x.get(dtype="M8[s]" if wrong else float),
    "start": lambda x, wrong: x.get(start=(0, 0, 0) if wrong else (0, 0), count=(1, 1)),
    "step": lambda x, wrong: x.get("newest" if wrong else -1),
    "rows": lambda x, wrong: x.get_rows([0.5] if wrong else [0]),
    "index": lambda x, wrong: x[99 if wrong else 0],
    "index of a range of steps": lambda x, wrong: x[:, 99 if wrong else 0],
    "list of steps": lambda x, wrong: x[[99 if wrong else 0]],
    "list of rows": lambda x, wrong: x[0, [0, 99 if wrong else 1]],
}


@pytest.mark.parametrize("kind", WRONG_READS)
def test_a_wrong_read_of_one_rank_is_an_error_on_all(folder, kind):
    with sluice.open(folder / "reads.h5", "w", comm=COMM, **QUICK) as out:
        with out.step():
            out.put("x", mine(0), shape=(RANKS * EACH, 3), start=(RANK * EACH, 0))
    with sluice.open(folder / "reads.h5", comm=COMM, timeout_s=30) as f:
        own = RANK == RANKS - 1
        expected = (sluice.Error, IndexError, TypeError) if own else sluice.Error
        with pytest.raises(expected) as caught:
            WRONG_READS[kind](f["x"], own)
        assert own or caught.value.rank == RANKS - 1
        np.testing.assert_array_equal(f["x"][0], whole(0))  # the file can be read all the same


def test_what_one_rank_does_wrong_all_report(folder):
    with sluice.open(folder / "wrong.h5", "w", comm=COMM, **QUICK) as out:
        with pytest.raises(sluice.Error) as caught:
            with out.step():
                start = RANK * EACH + (1 if RANK == RANKS - 1 else 0)
                out.put("x", mine(0), shape=(RANKS * EACH, 3), start=(start, 0))
        assert caught.value.code == Code.OUT_OF_BOUNDS


@pytest.mark.skipif(RANKS == 1, reason="one rank agrees with itself")
def test_ranks_that_define_different_variables_can_commit_nothing(folder):
    with pytest.raises(sluice.Error) as at_close:
        with sluice.open(folder / "divergent.h5", "w", comm=COMM, **QUICK) as out:
            with pytest.raises(sluice.Error) as at_end:
                with out.step():
                    out.put("a" if RANK == 0 else "b", np.ones(3), shape=(3,))
            assert at_end.value.code == Code.DIVERGENT
    assert at_close.value.code == Code.DIVERGENT and out.closed
    assert not (folder / "divergent.h5").exists()


OPENERS = {
    "file": lambda path, **options: sluice.open(path, "w", comm=COMM, **options),
    "sessions": lambda path, **options: sluice.open_sessions(path, "w", comm=COMM, **options),
    "checkpoint": lambda path, **options: sluice.Checkpoint(path, comm=COMM, **options),
}


@pytest.mark.parametrize("kind", OPENERS)
def test_an_option_that_one_rank_misspells_is_an_error_on_all(folder, kind):
    odd = RANK == RANKS - 1
    with pytest.raises(sluice.Error) as caught:
        OPENERS[kind](folder / "options.h5", **(QUICK | ({"stratgy": "auto"} if odd else {})))
    assert caught.value.code == Code.INVALID_ARGUMENT
    assert f"rank {RANKS - 1}: " in str(caught.value) or RANKS == 1


@pytest.mark.skipif(RANKS == 1, reason="one rank agrees with itself")
def test_ranks_that_open_on_different_storages_are_told(folder):
    storage = "mpiio" if RANK == RANKS - 1 else "posix"
    with pytest.raises(sluice.Error) as caught:
        sluice.open(folder / "storage.h5", "w", comm=COMM, storage=storage, **QUICK)
    assert caught.value.code == Code.DIVERGENT and "mpiio" in str(caught.value)


def test_parts_of_the_communicator_and_serial_files_beside(folder):
    half = COMM.Split(RANK % 2)
    with sluice.open(folder / f"half-{RANK % 2}.h5", "w", comm=half, **QUICK) as out, \
            sluice.open(folder / f"own-{RANK}.h5", "w", comm=ALONE[RANK % 2], **QUICK) as own:
        out.put("x", np.array([float(RANK)]), shape=(half.size,), start=(half.rank,))
        own.put("rank", RANK)
    COMM.Barrier()
    with sluice.open(folder / f"half-{(RANK + 1) % 2 if RANKS > 1 else 0}.h5") as f:
        assert f["x"][0] == ((RANK + 1) % 2 if RANKS > 1 else 0)
    with sluice.open(folder / f"own-{(RANK + 1) % RANKS}.h5") as f:
        assert f["rank"][()] == (RANK + 1) % RANKS
    half.Free()


@pytest.mark.skipif(RANKS == 1, reason="one rank writes its own file")
def test_ranks_that_name_no_communicator_do_not_overwrite_each_other(folder):
    with pytest.raises(sluice.Error) as caught:
        sluice.open(folder / "nobody.h5", "w", **QUICK)
    assert caught.value.code == Code.INVALID_ARGUMENT
    assert "comm=MPI.COMM_WORLD" in str(caught.value) and f"{RANKS} ranks" in str(caught.value)
    assert not (folder / "nobody.h5").exists()


def test_the_library_is_of_the_same_mpi():
    assert sluice.mpi_library().split()[0] == MPI.Get_library_version().split()[0]
    assert os.environ.get("SLUICE_LIBRARY")


def test_an_input_file_is_read_for_all(folder):
    path = folder / "input"
    content = b"sim:time-step = 1\n\x00 and more\n"
    if RANK == 0:
        path.write_bytes(content)
    COMM.Barrier()
    assert sluice.read_on_root(path, COMM) == content
    assert sluice.read_on_root(str(path)) == content
    with pytest.raises(sluice.Error) as caught:
        sluice.read_on_root(folder / "nothing", COMM)
    assert caught.value.code == Code.NOT_FOUND
    assert "nothing" in str(caught.value)
