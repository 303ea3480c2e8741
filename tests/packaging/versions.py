"""The version stands in include/sluice/version.h; every other place that names it says the same.

    versions.py ROOT LIBRARY [COMMAND]

LIBRARY and COMMAND are what this build made: what they say of themselves is compared, too. The
SONAME, the node of new symbols and the name of Debian's package carry the major version, and while
that is 0 also the minor one.
"""

import ctypes
import re
import subprocess
import sys
from pathlib import Path

root = Path(sys.argv[1])
header = (root / "include/sluice/version.h").read_text()
version = re.search(r'SLUICE_VERSION "([^"]*)"', header)[1]
major, minor, patch = version.split(".")
compatible = f"{major}.{minor}" if major == "0" else major


def found(path, pattern):
    """What the pattern's group says in the file, on its first line that matches."""
    match = re.search(pattern, (root / path).read_text(), re.MULTILINE)
    return match[1] if match else f"nothing like {pattern}"


def by_pyproject():
    """As scikit-build-core finds it."""
    text = (root / "pyproject.toml").read_text()
    rule = re.search(r'provider = "scikit_build_core.metadata.regex"\n'
                     r'input = "([^"]*)"\nregex = \'(.*)\'', text)
    return re.search(rule[2], (root / rule[1]).read_text(), re.MULTILINE)["value"]


def by_library(path):
    library = ctypes.CDLL(path)
    library.sluice_version.restype = ctypes.c_char_p
    return library.sluice_version().decode()


def soname(path):
    facts = subprocess.run(["objdump", "-p", path], capture_output=True, text=True, check=True)
    return re.search(r"SONAME +(\S+)", facts.stdout)[1]


def last_node():
    nodes = re.findall(r"^SLUICE_([0-9.]+) \{", (root / "src/api/sluice.map").read_text(), re.M)
    return nodes[-1]


places = {
    "version.h, the numbers": (".".join(
        re.search(rf"SLUICE_VERSION_{part} (\d+)", header)[1]
        for part in ("MAJOR", "MINOR", "PATCH")), version),
    "CMakeLists.txt": (found("CMakeLists.txt", r"^project\(sluice VERSION (\S+)"), version),
    "pyproject.toml": (by_pyproject(), version),
    "share/man/sluice.1": (found("share/man/sluice.1", r'^\.TH .*"Sluice ([^"]*)"'), version),
    "packaging/conda/meta.yaml": (
        found("packaging/conda/meta.yaml", r'set version = "([^"]*)"'), version),
    "packaging/spack/package.py": (
        found("packaging/spack/package.py", r'^    version\("([0-9.]+)"'), version),
    "packaging/debian/changelog": (
        found("packaging/debian/changelog", r"\Asluice \(([^)]*)-\d+\)"), version),
    "packaging/debian/control": (
        found("packaging/debian/control", r"^Package: libsluice([0-9.]+)$"), compatible),
    "python/sluice/_library.py": (
        found("python/sluice/_library.py", r'^_SONAME_VERSION = "([^"]*)"'), compatible),
    "docs/install.md": (found("docs/install.md", r"`lib/libsluice\.so\.([0-9.]+)`"), compatible),
    "src/api/sluice.map, the last node": (last_node(), f"{major}.{minor}"),
    "the library": (by_library(sys.argv[2]), version),
    "the library's SONAME": (soname(sys.argv[2]), f"libsluice.so.{compatible}"),
}
if len(sys.argv) > 3:
    said = subprocess.run([sys.argv[3], "--version"], capture_output=True, text=True, check=True)
    places["sluice --version"] = (said.stdout.split()[1], version)

wrong = {place: pair for place, pair in places.items() if pair[0] != pair[1]}
for place, (there, wanted) in wrong.items():
    print(f"{place}: {there}, not {wanted}")
print(f"{len(places) - len(wrong)} of {len(places)} places say {version}")
sys.exit(1 if wrong else 0)
