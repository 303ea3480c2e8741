"""Forces between atoms: Lennard-Jones and Coulomb with a cutoff, by cell lists, in numpy.

Reduced units: lengths in sigma, energies in epsilon, masses 1; charges so that two of them at
distance 1 have the energy q q'. Both potentials are shifted so that force and energy end at 0 at
the cutoff, which conserves energy.
"""

import numpy as np


def candidate_pairs(positions, own, cutoff):
    """Indices i, j of every i < own and j != i that are closer than `cutoff`, and perhaps of some
    that are a little farther: positions (n, 3), no periodicity. Each i meets each j once."""
    low = positions.min(axis=0)
    cells = np.maximum(((positions.max(axis=0) - low) / cutoff).astype(np.int64) + 1, 1)
    cell = ((positions - low) / cutoff).astype(np.int64)
    nx, ny, nz = (int(c) for c in cells + 2)  # an empty cell all around
    number = ((cell[:, 0] + 1) * ny + cell[:, 1] + 1) * nz + cell[:, 2] + 1
    order = np.argsort(number, kind="stable")
    begins = np.searchsorted(number[order], np.arange(nx * ny * nz + 1))
    firsts, seconds = [], []
    for dx in (-1, 0, 1):
        for dy in (-1, 0, 1):
            # The three cells along z lie side by side.
            middle = number[:own] + (dx * ny + dy) * nz
            begin, end = begins[middle - 1], begins[middle + 2]
            counts = end - begin
            i = np.repeat(np.arange(own), counts)
            within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
            j = order[np.repeat(begin, counts) + within]
            keep = i != j
            firsts.append(i[keep])
            seconds.append(j[keep])
    return np.concatenate(firsts), np.concatenate(seconds)


def pair_forces(distance2, charges, cutoff):
    """Force over distance, and energy, of pairs within the cutoff: distance2 their squared
    distances, charges the products of theirs."""
    r = np.sqrt(distance2)
    inverse = 1.0 / r
    six, six_end = inverse**6, cutoff**-6.0
    force_end = 24.0 * (2.0 * six_end**2 - six_end) / cutoff
    energy = 4.0 * (six**2 - six) - 4.0 * (six_end**2 - six_end) + force_end * (r - cutoff)
    force = 24.0 * (2.0 * six**2 - six) * inverse - force_end
    energy += charges * (inverse - 1.0 / cutoff + (r - cutoff) / cutoff**2)
    force += charges * (inverse**2 - 1.0 / cutoff**2)
    return force * inverse, energy


def forces(positions, charges, own, cutoff):
    """On the first `own` atoms, (own, 3), by all others of `positions` (n, 3); and the half of the
    energies of these pairs, so that the sum over all atoms counts each pair once."""
    if own == 0:
        return np.zeros((0, 3)), 0.0
    i, j = candidate_pairs(positions, own, cutoff)
    apart = positions[i] - positions[j]
    distance2 = np.einsum("ij,ij->i", apart, apart)
    near = distance2 < cutoff**2
    i, j, apart, distance2 = i[near], j[near], apart[near], distance2[near]
    over_distance, energy = pair_forces(distance2, charges[i] * charges[j], cutoff)
    result = np.empty((own, 3))
    for axis in range(3):
        result[:, axis] = np.bincount(i, over_distance * apart[:, axis], minlength=own)
    return result, 0.5 * energy.sum()


def crystal(cells, density, temperature, charge, seed):
    """A cubic lattice of cells**3 atoms with charges of alternating sign, random velocities without
    a common motion: edge of the box, positions (n, 3), velocities (n, 3), charges (n)."""
    atoms = cells**3
    edge = (atoms / density) ** (1 / 3)
    places = np.stack(np.meshgrid(*[np.arange(cells)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    positions = (places + 0.5) * (edge / cells)
    charges = np.where(places.sum(axis=1) % 2 == 0, charge, -charge)
    velocities = np.random.default_rng(seed).normal(0, temperature**0.5, (atoms, 3))
    velocities -= velocities.mean(axis=0)
    return edge, positions, velocities, charges
