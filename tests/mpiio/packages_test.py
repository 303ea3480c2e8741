"""Programs of Debian that write by MPI-IO, unmodified: LAMMPS (its mpiio dumps and restarts), meep
(parallel HDF5) and h5py for MPI. Their files with the interface in front of Open MPI, writing
through and writing behind with a writer that is late, are those without.

The packages are downloaded and unpacked, not installed: the programs see them over /usr by an
overlay of their own, which needs root. A long test."""

import filecmp
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

import launch

FOLDER = pathlib.Path(os.environ["SLUICE_MPIIO_FOLDER"])
LATE_FOLDER = pathlib.Path(os.environ["SLUICE_MPIIO_LATE_FOLDER"])
PACKAGES = ("lammps", "meep-openmpi", "python3-h5py-mpi")
MODES = {"without": (None, {}), "through": (FOLDER, {}),
         "behind": (LATE_FOLDER, {"SLUICE_MPIIO_WRITE_BEHIND": "true",
                                  "SLUICE_MPIIO_LATE_MS": "3-30"})}
RANKS = 3

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
# Name: the words of the program, and the text of its input.
PROGRAMS = {"lammps": (("lmp", "-in", "input"), LAMMPS), "meep": (("meep", "input"), MEEP),
            "h5py": (("/usr/bin/python3", "input"), H5PY)}
# Programs say how long they took.
NOT_COMPARED = {"input", "log.lammps", "output.txt"}


def download(place):
    """Unpacks PACKAGES, and what of theirs is not installed, below `place`."""
    planned = subprocess.run(["apt-get", "-s", "install", *PACKAGES], check=True,
                             capture_output=True, text=True).stdout
    names = [line.split()[1] for line in planned.splitlines() if line.startswith("Inst ")]
    if names:
        subprocess.run(["apt-get", "download", "-q", "-o", "APT::Sandbox::User=root", *names],
                       cwd=place, check=True, stdout=subprocess.DEVNULL, timeout=1800)
    (place / "usr").mkdir()
    for package in place.glob("*.deb"):
        subprocess.run(["dpkg", "-x", package, place], check=True)


def run(root, mode, program, place):
    place.mkdir(parents=True)
    words, text = PROGRAMS[program]
    (place / "input").write_text(text)
    folder, settings = MODES[mode]
    job = shlex.join(launch.words("openmpi", RANKS, *words,
                                  preload=folder and folder / "libsluice-mpiio-openmpi.so"))
    # Libraries of which there are several lie in folders of their own.
    libraries = "/usr/lib/x86_64-linux-gnu"
    environment = os.environ | settings | {
        "LD_LIBRARY_PATH": f"{libraries}/blas:{libraries}/lapack", "GUILE_AUTO_COMPILE": "0",
        "SLUICE_EXPLAIN": "1"}
    environment.pop("PYTHONPATH", None)
    overlay = f"mount -t overlay overlay -o lowerdir={shlex.quote(str(root))}/usr:/usr /usr"
    with open(place / "output.txt", "w", encoding="utf-8") as output:
        done = subprocess.run(["unshare", "-m", "sh", "-c", f"{overlay} && exec {job}"],
                              cwd=place, env=environment, stdout=output, stderr=output,
                              timeout=600, check=False)
    said = (place / "output.txt").read_text(encoding="utf-8")
    assert done.returncode == 0, f"{program} {mode}: {said[-2000:]}"
    assert folder is None or "ranks; in the slowest rank" in said, f"not in front of {program}"


def same(program, ours, theirs):
    if filecmp.cmp(ours, theirs, shallow=False):
        return True
    # HDF5 files of meep hold the time at which they were made.
    return program == "meep" and subprocess.run(["h5diff", ours, theirs], check=False,
                                                capture_output=True).returncode == 0


def check(root, place, program):
    run(root, "without", program, place / program / "without")
    names = {path.name for path in (place / program / "without").iterdir()} - NOT_COMPARED
    assert names, f"{program} wrote nothing"
    for mode in ("through", "behind"):
        folder = place / program / mode
        run(root, mode, program, folder)
        assert {path.name for path in folder.iterdir()} - NOT_COMPARED == names
        for name in sorted(names):
            assert same(program, folder / name, place / program / "without" / name), \
                f"{name} of {program} differs {mode}"
    print(f"{program}: {len(names)} files are the same without, through and behind", flush=True)


def main():
    if os.geteuid() != 0 or "openmpi" not in os.environ["SLUICE_MPIIO_TESTED"].split():
        print("skipped: needs root and Open MPI")
        return
    with tempfile.TemporaryDirectory(prefix="sluice-packages-") as temporary:
        root = pathlib.Path(temporary) / "root"
        root.mkdir()
        download(root)
        for program in PROGRAMS:
            check(root, pathlib.Path(temporary), program)


if __name__ == "__main__":
    sys.exit(main())
