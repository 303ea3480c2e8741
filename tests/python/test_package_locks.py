"""HDF5's own lock of files: programs of plain HDF5 beside a file that is written, and before one
that is appended to. Readers are let in."""

import fcntl
import os
import signal
import time

import h5py
import netCDF4
import numpy as np
import pytest

import sluice

CASES = [("f.h5", {}), ("f.nc", {}), ("f.h5", {"storage": "direct"}),
         ("f.h5", {"split_steps": 2}), ("f.h5", {"keep_last": 2})]
QUICK = {"durability": "none"}


@pytest.fixture(autouse=True)
def default_locking(monkeypatch):
    monkeypatch.delenv("HDF5_USE_FILE_LOCKING", raising=False)


def put_step(out, step):
    with out.step(time=step):
        out.put("x", np.full(8, float(step)))
    out.flush()


def expect_refused(path):
    with pytest.raises(OSError, match="lock"):
        h5py.File(path, "r+", locking=True)


def newest_part(folder):
    return max(folder.glob("*.parts/*.h5"), key=lambda part: part.name)


@pytest.mark.parametrize(("name", "options"), CASES)
def test_what_is_written_is_locked_until_the_close(tmp_path, name, options):
    path = tmp_path / name
    for mode, steps in (("w", range(3)), ("a", range(3, 6))):
        with sluice.open(path, mode, **options) as out:
            for step in steps:
                put_step(out, step)
                expect_refused(path)
                if len(options) == 1 and "storage" not in options:
                    expect_refused(newest_part(tmp_path))
        with sluice.open(path) as now:
            assert now["x"][now.steps - 1][0] == steps[-1]
        h5py.File(path, "r+", locking=True).close()


def first_row(opened):
    with opened as file:
        return file["x"][0].tolist()


def opened_between_commits(path):
    end = time.monotonic() + 10
    while True:
        try:
            return h5py.File(path, locking=True)
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.01)


def test_readers_are_let_in(tmp_path):
    for name in ("f.h5", "f.nc"):
        path = tmp_path / name
        with sluice.open(path, "w", apply_every_s=0) as out:
            put_step(out, 0)
            put_step(out, 1)
            # For a moment while a step is put in place they are refused, whatever the locks.
            readers = [lambda path=path: h5py.File(path, locking=True),
                       lambda path=path: sluice.open(path)]
            if name.endswith("nc"):
                readers.append(lambda path=path: netCDF4.Dataset(path))
            for reader in readers:
                assert sluice.read_stable(path, lambda _, reader=reader: first_row(reader())
                                          ) == [0] * 8
            with opened_between_commits(path):
                put_step(out, 2)


@pytest.mark.parametrize(("name", "options"), CASES)
def test_appending_to_a_file_that_another_program_writes_says_who(tmp_path, name, options):
    path = tmp_path / name
    with sluice.open(path, "w", **options) as out:
        put_step(out, 0)
    with h5py.File(path, "r+", locking=True) as other:
        before = path.read_bytes()
        with pytest.raises(sluice.Error, match=rf"\(.*process {os.getpid()}\) has locked it"
                           ) as caught:
            sluice.open(path, "a", **options)
        assert caught.value.code == sluice.Code.LOCKED
        assert path.read_bytes() == before
        other.attrs["note"] = 1
    with sluice.open(path, "a", **options) as out:
        put_step(out, 1)


@pytest.mark.parametrize("word", ["FALSE", "0"])
def test_the_variable_of_hdf5_turns_it_off(tmp_path, monkeypatch, word):
    path = tmp_path / "f.h5"
    monkeypatch.setenv("HDF5_USE_FILE_LOCKING", word)
    with sluice.open(path, "w", **QUICK) as out:
        put_step(out, 0)
        descriptor = os.open(path, os.O_RDONLY)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    with sluice.open(path, "a", **QUICK) as out:
        put_step(out, 1)
    os.close(descriptor)


def test_other_formats_have_no_lock_that_refuses(tmp_path):
    path = tmp_path / "f.npy"
    with sluice.open(path, "w", **QUICK) as out:
        with out.step():
            out.put("x", np.zeros(8))
    with open(path, "rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with sluice.open(path, "a", **QUICK) as out:
            with out.step():
                out.put("x", np.ones(8))


def test_children_do_not_keep_the_lock(tmp_path):
    path = tmp_path / "f.h5"
    out = sluice.open(path, "w", **QUICK)
    put_step(out, 0)
    child = os.fork()
    if child == 0:
        signal.pause()
    try:
        out.close()
        h5py.File(path, "r+", locking=True).close()
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_a_child_that_ends_does_not_take_the_lock_along(tmp_path):
    path = tmp_path / "f.h5"
    with sluice.open(path, "w", **QUICK) as out:
        put_step(out, 0)
        child = os.fork()
        if child == 0:
            out.__exit__(RuntimeError, None, None)
            os._exit(0)
        os.waitpid(child, 0)
        expect_refused(path)
