"""sluice plot, report and plan --compress: the pictures have the values, the page needs nothing
else, the figures are those of what is stored."""

import base64
import contextlib
import html.parser
import io
import json
import os
import re
import time
import unittest

import h5py
import netCDF4
import numpy
from matplotlib import image

from command import (BAD_INPUT, CHANGED_OUTSIDE, DIFFERS, FINE, KeepsTime, address, copy,
                     new_path, path, sluice)


def picture(target):
    """Red, green and blue of every pixel, from 0 to 255."""
    return (image.imread(target, format="png")[:, :, :3] * 255).round().astype(int)


def ramp():
    """A field that grows along its rows, with a hole, a line, and one value."""
    target = new_path()
    with h5py.File(target, "w") as file:
        field = numpy.repeat(numpy.arange(60.0)[:, None], 80, axis=1)
        field[20:30, 40:50] = numpy.nan
        file["field"] = numpy.stack([field - 100, field, field + 100])
        file["line"] = numpy.linspace(-1, 1, 500)
        file["one"] = 1.0
        file["<script>alert(1)</script>"] = numpy.arange(9.0)
        file.attrs["note"] = "<img src=x onerror=alert(1)>"
    return target


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.sources = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.sources += [value for name, value in attrs if name in ("src", "href")]


class Look(unittest.TestCase):
    def plot(self, *arguments):
        target = new_path() + ".png"
        result = sluice("plot", *arguments[:2], target, *arguments[2:])
        self.assertEqual((result.returncode, result.stdout, result.stderr), (FINE, "", ""))
        return picture(target)

    def test_bools_are_drawn_as_0_and_1(self):
        target = new_path()
        mask = numpy.arange(2000).reshape(40, 50) % 3 == 0
        with h5py.File(target, "w") as file:
            file.create_group("bools")["mask"] = mask
            file.create_group("bytes")["mask"] = mask.astype("u1")
            file["line"] = mask[0]
        bools, numbers = (self.plot(target, f"{group}/mask")[40:]  # below the title
                          for group in ("bools", "bytes"))
        self.assertTrue(numpy.array_equal(bools, numbers))
        self.plot(target, "line")

    def test_letters_with_accents_are_drawn_without(self):
        target = new_path()
        with h5py.File(target, "w") as file:
            for name in ("h\u00f6he \u017d\u0159", "hohe Zr", "h\u4e00he Zr"):
                file[name] = numpy.arange(30.)
        accents, plain, box = (self.plot(target, name)
                               for name in ("h\u00f6he \u017d\u0159", "hohe Zr", "h\u4e00he Zr"))
        self.assertTrue(numpy.array_equal(accents, plain))
        self.assertFalse(numpy.array_equal(box, plain))

    def test_a_field_in_colours(self):
        pixels = self.plot(ramp(), "field", "--at", "1", "--size", "400", "300")
        self.assertEqual(pixels.shape, (300, 400, 3))
        inside = pixels[60:-60, 150:250]
        # From dark blue at the top to yellow at the bottom; nothing is grey.
        self.assertGreater(inside[0, 0, 2], inside[0, 0, 1])
        self.assertGreater(inside[-1, 0, 1], 150)
        hole = (pixels == 191).all(axis=2)
        self.assertGreater(hole.sum(), 500)
        lowest = self.plot(ramp(), "field", "--at", "0", "--range", "0", "60")
        self.assertEqual(len({tuple(pixel) for row in lowest[60:-60, 150:250] for pixel in row}), 1)

    def test_rows_whose_coordinate_grows_go_up(self):
        target = new_path(".nc")
        field = numpy.repeat(numpy.arange(30.0)[:, None], 40, axis=1)
        axes = {"lat": numpy.arange(30.0), "south": numpy.arange(30.0)[::-1],
                "depth": numpy.arange(30.0), "none": None}
        with netCDF4.Dataset(target, "w") as file:
            file.createDimension("x", 40)
            for name, values in axes.items():
                file.createDimension(name, 30)
                file.createVariable("by_" + name, "f4", (name, "x"))[:] = field
                if values is not None:
                    file.createVariable(name, "f8", (name,))[:] = values
            file["depth"].positive = "down"
            # Curvilinear: the rows have no coordinate, the points have latitudes.
            file.createDimension("eta", 30)
            file.createVariable("lat_rho", "f8", ("eta", "x"))[:] = field - 15
            file["lat_rho"].units = "degrees_north"
            curved = file.createVariable("curved", "f4", ("eta", "x"))
            curved[:] = field
            curved.coordinates = "lon_rho lat_rho"
        down = self.plot(target, "by_none")
        top, bottom = down[60:-60, 300:301][[0, -1]].reshape(2, 3)
        for name, is_up in (("by_lat", True), ("by_south", False), ("by_depth", False),
                            ("curved", True)):
            pixels = self.plot(target, name)
            ends = pixels[60:-60, 300:301][[0, -1]].reshape(2, 3)
            self.assertLess(numpy.abs(ends - ([bottom, top] if is_up else [top, bottom])).max(),
                            20, name)
        self.assertGreater(numpy.abs(top - bottom).max(), 100)

    def test_a_line_and_a_course(self):
        for arguments in ((ramp(), "line"), ("spins.h5", "spins", "--series"),
                          ("spins.h5", "observables/energy")):
            pixels = self.plot(*arguments)
            blue = (pixels[:, :, 2] > 120) & (pixels[:, :, 0] < 60)
            self.assertGreater(blue.any(axis=0).sum(), 700, arguments)

    def test_what_cannot_be_drawn_is_one_line(self):
        for arguments, what in (
                (("types.h5", "names"), "is not drawn"), ((ramp(), "one"), "one value"),
                (("types.h5", "empty"), "has no values"),
                (("spins.h5", "coordinates", "--series"), "no steps"),
                (("spins.h5", "nothing"), "nothing"), ((ramp(), "field", "--at", "7"), "--at 7"),
                ((ramp(), "field", "--range", "nan", "5"), "--range"),
                ((ramp(), "field", "--range", "5", "5"), "--range")):
            result = sluice("plot", *arguments[:2], new_path() + ".png", *arguments[2:])
            self.assertEqual(result.returncode, BAD_INPUT, arguments)
            self.assertIn(what, result.stderr)
        self.assertIn(".png", sluice("plot", "spins.h5", "spins", "spins.gif").stderr)
        there = path("spins.h5") + ".png"
        self.assertEqual(sluice("plot", "spins.h5", "spins", there).returncode, FINE)
        self.assertIn("exists", sluice("plot", "spins.h5", "spins", there).stderr)

    def test_missing_values_are_grey_and_in_no_mean(self):
        target = new_path(".nc")
        field = numpy.linspace(0, 1, 4000, dtype="f4").reshape(50, 80)
        with netCDF4.Dataset(target, "w") as file:
            for name, count in (("y", 50), ("x", 80)):
                file.createDimension(name, count)
            masked = file.createVariable("sst", "f4", ("y", "x"), fill_value=-999)
            masked[:] = numpy.ma.masked_greater(field, 0.5)
            other = file.createVariable("old", "f4", ("y", "x"))
            other.missing_value = numpy.float32(1e20)
            other[:] = numpy.where(field > 0.5, numpy.float32(1e20), field)
            file.createVariable("unwritten", "f4", ("y", "x"))[:25] = field[:25]
            # The default fill value of bytes is data.
            file.createVariable("bytes", "u1", ("y", "x"))[:] = (field * 255).round()
        for name in ("sst", "old", "unwritten"):
            pixels = self.plot(target, name)
            grey = (pixels == 191).all(axis=2).sum()
            self.assertGreater(grey, 900 * 600 * 0.25, name)
            self.assertGreater(len(numpy.unique(pixels.reshape(-1, 3), axis=0)), 100, name)
        self.assertEqual((self.plot(target, "bytes") == 191).all(axis=2).sum(), 0)
        text = self.report(target)
        for least, most in ((0, field[field <= 0.5].max()), (0, field[:25].max()), (0, 255)):
            self.assertRegex(text, f"<td>{least}</td><td>[0-9.]+</td><td>{most:.6g}</td>")

    def test_defaults_of_netcdf_are_missing_and_so_is_what_the_attribute_says(self):
        # Nobody asked for the default of uint64, which attributes do not hold.
        default, counts = new_path(".nc"), numpy.arange(200, dtype="u8").reshape(10, 20)
        with netCDF4.Dataset(default, "w") as file:
            for name, count in (("y", 20), ("x", 20)):
                file.createDimension(name, count)
            file.createVariable("counts", "u8", ("y", "x"))[:10] = counts
        grey = (self.plot(default, "counts") == 191).all(axis=2).sum()
        self.assertGreater(grey, 900 * 600 * 0.25)
        self.assertIn("<td>0</td><td>99.5</td><td>199</td>", self.report(default))
        # The fill value of the dataset is data where the attribute says another.
        said = new_path(".h5")
        with h5py.File(said, "w") as file:
            for name, dtype, missing in (("wide", "i4", -999), ("narrow", "u1", -999)):
                values = numpy.full((20, 20), 7, dtype)
                values[0] = 3
                made = file.create_dataset(name, data=values, fillvalue=7)
                made.attrs["_FillValue"] = missing
        for name in ("wide", "narrow"):
            self.assertEqual((self.plot(said, name) == 191).all(axis=2).sum(), 0, name)
        self.assertEqual(self.report(said).count("<td>3</td><td>6.8</td><td>7</td>"), 2)

    def test_packed_values_are_unpacked(self):
        target = new_path(".nc")
        packed = numpy.arange(-1000, 1000, dtype="i2").reshape(40, 50)
        packed[0, 0] = -32768
        with netCDF4.Dataset(target, "w") as file:
            file.set_auto_maskandscale(False)
            for name, count in (("y", 40), ("x", 50)):
                file.createDimension(name, count)
            made = file.createVariable("t2m", "i2", ("y", "x"), fill_value=-32768)
            made.scale_factor, made.add_offset, made.units = 0.25, 280.0, "K"
            made.set_auto_maskandscale(False)
            made[:] = packed
        with netCDF4.Dataset(target) as file:
            values = file["t2m"][:]
        self.assertEqual((values.min(), values.max(), values.count()), (30.25, 529.75, 1999))
        self.assertIn(f"<td>30.25</td><td>{values.mean():.6g}</td><td>529.75</td><td>1</td>",
                      self.report(target))
        whole = self.plot(target, "t2m", "--range", "30.25", "529.75")
        self.assertTrue(numpy.array_equal(self.plot(target, "t2m"), whole))

    def test_neighbours_of_a_missing_value_are_values(self):
        """As doubles, these integers are equal."""
        target, missing = new_path(), 2**60 + 1
        values = numpy.array([2**60, missing, 2**60 + 2, missing, 2**60 - 1], "i8")
        with h5py.File(target, "w") as file:
            for name in ("signed", "unsigned"):
                file[name] = values.astype("i8" if name == "signed" else "u8")
                file[name].attrs["_FillValue"] = values[1]
        text = self.report(target)
        self.assertEqual(len(re.findall(r"<td>1.15292e\+18</td><td>2</td>", text)), 2, text)

    def test_infinities_are_told_from_missing_values(self):
        target = new_path()
        with h5py.File(target, "w") as file:
            file["x"] = numpy.array([1.0, numpy.inf, numpy.nan, -numpy.inf, 2.0])
        text = self.report(target)
        self.assertIn("<th>Missing, NaN</th><th>Infinite</th>", text)
        self.assertIn("<td>1</td><td>1.5</td><td>2</td><td>1</td><td>2</td>", text)

    def test_lines_stay_in_their_frame(self):
        target = new_path()
        line = numpy.full(1000, 0.5)
        line[300], line[600], line[601] = 1e36, -1e6, 1e6
        with h5py.File(target, "w") as file:
            file["line"] = line
        started = time.monotonic()
        pixels = self.plot(target, "line", "--range", "0", "1")
        self.assertLess(time.monotonic() - started, 60)  # it took minutes
        blue = (pixels[:, :, 2] > 120) & (pixels[:, :, 0] < 60)
        rows, columns = numpy.nonzero(blue)
        ink = (pixels == 38).all(axis=2)  # the border is the longest line there is
        top, bottom = numpy.nonzero(ink.sum(axis=1) > 600)[0][[0, -1]]
        left, right = numpy.nonzero(ink.sum(axis=0) > 400)[0][[0, -1]]
        self.assertGreaterEqual((rows.min(), columns.min()), (top, left))
        self.assertLessEqual((rows.max(), columns.max()), (bottom + 1, right + 1))
        # Both flanks of each spike reach the end of the frame.
        self.assertLess(rows.min(), top + 4)
        self.assertGreater(rows.max(), bottom - 4)

    def blue_of(self, *arguments):
        """Where a line is: the rows and the columns of its pixels."""
        pixels = self.plot(*arguments)
        return numpy.nonzero((pixels[:, :, 2] > 120) & (pixels[:, :, 0] < 60))

    def test_values_whose_difference_or_sum_is_no_number(self):
        target = new_path()
        with h5py.File(target, "w") as file:
            file["line"] = numpy.where(numpy.arange(60) % 2, 1.7e308, -1.7e308)
            file["field"] = numpy.full((3000, 10), 1e308)
        for cut in ((), ("--range", "0", "1")):
            rows, columns = self.blue_of(target, "line", *cut)
            self.assertGreater(numpy.ptp(rows), 400)
            self.assertGreater(len(set(columns)), 50, cut)
        self.assertEqual((self.plot(target, "field") == 191).all(axis=2).sum(), 0)
        self.assertIn("<td>1e+308</td><td>1e+308</td><td>1e+308</td>", self.report(target))

    def test_values_as_small_as_a_number_can_be(self):
        target = new_path()
        with h5py.File(target, "w") as file:
            file["line"] = numpy.where(numpy.arange(60) % 2, 5e-324, 0)
        self.assertGreater(numpy.ptp(self.blue_of(target, "line")[0]), 400)

    def test_a_value_between_two_gaps_is_a_dot(self):
        nan = numpy.nan
        rows, columns = self.blue_of(self.line_of([nan, 1, nan, 2, nan, 3, nan]), "energy")
        self.assertEqual(len(rows), 3 * 16)
        self.assertGreater(numpy.ptp(columns), 400)
        self.assertGreater(rows[columns.argmin()], rows[columns.argmax()])

    def test_the_smallest_picture_shows_the_field(self):
        pixels = self.plot("grid.h5", "grid", "--size", "200", "200")
        colours = (numpy.ptp(pixels, axis=2) > 60).sum(axis=0)
        self.assertGreater((colours > 80).sum(), 40)

    def test_scales_of_dimensions_have_whole_numbers(self):
        # Three columns, so four ticks: the rows of pixels below the frame that hold their marks.
        pixels = self.plot("spins.h5", "spins")
        ink = (pixels == 38).all(axis=2)
        bottom = numpy.nonzero(ink.sum(axis=1) > 600)[0][-1]
        left, right = numpy.nonzero(ink.sum(axis=0) > 400)[0][[0, -1]]
        self.assertEqual(ink[bottom + 2, left:right + 1].sum(), 4)

    def line_of(self, values, unit=""):
        target = new_path(".nc")
        with netCDF4.Dataset(target, "w") as file:
            file.createDimension("x", len(values))
            energy = file.createVariable("energy", "f8", ("x",))
            energy[:] = values
            energy.units = unit
        return target

    def test_times_need_not_ascend(self):
        pixels = self.plot("falling.h5", "energy")
        blue = (pixels[:, :, 2] > 120) & (pixels[:, :, 0] < 60)
        self.assertGreater(blue.any(axis=0).sum(), 700)
        # The last step, of the most energy, is at the left end.
        rows, columns = numpy.nonzero(blue)
        self.assertLess(rows[columns.argmin()], rows[columns.argmax()])
        # The band from least to most is there, too: half of the height, all along.
        pixels = self.plot("falling.h5", "pair", "--series")
        band = (pixels[:, :, 2] > pixels[:, :, 0] + 20).sum(axis=0)
        self.assertGreater((band > 100).sum(), 700)

    def test_units_are_shown_as_they_are(self):
        def shown(unit):
            return self.plot(self.line_of([1, 2], unit), "energy")

        pictures = [shown(unit) for unit in ("µm", "  m", "°C", "?C", "Å", "Ω", "m²", "m³")]
        for i, one in enumerate(pictures):
            for other in pictures[:i]:
                self.assertTrue((one != other).any(), i)
        self.assertTrue((shown("µm") == shown("μm")).all())  # micro sign and Greek letter

    def test_ticks_tell_their_values_apart(self):
        near = self.plot(self.line_of([-76543.21, -76543.2, -76543.19]), "energy")
        # The texts of the ticks, left of the frame: no two rows of text are alike.
        ink = (near == 38).all(axis=2)
        left = numpy.nonzero(ink.sum(axis=0) > 400)[0][0] - 6
        lines, last = [], -2
        for row in numpy.nonzero(ink[50:-60, 12:left].any(axis=1))[0]:
            if row > last + 1:
                lines.append([])
            lines[-1].append(ink[50 + row, 12:left])
            last = row
        texts = {numpy.array(line).tobytes() for line in lines}
        self.assertGreater(len(lines), 3)
        self.assertEqual(len(texts), len(lines))

    def test_series_takes_no_step_and_no_place(self):
        for more in (("--step", "1"), ("--at", "7")):
            result = sluice("plot", "spins.h5", "spins", new_path() + ".png", "--series", *more)
            self.assertEqual(result.returncode, BAD_INPUT)
            self.assertIn("--series", result.stderr)

    def report(self, *arguments, code=FINE):
        target = new_path() + ".html"
        result = sluice("report", arguments[0], target, *arguments[1:])
        self.assertEqual((result.returncode, result.stderr), (code, ""))
        with open(target, encoding="utf-8") as file:
            return file.read()

    def test_the_page_needs_nothing_else(self):
        for name in ("spins.h5", "types.h5", "partial.h5", "varying.h5", "set.h5", "groups.rec",
                     ramp()):
            text = self.report(name)
            page = Page(text)
            self.assertFalse({"script", "link", "iframe", "object"} & set(page.tags), name)
            for source in page.sources:
                self.assertTrue(source.startswith("data:image/png;base64,"), source[:40])
                png = base64.b64decode(source.split(",")[1], validate=True)
                self.assertEqual(image.imread(io.BytesIO(png), format="png").shape[:2], (160, 240))
        self.assertIn("&lt;script&gt;", text)
        self.assertNotIn("<img src=x", text)

    def test_the_exit_code_is_that_of_the_page(self):
        for keeps_time, code in ((True, DIFFERS), (False, CHANGED_OUTSIDE)):
            target = copy("spins.h5")
            with KeepsTime(target) if keeps_time else contextlib.nullcontext():
                with open(target, "r+b") as file:
                    file.seek(address(target, "coordinates", (3, 1)))
                    file.write(b"\x5a\xa5")
            self.assertEqual(sluice("verify", target).returncode, code)
            for options in ((), ("--no-check",)):
                page = new_path(".html")
                result = sluice("report", target, page, *options)
                self.assertEqual((result.returncode, result.stderr), (code, ""))
                with open(page, encoding="utf-8") as file:
                    self.assertIn("does not match its checksum", file.read())

    def test_the_page_tells_the_values(self):
        text = self.report("spins.h5")
        self.assertIn("Every byte that has a checksum matches it.", text)
        self.assertIn("4 steps, time 0 to 1.5", text)
        with h5py.File(path("spins.h5")) as file:
            for step in file["spins"]:
                cells = "".join(f"<td>{value:.6g}</td>"
                                for value in (step.min(), step.mean(), step.max()))
                self.assertIn(cells, text)
        self.assertIn("Not checked.", self.report("spins.h5", "--no-check"))
        self.assertIn("no checksums of Sluice", self.report(ramp()))

    def test_the_page_tells_damage(self):
        target = new_path()
        with open(path("spins.h5"), "rb") as file:
            data = bytearray(file.read())
        with h5py.File(path("spins.h5")) as file:
            place = file["coordinates"].id.get_offset()
        data[place + 3] ^= 1
        with open(target, "wb") as file:
            file.write(data)
        stat = os.stat(path("spins.h5"))
        os.utime(target, ns=(stat.st_atime_ns, stat.st_mtime_ns))
        text = self.report(target, code=DIFFERS)
        self.assertIn("Damaged.", text)
        self.assertRegex(text, r"<li>coordinates .*does not match")

    def test_figures_of_compression(self):
        target = new_path()
        values = numpy.cumsum(numpy.random.default_rng(1).normal(size=40000)).astype("f4")
        with h5py.File(target, "w") as file:
            file["walk"] = values
            file["count"] = numpy.arange(4000, dtype="i4")
        told = json.loads(sluice("plan", "--compress", target, "--json").stdout)
        walk, count = sorted(told, key=lambda one: one["type"])
        self.assertEqual((walk["variable"], walk["sample_bytes"]), ("walk", values.nbytes))
        self.assertFalse([c for c in count["choices"] if ":" in c["compress"].split("+")[0]
                          and c["compress"].startswith(("round", "digits"))])
        for choice in walk["choices"]:
            made = new_path()
            result = sluice("convert", target, made, "--compress", choice["compress"])
            self.assertEqual(result.returncode, FINE, result.stderr)
            with h5py.File(made) as file:
                stored = file["walk"].id.get_storage_size()
                if "zstd" not in choice["compress"]:
                    error = numpy.abs(file["walk"][:].astype("f8") - values.astype("f8")).max()
                    self.assertEqual(choice["largest_error"], error)
            self.assertEqual(stored, choice["bytes"], choice)
        self.assertRegex(sluice("plan", "--compress", target, "--variable", "walk").stdout,
                         re.compile(r"^  round:10\+\S+ .* \d", re.M))
        self.check_picture_of_compression(target, walk)

    def check_picture_of_compression(self, target, measured):
        """The bars are as long as the sizes."""
        drawn = new_path() + ".png"
        wanted = ("plan", "--compress", target, "--variable", "walk", "--plot", drawn)
        result = sluice(*wanted)
        self.assertEqual(result.returncode, FINE, result.stderr)
        pixels = picture(drawn)

        def has(*colour):
            return (abs(pixels - colour) <= 1).all(axis=2)

        bars = has(31, 82, 153) | has(51, 153, 140)
        grounds = bars | has(237, 237, 237)
        lengths = [row.sum() / ground.sum() for row, ground in zip(bars, grounds) if row.any()]
        shown = [b for a, b in zip([0, *lengths], lengths) if a != b]
        sizes = [choice["bytes"] / measured["sample_bytes"] for choice in measured["choices"]]
        self.assertEqual(len(lengths) % len(sizes), 0)
        numpy.testing.assert_allclose(lengths[::len(lengths) // len(sizes)], sizes, atol=0.01)
        self.assertGreater(len(shown), 4)
        self.assertIn("exists already", sluice(*wanted).stderr)
        self.assertIn(".png", sluice(*wanted[:-1], "picture.jpg").stderr)
        self.assertIn("--compress", sluice("plan", "--plot", "x.png").stderr)


if __name__ == "__main__":
    unittest.main()
