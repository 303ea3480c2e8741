"""What every strategy writes to an object store is what every reader finds.

SLUICE_LONG=1: every strategy on every number of ranks."""

import os

import numpy as np
import pytest

import oracle
import sluice

STRATEGIES = ["shared", "serial", "collective", "forward", "auto"]
IS_LONG = os.environ.get("SLUICE_LONG") == "1"
# Otherwise one of them on all, the others on one, so that each number has several.
PAIRS = [(strategy, ranks) for k, strategy in enumerate(STRATEGIES) for ranks in range(1, 5)
         if IS_LONG or strategy == "shared" or ranks == 1 + k % 4]


@pytest.mark.parametrize("strategy, ranks", PAIRS)
def test_values_are_equal(server, succeed, strategy, ranks):
    shape = (40, 24)
    told = {"strategy": strategy, "shape": shape, "seed": ranks, "steps": 3,
            "rectilinear": "false" if ranks == 3 else "auto"}
    succeed("w", "s3://data/run.zarr", told, ranks=ranks)
    oracle.check(server, "data", "run.zarr", shape, 3)
    succeed("read", "s3://data/run.zarr", {"shape": shape, "steps": 3}, ranks=5 - ranks)


@pytest.mark.parametrize("strategy", STRATEGIES if IS_LONG else ["serial", "collective", "forward"])
def test_compressed_values_are_equal(server, succeed, strategy):
    told = {"strategy": strategy, "compress": "zstd", "seed": 7}
    succeed("w", "s3://data/a/b/run.zarr", told, ranks=3)
    oracle.check(server, "data", "a/b/run.zarr", (40, 24), 2)
    succeed("read", "s3://data/a/b/run.zarr", {"steps": 2}, ranks=2)


@pytest.mark.parametrize("strategy", ["forward", *(["shared", "collective"] if IS_LONG else [])])
def test_large_objects_go_in_parts(server, succeed, strategy):
    shape = (2048, 1400)  # 22 MB a step
    told = {"strategy": strategy, "shape": shape, "steps": 1}
    succeed("w", "s3://data/large.zarr", told, ranks=2)
    oracle.check(server, "data", "large.zarr", shape, 1)
    succeed("read", "s3://data/large.zarr", {"shape": shape, "steps": 1}, ranks=3)


def test_appends(server, succeed):
    succeed("w", "s3://data/run.zarr", {"steps": 2})
    succeed("a", "s3://data/run.zarr", {"first": 2, "steps": 2, "strategy": "collective"}, ranks=3)
    oracle.check(server, "data", "run.zarr", (40, 24), 4)


@pytest.mark.usefixtures("credentials")
def test_tensorstore_reads_by_the_protocol(server, succeed):
    succeed("w", "s3://data/run.zarr", {"steps": 2, "rectilinear": "false"}, ranks=4)
    found = oracle.read_by_tensorstore(server, "data", "run.zarr", "x")
    np.testing.assert_array_equal(found, [oracle.values((40, 24), s) for s in range(2)])


def test_nothing_else_is_left(server, succeed):
    succeed("w", "s3://data/run.zarr", {"steps": 2})
    left = sorted(p.name for p in server.object_path("data", "").iterdir()
                  if not p.name.startswith(".sgwtmp"))
    assert left == ["run.zarr"]
    assert not list(server.object_path("data", "run.zarr").glob("*sluice-new*"))


def test_what_one_file_holds_is_refused(server, refused):
    text = refused("w", "s3://data/run.h5", {})
    assert text.startswith("UNSUPPORTED") and "format zarr" in text
    text = refused("w", "s3://data/run.nc", {})
    assert text.startswith("UNSUPPORTED") and "format zarr" in text


def test_a_store_that_is_there_is_not_replaced(server, succeed, refused):
    succeed("w", "s3://data/run.zarr", {"steps": 2})
    assert refused("w", "s3://data/run.zarr", {}).startswith("EXISTS")
    text = refused("x", "s3://data/run.zarr", {})
    assert text.startswith("EXISTS") and "aws s3 rm --recursive s3://data/run.zarr" in text
    assert "mode write" not in text  # which is refused, too
    (server.object_path("data", "other.zarr")).mkdir()
    (server.object_path("data", "other.zarr") / "notes").write_text("mine")
    assert refused("w", "s3://data/other.zarr", {}).startswith("EXISTS")
    assert (server.object_path("data", "other.zarr") / "notes").read_text() == "mine"
    oracle.check(server, "data", "run.zarr", (40, 24), 2)


@pytest.mark.usefixtures("credentials")
def test_checkpoints_are_restored_if_all_are_kept():
    with pytest.raises(sluice.Error, match="keep = 0") as refused:
        sluice.Checkpoint("s3://data/state.zarr")
    assert refused.value.code == sluice.Code.UNSUPPORTED
    with pytest.raises(sluice.Error, match="whole objects.*zarr with keep = 0"):
        sluice.Checkpoint("s3://data/state.h5")
    for run in range(3):
        x = np.full(8, -1.0)
        with sluice.Checkpoint("s3://data/state.zarr", keep=0) as state:
            state.array("x", x)
            assert state.restore().number == run
            assert (x == run - 1).all()
            x[:] = run
            assert state.save(run)


def test_memory_is_bounded(server, succeed):
    shape = (4096, 4096)  # 128 MiB
    told = {"shape": shape, "steps": 1, "budget_bytes": 16 << 20, "strategy": "serial"}
    if IS_LONG:
        succeed("w", "s3://data/run.zarr", told, ranks=2)
        oracle.check(server, "data", "run.zarr", shape, 1)
    told["shape"] = (1024, 2048)  # 16 MiB
    succeed("w", "s3://data/small.zarr", told, ranks=2)
    oracle.check(server, "data", "small.zarr", tuple(told["shape"]), 1)
