"""An independent solution: products of one-dimensional integrals, assembled and solved by
scipy."""

import itertools

import numpy
from scipy.sparse import coo_matrix
from scipy.sparse.linalg import cg, spsolve


def brick(young, poisson, size):
    """24 x 24; corner a = x + 2 y + 4 z, degree of freedom 3 a + axis."""
    mass = [h / 6 * numpy.array([[2, 1], [1, 2]]) for h in size]
    stiff = [1 / h * numpy.array([[1, -1], [-1, 1]]) for h in size]
    slope = 0.5 * numpy.array([[-1, -1], [1, 1]])  # integral of N_a' N_b
    lame = young * poisson / ((1 + poisson) * (1 - 2 * poisson))
    shear = young / (2 * (1 + poisson))

    def integral(i, j):
        """8 x 8: of dN_a/dx_i dN_b/dx_j."""
        factors = []
        for axis in range(3):
            if i == j:
                factors.append(stiff[axis] if axis == i else mass[axis])
            else:
                factors.append(slope if axis == i else slope.T if axis == j else mass[axis])
        return numpy.kron(factors[2], numpy.kron(factors[1], factors[0]))

    matrix = numpy.zeros((8, 3, 8, 3))
    for i, j in itertools.product(range(3), range(3)):
        matrix[:, i, :, j] += lame * integral(i, j) + shear * integral(j, i)
        if i == j:
            matrix[:, i, :, j] += shear * sum(integral(k, k) for k in range(3))
    return matrix.reshape(24, 24)


def solve(rows, materials, size, constraints, direct=True):
    """rows: material, x, y, z from 1. constraints: (x, y, z from 1, v[3], c[3]). Returns ids in
    ascending order of z, y, x as an array of node places (from 0), and displacements."""
    corners = numpy.array([[a & 1, a >> 1 & 1, a >> 2] for a in range(8)])
    places = rows[:, None, 1:4] - 1 + corners[None]
    keys = (places[..., 2].astype(numpy.int64) << 42) + (places[..., 1] << 21) + places[..., 0]
    nodes, local = numpy.unique(keys, return_inverse=True)
    local = local.reshape(keys.shape)
    freedom = (3 * local[:, :, None] + numpy.arange(3)).reshape(len(rows), 24)
    values = numpy.empty((len(rows), 24, 24))
    for material, (young, poisson) in materials.items():
        values[rows[:, 0] == material] = brick(young, poisson, size)
    index = numpy.broadcast_to(freedom[:, :, None], values.shape)
    across = numpy.broadcast_to(freedom[:, None, :], values.shape)
    whole = 3 * len(nodes)
    matrix = coo_matrix((values.ravel(), (index.ravel(), across.ravel())), (whole, whole)).tocsr()
    force, given = numpy.zeros(whole), numpy.zeros(whole)
    fixed = numpy.zeros(whole, bool)
    for x, y, z, v, c in constraints:
        node = numpy.searchsorted(nodes, (z - 1 << 42) + (y - 1 << 21) + x - 1)
        for axis in range(3):
            if c[axis]:
                fixed[3 * node + axis] = True
                given[3 * node + axis] = v[axis]
            else:
                force[3 * node + axis] += v[axis]
    free = ~fixed
    right = (force - matrix @ given)[free]
    inner = matrix[free][:, free]
    result = given
    if direct:
        result[free] = spsolve(inner.tocsc(), right)
    else:
        scale = inner.diagonal() ** -0.5
        scaled = inner.multiply(scale[:, None]).multiply(scale[None]).tocsr()
        found, failed = cg(scaled, right * scale, rtol=1e-13, atol=0, maxiter=20000)
        assert failed == 0, "scipy's cg did not converge"
        result[free] = found * scale
    where = numpy.stack([nodes & 0x1FFFFF, nodes >> 21 & 0x1FFFFF, nodes >> 42], axis=1)
    return where, result.reshape(-1, 3)
