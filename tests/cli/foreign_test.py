"""What other programs say in netCDF-4, Zarr and HDF5 stays said, or what is lost is named."""

import os
import struct
import unittest

import h5py
import netCDF4
import numpy
import xarray
import zarr

from command import (BAD_INPUT, DIFFERS, FINE, XARRAY, converted, new_path, said, sluice,
                     write_trajectory)


class Foreign(unittest.TestCase):
    def test_variables_that_are_shorter_than_their_unlimited_dimension(self):
        """netCDF pads what it reads of them with the fill value; the datasets are shorter."""
        source = new_path(".nc")
        kinds = {"plain": {}, "given": {"fill_value": -1.0}, "none": {"fill_value": False},
                 "packed": {"zlib": True}, "cut": {"zlib": True, "chunksizes": (3, 2)},
                 "whole": {"chunksizes": (2, 3)}}
        with netCDF4.Dataset(source, "w") as file:
            file.createDimension("time", None)
            file.createDimension("x", 3)
            file.createVariable("time", "f8", ("time",))[0:3] = [0.5, 1.5, 2.5]
            file.createVariable("long", "i4", ("x", "time"))[:, 0:7] = 5
            for name, options in kinds.items():
                file.createVariable(name, "f4", ("time", "x"), **options)
                file[name][0:4] = numpy.arange(12.0).reshape(4, 3)
            file.createVariable("never", "u8", ("time", "x"))
            file.createGroup("group").createVariable("flags", "i1", ("time",))[0:2] = 1
        names = ("time", "long", *kinds, "never", "group/flags")
        with netCDF4.Dataset(source) as file:
            file.set_auto_mask(False)
            expected = {name: file[name][:] for name in names}
        result = sluice("dump", source, "given", "--rows", "5:6")
        self.assertIn("[[-1.0  -1.0  -1.0]]", result.stdout, result.stderr)
        for ranks in (0, 3):
            target = converted(source, ending=".nc", ranks=ranks)
            with netCDF4.Dataset(target) as file:
                file.set_auto_mask(False)
                for name in names:
                    self.assertEqual(file[name][:].tolist(), expected[name].tolist(), name)
                    self.assertEqual(file[name].dimensions[-1 if name == "long" else 0], "time")
        for ending in (".h5", ".zarr"):
            target = converted(source, ending=ending)
            self.assertEqual(sluice("diff", source, target).returncode, FINE)
            with xarray.open_dataset(target, decode_cf=False, **XARRAY[ending]) as read:
                self.assertEqual(read["cut"].values.tolist(), expected["cut"].tolist())

    def test_variables_as_long_as_a_dimension_whose_coordinates_are_text(self):
        """Texts of any length are no variable here, and say how long the dimension is."""
        source = new_path(".nc")
        with netCDF4.Dataset(source, "w") as file:
            file.createDimension("x", None)
            file.createVariable("x", str, ("x",))[0:2] = numpy.array(["p", "q"], dtype=object)
            file.createVariable("i", "f4", ("x",), fill_value=-1.0)[0:1] = 5
            file.createGroup("g").createVariable("i", "f4", ("x",), fill_value=-1.0)[0:1] = 6
        target = converted(source, ending=".nc", ranks=3)
        with netCDF4.Dataset(target) as file:
            file.set_auto_mask(False)
            self.assertEqual(file["x"][:].tolist(), ["p", "q"])
            self.assertEqual(file["i"][:].tolist(), [5, -1])
            self.assertEqual(file["g/i"][:].tolist(), [6, -1])

    def test_coordinates_that_are_texts_of_any_length(self):
        """What xarray makes of names: the copy has them too, as the coordinates that they are."""
        stations = ["a", "größer", ""]
        data = xarray.Dataset({"t": (("station", "y"), numpy.arange(6.0).reshape(3, 2)),
                               "name": (("station",), numpy.array(["x", "yy", "z"], object)),
                               "n": (("station",), numpy.arange(3))},
                              coords={"station": stations, "y": [0.5, 1.5],
                                      "level": ("z", numpy.array(["up", "down"], object))})
        data["station"].attrs["long_name"] = "of the network"
        source = new_path(".nc")
        data.to_netcdf(source, engine="netcdf4")
        for ending in (".nc", ".h5"):
            target = converted(source, ending=ending)
            with xarray.open_dataset(target, **XARRAY[ending]) as read:
                self.assertEqual(read["station"].values.tolist(), stations)
                self.assertEqual(read["station"].attrs, {"long_name": "of the network"})
                self.assertEqual(read["t"].sel(station="größer").values.tolist(), [2, 3])
                self.assertEqual(read["n"].dims, ("station",))
                self.assertEqual(read["name"].values.tolist(), ["x", "yy", "z"])
            again = converted(target, ending=ending)
            with xarray.open_dataset(again, **XARRAY[ending]) as read:
                self.assertEqual(read["t"].sel(station="a").values.tolist(), [0, 1])
            self.assertEqual(sluice("verify", target).returncode, FINE)

    def test_characters_that_are_shorter_than_their_unlimited_dimension(self):
        """They are copied as they are, and the dimension is fixed."""
        source = new_path(".nc")
        with netCDF4.Dataset(source, "w") as file:
            file.createDimension("lat", None)
            file.createDimension("n", 2)
            file.createVariable("d", "f4", ("lat",))[0:3] = 1
            file.createVariable("never", "S1", ("lat",))
            file.createVariable("one", "S1", ("lat",))[0:1] = b"q"
            file.createVariable("two", "S1", ("lat", "n"))[0:1] = [[b"a", b"b"]]
        target = converted(source, ending=".nc")
        with netCDF4.Dataset(target) as file:
            file.set_auto_mask(False)
            self.assertEqual(file["never"][:].tolist(), [b"", b"", b""])
            self.assertEqual(file["one"][:].tolist(), [b"q", b"", b""])
            self.assertEqual(file["two"][:].tolist(), [[b"a", b"b"], [b"", b""], [b"", b""]])

    def test_a_fill_value_that_is_no_missing_value_is_named(self):
        """Zarr 3 says with fill_value only what elements read as that are not there."""
        source = new_path(".zarr")
        root = zarr.create_group(source, zarr_format=3)
        root.create_array("seven", shape=(5,), chunks=(2,), dtype="i4", fill_value=7)[1] = 3
        root.create_array("zero", shape=(5,), chunks=(2,), dtype="i4", fill_value=0)[1] = 3
        for ending in (".zarr", ".h5", ".nc"):
            target = new_path(ending)
            result = sluice("convert", source, target)
            self.assertEqual(result.returncode, FINE, result.stderr)
            [line] = said(result)
            self.assertIn("changed: seven: its fill value 7 is not kept", line)
            with xarray.open_dataset(target, **XARRAY[ending]) as read:
                self.assertEqual(read["seven"].values.tolist(), [7, 3, 7, 7, 7])

    def test_a_text_of_netcdf_is_no_list_in_zarr(self):
        source = new_path(".nc")
        with netCDF4.Dataset(source, "w") as file:
            file.createDimension("x", 2)
            variable = file.createVariable("v", "f8", ("x",))
            variable[:] = 1
            variable.setncattr_string("units", "\u00b0C")
            variable.setncattr_string("names", ["a", "b"])
        group = zarr.open_group(converted(source, ending=".zarr"), mode="r")
        self.assertEqual(group["v"].attrs["units"], "\u00b0C")
        self.assertEqual(group["v"].attrs["names"], ["a", "b"])

    def test_characters_of_netcdf_stay_as_they_are(self):
        source = new_path(".nc")
        letters = netCDF4.stringtochar(numpy.array([b"abcd", b"xy"], "S4"))
        with netCDF4.Dataset(source, "w") as file:
            file.createDimension("s", 2)
            file.createDimension("len", 4)
            file.createVariable("plain", "S1", ("s", "len"))[:] = letters
            file.createVariable("text", "S1", ("s", "len"))._Encoding = "UTF-8"
            file["text"][:] = numpy.array(["abcd", "xy"])
            file.createVariable("number", "f8", ("s",))[:] = [1, 2]
        result = sluice("dump", source, "text")
        self.assertIn("string[4], 2", result.stdout)
        for ranks in (0, 3):
            target = converted(source, ending=".nc", ranks=ranks)
            with netCDF4.Dataset(target) as file:
                file.set_auto_mask(False)
                self.assertEqual(file["plain"].dimensions, ("s", "len"))
                self.assertFalse(hasattr(file["plain"], "_Encoding"))
                self.assertEqual(file["plain"][:].tolist(), letters.tolist())
                self.assertEqual(file["text"].shape, (2, 4))
                self.assertEqual(file["text"][:].tolist(), ["abcd", "xy"])
            with xarray.open_dataset(target, engine="netcdf4") as read:
                self.assertEqual(read["plain"].values.tolist(), [b"abcd", b"xy"])

    def test_names_that_zarr_cannot_hold_are_left_out(self):
        source = new_path()
        names = ("zarr.json", "back\\slash", "group/zarr.json")
        with h5py.File(source, "w") as file:
            for name in ("good", *names):
                file[name] = numpy.arange(3.0)
        target = new_path(".zarr")
        result = sluice("convert", source, target)
        self.assertEqual(result.returncode, DIFFERS, result.stderr)
        for name in ("zarr.json", "group/zarr.json"):
            self.assertIn(f"left out: {name} (define {name}: format zarr has", result.stderr)
        self.assertIn("a backslash", result.stderr)
        self.assertIn("use format hdf5", result.stderr)
        self.assertEqual(list(zarr.open_group(target, mode="r").array_keys()), ["good"])

    def test_names_that_netcdf_cannot_hold_are_left_out(self):
        source = new_path()
        with h5py.File(source, "w") as file:
            for name in ("good", " lead", "tab\t", "group/trail "):
                file[name] = numpy.arange(3.0)
            file["good"].attrs[" lead"] = 1.0
        target = new_path(".nc")
        result = sluice("convert", source, target)
        self.assertEqual(result.returncode, DIFFERS, result.stderr)
        for name in (" lead", "tab\t", "group/trail "):
            shown = name.replace("\t", "\\x09")
            self.assertIn(f"{shown} (define {shown}: format netcdf4: ", result.stderr)
        self.assertIn("attribute  lead", result.stderr)
        with netCDF4.Dataset(target) as file:
            self.assertEqual((list(file.variables), list(file.groups)), (["good"], ["sluice"]))
            self.assertFalse(hasattr(file["good"], " lead"))

    def test_targets_that_are_no_new_file(self):
        result = sluice("convert", "spins.h5", "-")
        self.assertEqual(result.returncode, BAD_INPUT)
        self.assertIn("nothing is written to standard output", result.stderr)
        folder = os.path.join(os.path.dirname(new_path()), "not", "there")
        result = sluice("convert", "spins.h5", os.path.join(folder, "x.h5"))
        self.assertEqual(result.returncode, BAD_INPUT)
        self.assertIn(f"its folder {folder} does not exist", result.stderr)
        self.assertNotIn("lease", result.stderr)

    def test_netcdf_classic_is_named(self):
        source = new_path(".nc")
        for kind in ("NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA"):
            with netCDF4.Dataset(source, "w", format=kind) as file:
                file.createDimension("x", 2)
                file.createVariable("v", "f8", ("x",))[:] = 1
            result = sluice("convert", source, new_path())
            self.assertEqual(result.returncode, BAD_INPUT)
            self.assertIn("is netCDF classic", result.stderr)
            self.assertIn("nccopy -k nc4", result.stderr)

    def test_frames_that_a_trajectory_counts_and_does_not_hold_are_named(self):
        whole = new_path(".dcd")
        write_trajectory(whole, 4)
        with open(whole, "rb") as file:
            data = file.read()
        frame = 3 * (2 * 4 + 8)
        for length, told in ((-1, "frame 3 (the file ends inside it, and its header counts 4)"),
                             (-frame, "frame 3 (not there, and its header counts 4)"),
                             (-frame - 1, "frames 2 to 3 (the file ends inside frame 2, and its "
                                          "header counts 4)")):
            target = new_path(".dcd")
            with open(target, "wb") as file:
                file.write(data[:length])
            steps = 2 if "frames" in told else 3
            listed = sluice("ls", target).stdout
            self.assertIn(f"\n{steps} steps\n", listed)
            for part in told.rstrip(")").split(" (", 1):
                self.assertIn(part, listed)
            verdict = sluice("verify", target)
            self.assertEqual(verdict.returncode, DIFFERS)
            self.assertIn(told, verdict.stdout)
            copied = sluice("convert", target, new_path())
            self.assertEqual(copied.returncode, DIFFERS)
            self.assertIn("left out: " + told, copied.stderr)
            page = new_path(".html")
            self.assertEqual(sluice("report", target, page).returncode, DIFFERS)
            with open(page, encoding="utf-8") as file:
                self.assertIn(told, file.read())
            # Its header counts what is there then.
            self.assertEqual(sluice("recover", target).returncode, FINE)
            with open(target, "rb") as file:
                self.assertEqual(struct.unpack("<4i", file.read(24)[8:]), (steps, 0, 1, steps))
            self.assertNotIn("frame", sluice("ls", target).stdout)

    def test_a_trajectory_whose_header_counts_too_few_is_no_damage(self):
        """As a killed NAMD leaves it: also with the beginning of a frame behind the last one."""
        for counted in (0, 2, 4):
            target = new_path(".dcd")
            write_trajectory(target, 4, counted=counted)
            with open(target, "ab") as file:
                file.write(bytes(5))
            self.assertNotIn("frame", sluice("ls", target).stdout)
            self.assertEqual(sluice("verify", target).returncode, BAD_INPUT)  # no checksums
            copied = sluice("convert", target, new_path())
            self.assertEqual((copied.returncode, copied.stderr), (FINE, ""))


if __name__ == "__main__":
    unittest.main()
