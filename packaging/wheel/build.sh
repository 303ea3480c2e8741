#!/usr/bin/env bash
# Builds the wheel that serves any MPI into out/wheel, and says what is in it. Behind `./dev wheel`.
#
# Needs the -dev packages of Debian's Open MPI and MPICH, static xxHash, libdeflate, zstd and
# libpng, and PyPI: for the build tools, and for the header of the ABI of MPI 5, which Debian 12
# lacks.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
place=$root/build/wheel
out=$root/out/wheel
python=${SLUICE_PYTHON:-python3}
mkdir -p "$place" "$out"

fail() {
  echo "wheel: $*" >&2
  exit 1
}

if [ ! -x "$place/tools/bin/auditwheel" ]; then
  "$python" -m venv "$place/tools"
  "$place/tools/bin/pip" -q install 'scikit-build-core>=0.10' 'cffi>=1.15' auditwheel wheel ||
    fail "pip could not install the build tools"
fi
if [ ! -e "$place/headers/mpi_abi.h" ]; then
  "$place/tools/bin/pip" -q download --no-deps -d "$place/mpich" 'mpich>=5' ||
    fail "pip could not fetch mpich, which has the header of the ABI of MPI 5"
  "$python" - "$place" <<'END'
import pathlib, sys, zipfile
place = pathlib.Path(sys.argv[1])
with zipfile.ZipFile(next(place.glob("mpich/*.whl"))) as wheel:
    name = next(n for n in wheel.namelist() if n.endswith("/mpi_abi.h"))
    (place / "headers").mkdir(exist_ok=True)
    (place / "headers" / "mpi_abi.h").write_bytes(wheel.read(name))
END
fi
"$root/packaging/wheel/hdf5.sh" "$place/hdf5"

# What ./dev build has compiled already is taken from the cache, whatever folder it was built in.
export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1
launcher=()
command -v ccache >/dev/null &&
  launcher=(--config-settings=cmake.define.CMAKE_CXX_COMPILER_LAUNCHER=ccache)
rm -rf "$place/raw"
PATH=$place/tools/bin:$PATH PKG_CONFIG_PATH=$place/hdf5/pkgconfig \
  "$place/tools/bin/pip" wheel -q --no-deps --no-build-isolation -w "$place/raw" \
  --config-settings=build-dir="$root/build/wheel-build" \
  --config-settings=cmake.define.SLUICE_STATIC_DEPENDENCIES=ON \
  --config-settings=cmake.define.SLUICE_MPI_HEADERS="$place/headers" \
  --config-settings=install.strip=true \
  "${launcher[@]}" "$root" >"$place/build.log" 2>&1 || {
  tail -30 "$place/build.log" >&2
  fail "the build failed (all of it: $place/build.log)"
}

raw=("$place"/raw/*.whl)
"$place/tools/bin/auditwheel" show "${raw[0]}" >"$place/audit.txt"
tag=$(grep -oE 'manylinux_[0-9]+_[0-9]+_x86_64' "$place/audit.txt" | head -1)
[ -n "$tag" ] || {
  cat "$place/audit.txt" >&2
  fail "auditwheel does not accept it"
}
rm -f "$out"/sluice-*.whl
cp "${raw[0]}" "$out"
"$place/tools/bin/wheel" tags --remove --platform-tag "$tag" "$out"/sluice-*.whl >/dev/null
cat "$place/audit.txt"
ls -l "$out"
