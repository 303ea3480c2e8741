"""What the tests of parabmu share: running it, cases in folders of their own."""

import atexit
import os
import random
import shlex
import shutil
import subprocess
import tempfile

import numpy

PARABMU = os.environ["PARABMU"]
COMMAND = os.environ["SLUICE_COMMAND"]
MPIEXEC = shlex.split(os.environ["SLUICE_MPIEXEC"])
LONG = os.environ.get("SLUICE_LONG") == "1"
DATA = os.path.join(
    os.environ.get("SLUICE_DATA",
                   os.path.join(os.environ["SLUICE_SOURCE_DIR"], "..", "shared", "data")),
    "voxfe")
MODEL = os.path.join(DATA, "o-test.voxfe.model")
HAS_DATA = os.path.exists(MODEL)
NO_DATA = f"no {MODEL}: set SLUICE_DATA"

FOLDER = tempfile.mkdtemp(prefix="sluice-parabmu-")
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
_folders = iter(range(10**6))


def new_folder():
    folder = os.path.join(FOLDER, str(next(_folders)))
    os.mkdir(folder)
    return folder


def run(folder, script, ranks=1, *options, timeout=120):
    """Runs the lines of a script in a folder."""
    with open(os.path.join(folder, "script"), "w", encoding="utf-8") as file:
        file.write(script)
    return subprocess.run([*MPIEXEC, "-n", str(ranks), PARABMU, "script", *options], cwd=folder,
                          capture_output=True, text=True, timeout=timeout, check=False)


def convert(folder, *arguments, ranks=0, name="sluice"):
    launcher = [*MPIEXEC, "-n", str(ranks)] if ranks else []
    program = os.path.join(os.path.dirname(COMMAND), name)
    verb = ["convert"] if name == "sluice" else []
    return subprocess.run([*launcher, program, *verb, *arguments], cwd=folder,
                          capture_output=True, text=True, timeout=300, check=False)


def read(folder, name):
    with open(os.path.join(folder, name), "rb") as file:
        return file.read()


def write(folder, name, text):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        file.write(text)


def write_model(folder, rows, name="a.model"):
    """rows: material, x, y, z; sorted here, by z, y, x."""
    rows = rows[numpy.lexsort((rows[:, 1], rows[:, 2], rows[:, 3]))]
    body = "".join(f"{i + 1} {m} {x} {y} {z}\n" for i, (m, x, y, z) in enumerate(rows))
    write(folder, name, f"\n{len(rows)}\n{body}")
    return rows


class Case:
    """A model with materials and constraints, written into a folder: the upper arc of the real
    ring over four planes, or, where there is no data, an arch of the same kind."""

    def __init__(self):
        self.folder = new_folder()
        self.size = (0.1, 0.1, 0.1)
        if HAS_DATA:
            rows = numpy.loadtxt(MODEL, skiprows=2, dtype=int)[:, 1:]
            rows = rows[(rows[:, 2] >= 100) & (rows[:, 3] <= 15)]
            self.grid = (148, 148, 48)
        else:
            x, y, z = numpy.meshgrid(range(1, 61), range(1, 31), range(3, 7), indexing="ij")
            radius = (x - 30.5) ** 2 + y**2
            keep = (radius < 29**2) & (radius > 20**2)
            rows = numpy.stack([1 + (x[keep] > 30), x[keep], y[keep], z[keep]], axis=1)
            self.grid = (60, 40, 9)
        self.rows = write_model(self.folder, rows)
        self.materials = {1: (17000.0, 0.3), 2: (9000.0, 0.25)}
        write(self.folder, "materials.txt", "1 17000 0.3 1\n2 9000 0.25 0\n")
        low, high = self.rows[:, 2].min(), self.rows[:, 2].max() + 1
        chance = random.Random(4)
        self.constraints = []
        nodes = {(x + a, y + b, z + c) for _, x, y, z in self.rows.tolist()
                 for a in (0, 1) for b in (0, 1) for c in (0, 1)}
        for x, y, z in sorted(nodes, key=lambda n: n[::-1]):
            if y == low:
                self.constraints.append((x, y, z, (0, 0, 0), (1, 1, 1)))
            elif y == high and x % 5 == 0:
                self.constraints.append((x, y, z, (0.001, 0, 0), (0, 1, 0)))
            elif y == high:
                self.constraints.append((x, y, z, (chance.random(), -0.5, 0), (0, 0, 0)))
        write(self.folder, "constraints.txt", "".join(
            "SELECT_NODE_3D {} {} {}  {} {} {}  {} {} {}\n".format(x, y, z, *v, *c)
            for x, y, z, v, c in self.constraints))

    def script(self, load="LOAD_MCTSCAN", model="a.model", prints=("PRINT_X d.txt",),
               most=20000, tolerance="1e-12", before=""):
        grid = " ".join(map(str, self.grid))
        lines = ["LOAD_MATERIALS_FILE materials.txt", "VOXEL_SIZE 0.1 0.1 0.1 1", "",
                 "ALGORITHM_FEA JAPCG", f"MAX_ITER {most}", f"TOLERANCE {tolerance}", before,
                 f"{load} {grid} {model}", "SELECTION_OF_NODES",
                 "  SELECT_NODE_FILE constraints.txt", "COMPUTE_SED", *prints]
        return "\n".join(lines) + "\n"


def displacements(text):
    """Node places and displacements of a PRINT_X file."""
    table = numpy.loadtxt(text.decode().splitlines()[3:])
    return table[:, 1:4].astype(int), table[:, 4:]
