#!/usr/bin/env bash
# One run by each strategy: `sluice diff` finds the datasets of all seven equal, bit for bit, from a
# lattice and from real snapshots of VAMPIRE's three modes; and it finds a run with another seed
# different.
#
#   strategies_test.sh VAMPIRE SLUICE MPIEXEC...
set -euo pipefail

# shellcheck source=tests/vampire/test_lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/test_lib.sh"

# run FILE OPTION...: on four ranks.
run() {
  local output=$1
  shift
  "${mpiexec[@]}" -n 4 "$vampire" --output "$output" "$@" >log 2>&1 || fail "$*: $(cat log)"
}

# by_all WHAT OPTION...: a run by each strategy, each compared with that of one writer.
by_all() {
  local what=$1 file files
  shift
  mkdir "$what"
  run "$what/serial.h5" --strategy serial "$@"
  run "$what/shared.h5" --strategy shared "$@"
  run "$what/collective.h5" --strategy collective --writers 3 "$@"
  run "$what/forward.h5" --strategy forward --writers 2 "$@"
  run "$what/auto.h5" --strategy auto "$@"
  run "$what/process.h5" --strategy file-per-process "$@"
  run "$what/node.h5" --strategy file-per-node --writers 2 "$@"
  for file in process:4 node:2; do
    files=$(find "$what/${file%:*}.h5.parts" -name '*.h5' | wc -l)
    [ "$files" = "${file#*:}" ] || fail "$what/${file%:*}.h5 has $files parts, not ${file#*:}"
  done
  for file in shared collective forward auto process node; do
    "$sluice" diff "$what/serial.h5" "$what/$file.h5" >log 2>&1 ||
      fail "$what: serial and $file differ: $(cat log)"
    grep -q spins log || fail "$what: the spins were not compared: $(cat log)"
  done
  echo "seven equal datasets: $what"
}

by_all lattice --lattice bcc --size 9 8 7 --start random --temperature 300 --steps 12 --every 4
run other.h5 --lattice bcc --size 9 8 7 --start random --temperature 300 --steps 12 --every 4 \
  --seed 2
status=0
"$sluice" diff lattice/serial.h5 other.h5 >log 2>&1 || status=$?
[ $status = 1 ] || fail "exit code $status for runs that differ: $(cat log)"

if [ -d "$data" ]; then
  for mode in fpp-binary mpiio-binary fpnode2-text; do
    by_all "$mode" --start-from "$data/$mode" --temperature 300 --steps 4 --every 2
  done
else
  echo "skipped: no real snapshots in $data"
fi
