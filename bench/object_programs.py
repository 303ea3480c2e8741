"""Writes one array into a new store in a bucket from all ranks, and copies objects of the same
sizes into it by rclone: the program of the case object. Reads a job a line, and answers each with a
line; --list prints the jobs.

Rank 0 starts the object store of the tests on the loopback, over a folder beside the file that the
case names."""

import os
import shutil
import subprocess
import sys
import time

import numpy
from rank_jobs import COLUMNS, comm, field, serve

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "tests", "object"))
import server as servers  # noqa: E402

BUCKET = "data"
PART_MIB = 8     # of an upload in parts, as Sluice has them
STREAMS = 8      # objects of a process at a time, as Sluice sends them
PARTS = 4        # of an object at a time, the same
RCLONE = shutil.which("rclone")


class Place:
    """The store, its folder, and this rank's files that rclone copies."""

    def __init__(self, folder):
        self.folder = folder
        self.server = None
        port = None
        if comm.rank == 0:
            shutil.rmtree(folder, ignore_errors=True)
            why = servers.missing()
            if why:
                raise RuntimeError(why)
            self.server = servers.Server(folder).start()
            port = self.server.port
        self.endpoint = f"http://127.0.0.1:{comm.bcast(port)}"
        self.sources = None
        told = servers.environment(self.endpoint)
        os.environ.clear()  # of what the user has set for other stores
        os.environ.update(told)

    def empty(self):
        if comm.rank == 0:
            self.server.make_bucket(BUCKET)
            bucket = self.server.object_path(BUCKET, "")
            for folder in (bucket, os.path.join(self.folder, "facts")):  # these are the server's
                for name in os.listdir(folder):
                    shutil.rmtree(os.path.join(folder, name))
            os.sync()
        comm.Barrier()

    def source(self, values, rows):
        """A folder with this rank's part of the array, a file an object; made once."""
        if self.sources is None:
            self.sources = os.path.join(self.folder, "sources", str(comm.rank))
            os.makedirs(self.sources, exist_ok=True)
            for first in range(0, len(values), rows):
                values[first:first + rows].tofile(
                    os.path.join(self.sources, f"object-{comm.rank}-{first // rows}"))
        return self.sources

    def end(self):
        if self.server is not None:
            self.server.kill()
            shutil.rmtree(self.folder, ignore_errors=True)


def by_sluice(kind):
    def write(place, values, rows):
        import sluice
        del place
        with sluice.open(f"s3://{BUCKET}/out.{kind}", "w", comm=comm, strategy="shared") as out:
            out.define("field", float, (comm.size * len(values), COLUMNS), steps=True,
                       chunk=(rows, COLUMNS))
            with out.step(time=0.0):
                out.put("field", values, start=(comm.rank * len(values), 0))
    return write


def by_rclone(place, values, rows):
    """Every rank starts one, for its own part: as many processes as Sluice has."""
    configured = {
        "RCLONE_CONFIG": os.devnull, "RCLONE_CONFIG_LOOP_TYPE": "s3",
        "RCLONE_CONFIG_LOOP_PROVIDER": "Other", "RCLONE_CONFIG_LOOP_ENV_AUTH": "true",
        "RCLONE_CONFIG_LOOP_ENDPOINT": place.endpoint, "RCLONE_CONFIG_LOOP_REGION": servers.REGION,
    }
    done = subprocess.run(
        [RCLONE, "copy", place.source(values, rows), f"loop:{BUCKET}/out", "--transfers",
         str(STREAMS), "--s3-upload-cutoff", f"{PART_MIB}Mi", "--s3-chunk-size", f"{PART_MIB}Mi",
         "--s3-upload-concurrency", str(PARTS), "--s3-no-check-bucket", "--s3-disable-checksum",
         "--s3-no-head", "--ignore-checksum", "--no-check-dest", "--no-traverse", "--quiet"],
        check=False, env={**os.environ, **configured}, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError("rclone: " + (done.stderr.strip().splitlines() or ["it failed"])[-1])


WAYS = {"sluice-zarr": by_sluice("zarr"), "sluice-icechunk": by_sluice("icechunk")}
if RCLONE:
    WAYS["rclone"] = by_rclone


def check(way, place, rows, values):
    """Rank 0: what is in the bucket is what was written."""
    every = field(0, comm.size * len(values))
    if way.startswith("sluice"):
        import sluice
        with sluice.open(f"s3://{BUCKET}/out.{way.split('-')[1]}") as file:
            same = numpy.array_equal(file["field"].get(step=0), every)
    else:
        found = [numpy.fromfile(place.server.object_path(BUCKET, f"out/object-{rank}-{number}"))
                 for rank in range(comm.size) for number in range(-(-len(values) // rows))]
        same = numpy.array_equal(numpy.concatenate(found), every.ravel())
    if not same:
        raise ValueError(f"{way}: wrong values")


def carry_out(way, parameters, place):
    rows = int(parameters["object_mib"]) * (1 << 20) // 8 // COLUMNS
    own = max(1, int(parameters["mib"]) // int(parameters["object_mib"])) * rows
    values = field(comm.rank * own, own)
    place.empty()
    if way == "rclone":
        place.source(values, rows)
    comm.Barrier()
    begin_s = time.perf_counter()
    WAYS[way](place, values, rows)
    comm.Barrier()
    seconds = time.perf_counter() - begin_s
    if parameters.get("verify") == "1" and comm.rank == 0:
        check(way, place, rows, values)
    return {"seconds": seconds, "bytes": comm.size * own * COLUMNS * 8}


def main():
    place = None

    def in_place(job, parameters):
        nonlocal place
        place = place or Place(os.path.splitext(parameters["path"])[0] + ".server")
        return carry_out(job, parameters, place)

    try:
        serve(in_place)
    finally:
        if place is not None:
            place.end()


if sys.argv[1:] == ["--list"]:
    print("\n".join(WAYS))
else:
    main()
