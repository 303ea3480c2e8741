"""Random runs: formats, strategies, options, decompositions, appends and restarts that are drawn
from a seed, on several ranks. All values are compared, by Sluice and by h5py or zarr.

SLUICE_SEED runs one seed alone, SLUICE_LONG=1 four hundred of them."""

import contextlib
import os
import random

import numpy as np
import pytest

MPI = pytest.importorskip("mpi4py.MPI", reason="mpi4py is not installed")
import h5py  # noqa: E402
import hdf5plugin  # noqa: E402,F401  (h5py finds zstd by it)
import zarr  # noqa: E402

import sluice  # noqa: E402
from on_ranks import folder_of_all, only_on_rank_0  # noqa: E402

COMM = MPI.COMM_WORLD
RANK, RANKS = COMM.rank, COMM.size
SEEDS = ([int(os.environ["SLUICE_SEED"])] if os.environ.get("SLUICE_SEED")
         else range(400 if os.environ.get("SLUICE_LONG") == "1" else 16))
FORMATS = {"hdf5": "f.h5", "grouped": "f.h5", "netcdf4": "f.nc", "zarr": "f.zarr",
           "icechunk": "f.ice"}
ONE_FILE = ["auto", "serial", "shared", "collective", "forward"]
PARTS = ["file-per-process", "file-per-node"]
TYPES = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"]
CODECS = ["deflate:1", "zstd:3", "zstd:1+noshuffle", "none"]
# Option: how often it is set, and to what.
OPTIONS = {
    "writers": (.3, [1, 2]), "tiles": (.2, ["contiguous", "cyclic"]),
    "tile_bytes": (.25, [512, 4096, 65536]), "coalesce": (.2, [False]),
    "coalesce_bytes": (.2, [4096, 65536]), "stripe_bytes": (.2, [4096, 65536]),
    "ranks_per_node": (.4, [1, 2]), "storage": (.4, ["direct", "posix", "writeback"]),
    "budget_bytes": (.3, [2**20, 2**22, 2**24]), "staging_idle_s": (.1, [0]),
    "durability": (.4, ["none", "close", "step", "auto"]), "apply_every_s": (.3, [0, 0.01, 5]),
    "on_error": (.1, ["skip_step"]), "check": (.2, ["off", "volume", "full"]),
    "log": (.2, ["line", "steps"]), "checksum": (.15, [False]), "readers": (.2, [1, 2])}


class Variable:
    """A variable and all values that it should have."""

    def __init__(self, draw, number, form):
        self.name = draw.choice(["", "g/", "g/sub/"]) + f"v{number}"
        self.seed = draw.getrandbits(32)
        self.shape = [draw.randint(1, 12) for _ in range(draw.randint(0, 3))]
        if self.shape and draw.random() < .15:
            self.shape[0] = draw.randint(500, 3000)
        self.dtype = draw.choice(TYPES)
        self.stepped = draw.random() < .7
        ways = ["boxes"] * 3 + (["rows", "joined"] if self.stepped else ["rows"])
        self.way = draw.choice(ways) if self.shape else "scalar"
        self.define = {"steps": self.stepped, "varying": self.way == "joined"}
        if self.way in ("boxes", "rows") and draw.random() < .25:
            self.define |= {"partial": True, "fill": draw.choice([0, 7])}
        if form != "grouped" and self.shape and self.stepped and draw.random() < .2:
            self.define["chunk"] = [draw.randint(1, extent) for extent in self.shape]
        if form != "grouped" and self.shape and draw.random() < .2:
            self.define["compress"] = draw.choice(CODECS)
        self.expected = []  # of each step; of one without steps a single one

    def values(self, generator):
        if np.dtype(self.dtype).kind == "f":
            return generator.standard_normal(self.shape).astype(self.dtype)
        limits = np.iinfo(self.dtype)
        return generator.integers(limits.min, limits.max, self.shape, self.dtype, endpoint=True)

    def check(self, found, expected):
        assert found.dtype == self.dtype
        np.testing.assert_array_equal(found, expected)

    def put(self, out, draw):
        """This rank's part of a step. Every rank draws alike, for all ranks."""
        full = self.values(np.random.default_rng([self.seed, draw.getrandbits(32)]))
        fill = self.define.get("fill")
        expected = full if fill is None else np.full_like(full, fill)
        if self.way == "scalar":
            if RANK == draw.randrange(RANKS):
                out.put(self.name, full)
        elif self.way == "boxes":
            for owner, box in boxes(draw, self.shape):
                if fill is not None and draw.random() < .2:
                    continue
                expected[box] = full[box]
                if owner == RANK:
                    out.put(self.name, full[box], start=[part.start for part in box],
                            shape=self.shape)
        elif self.way == "rows":
            ids = draw.sample(range(self.shape[0]), self.shape[0])
            if fill is not None:
                ids = [row for row in ids if draw.random() < .7]
                expected[ids] = full[ids]
            owners = [draw.randrange(RANKS) for _ in ids]
            own = np.array([row for row, owner in zip(ids, owners) if owner == RANK], np.int64)
            out.put_rows(self.name, own, full[own])
        else:
            expected = full[:draw.randint(0, self.shape[0])]
            cuts = sorted(draw.randint(0, len(expected)) for _ in range(RANKS - 1))
            cuts = [0, *cuts, len(expected)]
            out.put_joined(self.name, expected[cuts[RANK]:cuts[RANK + 1]])
        return expected


def boxes(draw, shape):
    """Boxes that together are the array, with the ranks that have them."""
    found = [tuple(slice(0, extent) for extent in shape)]
    for _ in range(3 * RANKS):
        box = draw.choice(found)
        along = draw.randrange(len(shape))
        first, last = box[along].start, box[along].stop
        if last - first >= 2 and len(found) < RANKS + 3:
            cut = draw.randint(first + 1, last - 1)
            found.remove(box)
            found += [box[:along] + (part,) + box[along + 1:]
                      for part in (slice(first, cut), slice(cut, last))]
    return [(number % RANKS, box) for number, box in enumerate(found)]


def options_of(draw, form, first):
    """Those of one run; `first`: those of the run that made the file."""
    drawn = {name: draw.choice(values) for name, (often, values) in OPTIONS.items()
             if draw.random() < often}
    if first is None:
        has_parts = form in ("hdf5", "netcdf4")
        strategy = draw.choice(ONE_FILE + (PARTS if has_parts else []))
        for name in ("keep_last", "split_steps"):
            if has_parts and draw.random() < .15:
                drawn[name] = draw.randint(1, 3)
    else:
        strategy = draw.choice(PARTS if first["strategy"] in PARTS else ONE_FILE)
        drawn |= {name: first[name] for name in ("keep_last", "split_steps") if name in first}
    if form == "zarr" and draw.random() < .3:
        drawn["rectilinear"] = draw.choice(["auto", "true", "false"])
    if form != "grouped" and draw.random() < .3:
        drawn["compress"] = draw.choice(CODECS)
    if form == "grouped":
        drawn["hdf5_layout"] = "grouped"
    if form == "icechunk":
        drawn["format"] = "icechunk"
    return drawn | {"strategy": strategy, "timeout_s": 60}


def end_badly(out, draw):
    """A step that one rank abandons, which every other rank is told."""
    if RANK == draw.randrange(RANKS):
        out.abandon_step("drawn")
    else:
        with pytest.raises(sluice.Error):
            out.end_step()


def write_run(path, draw, variables, options, mode, steps):
    """Opens, writes up to five steps, closes. Returns how many steps the file has had."""
    with sluice.open(path, mode, comm=COMM, **options) as out:
        if mode == "w":
            for variable in variables:
                out.define(variable.name, variable.dtype, variable.shape, **variable.define)
            for variable in variables:
                if not variable.stepped:
                    variable.expected = [variable.put(out, draw)]
            if draw.random() < .2:
                out.flush()
        for _ in range(draw.randint(0, 5)):
            out.begin_step()
            values = [(variable, variable.put(out, draw)) for variable in variables
                      if variable.stepped]
            if draw.random() < .06:
                end_badly(out, draw)
                continue
            out.end_step()
            steps += 1
            for variable, expected in values:
                variable.expected.append(expected)
    return steps


def check_by_sluice(path, form, variables, steps, first):
    """`first`: the options of the run that made the file. Returns how many steps it has."""
    kept, split = first.get("keep_last", 0), first.get("split_steps", 1)
    options = {"format": form} if form == "icechunk" else {}
    with sluice.open(path, comm=COMM, timeout_s=60, **options) as f:
        # Of a part with a kept step all steps stay.
        least, most = (min(kept, steps), min(steps, kept + split - 1)) if kept else (steps, steps)
        assert least <= f.steps <= most
        for variable in variables:
            if not variable.stepped:
                variable.check(f[variable.name].get(), variable.expected[0])
            for step in range(f.steps if variable.stepped else 0):
                variable.check(f[variable.name].get(step), variable.expected[step - f.steps])
        return f.steps


def check_by_others(path, form, variables, present):
    """By h5py or zarr, which reads no unequal chunks yet."""
    if form == "icechunk":
        return
    if form == "zarr" and any(b"rectilinear" in found.read_bytes()
                              for found in path.rglob("zarr.json")):
        return
    with contextlib.ExitStack() as stack:
        arrays = (zarr.open_group(path, mode="r") if form == "zarr"
                  else stack.enter_context(h5py.File(path)))
        for variable in variables:
            if variable.way == "joined":
                continue
            if not variable.stepped:
                variable.check(arrays[variable.name][()], variable.expected[0])
            for step in range(present if variable.stepped else 0):
                name = f"step_{step:06d}/{variable.name}" if form == "grouped" else variable.name
                expected = variable.expected[step - present]
                if name in arrays:
                    array = arrays[name]
                    variable.check(array[()] if form == "grouped" else array[step], expected)
                else:  # a group of a step has no variable of which nothing was put
                    assert form == "grouped" and np.all(expected == variable.define["fill"])


@pytest.mark.parametrize("seed", SEEDS)
def test_a_random_run_gives_back_what_was_put(seed, monkeypatch):
    draw = random.Random(seed)
    monkeypatch.setenv("SLUICE_EXPLAIN", draw.choice(["0", "1"]))
    form = draw.choice(list(FORMATS))
    variables = [Variable(draw, number, form) for number in range(draw.randint(1, 5))]
    with folder_of_all() as folder:
        path = folder / FORMATS[form]
        steps, first = 0, None
        for run in range(draw.randint(1, 3)):
            options = options_of(draw, form, first)
            first = first or options
            if run > 0 and steps > 0 and "keep_last" not in first and draw.random() < .4:
                options["restart_after"] = draw.randrange(steps)
                steps = options["restart_after"] + 1
                for variable in variables:
                    variable.expected = variable.expected[:steps] if variable.stepped \
                        else variable.expected
            steps = write_run(path, draw, variables, options, "a" if run else "w", steps)
            present = check_by_sluice(path, form, variables, steps, first)
            only_on_rank_0(lambda: check_by_others(path, form, variables, present))
