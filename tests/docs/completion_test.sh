#!/usr/bin/env bash
# Completion as bash asks for it: verbs, options, formats, files.
#   completion_test.sh FILE COMMAND
set -euo pipefail
# shellcheck source=share/completion/sluice
source "$1"
completion=$(realpath "$1")
command=$(realpath "$2")
cd "$(mktemp -d)"
trap 'rm -rf "$PWD"' EXIT
touch spins.h5 stars.h5

# expect WORDS... -- ANSWERS...: what is offered for the last of WORDS.
expect() {
  COMP_WORDS=("$command")
  local words=$# i
  while [ "${!words}" != -- ]; do
    words=$((words - 1))
  done
  for ((i = 1; i < words; ++i)); do
    COMP_WORDS+=("${!i}")
  done
  shift "$words"
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
expect convert a.h5 b --format = zar -- zarr
expect convert a.h5 b --mode mp -- mpi-io
expect stats a --axis '' -- x y z
expect plan --machine arc -- archer
expect plan --decomposition s -- slabs
expect run --m -- --mpiio
expect run --mpiio -- --mpiio
expect run -- python st -- stars.h5
expect run --mpiio -- mpirun sp -- spins.h5

# Names that need quotes, as bash itself asks for them, on a terminal of its own.
touch 'two words.h5'
ln -s "$command" sluice
# 77: there is no terminal.
typed() {
  env -u BASH_ENV PS1= TERM=dumb "${SLUICE_PYTHON:-python3}" - "$1" "$2" <<'PYTHON'
import os, pty, sys
try:
    child, terminal = pty.fork()
except OSError:
    sys.exit(77)
if child == 0:
    os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])
# The quotes are not in what bash prints: the marker is no echo of the line.
os.write(terminal, f". '{sys.argv[1]}'; PATH=.:$PATH; echo read''y\n".encode())
said = b""
try:
    while part := os.read(terminal, 4096):
        said += part
        if b"ready" in said:
            os.write(terminal, f"{sys.argv[2]}\t 2> asked; exit\n".encode())
            said = b""
except OSError:  # how a terminal ends
    pass
os.waitpid(child, 0)
PYTHON
}
for begun in 'two\ wo' '"two wo' "'two wo" "\$PWD/two"; do
  status=0
  typed "$completion" "sluice verify $begun" || status=$?
  [ "$status" != 77 ] || { echo "no terminal here" && break; }
  if [ "$status" != 0 ] || ! grep -q 'two words.h5: not an HDF5 file' asked; then
    echo "FAILED: $begun is not completed" >&2
    exit 1
  fi
  rm -f asked
done
echo "completion: verbs, options, formats and files"
