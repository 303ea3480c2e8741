"""The package knows the C interface as the header and the library have it."""

import ctypes
import os
import re
import subprocess
from pathlib import Path

import pytest

import sluice
from sluice import _library
from sluice._header import declarations, find_header

ROOT = Path(os.environ.get("SLUICE_SOURCE_DIR", Path(__file__).resolve().parents[2]))
HEADER = (ROOT / "include" / "sluice" / "sluice.h").read_text()
SERVICE = (ROOT / "include" / "sluice" / "service.h").read_text()
CHECKPOINT = (ROOT / "include" / "sluice" / "checkpoint.h").read_text()
# The package writes and reads records without it.
RECORDS = (ROOT / "include" / "sluice" / "records.h").read_text()


def functions(header, arguments=""):
    text = re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)
    return re.findall(r"SLUICE_API[^;]*?\b(sluice_\w+)\s*\(" + arguments, text)


def test_the_header_is_that_of_the_source_tree():
    assert find_header().read_text() == HEADER
    assert find_header("service.h").read_text() == SERVICE
    assert find_header("checkpoint.h").read_text() == CHECKPOINT


def test_the_library_has_every_function_of_the_header():
    library = ctypes.CDLL(os.environ["SLUICE_LIBRARY"])
    names = functions(HEADER)
    assert len(names) > 40 and len(set(names)) == len(names)
    for name in names + functions(RECORDS):
        assert getattr(library, name)
    for name in set(names + functions(SERVICE) + functions(CHECKPOINT)) - set(
            functions(HEADER, "MPI_Comm")):
        assert getattr(_library.lib, name)


def test_the_library_shows_nothing_but_its_interface():
    listed = subprocess.run(["nm", "-DC", "--defined-only", os.environ["SLUICE_LIBRARY"]],
                            check=True, capture_output=True, text=True).stdout
    names = [line.split(" ", 2)[2] for line in listed.splitlines()]
    of_c = {name.split("@")[0] for name in names if re.match(r"sluice_\w+@", name)}
    assert of_c == set(functions(HEADER) + functions(RECORDS) + functions(SERVICE) +
                       functions(CHECKPOINT))
    allowed = re.compile(r"sluice_\w+@@|SLUICE_[\d.]+$|"
                         r"(typeinfo (name )?for |vtable for )?"
                         r"sluice::(Checkpoint|File|Fill|Records|SessionFile|Step|Ticket|Error)\b|"
                         r"sluice::(code_name|type_of|string_type|type_name|parse_options|"
                         r"read_on_root|set_message_handler)\b")
    assert [name for name in names if not allowed.match(name)] == []


def test_codes_and_their_names():
    numbers = dict(re.findall(r"SLUICE_ERROR_(\w+) = (\d+)", HEADER))
    assert {name: int(number) for name, number in numbers.items()} == {
        code.name: int(code) for code in sluice.Code if code.name != "OK"}
    for code in sluice.Code:
        assert _library.text_of(_library.lib.sluice_code_name(int(code))) == code.name.lower()
    assert sluice.Code(4711).name == "UNKNOWN_4711" and sluice.Code(4711) == 4711


def test_the_codes_of_fortran_are_those_of_the_header():
    numbers = dict(re.findall(r"SLUICE_(OK|ERROR_\w+) = (\d+)", HEADER))
    source = (ROOT / "fortran" / "sluice_codes.f90").read_text()
    assert dict(re.findall(r"\bsluice_(ok|error_\w+) = (\d+)", source)) == {
        name.lower(): number for name, number in numbers.items()}
    module = (ROOT / "fortran" / "sluice.F90").read_text()
    public = ", ".join(re.findall(r"^  public :: (.*)$", module, re.MULTILINE)).split(", ")
    assert {f"sluice_{name.lower()}" for name in numbers} <= set(public)


def test_structs_are_as_the_compiler_has_them(tmp_path):
    structs = ["sluice_variable_options", "sluice_selection", "sluice_variable_info",
               "sluice_session", "sluice_session_options", "sluice_event",
               "sluice_checkpoint_options", "sluice_restored", "sluice_saved"]
    program = tmp_path / "sizes.c"
    lines = "".join(f'printf("%zu\\n", sizeof({name}));' for name in structs)
    program.write_text("#define SLUICE_NO_MPI_H\n#include <sluice/service.h>\n"
                       "#include <sluice/checkpoint.h>\n#include <stdio.h>\n"
                       f"int main(void) {{ {lines} return 0; }}\n")
    subprocess.run(["cc", "-std=c99", "-Wall", "-Werror", "-pedantic", f"-I{ROOT / 'include'}",
                    str(program), "-o", str(tmp_path / "sizes")], check=True)
    sizes = subprocess.run([str(tmp_path / "sizes")], check=True, capture_output=True).stdout
    assert [int(size) for size in sizes.split()] == [_library.ffi.sizeof(s) for s in structs]


def test_declarations_keep_what_cffi_understands_and_no_more():
    text = declarations(HEADER)
    assert "MPI_Comm" not in text and "SLUICE_API" not in text and "/*" not in text
    assert "#define SLUICE_SCALAR -1" in text


def test_versions():
    assert re.fullmatch(r"\d+\.\d+\.\d+", sluice.__version__)
    assert sluice.version() == sluice.__version__
    assert sluice.mpi_library() == "none" or "MPI" in sluice.mpi_library()


@pytest.mark.parametrize("library", ["/nowhere/libsluice.so", __file__])
def test_a_library_that_cannot_be_loaded_is_said(library):
    ran = subprocess.run([os.environ.get("SLUICE_PYTHON", "python3"), "-c", "import sluice"],
                         env={**os.environ, "SLUICE_LIBRARY": library}, capture_output=True,
                         text=True)
    assert ran.returncode != 0
    assert "ImportError" in ran.stderr and "SLUICE_LIBRARY" in ran.stderr
