"""What a file holds, by plain h5py: one digest for equal values, names and attributes."""

import hashlib

import h5py
import numpy


class Refused(Exception):
    """HDF5 does not open the file."""


def _is_reference(dtype):
    if dtype.fields:
        return any(_is_reference(field[0]) for field in dtype.fields.values())
    return h5py.check_dtype(ref=dtype) is not None or (
        h5py.check_vlen_dtype(dtype) not in (None, str, bytes)
        and _is_reference(numpy.dtype(h5py.check_vlen_dtype(dtype))))


def _add(digest, name, item):
    digest.update(f"{name} {item.dtype} {item.shape}".encode())
    if item.dtype is None or item.shape is None or _is_reference(item.dtype):
        return  # where objects lie is no value
    value = item[()] if isinstance(item, h5py.Dataset) else item
    digest.update(value.tobytes() if item.dtype != object else repr(value.tolist()).encode())


def _add_attributes(digest, name, item):
    for key in sorted(item.attrs):
        attribute = h5py.h5a.open(item.id, key.encode())
        if _is_reference(attribute.dtype):
            digest.update(f"{name}@{key}".encode())
        else:
            digest.update(f"{name}@{key} {numpy.asarray(item.attrs[key]).tolist()!r}".encode())


def digest_of(path):
    """Refused where HDF5 does not open it, any other exception where it cannot be read."""
    try:
        file = h5py.File(path, "r", locking=False)
    except OSError as problem:
        raise Refused(str(problem)) from problem
    digest = hashlib.sha256()
    with file:
        _add_attributes(digest, "/", file)

        def visit(name, item):
            digest.update(name.encode())
            if isinstance(item, h5py.Dataset):
                _add(digest, name, item)
            _add_attributes(digest, name, item)

        file.visititems(visit)
    return digest.hexdigest()
