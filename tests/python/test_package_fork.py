"""A process that is forked off while files are open: by multiprocessing, and by os.fork with an
ordinary end of Python."""

import multiprocessing
import os
import signal
import sys
import warnings

import numpy as np
import pytest

import sluice

SECONDS = 30  # for a child that hangs


def put_step(out, value):
    with out.step():
        out.put("v", np.full(4, value, dtype="float64"))


def refused(action):
    """"" where `action` raises Error WRONG_STATE that tells of the fork."""
    try:
        action()
    except sluice.Error as error:
        if error.code == sluice.Code.WRONG_STATE and "fork" in str(error):
            return ""
        return repr(error)
    return "nothing was raised"


def use_and_end(out, queue):
    signal.alarm(SECONDS)
    queue.put([refused(lambda: out.put("w", np.zeros(2))), refused(out.flush), refused(out.close)])


def expect_fine(path, steps):
    with sluice.open(path) as got:
        assert got.steps == steps
        for step in range(steps):
            assert (got["v"].get(step=step) == step).all()


@pytest.mark.parametrize("strategy", ["serial", "forward", "file-per-process"])
def test_a_child_of_multiprocessing(tmp_path, strategy):
    path = tmp_path / "a.h5"
    context = multiprocessing.get_context("fork")
    with sluice.open(path, "w", strategy=strategy) as out:
        put_step(out, 0)
        queue = context.Queue()
        child = context.Process(target=use_and_end, args=(out, queue))
        child.start()
        assert queue.get(timeout=SECONDS) == ["", "", ""]
        child.join(SECONDS)
        assert child.exitcode == 0
        put_step(out, 1)
    expect_fine(path, 2)


@pytest.mark.parametrize("strategy", ["serial", "forward", "file-per-process"])
@pytest.mark.parametrize("how", ["exit", "collect"])
def test_a_child_of_fork_that_ends_as_python_does(tmp_path, strategy, how):
    path = tmp_path / "a.h5"
    program = f"""
import gc, os, signal, sys
import numpy as np
import sluice
out = sluice.open({str(path)!r}, "w", strategy={strategy!r})
def put(value):
    with out.step():
        out.put("v", np.full(4, value, dtype="float64"))
put(0)
out.drain({SECONDS})
before = sorted(os.listdir({str(tmp_path)!r}))
child = os.fork()
if child == 0:
    signal.alarm({SECONDS})
    if {how!r} == "collect":
        out = None
        gc.collect()
    sys.exit(0)
pid, status = os.waitpid(child, 0)
assert status == 0, status
assert sorted(os.listdir({str(tmp_path)!r})) == before
put(1)
out.close()
"""
    child = os.spawnv(os.P_WAIT, sys.executable, [sys.executable, "-c", program])
    assert child == 0
    expect_fine(path, 2)


def test_a_with_block_that_a_child_leaves(tmp_path):
    path = tmp_path / "a.h5"
    with sluice.open(path, "w") as out:
        put_step(out, 0)
        child = os.fork()
        if child == 0:
            signal.alarm(SECONDS)
            code = 1
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    with out:
                        raise SystemExit(0)
            except SystemExit:
                code = 0
            finally:
                os._exit(code)
        assert os.waitpid(child, 0)[1] == 0
        put_step(out, 1)
    expect_fine(path, 2)
