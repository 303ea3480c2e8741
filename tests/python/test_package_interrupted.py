"""What Ctrl-C interrupts: the library writes only into memory that is still there, and a file that
was dropped stays closed."""

import gc
import weakref

import numpy as np
import pytest

import sluice
from sluice._library import lib
from sluice._variable import Variable

STEPS, EACH = 6, 50


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "read.h5"
    with sluice.open(path, "w", durability="none") as out:
        for step in range(STEPS):
            with out.step():
                out.put("x", np.full(EACH, float(step)))
    return path


def interrupt(monkeypatch, f, function, calls):
    """KeyboardInterrupt directly after so many calls of `function` of the library."""
    done = []

    def interrupted(called, *arguments, **named):
        type(f)._call(f, called, *arguments, **named)
        if called == function:
            done.append(called)
            if len(done) == calls:
                raise KeyboardInterrupt

    monkeypatch.setattr(f, "_call", interrupted)


@pytest.mark.parametrize("calls", [1, 3, STEPS])
def test_the_steps_that_were_noted_are_forgotten(path, monkeypatch, calls):
    arena = np.full((STEPS, EACH), -1.0)  # stands for memory that another array has by then
    with sluice.open(path) as f:
        with monkeypatch.context() as patch:
            patch.setattr(Variable, "_to_read", lambda variable, out: arena)
            interrupt(patch, f, lib.sluice_defer_get, calls)
            with pytest.raises(KeyboardInterrupt):
                f["x"][:]
        y = f["x"].get(2, deferred=True)
        f.perform_gets()
        assert (arena == -1).all() and (y == 2).all()
        assert (f["x"][1:3] == np.array([[1.0], [2.0]])).all() and not f._deferred


def test_of_several_ranks_the_memory_of_noted_steps_is_kept(path, monkeypatch):
    """The ranks may have been interrupted at other places: none makes a call of all."""
    MPI = pytest.importorskip("mpi4py.MPI", reason="mpi4py is not installed")
    seen = []

    def noting(variable, out):
        seen.append(weakref.ref(out))
        return out

    with sluice.open(path, comm=MPI.COMM_SELF) as f:
        with monkeypatch.context() as patch:
            patch.setattr(Variable, "_to_read", noting)
            interrupt(patch, f, lib.sluice_defer_get, 3)
            with pytest.raises(KeyboardInterrupt):
                f["x"][:]
        gc.collect()
        assert seen[0]() is not None
        assert (f["x"][0:2] == np.array([[0.0], [1.0]])).all()
        f.perform_gets()
        gc.collect()
        assert seen[0]() is None


def test_a_deferred_part_that_was_noted_is_kept(path, monkeypatch):
    out = np.zeros(EACH)
    seen = weakref.ref(out)
    with sluice.open(path) as f:
        with monkeypatch.context() as patch:
            interrupt(patch, f, lib.sluice_defer_get, 1)
            with pytest.raises(KeyboardInterrupt):
                f["x"].get(3, out=out, deferred=True)
        del out
        gc.collect()
        assert (seen() == 0).all()
        f.perform_gets()
        gc.collect()
        assert seen() is None


def test_memory_is_kept_until_the_library_has_read_into_it(path, monkeypatch):
    with sluice.open(path) as f:
        part = f["x"].get(3, deferred=True)

        def before_the_call(*arguments, **named):
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(f, "_call", before_the_call)
            with pytest.raises(KeyboardInterrupt):
                f.perform_gets()
        assert f._deferred
        f.perform_gets()
        assert (part == 3).all() and not f._deferred


def test_an_error_amid_the_steps_leaves_nothing_noted(path, monkeypatch):
    with sluice.open(path) as f:
        with monkeypatch.context() as patch:
            made = []

            def failing(called, *arguments, **named):
                made.append(called)
                if made.count(lib.sluice_defer_get) == 3:
                    raise sluice.Error(sluice.Code.IO, "as meant")
                type(f)._call(f, called, *arguments, **named)

            patch.setattr(f, "_call", failing)
            with pytest.raises(sluice.Error, match="as meant"):
                f["x"][:]
            assert lib.sluice_perform_gets in made, "the other ranks wait for it"
        assert (f["x"][:] == np.arange(STEPS)[:, None]).all()


def test_a_file_that_was_dropped_in_a_step_stays_closed(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        with sluice.open(tmp_path / "dropped.h5", "w", durability="none") as out:
            out.begin_step()
            raise KeyboardInterrupt
    with pytest.raises(sluice.Error, match="closed"):
        out.close()
    assert out.closed
