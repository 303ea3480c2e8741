"""Bad days: nothing is lost, nothing is half-visible, nothing hangs, and errors are one line."""

import os
import random
import time

import pytest

import oracle
import server as servers
from faulty_proxy import Proxy

SHAPE = (40, 24)
ADDRESS = "s3://data/run.zarr"
SHORT = {"timeout_s": 6}
ROUNDS = 40 if os.environ.get("SLUICE_LONG") == "1" else 3


def every(fault, n, when=lambda method, path: True):
    """`fault` on the first of n requests that are meant."""
    count = [0]

    def choose(method, path, headers):
        if not when(method, path):
            return None
        count[0] += 1
        return fault if count[0] % n == 1 else None
    return choose


@pytest.mark.parametrize("fault", ["reset", "lost", "cut", "500", "slowdown", "slow"])
def test_what_passes_is_tried_again(server, succeed, fault):
    with Proxy(server.port, every(fault, 4)) as proxy:
        succeed("w", ADDRESS, {"steps": 2}, endpoint=proxy.endpoint)
        assert proxy.count(fault) > 3
        succeed("read", ADDRESS, {"steps": 2}, endpoint=proxy.endpoint)
    oracle.check(server, "data", "run.zarr", SHAPE, 2)


def test_an_answer_that_is_always_slow_is_waited_for(server, succeed):
    def choose(method, path, headers):
        return "slow" if method == "PUT" and "/x/c" in path else None
    with Proxy(server.port, choose) as proxy:
        succeed("w", ADDRESS, {"steps": 1, **SHORT}, endpoint=proxy.endpoint)
        slow = [path for _, path, what in proxy.seen if what == "slow"]
    assert slow and len(slow) == len(set(slow)), slow  # none was given up, and tried again
    oracle.check(server, "data", "run.zarr", SHAPE, 1)


@pytest.mark.parametrize("number", range(ROUNDS))
def test_all_at_once(server, succeed, number):
    chance = random.Random(number)
    faults = ["reset", "lost", "cut", "500", "slowdown", "slow"]
    strategy = ["shared", "collective", "forward", "serial"][number % 4]

    def choose(method, path, headers):
        return chance.choice(faults) if chance.random() < 0.2 else None
    with Proxy(server.port, choose) as proxy:
        succeed("w", ADDRESS, {"steps": 3, "strategy": strategy, "seed": number},
                endpoint=proxy.endpoint, ranks=2 + number % 2)
    oracle.check(server, "data", "run.zarr", SHAPE, 3)


@pytest.mark.parametrize("fault, code, words", [
    ("skewed", "IO", "clock of this machine differs"),
    ("expired", "PERMISSION", "credentials have expired"),
    ("denied", "PERMISSION", "does not allow it"),
])
def test_what_does_not_pass_is_one_error(server, refused, fault, code, words):
    with Proxy(server.port, lambda *_: fault) as proxy:
        text = refused("w", ADDRESS, SHORT, endpoint=proxy.endpoint)
        assert text.startswith(code) and words in text, text


@pytest.mark.parametrize("fault", ["500", "reset", "silent"])
def test_a_store_that_is_away_is_an_error_by_the_deadline(server, refused, fault):
    began = time.monotonic()
    with Proxy(server.port, lambda *_: fault) as proxy:
        text = refused("w", ADDRESS, SHORT, endpoint=proxy.endpoint)
    assert text.startswith("IO") and "endpoint" in text, text
    assert time.monotonic() - began < 60


def test_denied_data_fails_the_step_and_nothing_shows(server, refused):
    def choose(method, path, headers):
        return "denied" if method == "PUT" and "/x/c.1" in path else None
    with Proxy(server.port, choose) as proxy:
        text = refused("w", ADDRESS, {"steps": 3, **SHORT}, endpoint=proxy.endpoint)
        assert text.startswith("PERMISSION"), text
    oracle.check(server, "data", "run.zarr", SHAPE, 1)


def test_a_lost_answer_of_the_commit_is_no_failure(server, succeed):
    def when(method, path):
        return method == "PUT" and path.endswith("/data/run.zarr/zarr.json")
    with Proxy(server.port, every("lost", 2, when)) as proxy:
        succeed("w", ADDRESS, {"steps": 4}, endpoint=proxy.endpoint)
        assert proxy.count("lost") > 1
    oracle.check(server, "data", "run.zarr", SHAPE, 4)


def is_end_of_an_upload(method, path):
    return method == "POST" and "uploadId=" in path


def test_an_error_inside_the_answer_to_the_end_of_an_upload_is_tried_again(server, succeed):
    shape = (2048, 1400)  # 22 MB a step, in parts
    told = {"shape": shape, "steps": 2, "strategy": "collective"}
    with Proxy(server.port, every("inside", 3, is_end_of_an_upload)) as proxy:
        succeed("w", ADDRESS, told, endpoint=proxy.endpoint)
        assert proxy.count("inside") > 0
    oracle.check(server, "data", "run.zarr", shape, 2)


def test_an_error_inside_an_answer_that_does_not_pass_is_told(server, refused):
    told = {"shape": (2048, 1400), "steps": 1, "strategy": "collective", **SHORT}
    with Proxy(server.port, every("denied-inside", 99, is_end_of_an_upload)) as proxy:
        text = refused("w", ADDRESS, told, endpoint=proxy.endpoint)
    assert text.startswith("PERMISSION") and "AccessDenied" in text, text


def test_a_lost_answer_of_the_lease_is_no_failure(server, succeed):
    """The record of the lease is there, and says which put of which process made it."""
    def when(method, path):
        return method == "PUT" and path.endswith(".sluice-lease")
    with Proxy(server.port, every("lost", 100, when)) as proxy:
        succeed("w", ADDRESS, {"steps": 2}, endpoint=proxy.endpoint)
        assert proxy.count("lost") == 1
    oracle.check(server, "data", "run.zarr", SHAPE, 2)


def test_a_store_without_conditional_puts_is_used_with_a_word(server, succeed):
    def choose(method, path, headers):
        conditional = headers.get("If-None-Match") or headers.get("If-Match")
        return "no-conditions" if method == "PUT" and conditional else None
    with Proxy(server.port, choose) as proxy:
        text = succeed("w", ADDRESS, {"steps": 2}, endpoint=proxy.endpoint)
        assert "no conditional puts" in text, text
    oracle.check(server, "data", "run.zarr", SHAPE, 2)


def test_no_such_bucket(refused):
    text = refused("w", "s3://nowhere/run.zarr", SHORT)
    assert text.startswith("NOT_FOUND") and "no such bucket" in text
    text = refused("read", "s3://nowhere/run.zarr", {"steps": 1})
    assert text.startswith("NOT_FOUND") and "no such bucket" in text


def test_no_such_store(refused):
    assert refused("read", "s3://data/nothing.zarr", {"steps": 1}).startswith("NOT_FOUND")


def test_wrong_credentials(refused):
    text = refused("w", ADDRESS, SHORT, AWS_SECRET_ACCESS_KEY="wrong-and-hidden")
    assert text.startswith("PERMISSION") and "hidden" not in text
    text = refused("w", ADDRESS, SHORT, AWS_ACCESS_KEY_ID="", AWS_SECRET_ACCESS_KEY="")
    assert text.startswith("PERMISSION") and "AWS_ACCESS_KEY_ID" in text


def test_files_without_credentials_leave_those_in_hand(server, succeed, tmp_path):
    """They are read again when the store says that a token has expired, and may be half written."""
    files = tmp_path / "credentials"
    files.write_text(f"[default]\naws_access_key_id={servers.KEY}\n"
                     f"aws_secret_access_key={servers.SECRET}\n")
    expired = []

    def choose(method, path, headers):
        if method == "PUT" and "/x/c." in path and path not in expired:
            files.write_text("[default]\naws_access_key_id=")
            expired.append(path)
            return "expired"
        return None
    with Proxy(server.port, choose) as proxy:
        succeed("w", ADDRESS, {"steps": 2, **SHORT}, endpoint=proxy.endpoint, AWS_ACCESS_KEY_ID="",
                AWS_SECRET_ACCESS_KEY="", AWS_SHARED_CREDENTIALS_FILE=str(files))
        assert proxy.count("expired") > 1
    oracle.check(server, "data", "run.zarr", SHAPE, 2)


def test_a_second_writer_is_kept_out(server, job, refused, tmp_path):
    wait = tmp_path / "wait"
    wait.touch()
    first = job("w", ADDRESS, {"steps": 2, "wait": str(wait)})
    first.run.stdout.readline()  # its first step is there
    text = refused("a", ADDRESS, {"first": 1, "steps": 1, **SHORT})
    assert text.startswith("LOCKED") and "another process writes it" in text
    wait.unlink()
    code, text = first.wait()
    assert code == 0, text
    oracle.check(server, "data", "run.zarr", SHAPE, 2)


def test_the_record_of_who_took_the_lease_over_stays(server, job, refused, tmp_path):
    wait = tmp_path / "wait"
    wait.touch()
    first = job("w", ADDRESS, {"steps": 2, "wait": str(wait)})
    first.run.stdout.readline()
    record = server.object_path("data", "run.zarr.sluice-lease")
    record.write_text("host other, process 7\nsluice-lease 1 kernel-x 1 7 99 file\n")
    wait.unlink()
    first.wait()
    assert record.exists()
    text = refused("a", ADDRESS, {"first": 2, "steps": 1, **SHORT})
    assert text.startswith("LOCKED") and "host other" in text, text


def test_who_has_lost_the_record_of_the_lease_is_told(server, job, tmp_path):
    """Also where the store says of a conditional put that there is nothing to replace."""
    renewed_s = 20
    wait = tmp_path / "wait"
    wait.touch()

    def choose(method, path, headers):
        is_renewal = method == "PUT" and path.endswith(".sluice-lease") and "If-Match" in headers
        return "absent" if is_renewal else None
    with Proxy(server.port, choose) as proxy:
        running = job("w", ADDRESS, {"steps": 2, "wait": str(wait)}, endpoint=proxy.endpoint)
        running.run.stdout.readline()
        server.object_path("data", "run.zarr.sluice-lease").unlink()
        before = proxy.count("absent")  # of the opening: what no object has was to be replaced
        time.sleep(renewed_s + 5)
        assert proxy.count("absent") > before
        wait.unlink()
        code, text = running.wait()
    assert code == 3 and "LOCKED" in text and "writer lease" in text, text


def test_another_etag_of_the_same_object_is_no_other_writer(server, job, tmp_path):
    """The commit's number says what the object holds: stores may give it another etag."""
    wait = tmp_path / "wait"
    wait.touch()
    running = job("w", ADDRESS, {"steps": 3, "wait": str(wait)})
    running.run.stdout.readline()  # its first step is there
    server.set_etag("data", "run.zarr/zarr.json", '"0123456789abcdef0123456789abcdef"')
    wait.unlink()
    code, text = running.wait()
    assert code == 0, text
    oracle.check(server, "data", "run.zarr", SHAPE, 3)


@pytest.mark.usefixtures("credentials")
def test_an_object_that_another_wrote_is_not_replaced(server, job, tmp_path):
    wait = tmp_path / "wait"
    wait.touch()
    running = job("w", ADDRESS, {"steps": 3, "wait": str(wait)})
    running.run.stdout.readline()
    manifest = server.object_path("data", "run.zarr/zarr.json").read_bytes()
    oracle.put_by_tensorstore(server, "data", "run.zarr", "zarr.json", manifest + b"\n")
    wait.unlink()
    code, text = running.wait()
    assert code == 3 and "another writer changed the store" in text, text


@pytest.mark.parametrize("number", range(ROUNDS))
def test_the_server_is_killed_and_comes_back(server, job, number):
    """A run that goes on over an outage of seconds loses nothing."""
    running = job("w", ADDRESS, {"steps": 12, "strategy": ["shared", "forward"][number % 2]})
    for line in running.run.stdout:
        if line.startswith(f"step {2 + number % 5}"):
            break
    server.kill()
    time.sleep(1)
    server.start()
    code, text = running.wait()
    assert code == 0, text
    oracle.check(server, "data", "run.zarr", SHAPE, 12)


@pytest.mark.parametrize("number", range(ROUNDS))
def test_a_killed_run_leaves_whole_steps(server, job, succeed, number):
    running = job("w", ADDRESS, {"steps": 40})
    last = number % 6
    for line in running.run.stdout:
        if line.startswith(f"step {last}"):
            break
    time.sleep(random.Random(number).random() * 0.2)
    import jobs
    jobs.kill_job(running.run)
    running.wait()
    steps = oracle.settled(
        lambda: oracle.open_by_zarr(server, "data", "run.zarr")["x"].shape[0])
    assert last < steps <= 40
    oracle.check(server, "data", "run.zarr", SHAPE, steps)
    # On this machine the lease of a process that has ended is taken over at once.
    succeed("a", ADDRESS, {"first": steps, "steps": 2}, ranks=3)
    oracle.check(server, "data", "run.zarr", SHAPE, steps + 2)
