"""The bytes of DCD and NAMDBIN files: what lies where."""

import numpy as np

DCD_HEAD_BYTES = 276
DCD_CELL_BYTES = 56
DCD_COUNTS_OFFSET = 8  # NFILE, ISTART, NSAVC, NSTEP
COOR_HEAD_BYTES = 4
ATOM_BYTES = 24
AKMA_FS = 48.88821


def _record(*parts):
    body = b"".join(parts)
    marker = np.int32(len(body)).tobytes()
    return marker + body + marker


def dcd_counts(frames, every):
    """The four counts in the header of a file of so many frames, one every `every` steps."""
    return np.array([frames, every, every, frames * every], dtype=np.int32).tobytes()


def dcd_head(atoms, every, time_step_ps, frames):
    """The header of a file of so many frames, with a cell in each."""
    control = dcd_counts(frames, every) + np.zeros(5, np.int32).tobytes()
    control += np.float32(time_step_ps * 1000 / AKMA_FS).tobytes() + np.int32(1).tobytes()
    control += np.zeros(8, np.int32).tobytes() + np.int32(24).tobytes()
    titles = [b"Lennard-Jones and Coulomb in patches".ljust(80), b"written by chares".ljust(80)]
    return (_record(b"CORD", control) + _record(np.int32(2).tobytes(), *titles)
            + _record(np.int32(atoms).tobytes()))


def dcd_cell(edge):
    """The record in front of each frame."""
    return _record(np.array([edge, 0, edge, 0, 0, edge]).tobytes())


def dcd_frame_bytes(atoms):
    return DCD_CELL_BYTES + 3 * (4 * atoms + 8)


def dcd_axis_offset(frame, atoms, axis):
    """Of the marker before the x, y or z of a frame."""
    before = DCD_HEAD_BYTES + frame * dcd_frame_bytes(atoms) + DCD_CELL_BYTES
    return before + axis * (4 * atoms + 8)
