#!/usr/bin/env bash
# Lanczos gone on with from a checkpoint on another number of ranks: the eigenvalues are those of a
# run without one (tests/restart kills it). And a large input, each byte of it read once.
#
#   restart_test.sh MFDN MPIEXEC...
set -euo pipefail

mfdn=$1
shift
mpiexec=("$@")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
problem=(solve --tolerance 1e-9 --every 5 --no-sync)

fail() { echo "FAILED: $*" >&2; exit 1; }

# run RANKS OPTION...: into the file `log`.
run() {
  "${mpiexec[@]}" -n "$1" "$mfdn" "${@:2}" >log 2>&1 || fail "$*: $(cat log)"
}
energies() { awk '/^state/ { on = 1; next } /^orthogonality/ { on = 0 } on { print $2 }' log; }

# same WHAT: the energies in `log` and in `whole` differ by 1e-10 at most.
same() {
  energies >these
  [ "$(wc -l <these)" = 15 ] || fail "$1: $(cat log)"
  paste whole these |
    awk '{ d = $1 - $2; if (d > 1e-10 || d < -1e-10) bad = 1 } END { exit bad }' ||
    fail "$1: $(paste whole these)"
}

run 6 "${problem[@]}"
energies >whole

# Done on 6 ranks; gone on with from its last checkpoint on 15, on 1, and on 6 again.
run 6 "${problem[@]}" --checkpoint done.h5
for ranks in 15 1 6; do
  run "$ranks" "${problem[@]}" --checkpoint done.h5
  grep -q '^resumed after iteration [1-9][0-9]*$' log || fail "$ranks ranks: $(cat log)"
  same "gone on with on $ranks ranks"
done

# As many iterations as states; fewer are refused in a line.
run 1 solve --states 2 --iterations 2 --file few.h5
refused() {
  local code=0
  "${mpiexec[@]}" -n 1 "$mfdn" solve "${@:2}" --file few.h5 >log 2>&1 || code=$?
  [ "$code" = 2 ] || fail "${*:2}: code $code: $(cat log)"
  grep -q "^mfdn: $1" log || fail "${*:2}: $(cat log)"
}
refused '--iterations: at least as many as --states' --states 8 --iterations 5
refused '--states: at least 1' --states 0

# MPI-IO's errors are told: no size can be set, and nothing be synced, of a device.
if run_mpiio=$("${mpiexec[@]}" -n 1 "$mfdn" solve --states 2 --backend mpiio --file /dev/null 2>&1)
then
  fail "written to a device: $run_mpiio"
fi
grep -q '^mfdn: /dev/null: ' <<<"$run_mpiio" || fail "$run_mpiio"

# A checkpoint of another problem is refused.
if "${mpiexec[@]}" -n 1 "$mfdn" solve --seed 2 --every 5 --checkpoint done.h5 >log 2>&1; then
  fail "another problem's checkpoint was taken"
fi
grep -q 'is a checkpoint of another run' log || fail "$(cat log)"

# 35 MB of a three-body force, by 1 rank and by 6: the same energies, each byte read once.
run 3 make-three-body --three-body three.h5 --channels 40000
run 1 "${problem[@]}" --three-body three.h5
energies >whole
run 6 "${problem[@]}" --three-body three.h5
same "three-body force on 6 ranks"
awk '/^three-body file:/ { print; found = 1; exit $7 > 1.02 * $3 || $7 < $3 }
     END { if (!found) exit 1 }' log || fail "bytes read: $(cat log)"
