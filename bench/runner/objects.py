"""Case object: an array into an object store on the loopback by all ranks, beside rclone."""

import os
import shutil

from .cases import Contestant, Metric, at_least
from .script import REPOSITORY, RankScript, environment_of_build

NAME = "object"
HELP = "Zarr and Icechunk into an S3 store on the loopback, beside multipart uploads by rclone"
ROUNDS = 7
METRICS = {"durable": Metric("MB/s", 0, True)}
SCRIPT = "object_programs.py"
FOLDERS = {SCRIPT: os.path.join(REPOSITORY, "bench")}
OURS = ("sluice-zarr", "sluice-icechunk")
GOAL = 0.9
Program = RankScript


def add_arguments(parser):
    parser.add_argument("--mib", type=at_least(1), default=128, help="doubles a rank (%(default)s)")
    parser.add_argument("--object-mib", type=at_least(1), default=16,
                        help="doubles in an object (%(default)s; icechunk: up to 16)")


def contestants(options):
    names = [*OURS, *(["rclone"] if shutil.which("rclone") else [])]
    return [Contestant(name, SCRIPT, name, {"mib": options.mib, "object_mib": options.object_mib},
                       "objects", name in OURS, ("durable",), environment_of_build(options.build))
            for name in names]


def file_bytes(options):
    return 3 * options.ranks * options.mib << 20  # the store, and what rclone copies


def caption(options):
    return (
        f"{options.ranks} ranks x {options.mib} MiB of doubles, in objects of "
        f"{options.object_mib} MiB, into a bucket of versitygw on the loopback. Time: from a "
        "barrier to the last rank. Sluice: opening, one step of one array and closing. rclone "
        "(Debian's package; without it there is no peer): every rank starts one, which copies "
        "files of the same bytes, eight at a time, each in parts of 8 MiB, four at a time, with "
        "its checksums and looks switched off; over http it signs the bytes of every part all the "
        "same, which Sluice does not. The server is the same program for all, on the same "
        "processors. The values of the last round were read back and compared. 1 MB is 10^6 bytes."
    )


def value(metric, contestant, values, options):
    del options
    return values["bytes"] / values["seconds"] / 1e6 if metric in contestant.only else None


def remarks(result, options):
    del options
    for row in result["ratios"]:
        met = "met" if row["pairwise_median"] >= GOAL else "not met"
        yield (f"goal: {row['of']}: at least {GOAL:g} of {row['to']}: "
               f"{row['pairwise_median']:.2f}, {met}")
