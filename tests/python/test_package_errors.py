"""What a program may do wrong is a sluice.Error with its code, and never a crash."""

import gc
import os
import pickle
import subprocess

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
    assert "MPICH Version: 4.0.2" in str(error) and "pip install" in str(error), error
    print("said")
"""
    pytest.importorskip("mpi4py", reason="mpi4py is not installed")
    ran = subprocess.run([os.environ.get("SLUICE_PYTHON", "python3"), "-c", program],
                         capture_output=True, text=True)
    assert ran.stdout.strip() == "said", ran.stderr
