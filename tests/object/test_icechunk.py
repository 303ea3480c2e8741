"""Icechunk repositories in an object store, as the package icechunk reads and continues them."""

import os

import pytest

import oracle
from faulty_proxy import Proxy

STRATEGIES = ["shared", "serial", "collective", "forward", "auto"]
SHAPE = (40, 24)
ADDRESS = "s3://data/runs/run.icechunk"
PREFIX = "runs/run.icechunk"
SHORT = {"timeout_s": 6}
ROUNDS = 40 if os.environ.get("SLUICE_LONG") == "1" else 3


def steps(server, **version):
    return oracle.steps_by_icechunk(server, "data", PREFIX, SHAPE, **version)


@pytest.mark.parametrize("ranks", [1, 4])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_values_are_equal(server, succeed, strategy, ranks):
    succeed("w", ADDRESS, {"strategy": strategy, "seed": ranks, "steps": 3}, ranks=ranks)
    assert steps(server) == 3
    succeed("read", ADDRESS, {"steps": 3}, ranks=5 - ranks)
    succeed("a", ADDRESS, {"strategy": strategy, "first": 3, "steps": 1}, ranks=2)
    assert steps(server) == 4
    messages = [s.message for s in
                oracle.open_by_icechunk(server, "data", PREFIX).ancestry(branch="main")]
    assert sum(text.startswith("step ") for text in messages) == 4


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_compressed_values_are_equal(server, succeed, strategy):
    succeed("w", ADDRESS, {"strategy": strategy, "compress": "zstd", "seed": 7}, ranks=3)
    assert steps(server) == 2
    succeed("read", ADDRESS, {"steps": 2}, ranks=2)


def test_large_chunks_go_in_parts(server, succeed):
    shape = (2048, 1400)  # 22 MB a step
    succeed("w", ADDRESS, {"shape": shape, "steps": 1, "strategy": "collective"})
    assert oracle.steps_by_icechunk(server, "data", PREFIX, shape) == 1


def test_branches_and_tags(server, succeed, refused):
    succeed("w", ADDRESS, {"steps": 2, "tags": "step-{step}"})
    succeed("a", ADDRESS, {"first": 2, "steps": 2, "branch": "trial", "tags": "trial-{step}"})
    succeed("a", ADDRESS, {"first": 4, "steps": 1, "branch": "trial"})
    repo = oracle.open_by_icechunk(server, "data", PREFIX)
    assert sorted(repo.list_tags()) == ["step-0", "step-1", "trial-2", "trial-3"]
    assert sorted(repo.list_branches()) == ["main", "trial"]
    assert steps(server) == 2 and steps(server, branch="trial") == 5
    assert steps(server, tag="step-0") == 1 and steps(server, tag="trial-3") == 4
    succeed("read", ADDRESS + "@trial", {"steps": 5})
    assert refused("w", ADDRESS, {"branch": "trial"}).startswith("EXISTS")
    succeed("w", "s3://data/other.icechunk", {"steps": 2, "branch": "trial"})
    repo = oracle.open_by_icechunk(server, "data", "other.icechunk")
    assert sorted(repo.list_branches()) == ["main", "trial"]
    assert not list(server.object_path("data", "other.icechunk").rglob("*sluice-new*"))


def test_icechunk_continues_what_sluice_wrote(server, succeed):
    import numpy as np
    import zarr
    succeed("w", ADDRESS, {"steps": 2})
    session = oracle.open_by_icechunk(server, "data", PREFIX).writable_session("main")
    zarr.open_group(session.store).create_array("theirs", data=np.arange(5))
    session.commit("theirs")
    assert steps(server) == 2


def test_another_program_that_commits_in_between_is_not_overwritten(server, job, tmp_path):
    wait = tmp_path / "wait"
    wait.touch()
    running = job("w", ADDRESS, {"steps": 2, "wait": str(wait), "strategy": "shared"})
    for line in running.run.stdout:
        if line.startswith("step 0"):
            break
    import numpy as np
    import zarr
    session = oracle.open_by_icechunk(server, "data", PREFIX).writable_session("main")
    zarr.open_group(session.store).create_array("theirs", data=np.arange(5))
    session.commit("theirs")
    wait.unlink()
    code, text = running.wait()
    assert code == 3 and "LOCKED" in text and "another writer changed the store" in text, text
    repo = oracle.open_by_icechunk(server, "data", PREFIX)
    assert next(iter(repo.ancestry(branch="main"))).message == "theirs"
    assert steps(server) == 1


def test_a_repository_that_is_there_is_not_replaced(server, succeed, refused):
    succeed("w", ADDRESS, {"steps": 2})
    assert refused("w", ADDRESS, {}).startswith("EXISTS")
    assert steps(server) == 2


@pytest.mark.parametrize("mode", ["w", "a"])
def test_a_store_without_conditional_puts_is_refused(server, succeed, refused, mode):
    if mode == "a":
        succeed("w", ADDRESS, {"steps": 1})

    def choose(method, path, headers):
        conditional = headers.get("If-None-Match") or headers.get("If-Match")
        return "no-conditions" if method == "PUT" and conditional else None
    with Proxy(server.port, choose) as proxy:
        text = refused(mode, ADDRESS, SHORT, endpoint=proxy.endpoint)
    assert text.startswith("UNSUPPORTED") and "conditional puts" in text, text
    if mode == "a":
        assert steps(server) == 1


def test_a_lost_answer_of_the_commit_is_no_failure(server, succeed):
    count = [0]

    def choose(method, path, headers):
        if method == "PUT" and path.endswith("/refs/branch.main/ref.json"):
            count[0] += 1
            return "lost" if count[0] % 2 == 1 else None
        return None
    with Proxy(server.port, choose) as proxy:
        succeed("w", ADDRESS, {"steps": 4}, endpoint=proxy.endpoint)
        assert proxy.count("lost") > 1
    assert steps(server) == 4


def settled_steps(server):
    """After a kill. The server keeps the checksums of its objects beside them: while it carries out
    what it was sent they may not match what it returns."""
    import time

    import icechunk

    def look():
        for _ in range(20):
            try:
                return steps(server)
            except icechunk.IcechunkError as error:
                if "checksum mismatch" not in str(error):
                    raise
                time.sleep(0.25)
        return steps(server)
    return oracle.settled(look)


@pytest.mark.parametrize("number", range(ROUNDS))
def test_a_killed_run_leaves_whole_snapshots(server, job, succeed, number):
    import random
    import time
    running = job("w", ADDRESS, {"steps": 40, "strategy": ["shared", "forward"][number % 2]})
    last = number % 6
    for line in running.run.stdout:
        if line.startswith(f"step {last}"):
            break
    time.sleep(random.Random(number).random() * 0.2)
    import jobs
    jobs.kill_job(running.run)
    running.wait()
    found = settled_steps(server) if server.object_path(
        "data", PREFIX + "/refs/branch.main/ref.json").exists() else 0
    # With `forward` a step is durable later than its end.
    assert (last if number % 2 == 0 else -1) < found <= 40
    if found:
        succeed("a", ADDRESS, {"first": found, "steps": 2}, ranks=3)
        assert steps(server) == found + 2
