"""failures.py finds what failed in ctest's log, and shows where it says why."""

import unittest

import failures


def run(name, output, verdict):
    return (f"1/4 Testing: {name}\n1/4 Test: {name}\nCommand: \"a\"\nOutput:\n{'-' * 58}\n"
            f"{output}<end of output>\nTest time =   1.00 sec\n{'-' * 58}\nTest {verdict}.\n")


LONG = "".join(f"line {n}\n" for n in range(100))
GOOGLE = (LONG + "tests/a_test.cpp:12: Failure\nExpected equality of these values:\n  1\n  2\n" +
          LONG)


class Failures(unittest.TestCase):
    def test_only_what_failed_when_it_was_last_run_counts(self):
        log = (run("room/a", "fine\n", "Passed") + run("room/b", "bad\n", "Failed") +
               run("room/c", "bad\n", "Failed") + run("room/c", "fine\n", "Passed"))
        self.assertEqual(failures.failed(log), {"room/b": ["bad"]})

    def test_what_fails_by_what_it_printed_counts(self):
        log = run("room/a", "PASSED  ] 0 tests\n", "Fail Reason:\nError regular expression found")
        self.assertEqual(failures.failed(log), {"room/a": ["PASSED  ] 0 tests"]})

    def test_the_reason_is_shown_between_many_lines(self):
        shown = failures.summary(GOOGLE.splitlines())
        self.assertEqual(shown[:3], ["[...]", "tests/a_test.cpp:12: Failure",
                                     "Expected equality of these values:"])
        self.assertEqual(shown[-1], "line 99")
        self.assertEqual(len(shown), 2 + 6 + failures.LAST_LINES)

    def test_reasons_of_every_kind_begin_with_their_line(self):
        for reason in ("[rank 2] many/a.b/zarr: tests/a.cpp:12: Expected: 1",
                       "E   OSError: file signature not found",
                       "FAIL: test_files (__main__.Files)",
                       "==12==ERROR: AddressSanitizer: heap-use-after-free"):
            self.assertIn(reason, failures.summary((LONG + reason + "\n" + LONG).splitlines()))

    def test_many_reasons_are_bounded(self):
        shown = failures.summary(["E   1"] * 1000)
        self.assertLess(len(shown), failures.MOST_REASON_LINES + failures.LAST_LINES + 2)


if __name__ == "__main__":
    unittest.main()
