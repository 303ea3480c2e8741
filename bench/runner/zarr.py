"""Case zarr: one array into a new Zarr store by all ranks, beside zarr-python and tensorstore."""

import os

from .cases import Contestant, Metric, at_least
from .script import REPOSITORY, RankScript, environment_of_build

NAME = "zarr"
HELP = "Zarr and Icechunk stores, with equal and unequal blocks: zarr-python, tensorstore, Sluice"
ROUNDS = 7
METRICS = {"cached": Metric("MB/s", 0, True), "durable": Metric("MB/s", 0, True)}
SCRIPT = "zarr_programs.py"
FOLDERS = {SCRIPT: os.path.join(REPOSITORY, "bench")}
OURS = ("sluice", "sluice-rectilinear", "sluice-icechunk")
PEERS = ("zarr-python", "tensorstore")
GOAL = 0.9
Program = RankScript


def add_arguments(parser):
    parser.add_argument("--mib", type=at_least(1), default=64, help="doubles a rank (%(default)s)")


def contestants(options):
    found = []
    for blocks in ("equal", "unequal"):
        for name in OURS + PEERS:
            if name == "sluice-rectilinear" and blocks == "equal":
                continue  # a regular grid, too
            for metric in METRICS:
                found.append(Contestant(
                    f"{name} {metric}", SCRIPT, f"{name}/{blocks}/{metric}", {"mib": options.mib},
                    f"{blocks} blocks, {metric}", name in OURS, (metric,),
                    environment_of_build(options.build)))
    return found


def file_bytes(options):
    return 2 * options.ranks * options.mib << 20  # a store, and the one that it replaces


def caption(options):
    return (
        f"{options.ranks} ranks x {options.mib} MiB of doubles, uncompressed, into one array of a "
        "new store, in equal blocks of rows or in the ratio 9 : 11. Time: from a barrier to the "
        "last rank, opening and closing included. Cached: nothing is synced. Durable: Sluice's "
        "durability step; tensorstore syncs each file as it writes it; zarr-python's files are "
        "synced afterwards by all ranks. Peers have the largest chunks of which every rank has "
        "whole ones; sluice has a shard for each writing rank, rectilinear a chunk for each rank. "
        "The values of the last round were read back and compared. 1 MB is 10^6 bytes."
    )


def value(metric, contestant, values, options):
    del options
    return values["bytes"] / values["seconds"] / 1e6 if metric in contestant.only else None


def remarks(result, options):
    del options
    for row in result["ratios"]:
        met = "met" if row["pairwise_median"] >= GOAL else "not met"
        yield (f"goal: {row['of']}, {row['group']}: at least {GOAL:g} of {row['to']}: "
               f"{row['pairwise_median']:.2f}, {met}")
