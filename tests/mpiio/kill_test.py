"""A program that is killed between two syncs: what the last sync promised is there, number by
number, and no other place holds anything but what was meant for it; writing through, and writing
behind with a writer that is late. A program that says so without a sync must be found out."""

import array
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import launch

FOLDER = pathlib.Path(os.environ["SLUICE_TEST_MPIIO_FOLDER"])
LATE_FOLDER = pathlib.Path(os.environ["SLUICE_TEST_MPIIO_LATE_FOLDER"])
PROGRAMS = pathlib.Path(os.environ["SLUICE_TEST_MPIIO_PROGRAMS"])
TESTED = os.environ["SLUICE_TEST_MPIIO_TESTED"].split()
IS_LONG = os.environ.get("SLUICE_LONG") == "1"
# Mode: the folder of the interface, and its settings.
MODES = {"through": (FOLDER, {}),
         "behind": (LATE_FOLDER, {"SLUICE_MPIIO_WRITE_BEHIND": "true",
                                  "SLUICE_TEST_MPIIO_LATE_MS": "3-30"})}
RANKS = 3
STEP_NUMBERS = RANKS * 320 * 125  # as in steps.cpp
HEADER_NUMBERS = 16


def kill_after(abi, mode, file, steps, delay_s, syncs="sync"):
    """Kills every rank at once, `delay_s` after that many steps. Returns how many were safe."""
    folder, settings = MODES[mode]
    words = launch.words(abi, RANKS, PROGRAMS / f"steps.{abi}", file, syncs,
                         preload=folder / f"libsluice-mpiio-{abi}.so")
    process = subprocess.Popen(words, env=os.environ | settings, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    ranks, safe = [], 0
    for line in process.stdout:
        name, number = line.split()
        if name == "process":
            ranks.append(int(number))
        elif int(number) == steps:
            break
    time.sleep(delay_s)
    assert len(ranks) == RANKS, f"{ranks}: {process.stderr.read()}"
    for rank in ranks:
        os.kill(rank, signal.SIGKILL)
    rest = process.communicate(timeout=120)[0]
    safe = max([steps] + [int(line.split()[1]) for line in rest.splitlines()
                          if line.startswith("safe ")])
    assert process.returncode != 0
    return safe


def damage(file, safe):
    """What is wrong in the file, "" if nothing is."""
    content = file.read_bytes()
    numbers = array.array("i", content[:len(content) // 4 * 4])
    header, data = numbers[:HEADER_NUMBERS], numbers[HEADER_NUMBERS:]
    if len(set(header)) != 1 or not safe <= header[0] <= safe + 1:
        return f"the header is {header} after {safe} steps"
    if len(data) < safe * STEP_NUMBERS:
        return f"{len(data)} numbers after {safe} steps"
    for at, number in enumerate(data):
        step, place = divmod(at, STEP_NUMBERS)
        right = (step + 1) * 1_000_000 + place
        # Between the sync and the kill a place may be written, or not yet.
        if number != right and (step < safe or number != 0):
            return f"place {place} of step {step + 1} is {number} after {safe} steps"
    return ""


class Kill(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="sluice-mpiio-kill-")
        self.addCleanup(folder.cleanup)
        self.file = pathlib.Path(folder.name) / "data"

    def test_what_a_sync_promised(self):
        chance = random.Random(26)
        for abi in TESTED if IS_LONG else TESTED[:1]:
            for mode in MODES:
                for attempt in range(20 if IS_LONG else 2):
                    with self.subTest(abi=abi, mode=mode, attempt=attempt):
                        self.file.unlink(missing_ok=True)
                        safe = kill_after(abi, mode, self.file, chance.randint(1, 6),
                                          chance.uniform(0, 0.04))
                        self.assertEqual(damage(self.file, safe), "")

    def test_a_false_promise_is_found_out(self):
        safe = kill_after(TESTED[0], "behind", self.file, 5, 0, syncs="none")
        self.assertNotEqual(damage(self.file, safe), "")


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    unittest.main(verbosity=2)
