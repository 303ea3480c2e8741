"""Builds the site into out/docs: docs/*.md, and a reference made from the headers, the Fortran
module and the command's own --help.

    docs/build.py --command build/release/cli/sluice [--out out/docs]

Reference pages are the sources' own words: the comment at the head of a file, then each declaration
with the comment above it. Nothing is said twice, so nothing can differ.
"""

import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HEADERS = {
    "cpp": ("C++", "cpp", ["sluice.hpp", "records.hpp", "session.hpp", "options.hpp", "types.hpp",
                           "error.hpp"]),
    "c": ("C", "c", ["sluice.h", "service.h", "records.h"]),
}


def uncomment(lines):
    """Text of comment lines: without //, ///, !, !>, /*, * and */."""
    marks = re.compile(r"^\s*(?:///?|!>?|/\*+|\*+/|\*)? ?|\s*\*/\s*$")
    return [marks.sub("", line) for line in lines]


def prose(lines):
    """Comment lines as Markdown: what is indented further is code."""
    return "\n".join("    " + line if line.startswith("  ") else line for line in lines).strip("\n")


def split_head(lines, is_comment):
    end = next((i for i, line in enumerate(lines) if not is_comment(line)), len(lines))
    return uncomment(lines[:end]), lines[end:]


def header_page(title, language, names):
    text = f"# {title}\n"
    for name in names:
        lines = (ROOT / "include/sluice" / name).read_text().splitlines()
        if language == "c":
            end = next(i for i, line in enumerate(lines) if line.rstrip().endswith("*/")) + 1
            head, body = uncomment(lines[:end]), lines[end:]
        else:
            head, body = split_head(lines, lambda line: line.startswith("//"))
        body = [line for line in body if not re.match(r"#(include|pragma)\b", line)]
        declarations = "\n".join(body).strip("\n")
        text += f"\n## {name}\n\n{prose(head)}\n\n```{language}\n{declarations}\n```\n"
    return text


def fortran_page():
    return "# Fortran\n" + "".join(module_text(name) for name in ("sluice", "fpio"))


def module_text(name):
    lines = (ROOT / f"fortran/{name}.f90").read_text().splitlines()
    head, body = split_head(lines, lambda line: line.startswith("!"))
    # A module whose procedures are in submodules is all interface; another ends its interface here.
    end = next((i for i, line in enumerate(body) if line.strip() == "contains" and
                not line.startswith("   ")), len(body))
    declarations = "\n".join(body[:end]).strip("\n")
    return f"\n## Module {name}\n\n{prose(head)}\n\n```fortran\n{declarations}\n```\n"


def command_page(command):
    def help_of(*verb):
        return subprocess.run([command, *verb, "--help"], check=True, text=True,
                              stdout=subprocess.PIPE).stdout.strip("\n")

    whole = help_of()
    verbs = re.findall(r"^  (\w+) {2,}\w", whole.split("Verbs:", 1)[1].split("\n\n", 1)[0], re.M)
    if not verbs:
        sys.exit("docs/build.py: no verbs in: " + whole)
    text = f"# The command sluice\n\n```text\n{whole}\n```\n"
    for verb in verbs:
        text += f"\n## sluice {verb}\n\n```text\n{help_of(verb)}\n```\n"
    return text


def prepare(source, command):
    """A copy of docs/ with the reference pages in it."""
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(ROOT / "docs", source)
    if not (source / "porting.md").exists():
        index = source / "index.md"
        index.write_text(index.read_text().replace("\nporting\n", "\n"))
    reference = source / "reference"
    reference.mkdir()
    for name, (title, language, headers) in HEADERS.items():
        (reference / f"{name}.md").write_text(header_page(title, language, headers))
    (reference / "fortran.md").write_text(fortran_page())
    (reference / "command.md").write_text(command_page(command))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--command", required=True, help="the built `sluice`")
    parser.add_argument("--out", type=Path, default=ROOT / "out/docs")
    arguments = parser.parse_args()
    work = ROOT / "build/docs"
    prepare(work / "source", arguments.command)
    for builder, out in (("html", arguments.out), ("man", arguments.out / "man")):
        subprocess.run([sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", builder,
                        "-d", work / "doctrees", work / "source", out], check=True)
    print(f"docs: {arguments.out}/index.html, {arguments.out}/man/sluice.1")


if __name__ == "__main__":
    main()
