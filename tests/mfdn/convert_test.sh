#!/usr/bin/env bash
# Wave functions as a file a diagonal rank, Fortran unformatted, to one HDF5 file and back: the same
# bytes, on any number of ranks; and what the joining step makes of them.
#
#   convert_test.sh MFDN MFDN_IOSIM SLUICE MPIEXEC...
set -euo pipefail

mfdn=$1 iosim=$2 sluice=$3
shift 3
mpiexec=("$@")
python=${SLUICE_PYTHON:-python3}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

fail() { echo "FAILED: $*" >&2; exit 1; }

# What the program writes itself: three files.
"${mpiexec[@]}" -n 6 "$mfdn" solve --no-sync --backend processes --file records >log 2>&1 ||
  fail "$(cat log)"
for ranks in 1 2 4; do
  rm -rf again
  "${mpiexec[@]}" -n "$ranks" "$sluice" convert records "states$ranks.h5" >log 2>&1 ||
    fail "to HDF5 on $ranks ranks: $(cat log)"
  "$sluice" verify "states$ranks.h5" >log 2>&1 || fail "$(cat log)"
  "${mpiexec[@]}" -n "$ranks" "$sluice" convert "states$ranks.h5" again --format mfdn >log 2>&1 ||
    fail "back on $ranks ranks: $(cat log)"
  diff -r records again || fail "other bytes on $ranks ranks"
done
"$python" - states1.h5 records <<'PYTHON' || fail "not what the files hold"
import sys, h5py, numpy
with h5py.File(sys.argv[1]) as file:
    lengths = file["LENGTHS"][:]
    assert lengths.tolist() == [267, 267, 266] and file.attrs["Author"] == "UNEDF"
    assert numpy.isnan(file["GRP15/Properties15"][:]).all()
    at = 0
    for part, length in enumerate(lengths):
        raw = numpy.fromfile(f"{sys.argv[2]}/mfdn_smwf{part + 1:03}", "<i4").reshape(15, length + 2)
        assert (raw[:, 0] == 4 * length).all() and (raw[:, -1] == 4 * length).all()
        for i in range(15):
            vector = file[f"GRP{i + 1:02}/EigenVector{i + 1:02}"][at : at + length]
            assert (raw[i, 1:-1].view("<f4") == vector).all()
        at += length
PYTHON

# The program reads what was converted.
"${mpiexec[@]}" -n 3 "$iosim" write --dimension 100003 --backend processes --file big >log 2>&1 ||
  fail "$(cat log)"
"$sluice" convert big.parts big.h5 >log 2>&1 || fail "$(cat log)"
for backend in "hdf5 --file big.h5" "processes --file big"; do
  # shellcheck disable=SC2086  # words
  "${mpiexec[@]}" -n 3 "$iosim" read --dimension 100003 --backend $backend >log 2>&1 ||
    fail "$backend: $(cat log)"
done
"${mpiexec[@]}" -n 3 "$iosim" join --dimension 100003 --file big >log 2>&1 || fail "$(cat log)"
for backend in raw root mpiio; do
  "${mpiexec[@]}" -n 2 "$iosim" read --dimension 100003 --backend $backend --file big >log 2>&1 ||
    fail "$backend of the joined file: $(cat log)"
done

# In pieces, by two ways each, and a damaged file of records.
for backend in "hdf5" "hdf5 --mode collective" "mpiio --mode collective" "raw"; do
  for job in write read; do
    # shellcheck disable=SC2086
    "${mpiexec[@]}" -n 3 "$iosim" $job --dimension 30000 --piece 16 --file pieces \
      --backend $backend >log 2>&1 || fail "$job in pieces, $backend: $(cat log)"
  done
done
printf 'xxxx' | dd of=again/mfdn_smwf002 bs=1 seek=0 conv=notrunc 2>/dev/null
status=0
"${mpiexec[@]}" -n 2 "$sluice" convert again damaged.h5 >log 2>&1 || status=$?
[ $status != 0 ] || fail "a damaged folder was converted"
grep -q 'mfdn_smwf002: no Fortran record at byte 0' log || fail "$(cat log)"
[ ! -e damaged.h5 ] || fail "a damaged folder left a file"
echo "records: converted and back, joined, in pieces"
