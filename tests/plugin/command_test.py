"""`sluice run`, `sluice env` and `import sluice.hdf5`: a program's files are committed by the
driver, its exit code and signals are its own, and where its HDF5 cannot load the driver, or the
import comes too late, that is said."""

import os
import signal
import subprocess
import sys
import tempfile

COMMAND = os.environ["SLUICE_COMMAND"]
PROGRAM = """
import h5py, sys
f = h5py.File(sys.argv[1], "w"); f["x"] = 1; f.flush()
print("libsluice_hdf5_driver" in open("/proc/self/maps").read(), flush=True)
"""


def start(*words, **more):
    return subprocess.run(words, capture_output=True, text=True, timeout=120, check=False, **more)


def test_run(folder):
    done = start(COMMAND, "run", "--", sys.executable, "-c", PROGRAM, folder + "/a.h5")
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", ""), done
    assert start(COMMAND, "run", "sh", "-c", "exit 7").returncode == 7
    assert start(COMMAND, "run", "--", "no-such-program").returncode == 127
    assert start(COMMAND, "run").returncode == 2
    killed = start(COMMAND, "run", "--", "sh", "-c", "kill -TERM $$")
    assert killed.returncode == -signal.SIGTERM, killed


def test_the_command_s_own_hdf5_is_not_the_program_s():
    # Between fork and exec the child has this command's libraries mapped.
    for _ in range(40):
        done = start(COMMAND, "run", "--", "true")
        assert done.returncode == 0 and "the program's HDF5" not in done.stderr, done


def test_an_old_hdf5_is_named(folder):
    start(COMMAND, "run", "--", sys.executable, "-c", PROGRAM, folder + "/b.h5")
    # Debian's HDF5 1.10; the shell keeps it long enough for the look.
    done = start(COMMAND, "run", "--", "h5dump", folder + "/b.h5")
    if "1.10" in start("h5dump", "--version").stdout:
        assert "older than 1.14" in done.stderr or "not seen" in done.stderr, done


def test_env(folder):
    script = f'eval "$({COMMAND} env)"; {sys.executable} -c "$0" {folder}/c.h5'
    done = start("sh", "-c", script, PROGRAM)
    assert (done.returncode, done.stdout) == (0, "True\n"), done


def test_import(folder):
    package = os.path.join(os.environ["SLUICE_SOURCE_DIR"], "python", "sluice", "hdf5.py")
    environment = {**os.environ, "SLUICE_HDF5_DRIVER_PATH": os.environ["SLUICE_DRIVER_FOLDER"]}
    # By its file: the package around it needs an MPI.
    load = ("import importlib.util as u; s = u.spec_from_file_location('hdf5', "
            f"{package!r}); m = u.module_from_spec(s); s.loader.exec_module(m)\n")
    done = start(sys.executable, "-c", load + PROGRAM, folder + "/d.h5", env=environment)
    assert (done.returncode, done.stdout) == (0, "True\n"), done
    late = start(sys.executable, "-c", "import h5py\n" + load, env=environment)
    assert late.returncode != 0 and "comes too late" in late.stderr, late


def main():
    with tempfile.TemporaryDirectory(prefix="sluice-plugin-") as folder:
        for name, test in sorted(globals().items()):
            if name.startswith("test_"):
                test(*[folder] * test.__code__.co_argcount)
                print(name, flush=True)


main()
