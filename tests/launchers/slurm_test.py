"""Under Slurm: a controller and a daemon on each of two hosts, started here; the demo and every
strategy by salloc and mpirun, which asks Slurm for its nodes and starts its daemons by srun."""

import os
import shutil
import subprocess
import tempfile
import time
import unittest

import demo
from two_hosts import NETWORK_OPTIONS, TwoHosts, why_not

MISSING = [p for p in ("slurmctld", "slurmd", "salloc", "sinfo") if shutil.which(p) is None]
REASON = f"no {MISSING[0]}: apt install slurm-wlm" if MISSING else why_not()

CONFIGURATION = """\
ClusterName=sluice
SlurmctldHost={hosts[0]}({addresses[0]})
SlurmctldPort=17817
SlurmdPort=17818
AuthType=auth/none
CryptoType=crypto/none
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/controller.pid
SlurmdPidFile={folder}/daemon.%n.pid
SlurmctldLogFile={folder}/controller.log
SlurmdLogFile={folder}/daemon.%n.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/linear
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
NodeName={hosts[0]} NodeAddr={addresses[0]} CPUs=2
NodeName={hosts[1]} NodeAddr={addresses[1]} CPUs=2
PartitionName=all Nodes={hosts[0]},{hosts[1]} Default=YES MaxTime=10 State=UP
"""
ALLOCATE = ["salloc", "-Q", "-N2", "-n4", "--overcommit"]
MPIRUN = ["mpirun", "--oversubscribe", *NETWORK_OPTIONS]


@unittest.skipIf(REASON, REASON)
class Slurm(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = scratch.name
        cls.hosts = TwoHosts()
        cls.addClassCleanup(cls.hosts.close)
        os.environ["SLURM_CONF"] = os.path.join(cls.folder, "slurm.conf")
        for made in ("state", *(f"spool.{name}" for name in cls.hosts.names)):
            os.mkdir(os.path.join(cls.folder, made))
        with open(os.environ["SLURM_CONF"], "w", encoding="ascii") as file:
            file.write(CONFIGURATION.format(hosts=cls.hosts.names, addresses=cls.hosts.addresses,
                                            folder=cls.folder))
        for host, command in ((0, "slurmctld"), (0, "slurmd"), (1, "slurmd")):
            cls.hosts.start(host, [command, "-D"], stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL)
        cls.wait_for_nodes()

    @classmethod
    def wait_for_nodes(cls):
        until = time.monotonic() + 60
        while time.monotonic() < until:
            done = cls.hosts.run(0, ["sinfo", "-h", "-o", "%D %t"])
            if done.stdout.split() == ["2", "idle"]:
                return
            time.sleep(0.5)
        with open(os.path.join(cls.folder, "controller.log"), encoding="utf-8") as log:
            raise RuntimeError(f"the nodes do not come up: {done.stdout}{done.stderr}{log.read()}")

    def test_every_strategy(self):
        for strategy in demo.STRATEGIES:
            path = os.path.join(self.folder, f"{strategy}.h5")
            done = self.hosts.run(
                0, [*ALLOCATE, *MPIRUN, *demo.vampire(path)],
                env=demo.environment(strategy))
            self.assertEqual(done.returncode, 0, f"{strategy}: {done.stdout}{done.stderr}")
            demo.check(self, self.folder, path, strategy)

    def test_demo(self):
        command, environment = demo.demo(MPIRUN)
        done = self.hosts.run(0, [*ALLOCATE, *command], cwd=self.folder,
                              env={**environment, "SLUICE_OUT": self.folder})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertGreater(os.path.getsize(os.path.join(self.folder, "spins.png")), 10000)


if __name__ == "__main__":
    unittest.main()
