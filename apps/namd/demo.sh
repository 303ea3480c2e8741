#!/usr/bin/env bash
# The demo: a molten salt in patches, written by chares while they go on; then the output alone,
# larger, as before and by Sluice. A picture of the salt.
#
#   apps/namd/demo.sh [option of namd.py...]      (e.g. --steps 40 for a short one)
#
# Environment: SLUICE_BUILD_DIR (default build/release), SLUICE_PYTHON (default .venv/bin/python),
# SLUICE_OUT (where the results go; default out/namd).
set -euo pipefail

app=namd
# shellcheck source=apps/common/demo_lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../common/demo_lib.sh"
python=${SLUICE_PYTHON:-$root/.venv/bin/python}
namd_io=$build/apps/namd/namd_io
need_programs "$namd_io"

rm -rf "$out"
mkdir -p "$out"
cd "$out"
export PYTHONPATH=$root/python SLUICE_LIBRARY=$build/libsluice.so
if "$python" -c 'import charm4py' >/dev/null 2>&1; then
  run "$python" "$(dirname "$python")/charmrun" +p2 ++local ++quiet "$root/apps/namd/namd.py" \
    --cells 10 --steps 40 --every 8 "$@" run
  run "$sluice" ls run.dcd
  run "$sluice" ls run.coor
  run "$python" "$root/apps/namd/draw.py" run run.png
  printf '\nLook at %s\n' "${out/#$root\//}/run.png"
else
  echo "namd.py is left out: charm4py is not installed (python/requirements-dev.txt)" >&2
fi
for way in files in-turn at-once; do
  run "${launch[@]}" -n 4 "$namd_io" "$way" --way "$way" --writers 2 --compute-ms 50 --verify
done
run "${launch[@]}" -n 4 "$namd_io" run.h5 --writers 2 --set 'strategy = "forward"' --compute-ms 50 \
  --verify
run "$sluice" verify run.h5
