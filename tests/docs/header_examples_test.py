"""The examples of checkpoint.h and checkpoint.hpp, compiled as they are: a job that a signal ends,
and the job after it, do the work of each step once.

    header_examples_test.py PREFIX MPI
"""

import re
import sys
import tempfile
import unittest
from pathlib import Path

MPI, PREFIX = sys.argv.pop(), Path(sys.argv.pop())
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(Path(__file__).parent))

from run_blocks import Runner  # noqa: E402

STEPS = 10
ENDED_IN = 4  # the step in whose work the signal comes
PROGRAM = """
#include <mpi.h>
#include <sluice/checkpoint.%(header)s>
#include <signal.h>
#include <stdio.h>
%(includes)s

static void work(double* u, int step) {
  FILE* mark = fopen("was_ended", "r");
  if (mark != NULL) {
    fclose(mark);
  } else if (step == %(ended_in)d) {
    fclose(fopen("was_ended", "w"));
    raise(SIGUSR1);
  }
  u[0] += 1;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm comm = MPI_COMM_WORLD;
  int step = 0, steps = %(steps)d;
  %(declarations)s
  {
%(example)s
  }
  FILE* result = fopen("result", "a");
  fprintf(result, "%%d %%g\\n", step, %(u)s[0]);
  fclose(result);
  MPI_Finalize();
  return 0;
}
"""
C = {"header": "h", "includes": "", "u": "u", "work": "work(u, step);",
     "declarations": "double u[1][1] = {{0}}, t = 0; int32_t due = 0, ending = 0;"
                     " int64_t shape[] = {1, 1}, start[] = {0, 0}, count[] = {1, 1};"}
CPP = {"header": "hpp", "includes": "#include <vector>", "u": "u", "work": "work(u.data(), step);",
       "declarations": "std::vector<double> u(1); double dt = 1;"
                       " std::uint64_t rows = 1, columns = 1, n = 1, first = 0;"}


def example_of(header):
    """The indented lines of the header's first comment."""
    comment = (ROOT / "include/sluice" / header).read_text().split("#include")[0]
    lines = re.findall(r"^(?: \*|///)     (.*)$", comment, re.M)
    assert len(lines) > 8, header
    return "\n".join(lines)


class Examples(unittest.TestCase):
    def run_twice(self, language, words):
        runner = Runner(ROOT, PREFIX, MPI)
        example = example_of(f"checkpoint.{words['header']}")
        here = re.compile(r"\.\.\.$|advance\(u\);", re.M)
        self.assertEqual(len(here.findall(example)), 1, "one place for the work of a step")
        text = PROGRAM % {**words, "steps": STEPS, "ended_in": ENDED_IN,
                          "example": here.sub(words["work"], example)}
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            runner.compile(folder, language, text, "program")
            for _ in range(2):
                runner.call(folder, "./program")
            return (folder / "result").read_text().splitlines()

    def check(self, *words):
        first, second = self.run_twice(*words)
        self.assertEqual(first, f"{ENDED_IN + 1} {ENDED_IN + 1}", "ended by the signal")
        self.assertEqual(second, f"{STEPS} {STEPS}", "the work of each step once")

    def test_c(self):
        self.check("c", {**C, "u": "u[0]", "work": "work(u[0], step);"})

    def test_cpp(self):
        self.check("cpp", CPP)


if __name__ == "__main__":
    unittest.main()
