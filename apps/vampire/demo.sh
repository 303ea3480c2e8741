#!/usr/bin/env bash
# The demo: quenches a thin magnetic film on 4 ranks, looks at the file, checks it, draws it.
#
#   apps/vampire/demo.sh [option of vampire...]      (e.g. --steps 500 for a short one)
#
# Environment: SLUICE_BUILD_DIR (or BUILD_DIR; default build/release), SLUICE_PYTHON (default
# .venv/bin/python), SLUICE_OUT (where the results go; default out/vampire), SLUICE_RANKS (4).
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=${SLUICE_BUILD_DIR:-${BUILD_DIR:-$root/build/release}}
python=${SLUICE_PYTHON:-$root/.venv/bin/python}
out=${SLUICE_OUT:-$root/out/vampire}
ranks=${SLUICE_RANKS:-4}
vampire=$build/apps/vampire/vampire
sluice=$build/cli/sluice
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

for program in "$vampire" "$sluice"; do
  if [ ! -x "$program" ]; then
    echo "demo.sh: $program is not built: run ./dev build" >&2
    exit 2
  fi
done

# Shows a command, then runs it.
run() {
  printf '\n\033[1m$ %s\033[0m\n' "${*/#$root\//}"
  "$@"
}

mkdir -p "$out"
# Open MPI refuses more ranks than cores unless told; other implementations know no such option.
launch=(mpirun -n "$ranks")
if mpirun --version 2>/dev/null | grep -q 'Open MPI'; then
  launch=(mpirun --oversubscribe -n "$ranks")
fi

# An easy plane (negative anisotropy) makes vortices of the spins' directions.
run "${launch[@]}" "$vampire" --lattice sc --size 160 160 2 --periodic xy --start random \
  --exchange 30 --anisotropy -3 --damping 0.3 --temperature 10 --steps 2500 --every 50 \
  --output "$out/spins.h5" "$@"
run "$sluice" ls "$out/spins.h5"
run "$sluice" verify "$out/spins.h5"
run "$python" "$root/apps/vampire/draw.py" "$out/spins.h5" "$out/spins.png"
printf '\nLook at %s\n' "${out/#$root\//}/spins.png"
