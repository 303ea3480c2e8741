"""What users of h5py, numpy and scripts are used to: it works, or the message says what to do."""

import copy
import pickle
import subprocess
import sys
from datetime import datetime
from decimal import Decimal

import numpy as np
import pytest

import sluice
from sluice import Code

QUICK = {"durability": "none"}


def fails(code, *words):
    return pytest.raises(sluice.Error, check=lambda e: e.code == code and
                         all(word in str(e) for word in words))


# -- the definition again in a loop ---------------------------------------------------------------

GIVEN = {"dimensions": ["x"], "unit": "K", "description": "heat", "compress": "zstd:3",
         "partial": True, "fill": -1.0}


def put_in_a_loop(path, **later):
    with sluice.open(path, "w", **QUICK) as out:
        for step in range(3):
            with out.step():
                out.put("u", np.full(2, step, "f4" if step else "f8"), shape=(3,),
                        **{**GIVEN, **(later if step else {})})


def test_a_put_takes_the_same_options_again(tmp_path):
    put_in_a_loop(tmp_path / "a.h5")
    with sluice.open(tmp_path / "a.h5") as f:
        assert f["u"][:].tolist() == [[0, 0, -1], [1, 1, -1], [2, 2, -1]]
        assert f["u"].attrs["units"] == "K" and f["u"].dimensions == ("x",)
    with sluice.open(tmp_path / "a.h5", "a", **QUICK) as out, out.step():
        out.put("u", np.full(2, 3.0), unit="K", dimensions=["x"])
    with sluice.open(tmp_path / "a.h5") as f:
        assert f["u"][3].tolist() == [3, 3, -1]


@pytest.mark.parametrize("later", [
    {"unit": "m"}, {"description": "cold"}, {"compress": "none"}, {"dimensions": ["y"]},
    {"partial": False}, {"fill": 3.0}, {"steps": False}, {"chunk": (2,)}])
def test_a_put_refuses_other_options(tmp_path, later):
    with fails(Code.INVALID_ARGUMENT, "put u: it is defined already", *later):
        put_in_a_loop(tmp_path / "a.h5", **later)


def test_puts_of_rows_take_the_same_options_again(tmp_path):
    with sluice.open(tmp_path / "a.h5", "w", **QUICK) as out:
        for _ in range(2):
            with out.step():
                out.put_joined("few", np.ones((2, 3)), shape=(10, 3), unit="K")
                out.put_rows("rows", [1, 0], np.ones((2, 3)), shape=(2, 3), dimensions=["a", "b"])
    with sluice.open(tmp_path / "a.h5") as f:
        assert f.steps == 2 and f["few"].shape_of(1) == (2, 3)


# -- names in messages ----------------------------------------------------------------------------


@pytest.mark.parametrize("value, words", [
    (None, ["numpy's object"]), ({"a": 1}, ["numpy's object"]), (2**70, ["at most 64 bits"]),
    (datetime(2000, 1, 1), ["numpy's object"]), (Decimal(1), ["numpy's object"]),
    (np.datetime64("2000-01-01"), ["int64", "since"]), (np.timedelta64(1, "s"), ["int64"])])
def test_what_has_no_type_is_named(tmp_path, value, words):
    with pytest.raises(sluice.Error), sluice.open(tmp_path / "a.h5", "w", **QUICK) as out:
        with fails(Code.TYPE_MISMATCH, "attribute restart: ", *words):
            out.attrs["restart"] = value
        for put in (lambda: out.put("u", value), lambda: out.put_rows("u", [0], [value], (1,))):
            with fails(Code.TYPE_MISMATCH, "put", " u: ", *words):
                put()
        out.flush()


@pytest.mark.parametrize("call, words", [
    (lambda out: out.attrs.__setitem__(5, 1), "attribute"), (lambda out: out.put(5, 1.0), "5"),
    (lambda out: out.put("u", 1.0, unit=5), "define u: unit"),
    (lambda out: out.put("u", 1.0, compress=True), "define u: compress"),
    (lambda out: out.put("u", np.ones(3), chunk=True), "define u: chunk")])
def test_what_must_be_text_or_a_shape_is_named(tmp_path, call, words):
    with pytest.raises(TypeError, match=words), sluice.open(tmp_path / "a.h5", "w", **QUICK) as out:
        call(out)


# -- opening and looking --------------------------------------------------------------------------


def test_opening_says_which_mode_makes_a_file(tmp_path):
    with fails(Code.NOT_FOUND, '"w" makes a new one'):
        sluice.open(tmp_path / "none.h5", "a")
    with pytest.raises(FileNotFoundError):
        sluice.open(tmp_path / "none.h5", "a")
    with sluice.open(tmp_path / "a.h5", "w", **QUICK) as out:
        out.put("v", np.arange(3))
    with pytest.raises(sluice.Error) as caught, sluice.open(tmp_path / "a.h5", "x") as out:
        out.put("v", np.arange(3))
    assert caught.value.code == Code.EXISTS
    assert '"w"' in str(caught.value) and "Mode::" not in str(caught.value)
    with fails(Code.INVALID_ARGUMENT, "driver", "comm="):
        sluice.open(tmp_path / "a.h5", driver="mpio")


def test_names_and_copies_as_in_h5py_and_numpy(tmp_path):
    with sluice.open(tmp_path / "a.h5", "w", **QUICK) as out:
        out.put("g/v", np.arange(3))
        with out.step():
            out.put("s", 1.0)
    with sluice.open(tmp_path / "a.h5") as f:
        assert f["/g/v"] is f["g/v"] and "/g/v" in f and 5 not in f and "/w" not in f
        with pytest.raises(ValueError, match="copy=False"):
            f["g/v"].__array__(copy=False)
        variable, stepped = f["g/v"], f["s"]
        assert repr(stepped) == "<sluice.Variable 's' float64 (1,)>"
        assert repr(variable) == "<sluice.Variable 'g/v' int64 (3,)>"
    assert "closed" in repr(variable) and "g/v" in repr(variable)
    assert "closed" in repr(stepped) and "'s'" in repr(stepped)
    with fails(Code.WRONG_STATE, "closed"):
        stepped.shape


def test_what_has_a_handle_is_neither_copied_nor_sent(tmp_path):
    with sluice.open(tmp_path / "a.h5", "w", **QUICK) as out, out.step():
        out.put("u", np.ones(3))
    with sluice.open(tmp_path / "a.h5") as f:
        for one in (f, f["u"], f["u"].attrs):
            for attempt in (copy.deepcopy, pickle.dumps):
                with pytest.raises(TypeError, match="open the file there"):
                    attempt(one)
        with pytest.raises(TypeError, match="open the file there"):
            copy.copy(f)
        assert (f["u"][0] == 1).all()


# -- ranges of steps ------------------------------------------------------------------------------


@pytest.mark.parametrize("key", [
    np.s_[:], np.s_[::-2], np.s_[1:3, 1], np.s_[..., ::-1], np.s_[2:2], np.s_[3:1:-1, 1:, ::2]])
def test_ranges_of_steps(tmp_path, key):
    values = np.arange(5 * 12).reshape(5, 3, 4)
    texts = np.array([["a", "bcd"], ["é", ""], ["x", "yz"], ["", ""], ["q", "r"]])
    with sluice.open(tmp_path / "a.h5", "w", **QUICK) as out:
        out.define("t", "S4", (2,), steps=True)
        for step in range(5):
            with out.step():
                out.put("v", values[step])
                out.put("t", texts[step])
                out.put("s", step)
    with sluice.open(tmp_path / "a.h5") as f:
        first = key[0] if isinstance(key, tuple) else key
        np.testing.assert_array_equal(f["v"][key], values[key])
        np.testing.assert_array_equal(f["t"][first], texts[first])
        np.testing.assert_array_equal(f["s"][first], np.arange(5)[first])
        later = f["v"].get(0, deferred=True)
        later[...] = -1
        np.testing.assert_array_equal(f["v"][key], values[key])
        assert (later == -1).all(), "what is deferred is read by perform_gets() only"
        f.perform_gets()
        np.testing.assert_array_equal(later, values[0])
        with pytest.raises(IndexError):
            f["v"][:, 7]
        np.testing.assert_array_equal(f["v"][key], values[key])


# -- the end of Python ----------------------------------------------------------------------------


def at_the_end(tmp_path, program):
    text = f"import numpy as np, sluice\ndef opened():\n return sluice.open({str(tmp_path)!r} + " \
           f"'/a.h5', 'w', durability='none')\n{program}"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    return [line for line in done.stderr.splitlines() if "was not closed" in line]


@pytest.mark.parametrize("program", [
    "out = opened(); out.put('u', np.zeros(3))", "out = opened()",
    "def main():\n out = opened()\n out.put('u', np.zeros(3))\nmain()"])
def test_a_file_that_was_not_closed_is_named_at_the_end(tmp_path, program):
    lines = at_the_end(tmp_path, program)
    assert len(lines) == 1 and lines[0].startswith(f"sluice: {tmp_path}/a.h5: "), lines


@pytest.mark.parametrize("program", [
    "with opened() as out: out.put('u', np.zeros(3))",
    "out = opened(); out.put('u', np.zeros(3)); out.close()",
    "def main():\n out = opened()\n out.put('u', np.zeros(3))\n out.flush()\nmain()",
    "out = opened(); out.close(); out = sluice.open(out.path, 'a'); out.close(); "
    "f = sluice.open(out.path)"])
def test_what_lost_nothing_is_silent_at_the_end(tmp_path, program):
    assert at_the_end(tmp_path, program) == []
