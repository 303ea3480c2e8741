#!/usr/bin/env bash
# The demo: surfactant in water on 4 ranks, its trajectory and energies as records; what they say;
# the same as text and as H5MD; a picture.
#
#   apps/occam/demo.sh [KEY=VALUE of &run...]
#
# Environment: SLUICE_BUILD_DIR (default build/release), SLUICE_PYTHON (default .venv/bin/python),
# SLUICE_OUT (default out/occam).
set -euo pipefail

app=occam
# shellcheck source=apps/common/demo_lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../common/demo_lib.sh"
python=${SLUICE_PYTHON:-$root/.venv/bin/python}
programs=$build/apps/occam
need_programs "$programs/occam" "$programs/iopc"

rm -rf "$out"
mkdir -p "$out"
cd "$out"
run "$programs/iopc" generate parts=4 blocks=50
run "${launch[@]}" -n 4 "$programs/occam" params.nml steps=600 print_every=100 \
  thermostat_ps=0.5 "$@"
run "$sluice" ls traj
run "$sluice" stats energies
run "$sluice" stats conf --bins 5
run "$sluice" convert traj text --format lines
run head -n 3 text/1.traj
run "$sluice" convert traj traj.h5 --format h5md
run "$sluice" verify traj traj.h5
run "$python" "$root/apps/occam/draw.py" traj.h5 traj.png
printf '\nLook at %s\n' "${out/#$root\//}/traj.png"
