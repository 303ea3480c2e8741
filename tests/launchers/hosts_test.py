"""Over two hosts: the demo, every strategy, and the conformance suite's cells of real ranks."""

import os
import tempfile
import unittest

import demo
from two_hosts import BUILD, TwoHosts, why_not

REASON = why_not()


@unittest.skipIf(REASON, REASON)
class Hosts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.hosts = TwoHosts()
        cls.addClassCleanup(cls.hosts.close)
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = scratch.name

    def test_ranks_are_on_both(self):
        done = self.hosts.run(0, [*self.hosts.mpirun(), "-n", "4", "hostname"])
        self.assertEqual(sorted(done.stdout.split()), sorted(2 * self.hosts.names), done.stderr)

    def test_every_strategy(self):
        for strategy in demo.STRATEGIES:
            path = os.path.join(self.folder, f"{strategy}.h5")
            done = self.hosts.run(
                0, [*self.hosts.mpirun(), *demo.vampire(path)],
                env=demo.environment(strategy))
            self.assertEqual(done.returncode, 0, f"{strategy}: {done.stderr}")
            demo.check(self, self.folder, path, strategy)

    def test_bench_reads_from_the_disk_on_each(self):
        # One rank of each host empties the page cache that is its host's.
        log = os.path.join(self.folder, "advice")
        done = self.hosts.run(
            0, [*self.hosts.mpirun(), "-n", "4", "-x", "SLUICE_ADVICE_LOG", "-x", "LD_PRELOAD=" +
                os.environ["SLUICE_TOLD_ADVICE"], os.path.join(BUILD, "cli", "sluice"), "bench",
                "--on", self.folder, "--mib", "1", "--seconds", "1"],
            env={**os.environ, "SLUICE_ADVICE_LOG": log})
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(log, encoding="ascii") as file:
            told = file.read().split()
        counts = [told.count(name) for name in self.hosts.names]
        self.assertGreater(counts[0], 0)
        self.assertEqual(counts, 2 * [len(told) // 2])

    def test_demo(self):
        command, environment = demo.demo(self.hosts.mpirun())
        done = self.hosts.run(0, command, cwd=self.folder,
                              env={**environment, "SLUICE_OUT": self.folder})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertGreater(os.path.getsize(os.path.join(self.folder, "spins.png")), 10000)

    def test_conformance(self):
        done = self.hosts.run(
            0, [*self.hosts.mpirun(), "-n", "4", os.path.join(BUILD, "tests", "conformance_mpi"),
                "--gtest_filter=*_posix*"], timeout_s=1800)
        self.assertEqual(done.returncode, 0, done.stdout[-4000:] + done.stderr[-4000:])


if __name__ == "__main__":
    unittest.main()
