"""The site of the documents and the reference is built without a warning, as ./dev docs builds it.

  site_test.py COMMAND LIBRARY FOLDER

COMMAND is the built `sluice`, LIBRARY the built libsluice.so. Sphinx (python/requirements-docs.txt)
is installed into an environment in FOLDER, once; exit code 77 where it cannot be, or where Doxygen
(packaging/debian-packages-docs.txt) is not there.
"""

import shutil
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
command, library, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
if shutil.which("doxygen") is None:
    print("skipped: there is no doxygen (packaging/debian-packages-docs.txt)")
    sys.exit(77)
python = folder / "venv/bin/python"
stamp = folder / "requirements"
requirements = ROOT / "python/requirements-docs.txt"
if not stamp.exists() or stamp.read_text() != requirements.read_text():
    venv.create(folder / "venv", clear=True, with_pip=True)
    done = subprocess.run([python, "-m", "pip", "install", "--quiet", "--prefer-binary",
                           "--disable-pip-version-check", "-r", requirements], check=False)
    if done.returncode != 0:
        print(f"skipped: pip could not install {requirements}")
        sys.exit(77)
    stamp.write_text(requirements.read_text())
subprocess.run([python, ROOT / "docs/build.py", "--command", command, "--library", library,
                "--out", folder / "site"], check=True)
subprocess.run([python, ROOT / "tests/docs/symbols.py", folder / "site"], check=True)
for page in ("index.html", "papers.html", "reference/cpp.html", "reference/command.html",
             "reference/fortran.html", "reference/python.html", "reference/c/write.html"):
    if (folder / "site" / page).stat().st_size < 1000:
        sys.exit(f"FAILED: {page} is all but empty")
