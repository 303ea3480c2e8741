"""What h5py sees in a file beside what Sluice does: every dataset, attribute and link."""

import json
import os
import subprocess

import h5py
import numpy

COMMAND = os.environ["SLUICE_COMMAND"]
# Kept by libraries for themselves; Sluice and netCDF make their own.
BOOKKEEPING = {"DIMENSION_LIST", "REFERENCE_LIST", "CLASS", "NAME", "DIMENSION_LABELS",
               "_Netcdf4Dimid", "_Netcdf4Coordinates", "_NCProperties", "_nc3_strict"}
PLAIN_SCALE = b"This is a netCDF dimension but not a netCDF variable"
DEEPEST = 300


def sluice(*arguments, timeout=120):
    return subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, text=True,
                          timeout=timeout, check=False, errors="replace")


def identity(obj):
    info = h5py.h5o.get_info(obj.id)
    return info.fileno, info.addr


def links(file):
    """(path, kind, what) of every link: a dataset, group or type by its object, else None."""
    def walk(group, path, above):
        for name in group:
            full = path + name
            link = group.get(name, getlink=True)
            try:
                target = group[name]
            except (KeyError, OSError, RuntimeError, ValueError, TypeError):
                target = None
            yield full, type(link).__name__, target
            if isinstance(target, h5py.Group) and not isinstance(link, h5py.ExternalLink):
                key = identity(target)
                if key not in above and len(above) < DEEPEST:
                    yield from walk(target, full + "/", above | {key})
    yield from walk(file, "", {identity(file)})


def is_plain_scale(dataset):
    name = dataset.attrs.get("NAME", b"") if "NAME" in dataset.attrs else b""
    name = name.encode() if isinstance(name, str) else name
    return isinstance(name, bytes) and name.startswith(PLAIN_SCALE)


def raw(value):
    """Text as bytes without padding, all else as an array."""
    array = numpy.asarray(value)
    if array.dtype.kind == "O":
        flat = [v.encode("utf-8", "surrogateescape") if isinstance(v, str) else v
                for v in array.ravel()]
        return [v if isinstance(v, bytes) else repr(raw(v)) for v in flat]
    if array.dtype.kind == "U":
        return [str(v).encode("utf-8", "surrogateescape") for v in array.ravel()]
    if array.dtype.kind == "S":
        return [bytes(v) for v in array.ravel()]
    return array


def same(a, b):
    a, b = raw(a), raw(b)
    if isinstance(a, list) or isinstance(b, list):
        return list(a) == list(b)
    if a.dtype.kind in "fc" and b.dtype.kind in "fc":
        return a.size == b.size and numpy.array_equal(a.ravel(), b.ravel(), equal_nan=True)
    if a.dtype.names:
        return a.dtype.names == b.dtype.names and a.size == b.size and all(
            same(a[n], b[n]) for n in a.dtype.names)
    if a.dtype.kind == "V" or b.dtype.kind == "V":
        return a.tobytes() == b.tobytes()
    return a.size == b.size and numpy.array_equal(a.ravel(), b.ravel())


def references_by_name(file, value):
    """References as the names to which they lead; other values as they are."""
    array = numpy.asarray(value)
    kinds = (h5py.Reference, h5py.RegionReference)
    if array.dtype.kind == "O" and array.size and isinstance(array.ravel()[0], kinds):
        def name(reference):
            return file[reference].name if reference else ""
        return numpy.array([name(r) for r in array.ravel()], dtype=object)
    return value


def attributes(obj):
    """(name, value or None) of those that h5py reads."""
    for name in obj.attrs:
        if name in BOOKKEEPING:
            continue
        try:
            value = obj.attrs[name]
        except (OSError, TypeError, ValueError, RuntimeError, UnicodeError):
            value = None
        yield name, value


def listing(path):
    """sluice ls of a file, or None with what it says."""
    done = sluice("ls", "--json", path)
    if done.returncode != 0:
        return None, done.stderr.strip().splitlines()[-1:] or ["exit " + str(done.returncode)]
    return json.loads(done.stdout), None


def read_by_sluice(path):
    """Differences from h5py, what Sluice names as not read, and counts."""
    import sluice as package
    found, why = listing(path)
    if found is None:
        return [("", "refused: " + why[0])], [], {"files": 0}
    unread = {d["name"]: d["type"] for d in found["unreadable"]}
    unread_attributes = {d["name"]: d["type"] for d in found["unread_attributes"]}
    named = sorted(unread.items()) + sorted(unread_attributes.items())
    differences = []
    counts = {"files": 1, "datasets": 0, "attributes": 0, "links": 0}
    variables = {v["name"] for v in found["variables"]}
    with h5py.File(path, "r") as theirs, package.open(path, checksum=False) as ours:
        owners = [("", theirs)]
        for name, kind, target in links(theirs):
            counts["links"] += 1
            if isinstance(target, h5py.Group):
                owners.append((name, target))
            if not isinstance(target, h5py.Dataset):
                if target is None and name not in unread:
                    differences.append((name, kind + " that leads nowhere is not named"))
                continue
            if is_plain_scale(target) or name in unread:
                continue
            if kind == "ExternalLink":
                differences.append((name, "external link is not named"))
                continue
            if name not in variables:
                differences.append((name, "neither read nor named"))
                continue
            owners.append((name, target))
            counts["datasets"] += 1
            try:
                expected = target[...]
            except (OSError, ValueError, TypeError, RuntimeError) as error:
                expected = error
            try:
                value = ours[name][...]
            except package.Error as error:
                if not isinstance(expected, Exception):
                    differences.append((name, "not read: " + str(error)))
                continue
            if isinstance(expected, Exception):
                continue  # more than h5py reads
            if not same(value, expected):
                differences.append((name, "other values"))
        for owner, obj in owners:
            seen = ours.attrs_of(owner) if owner else ours.attrs
            what = owner or "the file"
            for name, expected in attributes(obj):
                key = what + ": attribute " + name
                counts["attributes"] += 1
                if key in unread_attributes or what + ": attributes" in unread_attributes:
                    continue
                if name not in seen:
                    differences.append((key, "neither read nor named"))
                elif expected is not None and not isinstance(expected, h5py.Empty) and not same(
                        seen[name], expected):
                    differences.append((key, f"other value: {seen[name]!r}, {expected!r}"))
    return differences, named, counts


def value_of(file, dataset):
    if dataset.shape is None:
        return "null"
    return references_by_name(file, dataset[...])


def same_trees(old_path, new_path, left_out):
    """Differences of a conversion from HDF5 to HDF5; `left_out`: the words of sluice convert."""
    differences = []

    def is_named(name):
        return any(one.startswith(name + " (") or one.startswith(name + ":") for one in left_out)

    with h5py.File(old_path, "r") as old, h5py.File(new_path, "r") as new:
        groups = {}
        for name, kind, target in links(old):
            if is_named(name) or name == "sluice" or name.startswith("sluice/"):
                continue
            link = new.get(name, getlink=True) if name in new or _has(new, name) else None
            if link is None:
                differences.append((name, kind + " is gone"))
                continue
            if type(link).__name__ != kind:
                differences.append((name, f"{kind} became {type(link).__name__}"))
                continue
            if target is None or kind == "ExternalLink":
                continue
            other = new[name]
            if groups.setdefault(identity(target), identity(other)) != identity(other):
                differences.append((name, "is not the same object as its other name"))
            if isinstance(target, h5py.Dataset):
                try:
                    expected = value_of(old, target)
                except (OSError, ValueError, TypeError, RuntimeError):
                    continue
                if not same(expected, value_of(new, other)):
                    differences.append((name, "other values after convert"))
            if isinstance(target, (h5py.Dataset, h5py.Group)):
                differences += _other_attributes(old, new, name, target, other, is_named)
        differences += _other_attributes(old, new, "the file", old, new, is_named)
    return differences


def _has(file, name):
    try:
        return h5py.h5l.LinkProxy.exists(file.id.links, name.encode())
    except (KeyError, RuntimeError, ValueError):
        return False


def _other_attributes(old, new, owner, target, other, is_named):
    found = []
    for name, expected in attributes(target):
        key = owner + ": attribute " + name
        if is_named(key) or is_named("attributes of " + owner):
            continue
        if name not in other.attrs:
            found.append((key, "is gone"))
        elif expected is not None:
            value = other.attrs[name]
            if isinstance(expected, h5py.Empty) or isinstance(value, h5py.Empty):
                if type(expected) is not type(value):
                    found.append((key, "other after convert"))
                continue
            expected = references_by_name(old, expected)
            value = references_by_name(new, value)
            if numpy.shape(expected) != numpy.shape(value) or not same(expected, value):
                found.append((key, "other value after convert"))
    return found
