"""Repositories of Icechunk on several ranks, beside the package icechunk: every rank runs every
test, under mpirun; rank 0 looks."""

import os
import shutil

import numpy as np
import pytest

MPI = pytest.importorskip("mpi4py.MPI", reason="mpi4py is not installed")

import icechunk  # noqa: E402
import xarray  # noqa: E402
import zarr  # noqa: E402

import sluice  # noqa: E402
from on_ranks import folder_of_all, only_on_rank_0  # noqa: E402
from sluice import Code, Error  # noqa: E402

COMM = MPI.COMM_WORLD
RANK, RANKS = COMM.rank, COMM.size
STRATEGIES = ["serial", "shared", "collective", "forward", "auto"]
RUNS = 100 if os.environ.get("SLUICE_LONG") == "1" else 5


@pytest.fixture
def path():
    with folder_of_all() as folder:
        yield str(folder / "run.icechunk")


def repository(path):
    return icechunk.Repository.open(icechunk.local_filesystem_storage(path))


def root_of(repo, **version):
    version = version or {"branch": "main"}
    return zarr.open_group(repo.readonly_session(**version).store, mode="r")


def values(shape, step, dtype="f8"):
    count = int(np.prod(shape))
    return (1000 * step + np.arange(count)).reshape(shape).astype(dtype)


def own_rows(rows, cuts):
    return cuts[RANK] * rows // cuts[-1], cuts[RANK + 1] * rows // cuts[-1]


def write(path, mode, shape, steps, cuts=None, first=0, dtype="f8", **options):
    cuts = cuts if cuts is not None else list(range(RANKS + 1))
    begin, end = own_rows(shape[0], cuts)
    with sluice.open(path, mode, comm=COMM, timeout_s=60, log="off", **options) as out:
        if mode == "w":
            out.define("g/v", dtype, shape, steps=True)
            out.put("x", values((shape[0],), 0)[begin:end], shape=(shape[0],), start=(begin,))
        for step in range(first, first + steps):
            with out.step(time=0.5 * step):
                out.put("g/v", values(shape, step, dtype)[begin:end],
                        start=(begin,) + (0,) * (len(shape) - 1))


def steps_in_history(repo):
    found = [snapshot.message for snapshot in repo.ancestry(branch="main")]
    return [int(text.split()[1].rstrip(",")) for text in found if text.startswith("step ")][::-1]


def test_random_decompositions_by_every_strategy(path):
    random = np.random.default_rng(20261125)  # the same on every rank
    for run in range(RUNS):
        shape = tuple(int(n) for n in random.integers(1, 40, random.integers(1, 4)))
        cuts = [0, *sorted(int(c) for c in random.integers(0, 101, RANKS - 1)), 100]
        dtype = str(random.choice(["f8", "f4", "i4", "u2"]))
        steps = int(random.integers(1, 5))
        compress = str(random.choice(["none", "zstd:3", "deflate:1"]))
        strategy = STRATEGIES[run % len(STRATEGIES)]
        write(path, "w", shape, steps, cuts, dtype=dtype, strategy=strategy, compress=compress)

        def look():
            repo = repository(path)
            group = root_of(repo)
            for step in range(steps):
                assert np.array_equal(group["g/v"][step], values(shape, step, dtype)), (
                    run, shape, cuts, dtype, strategy, compress)
            assert np.array_equal(group["x"][:], values((shape[0],), 0))
            assert steps_in_history(repo) == list(range(steps))
            store = repo.readonly_session("main").store
            opened = xarray.open_zarr(store, group="g", consolidated=False)
            assert np.array_equal(opened["v"].values, group["g/v"][:])

        only_on_rank_0(look)


def test_every_step_is_a_snapshot_that_stays(path):
    write(path, "w", (6, 4), 3)
    write(path, "a", (6, 4), 2, first=3)

    def look():
        repo = repository(path)
        assert steps_in_history(repo) == [0, 1, 2, 3, 4]
        for snapshot in repo.ancestry(branch="main"):
            if snapshot.message.startswith("step "):
                step = int(snapshot.message.split()[1].rstrip(","))
                group = root_of(repo, snapshot_id=snapshot.id)
                assert group["g/v"].shape[0] == step + 1
                assert np.array_equal(group["g/v"][step], values((6, 4), step))
                with sluice.open(f"{path}@{snapshot.id}") as file:
                    assert np.array_equal(file["g/v"].get(step=step), values((6, 4), step))
            if snapshot.parent_id:
                assert repo.diff(from_snapshot_id=snapshot.parent_id,
                                 to_snapshot_id=snapshot.id).updated_chunks

    only_on_rank_0(look)


def test_steps_that_are_dropped_stay_in_the_history(path):
    write(path, "w", (5, 3), 4)
    write(path, "a", (5, 3), 2, first=2, restart_after=1, strategy="collective")

    def look():
        repo = repository(path)
        group = root_of(repo)
        assert group["g/v"].shape == (4, 5, 3)
        for step in range(4):
            assert np.array_equal(group["g/v"][step], values((5, 3), step))
        assert steps_in_history(repo) == [0, 1, 2, 3, 2, 3]

    only_on_rank_0(look)


def test_more_chunks_than_a_manifest_has(path):
    """A commit with its own manifest ends it; what was before stays found, and can be dropped."""
    shape, steps = (256, 2), 20
    begin, end = own_rows(shape[0], list(range(RANKS + 1)))

    def put(out, step):
        with out.step():
            out.put("v", values(shape, step)[begin:end], start=(begin, 0))

    with sluice.open(path, "w", comm=COMM, log="off", durability="none") as out:
        for number in range(150):
            out.define(f"n{number}", "i4", (), steps=True, partial=True)
        out.define("v", float, shape, steps=True)
        for step in range(steps):
            with out.step():
                out.put("v", values(shape, step)[begin:end], start=(begin, 0))
                for number in range(150):
                    if RANK == 0:
                        out.put(f"n{number}", np.int32(1000 * step + number))
    with sluice.open(path, "a", comm=COMM, log="off", restart_after=9) as out:
        for step in range(10, 13):
            put(out, step)

    def look():
        repo = repository(path)
        assert len(os.listdir(os.path.join(path, "manifests"))) > 20
        group = root_of(repo)
        for step in range(13):
            assert np.array_equal(group["v"][step], values(shape, step))
        for number in (0, 149):
            assert np.array_equal(group[f"n{number}"][:10], 1000 * np.arange(10) + number)
        with sluice.open(path) as file:
            assert np.array_equal(file["v"].get(step=12), values(shape, 12))
        # Icechunk commits on top of it, and finds everything.
        session = repo.writable_session("main")
        zarr.open_group(session.store)["v"][0] = values(shape, 99)
        session.commit("edited by another program")
        group = root_of(repo)
        assert np.array_equal(group["v"][0], values(shape, 99))
        for step in range(1, 13):
            assert np.array_equal(group["v"][step], values(shape, step))

    only_on_rank_0(look)


def test_another_program_that_commits_in_between_is_not_overwritten(path):
    failure = None
    try:
        with sluice.open(path, "w", comm=COMM, timeout_s=60, log="off") as out:
            out.define("v", float, (RANKS,), steps=True)
            with out.step():
                out.put("v", np.array([1.0]), start=(RANK,))
            if RANK == 0:
                session = repository(path).writable_session("main")
                zarr.open_group(session.store).create_array("theirs", data=np.arange(5))
                session.commit("theirs")
            COMM.Barrier()
            with out.step():
                out.put("v", np.array([2.0]), start=(RANK,))
    except Error as error:
        failure = error
    assert failure is not None and failure.code == Code.LOCKED
    assert "another program committed" in str(failure)

    def look():
        repo = repository(path)
        assert next(iter(repo.ancestry(branch="main"))).message == "theirs"
        group = root_of(repo)
        assert np.array_equal(group["theirs"][:], np.arange(5))
        assert np.array_equal(group["v"][:], np.ones((1, RANKS)))

    only_on_rank_0(look)


def test_a_branch_leaves_main_as_it_was(path):
    write(path, "w", (6, 4), 3)
    for run, strategy in enumerate(STRATEGIES):
        name = f"trial-{run}"
        write(path, "a", (6, 4), 2, first=2, restart_after=1, branch=name, strategy=strategy)
        write(path, "a", (6, 4), 1, first=4, branch=name)  # onto the branch as it is now

        def look():
            repo = repository(path)
            assert name in repo.list_branches()
            assert steps_in_history(repo) == [0, 1, 2]
            assert root_of(repo)["g/v"].shape[0] == 3
            group = root_of(repo, branch=name)
            assert group["g/v"].shape[0] == 5
            for step in range(5):
                assert np.array_equal(group["g/v"][step], values((6, 4), step))
            history = [snapshot.id for snapshot in repo.ancestry(branch=name)]
            assert repo.lookup_branch("main") in history  # it began at the head of main
            # Icechunk commits on top of it.
            session = repo.writable_session(name)
            zarr.open_group(session.store).create_array("theirs", data=np.arange(3))
            session.commit("theirs")

        only_on_rank_0(look)
        with sluice.open(f"{path}@{name}", comm=COMM) as file:
            assert file.steps == 5
            assert np.array_equal(file["g/v"].get(step=4), values((6, 4), 4))
    write(path, "a", (6, 4), 1, first=3)

    def look_at_main():
        assert steps_in_history(repository(path)) == [0, 1, 2, 3]

    only_on_rank_0(look_at_main)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_new_repository_may_begin_on_a_branch(path, strategy):
    write(path, "w", (6, 4), 2, branch="trial", strategy=strategy)

    def look():
        repo = repository(path)
        assert sorted(repo.list_branches()) == ["main", "trial"]
        assert [s.message for s in repo.ancestry(branch="main")] == ["Repository initialized"]
        assert np.array_equal(root_of(repo, branch="trial")["g/v"][1], values((6, 4), 1))

    only_on_rank_0(look)
    with pytest.raises(Error, match="replaced with its whole history.*append"):
        write(path, "w", (6, 4), 1, branch="trial")
    with sluice.open(path + "@trial", comm=COMM) as file:
        assert file.steps == 2


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_step_has_its_tag_if_asked(path, strategy):
    write(path, "w", (6, 4), 3, tags="{branch}-step-{step}", strategy=strategy)

    def look():
        repo = repository(path)
        assert sorted(repo.list_tags()) == [f"main-step-{step}" for step in range(3)]
        for step in range(3):
            group = root_of(repo, tag=f"main-step-{step}")
            assert group["g/v"].shape[0] == step + 1
            assert np.array_equal(group["g/v"][step], values((6, 4), step))

    only_on_rank_0(look)
    with sluice.open(path + "@main-step-1", comm=COMM) as file:
        assert file.steps == 2
    # A tag never changes: steps that are written again need other names.
    with pytest.raises(Error, match="tag.*main-step-2.*other names"):
        write(path, "a", (6, 4), 1, first=2, restart_after=1, tags="{branch}-step-{step}")
    write(path, "a", (6, 4), 1, first=2, tags="again-{step}")

    def look_again():
        assert sorted(repository(path).list_tags())[0] == "again-2"
        assert len(repository(path).list_tags()) == 4

    only_on_rank_0(look_again)


def test_the_tag_that_a_crash_left_out_is_made_by_the_next_run(path):
    write(path, "w", (6, 4), 2, tags="step-{step}")
    only_on_rank_0(lambda: shutil.rmtree(os.path.join(path, "refs", "tag.step-1")))
    write(path, "a", (6, 4), 1, first=2, tags="step-{step}")

    def look():
        repo = repository(path)
        assert sorted(repo.list_tags()) == ["step-0", "step-1", "step-2"]
        assert root_of(repo, tag="step-1")["g/v"].shape[0] == 2

    only_on_rank_0(look)


def test_names_that_cannot_be_are_refused(path):
    for wrong in ("a/b", "", ".hidden", "a b", "x" * 300):
        with pytest.raises(Error, match="no name of a branch"):
            write(path, "w", (6, 4), 1, branch=wrong)
    with pytest.raises(Error, match=r"use \{step\}"):
        write(path, "w", (6, 4), 1, tags="always-the-same")
    with pytest.raises(Error, match="no name of a branch or a tag"):
        write(path, "w", (6, 4), 1, tags="a/{step}")
    for name, told in (("branch", {"branch": "trial"}), ("tags", {"tags": "step-{step}"})):
        with pytest.raises(Error, match=f"no history: leave out the setting {name}"):
            write(path.replace(".icechunk", ".zarr"), "w", (6, 4), 1, **told)
    only_on_rank_0(lambda: os.path.exists(path) and pytest.fail("something was left"))


def test_what_icechunk_wrote_is_read(path):
    made = {}

    def make():
        repo = icechunk.Repository.create(icechunk.local_filesystem_storage(path))
        session = repo.writable_session("main")
        group = zarr.create_group(session.store, attributes={"title": "theirs"})
        for name, shape, chunks, more in (
            ("inlined", (4, 6), (2, 3), {}), ("plain", (7, 5), (3, 2), {"compressors": None}),
            ("large", (4, 6000), (2, 3000), {"compressors": None}),
            ("zstd", (50, 70), (20, 30), {}),
            ("shards", (128, 128), (16, 16), {"shards": (64, 64)}), ("scalar", (), (), {}),
            ("deep/er", (10,), (4,), {}),
        ):
            made[name] = np.random.default_rng(len(made)).random(shape)
            array = group.create_array(name, shape=shape, chunks=chunks, dtype="f8", **more)
            array[...] = made[name]
        first = session.commit("first")
        repo.create_tag("v1", snapshot_id=first)
        repo.create_branch("dev", snapshot_id=first)
        session = repo.writable_session("dev")
        zarr.open_group(session.store)["plain"][...] = made["plain"] + 1
        session.commit("second")

    only_on_rank_0(make)
    made = COMM.bcast(made)
    for version, more in (("", 0), ("@main", 0), ("@v1", 0), ("@dev", 1)):
        with sluice.open(path + version, comm=COMM) as file:
            assert file.attrs["title"] == "theirs"
            for name, expected in made.items():
                expected = expected + (more if name == "plain" else 0)
                assert np.array_equal(file[name].get(), expected), (version, name)
    with pytest.raises(Error, match="no tag, branch or snapshot"):
        sluice.open(path + "@nowhere", comm=COMM)
    with pytest.raises(Error, match="only to a store that Sluice wrote"):
        sluice.open(path, "a", comm=COMM)


def test_virtual_chunks_are_refused_with_their_place(path):
    def make():
        config = icechunk.RepositoryConfig.default()
        config.set_virtual_chunk_container(icechunk.VirtualChunkContainer(
            "file:///data/", icechunk.local_filesystem_store("/data/")))
        repo = icechunk.Repository.create(icechunk.local_filesystem_storage(path), config)
        session = repo.writable_session("main")
        group = zarr.create_group(session.store)
        group.create_array("v", shape=(4,), chunks=(4,), dtype="f8", compressors=None)
        session.store.set_virtual_ref("v/c/0", "file:///data/raw.bin", offset=0, length=32)
        session.commit("virtual")

    only_on_rank_0(make)
    with sluice.open(path, comm=COMM) as file:
        with pytest.raises(Error, match="virtual chunk.*raw.bin"):
            file["v"].get()
