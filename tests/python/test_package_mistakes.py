"""A call that cannot mean what it says is refused, and a wrong one fails the commit."""

import gc
import tracemalloc
import weakref

import numpy as np
import pytest

import sluice
from sluice import Code

QUICK = {"durability": "none"}


def fails(code, *words):
    return pytest.raises(sluice.Error, check=lambda e: e.code == code and
                         all(word in str(e) for word in words))


def with_variables(path):
    out = sluice.open(path, "w", **QUICK)
    out.define("x", float, (10,), steps=True)
    out.define("few", float, (10,), steps=True, varying=True)
    return out


# -- names of folders -----------------------------------------------------------------------------


@pytest.mark.parametrize("ending", [".zarr/", ".zarr//", ".icechunk/"])
def test_a_slash_at_the_end_is_of_a_folder(tmp_path, ending):
    name = f"{tmp_path}/f{ending}"
    for mode in ("w", "a", "w"):
        with sluice.open(name, mode, **QUICK) as out, out.step():
            out.put("x", np.arange(4.0))
    assert (tmp_path / f"f{ending.rstrip('/')}").is_dir()
    with sluice.open(name) as f:
        assert f.steps == 1 and f["x"].get(0).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("mode", ["w", "x"])
def test_a_slash_at_the_end_is_not_of_a_file(tmp_path, mode):
    with fails(Code.BAD_NAME, "format hdf5 writes a file"):
        sluice.open(f"{tmp_path}/f.h5/", mode, **QUICK)
    assert not list(tmp_path.iterdir())


# -- fractions ------------------------------------------------------------------------------------


@pytest.mark.parametrize("call", [
    lambda out: out.put("x", np.ones(5), start=(2.5,)),
    lambda out: out.put("x", np.ones(5), start=(np.float32(5),)),
    lambda out: out.put("new", np.ones(5), shape=(5.5,)),
    lambda out: out.put("new", np.ones(5), shape=5.5),
    lambda out: out.put_rows("new", [0], np.ones(1), shape=(np.float64(1.5),)),
    lambda out: out.define("new", float, (5.5,)),
    lambda out: out.define("new", float, (5,), chunk=(2.5,), steps=True),
    lambda out: out.resize("few", 2.5),
    lambda out: out.resize("few", np.float32(2)),
])
def test_a_fraction_is_no_place_of_what_is_put(tmp_path, call):
    with pytest.raises(TypeError), with_variables(tmp_path / "f.h5") as out:
        with out.step():
            call(out)


def test_integers_of_every_kind_are_places(tmp_path):
    with with_variables(tmp_path / "f.h5") as out, out.step():
        out.put("x", np.ones(4), start=np.array([6], np.uint8))
        out.put("x", np.zeros(6), shape=np.int16(10), start=0)
        out.resize("few", np.int64(1))
        out.put("few", np.ones(1), start=(np.array(0),))
    with sluice.open(tmp_path / "f.h5") as f:
        assert f["x"].get(np.int8(0), (np.uint16(5),), [np.int64(2)]).tolist() == [0, 1]
        assert f["x"].get(0, 5, 2).tolist() == [0, 1]
        assert f["few"].shape_of(np.int32(0)) == (1,)


def test_a_fraction_is_no_place_of_what_is_read(tmp_path):
    with with_variables(tmp_path / "f.h5") as out, out.step():
        out.put("x", np.arange(10.0))
        out.put("few", np.ones(10))
    with sluice.open(tmp_path / "f.h5") as f:
        x = f["x"]
        for call in (lambda: x.get(0, (2.5,), (1,)), lambda: x.get(0, (2,), (1.5,)),
                     lambda: x.get(0, (2.5,)), lambda: x.get(0.5), lambda: x.shape_of(0.5),
                     lambda: x.shape_of(np.float32(0)), lambda: x.get_rows([1], 0.5)):
            with pytest.raises(TypeError):
                call()
        assert x.get(0, (2,), (1,)) == [2]


def test_a_fraction_is_no_place_of_a_checkpoint(tmp_path):
    with sluice.Checkpoint(tmp_path / "state.h5") as state:
        for call in (lambda: state.array("x", np.zeros(3), shape=(4.5,)),
                     lambda: state.array("x", np.zeros(3), shape=4, start=(0.5,)),
                     lambda: state.text("t", "", 4.5)):
            with pytest.raises(TypeError):
                call()
        state.value("x", 1)
    for option in ({"keep": 2.5}, {"keep": np.float32(2)}, {"interval_calls": 1.5}):
        with pytest.raises(TypeError):
            sluice.Checkpoint(tmp_path / "other.h5", **option)


def test_a_fraction_is_no_place_of_a_session(tmp_path):
    with sluice.open_sessions(tmp_path / "f", "w", **QUICK) as out:
        for call in (lambda: out.start(np.float32(0.5), 8), lambda: out.start(0, np.float32(8.5)),
                     lambda: out.start(0, 8, after=(np.float32(7.5), b"x"))):
            with pytest.raises(TypeError):
                call()
        session = out.start(0, 3)
        with pytest.raises(TypeError):
            out.write(session, b"abc", np.float32(1.5))
        for offset in (1, np.int64(1)):
            with pytest.raises(TypeError):
                out.write(session, offset, b"abc")  # the other way round
        out.write(session, b"abc", 0)
        out.close(session)
    with sluice.open_sessions(tmp_path / "f") as f:
        session = f.start(0, 3)
        with pytest.raises(TypeError):
            f.read(session, np.zeros(2, np.uint8), np.float32(0.5))
        with pytest.raises(TypeError):
            f.read(session, np.int64(0), np.zeros(2, np.uint8))  # the other way round
        f.end(session)


# -- variables and options ------------------------------------------------------------------------


@pytest.mark.parametrize("call", [
    lambda out, x: out.put(x, np.ones(10)),
    lambda out, x: out.put_rows(x, [0], np.ones(1)),
    lambda out, x: out.put_joined(x, np.ones(1)),
    lambda out, x: out.resize(x, 1),
])
def test_a_variable_of_another_file_is_refused(tmp_path, call):
    with with_variables(tmp_path / "other.h5") as other, with_variables(tmp_path / "f.h5") as out:
        for name in ("x", "few"):
            with fails(Code.INVALID_ARGUMENT, name, "a variable of", "other.h5", "give its name"):
                with out.step():
                    call(out, other[name])
        assert out.steps == 0


@pytest.mark.parametrize("of", [lambda out, name: name, lambda out, name: out[name]])
def test_a_variable_takes_no_more_options_than_its_name(tmp_path, of):
    with with_variables(tmp_path / "f.h5") as out:
        out.define("rows", float, (4, 3), steps=True)
        for call, code, words in (
                (lambda: out.put(of(out, "x"), np.ones(10), allow_overflw=True),
                 Code.INVALID_ARGUMENT, ["put x", "allow_overflw"]),
                (lambda: out.put(of(out, "x"), np.ones(10), unit="m"),
                 Code.INVALID_ARGUMENT, ["put x", "unit"]),
                (lambda: out.put(of(out, "x"), np.ones(10), shape=(20,)),
                 Code.EXISTS, ["put x", "(20,)", "(10,)"]),
                (lambda: out.put_rows(of(out, "rows"), [0], np.ones((1, 3)), shape=(5, 3)),
                 Code.EXISTS, ["put_rows rows", "(5, 3)"]),
                (lambda: out.put_rows(of(out, "rows"), [0], np.ones((1, 3)), fil=1),
                 Code.INVALID_ARGUMENT, ["put_rows rows", "fil"]),
                (lambda: out.put_joined(of(out, "few"), np.ones(1), varying=False),
                 Code.INVALID_ARGUMENT, ["put_joined few", "varying"])):
            with fails(code, *words):
                with out.step():
                    call()
        with out.step():
            out.put(of(out, "x"), np.ones(10), shape=(10,))
            out.put_rows(of(out, "rows"), range(4), np.ones((4, 3)), shape=(4, 3))
            out.put_joined(of(out, "few"), np.ones(1), shape=10)
        assert out.steps == 1


# -- the commit -----------------------------------------------------------------------------------

MASKED = np.ma.masked_equal(np.ones(10), 1)


@pytest.mark.parametrize("call, code, word", [
    (lambda out: out.put("x", MASKED), Code.INVALID_ARGUMENT, "masked"),
    (lambda out: out.put("x", np.ones(10), start=(0, 0)), Code.INVALID_ARGUMENT, "start"),
    (lambda out: out.put("x", np.ones(5), start=(2.5,)), Code.INVALID_ARGUMENT, "TypeError"),
    (lambda out: out.put("x", np.ones(10), unit="m"), Code.INVALID_ARGUMENT, "unit"),
    (lambda out: out.put("x", np.ones(10), shape=3), Code.EXISTS, "(3,)"),
    (lambda out: out.put("x", np.zeros(10, "M8[s]")), Code.TYPE_MISMATCH, "datetime64"),
    (lambda out: out.put("x"), Code.INVALID_ARGUMENT, "TypeError"),
    (lambda out: out.put("y\udcff\0", np.ones(10)), Code.BAD_NAME, "NUL"),
    (lambda out: out.put_rows("x", [0, 1], np.ones(3)), Code.INVALID_ARGUMENT, "2 ids"),
    (lambda out: out.put_rows("x", [0.5], np.ones(1)), Code.INVALID_ARGUMENT, "integers"),
    (lambda out: out.put_rows("x", [0], MASKED[:1]), Code.INVALID_ARGUMENT, "masked"),
    (lambda out: out.put_rows("\udcff", [0], np.ones(1)), Code.INVALID_ARGUMENT, "global shape"),
    (lambda out: out.put_joined("few", 1.0), Code.INVALID_ARGUMENT, "scalar"),
    (lambda out: out.put_joined("few", np.ones((2, 2))), Code.INVALID_ARGUMENT, "(2,)"),
    (lambda out: out.resize("few", 1.5), Code.INVALID_ARGUMENT, "TypeError"),
    (lambda out: out.resize("none", 1), Code.NOT_FOUND, "no variable none (there are: "),
    (lambda out: out.define("y", float, (4,), chunk=(2, 2)), Code.INVALID_ARGUMENT, "chunk"),
    (lambda out: out.define("y", float, (4,), dimensions=()), Code.INVALID_ARGUMENT, "dimensions"),
    (lambda out: out.define("y", float, (1, 2, 3), dimensions="lat"), Code.INVALID_ARGUMENT,
     "dimensions 'lat' is one name for shape (1, 2, 3)"),
    (lambda out: out.define("y", float, 9 * (1,)), Code.INVALID_ARGUMENT, "there are 0 to 8"),
    (lambda out: out.define("y", float, (4,), fill=[1, 2]), Code.INVALID_ARGUMENT, "one value"),
    (lambda out: out.define("y", int, 4, partial=True, fill=0.5), Code.INVALID_ARGUMENT, "fill"),
    (lambda out: out.define("y", object), Code.TYPE_MISMATCH, "object"),
    (lambda out: out.define("y", float, unit="m\0"), Code.BAD_NAME, "NUL"),
    (lambda out: out.attrs.__setitem__("m", np.ones((2, 2))), Code.INVALID_ARGUMENT, "lists"),
    (lambda out: out["x"].attrs.__setitem__("m", object()), Code.TYPE_MISMATCH, "object"),
    (lambda out: out.attrs_of("x").__setitem__("m\0", 1), Code.BAD_NAME, "NUL"),
    (lambda out: out.attrs.__delitem__("m"), Code.UNSUPPORTED, "removed"),
    (lambda out: out.begin_step("now"), Code.INVALID_ARGUMENT, "TypeError"),
])
def test_a_mistake_fails_the_commit_once(tmp_path, call, code, word):
    path = tmp_path / "f.h5"
    with with_variables(path) as out:
        out.begin_step()
        with pytest.raises((sluice.Error, TypeError)):
            call(out)
        out.put("x", np.ones(10))
        out.put("few", np.ones(10))
        with fails(code, word, "f.h5"):
            out.end_step()
        with out.step():
            out.put("x", np.arange(10.0))
            out.put("few", np.ones(10))
    with sluice.open(path) as f:
        assert f.steps == 1 and f["x"][0].tolist() == list(range(10))


def test_a_question_that_fails_does_not_fail_the_commit(tmp_path):
    with with_variables(tmp_path / "f.h5") as out, out.step():
        with fails(Code.NOT_FOUND, "none"):
            out["none"]
        with fails(Code.WRONG_STATE):
            out["x"].get()
        out.put("x", np.ones(10))
        out.put("few", np.ones(10))


def test_a_mistake_while_reading_changes_nothing(tmp_path):
    with with_variables(tmp_path / "f.h5") as out, out.step():
        out.put("x", np.ones(10))
        out.put("few", np.ones(10))
    with sluice.open(tmp_path / "f.h5") as f:
        for call in (lambda: f.put("x", MASKED), lambda: f.attrs.__setitem__("m", np.ones((2, 2)))):
            with fails(Code.INVALID_ARGUMENT):
                call()
        assert f["x"][0, 1] == 1


# -- lists ----------------------------------------------------------------------------------------


def test_arrays_in_lists_are_compared_by_their_types(tmp_path):
    large, real = np.array([2**53 + 1]), np.array([0.5])
    text, numbers = np.array(["a"]), np.array([1])
    for wrong in ([large, real], [[large], [real]], (real, [2**53 + 1]), [text, numbers],
                  [numbers, text]):
        with sluice.open(tmp_path / "wrong.h5", "w", **QUICK) as out:
            with fails(Code.TYPE_MISMATCH, "is not kept in a list"):
                out.put("wrong", wrong)
            with fails(Code.TYPE_MISMATCH):
                out.flush()
    with sluice.open(tmp_path / "lists.h5", "w", **QUICK) as out:
        out.put("kept", [large - 1, real])
        out.put("reals", [real, real.astype("f4"), np.array([True])])
        out.put("texts", [text, np.array([b"b"])])
        values = 3 * [np.zeros(300000)]
        tracemalloc.start()
        try:
            out.put("many", values)
            most_bytes = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert most_bytes < 2 * 3 * values[0].nbytes  # no Python object for each element
    with sluice.open(tmp_path / "lists.h5") as f:
        assert f["kept"][...].tolist() == [[2**53], [0.5]]
        assert f["reals"][...].tolist() == [[0.5], [0.5], [1]]


# -- names ----------------------------------------------------------------------------------------


def test_a_name_of_one_dimension_needs_no_list(tmp_path):
    with sluice.open(tmp_path / "f.h5", "w", **QUICK) as out:
        out.put("a", np.zeros(3), dimensions="lat")
        out.put("b", np.zeros(0), (3,), dimensions="x")
        out.put("b", np.zeros(3), dimensions=["x"])
    with sluice.open(tmp_path / "f.h5") as f:
        assert f["a"].dimensions == ("lat",) and f["b"].dimensions == ("x",)


@pytest.mark.parametrize("code, is_kept", [(Code.TIMEOUT, True), (Code.MPI, True),
                                           (Code.IO, False)])
def test_arrays_that_messages_may_still_use_outlive_their_call(tmp_path, code, is_kept):
    """MPI may go on with a message of a call that ended by a timeout."""
    array = np.ones((4, 3))
    seen = weakref.ref(array)
    out = sluice.open(tmp_path / "given_up.h5", "w", **QUICK)
    out.put("x", array)
    del array
    with fails(code):
        out._call(lambda handle: int(code))
    out.close()
    del out
    gc.collect()
    assert (seen() is not None) == is_kept
