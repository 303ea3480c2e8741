#!/usr/bin/env bash
# Builds the Debian packages into out/debian: libsluice0.1, libsluice-dev, sluice-bin, python3-sluice.
# Needs what packaging/debian/control names, debhelper and dpkg-dev. Works on a copy of what git
# knows, so that nothing is left in the tree.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
version=$(sed -n 's/^project(sluice VERSION \([0-9.]*\).*/\1/p' "$root/CMakeLists.txt")
place=$root/build/debian
source=$place/sluice-$version
rm -rf "$place"
mkdir -p "$source" "$root/out/debian"
git -C "$root" archive HEAD | tar -x -C "$source"
tar -C "$place" -czf "$place/sluice_$version.orig.tar.gz" "sluice-$version"
cp -r "$source/packaging/debian" "$source/debian"
(cd "$source" && dpkg-buildpackage -us -uc -b "$@")
mv "$place"/*.deb "$root/out/debian"
ls -l "$root/out/debian"
