"""The C header as declarations for cffi.

The header itself is the only place that knows the C interface: it is installed into this package
(or read from the source tree) and reduced here to what cffi understands.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, List, Optional

_HERE = Path(__file__).resolve().parent


def find_header(name: str = "sluice.h") -> Path:
    """The header of that name: of this package, else of the source tree that it lies in."""
    for candidate in (_HERE / "include" / "sluice" / name,
                      _HERE.parents[1] / "include" / "sluice" / name):
        if candidate.is_file():
            return candidate
    raise ImportError(f"{name} is missing from {_HERE}{os.sep}include: install the package again")


def declare(place: Optional[Path] = None) -> Any:
    """cffi's interface of the C headers. `place`: a Python file that is to be written of it, which
    is imported in a tenth of the time that the headers take."""
    import cffi

    ffi = cffi.FFI()
    if place is not None:
        ffi.set_source("sluice._declared", None)
    for name in ("comm.h", "sluice.h", "service.h", "checkpoint.h"):
        ffi.cdef(declarations(find_header(name).read_text()))
    if place is not None:
        ffi.emit_python_code(str(place))
    return ffi


def declarations(header: str) -> str:
    """Types, numbers and functions of the header's text, as cffi.FFI.cdef takes them.

    Functions that need mpi.h are left out, and macros other than plain numbers.
    """
    text = re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)
    text = re.sub(r"\\\n", " ", text)
    kept: List[str] = []
    conditions: List[bool] = []  # is what follows wanted?
    for line in text.split("\n"):
        directive = re.match(r"\s*#\s*(\w+)\s*(.*)", line)
        if directive is None:
            if all(conditions):
                kept.append(line)
            continue
        word, rest = directive.groups()
        if word == "ifndef":
            conditions.append(rest.strip() != "SLUICE_NO_MPI_H")
        elif word in ("if", "ifdef"):
            conditions.append(False)
        elif word == "else":
            conditions[-1] = not conditions[-1]
        elif word == "endif":
            conditions.pop()
        elif word == "define" and all(conditions):
            number = re.match(r"(\w+)\s+\(?(-?\d+)\)?\s*$", rest)
            if number is not None:
                kept.append(f"#define {number[1]} {number[2]}")
    return re.sub(r"\bSLUICE_API\s+", "", "\n".join(kept))
