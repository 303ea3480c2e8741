"""sluice diff: counts, places and sizes of differences are those that numpy finds."""

import json
import shutil
import unittest

import h5py
import numpy

from command import BAD_INPUT, DIFFERS, FINE, copy, new_path, path, sluice


def differ(*arguments, ranks=0):
    result = sluice("diff", *arguments, "--json", ranks=ranks)
    report = json.loads(result.stdout)
    report["code"] = result.returncode
    report["variables"] = {v["name"]: v for v in report["variables"]}
    return report


def two(a, b, **options):
    """Two files by h5py with one dataset `x` each."""
    paths = new_path(), new_path()
    for target, values in zip(paths, (a, b)):
        with h5py.File(target, "w") as file:
            file.create_dataset("x", data=values, **options)
    return paths


class Diff(unittest.TestCase):
    def test_equal_files(self):
        for name in ("spins.h5", "types.h5", "grid.h5", "partial.h5"):
            result = sluice("diff", name, copy(name))
            self.assertEqual((result.returncode, result.stderr), (FINE, ""), result.stdout)
            self.assertIn("\nequal: ", result.stdout)

    def test_a_variable_that_cannot_be_read_is_one(self):
        names = new_path(), new_path()
        for number, name in enumerate(names):
            with h5py.File(name, "w") as file:
                file["whole"] = numpy.arange(3.0) + number
                part = file.create_dataset("unknown", (4,), "f8", chunks=(4,), fletcher32=True)
                part[:] = 1
                at = part.id.get_chunk_info(0).byte_offset
            with open(name, "r+b") as file:
                file.seek(at)
                file.write(b"\x01")
        for ranks in (0, 3):
            report = differ(*names, ranks=ranks)
            self.assertEqual(report["code"], DIFFERS)
            [line] = report["variables"]["unknown"]["structure"]
            self.assertIn("not compared, as it cannot be read: ", line)
            self.assertEqual(report["variables"]["whole"]["differing"], 3)

    def test_two_runs(self):
        with h5py.File(path("spins.h5")) as a, h5py.File(path("shifted.h5")) as b:
            gaps = numpy.abs(a["spins"][()] - b["spins"][()])
        report = differ("spins.h5", "shifted.h5")
        spins = report["variables"]["spins"]
        self.assertEqual((report["code"], report["equal"]), (DIFFERS, False))
        self.assertEqual((spins["differing"], spins["elements"]), ((gaps > 0).sum(), gaps.size))
        place = numpy.unravel_index(gaps.argmax(), gaps.shape)
        self.assertEqual(spins["largest"]["difference"], gaps.max())
        self.assertEqual((spins["largest"]["step"], *spins["largest"]["at"]), place)
        self.assertTrue(report["variables"]["coordinates"]["equal"])
        text = sluice("diff", "spins.h5", "shifted.h5").stdout
        self.assertIn("60 of 360 elements differ", text)
        self.assertIn("at step 2, (10, 0)", text)
        self.assertLessEqual(max(map(len, text.splitlines())), 80)

    def test_tolerances(self):
        for arguments, code in ((["--tolerance", "1e-5"], FINE), (["--tolerance", "1e-7"], DIFFERS),
                                (["--relative", "1e-6"], FINE), (["--relative", "1e-9"], DIFFERS)):
            self.assertEqual(differ("spins.h5", "shifted.h5", *arguments)["code"], code)
        chosen = differ("spins.h5", "shifted.h5", "--variables", "coordinates,time")
        self.assertEqual(chosen["code"], FINE)
        self.assertEqual(set(chosen["variables"]), {"coordinates", "time"})

    def test_random_changes_on_any_number_of_ranks(self):
        random = numpy.random.default_rng(7)
        grid = path("grid.h5")
        with h5py.File(grid) as file:
            values = file["grid"][()]
        target = copy("grid.h5")
        places = random.integers(0, values.size, 40)
        values.ravel()[places] += random.normal(size=40)
        with h5py.File(target, "r+") as file:
            file["grid"][()] = values
        with h5py.File(grid) as file:
            gaps = numpy.abs(values - file["grid"][()])
        alone = differ(grid, target)
        for report in (alone, differ(grid, target, ranks=3)):
            found = report["variables"]["grid"]
            self.assertEqual(report["code"], DIFFERS)
            self.assertEqual((found["differing"], found["elements"]),
                             (numpy.count_nonzero(gaps), gaps.size))
            self.assertEqual(found["largest"]["difference"], gaps.max())
            self.assertEqual((found["largest"]["step"], *found["largest"]["at"]),
                             numpy.unravel_index(gaps.argmax(), gaps.shape))

    def test_special_values(self):
        nan, inf = numpy.nan, numpy.inf
        other_nan = numpy.frombuffer(numpy.uint64(0x7FF8000000000001).tobytes(), "f8")[0]
        a = numpy.array([nan, nan, 0.0, inf, inf, 1.0])
        b = numpy.array([nan, other_nan, -0.0, inf, 1.0, nan])
        exact = differ(*two(a, b))["variables"]["x"]
        self.assertEqual((exact["differing"], exact["largest"]["difference"]), (4, "Infinity"))
        loose = differ(*two(a, b), "--tolerance", "1e300")["variables"]["x"]
        self.assertEqual(loose["differing"], 2)
        for option in ("--tolerance", "--relative"):
            none = differ(*two(a, b), option, "0")["variables"]["x"]
            self.assertEqual((none["differing"], none["largest"]["a"]), (2, "inf"), option)

    def test_whole_numbers_are_exact(self):
        a = numpy.array([2**63 - 1, -(2**63), 2**62], "i8")
        b = numpy.array([2**63 - 1, 2**63 - 1, 2**62 + 1], "i8")
        found = differ(*two(a, b))["variables"]["x"]
        self.assertEqual(found["differing"], 2)
        self.assertEqual(found["largest"]["difference"], 2.0**64)
        self.assertEqual(differ(*two(a[2:], b[2:]), "--tolerance", "0.5")["code"], DIFFERS)
        self.assertEqual(differ(*two(a[2:], b[2:]), "--tolerance", "1")["code"], FINE)

    def test_complex_and_text(self):
        found = differ(*two([3 + 4j, 1], [3 + 4j, 4 + 4j]))["variables"]["x"]
        self.assertEqual((found["differing"], found["largest"]["difference"]), (1, 5))
        found = differ(*two(numpy.array([b"Fe", b"Co"]), numpy.array([b"Fe", b"Ni"])),
                       "--tolerance", "9")["variables"]["x"]
        self.assertEqual((found["differing"], found["largest"]["at"]), (1, [1]))
        self.assertEqual((found["largest"]["a"], found["largest"]["b"]), ('"Co"', '"Ni"'))

    def test_structure(self):
        for a, b, what in (
                (numpy.zeros(3, "f4"), numpy.zeros(3, "f8"), "type: float32 against float64"),
                (numpy.zeros((3, 2)), numpy.zeros((2, 3)), "shape: 3 x 2 against 2 x 3")):
            report = differ(*two(a, b))
            self.assertEqual(report["code"], DIFFERS)
            self.assertEqual(report["variables"]["x"]["structure"], [what])
        target = copy("spins.h5")
        with h5py.File(target, "r+") as file:
            del file["coordinates"]
            file["extra"] = 1
            file.attrs["title"] = "another title"
            file.attrs["new"] = 2
            del file["spins"].attrs["units"]
        report = differ("spins.h5", target)
        self.assertEqual(report["variables"]["coordinates"]["structure"], ["only in A"])
        self.assertEqual(report["variables"]["extra"]["structure"], ["only in B"])
        self.assertEqual({(x["owner"], x["name"], x["a"], x["b"]) for x in report["attributes"]},
                         {("", "title", "a film of iron", "another title"), ("", "new", None, "2"),
                          ("spins", "units", "1", None)})

    def test_a_conversion_equals_what_was_converted(self):
        """What formats say by themselves (fill values, netCDF's unit of times) is no difference."""
        # Steps without times get some in netCDF, all NaN: only spins.h5 has any.
        for name, chosen in (("partial.h5", ("--variables", "holes,never_put")),
                             ("spins.h5", ()), ("grid.h5", ("--variables", "grid"))):
            for ending in (".nc", ".zarr", ".h5"):
                target = new_path(ending)
                converted = sluice("convert", name, target)
                self.assertEqual(converted.returncode, FINE, converted.stderr)
                for pair in ((name, target), (target, name)):
                    report = differ(*pair, *chosen)
                    self.assertEqual((report["attributes"], report["equal"], report["code"]),
                                     ([], True, FINE), (pair, report))

    def test_bools_and_texts_equal_those_of_netcdf(self):
        """By attributes netCDF says what type a variable has. Another encoding is a difference."""
        source, target = new_path(), new_path(".nc")
        with h5py.File(source, "w") as file:
            file["flag"] = [True, False]
            file["word"] = numpy.array([b"one", b"two"])
        self.assertEqual(sluice("convert", source, target).returncode, FINE)
        for pair in ((source, target), (target, source)):
            report = differ(*pair)
            self.assertEqual((report["attributes"], report["code"]), ([], FINE), report)
        with h5py.File(source, "r+") as file:
            file["word"].attrs["_Encoding"] = "ascii"
        self.assertEqual(differ(source, target)["code"], DIFFERS)

    def test_what_is_not_read_is_a_difference_if_one_file_has_it(self):
        paths = new_path(), new_path()
        for target in paths:
            with h5py.File(target, "w") as file:
                file["x"] = 1
                file["words"] = "text of any length"
                file.attrs["large"] = numpy.uint64(2**64 - 1)
        report = differ(*paths)
        self.assertEqual((report["code"], report["equal"]), (FINE, True))
        self.assertEqual(len(report["not_compared"]), 2, report)
        for what in ("words", "large"):
            with h5py.File(paths[1], "r+") as file:
                if what == "words":
                    del file["words"]
                else:
                    file["words"] = "text of any length"
                    del file.attrs["large"]
            for pair, side in ((paths, "only in A"), (paths[::-1], "only in B")):
                report = differ(*pair)
                self.assertEqual((report["code"], report["equal"]), (DIFFERS, False))
                lone = [v for v in report["variables"].values() if v["structure"] == [side]]
                self.assertEqual(len(lone), 1, report)
                self.assertIn(what, lone[0]["name"])

    def test_fill_values(self):
        a, b = two(numpy.zeros(3), numpy.zeros(3), chunks=(2,), maxshape=(None,))
        for target, fill in ((a, -1.5), (b, 2.0)):
            with h5py.File(target, "w") as file:
                file.create_dataset("x", data=numpy.zeros(3), fillvalue=fill)
        report = differ(a, b)
        self.assertEqual(report["code"], DIFFERS)
        self.assertEqual(report["variables"]["x"]["structure"], ["fill value: -1.5 against 2.0"])
        self.assertEqual(differ(a, copy(a))["code"], FINE)

    def test_steps_against_arrays(self):
        """A copy by another tool has arrays where Sluice has steps; compressed is no matter."""
        target = new_path()
        with h5py.File(path("spins.h5")) as source, h5py.File(target, "w") as file:
            for key, value in source.attrs.items():
                file.attrs[key] = value
            for name in ("coordinates", "time", "observables"):
                source.copy(name, file)
            spins = source["spins"]
            file.create_dataset("spins", data=spins[()], compression="gzip", chunks=(2, 7, 3))
            file["spins"].attrs["units"] = spins.attrs["units"]
        for ranks in (0, 3):
            report = differ("spins.h5", target, ranks=ranks)
            self.assertEqual(report["code"], FINE, report)
            self.assertEqual(report["variables"]["spins"]["elements"], 360)
        with h5py.File(target, "r+") as file:
            file["spins"][3, 29, 2] += 1
        found = differ(target, "spins.h5")["variables"]["spins"]
        self.assertEqual((found["differing"], found["largest"]["step"], found["largest"]["at"]),
                         (1, 3, [29, 2]))

    def test_a_step_more(self):
        target = copy("spins.h5")
        with h5py.File(target) as source, h5py.File(new_path(), "w") as file:
            file["spins"] = source["spins"][:3]
            shorter = file.filename
        found = differ("spins.h5", shorter)["variables"]["spins"]
        self.assertEqual(found["structure"], ["steps: 4 against 3"])
        self.assertEqual((found["elements"], found["differing"]), (270, 0))

    def test_steps_of_their_own_extent(self):
        report = differ("varying.h5", copy("varying.h5"))
        self.assertEqual((report["code"], report["equal"]), (FINE, True))
        self.assertEqual(report["variables"]["particles"]["elements"], 2 * (0 + 5 + 10 + 15))
        for ranks in (0, 3):
            report = differ("varying.h5", "longer.h5", "--variables", "particles", ranks=ranks)
            found = report["variables"]["particles"]
            self.assertEqual(report["code"], DIFFERS)
            self.assertEqual(found["structure"], ["shape of step 2: 10 x 2 against 13 x 2"])
            self.assertEqual((found["elements"], found["differing"]), (60, 0))

    def test_what_cannot_be_compared_is_said(self):
        paths = two(numpy.zeros(2), numpy.zeros(2))
        with h5py.File(paths[0], "r+") as file:
            file["words"] = ["variable", "length"]
        self.assertEqual(differ(*paths)["not_compared"], ["words (variable-length strings)"])

    def test_bad_input(self):
        broken = path("short.h5")
        shutil.copy(path("spins.h5"), broken)
        with open(broken, "r+b") as file:
            file.truncate(20000)
        for arguments in (["spins.h5", "none.h5"], [broken, "spins.h5"], ["spins.h5"],
                          ["spins.h5", "grid.h5", "--variables", "nope"],
                          ["spins.h5", "shifted.h5", "--tolerance", "-1"]):
            result = sluice("diff", *arguments)
            self.assertEqual((result.returncode, result.stdout), (BAD_INPUT, ""))
            self.assertEqual(len(result.stderr.splitlines()), 1)


if __name__ == "__main__":
    unittest.main()
