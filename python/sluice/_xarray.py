"""A file as an xarray.Dataset that reads when it is asked."""

from __future__ import annotations

from typing import Any, Dict, List, Set

import numpy as np
import xarray
from xarray.backends.common import BackendArray
from xarray.core import indexing


class _Lazy(BackendArray):
    """A variable as xarray wants it: shape, dtype and basic indexing."""

    def __init__(self, variable: Any):
        self.variable = variable
        self.shape = variable.shape  # as it was when the dataset was made
        self.dtype = variable.dtype

    def __getitem__(self, key: Any) -> np.ndarray:
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.BASIC,
                                                  self._read)

    def __deepcopy__(self, memo: Any) -> "_Lazy":
        return self  # it does not change

    def _read(self, key: Any) -> np.ndarray:
        return np.asarray(self.variable[self._fixed(key)])

    def _fixed(self, key: Any) -> Any:
        """Slices that end where the dataset ended, though more steps have come since."""
        parts = key if isinstance(key, tuple) else (key,)
        fixed = []
        for part, extent in zip(parts, self.shape):
            if isinstance(part, slice):
                wanted = range(*part.indices(extent))
                stop = wanted.stop if wanted.stop >= 0 else None
                part = slice(wanted.start, stop, wanted.step)
            elif part < 0:
                part += extent
            fixed.append(part)
        return tuple(fixed)


def _usable_names(file: Any, taken: Set[str]) -> Set[str]:
    """The names of dimensions that xarray can have: of one size throughout the file, and of no
    variable but the dimension's own coordinates."""
    sizes: Dict[str, Set[int]] = {}
    for name in file:
        variable = file[name]
        for dimension, size in zip(variable.dimensions, variable.step_shape):
            sizes.setdefault(dimension, set()).add(size)
        if variable.has_steps or variable.dimensions != (name,):
            taken = taken | {name}
    return {dimension for dimension, found in sizes.items() if len(found) == 1} - taken


def _dimensions(variable: Any, usable: Set[str]) -> List[str]:
    """Names of the dimensions without the step; those that xarray cannot have are invented."""
    names = variable.dimensions
    if names and len(set(names)) == len(names) and usable.issuperset(names):
        return list(names)
    base = variable.name.replace("/", "_")
    return [f"{base}_{d}" for d in range(len(variable.step_shape))]


def _without_list(value: Any) -> Any:
    """One number, where a list has one: netCDF does not tell them apart, and xarray takes no list
    for the missing value, which HDF5's files of netCDF store as one."""
    return value[0] if isinstance(value, np.ndarray) and value.shape == (1,) else value


def _stored(attributes: Any) -> Dict[str, Any]:
    """netCDF has no bool, and xarray does not store one."""
    return {name: np.uint8(value) if isinstance(value, (bool, np.bool_)) else value
            for name, value in attributes.items()}


def _of_type(value: Any, dtype: np.dtype) -> Any:
    """A missing value in the type of the values, which xarray compares with it, where it has a
    place there: Zarr and other programs store it in another one."""
    if dtype.kind not in "iuf" or not isinstance(value, (int, float, np.number)):
        return value
    with np.errstate(all="ignore"):
        one = np.asarray(value).astype(dtype)[()]
    is_kept = np.isfinite(one) == np.isfinite(value) if dtype.kind == "f" else one == value
    return one if is_kept else value


def _attributes(variable: Any) -> Dict[str, Any]:
    """As xarray's decoders expect them."""
    attributes = {name: _without_list(value) for name, value in _stored(variable.attrs).items()}
    if variable.dtype.kind == "U":
        attributes.pop("_Encoding", None)  # the values are str already
    if variable.partial and variable.dtype == np.uint64:
        # An attribute of the file is int64, which has no room for the upper half.
        attributes.setdefault("_FillValue", np.uint64(variable.fill))
    if "_FillValue" in attributes:
        attributes["_FillValue"] = _of_type(attributes["_FillValue"], variable.dtype)
    return attributes


def _is_record_of_times(variable: Any, steps: int) -> bool:
    """Does it hold the times that begin_step() was given? A variable of the caller's has values and
    units of its own."""
    return (not variable.has_steps and variable.dtype == np.float64 and
            variable.step_shape == (steps,))


def dataset(file: Any) -> xarray.Dataset:
    """See File.to_xarray()."""
    variables = {}
    coordinates = {}
    times = file.times
    own = "time" in file and not _is_record_of_times(file["time"], times.size)
    if times.size and not np.isnan(times).all() and not own:
        coordinates["time"] = ("step", times, _stored(file.attrs_of("time")))
    usable = _usable_names(file, {"step", *coordinates})
    for name in file:
        if name in coordinates:
            continue  # the file's own record of the times
        variable = file[name]
        dimensions = _dimensions(variable, usable)
        if variable.has_steps:
            dimensions.insert(0, "step")
        data = indexing.LazilyIndexedArray(_Lazy(variable))
        is_coordinate = name == "time" and dimensions == ["step"]
        into = coordinates if is_coordinate else variables
        into[name] = xarray.Variable(dimensions, data, _attributes(variable))
    return xarray.Dataset(variables, coordinates, _stored(file.attrs))
