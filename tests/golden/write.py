"""Writes the golden files of a release, once, on 2 ranks: packaging/RELEASE.md.

    mpirun -n 2 python tests/golden/write.py tests/golden/0.1.0

FOLDER must not be there: what a release has written is never written again. description.json says
what each file holds, and the SHA-256 of every file.
"""

import ctypes
import hashlib
import json
import os
import sys
from pathlib import Path

import numpy as np
from mpi4py import MPI

import cases
import sluice

comm = MPI.COMM_WORLD
folder = Path(sys.argv[1])


def put(out, name, value, held):
    """Each rank half of the rows; the first rank what has no rows. A partial variable lacks its
    last row, which then is its fill value in the description, too."""
    if value.ndim == 0:
        if comm.rank == 0:
            out.put(name, value)
        return
    rows = len(value)
    first, last = rows * comm.rank // comm.size, rows * (comm.rank + 1) // comm.size
    if held.options.get("partial"):
        last = min(last, rows - 1)
    start = (first,) + (0,) * (value.ndim - 1)
    out.put(name, value[first:last], start=start)


def write(case):
    for held in case.variables.values():
        if held.options.get("partial"):
            for value in held.values:
                value[-1] = held.options["fill"]
    with sluice.open(folder / case.file, "w", comm=comm, format=case.format,
                     **{"strategy": "collective", **case.options}) as out:
        if case.file == "run.dcd":
            out.attrs["timestep"] = np.float32(1 / 48.88821)
        for name, held in case.variables.items():
            value = held.values[0]
            dtype = "S16" if value.dtype.kind == "U" else value.dtype
            out.define(name, dtype, value.shape, steps=held.steps, **held.options)
        for name, value in case.attributes.items():
            out.attrs[name] = value
        for name, held in case.variables.items():
            if not held.steps:
                put(out, name, held.values[0], held)
        if not any(held.steps for held in case.variables.values()):
            return
        for step in range(cases.STEPS):
            with out.step(**({"time": case.times[step]} if case.times else {})):
                for name, held in case.variables.items():
                    if held.steps:
                        put(out, name, held.values[step], held)


def write_records(path):
    """By the C interface of records, in one process in place of two ranks."""
    lib = ctypes.CDLL(os.environ["SLUICE_LIBRARY"])
    lib.sluice_records_part.restype = ctypes.c_void_p
    records = ctypes.c_void_p()

    def call(name, *given):
        code = getattr(lib, name)(*given)
        assert code == 0, (name, code)

    call("sluice_records_open_parts", os.fsencode(path), b"w", b"", 2, ctypes.byref(records))
    for group in cases.GROUPS:
        for number, part in enumerate(group):
            stream = ctypes.c_void_p(lib.sluice_records_part(records, number))
            for dtype, values in part:
                array = np.array(values, dtype)
                call("sluice_part_write", stream, sluice._types.type_of(array.dtype),
                     ctypes.c_void_p(array.ctypes.data), ctypes.c_int64(array.size))
        call("sluice_records_commit", records, None)
    call("sluice_records_close", records)
    lib.sluice_records_free(records)


def main():
    if comm.rank == 0:
        folder.mkdir(parents=True)
    comm.Barrier()
    files = {}
    for case in cases.cases():
        write(case)
        files[case.file] = cases.describe(case)
    if comm.rank != 0:
        return
    write_records(folder / "values.rec")
    sums = {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(folder.rglob("*")) if path.is_file()}
    description = {"version": sluice.version(), "files": files,
                   "records": {"values.rec": cases.GROUPS}, "sha256": sums}
    with open(folder / "description.json", "w", encoding="utf-8") as out:
        out.write("{" + ",\n".join(f"{json.dumps(key)}: {_lines(value)}"
                                   for key, value in description.items()) + "}\n")


def _lines(value):
    """JSON, a line for each thing in it."""
    if not isinstance(value, dict):
        return json.dumps(value)
    return "{\n" + ",\n".join(f"{json.dumps(key)}: {json.dumps(each, ensure_ascii=False)}"
                              for key, each in value.items()) + "}"


main()
