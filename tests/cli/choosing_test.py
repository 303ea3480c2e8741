"""sluice convert --steps and --variables: a part of a file, with its coordinates."""

import json
import os
import struct
import unittest

import h5py
import netCDF4
import numpy
import xarray

from command import (BAD_INPUT, FINE, XARRAY, converted, new_path, path, said, sluice,
                     write_trajectory)


class Steps(unittest.TestCase):
    def check(self, steps, chosen, ending, ranks=0):
        target = converted("spins.h5", "--steps", steps, ending=ending, ranks=ranks)
        with h5py.File(path("spins.h5")) as source:
            with xarray.open_dataset(target, **XARRAY[ending]) as made:
                for name in ("spins", "time"):
                    numpy.testing.assert_array_equal(made[name].values, source[name][chosen])
                numpy.testing.assert_array_equal(made["coordinates"].values,
                                                 source["coordinates"][:])
            with xarray.open_dataset(target, group="observables", **XARRAY[ending]) as made:
                numpy.testing.assert_array_equal(made["energy"].values,
                                                 source["observables/energy"][chosen])
        self.assertEqual(sluice("verify", target).returncode, FINE)

    def test_ranges_are_those_of_python(self):
        with h5py.File(path("spins.h5")) as source:
            self.assertGreater(len(source["time"]), 3)
        for steps, chosen in (("1:3", slice(1, 3)), (":2", slice(2)), ("-2:", slice(-2, None)),
                              ("::2", slice(None, None, 2)), ("1::2", slice(1, None, 2)),
                              ("0:-1:9", slice(0, -1, 9)), (":", slice(None))):
            with self.subTest(steps=steps):
                self.check(steps, chosen, ".nc")

    def test_in_every_format_and_on_several_ranks(self):
        for ending in (".h5", ".zarr"):
            self.check("1::2", slice(1, None, 2), ending, ranks=3)

    def test_what_is_no_range_of_its_steps_is_refused(self):
        target = new_path(".nc")
        with h5py.File(path("spins.h5")) as source:
            steps = len(source["time"])
        for wrong, words in (("1", "use a range"), ("a:b", "use a range"), ("0:2:0", "use a range"),
                             ("0:2:-1", "use a range"), ("0:1:1:1", "use a range"),
                             ("2:2", "holds none"), ("2:1", "holds none"),
                             (f"0:{steps + 1}", f"it has {steps}, numbered from 0"),
                             (f"-{steps + 1}:", f"it has {steps}, numbered from 0")):
            with self.subTest(steps=wrong):
                result = sluice("convert", "spins.h5", target, f"--steps={wrong}")
                self.assertEqual(result.returncode, BAD_INPUT)
                self.assertIn(words, result.stderr)
                self.assertEqual(len(said(result)), 1)
        result = sluice("convert", "types.h5", target, "--steps", ":")
        self.assertIn("it has none", result.stderr)
        result = sluice("convert", "spins.h5", target, "--steps", ":", "--step", "1")
        self.assertIn("excludes", result.stderr)
        self.assertFalse(os.path.exists(target))

    def test_a_trajectory_says_when_its_frames_are(self):
        source = new_path(".dcd")
        write_trajectory(source, 10)
        kept = converted(source)
        thinned = converted(source, "--steps", "2:9:3", ending=".dcd")
        through = converted(converted(kept, "--steps", "2:9:3"), ending=".dcd")
        whole = converted(kept, "--steps", ":", ending=".dcd")
        for made, words, frames in ((thinned, (3, 2, 3, 9), (2, 5, 8)),
                                    (through, (3, 2, 3, 9), (2, 5, 8)),
                                    (whole, (10, 0, 1, 10), range(10))):
            with open(made, "rb") as file:
                self.assertEqual(struct.unpack("<4i", file.read(24)[8:]), words)
            back = converted(made)
            with h5py.File(back) as file:
                self.assertEqual(file["positions"][:, 0, 0].tolist(), list(frames))
        with h5py.File(converted(kept, "--step", "4")) as file:
            self.assertEqual((file.attrs["first_step"], file.attrs["dcd_header"][3]), (4, 5))

    def test_conversions_without_steps_take_none(self):
        for option in (("--steps", ":2"), ("--variables", "spins")):
            result = sluice("convert", "spins.h5", new_path(".xyz"), *option)
            self.assertEqual(result.returncode, BAD_INPUT)
            self.assertIn(option[0], result.stderr)


class Variables(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.source = new_path(".nc")
        with netCDF4.Dataset(cls.source, "w") as file:
            for name, size in (("lat", 4), ("lon", 6), ("edge", 2)):
                file.createDimension(name, size)
            values = iter(range(100))
            group = file.createGroup("ice")

            def add(where, name, dimensions, **attributes):
                variable = where.createVariable(name, "f8", dimensions)
                variable[:] = next(values)
                variable.setncatts(attributes)

            add(file, "lat", ("lat",), bounds="lat_bounds")
            add(file, "lat_bounds", ("lat", "edge"))
            add(file, "lon", ("lon",))
            add(file, "cell_area", ("lat", "lon"))
            add(file, "t2m", ("lat", "lon"), cell_measures="area: cell_area", coordinates="height")
            add(file, "height", ())
            add(file, "wind", ("lat", "lon"))
            add(group, "thickness", ("lat",), coordinates="age")
            add(group, "age", ("lat",))
            add(file, "age", ())

    def names(self, *options, ending=".nc"):
        target = converted(self.source, *options, ending=ending)
        compared = json.loads(sluice("diff", self.source, target, "--json").stdout)["variables"]
        kept = [one for one in compared if one["structure"] != ["only in A"]]
        for one in kept:
            self.assertTrue(one["equal"], one)
        return sorted(one["name"] for one in kept)

    def test_come_with_their_coordinates(self):
        for chosen, names in (
                (("--variables", "wind"), ["lat", "lat_bounds", "lon", "wind"]),
                (("--variables", "lon"), ["lon"]),
                (("--variables", "t2m"),
                 ["cell_area", "height", "lat", "lat_bounds", "lon", "t2m"]),
                (("--variables", "ice/thickness,age"),
                 ["age", "ice/age", "ice/thickness", "lat", "lat_bounds"]),
                (("--variables", "height", "--variables", "age"), ["age", "height"])):
            for ending in (".nc", ".h5", ".zarr"):
                with self.subTest(chosen=chosen, ending=ending):
                    self.assertEqual(self.names(*chosen, ending=ending), names)

    def test_what_is_not_there_is_refused(self):
        target = new_path(".nc")
        result = sluice("convert", self.source, target, "--variables", "wind,wnd")
        self.assertEqual(result.returncode, BAD_INPUT)
        self.assertIn("no variable wnd (there are: ", result.stderr)
        self.assertFalse(os.path.exists(target))

    def test_what_cannot_be_read_is_named_only_if_it_was_asked_for(self):
        source = new_path()
        with h5py.File(source, "w") as file:
            file["known"] = numpy.arange(3.0)
            file["table"] = numpy.zeros(2, [("a", "i4"), ("b", "f8")])
        self.assertEqual(said(sluice("convert", source, new_path(".nc"), "--variables", "known")),
                         [])
        for asked in (("convert", source, new_path(".nc"), "--variables", "table"),
                      ("dump", source, "table")):
            result = sluice(*asked)
            self.assertEqual(result.returncode, BAD_INPUT)
            self.assertIn(": table is there, but Sluice does not read it: compound", result.stderr)


if __name__ == "__main__":
    unittest.main()
