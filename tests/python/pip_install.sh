#!/usr/bin/env bash
# `pip install` of the source distribution into a fresh environment, and a file written and read
# with what was installed, far from the source tree.
#
#   pip_install.sh PYTHON     PYTHON: one with venv; packages come from the index that pip knows
set -euo pipefail

python=$1
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset PYTHONPATH SLUICE_LIBRARY

"$python" -m venv "$work/venv"
pip() { "$work/venv/bin/pip" --quiet --disable-pip-version-check "$@"; }
pip install build
"$work/venv/bin/python" -m build --sdist --outdir "$work" "$root" >"$work/log" 2>&1 ||
  { tail -n 30 "$work/log" >&2; exit 1; }
echo "sdist: $(stat -c %s "$work"/sluice-*.tar.gz) bytes"
pip install "$work"/sluice-*.tar.gz

cd "$work"
"$work/venv/bin/python" - <<'PY'
import pathlib
import numpy
import sluice

assert "site-packages" in sluice.__file__
with sluice.open("there.h5", "w", strategy="serial") as out:
    for step in range(3):
        with out.step(time=step):
            out.put("x", numpy.arange(10.0) + step)
with sluice.open("there.h5") as f:
    assert f.steps == 3 and (f["x"][-1] == numpy.arange(10.0) + 2).all()
inside = sorted(str(p.relative_to(pathlib.Path(sluice.__file__).parent))
                for p in pathlib.Path(sluice.__file__).parent.rglob("*") if p.suffix != ".pyc")
print("installed:", [name for name in inside if "lib" in name or name.endswith((".h", ".typed"))])
PY
echo "pip install works"
