"""bench/contended, mounted for as long as a case runs."""

import contextlib
import json
import os
import select
import shutil
import subprocess
import tempfile

from .program import ProgramError

BEGIN_S = 30
END_S = 30
STATISTICS = ".contended"
MEMORY = "/dev/shm"
SPARE_BYTES = 2 << 30


def backing_folder(wanted_bytes, fallback):
    """Memory where there is enough: the modelled disks are to be the only ones that cost time."""
    if os.path.isdir(MEMORY) and shutil.disk_usage(MEMORY).free > wanted_bytes + SPARE_BYTES:
        return MEMORY
    return fallback


def _begin(command):
    try:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    except OSError as error:
        raise ProgramError(f"{command[0]}: {error.strerror}: libfuse3-dev was not there when the "
                           "benchmarks were built") from error
    ready, _, _ = select.select([process.stdout], [], [], BEGIN_S)
    if not ready or not process.stdout.readline():
        process.kill()
        said = process.communicate()[1].decode(errors="replace").strip().replace("\n", "; ")
        raise ProgramError(said or f"{command[0]}: no mount in {BEGIN_S} s")
    return process


@contextlib.contextmanager
def mounted(build, folder, arguments):
    """Mounts a new folder under `folder`; yields the path of the mount."""
    program = os.path.join(build, "bench", "contended", "contended")
    with tempfile.TemporaryDirectory(prefix="sluice-contended-", dir=folder) as parent:
        backing, mount = os.path.join(parent, "data"), os.path.join(parent, "mount")
        os.mkdir(backing)
        os.mkdir(mount)
        process = _begin([program, *arguments, backing, mount])
        try:
            yield mount
        finally:
            process.terminate()
            try:
                process.communicate(timeout=END_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
                subprocess.run(["fusermount3", "-uz", mount], check=False)


def counters(mount):
    """What the servers did since the mount was made."""
    with open(os.path.join(mount, STATISTICS), encoding="utf-8") as text:
        return json.load(text)
