# Sphinx: the site that `./dev docs` builds from docs/ (build.py). The reference of C and C++ comes
# from Doxygen by Breathe, that of Python from its docstrings.
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


def setup(app):
    app.add_object_type("fortran", "fortran", "%s (Fortran)", parse_node=add_fortran_name,
                        objname="Fortran name")
