"""What a wave-function file says, recomputed by h5py and numpy alone.

    check_wave_functions.py FILE PARTS [--unfilled]

The tree; the basis (particles, projection, quanta); of each vector its energy <v|H|v> / <v|v>
from the appended structure, and J and T by raising: J**2 = |J+ v|**2 + M (M + 1), and T**2 alike.
--unfilled: the properties are reserved, and not there yet.
"""

import sys

import h5py
import numpy as np

STATES = 15


def check_tree(file, parts):
    expected = {"BASIS", "LENGTHS", "STRUCTURE", *(f"GRP{i:02}" for i in range(1, STATES + 1))}
    assert set(file) - {"sluice"} == expected, sorted(file)
    assert file.attrs["Author"] == "UNEDF"
    lengths = file["LENGTHS"][:]
    dimension = len(file["BASIS/Protons"])
    assert len(lengths) == parts and lengths.sum() == dimension, lengths
    for i in range(1, STATES + 1):
        group = file[f"GRP{i:02}"]
        assert set(group) == {f"EigenVector{i:02}", f"Properties{i:02}"}, list(group)
        vector = group[f"EigenVector{i:02}"]
        assert vector.dtype == np.dtype("<f4") and vector.shape == (dimension,)
        assert vector.chunks is None, "contiguous"
        properties = group[f"Properties{i:02}"]
        assert properties.shape == (3,) and properties.dtype == np.dtype("<f8")
    return dimension


def bits(mask):
    return [s for s in range(64) if mask >> s & 1]


def check_basis(file):
    """The states as pairs of masks."""
    basis = file["BASIS"]
    orbits, single = basis["Orbits"][:], basis["States"][:]
    quanta = [2 * orbits[o - 1][0] + orbits[o - 1][1] for o, _ in single]
    states = [(int(p), int(n)) for p, n in zip(basis["Protons"], basis["Neutrons"])]
    assert len(set(states)) == len(states)
    sums = []
    for p, n in states:
        assert p.bit_count() == basis.attrs["Protons"] and n.bit_count() == basis.attrs["Neutrons"]
        used = bits(p) + bits(n)
        assert sum(single[s][1] for s in used) == len(used) % 2, "M"
        sums.append(sum(quanta[s] for s in used))
    assert max(sums) - min(sums) == basis.attrs["Nmax"]
    assert all((q - min(sums)) % 2 == 0 for q in sums), "parity"
    return states


def energies(file, vectors):
    rows = file["STRUCTURE/Rows"][:] - 1
    columns = file["STRUCTURE/Columns"][:] - 1
    values = file["STRUCTURE/Values"][:]
    pairs = {(min(r, c), max(r, c)) for r, c in zip(rows.tolist(), columns.tolist())}
    assert len(pairs) == len(rows), "each pair once"
    twice = np.where(rows == columns, 1.0, 2.0)
    found = [(values * twice * v[rows] * v[columns]).sum() / (v @ v) for v in vectors]
    return np.array(found)


def squared(vectors, states, raise_state):
    """|A v|**2 of each vector, A given by what it makes of a state: pairs of state and factor."""
    places, terms = {}, []
    for i, state in enumerate(states):
        for raised, factor in raise_state(*state):
            terms.append((places.setdefault(raised, len(places)), i, factor))
    if not terms:
        return np.zeros(len(vectors))
    into, of, factors = (np.array(column) for column in zip(*terms))
    found = []
    for v in vectors:
        raised = np.zeros(len(places))
        np.add.at(raised, into, factors * v[of])
        found.append((raised**2).sum())
    return np.array(found)


def raise_j(file):
    orbits, single = file["BASIS/Orbits"][:], file["BASIS/States"][:]

    def raised(p, n):
        for kind, mask in enumerate((p, n)):
            for s in bits(mask):
                j, m = orbits[single[s][0] - 1][2] / 2, single[s][1] / 2
                if m == j or mask >> (s + 1) & 1:
                    continue
                moved = mask ^ (3 << s)  # to its neighbour: nothing lies between
                factor = np.sqrt(j * (j + 1) - m * (m + 1))
                yield ((moved, n) if kind == 0 else (p, moved)), factor

    return raised


def raise_t(p, n):
    """A neutron becomes a proton of the same state."""
    for s in bits(n):
        if p >> s & 1:
            continue
        passed = (p >> s).bit_count() + (n & ((1 << s) - 1)).bit_count()
        yield (p | 1 << s, n ^ 1 << s), (-1.0) ** passed


def quantum_number(square):
    return (np.sqrt(1 + 4 * square) - 1) / 2


def main():
    with h5py.File(sys.argv[1]) as file:
        check_tree(file, int(sys.argv[2]))
        states = check_basis(file)
        numbers = range(1, STATES + 1)
        vectors = np.array([file[f"GRP{i:02}/EigenVector{i:02}"][:] for i in numbers], float)
        stored = np.array([file[f"GRP{i:02}/Properties{i:02}"][:] for i in numbers])
        if "--unfilled" in sys.argv:
            assert np.isnan(stored).all(), "reserved, not filled in"
            return
        overlaps = vectors @ vectors.T
        assert abs(overlaps - np.eye(STATES)).max() < 1e-5
        assert abs(energies(file, vectors) - stored[:, 0]).max() < 1e-6, "energies"
        assert (np.diff(stored[:, 0]) > 0).all(), "in order"
        m = int(file["BASIS"].attrs["Protons"] + file["BASIS"].attrs["Neutrons"]) % 2 / 2
        t = int(file["BASIS"].attrs["Protons"] - file["BASIS"].attrs["Neutrons"]) / 2
        j_found = quantum_number(squared(vectors, states, raise_j(file)) + m * (m + 1))
        t_found = quantum_number(squared(vectors, states, raise_t) + t * (t + 1))
        assert abs(j_found - stored[:, 1]).max() < 1e-4, (j_found, stored[:, 1])
        assert abs(t_found - stored[:, 2]).max() < 1e-4, (t_found, stored[:, 2])
        assert abs(j_found - m - np.round(j_found - m)).max() < 1e-4, "good J"
        print(f"{STATES} states of {len(states)}: energies, J and T as stored")


main()
