"""Threads that use one file."""

import os
import signal
import threading

import numpy as np
import pytest

import sluice
from sluice import Code

SHAPE = (16, 96, 80)
STEPS = 4


@pytest.fixture
def path(tmp_path):
    with sluice.open(tmp_path / "u.h5", "w", durability="none") as out:
        out.define("u", float, SHAPE, steps=True, unit="K")
        for step in range(STEPS):
            with out.step(time=step):
                out.put("u", np.full(SHAPE, float(step)))
    return tmp_path / "u.h5"


def in_threads(work, count=STEPS):
    """work(n) in each thread; what any raises is raised here."""
    raised = []

    def guarded(number):
        try:
            work(number)
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=guarded, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if raised:
        raise raised[0]


@pytest.mark.parametrize("ending", ["h5", "zarr"])
def test_threads_read_one_file(path, tmp_path, ending):
    if ending == "zarr":
        with sluice.open(path) as f, sluice.open(tmp_path / "u.zarr", "w") as out:
            for step in range(STEPS):
                with out.step():
                    out.put("u", f["u"][step])
        path = tmp_path / "u.zarr"
    with sluice.open(path) as f:
        def read(number):
            for _ in range(20):
                assert (f["u"][number] == number).all()
                assert f["u"].attrs.get("units", "K") == "K" and f.steps == STEPS

        in_threads(read)


def test_threads_read_a_dataset_of_xarray(path):
    with sluice.open(path) as f:
        data = f.to_xarray()

        def read(number):
            for _ in range(10):
                assert (data["u"][number].values == number).all()

        in_threads(read)


def test_each_thread_gets_its_own_error(path):
    with sluice.open(path) as f:
        def fail(number):
            for _ in range(100):
                with pytest.raises(sluice.Error, match=f"missing{number}"):
                    f[f"missing{number}"]

        in_threads(fail)


def test_threads_read_files_of_their_own(path):
    def read(number):
        with sluice.open(path) as f:
            for _ in range(20):
                assert (f["u"][number] == number).all()

    in_threads(read)


def test_threads_put_into_one_step(tmp_path):
    with sluice.open(tmp_path / "p.h5", "w") as out:
        for name in "abcd":
            out.define(name, float, (8, 1000), steps=True)
        for step in range(3):
            with out.step():
                in_threads(lambda n: [out.put("abcd"[n], np.full((1, 1000), step + n * 10.0),
                                              start=(row, 0)) for row in range(8)])
    with sluice.open(tmp_path / "p.h5") as f:
        for number, name in enumerate("abcd"):
            assert (f[name][2] == 2 + number * 10).all()


def test_a_file_is_closed_between_the_calls_of_other_threads(path):
    for _ in range(4):
        f = sluice.open(path)

        def read(number, f=f):
            if number == 0:
                f.close()
                return
            try:
                for _ in range(5):
                    assert (f["u"][number] == number).all()
            except sluice.Error as error:
                assert error.code == Code.WRONG_STATE, error

        in_threads(read)


def test_a_child_of_fork_does_not_wait_for_a_thread_that_it_does_not_have(path):
    with sluice.open(path) as f:
        with f._lock:  # as within a call
            child = []

            def fork():
                pid = os.fork()
                if pid == 0:
                    signal.alarm(20)
                    try:
                        f.steps
                    except sluice.Error:
                        pass
                    os._exit(0)
                child.append(pid)

            in_threads(lambda _: fork(), 1)
        assert os.waitpid(child[0], 0)[1] == 0
