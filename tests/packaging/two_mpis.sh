#!/usr/bin/env bash
# One libsluice, which is linked to no MPI, called by C programs of Open MPI and of MPICH.
#
#   two_mpis.sh LIBRARY     exit code 77: one of the two is not installed
set -euo pipefail

library=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if ldd "$library" | grep -qi 'libmpi'; then
  echo "the library is linked to an MPI" >&2
  exit 1
fi
for mpi in openmpi mpich; do
  command -v "mpicc.$mpi" >/dev/null || {
    echo "skipped: no mpicc.$mpi here (Debian: apt-get install lib$mpi-dev)"
    exit 77
  }
  "mpicc.$mpi" "$SLUICE_SOURCE_DIR/tests/consumers/c/consumer.c" "-I$SLUICE_SOURCE_DIR/include" \
    "$library" "-Wl,-rpath,$(dirname "$library")" -o "$work/$mpi"
  options=()
  [ $mpi = mpich ] || options=(--oversubscribe)
  timeout 60 "mpiexec.$mpi" "${options[@]}" -n 4 "$work/$mpi" "$work/$mpi.h5"
done
"$SLUICE_PYTHON" - "$work" <<'END'
import sys
import h5py
with h5py.File(sys.argv[1] + "/openmpi.h5") as a, h5py.File(sys.argv[1] + "/mpich.h5") as b:
    assert a["x"].shape == b["x"].shape == (3, 4000), (a["x"].shape, b["x"].shape)
    assert (a["x"][:] == b["x"][:]).all()
print("the same values by both")
END
