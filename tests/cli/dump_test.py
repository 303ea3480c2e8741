"""sluice dump: the values are those that h5py reads, to the last bit."""

import csv
import io
import json
import re
import unittest

import h5py
import numpy

from command import (BAD_INPUT, CHANGED_OUTSIDE, DIFFERS, FINE, address, copy, flip, new_path, path,
                     sluice)

NAMES = {"NaN": numpy.nan, "Infinity": numpy.inf, "-Infinity": -numpy.inf}


def from_json(values, dtype):
    """Nested lists of JSON as an array."""
    def one(value):
        if isinstance(value, list) and dtype.kind == "c":
            return complex(NAMES.get(value[0], value[0]), NAMES.get(value[1], value[1]))
        return NAMES.get(value, value) if isinstance(value, str) and dtype.kind != "S" else value

    def walk(item, depth):
        return [walk(i, depth - 1) for i in item] if depth else one(item)

    depth, inner = 0, values
    while isinstance(inner, list) and inner:
        depth, inner = depth + 1, inner[0]
    items = walk(values, depth - (1 if dtype.kind == "c" else 0))
    if dtype.kind == "S":
        return numpy.array(items, dtype="U")
    return numpy.array(items, dtype=dtype)


def same_bits(test, a, b):
    test.assertEqual(a.shape, b.shape)
    if a.dtype.kind in "fc":
        # every NaN is printed alike
        parts = (lambda x: (x.real, x.imag)) if a.dtype.kind == "c" else (lambda x: (x,))
        for x, y in zip(parts(a), parts(b)):
            numpy.testing.assert_array_equal(x, y)
            test.assertTrue((numpy.isnan(x) | (numpy.signbit(x) == numpy.signbit(y))).all())
    else:
        numpy.testing.assert_array_equal(a, b)


class Dump(unittest.TestCase):
    def dump(self, *arguments, code=FINE, ranks=0):
        result = sluice("dump", *arguments, ranks=ranks)
        self.assertEqual(result.returncode, code, result.stderr)
        return result.stdout

    def test_every_type_as_json(self):
        with h5py.File(path("types.h5")) as file:
            for name in file:
                if name in ("sluice", "empty"):
                    continue
                told = json.loads(self.dump("types.h5", name, "--json"))
                expected = file[name][()]
                if expected.dtype.kind == "S":
                    expected = numpy.char.decode(expected, "utf-8")
                same_bits(self, from_json(told["values"], file[name].dtype), expected)

    def test_every_type_as_csv(self):
        with h5py.File(path("types.h5")) as file:
            for name in file:
                if name in ("sluice", "empty", "scalar"):
                    continue
                rows = list(csv.reader(io.StringIO(self.dump("types.h5", name, "--csv"))))
                self.assertEqual(rows[0], ["i0", name])
                self.assertEqual([int(row[0]) for row in rows[1:]],
                                 list(range(file[name].shape[0])))
                cells = [row[1] for row in rows[1:]]
                expected = file[name][()]
                if expected.dtype.kind == "S":
                    self.assertEqual(cells, [v.decode() for v in expected])
                elif expected.dtype.kind == "b":
                    self.assertEqual(cells, [str(v).lower() for v in expected])
                else:
                    parse = complex if expected.dtype.kind == "c" else str
                    got = numpy.array([parse(c) for c in cells]).astype(expected.dtype)
                    same_bits(self, got, expected)
        self.assertEqual(self.dump("types.h5", "scalar", "--csv").split(),
                         ["scalar", repr(1 / 3)])

    def test_names_are_quoted_in_csv(self):
        target = new_path()
        with h5py.File(target, "w") as file:
            file["c,o"] = [3.0, 4.0]
            file['a "b"'] = numpy.zeros((1, 2))
        rows = list(csv.reader(io.StringIO(self.dump(target, "c,o", "--csv"))))
        self.assertEqual(rows, [["i0", "c,o"], ["0", "3.0"], ["1", "4.0"]])
        rows = list(csv.reader(io.StringIO(self.dump(target, 'a "b"', "--csv"))))
        self.assertEqual(rows[0], ["i0", 'a "b"[0]', 'a "b"[1]'])

    def test_text_is_aligned_and_whole(self):
        text = self.dump("types.h5", "names")
        self.assertIn('["Fe"       "a,\\"b\\""  "äö€"', text)
        self.assertIn("[ true  false   true]", self.dump("types.h5", "flags"))
        self.assertIn("[1.5-2.0j  0.1+nanj]", self.dump("types.h5", "c128"))
        self.assertTrue(self.dump("types.h5", "empty").endswith("\n[]\n"))
        lines = self.dump("spins.h5", "spins").splitlines()
        self.assertEqual(lines[:2], ["spins: float64, 30 x 3, unit 1", "step 3 of 0..3, time 1.5"])
        points = {tuple(m.start() for m in re.finditer(r"\.", line)) for line in lines[2:]}
        self.assertEqual(len(points), 1, "decimal points stand in columns")

    def test_steps(self):
        with h5py.File(path("spins.h5")) as file:
            spins = file["spins"][()]
        for arguments, expected in (([], [3]), (["--step", "0"], [0]), (["--step", "-2"], [2]),
                                    (["--steps", "1:3"], [1, 2]), (["--steps", ":"], [0, 1, 2, 3]),
                                    (["--steps", "-1:"], [3]), (["--steps", "2:2"], [])):
            told = json.loads(self.dump("spins.h5", "spins", "--json", *arguments))["steps"]
            self.assertEqual([s["step"] for s in told], expected)
            for step in told:
                self.assertEqual(step["time"], 0.5 * step["step"])
                same_bits(self, numpy.array(step["values"]), spins[step["step"]])
        rows = list(csv.reader(io.StringIO(
            self.dump("spins.h5", "spins", "--csv", "--steps", "1:3", "--rows", "10:12"))))
        self.assertEqual(rows[0], ["step", "time", "i0", "spins[0]", "spins[1]", "spins[2]"])
        self.assertEqual([row[:3] for row in rows[1:]],
                         [["1", "0.5", "10"], ["1", "0.5", "11"], ["2", "1", "10"],
                          ["2", "1", "11"]])
        self.assertEqual([float(v) for v in rows[4][3:]], list(spins[2, 11]))

    def test_selections(self):
        with h5py.File(path("grid.h5")) as file:
            grid = file["grid"][1]
        for arguments, expected in (
                (["--start", "90,0,1", "--count", "2,3,4"], grid[90:92, 0:3, 1:5]),
                (["--start", "94,94,94"], grid[94:, 94:, 94:]),
                (["--count", "1,1,2"], grid[:1, :1, :2]),
                (["--rows", "-1:"], grid[-1:]),
                (["--rows", "31:33"], grid[31:33])):
            told = json.loads(self.dump("grid.h5", "grid", "--json", *arguments))
            same_bits(self, numpy.array(told["steps"][0]["values"]), expected)

    def test_large_arrays_are_shown_by_their_corners(self):
        with h5py.File(path("grid.h5")) as file:
            grid = file["grid"][1]
        text = self.dump("grid.h5", "grid")
        numbers = [float(n) for n in re.findall(r"-?\d+\.\d+", text.split("\n", 2)[2])]
        ends = [0, 1, 2, -3, -2, -1]
        self.assertEqual(numbers, list(grid[numpy.ix_(ends, ends, ends)].ravel()))
        self.assertEqual(text.count("..."), 6 * 6 + 6 + 1)
        self.assertLessEqual(max(map(len, text.splitlines())), 80)
        whole = self.dump("grid.h5", "grid", "--rows", "5:6", "--all")
        numbers = [float(n) for n in re.findall(r"-?\d+\.\d+", whole.split("\n", 3)[3])]
        self.assertEqual(numbers, list(grid[5:6].ravel()))
        self.assertLessEqual(max(map(len, whole.splitlines())), 80)
        self.assertNotIn("...", self.dump("spins.h5", "spins"))
        self.assertIn("...", self.dump("spins.h5", "spins", "--limit", "20"))

    def test_fill_values_where_nothing_was_put(self):
        told = json.loads(self.dump("partial.h5", "holes", "--json"))["steps"][0]
        self.assertEqual(told["values"], [2.5] * 10 + [-1] * 10 + [2.5] * 10)
        self.assertIsNone(told["time"])

    def test_files_of_other_tools(self):
        target = new_path()
        values = numpy.random.default_rng(1).normal(size=(50, 7))
        with h5py.File(target, "w") as file:
            file["big"] = values.astype(">f8")
            file.create_dataset("packed", data=values.astype("f4"), chunks=(9, 4),
                                compression="gzip", shuffle=True)
        for name, expected in (("big", values), ("packed", values.astype("f4"))):
            told = json.loads(self.dump(target, name, "--json"))
            same_bits(self, numpy.array(told["values"]).astype(expected.dtype), expected)

    def test_damage_is_not_shown_as_data(self):
        target = copy("spins.h5")
        flip(target, address(target, "spins", (1, 4, 0)))
        result = sluice("dump", target, "spins", "--step", "1")
        self.assertEqual(result.returncode, DIFFERS)
        self.assertIn("spins, step 1, start (0, 0) count (10, 3): does not match", result.stderr)
        self.dump(target, "spins", "--step", "1", "--no-check")
        self.dump(target, "spins", "--step", "1", "--rows", "10:20")  # whole records beside it
        with h5py.File(target, "r+") as file:
            file["spins"][2, 0, 0] = 5
        self.dump(target, "spins", "--step", "2", code=CHANGED_OUTSIDE)

    def test_under_mpirun(self):
        self.assertEqual(self.dump("spins.h5", "spins", "--csv", ranks=3),
                         self.dump("spins.h5", "spins", "--csv"))

    def test_bad_requests(self):
        for arguments, what in (
                (["nope"], "no variable nope (there are: coordinates,"),
                (["spins", "--step", "4"], "--step 4: there are 4"),
                (["spins", "--step", "-5"], "--step -5: there are 4"),
                (["spins", "--steps", "3:1"], "ends before it begins"),
                (["spins", "--rows", "1"], "use a range a:b"),
                (["spins", "--rows", "0:31"], "there are 30"),
                (["spins", "--start", "1"], "a list of 2 integers"),
                (["spins", "--start", "1,-1"], "a list of 2 integers"),
                (["spins", "--start", "29,0", "--count", "2,3"], "outside shape (30, 3)"),
                (["coordinates", "--step", "0"], "has no steps"),
                (["observables/energy", "--rows", "0:1"], "a scalar has no rows")):
            result = sluice("dump", "spins.h5", *arguments)
            self.assertEqual((result.returncode, result.stdout), (BAD_INPUT, ""), arguments)
            self.assertEqual(len(result.stderr.splitlines()), 1)
            self.assertIn(what, result.stderr)


if __name__ == "__main__":
    unittest.main()
