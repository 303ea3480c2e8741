"""sluice convert and sluice render on spins: VAMPIRE's folders in every mode, real and made up.

The oracles: what VAMPIRE's own converter made of the real run, VTK's reader, h5py, numpy, and a
picture read back by matplotlib.
"""

import os
import struct
import unittest

import h5py
import matplotlib.image
import numpy

from command import BAD_INPUT, FINE, new_path, path, said, sluice

DATA = os.path.join(os.environ.get("SLUICE_DATA", os.path.join(
    os.environ["SLUICE_SOURCE_DIR"], "..", "shared", "data")), "vampire")
MODES = ("fpp-binary", "mpiio-binary", "fpnode2-text")
EDGE = 6
BOX = "System dimensions:77.88\t77.88\t80.5\n"


def file_text(*names):
    with open(os.path.join(*names)) as file:
        return file.read()


def new(ending=""):
    return new_path().replace(".h5", ending)


def made_folder():
    """A cube of 216 atoms in two layers of materials: down below the middle, up above it."""
    folder = new()
    os.mkdir(folder)
    places = numpy.array([[x, y, z] for x in range(EDGE) for y in range(EDGE)
                          for z in range(EDGE)], float) * 3 - 5
    material = (places[:, 0] > 2).astype("<i4")
    count = struct.pack("<Q", len(places))
    with open(os.path.join(folder, "atoms-coords.data"), "wb") as file:
        file.write(count + material.tobytes() + (material * 0).tobytes() + places.tobytes())
    with open(os.path.join(folder, "atoms-coords.meta"), "w") as file:
        file.write(f"#\n#\n#\n# Date\n#\nFormat: binary\n#\nNumber of atoms: {len(places)}\n#\n"
                   "Number of materials: 2\n0\t1.72\tAg \tCo\n1\t2.2\tFe\tIron\n#\n"
                   "Number of coord files: 1\natoms-coords.data\n")
    spins = numpy.zeros_like(places)
    spins[:, 2] = numpy.where(places[:, 2] < 2, -1, 1)
    for frame in range(3):
        with open(os.path.join(folder, f"spins-{frame:08}.data"), "wb") as file:
            file.write(count + spins.tobytes())
        with open(os.path.join(folder, f"spins-{frame:08}.meta"), "w") as file:
            file.write(f"#\n#\n#\n# Date\n#\nTime: {frame + 1}e-14\nField: 0\t0\t1.5\n"
                       "Temperature: 300\nMagnetisation: 0\t0\t1\n#\nNumber of spin files: 1\n"
                       f"spins-{frame:08}.data\n#\n")
    return folder, places, material, spins


class Spins(unittest.TestCase):
    def run_well(self, *arguments, ranks=0):
        result = sluice(*arguments, ranks=ranks)
        self.assertEqual(result.returncode, FINE, result.stderr)
        return result

    def rows(self, folder, *options, ranks=0):
        target = new(".txt")
        self.run_well("convert", folder, target, "--frames", 0, *options, ranks=ranks)
        return numpy.loadtxt(target, ndmin=2)


class Real(Spins):
    """Three output modes of one real run, and what VAMPIRE's vdc made of it."""

    def setUp(self):
        if not os.path.exists(DATA):
            self.skipTest(f"no {DATA}: set SLUICE_DATA")

    def folder(self, mode):
        return os.path.join(DATA, mode)

    def test_text_and_xyz_are_what_vdc_prints(self):
        expected = numpy.loadtxt(os.path.join(DATA, "vdc-expected", "spins-00000000.txt"))
        with open(os.path.join(DATA, "vdc-expected", "crystal.xyz")) as file:
            crystal = file.read().split()
        for mode, ranks in zip(MODES, (0, 3, 2)):
            rows = self.rows(self.folder(mode), ranks=ranks)
            self.assertEqual(rows.shape, expected.shape)
            # The converter adds in another order: the last of six digits may differ by one.
            self.assertLess(abs(rows[:, :3] - expected[:, :3]).max(), 1e-4)
            self.assertTrue(numpy.array_equal(rows[:, 3:], expected[:, 3:]), mode)
            target = new(".xyz")
            self.run_well("convert", self.folder(mode), target, ranks=ranks if ranks == 2 else 0)
            with open(target) as file:
                self.assertEqual(file.read().split(), crystal, mode)

    def test_vtu_has_three_numbers_a_spin(self):
        from vtkmodules.util.numpy_support import vtk_to_numpy
        from vtkmodules.vtkIOXML import vtkXMLUnstructuredGridReader

        target = new(".vtu")
        self.run_well("convert", self.folder("fpp-binary"), target, "--frames", 0, ranks=2)
        reader = vtkXMLUnstructuredGridReader()
        reader.SetFileName(target)
        reader.Update()
        grid = reader.GetOutput()
        self.assertEqual(grid.GetNumberOfCells(), 10648)
        spins = vtk_to_numpy(grid.GetPointData().GetArray("spin"))
        expected = numpy.loadtxt(os.path.join(DATA, "vdc-expected", "spins-00000000.txt"))
        self.assertEqual(spins.shape, (10648, 3))
        self.assertTrue(numpy.array_equal(spins, expected[:, 3:]))
        moments = vtk_to_numpy(grid.GetPointData().GetArray("moment"))
        self.assertTrue((moments == 1.72).all())

    def expect_same_folder(self, folder, other, mode):
        """The same files with the same bytes, but for the line of the date."""
        names = sorted(name for name in os.listdir(folder) if name != "input")
        self.assertEqual(sorted(os.listdir(other)), names, mode)
        for name in names:
            texts = []
            for one in (folder, other):
                with open(os.path.join(one, name), "rb") as file:
                    text = file.read()
                if name.endswith((".meta", ".cfg")):
                    text = [line for line in text.split(b"\n") if not line.startswith(b"# Date")]
                texts.append(text)
            self.assertEqual(*texts, f"{mode}/{name}")

    def test_every_mode_comes_back_through_hdf5_as_it_was(self):
        folders = {mode: self.folder(mode) for mode in MODES}
        for mode, options in (("legacy", ()), ("file-per-process", ("--text", "--files", 3))):
            folders[mode] = new()
            self.run_well("convert", self.folder("fpp-binary"), folders[mode],
                          "--format", "vampire", "--mode", mode, *options, ranks=3)
        # As VAMPIRE has it: a box that is not that of the atoms, a blank behind the symbol.
        for name in os.listdir(folders["legacy"]):
            text = file_text(folders["legacy"], name)
            self.assertEqual("\tAg \n" in text, "coords" in name, name)
            with open(os.path.join(folders["legacy"], name), "w") as file:
                file.write(text.replace("System dimensions:74.34\t74.34\t74.34\n", BOX))
            self.assertEqual(BOX in file_text(folders["legacy"], name),
                             name in {f"atoms-{frame:08}.cfg" for frame in range(3)}, name)
        for (mode, folder), ranks, others in zip(folders.items(), (3, 0, 0, 2, 0), (0, 4, 2, 0, 2)):
            middle, back = new(".nc" if mode == "legacy" else ".h5"), new()
            self.run_well("convert", folder, middle, ranks=ranks)
            self.run_well("convert", middle, back, "--format", "vampire", ranks=others)
            self.expect_same_folder(folder, back, mode)
            with h5py.File(middle) as file:
                self.assertEqual(file["spins"].shape, (3, 10648, 3))
                self.assertTrue(numpy.allclose(file["time"][:], [0.01, 0.02, 0.03]))
                self.assertIn(file["time"].attrs["units"], ("ps", b"ps"))  # netCDF: characters
            self.assertEqual(sluice("verify", middle).returncode, FINE)
    def test_a_mode_becomes_another(self):
        source = self.folder("fpp-binary")
        for mode, files, ranks in (("mpi-io", 1, 3), ("file-per-node", 2, 4),
                                   ("file-per-process", 3, 0), ("legacy", 2, 2)):
            target, back = new(), new()
            self.run_well("convert", source, target, "--format", "vampire", "--mode", mode,
                          "--files", files, ranks=ranks)
            found = [n for n in os.listdir(target) if n.startswith(
                "atoms-coords") and not n.endswith(".meta")]
            self.assertEqual(len(found), files, mode)
            if mode == "legacy":
                self.assertTrue(numpy.array_equal(self.rows(target), self.rows(source)))
                continue
            self.run_well("convert", target, back, "--format", "vampire", "--mode", "mpi-io")
            for name in ("atoms-coords.data", "spins-00000002.data"):
                with open(os.path.join(back, name), "rb") as one, open(
                        os.path.join(self.folder("mpiio-binary"), name), "rb") as other:
                    self.assertEqual(one.read(), other.read(), mode)


class Made(Spins):
    def test_a_name_that_is_taken_is_refused_in_words_of_the_command(self):
        folder, *_ = made_folder()
        for ending in (".h5", ".nc"):
            target = new(ending)
            with open(target, "w") as file:
                file.write("mine")
            result = sluice("convert", folder, target)
            self.assertEqual(result.returncode, BAD_INPUT)
            self.assertRegex(said(result)[0], "exists already: choose another name$")
            self.assertEqual(file_text(target), "mine")

    def test_regions_and_conditions(self):
        folder, places, material, spins = made_folder()
        middle, size = places.mean(axis=0), numpy.ptp(places, axis=0)
        fraction = (places - places.min(axis=0)) / size
        box = ((fraction >= [0.4, 0, 0.5]) & (fraction <= [1, 0.61, 1])).all(axis=1)
        sphere = (((places - middle) / (size * 0.7 / 2)) ** 2).sum(axis=1) <= 1
        cylinder = ((((places - middle) / (size * 0.9 / 2)) ** 2)[:, :2].sum(axis=1) <= 1) & (
            fraction[:, 2] <= 0.41)
        down = spins[:, 2] < 0
        chosen = {
            ("--box", "0.4,1,0,0.61,0.5,1"): box,
            ("--void-box", "0.4,1,0,0.61,0.5,1"): ~box,
            ("--sphere", "0.7,0.7,0.7"): sphere,
            ("--cylinder", "0.9,0.9,0,0.41"): cylinder,
            ("--sphere", "0.7,0.7,0.7", "--cylinder", "0.9,0.9,0,0.41"): sphere | cylinder,
            ("--sphere", "0.7,0.7,0.7", "--cylinder", "0.9,0.9,0,0.41", "--intersect"):
                sphere & cylinder,
            ("--where", "sz < 0 and material == 1"): down & (material == 1),
            ("--where", "not (sz < 0) or x*2 - 1 >= -2.5 && moment != 2.2"):
                ~down | ((places[:, 0] * 2 - 1 >= -2.5) & (material == 0)),
            ("--without", "0"): material == 1,
            ("--every", "7"): numpy.arange(len(places)) % 7 == 0,
            ("--box", "0,0.5,0,1,0,1", "--where", "sz > 0", "--every", "2"):
                (fraction[:, 0] <= 0.5) & ~down & (numpy.arange(len(places)) % 2 == 0),
        }
        # Each process chooses among its own atoms: two of the choices by several show that it does.
        for ranks, (options, mask) in zip([0, 3, 0, 0, 0, 0, 2, 0, 0, 0, 0], chosen.items()):
            rows = self.rows(folder, *options, ranks=ranks)
            self.assertEqual(len(rows), mask.sum(), options)
            moved = places[mask] - (places[mask].max(axis=0) + places[mask].min(axis=0)) / 2
            self.assertTrue(numpy.allclose(rows[:, :3], moved), options)
            self.assertTrue(numpy.array_equal(rows[:, 3:], spins[mask]), options)

    def test_names_of_vdc(self):
        folder, places, material, spins = made_folder()
        words = new(".in")
        with open(words, "w") as file:
            file.write("# what vdc reads\nslice-sphere = 0.7,0.7,0.7\nslice = 0,1,0,1,0,0.21\n"
                       "remove-materials = 2\nafm = 1\ncolourmap = bwr // a map\n"
                       "frame-start = 1\nframe-final = 2\nvector-z = {0,0,1}\n3d\n")
        target = new(".txt")
        self.run_well("convert", folder, target, "--vdc-input", words)
        rows = numpy.loadtxt(target)
        middle, size = places.mean(axis=0), numpy.ptp(places, axis=0)
        mask = ((((places - middle) / (size * 0.7 / 2)) ** 2).sum(axis=1) <= 1) | (
            places[:, 2] <= places[:, 2].min() + 0.21 * size[2])
        mask &= material == 0
        self.assertTrue(numpy.array_equal(rows[:, 3:], -spins[mask] + 0.0))
        with open(words, "a") as file:
            file.write("slices = 0,1,0,1,0,1\n")
        result = sluice("convert", folder, new(".txt"), "--vdc-input", words)
        self.assertEqual(result.returncode, BAD_INPUT)
        self.assertIn(":11: slices", result.stderr)

    def test_vtkhdf_is_what_vtk_reads(self):
        from vtkmodules.util.numpy_support import vtk_to_numpy
        from vtkmodules.vtkIOHDF import vtkHDFReader

        folder, places, material, spins = made_folder()
        down = spins[:, 2] < 0
        for ranks, options, mask in ((3, (), down | True), (0, ("--where", "sz < 0"), down)):
            target = new(".vtkhdf")
            self.run_well("convert", folder, target, "--frames", "1:", *options, ranks=ranks)
            reader = vtkHDFReader()
            name = target.replace(".vtkhdf", "-00000002.vtkhdf")
            reader.SetFileName(path(name))
            reader.Update()
            grid = reader.GetOutput()
            self.assertEqual(grid.GetNumberOfCells(), mask.sum())
            vertices = {grid.GetCell(i).GetPointId(0) for i in range(grid.GetNumberOfCells())}
            self.assertEqual(vertices, set(range(mask.sum())))
            middle = (places[mask].max(axis=0) + places[mask].min(axis=0)) / 2
            found = {array: vtk_to_numpy(grid.GetPointData().GetArray(array))
                     for array in ("spin", "moment", "ID")}
            self.assertTrue(numpy.allclose(vtk_to_numpy(grid.GetPoints().GetData()),
                                           places[mask] - middle))
            self.assertTrue(numpy.array_equal(found["spin"], spins[mask]))
            self.assertTrue(numpy.array_equal(found["ID"], material[mask]))
            self.assertTrue(numpy.array_equal(found["moment"],
                                              numpy.array([1.72, 2.2])[material[mask]]))
            time = grid.GetFieldData().GetArray("TimeValue")
            self.assertAlmostEqual(time.GetValue(0), 0.03)
            with h5py.File(path(name)) as file:
                kind = file["VTKHDF"].attrs.get_id("Type").dtype
                self.assertEqual((kind.kind, kind.itemsize), ("S", 16), "readers take ASCII alone")
        result = sluice("convert", folder, new(".vtkhdf"), "--where", "sz > 2")
        self.assertEqual(result.returncode, BAD_INPUT)
        self.assertIn("no atoms were selected", result.stderr)

    def lines(self, folder, name):
        with open(os.path.join(folder, name), "rb") as file:
            text = file.read()
        return [line for line in text.split(b"\n") if not line.startswith(b"#")]

    def test_a_number_that_is_missing_is_named_and_the_others_are_kept(self):
        folder, _, _, spins = made_folder()
        for ending in ("data", "meta"):
            os.remove(os.path.join(folder, f"spins-00000001.{ending}"))
            os.rename(os.path.join(folder, f"spins-00000000.{ending}"),
                      os.path.join(folder, f"spins-00000004.{ending}"))
        with open(os.path.join(folder, "spins-00000004.meta"), "r+") as file:
            text = file.read().replace("spins-00000000.data", "spins-00000004.data")
            file.seek(0)
            file.write(text)
        middle, back = new(".h5"), new()
        result = self.run_well("convert", folder, middle, ranks=2)
        self.assertIn("no snapshot 0 to 1, 3 (spins-00000000.meta, ... are not there): "
                      "read are 2, 4", result.stderr)
        with h5py.File(middle) as file:
            self.assertTrue(numpy.array_equal(file["spins"][:], [spins, spins]))
            self.assertTrue(numpy.allclose(file["time"][:], [0.03, 0.01]))
        self.run_well("convert", middle, back, "--format", "vampire", ranks=3)
        self.assertEqual(sorted(os.listdir(back)), sorted(os.listdir(folder)))
        for name in os.listdir(folder):
            for one, other in zip(self.lines(folder, name), self.lines(back, name), strict=True):
                self.assertEqual(one, other, name)
        target = new(".txt")
        self.run_well("convert", folder, target, "--frames", "3:")
        self.assertTrue(os.path.exists(target))
        self.run_well("convert", folder, target)
        self.assertTrue(os.path.exists(target.replace(".txt", "-00000004.txt")))
        result = sluice("convert", folder, new(".txt"), "--frames", "3")
        self.assertEqual(result.returncode, BAD_INPUT)
        self.assertIn("no frame 3: there are the numbers 2, 4", result.stderr)

    def test_xyz_has_the_atoms_without_spin(self):
        folder, places, material, _ = made_folder()
        others = numpy.array([[20, 0, 0], [0.5, 21, 0], [0, 0, 22.25]])
        with open(os.path.join(folder, "non-magnetic-atoms.data"), "wb") as file:
            file.write(struct.pack("<Q3i3i", 3, 1, 0, 1, 0, 0, 0) + others.tobytes())
        with open(os.path.join(folder, "non-magnetic-atoms.meta"), "w") as file:
            file.write("#\n#\n#\n# Date\n#\nFormat: binary\n#\nNumber of atoms: 3\n#\n"
                       "Number of files: 1\nnon-magnetic-atoms.data\n")
        symbol, all_of = numpy.array(["Ag", "Fe"]), numpy.arange(3) >= 0
        for ranks, options, mask, other in (
                (0, (), material >= 0, all_of), (3, ("--without", 0), material == 1, [0, 2]),
                (2, ("--where", "sz == 0 and x < 10"), material < 0, [1, 2])):
            target = new(".xyz")
            self.run_well("convert", folder, target, "--frames", 0, *options, ranks=ranks)
            with open(target) as file:
                lines = file.read().splitlines()
            expected = numpy.concatenate([places[mask], others[other]])
            self.assertEqual(lines[0], str(len(expected)))
            names = numpy.concatenate([symbol[material[mask]], symbol[[1, 0, 1]][other]])
            self.assertEqual([line.split()[0] for line in lines[2:]], names.tolist())
            self.assertTrue(numpy.array_equal([line.split()[1:] for line in lines[2:]],
                                              [[f"{x:g}" for x in row] for row in expected]))

    def test_frames_of_a_film(self):
        folder = made_folder()[0]
        target = new(".txt")
        self.run_well("convert", folder, target, "--frames", "1:")
        names = [target.replace(".txt", f"-{frame:08}.txt") for frame in (1, 2)]
        self.assertTrue(all(os.path.exists(name) for name in names))
        self.assertFalse(os.path.exists(target))

    def test_wrong_words_are_one_line(self):
        folder = made_folder()[0]
        # Several processes say it once too, of what each reads and of what the files have.
        for ranks, options in (
                (2, ("--where", "sz <")), (0, ("--where", "spin > 0")), (0, ("--where", "(sz < 0")),
                (0, ("--box", "0,1")), (0, ("--sphere", "a,b,c")), (2, ("--frames", "7")),
                (0, ("--mode", "files", "--format", "vampire")), (0, ("--frames", "x")),
                (0, ("--mode", "mpi-io", "--files", "2", "--format", "vampire")),
                (0, ("--mode", "legacy", "--files", "3", "--format", "vampire")),
                (0, ("--every", "2", "--format", "vampire"))):
            result = sluice("convert", folder, new("" if "vampire" in options else ".txt"),
                            *options, ranks=ranks)
            self.assertEqual(result.returncode, BAD_INPUT, options)
            self.assertEqual(len(said(result)), 1, result.stderr)
        result = sluice("convert", "grid.h5", new(".xyz"))
        self.assertEqual(result.returncode, BAD_INPUT)

    def test_a_picture_shows_the_domains_and_a_legend(self):
        folder = made_folder()[0]
        pictures = []
        for ranks in (0, 3):
            target = new(".png")
            self.run_well("render", folder, target, "--colours", "bwr", "--camera", "0,-1,0",
                          "--size", 600, 400, ranks=ranks)
            pictures.append(matplotlib.image.imread(target)[:, :, :3])
        self.assertEqual(pictures[0].shape, (400, 600, 3))
        self.assertTrue(numpy.array_equal(*pictures), "the ranks drew another picture")
        picture = pictures[0]
        red = (picture[:, :, 0] > 0.3) & (picture[:, :, 2] < 0.25)
        blue = (picture[:, :, 2] > 0.3) & (picture[:, :, 0] < 0.25)
        sample, legend = slice(0, 600 - 120), slice(600 - 120, 600)
        rows_of = [numpy.nonzero(mask[:, sample].any(axis=1))[0] for mask in (red, blue)]
        self.assertLessEqual(rows_of[0].max(), rows_of[1].min(), "up is above down")
        self.assertTrue(red[:, legend].any() and blue[:, legend].any(), "no legend")
        # Not clipped: paper on all sides of the sample.
        self.assertTrue((picture[:8, sample] == 1).all() and (picture[-8:, sample] == 1).all())
        self.assertTrue((picture[:, :8] == 1).all())

    def test_a_film_of_pictures(self):
        folder = made_folder()[0]
        target = new(".png")
        self.run_well("render", folder, target, "--frames", "0:3", "--size", 300, 200)
        for frame in range(3):
            image = matplotlib.image.imread(target.replace(".png", f"-{frame:08}.png"))
            self.assertEqual(image.shape[:2], (200, 300))
        result = sluice("render", folder, target.replace(".png", ".gif"))
        self.assertEqual(result.returncode, BAD_INPUT)

    def test_a_scene_for_povray(self):
        folder, places, _, _ = made_folder()
        target = new(".pov")
        self.run_well("render", folder, target, "--povray", "--frames", "0:2", ranks=2)
        with open(target.replace(".pov", "-00000001.inc")) as file:
            atoms = file.read().splitlines()
        self.assertEqual(len(atoms), len(places))
        found = numpy.array([line[5:-1].split(",")[:3] for line in atoms], float)
        self.assertTrue(numpy.array_equal(found, places))

    def pixels_of(self, folder, *options):
        target = new(".png")
        self.run_well("render", folder, target, *options)
        return (matplotlib.image.imread(target)[:, :, :3] * 255).round().astype(int)

    def test_the_legend_names_the_axis_of_the_colours(self):
        folder, *_ = made_folder()
        # What is written above the wheels and beside them, each in its rows and columns.
        places = {"title": (slice(135, 160), slice(820, 990)),
                  "right": (slice(230, 260), slice(962, 995)),
                  "up": (slice(164, 182), slice(890, 910))}
        of_z, of_x = (self.pixels_of(folder, *options) for options in ((), ("--axis", "1,0,0")))
        for name, place in places.items():
            self.assertEqual((of_z[place] != of_x[place]).any(), name != "up", name)

    def test_a_legend_tells_what_the_file_has(self):
        # The file has times and no temperatures: lines for the frame, the time, the atoms.
        rows = (self.pixels_of(path("spins.h5"))[20:112, 805:] < 100).all(axis=2).any(axis=1)
        self.assertEqual((numpy.diff(rows.astype(int)) == 1).sum(), 3)

    def test_components_whose_sum_is_infinite_have_a_direction(self):
        folder, places, *_ = made_folder()
        with open(os.path.join(folder, "spins-00000002.data"), "wb") as file:
            file.write(struct.pack("<Q", len(places)) + numpy.full(places.shape, 9e307).tobytes())
        pixels = self.pixels_of(folder)[:, :780]
        self.assertGreater(numpy.ptp(pixels, axis=2).max(), 60)

    def test_sizes_of_atoms(self):
        folder, places, *_ = made_folder()
        with open(os.path.join(folder, "atoms-coords.data"), "r+b") as file:
            file.seek(8 + 8 * len(places))
            file.write((numpy.arange(len(places))[:, None] * [0.0, 0, 3]).tobytes())  # a chain
        options = ("--frames", "2", "--camera", "0,0,1", "--vdc-input", new(".in"))
        for sizes in ("2.5", "{2.5, 3}"):  # it took minutes
            with open(options[-1], "w") as file:
                file.write(f"atom-sizes = {sizes}\n")
            pixels = self.pixels_of(folder, *options)[:, :780]
            self.assertGreater((pixels < 200).sum(), 10000, "along its axis")
        for sizes in ("0", "{2.5, 0}", "-1", "nan", "inf"):
            with open(options[-1], "w") as file:
                file.write(f"\natom-sizes = {sizes}\n")
            result = sluice("render", folder, new(".png"), *options)
            self.assertEqual(result.returncode, BAD_INPUT, sizes)
            self.assertRegex(said(result)[0], r":2: atom-sizes: expected sizes above 0$")

    def test_values_that_are_no_places_or_directions(self):
        folder, places, *_ = made_folder()
        count = struct.pack("<Q", len(places))
        nan = numpy.full_like(places, numpy.nan)
        for frame in range(3):
            with open(os.path.join(folder, f"spins-{frame:08}.data"), "wb") as file:
                file.write(count + nan.tobytes())
        pixels = self.pixels_of(folder)[:, :780]
        self.assertEqual(numpy.ptp(pixels, axis=2).max(), 0, "grey: no direction has a colour")
        self.assertGreater((pixels < 200).sum(), 10000)
        with open(os.path.join(folder, "atoms-coords.data"), "r+b") as file:
            file.seek(8 + 8 * len(places))
            file.write((places * 1e-311).tobytes())
        result = sluice("render", folder, new(".png"))  # it took minutes
        self.assertEqual((result.returncode, len(said(result))), (BAD_INPUT, 1))
        self.assertIn("too close to draw", result.stderr)


if __name__ == "__main__":
    unittest.main()
