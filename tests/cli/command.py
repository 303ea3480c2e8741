"""What the tests of the command share: the files it is tried on, running it, damaging a copy.

Invariant: every test works on copies in a folder of its own, gone at the end.
"""

import atexit
import os
import shlex
import shutil
import struct
import subprocess
import tempfile

import h5py
import numpy

COMMAND = os.environ["SLUICE_COMMAND"]
MPIEXEC = shlex.split(os.environ["SLUICE_MPIEXEC"])
FINE, DIFFERS, BAD_INPUT, CHANGED_OUTSIDE = 0, 1, 2, 3
# How xarray opens what convert makes.
XARRAY = {".nc": {"engine": "netcdf4"}, ".h5": {"engine": "netcdf4"},
          ".zarr": {"engine": "zarr", "consolidated": False}}

FOLDER = tempfile.mkdtemp(prefix="sluice-cli-")
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
subprocess.run([os.environ["SLUICE_MAKE_FILES"], FOLDER], check=True, timeout=120)
_copies = iter(range(10**6))


def sluice(*arguments, ranks=0):
    """Runs the command in the folder of the files; under mpirun where ranks is not 0."""
    launcher = [*MPIEXEC, "-n", str(ranks)] if ranks else []
    return subprocess.run(
        [*launcher, COMMAND, *map(str, arguments)],
        cwd=FOLDER, capture_output=True, text=True, timeout=120, check=False,
    )


def converted(source, *options, ending=".h5", ranks=0):
    """The new file that convert makes of it."""
    target = new_path(ending)
    result = sluice("convert", source, target, *options, ranks=ranks)
    assert result.returncode == FINE, result.stderr
    return target


def write_trajectory(target, frames, atoms=2, counted=None):
    """As NAMD writes it; `counted`: the frames that the header counts, if not these."""
    def record(content):
        return struct.pack("<i", len(content)) + content + struct.pack("<i", len(content))

    counted = frames if counted is None else counted
    control = [counted, 0, 1, counted] + 15 * [0] + [24]
    with open(target, "wb") as file:
        file.write(record(b"CORD" + struct.pack("<20i", *control)))
        file.write(record(struct.pack("<i", 1) + b"title".ljust(80)))
        file.write(record(struct.pack("<i", atoms)))
        for frame in range(frames):
            for axis in range(3):
                file.write(record(struct.pack(f"<{atoms}f", *(atoms * [frame + axis]))))


def path(name):
    return os.path.join(FOLDER, name)


def new_path(ending=".h5"):
    return path(f"new-{next(_copies)}{ending}")


def copy(name):
    """A copy with the time of modification of the original: as its last commit left it."""
    target = new_path()
    shutil.copy2(path(name), target)
    return target


class KeepsTime:
    """Leaves a file's time of modification as it was: damage that nobody did."""

    def __init__(self, target):
        self.target = target

    def __enter__(self):
        self.stat = os.stat(self.target)

    def __exit__(self, *_):
        os.utime(self.target, ns=(self.stat.st_atime_ns, self.stat.st_mtime_ns))


def flip(target, offset, bit=0):
    """Flips one bit, as a bad disk does."""
    with KeepsTime(target), open(target, "r+b") as file:
        file.seek(offset)
        byte = file.read(1)[0]
        file.seek(offset)
        file.write(bytes([byte ^ 1 << bit]))


def address(target, variable, index):
    """Where in the file the element with that index lies (its first byte)."""
    with h5py.File(target) as file:
        dataset = file[variable]
        if dataset.chunks is None:
            start, shape = dataset.id.get_offset(), dataset.shape
            within = index
        else:
            corner = tuple(i // c * c for i, c in zip(index, dataset.chunks))
            start = dataset.id.get_chunk_info_by_coord(corner).byte_offset
            shape = dataset.chunks
            within = tuple(i - c for i, c in zip(index, corner))
        flat = numpy.ravel_multi_index(within, shape) if within else 0
        return start + int(flat) * dataset.dtype.itemsize


def said(result):
    """The lines that the command itself wrote to stderr (mpirun has a say too)."""
    return [line for line in result.stderr.splitlines() if line.startswith("sluice: ")]
