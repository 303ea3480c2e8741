#!/usr/bin/env bash
# One run through Sluice and through each of VAMPIRE's own modes: the same atoms with the same spins
# are read back, from as many files as were asked for.
#
#   modes_test.sh VAMPIRE SLUICE MPIEXEC...
set -euo pipefail

# shellcheck source=tests/vampire/test_lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/test_lib.sh"

# simulate RANKS OPTION...
simulate() {
  local ranks=$1
  shift
  "${mpiexec[@]}" -n "$ranks" "$vampire" --size 6 5 4 --temperature 300 --steps 2 --every 1 \
    --start random "$@" >log 2>&1 || fail "$*: $(cat log)"
}

# rows WHAT: place and spin of every atom in the last frame, in an order of their own.
rows() {
  rm -f rows.txt
  "$sluice" convert "$1" rows.txt --frames 2 >/dev/null
  sort rows.txt
}

simulate 1 --output whole.h5
rows whole.h5 >expected
[ "$(wc -l <expected)" = 120 ] || fail "the run has $(wc -l <expected) atoms, not 120"

# check RANKS FILES OPTION...: reads back, and counts the files of a snapshot.
check() {
  local ranks=$1 files=$2 found
  shift 2
  rm -rf folder
  simulate "$ranks" --output folder "$@"
  rows folder >found
  diff expected found >/dev/null || fail "$ranks ranks, $*: other atoms or spins"
  found=$(find folder -name 'spins-00000001*.data' -o -name 'atoms*-00000001.cfg' | wc -l)
  [ "$found" = "$files" ] || fail "$ranks ranks, $*: $found files, not $files"
  [ "$(grep -c '^snapshot [0-9]*: [0-9]* bytes; cached' log)" = 3 ] || fail "$*: $(cat log)"
}

# Every mode, number of files and form on 1 to 5 ranks: tests/dialect/vampire_write_test.cpp.
for ranks in 2 5; do
  check "$ranks" "$ranks" --mode file-per-process
  check "$ranks" 1 --mode mpi-io --text
  check "$ranks" 2 --mode file-per-node --writers 2
  check "$ranks" "$ranks" --mode legacy
done
echo "every mode holds the run"
