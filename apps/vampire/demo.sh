#!/usr/bin/env bash
# The demo: quenches a thin magnetic film on 4 ranks, looks at the file, checks it, draws it.
#
#   apps/vampire/demo.sh [option of vampire...]      (e.g. --steps 500 for a short one)
#
# Environment: SLUICE_BUILD_DIR (default build/release), SLUICE_PYTHON (default .venv/bin/python),
# SLUICE_OUT (where the results go; default out/vampire), SLUICE_RANKS (4).
set -euo pipefail

app=vampire
# shellcheck source=apps/common/demo_lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../common/demo_lib.sh"
python=${SLUICE_PYTHON:-$root/.venv/bin/python}
vampire=$build/apps/vampire/vampire
need_programs "$vampire"

mkdir -p "$out"
# An easy plane (negative anisotropy) makes vortices of the spins' directions.
run "${launch[@]}" -n "${SLUICE_RANKS:-4}" "$vampire" --lattice sc --size 160 160 2 --periodic xy \
  --start random --exchange 30 --anisotropy -3 --damping 0.3 --temperature 10 --steps 2500 \
  --every 50 --output "$out/spins.h5" "$@"
run "$sluice" ls "$out/spins.h5"
run "$sluice" verify "$out/spins.h5"
run "$python" "$root/apps/vampire/draw.py" "$out/spins.h5" "$out/spins.png"
printf '\nLook at %s\n' "${out/#$root\//}/spins.png"
