"""Copies of every kind of Sluice's HDF5 files by every copier: the same values for h5py, netCDF4
and Sluice, and verdicts of `sluice verify` that are true. A kind meets one copier, and all of them
with SLUICE_LONG=1."""

import contextlib
import os
import shutil
import subprocess

import h5py
import netCDF4
import numpy
import pytest

import compare
import copiers
import kinds
import sluice

from compare import sluice as command

IS_LONG = bool(os.environ.get("SLUICE_LONG"))
FINE, DIFFERS, BAD_INPUT, CHANGED_OUTSIDE = 0, 1, 2, 3
# What it leaves behind: h5copy copies objects, and not the file's own attributes; the references by
# which dimension scales are found lead nowhere then, and netCDF refuses such a file. A copy dataset
# by dataset has no attributes of groups, so nothing says that Sluice wrote it.
OBJECTS, DATASETS = "h5copy", "h5copy-each"


def copiers_of(kind):
    return [c for c in copiers.COPIERS
            if kind.endswith(".nc") or c not in (*copiers.NCCOPY, "ncks")]


def pairs():
    for number, kind in enumerate(kinds.KINDS):
        able = copiers_of(kind)
        first = 5 * number % len(able)
        yield from ((kind, copier) for copier in (able if IS_LONG else able[first:first + 1]))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("kinds")
    kinds.write_alone(str(place))
    launcher = os.environ["SLUICE_MPIEXEC"].split()
    subprocess.run([*launcher, "-n", str(kinds.RANKS), os.environ["SLUICE_PYTHON"],
                    kinds.__file__, str(place)], check=True, timeout=120, stderr=subprocess.PIPE)
    return place


def is_set(path):
    return os.path.isdir(path + ".parts")


def virtual(path):
    """Names of the datasets whose elements are in the parts."""
    with h5py.File(path) as file:
        return [name for name, dataset in copiers.datasets(file).items() if dataset.is_virtual]


def copied(folder, kind, copier):
    """The copy, or None where the other program refuses."""
    source, target = str(folder / kind), str(folder / f"{copier}-of-{kind}")
    if os.path.exists(target):
        os.remove(target)
    why = copiers.copy(copier, source, target)
    if why is None:
        return target
    # h5repack 1.10 crashes where it shall take filters off virtual datasets; a chunk that is wider
    # than a dimension is no chunk.
    assert (copier == "no-filter" and virtual(source)) or (
        copier == "nccopy-c" and kind.startswith("checkpoint")), why
    return None


def alike(a, b):
    """Values of h5py or of Sluice, or groups of them."""
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(alike(a[k], b[k]) for k in a)
    return compare.same(a, b)


def of_h5py(path):
    with h5py.File(path) as file:
        return {name: dataset[()] for name, dataset in copiers.datasets(file).items()
                if not name.startswith("sluice/") and not compare.is_plain_scale(dataset)}


def of_netcdf(path):
    def values(group):
        found = {name: numpy.asarray(variable[...]) for name, variable in group.variables.items()}
        found.update({name + "/": values(inner) for name, inner in group.groups.items()})
        found.update({":" + name: group.getncattr(name) for name in group.ncattrs()})
        return found

    with netCDF4.Dataset(path) as file:
        file.set_auto_mask(False)
        return values(file)


def of_sluice(path):
    """Values of all steps, and attributes of the file and of every owner."""
    with sluice.open(path) as file:
        found = {"steps": file.steps, "times": list(file.times)}
        for name in file:
            stepped = range(file.steps) if file.steps else [-1]
            found[name] = {step: file[name].get(step) for step in stepped}
            found[name + ":"] = dict(file.attrs_of(name).items())
        found[":"] = dict(file.attrs.items())
        return found


@contextlib.contextmanager
def without_parts(path, target):
    """Parts that are gone are nothing to a copy that holds the elements itself."""
    parts = path + ".parts"
    is_whole = is_set(path) and not virtual(target)
    if is_whole:
        os.rename(parts, parts + "-away")
    try:
        yield
    finally:
        if is_whole:
            os.rename(parts + "-away", parts)


def check_values(source, target, copier):
    expected = of_h5py(source)
    found = of_h5py(target)
    for name, value in expected.items():
        assert name in found and compare.same(value, found[name]), name
    if source.endswith(".nc") and copier not in (OBJECTS, DATASETS):
        assert alike(of_netcdf(source), of_netcdf(target))
    ours = of_sluice(source)
    with without_parts(source, target):
        if copier == DATASETS:  # read as what it is: another program's file
            with sluice.open(target) as file:
                for name in expected:
                    assert compare.same(file[name][...], found[name]), name
            return
        new = of_sluice(target)
        if copier == OBJECTS:
            new[":"] = ours[":"]
        for name, value in ours.items():
            assert alike(value, new[name]), (name, value, new[name])
        assert ours.keys() == new.keys()
        done = command("ls", target)
        assert done.returncode == FINE, done.stderr


def check_verdict(source, target, copier):
    with without_parts(source, target):
        done = command("verify", target)
    if copier == DATASETS:
        assert done.returncode == BAD_INPUT and "not written by Sluice" in done.stderr, done
    elif done.returncode != FINE:
        # The values are those that were committed, and what it misses is gone indeed.
        assert copier == OBJECTS and done.returncode == CHANGED_OUTSIDE, done.stdout
        findings = [line for line in done.stdout.splitlines() if " committed" in line]
        assert findings and all("attributes that were committed are missing" in line or
                                "names of dimensions differ" in line for line in findings)
        assert "checksum," not in done.stdout
    elif copier != OBJECTS:
        equal = command("diff", source, target)
        assert equal.returncode == FINE, equal.stdout
    return done


def change_a_value(target):
    """Of the first dataset of numbers with steps or rows; the name that Sluice has for it."""
    with h5py.File(target, "r+") as file:
        for name, dataset in copiers.datasets(file).items():
            last = name.rsplit("/", 1)[-1]
            is_own = name.startswith("sluice/")
            if last in ("x", "field", "Points", "state") and dataset.size and not is_own:
                at = (0,) * dataset.ndim
                dataset[at] = dataset[at] + 1
                return last
    raise AssertionError("nothing to change")


def check_a_changed_value(source, target, copier):
    parts = source + ".parts"
    if is_set(source):
        shutil.copytree(parts, parts + "-kept")
    try:
        name = change_a_value(target)
        done = command("verify", target)
        said = done.stdout + done.stderr
        is_found = done.returncode in (DIFFERS, CHANGED_OUTSIDE) and any(
            name in line and "does not match its checksum" in line for line in said.splitlines())
        is_said = "not written by Sluice" in said or "nothing to verify" in said or any(
            line.endswith(name) for line in said.partition("not covered by")[2].splitlines())
        assert is_found or is_said, said
        if copier == DATASETS or "unchecked" in source:
            assert not is_found
        elif not is_set(source):
            assert is_found, said
    finally:
        if is_set(source):
            shutil.rmtree(parts)
            os.rename(parts + "-kept", parts)


@pytest.mark.parametrize("kind,copier", list(pairs()))
def test_a_copy(folder, kind, copier):
    target = copied(folder, kind, copier)
    if target is None:
        return
    source = str(folder / kind)
    check_values(source, target, copier)
    check_verdict(source, target, copier)
    check_a_changed_value(source, target, copier)


@pytest.mark.parametrize("kind", kinds.KINDS)
def test_the_original(folder, kind):
    path = str(folder / kind)
    for verb in ("ls", "verify"):
        done = command(verb, path)
        assert done.returncode == FINE, done.stdout + done.stderr


@pytest.mark.parametrize("kind", ["image.vtkhdf", "mesh.vtkhdf"])
@pytest.mark.parametrize("ending", [".h5", ".vtkhdf"])
def test_vtkhdf_is_converted_to_vtkhdf(folder, kind, ending):
    source, target = str(folder / kind), str(folder / ("again" + ending + "-" + kind))
    middle = str(folder / (kind + "-middle" + ending))
    assert command("convert", source, middle).returncode == FINE
    # HDF5 keeps the offsets of VTK's steps, which the format makes anew: listed as left out.
    done = command("convert", middle, target, "--drop")
    assert done.returncode == FINE
    assert all("keeps this by itself" in line or "by itself: leave it out" in line
               for line in done.stderr.splitlines()), done.stderr
    assert alike(of_sluice(source), of_sluice(target))
    assert alike(of_h5py(source), of_h5py(target))  # the offsets of steps too
    assert command("verify", target).returncode == FINE


def test_what_has_nothing_of_vtk_is_not_converted_to_vtkhdf(folder):
    target = str(folder / "nothing.vtkhdf")
    done = command("convert", str(folder / "plain.h5"), target)
    assert done.returncode == BAD_INPUT and "VTKHDF/PointData" in done.stderr
    assert len(done.stderr.splitlines()) == 1 and not os.path.exists(target)
