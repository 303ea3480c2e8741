#!/usr/bin/env bash
# Builds the serial libhdf5 that goes into the wheel: static, position-independent, without network
# drivers. Debian's own libhdf5.a cannot be linked into a shared library, and its shared one brings
# libcurl and OpenSSL. The source is Debian's source package, fetched and checked by apt.
#
#   hdf5.sh PLACE   leaves PLACE/prefix/lib/libhdf5.a and PLACE/pkgconfig/hdf5-serial.pc
set -euo pipefail

place=$(realpath -m "$1")
jobs=${SLUICE_JOBS:-$(nproc)}
mkdir -p "$place"
[ ! -e "$place/pkgconfig/hdf5-serial.pc" ] || exit 0

# apt with lists of its own, so that the system's are left as they are.
fetch() {
  local apt=$place/apt
  mkdir -p "$apt/lists/partial" "$apt/parts"
  # shellcheck source=/dev/null
  . /etc/os-release
  echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]" \
    "http://deb.debian.org/debian $VERSION_CODENAME main" >"$apt/sources.list"
  local options=(-q -o "Dir::Etc::sourcelist=$apt/sources.list"
    -o "Dir::Etc::sourceparts=$apt/parts" -o "Dir::State::lists=$apt/lists"
    -o Acquire::Retries=3 -o APT::Sandbox::User=root)
  apt-get "${options[@]}" update >"$apt/update.log" 2>&1
  (cd "$place" && apt-get "${options[@]}" source --download-only hdf5 >"$apt/source.log" 2>&1)
}

compgen -G "$place/hdf5_*.orig.tar.*" >/dev/null || fetch
rm -rf "$place/source" "$place/build"
mkdir -p "$place/source"
tar -xf "$(compgen -G "$place/hdf5_*.orig.tar.*" | head -1)" -C "$place/source" --strip-components=1
# A check reads what its program wrote into the build folder, where newer CMakes do not run it.
# shellcheck disable=SC2016
sed -i 's|COMPILE_OUTPUT_VARIABLE COMPILEOUT|WORKING_DIRECTORY ${CMAKE_BINARY_DIR} &|' \
  "$place/source/config/cmake/ConfigureChecks.cmake"
cmake -S "$place/source" -B "$place/build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
  -DBUILD_SHARED_LIBS=OFF -DBUILD_STATIC_LIBS=ON -DCMAKE_POSITION_INDEPENDENT_CODE=ON \
  -DCMAKE_C_FLAGS=-fvisibility=hidden -DBUILD_TESTING=OFF -DHDF5_BUILD_TOOLS=OFF \
  -DHDF5_BUILD_EXAMPLES=OFF -DHDF5_BUILD_HL_LIB=OFF -DHDF5_BUILD_CPP_LIB=OFF \
  -DHDF5_BUILD_FORTRAN=OFF -DHDF5_ENABLE_Z_LIB_SUPPORT=ON -DHDF5_ENABLE_SZIP_SUPPORT=OFF \
  -DHDF5_ENABLE_PARALLEL=OFF -DHDF5_NO_PACKAGES=ON -DHDF5_DISABLE_COMPILER_WARNINGS=ON \
  -DZLIB_USE_EXTERNAL=OFF "-DCMAKE_INSTALL_PREFIX=$place/prefix" -DCMAKE_INSTALL_LIBDIR=lib \
  >"$place/configure.log"
cmake --build "$place/build" -j "$jobs" >"$place/build.log"
cmake --install "$place/build" >"$place/install.log"

# What the build of Sluice finds before the system's.
version=$(sed -n 's/.*H5_VERS_INFO *"HDF5 library version: \([0-9.]*\).*/\1/p' \
  "$place/prefix/include/H5public.h")
mkdir -p "$place/pkgconfig"
cat >"$place/pkgconfig/hdf5-serial.pc" <<END
Name: hdf5-serial
Description: the serial libhdf5 of the wheel
Version: ${version:-1.10}
Libs: -L$place/prefix/lib -lhdf5 -lz
Cflags: -I$place/prefix/include
END
