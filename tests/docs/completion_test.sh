#!/usr/bin/env bash
# Completion as bash asks for it: verbs, options, formats, files.
#   completion_test.sh FILE COMMAND
set -euo pipefail
# shellcheck source=share/completion/sluice
source "$1"
command=$2
cd "$(mktemp -d)"
trap 'rm -rf "$PWD"' EXIT
touch spins.h5 stars.h5

# expect WORDS... -- ANSWERS...: what is offered for the last of WORDS.
expect() {
  COMP_WORDS=("$command")
  while [ "$1" != -- ]; do
    COMP_WORDS+=("$1")
    shift
  done
  shift
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
  COMPREPLY=()
  _sluice
  local got
  got=$(printf '%s\n' "${COMPREPLY[@]}" | sort -u | tr '\n' ' ')
  if [ "${got% }" != "$*" ]; then
    echo "FAILED: ${COMP_WORDS[*]:1}: '$got' instead of '$*'" >&2
    exit 1
  fi
}

expect ver -- verify
expect vi -- virtualize
expect re -- recover render report
expect help wa -- watch
expect --v -- --version
expect verify --la -- --latest-good
expect verify sp -- spins.h5
expect dump s -- spins.h5 stars.h5
expect convert a.h5 b --format ve --
expect convert a.h5 b --format zar -- zarr
echo "completion: verbs, options, formats and files"
