#!/usr/bin/env bash
# Downloads what other projects test their own readers with: the source packages of HDF5 and netCDF
# as Debian has them, and source distributions and wheels of PyPI, fetched by pip (PIP says by
# which).
#
#   fetch.sh PLACE   leaves PLACE/hdf5, PLACE/netcdf, PLACE/pyfive, ...; what is there is left
set -euo pipefail

place=$(realpath -m "$1")
[ ! -e "$place/complete" ] || exit 0
mkdir -p "$place/pypi"

unpack() { # PACKAGE ARCHIVE
  rm -rf "${place:?}/$1"
  mkdir "$place/$1"
  case $2 in
    *.whl) "${PYTHON:-python3}" -m zipfile -e "$2" "$place/$1" ;;
    *) tar -xf "$2" -C "$place/$1" --strip-components=1 ;;
  esac
}

"$(dirname "$0")/../support/debian_source.sh" "$place" hdf5 netcdf
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
