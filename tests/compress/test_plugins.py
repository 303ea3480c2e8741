"""HDF5's filter plugins as codecs: what ranks wrote in parallel is read by h5py with hdf5plugin,
and the other way round."""

import json
import os
import shlex
import subprocess

import h5py
import hdf5plugin
import netCDF4
import numpy
import pytest

COMMAND = os.environ["SLUICE_COMMAND"]
MPIEXEC = shlex.split(os.environ["SLUICE_MPIEXEC"])
ENVIRONMENT = dict(os.environ, HDF5_PLUGIN_PATH=hdf5plugin.PLUGIN_PATH)
SHAPE = (90, 70, 20)
BOUND = 0.01

# The option of Sluice, what h5py is given, and how far values may be from those that were put.
EXACT = {
    "lz4": hdf5plugin.LZ4(),
    "bzip2:5": hdf5plugin.BZip2(blocksize=5),
    "bitshuffle:zstd,3": hdf5plugin.Bitshuffle(cname="zstd", clevel=3),
    "blosc:lz4,5": hdf5plugin.Blosc(cname="lz4", clevel=5, shuffle=hdf5plugin.Blosc.SHUFFLE),
    "blosc2:zstd,3": hdf5plugin.Blosc2(cname="zstd", clevel=3, filters=hdf5plugin.Blosc2.SHUFFLE),
    "zfp:reversible": hdf5plugin.Zfp(reversible=True),
}
LOSSY = {
    "zfp:accuracy=0.01": hdf5plugin.Zfp(accuracy=BOUND),
    "sz3:abs=0.01": hdf5plugin.SZ3(absolute=BOUND),
    "sz:abs=0.01": hdf5plugin.SZ(absolute=BOUND),
}
ALL = {**EXACT, **LOSSY}
LONG = bool(os.environ.get("SLUICE_LONG"))
# The short run takes each plugin once, in one of the two formats.
WRITTEN = [(option, ending) for at, option in enumerate(ALL) for ending in ("h5", "nc")
           if LONG or (at % 2 == 0) == (ending == "h5")]
READERS = (1, 3, 4) if LONG else (3,)


def field(kind, step=0):
    x, y, z = numpy.indices(SHAPE) / 20.0
    return (numpy.sin(x + step) * numpy.cos(y) * 50 + z).astype(kind)


def run(*arguments, ranks=0, check=True, **environment):
    launcher = [*MPIEXEC, "-n", str(ranks)] if ranks else []
    result = subprocess.run([*launcher, COMMAND, *arguments], env={**ENVIRONMENT, **environment},
                            check=False, text=True, capture_output=True, timeout=200)
    assert not check or result.returncode == 0, result.stderr
    return result


def expect(option, values, wanted):
    if option in LOSSY:
        error = numpy.abs(values.astype("f8") - wanted.astype("f8")).max()
        assert 0 < error <= BOUND * 1.001, error
    else:
        assert numpy.array_equal(values, wanted)


def source_of(folder, kind, **options):
    """A file of h5py with a fixed variable; through it the command gets its values."""
    path = str(folder / f"{kind}.h5")
    with h5py.File(path, "w") as file:
        file.create_dataset("v", data=field(kind), **options)
    return path


@pytest.mark.parametrize("option,ending", WRITTEN)
def test_h5py_reads_what_ranks_wrote(tmp_path, option, ending):
    for kind in ("f4", "f8") if LONG else ("f4",):
        target = str(tmp_path / f"target.{ending}")
        run("convert", source_of(tmp_path, kind), target, "--compress", option, ranks=4)
        with h5py.File(target) as file:
            expect(option, file["v"][:], field(kind))
            assert file["v"].id.get_storage_size() < 0.9 * field(kind).nbytes
            filters = [file["v"].id.get_create_plist().get_filter(i)[0]
                       for i in range(file["v"].id.get_create_plist().get_nfilters())]
            assert ALL[option]["compression"] in filters
            assert filters[-1] == h5py.h5z.FILTER_FLETCHER32
        storage = json.loads(run("ls", target, "--json").stdout)["variables"][0]["storage"]
        assert ("(lossy)" in storage) == (option in LOSSY), storage
        verified = run("verify", target)
        assert ("lossy" in verified.stdout) == (option in LOSSY), verified.stdout


@pytest.mark.parametrize("option", ALL)
def test_ranks_read_what_h5py_wrote(tmp_path, option):
    for kind in ("f4", "f8") if LONG else ("f8",):
        # SZ is used behind a checksum only.
        source = source_of(tmp_path, kind, chunks=(16, 70, 20), fletcher32=option.startswith("sz:"),
                           **ALL[option])
        with h5py.File(source) as file:
            written = file["v"][:]
        for ranks in READERS:
            target = str(tmp_path / f"{ranks}.h5")
            run("convert", source, target, "--compress", "none", ranks=ranks)
            with h5py.File(target) as file:
                assert numpy.array_equal(file["v"][:], written), ranks


def test_values_in_the_file_are_those_of_h5py(tmp_path):
    """set_local made them: for the same chunks they are the same."""
    def filter_of(path):
        with h5py.File(path) as file:
            return file["v"].id.get_create_plist().get_filter(0)[2], file["v"].chunks

    for option, wanted in ALL.items():
        if option.startswith(("lz4", "bzip2", "zfp:accuracy")):
            continue  # shuffle is in front; zfp is there already
        target = str(tmp_path / f"{wanted['compression']}.h5")
        run("convert", source_of(tmp_path, "f8"), target, "--compress", option)
        values, chunk = filter_of(target)
        other = source_of(tmp_path, "f8", chunks=chunk, **wanted)
        assert filter_of(other)[0] == values, option


def test_a_copy_keeps_what_it_can(tmp_path):
    for option, kept in (("blosc2:zstd,3", True), ("bitshuffle:zstd,3", True), ("lz4", True),
                         ("zfp:accuracy=0.01", False)):
        word = option.partition(":")[0]
        first, second = str(tmp_path / f"{word}1.h5"), str(tmp_path / f"{word}2.h5")
        run("convert", source_of(tmp_path, "f4"), first, "--compress", option)
        run("convert", first, second)
        with h5py.File(first) as a, h5py.File(second) as b:
            assert numpy.array_equal(a["v"][:], b["v"][:])
            assert (b["v"].id.get_create_plist().get_nfilters() > 0) == kept, option


def test_integers_of_a_lossy_file_are_kept(tmp_path):
    source, target = str(tmp_path / "source.h5"), str(tmp_path / "target.h5")
    with h5py.File(source, "w") as file:
        file["v"] = field("f4")
        file["n"] = numpy.arange(8000, dtype="i4")
    run("convert", source, target, "--compress", "sz3:abs=0.01", ranks=2)
    with h5py.File(target) as file:
        assert numpy.array_equal(file["n"][:], numpy.arange(8000))
        assert file["n"].compression == "gzip"
        expect("sz3:abs=0.01", file["v"][:], field("f4"))


def test_what_a_plugin_refuses_is_said(tmp_path):
    source = str(tmp_path / "source.h5")
    with h5py.File(source, "w") as file:
        file["v"] = numpy.arange(8000, dtype="i2")
    for compress, words in (("zfp:reversible", ("v", "zfp", "32013")),
                            ("filter:40000", ("40000", hdf5plugin.PLUGIN_PATH, "hdf5plugin")),
                            ("filter:x", ("whole numbers",)),
                            ("zfp", ("zfp:accuracy=0.01",))):
        given = source if compress == "zfp:reversible" else source_of(tmp_path, "f4")
        result = run("convert", given, str(tmp_path / "no.h5"), "--compress", compress, check=False)
        assert result.returncode == 2, (compress, result)
        assert all(word in result.stderr for word in words), (compress, result.stderr)
    result = run("convert", source, str(tmp_path / "no.zarr"), "--compress", "lz4", check=False)
    assert result.returncode == 2, result
    assert "zarr holds no data that went through plugins of HDF5" in result.stderr


def test_a_file_is_listed_and_not_read_without_its_plugin(tmp_path):
    source = source_of(tmp_path, "f4", chunks=(16, 70, 20), **hdf5plugin.LZ4())
    without = {"HDF5_PLUGIN_PATH": str(tmp_path)}
    assert "lz4" in run("ls", source, **without).stdout
    for environment in (without, {"HDF5_PLUGIN_PRELOAD": "::"}):
        result = run("dump", source, "v", check=False, **environment)
        assert result.returncode != 0 and "32004" in result.stderr, result.stderr
    # A copy keeps what it cannot read, and says why.
    said = run("convert", source, str(tmp_path / "copy.h5"), ranks=2, **without).stderr
    assert "32004" in said and str(tmp_path) in said, said
    with h5py.File(tmp_path / "copy.h5") as file:
        assert numpy.array_equal(file["v"][:], field("f4"))


def test_what_ends_the_process_is_used_behind_a_checksum_only(tmp_path):
    result = run("dump", source_of(tmp_path, "f4", chunks=(16, 70, 20), **hdf5plugin.SZ()), "v",
                 check=False)
    assert result.returncode != 0 and "fletcher32" in result.stderr, result


def test_plan_measures_what_is_there(tmp_path):
    choices = json.loads(run("plan", "--compress", source_of(tmp_path, "f4"), "--json").stdout)
    options = [row["compress"] for row in choices[0]["choices"]]
    assert {"lz4", "blosc2:zstd,5", "bitshuffle:zstd,3"} <= set(options), options
    nothing = run("plan", "--compress", source_of(tmp_path, "f4"), "--json",
                  HDF5_PLUGIN_PATH=str(tmp_path)).stdout
    assert "lz4" not in nothing


def damaged(path, at, value):
    with open(path, "r+b") as file:
        file.seek(at)
        file.write(value)


@pytest.mark.parametrize("option", ["lz4", "bitshuffle:zstd,3", "blosc:lz4,5", "blosc2:zstd,3",
                                    "zfp:accuracy=0.01"])
def test_damage_is_an_error(tmp_path, option):
    """Of a file of h5py too, whose chunks have no checksum: the header of a chunk, its end, and all
    of it."""
    source = source_of(tmp_path, "f8", chunks=(16, 70, 20), **ALL[option])
    with h5py.File(source) as file:
        chunk = file["v"].id.get_chunk_info(1)
        with open(source, "rb") as stored:
            before = stored.read()
    for first, values in ((0, b"\xff" * 16), (0, b"\0" * 16), (chunk.size // 2, b"\xa5" * 64),
                          (0, b"\x7f" * chunk.size)):
        with open(source, "wb") as file:
            file.write(before)
        damaged(source, chunk.byte_offset + first, values)
        result = run("convert", source, str(tmp_path / "target.h5"), "--compress", "none",
                     check=False)
        # A plugin may take damaged bytes for good ones: nothing but HDF5's checksum would tell.
        assert result.returncode in (0, 1, 2, 3), result
        assert "signal" not in result.stderr and "crash" not in result.stderr, result.stderr
        if values[0:1] == b"\x7f":
            assert result.returncode != 0 or option.startswith("zfp"), option


def test_netcdf4_has_its_dimensions(tmp_path):
    target = str(tmp_path / "target.nc")
    run("convert", source_of(tmp_path, "f4"), target, "--compress", "bzip2:5", ranks=2)
    with netCDF4.Dataset(target) as file:
        assert file["v"].shape == SHAPE and file["v"].filters()["fletcher32"]
