#!/usr/bin/env bash
# The demo: the lowest states of Li-6 on 6 ranks, their properties filled in by a second job on 15,
# and what is in the file.
#
#   apps/mfdn/demo.sh [option of mfdn...]
#
# Environment: SLUICE_BUILD_DIR (default build/release), SLUICE_OUT (default out/mfdn).
set -euo pipefail

app=mfdn
# shellcheck source=apps/common/demo_lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../common/demo_lib.sh"
mfdn=$build/apps/mfdn/mfdn
need_programs "$mfdn"

mkdir -p "$out"
run "${launch[@]}" -n 6 "$mfdn" solve --properties later --structure --file "$out/li6.h5" "$@"
run "${launch[@]}" -n 15 "$mfdn" observe --file "$out/li6.h5"
run "$sluice" ls "$out/li6.h5"
run "$sluice" verify "$out/li6.h5"
