# shellcheck shell=bash
# What the demos share, to be sourced: root, build, out, sluice, launch (mpirun with its options),
# need_programs and run.
#
#   app=vampire
#   . apps/common/demo_lib.sh
#
# Environment: SLUICE_BUILD_DIR (default build/release), SLUICE_OUT (where the results go; default
# out/APP), SLUICE_LAUNCH (what starts ranks, without its -n; default mpirun).

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=${SLUICE_BUILD_DIR:-$root/build/release}
out=${SLUICE_OUT:-$root/out/${app:?}}
sluice=$build/cli/sluice
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

# Open MPI refuses more ranks than cores unless told; other implementations know no such option.
launch=(mpirun)
if [ -n "${SLUICE_LAUNCH:-}" ]; then
  read -r -a launch <<<"$SLUICE_LAUNCH"
elif mpirun --version 2>/dev/null | grep -q 'Open MPI'; then
  launch=(mpirun --oversubscribe)
fi

# need_programs PROGRAM...: those, and sluice, or an end with what to do.
need_programs() {
  local program
  for program in "$@" "$sluice"; do
    if [ ! -x "$program" ]; then
      echo "demo.sh: $program is not built: run ./dev build" >&2
      exit 2
    fi
  done
}

# Shows a command, then runs it.
run() {
  if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
    printf '\n\033[1m$ %s\033[0m\n' "${*/#$root\//}"
  else
    printf '\n$ %s\n' "${*/#$root\//}"
  fi
  "$@"
}
