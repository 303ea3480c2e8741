# Sphinx: the site that `./dev docs` builds from docs/ (build.py). The reference of C and C++ comes
# from Doxygen by Breathe, that of Python from its docstrings.
import functools
import posixpath
import re
import sys
from pathlib import Path

from sphinx import addnodes

# build.py works on a copy of this folder in <repository>/build/docs/source.
_root = Path(__file__).resolve()
while not (_root / "CMakeLists.txt").exists():
    _root = _root.parent
sys.path.insert(0, str(_root / "python"))

project = "Sluice"
release = re.search(r"project\(sluice VERSION ([0-9.]+)", (_root / "CMakeLists.txt").read_text())[1]
extensions = ["myst_parser", "breathe", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = f"Sluice {release}"
html_static_path = ["static"]
html_css_files = ["sluice.css"]

breathe_projects = {"sluice": str(_root / "build/docs/doxygen/xml")}
breathe_default_project = "sluice"
breathe_domain_by_extension = {"h": "c", "hpp": "cpp"}
breathe_default_members = ("members",)
breathe_show_include = False
c_id_attributes = cpp_id_attributes = ["SLUICE_API"]

autodoc_mock_imports = ["charm4py"]
autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_use_rtype = False
napoleon_use_ivar = True
python_use_unqualified_type_names = True
add_module_names = False
default_role = "code"
smartquotes_action = "D"

# Links that leave docs/ (source files in the repository) are checked by tests/tidy instead.
suppress_warnings = ["myst.xref_missing", "misc.highlighting_failure"]
nitpicky = False


def add_fortran_name(env, signature, node):
    """Of `sluice_file%put(name, data)` the index has `sluice_file%put`."""
    name = signature if signature.startswith("type(") else signature.partition("(")[0]
    node += addnodes.desc_name(name, name)
    arguments = signature.removeprefix(name)
    node += addnodes.desc_addname(arguments, arguments)
    return name


# Files outside docs/ that are pages of the site: their text replaces that of the page.
_PAGES = {
    "internals/architecture": "ARCHITECTURE.md",
    "internals/contributing": "CONTRIBUTING.md",
    "internals/security": "SECURITY.md",
    "internals/reliability": "RELIABILITY.md",
    "internals/benchmarks": "bench/README.md",
    "internals/changelog": "CHANGELOG.md",
}
_NAMES = {path: name for name, path in _PAGES.items()}
_LINK_OR_CODE = re.compile(
    r"^```.*?^```|`[^`\n]*`|(?<!!)\[([^\]]*)\]\(([^)\s]+)\)", re.MULTILINE | re.DOTALL)


def _site_link(folder, match):
    """A link between files of the repository as one between pages of the site. What is not in the
    site becomes text: the name of the file."""
    text, target = match[1], match[2]
    if target is None or re.match(r"#|[a-z][a-z0-9+.-]*:", target):
        return match[0]
    path, _, anchor = target.partition("#")
    path = posixpath.normpath(posixpath.join(folder, path))
    anchor = anchor and "#" + anchor
    if path in _NAMES:
        return f"[{text}](/{_NAMES[path]}.md{anchor})"
    if path.startswith("docs/"):
        return f"[{text}](/{path.removeprefix('docs/')}{anchor})"
    return f"`{path}`" if text in (path, f"`{path}`") else f"{text} (`{path}`)"


def _prepare_page(app, name, source):
    if name == "index":  # pages of the navigation that are not in the tree
        source[0] = re.sub(r"^[a-z0-9/-]+\n", lambda line: line[0] if (
            Path(app.srcdir) / f"{line[0].strip()}.md").exists() else "", source[0], flags=re.M)
    if name.startswith("reference/"):
        return
    path = _PAGES.get(name, f"docs/{name}.md")
    text = (_root / path).read_text() if name in _PAGES else source[0]
    link = functools.partial(_site_link, posixpath.dirname(path))
    source[0] = _LINK_OR_CODE.sub(link, text)


def setup(app):
    app.connect("source-read", _prepare_page)
    app.add_object_type("fortran", "fortran", "%s (Fortran)", parse_node=add_fortran_name,
                        objname="Fortran name")
