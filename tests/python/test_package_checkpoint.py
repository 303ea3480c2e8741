"""sluice.Checkpoint: what was saved comes back; what cannot be, is said."""

import json
import os
import signal
import subprocess
import sys

import h5py
import numpy as np
import pytest

import sluice
from sluice import Code


def fails(code, *words):
    return pytest.raises(sluice.Error, check=lambda e: e.code == code and
                         all(word in str(e) for word in words))


def registered(state, scale=1.0):
    field = scale * np.arange(48.0).reshape(6, 8)
    rows = scale * np.arange(15, dtype="f4").reshape(5, 3)
    generator = bytearray(b"abcdefgh" if scale else bytes(8))
    state.array("inner", field[1:-1, 2:-2])
    state.rows("rows", [4, 0, 3, 1, 2], rows, (5, 3))
    state.bytes("generator", generator)
    return field, rows, generator, state.value("step", int(3 * scale)), state.text("note", "x")


def test_everything_comes_back_in_place(tmp_path):
    path = tmp_path / "state.h5"
    with sluice.Checkpoint(path, keep=3) as state:
        assert not state.restore()
        field, rows, generator, step, note = registered(state)
        for number in range(1, 6):
            step[()] = 10 * number
            field += 1
            note.value = f"Grüße {number}"
            saved = state.save(0.5 * number)
            assert saved and saved.number == number and saved.why == "" and saved.seconds > 0
    with sluice.Checkpoint(path) as state:
        again = registered(state, 0.0)
        taken = state.restore()
        assert taken == (5, 2.5, 1, (), ())
        assert (again[0][1:-1, 2:-2] == field[1:-1, 2:-2]).all()
        assert again[0].sum() == field[1:-1, 2:-2].sum(), "the ghost cells are left alone"
        assert (again[1] == rows).all() and again[2] == generator
        assert again[3] == 50 and again[4].value == "Grüße 5"
    with h5py.File(path) as f:
        assert f["inner"].shape == (3, 4, 4) and list(f["checkpoint/number"]) == [3, 4, 5]
        assert (f["rows"][2][4] == rows[0]).all() and f["generator/of_1_ranks"].shape == (3, 1, 8)


@pytest.mark.parametrize("strategy", ["auto", "forward", "file-per-process"])
def test_what_does_not_change_is_not_written_again(tmp_path, strategy):
    path = tmp_path / "state.h5"
    mesh, u = np.arange(40000.0), np.arange(30000.0)
    with sluice.Checkpoint(path, incremental=True, strategy=strategy) as state:
        state.array("mesh", mesh)
        state.array("u", u)
        for step in range(6):
            u += 1
            assert state.save(float(step))
            assert state.drain(60)
        sizes = {p: p.stat().st_size for p in (tmp_path / "state.h5.parts").glob("*.h5")}
        newest = max(sizes, key=lambda p: p.name)
        assert u.nbytes < sizes[newest] < mesh.nbytes, sizes
    with h5py.File(path) as f:
        assert (f["mesh"][:] == mesh).all() and f["mesh"].shape == (2, 40000)
        assert (f["u"][1] == u).all() and (f["u"][0] == u - 1).all()
    command = os.environ["SLUICE_COMMAND"]
    said = subprocess.run([command, "checkpoints", "--json", path], capture_output=True, check=True)
    listed = json.loads(said.stdout)["checkpoints"]
    shared = mesh.nbytes + 4  # and the number of ranks
    assert [one["bytes"] - one["written"] for one in listed] == [shared] * 2, listed
    subprocess.run([command, "verify", path], check=True)
    mesh[12345] = -1
    u[:] = 0
    with sluice.Checkpoint(path, incremental=True) as state:
        state.array("mesh", mesh)
        state.array("u", u)
        assert state.restore().number == 6
        assert (mesh == np.arange(40000.0)).all() and u[0] == 6
    with fails(Code.INVALID_ARGUMENT, "incremental needs keep"):
        sluice.Checkpoint(path, incremental=True, keep=0)


def test_scratch_is_drained(tmp_path, monkeypatch):
    node, path = tmp_path / "node", tmp_path / "state.h5"
    monkeypatch.setenv("SLUICE_TEST_NODE", str(node))

    def on_node():
        return [p for p in node.rglob("*.h5") if p.is_file()]

    x = np.arange(1000.0)
    with sluice.Checkpoint(path, scratch="$SLUICE_TEST_NODE", interval_calls=10**9) as state:
        state.array("x", x)
        for number in range(3):
            x += 1
            assert state.save(number) and len(on_node()) == 1
        assert state.drain(60) and on_node() == []
        x += 1
        assert state.save(3.0)
        while on_node():
            assert not state.due()  # the copies are there some calls later
    y = np.zeros(1000)
    with sluice.Checkpoint(path) as state:
        state.array("x", y)
        assert state.restore().number == 4 and (y == x).all()
    with h5py.File(path) as f:
        assert (f["x"][-1] == x).all()
    with fails(Code.INVALID_ARGUMENT, "scratch", "NO_SUCH"):
        sluice.Checkpoint(path, scratch="$NO_SUCH/x")


KILLED_BEFORE_DRAINED = """
import os, sys
import numpy as np
import sluice
x = np.zeros(1000)
with sluice.Checkpoint(sys.argv[1], scratch=sys.argv[2], interval_calls=10**9) as state:
    state.array("x", x)
    for number in range(3):
        x += 1
        assert state.save(float(number))
        assert number == 2 or state.drain(60)
    os._exit(9)
"""


def test_others_are_listed_where_the_scratch_folder_is_not(tmp_path):
    path, node = tmp_path / "state.h5", tmp_path / "node"
    run = subprocess.run([sys.executable, "-c", KILLED_BEFORE_DRAINED, path, node])
    assert run.returncode == 9

    def listed(*options):
        said = subprocess.run([os.environ["SLUICE_COMMAND"], "checkpoints", *options, path],
                              capture_output=True, text=True)
        return said.returncode, said.stdout, said.stderr

    assert listed()[0] == 0
    node.rename(tmp_path / "elsewhere")
    code, text, errors = listed()
    rows = text.splitlines()[1:]
    assert code == 2 and len(rows) == 3 and len(errors.splitlines()) == 1, text + errors
    assert rows[0].split()[:2] == ["?", "2"] and rows[0].endswith("NOT READ: not drained"), text
    assert [row.split()[0] for row in rows[1:]] == ["2", "1"], text
    assert all(row.endswith(" good") for row in rows[1:]), text
    assert f"scratch folder {node}/state.h5.parts cannot be read here" in errors, errors
    code, text, _ = listed("--json")
    assert code == 2
    assert [(one["number"], one["time"], one["good"]) for one in json.loads(text)["checkpoints"]] \
        == [(None, 2.0, None), (2, 1.0, True), (1, 0.0, True)]
    (tmp_path / "elsewhere").rename(node)
    assert listed()[0] == 0
    for part in (tmp_path / "state.h5.parts").glob("*.h5"):
        part.unlink()  # at home they must be there
    code, text, errors = listed()
    rows = text.splitlines()[1:]
    assert (code, errors) == (1, ""), text + errors
    assert rows[0].split()[:2] == ["3", "2"] and rows[0].endswith(" good"), text
    assert [row.split()[:2] for row in rows[1:]] == [["?", "1"], ["?", "0"]], text
    assert all("DAMAGED: " in row and " is not there" in row for row in rows[1:]), text


def test_a_damaged_one_is_passed_over(tmp_path):
    path = tmp_path / "state.h5"
    with sluice.Checkpoint(path, keep=2) as state:
        x = np.arange(1000.0)
        state.array("x", x)
        for number in range(3):
            x += 1
            state.save(number)
    newest = max((tmp_path / "state.h5.parts").glob("*.h5"))
    bytes_there = bytearray(newest.read_bytes())
    at = bytes_there.find(np.array([503.0, 504.0]).tobytes())
    bytes_there[at] ^= 1
    newest.write_bytes(bytes_there)
    with sluice.Checkpoint(path) as state:
        state.array("x", x)
        x[:] = 0
        taken = state.restore()
        assert taken.number == 2 and x[0] == 2 and len(taken.newer) == 1 and "x" in taken.newer[0]


def test_mistakes_are_errors(tmp_path):
    path = tmp_path / "state.h5"
    with sluice.Checkpoint(path) as state:
        with fails(Code.INVALID_ARGUMENT, "x", "numpy array"):
            state.array("x", [1.0, 2.0])
        with fails(Code.INVALID_ARGUMENT, "x", "writeable"):
            state.array("x", np.broadcast_to(1.0, 3))
        with fails(Code.TYPE_MISMATCH, "x", ">f8"):
            state.array("x", np.zeros(3, ">f8"))
        for kind in ("O", "M8[s]", np.longdouble):
            with fails(Code.TYPE_MISMATCH, "checkpoint: x: ", "has no Sluice type"):
                state.array("x", np.zeros(3, kind))
        for shape, start in (((3, 5), None), ((), None), (3, (0, 0)), ((3, 5), (0, 0))):
            with fails(Code.INVALID_ARGUMENT, "x", "shape (3,)", "needs 1 number"):
                state.array("x", np.zeros(3), shape, start)
        with fails(Code.UNSUPPORTED, "x", "gaps"):
            state.array("x", np.zeros(9)[::2])
        with fails(Code.INVALID_ARGUMENT, "x", "ids"):
            state.rows("x", [1, 2, 3], np.zeros((2, 3)), (4, 3))
        with fails(Code.INVALID_ARGUMENT, "x", "ids"):
            state.rows("x", [1, 2], np.zeros(2), ())
        with fails(Code.INVALID_ARGUMENT, "b", "bytearray"):
            state.bytes("b", b"constant")
        with fails(Code.BAD_NAME, "checkpoint"):
            state.value("checkpoint/number", 1)
        note = state.text("note", "", 4)
        with fails(Code.OVERFLOW, "checkpoint: note: ", "room for 4"):
            note.value = "five!"
        with fails(Code.OVERFLOW, "checkpoint: words: ", "room for 2"):
            state.text("words", "long", 2)
        with fails(Code.OUT_OF_BOUNDS, "x", "outside"):
            state.array("x", np.zeros(4), shape=9, start=(6,))
        with fails(Code.OUT_OF_BOUNDS, "x", "row 4 of 4"):
            state.rows("x", [1, 4], np.zeros((2, 3)), (4, 3))
        state.array("x", np.zeros(3), shape=9, start=(6,))
        saved = state.save(0)
        assert not saved and "x" in saved.why
        assert not path.exists()
    with fails(Code.INVALID_ARGUMENT, "NULL"), state:
        state.__exit__(ValueError, None, None)
    with fails(Code.INVALID_ARGUMENT, "interval_s"):
        sluice.Checkpoint(path, interval_s=-1)
    with fails(Code.INVALID_ARGUMENT, 'no option "intervall": did you mean interval_s?'):
        sluice.Checkpoint(path, intervall=2)
    with fails(Code.INVALID_ARGUMENT, 'no option "stratgy": did you mean strategy?'):
        sluice.Checkpoint(path, stratgy="serial")
    with fails(Code.INVALID_ARGUMENT, "keep_last"):
        sluice.Checkpoint(path, keep_last=3)
    with fails(Code.IO) if os.geteuid() else pytest.raises(sluice.Error):
        with sluice.Checkpoint(tmp_path / "none" / "state.h5", stop_on_failed_save=True) as state:
            state.value("x", 1)
            state.save(0)


def test_a_mask_is_not_dropped(tmp_path):
    with sluice.Checkpoint(tmp_path / "state.h5") as state:
        for values in (np.ma.masked_less(np.arange(3.0), 1), np.ma.zeros(3)):
            for register in (lambda v: state.array("x", v), lambda v: state.bytes("x", v),
                             lambda v: state.rows("x", [0, 1, 2], v, (3,)),
                             lambda v: state.value("x", v[0:1].reshape(()))):
                with fails(Code.INVALID_ARGUMENT, "checkpoint: x: ", "mask"):
                    register(values)


def test_signals_end_a_run(tmp_path):
    with sluice.Checkpoint(tmp_path / "state.h5", interval_s=1e6) as state:
        state.value("x", 1)
        assert not state.due() and not state.ending
        signal.raise_signal(signal.SIGUSR1)
        assert state.due() and state.ending and state.drain(1) and state.save(1)
    assert signal.getsignal(signal.SIGUSR1) == signal.SIG_DFL


@pytest.mark.parametrize("order", [(1, 0, 2), (2, 1, 0)])
def test_arrays_in_another_order_of_memory_come_back(tmp_path, order):
    path = tmp_path / "state.h5"
    values = np.arange(24.0).reshape(2, 3, 4)

    def field(scale):
        memory = np.empty([values.shape[n] for n in order]).transpose(np.argsort(order))
        memory[...] = scale * values
        assert memory.shape == values.shape and not memory.flags.c_contiguous
        return memory

    with sluice.Checkpoint(path) as state:
        u = field(1)
        state.array("u", u)
        assert not state.restore() and (u == values).all()
        state.save(0.0)
        u += 1
        state.save(1.0)
    with sluice.Checkpoint(path) as state:
        u = field(0)
        state.array("u", u)
        assert state.restore().number == 2 and (u == values + 1).all()
    with h5py.File(path) as f:
        np.testing.assert_array_equal(f["u"][-1], values + 1)
