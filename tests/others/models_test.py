"""VAMPIRE's snapshots in all five modes, HyMD's systems and VOX-FE's models: the numbers that numpy
and h5py find in the files, and the same files after the way there and back."""

import os
import subprocess

import h5py
import numpy as np
import pytest

import sluice as library
from others import DATA, Differences, require, sluice

ATOMS, FRAMES = 10648, 3
IOPC = os.environ.get("SLUICE_IOPC", "")


def rows(folder, stem, text, columns):
    """All rows of a kind of files in their order, as numpy reads them."""
    parts = []
    for path in sorted(folder.glob(stem + "*.data")):
        if text:
            parts.append(np.loadtxt(path, skiprows=1, ndmin=2)[:, -3:])
            continue
        raw = path.read_bytes()
        count = int(np.frombuffer(raw[:8], "<u8")[0])
        parts.append(np.frombuffer(raw[8 + 8 * count * (columns - 3) // 2:], "<f8").reshape(-1, 3))
    return np.concatenate(parts)


def same(one, other):
    """The names of files that differ; the line of the date may."""
    names = sorted(p.name for p in one.iterdir() if p.name != "input")
    if names != sorted(p.name for p in other.iterdir()):
        return "other files"
    for name in names:
        texts = [(folder / name).read_bytes() for folder in (one, other)]
        if name.endswith((".meta", ".cfg")):
            texts = [[line for line in text.split(b"\n") if not line.startswith(b"# Date")]
                     for text in texts]
        if texts[0] != texts[1]:
            return name
    return ""


def test_vampire_in_five_modes(tmp_path):
    real = require(DATA / "vampire")
    folders = {mode: (real / mode, mode.endswith("text"))
               for mode in ("fpp-binary", "mpiio-binary", "fpnode2-text")}
    for mode, words in (("legacy", ("--mode", "legacy")),
                        ("fpp-text", ("--mode", "file-per-process", "--text", "--files", 3))):
        sluice("convert", real / "fpp-binary", tmp_path / mode, "--format", "vampire", *words)
        folders[mode] = (tmp_path / mode, True)
    differences = Differences("vampire")
    spins = [rows(real / "fpp-binary", f"spins-{frame:08}", False, 3) for frame in range(FRAMES)]
    places = rows(real / "fpp-binary", "atoms-coords", False, 5)
    assert places.shape == (ATOMS, 3)
    for mode, (folder, is_text) in folders.items():
        middle, back = tmp_path / (mode + ".h5"), tmp_path / (mode + "-back")
        sluice("convert", folder, middle)
        with library.open(middle) as file:
            for frame in range(FRAMES):
                found = file["spins"][frame]
                if mode != "legacy" and is_text:
                    assert np.array_equal(found, rows(folder, f"spins-{frame:08}", True, 3)), mode
                elif not is_text:
                    assert np.array_equal(found, spins[frame]), mode
                assert np.allclose(found, spins[frame], atol=1e-5), mode
            if not is_text:
                assert np.array_equal(file["coordinates"][...], places), mode
        sluice("convert", middle, back, "--format", "vampire")
        differences.judge(mode, same(folder, back))
    differences.report("VAMPIRE's folders")


def test_voxfe(tmp_path):
    model = require(DATA / "voxfe" / "o-test.voxfe.model")
    differences = Differences("voxfe")
    middle, back = tmp_path / "m.nc", tmp_path / "m.model"
    sluice("convert", model, middle)
    records = np.loadtxt(model, skiprows=2, dtype=int)
    with library.open(middle) as file:
        material = file["material"][...]
        assert np.count_nonzero(material) == len(records)
        x, y, z = records[:, 2:5].T - 1
        assert np.array_equal(material[z, y, x], records[:, 1])
    sluice("convert", middle, back)
    differences.judge(model.name, "" if back.read_bytes() == model.read_bytes() else "other text")
    hdf5 = tmp_path / "m.h5"
    sluice("convert", middle, hdf5)
    again = tmp_path / "again.model"
    sluice("convert", hdf5, again)
    differences.judge(model.name + " by hdf5",
                      "" if again.read_bytes() == model.read_bytes() else "other text")
    differences.report("VOX-FE's models")


def iopc(folder, *words):
    done = subprocess.run([IOPC, "hymd", f"folder='{folder}'", *words], capture_output=True,
                          text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stderr


def beads(folder):
    """Rows of particles in the texts of iopc's records."""
    found = []
    for line in (folder / "1.fort").read_text().splitlines():
        words = line.split()
        if len(words) == 12:
            found.append([float(word) for word in words])
    return np.array(found)


def system(path, beads_count, with_bonds):
    rng = np.random.default_rng(1)
    with h5py.File(path, "w") as file:
        file["coordinates"] = rng.random((1, beads_count, 3), "f4") * 3
        file["names"] = np.array([b"A", b"B"] * (beads_count // 2), "S5")
        file["indices"] = np.arange(beads_count)
        file["types"] = np.arange(beads_count) % 2
        if with_bonds:
            file["molecules"] = np.arange(beads_count) // 2
            partner = np.arange(beads_count) ^ 1
            file["bonds"] = np.stack([partner, -np.ones_like(partner)], axis=1)
    return path


@pytest.mark.skipif(not IOPC, reason="no iopc in this build")
@pytest.mark.parametrize("with_bonds", [True, False])
def test_a_system_of_hymd_with_and_without_bonds(tmp_path, with_bonds):
    path = system(tmp_path / "s.h5", 40, with_bonds)
    toml = tmp_path / "s.toml"
    toml.write_text('[simulation]\nn_steps = 10\nintegrator = "respa"\nbox_size = [3.0, 3.0, 3.0]\n'
                    'coulombtype = "PIC_Spectral"\n[field]\nmesh_size = [8, 8, 8]\n'
                    'chi = [ ["A", "B", 30.0], ["A", "A", 2.5] ]\n[bonds]\n'
                    'bonds = [\n  ["A", "B", 0.5, 900.0],\n]\n'
                    'dihedrals = [\n  [\n    ["A", "B", "A", "B"],\n    [0.3, 1.0],\n    [180.0],\n'
                    '  ],\n  [["B", "A", "B", "A"], [1.0], [0.0]],\n]\n')
    said = iopc(tmp_path, f"toml='{toml}'", f"hdf5='{path}'", "ascii=.true.")
    assert "no force of dihedrals here: 2 left out" in said
    assert "not used here: integrator, coulombtype" in said
    found = beads(tmp_path)
    with h5py.File(path) as file:
        places = file["coordinates"][0].astype("f8")
        np.testing.assert_allclose(found[:, 2:5], places, atol=5.01e-7)
        partners = file["bonds"][:, 0] + 1 if with_bonds else np.zeros(40)
    assert np.array_equal(found[:, 8], partners)
    namelist = (tmp_path / "params.nml").read_text().upper()
    assert "CHI_KJ_MOL" in namelist and "2.5" in namelist, "a list on one line"
    heads = [line.split() for line in (tmp_path / "1.fort").read_text().splitlines()
             if len(line.split()) == 2]
    assert len(heads) == (20 if with_bonds else 40), "molecules"


@pytest.mark.skipif(not IOPC, reason="no iopc in this build")
def test_hymd_there_and_back(tmp_path):
    data = require(DATA / "hymd")
    differences = Differences("hymd")
    for name in ("copolymer.HDF5", "copolymer-sim.H5"):
        with h5py.File(data / name) as file, library.open(data / name) as ours:
            wanted = []
            file.visititems(lambda n, o: wanted.append(n) if isinstance(o, h5py.Dataset) else None)
            for dataset in wanted:
                theirs = file[dataset][()]
                if file[dataset].dtype.kind in "SO":
                    theirs = np.char.decode(np.asarray(theirs, "S"))
                if dataset not in ours:
                    differences.judge(f"{name} {dataset}", "not read")
                    continue
                differences.judge(f"{name} {dataset}", "" if np.array_equal(
                    ours[dataset][...], theirs) else "other values")
    words = (f"toml='{data / 'copolymer.toml'}'", f"hdf5='{data / 'copolymer.HDF5'}'")
    folders = [tmp_path / name for name in ("records", "texts", "back", "again")]
    for folder in folders[:2]:
        folder.mkdir()
    iopc(folders[0], *words)
    iopc(folders[1], *words, "ascii=.true.")
    sluice("convert", folders[0] / "init_bin.dat", folders[2], "--format", "lines")
    assert (folders[2] / "1.fort").read_bytes() == (folders[1] / "1.fort").read_bytes()
    sluice("convert", folders[1] / "init.template", folders[3])
    sluice("diff", folders[0] / "init_bin.dat", folders[3])
    with h5py.File(data / "copolymer.HDF5") as file:
        found = beads(folders[1])
        exact = np.array_equal(found[:, 2:5].astype("f4"), file["coordinates"][0])
        differences.judge("copolymer.HDF5 beginning", "" if exact else "six decimals")
        np.testing.assert_allclose(found[:, 2:5], file["coordinates"][0], atol=5.01e-7)
        bonds = file["bonds"][...]
        assert np.array_equal(found[:, 8:8 + bonds.shape[1]], np.where(bonds < 0, 0, bonds + 1))
    differences.report("HyMD's files")
