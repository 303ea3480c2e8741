"""The apps whose restart is tested: how each is started, and what its result is."""

import os
import re
import struct
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, Dict, List, Tuple

import h5py
import numpy

APPS = Path(__file__).resolve().parents[2] / "apps"
MFDN_ACCURACY = 1e-10  # of eigenvalues of about 10, which rounding in sums over ranks changes
OCCAM_ACCURACY_NM = 1e-4  # of positions: sums over ranks are rounded, and particles collide


@dataclass
class App:
    """A row: what differs from app to app."""

    ranks: Tuple[int, ...]                        # the numbers of ranks that it is run on
    arguments: Callable[[str, int], List[str]]    # after the program: of a strategy, of ranks
    result: Callable[[Path, str], Dict]           # of a run that has ended: its folder, its words
    same: Callable[[Dict, Dict], bool]            # of two results: to the app's stated accuracy
    resumed: str                                  # what it says when it goes on
    ended: str                                    # what it says at its end, not where it is stopped
    prepare: Callable[[Path, Path], None] = lambda folder, program: None
    by_charm: bool = False
    accuracy: str = "bit for bit"
    files: Tuple[str, ...] = field(default=())    # that `sluice diff` finds to be the same


def bits(one, other):
    return one == other


def found(pattern, words):
    return re.search(pattern, words, re.M)[0]


# -- vampire ------------------------------------------------------------------------------------


def vampire(strategy, ranks):
    return ["--digest", "--output", "spins.h5", "--lattice", "bcc", "--size", "6", "6", "6",
            "--start", "random", "--temperature", "300", "--steps", "1500", "--every", "50",
            "--checkpoint", "state.h5", "--checkpoint-every", "20", "--strategy", strategy]


def digest(folder, words):
    return {"digest": found(r"^digest: \w+$", words)}


# -- parabmu ------------------------------------------------------------------------------------


def beam(folder, program):
    """A beam of voxels of two materials, held at its foot, pushed at its head."""
    nx, ny, nz = 6, 6, 24
    rows = [f"{1 + (x + y + z) % 2} {x} {y} {z}" for z in range(1, nz + 1)
            for y in range(1, ny + 1) for x in range(1, nx + 1)]
    (folder / "beam.model").write_text(
        f"\n{len(rows)}\n" + "".join(f"{i + 1} {row}\n" for i, row in enumerate(rows)))
    (folder / "materials.txt").write_text("1 17000 0.3 1\n2 9000 0.25 0\n")
    nodes = [(x, y) for y in range(1, ny + 2) for x in range(1, nx + 2)]
    (folder / "constraints.txt").write_text("".join(
        f"SELECT_NODE_3D {x} {y} 1  0 0 0  1 1 1\n"
        f"SELECT_NODE_3D {x} {y} {nz + 1}  {0.01 * x} -0.5 0  0 0 0\n" for x, y in nodes))
    (folder / "script").write_text(f"""LOAD_MATERIALS_FILE materials.txt
VOXEL_SIZE 0.1 0.1 0.1 1
MAX_ITER 20000
TOLERANCE 1e-14
CHECKPOINT state.h5 20
LOAD_MCTSCAN {nx} {ny} {nz} beam.model
SELECTION_OF_NODES
  SELECT_NODE_FILE constraints.txt
COMPUTE_SED
PARPRINT_X moved.nc
""")


def solution(folder, words):
    return {"iterations": found(r"^solver: converged: .*$", words),
            "energy": found(r"^energy: .*$", words)}


# -- mfdn ---------------------------------------------------------------------------------------


def mfdn(strategy, ranks):
    return ["solve", "--tolerance", "1e-9", "--every", "5", "--no-sync", "--checkpoint", "state.h5"]


def energies(folder, words):
    rows = re.findall(r"^ *\d+ +(-?\d+\.\d+) +(-?\d+\.\d+) +(-?\d+\.\d+) +\S+$", words, re.M)
    return {"energies": numpy.array(rows, dtype=float)[:, 0]}


def near_energies(one, other):
    return len(one["energies"]) == len(other["energies"]) == 15 and (
        numpy.abs(one["energies"] - other["energies"]).max() <= MFDN_ACCURACY)


# -- occam --------------------------------------------------------------------------------------


def surfactant(folder, program):
    subprocess.run([program.with_name("iopc"), "generate", "parts=4", "blocks=4"], cwd=folder,
                   check=True, capture_output=True)


def occam(strategy, ranks):
    return ["params.nml", "steps=800", "print_every=100", "conf_every=200", "density_every=2",
            "time_step_ps=0.002", "output='h5md'", "checkpoint='state.h5'", "checkpoint_every=10",
            f"options='strategy=\"{strategy}\"'"]


def trajectory(folder, words):
    with h5py.File(folder / "traj.h5") as file:
        everything = file["particles/all"]
        return {"steps": everything["position/step"][:].tolist(),
                "edge": file["particles/all/box/edges/value"][0],
                "positions": everything["position/value"][:]}


def near_trajectories(one, other):
    if one["steps"] != other["steps"] or one["steps"] != list(range(0, 801, 100)):
        return False
    apart = one["positions"] - other["positions"]
    apart -= one["edge"] * numpy.rint(apart / one["edge"])
    return numpy.abs(apart).max() <= OCCAM_ACCURACY_NM


# -- namd ---------------------------------------------------------------------------------------

NAMD_STEPS, NAMD_EVERY = 60, 20


def namd(strategy, ranks):
    return [str(APPS / "namd" / "namd.py"), "--cells", "8", "--patches", "3", "--steps",
            str(NAMD_STEPS), "--every", str(NAMD_EVERY), "--checkpoint", "state.h5",
            "--checkpoint-every", "5", "run"]


def coordinates(folder, words):
    result = {name: (folder / f"run.{name}").read_bytes() for name in ("coor", "vel", "dcd")}
    frames, = struct.unpack_from("<i", result["dcd"], 8)
    assert frames == NAMD_STEPS // NAMD_EVERY, frames
    return result


ROWS = {
    # Also of a run that was killed between its last checkpoint and its end.
    "vampire": App((1, 2, 3, 4), vampire, digest, bits, "goes on from checkpoint",
                   r"^ +1500 |^goes on from checkpoint \d+, of step 1500,", files=("spins.h5",)),
    "parabmu": App((1, 2, 3, 4), lambda strategy, ranks: ["script"], solution, bits,
                   "went on from iteration", r"^output: ", beam, files=("moved.nc",)),
    "mfdn": App((1, 6), mfdn, energies, near_energies, "resumed after iteration",
                r"^orthogonality", accuracy=f"energies to {MFDN_ACCURACY:g}"),
    "occam": App((1, 2, 3, 4), occam, trajectory, near_trajectories, "goes on from step",
                 r"^ +800 |goes on from step 800\b", surfactant,
                 accuracy=f"positions to {OCCAM_ACCURACY_NM:g} nm"),
    "namd": App((1, 2, 3), namd, coordinates, bits, "goes on from step", "energy an atom",
                by_charm=True),
}


def command(app, program, mpiexec, ranks, strategy):
    row = ROWS[app]
    if row.by_charm:
        charmrun = os.path.join(os.path.dirname(sys.executable), "charmrun")
        return [sys.executable, charmrun, f"+p{ranks}", "++local", "++quiet",
                *row.arguments(strategy, ranks)]
    return [*mpiexec, "-n", str(ranks), program, *row.arguments(strategy, ranks)]
