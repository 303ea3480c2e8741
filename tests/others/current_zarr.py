"""The zarr-python that reads and writes rectilinear chunk grids (3.2 and later).

It asks for Python 3.12 for the sake of its type parameters alone. On an older Python its sources
are fetched by pip and rewritten without them, once, below the folder of the build: what they do
stays the same.

    current_zarr.load(folder) -> the module zarr, with array.rectilinear_chunks switched on; None,
                                 and why, where it is not to be had
"""

import importlib
import pathlib
import re
import shutil
import subprocess
import sys

VERSION = "3.2.0"
HEAD = ("from __future__ import annotations\n"
        "from typing import Any as _Any, Generic as _Generic, TypeVar as _TypeVar\n")


def end_of_bracket(text, at):
    """Behind the bracket that opens at `at`; texts with brackets do not occur here."""
    depth = 0
    for i in range(at, len(text)):
        depth += {"[": 1, "(": 1, "{": 1, "]": -1, ")": -1, "}": -1}.get(text[i], 0)
        if depth == 0:
            return i + 1
    raise ValueError("an open bracket")


def names_in(parameters):
    """The names of a list of type parameters, without their bounds."""
    depth, names, begins = 0, [], True
    for token in re.findall(r"\w+|[^\w\s]", parameters):
        if begins and token.isidentifier() and depth == 0:
            names.append(token)
            begins = False
        depth += {"[": 1, "(": 1, "]": -1, ")": -1}.get(token, 0)
        begins = begins or (token == "," and depth == 0)
    return names


def rewritten(text):
    """The module without type parameters and type statements."""
    known = []
    while found := re.search(r"^[ \t]*(?:async )?def \w+(\[)", text, re.M):
        end = end_of_bracket(text, found.start(1))
        known += names_in(text[found.end(1):end - 1])
        text = text[:found.start(1)] + text[end:]
    while found := re.search(r"^[ \t]*class \w+(\[)", text, re.M):
        end = end_of_bracket(text, found.start(1))
        names = names_in(text[found.end(1):end - 1])
        known += names
        generic = f"_Generic[{', '.join(names)}]"
        rest = text[end:]
        if rest.startswith("("):
            close = end_of_bracket(rest, 0)
            rest = f"{rest[:close - 1].rstrip().rstrip(',')}, {generic}){rest[close:]}"
        else:
            rest = f"({generic}){rest}"
        text = text[:found.start(1)] + rest
    while found := re.search(r"^([ \t]*)type (\w+)(?:\[\w+\])? = ", text, re.M):
        end = found.end()
        while text[end] != "\n":
            end = end_of_bracket(text, end) if text[end] in "[(" else end + 1
        text = f"{text[:found.start()]}{found[1]}{found[2]} = _Any{text[end:]}"
    head = HEAD + "".join(f"{name} = _TypeVar({name!r})\n" for name in sorted(set(known)))
    text = text.replace("from __future__ import annotations\n", "")
    docstring = re.match(r'\s*"""', text)
    at = text.index('"""', docstring.end()) + 4 if docstring else 0
    return text[:at] + head + text[at:]


def fetch(folder):
    """Puts the package below `folder`; why it cannot, else ""."""
    wheels = folder / "wheel"
    fetched = subprocess.run(
        [sys.executable, "-m", "pip", "download", "-q", f"zarr=={VERSION}", "--no-deps",
         "--ignore-requires-python", "--only-binary=:all:", "-d", wheels],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300, check=False)
    if fetched.returncode != 0:
        return f"pip could not fetch zarr {VERSION}: {fetched.stdout[-200:]}"
    new = folder / "new"
    shutil.rmtree(new, ignore_errors=True)
    shutil.unpack_archive(next(wheels.glob("zarr-*.whl")), new, "zip")
    for path in (new / "zarr").rglob("*.py"):
        path.write_text(rewritten(path.read_text()))
    new.rename(folder / f"zarr-{VERSION}")
    return ""


def load(folder):
    """(module, why not)."""
    try:
        import zarr
        from packaging.version import parse
        if parse(zarr.__version__) < parse("3.2"):
            raise ImportError
    except ImportError:
        place = pathlib.Path(folder) / f"zarr-{VERSION}"
        if not place.exists() and (why := fetch(pathlib.Path(folder))):
            return None, why
        for name in [name for name in sys.modules if name.split(".")[0] == "zarr"]:
            del sys.modules[name]
        sys.path.insert(0, str(place))
        zarr = importlib.import_module("zarr")
    zarr.config.set({"array.rectilinear_chunks": True})
    return zarr, ""
