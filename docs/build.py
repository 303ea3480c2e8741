"""Builds the site into out/docs: docs/ and, in reference/, every public name of C, C++, Fortran,
Python and the command.

    docs/build.py --command build/release/cli/sluice --library build/release/libsluice.so \\
        [--out out/docs]

What describes a call stands beside it in the sources. Doxygen and Breathe make pages of the
headers, FORD (fortran.py) of the Fortran modules, autodoc of the Python package, and each verb of
the command is shown by its --help.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import fortran

ROOT = Path(__file__).resolve().parents[1]


def verbs_of(command):
    """The verbs that `sluice --help` names, in its order."""
    whole = help_of(command)
    verbs = re.findall(r"^  (\w+) {2,}\w", whole.split("Verbs:", 1)[1].split("\n\n", 1)[0], re.M)
    if not verbs:
        sys.exit("docs/build.py: no verbs in: " + whole)
    return verbs


def help_of(command, *verb):
    return subprocess.run([command, *verb, "--help"], check=True, text=True,
                          stdout=subprocess.PIPE).stdout.strip("\n")


def command_page(command):
    text = f"# The command sluice\n\n```text\n{help_of(command)}\n```\n"
    for verb in verbs_of(command):
        text += f"\n## sluice {verb}\n\n```text\n{help_of(command, verb)}\n```\n"
    return text


def read_headers():
    """The public headers as XML of Doxygen. A warning of Doxygen is an error."""
    (ROOT / "build/docs/doxygen").mkdir(parents=True, exist_ok=True)
    try:
        done = subprocess.run(["doxygen", "docs/Doxyfile"], cwd=ROOT, check=True, text=True,
                              stderr=subprocess.PIPE)
    except FileNotFoundError:
        sys.exit("docs/build.py: there is no doxygen: install it, or run ./dev docs")
    if done.stderr:
        sys.exit(f"docs/build.py: Doxygen complains:\n{done.stderr}")


def prepare(source, command):
    """A copy of docs/ with the pages in it that are made."""
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(ROOT / "docs", source)
    reference = source / "reference"
    (reference / "fortran.md").write_text(fortran.page(ROOT / "fortran"))
    (reference / "command.md").write_text(command_page(command))
    read_headers()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--command", required=True, help="the built `sluice`")
    parser.add_argument("--library", required=True, type=Path, help="the built libsluice.so")
    parser.add_argument("--out", type=Path, default=ROOT / "out/docs")
    arguments = parser.parse_args()
    work = ROOT / "build/docs"
    prepare(work / "source", arguments.command)
    library = arguments.library.resolve()
    environment = {**os.environ, "SLUICE_LIBRARY": str(library),
                   "SLUICE_HDF5_DRIVER_PATH": str(library.parent / "hdf5_driver"),
                   "HDF5_DRIVER": "sluice"}
    subprocess.run([sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html",
                    "-d", work / "doctrees", work / "source", arguments.out],
                   env=environment, check=True)
    print(f"docs: {arguments.out}/index.html")


if __name__ == "__main__":
    main()
