"""Unchanged programs of h5py, netCDF4, PyTables, pandas, xarray and anndata make the same file
under the driver as without it, by h5diff; `sluice ls`, `recover`, `verify` and `watch` take such
files for what they are, also after a crash."""

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile

import programs
import recorded

SCRIPTS = {
    "pandas": """
import sys, numpy, pandas
frame = pandas.DataFrame({"a": numpy.arange(300), "b": numpy.arange(300) * 0.5})
frame.to_hdf(sys.argv[1], key="first", mode="w", format="table")
frame.to_hdf(sys.argv[1], key="second", mode="a")
assert pandas.read_hdf(sys.argv[1], "first").equals(frame)
""",
    "xarray": """
import sys, numpy, xarray
data = xarray.Dataset({"t": (("time", "x"), numpy.arange(60.0).reshape(6, 10))})
data.to_netcdf(sys.argv[1], engine="h5netcdf", unlimited_dims=["time"])
data.rename(t="u").to_netcdf(sys.argv[1], mode="a", engine="netcdf4")
with xarray.open_dataset(sys.argv[1], engine="h5netcdf") as found:
    assert (found["u"] == data["t"]).all()
""",
    "anndata": """
import sys, anndata, numpy
anndata.settings.allow_write_nullable_strings = True
made = anndata.AnnData(numpy.arange(60.0).reshape(6, 10))
made.obs["kind"] = list("aabbcc")
made.write_h5ad(sys.argv[1])
assert (anndata.read_h5ad(sys.argv[1]).X == made.X).all()
""",
}


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


def check_script(name, script, folder):
    if importlib.util.find_spec(name) is None:
        print(f"left out: {name} is not installed")
        return False
    paths = [os.path.join(folder, f"{name}-{how}.h5") for how in ("plain", "driver")]
    for path, environment in zip(paths, (dict(os.environ), recorded.driver_environment())):
        subprocess.run([sys.executable, "-W", "ignore", "-c", script, path], env=environment,
                       check=True, timeout=120)
    equal, why = same(*paths)
    assert equal, f"{name}: {why}"
    return True


def sluice(*words):
    return subprocess.run([os.environ["SLUICE_COMMAND"], *words], capture_output=True, text=True,
                          timeout=60, check=False)


def check_command(path):
    listed = sluice("ls", path)
    assert listed.returncode == 0 and "rows" in listed.stdout, listed
    recovered = sluice("recover", path)
    assert recovered.returncode == 0 and "nothing to recover" in recovered.stdout, recovered
    verified = sluice("verify", path)
    assert verified.returncode == 2 and "not written by Sluice" in verified.stderr, verified
    watched = sluice("watch", path, "--timeout", "0.2", "--every", "0.1")
    assert watched.returncode in (0, 1) and "0 steps" in watched.stdout, watched
    for tool in (["h5repack", path, path + ".repacked"], ["h5clear", "-s", path]):
        done = subprocess.run(tool, capture_output=True, text=True, check=False)
        assert done.returncode == 0 or "h5clear" in tool[0], done
    assert same(path, path + ".repacked")[0]


def check_command_after_a_crash(folder):
    """A journal lies beside the file: the tools read the last flush, and recover removes it."""
    path = os.path.join(folder, "crash.h5")
    script = """
import h5py, os, sys
f = h5py.File(sys.argv[1], "w")
f["rows"] = [1.0, 2.0]
f.flush()
f["rows"][0] = 5
f.flush()
f["rows"][1] = 7
os._exit(0)
"""
    subprocess.run([sys.executable, "-c", script, path], env=recorded.driver_environment(),
                   check=True, timeout=60)
    assert os.path.exists(path + ".sluice-journal")
    listed = sluice("ls", path)
    assert listed.returncode == 0 and "rows" in listed.stdout, listed
    recovered = sluice("recover", path)
    assert recovered.returncode == 0 and "was removed" in recovered.stdout, recovered
    assert sorted(os.listdir(folder)).count("crash.h5.sluice-journal") == 0
    dumped = subprocess.run(["h5dump", "-y", "-d", "rows", path], capture_output=True, text=True,
                            check=True)
    assert "5, 2" in dumped.stdout, dumped


def main():
    folder = tempfile.mkdtemp(prefix="sluice-plugin-")
    try:
        made = {name: check_program(name, folder) for name in programs.PROGRAMS}
        others = [name for name, script in SCRIPTS.items() if check_script(name, script, folder)]
        check_command(made["append"])
        check_command_after_a_crash(folder)
    finally:
        shutil.rmtree(folder)
    print(f"{len(made) + len(others)} programs, equal files")


main()
