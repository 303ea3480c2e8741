"""`sluice run`, `sluice env` and `import sluice.hdf5`: a program's files are committed by the
driver, its exit code and signals are its own, and where its HDF5 cannot load the driver, or the
import comes too late, that is said."""

import json
import os
import pty
import shlex
import signal
import struct
import subprocess
import sys
import tempfile
import time

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


def test_a_driver_that_was_loaded_is_not_missed(folder):
    # In a program that the program starts, and whose end comes soon.
    script = '"$0" -c "$1" "$2"; true'
    for _ in range(5):
        done = start(COMMAND, "run", "--", "sh", "-c", script, sys.executable, PROGRAM,
                     folder + "/e.h5")
        assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", ""), done
    done = start(COMMAND, "run", "--", *shlex.split(os.environ["SLUICE_MPIEXEC"]), "-n", "2",
                 sys.executable, "-c", PROGRAM.replace("sys.argv[1]", "sys.argv[1] + "
                 "str(__import__('os').getpid())"), folder + "/h.h5")
    assert (done.returncode, "loaded the driver" in done.stderr) == (0, False), done
    # A run in a run.
    done = start(COMMAND, "run", "--", COMMAND, "run", "--", sys.executable, "-c", PROGRAM,
                 folder + "/i.h5")
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", ""), done


def test_a_driver_that_was_not_loaded_is_told():
    for words in (["true"], ["sh", "-c", "sleep 0.3; true"]):
        done = start(COMMAND, "run", "--", *words)
        assert done.returncode == 0 and "loaded the driver" in done.stderr, done


def test_nothing_is_left(folder):
    # Of what the driver is seen by.
    temporary = tempfile.mkdtemp(dir=folder)
    environment = {**os.environ, "TMPDIR": temporary}
    start(COMMAND, "run", "--", sys.executable, "-c", PROGRAM, folder + "/j.h5", env=environment)
    start(COMMAND, "run", "--", "sh", "-c", "kill -TERM $$", env=environment)
    start(COMMAND, "run", "--", "no-such-program", env=environment)
    assert not os.listdir(temporary)


def test_what_starts_programs_elsewhere_is_not_judged(folder):
    # The driver in a program on another node cannot be seen.
    with open(folder + "/srun", "w") as script:
        script.write("#!/bin/sh\nsleep 1\n")
    os.chmod(folder + "/srun", 0o755)
    for words in ([folder + "/srun"], ["sh", "-c", folder + "/srun; true"]):
        done = start(COMMAND, "run", "--", *words)
        assert (done.returncode, done.stderr) == (0, ""), done


def test_an_old_hdf5_is_named(folder):
    start(COMMAND, "run", "--", sys.executable, "-c", PROGRAM, folder + "/b.h5")
    # Debian's HDF5 1.10; the shell keeps it long enough for the look.
    done = start(COMMAND, "run", "--", "h5dump", folder + "/b.h5")
    if "1.10" in start("h5dump", "--version").stdout:
        assert "older than 1.14" in done.stderr or "loaded the driver" in done.stderr, done


# Says each time that a signal came, and how often, once it has not come for a while.
COUNTER = """
import signal, sys
number = getattr(signal, sys.argv[1])
signal.pthread_sigmask(signal.SIG_BLOCK, [number])
print("ready", flush=True)
count = 0
while signal.sigtimedwait([number], 2 if count else 60) is not None:
    count += 1
    if sys.argv[2:] == ["each"]:
        print(f"number {count}", flush=True)
if sys.argv[2:] == ["each"]:
    del sys.argv[2]
print(f"came {count}", flush=True, file=open(sys.argv[2], "w") if sys.argv[2:] else None)
"""


def read_until(terminal, what):
    shown = b""
    while what not in shown:
        try:
            piece = os.read(terminal, 4096)
        except OSError:  # how a terminal ends
            break
        if not piece:
            break
        shown += piece
    return shown


def on_a_terminal(*words):
    """(process, terminal) of a program that leads the session of a new terminal."""
    process, terminal = pty.fork()
    if process == 0:
        os.execvp(words[0], words)
    assert b"ready" in read_until(terminal, b"ready\r\n")
    return process, terminal


def test_a_key_reaches_the_program_once():
    # Equal signals that wait are one: several, so that a second one is seen at least once.
    process, terminal = on_a_terminal(COMMAND, "run", "--", sys.executable, "-c", COUNTER,
                                      "SIGINT", "each")
    for number in range(1, 11):
        os.write(terminal, b"\x03")
        assert b"number" in read_until(terminal, f"number {number}\r\n".encode())
        time.sleep(0.05)
    shown = read_until(terminal, b"came 10")
    os.close(terminal)
    os.waitpid(process, 0)
    assert b"came 10" in shown, shown


def test_a_signal_to_the_command_reaches_the_program_once():
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1"):
        with subprocess.Popen([COMMAND, "run", "--", sys.executable, "-c", COUNTER, name],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              text=True) as run:
            assert run.stdout.readline() == "ready\n"
            run.send_signal(getattr(signal, name))
            assert run.stdout.readline() == "came 1\n", name


def test_a_hangup_reaches_the_program(folder):
    # The kernel tells the leader of the session alone.
    result = folder + "/hangup"
    process, terminal = on_a_terminal(COMMAND, "run", "--", sys.executable, "-c", COUNTER,
                                      "SIGHUP", result)
    os.close(terminal)
    os.waitpid(process, 0)
    with open(result) as told:
        assert told.read() == "came 1\n"


def test_a_signal_that_is_ignored_stays_so():
    # As under nohup.
    script = "trap '' HUP; exec \"$@\""
    done = start("sh", "-c", script, "sh", COMMAND, "run", "--", sys.executable, "-c",
                 "import signal; print(signal.getsignal(signal.SIGHUP) is signal.SIG_IGN)")
    assert done.stdout == "True\n", done


def test_the_exit_code_of_who_ignores_ends_of_processes():
    code = "import signal as s, sys; sys.exit(7 if s.getsignal(s.SIGCHLD) is s.SIG_IGN else 1)"
    done = start("env", "--ignore-signal=CHLD", COMMAND, "run", "--", sys.executable, "-c", code)
    assert done.returncode == 7, done


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


def test_recover_of_what_another_program_changed(folder):
    # One file or several: 2, and JSON.
    path = folder + "/k.h5"
    script = """
import h5py, numpy, os, sys
f = h5py.File(sys.argv[1], "w")
f["x"] = numpy.arange(1000.0)
f.flush()
f["x"][:] = 7
f.flush()
os._exit(0)
"""
    start(COMMAND, "run", "--", sys.executable, "-c", script, path,
          env={**os.environ, "HDF5_DRIVER_CONFIG": "apply=later"})
    with open(path, "r+b") as file:
        at = file.read().find(struct.pack("<2d", 1, 2))
        file.seek(at)
        file.write(struct.pack("<d", 42))
    sound = folder + "/l.h5"
    start(sys.executable, "-c", PROGRAM, sound)
    for files in ([path], [path, sound]):
        done = start(COMMAND, "recover", "--json", *files)
        assert done.returncode == 2 and "neither those before" in done.stderr, done
        assert [one["found"] for one in json.loads(done.stdout)] == \
            ["error", "no journal"][:len(files)]
        assert start(COMMAND, "recover", *files).returncode == 2


def main():
    with tempfile.TemporaryDirectory(prefix="sluice-plugin-") as folder:
        for name, test in sorted(globals().items()):
            if name.startswith("test_"):
                test(*[folder] * test.__code__.co_argcount)
                print(name, flush=True)


main()
