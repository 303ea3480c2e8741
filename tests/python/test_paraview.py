"""ParaView itself (Debian's 5.11), under a virtual display: what it opens of VTKHDF is a file
without steps, as `sluice convert --step` makes one; by pvbatch on 4 ranks every rank reads a
part."""

import json
import os
import shlex
import subprocess
import sys

import h5py
import numpy
import pytest
from PIL import Image

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, FOLDER)
from vtkhdf_files import STEPS, cells_of_mesh, image  # noqa: E402

COMMAND = os.environ["SLUICE_COMMAND"]
MPIEXEC = shlex.split(os.environ["SLUICE_MPIEXEC"])
RANKS = 4


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("paraview")
    subprocess.run([*MPIEXEC, "-n", str(RANKS), sys.executable, "-B",
                    os.path.join(FOLDER, "vtkhdf_files.py"), str(folder)], check=True,
                   timeout=200)
    return folder


def convert(source, target, *options, ranks=3):
    done = subprocess.run([*MPIEXEC, "-n", str(ranks), COMMAND, "convert", str(source), str(target),
                           *options], text=True, capture_output=True, check=False, timeout=200)
    assert done.returncode == 0, done.stderr
    return done


def shown(path, ranks):
    """What ParaView finds, and whether it drew anything."""
    result, picture = f"{path}.json", f"{path}.png"
    without = {name: value for name, value in os.environ.items()
               if name not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")}
    screen = ["xvfb-run", "-a", "-s", "-screen 0 1280x1024x24"]
    done = subprocess.run([*screen, *MPIEXEC, "-n", str(ranks), "pvbatch",
                           os.path.join(FOLDER, "paraview_look.py"), str(path), result, picture],
                          env=without, text=True, capture_output=True, check=False, timeout=500)
    assert done.returncode == 0, done.stdout + done.stderr
    said = done.stdout + done.stderr
    assert "ERR|" not in said and "higher than this reader" not in said, said
    with open(result, encoding="ascii") as file:
        found = json.load(file)
    colours = Image.open(picture).convert("RGB").getcolors(500 * 300)
    assert len(colours) > 20, "nothing was drawn"
    return found


@pytest.mark.parametrize("ranks", [1, RANKS])
def test_a_step_of_a_grid(files, ranks):
    step = STEPS - 2
    target = files / f"mesh{ranks}.vtkhdf"
    convert(files / "mesh.vtkhdf", target, "--step", str(step))
    found = shown(target, ranks)
    points, cells, _ = cells_of_mesh(step, RANKS)
    assert found["kind"] == "vtkUnstructuredGrid"
    assert (found["points"], found["cells"]) == (points, cells)
    with h5py.File(target) as file:
        assert list(file["VTKHDF"].attrs["Version"]) == [1, 0]
        heights = file["VTKHDF/PointData/height"][:]
        assert len(file["VTKHDF/NumberOfPoints"]) == RANKS
    assert found["range"] == pytest.approx([heights.min(), heights.max()], abs=1e-12)
    assert found["ranks"] == ranks and found["owners"] == [0, ranks - 1]  # each has a part


def test_the_last_step_of_an_image(files):
    target = files / "image1.vtkhdf"
    convert(files / "image.vtkhdf", target, "--step", "-1")
    found = shown(target, 1)
    values = image(STEPS - 1, 0, 2 * RANKS)
    assert (found["kind"], found["points"]) == ("vtkImageData", values.size)
    assert found["range"] == pytest.approx([values.min(), values.max()], abs=1e-12)
    with h5py.File(target) as file:
        assert numpy.array_equal(file["VTKHDF/PointData/height"][:], values)
