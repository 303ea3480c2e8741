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
