"""Every public function of every public header is exported, by a program that is linked to the
shared library alone; and every exported symbol is public and used by a test.

    exports.py --library libsluice.so [--headers include] [--objects build/release]

The functions are those that clang sees in the headers: what is inline, a template, deleted or
private needs no symbol. A program that holds the address of each (C functions by their names, C++
ones by their mangled names) is compiled, linked with --no-undefined and run. What is exported
beside them has its reason in exports.txt. With --objects: every exported symbol is called by at
least one object file of a test, an example or a small simulation, or by the Python package.
"""

import argparse
import fnmatch
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def run(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        sys.exit(f"failed: {' '.join(map(str, command))}\n{done.stdout[-4000:]}"
                 f"{done.stderr[-4000:]}")
    return done.stdout


def declarations(headers, language, name_filter):
    """What clang says of the headers: a list of the top nodes whose names match the filter."""
    pattern = "*.hpp" if language == "c++" else "*.h"
    files = sorted((headers / "sluice").glob(pattern))
    source = "".join(f'#include "sluice/{file.name}"\n' for file in files
                     if file.name != "records_inline.h")
    text = run(["clang", "-x", language, "-std=" + ("c++20" if language == "c++" else "c11"),
                "-fsyntax-only", "-DSLUICE_NO_MPI_H", f"-I{headers}", "-Xclang",
                "-ast-dump=json", "-Xclang", f"-ast-dump-filter={name_filter}", "-"],
               input=source)
    decoder, nodes, at = json.JSONDecoder(), [], 0
    while at < len(text):
        start = text.find("{", at)
        if start < 0:
            break
        node, at = decoder.raw_decode(text, start)
        nodes.append(node)
    return nodes


FUNCTIONS = {"FunctionDecl", "CXXMethodDecl", "CXXConstructorDecl", "CXXDestructorDecl",
             "CXXConversionDecl"}


def needs_symbol(node):
    has_body = any(part.get("kind") == "CompoundStmt" for part in node.get("inner", []))
    return (node["kind"] in FUNCTIONS and not has_body and not node.get("isImplicit")
            and not node.get("inline") and not node.get("explicitlyDeleted")
            and not node.get("explicitlyDefaulted") and not node.get("constexpr")
            and not node.get("pure"))


def bodies(nodes):
    """Functions with a body beside their declaration: inline, whatever the declaration says."""
    found = set()
    for node in nodes:
        if any(part.get("kind") == "CompoundStmt" for part in node.get("inner", [])):
            found.add(node.get("mangledName"))
        found |= bodies(node.get("inner", []))
    return found


def collect(node, names, is_public=True):
    kind = node.get("kind")
    if kind in FUNCTIONS:
        if is_public and needs_symbol(node):
            names.add(node["mangledName"])
        return
    if kind not in ("CXXRecordDecl", "NamespaceDecl", "LinkageSpecDecl"):
        return  # templates among them
    if kind == "NamespaceDecl" and node.get("name") in ("detail", "commit"):
        return
    public = kind != "CXXRecordDecl" or node.get("tagUsed") == "struct"
    for part in node.get("inner", []):
        if part.get("kind") == "AccessSpecDecl":
            public = part.get("access") == "public"
        else:
            collect(part, names, is_public and public)


def public_functions(headers):
    """Mangled names, and of C functions their plain ones."""
    cpp = set()
    # Members show up in their classes; a second time on their own, where nobody knows their access.
    nodes = declarations(headers, "c++", "sluice::")
    for node in nodes:
        if node["kind"] in ("CXXRecordDecl", "FunctionDecl"):
            collect(node, cpp)
    cpp -= bodies(nodes)
    c_nodes = [n for n in declarations(headers, "c", "sluice_") if n["kind"] == "FunctionDecl"]
    c = {node["name"] for node in c_nodes if needs_symbol(node)} - {
        node["name"] for node in c_nodes if not needs_symbol(node)}
    return {name for name in cpp if "sluice_" != name[:7]}, c


def exported(library):
    """Functions and data: what nm shows as defined, but for the nodes of the symbol map."""
    return {line.split()[-1].split("@")[0]
            for line in run(["nm", "-D", "--defined-only", library]).splitlines()
            if line.split()[-2] != "A"}


def plain(names):
    """Each mangled name as a person reads it, without abbreviations of the C++ library."""
    text = run(["c++filt", "--no-verbose"], input="\n".join(names) + "\n")
    return dict(zip(names, text.splitlines()))


def twins(names):
    """Other entries of a constructor or destructor that the compiler makes with the public one: for
    a base class (2), and of a virtual destructor the one that frees (0)."""
    found = set()
    for name in names:
        for kind, others in (("C", "12"), ("D", "012")):
            for other in others:
                found.add(re.sub(rf"(?<=[a-z]){kind}1(?=E)", f"{kind}{other}", name))
    return found - names


class Reasons:
    """exports.txt: WHAT | PATTERN | WHY, what being `private` (exported, in no header) or `unused`
    (no test calls it). A pattern that explains nothing is a fault, too."""

    def __init__(self, path):
        lines = [line.split("|", 2) for line in path.read_text().splitlines()
                 if line.strip() and not line.startswith("#")]
        self.rules = [tuple(word.strip() for word in line) for line in lines]
        self.met = set()

    def explain(self, what, readable):
        for rule in self.rules:
            if rule[0] == what and fnmatch.fnmatchcase(readable, rule[1]):
                self.met.add(rule)
                return True
        return False

    def idle(self, what):
        return [rule for rule in self.rules if rule[0] == what and rule not in self.met]


def link(names, library):
    """A program of the names, linked to nothing but the library and run."""
    lines = [f'extern "C" void f{i}() __asm__("{name}");' for i, name in enumerate(sorted(names))]
    table = ", ".join(f"reinterpret_cast<void*>(f{i})" for i in range(len(names)))
    lines += ["#include <cstdio>", f"void* volatile all[] = {{{table}}};",
              "int main() { int there = 0; for (auto* one : all) there += one != nullptr; "
              f"std::printf(\"%d\\n\", there); return there == {len(names)} ? 0 : 1; }}"]
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder) / "all.cpp", Path(folder) / "all"
        source.write_text("\n".join(lines))
        run(["c++", "-std=c++20", source, library, f"-Wl,-rpath,{Path(library).parent.resolve()}",
             "-Wl,--no-undefined", "-Wl,-z,now", "-o", program])
        return int(run([program]))


def called_by(objects):
    """Undefined symbols of the objects, and what the Python package looks up. The library's own
    objects do not count: they call one another."""
    build = Path(objects)
    files = [str(file) for room in ("tests", "examples", "apps", "fortran")
             for file in (build / room).rglob("*.o")]
    names = set()
    for first in range(0, len(files), 200):
        text = run(["nm", "-u", *files[first:first + 200]])
        names |= {line.split()[-1] for line in text.splitlines() if line.strip()[:2] == "U "}
    for file in (ROOT / "python/sluice").glob("*.py"):
        names |= set(re.findall(r"\blib\.(sluice_\w+)", file.read_text()))
    return names, len(files)


def faults_of(what, names, reasons, text):
    """Names that have no reason, as lines; and reasons that are none."""
    readable = plain(sorted(names))
    lines = [f"{text}: {shown}" for shown in readable.values()
             if not reasons.explain(what, shown)]
    return lines + [f"exports.txt: {' | '.join(rule)}: explains nothing"
                    for rule in reasons.idle(what)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", required=True)
    parser.add_argument("--headers", type=Path, default=Path("include"))
    parser.add_argument("--objects")
    given = parser.parse_args()
    cpp, c = public_functions(given.headers)
    if len(cpp) < 50 or len(c) < 90:
        sys.exit(f"only {len(cpp)} C++ and {len(c)} C functions were found in the headers")
    public, there = cpp | c, exported(given.library)
    reasons = Reasons(Path(__file__).with_name("exports.txt"))
    faults = [f"not exported: {name}" for name in plain(sorted(public - there)).values()]
    faults += faults_of("private", there - public - twins(cpp), reasons, "exported, in no header")
    if not faults:
        linked = link(public, given.library)
        print(f"{len(cpp)} C++ and {len(c)} C functions are public; a program linked to the shared "
              f"library holds all {linked}; {len(there)} symbols are exported")
    if given.objects:
        called, count = called_by(given.objects)
        faults += faults_of("unused", public - called, reasons, "called by no test")
        print(f"{len(public & called)} of {len(public)} are called by {count} object files of "
              "tests, examples and simulations, or by the Python package")
    for fault in faults:
        print(fault)
    return 1 if faults else 0


sys.exit(main())
