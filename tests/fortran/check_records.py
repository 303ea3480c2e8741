"""The files of records.f90: read by the package sluice, and by a reader of its own that knows only
docs/formats/records.md."""

import os
import struct
import sys
from pathlib import Path

import numpy as np

CYCLES = 5
SCALARS = {1: "i1", 2: "i2", 3: "<i4", 4: "<i8", 9: "<f4", 10: "<f8", 11: "<c8", 12: "<c16",
           13: "?", 64: "V16", 65: "V16", 66: "V16", 67: "V32", 68: "V32"}


def particles(part, group):
    return (part * 5 + group * 3) % 7 * 2


def expected(part, group):
    return [(1000 * part + i, [part + group / 16 + i * 100 + axis / 4 for axis in (1, 2, 3)],
             i * 0.5, b"P%d" % (i % 100), i % 2 == 0) for i in range(1, particles(part, group) + 1)]


class Log:
    """What docs/formats/records.md says of a file."""

    def __init__(self, path):
        self.bytes = Path(path).read_bytes()
        assert self.bytes[:16] == b"\x89SLUICE\r\nRECS\x1a\n\0", "the signature of the file"
        assert struct.unpack_from("<I", self.bytes, 16) == (1,), "its version"
        count, offset, size, _ = struct.unpack_from("<4Q", self.bytes, 512)
        self.groups = []
        for number in reversed(range(count)):
            step, sections, (before, offset, size) = self.entry(offset, size)
            assert before == number
            if step != 2**64 - 1:
                self.groups.insert(0, self.parts(sections))

    def entry(self, offset, size):
        self.at = offset
        magic, _, before, at, length, _, step = self.take("<II5Q")
        assert magic == 0x31454C53
        self.take("<dqQQ")
        for _ in range(self.take("<I")[0]):
            self.definition()
        for _ in range(self.take("<I")[0]):
            self.text(), self.text()
            assert self.take("<B") == (1,), "the only attribute is an int32"
            self.take("<i")
        sections = {}
        for _ in range(self.take("<I")[0]):
            variable, rank = self.take("<II")
            sections[variable] = (self.take(f"<{rank}Q"), self.take("<Q")[0])
        assert self.at + 8 == offset + size
        return step, sections, (before, at, length)

    def definition(self):
        self.text()
        kind, size, rank = self.take("<BII")
        self.take(f"<{rank}Q")
        _, fill_bytes = self.take("<BI")
        self.at += fill_bytes
        for _ in range(self.take("<I")[0]):
            self.text()

    def parts(self, sections):
        (count, _), table = sections[1]
        data = sections[0][1]
        return [self.values(data + offset, signature, payload) for offset, signature, payload in
                struct.iter_unpack("<3Q", self.bytes[table:table + 24 * count])]

    def values(self, at, signature, payload):
        """Every value of a part, one after the other."""
        runs, numbers = [], self.numbers(self.bytes[at:at + signature])
        for distance in numbers:
            if distance == 0:
                runs.append((next(numbers), next(numbers)))
            else:
                for _ in range(next(numbers)):
                    runs.append(runs[-distance])
        at += signature
        values = []
        for code, count in runs:
            dtype = np.dtype(SCALARS.get(code) or f"S{code // 256}")
            values.extend(np.frombuffer(self.bytes, dtype, count, at).tolist())
            at += count * dtype.itemsize
            payload -= count * dtype.itemsize
        assert payload == 0, "the signature is that of the values"
        return values

    @staticmethod
    def numbers(text):
        value = shift = 0
        for byte in text:
            value, shift = value | (byte & 127) << shift, shift + 7
            if byte < 128:
                yield value
                value = shift = 0

    def take(self, layout):
        values = struct.unpack_from(layout, self.bytes, self.at)
        self.at += struct.calcsize(layout)
        return values

    def text(self):
        size = self.take("<I")[0]
        self.at += size


def check_by_page(path):
    groups = Log(path).groups
    assert len(groups) == CYCLES
    for group, parts in enumerate(groups, 1):
        for part, values in enumerate(parts):
            flat = [v for i, x, w, name, even in expected(part, group)
                    for v in (i, *x, w, name, even)]
            assert values == flat, (group, part, values[:8], flat[:8])
    return [len(parts) for parts in groups][0]


def check_by_package(path, ranks):
    import sluice

    with sluice.records(path) as groups:
        assert len(groups) == CYCLES
        for group in range(1, CYCLES + 1):
            rows = [row for part in range(ranks) for row in expected(part, group)]
            array = groups[group - 1]
            assert len(array) == len(rows)
            if rows:
                for field, column in zip(("f0", "f1", "f2", "f3", "f4"), zip(*rows)):
                    assert np.array_equal(array[field], np.array(column)), field
            assert [sum(len(a) for a in part) for part in groups.parts(group - 1)] == \
                [particles(part, group) for part in range(ranks)]
    with sluice.records(path + ".kinds") as groups:
        row = groups[0][1]
        assert row["f0"] == 2 and row["f3"] == 5000000002 and row["f6"] == 2.1
        assert row["f10"] == 2 + 4j and row["f15"] == b"surfactant"
    with sluice.records(path + ".ranks") as groups:
        arrays = groups.parts(0)[0]
        assert sum(a.nbytes for a in arrays) == (2 + 6 + 12 + 12 + 8) * 8 + 16 * 4 + 16 * 3
        try:
            groups.parts(1)
            raise AssertionError("there is one group")
        except IndexError:
            pass
    try:
        with sluice.open(path + ".h5", "w") as out:
            out.put("x", 1.0)
        sluice.records(path + ".h5")
        raise AssertionError("that file holds no records")
    except sluice.Error as error:
        assert error.code == sluice.Code.FORMAT, error


def main():
    path = sys.argv[1]
    ranks = check_by_page(path)
    build = Path(os.environ["SLUICE_BUILD_DIR"])
    library = next(build.glob("libsluice*.so"), None)
    if library is None or b"__asan" in library.read_bytes():
        print("the package is left out: a sanitized library cannot be loaded by Python")
        return
    os.environ["SLUICE_LIBRARY"] = str(library)
    sys.path.insert(0, os.path.join(os.environ["SLUICE_SOURCE_DIR"], "python"))
    check_by_package(path, ranks)


if __name__ == "__main__":
    main()
