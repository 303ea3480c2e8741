#!/usr/bin/env bash
# Lanczos stopped and gone on with: on another number of ranks, and after kill -9 at any moment; the
# eigenvalues are those of a run without a stop. And a large input, each byte of it read once.
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

# Stopped after 42 iterations on 6 ranks (the last checkpoint is that of 40), gone on with on 15,
# on 1, and on 6 again.
run 6 "${problem[@]}" --iterations 42 --states 5 --checkpoint stopped.h5
for ranks in 15 1 6; do
  cp stopped.h5 "again$ranks.h5"
  run "$ranks" "${problem[@]}" --checkpoint "again$ranks.h5"
  grep -q '^resumed after iteration 40$' log || fail "$ranks ranks: $(cat log)"
  same "gone on with on $ranks ranks"
done

# A checkpoint of another problem is refused.
if "${mpiexec[@]}" -n 1 "$mfdn" solve --seed 2 --every 5 --checkpoint stopped.h5 >log 2>&1; then
  fail "another problem's checkpoint was taken"
fi
grep -q 'is a checkpoint of another run' log || fail "$(cat log)"

# Killed again and again, each time somewhere after its first or second checkpoint of its own.
kills=0
last=0
for delay in 0 0.002 0.005 0.01 0.02 0.05; do
  "${mpiexec[@]}" -n 6 "$mfdn" "${problem[@]}" --checkpoint killed.h5 >killed.log 2>&1 &
  launcher=$!
  for _ in $(seq 3000); do
    said=$(grep -c 'is durable$' killed.log || true)
    if [ "$said" -gt $((kills % 2)) ] || ! kill -0 "$launcher" 2>/dev/null; then break; fi
    sleep 0.01
  done
  sleep "$delay"
  pids=$(pgrep -P "$launcher" || true)
  # shellcheck disable=SC2086  # a list
  [ -z "$pids" ] || kill -9 $pids 2>/dev/null || true
  kill -9 "$launcher" 2>/dev/null || true
  wait "$launcher" 2>/dev/null || true
  # A rank that was sent SIGKILL holds the writer lease until it is gone.
  for pid in $pids; do
    for _ in $(seq 3000); do
      state=$(ps -o stat= -p "$pid" || true)
      case $state in '' | Z*) break ;; esac
      sleep 0.01
    done
  done
  kills=$((kills + 1))
  from=$(sed -n 's/^resumed after iteration \([0-9]*\)$/\1/p' killed.log)
  [ -z "$from" ] || [ "$from" -ge "$last" ] || fail "acknowledged $last, resumed after $from"
  said=$(sed -n 's/^checkpoint: iteration \([0-9]*\) is durable$/\1/p' killed.log | tail -1)
  [ -z "$said" ] || last=$said
done
run 15 "${problem[@]}" --checkpoint killed.h5
from=$(sed -n 's/^resumed after iteration \([0-9]*\)$/\1/p' log)
[ "$last" -ge 30 ] || fail "the kills came too early: $last"
[ "${from:-0}" -ge "$last" ] || fail "acknowledged $last, resumed after ${from:-0}"
same "after $kills kills"
echo "kills: $kills; acknowledged before the last run: $last; resumed after ${from:-0}"

# 35 MB of a three-body force, by 1 rank and by 6: the same energies, each byte read once.
run 3 make-three-body --three-body three.h5 --channels 40000
run 1 "${problem[@]}" --three-body three.h5
energies >whole
run 6 "${problem[@]}" --three-body three.h5
same "three-body force on 6 ranks"
awk '/^three-body file:/ { print; found = 1; exit $7 > 1.02 * $3 || $7 < $3 }
     END { if (!found) exit 1 }' log || fail "bytes read: $(cat log)"
