#!/usr/bin/env bash
# The demo: a bone's model becomes a compressed file, 4 ranks read it together, press the bone and
# write how its nodes move; what is in the files; a picture.
#
#   apps/parabmu/demo.sh [option of press.py...]      (e.g. --scale 0.08 --planes 70: short)
#
# Environment: SLUICE_BUILD_DIR (default build/release), SLUICE_PYTHON (default .venv/bin/python),
# SLUICE_OUT (where the results go; default out/parabmu).
set -euo pipefail

app=parabmu
# shellcheck source=apps/common/demo_lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../common/demo_lib.sh"
python=${SLUICE_PYTHON:-$root/.venv/bin/python}
parabmu=$build/apps/parabmu/parabmu
need_programs "$parabmu"

rm -rf "$out"
mkdir -p "$out"
cd "$out"
export PYTHONDONTWRITEBYTECODE=1
run "$python" "$root/apps/parabmu/press.py" . "$@"
run "${launch[@]}" -n 2 "$sluice" convert bone.model bone.nc
run "${launch[@]}" -n 4 "$parabmu" bone.script
run "$sluice" ls displacement.nc
run "$sluice" verify displacement.nc
run "$python" "$root/apps/parabmu/draw.py" displacement.nc displacement.png
printf '\nLook at %s\n' "${out/#$root\//}/displacement.png"
