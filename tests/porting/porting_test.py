"""porting_test.py SUFFIX BEFORE AFTER: the port in docs/porting changes few lines, docs/porting.md
shows just those, and on 4 ranks the new program's file holds what the old one's texts hold."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import h5py
import numpy as np

RANKS = 4
CHANGED_LINES_MAX = 10
LINES_MAX = 62
DOCS = Path(os.environ["SLUICE_SOURCE_DIR"]) / "docs"


def difference(suffix):
    """Lines of the unified diff, without its head."""
    ran = subprocess.run(["diff", "-U1", f"before.{suffix}", f"after.{suffix}"],
                         cwd=DOCS / "porting", capture_output=True, text=True)
    assert ran.returncode == 1, ran.stderr
    return ran.stdout.splitlines()[2:]


def check_difference(suffix):
    lines = difference(suffix)
    added = sum(line.startswith("+") for line in lines)
    removed = sum(line.startswith("-") for line in lines)
    assert 0 < added <= CHANGED_LINES_MAX and 0 < removed <= CHANGED_LINES_MAX, (added, removed)
    for side in "before", "after":
        length = len((DOCS / "porting" / f"{side}.{suffix}").read_text().splitlines())
        assert length <= LINES_MAX, f"{side}.{suffix}: {length} lines"
    shown = "```diff\n" + "\n".join(lines) + "\n```\n"
    page = (DOCS / "porting.md").read_text()
    assert shown in page, f"docs/porting.md does not show this:\n{shown}"
    print(f"{suffix}: {added} lines for {removed}")


def run(program, folder):
    ran = subprocess.run([*os.environ["SLUICE_MPIEXEC"].split(), "-n", str(RANKS), program],
                         cwd=folder, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def read_texts(folder, steps):
    """Times, and heights by step and point, of one file a rank."""
    parts = []
    for rank in range(RANKS):
        (path,) = Path(folder).glob(f"*_{rank}.txt")
        numbers = np.array(path.read_text().split(), dtype=float).reshape(steps, -1)
        parts.append(numbers[:, 1:])
        times = numbers[:, 0]
    return times, np.concatenate(parts, axis=1)


def check_values(before, after):
    with tempfile.TemporaryDirectory() as folder:
        run(before, folder)
        run(after, folder)
        (path,) = Path(folder).glob("*.h5")
        with h5py.File(path) as f:
            height, times = f["height"][:], f["time"][:]
        assert height.shape[0] >= 40 and height.shape[1] >= 1000 and height.std() > 0
        old_times, old_height = read_texts(folder, height.shape[0])
        assert (times == old_times).all()
        assert height.shape == old_height.shape and (height == old_height).all()
        texts = sum(text.stat().st_size for text in Path(folder).glob("*.txt"))
        print(f"{height.size} values equal; {texts} bytes of text, {path.stat().st_size} of HDF5")


check_difference(sys.argv[1])
check_values(*sys.argv[2:])
