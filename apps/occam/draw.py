#!/usr/bin/env python3
"""Draws surfactants and polymers in water: at the start, at the end, and how the oily parts of them
get rid of the water.

    draw.py traj.h5 PICTURE.png

Reads the H5MD file of a run of iopc's surfactant, with h5py alone: nothing of Sluice is needed."""

import sys

import h5py
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial import cKDTree

OILY = (1, 2, 3, 9, 10)  # generator.f90
WATER = 12
NEAR_NM = 0.6


def water_around(positions, species, edges):
    """How many particles of water an oily one has around it."""
    inside = positions % edges
    inside[inside == edges] = 0
    oily, water = (cKDTree(inside[keep], boxsize=edges)
                   for keep in (np.isin(species, OILY), species == WATER))
    return oily.count_neighbors(water, NEAR_NM) / oily.n


def slab(axes, positions, species, edges, title):
    """The chains of the front quarter; water is left out."""
    inside = positions % edges
    front = (inside[:, 2] < edges[2] / 4) & (species != WATER)
    for keep, colour, name in ((np.isin(species, OILY), "#d08a1e", "oily"),
                               (~np.isin(species, OILY), "#2f6f8f", "others of the chains")):
        at = inside[front & keep]
        axes.scatter(at[:, 0], at[:, 1], s=14, color=colour, edgecolors="white", linewidths=0.4,
                     label=name)
    axes.set_xlim(0, edges[0])
    axes.set_ylim(0, edges[1])
    axes.set_aspect("equal")
    axes.set_title(title, loc="left")
    axes.set_xlabel("x (nm)")
    axes.set_ylabel("y (nm)")


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: draw.py traj.h5 PICTURE.png")
    try:
        with h5py.File(sys.argv[1]) as file:
            everything = file["particles/all"]
            positions = everything["position/value"][:].astype(float)
            time_ps = everything["position/time"][:]
            species = everything["species"][:] + 1  # counted from 0 in H5MD
            edges = everything["box/edges/value"][0]
    except (OSError, KeyError) as error:
        sys.exit(f"draw.py: {sys.argv[1]}: {error}")
    figure, axes = plt.subplots(1, 3, figsize=(15.5, 5.2), constrained_layout=True)
    slab(axes[0], positions[0], species, edges, f"{time_ps[0]:.1f} ps")
    slab(axes[1], positions[-1], species, edges, f"{time_ps[-1]:.1f} ps")
    axes[1].legend(loc="upper right", fontsize=9)
    axes[2].plot(time_ps, [water_around(frame, species, edges) for frame in positions], "o-",
                 color="#2f6f8f")
    axes[2].set_title(f"water within {NEAR_NM} nm of an oily particle", loc="left")
    axes[2].set_xlabel("time (ps)")
    for name in ("right", "top"):
        axes[2].spines[name].set_visible(False)
    figure.suptitle(f"Surfactants and polymers in water: {len(species):,} particles")
    figure.savefig(sys.argv[2], dpi=100)


if __name__ == "__main__":
    main()
