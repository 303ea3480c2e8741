#!/usr/bin/env bash
# The application as a person runs it: the same digest and the same table whatever the ranks and
# the strategy, from a lattice and from real snapshots; bad input gives one line and exit code 2.
#
#   app_test.sh VAMPIRE SLUICE MPIEXEC...
set -euo pipefail

# shellcheck source=tests/vampire/test_lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/test_lib.sh"

# table RANKS OPTION...: what does not depend on ranks and time: the table and the digest.
table() {
  local ranks=$1
  shift
  "${mpiexec[@]}" -n "$ranks" "$vampire" --digest --output spins.h5 "$@" >log ||
    fail "$*: $(cat log)"
  grep -E '^ *[0-9]+ +[0-9.]+ |^digest' log
  grep -q '^output: .* MB/s$' log || fail "no line on the cost of output"
}

# same RUNS OPTION...: as on one rank, by each of RUNS: "RANKS STRATEGY, ...".
same() {
  local run ranks strategy
  local -a runs
  IFS=, read -ra runs <<<"$1"
  shift
  table 1 --strategy serial "$@" >expected
  grep -q '^digest: [0-9a-f]\{16\}$' expected || fail "no digest"
  for run in "${runs[@]}"; do
    read -r ranks strategy <<<"$run"
    table "$ranks" --strategy "$strategy" "$@" >found
    diff expected found || fail "$ranks ranks, $strategy: $*"
  done
  echo "the same by ${runs[*]}: $* -> $(tail -1 expected)"
}

# Every kind of lattice on 1 to 4 ranks, bit for bit: decomposition_test.cpp; the real snapshots by
# every strategy: strategies_test.sh.
same "1 shared, 2 serial, 3 shared, 4 shared" \
  --lattice bcc --size 6 5 4 --start random --temperature 300 --steps 20 --every 7
same "4 serial" --lattice fcc --size 3 4 5 --periodic none --steps 10 --every 10 --temperature 50
if [ -d "$data" ]; then
  for mode in fpp-binary mpiio-binary fpnode2-text; do
    same "3 shared" --start-from "$data/$mode" --temperature 300 --steps 4 --every 2
    grep -q 'magnetisation direction 0.00449875 0.00335078 0.999984, as its meta file says' log ||
      fail "$mode: not the magnetisation of the meta file: $(cat log)"
  done
else
  echo "skipped: no real snapshots in $data"
fi

# refused WHAT OPTION...: one line that holds WHAT, exit code 2, no output file of that run.
refused() {
  local what=$1 status=0
  shift
  "${mpiexec[@]}" -n 3 "$vampire" "$@" >log 2>errors || status=$?
  [ $status = 2 ] || fail "exit code $status for $*: $(cat errors)"
  [ "$(grep -c '^vampire: ' errors)" = 1 ] || fail "not one line for $*: $(cat errors)"
  grep '^vampire: ' errors | grep -qF -- "$what" || fail "'$what' is not in: $(cat errors)"
  echo "refused: $(grep '^vampire: ' errors)"
}

refused "no such folder" --start-from nowhere
refused "not in" --lattice hcp
refused "--frobnicate" --frobnicate
refused "--dt must be positive" --dt 0
refused "strategy" --strategy telepathy --steps 1
refused "no-such-folder" --output no-such-folder/spins.h5 --steps 1
refused "smaller --dt" --exchange 1e300 --start random --steps 1 --every 1
mkdir made
printf '%s\n' '#' '#' '#' '#' '#' 'Format: binary' '#' 'Number of atoms: 2' '#' \
  'Number of materials: 1' $'0\t1.7\tCo\tCo' '#' 'Number of coord files: 1' 'atoms-coords.data' \
  >made/atoms-coords.meta
printf '%s\n' '#' '#' '#' '#' '#' 'Time: 0' $'Field: 0\t0\t0' 'Temperature: 0' \
  $'Magnetisation: 0\t0\t1' '#' 'Number of spin files: 1' 'spins-00000000.data' '#' \
  >made/spins-00000000.meta
refused "atoms-coords.data, which does not exist" --start-from made
printf '2\n0\t0\t0\t0\t0\n0\t0\t3\t0\t0\n' >made/atoms-coords.data
printf '2\n0\t0\t1\n0\t0\t' >made/spins-00000000.data
refused "spins-00000000.data" --start-from made
printf '2\n0\t0\t1\n0\t0\t2\n' >made/spins-00000000.data
refused "atom 1 of the snapshot: its spin has length 2" --start-from made
printf '2\n0\t0\t1\n0\t0\t1\n' >made/spins-00000000.data
refused "no snapshot 7" --start-from made --snapshot 7
printf '2\n0\t0\t0\t0\t0\n0\t0\t0\t0\t0\n' >made/atoms-coords.data
refused "same place" --start-from made
printf '2\n0\t0\t0\t0\t0\n0\t0\t3\t0\t0\n' >made/atoms-coords.data
table 2 --start-from made --steps 1 --every 1 >/dev/null

# A number that is missing: the last snapshot is the last one that is there.
sed 's/spins-00000000/spins-00000002/' made/spins-00000000.meta >made/spins-00000002.meta
cp made/spins-00000000.data made/spins-00000002.data
"${mpiexec[@]}" -n 2 "$vampire" --start-from made --steps 1 --every 1 >log 2>&1 ||
  fail "a folder without snapshot 1: $(cat log)"
for said in 'snapshot 2 of 0, 2 ' \
  'no snapshot 1 (spins-00000001.meta is not there): read are 0, 2'; do
  grep -qF "$said" log || fail "'$said' is not in: $(cat log)"
done
refused "no snapshot 1: there are the numbers 0, 2" --start-from made --snapshot 1
