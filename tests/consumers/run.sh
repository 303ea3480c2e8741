#!/usr/bin/env bash
# One consumer of the installed library, built far from the source tree and run.
#
#   run.sh install MPI          installs into the prefix; mpich: its Fortran modules beside
#   run.sh cxx|c|fortran MPI    by CMake's find_package(Sluice)
#   run.sh makefile MPI         by make, pkg-config and a plain C compiler
#   run.sh refused MPI          what find_package says where it cannot help
#   run.sh python MPI           by `pip install` into a fresh environment
#
# Exit code 77: skipped, and the last line says why. Everything lies in <build>/consumers.
set -euo pipefail

what=$1
mpi=$2
sources=$SLUICE_SOURCE_DIR/tests/consumers
place=$SLUICE_BUILD_DIR/consumers
prefix=$place/prefix
work=$place/$what-$mpi

fail() {
  echo "consumers: $*" >&2
  exit 1
}

# -- the MPI: `launch` runs a program on several ranks, `options` tell CMake which MPI it is ------
read -ra mpiexec <<<"$SLUICE_MPIEXEC"
ranks=4
options=()
if [ "$mpi" != "$SLUICE_MPI_NAME" ]; then
  for program in mpicc mpicxx mpiexec; do
    command -v $program."$mpi" >/dev/null || {
      echo "skipped: no $program.$mpi here (Debian: apt-get install libmpich-dev mpich)"
      exit 77
    }
  done
  ranks=2
  mpiexec=("$(command -v mpiexec."$mpi")")
  options=(-DMPI_C_COMPILER=mpicc."$mpi" -DMPI_CXX_COMPILER=mpicxx."$mpi"
    -DMPI_Fortran_COMPILER=mpifort."$mpi" "-DMPIEXEC_EXECUTABLE=${mpiexec[0]}")
fi
launch() { timeout 120 "${mpiexec[@]}" -n "$ranks" "$@"; }

components=(library)
targets=()
if [ "$SLUICE_HAS_FORTRAN" = 1 ]; then
  components+=(fortran)
  targets=(sluice_fortran)
fi

# quietly LOG COMMAND...: its output only where it fails.
quietly() {
  local log=$1
  shift
  "$@" >"$log" 2>&1 || {
    tail -n 40 "$log" >&2
    fail "failed: $* (log: $log)"
  }
}

install_from() {
  local component
  for component in "${components[@]}"; do
    quietly "$place/install-$mpi-$component.log" \
      cmake --install "$1" --prefix "$2" --component "$component"
  done
}

install_own() {
  components+=(command)
  rm -rf "$place"
  mkdir -p "$place"
  # Installed here and moved there: nothing may hold on to the name of the prefix.
  install_from "$SLUICE_BUILD_DIR" "$place/first"
  mv "$place/first" "$prefix"
  if grep -rIl "$place/first" "$prefix"; then
    fail "these files name the prefix"
  fi
}

# The library serves that MPI too; what has to be compiled anew are the Fortran modules, and those
# alone.
install_other() {
  [ "$SLUICE_HAS_FORTRAN" = 1 ] || return 0
  components=(fortran)
  command -v ccache >/dev/null &&
    options+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_C_COMPILER_LAUNCHER=ccache)
  local build=$SLUICE_BUILD_DIR-$mpi
  quietly "$place/configure-$mpi.log" cmake -G Ninja -S "$SLUICE_SOURCE_DIR" -B "$build" \
    -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE=-O0 -DSLUICE_UNITY=ON \
    -DSLUICE_COMMAND=OFF "${options[@]}"
  [ "$(grep -Ec '^--   (apps  *none|tests  *not built.*)$' "$place/configure-$mpi.log")" = 2 ] ||
    fail "tests or small simulations are built unless told ($place/configure-$mpi.log)"
  quietly "$place/build-$mpi.log" cmake --build "$build" -j 2 --target "${targets[@]}"
  ! grep -q "Building CXX" "$place/build-$mpi.log" || fail "the modules need the library's objects"
  install_from "$build" "$prefix"
}

check_prefix() {
  local file soname
  for file in lib/libsluice.so lib/cmake/Sluice/SluiceConfig.cmake lib/pkgconfig/sluice.pc \
    include/sluice/sluice.h include/sluice/sluice.hpp share/sluice/fortran/sluice.F90 bin/sluice \
    bin/txt2hdf5 bin/hdf52txt share/man/man1/sluice.1 share/doc/sluice/LICENSE \
    share/man/man1/sluice-verify.1 share/man/man3/sluice_end_step.3 \
    share/doc/sluice/examples/heat.c share/bash-completion/completions/sluice; do
    [ -e "$prefix/$file" ] || fail "not installed: $file"
  done
  soname=$(objdump -p "$prefix/lib/libsluice.so" | awk '$1 == "SONAME" { print $2 }')
  [[ $soname =~ ^libsluice\.so\.(0\.[0-9]+|[1-9][0-9]*)$ ]] || fail "SONAME $soname"
  echo "installed: $soname, $(du -sh "$prefix" | cut -f1) in all"
}

# check_file FILE: what the consumer wrote, seen by the installed command.
check_file() {
  "$prefix/bin/sluice" verify "$1"
  "$prefix/bin/sluice" ls "$1" | grep -Eq "^x +float64 +$((1000 * ranks)) +3 " ||
    fail "sluice ls does not show x"
}

fresh_work() {
  rm -rf "$work"
  mkdir -p "$work"
}

by_cmake() {
  fresh_work
  cp -r "$sources/$what" "$work/source"
  quietly "$work/configure.log" cmake -G Ninja -S "$work/source" -B "$work/build" \
    -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Release "${options[@]}"
  quietly "$work/build.log" cmake --build "$work/build"
  launch "$work/build/consumer" "$work/out.h5"
  check_file "$work/out.h5"
}

by_make() {
  fresh_work
  cp "$sources/makefile/Makefile" "$sources/c/consumer.c" "$work"
  local paths=$prefix/lib/pkgconfig
  PKG_CONFIG_PATH=$paths quietly "$work/build.log" make -C "$work" PKG=sluice CC="mpicc.$mpi"
  launch "$work/consumer" "$work/out.h5"
  check_file "$work/out.h5"
}

# refuse NAME CMAKELISTS TEXT: configuring fails, and says TEXT in words.
refuse() {
  mkdir -p "$work/$1"
  printf 'cmake_minimum_required(VERSION 3.25)\n%s\n' "$2" >"$work/$1/CMakeLists.txt"
  if cmake -S "$work/$1" -B "$work/$1/build" -DCMAKE_PREFIX_PATH="$prefix" \
    >"$work/$1.log" 2>&1; then
    fail "$1: was accepted"
  fi
  tr -s ' \n' ' ' <"$work/$1.log" | grep -qF "$3" || {
    cat "$work/$1.log" >&2
    fail "$1: does not say '$3'"
  }
  echo "$1: $3"
}

by_refusal() {
  fresh_work
  refuse language 'project(p LANGUAGES C)
    find_package(Sluice REQUIRED COMPONENTS CXX)' 'the project does not use that language'
  refuse component 'project(p LANGUAGES C)
    find_package(Sluice REQUIRED COMPONENTS Ada)' 'no component Ada: there are C, CXX and Fortran'
  refuse mpi 'project(p LANGUAGES Fortran)
    set(Sluice_MPI intel)
    find_package(Sluice REQUIRED COMPONENTS Fortran)' "the MPI in use is 'intel', and here are"
  refuse version 'project(p LANGUAGES C)
    find_package(Sluice 99 REQUIRED COMPONENTS C)' 'requested version "99"'
}

# A fresh environment that finds the dependencies where the tests have theirs: no network.
make_environment() {
  fresh_work
  "$SLUICE_PYTHON" -m venv "$work/venv"
  local there here
  there=$("$SLUICE_PYTHON" -c 'import numpy, os; print(os.path.dirname(numpy.__path__[0]))')
  here=$("$work/venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  echo "$there" >"$here/dependencies.pth"
  unset PYTHONPATH SLUICE_LIBRARY
  command -v ccache >/dev/null && export CMAKE_CXX_COMPILER_LAUNCHER=ccache
  export CC=cc CXX=c++  # as the other builds: ccache goes by the name
  quietly "$work/pip.log" "$work/venv/bin/python" -m pip install --no-index --no-deps \
    --no-build-isolation --disable-pip-version-check \
    --config-settings=build-dir="$SLUICE_BUILD_DIR-pip" "$SLUICE_SOURCE_DIR"
  cd "$work"
}

by_pip() {
  make_environment
  venv/bin/python -c 'import sluice; assert sluice.__file__.startswith("'"$work"'"), sluice'
  launch venv/bin/python "$sources/python/consumer.py" "$work/out.h5"
  check_file "$work/out.h5"
}

case $what in
  install)
    if [ "$mpi" = "$SLUICE_MPI_NAME" ]; then install_own; else install_other; fi
    check_prefix
    ;;
  cxx | c | fortran) by_cmake ;;
  makefile) by_make ;;
  refused) by_refusal ;;
  python) by_pip ;;
  *) fail "what is $what?" ;;
esac
echo "ok: $what with $mpi"
