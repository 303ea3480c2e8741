#!/usr/bin/env bash
# VAMPIRE's own input file: the real ones run in their modes, through Sluice too; what is not known
# is one line with the nearest known keyword.
#
#   input_test.sh VAMPIRE SLUICE MPIEXEC...
set -euo pipefail

# shellcheck source=tests/vampire/test_lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/test_lib.sh"

cat >Co.mat <<'END'
material:num-materials=1
material[1]:material-name="Co"
material[1]:damping-constant=1.0
material[1]:exchange-matrix[1]=11.2e-21
material[1]:atomic-spin-moment=1.72 !muB
material[1]:uniaxial-anisotropy-constant=1.0e-24
material[1]:material-element="Ag "
material[1]:initial-spin-direction=0,0,1
END

small='create:crystal-structure = sc
dimensions:unit-cell-size = 3.54 !A
dimensions:system-size = 2 !nm   # 6 x 6 x 6 atoms
material:file = Co.mat
sim:temperature = 300.0
sim:total-time-steps = 4
sim:time-steps-increment = 2
sim:time-step = 1 !fs
sim:integrator-random-seed = 7
config:atoms
config:atoms-output-rate = 1'

# run RANKS FOLDER: the input in FOLDER.
run() {
  (cd "$2" && "${mpiexec[@]}" -n "$1" "$vampire" --input input "${@:3}" >log 2>&1) ||
    fail "$2: $(cat "$2/log")"
}
made() { mkdir -p "$1" && cp Co.mat "$1" && printf '%s\n' "$small" "${@:2}" >"$1/input"; }
rows() { rm -f rows.txt && "$sluice" convert "$1" rows.txt --frames 1 >/dev/null && sort rows.txt; }

made either
run 2 either
rows either >expected
[ "$(wc -l <expected)" = 216 ] || fail "$(wc -l <expected) atoms, not 216"
grep -q '^Format: text' either/atoms-coords.meta || fail "text is VAMPIRE's default"
grep -qP '^0\t1.72\tAg\tCo$' either/atoms-coords.meta || fail "$(cat either/atoms-coords.meta)"
[ "$(find either -name 'spins-*.meta' | wc -l)" = 2 ] || fail "not two snapshots"
run 3 either --output spins.h5
rows either/spins.h5 >found
diff expected found >/dev/null || fail "through Sluice the run is another one"

made half "config:atoms-maximum-x = 0.49" "config:atoms-minimum-z = 0.5" \
  "config:output-mode = mpi-io" "config:output-format = binary"
run 3 half
rows half >found
[ "$(wc -l <found)" = 54 ] || fail "a quarter of the box has $(wc -l <found) atoms, not 54"
run 2 half --every-atom 4
rows half >found
[ "$(wc -l <found)" -lt 30 ] || fail "one atom of four: $(wc -l <found)"
made last "config:atoms = end" "config:output-mode = legacy"
run 2 last
[ "$(find last -name 'atoms-0000000?.cfg' | wc -l)" = 1 ] || fail "not the last alone"

# refused WORD LINE: one line that names the place and holds WORD, on every rank the same.
refused() {
  made wrong "$2"
  if (cd wrong && "${mpiexec[@]}" -n 2 "$vampire" --input input >log 2>&1); then
    fail "accepted: $2"
  fi
  [ "$(grep -c '^vampire: ' wrong/log)" = 1 ] || fail "$2: $(cat wrong/log)"
  grep '^vampire: input:12: ' wrong/log | grep -qF -- "$1" || fail "$2: $(cat wrong/log)"
}
refused "the nearest one is config:output-mode" "config:output-mod = mpi-io"
refused "the nearest one is sim:temperature" "sim:temprature = 3"
refused "none of file-per-node" "config:output-mode = mpiio"
refused "expected a number" "sim:temperature = hot"
refused "the unit !inch" "dimensions:unit-cell-size = 1 !inch"
refused "from 0 to 1" "config:atoms-minimum-x = 3"

if [ ! -d "$data" ]; then
  echo "no real input in $data (set SLUICE_DATA): the made up ones are right"
  exit 0
fi
for mode in fpp-binary mpiio-binary fpnode2-text; do
  mkdir "$mode"
  cp "$data/$mode/input" "$mode"
  cp Co.mat "$mode"
  run 4 "$mode"
  diff <(cd "$data/$mode" && ls) <(cd "$mode" && ls -I Co.mat -I log) || fail "$mode: other files"
  diff <(grep -v Date "$data/$mode/atoms-coords.meta" | tr -d ' ') \
    <(grep -v Date "$mode/atoms-coords.meta" | tr -d ' ') || fail "$mode: another meta"
  rows "$mode" >"$mode.rows"
  [ "$(wc -l <"$mode.rows")" = 10648 ] || fail "$mode: $(wc -l <"$mode.rows") atoms"
  diff "$mode.rows" fpp-binary.rows >/dev/null || fail "$mode: another run"
done
rm fpp-binary/Co.mat
run 1 fpp-binary
grep -q 'note: Co.mat is not there: cobalt is simulated' fpp-binary/log || fail "no note on Co.mat"
echo "VAMPIRE's input files run"
