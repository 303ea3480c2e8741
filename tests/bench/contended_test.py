"""bench/contended, mounted: what a program may do on it, and what that costs.

Times are compared only where the mount's own parameters, which are slow here, outweigh a machine
that is busy with something else; all else is read from the mount's counters."""

import fcntl
import json
import mmap
import os
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

CONTENDED = os.environ["SLUICE_CONTENDED"]
MIB = 1 << 20
SKIPPED = 77
BANDWIDTH = 20e6
LOCK_S = 0.02
METADATA_S = 0.01
SLOW = ("--targets", "4", "--stripe", "1MiB", "--bandwidth", "20MB/s", "--latency", "0.5ms",
        "--lock", "20ms", "--metadata", "10ms")
# Argument 1: a file; then for every line "offset bytes" writes so many and answers with a line.
WRITER = """
import os, sys
file = os.open(sys.argv[1], os.O_WRONLY | os.O_DIRECT)
for line in sys.stdin:
    offset, count = map(int, line.split())
    os.pwrite(file, bytes(count), offset)
    print("done", flush=True)
"""


class Mount:
    """A mount of its own folder, until the end of a `with`."""

    def __init__(self, *options):
        self.options = options

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.backing, self.path = (os.path.join(self.folder.name, n) for n in ("data", "mount"))
        os.mkdir(self.backing)
        os.mkdir(self.path)
        self.process = subprocess.Popen([CONTENDED, *self.options, self.backing, self.path],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.is_mounted = "mount" in self.process.stdout.readline()
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.said = self.process.communicate(timeout=60)
        self.folder.cleanup()

    def name(self, *parts):
        return os.path.join(self.path, *parts)

    def counters(self):
        with open(self.name(".contended"), encoding="utf-8") as file:
            return json.load(file)


class Mounted(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.mount = cls.enterClassContext(Mount(*SLOW))

    def setUp(self):
        self.file = self.mount.name("file")
        with open(self.file, "wb") as file:
            os.posix_fallocate(file.fileno(), 0, 16 * MIB)
        self.addCleanup(os.remove, self.file)
        self.before = self.mount.counters()

    def change(self, key):
        return self.mount.counters()[key] - self.before[key]

    def written(self):
        return [now["written_bytes"] - then["written_bytes"] for now, then in
                zip(self.mount.counters()["targets"], self.before["targets"])]

    def writer(self):
        process = subprocess.Popen([sys.executable, "-c", WRITER, self.file], text=True,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(process.communicate)
        return process

    def tell(self, writer, offset, count):
        writer.stdin.write(f"{offset} {count}\n")
        writer.stdin.flush()

    def write(self, writer, offset, count):
        self.tell(writer, offset, count)
        self.assertEqual(writer.stdout.readline(), "done\n")


class Data(Mounted):
    def test_what_is_written_is_read(self):
        data = os.urandom(3 * MIB + 12345)
        file = os.open(self.file, os.O_RDWR)
        self.assertEqual(os.pwrite(file, data, 777), len(data))
        os.fsync(file)
        os.fdatasync(file)
        self.assertEqual(os.pread(file, len(data), 777), data)
        self.assertEqual(os.pread(file, 10, 16 * MIB - 4), bytes(4))
        self.assertEqual(os.pread(file, 10, 17 * MIB), b"")
        os.ftruncate(file, 5)
        self.assertEqual(os.fstat(file).st_size, 5)
        os.pwrite(file, b"end", 9)
        self.assertEqual(os.pread(file, 99, 5), bytes(4) + b"end")
        os.close(file)
        with open(os.path.join(self.mount.backing, "file"), "rb") as below:
            self.assertEqual(len(below.read()), 12)

    def test_direct_io(self):
        pages = mmap.mmap(-1, 2 * MIB)
        pages.write(os.urandom(2 * MIB))
        file = os.open(self.file, os.O_RDWR | os.O_DIRECT)
        self.assertEqual(os.pwrite(file, pages, MIB), 2 * MIB)
        self.assertEqual(os.pread(file, 2 * MIB, MIB), pages[:])
        os.close(file)

    def test_names(self):
        folder = self.mount.name("folder")
        os.mkdir(folder)
        for name in ("a", "b"):
            with open(os.path.join(folder, name), "x", encoding="utf-8") as file:
                file.write(name)
        with self.assertRaises(FileExistsError):
            os.open(os.path.join(folder, "a"), os.O_CREAT | os.O_EXCL | os.O_WRONLY)
        os.rename(os.path.join(folder, "a"), os.path.join(folder, "b"))
        self.assertEqual(os.listdir(folder), ["b"])
        with open(os.path.join(folder, "b"), encoding="utf-8") as file:
            os.remove(os.path.join(folder, "b"))
            self.assertEqual(file.read(), "a")
        self.assertRaises(FileNotFoundError, os.stat, os.path.join(folder, "b"))
        os.rmdir(folder)
        self.assertEqual(os.listdir(self.mount.path), ["file"])

    def test_the_stripe_is_the_block_size(self):
        self.assertEqual(os.stat(self.file).st_blksize, MIB)
        self.assertGreater(os.statvfs(self.mount.path).f_bavail, 0)

    def test_the_striping_is_an_attribute(self):
        for place in (self.file, self.mount.path):
            self.assertEqual(os.getxattr(place, "user.striping"), b"size=1048576 count=4")
        with self.assertRaises(OSError):
            os.getxattr(self.file, "user.other")

    def test_locks_between_open_files(self):
        whole = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        first, second = (os.open(self.file, os.O_RDWR) for _ in range(2))
        fcntl.fcntl(first, fcntl.F_OFD_SETLK, whole)
        self.assertRaises(BlockingIOError, fcntl.fcntl, second, fcntl.F_OFD_SETLK, whole)
        os.close(first)
        fcntl.fcntl(second, fcntl.F_OFD_SETLK, whole)
        os.close(second)

    def test_the_counters_cannot_be_written(self):
        name = self.mount.name(".contended")
        self.assertRaises(OSError, os.truncate, name, 0)
        self.assertEqual(len(self.mount.counters()["targets"]), 4)


class Costs(Mounted):
    def test_one_writer_has_one_target_and_many_in_flight_have_more(self):
        file = os.open(self.file, os.O_WRONLY | os.O_DIRECT)
        self.addCleanup(os.close, file)
        begin = time.monotonic()
        for stripe in range(16):
            os.pwrite(file, bytes(MIB), stripe * MIB)
        alone_s = time.monotonic() - begin
        self.assertGreaterEqual(alone_s, 16 * MIB / BANDWIDTH)
        self.assertEqual(self.written(), [4 * MIB] * 4)

        def write_every_fourth(first):
            for stripe in range(first, 16, 4):
                os.pwrite(file, bytes(MIB), stripe * MIB)

        threads = [threading.Thread(target=write_every_fourth, args=(i,)) for i in range(4)]
        begin = time.monotonic()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        together_s = time.monotonic() - begin
        self.assertGreaterEqual(together_s, 4 * MIB / BANDWIDTH)
        self.assertLess(together_s, 0.6 * alone_s)
        self.assertEqual(self.written(), [8 * MIB] * 4)
        self.assertEqual(self.change("hand_overs"), 0, "threads are one process")

    def test_a_sync_waits_for_what_is_on_its_way(self):
        file = os.open(self.file, os.O_WRONLY)
        self.addCleanup(os.close, file)
        begin = time.monotonic()
        for stripe in range(4):
            os.pwrite(file, bytes(MIB), stripe * MIB)
        returned_s = time.monotonic() - begin
        os.fsync(file)
        synced_s = time.monotonic() - begin
        self.assertGreaterEqual(synced_s, MIB / BANDWIDTH)
        self.assertLess(returned_s, synced_s)
        self.assertLess(synced_s, 3 * MIB / BANDWIDTH)  # not 4

    def test_two_processes_in_one_stripe_pay_hand_overs(self):
        writers = [self.writer() for _ in range(2)]
        begin = time.monotonic()
        for turn in range(10):
            self.write(writers[turn % 2], turn * 1000, 1000)
        self.assertEqual(self.change("hand_overs"), 9)
        self.assertGreaterEqual(time.monotonic() - begin, 9 * LOCK_S)

    def test_two_processes_in_two_stripes_do_not(self):
        writers = [self.writer() for _ in range(2)]
        for turn in range(10):
            self.write(writers[turn % 2], turn % 2 * MIB + turn * 1000, 1000)
        self.assertEqual(self.change("hand_overs"), 0)

    def test_processes_write_one_file_at_the_same_time(self):
        writers = [self.writer() for _ in range(4)]
        for writer in writers:  # started, and the file is open
            self.write(writer, 0, 0)
        begin = time.monotonic()
        for stripe in range(16):  # each writer's are on a target of its own
            self.tell(writers[stripe % 4], stripe * MIB, MIB)
        for writer in writers * 4:
            writer.stdout.readline()
        self.assertGreaterEqual(time.monotonic() - begin, 4 * MIB / BANDWIDTH)
        self.assertLess(time.monotonic() - begin, 10 * MIB / BANDWIDTH)  # not 16

    def test_reads_take_no_locks(self):
        file = os.open(self.file, os.O_RDWR)
        self.addCleanup(os.close, file)
        writer = self.writer()
        self.write(writer, 0, 1000)
        for _ in range(5):
            os.pread(file, 1000, 0)
            self.write(writer, 0, 1000)
        self.assertEqual(self.change("hand_overs"), 0)
        os.pwrite(file, b"x", 0)
        self.assertEqual(self.change("hand_overs"), 1)

    def test_opens_wait_for_the_metadata_server(self):
        begin = time.monotonic()
        for _ in range(10):
            os.close(os.open(self.file, os.O_RDONLY))
        self.assertGreaterEqual(time.monotonic() - begin, 10 * METADATA_S)
        self.assertEqual(self.change("opens"), 10)
        self.assertAlmostEqual(self.change("metadata_busy_s"), 10 * METADATA_S)


class Usage(unittest.TestCase):
    def test_wrong_usage(self):
        for options, what in ((("--stripe", "5000B"), "4096"), (("--lock", "5"), "units"),
                              (("--targets", "0"), "--targets"), (("--bandwidth", "0B/s"), "zero")):
            with Mount(*options) as mount:
                self.assertFalse(mount.is_mounted)
            self.assertIn(what, mount.said[1])
            self.assertNotEqual(mount.process.returncode, 0)

    def test_it_ends_and_the_mount_is_gone(self):
        with Mount() as mount:
            self.assertTrue(os.path.ismount(mount.path))
            self.assertEqual(mount.counters()["lock_s"], 1.5e-3)
        self.assertEqual(mount.process.returncode, 0)
        self.assertFalse(os.path.ismount(mount.path))


if __name__ == "__main__":
    with Mount() as trial:
        pass
    if not trial.is_mounted:
        print("skipped: no mount can be made here:", trial.said[1].strip())
        sys.exit(SKIPPED)
    unittest.main()
