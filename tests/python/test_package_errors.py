"""What a program may do wrong is a sluice.Error with its code, and never a crash."""

import gc
import os
import pickle
import subprocess
import sys

import h5py
import numpy as np
import pytest

import sluice
from sluice import Code

QUICK = {"durability": "none"}


def fails(code, *words):
    return pytest.raises(sluice.Error, check=lambda e: e.code == code and
                         all(word in str(e) for word in words))


@pytest.fixture
def out(tmp_path):
    with sluice.open(tmp_path / "errors.h5", "w", **QUICK) as file:
        file.define("x", float, (4, 3), steps=True)
        file.define("fixed", "i4", (4,))
        with file.step():
            file.put("x", np.ones((4, 3)))
        yield file


@pytest.mark.parametrize("name", ["DIMENSION_LIST", "DIMENSION_LABELS", "REFERENCE_LIST",
                                  "_Netcdf4Dimid", "_NCProperties", "rows_vary", "rows_of_a_step"])
@pytest.mark.parametrize("owner", ["", "x"])
def test_attributes_that_files_keep_for_themselves_are_refused(tmp_path, owner, name):
    with fails(Code.UNSUPPORTED, name, "choose another"):
        with sluice.open(tmp_path / "names.h5", "w", **QUICK) as out:
            out.put("x", np.ones(3))
            (out.attrs_of(owner) if owner else out.attrs)[name] = "text"


@pytest.mark.parametrize("chunk, options, words", [
    ((100,), {"steps": True}, ["1 chunk for shape (1000, 100)"]),
    ((100, 0), {"steps": True}, ["chunk (100, 0)", "zero"]),
    ((100, 100), {}, ["chunk (100, 100)", "only variables with steps or with compression"]),
])
def test_a_chunk_is_refused_for_its_own_reason(tmp_path, chunk, options, words):
    with fails(Code.INVALID_ARGUMENT, *words):
        with sluice.open(tmp_path / "chunk.h5", "w", **QUICK) as out:
            out.define("x", float, (1000, 100), chunk=chunk, **options)
    with sluice.open(tmp_path / "good.h5", "w", **QUICK) as out:
        out.define("steps", float, (1000, 100), chunk=(100, 100), steps=True)
        out.define("compressed", float, (1000, 100), chunk=(100, 100), compress="deflate:1")


@pytest.mark.parametrize("format", ["vtkhdf", "openpmd"])
def test_so_are_they_in_other_formats_of_hdf5(tmp_path, format):
    with fails(Code.UNSUPPORTED, "DIMENSION_LIST", "choose another"):
        with sluice.open(tmp_path / "names.h5", "w", format=format, **QUICK) as out:
            out.attrs["DIMENSION_LIST"] = "text"


def test_a_fill_value_that_is_no_number_is_an_attribute(tmp_path):
    with sluice.open(tmp_path / "fill.h5", "w", **QUICK) as out:
        out.put("x", np.ones(3))
        out.attrs_of("x")["_FillValue"] = "none"
    with sluice.open(tmp_path / "fill.h5") as file:
        assert file.attrs_of("x")["_FillValue"] == "none"
        np.testing.assert_array_equal(file["x"][:], np.ones(3))


@pytest.mark.parametrize("put, code, words", [
    (lambda o: o.put("x", np.ones(4)), Code.INVALID_ARGUMENT, ["1 dimensions"]),
    (lambda o: o.put("x", np.ones((4, 3)), start=(0,)), Code.INVALID_ARGUMENT, ["start"]),
    (lambda o: o.put("x", np.ones((4, 3)), start=(1, 0)), Code.OUT_OF_BOUNDS, ["outside"]),
    (lambda o: o.put("x", np.ones((4, 3)), shape=(5, 3)), Code.EXISTS, ["(5, 3)"]),
    (lambda o: o.put("x", np.array([["a"] * 3] * 4)), Code.TYPE_MISMATCH, ["string"]),
    (lambda o: o.put("x", np.array([["2020-01-01"]], "M8[D]")), Code.TYPE_MISMATCH, ["datetime"]),
    (lambda o: o.put("x", np.ones((4, 3)), unit="m"), Code.INVALID_ARGUMENT, ["unit"]),
    (lambda o: o.put("../x", np.ones(3)), Code.BAD_NAME, [".."]),
    (lambda o: o.put_rows("x", [0, 1], np.ones((3, 3))), Code.INVALID_ARGUMENT, ["2 ids"]),
    (lambda o: o.put_rows("x", [0.5], np.ones((1, 3))), Code.INVALID_ARGUMENT, ["integers"]),
    (lambda o: o.put_rows("x", [0], np.ones((1, 2))), Code.INVALID_ARGUMENT, ["(2,)"]),
    (lambda o: o.put_rows("new", [0], np.ones((1, 3))), Code.INVALID_ARGUMENT, ["global shape"]),
    (lambda o: o.resize("x", 2), Code.INVALID_ARGUMENT, ["x"]),
    (lambda o: o.begin_step(), Code.WRONG_STATE, ["has not ended"]),
])
def test_a_wrong_put_fails_its_step_and_no_other(out, put, code, words):
    with fails(code, *words):
        with out.step():
            put(out)
    assert out.steps == 1
    with out.step():
        out.put("x", np.full((4, 3), 2.0))
    assert out.steps == 2


def test_holes_and_duplicates_are_found_at_the_end(out):
    with fails(Code.HOLE):
        with out.step():
            out.put("x", np.ones((3, 3)))
    with fails(Code.OVERLAP):
        with out.step():
            out.put("x", np.ones((4, 3)))
            out.put("x", np.ones((1, 3)))
    with fails(Code.DUPLICATE_ROW):
        with out.step():
            out.put_rows("x", [0, 1, 1, 2], np.ones((4, 3)))
    with fails(Code.MISSING_ROW):
        with out.step():
            out.put_rows("x", [0, 1], np.ones((2, 3)))
    assert out.steps == 1


def test_an_exception_inside_a_step_leaves_the_file_as_it_was(out):
    with pytest.raises(ZeroDivisionError):
        with out.step():
            out.put("x", np.ones((4, 3)))
            1 / 0
    assert out.steps == 1
    out.close()
    with h5py.File(out.path) as f:
        assert f["x"].shape[0] == 1


def test_an_exception_in_the_file_drops_what_is_not_committed(tmp_path):
    path = tmp_path / "dropped.h5"
    with pytest.raises(KeyboardInterrupt):
        with sluice.open(path, "w", **QUICK) as out:
            with out.step():
                out.put("x", np.ones(3))
            out.put("fixed", np.ones(3))
            raise KeyboardInterrupt
    with h5py.File(path) as f:
        assert f["x"].shape == (1, 3) and "fixed" not in f
    with fails(Code.WRONG_STATE, "closed"):
        out.steps


def test_states(out):
    with fails(Code.WRONG_STATE, "begin_step"):
        out.put("x", np.ones((4, 3)))
    with fails(Code.WRONG_STATE):  # the failed put counts
        out.flush()
    with fails(Code.WRONG_STATE, "no step"):
        out.end_step()
    with fails(Code.WRONG_STATE, "writing"):
        out["x"].get()
    with fails(Code.NOT_FOUND, "nothing"):
        out["nothing"]
    with pytest.raises(KeyError):
        out["nothing"]
    variable = out["x"]
    out.close()
    for call in (out.close, out.flush, out.begin_step, lambda: out["x"], lambda: variable.shape,
                 lambda: variable.get(), lambda: out.put("x", 1.0), lambda: out.attrs["a"],
                 lambda: len(out), lambda: out.refresh()):
        with fails(Code.WRONG_STATE, "closed"):
            call()


def test_opening(tmp_path):
    with fails(Code.NOT_FOUND, "none.h5"):
        sluice.open(tmp_path / "none.h5")
    with fails(Code.INVALID_ARGUMENT, "r, w, x, a"):
        sluice.open(tmp_path / "new.h5", "r+")
    with fails(Code.INVALID_ARGUMENT, "strategie"):
        sluice.open(tmp_path / "new.h5", "w", strategie="serial")
    with fails(Code.INVALID_ARGUMENT, "strategy"):
        sluice.open(tmp_path / "new.h5", "w", strategy='no "such" one')
    with pytest.raises(TypeError, match="strategy"):
        sluice.open(tmp_path / "new.h5", "w", strategy={})
    with pytest.raises(TypeError, match="communicator"):
        sluice.open(tmp_path / "new.h5", "w", comm=7)
    (tmp_path / "text.h5").write_text("this is no HDF5 file")
    with fails(Code.FORMAT, "text.h5"):
        sluice.open(tmp_path / "text.h5")
    assert not (tmp_path / "new.h5").exists()


def test_reading(out):
    out.close()
    with sluice.open(out.path) as f:
        x = f["x"]
        with fails(Code.OUT_OF_BOUNDS, "step 3 of 1"):
            x.get(step=3)
        with fails(Code.OUT_OF_BOUNDS, "outside"):
            x.get(step=0, start=(2, 0), count=(3, 3))
        with fails(Code.INVALID_ARGUMENT, "1 dimensions"):
            x.get(step=0, start=(2,), count=(1,))
        with fails(Code.TYPE_MISMATCH, "string"):
            x.get(step=0, dtype="S4")
        with fails(Code.INVALID_ARGUMENT, "writable"):
            x.get(step=0, out=np.zeros((2, 2)))
        with fails(Code.OUT_OF_BOUNDS):
            x.get_rows([4], step=0)
        with fails(Code.WRONG_STATE, "reading"):
            f.begin_step()
        with fails(Code.WRONG_STATE, "reading"):
            f.attrs["a"] = 1
        with fails(Code.NOT_FOUND, "attribute"):
            x.attrs["nothing"]


def test_damage_is_found(tmp_path):
    path = tmp_path / "damaged.h5"
    with sluice.open(path, "w", **QUICK) as out:
        with out.step():
            out.put("x", np.full(1000, 3.25))
    content = path.read_bytes()
    at = content.index(np.full(10, 3.25).tobytes())
    times = os.stat(path)
    path.write_bytes(content[:at] + b"\1" + content[at + 1:])
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    with sluice.open(path) as f, fails(Code.DAMAGED, "checksum"):
        f["x"][0]


def test_errors_can_be_sent_to_other_processes():
    error = sluice.Error(Code.HOLE, "a hole", 3)
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is sluice.Error
    assert (copy.code, copy.rank, str(copy)) == (Code.HOLE, 3, "a hole")


def test_a_file_that_nobody_closes_warns_and_does_not_hang(tmp_path):
    def open_and_forget():
        file = sluice.open(tmp_path / "forgotten.h5", "w", **QUICK)
        file.put("x", np.ones(3))

    with pytest.warns(ResourceWarning, match="never closed"):
        open_and_forget()
        gc.collect()
    assert not (tmp_path / "forgotten.h5").exists()


def test_a_file_may_be_collected_while_cffi_parses_a_type(tmp_path):
    # Memory is collected wherever some is made, within cffi too, which then holds its lock.
    path = str(tmp_path / "collected.h5")
    with sluice.open(path, "w", **QUICK) as out:
        out.put("x", np.ones(3))
    program = f"""
import sluice
from sluice._library import ffi
file = sluice.open({path!r})
with ffi._lock:
    del file
print("collected")
"""
    ran = subprocess.run([os.environ.get("SLUICE_PYTHON", "python3"), "-c", program],
                         capture_output=True, text=True, timeout=60, check=False)
    assert ran.stdout.strip() == "collected", ran.stderr


def forget_in_an_exception(path):
    """As a cell of a notebook that fails: nobody holds the file or its variables any more."""
    out = sluice.open(path, "w", **QUICK)
    out.put("x", np.ones(3))
    assert out["x"].shape == (3,)
    raise ZeroDivisionError


def fail_and_forget(path):
    """A step that fails, and is caught, belongs to a file that nobody holds any more."""
    out = sluice.open(path, "w", **QUICK)
    out.define("x", float, (3,), steps=True)
    try:
        with out.step():
            out.put("x", np.ones(4))
    except sluice.Error:
        pass


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_failed_step_does_not_keep_its_file(tmp_path):
    gc.disable()
    try:
        for _ in range(3):
            fail_and_forget(tmp_path / "failed.h5")  # with the lease of the one before
    finally:
        gc.enable()


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_file_that_nobody_has_any_more_ends_without_the_collector(tmp_path):
    path = tmp_path / "cell.h5"
    gc.disable()
    try:
        for _ in range(3):
            with pytest.raises(ZeroDivisionError):
                forget_in_an_exception(path)
        assert os.listdir(tmp_path) == []
        f = sluice.open(path, "w", **QUICK)
        variable = f.define("x", float, (3,))
        del f
        assert variable.shape == (3,), "a variable holds its file"
        del variable
        assert os.listdir(tmp_path) == []
    finally:
        gc.enable()


def test_a_file_that_this_program_has_open_is_said_to_be(tmp_path):
    path = tmp_path / "own.h5"
    first = sluice.open(path, "w", **QUICK)
    for mode in ("w", "x"):
        with fails(Code.LOCKED, "this program", "own.h5", "close()", "del"):
            sluice.open(os.path.relpath(path), mode, **QUICK)
    first.put("x", np.ones(3))
    first.close()
    sluice.open(path, "w", **QUICK).close()


def test_a_missing_file_is_a_file_not_found_error(tmp_path):
    path = tmp_path / "none.h5"
    for missing in (lambda: sluice.open(path), lambda: sluice.open(path, "a"),
                    lambda: sluice.open_sessions(path), lambda: sluice.records(path),
                    lambda: sluice.read_on_root(path)):
        with pytest.raises(FileNotFoundError) as caught:
            missing()
        error = caught.value
        assert isinstance(error, sluice.Error) and error.code == Code.NOT_FOUND
        assert error.errno == 2 and os.fspath(error.filename) == str(path)
        assert "none.h5" in str(error)
        copy = pickle.loads(pickle.dumps(error))
        assert (type(copy), str(copy), copy.filename) == (type(error), str(error), error.filename)


def test_a_nul_is_refused_wherever_c_would_stop_at_it(out, tmp_path):
    for path in (str(tmp_path / "a") + "\0b", os.fsencode(tmp_path) + b"/a\0b"):
        for call in (lambda p=path: sluice.open(p, "w"), lambda p=path: sluice.open(p),
                     lambda p=path: sluice.open_sessions(p, "w"),
                     lambda p=path: sluice.read_on_root(p)):
            with fails(Code.BAD_NAME, "NUL", "path"):
                call()
    assert os.listdir(tmp_path) == [os.path.basename(out.path)] + [
        name for name in os.listdir(tmp_path) if "sluice-" in name]
    for call in (lambda: out.define("a\0b", float), lambda: out.define("a", float, unit="m\0s"),
                 lambda: out.define("a", float, (2,), dimensions=["x\0"]), lambda: out["x\0"],
                 lambda: out.attrs.__setitem__("a\0", 1),
                 lambda: out.attrs.__setitem__("a", "text\0 and more"),
                 lambda: out.attrs.__setitem__("a", ["text\0 and more"]),
                 lambda: sluice.open(tmp_path / "new.h5", "w", strategy="serial\0")):
        with fails(Code.BAD_NAME, "NUL"):
            call()
    with fails(Code.BAD_NAME, "NUL"):  # what is wrong to define or to set counts
        out.flush()


def test_several_ranks_without_a_communicator_do_not_write_one_file(tmp_path, monkeypatch):
    monkeypatch.delitem(sys.modules, "mpi4py.MPI", raising=False)  # another test's
    path = tmp_path / "one.h5"
    sluice.open(path, "w", **QUICK).close()
    for variable in ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"):
        with monkeypatch.context() as launched:
            launched.setenv(variable, "4")
            for open_it in (sluice.open, sluice.open_sessions):
                for mode in ("w", "x", "a"):
                    with fails(Code.INVALID_ARGUMENT, "one of 4 ranks", "comm=MPI.COMM_WORLD",
                               'comm="self"'):
                        open_it(path, mode)
            sluice.open(path).close()  # reading does no harm
            sluice.open(path, "w", comm="self", **QUICK).close()
            launched.setenv(variable, "1")
            sluice.open(path, "w", **QUICK).close()
    with pytest.raises(TypeError, match="world"):
        sluice.open(path, "w", comm="world")


def test_lists_of_several_types_are_not_changed_to_one(tmp_path):
    for wrong, kept in (([1, "a"], [1, 2]), ([2**53 + 1, 0.5], [2**53, 0.5]),
                        ([1, 2**63 + 1], [1, 2**63]), ([[1.0, 2], [2**60 + 1, 3]], [[1.0, 2]]),
                        (["a", 1.5], ["a", "1.5"])):
        with sluice.open(tmp_path / "lists.h5", "w", **QUICK) as out:
            out.put("kept", kept)
            if np.ndim(kept) == 1 and 2**63 not in kept:
                out.attrs["kept"] = kept
            out.flush()
            with fails(Code.TYPE_MISMATCH, "is not kept in a list", "one type"):
                out.put("wrong", wrong)
            with fails(Code.TYPE_MISMATCH, "is not kept in a list"):
                out.attrs["wrong"] = wrong
            with fails(Code.TYPE_MISMATCH):
                out.flush()
        with sluice.open(tmp_path / "lists.h5") as f:
            assert f["kept"][...].tolist() == kept


@pytest.mark.skipif(not hasattr(np.dtypes, "StringDType"), reason="numpy 1 has no StringDType")
def test_texts_of_any_length_are_refused_by_their_type(tmp_path):
    with sluice.open(tmp_path / "texts.h5", "w", **QUICK) as out:
        with fails(Code.TYPE_MISMATCH, "StringDType"):
            out.put("x", np.array(["a", "bcd"], dtype=np.dtypes.StringDType()))
        with fails(Code.TYPE_MISMATCH):
            out.flush()


def test_what_is_read_into_a_masked_array_is_there(tmp_path):
    with sluice.open(tmp_path / "x.h5", "w", **QUICK) as out:
        out.put("x", np.arange(3.0))
    with sluice.open(tmp_path / "x.h5") as f:
        for dtype in ("f8", ">f8"):
            into = np.ma.array(np.zeros(3, dtype), mask=[False, True, False])
            assert f["x"].get(out=into).tolist() == [0, 1, 2]
        f["x"].get(out=into, deferred=True)
        into[0] = np.ma.masked
        f.perform_gets()
        assert into.tolist() == [0, 1, 2]


def test_masked_elements_are_filled_or_refused(tmp_path):
    path = tmp_path / "masked.h5"
    values = np.ma.masked_greater(np.arange(6.0), 3)
    with sluice.open(path, "w", **QUICK) as out:
        out.put("partial", values, partial=True, fill=-1)
        out.put("none", np.ma.masked_greater(np.arange(6.0), 9))
        out.define("rows", float, (3, 2), partial=True, fill=7)
        out.put_rows("rows", [0, 2], np.ma.masked_equal([[1.0, 2.0], [3.0, 4.0]], 3))
    with sluice.open(path) as f:
        assert f["partial"][...].tolist() == [0, 1, 2, 3, -1, -1]
        assert f["none"][...].tolist() == [0, 1, 2, 3, 4, 5]
        assert f["rows"][...].tolist() == [[1, 2], [7, 7], [7, 4]]
    assert values.mask.any(), "the caller's array stays as it is"
    with sluice.open(tmp_path / "refused.h5", "w", **QUICK) as out:
        with fails(Code.INVALID_ARGUMENT, "2 elements are masked", "filled", "partial=True"):
            out.put("x", values)
        with fails(Code.INVALID_ARGUMENT, "masked"):
            out.put_rows("x", [0, 1, 2, 3, 4, 5], values)
        with fails(Code.INVALID_ARGUMENT, "masked"):
            out.put_rows("x", np.ma.masked_equal([0, 1], 1), np.ones(2))
        with fails(Code.INVALID_ARGUMENT, "masked"):
            out.attrs["a"] = values
        with fails(Code.INVALID_ARGUMENT, "2 elements are masked"):  # the first failure counts
            out.flush()
        out.put("x", np.ones(6))


def test_the_newest_step_that_is_whole(tmp_path):
    path = tmp_path / "good.h5"
    with sluice.open(path, "w", **QUICK) as out:
        for t in range(3):
            with out.step():
                out.put("x", np.full(1000, 3.25 + t))
        with fails(Code.WRONG_STATE, "writing"):
            out.latest_good()
    with sluice.open(path) as f:
        assert f.latest_good() == 2
    content = path.read_bytes()
    at = content.index(np.full(10, 5.25).tobytes())
    path.write_bytes(content[:at] + b"\1" + content[at + 1:])
    with sluice.open(path) as f:
        assert f.latest_good() == 1
    with sluice.open(tmp_path / "none.h5", "w", **QUICK) as out:
        out.put("fixed", np.ones(3))
    with sluice.open(tmp_path / "none.h5") as f:
        assert f.latest_good() is None


def test_mpi4py_of_another_mpi_is_said_before_anything_happens(tmp_path):
    program = f"""
import sluice
from mpi4py import MPI
real = MPI.Get_library_version
class Other:
    def __getattr__(self, name): return getattr(MPI, name)
    def Get_library_version(self): return "MPICH Version: 4.0.2"
import mpi4py
mpi4py.MPI = Other()
try:
    sluice.open({str(tmp_path / 'other.h5')!r}, "w", comm=MPI.COMM_SELF)
except sluice.Error as error:
    assert error.code == sluice.Code.MPI, error
    assert "MPICH Version: 4.0.2" in str(error) and "use one of them only" in str(error), error
    print("said")
"""
    pytest.importorskip("mpi4py", reason="mpi4py is not installed")
    ran = subprocess.run([os.environ.get("SLUICE_PYTHON", "python3"), "-c", program],
                         capture_output=True, text=True)
    assert ran.stdout.strip() == "said", ran.stderr


def test_the_end_of_a_background_thread_leaves_libhdf5_able_to_close(tmp_path):
    # A flush that wrote a filter which libhdf5 does not have leaves that in the thread's errors.
    program = f"""
import numpy, sluice
with sluice.open({str(tmp_path / 'one.h5')!r}, "w", strategy="forward", compress="zstd:3",
                 log="off") as out:
    with out.step():
        out.put("v", numpy.zeros(2000))
"""
    ran = subprocess.run([os.environ.get("SLUICE_PYTHON", "python3"), "-c", program],
                         capture_output=True, text=True, timeout=60)
    assert (ran.returncode, ran.stderr) == (0, "")
