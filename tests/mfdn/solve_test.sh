#!/usr/bin/env bash
# Wave functions on one number of ranks: solved, stored in every way, read back by others.
#
#   solve_test.sh MFDN SLUICE DIAGONALS MPIEXEC...
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
mfdn=$1 sluice=$2 n=$3
shift 3
mpiexec=("$@")
python=${SLUICE_PYTHON:-python3}
check=$root/tests/mfdn/check_wave_functions.py
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

fail() { echo "FAILED: $*" >&2; exit 1; }

# run OPTION...: on n (n + 1) / 2 ranks, into the file `log`.
run() {
  "${mpiexec[@]}" -n $((n * (n + 1) / 2)) "$mfdn" "$@" >log 2>&1 || fail "$*: $(cat log)"
}

# One file, properties reserved; filled in by another job, on another number of ranks.
run solve --structure --properties later --file late.h5
grep -q '^basis: 800 states' log || fail "$(cat log)"
"$python" -B "$check" late.h5 "$n" --unfilled
h5dump -n late.h5 | grep -q 'dataset    /GRP15/Properties15' || fail "$(h5dump -n late.h5)"
"${mpiexec[@]}" -n 6 "$mfdn" observe --file late.h5 >log 2>&1 || fail "observe: $(cat log)"
"$python" -B "$check" late.h5 "$n"
"$sluice" verify late.h5 >log 2>&1 || fail "verify: $(cat log)"

# By each mode and strategy the same bytes, with the properties filled in by the same job.
for how in "--mode independent" "--mode collective" "--strategy serial" \
  "--backend hdf5-mpiio --mode independent" \
  "--backend hdf5-mpiio --mode collective --hints cb_nodes=1"; do
  # shellcheck disable=SC2086  # words
  run solve --structure --file now.h5 $how
  "$python" -B "$check" now.h5 "$n"
  "$sluice" diff late.h5 now.h5 --tolerance 1e-6 >log 2>&1 || fail "$how: $(cat log)"
done

# Without HDF5: flat files, and a file a rank.
for how in "raw" "root" "mpiio" "mpiio --mode collective --hints cb_nodes=1"; do
  # shellcheck disable=SC2086
  run solve --file flat --backend $how
  grep -Eq 'deviation  [0-9.]+E-0[5-9]' log || fail "$how: $(cat log)"
  "$python" - late.h5 flat <<'PYTHON' || fail "$how: another file"
import sys, h5py, numpy
with h5py.File(sys.argv[1]) as file:
    whole = numpy.concatenate([file[f"GRP{i:02}/EigenVector{i:02}"][:] for i in range(1, 16)])
flat = numpy.fromfile(sys.argv[2], "<f4")
assert flat.shape == whole.shape and abs(abs(flat) - abs(whole)).max() < 1e-5
PYTHON
done
run solve --file smwf --backend processes
[ "$(find smwf -name 'mfdn_smwf*' | wc -l)" = "$n" ] || fail "files: $(ls smwf)"
echo "wave functions on $n diagonal ranks: as stored, as read, as joined"
