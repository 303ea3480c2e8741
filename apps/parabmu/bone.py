#!/usr/bin/env python3
"""Makes the model of a long bone: a cortical shell that swells towards both ends, which are filled
with trabeculae.

    bone.py MODEL [--planes 884] [--scale 1.0]

The whole one has about 29 million voxels in a grid of 328 x 288 x 884, and 650 MB of text."""

import argparse
import sys

import numpy

GRID = (328, 288, 884)


def plane(z, planes, scale):
    """Materials of one plane, (y, x): 1 cortical, 2 trabecular, 0 none."""
    width, height = (max(8, round(n * scale)) for n in GRID[:2])
    along = abs(2 * (z + 0.5) / planes - 1)  # 0 in the middle of the shaft, 1 at its ends
    swell = 0.78 + 0.2 * along**3
    x = (numpy.arange(width) - (width - 1) / 2) / (width / 2)
    y = (numpy.arange(height) - (height - 1) / 2) / (height / 2)
    radius = numpy.sqrt(x[None, :] ** 2 + y[:, None] ** 2) / swell
    wall = 0.57 + 0.14 * along**2
    cells = ((radius < 1) & (radius > wall)).astype(numpy.uint8)
    if along > 0.88:
        wave = 2 * numpy.pi / (24 * scale)
        i, j = numpy.arange(width) * wave, numpy.arange(height) * wave
        strut = (numpy.sin(i)[None, :] * numpy.cos(j)[:, None]
                 + numpy.sin(j)[:, None] * numpy.cos(z * wave)
                 + numpy.sin(z * wave) * numpy.cos(i)[None, :])
        cells[(radius <= wall) & (strut > 0.3)] = 2
    return cells


def write(path, planes=GRID[2], scale=1.0):
    """Returns the grid and the number of voxels."""
    counts = [int(numpy.count_nonzero(plane(z, planes, scale))) for z in range(planes)]
    first = 1
    with open(path, "w", encoding="ascii") as file:
        file.write(f"\n{sum(counts)}\n")
        for z in range(planes):
            cells = plane(z, planes, scale)
            ys, xs = numpy.nonzero(cells)
            materials = cells[ys, xs]
            numbers = range(first, first + len(xs))
            file.writelines(f"{n} {m} {x} {y} {z + 1}\n" for n, m, x, y in zip(
                numbers, materials.tolist(), (xs + 1).tolist(), (ys + 1).tolist()))
            first += len(xs)
    height, width = cells.shape
    return (width, height, planes), sum(counts)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("model")
    parser.add_argument("--planes", type=int, default=GRID[2])
    parser.add_argument("--scale", type=float, default=1.0)
    options = parser.parse_args()
    grid, voxels = write(options.model, options.planes, options.scale)
    print(*grid, voxels)
    return 0


if __name__ == "__main__":
    sys.exit(main())
