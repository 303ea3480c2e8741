# shellcheck shell=bash
# What the tests of the application begin with, sourced with their arguments VAMPIRE SLUICE
# MPIEXEC...: root, vampire, sluice, mpiexec, data (the real snapshots, perhaps not there), a new
# folder to work in that goes at the end, and fail.

# shellcheck disable=SC2034  # for those that source it
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
vampire=$1
sluice=$2
mpiexec=("${@:3}")
data=${SLUICE_DATA:-$root/../shared/data}/vampire
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit

fail() { echo "FAILED: $*" >&2; exit 1; }
