"""HDF5 and netCDF-4 files that other programs wrote: where they are."""

import importlib.util
import os
import subprocess
import sys

ENDINGS = (".h5", ".hdf5", ".hdf", ".nc", ".nc4", ".h5md", ".ncdf", ".mat", ".he5", ".cool",
           ".mcool", ".nwb", ".hkl", ".netcdf")
PACKAGES = ("h5py", "MDAnalysisTests", "scipy", "tables", "xarray")
SOURCES = ("hdf5", "netcdf", "pyfive", "cooler", "hickle", "pynwb",
           "compliance-checker")
SIGNATURE = b"\x89HDF\r\n\x1a\n"


def is_hdf5(path):
    """The signature is at 0, 512, 1024, ... The biggest user block of the corpus is 16 KiB."""
    with open(path, "rb") as file:
        head = file.read(20000)
    return any(head[at:at + 8] == SIGNATURE for at in (0, 512, 1024, 2048, 4096, 8192, 16384))


def below(label, top):
    """(name, path) of the files below a folder, in the order of their names."""
    for folder, folders, names in sorted(os.walk(top)):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(folder, name)
            if name.endswith(ENDINGS) and os.path.isfile(path) and is_hdf5(path):
                yield label + "/" + os.path.relpath(path, top), path


def of_packages():
    """Those that installed Python packages bring along."""
    for package in PACKAGES:
        found = importlib.util.find_spec(package)
        if found is not None and found.origin is not None:
            yield from below(package, os.path.dirname(found.origin))


def of_sources(place):
    """Those of HDF5's, netCDF's and others' own tests, downloaded where they are not there."""
    fetch = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fetch.sh")
    subprocess.run([fetch, place], check=True, timeout=1800,
                   env={**os.environ, "PIP": sys.executable + " -m pip"})
    for package in SOURCES:
        yield from below(package, os.path.join(place, package))
