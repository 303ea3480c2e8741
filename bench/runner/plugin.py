"""Case plugin: what the HDF5 driver costs unchanged programs of h5py and netCDF4."""

import os

from .cases import Contestant, Metric, at_least
from .program import ProgramError
from .script import REPOSITORY
from .script import Script as Program  # noqa: F401: a member of the case

NAME = "plugin"
HELP = "unchanged h5py and netCDF4 programs with the HDF5 driver, and without it"
ROUNDS = 7
RANKS = 1
METRICS = {"flush": Metric("ms", 2, False), "rate": Metric("MB/s", 1, True)}
SCRIPT = "hdf5_programs.py"
FOLDERS = {SCRIPT: os.path.join(REPOSITORY, "bench")}
# Group: job, KiB a flush, the least share of the rate of flush + fsync.
GROUPS = {
    "rows appended": ("append", 8 << 10, 0.9),
    "small datasets": ("small", 40, 1.0),
    "in place": ("in-place", 8 << 10, 0.45),
    "netCDF4 records": ("records", 8 << 10, 0.9),
}
OURS = "sluice"
LATER = "sluice apply=later"
BESIDE = "flush+fsync"


def add_arguments(parser):
    parser.add_argument("--flushes", type=at_least(1), default=12, help="of a round (%(default)s)")


def contestants(options):
    driver = os.path.join(os.path.abspath(options.build), "hdf5_driver")
    if not os.path.exists(os.path.join(driver, "libsluice_hdf5_driver.so")):
        raise ProgramError(f"{driver}: no driver there: build it with ./dev build bench")
    with_driver = (("HDF5_DRIVER", "sluice"), ("HDF5_PLUGIN_PATH", driver))
    later = (*with_driver, ("HDF5_DRIVER_CONFIG", "apply=later"))
    without = (("HDF5_DRIVER", ""),)
    found = []
    for group, (job, kib, _) in GROUPS.items():
        parameters = {"bytes": kib << 10, "flushes": options.flushes}
        for name, way, environment in (
            (OURS, "flush", with_driver), (BESIDE, "fsync", without),
            (LATER, "flush", later), ("copy+rename", "copy", without),
        ):
            found.append(Contestant(name, SCRIPT, f"{job}/{way}", parameters, group,
                                    name in (OURS, LATER), environment=environment))
    return found


def file_bytes(options):
    # Beside the file its copy, and the copy that is being made; or its journal.
    return max(3 * (kib << 10) * (options.flushes)
               for _, kib, _ in GROUPS.values())


def caption(options):
    del options
    sizes = ", ".join(f"{group} {kib} KiB" for group, (_, kib, _) in GROUPS.items())
    return (
        f"One process, pip's h5py and netCDF4; bytes of a flush: {sizes}. Time: from the first "
        "write after the file was made until it is closed, by the number of checkpoints. sluice: "
        "the program flushes under the driver, every flush synced; apply=later: and brought in "
        "place by later ones, the last by the close. flush+fsync: HDF5's own driver, flush, fsync "
        "of the file: a crash in the middle may leave a file that nobody can open. copy+rename: "
        "flush, copy the file, fsync, rename over the copy before. "
        "The values of the last round were read back by HDF5's own driver and compared. "
        "1 MB is 10^6 bytes."
    )


def value(metric, contestant, values, options):
    del options
    if bool(values["driver"]) != contestant.ours:
        raise ProgramError(f"{contestant.name}: the driver is "
                           f"{'there' if values['driver'] else 'not there'}")
    if metric == "flush":
        return values["seconds"] / values["flushes"] * 1e3
    return values["bytes"] / values["seconds"] / 1e6


def remarks(result, options):
    del options
    for row in result["ratios"]:
        if row["to"] == BESIDE and row["metric"] == "rate":
            least = GROUPS[row["group"]][2]
            met = "met" if row["pairwise_median"] >= least else "not met"
            yield (f"goal: {row['of']}, {row['group']}: at least {least:g} of the rate of "
                   f"{BESIDE}: {row['pairwise_median']:.2f}, {met}")
