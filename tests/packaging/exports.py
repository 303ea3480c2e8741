"""Every public function of every public header is exported, by a program that is linked to the
shared library alone.

    exports.py --library libsluice.so [--headers include] [--objects build/release/tests]

The functions are those that clang sees in the headers: what is inline, a template, deleted or
private needs no symbol. A program that holds the address of each (C functions by their names, C++
ones by their mangled names) is compiled, linked with --no-undefined and run. With --objects: every
function that the library exports is called by at least one of the object files there.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path


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
    nodes = [node for node in declarations(headers, "c++", "sluice::")
             if node["kind"] in ("CXXRecordDecl", "FunctionDecl")]
    for node in nodes:
        collect(node, cpp)
    cpp -= bodies(nodes)
    c_nodes = [n for n in declarations(headers, "c", "sluice_") if n["kind"] == "FunctionDecl"]
    c = {node["name"] for node in c_nodes if needs_symbol(node)} - {
        node["name"] for node in c_nodes if not needs_symbol(node)}
    return {name for name in cpp if "sluice_" != name[:7]}, c


def exported(library):
    return {line.split()[-1].split("@")[0]
            for line in run(["nm", "-D", "--defined-only", library]).splitlines()
            if line.split()[-2] in "TWiu"}


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
    files = [str(file) for file in Path(objects).rglob("*.o")]
    names = set()
    for first in range(0, len(files), 200):
        text = run(["nm", "-u", *files[first:first + 200]])
        names |= {line.split()[-1] for line in text.splitlines() if line.strip()[:2] == "U "}
    return names


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", required=True)
    parser.add_argument("--headers", type=Path, default=Path("include"))
    parser.add_argument("--objects")
    given = parser.parse_args()
    cpp, c = public_functions(given.headers)
    if len(cpp) < 50 or len(c) < 90:
        sys.exit(f"only {len(cpp)} C++ and {len(c)} C functions were found in the headers")
    there = exported(given.library)
    missing = sorted((cpp | c) - there)
    for name in missing:
        print("not exported:", run(["c++filt", name]).strip())
    stray = sorted(name for name in there - cpp - c
                   if re.match(r"sluice_", name))
    for name in stray:
        print("exported, but in no header:", name)
    if missing or stray:
        return 1
    linked = link(cpp | c, given.library)
    print(f"{len(cpp)} C++ and {len(c)} C functions are public; a program linked to the shared "
          f"library holds all {linked}; {len(there)} symbols are exported")
    if given.objects:
        unused = sorted((cpp | c) - called_by(given.objects))
        for name in unused:
            print("called by no test:", run(["c++filt", name]).strip())
        return 1 if unused else 0
    return 0


sys.exit(main())
