"""The command `sluice-config`: how C, C++ and Fortran programs use the library of this package.

    mpicc simulation.c $(sluice-config --cflags --libs) -o simulation
    mpicxx -std=c++20 simulation.cpp $(sluice-config --cflags --libs) -o simulation
    sluice-config --build-fortran modules      # compiles the modules with mpifort, or $FC
    mpifort simulation.f90 -Imodules modules/libsluice-fortran.a $(sluice-config --libs)
    cmake -DCMAKE_PREFIX_PATH=$(sluice-config --prefix) ...
    PKG_CONFIG_PATH=$(sluice-config --pkgconfig) pkg-config --libs sluice
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import List, Optional

_HERE = Path(__file__).resolve().parent


def _library() -> Path:
    found = sorted((_HERE / "lib").glob("libsluice.so.*"))
    if not found:
        raise SystemExit(f"sluice-config: {_HERE}/lib has no libsluice: install the package again")
    return found[0]


def _libs() -> List[str]:
    library = _library()
    return [f"-L{library.parent}", f"-l:{library.name}", f"-Wl,-rpath,{library.parent}"]


def _cflags() -> List[str]:
    return [f"-I{_HERE / 'include'}", "-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX"]


def _run(command: List[str], folder: Path) -> None:
    try:
        done = subprocess.run(command, cwd=folder, check=False)
    except FileNotFoundError:
        raise SystemExit(f"sluice-config: there is no {command[0]}: set FC and CC to the compilers "
                         "of your MPI") from None
    if done.returncode != 0:
        raise SystemExit(f"sluice-config: failed: {shlex.join(command)}")


def _in_order(sources: List[Path]) -> List[Path]:
    """Fortran files so that each stands behind those whose modules it uses."""
    uses = {}
    for source in sources:
        text = source.read_text()
        names = re.findall(r"^ *use +(\w+)", text, re.MULTILINE)
        names += re.findall(r"^ *submodule *\((\w+)", text, re.MULTILINE)
        uses[source] = {name for name in names if name != source.stem}
    ordered: List[Path] = []
    stems = {source.stem for source in sources}
    while len(ordered) < len(sources):
        done = {source.stem for source in ordered}
        ready = [source for source in sources
                 if source not in ordered and uses[source] & stems <= done]
        if not ready:
            raise SystemExit("sluice-config: the Fortran modules use one another in a circle: "
                             "install the package again")
        ordered += ready
    return ordered


def build_fortran(folder: Path) -> None:
    """Compiles the Fortran modules into `folder`: *.mod and libsluice-fortran.a."""
    folder.mkdir(parents=True, exist_ok=True)
    sources = _HERE / "share" / "sluice" / "fortran"
    fortran = shlex.split(os.environ.get("FC", "mpifort"))
    c = shlex.split(os.environ.get("CC", "mpicc"))
    objects = []
    for source in _in_order(sorted(sources.glob("*.[fF]90"))):
        objects.append(f"{source.stem}_f.o")
        _run([*fortran, "-O2", "-fPIC", "-c", str(source), "-o", objects[-1]], folder)
    for source in sorted(sources.glob("*.c")):
        objects.append(f"{source.stem}_c.o")
        _run([*c, "-O2", "-fPIC", *_cflags(), "-c", str(source), "-o", objects[-1]], folder)
    _run(["ar", "rcs", "libsluice-fortran.a", *objects], folder)
    for name in objects:
        (folder / name).unlink()


def _version() -> str:
    text = (_HERE / "lib" / "cmake" / "Sluice" / "SluiceConfigVersion.cmake").read_text()
    found = re.search(r'set\(PACKAGE_VERSION "([^"]*)"\)', text)
    return found[1] if found else "unknown"


def main(arguments: Optional[List[str]] = None) -> int:
    """Prints what is asked for, in one line. Exit code 2 for what there is not."""
    parser = argparse.ArgumentParser(prog="sluice-config", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    words = {"--cflags": _cflags, "--libs": _libs,
             "--prefix": lambda: [str(_HERE)],
             "--includedir": lambda: [str(_HERE / "include")],
             "--libdir": lambda: [str(_HERE / "lib")],
             "--pkgconfig": lambda: [str(_HERE / "lib" / "pkgconfig")],
             "--cmake": lambda: [str(_HERE / "lib" / "cmake" / "Sluice")],
             "--fortran-sources": lambda: [str(_HERE / "share" / "sluice" / "fortran")],
             "--version": lambda: [_version()]}
    for word in words:
        parser.add_argument(word, action="store_true")
    parser.add_argument("--build-fortran", metavar="FOLDER", type=Path)
    given = parser.parse_args(arguments)
    wanted = [word for word in words if getattr(given, word[2:].replace("-", "_"))]
    if given.build_fortran is not None:
        build_fortran(given.build_fortran.resolve())
    elif not wanted:
        parser.print_usage(sys.stderr)
        return 2
    if wanted:
        print(shlex.join(text for word in wanted for text in words[word]()))
    return 0
