#!/usr/bin/env bash
# Compares the binary interface of two versions of libsluice.so: may programs that were linked to
# the old one go on with the new one?
#
#   abi.sh OLD NEW [HEADERS]   HEADERS: the folder of the public headers (default: include/sluice)
#
# Exit code 0: they may. 1: they may not, and the SONAME is the same: it has to change. 77: abidiff
# is not here (Debian: apt-get install abigail-tools). Types are compared where the libraries were
# built with -g; without, only the symbols are (in C++ their names hold the arguments).
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
[ $# -ge 2 ] || {
  sed -n '2,9p' "$0" >&2
  exit 2
}
old=$1
new=$2
headers=${3:-$root/include/sluice}
command -v abidiff >/dev/null || {
  echo "skipped: no abidiff here (Debian: apt-get install abigail-tools)"
  exit 77
}
soname() { objdump -p "$1" | awk '$1 == "SONAME" { print $2 }'; }

# abidiff's exit code is a set of bits: 1 and 2 errors, 4 something changed, 8 incompatibly.
code=0
abidiff --headers-dir1 "$headers" --headers-dir2 "$headers" "$old" "$new" || code=$?
if ((code & 3)); then
  echo "abi: abidiff failed" >&2
  exit 2
fi
removed=$(comm -23 <(nm -D --defined-only "$old" | awk '{ print $NF }' | sort -u) \
  <(nm -D --defined-only "$new" | awk '{ print $NF }' | sort -u))
if [ "$(soname "$old")" != "$(soname "$new")" ]; then
  echo "abi: $(soname "$old") and $(soname "$new") are installed side by side"
elif ((code & 8)) || [ -n "$removed" ]; then
  [ -z "$removed" ] || printf 'gone: %s\n' "$removed" | c++filt
  echo "abi: programs linked to the old one would break: another SONAME is needed" >&2
  exit 1
else
  echo "abi: programs linked to the old one go on with the new one"
fi
