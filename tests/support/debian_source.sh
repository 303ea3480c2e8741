#!/usr/bin/env bash
# Downloads source packages of this Debian, fetched and checked by apt with lists of its own.
#
#   debian_source.sh PLACE PACKAGE...   leaves PLACE/PACKAGE, unpacked; what is there is left
set -euo pipefail

place=$(realpath -m "$1")
shift
apt=$place/apt
mkdir -p "$apt/lists/partial" "$apt/parts"
# shellcheck source=/dev/null
. /etc/os-release
echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]" \
  "http://deb.debian.org/debian $VERSION_CODENAME main" >"$apt/sources.list"
options=(-q -o "Dir::Etc::sourcelist=$apt/sources.list" -o "Dir::Etc::sourceparts=$apt/parts"
  -o "Dir::State::lists=$apt/lists" -o Acquire::Retries=3 -o APT::Sandbox::User=root)

missing=()
for package in "$@"; do
  [ -d "$place/$package" ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0
apt-get "${options[@]}" update >"$apt/update.log" 2>&1
for package in "${missing[@]}"; do
  (cd "$place" && apt-get "${options[@]}" source --download-only "$package" \
    >"$apt/$package.log" 2>&1)
  mkdir "$place/$package.part"
  tar -xf "$(compgen -G "$place/${package}_*.orig.tar.*" | head -1)" -C "$place/$package.part" \
    --strip-components=1
  mv "$place/$package.part" "$place/$package"
done
