"""Two hosts on one machine: network namespaces joined by a cable, each with a name of its own.

They share the disk, as the nodes of a cluster do, and nothing else: no shared memory passes between
ranks of different hosts, since Open MPI sees two names. Needs root and iproute2."""

import os
import shlex
import shutil
import subprocess
import tempfile

BUILD = os.environ["SLUICE_BUILD_DIR"]
SOURCE = os.environ["SLUICE_SOURCE_DIR"]
NETWORK = "10.77.0.0/24"
# Open MPI otherwise tries every interface of the machine, also those that end at no other host.
NETWORK_OPTIONS = ["--mca", "btl_tcp_if_include", NETWORK, "--mca", "oob_tcp_if_include", NETWORK]

AGENT = """#!/bin/sh
# AGENT HOST COMMAND...: what ssh is to mpirun elsewhere.
for name in {names}; do
  [ "$1" = "$(cat {folder}/$name.address)" ] && host=$name
done
shift
exec nsenter --net=/run/netns/$host unshare --uts sh -c "hostname $host && exec sh -c '$*'"
"""


def why_not():
    """Why there can be no hosts here; empty: there can be."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    for program in ("ip", "nsenter", "unshare"):
        if shutil.which(program) is None:
            return f"no program {program}"
    probe = f"sluice-probe-{os.getpid()}"
    if subprocess.run(["ip", "netns", "add", probe], capture_output=True, check=False).returncode:
        return "the kernel allows no network namespace"
    subprocess.run(["ip", "netns", "del", probe], check=False)
    return ""


class TwoHosts:
    """`names`: of the hosts; `addresses`. With close() they are gone, and all that ran on them."""

    def __init__(self):
        # Names of interfaces have at most 15 characters.
        self.names = [f"sl{letter}{os.getpid()}" for letter in "ab"]
        self.addresses = ["10.77.0.1", "10.77.0.2"]
        self.folder = tempfile.mkdtemp(prefix="sluice-hosts-")
        self.started = []
        try:
            self._connect()
        except BaseException:
            self.close()
            raise
        for name, address in zip(self.names, self.addresses):
            with open(os.path.join(self.folder, f"{name}.address"), "w", encoding="ascii") as file:
                file.write(address)
        self.agent = os.path.join(self.folder, "agent")
        with open(self.agent, "w", encoding="ascii") as file:
            file.write(AGENT.format(names=" ".join(self.names), folder=self.folder))
        os.chmod(self.agent, 0o755)

    def _connect(self):
        def ip(*words):
            subprocess.run(["ip", *words], check=True, capture_output=True)

        for name in self.names:
            ip("netns", "add", name)
        one, other = self.names
        ip("link", "add", one, "netns", one, "type", "veth", "peer", "name", other, "netns", other)
        for name, address in zip(self.names, self.addresses):
            ip("-n", name, "addr", "add", f"{address}/24", "dev", name)
            ip("-n", name, "link", "set", "lo", "up")
            ip("-n", name, "link", "set", name, "up")

    def close(self):
        for process in self.started:
            process.terminate()
        for process in self.started:
            process.wait(30)
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)
        shutil.rmtree(self.folder, ignore_errors=True)

    def words(self, host, command):
        """The command line that runs `command` on host 0 or 1."""
        name = self.names[host]
        return ["nsenter", f"--net=/run/netns/{name}", "unshare", "--uts", "sh", "-c",
                f"hostname {name} && exec {shlex.join(map(str, command))}"]

    def run(self, host, command, timeout_s=300, **options):
        """As subprocess.run, with its output as text."""
        return subprocess.run(self.words(host, command), capture_output=True, text=True,
                              timeout=timeout_s, check=False, **options)

    def start(self, host, command, **options):
        """A daemon, until close()."""
        self.started.append(subprocess.Popen(self.words(host, command), **options))

    def mpirun(self):
        """mpirun with its options but -n, to be started on host 0: 2 ranks on each host."""
        return ["mpirun", "--oversubscribe", *NETWORK_OPTIONS, "--mca", "plm_rsh_agent", self.agent,
                "--host", ",".join(f"{address}:2" for address in self.addresses)]
