"""The rules of the project that a program can check. Each rule is a generator of findings over a
Tree; its docstring states the rule."""

import ast
import graphlib
import os
import re

import cpp
from pyflakes import checker, messages
from tree import Finding, slug

FILE_LINES_MAX = 500
FUNCTION_LINES_MAX = 60
LINE_LENGTH_MAX = 100
CLASS_FIELDS_MAX = 20
CLASS_FUNCTIONS_MAX = 30

# Which components (directories) of src/ a component may include, besides itself.
IMPORTS = {
    "model": set(),
    "mpi": set(),
    "storage": {"model", "mpi"},
    "codec": set(),
    "layout": {"model", "storage", "codec"},
    "plan": {"layout", "model"},
    "exec": {"plan", "layout", "model", "mpi", "storage", "codec"},
    "commit": {"exec", "plan", "layout", "model", "storage", "codec"},
    "dialect": {"exec", "model", "storage"},
    "sim": {"plan", "layout", "model"},
    "mpiio": {"model", "mpi", "storage"},
    "plugin": {"commit", "layout", "model", "storage", "codec"},
    "api": {"commit", "exec", "plan", "layout", "model", "mpi", "storage", "codec"},
}
# The levels of a component that has subdirectories, lowest first: one includes itself and those
# below it, not those beside or above it. "" stands for the files directly in the component.
LEVELS = {
    # netcdf4, openpmd and vtkhdf are rules alone; hdf5 writes and reads their files.
    "layout": [{"netcdf4", "openpmd", "vtkhdf"}, {""},
               {"dcd", "hdf5", "namdbin", "npy", "records", "zarr"}, {"icechunk"}, {"formats"}],
    "exec": [{"transport"}, {""}, {"exchange", "notify"}, {"check", "rows", "write"}, {"encode"},
             {"read"}],
    "commit": [{"publish"}, {"write"}, {"output", "read", "session"}, {"parts"}, {"tools"}, {""}],
    "api": [{"config"}, {""}, {"file", "session"}, {"records", "checkpoint"}, {"c"}],
}
# Public headers that every component may include; the others belong to api.
SHARED_FACE = {"sluice/comm.h", "sluice/comm.hpp", "sluice/error.hpp", "sluice/types.hpp",
               "sluice/options.hpp", "sluice/fill.hpp"}
MPI_COMPONENTS = {"mpi", "mpiio"}  # and there in one header each only


def rule_imports(tree):
    """Components of src/ and their subdirectories include downwards only, by paths from src/; the
    public headers include only each other; mpi.h only in mpi and mpiio."""
    for file in tree.cpp():
        for include in cpp.includes(file.text):
            message = _import_fault(file, include)
            if message:
                yield Finding(file.path, include.line, "imports", message)
        if file.component is not None and file.component not in IMPORTS:
            yield Finding(file.path, 1, "imports", f"'{file.component}' is no component of src/")


def _import_fault(file, include):
    first, _, rest = include.path.partition("/")
    if file.top == "include":
        if (not include.angled or first in IMPORTS and rest) and first != "sluice":
            return f"the public face includes only sluice/ headers, not {include.path}"
        return None
    if file.component is None:
        return None
    if include.path == "mpi.h" and file.component not in MPI_COMPONENTS:
        return f"mpi.h belongs to {', '.join(sorted(MPI_COMPONENTS))}: talk through mpi::comms()"
    if first == "sluice" and rest:
        if include.path in SHARED_FACE or file.component == "api":
            return None
        allowed = ", ".join(sorted(SHARED_FACE))
        return f"{include.path} belongs to api; other components include {allowed}"
    if first == file.component and first in LEVELS:
        return _level_fault(file.component, file.path.split("/")[2:-1], rest.split("/")[:-1])
    if first in IMPORTS and rest:
        if first == file.component or first in IMPORTS.get(file.component, ()):
            return None
        allowed = ", ".join(sorted(IMPORTS.get(file.component, ()))) or "no other component"
        return f"{file.component} must not include {first} (it may include {allowed})"
    if not include.angled:
        return f'"{include.path}" is no path from src/ or include/'
    return None


def _level_fault(component, own, other):
    own, other = "/".join(own), "/".join(other)
    level = {name: n for n, names in enumerate(LEVELS[component]) for name in names}
    for name in (own, other):
        if name not in level:
            return f"'{component}/{name}' is no component: give it a level in tests/tidy/rules.py"
    if own == other or level[other] < level[own]:
        return None
    return f"{component}/{own} must not include {component}/{other}, which lies beside or above it"


def rule_cycles(tree):
    """No files of src/ include one another in a circle, of which a header and its .cpp are one. Of
    several circles one is found."""
    graph, places = {}, {}
    for file in tree.cpp():
        if file.component is None:
            continue
        own = os.path.splitext(file.path)[0]
        for include in cpp.includes(file.text):
            other = os.path.splitext(tree.resolve(file, include) or "")[0]
            if other.startswith("src/") and other != own:
                graph.setdefault(own, []).append(other)
                places[own, other] = (file.path, include.line)
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        circle = error.args[1][:0:-1]
        first = circle.index(min(circle))
        circle = circle[first:] + circle[:first + 1]
        shown = " -> ".join(stem.removeprefix("src/") for stem in circle)
        yield Finding(*places[circle[0], circle[1]], "cycles", f"a circle of includes: {shown}")


# Always system I/O when called as a free function.
_SYSTEM_CALLS = """
    openat creat fopen freopen fdopen fread fwrite fclose tmpfile mkstemp popen
    pread pread64 preadv preadv2 pwrite pwrite64 pwritev pwritev2 readv writev lseek lseek64
    fsync fdatasync sync_file_range syncfs ftruncate ftruncate64 truncate fallocate posix_fallocate
    posix_fadvise sendfile copy_file_range splice fcntl ioctl flock
    fstat lstat statx fstatat statfs fstatfs statvfs fstatvfs futimens utimensat
    unlink unlinkat renameat renameat2 mkdir mkdirat rmdir opendir readdir closedir
    aio_read aio_write io_setup io_submit io_uring_setup
""".split()
# Names that members also have: system I/O only when written `::name(`.
_QUALIFIED_CALLS = "open read write close rename remove stat link symlink sync dup dup2".split()
_IO_PATTERNS = [
    (re.compile(r"(?<![\w.:>])(?:::|std::)?(%s)\s*\(" % "|".join(_SYSTEM_CALLS)), "calls {0}()"),
    (re.compile(r"(?<![\w>])::(%s)\s*\(" % "|".join(_QUALIFIED_CALLS)), "calls ::{0}()"),
    (re.compile(r"\bstd::(basic_[io]?fstream|[io]?fstream|basic_filebuf|filebuf)\b"), "uses {0}"),
    (re.compile(r"\bstd::(rename|system)\s*\("), "calls std::{0}()"),
    # std::remove of one argument is <cstdio>'s, of three <algorithm>'s.
    (re.compile(r"\bstd::(remove)\s*\((?:[^(),]|\([^()]*\))*\)"), "calls std::{0}() of a path"),
    (re.compile(r"\bfilesystem::(?!path\b)(\w+)"), "uses filesystem::{0}"),
    (re.compile(r"\bnamespace\s+\w+\s*=\s*(std::filesystem)\b"), "abbreviates {0}"),
    (re.compile(r"\b(O_(?:RDONLY|WRONLY|RDWR|CREAT|DIRECT))\b"), "uses {0}"),
    (re.compile(r"\b(FILE)\s*\*"), "uses {0}*"),
    (re.compile(r"\b(MPI_File_\w+)\s*\("), "calls {0}()"),
    (re.compile(r"\b(H5F(?:open|create))\s*\([^;]*?,\s*H5P_DEFAULT\s*\)\s*[;)]"),
     "calls {0}() with HDF5's own driver"),
]
_IO_HEADERS = {"fstream", "fcntl.h", "sys/stat.h", "sys/uio.h", "sys/file.h", "sys/ioctl.h",
               "sys/statfs.h", "sys/statvfs.h", "dirent.h", "aio.h"}


def rule_system_io(tree):
    """In src/ only storage/ asks the operating system to read, write or name files."""
    for file in tree.cpp():
        if file.component is None or file.component == "storage":
            continue
        for include in cpp.includes(file.text):
            if include.path in _IO_HEADERS:
                yield _io(file, include.line, f"includes <{include.path}>")
        code = cpp.blank(file.text)
        for pattern, message in _IO_PATTERNS:
            for match in pattern.finditer(code):
                yield _io(file, cpp.line_at(code, match.start(1)), message.format(match[1]))


def _io(file, line, what):
    return Finding(file.path, line, "system-io", f"{what}: file I/O goes through storage/")


# A row's own name, or the constant that holds it.
_ROW_NAME = re.compile(r'\.name = (?:"([^"]+)"|(\w+)),|return Method\{"([^"]+)"')
# Where rows live, or where the words are another program's.
_DIRECTORIES_OF_ROWS = re.compile(r"src/(?:layout/(?!formats/)\w+|plan|codec|dialect)/")


def rule_rows(tree):
    """In src/ only a format's own folder, plan/ and codec/ name formats, strategies and codecs; the
    others ask the row. ("auto" is a word of many options.)"""
    names = set()
    texts = {file.path: cpp.blank_comments(file.text) for file in tree.cpp() if file.component}
    for path, code in texts.items():
        for match in _ROW_NAME.finditer(code) if _DIRECTORIES_OF_ROWS.match(path) else ():
            held = re.compile(r'\b%s = "([^"]+)";' % match[2])
            names |= {match[1] or match[3]} - {None}
            names |= {m[1] for text in texts.values() for m in held.finditer(text) if match[2]}
    for path, code in texts.items():
        for match in re.finditer(r'"([a-z][a-z0-9-]*)"', code):
            if match[1] in names - {"auto"} and not _DIRECTORIES_OF_ROWS.match(path):
                yield Finding(path, cpp.line_at(code, match.start()), "rows",
                              f"names {match[1]}: ask its row")


_TAG_NUMBERS = [
    re.compile(r"\b\w*[tT]ag\s*[={]\s*(-?[1-9]\d*)\s*[;,}]"),
    re.compile(r"(?:\.|->)\s*(?:start_)?(?:send|receive)\(\s*[^,;{]+,\s*(-?\d\w*)\s*,"),
    re.compile(r"\bstart_receive_any\(\s*(-?\d\w*)\s*\)"),
]
TAG_LIST = "src/exec/transport/tags.hpp"


def rule_tags(tree):
    """In src/ only the list of tags names a message's tag by its number."""
    for file in tree.cpp():
        if file.component is None or file.path == TAG_LIST:
            continue
        code = cpp.blank(file.text)
        for pattern in _TAG_NUMBERS:
            for match in pattern.finditer(code):
                message = f"tag {match[1]} by its number: give it a name in {TAG_LIST}"
                yield Finding(file.path, cpp.line_at(code, match.start(1)), "tags", message)


def rule_file_length(tree):
    """No source file, script or build file above 500 lines. Of the public face (include/, fortran/,
    python/sluice/) the lines that document it do not count: every call has its own there."""
    for file in tree.files.values():
        lines = file.text.count("\n")
        if lines > FILE_LINES_MAX and file.path.startswith(_PUBLIC_FACE):
            lines -= _documenting_lines(file)
        if lines > FILE_LINES_MAX and _is_source(file):
            message = f"{lines} lines, at most {FILE_LINES_MAX}"
            yield Finding(file.path, lines, "file-length", message)


_PUBLIC_FACE = ("include/", "fortran/", "python/sluice/")


def _documenting_lines(file):
    """How many lines of a file are only comments, or docstrings of Python."""
    if file.suffix == ".py":
        return sum(ast.get_docstring(node, clean=False).count("\n") + 1
                   for node in ast.walk(file.python)
                   if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef))
                   and ast.get_docstring(node) is not None)
    text = cpp.blank_comments(file.text) if file.is_cpp else re.sub(r"(?m)^ *!.*$", "", file.text)
    return sum(bool(before.strip()) and not after.strip()
               for before, after in zip(file.text.split("\n"), text.split("\n")))


def rule_line_length(tree):
    """No line of a source file, script or build file above 100 characters."""
    for file in tree.files.values():
        if not _is_source(file):
            continue
        for number, line in enumerate(file.text.split("\n"), 1):
            if len(line) > LINE_LENGTH_MAX:
                message = f"{len(line)} characters, at most {LINE_LENGTH_MAX}"
                yield Finding(file.path, number, "line-length", message)


def _is_source(file):
    return file.is_cpp or file.is_script or file.is_build_file or file.suffix == ".f90"


def rule_function_length(tree):
    """No function above 60 lines, from its declaration to its closing brace (C++, Python, bash)."""
    for file in tree.files.values():
        try:
            found = list(_functions(file))
        except (cpp.Unreadable, SyntaxError) as error:
            yield Finding(file.path, 1, "function-length", f"cannot be read: {error}")
            continue
        for name, first, last in found:
            lines = last - first + 1
            if lines > FUNCTION_LINES_MAX:
                message = f"{name}() has {lines} lines, at most {FUNCTION_LINES_MAX}"
                yield Finding(file.path, first, "function-length", message)


def _functions(file):
    if file.is_cpp:
        for function in cpp.functions(file.text):
            yield function.name, function.first_line, function.last_line
    elif file.suffix == ".py":
        for node in ast.walk(file.python):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield node.name, node.lineno, node.end_lineno
    elif file.is_script:
        for match in re.finditer(r"^(\w+)\(\) \{\n(?:.*\n)*?\}$", file.text, re.MULTILINE):
            first = cpp.line_at(file.text, match.start())
            yield match[1], first, first + match[0].count("\n")


def rule_class_size(tree):
    """In src/ no class above 20 fields or 30 member functions, unless the comment above it, or at
    the head of its file, gives the reason after "Size:"."""
    for file in tree.cpp():
        if file.component is None:
            continue
        lines = file.text.split("\n")
        for found in cpp.classes(file.text):
            if found.fields <= CLASS_FIELDS_MAX and found.functions <= CLASS_FUNCTIONS_MAX:
                continue
            above = lines[found.line - 1 - _comment_lines(lines[found.line - 2 :: -1]) : found.line]
            head = lines[: _comment_lines(lines)]
            if not any(re.match(r"//[/ ] ?Size: \w+", line) for line in above + head):
                message = (f"{found.name} has {found.fields} fields and {found.functions} "
                           f"functions, at most {CLASS_FIELDS_MAX} and {CLASS_FUNCTIONS_MAX}")
                yield Finding(file.path, found.line, "class-size", message)


def _comment_lines(lines):
    """How many of the first lines are comments."""
    return next((n for n, line in enumerate(lines) if not line.lstrip().startswith("//")),
                len(lines))


def rule_dead_files(tree):
    """Every header is included by another file than its own .cpp; every .cpp is compiled."""
    included = set()
    for file in tree.cpp():
        for include in cpp.includes(file.text):
            target = tree.resolve(file, include)
            if target and os.path.splitext(target)[0] != os.path.splitext(file.path)[0]:
                included.add(target)
    for file in tree.cpp():
        if file.suffix in (".hpp", ".h"):
            if file.top != "include" and file.path not in included:
                yield Finding(file.path, 1, "dead-files", "no other file includes it")
        elif not _is_built(tree, file):
            yield Finding(file.path, 1, "dead-files", "nothing compiles it")


def _is_built(tree, file):
    if file.path.startswith("src/"):
        return tree.built is None or file.path in tree.built
    is_bench = file.path.startswith(("bench/", "tests/bench/"))
    is_apart = file.path.startswith(("tests/consumers/", "cmake/"))
    if tree.built is not None and not is_bench and not is_apart:
        return file.path in tree.built
    # The benchmarks are not always configured, the consumers are projects of their own, and what is
    # in cmake is for the wheel: build files must name them.
    stem = os.path.splitext(os.path.basename(file.path))[0]
    short = re.sub(r"_test$", "", stem)
    pattern = re.compile(r"\b(?:%s|%s)\b" % (re.escape(stem), re.escape(short)))
    tops = ("bench", "tests") if is_bench else (file.top,)
    return any(
        pattern.search(other.text)
        for other in tree.files.values()
        if other.top in tops and other.path.endswith(("CMakeLists.txt", ".cmake"))
    )


# Put together from pieces so that this file does not find itself.
_UNFINISHED = re.compile(r"\b(%s)\b" % "|".join(("TO" + "DO", "FIX" + "ME", "XX" + "X")))
_HOMES = "|".join(("wo" + "rk", "ro" + "ot", "ho" + r"me/\w+", "Us" + "ers"))
_MACHINE_PATH = re.compile(r"(?<![\w.\-/}>)*])/(?:" + _HOMES + r")/|/tmp/" + r"sl\b")


def rule_text(tree):
    """No unfinished marks, no paths of somebody's machine."""
    for file in tree.files.values():
        for pattern, what in ((_UNFINISHED, "unfinished"), (_MACHINE_PATH, "a machine's path")):
            for match in pattern.finditer(file.text):
                line = cpp.line_at(file.text, match.start())
                yield Finding(file.path, line, "text", f"{what}: {match[0]}")


_CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)
_FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"!?\[[^\]]*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")


def rule_links(tree):
    """Links between documents lead to files, and to headings, that exist."""
    folders = {""}
    for path in tree.files:
        while path := os.path.dirname(path):
            folders.add(path)
    for file in tree.files.values():
        if file.suffix != ".md":
            continue
        prose = _CODE.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), file.text)
        for match in _LINK.finditer(prose):
            message = _link_fault(tree, folders, file, match[1])
            if message:
                yield Finding(file.path, cpp.line_at(prose, match.start()), "links", message)


def _link_fault(tree, folders, file, target):
    if re.match(r"[a-z][a-z0-9+.-]*:", target):
        return None
    path, _, anchor = target.partition("#")
    if path:
        path = os.path.normpath(os.path.join(os.path.dirname(file.path), path))
    else:
        path = file.path
    path = "" if path == "." else path.replace(os.sep, "/")
    if path not in folders and not tree.exists(path):
        return f"no such file: {target}"
    if anchor and path.endswith(".md"):
        text = _FENCED.sub("", tree.files[path].text)
        if anchor not in {slug(h) for h in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}:
            return f"no such heading: {target}"
    return None


def rule_headings(tree):
    """A document begins with its title, and a heading is at most one level below the one before:
    Sphinx refuses others."""
    for file in tree.files.values():
        if file.suffix != ".md":
            continue
        text = _FENCED.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), file.text)
        above = 0
        for match in re.finditer(r"^(#+) ", text, re.MULTILINE):
            level = len(match[1])
            if level > above + 1:
                yield Finding(file.path, cpp.line_at(text, match.start()), "headings",
                              f"level {level} below level {above}")
            above = level


def rule_python_names(tree):
    """Every name of a Python program is defined somewhere: only a call would tell otherwise."""
    faults = (messages.UndefinedName, messages.UndefinedLocal, messages.UndefinedExport)
    for file in tree.files.values():
        if file.suffix != ".py":
            continue
        for found in checker.Checker(file.python, file.path).messages:
            if isinstance(found, faults):
                yield Finding(file.path, found.lineno, "python-names",
                              found.message % found.message_args)


RULES = {
    "imports": rule_imports,
    "cycles": rule_cycles,
    "system-io": rule_system_io,
    "rows": rule_rows,
    "tags": rule_tags,
    "file-length": rule_file_length,
    "line-length": rule_line_length,
    "function-length": rule_function_length,
    "class-size": rule_class_size,
    "dead-files": rule_dead_files,
    "text": rule_text,
    "links": rule_links,
    "headings": rule_headings,
    "python-names": rule_python_names,
}
