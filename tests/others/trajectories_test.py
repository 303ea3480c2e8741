"""DCD files of NAMD, CHARMM, LAMMPS and others: frames as MDAnalysis and mdtraj read them, and the
same bytes after DCD -> DCD and DCD -> HDF5 -> DCD, or a difference that is listed."""

import warnings
from pathlib import Path

import numpy as np
import pytest

import sluice as library
from others import DATA, Differences, require, run, sluice, some

warnings.filterwarnings("ignore")
MDAnalysis = pytest.importorskip("MDAnalysis", reason="MDAnalysis is not installed")
mdtraj = pytest.importorskip("mdtraj", reason="mdtraj is not installed")
chemfiles = pytest.importorskip("chemfiles", reason="chemfiles is not installed")
datafiles = pytest.importorskip("MDAnalysisTests.datafiles",
                                reason="MDAnalysisTests is not installed")

FOLDER = Path(datafiles.__file__).parent / "data"
SHARED = ("nopbc.dcd", "mrmd_h2so4-64bit-le.dcd")
ATOMS = 11


def paths():
    found = sorted(path for path in FOLDER.rglob("*.dcd") if path.stat().st_size > 0)
    return found + [DATA / "namd" / name for name in SHARED]


def made(path, big, marker, fixed, cell, old=False, fourth=False, name=b"CORD"):
    """A trajectory by the format's description, of a kind that no package here carries."""
    order = ">" if big else "<"
    mark = np.dtype(order + ("u4" if marker == 4 else "u8"))

    def record(content):
        length = np.array(len(content), mark).tobytes()
        return length + content + length

    def numbers(values, kind):
        return np.asarray(values).astype(order + kind).tobytes()

    control = np.zeros(20, "i4")
    control[[0, 1, 2, 3, 8, 19]] = 3, 10, 5, 25, fixed, 0 if old else 24
    control[10], control[11] = int(cell), int(fourth)
    words = [numbers(word, "i4") for word in control]
    if old:
        words[9:11] = [numbers(0.25, "f8")]
    else:
        words[9] = numbers(0.25, "f4")
    titles = b"".join(line.ljust(80) for line in (b"REMARKS by hand", b"REMARKS two"))
    text = record(name + b"".join(words)) + record(numbers(2, "i4") + titles)
    text += record(numbers(ATOMS, "i4"))
    if fixed:
        text += record(numbers(np.arange(fixed, ATOMS) + 1, "i4"))
    for step in range(3):
        if cell:
            text += record(numbers([30 + step, 0, 40, 0, 0, 50], "f8"))
        first = fixed if step else 0
        for axis in range(4 if fourth else 3):
            values = np.arange(ATOMS, dtype="f4") * (axis + 1) + step / 8
            text += record(numbers(values[first:], "f4"))
    path.write_bytes(text)
    return path


def variants():
    for big in (False, True):
        for marker in (4, 8):
            for fixed in (0, 4):
                for more in ("", "cell", "cell fourth", "old", "velocities"):
                    name = f"{'big' if big else 'little'}-{marker}-{fixed}-{more or 'plain'}"
                    yield name.replace(" ", "-"), dict(
                        big=big, marker=marker, fixed=fixed, cell="cell" in more,
                        old=more == "old", fourth="fourth" in more,
                        name=b"VELD" if more == "velocities" else b"CORD")


def frames_of(path):
    """As MDAnalysis reads them; it has no markers of 64 bits, and chemfiles has."""
    if is_wide(path):
        with chemfiles.Trajectory(str(path)) as file:
            frames = [file.read() for _ in range(file.nsteps)]  # positions live no longer
            return [frame.positions.astype("f4") for frame in frames]
    with MDAnalysis.lib.formats.libdcd.DCDFile(str(path)) as file:
        return [np.array(frame.xyz) for frame in file]


def is_wide(path):
    return path.read_bytes()[8:12] in (b"CORD", b"VELD")


def told(one, other):
    """Where two files differ, in words; "" where they do not."""
    one, other = one.read_bytes(), other.read_bytes()
    if one == other:
        return ""
    if len(one) != len(other):
        return f"{len(other)} bytes, not {len(one)}"
    at = next(i for i, (a, b) in enumerate(zip(one, other)) if a != b)
    return f"byte {at} differs"


def there_and_back(path, folder, differences, name):
    direct, middle, back = (folder / part for part in ("direct.dcd", "middle.h5", "back.dcd"))
    said = sluice("convert", path, direct)
    differences.judge(name + " to dcd", told(path, direct) + changes(said))
    sluice("convert", path, middle)
    said = sluice("convert", middle, back)
    differences.judge(name + " by hdf5", told(path, back) + changes(said))
    assert told(direct, back) == ""
    records = folder / "records.rec"
    sluice("convert", path, records)
    with library.open(path) as one, library.open(records) as other:
        for variable in one:
            np.testing.assert_array_equal(one[variable][...], other[variable][...])


def changes(said):
    return "".join("; " + line for line in said.splitlines() if ": changed: " in line)


def test_trajectories_of_packages(tmp_path):
    differences = Differences("dcd")
    for number, path in enumerate(some(paths(), 4)):
        if path.parent.name == "namd":
            require(path)
        with library.open(path) as ours:
            found = ours["positions"][...]
        expected = frames_of(path)
        differences.judge(path.name + " frames", "" if len(found) == len(expected) else
                          f"{len(found)} frames, not {len(expected)}")
        np.testing.assert_array_equal(found, expected[:len(found)])
        if not is_wide(path):  # nor has mdtraj
            with mdtraj.formats.DCDTrajectoryFile(str(path)) as theirs:
                np.testing.assert_array_equal(found, theirs.read()[0][:len(found)])
        folder = tmp_path / str(number)
        folder.mkdir()
        there_and_back(path, folder, differences, path.name)
    differences.report("trajectories of packages")


def test_variants_that_no_package_has(tmp_path):
    differences = Differences("dcd-made")
    for name, options in some(variants(), 7):
        folder = tmp_path / name
        folder.mkdir()
        path = made(folder / "made.dcd", **options)
        expected = np.stack([np.stack([np.arange(ATOMS, dtype="f4") * (axis + 1) + step / 8
                                       for axis in range(3)], axis=1) for step in range(3)])
        expected[1:, :options["fixed"]] = expected[0, :options["fixed"]]
        with library.open(path) as ours:
            np.testing.assert_array_equal(ours["positions"][...], expected)
        there_and_back(path, folder, differences, name)
        with library.open(folder / "back.dcd") as ours:
            np.testing.assert_array_equal(ours["positions"][...], expected)
    differences.report("variants that no package has")


def test_appending_keeps_the_byte_order(tmp_path):
    path = made(tmp_path / "big.dcd", big=True, marker=8, fixed=0, cell=True)
    with library.open(path, "a") as out, out.step():
        out.put("positions", np.full((ATOMS, 3), 7.5, "f4"))
        out.put("cell", np.array([1.0, 2, 3, 4, 5, 6]))
    with library.open(path) as ours:
        assert ours.steps == 4 and ours.attrs["byte_order"] == "big"
        assert (ours["positions"][3] == 7.5).all()
        assert ours["cell"][3].tolist() == [1, 2, 3, 4, 5, 6]
    assert path.read_bytes()[:8] == (84).to_bytes(8, "big")


def test_what_has_no_place_in_an_array_is_said(tmp_path):
    path = made(tmp_path / "a.dcd", big=False, marker=4, fixed=0, cell=False)
    done = run("convert", path, tmp_path / "a.npy")
    assert "keeps each step in one piece" not in done.stderr
    assert done.returncode == 0 or "attribute" in done.stderr, done.stderr
