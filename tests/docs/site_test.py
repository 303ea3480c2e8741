"""The site of the documents and the reference is built without a warning, as ./dev docs builds it.

  site_test.py COMMAND FOLDER

COMMAND is the built `sluice`. Sphinx (python/requirements-docs.txt) is installed into an
environment in FOLDER, once; exit code 77 where it cannot be.
"""

import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
command, folder = sys.argv[1], Path(sys.argv[2])
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
subprocess.run([python, ROOT / "docs/build.py", "--command", command, "--out", folder / "site"],
               check=True)
for page in ("index.html", "papers.html", "reference/cpp.html", "reference/command.html",
             "man/sluice.1"):
    if (folder / "site" / page).stat().st_size < 1000:
        sys.exit(f"FAILED: {page} is all but empty")
