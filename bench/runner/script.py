"""A benchmark program that is a Python script."""

import os
import shlex
import subprocess
import sys

from .program import Program, ProgramError, environment_of

REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def python():
    """The project's own Python where it is there."""
    own = os.path.join(REPOSITORY, ".venv", "bin", "python")
    return own if os.access(own, os.X_OK) else sys.executable


class Script(Program):
    """Not under mpirun. A case that is overrides command()."""

    @staticmethod
    def listing_environment():
        """What --list needs besides this environment: pairs of name and value."""
        return ()

    @classmethod
    def available(cls, executable):
        listed = subprocess.run(
            [python(), executable, "--list"], capture_output=True, text=True, timeout=60,
            env=environment_of(cls.listing_environment()),
        )
        if listed.returncode != 0:
            said = listed.stderr.strip().splitlines() or [""]
            raise ProgramError(f"{executable} --list: {said[-1]}")
        return set(listed.stdout.split())

    @staticmethod
    def command(executable, ranks, mpirun):
        del ranks, mpirun
        return [python(), executable]


def environment_of_build(build):
    """With it a script has Sluice for Python, from the sources and a build."""
    build = os.path.abspath(build)
    return (
        ("SLUICE_LIBRARY", os.path.join(build, "libsluice.so")),
        ("SLUICE_BUILD_DIR", build),
        ("PYTHONPATH", os.path.join(REPOSITORY, "python")),
        ("PYTHONDONTWRITEBYTECODE", "1"),
    )


class RankScript(Script):
    """Under mpirun, with Sluice."""

    @staticmethod
    def listing_environment():
        build = os.environ.get("SLUICE_BUILD_DIR", os.path.join(REPOSITORY, "build", "bench"))
        return environment_of_build(build)

    @staticmethod
    def command(executable, ranks, mpirun):
        return [*shlex.split(mpirun), "-n", str(ranks), python(), executable]
