"""Writes, on every rank, mesh.vtkhdf (an unstructured grid of three steps, a part a rank),
image.vtkhdf (three steps) and poly.vtkhdf into a folder; `patch` and `image`
say what is in a step."""

import sys

import numpy as np

STEPS = 3
MOST = 4000


def patch(rank, step):
    """Points and quadrilaterals of a rank: other numbers in every step."""
    n = 10 + 2 * step + rank
    x, y = np.meshgrid(np.arange(n + 1) / n + rank, np.arange(6) / 5, indexing="ij")
    points = np.stack([x.ravel(), y.ravel(), 0.2 * (np.sin(3 * x + step) * y).ravel()], axis=1)
    first = (np.arange(n)[:, None] * 6 + np.arange(5)).ravel()
    return points, np.stack([first, first + 1, first + 7, first + 6], axis=1)


def cells_of_mesh(step, ranks):
    """Number of points, of cells, sum of heights."""
    parts = [patch(rank, step) for rank in range(ranks)]
    return (sum(len(points) for points, _ in parts), sum(len(cells) for _, cells in parts),
            sum(points[:, 2].sum() for points, _ in parts))


def image(step, first, count):
    z, y, x = np.indices((count, 6, 8))
    return np.sin(x / 2 + step) + np.cos(y / 2) + (z + first)


def write(folder):
    from mpi4py import MPI

    import sluice

    comm = MPI.COMM_WORLD
    for name, kind, prefix in (("mesh", "UnstructuredGrid", ""), ("poly", "PolyData", "Polygons/")):
        with sluice.open(f"{folder}/{name}.vtkhdf", "w", comm=comm, log="off") as out:
            out.attrs_of("VTKHDF")["Type"] = kind
            for step in range(STEPS):
                points, cells = patch(comm.rank, step)
                with out.step(time=0.5 * step):
                    out.put_joined("VTKHDF/Points", points, shape=(MOST, 3))
                    out.put_joined(f"VTKHDF/{prefix}Connectivity", cells.ravel(),
                                   shape=(4 * MOST,))
                    out.put_joined(f"VTKHDF/{prefix}Offsets", 4 * np.arange(len(cells) + 1),
                                   shape=(MOST + comm.size,))
                    if not prefix:
                        out.put_joined("VTKHDF/Types", np.full(len(cells), 9, np.uint8),
                                       shape=(MOST,))
                    out.put_joined("VTKHDF/PointData/height", points[:, 2].copy(), shape=(MOST,))
                    out.put_joined("VTKHDF/CellData/rank", np.full(len(cells), float(comm.rank)),
                                   shape=(MOST,))
    layers = 2
    with sluice.open(f"{folder}/image.vtkhdf", "w", comm=comm, log="off") as out:
        attributes = out.attrs_of("VTKHDF")
        attributes["Type"], attributes["Spacing"] = "ImageData", np.full(3, 0.1)
        for step in range(STEPS):
            with out.step(time=0.5 * step):
                out.put("VTKHDF/PointData/height", image(step, layers * comm.rank, layers),
                        shape=(layers * comm.size, 6, 8), start=(layers * comm.rank, 0, 0))


if __name__ == "__main__":
    write(sys.argv[1])
