"""What a program may do with files besides writing them, each as docs/hdf5-driver.md says: several
handles, two programs, fork, SWMR, user blocks, links, virtual datasets, readers beside a writer,
files larger than the budget, and what a failed opening leaves. The ABI of the driver's class is
checked against the HDF5 that h5py brings."""

import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile

import h5py
import netCDF4
import numpy

import recorded
from snippets import plain, python

FOLDER = tempfile.mkdtemp(prefix="sluice-plugin-")


def path_of(name):
    return os.path.join(FOLDER, name)


def refused(path, mode, kind):
    """What the exception says."""
    try:
        h5py.File(path, mode)
    except kind as problem:
        return str(problem)
    raise AssertionError(f"{path} was opened")


def refused(path, mode, kind):
    """What the exception says."""
    try:
        h5py.File(path, mode)
    except kind as problem:
        return str(problem)
    raise AssertionError(f"{path} was opened")


def test_nothing_of_hdf5_is_needed():
    driver = os.path.join(os.environ["SLUICE_DRIVER_FOLDER"], "libsluice_hdf5_driver.so")
    symbols = subprocess.run(["nm", "-D", driver], capture_output=True, text=True, check=True)
    hdf5 = sorted(line.split()[-1] for line in symbols.stdout.splitlines()
                  if line.split()[-1].startswith("H5"))
    assert hdf5 == ["H5PLget_plugin_info", "H5PLget_plugin_type"], hdf5
    needed = subprocess.run(["readelf", "-d", driver], capture_output=True, text=True, check=True)
    assert "hdf5" not in needed.stdout and "mpi" not in needed.stdout.lower()


def test_the_class_is_that_of_hdf5():
    """HDF5 calls the driver through its class: each callback in its place, or it would crash."""
    assert h5py.version.hdf5_version_tuple >= (1, 14)
    with h5py.File(path_of("abi.h5"), "w") as f:
        f["x"] = numpy.arange(10)
        assert f.id.get_access_plist().get_driver() >= 0
        f.flush()
        assert f.id.get_filesize() > 0


def test_two_handles_are_one_file():
    path = path_of("handles.h5")
    with h5py.File(path, "w") as one:
        one["x"] = 1
        with h5py.File(path, "r+") as two:
            two["y"] = 2
            assert one["y"][()] == 2
        with h5py.File(path, "r") as three:
            assert three["y"][()] == 2
        one["z"] = 3
    assert plain("print(sorted(h5py.File(sys.argv[1])))", path) == "['x', 'y', 'z']"


def hdf5_of(module):
    """The library of HDF5 that an extension of Python uses."""
    for line in subprocess.run(["ldd", module.__file__], capture_output=True, text=True,
                               check=True).stdout.splitlines():
        if "libhdf5" in line and "_hl" not in line:
            return os.path.realpath(line.split()[2])
    raise AssertionError(f"{module} has no HDF5")


def test_another_hdf5_of_the_program_is_as_another_program():
    """The wheels bring an HDF5 each, and all load the same driver."""
    if hdf5_of(h5py.h5) == hdf5_of(netCDF4._netCDF4):
        print("h5py and netCDF4 share their HDF5: nothing to try")
        return
    path = path_of("libraries.nc")
    with netCDF4.Dataset(path, "w") as f:
        f.createDimension("x", 50)
        f.createVariable("v", "f8", ("x",))[:] = 1.5
    with h5py.File(path, "r+") as f:
        f["more"] = numpy.arange(100000)
        f.flush()
        f["much"] = numpy.ones(100000)
        with netCDF4.Dataset(path) as other:
            assert (other["v"][:] == 1.5).all()
            assert "much" not in other.variables
        for mode in "aw":
            try:
                netCDF4.Dataset(path, mode)
                raise AssertionError("a second writer")
            except OSError:
                pass
        with netCDF4.Dataset(path) as other:
            assert (other["v"][:] == 1.5).all()
        f["last"] = numpy.full(100000, 7)
    told = plain("f = h5py.File(sys.argv[1]); print(f['more'][-1], f['much'][:].sum(), "
                 "(f['last'][:] == 7).all(), f['v'][3])", path)
    assert told == "99999 100000.0 True 1.5", told
    with netCDF4.Dataset(path, "a") as f:
        f["v"][:] = 2.5
    assert plain("print(h5py.File(sys.argv[1])['v'][3])", path) == "2.5"


def test_the_second_writer_is_told_who_writes():
    path = path_of("lease.h5")
    with h5py.File(path, "w") as f:
        f["x"] = 1
        f.flush()
        other = python("h5py.File(sys.argv[1], 'r+')", path, driver=True)
        assert other.returncode != 0
        assert f"process {os.getpid()}" in other.stderr, other.stderr
        # A writer without the driver is kept out by HDF5's own lock, a reader is not.
        assert python("h5py.File(sys.argv[1], 'r+')", path).returncode != 0
        assert plain("print(h5py.File(sys.argv[1])['x'][()])", path) == "1"


def test_the_old_file_stays_until_the_first_flush():
    path = path_of("old.h5")
    plain("h5py.File(sys.argv[1], 'w')['old'] = 1", path)
    f = h5py.File(path, "w")
    f["new"] = 2
    assert plain("print(list(h5py.File(sys.argv[1])))", path) == "['old']"
    f.flush()
    assert plain("print(list(h5py.File(sys.argv[1])))", path) == "['new']"
    f.close()


def test_an_empty_file_is_filled():
    """Whoever has it open sees what is written; until the first flush it is no HDF5 file."""
    for user_block in (0, 1024):
        with tempfile.NamedTemporaryFile(suffix=".h5", dir=FOLDER) as there:
            os.link(there.name, there.name + ".link")
            with h5py.File(there.name, "w", userblock_size=user_block) as f:
                f["x"] = numpy.arange(100_000)
                assert python("h5py.File(sys.argv[1])", there.name).returncode != 0
                f.flush()
                assert plain("print(h5py.File(sys.argv[1])['x'][7])", there.name) == "7"
                f["x"][7] = 8
                f["y"] = 1
            assert there.read(user_block + 8)[user_block:] == b"\x89HDF\r\n\x1a\n"
            told = plain("f = h5py.File(sys.argv[1]); print(f['x'][7], f['x'][99_999], f['y'][()])",
                         there.name + ".link")
            assert told == "8 99999 1", told
            assert not [name for name in os.listdir(FOLDER) if "sluice" in name]


def test_an_empty_file_stays_empty_where_nothing_is_flushed():
    path = path_of("empty.h5")
    open(path, "w").close()
    died = python("f = h5py.File(sys.argv[1], 'w'); f['x'] = numpy.arange(100_000.0); "
                  "f['x'][:] = 2; os._exit(3)", path, driver=True)
    assert died.returncode == 3, died.stderr
    assert python("h5py.File(sys.argv[1])", path).returncode != 0
    with h5py.File(path, "w") as f:
        f["x"] = 4
    assert plain("print(h5py.File(sys.argv[1])['x'][()])", path) == "4"


def test_readers_see_the_last_flush_only():
    path = path_of("readers.h5")
    with h5py.File(path, "w") as f:
        f["x"] = numpy.zeros(1000)
        f.flush()
        for i in range(1, 4):
            f["x"][...] = i
            f.create_group(f"g{i}")
            look = "f = h5py.File(sys.argv[1]); print(set(f['x'][()].tolist()), len(f))"
            assert plain(look, path) == f"{{{float(i - 1)}}} {i}"
            done = python(look, path, driver=True)
            assert done.stdout.strip() == f"{{{float(i - 1)}}} {i}", done
            f.flush()


def test_a_flush_of_a_part_holds_all():
    """H5Dflush, and the closing of a second handle, write only a part of what is in memory."""
    def flush_dataset(f, path):
        f["small"].flush()

    def close_second(f, path, mode="r"):
        with h5py.File(path, mode) as second:
            assert second["x"][0, 0] >= 0

    def close_second_writer(f, path):
        close_second(f, path, "r+")

    look = ("f = h5py.File(sys.argv[1]); "
            "print(set(f['x'][()].ravel().tolist()), set(f['small'][()].tolist()), len(f))")
    for number, flush in enumerate((flush_dataset, close_second, close_second_writer)):
        path = path_of(f"part{number}.h5")
        with h5py.File(path, "w") as f:
            # More than HDF5 keeps in memory: some of it is written whenever HDF5 likes.
            x = f.create_dataset("x", data=numpy.zeros((1500, 200)), chunks=(1, 200))
            small = f.create_dataset("small", data=numpy.zeros(100), chunks=(10,))
            f.flush()
            for i in range(1, 4):
                x[...] = i
                small[...] = i
                f.create_dataset(f"new {i}", data=numpy.full(100, i), chunks=(10,))
                flush(f, path)
                assert plain(look, path) == f"{{{float(i)}}} {{{float(i)}}} {2 + i}", flush


def in_child(path, told):
    """Reads what the parent had, and cannot write."""
    value = int(OPEN["x"][0])
    try:
        OPEN["x"][0] = 99
        OPEN.flush()
        told.send((value, "written"))
    except Exception:  # noqa: BLE001
        told.send((value, "refused"))


OPEN = None


def test_a_forked_child_reads_and_does_not_write():
    global OPEN
    path = path_of("fork.h5")
    OPEN = h5py.File(path, "w")
    OPEN.create_dataset("x", data=numpy.arange(10) + 5)
    OPEN.flush()
    ours, theirs = multiprocessing.Pipe()
    child = multiprocessing.get_context("fork").Process(target=in_child, args=(path, theirs))
    child.start()
    value, outcome = ours.recv()
    child.join()
    assert value == 5 and child.exitcode == 0
    OPEN["x"][1] = 7
    OPEN.close()
    assert plain("print(h5py.File(sys.argv[1])['x'][:2])", path) == "[5 7]", outcome
    assert os.listdir(FOLDER).count("fork.h5.sluice-lease") == 0


def test_swmr_writing_is_refused_and_reading_is_not():
    path = path_of("swmr.h5")
    f = h5py.File(path, "w", libver="latest")
    f["x"] = 1
    f.flush()
    try:
        f.swmr_mode = True
        raise AssertionError("SWMR was switched on")
    except (OSError, RuntimeError, ValueError):
        pass
    try:
        f.close()
    except RuntimeError:
        pass  # HDF5 2.0 cannot close a file after it could not switch SWMR on
    with h5py.File(path, "r", swmr=True) as reader:
        assert reader["x"][()] == 1


def test_a_file_of_the_newest_format_does_not_look_open():
    path = path_of("latest.h5")
    f = h5py.File(path, "w", libver="latest")
    f["x"] = 1
    f.flush()
    copy = shutil.copy(path, path_of("latest-copy.h5"))
    assert plain("f = h5py.File(sys.argv[1], 'r+'); print(f['x'][()])", copy) == "1"
    f.close()


def test_a_user_block_stays_the_users():
    path = path_of("user.h5")
    with h5py.File(path, "w", userblock_size=512) as f:
        f["x"] = 1
    with open(path, "r+b") as file:
        file.write(b"mine")
    with h5py.File(path, "r+") as f:
        f["x"][...] = 2
        f.flush()
        f["y"] = numpy.arange(100)
    with open(path, "rb") as file:
        assert file.read(4) == b"mine"
    assert plain("f = h5py.File(sys.argv[1]); print(f['x'][()], f['y'][99])", path) == "2 99"


def test_links_and_virtual_datasets_of_other_files():
    source, path = path_of("source.h5"), path_of("links.h5")
    with h5py.File(source, "w") as f:
        f["x"] = numpy.arange(10)
    layout = h5py.VirtualLayout((10,), "i8")
    layout[:] = h5py.VirtualSource("source.h5", "x", (10,))
    with h5py.File(path, "w") as f:
        f["link"] = h5py.ExternalLink("source.h5", "/x")
        f.create_virtual_dataset("virtual", layout)
        f.flush()
        f["link"][3] = 33  # each file is a commit of its own
        assert f["link"][3] == 33
    look = "f = h5py.File(sys.argv[1]); print(f['link'][3], f['virtual'][3])"
    assert plain(look, path) == "33 33"


def test_a_family_of_files():
    """HDF5 looks for the end of a family by opening a member that is not there."""
    code = """
name = sys.argv[1]
for values in 3000, 2000:
    with h5py.File(name, "w", driver="family", memb_size=5000) as f: f["x"] = numpy.arange(values)
with h5py.File(name, "r+", driver="family", memb_size=5000) as f: f["y"] = numpy.arange(1000)
with h5py.File(name, "r", driver="family", memb_size=5000) as f:
    print(f["x"].shape, f["y"].shape, (f["x"][()] == numpy.arange(2000)).all(), f["y"][-1])
"""
    os.mkdir(path_of("family"))
    os.mkdir(path_of("family without"))
    done = python(code, path_of("family/%d.h5"), driver=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == plain(code, path_of("family without/%d.h5"))
    members = [name for name in os.listdir(path_of("family")) if name.endswith(".h5")]
    assert sorted(members) == sorted(os.listdir(path_of("family without")))


def test_a_read_only_folder_is_read():
    folder = path_of("frozen")
    os.mkdir(folder)
    path = os.path.join(folder, "x.h5")
    plain("h5py.File(sys.argv[1], 'w')['x'] = 1", path)
    before = os.stat(path).st_mtime_ns, sorted(os.listdir(folder))
    os.chmod(folder, 0o555)
    with h5py.File(path, "r") as f:
        assert f["x"][()] == 1
    os.chmod(folder, 0o755)
    assert (os.stat(path).st_mtime_ns, sorted(os.listdir(folder))) == before


def test_more_than_the_budget_goes_to_a_file():
    path = path_of("large.h5")
    code = """
import resource
with h5py.File(sys.argv[1], 'w') as f:
    f['x'] = numpy.zeros(6_000_000)
    f.flush()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for at in range(0, 6_000_000, 100_000):
        f['x'][at:at + 100_000] = at + 1
    f['x'][50:150_000] = -1
    assert f['x'][60] == -1 and f['x'][200_000] == 200_001
    f.flush()
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    done = python(code, path, driver=True, config="budget_bytes=1MiB")
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 24 * 1024, f"{done.stdout.strip()} KiB more for 46 MiB"
    assert plain("x = h5py.File(sys.argv[1])['x'][()]; print(x[0], x[100], x[-1])",
                 path) == "1.0 -1.0 5900001.0"
    assert sorted(name for name in os.listdir(FOLDER) if name.startswith("large")) == ["large.h5"]


def test_without_syncs_the_same_file():
    for durability in ("none", "close"):
        path = path_of(f"{durability}.h5")
        code = """
with h5py.File(sys.argv[1], 'w') as f:
    for i in range(3):
        f[str(i)] = numpy.full(100, i)
        f.flush()
        f['0'][...] = i
"""
        done = python(code, path, driver=True, config=f"durability={durability}")
        assert done.returncode == 0, done.stderr
        assert plain("f = h5py.File(sys.argv[1]); print(len(f), f['0'][0])", path) == "3 2"


def test_a_flush_that_is_applied_later():
    """Every reader sees what is in place while the file is written; after the writer was killed one
    with the driver sees the last flush, plain HDF5 an earlier one until the file is recovered."""
    path = path_of("later.h5")
    code = """
f = h5py.File(sys.argv[1], 'w')
f['x'] = numpy.zeros(100)
f.flush()
for i in range(1, 4):
    f['x'][...] = i
    f.create_group(str(i))
    f.flush()
print('written', flush=True)
sys.stdin.read()
os._exit(0)
"""
    look = "f = h5py.File(sys.argv[1], 'r'); print(set(f['x'][()].tolist()), len(f))"
    writer = subprocess.Popen([sys.executable, "-c", "import h5py, numpy, os, sys\n" + code, path],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                              env={**os.environ, "HDF5_DRIVER_CONFIG": "apply=later"})
    assert writer.stdout.readline() == "written\n"
    assert plain(look, path) == python(look, path, driver=True).stdout.strip() == "{0.0} 1"
    writer.stdin.close()
    writer.wait()
    assert plain(look, path) == "{0.0} 1"
    assert python(look, path, driver=True).stdout.strip() == "{3.0} 4"
    h5py.File(path, "r+").close()
    assert plain(look, path) == "{3.0} 4"
    # Closed, all of it is in place.
    done = python(code.replace("os._exit(0)", "f.close()"), path, driver=True, config="apply=later")
    assert done.returncode == 0, done.stderr
    assert plain(look, path) == "{3.0} 4"


def test_a_wrong_setting_is_said():
    done = python("h5py.File(sys.argv[1], 'w')", path_of("set.h5"), driver=True, config="budgt=1")
    assert done.returncode != 0 and "budgt is not known" in done.stderr, done.stderr


def test_sluice_toml_sets_what_it_has_in_common():
    """A table for the file counts more, the environment most; what concerns the library alone is
    left to it."""
    folder = path_of("settings")
    os.mkdir(folder)
    code = """
os.chdir(sys.argv[1])
f = h5py.File("run.h5", "w")
f["x"] = 1
f.close()
"""
    cases = (
        ('durability = "never"', "", False), ('[run]\ndurability = "never"', "", False),
        ('["other.h5"]\ndurability = "never"', "", True),
        ('durability = "never"\n[run]\ndurability = "none"', "", False),
        ('budget_bytes = "4 MB"', "", False), ('budget_bytes = "4 MiB"', "", True),
        ('strategy = "shared"\nhints = { a = 1 }', "", True), ("durability = ", "", False),
        ('budget_bytes = 65536', "budget_bytes=1MiB", True), ("", "budget_bytes=4MB", False),
    )
    for text, config, is_fine in cases:
        with open(os.path.join(folder, "sluice.toml"), "w", encoding="ascii") as file:
            file.write(text)
        done = python(code, folder, driver=True, config=config)
        assert (done.returncode == 0) == is_fine, f"{text}: {done.stderr}"
        if not is_fine:
            place = "HDF5_DRIVER_CONFIG" if config else "sluice.toml, line "
            assert place in done.stderr, done.stderr


def test_failures_are_the_exceptions_that_they_are_without_the_driver():
    for mode, path, kind in (("r", "never.h5", FileNotFoundError), ("w", "no/where.h5",
                             FileNotFoundError), ("x", "handles-again.h5", FileExistsError)):
        path = path_of(path)
        if mode == "x":
            h5py.File(path, "w").close()
        said = refused(path, mode, kind)
        assert path in said, said
    # h5py makes a new file where mode "a" could not open one: its exception is that of the second.
    said = refused(FOLDER, "a", FileExistsError)
    assert 'it could not be opened, and mode "r+" says why' in said, said
    # The words are in the exception, too.
    with h5py.File(path_of("told.h5"), "w") as f:
        f["x"] = 1
        f.flush()
        other = python("h5py.File(sys.argv[1], 'r+')", path_of("told.h5"), driver=True)
        # The driver says it, too: when it is known that no new file is made, here at the end.
        *_, last, said = other.stderr.strip().splitlines()
        assert said.startswith("sluice: ") and f"process {os.getpid()}" in said, said
        assert last.startswith("BlockingIOError") and f"process {os.getpid()}" in last, last
    # Nothing is said of a damaged one that a new file replaces.
    with open(path_of("told.h5"), "r+b") as f:
        f.write(b"\0")  # a guard, and no journal
    other = python("h5py.File(sys.argv[1], 'w')", path_of("told.h5"), driver=True)
    assert other.returncode == 0 and not other.stderr, other


def test_a_file_that_is_removed():
    path = path_of("gone.h5")
    with h5py.File(path, "w") as f:
        f["x"] = 1
    os.remove(path)
    with h5py.File(path, "x") as f:
        f["x"] = 2
    refused(path, "x", OSError)
    assert not h5py.is_hdf5(path_of("never.h5"))


def main():
    try:
        tests = [test for name, test in sorted(globals().items()) if name.startswith("test_")]
        for test in tests:
            test()
            print(test.__name__, flush=True)
    finally:
        shutil.rmtree(FOLDER, ignore_errors=True)


if os.environ.get("HDF5_DRIVER") != "sluice":
    os.execve(sys.executable, [sys.executable, *sys.argv], recorded.driver_environment())
main()
