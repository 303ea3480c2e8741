#!/usr/bin/env python3
"""Draws a salt that melts: its ions at the end, how they stand around each other, and its energy.

    draw.py RUN PICTURE.png         RUN.dcd and RUN.json, as namd.py writes them

The trajectory is read by MDAnalysis: nothing of Sluice is needed."""

import json
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import MDAnalysis
import numpy as np

import forces

COLOURS = {1: "#c8552b", -1: "#3b6ea8"}


def read(run):
    """The frames, each an array (atom, 3) in the box, and what namd.py says of the run."""
    with open(run + ".json", encoding="utf-8") as file:
        said = json.load(file)
    atoms, edge = said["run"]["atoms"], said["run"]["edge"]
    universe = MDAnalysis.Universe.empty(atoms, trajectory=True)
    universe.load_new(run + ".dcd", format="DCD")
    frames = [step.positions.copy() % edge for step in universe.trajectory]
    sign = np.sign(forces.crystal(round(atoms ** (1 / 3)), 1, 1, 1, seed=1)[3])
    return frames, sign, said


def distances(positions, others, edge):
    """Between all atoms of both, by the nearest images."""
    apart = positions[:, None] - others[None]
    apart -= edge * np.round(apart / edge)
    return np.sqrt((apart**2).sum(axis=2)).ravel()


def shells(axes, frames, sign, edge):
    """How much denser than on average ions are at a distance from another."""
    bins = np.linspace(0.5, edge / 2, 90)
    volume = 4 / 3 * np.pi * np.diff(bins**3)
    for name, first, second, colour in (("unlike charges", 1, -1, "#6a4c93"),
                                        ("like charges", 1, 1, "#c8552b")):
        count = sum(np.histogram(distances(frame[sign == first], frame[sign == second], edge),
                                 bins)[0] for frame in frames)
        pairs = len(frames) * (sign == first).sum() * (sign == second).sum()
        axes.plot((bins[1:] + bins[:-1]) / 2, count / volume * edge**3 / pairs, label=name,
                  color=colour)
    axes.axhline(1, color="#b0b0b0", lw=0.8, zorder=0)
    axes.set_title("around an ion", loc="left")
    axes.set_xlabel("distance (σ)")
    axes.set_ylabel("density, of the mean")
    axes.legend(frameon=False)


def slab(axes, frame, sign, edge):
    front = np.flatnonzero(frame[:, 2] < 0.25 * edge)
    front = front[np.argsort(frame[front, 2])]
    for atom in front:
        axes.add_patch(plt.Circle(frame[atom, :2], 0.5, facecolor=COLOURS[int(sign[atom])],
                                  edgecolor="white", lw=0.6))
    axes.set_xlim(0, edge)
    axes.set_ylim(0, edge)
    axes.set_aspect("equal")
    axes.set_title("a quarter of the box at the end", loc="left")
    axes.set_xlabel("x (σ)")
    axes.set_ylabel("y (σ)")


def energies(axes, table, atoms):
    step, kinetic, potential = (np.array(table[n]) for n in ("step", "kinetic", "potential"))
    for values, name, colour in ((kinetic, "kinetic", "#c8552b"),
                                 (potential, "potential", "#3b6ea8"),
                                 (kinetic + potential, "total", "#303030")):
        axes.plot(step, values / atoms, label=name, color=colour)
    axes.set_title("energy an ion", loc="left")
    axes.set_xlabel("step")
    axes.set_ylabel("ε")
    axes.legend(frameon=False)


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: draw.py RUN PICTURE.png")
    try:
        frames, sign, said = read(sys.argv[1])
    except OSError as error:
        sys.exit(f"draw.py: {error}")
    edge, atoms = said["run"]["edge"], said["run"]["atoms"]
    figure, axes = plt.subplots(1, 3, figsize=(15.5, 5), constrained_layout=True)
    slab(axes[0], frames[-1], sign, edge)
    shells(axes[1], frames[len(frames) // 2:], sign, edge)
    energies(axes[2], said["energies"], atoms)
    for one in axes[1:]:
        for name in ("right", "top"):
            one.spines[name].set_visible(False)
    figure.suptitle(f"A salt that melts: {atoms:,} ions in {said['run']['patches'] ** 3} patches, "
                    f"{len(frames)} frames")
    figure.savefig(sys.argv[2], dpi=100)


if __name__ == "__main__":
    main()
