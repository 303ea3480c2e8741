"""DCD and NAMDBIN: what the package writes opens in MDAnalysis, mdtraj and chemfiles with the right
numbers; what other programs wrote is read as they read it, and written back byte for byte."""

import os
import warnings
from pathlib import Path

import numpy as np
import pytest

import sluice

warnings.filterwarnings("ignore")
MDAnalysis = pytest.importorskip("MDAnalysis", reason="MDAnalysis is not installed")
mdtraj = pytest.importorskip("mdtraj", reason="mdtraj is not installed")
chemfiles = pytest.importorskip("chemfiles", reason="chemfiles is not installed")
files = pytest.importorskip("MDAnalysisTests.datafiles", reason="MDAnalysisTests is not installed")

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("SLUICE_DATA", ROOT.parent / "shared/data")) / "namd"
ATOMS, FRAMES = 37, 5
FOREIGN = ["DCD", "DCD2", "DCD_NAMD_GBIS", "DCD_NAMD_TRICLINIC", "DCD_TRICLINIC", "waterDCD"]
SHARED = ["nopbc.dcd", "mrmd_h2so4-64bit-le.dcd"]


def frame(step):
    return (np.arange(3 * ATOMS, dtype=np.float32).reshape(ATOMS, 3) + step) / 8


def write(path, has_cell, strategy="shared"):
    with sluice.open(path, "w", strategy=strategy) as out:
        out.define("positions", "float32", (ATOMS, 3), steps=True)
        if has_cell:
            out.define("cell", "float64", (6,), steps=True)
        for step in range(FRAMES):
            with out.step():
                out.put("positions", frame(step))
                if has_cell:
                    out.put("cell", np.array([30.0 + step, 0, 40, 0, 0, 50]))
    return path


@pytest.mark.parametrize("has_cell", [False, True])
def test_mdanalysis_reads_it(tmp_path, has_cell):
    path = write(tmp_path / "a.dcd", has_cell)
    with MDAnalysis.lib.formats.libdcd.DCDFile(str(path)) as f:
        assert len(f) == FRAMES
        for step, (xyz, cell) in enumerate(f):
            np.testing.assert_array_equal(xyz, frame(step))
            if has_cell:
                np.testing.assert_array_equal(np.sort(cell)[-3:], [30.0 + step, 40, 50])


@pytest.mark.parametrize("has_cell", [False, True])
def test_mdtraj_reads_it(tmp_path, has_cell):
    path = write(tmp_path / "a.dcd", has_cell)
    with mdtraj.formats.DCDTrajectoryFile(str(path)) as f:
        xyz, lengths, angles = f.read()
    np.testing.assert_array_equal(xyz, [frame(step) for step in range(FRAMES)])
    if has_cell:
        np.testing.assert_allclose(lengths, [[30.0 + step, 40, 50] for step in range(FRAMES)])
        np.testing.assert_allclose(angles, 90)


@pytest.mark.parametrize("has_cell", [False, True])
def test_chemfiles_reads_it(tmp_path, has_cell):
    path = write(tmp_path / "a.dcd", has_cell)
    with chemfiles.Trajectory(str(path)) as f:
        assert f.nsteps == FRAMES
        for step in range(FRAMES):
            one = f.read()
            np.testing.assert_array_equal(one.positions.astype(np.float32), frame(step))
            if has_cell:
                np.testing.assert_allclose(one.cell.lengths, [30.0 + step, 40, 50])


def test_coordinates_are_read_by_mdanalysis(tmp_path):
    path = tmp_path / "a.coor"
    data = np.arange(3.0 * ATOMS).reshape(ATOMS, 3) / 7
    with sluice.open(path, "w") as out:
        out.put("positions", data)
    universe = MDAnalysis.Universe.empty(ATOMS, trajectory=False)
    universe.load_new(str(path), format="NAMDBIN")
    np.testing.assert_allclose(universe.atoms.positions, data.astype(np.float32))


def paths():
    for name in FOREIGN:
        yield pytest.param(Path(getattr(files, name)), id=name)
    for name in SHARED:
        yield pytest.param(DATA / name, id=name)


def require(path):
    if not path.exists():
        pytest.skip(f"{path} is not there: it is no part of the project")


@pytest.mark.parametrize("path", paths())
def test_foreign_trajectories_are_read(path):
    require(path)
    with chemfiles.Trajectory(str(path)) as theirs, sluice.open(path) as ours:
        assert ours.steps == theirs.nsteps
        for step in range(ours.steps):
            one = theirs.read()  # its positions are no longer than itself
            np.testing.assert_array_equal(ours["positions"][step],
                                          one.positions.astype(np.float32))


@pytest.mark.parametrize("strategy", ["serial", "forward"])
@pytest.mark.parametrize("path", paths())
def test_foreign_trajectories_are_written_back(tmp_path, path, strategy):
    require(path)
    copy = tmp_path / "copy.dcd"
    with sluice.open(path) as f, sluice.open(copy, "w", strategy=strategy) as out:
        for name in ("marker_bytes", "dcd_header"):
            value = f.attrs[name]
            out.attrs[name] = np.int32(value) if np.isscalar(value) else value
        for name in f:
            out.define(name, f[name].dtype, f[name].shape[1:], steps=True)
        for step in range(f.steps):
            with out.step():
                for name in f:
                    out.put(name, f[name][step])
    there, again = path.read_bytes(), copy.read_bytes()
    marker = 8 if there[4:8] == bytes(4) else 4
    said = int.from_bytes(there[marker + 4:marker + 8], "little")
    with chemfiles.Trajectory(str(path)) as f:
        frames = f.nsteps
    if said != frames:  # its header counts frames that are not there: ours does not
        there = there[:marker + 4] + frames.to_bytes(4, "little") + there[marker + 8:]
    assert again == there


def test_foreign_coordinates_are_read_and_written_back(tmp_path):
    copy = tmp_path / "copy.coor"
    with sluice.open(files.NAMDBIN) as f, sluice.open(copy, "w") as out:
        data = f["positions"][...]
        out.put("positions", data)
    universe = MDAnalysis.Universe.empty(len(data), trajectory=False)
    universe.load_new(files.NAMDBIN, format="NAMDBIN")
    np.testing.assert_allclose(universe.atoms.positions, data.astype(np.float32))
    assert copy.read_bytes() == Path(files.NAMDBIN).read_bytes()
