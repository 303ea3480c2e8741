"""What the tests of crash images share: the states that a program goes through, by plain HDF5, and
the judgement of every disk that a crash under the driver could leave."""

import json
import os
import shutil
import subprocess
import sys
import tempfile

import programs
import values

HERE = os.path.dirname(os.path.abspath(__file__))
IS_LONG = bool(os.environ.get("SLUICE_LONG"))
WATCHED = os.path.dirname(os.environ["SLUICE_WATCHED_DRIVER"])


def driver_environment(folder=None):
    return {**os.environ, "HDF5_DRIVER": "sluice",
            "HDF5_PLUGIN_PATH": folder or os.environ["SLUICE_DRIVER_FOLDER"]}


def run_program(name, path, how, target, environment):
    done = subprocess.run([sys.executable, os.path.join(HERE, "run_program.py"), name, path, how,
                           target], env=environment, capture_output=True, text=True, timeout=300,
                          check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


class Recorded:
    """A program's run, and the digests of its states: states[0] is before it, None for no file."""

    def __init__(self, name, config=""):
        self.name = name
        self.config = config
        self.folder = tempfile.mkdtemp(prefix="sluice-plugin-")
        before = programs.PROGRAMS[name][1]
        self.states = self._plain_states(name, before)
        self.path = os.path.join(self.folder, "disk", "file.h5")
        os.mkdir(os.path.dirname(self.path))
        before(self.path)
        self.base = None
        if os.path.exists(self.path):
            self.base = shutil.copy(self.path, os.path.join(self.folder, "base.h5"))
        self.dump = os.path.join(self.folder, "dump")
        environment = {**driver_environment(WATCHED), "HDF5_DRIVER_CONFIG": config}
        self.marks = run_program(name, self.path, "watched", self.dump, environment)
        assert len(self.marks) + 1 == len(self.states)
        assert values.digest_of(self.path) == self.states[-1], f"{name}: other values than plain"

    def _plain_states(self, name, before):
        folder = os.path.join(self.folder, "plain")
        os.mkdir(folder)
        path = os.path.join(folder, "file.h5")
        before(path)
        states = [self._state_of(path) if os.path.exists(path) else None]
        marks = run_program(name, path, "plain", folder, dict(os.environ))
        return states + [values.digest_of(os.path.join(folder, f"{i}.h5")) for i in marks]

    def judge(self, seed, bug="none"):
        """Which images there were, each once: a set of (kind, disk, flushes that had returned); and
        violations in words."""
        out = os.path.join(self.folder, f"images-{bug}")
        os.mkdir(out)
        done = subprocess.run([os.environ["SLUICE_IMAGES"], self.dump, self.path, out,
                               ",".join(map(str, self.marks)), "1" if IS_LONG else "0", str(seed),
                               bug, *([self.base] if self.base else [])],
                              capture_output=True, text=True, timeout=3000, check=False)
        assert done.returncode == 0, done.stderr
        found = {-1: None, -2: "refused by recovery"}
        violations = []
        images = set()
        with open(os.path.join(out, "images"), encoding="ascii") as lines:
            for line in lines:
                kind, number, returned, disk = line.split()
                number, returned = int(number), int(returned)
                if number not in found:
                    found[number] = self._state_of(os.path.join(out, f"{number}.h5"))
                images.add((kind, disk, returned))
                wrong = self._fault(kind, found[number], returned)
                if wrong:
                    violations.append(f"{self.name}: {kind} image {number} after flush {returned}: "
                                      f"{wrong}")
        shutil.rmtree(out)
        return images, violations

    @staticmethod
    def _state_of(path):
        try:
            return values.digest_of(path)
        except values.Refused:
            return "refused by HDF5"
        except Exception as problem:  # noqa: BLE001 - whatever a reader meets in the middle
            return f"opens, but cannot be read: {problem}"

    def _fault(self, kind, state, returned):
        if state in self.states[returned:returned + 2]:
            return None
        is_closed = returned + 1 == len(self.states)
        may_be_refused = kind == "plain" and not is_closed and (state or not returned)
        oldest = 0 if "apply=later" in self.config else max(0, returned - 1)
        if may_be_refused and state in ("refused by HDF5", *self.states[oldest:]):
            return None
        return state if state and " " in state else "values of no flush that it may hold"

    def remove(self):
        shutil.rmtree(self.folder)
