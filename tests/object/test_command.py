"""The command on object stores: it reads them, by the store's own listing, and writes to none.

SLUICE_COMMAND: the command."""

import json
import os
import socket
import subprocess
import time

import h5py
import pytest

import server as servers

COMMAND = os.environ["SLUICE_COMMAND"]
STORES = ["s3://data/runs/run.zarr", "s3://data/runs/run.icechunk"]
BAD_INPUT = 2


@pytest.fixture
def command(server, tmp_path):
    """Runs the command in a folder of the test: its code, stdout and stderr."""
    def run(*arguments, endpoint=None, **more):
        done = subprocess.run([COMMAND, *arguments], cwd=tmp_path, capture_output=True, text=True,
                              env=servers.environment(endpoint or server.endpoint, **more),
                              timeout=120, check=False)
        return done.returncode, done.stdout, done.stderr
    return run


def bytes_below(server, path):
    folder = server.object_path("data", path.removeprefix("s3://data/"))
    return sum(p.stat().st_size for p in folder.rglob("*") if p.is_file())


@pytest.mark.parametrize("path", STORES)
def test_ls(server, succeed, command, path):
    succeed("w", path, {"steps": 2})
    code, out, err = command("ls", path)
    assert (code, err) == (0, "") and "2 steps" in out and " 40 x 24 " in out
    code, out, err = command("ls", path, "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["bytes"] == bytes_below(server, path) > 0


def test_ls_counts_more_objects_than_a_page_has(server, succeed, command):
    path = STORES[0]
    succeed("w", path, {"steps": 1})
    beside = server.object_path("data", "runs/run.zarr") / "beside"
    beside.mkdir()
    for i in range(1100):
        (beside / f"{i}").write_bytes(b"12345")
    code, out, err = command("ls", path, "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["bytes"] == bytes_below(server, path) > 5500


@pytest.mark.parametrize("path", STORES)
def test_report(succeed, command, tmp_path, path):
    succeed("w", path, {"steps": 2})
    code, _, err = command("report", path, "page.html")
    assert (code, err) == (0, "")
    assert "2 steps" in (tmp_path / "page.html").read_text()


def test_a_page_is_a_file_of_this_machine(succeed, command):
    path = STORES[0]
    succeed("w", path, {"steps": 2})
    for arguments in ([], [f"{path}.html"]):
        code, out, err = command("report", path, *arguments)
        assert (code, out) == (BAD_INPUT, "") and err.count("\n") == 1
        assert "name a file of this machine" in err


@pytest.mark.parametrize("path", STORES)
def test_convert_from_a_store(server, succeed, command, tmp_path, path):
    succeed("w", path, {"steps": 2})
    code, out, err = command("convert", path, "out.h5", "--json")
    assert (code, err) == (0, "")
    told = json.loads(out)
    assert told["bytes_before"] == bytes_below(server, path)
    assert told["bytes_after"] == (tmp_path / "out.h5").stat().st_size
    with h5py.File(tmp_path / "out.h5") as file:
        assert file["x"].shape == (2, 40, 24)
    assert command("diff", path, "out.h5")[0] == 0


def test_convert_to_a_store_is_refused_before_anything_is_written(server, succeed, command,
                                                                  tmp_path):
    succeed("w", STORES[0], {"steps": 2})
    assert command("convert", STORES[0], "here.zarr")[0] == 0
    code, out, err = command("convert", "here.zarr", "s3://data/there.zarr")
    assert (code, out) == (BAD_INPUT, "") and err.count("\n") == 1
    assert "only reads from object stores" in err
    assert not server.object_path("data", "there.zarr").exists()
    assert not [p for p in tmp_path.iterdir() if p.name.startswith("s3:")]


def test_the_time_limit_is_that_of_the_settings(command):
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # and does not listen
        endpoint = f"http://127.0.0.1:{nobody.getsockname()[1]}"
        began = time.monotonic()
        code, out, err = command("ls", STORES[0], endpoint=endpoint, SLUICE_TIMEOUT_S="30")
    assert (code, out) == (BAD_INPUT, "")
    assert 3 < time.monotonic() - began < 60  # without the setting 84
    said, failed = err.splitlines()
    assert "it is tried again for " in said and "look-up" in said
    assert "look-up" in failed
    code, _, err = command("ls", STORES[0], SLUICE_TIMEOUT_S="soon")
    assert code == BAD_INPUT and "SLUICE_TIMEOUT_S" in err
