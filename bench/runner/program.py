"""One benchmark program under mpirun, given one job at a time."""

import json
import os
import select
import shlex
import signal
import subprocess
import time


class ProgramError(Exception):
    """A program that failed, hung or cannot be started, in one line."""


def environment_of(more):
    """What a program under mpirun is given: what this one has, and the pairs of `more`."""
    environment = dict(os.environ) | dict(more)
    if os.geteuid() == 0:  # containers; Open MPI asks for it in so many words
        environment.setdefault("OMPI_ALLOW_RUN_AS_ROOT", "1")
        environment.setdefault("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
    return environment


def printed_by(command, folder, timeout_s, environment=()):
    """Carries out a whole command in a folder and returns what it printed."""
    name = os.path.basename(command[0])
    try:
        process = subprocess.Popen(
            command, cwd=folder, env=environment_of(environment), stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, start_new_session=True,
        )
    except OSError as error:
        raise ProgramError(f"{name}: {error.strerror}") from error
    try:
        printed, _ = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired as error:
        raise ProgramError(f"{' '.join(command)}: not done in {timeout_s:g} s") from error
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    if process.returncode != 0:
        said = printed.strip().splitlines() or [""]
        raise ProgramError(f"{' '.join(command)}: code {process.returncode}: {said[-1]}")
    return printed


class Program:
    """The ranks stay from job to job, so that each contestant is as warm as in a simulation that
    runs for long; between jobs they sleep."""

    @staticmethod
    def available(executable):
        """Names of the jobs that a program was built with."""
        try:
            listed = subprocess.run(
                [executable, "--list"], capture_output=True, text=True, timeout=60
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise ProgramError(f"{executable}: {error}") from error
        if listed.returncode != 0:
            raise ProgramError(f"{executable} --list: exit code {listed.returncode}")
        return set(listed.stdout.split())

    @staticmethod
    def command(executable, ranks, mpirun):
        return [*shlex.split(mpirun), "-n", str(ranks), executable]

    def __init__(self, executable, ranks, mpirun, timeout_s, environment=()):
        self.name = os.path.basename(executable)
        self.timeout_s = timeout_s
        self.pending = b""
        self.failed = False
        command = self.command(executable, ranks, mpirun)
        try:
            # A session of its own, so that it can be ended as a whole.
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=environment_of(environment),
                start_new_session=True,
            )
        except OSError as error:
            raise ProgramError(f"{command[0]}: {error.strerror}") from error

    def run(self, job, parameters):
        """Carries out one job and returns its values, a dict of floats."""
        line = "\t".join([job, *(f"{key}={value}" for key, value in parameters.items())])
        try:
            self.process.stdin.write(line.encode() + b"\n")
            self.process.stdin.flush()
        except OSError:
            pass  # it has ended; the answer below says so
        self.failed = True  # until it has answered
        answer = self._answer(job)
        if answer["contestant"] != job:
            raise ProgramError(f"{self.name}: answered {answer['contestant']} to {job}")
        self.failed = False
        return answer["values"]

    def _answer(self, job):
        deadline = time.monotonic() + self.timeout_s
        while True:
            line, newline, rest = self.pending.partition(b"\n")
            if newline:
                self.pending = rest
                if line.startswith(b'{"contestant"'):
                    return json.loads(line)
                continue  # what a library prints of its own
            left_s = deadline - time.monotonic()
            if left_s <= 0 or not select.select([self.process.stdout], [], [], left_s)[0]:
                raise ProgramError(f"{self.name}: {job}: no answer in {self.timeout_s:g} s")
            chunk = os.read(self.process.stdout.fileno(), 65536)
            if not chunk:
                raise ProgramError(f"{self.name}: {job}: ended with code {self.process.wait()}")
            self.pending += chunk

    def end(self):
        """Lets the program finish; after ten seconds, or at once where it failed, ends it."""
        try:
            self.process.stdin.close()
        except OSError:
            pass
        try:
            self.process.wait(timeout=0 if self.failed else 10)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.process.stdout.close()
