"""Programs of Debian that write by MPI-IO, unmodified: LAMMPS (its mpiio dumps and restarts), meep
and dolfinx (parallel HDF5), h5py for MPI, PETSc (MPI-IO and parallel HDF5) and code_saturne (its
mesh as EnSight, by MPI-IO). Their files with the interface in front of Open MPI, writing through
and writing behind with a writer that is late, are those without. deal.II is not among them: it
takes more than 1 GB, and writes by the same calls.

The packages are downloaded and unpacked, not installed: the programs see them over /usr by an
overlay of their own, which needs root. A long test. SLUICE_PACKAGES_ROOT: a folder in which they
are kept, unpacked; SLUICE_PACKAGES_ONLY: names of programs."""

import dataclasses
import filecmp
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

import launch

FOLDER = pathlib.Path(os.environ["SLUICE_TEST_MPIIO_FOLDER"])
LATE_FOLDER = pathlib.Path(os.environ["SLUICE_TEST_MPIIO_LATE_FOLDER"])
ONLY = os.environ.get("SLUICE_PACKAGES_ONLY", "").split()
PACKAGES = ("lammps", "meep-openmpi", "python3-h5py-mpi", "python3-dolfinx", "python3-petsc4py",
            "code-saturne-bin")
MODES = {"without": (None, {}), "through": (FOLDER, {}),
         "behind": (LATE_FOLDER, {"SLUICE_MPIIO_WRITE_BEHIND": "true",
                                  "SLUICE_TEST_MPIIO_LATE_MS": "3-30"})}
RANKS = 3
TIMEOUT_S = 600

LAMMPS = """\
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 6 0 6 0 6
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 3.0 87287
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
fix 1 all nve
dump a all atom/mpiio 10 d.atom.mpiio.*
dump b all custom/mpiio 10 d.custom.mpiio id type x y z vx
dump c all xyz/mpiio 10 d.xyz.mpiio
restart 20 r.mpiio.*
run 40
write_restart final.mpiio
"""
MEEP = """\
(set! geometry-lattice (make lattice (size 16 8 no-size)))
(set! geometry (list (make block (center 0 0) (size infinity 1 infinity)
                                 (material (make medium (epsilon 12))))))
(set! sources (list (make source (src (make continuous-src (frequency 0.15))) (component Ez)
                                 (center -7 0))))
(set! pml-layers (list (make pml (thickness 1.0))))
(set! resolution 10)
(run-until 20 (at-beginning output-epsilon) (at-every 5 output-efield-z))
"""
H5PY = """\
from mpi4py import MPI
import h5py
import numpy as np

world = MPI.COMM_WORLD
with h5py.File("data.h5", "w", driver="mpio", comm=world) as file:
    rows = file.create_dataset("rows", (world.size, 1000), "f8")
    tiles = file.create_dataset("group/tiles", (world.size * 8, 1000), "f4", chunks=(8, 100))
    for step in range(3):
        rows[world.rank] = np.arange(1000) + world.rank + step
        with tiles.collective:
            tiles[world.rank * 8:(world.rank + 1) * 8] = world.rank + step
        file.attrs[f"step{step}"] = step
        file.flush()
"""
PETSC = """\
import numpy as np
import petsc4py

petsc4py.init(["input", "-viewer_binary_mpiio"])
from petsc4py import PETSc

world = PETSc.COMM_WORLD
vector = PETSc.Vec().createMPI(300_001, comm=world)
vector.setName("vector")
first, last = vector.getOwnershipRange()
vector.setArray(np.arange(first, last) * 0.5)
matrix = PETSc.Mat().createAIJ((500, 500), nnz=1, comm=world)
for row in range(*matrix.getOwnershipRange()):
    matrix[row, 499 - row] = row
matrix.assemble()
binary = PETSc.Viewer().create(world)
binary.setType("binary")
binary.setFileMode("w")
binary.setFromOptions()
binary.setFileName("vector.dat")
vector.view(binary)
matrix.view(binary)
vector.scale(2.0)
vector.view(binary)
binary.destroy()
hdf5 = PETSc.Viewer().createHDF5("vector.h5", "w", comm=world)
vector.view(hdf5)
hdf5.destroy()
"""
DOLFINX = """\
from mpi4py import MPI
import numpy as np
from dolfinx import cpp, fem, io, mesh


def by_number(comm, parts, dims, cells, ghosts):
    # What dolfinx chooses by itself differs from run to run.
    count = cells.num_nodes
    return cpp.graph.AdjacencyList_int32([[cell * parts // count] for cell in range(count)])


domain = mesh.create_unit_square(MPI.COMM_WORLD, 24, 24, partitioner=by_number)
function = fem.Function(fem.FunctionSpace(domain, ("CG", 1)))
with io.XDMFFile(domain.comm, "out.xdmf", "w") as file:
    file.write_mesh(domain)
    for step in range(4):
        function.interpolate(lambda x: np.sin(x[0] * (step + 1)) + x[1])
        file.write_function(function, float(step))
"""
CELLS = 10  # of a box, along each side


def gmsh_box():
    """A mesh in the format of Gmsh."""
    side = CELLS + 1
    nodes = [f"{1 + i + side * (j + side * k)} {i} {j} {k}"
             for k in range(side) for j in range(side) for i in range(side)]
    corners = [i + side * (j + side * k)
               for k in (0, 1) for i, j in ((0, 0), (1, 0), (1, 1), (0, 1))]
    cells = [" ".join(str(1 + i + side * (j + side * k) + corner) for corner in corners)
             for k in range(CELLS) for j in range(CELLS) for i in range(CELLS)]
    lines = ["$MeshFormat", "2.2 0 8", "$EndMeshFormat", "$Nodes", str(len(nodes)), *nodes,
             "$EndNodes", "$Elements", str(len(cells)),
             *(f"{number} 5 2 1 1 {cell}" for number, cell in enumerate(cells, 1)), "$EndElements"]
    return "\n".join(lines) + "\n"


@dataclasses.dataclass(frozen=True)
class Program:
    words: tuple
    input: str = ""
    name: str = "input"  # of the input
    before: tuple = ()  # what makes more of its input, on one process
    # HDF5 files that hold the time at which they were made, or what was never initialised.
    by_value: bool = False


PYTHON = ("/usr/bin/python3", "input")
SATURNE = "/usr/lib/code_saturne"
PROGRAMS = {
    "lammps": Program(("lmp", "-in", "input"), LAMMPS),
    "meep": Program(("meep", "input"), MEEP, by_value=True),
    "h5py": Program(PYTHON, H5PY),
    "petsc": Program(PYTHON, PETSC, by_value=True),
    "dolfinx": Program(PYTHON, DOLFINX, by_value=True),
    "code_saturne": Program((f"{SATURNE}/cs_solver", "--mpi", "--preprocess"), gmsh_box(),
                            "box.msh", (f"{SATURNE}/cs_preprocess", "box.msh")),
}
# Programs say how long they took.
NOT_COMPARED = {"input", "log.lammps", "output.txt", "performance.log", "run_solver.log",
                "timer_stats.csv"}


def download(place):
    """Unpacks PACKAGES, and what of theirs is not installed, below `place`."""
    planned = subprocess.run(["apt-get", "-s", "install", "--no-install-recommends", *PACKAGES],
                             check=True, capture_output=True, text=True).stdout
    names = [line.split()[1] for line in planned.splitlines() if line.startswith("Inst ")]
    if names:
        subprocess.run(["apt-get", "download", "-q", "-o", "APT::Sandbox::User=root", *names],
                       cwd=place, check=True, stdout=subprocess.DEVNULL, timeout=1800)
    (place / "usr").mkdir()
    for package in place.glob("*.deb"):
        subprocess.run(["dpkg", "-x", package, place], check=True)


def in_overlay(root, place, words, environment):
    overlay = f"mount -t overlay overlay -o lowerdir={shlex.quote(str(root))}/usr:/usr /usr"
    with open(place / "output.txt", "a", encoding="utf-8") as output:
        return subprocess.run(["unshare", "-m", "sh", "-c", f"{overlay} && exec {words}"],
                              cwd=place, env=environment, stdout=output, stderr=output,
                              timeout=TIMEOUT_S, check=False).returncode


def run(root, mode, name, place):
    place.mkdir(parents=True)
    program = PROGRAMS[name]
    (place / program.name).write_text(program.input)
    folder, settings = MODES[mode]
    # Libraries of which there are several lie in folders of their own.
    libraries = "/usr/lib/x86_64-linux-gnu"
    environment = os.environ | settings | {
        "LD_LIBRARY_PATH": f"{libraries}/blas:{libraries}/lapack", "GUILE_AUTO_COMPILE": "0",
        "PETSC_DIR": "/usr/lib/petscdir/petsc3.18/x86_64-linux-gnu-real",
        "XDG_CACHE_HOME": str(place.parent.parent / "cache"), "SLUICE_EXPLAIN": "1"}
    environment.pop("PYTHONPATH", None)
    job = shlex.join(launch.words("openmpi", RANKS, *program.words,
                                  preload=folder and folder / "libsluice-mpiio-openmpi.so"))
    code = 0
    if program.before:
        code = in_overlay(root, place, shlex.join(program.before), environment)
    if code == 0:
        code = in_overlay(root, place, job, environment)
    said = (place / "output.txt").read_text(encoding="utf-8")
    assert code == 0, f"{name} {mode}: {said[-2000:]}"
    assert folder is None or "ranks; in the slowest rank" in said, f"not in front of {name}"


def files_of(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*")
            if path.is_file() and path.name not in NOT_COMPARED}


def same(program, ours, theirs):
    if filecmp.cmp(ours, theirs, shallow=False):
        return True
    return program.by_value and subprocess.run(["h5diff", ours, theirs], check=False,
                                               capture_output=True).returncode == 0


def check(root, place, name):
    without = place / name / "without"
    run(root, "without", name, without)
    files = files_of(without)
    assert files, f"{name} wrote nothing"
    for mode in ("through", "behind"):
        folder = place / name / mode
        run(root, mode, name, folder)
        assert files_of(folder) == files, f"{name} {mode}: {files_of(folder)}, not {files}"
        for path in sorted(files):
            assert same(PROGRAMS[name], folder / path, without / path), \
                f"{path} of {name} differs {mode}"
    print(f"{name}: {len(files)} files are the same without, through and behind", flush=True)


def main():
    if os.geteuid() != 0 or "openmpi" not in os.environ["SLUICE_TEST_MPIIO_TESTED"].split():
        print("skipped: needs root and Open MPI")
        return
    with tempfile.TemporaryDirectory(prefix="sluice-packages-") as temporary:
        root = pathlib.Path(os.environ.get("SLUICE_PACKAGES_ROOT") or f"{temporary}/root")
        if not (root / "usr").exists():
            root.mkdir(parents=True, exist_ok=True)
            download(root)
        for name in ONLY or PROGRAMS:
            check(root, pathlib.Path(temporary), name)


if __name__ == "__main__":
    sys.exit(main())
