#!/usr/bin/env bash
# Downloads what other projects test their own readers with: the source packages of HDF5 and netCDF
# as Debian has them, fetched and checked by apt with lists of its own.
#
#   fetch.sh PLACE   leaves PLACE/hdf5 and PLACE/netcdf; nothing is done where they are there
set -euo pipefail

place=$(realpath -m "$1")
[ ! -e "$place/complete" ] || exit 0
apt=$place/apt
mkdir -p "$apt/lists/partial" "$apt/parts"
# shellcheck source=/dev/null
. /etc/os-release
echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]" \
  "http://deb.debian.org/debian $VERSION_CODENAME main" >"$apt/sources.list"
options=(-q -o "Dir::Etc::sourcelist=$apt/sources.list" -o "Dir::Etc::sourceparts=$apt/parts"
  -o "Dir::State::lists=$apt/lists" -o Acquire::Retries=3 -o APT::Sandbox::User=root)
apt-get "${options[@]}" update >"$apt/update.log" 2>&1
for package in hdf5 netcdf; do
  (cd "$place" && apt-get "${options[@]}" source --download-only "$package" \
    >"$apt/$package.log" 2>&1)
  rm -rf "${place:?}/$package"
  mkdir "$place/$package"
  tar -xf "$(compgen -G "$place/${package}_*.orig.tar.*" | head -1)" -C "$place/$package" \
    --strip-components=1
done
touch "$place/complete"
