"""sluice verify: damage is found and placed; what other programs did is not called damage."""

import json
import os
import random
import shutil
import struct
import subprocess
import time
import unittest

import h5py
import numpy

from command import (BAD_INPUT, CHANGED_OUTSIDE, DIFFERS, FINE, KeepsTime, address, copy, flip,
                     new_path, path, said, sluice)


def verify(*files, ranks=0):
    """Exit code and report of one file."""
    result = sluice("verify", *files, "--json", ranks=ranks)
    return result.returncode, json.loads(result.stdout)[0]


def places(report):
    return [(f["variable"], f["step"], f["elements"]) for f in report["findings"]]


class Verify(unittest.TestCase):
    def test_every_byte_is_proven(self):
        for name in ("spins.h5", "types.h5", "grid.h5"):
            code, report = verify(name)
            with h5py.File(path(name)) as file:
                sizes = []
                file.visititems(lambda key, item: sizes.append(item.nbytes)
                                if isinstance(item, h5py.Dataset)
                                and not key.startswith("sluice") and key != "time" else None)
            self.assertEqual((code, report["state"], report["bytes"]), (FINE, "ok", sum(sizes)))
            self.assertEqual((report["findings"], report["uncovered"]), ([], []))
            self.assertFalse(report["modified_since_commit"])

    def test_one_flipped_bit_anywhere(self):
        chance = random.Random(5)
        for _ in range(12):
            target = copy("spins.h5")
            step, row, column = chance.randrange(4), chance.randrange(30), chance.randrange(3)
            flip(target, address(target, "spins", (step, row, column)) + chance.randrange(8),
                 chance.randrange(8))
            code, report = verify(target)
            first = row // 10 * 10
            self.assertEqual((code, report["state"]), (DIFFERS, "damaged"))
            self.assertEqual(places(report),
                             [("spins", step, f"start ({first}, 0) count (10, 3)")])

    def test_every_type(self):
        with h5py.File(path("types.h5")) as file:
            names = [n for n in file if n not in ("sluice", "empty")]
            self.assertEqual(len(names), 15)
            where = {n: "scalar" if file[n].ndim == 0 else f"start (0) count ({len(file[n])})"
                     for n in names}
        for name in names:
            target = copy("types.h5")
            flip(target, address(target, name, () if where[name] == "scalar" else (1,)))
            code, report = verify(target)
            self.assertEqual(code, DIFFERS)
            self.assertEqual([p[:2] for p in places(report)], [(name, None)])
            if where[name] != "scalar":
                self.assertEqual(places(report)[0][2], where[name])

    def test_latest_good(self):
        target = copy("spins.h5")
        result = sluice("verify", "--latest-good", target)
        self.assertEqual((result.returncode, result.stderr), (FINE, ""))
        self.assertEqual(result.stdout, f"{target}: step 3 is good\n")
        for step in (3, 2):
            flip(target, address(target, "spins", (step, 15, 1)))
        result = sluice("verify", "--latest-good", target, ranks=2)
        self.assertEqual(result.returncode, FINE)
        self.assertIn("step 1 is good", result.stdout)
        self.assertEqual(result.stderr.count("spins"), 2)
        for step in (1, 0):
            flip(target, address(target, "spins", (step, 15, 1)))
        result = sluice("verify", "--latest-good", "--json", target)
        self.assertEqual(result.returncode, DIFFERS)
        report = json.loads(result.stdout)[0]
        self.assertIsNone(report["latest_good"])
        self.assertEqual(len(report["damaged"]), 4)

    def test_text_names_the_place(self):
        target = copy("spins.h5")
        flip(target, address(target, "spins", (2, 15, 1)))
        flip(target, address(target, "coordinates", (0, 0)))
        result = sluice("verify", target)
        self.assertEqual((result.returncode, result.stderr), (DIFFERS, ""))
        self.assertIn("DAMAGED: 2 faults", result.stdout)
        self.assertRegex(result.stdout, r"spins +2 +start \(10, 0\) count \(10, 3\)  does not")
        self.assertRegex(result.stdout, r"coordinates +- +start \(0, 0\) count \(10, 3\) +does")
        under_mpirun = sluice("verify", target, ranks=3)
        self.assertEqual(under_mpirun.returncode, DIFFERS)
        self.assertEqual(under_mpirun.stdout.splitlines()[1:], result.stdout.splitlines()[1:])

    def test_a_lost_page(self):
        target = copy("grid.h5")
        with KeepsTime(target), open(target, "r+b") as file:
            file.seek(address(target, "grid", (1, 40, 0, 0)) // 4096 * 4096)
            file.write(bytes(4096))
        for ranks in (0, 3):
            code, report = verify(target, ranks=ranks)
            self.assertEqual((code, places(report)),
                             (DIFFERS, [("grid", 1, "start (32, 0, 0) count (32, 96, 96)")]))

    def test_many_faults_are_counted_and_the_list_is_bounded(self):
        target = new_path()
        shutil.copy2(path("grid.h5"), target)
        with KeepsTime(target), h5py.File(target, "r+") as file:
            file["grid"][()] += 1
        code, report = verify(target, ranks=3)
        self.assertEqual((code, report["finding_count"]), (DIFFERS, 6))
        self.assertEqual([p[1] for p in places(report)], [0, 0, 0, 1, 1, 1])

    def test_values_changed_by_another_program(self):
        target = copy("spins.h5")
        with h5py.File(target, "r+") as file:
            file["spins"][1, 0, 0] = 42
        code, report = verify(target)
        self.assertEqual((code, report["state"]), (CHANGED_OUTSIDE, "changed outside"))
        self.assertEqual(places(report), [("spins", 1, "start (0, 0) count (10, 3)")])
        result = sluice("verify", target)
        self.assertEqual(result.returncode, CHANGED_OUTSIDE)
        self.assertIn("CHANGED OUTSIDE SLUICE", result.stdout)
        self.assertIn("damaged on the way", result.stdout)
        self.assertEqual(sluice("verify", target, ranks=3).returncode, CHANGED_OUTSIDE)

    def test_attributes_and_datasets_added_by_another_program(self):
        target = copy("spins.h5")
        with h5py.File(target, "r+") as file:
            file.attrs["analysed_by"] = "somebody"
            file["mean"] = file["spins"][()].mean(axis=1)
            file["words"] = ["variable", "length"]
        code, report = verify(target)
        self.assertEqual((code, report["state"]), (FINE, "ok"))
        self.assertTrue(report["modified_since_commit"])
        self.assertEqual(report["uncovered"], ["mean", "words (variable-length strings)"])
        text = sluice("verify", target).stdout
        self.assertIn("changed or copied outside Sluice since its last commit", text)
        self.assertIn("not covered by checksums", text)

    def test_a_variable_removed_by_another_program(self):
        target = copy("spins.h5")
        with h5py.File(target, "r+") as file:
            del file["coordinates"]
        code, report = verify(target)
        self.assertEqual((code, report["state"]), (CHANGED_OUTSIDE, "changed outside"))
        self.assertIn("its variable is not in the file", report["findings"][0]["what"])

    def test_a_variable_replaced_by_one_of_another_shape(self):
        target = copy("spins.h5")
        with h5py.File(target, "r+") as file:
            del file["coordinates"]
            file["coordinates"] = numpy.zeros((3, 3))
        code, report = verify(target)
        self.assertEqual(code, CHANGED_OUTSIDE)
        self.assertEqual({f["variable"] for f in report["findings"]}, {"coordinates"})

    def test_a_compressed_copy_is_still_proven(self):
        target = new_path()
        with h5py.File(path("spins.h5")) as source, h5py.File(target, "w") as file:
            for name in ("sluice", "time", "observables", "coordinates"):
                source.copy(name, file)
            spins = source["spins"]
            file.create_dataset("spins", data=spins[()], maxshape=(None, 30, 3), chunks=(1, 30, 3),
                                compression="gzip")
            file["spins"].attrs.update(spins.attrs)
            file.attrs.update(source.attrs)
        for ranks in (0, 3):
            code, report = verify(target, ranks=ranks)
            self.assertEqual((code, report["state"]), (FINE, "ok"), report)
            self.assertEqual(report["bytes"], verify("spins.h5")[1]["bytes"])
        with h5py.File(target, "r+") as file:
            file["spins"][3, 25, 1] += 1
        self.assertEqual(places(verify(target, ranks=3)[1]),
                         [("spins", 3, "start (20, 0) count (10, 3)")])

    def test_plain_copies(self):
        target = new_path()
        shutil.copyfile(path("spins.h5"), target)  # another time of modification
        code, report = verify(target)
        self.assertEqual((code, report["state"], report["modified_since_commit"]),
                         (FINE, "ok", True))


class Records(unittest.TestCase):
    """Damage to what Sluice keeps about the data."""

    def test_times_are_proven_by_the_log(self):
        target = copy("spins.h5")
        flip(target, address(target, "time", (3,)) + 6)
        code, report = verify(target)
        self.assertEqual((code, places(report)), (DIFFERS, [("time", 3, "")]))

    def test_any_bit_of_the_checksum_records(self):
        with h5py.File(path("spins.h5")) as file:
            used = int(file["sluice/commits"][0, 3])  # words of the first commit
        for word in range(used):
            target = copy("spins.h5")
            flip(target, address(target, "sluice/checksums", (word,)), 1)
            code, report = verify(target)
            self.assertEqual((code, report["state"]), (DIFFERS, "damaged"), f"word {word}")

    def test_the_rank_that_wrote_it_is_named(self):
        """Three ranks wrote ten rows each."""
        for rank in range(3):
            target = copy("spins.h5")
            flip(target, address(target, "spins", (1, 10 * rank + 4, 2)))
            report = verify(target)[1]
            self.assertEqual([f["rank"] for f in report["findings"]], [rank])
            self.assertIn(f"does not match its checksum, written by rank {rank}\n",
                          sluice("verify", target).stdout)
            self.assertIn(f"damaged (written by rank {rank})",
                          sluice("dump", target, "spins", "--step", "1").stderr)

    def test_a_variable_that_is_gone(self):
        target = copy("spins.h5")
        with KeepsTime(target), h5py.File(target, "r+") as file:
            file.move("coordinates", "elsewhere")
        code, report = verify(target)
        self.assertEqual((code, report["state"]), (DIFFERS, "damaged"))
        self.assertIn("1 variables or groups that were committed are missing",
                      [f["what"] for f in report["findings"]])
        for verb in (["dump", target, "spins"], ["convert", target, new_path()]):
            result = sluice(*verb)
            self.assertEqual((result.returncode, len(said(result))), (DIFFERS, 1), verb)
            self.assertIn("are missing", result.stderr)

    def test_an_attribute_that_is_another(self):
        target = copy("spins.h5")
        with h5py.File(target, "r+") as file:
            owner, name = next((key, k) for key in file for k in file[key].attrs
                               if key not in ("sluice", "time")
                               and isinstance(file[key].attrs[k], str))
            file[owner].attrs[name] = "another text"
        what = [(f["variable"], f["what"]) for f in verify(target)[1]["findings"]]
        self.assertEqual((verify(target)[0], what),
                         (CHANGED_OUTSIDE,
                          [(owner, f"attribute {name} differs from what was committed")]))
        dump = ("dump", target, "spins", "--step", "0")
        self.assertEqual(sluice(*dump).returncode, FINE)  # another program's business
        shutil.copystat(path("spins.h5"), target)  # nobody changed it: damage
        self.assertEqual((verify(target)[0], sluice(*dump).returncode), (DIFFERS, DIFFERS))

    def test_a_damaged_log_is_not_none(self):
        for name in ("format_major", "contents", "written_by"):
            target = copy("spins.h5")
            with KeepsTime(target), h5py.File(target, "r+") as file:
                del file["sluice"].attrs[name]
            code, report = verify(target)
            expected = (FINE, "ok") if name == "written_by" else (DIFFERS, "damaged")
            self.assertEqual((code, report["state"]), expected, name)

    def test_a_foreign_group_of_that_name(self):
        for make in (lambda file: file.create_group("sluice"),
                     lambda file: file.create_dataset("sluice", data=[1, 2])):
            target = new_path()
            with h5py.File(target, "w") as file:
                file["x"] = [1, 2]
                make(file)
            result = sluice("verify", target)
            self.assertEqual(result.returncode, BAD_INPUT)
            self.assertIn("not written by Sluice", result.stderr)
            self.assertEqual(sluice("ls", target).returncode, FINE)

    def test_records_that_are_gone(self):
        target = copy("spins.h5")
        with h5py.File(target) as file:
            words = int(file["sluice/commits"][3, 3])
        with KeepsTime(target), h5py.File(target, "r+") as file:
            row = file["sluice/commits"][3]
            row[3] = words - 7  # the last record of step 2
            row[-1] = 0  # no checksum of the row, as in older files
            file["sluice/commits"][3] = row
        code, report = verify(target)
        self.assertEqual(code, DIFFERS)
        self.assertRegex(report["findings"][0]["what"], r"no checksum covers \d+ of its \d+ el")
        self.assertEqual(report["findings"][0]["step"], 2)

    def test_senseless_rows_of_the_log_do_no_harm(self):
        for column, value in ((0, 2**60), (2, 2**60), (3, 2**60), (3, 1)):
            target = copy("spins.h5")
            with KeepsTime(target), h5py.File(target, "r+") as file:
                file["sluice/commits"][2, column] = value
            code, report = verify(target)
            self.assertEqual((code, report["state"]), (DIFFERS, "damaged"), (column, value))

    def test_what_has_no_checksums_is_said(self):
        code, report = verify("unchecked.h5")
        self.assertEqual((code, report["bytes"], report["uncovered"]), (FINE, 0, ["values"]))
        self.assertIn("nothing to verify", sluice("verify", "unchecked.h5").stdout)
        # A variable that nobody has put has no bytes.
        code, report = verify("partial.h5")
        self.assertEqual((code, report["uncovered"]), (FINE, []))
        with h5py.File(path("partial.h5")) as file:
            self.assertIsNone(file["never_put"].id.get_offset())

    def test_damage_in_elements_that_no_rank_put(self):
        """No checksum covers them, but they must be the fill value."""
        target = copy("partial.h5")
        with h5py.File(target) as file:
            hole = int(numpy.flatnonzero(file["holes"][0] == -1)[0])
        flip(target, address(target, "holes", (0, hole)))
        for ranks in (0, 3):
            self.assertEqual(verify("partial.h5", ranks=ranks)[0], FINE)
            code, report = verify(target, ranks=ranks)
            self.assertEqual((code, report["state"]), (DIFFERS, "damaged"), report)
            [finding] = report["findings"]
            self.assertEqual((finding["variable"], finding["step"]), ("holes", 0))
            self.assertIn("1 elements that no rank put differ", finding["what"])

    def test_formats_without_checksums_are_said_to_programs_too(self):
        array = new_path().replace(".h5", ".npy")
        numpy.save(array, numpy.arange(12.0))
        atoms = new_path().replace(".h5", ".coor")
        with open(atoms, "wb") as file:
            file.write(struct.pack("<i6d", 2, *range(6)))
        for name in (array, atoms):
            for ranks in (0, 2):
                code, report = verify(name, ranks=ranks)
                self.assertEqual((code, report["state"]), (BAD_INPUT, "not written by Sluice"))
                self.assertEqual(report["not_under_checksum"], "everything")
            self.assertIn("not under checksum: everything", sluice("verify", name).stderr)
        for name in ("spins.h5", "unchecked.h5"):
            self.assertIsNone(verify(name)[1]["not_under_checksum"])


class Unreadable(unittest.TestCase):
    def test_truncated_files_are_damaged(self):
        size = os.path.getsize(path("spins.h5"))
        for left in (size - 1, size // 2, 200):
            target = copy("spins.h5")
            with KeepsTime(target):
                os.truncate(target, left)
            for ranks in (0, 3) if left == size // 2 else (0,):
                code, report = verify(target, ranks=ranks)
                self.assertEqual((code, report["state"]), (DIFFERS, "damaged"), left)
                self.assertIn("truncated", report["findings"][0]["what"])

    def test_damaged_structure(self):
        """A bit of HDF5's own metadata: its checksums find it, wherever it is."""
        with open(path("spins.h5"), "rb") as file:
            data = file.read()
        marks = [i for tag in (b"OHDR", b"FRHP", b"BTHD", b"EAHD")
                 for i in range(len(data)) if data.startswith(tag, i)]
        self.assertGreater(len(marks), 5)
        found = 0
        for mark in marks:
            target = copy("spins.h5")
            flip(target, mark + 6)
            result = sluice("verify", target)
            self.assertIn(result.returncode, (FINE, DIFFERS), result.stderr)
            self.assertEqual(result.stderr, "")
            found += result.returncode == DIFFERS
        # (Some of the objects are old versions that the file does not point to any more.)
        self.assertGreater(found, len(marks) // 2)

    def test_not_ours(self):
        target = new_path()
        with h5py.File(target, "w") as file:
            file["x"] = [1, 2]
        text = path("verify.txt")
        with open(text, "w", encoding="utf-8") as file:
            file.write("not HDF5 at all\n" * 10)
        empty = path("empty.h5")
        open(empty, "w", encoding="utf-8").close()
        for name, what in ((target, "not written by Sluice"), (text, "not an HDF5 file"),
                           (empty, "not an HDF5 file"), ("none.h5", "No such file")):
            result = sluice("verify", name)
            self.assertEqual((result.returncode, result.stdout), (BAD_INPUT, ""))
            self.assertEqual(len(result.stderr.splitlines()), 1)
            self.assertIn(what, result.stderr)
        result = sluice("verify", "none.h5", ranks=3)
        self.assertEqual((result.returncode, len(said(result))), (BAD_INPUT, 1))

    def test_a_file_that_is_written_and_one_that_a_killed_writer_left(self):
        target = new_path()
        writer = subprocess.Popen([os.environ["SLUICE_SLOW_WRITER"], target, "1000", "50"])
        try:
            until = time.monotonic() + 30
            while not os.path.exists(target) and time.monotonic() < until:
                time.sleep(0.02)
            running = {verb: sluice(verb, target).stdout for verb in ("verify", "ls")}
        finally:
            writer.kill()
            writer.wait(60)
        for verb, text in running.items():
            self.assertIn("\n  being written\n", text)
            left = sluice(verb, target).stdout
            self.assertIn(f"\n  its writer ended without closing it: sluice recover {target}\n",
                          left)
        self.assertEqual(sluice("recover", target).returncode, FINE)
        self.assertNotIn("its writer", sluice("verify", target).stdout)

    def test_several_files(self):
        damaged = copy("spins.h5")
        flip(damaged, address(damaged, "coordinates", (3, 1)))
        changed = copy("spins.h5")
        with h5py.File(changed, "r+") as file:
            file["coordinates"][0, 0] = 9
        for files, code in ((["spins.h5", "grid.h5"], FINE),
                            (["spins.h5", changed], CHANGED_OUTSIDE),
                            ([changed, damaged, "spins.h5"], DIFFERS),
                            ([damaged, "none.h5", "spins.h5"], BAD_INPUT)):
            result = sluice("verify", *files)
            self.assertEqual(result.returncode, code)
            self.assertIn("spins.h5: ok", result.stdout)  # the others are verified all the same
        for options in ((), ("--json",)):
            result = sluice("verify", "--latest-good", *options, "none.h5", "spins.h5")
            self.assertEqual(result.returncode, BAD_INPUT)
            self.assertIn("none.h5", result.stderr)
            self.assertIn('"latest_good": 3' if options else "spins.h5: step 3 is good",
                          result.stdout)


if __name__ == "__main__":
    unittest.main()
