"""apps/namd: forces by cell lists are those of all pairs; a run under charmrun keeps energy and
momentum; its trajectory and its last coordinates and velocities are what they claim."""

import importlib.util
import json
import os
import subprocess
import sys
import warnings

import numpy as np
import pytest

APP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "apps", "namd")
sys.path.insert(0, APP)

import forces  # noqa: E402

STEPS, EVERY, CELLS = 20, 6, 8


def _all_pairs(positions, charges, own, cutoff):
    """One atom after the other, without lists."""
    result, potential = np.zeros((own, 3)), 0.0
    for i in range(own):
        for j in range(len(positions)):
            apart = positions[i] - positions[j]
            distance2 = float(apart @ apart)
            if i != j and distance2 < cutoff**2:
                over, energy = forces.pair_forces(np.array([distance2]),
                                                  np.array([charges[i] * charges[j]]), cutoff)
                result[i] += over[0] * apart
                potential += 0.5 * energy[0]
    return result, potential


def test_cell_lists_find_the_pairs_of_the_cutoff():
    random = np.random.default_rng(3)
    places = np.stack(np.meshgrid(*[np.arange(6)] * 3, indexing="ij"), -1).reshape(-1, 3)
    positions = 1.1 * random.permutation(places) + random.uniform(-0.1, 0.1, (216, 3)) - 3
    charges = random.uniform(-1, 1, 216)
    for own in (216, 40, 1):
        found, energy = forces.forces(positions, charges, own, 2.5)
        expected, expected_energy = _all_pairs(positions, charges, own, 2.5)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
        assert energy == pytest.approx(expected_energy, rel=1e-10)


def test_force_is_the_slope_of_the_energy_and_both_end_at_the_cutoff():
    r = np.linspace(0.95, 2.4999, 2000)
    for charge in (0.0, 0.7, -0.7):
        over, energy = forces.pair_forces(r**2, np.full_like(r, charge), 2.5)
        slope = np.gradient(energy, r, edge_order=2)
        np.testing.assert_allclose((over * r)[5:-5], -slope[5:-5], rtol=2e-3, atol=2e-3)
        assert abs(energy[-1]) < 1e-6 and abs(over[-1]) < 1e-3


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    if importlib.util.find_spec("charm4py") is None:
        pytest.skip("charm4py is not installed (python/requirements-dev.txt)")
    output = str(tmp_path_factory.mktemp("namd") / "run")
    charmrun = os.path.join(os.path.dirname(sys.executable), "charmrun")
    done = subprocess.run(
        [sys.executable, charmrun, "+p2", "++local", "++quiet", os.path.join(APP, "namd.py"),
         "--cells", str(CELLS), "--steps", str(STEPS), "--every", str(EVERY), "--writers", "2",
         output], capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr
    with open(output + ".json") as file:
        return json.load(file) | {"output": output}


def test_energy_and_momentum_are_kept(run):
    energies = {name: np.array(values) for name, values in run["energies"].items()}
    np.testing.assert_allclose(energies["step"], np.arange(STEPS + 1), atol=1e-6)
    total = energies["kinetic"] + energies["potential"]
    assert np.ptp(energies["kinetic"]) / CELLS**3 > 0.05  # something happens
    assert np.ptp(total) < 0.005 * np.ptp(energies["kinetic"])
    for axis in ("px", "py", "pz"):
        assert np.abs(energies[axis]).max() < 1e-9 * CELLS**3


def test_patches_are_many_and_hold_what_one_patch_would(run):
    """The first forces, patch by patch, are those of the whole periodic box."""
    assert run["run"]["patches"] ** 3 > 2 * 2
    edge, positions, velocities, charges = forces.crystal(CELLS, 0.8, 1.0, 0.5, seed=1)
    images = [positions] + [positions + edge * np.array(d) for d in np.ndindex(3, 3, 3)
                            for d in [np.array(d) - 1] if d.any()]
    _, potential = forces.forces(np.concatenate(images), np.tile(charges, 27), CELLS**3, 2.5)
    assert run["energies"]["potential"][0] == pytest.approx(potential, rel=1e-10)
    assert run["energies"]["kinetic"][0] == pytest.approx(0.5 * np.sum(velocities**2), rel=1e-10)


def test_trajectory_opens_elsewhere_and_ends_where_the_coordinates_are(run):
    mdanalysis = pytest.importorskip("MDAnalysis")
    atoms = CELLS**3
    last = {}
    for ending in (".coor", ".vel"):
        with open(run["output"] + ending, "rb") as file:
            assert np.frombuffer(file.read(4), np.int32)[0] == atoms
            last[ending] = np.frombuffer(file.read(), np.float64).reshape(atoms, 3)
    kinetic = 0.5 * np.sum(last[".vel"] ** 2)
    assert kinetic == pytest.approx(run["energies"]["kinetic"][-1], rel=1e-12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reader = mdanalysis.coordinates.DCD.DCDReader(run["output"] + ".dcd")
        frames = [frame.positions.copy() for frame in reader]
        assert reader.n_atoms == atoms and len(frames) == STEPS // EVERY
        assert reader.ts.dimensions[:3] == pytest.approx([run["run"]["edge"]] * 3, rel=1e-6)
    # The last frame is some steps before the end.
    edge, late = run["run"]["edge"], STEPS % EVERY * run["run"]["time_step"]
    moved = (last[".coor"] - frames[-1] + edge / 2) % edge - edge / 2
    assert 0 < np.abs(moved).max() < 6 * late
    np.testing.assert_allclose(moved, late * last[".vel"], atol=200 * late**2)
    assert 0 < np.abs(frames[0] - frames[1]).max()
