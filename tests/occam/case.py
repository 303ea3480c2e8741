"""What the tests of occam share: running its programs and sluice, in a folder of their own."""

import atexit
import filecmp
import os
import shlex
import shutil
import subprocess
import sys
import tempfile

PROGRAMS = os.environ["OCCAM_FOLDER"]
COMMAND = os.environ["SLUICE_COMMAND"]
MPIEXEC = shlex.split(os.environ["SLUICE_MPIEXEC"])
DATA = os.path.join(
    os.environ.get("SLUICE_DATA",
                   os.path.join(os.environ["SLUICE_SOURCE_DIR"], "..", "shared", "data")),
    "hymd")
TOML = os.path.join(DATA, "copolymer.toml")
NAMES = ("traj", "conf", "wvalues", "energies")

FOLDER = tempfile.mkdtemp(prefix="sluice-occam-")
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)


def fail(what):
    print("FAILED:", what, file=sys.stderr)
    sys.exit(1)


def require(condition, what):
    if not condition:
        fail(what)


def run(*command, ranks=0, code=0, timeout=900):
    """What a program prints; words that are no option are Fortran's KEY=VALUE."""
    launcher = [*MPIEXEC, "-n", str(ranks)] if ranks else []
    words = [*launcher, *map(str, command)]
    done = subprocess.run(words, cwd=FOLDER, capture_output=True, text=True, check=False,
                          timeout=timeout)
    if (done.returncode == 0) != (code == 0):
        fail(f"{' '.join(words)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def program(name):
    return os.path.join(PROGRAMS, name)


def make_folder(name):
    os.makedirs(os.path.join(FOLDER, name), exist_ok=True)
    return name


def generate(name, parts, blocks, *words, of="iopc_checked"):
    make_folder(name)
    run(program(of), "generate", f"parts={parts}", f"blocks={blocks}", f"folder='{name}'", *words)
    return f"{name}/params.nml"


def same_folders(one, other):
    """Are there the same files with the same bytes in both?"""
    one, other = (os.path.join(FOLDER, name) for name in (one, other))
    names = sorted(os.listdir(one))
    if names != sorted(os.listdir(other)):
        return False
    _, differ, failed = filecmp.cmpfiles(one, other, names, shallow=False)
    return not differ and not failed


def energies(text):
    """Rows of what occam prints: step, kinetic, bonds, angles, field, total, T, momentum."""
    rows = []
    for line in text.splitlines():
        words = line.split()
        if len(words) == 8 and words[0].isdigit():
            rows.append([float(word) for word in words])
    return rows
