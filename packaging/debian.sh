#!/usr/bin/env bash
# Builds the Debian packages into out/debian: libsluice0.1, libsluice-dev, sluice-bin and
# python3-sluice. Needs what packaging/debian/control names, debhelper and dpkg-dev. Works on a copy
# of what is committed, so that nothing is left in the tree. Exit code 77: dpkg-buildpackage or
# debhelper is not here.
set -euo pipefail

for tool in dpkg-buildpackage dh dh_python3; do
  command -v $tool >/dev/null || {
    echo "skipped: no $tool here (packaging/debian-packages-long.txt)"
    exit 77
  }
done
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
version=$(sed -n 's/^project(sluice VERSION \([0-9.]*\).*/\1/p' "$root/CMakeLists.txt")
place=$root/build/debian
source=$place/sluice-$version
rm -rf "$place"
mkdir -p "$source" "$root/out/debian"
git -C "$root" archive HEAD | tar -x -C "$source"
tar -C "$place" -czf "$place/sluice_$version.orig.tar.gz" "sluice-$version"
cp -r "$source/packaging/debian" "$source/debian"
# What was compiled before is taken from the cache, if there is one.
[ ! -d /usr/lib/ccache ] || export PATH=/usr/lib/ccache:$PATH CCACHE_BASEDIR=$place
(cd "$source" && CCACHE_NOHASHDIR=1 dpkg-buildpackage -us -uc -b "$@")
rm -f "$root"/out/debian/*.deb
mv "$place"/*.deb "$root/out/debian"
ls -l "$root/out/debian"
