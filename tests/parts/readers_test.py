"""A set of parts is one file for h5py, netCDF4, xarray and h5dump."""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import unittest

import h5py
import netCDF4
import numpy as np
import xarray

KINDS = ["process", "node", "listed", "split", "kept"]


def expected():
    """The values of group/v, as write_sets.cpp has them."""
    values = np.arange(44.0).reshape(11, 4) + 1000 * np.arange(5.0).reshape(5, 1, 1)
    values[3] = 4
    return values


class Readers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="sluice-parts-")
        subprocess.run([os.environ["SLUICE_WRITE_SETS"], cls.folder], check=True)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def path(self, kind):
        return os.path.join(self.folder, kind + ".h5")

    def test_h5py_sees_all_that_was_written(self):
        for kind in KINDS:
            with self.subTest(kind), h5py.File(self.path(kind)) as file:
                np.testing.assert_array_equal(file["group/v"][...], expected())
                np.testing.assert_array_equal(file["group/v"][2:5, 3:9, 1:3],
                                              expected()[2:5, 3:9, 1:3])
                np.testing.assert_array_equal(file["time"][...], [0, 0.25, 0.5, 0.75, 1])
                np.testing.assert_array_equal(file["fixed"][...], np.arange(6))
                self.assertEqual(file["scalar"][()], 0.5)
                np.testing.assert_array_equal(file["partial"][3], [-5, -5, 7, -5])
                np.testing.assert_array_equal(file["partial"][0], [-5] * 4)
                np.testing.assert_array_equal(file["complex"][...], [0, 1 - 1j, 2 - 2j, 3 - 3j])
                np.testing.assert_array_equal(file["flags"][...], [False, True, False, True])
                self.assertEqual(file.attrs["title"], "parts")
                self.assertEqual(file["group/v"].attrs["units"], "m")

    def test_parts_are_plain_files_with_relative_names(self):
        with h5py.File(self.path("process")) as file:
            sources = {source.file_name for source in file["group/v"].virtual_sources()}
        self.assertEqual(len(sources), 7)  # of 4 ranks, then of 3
        for source in sources:
            self.assertTrue(source.startswith("process.h5.parts/"), source)
            with h5py.File(os.path.join(self.folder, source)) as part:
                self.assertIn("group/v", part)

    def test_netcdf4(self):
        for kind in KINDS:
            with self.subTest(kind), netCDF4.Dataset(self.path(kind)) as file:
                np.testing.assert_array_equal(file["group"]["v"][...], expected())
                np.testing.assert_array_equal(file["time"][...], [0, 0.25, 0.5, 0.75, 1])
                partial = np.ma.filled(file["partial"][...], -5)
                np.testing.assert_array_equal(partial[3], [-5, -5, 7, -5])

    def test_xarray(self):
        for kind in KINDS:
            for engine, extra in (("netcdf4", {}), ("h5netcdf", {"phony_dims": "sort"})):
                with self.subTest(kind=kind, engine=engine):
                    with xarray.open_dataset(self.path(kind), group="group", engine=engine,
                                             **extra) as data:
                        np.testing.assert_array_equal(data["v"].values, expected())

    def test_a_netcdf_set_has_its_dimensions_and_coordinates(self):
        values = np.arange(44.0).reshape(11, 4) + 1000 * np.arange(3.0).reshape(3, 1, 1)
        for kind in ("process", "listed"):
            path = os.path.join(self.folder, kind + ".nc")
            with self.subTest(kind), netCDF4.Dataset(path) as file:
                self.assertEqual(file["v"].dimensions, ("time", "cell", "level"))
                self.assertTrue(file.dimensions["time"].isunlimited())
                self.assertEqual(file["v"].units, "K")
                np.testing.assert_array_equal(file["v"][...], values)
                np.testing.assert_array_equal(file["names"][...], ["r10", "r11", "r12", "r13"])
                self.assertEqual(file["scalar"][...], 42)
            with self.subTest(kind), xarray.open_dataset(path) as data:
                np.testing.assert_array_equal(data["v"].values, values)
                np.testing.assert_array_equal(data["level"].values, [0, 10, 20, 30])
                np.testing.assert_array_equal(data["flags"].values, [False, True, False, True])
                np.testing.assert_array_equal(data["v"].sel(level=20, time=0.5).values,
                                              values[2, :, 2])
            with self.subTest(kind):
                subprocess.run(["ncdump", "-h", path], check=True, capture_output=True)
                for part in sorted(os.listdir(path + ".parts")):
                    subprocess.run(["ncdump", os.path.join(path + ".parts", part)], check=True,
                                   capture_output=True)

    def test_h5dump(self):
        for kind in KINDS:
            with self.subTest(kind):
                command = ["h5dump", "-y", "-w", "1", "-d", "/group/v", self.path(kind)]
                text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
                lines = text.split("DATA {")[1].replace(",", " ").split()
                numbers = [float(word) for word in lines if word[0].isdigit()]
                np.testing.assert_array_equal(numbers, expected().ravel())

    def test_from_any_working_directory_and_after_a_move(self):
        moved = os.path.join(self.folder, "moved")
        os.mkdir(moved)
        shutil.copy(self.path("node"), moved)
        shutil.copytree(self.path("node") + ".parts", os.path.join(moved, "node.h5.parts"))
        program = "import h5py, sys; print(h5py.File(sys.argv[1])['group/v'][4, 10, 3])"
        for folder in ("/", moved):
            text = subprocess.run([sys.executable, "-c", program, os.path.join(moved, "node.h5")],
                                  cwd=folder, check=True, capture_output=True, text=True).stdout
            self.assertEqual(float(text), 4043)

    def test_a_missing_part_reads_as_fill_in_plain_readers(self):
        """Not a wish but a fact, which the documents tell."""
        alone = os.path.join(self.folder, "alone.h5")
        shutil.copy(self.path("process"), alone)
        os.rename(self.path("process") + ".parts", self.path("process") + ".gone")
        try:
            with h5py.File(alone) as file:
                np.testing.assert_array_equal(file["group/v"][...], np.zeros((5, 11, 4)))
        finally:
            os.rename(self.path("process") + ".gone", self.path("process") + ".parts")

    def test_the_index_of_1024_parts_and_100_steps_opens_in_10_ms(self):
        times = []
        for _ in range(21):
            began = time.process_time()  # whatever else runs on the machine
            with h5py.File(self.path("large")) as file:
                self.assertEqual(file["v"].shape, (100, 102400, 3))
            times.append(1e3 * (time.process_time() - began))
        print(f"index of 1024 parts x 100 steps: {statistics.median(times):.2f} ms in h5py "
              f"({min(times):.2f} to {max(times):.2f})", file=sys.stderr)
        self.assertLessEqual(min(times), 10)


if __name__ == "__main__":
    unittest.main()
