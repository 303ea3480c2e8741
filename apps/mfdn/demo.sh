#!/usr/bin/env bash
# The demo: the lowest states of Li-6 on 6 ranks, their properties filled in by a second job on 15,
# and what is in the file.
#
#   apps/mfdn/demo.sh [option of mfdn...]
#
# Environment: SLUICE_BUILD_DIR (default build/release), SLUICE_OUT (default out/mfdn).
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=${SLUICE_BUILD_DIR:-$root/build/release}
out=${SLUICE_OUT:-$root/out/mfdn}
mfdn=$build/apps/mfdn/mfdn
sluice=$build/cli/sluice
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

for program in "$mfdn" "$sluice"; do
  if [ ! -x "$program" ]; then
    echo "demo.sh: $program is not built: run ./dev build (with a Fortran compiler)" >&2
    exit 2
  fi
done

# Shows a command, then runs it.
run() {
  printf '\n\033[1m$ %s\033[0m\n' "${*/#$root\//}"
  "$@"
}

mkdir -p "$out"
launch=(mpirun)
if mpirun --version 2>/dev/null | grep -q 'Open MPI'; then
  launch=(mpirun --oversubscribe)
fi

run "${launch[@]}" -n 6 "$mfdn" solve --properties later --structure --file "$out/li6.h5" "$@"
run "${launch[@]}" -n 15 "$mfdn" observe --file "$out/li6.h5"
run "$sluice" ls "$out/li6.h5"
run "$sluice" verify "$out/li6.h5"
