"""Finds and loads the shared library, and turns its codes into exceptions."""

from __future__ import annotations

import atexit
import enum
import errno
import os
import re
import sys
from pathlib import Path
from typing import Any, Callable, List, Optional

from ._header import declare

_HERE = Path(__file__).resolve().parent
_SONAME_VERSION = "0.1"

try:
    from ._declared import ffi  # made of the headers when the package was built
except ImportError:  # the source tree
    ffi = declare()


class Code(enum.IntEnum):
    """Why a call failed. The numbers are those of sluice.h, and never change."""

    OK = 0
    INVALID_ARGUMENT = 10
    OUT_OF_BOUNDS = 11
    OVERLAP = 12
    HOLE = 13
    DUPLICATE_ROW = 14
    MISSING_ROW = 15
    TYPE_MISMATCH = 16
    OVERFLOW = 17
    BAD_NAME = 18
    WRONG_STATE = 19
    NOT_FOUND = 20
    EXISTS = 21
    PERMISSION = 22
    IO = 23
    NO_SPACE = 24
    TRUNCATED = 25
    FORMAT = 26
    VERSION = 27
    DAMAGED = 28
    CHANGED_OUTSIDE = 29
    UNSUPPORTED = 30
    LOCKED = 31
    TIMEOUT = 40
    DIVERGENT = 41
    OVER_BUDGET = 42
    MPI = 43
    INTERNAL = 50

    @classmethod
    def _missing_(cls, value: object) -> "Code":
        """A number of a newer library: its own value under the name UNKNOWN_<number>."""
        number = int(value)  # type: ignore[call-overload]
        unknown = int.__new__(cls, number)
        unknown._name_ = f"UNKNOWN_{number}"
        unknown._value_ = number
        return unknown


class Error(Exception):
    """What every failing call raises, with one line of text.

    What one rank meets in a collective call is raised on every rank.

    Attributes:
        code (Code): Why the call failed.
        rank (int): The rank that met the failure first; -1 where it is not known.
    """

    def __init__(self, code: int, message: str, rank: int = -1):
        super().__init__(message)
        self.code = Code(code)
        self.rank = rank

    def __str__(self) -> str:
        return str(self.args[0])

    def __reduce__(self):
        return type(self), (int(self.code), str(self), self.rank)


class NotFoundError(Error, KeyError):
    """A variable or attribute that does not exist: Error NOT_FOUND, and a KeyError."""


class MissingFileError(Error, FileNotFoundError):
    """A file that does not exist: Error NOT_FOUND, and a FileNotFoundError.

    Attributes:
        errno (int): ENOENT.
        filename: The path that was given.
    """

    def __init__(self, code: int, message: str, rank: int = -1, filename: Any = None):
        super().__init__(code, message, rank)
        self.errno = errno.ENOENT
        self.filename = filename

    def __reduce__(self):
        return type(self), (int(self.code), str(self), self.rank, self.filename)


def _candidates() -> List[str]:
    """Where the library may be, best first."""
    if os.environ.get("SLUICE_LIBRARY"):
        return [os.environ["SLUICE_LIBRARY"]]
    name = f"libsluice.so.{_SONAME_VERSION}"
    inside = str(_HERE / "lib" / name)
    return [inside, name] if os.path.exists(inside) else [name]


def _load() -> Any:
    failures = []
    for candidate in _candidates():
        try:
            return ffi.dlopen(candidate)
        except OSError as error:
            failures.append(str(error))
    raise ImportError("no libsluice was found; set SLUICE_LIBRARY to its path. Tried: " +
                      "; ".join(failures))


lib = _load()
# Garbage may be collected at any allocation, also within cffi, whose lock is not recursive:
# functions that finalizers call must have been looked up before.
free = lib.sluice_free
free_because = lib.sluice_free_because


def text_of(pointer: Any) -> str:
    """A C string as str."""
    return ffi.string(pointer).decode("utf-8", "replace")


_handler: Any = ffi.NULL  # the library calls it as long as it is set


class OneHandle:
    """What has a handle of the library: a copy would free it, and another process has none."""

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(f"{self!r} can be neither copied nor sent to another process: open the "
                        "file there")


def set_message_handler(handler: Optional[Callable[[str], None]]) -> None:
    """Sets where messages go (option `log`, SLUICE_EXPLAIN). One for the whole process. Local.

    Args:
        handler: Gets each message, one line; None: stderr, as at the start. It is called on rank 0
            of a file, inside calls.
    """
    global _handler
    previous = _handler  # kept until the library has let go of it
    _handler = ffi.NULL if handler is None else ffi.callback(
        "sluice_message_handler", lambda text, _: handler(text_of(text)))
    lib.sluice_set_message_handler(_handler, ffi.NULL)
    del previous


atexit.register(set_message_handler, None)


def version() -> str:
    """Version of the shared library, such as "1.2.3". Local."""
    return text_of(lib.sluice_version())


def mpi_library() -> str:
    """Which MPI this process has loaded, as MPI_Get_library_version says; or "none". Local."""
    return text_of(lib.sluice_mpi_library()).strip()


def c_text(text: Any, what: str) -> bytes:
    """A str, bytes or path as C takes it. Error BAD_NAME where a NUL in it would end it early."""
    encoded = os.fsencode(text) if isinstance(text, os.PathLike) else text
    if not isinstance(encoded, (str, bytes)):
        raise TypeError(f"{what}: must be text, not {encoded!r}")
    if isinstance(encoded, str):
        encoded = encoded.encode("utf-8", "surrogateescape")
    if b"\0" in encoded:
        raise Error(Code.BAD_NAME, f"{what} {encoded!r}: has a NUL in it")
    return encoded


def check_open(code: int, path: Any) -> None:
    """As check(), after opening `path`: a missing file is a FileNotFoundError too."""
    if code == lib.SLUICE_ERROR_NOT_FOUND:
        error = error_of(code)
        raise MissingFileError(error.code, str(error), error.rank, path)
    check(code)


#: What launchers tell a process of the number of ranks that they have started.
_RANKS_VARIABLES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE", "PALS_SIZE",
                    "SLURM_STEP_NUM_TASKS", "FLUX_JOB_SIZE", "JSM_NAMESPACE_SIZE")


def ranks_here() -> int:
    """How many ranks this program runs with: what MPI says where mpi4py has started it, else what
    the launcher has left in the environment."""
    mpi = sys.modules.get("mpi4py.MPI")
    if mpi is not None and mpi.Is_initialized() and not mpi.Is_finalized():
        return int(mpi.COMM_WORLD.Get_size())
    told = (os.environ.get(name, "") for name in _RANKS_VARIABLES)
    return max([1] + [int(text) for text in told if text.isdigit()])


def is_alone(comm: Any, path: Any, mode: str) -> bool:
    """Does this process open alone? Error INVALID_ARGUMENT if it would write, is one of several
    ranks, and no `comm` was given: each of them would write the same file."""
    if comm is None and mode != "r" and ranks_here() > 1:
        raise Error(Code.INVALID_ARGUMENT,
                    f"{path}: this is one of {ranks_here()} ranks, and no comm= was given: give "
                    "comm=MPI.COMM_WORLD to write one file together, or comm=\"self\" to write a "
                    "file of this process alone")
    return comm is None or (isinstance(comm, str) and comm == "self")


def check(code: int, handle: Any = ffi.NULL) -> None:
    """Raises Error for every code but SLUICE_OK."""
    if code != lib.SLUICE_OK:
        raise error_of(code, handle)


#: Arrays of calls that ended by a timeout or a failure of MPI. Messages that were under way may
#: still come into them, or be sent from them, whenever the program calls MPI.
given_up: List[Any] = []


_OTHER_WIDTH = re.compile(r" as string\[\d+\], rank \d+ as string\[\d+\]$")


def error_of(code: int, handle: Any = ffi.NULL) -> Error:
    """The exception of the last failure on the handle."""
    message = text_of(lib.sluice_last_error(handle)) or text_of(lib.sluice_code_name(code))
    if code == lib.SLUICE_ERROR_DIVERGENT and _OTHER_WIDTH.search(message):
        message += ": a put takes the longest text of its rank: define() it before, such as \"S16\""
    kind = NotFoundError if code == lib.SLUICE_ERROR_NOT_FOUND else Error
    return kind(code, message, lib.sluice_last_error_rank(handle))


def fortran_handle(comm: Any) -> int:
    """The integer of an mpi4py communicator. Error MPI where the library found another MPI in this
    process than mpi4py's."""
    from mpi4py import MPI

    if not isinstance(comm, MPI.Comm):
        raise TypeError("comm must be an mpi4py communicator, \"self\" or None, not "
                        f"{comm!r}" if isinstance(comm, str) else
                        "comm must be an mpi4py communicator, \"self\" or None, not "
                        f"{type(comm).__name__}")
    theirs = MPI.Get_library_version().strip("\0 \n")
    ours = mpi_library()
    if _one_line(theirs) != _one_line(ours):
        raise Error(Code.MPI,
                    f"mpi4py uses '{_one_line(theirs)}', but the MPI that this process has started "
                    f"is '{_one_line(ours)}': use one of them only")
    return int(comm.py2f())


def read_on_root(path: Any, comm: Any = None) -> bytes:
    """Reads a file on one rank and gives its bytes to all, such as an input file. Collective.

    Args:
        path: The file, the same on every rank.
        comm: An mpi4py communicator; None: this process alone.

    Returns:
        All bytes of the file.

    Raises:
        Error: NOT_FOUND (a FileNotFoundError too), PERMISSION, IO, the same on every rank.
    """
    text = ffi.new("char **")
    size = ffi.new("int64_t *")
    name = c_text(os.fsencode(path), "path")
    if is_alone(comm, path, "r"):
        check_open(lib.sluice_read_text_serial(name, text, size), path)
    else:
        check_open(lib.sluice_read_text_f(fortran_handle(comm), name, text, size), path)
    try:
        return bytes(ffi.buffer(text[0], size[0]))
    finally:
        lib.sluice_free_text(text[0])


def reason(text: str) -> bytes:
    """A message as C takes it; also one with a part of a name that is no UTF-8."""
    return text.replace("\0", " ").encode("utf-8", "backslashreplace")


def line_of(error: BaseException) -> str:
    """What happened, on one line; of an Error without its class."""
    text = str(error) if isinstance(error, Error) else f"{type(error).__name__}: {error}"
    return _one_line(text)


def _one_line(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()
