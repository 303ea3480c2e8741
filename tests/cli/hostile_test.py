"""The command on files that somebody made to do harm: nothing outside is touched, nothing is waited
for or held in memory without end, and no character of theirs moves the terminal's cursor."""

import json
import os
import resource
import shutil
import struct
import unittest

import h5py
import numpy

from command import BAD_INPUT, DIFFERS, FINE, new_path, path, said, sluice

MEMORY_BYTES = 4 << 30
SEQUENCES = "\x1b]0;owned\x07\x1b[2J\rfine\x9b31m\x7f\u202e"


def is_harmless(text):
    return not any(c != "\n" and (ord(c) < 0x20 or 0x7f <= ord(c) < 0xa0 or
                                  0x202a <= ord(c) <= 0x202e) for c in text)


class Hostile(unittest.TestCase):
    def refused(self, *arguments, text=""):
        """It ends with one line, whatever the file claims."""
        result = sluice(*arguments)
        self.assertIn(result.returncode, (BAD_INPUT, DIFFERS), result.stdout)
        told = said(result) or result.stdout.splitlines()
        self.assertIn(text, " ".join(told))
        return result

    def store(self, change=None, indent=4):
        """A store whose root document another program wrote anew."""
        target = new_path().replace(".h5", ".zarr")
        self.assertEqual(sluice("convert", "spins.h5", target).returncode, FINE)
        if change:
            name = os.path.join(target, "zarr.json")
            with open(name, encoding="utf-8") as file:
                root = json.load(file)
            change(root)
            with open(name, "w", encoding="utf-8") as file:
                json.dump(root, file, indent=indent)
        return target

    def test_names_that_lead_out_of_a_store(self):
        outside = path("victim")
        os.makedirs(outside, exist_ok=True)
        for name in ("../victim", "../../victim", "/" + outside, "spins/../../victim", "a//b"):
            def change(root, name=name):
                nodes = root["consolidated_metadata"]["metadata"]
                nodes[name] = {"zarr_format": 3, "node_type": "group", "attributes": {"x": 1}}
            target = self.store(change)
            for arguments in (("recover", target), ("ls", target), ("verify", target),
                              ("convert", target, new_path())):
                self.refused(*arguments, text="name")
            self.assertEqual(os.listdir(outside), [])

    def test_pipes_are_no_files(self):
        pipe = new_path()
        os.mkfifo(pipe)
        store = self.store()
        os.remove(os.path.join(store, "zarr.json"))
        os.mkfifo(os.path.join(store, "zarr.json"))
        for target in (pipe, store):
            for verb in ("ls", "verify", "recover"):
                self.refused(verb, target, text="neither a file nor a folder")
        journal = shutil.copy2(path("spins.h5"), new_path())
        os.mkfifo(journal + ".sluice-journal")
        self.refused("dump", journal, "spins", text="neither a file nor a folder")

    def test_lengths_without_bytes(self):
        """Sparse files of 10 GB: what is read whole has a limit."""
        limit = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, limit[1]))
        try:
            store = self.store()
            os.truncate(os.path.join(store, "zarr.json"), 10 << 30)
            self.refused("ls", store, text="zarr.json")
            target = shutil.copy2(path("spins.h5"), new_path())
            with open(target + ".sluice-journal", "wb") as file:
                file.write(b"SLUICEJ1" + struct.pack("<Q", 3))
                file.truncate(10 << 30)
            # No complete journal is none: the file is as it was before the commit.
            self.assertEqual(sluice("verify", target).returncode, FINE)
            with h5py.File(new_path(), "w") as file:
                file.create_dataset("huge", (1 << 60,), "u1")
                file.create_dataset("chunks", (1 << 60,), "u1", chunks=(1 << 20,))
                file.create_dataset("packed", (1 << 60,), "u1", chunks=(1 << 20,),
                                    compression="gzip")
                name = file.filename
            # A few rows are read whatever the whole has: chunks that are not there cost nothing.
            for variable in ("huge", "chunks", "packed"):
                for rows, count in (("0:5", 5), ("1152921504606846970:", 6)):
                    result = sluice("dump", name, variable, "--rows", rows, "--csv")
                    self.assertEqual(result.returncode, FINE, result.stderr)
                    values = [line.split(",")[-1] for line in result.stdout.splitlines()]
                    self.assertEqual(values[-count:], ["0"] * count, result.stdout)
        finally:
            resource.setrlimit(resource.RLIMIT_AS, limit)

    def test_depth_of_a_document(self):
        store = self.store()
        with open(os.path.join(store, "zarr.json"), "w", encoding="utf-8") as file:
            file.write('{"a":' + "[" * 500000 + "]" * 500000 + "}")
        self.refused("ls", store, text="nesting")

    def evil_file(self):
        with h5py.File(new_path(), "w") as file:
            data = file.create_dataset("n" + SEQUENCES, data=numpy.arange(3))
            data.attrs["units"] = SEQUENCES
            file.attrs["a" + SEQUENCES] = SEQUENCES
            file.create_dataset("odd" + SEQUENCES, data=numpy.zeros(
                2, dtype=[("f" + SEQUENCES, "i4"), ("g", "f8")]))
            file.create_dataset("text", data=numpy.array([SEQUENCES.encode()], dtype="S64"))
            return file.filename

    def test_no_text_of_a_file_moves_the_cursor(self):
        evil = self.evil_file()
        name = "n" + SEQUENCES
        for arguments in (("ls", evil), ("ls", evil, "--attributes"), ("ls", evil, "--json"),
                          ("dump", evil, name), ("dump", evil, name, "--csv"),
                          ("dump", evil, name, "--json"), ("dump", evil, "text"),
                          ("dump", evil, "text", "--csv"), ("dump", evil, "text", "--json"),
                          ("dump", evil, "no" + SEQUENCES), ("diff", evil, "spins.h5"),
                          ("verify", evil), ("verify", evil, "spins.h5"),
                          ("convert", evil, new_path().replace(".h5", ".npy")),
                          ("ls", "no" + SEQUENCES), ("verify", "no" + SEQUENCES, "spins.h5"),
                          ("no" + SEQUENCES,)):
            result = sluice(*arguments)
            self.assertTrue(is_harmless(result.stdout), (arguments, result.stdout))
            self.assertTrue(is_harmless(result.stderr), (arguments, result.stderr))
            self.assertTrue(result.stdout or result.stderr)

    def test_json_says_the_same(self):
        evil = self.evil_file()
        told = json.loads(sluice("ls", evil, "--json").stdout)
        self.assertIn("n" + SEQUENCES, [v["name"] for v in told["variables"]])
        self.assertEqual(told["attributes"]["a" + SEQUENCES], SEQUENCES)
        text = json.loads(sluice("dump", evil, "text", "--json").stdout)
        self.assertEqual(text["values"], [SEQUENCES])


class Records(unittest.TestCase):
    def test_dump_of_record_groups(self):
        """Each group has as many rows as it has, not as there may be."""
        name = "groups.rec"
        result = sluice("dump", name, "parts")
        self.assertEqual(result.returncode, FINE, result.stderr)
        self.assertIn("3 rows", result.stdout)
        result = sluice("dump", name, "data", "--step", "0", "--json")
        self.assertEqual(result.returncode, FINE, result.stderr)
        told = json.loads(result.stdout)["steps"][0]
        self.assertEqual(told["count"], [len(told["values"])])
        result = sluice("dump", name, "parts", "--steps", ":", "--csv")
        self.assertEqual(result.returncode, FINE, result.stderr)
        self.assertEqual(len(result.stdout.splitlines()), 1 + 2 * 3)
        result = sluice("dump", name, "data", "--rows", "-2:", "--json")
        self.assertEqual(len(json.loads(result.stdout)["steps"][0]["values"]), 2)

    def test_dump_of_a_varying_variable(self):
        for step in range(4):
            result = sluice("dump", "varying.h5", "particles", "--step", step, "--json")
            self.assertEqual(result.returncode, FINE, result.stderr)
            values = json.loads(result.stdout)["steps"][0]["values"]
            self.assertEqual(len(values), 5 * step)
            self.assertEqual(sluice("dump", "varying.h5", "particles", "--step", step).returncode,
                             FINE)


if __name__ == "__main__":
    unittest.main()
