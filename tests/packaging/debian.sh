#!/usr/bin/env bash
# What Debian's packages hold, used without installing them: C, C++ and Fortran programs built
# against their files by pkg-config and by CMake, the command, and the Python package, 4 ranks.
#
#   debian.sh FOLDER    FOLDER: with the .deb files (packaging/debian.sh leaves them in out/debian)
#
# They are unpacked into build/packaging/debian. Exit code 77: a compiler of an MPI is not here.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
debs=$(realpath "$1")
place=$root/build/packaging/debian
sources=$root/tests/consumers
python=${SLUICE_PYTHON:-$root/.venv/bin/python}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

fail() {
  echo "debian: $*" >&2
  exit 1
}

quietly() {
  "$@" >"$place/work/log" 2>&1 || {
    tail -20 "$place/work/log" >&2
    fail "failed: $*"
  }
}

rm -rf "$place"
mkdir -p "$place/root" "$place/work"
for package in libsluice0.1 libsluice-dev sluice-bin python3-sluice; do
  deb=$(compgen -G "$debs/${package}_*.deb" | head -1) || fail "no package $package in $debs"
  dpkg -x "$deb" "$place/root"
  echo "$package: $(stat -c %s "$deb") bytes, depends on $(dpkg -f "$deb" Depends)"
done
usr=$place/root/usr
libraries=$(dirname "$(find "$usr/lib" -name libsluice.so)")
command=$usr/bin/sluice
[ -e "$libraries/sluice/hdf5_driver/libsluice_hdf5_driver.so" ] || fail "the HDF5 driver is missing"
for file in share/man/man1/sluice.1.gz share/bash-completion/completions/sluice bin/txt2hdf5 \
  bin/hdf52txt share/doc/libsluice-dev/examples/heat.c share/doc/libsluice0.1/copyright; do
  [ -e "$usr/$file" ] || fail "no file $file"
done
export PKG_CONFIG_PATH=$libraries/pkgconfig LD_LIBRARY_PATH=$libraries

# run MPI PROGRAM WHAT: 4 ranks, and what they wrote.
run() {
  local options=()
  [ "$1" = mpich ] || options=(--oversubscribe)
  timeout 120 "mpiexec.$1" "${options[@]}" -n 4 "${@:4}" "$2" "$place/work/out.h5" \
    >"$place/work/run.log" 2>&1 || {
    tail -20 "$place/work/run.log" >&2
    fail "$3 with $1"
  }
  "$command" verify "$place/work/out.h5" >/dev/null || fail "$3 with $1: the file"
  rm "$place/work/out.h5"
  echo "$3 with $1: 4 ranks, verified"
}

# Packages of pkg-config: of the library, of the Fortran modules for Debian's default MPI.
by_pkg_config() {
  local mpi=$1 flags
  read -ra flags <<<"$(pkg-config --cflags --libs sluice)"
  "mpicc.$mpi" "$sources/c/consumer.c" "${flags[@]}" -o "$place/work/c"
  run "$mpi" "$place/work/c" "C by pkg-config"
  "mpicxx.$mpi" -std=c++20 "$sources/cxx/consumer.cpp" "${flags[@]}" -o "$place/work/cxx"
  run "$mpi" "$place/work/cxx" "C++ by pkg-config"
  if [ "$mpi" = openmpi ]; then
    read -ra flags <<<"$(pkg-config --cflags --libs sluice-openmpi-fortran)"
    mpifort.openmpi "$sources/fortran/consumer.f90" "${flags[@]}" -o "$place/work/fortran"
    run openmpi "$place/work/fortran" "Fortran by pkg-config"
  fi
}

by_cmake() {
  local language
  for language in c cxx fortran; do
    quietly cmake -S "$sources/$language" -B "$place/work/build-$language" \
      -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$usr"
    quietly cmake --build "$place/work/build-$language"
    run openmpi "$place/work/build-$language/consumer" "$language by CMake"
  done
}

for mpi in openmpi mpich; do
  command -v "mpicc.$mpi" >/dev/null || {
    echo "skipped: no mpicc.$mpi here (Debian: apt-get install lib$mpi-dev)"
    exit 77
  }
  by_pkg_config $mpi
done
by_cmake
export PYTHONPATH=$usr/lib/python3/dist-packages PYTHONDONTWRITEBYTECODE=1
run openmpi "$sources/python/consumer.py" "Python" "$python"
"$python" -c 'import sluice, sys; sys.exit(not sluice.__file__.startswith(sys.argv[1]))' "$usr" ||
  fail "Python imported another sluice"
"$command" run -- "$python" - "$place/work/driver.h5" <<'END' ||
import h5py, sys
with h5py.File(sys.argv[1], "w") as f:
    f["x"] = range(9)
    f.flush()
    sys.exit("libsluice_hdf5_driver" not in open("/proc/self/maps").read())
END
  fail "sluice run does not load the driver"
echo "sluice run: the program's HDF5 loads the driver of libsluice0.1"
