"""sluice convert of VTKHDF: steps and parts stay, and --step makes a file without steps, of version
1.0, which VTK and ParaView 5.11 read too."""

import json
import os
import shlex
import subprocess
import sys

import h5py
import numpy
import pytest

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [FOLDER, os.path.join(FOLDER, "..", "support")]
from vtk_files import array, steps_of  # noqa: E402
from vtkhdf_files import STEPS, image, patch  # noqa: E402

COMMAND = os.environ["SLUICE_COMMAND"]
MPIEXEC = shlex.split(os.environ["SLUICE_MPIEXEC"])
RANKS = 3


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("vtkhdf")
    subprocess.run([*MPIEXEC, "-n", str(RANKS), sys.executable, "-B",
                    os.path.join(FOLDER, "vtkhdf_files.py"), str(folder)], check=True, timeout=200)
    return folder


def run(*words, ranks=0, code=0):
    launcher = [*MPIEXEC, "-n", str(ranks)] if ranks else []
    done = subprocess.run([*launcher, COMMAND, *map(str, words)], text=True, capture_output=True,
                          check=False, timeout=200)
    assert done.returncode == code, done.stdout + done.stderr
    return done


def expect_step(grid, step):
    """One grid of all parts, as vtk_files merges them."""
    parts = [patch(rank, step) for rank in range(RANKS)]
    points = numpy.concatenate([points for points, _ in parts])
    assert numpy.array_equal(array(grid), points)
    assert numpy.array_equal(array(grid.GetPointData(), "height"), points[:, 2])
    owners = numpy.repeat(numpy.arange(RANKS), [len(cells) for _, cells in parts])
    assert numpy.array_equal(array(grid.GetCellData(), "rank"), owners)
    first = numpy.cumsum([0] + [len(points) for points, _ in parts])
    cells = numpy.concatenate([cells + first[rank] for rank, (_, cells) in enumerate(parts)])
    assert grid.GetNumberOfCells() == len(cells)
    for number in range(0, len(cells), 7):
        ids = grid.GetCell(number).GetPointIds()
        assert [ids.GetId(k) for k in range(ids.GetNumberOfIds())] == list(cells[number])


@pytest.mark.parametrize("ranks", [0, 2])
def test_a_copy_keeps_parts(files, ranks):
    target = files / f"mesh{ranks}.vtkhdf"
    run("convert", files / "mesh.vtkhdf", target, "--compress", "deflate:1", ranks=ranks)
    steps = steps_of(str(target))
    assert [time for time, _ in steps] == [0.5 * step for step in range(STEPS)]
    for step, (_, grid) in enumerate(steps):
        expect_step(grid, step)
    run("verify", target)


@pytest.mark.parametrize("step", [0, 1, -1])
def test_one_step_alone(files, step):
    target = files / f"alone{step}.vtkhdf"
    chosen = step % STEPS
    said = run("convert", files / "mesh.vtkhdf", target, "--step", step, ranks=2).stderr
    assert f"step {chosen} alone" in said and f"{0.5 * chosen}" in said, said
    with h5py.File(target) as file:
        assert "Steps" not in file["VTKHDF"]
        assert list(file["VTKHDF"].attrs["Version"]) == [1, 0]
        assert list(file["VTKHDF/NumberOfPoints"]) == [len(patch(rank, chosen)[0])
                                                       for rank in range(RANKS)]
    (_, grid), = steps_of(str(target))
    expect_step(grid, chosen)
    run("verify", target)
    listed = json.loads(run("ls", target, "--json").stdout)
    assert listed["steps"] == 0


def test_one_step_of_an_image(files):
    target = files / "image_alone.vtkhdf"
    run("convert", files / "image.vtkhdf", target, "--step", 1)
    with h5py.File(target) as file:
        assert list(file["VTKHDF"].attrs["Version"]) == [1, 0]
        assert numpy.array_equal(file["VTKHDF/PointData/height"][:], image(1, 0, 2 * RANKS))
    (_, grid), = steps_of(str(target))
    assert numpy.array_equal(array(grid.GetPointData(), "height"), image(1, 0, 2 * RANKS).ravel())


def test_a_copy_in_another_format_has_none_of_the_slots(files):
    """They say where the steps of a VTKHDF dataset begin."""
    target = files / "mesh.h5"
    run("convert", files / "mesh.vtkhdf", target)
    with h5py.File(files / "mesh.vtkhdf") as file:
        assert "rows_of_a_step" in file["VTKHDF/Points"].attrs
    with h5py.File(target) as file:
        assert "rows_of_a_step" not in file["VTKHDF/Points"].attrs


def test_poly_data_is_refused(files):
    said = run("convert", files / "poly.vtkhdf", files / "poly1.vtkhdf", "--step", 0, code=2).stderr
    assert "PolyData" in said and "copy the file" in said, said


def test_a_step_that_is_not_there(files):
    said = run("convert", files / "mesh.vtkhdf", files / "none.vtkhdf", "--step", 3, code=2).stderr
    assert "step 3" in said and "3 steps" in said, said
    assert not (files / "none.vtkhdf").exists()
    # Of other formats too: a file without steps has none.
    plain = files / "plain.h5"
    run("convert", files / "mesh.vtkhdf", plain, "--step", 0)
    said = run("convert", plain, files / "none.h5", "--step", 0, code=2).stderr
    assert "0 steps" in said, said
    with h5py.File(plain) as file:
        assert numpy.array_equal(file["VTKHDF/Points"][:],
                                 numpy.concatenate([patch(rank, 0)[0] for rank in range(RANKS)]))
