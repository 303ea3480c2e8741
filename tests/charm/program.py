"""Chares that write through sessions: run under charmrun, with a folder and a name of a scenario
for each thing that test_charm.py wants to know; writes what it saw to result.json there."""

import json
import os
import signal
import time

import numpy as np
from charm4py import Array, Chare, Future, charm, coro

import sluice.charm
from sluice import Error

PIECE = 3001  # bytes: no multiple of anything
CHARES = 24
STEPS = 4
LATE = 5  # the chare that begins when all others are on disk


def piece(chare, step):
    return np.full(PIECE, (37 * chare + 11 * step) % 251, dtype=np.uint8)


class Walker(Chare):
    """Writes its piece of a step, moves to the next PE, goes on with the next step; waits for
    nobody."""

    def __init__(self, out, sessions, finished):
        self.out, self.sessions, self.finished = out, sessions, finished
        self.pes = []

    def go(self, step):
        me = self.thisIndex[0]
        if step == 0 and me == LATE and not self.pes:
            self.pes.append(-1)  # called again later
            return
        self.pes.append(charm.myPe())
        kind = 1 if me == LATE else 0
        slot = 0 if kind else me - (me > LATE)
        session = self.sessions[kind][step]
        self.out.write(session, piece(me, step), session.offset + PIECE * slot)
        if step + 1 == STEPS:
            self.finished.send((me, self.pes))
        else:
            self.thisProxy[me].go(step + 1)  # wherever it will be
            self.migrate((charm.myPe() + 1) % charm.numPes())


class Writer(Chare):
    """Writes what it is told to."""

    def write(self, out, session, offset, nbytes, value, told):
        try:
            out.write(session, np.full(nbytes, value, dtype=np.uint8), offset)
            told.send(None)
        except Error as error:
            told.send(str(error))

    @coro
    def write_and_wait(self, out, session, offset, nbytes, value, told):
        self.write(out, session, offset, nbytes, value, told)

    def die(self):
        os.kill(os.getpid(), signal.SIGKILL)

    @coro
    def read(self, out, session, offset, nbytes, told):
        into = np.zeros(nbytes, dtype=np.uint8)
        out.read(session, into, offset)
        told.send(into)


def walk(folder):
    """Two sessions a step: of the late chare alone, and of all others."""
    out = sluice.charm.open(os.path.join(folder, "walk.bin"), "w", writers=2, first_writer=1,
                            writer_spacing=1, tile_bytes=8192)
    order = []
    complete = {"others": Future(STEPS), "late": Future(STEPS)}

    def completed(who, step):
        def call(failure):
            order.append((f"{who} {step}", None if failure is None else str(failure)))
            complete[who].send(None)
        return call

    others = PIECE * (CHARES - 1)
    sessions = ([], [])
    for step in range(STEPS):
        first = step * PIECE * CHARES
        sessions[0].append(out.start(first, others, completed("others", step)))
        sessions[1].append(out.start(first + others, PIECE, completed("late", step)))
    finished = Future(CHARES)
    walkers = Array(Walker, CHARES, args=[out, sessions, finished])
    walkers.go(0)
    complete["others"].get()
    walkers[LATE].go(0)
    pes = dict(finished.get())
    complete["late"].get()
    out.close()
    return {"order": order, "pes": {str(chare): pes[chare] for chare in pes}}


def _writers():
    return Array(Writer, charm.numPes(), args=[])


def wrong(folder):
    """Twice the same bytes, by two PEs; a session that lacks some; a file that is not there."""
    writers = _writers()
    told = []
    for name, ranges in (("overlap", ((0, 0, 6000), (2, 5000, 5000))), ("hole", ((1, 0, 9000),))):
        out = sluice.charm.open(os.path.join(folder, name), "w", writers=1)
        complete = Future()
        session = out.start(0, 10000, complete)
        for pe, offset, nbytes in ranges:
            written = Future()
            writers[pe].write(out, session, offset, nbytes, 7, written)
            written.get()
        try:
            out.close()
            told.append((name, None, None))
        except Error as error:
            told.append((name, error.code.name, str(error)))
        try:
            complete.get()
        except Error as error:
            told.append((name + " complete", None, str(error)))
    out = sluice.charm.open(os.path.join(folder, "outside"), "w")
    outside = Future()
    writers[1].write(out, out.start(0, 10), 5, 6, 7, outside)
    told.append(("outside", None, outside.get()))
    try:
        out.close()
    except Error as error:
        told.append(("outside close", error.code.name, str(error)))
    try:
        sluice.charm.open(os.path.join(folder, "absent"), "r")
    except Error as error:
        told.append(("absent", error.code.name, str(error)))
    return told


def budget(folder):
    """More than the budget at once: a coroutine waits, another entry method says so."""
    writers = _writers()
    name = os.path.join(folder, "budget.bin")
    out = sluice.charm.open(name, "w", writers=1, budget_bytes=1 << 20, tile_bytes=1 << 16)
    nbytes = 5 << 20
    complete = Future()
    session = out.start(0, 2 * nbytes + 8, complete, after=(2 * nbytes + 8, b"the end."))
    first, second, third = Future(), Future(), Future()
    writers[2].write(out, session, 0, nbytes, 1, first)
    writers[2].write(out, session, 2 * nbytes, 8, 3, second)
    told = [first.get(), second.get()]
    writers[2].write_and_wait(out, session, nbytes, nbytes, 2, third)
    told.append(third.get())
    again = Future()
    writers[1].write(out, session, 2 * nbytes, 8, 3, again)
    told += [again.get(), complete.get()]
    empty = Future()
    out.start(17, 0, empty)
    told.append(empty.get())
    out.close()
    return told


def left(folder):
    """A failure while an entry method that could not wait has left the rest of its write."""
    writers = _writers()
    out = sluice.charm.open(os.path.join(folder, "left.bin"), "w", writers=1, budget_bytes=1 << 20,
                            tile_bytes=1 << 16)
    nbytes = 5 << 20
    complete = Future()
    session = out.start(0, nbytes, complete)
    told = []
    for pe, size in ((1, 10), (2, nbytes)):
        written = Future()
        writers[pe].write(out, session, 0, size, pe, written)
        told.append(written.get())
    for wait in (complete.get, out.close):
        try:
            wait()
            told.append(None)
        except Error as error:
            told.append(error.code.name)
    # The other files go on.
    after = sluice.charm.open(os.path.join(folder, "after.bin"), "w")
    done, written = Future(), Future()
    writers[2].write(after, after.start(0, 10, done), 0, 10, 7, written)
    told += [written.get(), done.get()]
    after.close()
    return told


def reading(folder):
    """What walk() wrote, by chares of every PE; beyond its end."""
    writers = _writers()
    name = os.path.join(folder, "walk.bin")
    nbytes = os.path.getsize(name)
    out = sluice.charm.open(name, "r")
    ready = Future()
    session = out.start(0, nbytes + 10, ready=ready)
    ready.get()
    share = nbytes // charm.numPes()
    parts = []
    for pe in range(charm.numPes()):
        told = Future()
        writers[pe].read(out, session, pe * share, share, told)
        parts.append(told.get())
    with open(name, "rb") as file:
        same = np.concatenate(parts).tobytes() == file.read()[: share * charm.numPes()]
    beyond = None
    try:
        out.read(session, np.zeros(5, dtype=np.uint8), nbytes)
    except Error as error:
        beyond = error.code.name
    out.close()
    return {"same": same, "beyond": beyond}


def killed(folder, pe):
    """A PE dies when a part of a session has been written."""
    writers = _writers()
    out = sluice.charm.open(os.path.join(folder, "killed.bin"), "w", writers=1, first_writer=1,
                            tile_bytes=4096, timeout_s=5)
    complete = Future()
    session = out.start(0, 30000, complete)
    for writer in range(charm.numPes()):
        written = Future()
        writers[writer].write(out, session, 9000 * writer, 9000, writer, written)
        written.get()
    print("begun", flush=True)
    writers[pe].die()
    complete.get()
    print("complete", flush=True)


def main(args):
    folder = args[1]
    begin_s = time.monotonic()
    result = {}
    for scenario in args[2:]:
        name, *pe = scenario.split("-")
        result[name] = globals()[name](folder, *map(int, pe))
    result["pes"] = charm.numPes()
    result["seconds"] = time.monotonic() - begin_s
    with open(os.path.join(folder, "result.json"), "w") as file:
        json.dump(result, file)
    charm.exit()


if __name__ == "__main__":
    charm.start(main, modules=["sluice.charm"])
