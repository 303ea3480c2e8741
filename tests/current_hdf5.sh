#!/usr/bin/env bash
# Builds a current libhdf5 and runs the layout tests and the crash images with it: the promise of a
# durable step rests on what libhdf5 does under the planner driver, so another version is another
# case. Part of `./dev test --long`; takes a few minutes the first time.
#
#   tests/current_hdf5.sh [CTEST OPTION...]
#
# libhdf5's source comes inside the crates.io package hdf5-metno-src, fetched by cargo; it asks for
# a newer cmake than Debian 12 has, which comes by pip. All of it lies in build/hdf5-current.
# Exit code: ctest's; 77 where something that it needs is not there, with the reason.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
place=$root/build/hdf5-current
version=0.10.4 # of the package; libhdf5 2.2.0
jobs=${SLUICE_JOBS:-$(nproc)}
mkdir -p "$place"

missing() {
  echo "current libhdf5: not tested: $1" >&2
  exit 77
}

# Its own folder, which is no package of this project.
fetch() {
  command -v cargo >/dev/null || missing "cargo is not there to fetch hdf5-metno-src"
  mkdir -p "$place/fetch/src"
  printf '%s\n' '[package]' 'name = "fetch"' 'version = "0.1.0"' 'edition = "2021"' '[workspace]' \
    '[dependencies]' "hdf5-metno-src = \"=$version\"" >"$place/fetch/Cargo.toml"
  echo 'fn main() {}' >"$place/fetch/src/main.rs"
  (cd "$place/fetch" && cargo vendor -q vendor >fetch.log 2>&1) ||
    missing "cargo could not fetch hdf5-metno-src $version ($place/fetch/fetch.log)"
}

build_hdf5() {
  local python=${SLUICE_PYTHON:-$root/.venv/bin/python}
  "$python" -m venv "$place/tools"
  "$place/tools/bin/pip" install -q 'cmake>=3.26,<4' || missing "pip could not install cmake"
  local cmake=$place/tools/bin/cmake
  "$cmake" -S "$place/fetch/vendor/hdf5-metno-src/ext/hdf5" -B "$place/build" -G Ninja \
    -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=ON -DBUILD_STATIC_LIBS=OFF \
    -DBUILD_TESTING=OFF -DHDF5_NO_PACKAGES=ON -DHDF5_BUILD_TOOLS=OFF -DHDF5_BUILD_EXAMPLES=OFF \
    -DHDF5_BUILD_HL_LIB=OFF -DHDF5_BUILD_CPP_LIB=OFF -DHDF5_BUILD_FORTRAN=OFF \
    -DHDF5_ENABLE_ZLIB_SUPPORT=ON -DHDF5_ENABLE_SZIP_SUPPORT=OFF -DHDF5_ENABLE_PARALLEL=OFF \
    -DHDF5_DISABLE_COMPILER_WARNINGS=ON "-DCMAKE_INSTALL_PREFIX=$place/prefix" \
    -DCMAKE_INSTALL_LIBDIR=lib >"$place/configure.log"
  "$cmake" --build "$place/build" -j "$jobs" >"$place/build.log"
  "$cmake" --install "$place/build" >"$place/install.log"
  # Found before the system's serial libhdf5, whose pkg-config file has this name.
  mkdir -p "$place/pkgconfig"
  cp "$place/prefix/lib/pkgconfig/hdf5.pc" "$place/pkgconfig/hdf5-serial.pc"
}

if [ ! -e "$place/pkgconfig/hdf5-serial.pc" ]; then
  [ -d "$place/fetch/vendor/hdf5-metno-src" ] || fetch
  build_hdf5
fi

export PKG_CONFIG_PATH=$place/pkgconfig
launcher=()
if command -v ccache >/dev/null; then
  launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_C_COMPILER_LAUNCHER=ccache)
fi
cmake -S "$root" -B "$place/sluice" -G Ninja -DCMAKE_BUILD_TYPE=Release -DSLUICE_TESTS=ON \
  "${launcher[@]}" >"$place/sluice.log"
grep -E '^--   HDF5 ' "$place/sluice.log"
mapfile -t targets < <(cd "$root/tests" &&
  find layout -name '*_test.cpp' | sed 's|/|_|; s|_test\.cpp$||' | sort)
cmake --build "$place/sluice" -j "$jobs" --target "${targets[@]}" crash_images crash_planted \
  crash_faults crash_live_reader
ctest --test-dir "$place/sluice" --output-on-failure -j "$jobs" \
  -R '^layout/|^crash/(images_.*|live_reader|planted|faults_.*)$' "$@"
