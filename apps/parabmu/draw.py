#!/usr/bin/env python3
"""Draws a bone that is pressed together: how far its nodes go down, and how much it is compressed.

    draw.py displacement.nc displacement.png

Reads what parabmu's PARPRINT_X writes, with netCDF4 alone: nothing of Sluice is needed."""

import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import netCDF4
import numpy as np

MAGNIFIED = 15


def read(path):
    with netCDF4.Dataset(path) as file:
        places = np.stack([file[axis][:].filled() for axis in "xyz"], axis=1).astype(float)
        return places, file["displacement"][:].filled()


def cut(places, values, axis):
    """The nodes of the plane through the middle, across `axis`."""
    levels = np.unique(places[:, axis])
    keep = places[:, axis] == levels[len(levels) // 2]
    return places[keep], values[keep]


def side(axes, places, moved, values, title, label, colours):
    points = places + MAGNIFIED * moved
    marks = axes.scatter(points[:, 0], points[:, 2], c=values, s=5, marker="s", linewidths=0,
                         cmap=colours)
    axes.scatter(places[:, 0], places[:, 2], s=0.15, color="#b0b0b0", linewidths=0, zorder=0)
    axes.set_aspect("equal")
    axes.set_title(title, loc="left")
    axes.set_xlabel("x (mm)")
    axes.set_ylabel("z (mm)")
    plt.colorbar(marks, ax=axes, label=label, shrink=0.8)


def profile(axes, places, moved):
    """How much the edges along z are shortened on average, plane by plane, in percent."""
    order = np.lexsort((places[:, 2], places[:, 1], places[:, 0]))
    step = np.diff(places[order], axis=0)
    edge = step[:, 2][step[:, 2] > 0].min()
    above = np.flatnonzero(np.abs(step - (0, 0, edge)).max(axis=1) < edge / 2)
    shorter = moved[order][above, 2] - moved[order][above + 1, 2]
    z, plane = np.unique(places[order][above, 2], return_inverse=True)
    axes.plot(100 * np.bincount(plane, shorter) / np.bincount(plane) / edge, z, color="#b3442f")
    axes.set_xlim(left=0)
    axes.set_title("where it gives", loc="left")
    axes.set_xlabel("mean compression (%)")
    axes.set_ylabel("z (mm)")
    for name in ("right", "top"):
        axes.spines[name].set_visible(False)


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: draw.py displacement.nc PICTURE.png")
    try:
        places, moved = read(sys.argv[1])
    except (OSError, IndexError) as error:
        sys.exit(f"draw.py: {sys.argv[1]}: {error}")
    figure, axes = plt.subplots(1, 3, figsize=(13, 7.4), constrained_layout=True,
                                width_ratios=[1.25, 1.25, 1])
    where, by = cut(places, moved, 1)
    side(axes[0], where, by, by[:, 2], "moved down", "mm", "viridis")
    side(axes[1], where, by, by[:, 0], "moved sideways", "mm", "RdBu")
    profile(axes[2], places, moved)
    figure.suptitle(f"A bone pressed together: {len(places):,} nodes; a cut through the middle, "
                    f"displacements {MAGNIFIED} times as large, in grey at rest")
    figure.savefig(sys.argv[2], dpi=100)


if __name__ == "__main__":
    main()
