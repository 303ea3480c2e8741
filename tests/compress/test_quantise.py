"""Rounded variables beside those of netCDF-C for the same settings: the same bits, and the same
report of what was done.

SLUICE_LONG=1: every number of digits."""

import os
import subprocess

import h5py
import netCDF4
import numpy
import pytest
import xarray

COMMAND = os.environ["SLUICE_COMMAND"]
IS_LONG = os.environ.get("SLUICE_LONG") == "1"
COUNT = 40000
MODES = {"round": "BitRound", "digits": "GranularBitRound"}
MOST = {"round": {"f4": 23, "f8": 52}, "digits": {"f4": 6, "f8": 15}}
FEW = {"round": {"f4": (1, 7, 22, 23), "f8": (1, 10, 51, 52)},
       "digits": {"f4": (1, 3, 6), "f8": (1, 5, 14, 15)}}
FILL = -999.25


def settings():
    for way, types in MOST.items():
        for kind, most in types.items():
            for kept in range(1, most + 1) if IS_LONG else FEW[way][kind]:
                yield way, kind, kept


def sample(kind):
    """Any bits, values of a few magnitudes, powers of two and of ten and their neighbours."""
    draw = numpy.random.default_rng(29)
    width = int(kind[1])
    bits = draw.integers(0, 256, COUNT * width, numpy.uint8).view(kind)
    nice = (draw.normal(size=COUNT) * 10.0 ** draw.integers(-12, 12, COUNT)).astype(kind)
    powers = numpy.concatenate([2.0 ** numpy.arange(-30, 30), 10.0 ** numpy.arange(-30, 30)])
    powers = powers.astype(kind)
    special = numpy.array([0.0, numpy.nan, numpy.inf, -numpy.inf, FILL, 9.969209968386869e36,
                           numpy.finfo(kind).max, numpy.finfo(kind).tiny], kind)
    infinite = numpy.array(numpy.inf, kind)
    values = numpy.concatenate([bits, nice, powers, -powers, numpy.nextafter(powers, infinite),
                                numpy.nextafter(powers, -infinite), special])
    # netCDF-C rounds negative zeros to what its masks happen to be.
    return numpy.where(values == 0, numpy.zeros((), kind), values)


def write(path, values, kind, fill, **options):
    with netCDF4.Dataset(path, "w") as file:
        file.set_auto_mask(False)
        file.createDimension("x", len(values))
        variable = file.createVariable("v", kind, ("x",), fill_value=fill, **options)
        variable.set_auto_maskandscale(False)
        variable[:] = values


def bits(values):
    return values.view(f"u{values.dtype.itemsize}")


@pytest.mark.parametrize("way,kind,kept", list(settings()))
@pytest.mark.parametrize("fill", [None, FILL])
def test_the_bits_of_netcdf(tmp_path, way, kind, kept, fill):
    values = sample(kind)
    source, ours, theirs = (str(tmp_path / name) for name in ("source.nc", "ours.nc", "theirs.nc"))
    write(source, values, kind, fill)
    write(theirs, values, kind, fill, zlib=True, complevel=1, quantize_mode=MODES[way],
          significant_digits=kept)
    subprocess.run([COMMAND, "convert", source, ours, "--compress", f"{way}:{kept}+deflate:1"],
                   check=True)
    with netCDF4.Dataset(ours) as mine, netCDF4.Dataset(theirs) as other:
        assert mine["v"].quantization() == other["v"].quantization() == (kept, MODES[way])
        got, expected = (file["v"] for file in (mine, other))
        got.set_auto_maskandscale(False)
        expected.set_auto_maskandscale(False)
        got, expected = got[:], expected[:]
    # What has no digits, or would be infinite, stays; netCDF-C makes something of it.
    stays = ~numpy.isfinite(values) | (numpy.isfinite(values) & ~numpy.isfinite(expected))
    assert numpy.array_equal(bits(got)[stays], bits(values)[stays])
    differs = (bits(got) != bits(expected)) & ~stays
    assert not differs.any(), (values[differs][:5], got[differs][:5], expected[differs][:5])


def test_nothing_is_needed_to_read_it(tmp_path):
    values = sample("f4")
    source, ours = str(tmp_path / "source.nc"), str(tmp_path / "ours.h5")
    write(source, values, "f4", None)
    subprocess.run([COMMAND, "convert", source, ours, "--compress", "round:4+deflate:6"],
                   check=True)
    with h5py.File(ours) as file:
        read = file["v"][:]
        assert file["v"].compression == "gzip"
        listed = subprocess.run([COMMAND, "ls", ours], check=True, text=True, capture_output=True)
        assert "shuffle, deflate, round:4" in listed.stdout
        assert file["v"].attrs["_QuantizeBitRoundNumberOfSignificantBits"] == 4
    kept = numpy.isfinite(values)
    assert numpy.array_equal(bits(read)[~kept], bits(values)[~kept])
    normal = kept & (numpy.abs(values) >= numpy.finfo("f4").tiny)
    error = numpy.abs(read[normal].astype("f8") - values[normal].astype("f8"))
    assert (error <= numpy.abs(values[normal].astype("f8")) * 2.0**-5).all()
    assert xarray.open_dataset(ours, engine="h5netcdf")["v"].shape == values.shape


def test_a_copy_says_how_it_was_rounded(tmp_path):
    source = str(tmp_path / "source.nc")
    write(source, sample("f8"), "f8", None)
    name = "_QuantizeGranularBitRoundNumberOfSignificantDigits"
    paths = [source]
    for number, option in enumerate(("digits:3+deflate:1", None, "digits:9+deflate:1",
                                     "digits:2+deflate:1", "none")):
        paths.append(str(tmp_path / f"{number}.nc"))
        options = [] if option is None else ["--compress", option]
        subprocess.run([COMMAND, "convert", paths[-2], paths[-1], *options], check=True)
    said = []
    values = []
    for path in paths[1:]:
        with h5py.File(path) as file:
            said.append(int(numpy.ravel(file["v"].attrs[name])[0]))
            values.append(file["v"][:])
    assert said == [3, 3, 3, 2, 2]
    # Copied without an option, and with more digits than there are, the values stay.
    assert numpy.array_equal(bits(values[0]), bits(values[1]))
    assert numpy.array_equal(bits(values[3]), bits(values[4]))
