"""A C program, linked to each HDF5 that the wheels of h5py, netCDF4 and PyTables bring (1.14, 2.0,
2.x), makes the same file under the driver as without it; where it ends without closing the file,
that is of the last flush."""

import glob
import os
import shutil
import subprocess
import tempfile

import h5py
import netCDF4
import numpy
import tables

import recorded

BLOCKS = 6


def libraries():
    """The HDF5 beside each package: a wheel keeps it in a folder of its own."""
    found = []
    for package in (h5py, netCDF4, tables):
        site = os.path.dirname(os.path.dirname(package.__file__))
        pattern = os.path.join(site, f"{package.__name__.lower()}.libs", "libhdf5-*.so*")
        found += glob.glob(pattern)
    return found


def build(folder, number, library):
    program = os.path.join(folder, f"rows-{number}")
    # A program finds the libraries beside its HDF5 when it starts.
    subprocess.run([os.environ.get("CC", "cc"), os.environ["SLUICE_ROWS_OBJECT"], "-o", program,
                    library, f"-Wl,-rpath,{os.path.dirname(library)}",
                    "-Wl,--allow-shlib-undefined"], check=True)
    return program


def run(program, path, *more, environment):
    done = subprocess.run([program, path, str(BLOCKS), *more], env=environment, timeout=60,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done
    return done.stdout.strip()


def expected():
    rows = numpy.arange(5)[:, None] + numpy.arange(40) / 64
    return numpy.concatenate([block * 1000 + rows for block in range(BLOCKS)])


def check(program, folder):
    plain, driver, cut = (os.path.join(folder, f"{name}.h5") for name in ("plain", "driver", "cut"))
    run(program, plain, environment=os.environ)
    version = run(program, driver, environment=recorded.driver_environment())
    done = subprocess.run(["h5diff", "-c", plain, driver], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stdout
    run(program, cut, "end", environment=recorded.driver_environment())
    with h5py.File(cut, "r") as f:
        assert f["last"][()] == BLOCKS - 1
        assert (f["rows"][()] == expected()).all()
    for path in (plain, driver, cut):
        os.remove(path)
    assert not [name for name in os.listdir(folder) if name.endswith("-journal")
                and not name.startswith("cut.")]
    return version


def main():
    found = libraries()
    if not found:
        print("skipped: these h5py, netCDF4 and tables are no wheels with an HDF5 of their own")
        return
    folder = tempfile.mkdtemp(prefix="sluice-plugin-")
    versions = []
    for number, library in enumerate(found):
        versions.append(check(build(folder, number, library), folder))
    shutil.rmtree(folder)
    print(f"a C program with HDF5 {', '.join(versions)}")
    assert any(version.startswith("2.") for version in versions), versions


main()
