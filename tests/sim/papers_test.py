"""papers_test.py PAPERS PAGE: `papers --check` takes the page, and none with an old row, whether
of a machine or of the fitted constants, beside the right one or in its place."""

import subprocess
import sys
import tempfile
from pathlib import Path

papers, page = sys.argv[1:]
text = Path(page).read_text(encoding="utf-8")
row = next(line for line in text.splitlines() if line.startswith("| one writer, 3 GB, GB/s"))
constant = next(line for line in text.splitlines() if line.startswith("| ARCHER | `touch_s`"))
old = {row: row.replace("0.45", "0.46"), constant: constant.replace("0.007", "0.006")}
with tempfile.TemporaryDirectory() as folder:
    instead, beside = Path(folder, "instead.md"), Path(folder, "beside.md")
    instead.write_text(text.replace(row, old[row]).replace(constant, old[constant]), "utf-8")
    beside.write_text(text + "\n".join(old.values()) + "\n", "utf-8")
    # All at once: the calculation takes its time.
    run = subprocess.run([papers, "--check", page, instead, beside], capture_output=True, text=True,
                         check=False)
    wanted = [f"{path} has, and should not: {line}" for path in (instead, beside)
              for line in old.values()] + [f"{instead} lacks: {line}" for line in old]
assert run.stderr == "", run.stderr  # every ordering holds
assert sorted(run.stdout.splitlines()) == sorted(wanted), run.stdout
assert run.returncode == 1, run.returncode
print("papers: the page is the program's")
