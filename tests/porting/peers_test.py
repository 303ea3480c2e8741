"""peers_test.py AFTER BEFORE...: docs/porting.md shows the output code of each program of
docs/porting, and on 4 ranks the file of each BEFORE (hdf5_before, netcdf_before, mpiio_before)
holds the values that AFTER writes with Sluice."""

import os
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import h5py
import numpy as np

RANKS = 4
SHAPE = (3, 1000 * RANKS, 64)
DOCS = Path(os.environ["SLUICE_SOURCE_DIR"]) / "docs"


def check_page():
    page = (DOCS / "porting.md").read_text(encoding="utf-8")
    for source in sorted((DOCS / "porting").glob("*_*.c")):
        text = source.read_text(encoding="utf-8")
        code = text.split("  /* output */\n", 1)[1].split("  /* end of output */\n", 1)[0]
        shown = f"```c\n{textwrap.dedent(code)}```\n"
        assert shown in page, f"docs/porting.md does not show this of {source.name}:\n{shown}"


def run(folder, *command):
    ran = subprocess.run([*os.environ["SLUICE_MPIEXEC"].split(), "-n", str(RANKS), *command],
                         cwd=folder, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def field_of(path):
    if path.suffix == ".raw":
        return np.fromfile(path).reshape(SHAPE)
    with h5py.File(path) as file:
        return file["field"][:]


def check_values(after, befores):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run(folder, after, "after.h5")
        run(folder, after, "after.nc")
        field = field_of(folder / "after.h5")
        step, row, column = np.ogrid[:SHAPE[0], :SHAPE[1], :SHAPE[2]]
        rows = SHAPE[1] // RANKS
        assert np.allclose(field, row // rows + 0.1 * step + 1e-3 * (row % rows) + 1e-6 * column)
        assert np.array_equal(field, field_of(folder / "after.nc"))
        for before in befores:
            run(folder, before)
        paths = sorted(folder.glob("before.*"))
        assert len(paths) == len(befores), paths
        for path in paths:
            assert np.array_equal(field, field_of(path)), path
            print(f"{path.name}: {field.size} values equal")


check_page()
check_values(sys.argv[1], sys.argv[2:])
