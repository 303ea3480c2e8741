"""The demo's simulation, by any launcher and strategy, beside a run on one host."""

import os
import subprocess

import h5py
import numpy

from two_hosts import BUILD, SOURCE

SLUICE = os.path.join(BUILD, "cli", "sluice")
VAMPIRE = os.path.join(BUILD, "apps", "vampire", "vampire")
STRATEGIES = ("serial", "shared", "collective", "forward", "file-per-node", "file-per-process",
              "auto")
SIZE = ["--size", "12", "12", "4", "--steps", "20", "--every", "10"]


def vampire(path):
    """What a launcher is to start: 4 ranks that write to `path`."""
    return ["-n", "4", VAMPIRE, *SIZE, "--output", path]


def environment(strategy):
    return {**os.environ, "SLUICE_STRATEGY": strategy}


def spins(path):
    with h5py.File(path) as file:
        return file["spins"][:]


def check(test, folder, path, strategy):
    """The file holds what one rank of one host computes, every byte proven; parts by host."""
    expected = os.path.join(folder, "expected.h5")
    if not os.path.exists(expected):
        subprocess.run([VAMPIRE, *SIZE, "--output", expected], check=True, capture_output=True)
    test.assertTrue(numpy.array_equal(spins(path), spins(expected)), strategy)
    verified = subprocess.run([SLUICE, "verify", path], capture_output=True, text=True,
                              check=False)
    test.assertEqual(verified.returncode, 0, verified.stdout + verified.stderr)
    parts = {"file-per-node": 2, "file-per-process": 4}.get(strategy)
    if parts is not None:
        test.assertEqual(len(os.listdir(path + ".parts")), parts)


def demo(launcher):
    """The command that runs the demo's script, and its environment."""
    return [os.path.join(SOURCE, "apps", "vampire", "demo.sh"), "--steps", "100"], {
        **os.environ, "SLUICE_LAUNCH": " ".join(launcher)}
