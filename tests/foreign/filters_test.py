"""Steps that are appended to a copy in which another program has chosen the filters: they are
encoded by these filters, and not by those that Sluice would have chosen. Where another program has
chosen what Sluice does not write, nothing is appended."""

import ctypes
import os
import subprocess
import sys

import h5py
import hdf5plugin
import numpy
import pytest

import sluice

from compare import sluice as command
from shapes_test import replaced

LENGTH = 6000
GZIP = h5py.h5z.FILTER_DEFLATE
SHUFFLE = h5py.h5z.FILTER_SHUFFLE


def values(step):
    """Of a step; those of step 1 do not shrink."""
    draw = numpy.random.default_rng(step)
    text = draw.integers(33, 127, (LENGTH, 16), "u1")
    number = draw.integers(0, 256, LENGTH, "u1")
    if step != 1:
        text[...] = text[0]
        number[...] = number[0]
    return {"energy": numpy.float64(1.5 + step), "x": numpy.arange(LENGTH) / 3.0 + step,
            "m": number, "t": text.view("S16")[:, 0], "noise": draw.random(LENGTH)}


def put_steps(file, steps):
    for step in steps:
        with file.step(time=0.5 * step):
            for name, value in values(step).items():
                file.put(name, value)


def filters(path):
    with h5py.File(path) as file:
        found = {}
        for name in values(0):
            list_ = file[name].id.get_create_plist()
            found[name] = [list_.get_filter(i)[:3:2] for i in range(list_.get_nfilters())]
        return found


@pytest.mark.parametrize("ending", [".h5", ".nc"])
def test_steps_are_appended_by_the_filters_of_the_file(tmp_path, ending):
    source, path = str(tmp_path / ("run" + ending)), str(tmp_path / ("copy" + ending))
    with sluice.open(source, "w", log="off") as file:
        put_steps(file, (0, 1))
    chosen = {"energy": ["GZIP=4"], "x": ["SHUF", "GZIP=4"], "m": ["SHUF", "GZIP=4"],
              "t": ["SHUF", "GZIP=4"], "noise": ["GZIP=4"]}
    options = [word for name, words in chosen.items() for one in words
               for word in ("-f", f"{name}:{one}")]
    subprocess.run(["h5repack", *options, source, path], check=True, timeout=60)
    before = filters(path)
    size = 1 if ending == ".nc" else 16  # text is characters there
    assert before["t"] == [(SHUFFLE, (size,)), (GZIP, (4,))]
    assert before["m"] == [(SHUFFLE, (1,)), (GZIP, (4,))] and before["energy"] == [(GZIP, (4,))]
    with sluice.open(path, "a", log="off") as file:
        put_steps(file, (2, 3))
    with sluice.open(path, "a", log="off", restart_after=2) as file:
        put_steps(file, (3,))
        with file.step(time=2.0):
            for name, value in values(1).items():
                file.put(name, value)
    assert filters(path) == before
    with sluice.open(path) as ours, h5py.File(path) as theirs:
        assert ours.steps == 5
        for number, step in enumerate((0, 1, 2, 3, 1)):
            for name, expected in values(step).items():
                got = theirs[name][number]
                if ending == ".nc" and name == "t":
                    got = numpy.ascontiguousarray(got).view("S16")[:, 0]
                numpy.testing.assert_array_equal(got, expected, f"{name}, step {step}")
                found = ours[name][number]
                if name == "t":
                    found = numpy.char.encode(found, "ascii") if found.dtype.kind == "U" else found
                numpy.testing.assert_array_equal(found, expected, f"{name}, step {step}")
    done = command("verify", path)
    assert done.returncode == 0, done.stdout


def test_several_ranks_append_alike(tmp_path):
    source, path = str(tmp_path / "run.h5"), str(tmp_path / "copy.h5")
    with sluice.open(source, "w", log="off") as file:
        put_steps(file, (0, 1))
    options = [word for name in values(0) for word in ("-f", f"{name}:GZIP=2")]
    subprocess.run(["h5repack", *options, source, path], check=True, timeout=60)
    program = """
import sys
from mpi4py import MPI
import sluice
sys.path.insert(0, sys.argv[2])
from filters_test import LENGTH, values
comm = MPI.COMM_WORLD
rows = slice(comm.rank * LENGTH // comm.size, (comm.rank + 1) * LENGTH // comm.size)
with sluice.open(sys.argv[1], "a", comm=comm, log="off", timeout_s=60) as file:
    for step in (1, 2):
        with file.step(time=1.0 + step):
            for name, value in values(step).items():
                if value.ndim == 0 and comm.rank == comm.size - 1:
                    file.put(name, value)
                elif value.ndim:
                    file.put(name, value[rows], shape=(LENGTH,), start=(rows.start,))
"""
    subprocess.run([*os.environ["SLUICE_MPIEXEC"].split(), "-n", "3",
                    os.environ["SLUICE_PYTHON"], "-c", program, path, os.path.dirname(__file__)],
                   check=True, timeout=120)
    with h5py.File(path) as file:
        for number, step in enumerate((0, 1, 1, 2)):
            for name, expected in values(step).items():
                numpy.testing.assert_array_equal(file[name][number], expected, f"{name}, {step}")
    done = command("verify", path)
    assert done.returncode == 0, done.stdout


def plain_run(path, kind):
    with sluice.open(path, "w", log="off") as file:
        file.put("fixed", numpy.arange(6, dtype=kind))
        for step in range(3):
            with file.step(time=0.5 * step):
                file.put("x", numpy.arange(21, dtype=kind).reshape(7, 3) + kind(step))


def big_endian_run(source, path, kind, filters):
    plain_run(source, numpy.dtype(kind).type)
    with h5py.File(source) as file:
        old = file["x"][()]
    replaced(source, path, "x", lambda file, _: file.create_dataset(
        "x", data=old, dtype=kind, maxshape=(None, 7, 3), chunks=(1, 7, 3), **filters))


@pytest.mark.parametrize("filters", [{}, {"compression": "gzip"}], ids=["plain", "gzip"])
@pytest.mark.parametrize("kind", [">f8", ">i4"])
def test_another_order_of_bytes_is_no_damage(tmp_path, kind, filters):
    """Checksums are those of what was put."""
    source, path = str(tmp_path / "source.h5"), str(tmp_path / "run.h5")
    big_endian_run(source, path, kind, filters)
    program = """
import sys
import numpy
from mpi4py import MPI
import sluice
with sluice.open(sys.argv[1], comm=MPI.COMM_WORLD) as file:
    for step in range(3):
        numpy.testing.assert_array_equal(file["x"][step], numpy.arange(21).reshape(7, 3) + step)
"""
    for ranks in (1, 3):
        subprocess.run([*os.environ["SLUICE_MPIEXEC"].split(), "-n", str(ranks),
                        os.environ["SLUICE_PYTHON"], "-c", program, path], check=True, timeout=60)


def is_not_appended_to(path):
    """Only to what `sluice convert` makes of it."""
    with h5py.File(path) as file:
        expected = {name: file[name][()] for name in ("x", "fixed")}
    with open(path, "rb") as file:
        before = file.read()
    with pytest.raises(sluice.Error) as caught:
        with sluice.open(path, "a", log="off") as file:
            with file.step(time=9.0):
                file.put("x", numpy.ones(expected["x"].shape[1:], expected["x"].dtype))
    assert caught.value.code == sluice.Code.UNSUPPORTED, caught.value
    assert "append to a file that sluice convert made of it" in str(caught.value)
    with open(path, "rb") as file:
        assert file.read() == before
    converted = path + ".converted.h5"
    done = command("convert", path, converted)
    assert done.returncode == 0, done.stderr
    step = numpy.arange(expected["x"][0].size).reshape(expected["x"].shape[1:])
    with sluice.open(converted, "a", log="off") as file:
        with file.step(time=9.0):
            file.put("x", step.astype(expected["x"].dtype.newbyteorder("=")))
    with h5py.File(converted) as file:
        numpy.testing.assert_array_equal(file["x"][:-1], expected["x"])
        numpy.testing.assert_array_equal(file["x"][-1], step)
        numpy.testing.assert_array_equal(file["fixed"], expected["fixed"])


@pytest.mark.parametrize("filters", [{}, {"compression": "gzip"}], ids=["plain", "gzip"])
@pytest.mark.parametrize("kind", [">f8", ">i4"])
def test_nothing_is_appended_in_another_order_of_bytes(tmp_path, kind, filters):
    source, path = str(tmp_path / "source.h5"), str(tmp_path / "run.h5")
    big_endian_run(source, path, kind, filters)
    is_not_appended_to(path)


def test_a_fixed_variable_in_another_order_of_bytes_is_in_no_way(tmp_path):
    source, path = str(tmp_path / "source.h5"), str(tmp_path / "run.h5")
    plain_run(source, numpy.float64)
    replaced(source, path, "fixed", lambda file, _: file.create_dataset("fixed", (6,), ">f8"))
    with sluice.open(path, "a", log="off") as file:
        with pytest.raises(sluice.Error) as caught:  # h5py has not given it a place
            file.put("fixed", numpy.arange(6.0))
            file.flush()
    assert caught.value.code == sluice.Code.UNSUPPORTED, caught.value
    assert "big-endian" in str(caught.value)
    with h5py.File(path, "r+") as file:
        file["fixed"][...] = numpy.arange(6)
    with sluice.open(path, "a", log="off") as file:
        with file.step(time=9.0):
            file.put("x", numpy.full((7, 3), 5.0))
    with h5py.File(path) as file:
        numpy.testing.assert_array_equal(file["x"][3], numpy.full((7, 3), 5.0))
        numpy.testing.assert_array_equal(file["fixed"], numpy.arange(6))


@pytest.mark.parametrize("rows", [7, 2])
def test_nothing_is_appended_where_edge_chunks_have_no_filters(tmp_path, rows):
    """H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS: h5py has no name for it, and libhdf5 itself has."""
    source, path = str(tmp_path / "source.h5"), str(tmp_path / "run.h5")
    plain_run(source, numpy.float64)
    with h5py.File(source) as file:
        old = file["x"][()]

    def make(file, _):
        chosen = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        chosen.set_chunk((1, rows, 3))
        set_options = ctypes.CDLL(h5py.h5.__file__).H5Pset_chunk_opts
        set_options.argtypes = [ctypes.c_int64, ctypes.c_uint]
        assert set_options(chosen.id, 2) >= 0
        chosen.set_deflate(6)
        space = h5py.h5s.create_simple(old.shape, (h5py.h5s.UNLIMITED, 7, 3))
        made = h5py.Dataset(h5py.h5d.create(file.id, b"x", h5py.h5t.IEEE_F64LE, space, chosen))
        made[...] = old
        return made

    replaced(source, path, "x", make)
    if rows == 2:
        is_not_appended_to(path)
        return
    with sluice.open(path, "a", log="off") as file:  # no chunk is cut
        with file.step(time=9.0):
            file.put("x", old[0] + 7)
    with h5py.File(path) as file:
        numpy.testing.assert_array_equal(file["x"][3], old[0] + 7)


def test_appending_without_the_plugin_names_it(tmp_path):
    path, script = str(tmp_path / "run.h5"), str(tmp_path / "append.py")
    with open(script, "w", encoding="utf-8") as file:
        file.write(f"""
import numpy
import sluice
import sys
with sluice.open({path!r}, sys.argv[1]) as file:
    file.define("x", "f8", ({LENGTH},), steps=True, compress="lz4")
    with file.step():
        file.put("x", numpy.arange({LENGTH}.0))
""")

    def run(mode, plugins):
        return subprocess.run([sys.executable, script, mode], text=True, capture_output=True,
                              timeout=60, check=False,
                              env={**os.environ, "HDF5_PLUGIN_PATH": plugins})

    assert run("w", hdf5plugin.PLUGIN_PATH).returncode == 0
    done = run("a", str(tmp_path))
    assert done.returncode != 0 and "x: lz4: there is no plugin" in done.stderr, done.stderr
    assert str(tmp_path) in done.stderr and "copy by another" not in done.stderr, done.stderr
    assert run("a", hdf5plugin.PLUGIN_PATH).returncode == 0


@pytest.mark.parametrize("options", [{}, {"shuffle": True}, {"fletcher32": True},
                                     {"shuffle": True, "fletcher32": True}])
def test_lzf_of_h5py_is_read(tmp_path, options):
    path, converted = str(tmp_path / "lzf.h5"), str(tmp_path / "converted.h5")
    draw = numpy.random.default_rng(5)
    data = {"ramp": numpy.arange(100000.0),
            "edges": (numpy.arange(7 * 501).reshape(7, 501) // 9).astype(">i2"),
            "noise": draw.integers(0, 256, 70000, "u1"),
            "both": numpy.concatenate([numpy.zeros(9000), draw.random(9000)]).astype("f4"),
            "zeros": numpy.zeros(300000, "i8"),
            "complex": numpy.exp(1j * (numpy.arange(3000) // 7)),
            "flags": numpy.arange(5000) % 3 == 0,
            "halves": (numpy.arange(4000) % 64 / 4).astype("f2"),
            "runs": draw.integers(0, 3, 99999) // 2 * 9,
            "words": numpy.frombuffer(b"the quick brown fox " * 3000, "S20")}
    chunks = {"edges": (4, 100), "both": (1000,)}  # those of `both` are partly left as they are
    with h5py.File(path, "w") as file:
        for name, values in data.items():
            file.create_dataset(name, data=values, compression="lzf",
                                chunks=chunks.get(name, (700,)), **options)
        grows = file.create_dataset("grows", (0, 50), "i4", maxshape=(None, 50), chunks=(8, 30),
                                    compression="lzf", fillvalue=5, **options)
        grows.resize(30, 0)
        grows[17:21] = 6
        data["grows"] = grows[...]
    data["words"] = data["words"].astype("U20")  # text is read as such
    told = command("convert", path, converted)
    for one in (path, converted):
        with sluice.open(one) as file:
            for name, values in data.items():
                numpy.testing.assert_array_equal(file[name][...], values, name)
            numpy.testing.assert_array_equal(file["edges"][2:6, 90:400], data["edges"][2:6, 90:400])
    assert "lzf" in command("ls", path).stdout and told.returncode == 0


def test_lzf_beside_what_libhdf5_must_undo_has_a_remedy(tmp_path):
    path = str(tmp_path / "lzf.h5")
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=numpy.arange(1000), compression="lzf", scaleoffset=0)
    with sluice.open(path) as file:
        with pytest.raises(sluice.Error, match="lzf: there is no plugin.*by h5py with.*gzip"):
            print(file["x"][...])


def test_damaged_lzf_is_named(tmp_path):
    path = str(tmp_path / "lzf.h5")
    with h5py.File(path, "w") as file:
        made = file.create_dataset("x", data=numpy.arange(4000), chunks=(1000,), compression="lzf")
        mask, stored = made.id.read_direct_chunk((1000,))
        made.id.write_direct_chunk((1000,), stored[:-1], mask)
    with sluice.open(path) as file:
        numpy.testing.assert_array_equal(file["x"][:1000], numpy.arange(1000))
        with pytest.raises(sluice.Error, match="x.*lzf cannot be undone") as caught:
            print(file["x"][...])
        assert caught.value.code == sluice.Code.DAMAGED


def test_to_lzf_nothing_is_appended(tmp_path):
    source, path = str(tmp_path / "source.h5"), str(tmp_path / "run.h5")
    plain_run(source, numpy.float64)
    with h5py.File(source) as file:
        old = file["x"][()]
    replaced(source, path, "x", lambda file, _: file.create_dataset(
        "x", data=old, maxshape=(None, 7, 3), chunks=(1, 7, 3), compression="lzf"))
    is_not_appended_to(path)
