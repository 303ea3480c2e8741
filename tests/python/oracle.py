"""What the Python tests share: running the programs, and the formulas of writer.cpp.

Invariant: every test works in a folder of its own, which pytest makes and keeps.
"""

import os
import subprocess

import numpy

FOLDER = os.path.join(os.environ["SLUICE_BUILD_DIR"], "tests")
STEPS = 3


def run_unchecked(program, *arguments):
    """Runs one of writer, reader, appender."""
    command = [os.path.join(FOLDER, f"python_{program}"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def run(program, *arguments):
    """The output of one of them, which must succeed."""
    done = run_unchecked(program, *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def formula(kind, shape, step):
    """Values of one step, as writer.cpp's formula()."""
    kind = numpy.dtype(kind)
    index = numpy.arange(int(numpy.prod(shape)), dtype=numpy.uint64).reshape(shape)
    if kind.kind == "b":
        return (index + numpy.uint64(step)) % numpy.uint64(3) == 0
    if kind.kind == "f":
        return (index * 0.5 - step * 1000.0).astype(kind)
    if kind.kind == "c":
        return (index.astype(float) + 1j * (-step - 0.5)).astype(kind)
    with numpy.errstate(over="ignore"):
        mixed = (index + numpy.uint64(1)) * numpy.uint64(0x9E3779B97F4A7C15)
        mixed = mixed + numpy.uint64(step * 0x10001)
    return mixed.astype(f"u{kind.itemsize}").view(kind)


def series(kind, shape):
    """All steps, stacked."""
    return numpy.stack([formula(kind, shape, step) for step in range(STEPS)])


def expect(got, wanted):
    """Equal in type, shape and every bit."""
    got = numpy.asarray(got)
    assert got.dtype.newbyteorder("=") == wanted.dtype.newbyteorder("="), (got.dtype, wanted.dtype)
    assert got.shape == wanted.shape
    numpy.testing.assert_array_equal(got, wanted)


NUMBERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32",
           "float64"]
SHAPE = (4, 5)
EXTENTS = (7, 6, 5, 4, 3)
SHAPES = {f"d{rank}": EXTENTS[:rank] for rank in range(1, 6)}


def read(path, ranks):
    """What Sluice reads on so many ranks: variables[name][step] = (type, shape, bytes), notes."""
    variables, notes = {}, {}
    for line in run("reader", path, ranks).splitlines():
        if line.startswith("variable "):
            _, name, kind, step, shape, values = line.split(" ")
            extents = () if shape == "-" else tuple(int(n) for n in shape.split(","))
            steps = variables.setdefault(name, [])
            assert len(steps) == int(step)
            steps.append((kind, extents, bytes.fromhex(values[:-1])))
        else:
            _, owner, _, value = line.split(" ", 3)
            notes[owner] = value
    return variables, notes


def read_array(path, ranks, name, step=0):
    kind, shape, values = read(path, ranks)[0][name][step]
    return numpy.frombuffer(values, dtype=numpy.dtype(kind)).reshape(shape)
