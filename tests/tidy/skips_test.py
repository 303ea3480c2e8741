"""skips.py finds every kind of skip in ctest's log, and allows what is listed, not more."""

import unittest
from pathlib import Path

import skips

ALLOWED = Path(__file__).resolve().parents[1] / "allowed_skips.txt"
LOG = """Start testing: Nov 23 21:00 UTC
1/4 Testing: room/a
1/4 Test: room/a
Command: "a"
[  SKIPPED ] Suite.Case (0 ms)
[  SKIPPED ] Many/Suite.Other/zarr, where GetParam() = zarr (1 ms)
[  SKIPPED ] 2 tests, listed below:
[  SKIPPED ] Suite.Case
Test Passed.
2/4 Testing: room/b
SKIPPED [3] tests/room/test_b.py:15: no such thing
OK (skipped=1)
3/4 Testing: room/c
skipped: no tool here
nothing was skipped: fine
4/4 Testing: room/d
[       OK ] Suite.Case (0 ms)
OK
"""


class Skips(unittest.TestCase):
    def test_every_kind_is_found_once(self):
        self.assertEqual(skips.skipped(LOG), [
            ("room/a", "Suite.Case"), ("room/a", "Many/Suite.Other/zarr"),
            ("room/b", "tests/room/test_b.py:15: no such thing"), ("room/b", "skipped=1"),
            ("room/c", "no tool here")])

    def test_what_is_listed_is_allowed(self):
        allowed = ("# comment\n\nany | room/a | * | why\nany | room/b | *such* | why\n"
                   "short | room/? | skipped=* | why | or not\nany | room/d | no tool here | why\n")
        self.assertEqual(skips.not_allowed(LOG, allowed, False), [("room/c", "no tool here")])
        self.assertEqual(skips.not_allowed(LOG, allowed, True),
                         [("room/b", "skipped=1"), ("room/c", "no tool here")])

    def test_an_entry_without_a_reason_is_refused(self):
        for line in ("any | room/a | *", "any | room/a | * |", "never | room/a | * | why"):
            with self.assertRaises(ValueError):
                skips.read_allowed(line)

    def test_the_list_of_this_repository_is_read(self):
        entries = skips.read_allowed(ALLOWED.read_text(encoding="utf-8"))
        self.assertGreater(len(entries), 20)
        self.assertFalse([e for e in entries if e[1] == "*"])


if __name__ == "__main__":
    unittest.main()
