"""The files of the project, read once."""

import ast
import json
import os
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

SKIPPED = {".git", ".venv", "build", "out", ".cache", "__pycache__", ".pytest_cache"}
CPP = {".cpp", ".hpp", ".h", ".c"}
SCRIPTS = {".py", ".sh"}
PROSE = {".md", ".toml", ".json", ".yml", ".yaml", ".f90", ".clang-tidy", ".clang-format"}


@dataclass(frozen=True)
class Finding:
    path: str
    line: int
    rule: str
    message: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.rule}: {self.message}"


@dataclass(frozen=True)
class File:
    path: str  # from the root, with forward slashes
    text: str

    @property
    def suffix(self):
        return Path(self.path).suffix or Path(self.path).name

    @property
    def top(self):
        return self.path.split("/")[0]

    @property
    def is_cpp(self):
        return self.suffix in CPP

    @property
    def is_script(self):
        return self.suffix in SCRIPTS or self.text.startswith("#!")

    @property
    def is_build_file(self):
        return self.suffix == ".cmake" or self.path.endswith(("CMakeLists.txt", "-dev.txt"))

    @property
    def component(self):
        """The component of src/ in which the file lies, None elsewhere, "" directly in src/."""
        parts = self.path.split("/")
        if parts[0] != "src":
            return None
        return parts[1] if len(parts) > 2 else ""

    @cached_property
    def python(self):
        return ast.parse(self.text, self.path)


class Tree:
    """The text files of a project, and the paths that its build compiled (None: unknown)."""

    def __init__(self, files, built=None, root=None):
        self.files = {file.path: file for file in files}
        self.built = built
        self.root = root

    def cpp(self):
        return [file for file in self.files.values() if file.is_cpp]

    def exists(self, path):
        """Also of files that are no text, such as pictures."""
        return path in self.files or (self.root is not None and (self.root / path).exists())

    def resolve(self, including, include):
        """The project's file that `include` in file `including` means, None where foreign."""
        places = ["include", "src", including.top, ""]  # "": the command says text/table.hpp
        if including.top in ("apps", "tests"):
            places.append("/".join(including.path.split("/")[:2]))
        if not include.angled:
            places.insert(0, os.path.dirname(including.path))
        for place in places:
            path = os.path.normpath(os.path.join(place, include.path)).replace(os.sep, "/")
            if path in self.files:
                return path
        return None


def _is_read(path):
    suffix = path.suffix or path.name
    if suffix in CPP | SCRIPTS | PROSE or File(path.as_posix(), "").is_build_file:
        return True
    if path.suffix or path.stat().st_size > 1 << 20:
        return False
    with open(path, "rb") as stream:
        return stream.read(2) == b"#!"


def read_tree(root, build=None):
    files = []
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in SKIPPED)
        for name in sorted(names):
            path = Path(folder) / name
            if path.is_file() and not path.is_symlink() and _is_read(path):
                text = path.read_text(encoding="utf-8", errors="replace")
                files.append(File(path.relative_to(root).as_posix(), text))
    built = None
    if build is not None:
        built = {os.path.relpath(p, root).replace(os.sep, "/") for p in compiled_files(build)}
    return Tree(files, built, Path(root))


def compiled_files(build):
    """Absolute paths; what a unity build puts together counts one by one."""
    commands = json.loads((Path(build) / "compile_commands.json").read_text(encoding="utf-8"))
    for command in commands:
        path = Path(command["directory"], command["file"])
        if path.parent.name == "Unity":
            yield from re.findall(r'^#include "(.*)"$', path.read_text(encoding="utf-8"), re.M)
        else:
            yield str(path)


def slug(heading):
    """The anchor that GitHub gives a heading."""
    heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.strip()).replace("`", "")
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
