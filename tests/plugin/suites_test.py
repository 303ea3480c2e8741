"""The test suites of h5py and of netCDF4-python have the same outcomes under the driver as without
it, test by test, but for those that suite_differences.txt lists with their reasons. Each that is
listed must still differ.

h5py's tests are in its wheel; netCDF4's are in its source distribution, which pip gets from PyPI
(SLUICE_NETCDF4_SOURCE: a folder where it is unpacked already). A test that is listed as `apart`
leaves HDF5 in a state in which later tests of its process crash, so it has a process of its own.
"""

import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

import netCDF4

import recorded

LIST = os.path.join(recorded.HERE, "suite_differences.txt")
MOST_SECONDS = 1200
DEBIAN = {
    "NETCDF4_INCDIR": "/usr/lib/x86_64-linux-gnu/netcdf/mpi/include",
    "NETCDF4_LIBDIR": "/usr/lib/x86_64-linux-gnu",
    "HDF5_INCDIR": "/usr/include/hdf5/serial",
    "HDF5_LIBDIR": "/usr/lib/x86_64-linux-gnu/hdf5/serial",
}


def listed(suite):
    """{test: (is apart, words that its message has)}"""
    found = {}
    with open(LIST, encoding="utf-8") as lines:
        for line in lines:
            if line.strip() and not line.startswith("#"):
                of, test, how, words = line.strip().split(None, 3)
                assert how in ("apart", "together"), line
                if of == suite:
                    found[test] = (how == "apart", words)
    return found


def outcomes(path):
    """{test: (passed, skipped, failure or error; its message)}"""
    found = {}
    for case in xml.etree.ElementTree.parse(path).iter("testcase"):
        name = f"{case.get('classname')}::{case.get('name')}"
        outcome, message = "passed", ""
        for kind in ("failure", "error", "skipped"):
            part = case.find(kind)
            if part is not None:
                outcome, message = kind, part.get("message") or ""
        found[name] = outcome, message
    return found


def run_pytest(folder, words, environment):
    report = os.path.join(folder, "report.xml")
    if os.path.exists(report):
        os.remove(report)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "ignore",
         f"--junitxml={report}", *words], cwd=folder, env=environment, capture_output=True,
        text=True, timeout=MOST_SECONDS, check=False)
    assert done.returncode in (0, 1), f"{words}: ended with {done.returncode}: {done.stdout[-999:]}"
    return outcomes(report)


def expression(tests):
    """pytest's -k for tests by their own names, which no other test has."""
    return " or ".join(sorted(test.rsplit("::", 1)[1] for test in tests))


def run_suite(folder, words, environment, apart):
    """As a whole but for the tests of `apart`, each of which runs alone."""
    if not apart:
        return run_pytest(folder, words, environment)
    found = run_pytest(folder, [*words, "-k", f"not ({expression(apart)})"], environment)
    for test in apart:
        found |= run_pytest(folder, [*words, "-k", expression([test])], environment)
    return found


def compare(suite, prepare, words, environments):
    known = listed(suite)
    apart = [test for test, (is_apart, _) in known.items() if is_apart]
    found = []
    for environment in environments:
        folder = tempfile.mkdtemp(prefix="sluice-plugin-")
        prepare(folder)
        found.append(run_suite(folder, words, environment, apart))
        shutil.rmtree(folder)
    plain, driver = found
    assert len(plain) > 100, f"{suite}: only {len(plain)} tests ran"
    faults, differing = [], set()
    for test in sorted(plain.keys() | driver.keys()):
        before, after = plain.get(test, ("absent", "")), driver.get(test, ("absent", ""))
        if before[0] == after[0]:
            continue
        differing.add(test)
        if test not in known or known[test][1] not in after[1]:
            faults.append(f"{suite} {test}: {before[0]} without the driver, {after[0]} with it: "
                          f"{after[1][:300]}")
    faults += [f"{suite} {test}: listed, but does not differ" for test in known.keys() - differing]
    passed = sum(outcome == "passed" for outcome, _ in driver.values())
    print(f"{suite}: {len(plain)} tests, {passed} passed under the driver, {len(differing)} "
          f"differ from plain HDF5, {len(faults)} not as listed", flush=True)
    return faults


def netcdf4_source(folder):
    told = os.environ.get("SLUICE_NETCDF4_SOURCE")
    if told:
        return told
    # pip asks the sources for their metadata, and these look for the headers.
    subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary",
                    "netCDF4", "-d", folder, f"netCDF4=={netCDF4.__version__}"], check=True,
                   env={**os.environ, **DEBIAN}, timeout=600)
    archive, = glob.glob(os.path.join(folder, "netcdf4-*.tar.gz"))
    subprocess.run(["tar", "xzf", archive, "-C", folder], check=True)
    return re.sub(r"\.tar\.gz$", "", archive)


def environment_of_import():
    """What `import sluice.hdf5` sets: netCDF4's own filters are among the plugins."""
    package = os.path.join(os.environ["SLUICE_SOURCE_DIR"], "python", "sluice", "hdf5.py")
    # By its file: the package around it needs an MPI.
    code = ("import importlib.util as u, json, os; s = u.spec_from_file_location('hdf5', "
            f"{package!r}); m = u.module_from_spec(s); s.loader.exec_module(m); "
            "print(json.dumps(dict(os.environ)))")
    environment = {**os.environ, "SLUICE_HDF5_DRIVER_PATH": os.environ["SLUICE_DRIVER_FOLDER"]}
    done = subprocess.run([sys.executable, "-c", code], env=environment, check=True, text=True,
                          capture_output=True)
    return json.loads(done.stdout)


def main():
    plain = {**os.environ, "NO_NET": "1"}
    driver = {**plain, **environment_of_import()}
    faults = compare("h5py", lambda folder: None, ["--pyargs", "h5py"], [plain, driver])
    folder = tempfile.mkdtemp(prefix="sluice-plugin-")
    source = os.path.join(netcdf4_source(folder), "test")

    def copy(to):
        # Without __init__.py: the tests import their helpers by their own names.
        shutil.copytree(source, to, dirs_exist_ok=True,
                        ignore=shutil.ignore_patterns("__init__.py"))
    faults += compare("netCDF4", copy, ["."], [plain, driver])
    shutil.rmtree(folder)
    for fault in faults:
        print(fault)
    sys.exit(1 if faults else 0)


main()
