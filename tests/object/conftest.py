import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import server as servers

HERE = Path(__file__).parent
LIMIT_S = 120


@pytest.fixture(scope="session")
def tools():
    why = servers.missing()
    if why:
        pytest.skip(why)


@pytest.fixture
def server(tools, tmp_path):
    with servers.Server(tmp_path) as running:
        running.make_bucket("data")
        yield running


@pytest.fixture
def credentials(server, monkeypatch):
    """Of the server, for other programs' clients in this process."""
    for name, value in servers.environment(server.endpoint).items():
        if name.startswith("AWS_"):
            monkeypatch.setenv(name, value)
    monkeypatch.delenv("AWS_CONFIG_FILE")
    monkeypatch.delenv("AWS_SHARED_CREDENTIALS_FILE")


class Job:
    """Ranks that write or read."""

    def __init__(self, action, path, told, ranks, environment):
        command = [*os.environ["SLUICE_MPIEXEC"].split(), "-n", str(ranks), sys.executable, "-B",
                   str(HERE / "writer.py"), action, path, json.dumps(told)]
        self.run = subprocess.Popen(command, env=environment, text=True, stdout=subprocess.PIPE,
                                    stderr=subprocess.STDOUT)

    def wait(self, limit_s=LIMIT_S):
        """Its output; it must end by itself."""
        try:
            self.text, _ = self.run.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            self.run.kill()
            self.text, _ = self.run.communicate()
            pytest.fail("hangs: " + self.text)
        return self.run.returncode, self.text


@pytest.fixture
def job(server):
    def start(action, path, told=None, ranks=2, endpoint=None, **more):
        return Job(action, path, {"shape": [40, 24], **(told or {})}, ranks,
                   servers.environment(endpoint or server.endpoint, **more))
    return start


@pytest.fixture
def succeed(job):
    def run(*arguments, **more):
        code, text = job(*arguments, **more).wait()
        assert code == 0, text
        return text
    return run


@pytest.fixture
def refused(job):
    """The error of a job, which all ranks have alike."""
    def run(*arguments, ranks=2, **more):
        code, text = job(*arguments, ranks=ranks, **more).wait()
        assert code == 3, text
        lines = [line for line in text.splitlines() if line.startswith("rank ")]
        told = {line.split(": ", 1)[1] for line in lines}
        assert len(lines) == ranks and len(told) == 1, text
        assert servers.SECRET not in text and servers.KEY not in text, text
        return told.pop()
    return run
