"""Makes h5py, netCDF4, PyTables and whatever else uses HDF5 in this process crash-safe.

Example::

    import sluice.hdf5   # before the first of them
    import h5py

Each flush (and close) of a file becomes a durable, atomic commit: after a kill, a power cut or a
full disk the file is that of the last commit. Settings: the environment variable
HDF5_DRIVER_CONFIG. See docs/hdf5-driver.md.

Importing it sets HDF5_DRIVER and HDF5_PLUGIN_PATH for this process and those that it starts. HDF5
reads them once, when it is loaded, so a later import raises ImportError.
"""

from __future__ import annotations

import importlib.util
import os
import re
from pathlib import Path
from typing import List

__all__ = ["driver_folder"]

_NAME = "libsluice_hdf5_driver.so"
_DEFAULT_PLUGINS = "/usr/local/hdf5/lib/plugin"


def driver_folder() -> str:
    """The folder of the driver: SLUICE_HDF5_DRIVER_PATH, else inside the package, else beside the
    library that this process has loaded, else in a system folder. ImportError where it is
    nowhere."""
    told = os.environ.get("SLUICE_HDF5_DRIVER_PATH")
    libraries = [
        Path(__file__).resolve().parent / "lib",
        *(Path(path).parent for path in _loaded(r"libsluice\.so\b")),
        *map(Path, ("/usr/local/lib", "/usr/local/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib",
                    "/usr/lib64")),
    ]
    candidates: List[Path] = [Path(told)] if told else [
        folder / "sluice" / "hdf5_driver" for folder in libraries]
    for folder in candidates:
        if (folder / _NAME).exists():
            return str(folder)
    raise ImportError(f"{_NAME} was not found: set SLUICE_HDF5_DRIVER_PATH to its folder")


def _loaded(name: str) -> List[str]:
    """The libraries that this process has loaded already and whose names begin so."""
    try:
        maps = Path("/proc/self/maps").read_text(errors="replace")
    except OSError:
        return []
    paths = {line[line.index("/"):] for line in maps.splitlines() if "/" in line}
    return sorted(path for path in paths if re.match(name, path.rsplit("/", 1)[-1]))


def _plugins() -> str:
    """Where HDF5 finds other plugins: filters above all. netCDF4 names the folder of its own only
    where HDF5_PLUGIN_PATH is not set, as it is from here on."""
    told = os.environ.get("HDF5_PLUGIN_PATH")
    if told:
        return told
    netcdf4 = importlib.util.find_spec("netCDF4")
    places = netcdf4.submodule_search_locations if netcdf4 else None
    found = [str(Path(place) / "plugins") for place in places or ()
             if (Path(place) / "plugins").is_dir()]
    return ":".join([_DEFAULT_PLUGINS, *found])


def _switch_on() -> None:
    folder = driver_folder()
    if os.environ.get("HDF5_DRIVER") == "sluice":
        return  # by `sluice run` or `sluice env`
    loaded = _loaded(r"libhdf5(-|\.|_serial)")
    if loaded:
        raise ImportError(
            f"import sluice.hdf5 comes too late: {loaded[0]} is loaded already. Import it before "
            "h5py, netCDF4, tables and the like, or start Python by `sluice run -- python ...`")
    plugins = _plugins()
    os.environ["HDF5_DRIVER"] = "sluice"
    os.environ["HDF5_PLUGIN_PATH"] = f"{folder}:{plugins}"


_switch_on()
