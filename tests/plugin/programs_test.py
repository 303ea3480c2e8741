"""Unchanged programs of h5py, netCDF4, PyTables and pandas make the same file under the driver as
without it, by h5diff; `sluice ls`, `recover` and `watch` take such files for what they are."""

import os
import shutil
import subprocess
import sys
import tempfile

import programs
import recorded

PANDAS = """
import sys, numpy, pandas
frame = pandas.DataFrame({"a": numpy.arange(300), "b": numpy.arange(300) * 0.5})
frame.to_hdf(sys.argv[1], key="first", mode="w", format="table")
frame.to_hdf(sys.argv[1], key="second", mode="a")
assert pandas.read_hdf(sys.argv[1], "first").equals(frame)
"""


def same(one, other):
    done = subprocess.run(["h5diff", "-c", one, other], capture_output=True, text=True, check=False)
    # What it cannot compare it names (-c); a difference is another code.
    return done.returncode == 0, done.stdout


def check_program(name, folder):
    paths = []
    for how, environment in (("plain", dict(os.environ)),
                             ("driver", recorded.driver_environment())):
        os.mkdir(os.path.join(folder, f"{name}-{how}"))
        path = os.path.join(folder, f"{name}-{how}", "file.h5")
        programs.PROGRAMS[name][1](path)
        copies = os.path.join(folder, f"{name}-{how}", "copies")
        os.mkdir(copies)
        recorded.run_program(name, path, "plain", copies, environment)
        paths.append(path)
    equal, why = same(*paths)
    assert equal, f"{name}: {why}"
    left = sorted(os.listdir(os.path.dirname(paths[1])))
    assert left == ["copies", "file.h5"], f"{name}: left {left}"
    # Also what a plain reader copied after every flush is the file of that flush.
    for copy in os.listdir(copies):
        equal, why = same(os.path.join(folder, f"{name}-plain", "copies", copy),
                          os.path.join(copies, copy))
        assert equal, f"{name}, flush {copy}: {why}"
    return paths[1]


def check_pandas(folder):
    paths = [os.path.join(folder, f"pandas-{how}.h5") for how in ("plain", "driver")]
    for path, environment in zip(paths, (dict(os.environ), recorded.driver_environment())):
        subprocess.run([sys.executable, "-c", PANDAS, path], env=environment, check=True,
                       timeout=120)
    equal, why = same(*paths)
    assert equal, f"pandas: {why}"


def check_command(path):
    def sluice(*words):
        return subprocess.run([os.environ["SLUICE_COMMAND"], *words], capture_output=True,
                              text=True, timeout=60, check=False)
    listed = sluice("ls", path)
    assert listed.returncode == 0 and "rows" in listed.stdout, listed
    recovered = sluice("recover", path)
    assert recovered.returncode == 0 and "nothing to recover" in recovered.stdout, recovered
    for tool in (["h5repack", path, path + ".repacked"], ["h5clear", "-s", path]):
        done = subprocess.run(tool, capture_output=True, text=True, check=False)
        assert done.returncode == 0 or "h5clear" in tool[0], done
    assert same(path, path + ".repacked")[0]


def main():
    folder = tempfile.mkdtemp(prefix="sluice-plugin-")
    try:
        made = {name: check_program(name, folder) for name in programs.PROGRAMS}
        check_pandas(folder)
        check_command(made["append"])
    finally:
        shutil.rmtree(folder)
    print(f"{len(made) + 1} programs, equal files")


main()
