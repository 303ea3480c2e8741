"""Every public name stands in the reference: counts the names that the sources declare, and those
of the site's index that are missing.

    symbols.py SITE

SITE is what docs/build.py made. The names are taken from the sources themselves, not from what the
reference is made of: C from the headers, C++ from the headers, Fortran from `public`, Python from
__all__ and the classes that it names, and the verbs from the command's own page.
"""

import ast
import functools
import re
import sys
import zlib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HEADERS = ROOT / "include/sluice"
# What the library needs to be public, and no program calls.
INTERNAL = {"SLUICE_API", "sluice::detail", "sluice::commit", "sluice"}
# Words that stand where a member's name does: conversions, operators, constraints.
NO_MEMBERS = {"requires", "friend", "operator", "T", "void", "bool", "float", "double"}

FUNCTION = r"\b(sluice_\w+)\s*\([^()]*(?:\([^()]*\)[^()]*)*\)\s*(?:;|\{)"


def index_of(site):
    """The names in objects.inv, by domain."""
    raw = (site / "objects.inv").read_bytes()
    body = zlib.decompress(raw.split(b"\n", 4)[4]).decode()
    names = {}
    for line in body.splitlines():
        match = re.match(r"(.+?)\s+(\S+):(\S+)\s+-?\d+\s+\S+\s+", line)
        names.setdefault(match[2], set()).add(match[1])
    return names


def without_comments(text):
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    return re.sub(r"//[^\n]*", "", text)


@functools.cache
def c_names():
    """Functions, macros, types and numbers of the C headers."""
    names = set()
    for path in sorted(HEADERS.glob("*.h")):
        text = without_comments(path.read_text())
        names |= set(re.findall(r"^\s*#\s*define (SLUICE_\w+)", text, re.M))
        text = re.sub(r"^\s*#[^\n]*(?:\\\n[^\n]*)*", "", text, flags=re.M)
        names |= set(re.findall(FUNCTION, text))
        names |= set(re.findall(r"\btypedef\s[^;{}]*?\(\*(\w+)\)", text))
        names |= set(re.findall(r"\btypedef\s[^;{}()]*?\b(\w+);", text))
        names |= set(re.findall(r"\bstruct\s+(\w+)\s*\{", text))
        for body in re.findall(r"\benum\s*\{(.*?)\}", text, re.DOTALL):
            names |= set(re.findall(r"^\s*(\w+)\s*(?:=|,|$)", body.replace(",", ",\n"), re.M))
    return {n for n in names if not n.endswith("_H")}


def cpp_names():
    """Classes of the C++ headers, and their public members."""
    names = set()
    for path in sorted(HEADERS.glob("*.hpp")):
        text = without_comments(path.read_text())
        for match in re.finditer(r"^(?:enum )?(?:class|struct) (\w+)[^;{]*\{(.*?)^\};", text,
                                 re.M | re.DOTALL):
            name, body = match[1], match[2]
            names.add(f"sluice::{name}")
            if match[0].startswith("enum"):
                found = re.findall(r"^  (\w+)(?: = \d+)?,", body, re.M)
            else:
                public = re.split(r"^ private:", body, maxsplit=1, flags=re.M)[0]
                found = [n for n in re.findall(
                    r"^  (?! )[\w:<>&*,~ ]*?\b(\w+)(?:\(| = [^;]*;| =$|;|\{)", public, re.M)
                    if n not in NO_MEMBERS]
                found += re.findall(r"^  std::function<.*> (\w+) =", public, re.M)
            names |= {f"sluice::{name}::{n}" for n in found}
        names |= {f"sluice::{n}" for n in re.findall(
            r"^[A-Za-z][\w:<>&*, ]* [*&]?(\w+)\([^{;]*\)(?: noexcept)?;", text, re.M)}
        names |= {f"sluice::{n}" for n in re.findall(r"^using (\w+) =", text, re.M)}
    return names


def fortran_names():
    """Public names of the modules, and what is bound to their types."""
    names = set()
    for module in ("sluice", "fpio"):
        text = next((ROOT / "fortran").glob(f"{module}.[fF]90")).read_text().replace("&\n", "")
        for line in re.findall(r"^  public :: (.*)$", text, re.M):
            names |= {n.strip() for n in line.split(",") if not n.strip().startswith("MPI_")}
        for line in re.findall(r"parameter, public :: (.*)$", text, re.M):
            names |= set(re.findall(r"(\w+) = ", line))
    types = {"sluice_file": "sluice", "sluice_ticket": "sluice_support",
             "sluice_checkpoint": "sluice_checkpoints", "fpio_file": "fpio_values"}
    for kind, module in types.items():
        text = next((ROOT / "fortran").glob(f"{module}.[fF]90")).read_text()
        body = text.split(f":: {kind}\n", 1)[1].split("end type", 1)[0]
        for line in re.findall(r"^    (?:procedure|generic), public :: (.*)$", body, re.M):
            names |= {f"{kind}%{n.split('=>')[0].strip()}"
                      for n in (line.split(",") if "=>" not in line else [line])}
        names = names - {kind} | {f"type({kind})"}
    return names


def python_names():
    """__all__ of the package, and the public members of its classes."""
    package = ROOT / "python/sluice"
    classes = {node.name: node for path in sorted(package.glob("_*.py"))
               for node in ast.parse(path.read_text()).body if isinstance(node, ast.ClassDef)}
    names = set()
    for name in re.findall(r'"(\w+)"', (package / "__init__.py").read_text().split("__all__")[1]):
        names.add(f"sluice.{name}")
        for member in getattr(classes.get(name), "body", []):
            if isinstance(member, ast.FunctionDef) and not member.name.startswith("_"):
                names.add(f"sluice.{name}.{member.name}")
    tree = ast.parse((package / "charm.py").read_text())
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            names |= {f"sluice.charm.{node.name}"} | {
                f"sluice.charm.{node.name}.{m.name}" for m in node.body
                if isinstance(m, ast.FunctionDef) and not m.name.startswith("_")}
    return names | {"sluice.charm.open", "sluice.hdf5.driver_folder"}


def tail(name):
    """`SLUICE_OK` of Sphinx's `@1.SLUICE_OK`: an enumerator of an enum without a name."""
    return name.rsplit(".", 1)[-1] if name.startswith("@") else name


def main():
    index = index_of(Path(sys.argv[1]))
    status = 0
    for language, domain, declared in (("C", "c", c_names()), ("C++", "cpp", cpp_names()),
                                       ("Fortran", "std", fortran_names()),
                                       ("Python", "py", python_names())):
        declared = declared - INTERNAL
        missing = sorted(declared - {tail(name) for name in index.get(domain, ())})
        if language == "C++":
            missing = [name for name in missing if name not in index.get("c", ())]
        print(f"reference: {len(declared) - len(missing)} of {len(declared)} names of {language}")
        for name in missing:
            print(f"FAILED: {name} is not in the reference of {language}")
            status = 1
        if len(declared) < 50:
            print(f"FAILED: found only {len(declared)} names of {language}")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
