"""Rounded variables beside those of netCDF-C for the same settings: the same bits, and the same
report of what was done.

SLUICE_LONG=1: every number of digits."""

import contextlib
import os
import subprocess

import h5py
import netCDF4
import numpy
import pytest
import xarray
import zarr

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


ALGORITHMS = {"round": ("bitround", "quantization_nsb"),
              "digits": ("granular_bitround", "quantization_nsd")}


def cf_of(path, name="v"):
    """What the file says by CF 1.12, section 8.4, of a variable: algorithm, who, digits; None."""
    def plain(attributes):
        texts = {key: value.decode() if isinstance(value, bytes) else value
                 for key, value in attributes.items() if key[0].islower()}
        return {key: value if isinstance(value, str) else numpy.ravel(value)[0]
                for key, value in texts.items()}

    with contextlib.ExitStack() as stack:
        group = zarr.open_group(path, mode="r") if path.endswith(".zarr") else \
            stack.enter_context(h5py.File(path))
        attributes = plain(group[name].attrs)
        if "quantization" not in attributes:
            return None
        container = group[attributes["quantization"]]
        assert container.shape == ()
        said = plain(container.attrs)
        kept = {key: int(attributes[key]) for key in ("quantization_nsb", "quantization_nsd")
                if key in attributes}
        return said["algorithm"], said["implementation"], kept


def converted(source, target, *options):
    subprocess.run([COMMAND, "convert", source, target, *options], check=True)
    verdict = subprocess.run([COMMAND, "verify", target], check=True, text=True,
                             stdout=subprocess.PIPE).stdout
    assert "not covered" not in verdict, verdict
    return target


@pytest.mark.parametrize("ending", ["nc", "h5", "zarr"])
def test_cf_says_how_it_was_rounded(tmp_path, ending):
    source = str(tmp_path / "source.nc")
    write(source, sample("f4"), "f4", None)
    plain = converted(source, str(tmp_path / f"plain.{ending}"), "--compress", "deflate:1")
    assert cf_of(plain) is None
    listed = subprocess.run([COMMAND, "ls", plain, "--attributes"], check=True, text=True,
                            capture_output=True).stdout
    assert "quantization" not in listed and "Conventions" not in listed, listed
    for way, kept in (("round", 5), ("digits", 3)):
        target = converted(source, str(tmp_path / f"{way}.{ending}"), "--compress",
                           f"{way}:{kept}+deflate:1")
        algorithm, attribute = ALGORITHMS[way]
        found = cf_of(target)
        assert found[0] == algorithm and found[2] == {attribute: kept}, found
        assert found[1].startswith("Sluice version "), found
        # A copy says the same, and one that is rounded more what holds then.
        assert cf_of(converted(target, str(tmp_path / f"{way}_copy.{ending}"))) == found
        more = converted(target, str(tmp_path / f"{way}_more.{ending}"), "--compress",
                         "round:2+deflate:1")
        found = cf_of(more)
        assert found[0] == "bitround" and found[2] == {"quantization_nsb": 2}, found


NETCDF = {"round": "_QuantizeBitRoundNumberOfSignificantBits",
          "digits": "_QuantizeGranularBitRoundNumberOfSignificantDigits"}


@pytest.mark.parametrize("ending", ["nc", "h5", "zarr"])
@pytest.mark.parametrize("kind,before", [("i4", 3), ("i4", 9), ("i8", 3), ("i8", 5), ("u1", 3),
                                         ("f8", 3)])
def test_what_another_program_rounded_says_what_holds_now(tmp_path, ending, kind, before):
    source = str(tmp_path / "source.nc")
    write(source, sample("f4"), "f4", None)
    with netCDF4.Dataset(source, "a") as file:
        said = {NETCDF["digits"]: 4, "quantization": "theirs",
                "quantization_nsb": numpy.array(before, kind), "quantization_nsd": 4}
        file["v"].setncatts(said)
        file.createVariable("theirs", "i1", ()).setncatts(
            {"algorithm": "bitround", "implementation": "another"})
    target = converted(source, str(tmp_path / f"target.{ending}"), "--compress",
                       "round:5+deflate:1")
    algorithm, who, kept = cf_of(target)
    # Fewer digits than asked for are noted where the number of them is one.
    expected = 3 if before == 3 and kind != "f8" else 5
    assert (algorithm, kept) == ("bitround", {"quantization_nsb": expected}), (who, kept)
    assert who.startswith("Sluice version "), who
    attributes = zarr.open_group(target, mode="r")["v"].attrs if ending == "zarr" else None
    with contextlib.ExitStack() as stack:
        if attributes is None:
            attributes = stack.enter_context(h5py.File(target))["v"].attrs
        assert numpy.ravel(attributes[NETCDF["round"]]).tolist() == [expected]
        assert NETCDF["digits"] not in attributes
    # What is not rounded keeps what it says.
    plain = converted(source, str(tmp_path / f"plain.{ending}"), "--compress", "deflate:1")
    assert cf_of(plain) == ("bitround", "another",
                            {"quantization_nsb": before, "quantization_nsd": 4})


def test_netcdf_readers_see_the_conventions(tmp_path):
    source = str(tmp_path / "source.nc")
    write(source, sample("f4"), "f4", None)
    target = converted(source, str(tmp_path / "target.nc"), "--compress", "round:5+deflate:1")
    with netCDF4.Dataset(target) as file:
        assert file.Conventions == "CF-1.12"
        container = file[file["v"].getncattr("quantization")]
        assert container.dimensions == () and container.algorithm == "bitround"
        assert file["v"].quantization_nsb == 5
    header = subprocess.run(["ncdump", "-h", target], check=True, text=True,
                            capture_output=True).stdout
    assert 'v:quantization = "quantization_info" ;' in header, header
    with xarray.open_dataset(target) as data:
        assert data["quantization_info"].attrs["algorithm"] == "bitround"
    # Conventions that a file has stay its own.
    with netCDF4.Dataset(source, "a") as file:
        file.Conventions = "CF-1.8"
    with netCDF4.Dataset(converted(source, str(tmp_path / "own.nc"), "--compress",
                                   "digits:3+deflate:1")) as file:
        assert file.Conventions == "CF-1.8"
        assert file[file["v"].getncattr("quantization")].algorithm == "granular_bitround"
