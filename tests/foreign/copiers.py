"""Programs that copy HDF5 and netCDF files, and a copy by netCDF4 as ncks makes it."""

import subprocess

import h5py
import netCDF4

# Arguments before the source and the target.
REPACK = {
    "h5repack": [],
    "contiguous": ["-l", "CONTI"],
    "compact": ["-l", "COMPA"],
    "no-filter": ["-f", "NONE"],
    "latest": ["-L"],
}
# Filters, given for each dataset with elements: h5repack refuses the others.
FILTERS = {
    "gzip": ["GZIP=9"],
    "shuffled": ["SHUF", "GZIP=3"],
    "fletcher": ["FLET"],
}
NCCOPY = {
    "nccopy": [],
    "nccopy-d": ["-d9", "-s"],
    "nccopy-u": ["-u"],
    "nccopy-c": ["-c", "row/5,axis/2"],
}
COPIERS = [*REPACK, "chunks", *FILTERS, *NCCOPY, "h5copy", "h5copy-each", "ncks"]


def datasets(file):
    """Name to dataset, of all."""
    found = {}
    file.visititems(lambda name, what: found.update({name: what})
                    if isinstance(what, h5py.Dataset) else None)
    return found


def _run(*arguments):
    done = subprocess.run(list(map(str, arguments)), capture_output=True, text=True, timeout=120,
                          check=False)
    return done.stderr.strip() or "exit " + str(done.returncode) if done.returncode else None


def _each(source, options_of):
    """Arguments for each dataset with elements and dimensions."""
    with h5py.File(source) as file:
        return [option for name, dataset in datasets(file).items() if dataset.ndim and dataset.size
                for option in options_of(name, dataset)]


def _chunk(name, dataset):
    return "-l", name + ":CHUNK=" + "x".join(str(max(1, n // 2)) for n in dataset.shape)


def _filters(copier):
    return lambda name, dataset: [word for filter_ in FILTERS[copier]
                                  for word in ("-f", name + ":" + filter_)]


def _h5copy(source, target, names):
    for name in names:
        failure = _run("h5copy", "-i", source, "-o", target, "-p", "-s", "/" + name, "-d",
                       "/" + name)
        if failure:
            return failure
    return None


def _ncks(source, target):
    """Dimensions, attributes, variables and groups, as ncks copies them."""
    def copy_group(old, new):
        for name, dimension in old.dimensions.items():
            new.createDimension(name, None if dimension.isunlimited() else len(dimension))
        new.setncatts({name: old.getncattr(name) for name in old.ncattrs()})
        types = {name: new.createVLType(kind.dtype, name) for name, kind in old.vltypes.items()}
        for name, variable in old.variables.items():
            kind = types.get(getattr(variable.datatype, "name", ""), variable.datatype)
            attributes = {a: variable.getncattr(a) for a in variable.ncattrs()}
            fill = attributes.pop("_FillValue", None)
            made = new.createVariable(name, kind, variable.dimensions, fill_value=fill)
            made.setncatts(attributes)
            variable.set_auto_maskandscale(False)
            made.set_auto_maskandscale(False)
            made[...] = variable[...]
        for name, group in old.groups.items():
            copy_group(group, new.createGroup(name))

    try:
        with netCDF4.Dataset(source) as old, netCDF4.Dataset(target, "w") as new:
            copy_group(old, new)
    except (RuntimeError, ValueError, TypeError, AttributeError) as error:
        return repr(error)
    return None


def copy(copier, source, target):
    """Makes a copy; None, or why the other program did not."""
    if copier == "chunks":
        return _run("h5repack", *_each(source, _chunk), source, target)
    if copier in FILTERS:
        return _run("h5repack", *_each(source, _filters(copier)), source, target)
    if copier in REPACK:
        return _run("h5repack", *REPACK[copier], source, target)
    if copier in NCCOPY:
        return _run("nccopy", *NCCOPY[copier], source, target)
    if copier == "ncks":
        return _ncks(source, target)
    with h5py.File(source) as file:
        names = list(file) if copier == "h5copy" else list(datasets(file))
    return _h5copy(source, target, names)
