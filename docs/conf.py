# Sphinx: the site that `./dev docs` builds from docs/*.md and the generated reference (build.py).
import re
from pathlib import Path

# build.py works on a copy of this folder in <repository>/build/docs/source.
_root = Path(__file__).resolve()
while not (_root / "CMakeLists.txt").exists():
    _root = _root.parent

project = "Sluice"
release = re.search(r"project\(sluice VERSION ([0-9.]+)", (_root / "CMakeLists.txt").read_text())[1]
extensions = ["myst_parser"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = f"Sluice {release}"
man_pages = [
    ("reference/command", "sluice", "looks at, compares and proves files of Sluice", [], 1)
]
# Links that leave docs/ (source files in the repository) are checked by tests/tidy instead.
suppress_warnings = ["myst.xref_missing", "misc.highlighting_failure"]
nitpicky = False


def _drop_missing_pages(app, name, source):
    """A page of the navigation that is not in the tree is left out of it."""
    if name == "index":
        folder = Path(app.srcdir)
        source[0] = re.sub(r"^[a-z0-9/-]+\n", lambda line: line[0] if (
            folder / f"{line[0].strip()}.md").exists() else "", source[0], flags=re.M)


def setup(app):
    app.connect("source-read", _drop_missing_pages)
