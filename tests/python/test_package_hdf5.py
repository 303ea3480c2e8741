"""One process with several libhdf5: the package's own, h5py's and netCDF4's do not meet. And where
the package finds the HDF5 driver."""

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import h5py
import numpy as np
import pytest

import sluice

QUICK = {"durability": "none"}


def loaded_libraries():
    with open("/proc/self/maps") as maps:
        return {line.split()[-1] for line in maps if "libhdf5" in line and ".so" in line}


def write_both(folder, name, count=5):
    values = np.random.default_rng(count).random((count, 50))
    with sluice.open(folder / f"{name}-s.h5", "w", **QUICK) as ours, \
            h5py.File(folder / f"{name}-h.h5", "w") as theirs:
        data = theirs.create_dataset("x", (count, 50), dtype="f8")
        for step in range(count):
            with ours.step(time=step):
                ours.put("x", values[step])
            data[step] = values[step]
            theirs.flush()
    return values


def test_both_write_and_read_in_turn(tmp_path):
    values = write_both(tmp_path, "turn")
    with sluice.open(tmp_path / "turn-s.h5") as ours, h5py.File(tmp_path / "turn-s.h5") as same, \
            sluice.open(tmp_path / "turn-h.h5") as theirs:
        for step in range(5):
            np.testing.assert_array_equal(ours["x"][step], values[step])
            np.testing.assert_array_equal(same["x"][step], values[step])
            np.testing.assert_array_equal(theirs["x"][step], values[step])
    assert len(loaded_libraries()) >= 2  # else this proves nothing


def test_threads_of_both_at_once(tmp_path):
    failures = []

    def work(number):
        try:
            for round_ in range(5):
                write_both(tmp_path, f"thread-{number}", 3 + round_)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


@pytest.mark.parametrize("order", ["sluice, h5py, netCDF4", "netCDF4, h5py, sluice",
                                   "h5py, sluice, netCDF4"])
def test_any_order_of_imports_with_netcdf4(tmp_path, order):
    program = f"""
import {order}
import numpy as np
values = np.arange(12.0).reshape(3, 4)
with sluice.open("s.h5", "w", durability="none") as out, netCDF4.Dataset("n.nc", "w") as nc, \\
        h5py.File("h.h5", "w") as h:
    nc.createDimension("row", 3)
    nc.createDimension("column", 4)
    nc.createVariable("x", "f8", ("row", "column"))[:] = values
    h["x"] = values
    out.put("x", values)
for name in ("s.h5", "n.nc", "h.h5"):
    with sluice.open(name) as a, netCDF4.Dataset(name) as b, h5py.File(name) as c:
        for got in (a["x"][...], b["x"][...], c["x"][...]):
            assert (np.asarray(got) == values).all(), name
print("equal")
"""
    ran = subprocess.run([os.environ.get("SLUICE_PYTHON", "python3"), "-c", program], cwd=tmp_path,
                         capture_output=True, text=True)
    assert ran.stdout.strip() == "equal", ran.stderr
    assert "HDF5-DIAG" not in ran.stderr


def test_failures_do_not_print_and_do_not_touch_the_others_error_handling(tmp_path, capfd):
    (tmp_path / "text.h5").write_text("no HDF5")
    with pytest.raises(sluice.Error):
        sluice.open(tmp_path / "text.h5")
    with pytest.raises(OSError):
        h5py.File(tmp_path / "text.h5")
    assert "HDF5-DIAG" not in capfd.readouterr().err


def test_the_driver_is_found_beside_the_library_in_any_prefix(tmp_path):
    library = Path(os.environ["SLUICE_LIBRARY"]).resolve()
    folder = tmp_path / "prefix" / "lib64"
    driver = folder / "sluice" / "hdf5_driver"
    driver.mkdir(parents=True)
    shutil.copy(library, folder / "libsluice.so.0.1")
    (driver / "libsluice_hdf5_driver.so").touch()  # h5py, which would load it, is not imported
    environment = {name: value for name, value in os.environ.items()
                   if name not in ("HDF5_DRIVER", "HDF5_PLUGIN_PATH", "SLUICE_HDF5_DRIVER_PATH")}
    environment["SLUICE_LIBRARY"] = str(folder / "libsluice.so.0.1")
    done = subprocess.run(
        [sys.executable, "-c", "import sluice.hdf5; print(sluice.hdf5.driver_folder())"],
        env=environment, check=True, text=True, stdout=subprocess.PIPE, timeout=60)
    assert done.stdout.strip() == str(driver)
