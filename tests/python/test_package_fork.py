"""A process that is forked off while files are open: by multiprocessing, and by os.fork with an
ordinary end of Python."""

import multiprocessing
import os
import signal
import subprocess
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


def test_children_can_be_terminated_while_a_checkpoint_waits_for_signals(tmp_path):
    program = f"""
import multiprocessing, os, signal, time
import sluice
state = sluice.Checkpoint({str(tmp_path / "state.h5")!r}, interval_calls=1000)
state.value("n", 0)
assert not state.due()
context = multiprocessing.get_context("fork")
child = context.Process(target=time.sleep, args=(2 * {SECONDS},))
child.start()
child.terminate()
child.join({SECONDS} / 2)
assert child.exitcode == -signal.SIGTERM, child.exitcode
with context.Pool(2) as pool:  # it terminates them at its end
    assert pool.map(abs, [-1, -2]) == [1, 2]
assert not state.due()
os.kill(os.getpid(), signal.SIGTERM)  # here it is noted as before
assert state.due() and state.ending
state.close()
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=SECONDS)
