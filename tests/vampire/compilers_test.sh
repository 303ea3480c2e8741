#!/usr/bin/env bash
# The same spins, bit for bit, from every compiler here, on 1 to 4 ranks.
#
#   compilers_test.sh DIGEST MPIEXEC...     DIGEST: digest.cpp as the project's own build made it
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
own=$1
shift
mpiexec=("$@")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

"${mpiexec[@]}" -n 1 "$own" >"$scratch/expected"
[ "$(wc -l <"$scratch/expected")" = 3 ] || { echo "no digests from $own" >&2; exit 1; }
cat "$scratch/expected"

compare() { # NAME COMMAND...
  local name=$1
  shift
  "$@" >"$scratch/found"
  diff "$scratch/expected" "$scratch/found" || { echo "FAILED: $name differs" >&2; exit 1; }
  echo "same: $name"
}

for ranks in 2 3 4; do
  compare "$ranks ranks" "${mpiexec[@]}" -n "$ranks" "$own"
done

# All in one: the compilers read the headers of MPI once.
for source in src/model/error apps/common/comm tests/vampire/digest \
  apps/vampire/{cell_index,comm,decomposition,halo,integrator,lattice,measure,neighbours,noise}; do
  printf '#include "%s.cpp"\n' "$root/$source"
done >"$scratch/digest.cpp"
built=0
for compiler in g++ clang++; do
  command -v "$compiler" >/dev/null || {
    echo "skipped: no $compiler here"
    continue
  }
  # march=native offers fused multiply-adds where the processor has them: none may be used.
  OMPI_CXX=$compiler MPICH_CXX=$compiler mpicxx -std=c++20 -O3 -march=native \
    -ffp-contract=off -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX -I"$root/include" \
    -I"$root/apps" -I"$root/apps/vampire" "$scratch/digest.cpp" -o "$scratch/digest"
  compare "$compiler -O3 for this processor, 3 ranks" "${mpiexec[@]}" -n 3 "$scratch/digest"
  built=$((built + 1))
done
[ $built -gt 0 ] || { echo "FAILED: no compiler found" >&2; exit 1; }
