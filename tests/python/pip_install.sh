#!/usr/bin/env bash
# `pip install` of the source distribution into a fresh environment, and a file written, read and
# verified with what was installed, far from the source tree.
#
#   pip_install.sh PYTHON     PYTHON: one with venv; packages come from the index that pip knows
set -euo pipefail

python=$1
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$root/build/sdist
unset PYTHONPATH SLUICE_LIBRARY

fail() {
  echo "pip_install: $*" >&2
  exit 1
}

rm -rf "$work"
mkdir -p "$work"
"$python" -m venv "$work/venv"
bin=$work/venv/bin
pip() { "$bin/pip" --quiet --disable-pip-version-check "$@"; }
pip install build
"$bin/python" -m build --sdist --outdir "$work" "$root" >"$work/log" 2>&1 ||
  { tail -n 30 "$work/log" >&2; exit 1; }
bytes=$(stat -c %s "$work"/sluice-*.tar.gz)
echo "sdist: $bytes bytes, $(tar -tzf "$work"/sluice-*.tar.gz | wc -l) files"
[ "$bytes" -lt 3000000 ] || fail "the sdist holds more than the sources"

# As far below its root as the other builds, and with their compilers' names: the cache then has
# what it needs.
mkdir "$work/source"
tar -xzf "$work"/sluice-*.tar.gz -C "$work/source" --strip-components=1
if command -v ccache >/dev/null; then
  export CMAKE_CXX_COMPILER_LAUNCHER=ccache CCACHE_BASEDIR=$work CCACHE_NOHASHDIR=1
fi
export CC=cc CXX=c++
pip install --config-settings=build-dir="$work/source/build/pip" "$work/source"

cd "$work"
"$bin/python" - <<'PY'
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
"$bin/sluice" --version
"$bin/sluice" verify there.h5
for name in txt2hdf5 hdf52txt; do
  "$bin/$name" --help | grep -q 'sluice convert' || fail "$name is not sluice convert"
done
"$bin/sluice" env | grep -q hdf5_driver || fail "the command does not find the HDF5 driver"
"$bin/sluice-config" --cflags --libs
echo "pip install works"
