#!/usr/bin/env bash
# Downloads what other projects test their own readers with: the source packages of HDF5 and netCDF
# as Debian has them, fetched and checked by apt with lists of its own, and source distributions and
# wheels of PyPI, fetched by pip (PIP says by which).
#
#   fetch.sh PLACE   leaves PLACE/hdf5, PLACE/netcdf, PLACE/pyfive, ...; what is there is left
set -euo pipefail

place=$(realpath -m "$1")
[ ! -e "$place/complete" ] || exit 0
apt=$place/apt
mkdir -p "$apt/lists/partial" "$apt/parts" "$place/pypi"
# shellcheck source=/dev/null
. /etc/os-release
echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]" \
  "http://deb.debian.org/debian $VERSION_CODENAME main" >"$apt/sources.list"
options=(-q -o "Dir::Etc::sourcelist=$apt/sources.list" -o "Dir::Etc::sourceparts=$apt/parts"
  -o "Dir::State::lists=$apt/lists" -o Acquire::Retries=3 -o APT::Sandbox::User=root)

unpack() { # PACKAGE ARCHIVE
  rm -rf "${place:?}/$1"
  mkdir "$place/$1"
  case $2 in
    *.whl) "${PYTHON:-python3}" -m zipfile -e "$2" "$place/$1" ;;
    *) tar -xf "$2" -C "$place/$1" --strip-components=1 ;;
  esac
}

if [ ! -d "$place/hdf5" ] || [ ! -d "$place/netcdf" ]; then
  apt-get "${options[@]}" update >"$apt/update.log" 2>&1
  for package in hdf5 netcdf; do
    (cd "$place" && apt-get "${options[@]}" source --download-only "$package" \
      >"$apt/$package.log" 2>&1)
    unpack "$package" "$(compgen -G "$place/${package}_*.orig.tar.*" | head -1)"
  done
fi
# Source distributions, where a wheel leaves the tests out.
read -ra pip <<<"${PIP:-python3 -m pip}"
for wanted in pyfive==1.3.0 cooler==0.11.0 hickle==5.0.3 pynwb==4.2.0 compliance-checker==6.1.0; do
  package=${wanted%%==*}
  [ ! -d "$place/$package" ] || continue
  from=(--no-binary "$package")
  [ "$package" != compliance-checker ] || from=()
  "${pip[@]}" download --quiet --no-deps --disable-pip-version-check "${from[@]}" \
    --dest "$place/pypi/$package" "$wanted" >"$place/pypi/$package.log" 2>&1
  unpack "$package" "$(compgen -G "$place/pypi/$package/*.*" | head -1)"
done
touch "$place/complete"
