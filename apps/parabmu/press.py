#!/usr/bin/env python3
"""Makes what parabmu needs to press a bone together: the bone's model, and beside it the materials,
the constraints and the script.

    press.py FOLDER [--planes 115] [--scale 0.13]

The lowest nodes are held; the uppermost come down by half a percent of the length and may go
sideways."""

import argparse
import os
import sys

import bone

EDGE_MM = 0.5
SCRIPT = """LOAD_MATERIALS_FILE materials.txt
VOXEL_SIZE {edge} {edge} {edge} 1
ALGORITHM_FEA JAPCG
MAX_ITER 4000
TOLERANCE 1e-6
LOAD_MCTSCANPAR {x} {y} {z} bone.nc
SELECTION_OF_NODES
  SELECT_NODE_FILE constraints.txt
COMPUTE_SED
PARPRINT_X displacement.nc
"""


def nodes_of(cells):
    """The nodes (x, y), counted from 1, of the voxels of a plane."""
    height, width = cells.shape
    return sorted({(x + a + 1, y + b + 1) for y in range(height) for x in range(width)
                   if cells[y, x] for a in (0, 1) for b in (0, 1)})


def size_of(planes, scale):
    """The grid as far as there are voxels: what `sluice convert` makes of the model."""
    cells = [bone.plane(z, planes, scale).nonzero() for z in range(planes)]
    return tuple(1 + max(int(found[axis].max()) for found in cells) for axis in (1, 0)) + (planes,)


def write(folder, name, text):
    with open(os.path.join(folder, name), "w", encoding="ascii") as file:
        file.write(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("folder")
    parser.add_argument("--planes", type=int, default=115)
    parser.add_argument("--scale", type=float, default=0.13)
    options = parser.parse_args()
    model = os.path.join(options.folder, "bone.model")
    _, voxels = bone.write(model, options.planes, options.scale)
    grid = size_of(options.planes, options.scale)
    down = 0.005 * options.planes * EDGE_MM
    lines = [f"SELECT_NODE_3D {x} {y} 1  0 0 0  1 1 1\n"
             for x, y in nodes_of(bone.plane(0, options.planes, options.scale))]
    lines += [f"SELECT_NODE_3D {x} {y} {options.planes + 1}  0 0 {-down}  0 0 1\n"
              for x, y in nodes_of(bone.plane(options.planes - 1, options.planes, options.scale))]
    write(options.folder, "constraints.txt", "".join(lines))
    write(options.folder, "materials.txt", "1 17000 0.3 0\n2 1000 0.3 0\n")
    write(options.folder, "bone.script", SCRIPT.format(edge=EDGE_MM, x=grid[0], y=grid[1],
                                                       z=grid[2]))
    print(f"{voxels} voxels in a grid of {grid[0]} x {grid[1]} x {grid[2]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
