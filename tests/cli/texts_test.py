"""sluice convert between records, wave functions and the files of a folder: what fails late leaves
nothing that looks complete."""

import filecmp
import json
import os
import unittest
import unittest.mock

import h5py
import numpy
from command import BAD_INPUT, DIFFERS, FINE, flip, new_path, sluice


class Texts(unittest.TestCase):
    def folder_of_texts(self, names="%d.x", late="3"):
        """Two texts of three record groups, the last line of one of which is `late`."""
        folder = new_path("")
        os.makedirs(folder)
        rest = names.replace("%d", "").lstrip(".")
        with open(os.path.join(folder, rest + ".template"), "w", encoding="ascii") as file:
            file.write(f"files {names}\n(i4) n:int32\n")
        for part, last in ((1, "3"), (2, late)):
            with open(os.path.join(folder, names.replace("%d", str(part))), "w",
                      encoding="ascii") as file:
                file.write("".join(f"{n:>4}\n" for n in ("1", "2", last)))
        return folder, os.path.join(folder, rest + ".template")

    def test_texts_that_are_wrong_late_leave_nothing(self):
        for ranks in (0, 2):
            folder, template = self.folder_of_texts(late="zz")
            target = os.path.join(folder, "records")
            before = sorted(os.listdir(folder))
            result = sluice("convert", template, target, ranks=ranks)
            self.assertEqual(result.returncode, BAD_INPUT, result.stderr)
            self.assertIn("2.x, line 3", result.stderr)
            self.assertEqual(sorted(os.listdir(folder)), before)
            with open(os.path.join(folder, "2.x"), "r+", encoding="ascii") as file:
                file.write("   1\n   2\n   3\n")
            result = sluice("convert", template, target, ranks=ranks)
            self.assertEqual(result.returncode, FINE, result.stderr)
            self.assertEqual(sorted(os.listdir(folder)), sorted([*before, "records"]))
            self.assertEqual(sluice("convert", template, target).returncode, BAD_INPUT)

    def test_records_that_are_damaged_late_leave_no_texts(self):
        folder, template = self.folder_of_texts(late="7777")
        records = os.path.join(folder, "records")
        self.assertEqual(sluice("convert", template, records).returncode, FINE)
        with open(records, "rb") as file:
            last = file.read().rfind((7777).to_bytes(4, "little"))
        for ranks in (0, 2):
            texts = os.path.join(folder, f"again-{ranks}")
            self.assertEqual(self.flipped(records, last, texts, ranks).returncode, DIFFERS)
            self.assertFalse(os.path.exists(texts))
            os.makedirs(texts)  # one that is there stays
            self.assertEqual(self.flipped(records, last, texts, ranks).returncode, DIFFERS)
            self.assertEqual(os.listdir(texts), [])
            with open(os.path.join(texts, "1.x.sluice-convert"), "w", encoding="ascii") as file:
                file.write("of one that was killed")
            result = sluice("convert", records, texts, "--format", "lines", ranks=ranks)
            self.assertEqual(result.returncode, FINE, result.stderr)
            self.assertEqual(sorted(os.listdir(texts)), ["1.x", "2.x", "x.template"])
            for name in ("1.x", "2.x", "x.template"):
                self.assertTrue(filecmp.cmp(os.path.join(folder, name), os.path.join(texts, name),
                                            shallow=False))
            result = sluice("convert", records, texts, "--format", "lines", ranks=ranks)
            self.assertEqual((result.returncode, "exists" in result.stderr), (BAD_INPUT, True))
            self.assertEqual(len(os.listdir(texts)), 3)

    def test_a_line_without_an_end_is_not_read_whole(self):
        folder, template = self.folder_of_texts()
        with open(os.path.join(folder, "2.x"), "w", encoding="ascii") as file:
            file.write("   1\n" + "0" * (1 << 20))
        result = sluice("convert", template, os.path.join(folder, "records"))
        self.assertEqual(result.returncode, BAD_INPUT, result.stderr)
        self.assertIn("2.x: a line is longer than the 4 characters of its template, line 2",
                      result.stderr)

    @staticmethod
    def flipped(records, at, texts, ranks):
        flip(records, at)
        try:
            return sluice("convert", records, texts, "--format", "lines", ranks=ranks)
        finally:
            flip(records, at)

    def test_names_of_texts_without_an_ending(self):
        for names, template in (("%d", "lines.template"), ("%d..", "lines.template"),
                                ("part%d", "part.template")):
            folder, given = self.folder_of_texts(names)
            records, texts = new_path(""), new_path("")
            self.assertEqual(sluice("convert", given, records).returncode, FINE)
            result = sluice("convert", records, texts, "--format", "lines")
            self.assertEqual(result.returncode, FINE, result.stderr)
            self.assertEqual(sorted(os.listdir(texts)),
                             sorted([names.replace("%d", str(n)) for n in (1, 2)] + [template]))
            again = sluice("convert", os.path.join(texts, template), new_path(""))
            self.assertEqual(again.returncode, FINE, again.stderr)

    PARTICLES = ("files %d.traj\n(i6,f10.3,3f8.3,i6) step:int32 time_ps:float64 box_nm:float64(3) "
                 "particles:int32\n*(i6,i4,3f10.5) id:int32 type:int32 position_nm:float32(3)\n")

    def particles(self, *parts, end="\n", last=None, edit=lambda text: text):
        """Texts of [(time, [(id, x, y, z)])], one a part; the template of them."""
        folder = new_path("")
        os.makedirs(folder)
        template = os.path.join(folder, "traj.template")
        with open(template, "w", encoding="ascii", newline="") as file:
            file.write(self.PARTICLES.replace("\n", end))
        for number, groups in enumerate(parts, 1):
            lines = []
            for step, (time, rows) in enumerate(groups):
                lines.append(f"{step:6}{time:10.3f}" + f"{5.0:8.3f}" * 3 + f"{len(rows):6}")
                lines += [f"{one:6}{1:4}" + "".join(f"{x:>10}" for x in place)
                          for one, *place in rows]
            text = edit(end.join(lines) + (end if last is None else last))
            with open(os.path.join(folder, f"{number}.traj"), "w", encoding="ascii",
                      newline="") as file:
                file.write(text)
        return template

    def test_texts_of_other_systems_and_of_fortran(self):
        groups = [(0, [(1, "1.5D+00", "1.5e-01", "-1.5d2"), (2, "1.5q+1", "1.5+10", "1.5-10")])]
        values = [[1.5, 0.15, -150], [15, 1.5e10, 1.5e-10]]
        for end, last in (("\n", None), ("\r\n", None), ("\n", ""), ("\r\n", "")):
            template = self.particles(groups, end=end, last=last)
            records, h5md = new_path(""), new_path()
            result = sluice("convert", template, records)
            self.assertEqual(result.returncode, FINE, (end, last, result.stderr))
            self.assertEqual(sluice("convert", records, h5md, "--format", "h5md").returncode, FINE)
            with h5py.File(h5md) as file:
                found = file["particles/all/position/value"][0]
            self.assertTrue(numpy.array_equal(found, numpy.float32(values)), (end, last))
        cut = self.particles(groups, last="", edit=lambda text: text[:-1])
        result = sluice("convert", cut, new_path(""))
        self.assertEqual((result.returncode, "ends in the middle" in result.stderr),
                         (DIFFERS, True), result.stderr)

    def test_a_trajectory_of_other_particles_is_refused_in_its_own_words(self):
        def row(one):
            return one, "1.0", "2.0", "3.0"

        for groups, what in (
                ([(0, [row(1), row(2)]), (1, [row(1)])],
                 "record group 1 has 1 particle, the first one 2"),
                ([(0, [row(1), row(7)])], "record group 0 has a particle of id 7: ids are 1 to 2"),
                ([(0, [row(0)])], "record group 0 has a particle of id 0: ids are 1 to 1")):
            records, target = new_path(""), new_path()
            self.assertEqual(sluice("convert", self.particles(groups), records).returncode, FINE)
            for ranks in (0, 2):
                result = sluice("convert", records, target, "--format", "h5md", ranks=ranks)
                self.assertEqual(result.returncode, BAD_INPUT, what)
                self.assertIn(what, result.stderr)
                self.assertFalse(os.path.exists(target))

    def trajectory(self, *parts):
        """Records of [(time, [(id, type, x, y, z)])], one a part; places of double precision."""
        folder = new_path("")
        os.makedirs(folder)
        with open(os.path.join(folder, "traj.template"), "w", encoding="ascii") as file:
            file.write("files %d.traj\n(i6,f10.3,i6) step:int64 time_ps:float64 particles:int32\n"
                       "*(i6,i4,3f22.17) id:int32 type:int32 position_nm:float64(3)\n")
        for number, groups in enumerate(parts, 1):
            with open(os.path.join(folder, f"{number}.traj"), "w", encoding="ascii") as file:
                for step, (time, rows) in enumerate(groups):
                    file.write(f"{step + 2**17:6}{time:10.3f}{len(rows):6}\n")
                    for one, kind, *place in rows:
                        places = "".join(f"{x:22.17f}" for x in place)
                        file.write(f"{one:6}{kind:4}{places}\n")
        records = new_path("")
        result = sluice("convert", os.path.join(folder, "traj.template"), records)
        self.assertEqual(result.returncode, FINE, result.stderr)
        return records

    def test_places_and_species_are_those_of_every_frame(self):
        """Particles pass from part to part; in the second trajectory, two change their types."""
        place = numpy.random.default_rng(3).random((2, 3, 3))

        def row(step, one, kind):
            return one, kind, *place[step, one - 1]

        for kinds in ([[4, 2, 3], [4, 2, 3]], [[4, 2, 3], [2, 4, 3]]):
            one, two = kinds
            records = self.trajectory(
                [(0, [row(0, 1, one[0]), row(0, 3, one[2])]), (1, [row(1, 2, two[1])])],
                [(0, [row(0, 2, one[1])]), (1, [row(1, 3, two[2]), row(1, 1, two[0])])])
            for ranks in (0, 2, 3):
                target = new_path()
                result = sluice("convert", records, target, "--format", "h5md", ranks=ranks)
                self.assertEqual(result.returncode, FINE, result.stderr)
                self.assertEqual(sluice("verify", target).returncode, FINE)
                with h5py.File(target) as file:
                    all_of = file["particles/all"]
                    self.assertEqual(all_of["position/value"].dtype, numpy.float64)
                    self.assertTrue(numpy.array_equal(all_of["position/value"][:], place))
                    species = all_of["species"]
                    if one == two:
                        self.assertEqual(species[:].tolist(), [kind - 1 for kind in one])
                        continue
                    self.assertEqual(species["value"][:].tolist(),
                                     [[kind - 1 for kind in each] for each in kinds])
                    self.assertEqual((species["step"][:].tolist(), species["time"][:].tolist()),
                                     ([2**17, 2**17 + 1], [0, 1]))

    def test_times_before_zero_on_more_ranks_than_parts(self):
        template = self.particles([(-1.5, [(1, "1.0", "2.0", "3.0")]),
                                   (-0.5, [(1, "1", "2", "3")])])
        records = new_path("")
        self.assertEqual(sluice("convert", template, records).returncode, FINE)
        for ranks in (0, 3):
            target = new_path()
            result = sluice("convert", records, target, "--format", "h5md", ranks=ranks)
            self.assertEqual(result.returncode, FINE, result.stderr)
            with h5py.File(target) as file:
                for name in ("position", "box/edges"):
                    time = file[f"particles/all/{name}/time"]
                    self.assertEqual((time[:].tolist(), time.attrs["unit"]), ([-1.5, -0.5], "ps"))
            told = json.loads(sluice("stats", records, "--json", ranks=ranks).stdout)
            self.assertEqual([group["time_ps"] for group in told], [-1.5, -0.5], ranks)

    def test_a_run_that_was_continued_on_other_ranks(self):
        """Three ranks, then two, then five, two groups each: each text has its rank's groups."""
        numbers = [3, 3, 2, 2, 5, 5]
        texts = [""] * 5
        for step, parts in enumerate(numbers):
            for part in range(parts):
                ids = range(part * 7 // parts + 1, (part + 1) * 7 // parts + 1)
                texts[part] += f"{step:6}{step / 2:10.3f}" + f"{8:8.3f}" * 3 + f"{len(ids):6}\n"
                for one in ids:
                    texts[part] += f"{one:6}{one / 2 + step / 8:10.5f}{2:10.5f}{3:10.5f}\n"
        places = [[[one / 2 + step / 8, 2, 3] for one in range(1, 8)] for step in range(6)]
        told = []
        for ranks in (0, 4):
            folder, target = new_path(""), new_path()
            result = sluice("convert", "continued.rec", folder, "--format", "lines", ranks=ranks)
            self.assertEqual(result.returncode, FINE, result.stderr)
            self.assertEqual(sorted(os.listdir(folder)),
                             [*(f"{n}.traj" for n in range(1, 6)), "traj.template"])
            for part, text in enumerate(texts, 1):
                with open(os.path.join(folder, f"{part}.traj"), encoding="ascii") as file:
                    self.assertEqual(file.read(), text, (ranks, part))
            result = sluice("convert", "continued.rec", target, "--format", "h5md", ranks=ranks)
            self.assertEqual(result.returncode, FINE, result.stderr)
            with h5py.File(target) as file:
                position = file["particles/all/position"]
                self.assertEqual(position["value"][:].tolist(), places)
                self.assertEqual(position["time"][:].tolist(), [step / 2 for step in range(6)])
            result = sluice("stats", "continued.rec", "--json", ranks=ranks)
            self.assertEqual(result.returncode, FINE, result.stderr)
            told.append(json.loads(result.stdout))
            self.assertEqual(told[-1], told[0])
        self.assertEqual([group["step"] for group in told[0]], list(range(6)))
        self.assertEqual(sum(told[0][-1]["density_nm3"]["1"]) * 8**3 / 10, 7)

    def test_texts_and_folders_are_on_the_disk_when_they_have_their_names(self):
        """The folder of what is new is synced, too."""
        with h5py.File(new_path(), "w") as file:
            file["material"] = numpy.ones((3, 2, 2), "u1")
            model = file.filename
        records = os.path.join(self.folder_of_texts()[0], "records")
        template = os.path.join(os.path.dirname(records), "x.template")
        self.assertEqual(sluice("convert", template, records).returncode, FINE)
        for ranks in (0, 2):
            for source, options, ending in ((model, (), ".model"),
                                            (records, ("--format", "lines"), "")):
                target, log = new_path(ending), new_path(".log")
                environment = {"LD_PRELOAD": os.environ["SLUICE_TOLD_SYNCS"], "SLUICE_SYNCS": log}
                with unittest.mock.patch.dict(os.environ, environment):
                    result = sluice("convert", source, target, *options, ranks=ranks)
                self.assertEqual(result.returncode, FINE, result.stderr)
                with open(log, encoding="utf-8") as file:
                    synced = file.read().split("\n")
                self.assertTrue([n for n in synced if n.startswith(target)], synced)
                self.assertIn(os.path.dirname(target), synced)

    def test_states_that_are_damaged_late_leave_no_files(self):
        folder = new_path("")
        os.makedirs(folder)
        for part in (1, 2, 3):
            with open(os.path.join(folder, f"mfdn_smwf{part:03}"), "wb") as file:
                for state in (1, 2):
                    values = numpy.full(5, 10 * part + state, "f4").tobytes()
                    mark = len(values).to_bytes(4, "little")
                    file.write(mark + values + mark)
        states = new_path()
        self.assertEqual(sluice("convert", folder, states, "--compress", "none").returncode, FINE)
        with open(states, "rb") as file:
            last = file.read().rfind(numpy.full(5, 32, "f4").tobytes())
        for ranks in (0, 2):
            target = new_path("")
            flip(states, last)
            result = sluice("convert", states, target, "--format", "mfdn", ranks=ranks)
            self.assertEqual(result.returncode, DIFFERS, result.stderr)
            self.assertFalse(os.path.exists(target))
            flip(states, last)
            result = sluice("convert", states, target, "--format", "mfdn", ranks=ranks)
            self.assertEqual(result.returncode, FINE, result.stderr)
            self.assertEqual(sorted(os.listdir(target)), sorted(os.listdir(folder)))
            for name in os.listdir(folder):
                self.assertTrue(filecmp.cmp(os.path.join(folder, name), os.path.join(target, name),
                                            shallow=False))


if __name__ == "__main__":
    unittest.main()
