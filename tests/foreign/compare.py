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
AS_H5PY = "as h5py"  # instead of a name: h5py sees in the file why it is not read
# What h5py raises where it, or its libhdf5, cannot read something.
NOT_READ = (KeyError, OSError, RuntimeError, TypeError, UnicodeError, ValueError)


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
            except NOT_READ:
                target = None
            yield full, type(link).__name__, target
            if isinstance(target, h5py.Group) and not isinstance(link, h5py.ExternalLink):
                key = identity(target)
                if key not in above and len(above) < DEEPEST:
                    yield from walk(target, full + "/", above | {key})
    yield from walk(file, "", {identity(file)})


def is_plain_scale(dataset):
    try:
        name = dataset.attrs.get("NAME", b"") if "NAME" in dataset.attrs else b""
    except NOT_READ:
        return False
    name = name.encode() if isinstance(name, str) else name
    return isinstance(name, bytes) and name.startswith(PLAIN_SCALE)


class Same:
    """Values of two files, and whether they are alike: text without padding, lists element by
    element, references by the name to which they lead."""

    def __init__(self, old, new):
        self.files = old, new

    def plain(self, value, file):
        """As lists, bytes and numbers."""
        if isinstance(value, (h5py.Reference, h5py.RegionReference)):
            return "to " + str(file[value].name) if value else "to nothing"
        if isinstance(value, h5py.Empty):
            return "nothing"
        if isinstance(value, str):
            return value.encode("utf-8", "surrogateescape")
        if isinstance(value, bytes):
            return bytes(value)
        array = numpy.asarray(value)
        if array.dtype.names:
            return [[self.plain(array[name], file) for name in array.dtype.names],
                    list(array.dtype.names)]
        if array.dtype.kind == "O":
            return [self.plain(one, file) for one in array.ravel()]
        if array.dtype.kind == "U":
            return [str(v).encode("utf-8", "surrogateescape") for v in array.ravel()]
        if array.dtype.kind == "S":
            return [bytes(v) for v in array.ravel()]
        if array.dtype.kind == "V":
            return [array.tobytes()]
        return array

    def alike(self, a, b):
        if isinstance(a, list) and isinstance(b, list):
            return len(a) == len(b) and all(map(self.alike, a, b))
        if not isinstance(a, numpy.ndarray) or not isinstance(b, numpy.ndarray):
            return type(a) is type(b) and a == b
        is_float = a.dtype.kind in "fc" and b.dtype.kind in "fc"
        return a.size == b.size and numpy.array_equal(a.ravel(), b.ravel(), equal_nan=is_float)

    def __call__(self, a, b):
        a, b = self.plain(a, self.files[0]), self.plain(b, self.files[1])
        # One text stands alone, or as a list of one.
        return self.alike(a if not isinstance(a, bytes) else [a],
                          b if not isinstance(b, bytes) else [b])


def same(a, b):
    """Of values without references."""
    return Same(None, None)(a, b)


def attributes(obj):
    """(name, value or None) of those that h5py reads."""
    try:
        names = [name for name in obj.attrs if name not in BOOKKEEPING]
    except NOT_READ:
        return
    for name in names:
        try:
            value = obj.attrs[name]
        except NOT_READ:
            value = None
        yield name, value


def _class_of(thing):
    return thing.get_type().get_class()


def _is_text_of_any_length(thing):
    kind = thing.get_type()
    return kind.get_class() == h5py.h5t.STRING and kind.is_variable_str()


def _is_number(thing):
    return _class_of(thing) in (h5py.h5t.INTEGER, h5py.h5t.FLOAT, h5py.h5t.BITFIELD)


# What Sluice says of a dataset or an attribute that it does not read, and how HDF5 says the same.
REASONS = {
    "arrays as elements": lambda thing: _class_of(thing) == h5py.h5t.ARRAY,
    "complex64": lambda thing: _class_of(thing) == h5py.h5t.COMPOUND,
    "complex128": lambda thing: _class_of(thing) == h5py.h5t.COMPOUND,
    "compound": lambda thing: _class_of(thing) == h5py.h5t.COMPOUND,
    "enumeration": lambda thing: _class_of(thing) == h5py.h5t.ENUM,
    "its dimensions: kept as a list": lambda thing: thing.get_space().get_simple_extent_ndims() > 1,
    "more than 8 dimensions": lambda thing: thing.get_space().get_simple_extent_ndims() > 8,
    "no data (null dataspace)":
        lambda thing: thing.get_space().get_simple_extent_type() == h5py.h5s.NULL,
    "numbers above 2^63 - 1": lambda thing: _class_of(thing) == h5py.h5t.INTEGER,
    "opaque": lambda thing: _class_of(thing) == h5py.h5t.OPAQUE,
    "references": lambda thing: _class_of(thing) == h5py.h5t.REFERENCE,
    "unknown": lambda thing: _class_of(thing) == h5py.h5t.TIME,
    "variable-length lists": lambda thing: _class_of(thing) == h5py.h5t.VLEN,
    "variable-length strings": _is_text_of_any_length,
}


def _same_as(reason):
    """Of a further name of one and the same object."""
    return reason.split(", the same as ")[0]


def is_true(file, name, reason):
    """Does h5py see it too? `name`: as Sluice names what it does not read."""
    reason = _same_as(reason)
    path, is_attribute, attribute = name.partition(": attribute ")
    path = "/" if is_attribute and path == "the file" else path
    if reason.startswith(("soft link to ", "external link to ")):
        link = file.get(path, getlink=True)
        if reason.startswith("external"):
            return reason == f"external link to {link.filename}:{link.path}"
        return reason == f"soft link to {link.path}, which is not in this file"
    check = REASONS.get(reason)
    if reason.startswith("numbers of ") and reason.endswith(", unusual layout"):
        bits = int(reason.split()[2])
        check = lambda thing: _is_number(thing) and 8 * thing.get_type().get_size() == bits
    if check is None:
        return False
    try:
        thing = file[path].id
        return check(h5py.h5a.open(thing, attribute.encode()) if is_attribute else thing)
    except NOT_READ:
        return False


def listing(path):
    """sluice ls of a file, or None with what it says."""
    done = sluice("ls", "--json", path)
    if done.returncode != 0:
        return None, done.stderr.strip().splitlines()[-1:] or ["exit " + str(done.returncode)]
    return json.loads(done.stdout), None


def _attributes_read(ours, owner, obj, unread, counts):
    """Differences from what h5py reads of one object's attributes."""
    differences = []
    seen = ours.attrs_of(owner) if owner else ours.attrs
    what = owner or "the file"
    for name, expected in attributes(obj):
        key = what + ": attribute " + name
        counts["attributes"] += 1
        if key in unread or what + ": attributes" in unread:
            continue
        if name not in seen:
            differences.append((key, "neither read nor named"))
        elif expected is not None and not isinstance(expected, h5py.Empty) and not same(
                seen[name], expected):
            differences.append((key, f"other value: {seen[name]!r}, {expected!r}"))
    return differences


def read_by_sluice(path):
    """Differences from h5py, what Sluice names as not read, and counts."""
    import sluice as package
    found, why = listing(path)
    if found is None:
        return [("", "refused: " + why[0])], [], {"files": 0}
    unread = {d["name"]: d["type"] for d in found["unreadable"]}
    unread_attributes = {d["name"]: d["type"] for d in found["unread_attributes"]}
    differences = []
    counts = {"files": 1, "datasets": 0, "attributes": 0, "links": 0}
    variables = {v["name"] for v in found["variables"]}
    with h5py.File(path, "r") as theirs, package.open(path, checksum=False) as ours:
        named = [(AS_H5PY if is_true(theirs, name, why) else name, why)
                 for name, why in [*unread.items(), *unread_attributes.items()]]
        owners = [("", theirs)]
        for name, kind, target in links(theirs):
            counts["links"] += 1
            if isinstance(target, h5py.Group) and kind != "ExternalLink":
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
            except NOT_READ as error:
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
            differences += _attributes_read(ours, owner, obj, unread_attributes, counts)
    return differences, named, counts


def same_trees(old_path, new_path, left_out):
    """Differences of a conversion from HDF5 to HDF5; `left_out`: the words of sluice convert."""
    differences = []

    def is_named(name):
        return any(one.startswith(name + " (") for one in left_out)

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
            if isinstance(target, h5py.Dataset) and not is_plain_scale(target):
                try:
                    expected = target[()]
                except NOT_READ:
                    continue
                if not Same(old, new)(expected, other[()]):
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
            if numpy.shape(expected) != numpy.shape(value) or not Same(old, new)(expected, value):
                found.append((key, "other value after convert"))
    return found
