#!/usr/bin/env bash
# run.sh FILE CHECKER COMMAND...: runs the command with the name of a file that it is to write, then
# reads that with h5py, where there is a checker.
set -euo pipefail
file=$1 checker=$2
shift 2
rm -rf "${file:?}"*
"$@" "$file"
if [ -e "$checker" ]; then
  "${SLUICE_PYTHON:-python3}" -B "$checker" "$file"
fi
rm -rf "${file:?}"*
