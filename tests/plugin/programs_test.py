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
    "the bytes of a file that is marked for SWMR": """
import sys, h5py, numpy
marked = numpy.frombuffer(b"\\x89HDF\\r\\n\\x1a\\n" + bytes([3, 8, 8, 4]) + bytes(20), "u1")
with h5py.File(sys.argv[1], "w") as f:
    f["archive"] = numpy.tile(marked, 1000)
    f["chunks"] = f.create_dataset("archives", data=numpy.tile(marked, 1000), chunks=(32,))
    f.flush()
    f["after"] = 1
with h5py.File(sys.argv[1]) as f:
    assert (f["archive"][...] == numpy.tile(marked, 1000)).all()
    assert (f["archives"][...] == numpy.tile(marked, 1000)).all()
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
    subprocess.run(["h5repack", path, path + ".repacked"], capture_output=True, check=True)
    assert same(path, path + ".repacked")[0]


MARKS_CLEARED_BY_HDF5 = """
import ctypes, glob, h5py, os, sys
hdf5 = ctypes.CDLL(glob.glob(os.path.dirname(h5py.__file__) + "/../h5py.libs/libhdf5-*")[0])
access = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
set_property = hdf5.H5Pset
set_property.argtypes = [ctypes.c_int64, ctypes.c_char_p, ctypes.c_void_p]
assert set_property(access.id, b"clear_status_flags", ctypes.byref(ctypes.c_bool(True))) >= 0
h5py.h5f.open(sys.argv[1].encode(), h5py.h5f.ACC_RDWR, access).close()
"""


def check_marks(folder):
    """Of a file that is marked as open: the advice helps, and mode "w" is silent."""
    path = os.path.join(folder, "marked.h5")
    plain = {**os.environ, "HDF5_DRIVER": ""}

    def python(code, environment):
        return subprocess.run([sys.executable, "-c", code, path], env=environment, timeout=60,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)

    def mark():
        died = python("import h5py, os, sys; f = h5py.File(sys.argv[1], 'w', libver='latest'); "
                      "f['x'] = 1; f.flush(); os._exit(0)", plain)
        assert died.returncode == 0, died

    advice = f"HDF5_DRIVER= h5clear -s {path}"
    change = "import h5py, sys; h5py.File(sys.argv[1], 'r+').close()"
    driver = recorded.driver_environment()
    for clear in (lambda: subprocess.run(advice, shell=True, capture_output=True, text=True,
                                         env=driver, check=False),
                  lambda: python(MARKS_CLEARED_BY_HDF5, driver)):
        mark()
        refused = python(change, driver)
        assert refused.returncode != 0 and advice in refused.stderr, refused
        cleared = clear()
        assert cleared.returncode == 0, cleared
        changed = python(change, driver)
        assert changed.returncode == 0 and not changed.stderr, changed
    mark()
    made = python("import h5py, sys; h5py.File(sys.argv[1], 'w')['y'] = 2", driver)
    assert made.returncode == 0 and not made.stderr, made
    mark()
    caught = python("import h5py, sys\ntry: h5py.File(sys.argv[1], 'r+')\nexcept OSError: pass",
                    driver)
    assert caught.stderr.count("sluice: ") == 1 and advice in caught.stderr, caught


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
        check_marks(folder)
    finally:
        shutil.rmtree(folder)
    print(f"{len(made) + len(others)} programs, equal files")


main()
