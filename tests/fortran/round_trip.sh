#!/usr/bin/env bash
# round_trip.sh PROGRAM RANKS FILE CHECKER: runs the program, then reads its file with h5py.
set -euo pipefail
mpirun --oversubscribe -n "$2" "$1" "$3"
"${SLUICE_PYTHON:-python3}" "$4" "$3"
rm -f "$3" "$3.errors"
