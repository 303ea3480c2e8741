"""apps/namd/namd_io: every way writes the same positions, whatever the ranks and writers; other
programs open the files; what cannot be is said."""

import json
import os
import subprocess
import sys
import warnings

import h5py
import numpy as np
import pytest

ATOMS, STEPS, PATCHES = 1009, 3, 11
LAUNCH = os.environ["SLUICE_MPIEXEC"].split()


def namd_io(folder, *arguments, ranks=3):
    return subprocess.run([*LAUNCH, "-n", str(ranks), os.environ["NAMD_IO"], *arguments],
                          cwd=folder, capture_output=True, text=True, timeout=120)


def written(folder, name, *arguments, ranks=3):
    done = namd_io(folder, name, "--atoms", str(ATOMS), "--steps", str(STEPS), "--patches",
                   str(PATCHES), "--verify", "--json", *arguments, ranks=ranks)
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert 0 <= figures["close_s"] <= figures["visible_s"] <= figures["total_s"] + 1e-9
    assert figures["megabytes"] == pytest.approx(ATOMS * STEPS * 24e-6, abs=1e-3)


@pytest.fixture(scope="module")
def positions(tmp_path_factory):
    """Of all steps: by one rank, all at once; with what they are compared in every other test."""
    folder = tmp_path_factory.mktemp("first")
    written(folder, "all", "--way", "at-once", ranks=1)
    steps = []
    for step in range(STEPS):
        data = (folder / f"all.{step:06d}").read_bytes()
        assert np.frombuffer(data[:4], np.int32)[0] == ATOMS
        steps.append(np.frombuffer(data[4:], np.float64).reshape(ATOMS, 3))
    assert len(np.unique(np.stack(steps).reshape(-1, 3), axis=0)) == ATOMS * STEPS
    return np.stack(steps)


def _bytes(positions, step):
    return np.int32(ATOMS).tobytes() + positions[step].tobytes()


@pytest.mark.parametrize("way", ["at-once", "in-turn", "files"])
def test_the_ways_before(tmp_path, positions, way):
    written(tmp_path, "run", "--way", way, "--writers", "2")
    for step in range(STEPS):
        if way == "files":
            parts = [(tmp_path / f"run.{step:06d}.{writer}").read_bytes() for writer in range(2)]
            assert all(parts) and b"".join(parts) == positions[step].tobytes()
        else:
            assert (tmp_path / f"run.{step:06d}").read_bytes() == _bytes(positions, step)


@pytest.mark.parametrize("strategy", ["forward", "shared"])
def test_namdbin_by_every_kind_of_strategy(tmp_path, positions, strategy):
    written(tmp_path, "run.coor", "--writers", "2", "--set", f'strategy = "{strategy}"')
    for step in range(STEPS):
        assert (tmp_path / f"run.{step:06d}.coor").read_bytes() == _bytes(positions, step)


def test_dcd_opens_in_mdanalysis(tmp_path, positions):
    mdanalysis = pytest.importorskip("MDAnalysis")
    written(tmp_path, "run.dcd", "--set", 'strategy = "forward"', "--compute-ms", "5")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reader = mdanalysis.coordinates.DCD.DCDReader(str(tmp_path / "run.dcd"))
        frames = np.stack([frame.positions.copy() for frame in reader])
    np.testing.assert_array_equal(frames, positions.astype(np.float32))


def test_h5md_opens_in_h5py(tmp_path, positions):
    written(tmp_path, "run.h5", "--writers", "3", "--set", 'strategy = "forward"')
    with h5py.File(tmp_path / "run.h5") as file:
        assert list(file["h5md"].attrs["version"]) == [1, 1]
        everything = file["particles/all"]
        np.testing.assert_array_equal(everything["position/value"][:], positions)
        assert list(everything["position/step"][:]) == list(range(STEPS))
        np.testing.assert_allclose(everything["box/edges/value"][:], 65536)


def test_what_cannot_be_is_said(tmp_path):
    for arguments, part in ((("run", "--way", "files", "--writers", "4"), "4 writers of 2 ranks"),
                            (("run", "--way", "sideways"), 'unknown way "sideways"'),
                            (("absent/run", "--way", "in-turn", "--writers", "2"), "absent/run"),
                            (("run.h5", "--atoms", "0"), "atoms")):
        done = namd_io(tmp_path, *arguments, ranks=2)
        assert done.returncode == 2 and part in done.stderr, (arguments, done)
        assert len([line for line in done.stderr.splitlines() if "namd_io:" in line]) == 1


@pytest.mark.parametrize("strategy", ["forward", "shared"])
def test_points_for_paraview(tmp_path, positions, strategy):
    sys.path.insert(0, os.path.join(os.environ["SLUICE_SOURCE_DIR"], "tests", "support"))
    from vtk_files import array, steps_of

    written(tmp_path, "run.vtkhdf", "--set", f'strategy="{strategy}"')
    steps = steps_of(tmp_path / "run.vtkhdf")
    assert [time for time, _ in steps] == pytest.approx([0.001 * step for step in range(STEPS)])
    for step, (_, grid) in enumerate(steps):
        np.testing.assert_array_equal(array(grid), positions[step])
        np.testing.assert_array_equal(array(grid.GetPointData(), "atom"), np.arange(ATOMS))
