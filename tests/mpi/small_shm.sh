#!/usr/bin/env bash
# small_shm.sh COMMAND...: runs it where /dev/shm has 64 MiB, in a mount namespace of its own. 77,
# with the reason, where that is not permitted.
set -euo pipefail

if ! why=$(unshare -m sh -c 'mount -t tmpfs -o size=64m tmpfs /dev/shm' 2>&1); then
  echo "skipped: no /dev/shm of its own here: $why"
  exit 77
fi
# shellcheck disable=SC2016
exec unshare -m sh -c 'mount -t tmpfs -o size=64m tmpfs /dev/shm && exec "$@"' sh "$@"
