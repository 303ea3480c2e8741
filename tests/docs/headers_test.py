"""The words beside every public call are complete. Every function of the C headers tells what it
does, each parameter, what it returns and who calls it; every public procedure of Fortran and every
public name of Python has its comment."""

import ast
import re
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "share/man"))
sys.path.insert(0, str(ROOT / "tests/docs"))

import pages    # noqa: E402
import symbols  # noqa: E402

# Who calls it.
CALLERS = re.compile(r"\b(Local|Collective|Alike)\b|Returns at once")


def parameters_of(declaration):
    """The names of a function's parameters."""
    inside = re.sub(r"\([^()]*\)", "", declaration[declaration.index("(") + 1:-2])
    found = [re.search(r"(\w+)\s*$", part) for part in inside.split(",")]
    return [match[1] for match in found if match and match[1] != "void"]


class CHeaders(unittest.TestCase):
    def functions(self):
        for header in pages.HEADERS:
            text = (ROOT / "include/sluice" / header).read_text()
            yield from pages.functions(text)

    def test_every_function_is_described(self):
        described = {name for name, _, _ in self.functions()}
        declared = {name for name in symbols.c_names()
                    if any(re.search(rf"\b{name}\(", path.read_text())
                           for path in (ROOT / "include/sluice").glob("*.h"))}
        declared = {name for name in declared if name.startswith("sluice_")}
        self.assertGreater(len(declared), 95)
        self.assertEqual(sorted(declared - described), [])

    def test_in_one_form(self):
        for name, comment, declaration in self.functions():
            with self.subTest(name):
                said, told = pages.commands(pages.uncomment(comment))
                self.assertRegex(said[0], r"^\S.*", "what it does comes first")
                self.assertRegex("\n".join(said), CALLERS)
                named = [n for what, n, _ in told if what == "param"]
                self.assertEqual(named, parameters_of(declaration))
                self.assertEqual([], [n for _, n, words in told if not (words or n)])
                returns = not declaration.startswith("void ")
                self.assertEqual(any(w in ("return", "retval") for w, _, _ in told), returns)
                for _, code, _ in told:
                    if code.startswith("SLUICE_"):
                        self.assertIn(code, symbols.c_names())


class Options(unittest.TestCase):
    def test_every_option_tells_its_default(self):
        text = (ROOT / "include/sluice/options.hpp").read_text().split("struct Options {")[1]
        fields = re.findall(r"((?:  ///.*\n)+)  [\w:]+ (\w+) = ", text)
        self.assertGreater(len(fields), 30)
        for comment, name in fields:
            self.assertIn("Default: ", comment, name)


class Fortran(unittest.TestCase):
    def test_every_public_procedure_is_described(self):
        for module in ("sluice", "fpio"):
            text = next((ROOT / "fortran").glob(f"{module}.[fF]90")).read_text()
            interface = text.split("\ncontains\n")[0]
            pattern = r"^( +)module (?:subroutine|.*function) (\w+)"
            for match in re.finditer(pattern, interface, re.M):
                before = interface[:match.start()].rstrip("\n").rsplit("\n", 1)[-1]
                self.assertIn("!>", before, match[2])


class Python(unittest.TestCase):
    def test_every_public_name_is_described(self):
        for path in sorted((ROOT / "python/sluice").glob("*.py")):
            self.assertIsNotNone(ast.get_docstring(ast.parse(path.read_text())), path.name)
        wanted = symbols.python_names()
        for path in sorted((ROOT / "python/sluice").glob("*.py")):
            prefix = "sluice.charm" if path.name == "charm.py" else "sluice"
            for node in ast.parse(path.read_text()).body:
                for each, name in [(node, f"{prefix}.{getattr(node, 'name', '')}")] + [
                        (m, f"{prefix}.{node.name}.{m.name}") for m in getattr(node, "body", [])
                        if isinstance(node, ast.ClassDef) and isinstance(m, ast.FunctionDef)]:
                    if name in wanted and isinstance(each, (ast.ClassDef, ast.FunctionDef)):
                        self.assertIsNotNone(ast.get_docstring(each), name)


if __name__ == "__main__":
    unittest.main()
