"""sluice convert: the same values, attributes and times in another file, smaller."""

import json
import os
import random
import subprocess
import unittest

import h5py
import netCDF4
import numpy
import xarray

from command import (BAD_INPUT, DIFFERS, FINE, XARRAY, address, converted, copy, flip, new_path,
                     path, said, sluice)


def attributes(item):
    return {name: numpy.asarray(value).tolist() for name, value in item.attrs.items()
            if name not in ("DIMENSION_LIST", "REFERENCE_LIST")}


class Convert(unittest.TestCase):
    def test_what_sluice_wrote_stays_equal(self):
        for name in ("spins.h5", "types.h5", "grid.h5"):
            for ranks in (0, 3):
                target = converted(name, "--compress", "deflate:6", ranks=ranks)
                result = sluice("diff", name, target)
                self.assertEqual(result.returncode, FINE, result.stdout + result.stderr)
                self.assertEqual(sluice("verify", target).returncode, FINE)
                back = converted(target, "--compress", "none")
                self.assertEqual(sluice("diff", name, back).returncode, FINE)

    def test_times_and_attributes_stay(self):
        target = converted("spins.h5", "--compress", "deflate:9")
        with h5py.File(path("spins.h5")) as before, h5py.File(target) as after:
            self.assertTrue(numpy.array_equal(before["time"][:], after["time"][:]))
            self.assertEqual(attributes(before), attributes(after))
            self.assertEqual(attributes(before["spins"]), attributes(after["spins"]))

    def test_what_nccopy_made_of_a_file_is_read(self):
        source = converted("spins.h5", ending=".nc")
        for options in ((), ("-d9",)):
            target = new_path(".nc")
            subprocess.run(["nccopy", *options, source, target], check=True, timeout=60)
            result = sluice("diff", source, target)
            self.assertEqual(result.returncode, FINE, result.stdout + result.stderr)
            result = sluice("verify", target)
            self.assertEqual(result.returncode, FINE, result.stdout + result.stderr)

    def test_flags_of_netcdf_are_booleans_elsewhere(self):
        source = new_path()
        with h5py.File(source, "w") as file:
            file["v"] = numpy.arange(3.0)
            file.attrs["periodic"] = True
            file["v"].attrs["closed"] = False
        kept = converted(source, ending=".nc")
        target = converted(kept)
        self.assertEqual(sluice("verify", target).returncode, FINE)
        with h5py.File(target) as file:
            self.assertEqual((file.attrs["periodic"], file.attrs["periodic"].dtype), (True, bool))
            self.assertEqual(file["v"].attrs["closed"], False)

    def test_texts_that_a_program_made_lists_of_one(self):
        """nccopy makes them of the texts of netCDF's type string."""
        source = new_path()
        with h5py.File(source, "w") as file:
            file["flags"] = numpy.array([True, False, True])
            file["v"] = numpy.arange(3.0)
        changed = converted(source, ending=".nc")

        def make_lists(_, item):
            for name, value in list(item.attrs.items()):
                text = value.decode() if isinstance(value, bytes) else value
                if isinstance(text, str) and name not in ("CLASS", "NAME"):
                    item.attrs.create(name, [text], dtype=h5py.string_dtype())
        with h5py.File(changed, "r+") as file:
            file.visititems(make_lists)
            self.assertEqual(list(file["flags"].attrs["dtype"]), ["bool"])
            self.assertEqual(list(file["sluice"].attrs["layout"]), ["netcdf4"])
        self.assertEqual(sluice("verify", changed).returncode, FINE)
        with h5py.File(converted(changed)) as file:
            self.assertEqual(file["flags"].dtype, bool)

    def test_a_format_without_compression_gets_plain_values(self):
        source = new_path()
        values = numpy.arange(50000.0)
        with h5py.File(source, "w") as file:
            file.create_dataset("x", data=values, chunks=(5000,), compression="gzip")
        records = converted(source, ending=".rec")
        self.assertEqual(sluice("diff", source, records).returncode, FINE)
        array = numpy.load(converted(source, ending=".npy"))
        self.assertTrue(numpy.array_equal(array, values))
        result = sluice("convert", source, new_path(".npy"), "--compress", "deflate:6")
        self.assertEqual(result.returncode, BAD_INPUT)
        self.assertIn("holds no compressed data", result.stderr)

    def test_a_default_fill_value_of_netcdf_may_be_data(self):
        source = new_path(".nc")
        with netCDF4.Dataset(source, "w") as file:
            file.createDimension("x", 3)
            file.createVariable("small", "u1", ("x",))[:] = [255, 1, 2]
            file.createVariable("large", "i8", ("x",))[:] = [2**60 + 1, 2, 3]
        for ending in (".nc", ".h5", ".zarr"):
            target = converted(source, ending=ending)
            with xarray.open_dataset(target, **XARRAY[ending]) as read:
                self.assertEqual(read["small"].values.tolist(), [255, 1, 2], ending)
                self.assertEqual(read["large"].values.tolist(), [2**60 + 1, 2, 3], ending)

    def test_variables_of_netcdf_that_have_the_name_of_a_dimension(self):
        """netCDF stores `lon` with a prefix, and `lat` as a scale without a list of dimensions."""
        source = new_path(".nc")
        values = numpy.arange(12.0).reshape(3, 4)
        with netCDF4.Dataset(source, "w") as file:
            file.createDimension("lat", 3)
            file.createDimension("lon", 4)
            for number, name in enumerate(("lat", "lon", "t")):
                variable = file.createVariable(name, "f8", ("lat", "lon"))
                variable[:] = values + 100 * number
                variable.long_name = "of " + name
        result = sluice("ls", source, "--json")
        told = json.loads(result.stdout)["variables"]
        self.assertEqual({v["name"]: v["attributes"] for v in told},
                         {name: {"long_name": "of " + name} for name in ("lat", "lon", "t")})
        with netCDF4.Dataset(converted(source, "--compress", "none", ending=".nc")) as file:
            for number, name in enumerate(("lat", "lon", "t")):
                self.assertEqual(file[name].long_name, "of " + name)
                self.assertTrue(numpy.array_equal(file[name][:], values + 100 * number), name)
        target = converted(source, ending=".zarr")
        self.assertEqual(sluice("diff", source, target).returncode, FINE)
        with xarray.open_dataset(source) as before, \
                xarray.open_dataset(target, **XARRAY[".zarr"]) as after:
            self.assertEqual(dict(before.sizes), dict(after.sizes))
            for name in ("lat", "lon", "t"):
                self.assertTrue(before[name].variable.equals(after[name].variable), name)
                self.assertEqual(after[name].dims, ("lat", "lon"))

    def test_coordinates_in_a_group_stay_those_of_their_variables(self):
        source = new_path(".h5")
        x, y = numpy.array([0.5, 1.5, 2.5]), numpy.array([10.0, 20.0])
        with h5py.File(source, "w") as file:
            group = file.create_group("g")
            group["x"], group["y"], file["y"] = x, y, numpy.arange(4.0)
            group["v"] = numpy.arange(6.0).reshape(3, 2)
            file["w"] = numpy.arange(4)
            for scale in (group["x"], group["y"], file["y"]):
                scale.make_scale(scale.name)
            group["v"].dims[0].attach_scale(group["x"])
            group["v"].dims[1].attach_scale(group["y"])
            file["w"].dims[0].attach_scale(file["y"])
        once = converted(source, ending=".h5")
        for target in (once, converted(once, ending=".h5")):
            self.assertEqual(sluice("diff", source, target).returncode, FINE)
            self.assertEqual(sluice("verify", target).returncode, FINE)
            with h5py.File(target) as file:
                self.assertEqual(sorted(name for name in file if name != "sluice"),
                                 ["g", "w", "y"])
                self.assertEqual([[scale.name for scale in dimension.values()]
                                  for dimension in file["g/v"].dims], [["/g/x"], ["/g/y"]])
                self.assertEqual([scale.name for scale in file["w"].dims[0].values()], ["/y"])
                for name in ("g/x", "g/y", "y"):
                    self.assertTrue(file[name].is_scale, name)
                    self.assertNotIn("DIMENSION_LIST", file[name].attrs)
            with xarray.open_dataset(target, group="g", engine="h5netcdf") as read:
                self.assertTrue(numpy.array_equal(read["v"].coords["x"], x))
                self.assertTrue(numpy.array_equal(read["v"].coords["y"], y))

    def test_missing_values_stay_missing_for_xarray(self):
        source = new_path(".nc")
        with netCDF4.Dataset(source, "w") as file:
            file.createDimension("x", 4)
            for name, dtype, fill in (("packed", "i2", -99), ("single", "f4", 1e20),
                                      ("double", "f8", -7.25), ("positive", "u4", 2**32 - 2)):
                file.createVariable(name, dtype, ("x",), fill_value=fill)[:] = [1, 2, fill, 3]
        for ending in (".nc", ".h5", ".zarr"):
            target = converted(source, ending=ending)
            self.assertEqual(sluice("verify", target).returncode, FINE)
            with xarray.open_dataset(target, **XARRAY[ending]) as read:
                for name in ("packed", "single", "double", "positive"):
                    self.assertTrue(numpy.array_equal(read[name].values, [1, 2, numpy.nan, 3],
                                                      equal_nan=True), (ending, name))

    def test_missing_values_in_stores_by_others_stay_missing_for_xarray(self):
        x = numpy.array([1, 2, -99, 3.5])
        values = xarray.Dataset({
            "packed": ("x", [1, 2, -99, 3], {}, {"_FillValue": -99, "dtype": "i2"}),
            "single": ("x", x, {}, {"_FillValue": numpy.float32(-99), "dtype": "f4"}),
            "gaps": ("x", [1, numpy.nan, 2, 3], {}, {"_FillValue": numpy.nan, "dtype": "f8"}),
            "whole": ("x", x, {}, {"_FillValue": None, "dtype": "f8"})})
        for version in (2, 3):
            source = new_path(".zarr")
            values.to_zarr(source, zarr_format=version)
            with xarray.open_zarr(source, consolidated=False) as before:
                self.assertEqual(numpy.isnan(before["packed"].values).sum(), 1)
                for ending in (".nc", ".h5", ".zarr"):
                    target = converted(source, ending=ending)
                    self.assertEqual(sluice("verify", target).returncode, FINE)
                    with xarray.open_dataset(target, **XARRAY[ending]) as after:
                        for name in values:
                            self.assertTrue(before[name].equals(after[name]),
                                            (version, ending, name))
            target = converted(source, "--compress", "none", ending=".rec")
            result = sluice("diff", source, target)
            self.assertIn("different: 0 of", result.stdout)

    def test_text_that_zarr_cannot_hold_is_named(self):
        source = new_path()
        with h5py.File(source, "w") as file:
            file["v"] = numpy.arange(3.0)
            file["v"].attrs.create("place", b"Gr\xf6", dtype="S3")
        target = new_path(".zarr")
        result = sluice("convert", source, target)
        self.assertEqual(result.returncode, DIFFERS, result.stderr)
        self.assertIn("place", result.stderr)
        self.assertEqual(sluice("convert", source, new_path(".zarr"), "--drop").returncode, FINE)

    def test_of_other_programs(self):
        source = new_path()
        data = (numpy.arange(200000) // 17).reshape(400, 500).astype(">f4")
        with h5py.File(source, "w") as file:
            made = file.create_dataset("deep/x", data=data)
            made.attrs["units"] = "m"
            file.create_dataset("scalar", data=3.5)
            file.attrs["title"] = "theirs"
        target = converted(source, "--compress", "deflate:9", ending=".nc", ranks=2)
        with netCDF4.Dataset(target) as file:
            self.assertTrue(numpy.array_equal(file["deep/x"][:], data))
            self.assertTrue(file["deep/x"].filters()["zlib"])
            self.assertEqual(file["deep/x"].units, "m")
            self.assertEqual(file.title, "theirs")
            self.assertEqual(float(file["scalar"][...]), 3.5)
        self.assertLess(os.path.getsize(target), os.path.getsize(source) / 10)

    def test_damage_is_not_carried_on(self):
        source = copy("spins.h5")
        flip(source, address(source, "spins", (1, 3, 0)))
        result = sluice("convert", source, new_path(".h5"))
        self.assertEqual(result.returncode, DIFFERS)
        self.assertIn("spins", result.stderr)

    def test_voxels(self):
        chance = random.Random(3)
        grid = numpy.zeros((9, 30, 20), "u1")
        grid[2:7, 5:25, 4:16] = 1
        grid[3:5, 8:20, 6:12] = 2
        source = new_path(".model")
        cells = numpy.argwhere(grid)
        with open(source, "w") as file:
            file.write(f"\n{len(cells)}\n")
            for number, (z, y, x) in enumerate(cells):
                file.write(f"{number + 1} {grid[z, y, x]} {x + 1} {y + 1} {z + 1}\n")
        for ranks in (0, chance.randrange(2, 4)):
            target = converted(source, "--compress", "deflate:9", "--grid", "20,30,9",
                                    ending=".nc", ranks=ranks)
            with netCDF4.Dataset(target) as file:
                self.assertTrue(numpy.array_equal(file["material"][:], grid))
                self.assertEqual(file["material"].dimensions, ("z", "y", "x"))

    def test_the_real_model_shrinks(self):
        folder = os.environ.get("SLUICE_DATA", os.path.join(
            os.environ["SLUICE_SOURCE_DIR"], "..", "shared", "data"))
        source = os.path.join(folder, "voxfe", "o-test.voxfe.model")
        if not os.path.exists(source):
            self.skipTest(f"no {source}: set SLUICE_DATA")
        target = converted(source, "--compress", "deflate:9", ending=".nc")
        rows = numpy.loadtxt(source, skiprows=2, dtype=int)
        with netCDF4.Dataset(target) as file:
            grid = file["material"][:]
        self.assertTrue((grid[rows[:, 4] - 1, rows[:, 3] - 1, rows[:, 2] - 1] == rows[:, 1]).all())
        self.assertEqual(int((grid != 0).sum()), len(rows))
        self.assertGreater(os.path.getsize(source) / os.path.getsize(target), 100)

    def test_an_ending_that_no_format_has_is_refused(self):
        for ending in (".xdmf", ".vti", ".png", ".dat"):
            target = new_path(ending)
            result = sluice("convert", "grid.h5", target)
            self.assertEqual(result.returncode, BAD_INPUT, result.stderr)
            self.assertFalse(os.path.exists(target))
            self.assertEqual(len(said(result)), 1, result.stderr)
            for word in (ending, "hdf5 (.h5", "netcdf4 (.nc", "zarr (.zarr)", "vtkhdf", "--format"):
                self.assertIn(word, result.stderr)
        for ending, options in ((".dat", ("--format", "hdf5")), ("", ()), (".hdf5", ()),
                                (".he5", ()), (".2", ())):
            target = converted("grid.h5", *options, ending=ending)
            self.assertTrue(h5py.is_hdf5(target))

    def test_names_that_begin_with_a_dot_stay(self):
        source = new_path()
        names = (".x", "..x", ".zattrs", ".hidden/y", "a/..b", "y")
        with h5py.File(source, "w") as file:
            for number, name in enumerate(names):
                file[name] = numpy.arange(3.0) + number
        for ending in (".zarr", ".icechunk", ".nc"):
            target = converted(source, ending=ending)
            self.assertEqual(sluice("verify", target).returncode, FINE)
            self.assertEqual(sluice("diff", source, target).returncode, FINE)

    def test_names_of_dimensions_stay(self):
        source = new_path()
        with h5py.File(source, "w") as file:  # of another program, with labels alone
            made = file.create_dataset("u", data=numpy.arange(12.0).reshape(3, 4))
            made.dims[0].label, made.dims[1].label = "y", "x"
        for ending in (".nc", ".h5", ".zarr"):
            middle = converted(source, ending=ending)
            with h5py.File(converted(middle)) as file:
                self.assertEqual([d.label for d in file["u"].dims], ["y", "x"])
                self.assertEqual([d[0].name for d in file["u"].dims], ["/y", "/x"])
        theirs = new_path(".nc")
        with netCDF4.Dataset(theirs, "w") as file:
            file.createDimension("time", None)
            file.createDimension("lat", 3)
            file.createVariable("lat", "f8", ("lat",))[:] = [1, 2, 3]
            file.createVariable("t", "f4", ("time", "lat"))[:] = numpy.ones((2, 3))
            file.createVariable("p", "f4", ("lat",))[:] = 5
        with h5py.File(converted(theirs, "--drop")) as file:
            self.assertEqual([d.label for d in file["t"].dims], ["time", "lat"])
            self.assertEqual([d[0].name for d in file["p"].dims], ["/lat"])
        # A dimension of time is not that of Sluice's steps: what it is no longer is told.
        target = new_path(".nc")
        result = sluice("convert", theirs, target)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(len(said(result)), 1, result.stderr)
        self.assertIn("changed: time: an unlimited dimension", result.stderr)
        with netCDF4.Dataset(target) as file:
            self.assertEqual(file["p"].dimensions, ("lat",))
            self.assertEqual(file["t"].dimensions, ("time", "lat"))
        self.assertEqual(sluice("verify", target).returncode, FINE)

    def test_a_coordinate_of_time_stays(self):
        source = new_path(".nc")
        with netCDF4.Dataset(source, "w") as file:
            file.createDimension("time", None)
            file.createDimension("x", 3)
            time = file.createVariable("time", "i4", ("time",))
            time[:], time.units = [0, 6, 12, 18], "hours since 2000-01-01"
            file.createVariable("t", "f4", ("time", "x"))[:] = numpy.arange(12).reshape(4, 3)
        for options in ((), ("--compress", "deflate:3")):
            for ending in (".nc", ".h5", ".zarr"):
                target = converted(source, *options, ending=ending)
                self.assertEqual(sluice("verify", target).returncode, FINE)
                with xarray.open_dataset(source) as before, \
                        xarray.open_dataset(target, **XARRAY[ending]) as after:
                    self.assertTrue(before.equals(after), (ending, after))
                back = converted(target, ending=".nc")
                with xarray.open_dataset(source) as before, xarray.open_dataset(back) as after:
                    self.assertTrue(before.equals(after), (ending, after))

    def test_a_format_of_one_variable_takes_one(self):
        source = new_path()
        with h5py.File(source, "w") as file:
            file["b"], file["a"] = numpy.zeros(3), numpy.ones(3)
        for options in ((), ("--drop",)):
            target = new_path(".npy")
            result = sluice("convert", source, target, *options)
            self.assertEqual(result.returncode, BAD_INPUT, result.stderr)
            self.assertRegex(said(result)[0], r"has 2 variables \((a, b|b, a)\), and format npy "
                             "holds one: none of them is chosen, use format hdf5 or netcdf4$")
            self.assertFalse(os.path.exists(target))
        text = " ".join(sluice("convert", "--help").stdout.split())
        self.assertIn("A format of one variable (npy) takes a FILE that has one", text)
        with h5py.File(source, "a") as file:
            del file["b"]
            file.attrs["title"] = "left out"
        for options, code in (((), DIFFERS), (("--drop",), FINE)):
            target = new_path(".npy")
            result = sluice("convert", source, target, *options)
            self.assertEqual((result.returncode, len(said(result))), (code, 1), result.stderr)
            self.assertEqual(numpy.load(target).tolist(), [1, 1, 1])

    def test_times_that_a_format_does_not_hold_are_listed(self):
        with h5py.File(path("spins.h5")) as file:
            expected = file["observables/energy"][...]
        for options, code in (((), DIFFERS), (("--drop",), FINE)):
            target = new_path(".npy")
            result = sluice("convert", "spins.h5", target, "--variables", "observables/energy",
                            "--json", *options)
            self.assertEqual(result.returncode, code, result.stderr)
            self.assertIn("the times of the steps (format npy holds none)",
                          json.loads(result.stdout)["left_out"])
            numpy.testing.assert_array_equal(numpy.load(target), expected)

    def test_a_name_that_no_file_has_does_not_fail_the_others(self):
        source = new_path()
        long = "x" * 256
        with h5py.File(source, "w") as file:
            file["kept"], file[long], file["g/.."] = numpy.arange(3.0), numpy.ones(3), 1.0
            file["kept"].dims[0].label = long
        for ending in (".zarr", ".nc", ".h5"):
            target = new_path(ending)
            result = sluice("convert", source, target, "--json")
            self.assertEqual(result.returncode, DIFFERS, result.stderr)
            left = [one.split()[0] for one in json.loads(result.stdout)["left_out"]]
            self.assertEqual(left, ["g/..", long])
            told = sluice("dump", target, "kept").stdout
            self.assertEqual(told.split()[-3:], ["[0.0", "1.0", "2.0]"])

    def test_one_step_tells_its_time(self):
        source = copy("spins.h5")
        with h5py.File(source, "a") as file:
            file["time"].attrs.update({"units": "s", "calendar": "none"})
        result = sluice("convert", source, new_path(), "--step", "3", "--json")
        self.assertEqual(result.returncode, DIFFERS, result.stderr)
        answer = json.loads(result.stdout)
        self.assertIn("step 3 alone, without steps; its time was 1.5 (s)", answer["changes"])
        self.assertEqual(answer["left_out"],
                         ["time: attribute calendar (one step alone has no times)"])

    def test_options_that_a_conversion_would_ignore_are_refused(self):
        text = new_path(".model")
        with open(text, "w", encoding="ascii") as file:
            file.write("1.0\n1\n1 2 1 1 1\n")
        folder = path("template-of-refusals")
        os.makedirs(folder)
        with open(os.path.join(folder, "x.template"), "w", encoding="ascii") as file:
            file.write("files %d.x\n(i4) n:int32\n")
        template = os.path.join(folder, "x.template")
        for arguments, kind, options in (
                (["spins.h5", ".h5", "--frames", "0:1", "--without", "1"], "arrays",
                 "--without, --frames"),
                (["spins.h5", ".h5", "--every", "2"], "arrays", "--every"),
                (["spins.h5", ".h5", "--mode", "legacy", "--files", "2"], "arrays",
                 "--mode, --files"),
                (["spins.h5", ".h5", "--grid", "1,1,1", "--records"], "arrays",
                 "--grid, --records"),
                (["spins.h5", ".xyz", "--grid", "1,1,1"], "spins", "--grid"),
                ([text, ".h5", "--step", "0"], "a text of VOX-FE", "--step"),
                ([text, ".h5", "--box", "0,1,0,1,0,1"], "a text of VOX-FE", "--box"),
                (["grid.h5", ".model", "--records"], "arrays to a text of VOX-FE", "--records"),
                ([template, "", "--step", "0"], "texts of a template", "--step"),
                (["spins.h5", "", "--format", "lines", "--step", "1"], "records to texts",
                 "--step"),
                (["spins.h5", ".h5", "--format", "h5md", "--step", "1"], "records to H5MD",
                 "--step"),
                (["spins.h5", "", "--format", "mfdn", "--step", "1"], "wave functions of MFDn",
                 "--step")):
            target = new_path(arguments[1])
            result = sluice("convert", arguments[0], target, *arguments[2:])
            self.assertEqual(result.returncode, BAD_INPUT, (arguments, result.stderr))
            self.assertIn(f"a conversion of {kind} takes no {options}: ", result.stderr)
            self.assertFalse(os.path.exists(target))

    def test_a_file_that_is_too_short_is_damaged(self):
        source = copy("spins.h5")
        os.truncate(source, 20000)
        for arguments in (("convert", source, new_path()), ("stats", source),
                          ("merge", source, new_path())):
            result = sluice(*arguments)
            self.assertEqual(result.returncode, DIFFERS, result.stderr)
            self.assertEqual(len(said(result)), 1, result.stderr)
            self.assertIn("eof = 20000", result.stderr)

    def test_an_empty_file_is_no_model(self):
        source = new_path(".model")
        with open(source, "wb"):
            pass
        result = sluice("convert", source, new_path(".nc"))
        self.assertEqual((result.returncode, "VOX-FE" in result.stderr), (BAD_INPUT, False))
        self.assertIn("no other format that is known", result.stderr)

    def test_bad_words(self):
        for arguments in (["spins.h5", new_path(".h5"), "--compress", "defleat:3"],
                          ["nothing.h5", new_path(".h5")], ["spins.h5", path("grid.h5")],
                          ["spins.h5", new_path(".h5"), "--format", "zip"],
                          ["spins.h5", new_path(".h5"), "--budget-mib", "0"]):
            result = sluice("convert", *arguments)
            self.assertEqual(result.returncode, BAD_INPUT, arguments)
            self.assertEqual(len(result.stderr.strip().splitlines()), 1, result.stderr)
        answer = json.loads(sluice("convert", "spins.h5", new_path(".h5"), "--json").stdout)
        with h5py.File(path("spins.h5")) as file:
            self.assertEqual(answer["steps"], file["spins"].shape[0])


if __name__ == "__main__":
    unittest.main()
