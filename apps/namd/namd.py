#!/usr/bin/env python3
"""Molecular dynamics in patches, for charm4py: Lennard-Jones and Coulomb with a cutoff, velocity
Verlet. Many more patches than processors; the trajectory (DCD) and the last coordinates and
velocities (NAMDBIN) are written by chares through sluice.charm, while the patches go on.

    charmrun +p4 apps/namd/namd.py --cells 12 --steps 200 out/namd/run

Patches hold whatever atoms are in them; collectors, each for some consecutive ids, gather a frame
and write it. Units: reduced (forces.py); the files call a length an Angstrom and a time a
picosecond.
"""

import argparse
import itertools
import json
import math
import os
import signal
import sys

import numpy as np
from charm4py import Array, Chare, Future, Group, Reducer, charm

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import files  # noqa: E402
import forces  # noqa: E402

import sluice  # noqa: E402
import sluice.charm  # noqa: E402

ATOM = ("ids", "positions", "velocities", "charges")  # what a patch knows of each
DIRECTIONS = [d for d in itertools.product((-1, 0, 1), repeat=3) if any(d)]


class Patch(Chare):
    """A box of space and the atoms in it. Each step has two exchanges with the 26 patches around:
    who moved over a border, and where the atoms are."""

    def __init__(self, run, atoms, energies, collectors, saver):
        self.run, self.energies, self.collectors, self.saver = run, energies, collectors, saver
        self.low = np.array(self.thisIndex) * run["patch_edge"]
        self.number = int(np.ravel_multi_index(self.thisIndex, (run["patches"],) * 3))
        mine = atoms["patches"] == self.number
        self.ids = np.flatnonzero(mine)
        self.positions = atoms["positions"][mine]
        self.velocities = atoms["velocities"][mine]
        self.charges = atoms["charges"][mine]
        self.step = run["first_step"]
        self.awaited = "begin"
        self.came = {}  # what neighbours sent, by step and kind

    def _around(self):
        """Each direction, with the patch there and what a position has to be moved by to lie
        beside it: the box is periodic. Messages carry the direction's number, so that their order
        on arrival changes no bit."""
        patches, edge = self.run["patches"], self.run["edge"]
        for direction in DIRECTIONS:
            there = [i + d for i, d in zip(self.thisIndex, direction)]
            shift = np.array([-edge * (t // patches) for t in there])
            yield direction, tuple(t % patches for t in there), shift

    def begin(self):
        self._send_positions()
        self._proceed()

    def _send_movers(self):
        """Atoms that have left go to the neighbour they are in now."""
        edge = self.run["patch_edge"]
        way = np.floor((self.positions - self.low) / edge).astype(np.int64)
        if np.abs(way).max(initial=0) > 1:
            charm.abort("namd: an atom crossed a whole patch in one step: make the steps shorter")
        staying = ~way.any(axis=1)
        for direction, index, shift in self._around():
            going = np.all(way == direction, axis=1)
            self.thisProxy[index].take_movers(
                self.step, direction, self.ids[going], self.positions[going] + shift,
                self.velocities[going], self.charges[going])
        for name in ATOM:
            setattr(self, name, getattr(self, name)[staying])
        self.awaited = "movers"

    def take_movers(self, step, direction, *atoms):
        self.came.setdefault((step, "movers"), {})[tuple(direction)] = atoms
        self._proceed()

    def take_positions(self, step, direction, *atoms):
        self.came.setdefault((step, "positions"), {})[tuple(direction)] = atoms
        self._proceed()

    def _proceed(self):
        """As far as the neighbours' messages, some of which come early, allow."""
        while len(self.came.get((self.step, self.awaited), ())) == len(DIRECTIONS):
            came = [atoms for _, atoms in sorted(self.came.pop((self.step, self.awaited)).items())]
            if self.awaited == "movers":
                for name, *others in zip(ATOM, *came):
                    setattr(self, name, np.concatenate([getattr(self, name), *others]))
                order = np.argsort(self.ids)
                for name in ATOM:
                    setattr(self, name, getattr(self, name)[order])
                self._send_positions()
            else:
                self._end_step(*(np.concatenate([own, *others])
                                 for own, *others in zip((self.positions, self.charges), *came)))

    def _send_positions(self):
        """Of the atoms near enough to a neighbour to matter there."""
        cutoff, edge = self.run["cutoff"], self.run["patch_edge"]
        inside = self.positions - self.low
        for direction, index, shift in self._around():
            near = np.ones(len(inside), dtype=bool)
            for axis, d in enumerate(direction):
                if d:
                    border = inside[:, axis] if d < 0 else edge - inside[:, axis]
                    near &= border <= cutoff
            self.thisProxy[index].take_positions(self.step, direction,
                                                 self.positions[near] + shift, self.charges[near])
        self.awaited = "positions"

    def _end_step(self, positions, charges):
        run = self.run
        force, potential = forces.forces(positions, charges, len(self.positions), run["cutoff"])
        kick = 0.5 * run["time_step"] * force
        if self.step > run["first_step"]:
            self.velocities = self.velocities + kick
            self._tell(potential)
            saves = run["save_every"] and self.step % run["save_every"] == 0
            if saves and self.step < run["steps"]:
                self.saver.take(self.step, self.number, self.ids, self.positions, self.velocities)
        elif self.step == 0:
            self._tell(potential)
        if self.step == run["steps"]:
            self.awaited = "nothing"
            return
        self.velocities = self.velocities + kick
        self.positions = self.positions + run["time_step"] * self.velocities
        self.step += 1
        self._send_movers()

    def _tell(self, potential):
        """Energies of every step go to the log; every so many, positions to the collectors."""
        run = self.run
        kinetic = 0.5 * float(np.sum(self.velocities**2))
        momentum = self.velocities.sum(axis=0)
        self.reduce(self.energies.add,
                    np.array([self.step / run["patches"] ** 3, kinetic, potential, *momentum]),
                    Reducer.sum)
        is_last = self.step == run["steps"]
        if self.step and (self.step % run["every"] == 0 or is_last):
            frame = self.step // run["every"] - 1 if self.step % run["every"] == 0 else -1
            wrapped = self.positions % run["edge"]
            owner = self.ids * run["collectors"] // run["atoms"]
            for collector in range(run["collectors"]):
                mine = owner == collector
                if not mine.any():
                    continue
                self.collectors[collector].take(frame, is_last, self.ids[mine], wrapped[mine],
                                                self.velocities[mine] if is_last else None)


class Collector(Chare):
    """Gathers the atoms of some consecutive ids, frame by frame, and writes them."""

    def __init__(self, run, outputs):
        self.run, self.outputs = run, outputs
        me = self.thisIndex[0]
        ids = np.arange(run["atoms"])
        mine = np.flatnonzero(ids * run["collectors"] // run["atoms"] == me)
        self.first, self.count = int(mine[0]), len(mine)
        self.frames = {}

    def take(self, frame, is_last, ids, positions, velocities):
        key = (frame, is_last)
        kept = self.frames.setdefault(key, [0, np.empty((self.count, 3)),
                                            np.empty((self.count, 3))])
        rows = ids - self.first
        kept[1][rows] = positions
        if is_last:
            kept[2][rows] = velocities
        kept[0] += len(ids)
        if kept[0] == self.count:
            del self.frames[key]
            self._write(frame, is_last, kept[1], kept[2])

    def _write(self, frame, is_last, positions, velocities):
        if frame >= 0:
            self._write_frame(frame, positions.astype(np.float32))
        if is_last:
            for (out, session), values in zip(self.outputs["last"], (positions, velocities)):
                out.write(session, values, files.COOR_HEAD_BYTES + files.ATOM_BYTES * self.first)

    def _write_frame(self, frame, positions):
        out, sessions = self.outputs["trajectory"]
        atoms = self.run["atoms"]
        marker = np.array([4 * atoms], dtype=np.int32)
        for axis in range(3):
            at = files.dcd_axis_offset(frame, atoms, axis)
            out.write(sessions[frame], positions[:, axis], at + 4 + 4 * self.first)
            if self.first == 0:
                out.write(sessions[frame], marker, at)
            if self.first + self.count == atoms:
                out.write(sessions[frame], marker, at + 4 + 4 * atoms)
        if self.first == 0:
            out.write(sessions[frame], files.dcd_cell(self.run["edge"]),
                      files.DCD_HEAD_BYTES + frame * files.dcd_frame_bytes(atoms))


class Log(Chare):
    """The energies of every step that this run makes."""

    def __init__(self, rows, finished):
        self.rows, self.expected, self.finished = [], rows, finished

    def add(self, row):
        self.rows.append(row)
        if len(self.rows) == self.expected:
            self.finished.send(np.array(self.rows))


class Saver(Chare):
    """Saves all atoms as they are at a step, when every patch has sent its own and the frames
    before are on disk; the patches go on. Where the job is about to end, the program ends then."""

    def __init__(self, path, every, atoms, patches, restored):
        self.atoms, self.patches, self.every = atoms, patches**3, every
        self.saved = sluice.Checkpoint(path, interval_calls=1)
        self.step = self.saved.value("step", np.int64(0))
        self.along = self.saved.value("patches_along_edge", np.int64(patches))
        for name in ("positions", "velocities", "patches"):
            self.saved.array(name, atoms[name])
        self.saved.restore()  # into step and atoms
        self.came = {}  # by step: what patches have sent
        self.frames_on_disk = int(self.step) // every
        self.is_open = True
        restored.send((int(self.step), int(self.along), {n: v.copy() for n, v in atoms.items()}))

    def take(self, step, *patch):
        self.came.setdefault(step, []).append(patch)
        self._save()

    def frames_are_on_disk(self, frames):
        self.frames_on_disk = frames
        self._save()

    def _save(self):
        for step in sorted(self.came):
            if len(self.came[step]) < self.patches or step // self.every > self.frames_on_disk:
                return
            for number, ids, positions, velocities in self.came.pop(step):
                self.atoms["positions"][ids] = positions
                self.atoms["velocities"][ids] = velocities
                self.atoms["patches"][ids] = number
            self.step[()] = step
            if self.is_open and self.saved.due():
                self.saved.save(float(step))
            if self.is_open and self.saved.ending:
                print(f"stopped after step {step}")
                self.is_open = False
                self.saved.close()
                charm.exit()

    def close(self, done):
        if self.is_open:
            self.saved.close()
        self.is_open = False
        done.send(True)


class Signals(Chare):
    """On each PE: only the one with the Saver minds the signal that asks the job to end."""

    def __init__(self):
        if charm.myPe() != 0:
            signal.signal(signal.SIGUSR1, signal.SIG_IGN)


class FrameCount:
    """Counts the frames that are on disk in the header of their file, in their order."""

    def __init__(self, out, every, first, frames, done, saver):
        self.out, self.every, self.frames, self.done = out, every, frames, done
        self.whole, self.answered, self.counted = set(), first, first
        self.saver = saver
        self.is_counting, self.failure = False, None
        self._go_on()

    def of(self, frame):
        """What is to be called when a frame is complete."""
        def complete(failure):
            self.answered += 1
            self.failure = self.failure or failure
            if failure is None:
                self.whole.add(frame)
            self._go_on()
        return complete

    def _go_on(self):
        whole = self.counted
        while whole in self.whole:
            whole += 1
        if self.is_counting:
            return
        if whole > self.counted:
            self.counted, self.is_counting = whole, True
            counts = files.dcd_counts(whole, self.every)
            session = self.out.start(files.DCD_COUNTS_OFFSET, len(counts), self._counted)
            self.out.write(session, counts, files.DCD_COUNTS_OFFSET)
        elif self.answered == self.frames:
            self.done.send(self.failure)

    def _counted(self, failure):
        self.is_counting = False
        self.failure = self.failure or failure
        if self.saver is not None and self.failure is None:
            self.saver.frames_are_on_disk(self.counted)
        self._go_on()


def open_outputs(run, output, writers, saver):
    """The files and their sessions: one for each frame, and for the last coordinates and
    velocities. And a Future of what becomes of the trajectory, its header and the other two. The
    frames that a run before has made stay."""
    atoms, frames = run["atoms"], run["steps"] // run["every"]
    first = run["first_step"] // run["every"]
    done = Future(4)
    trajectory = sluice.charm.open(output + ".dcd", "a" if first else "w", writers=writers,
                                   tile_bytes=1 << 16)
    head = trajectory.start(0, files.DCD_HEAD_BYTES, done)
    trajectory.write(head, files.dcd_head(atoms, run["every"], run["time_step"], first), 0)
    count = FrameCount(trajectory, run["every"], first, frames, done, saver)
    frame_bytes = files.dcd_frame_bytes(atoms)
    sessions = {frame: trajectory.start(files.DCD_HEAD_BYTES + frame * frame_bytes, frame_bytes,
                                        count.of(frame)) for frame in range(first, frames)}
    last = []
    for ending in (".coor", ".vel"):
        out = sluice.charm.open(output + ending, "w", writers=writers)
        session = out.start(0, files.COOR_HEAD_BYTES + files.ATOM_BYTES * atoms, done)
        out.write(session, np.array([atoms], dtype=np.int32), 0)
        last.append((out, session))
    return {"trajectory": (trajectory, sessions), "last": last}, done


def parse(arguments):
    parser = argparse.ArgumentParser(prog="namd.py", description=__doc__.split("\n\n")[0])
    parser.add_argument("output", help="OUTPUT.dcd, .coor, .vel and .json are written")
    parser.add_argument("--cells", type=int, default=12, help="atoms along an edge (%(default)s)")
    parser.add_argument("--steps", type=int, default=100, help="(%(default)s)")
    parser.add_argument("--every", type=int, default=20, help="steps a frame (%(default)s)")
    parser.add_argument("--patches", type=int, default=0, help="along an edge (as many as fit)")
    parser.add_argument("--writers", type=int, default=1, help="PEs that write (%(default)s)")
    parser.add_argument("--checkpoint", metavar="FILE",
                        help="goes on from its newest checkpoint, on any number of PEs")
    parser.add_argument("--checkpoint-every", type=int, default=100,
                        help="steps from one to the next (%(default)s)")
    parser.add_argument("--time-step", type=float, default=0.002, help="(%(default)s)")
    parser.add_argument("--density", type=float, default=0.8, help="(%(default)s)")
    parser.add_argument("--temperature", type=float, default=1.0, help="(%(default)s)")
    parser.add_argument("--charge", type=float, default=0.5, help="(%(default)s)")
    parser.add_argument("--cutoff", type=float, default=2.5, help="(%(default)s)")
    return parser.parse_args(arguments)


def plan(options):
    """What every chare has to know, and the atoms as they begin, or as a checkpoint has them."""
    edge, positions, velocities, charges = forces.crystal(
        options.cells, options.density, options.temperature, options.charge, seed=1)
    patches = options.patches or max(1, math.floor(edge / options.cutoff))
    if edge / patches < options.cutoff:
        raise SystemExit(f"namd.py: {patches} patches along {edge:.2f} are smaller than the cutoff")
    places = np.floor(positions / (edge / patches)).astype(np.int64)
    atoms = {"positions": positions, "velocities": velocities, "charges": charges,
             "patches": np.ravel_multi_index(tuple(places.T), (patches,) * 3)}
    run = {
        "atoms": len(positions), "edge": edge, "patches": patches, "patch_edge": edge / patches,
        "cutoff": options.cutoff, "time_step": options.time_step, "steps": options.steps,
        "every": options.every, "collectors": min(2 * charm.numPes() + 1, len(positions)),
        "first_step": 0, "save_every": options.checkpoint_every if options.checkpoint else 0,
    }
    return run, atoms


def restore(path, run, atoms):
    """The Saver of that file, and the atoms as its newest checkpoint has them, if it has one."""
    Group(Signals)
    restored = Future()
    saver = Chare(Saver, args=[path, run["every"], atoms, run["patches"], restored], onPE=0)
    run["first_step"], patches, atoms = restored.get()
    if patches != run["patches"]:
        raise SystemExit(f"namd.py: {path}: has {patches} patches along an edge: use --patches "
                         f"{patches}")
    if run["first_step"] >= run["steps"]:
        raise SystemExit(f"namd.py: {path}: is of step {run['first_step']} already")
    if run["first_step"]:
        print(f"goes on from step {run['first_step']}", flush=True)
    return saver, atoms


def main(arguments):
    options = parse(arguments[1:])
    run, atoms = plan(options)
    os.makedirs(os.path.dirname(os.path.abspath(options.output)), exist_ok=True)
    saver = None
    if options.checkpoint:
        saver, atoms = restore(options.checkpoint, run, atoms)
    outputs, written = open_outputs(run, options.output, options.writers, saver)
    finished = Future()
    rows = run["steps"] - run["first_step"] + (run["first_step"] == 0)
    energies = Chare(Log, args=[rows, finished], onPE=0)
    collectors = Array(Collector, run["collectors"], args=[run, outputs])
    patches = Array(Patch, (run["patches"],) * 3, args=[run, atoms, energies, collectors, saver])
    patches.begin()
    rows = finished.get()
    written.get()  # raises what went wrong
    for out, _ in [outputs["trajectory"], *outputs["last"]]:
        out.close()
    if saver is not None:
        closed = Future()
        saver.close(closed)
        closed.get()
    names = ("step", "kinetic", "potential", "px", "py", "pz")
    with open(options.output + ".json", "w", encoding="utf-8") as file:
        json.dump({"run": run, "energies": {n: rows[:, i].tolist() for i, n in enumerate(names)}},
                  file)
    total = rows[:, 1] + rows[:, 2]
    print(f"{run['atoms']} atoms, {run['patches'] ** 3} patches, {charm.numPes()} PEs: energy an "
          f"atom {total[0] / run['atoms']:.4f}, drift {np.ptp(total) / run['atoms']:.1e}")
    charm.exit()


if __name__ == "__main__":
    charm.start(main, modules=["sluice.charm"])
