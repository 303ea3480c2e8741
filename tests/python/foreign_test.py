"""Sluice reads what h5py wrote: other byte orders, every layout, filters, user blocks, on 1 and 3
ranks."""

import ctypes
import resource

import h5py
import numpy
import pytest
from oracle import read, read_array, run_unchecked

RANKS = [1, 3]
VALUES = numpy.arange(7 * 4 * 3, dtype="float64").reshape(7, 4, 3) * 0.5 - 9


@pytest.fixture
def path(tmp_path):
    return tmp_path / "foreign.h5"


def make(path, **options):
    with h5py.File(path, "w", **options) as file:
        file["values"] = VALUES
    return path


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("kind", ["<i1", "<i2", "<i4", "<i8", "<u1", "<u2", "<u4", "<u8", "<f4",
                                  "<f8", ">i2", ">i4", ">i8", ">u2", ">u4", ">u8", ">f4", ">f8",
                                  "<c8", "<c16", ">c16"])
def test_types_and_byte_orders(path, kind, ranks):
    values = (VALUES * 4 + 100).astype(kind)
    if numpy.dtype(kind).kind == "c":
        values = values * (1 + 2j)
    with h5py.File(path, "w") as file:
        file.create_dataset("contiguous", data=values.astype(kind), dtype=kind)
        file.create_dataset("chunked", data=values.astype(kind), dtype=kind, chunks=(3, 2, 3))
    for name in ("contiguous", "chunked"):
        got = read_array(path, ranks, name)
        assert got.dtype == numpy.dtype(kind).newbyteorder("=")
        numpy.testing.assert_array_equal(got, values)


LAYOUTS = {
    "chunked": {"chunks": (2, 3, 3)},
    "ragged chunks": {"chunks": (4, 3, 2)},
    "gzip": {"chunks": (3, 4, 3), "compression": "gzip", "compression_opts": 6},
    "shuffle and gzip": {"chunks": (3, 4, 3), "compression": "gzip", "shuffle": True},
    "fletcher32": {"chunks": (3, 4, 3), "fletcher32": True},
    "resizable": {"chunks": (1, 4, 3), "maxshape": (None, 4, 3)},
    "resizable in all": {"chunks": (2, 2, 2), "maxshape": (None, None, None)},
}


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("libver", ["earliest", "v110", "v112"])
def test_layouts(path, layout, libver, ranks):
    with h5py.File(path, "w", libver=libver) as file:
        file.create_dataset("values", data=VALUES, **LAYOUTS[layout])
    numpy.testing.assert_array_equal(read_array(path, ranks, "values"), VALUES)


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("shuffle", [True, False])
def test_edge_chunks_without_filters(path, shuffle, ranks):
    """H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS: h5py has no name for it, and libhdf5 itself has."""
    whole = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    whole.set_chunk((3, 4, 2))
    library = ctypes.CDLL(h5py.h5.__file__)
    set_options = library.H5Pset_chunk_opts
    set_options.argtypes = [ctypes.c_int64, ctypes.c_uint]
    assert set_options(whole.id, 2) >= 0
    if shuffle:
        whole.set_shuffle()
    whole.set_deflate(6)
    values = VALUES.repeat(2, axis=0)
    with h5py.File(path, "w", libver="v110") as file:
        space = h5py.h5s.create_simple(values.shape)
        made = h5py.h5d.create(file.id, b"values", h5py.h5t.IEEE_F64LE, space, whole)
        made.write(h5py.h5s.ALL, h5py.h5s.ALL, values)
        sizes = {made.get_chunk_info(i).size for i in range(made.get_num_chunks())}
        assert 3 * 4 * 2 * 8 in sizes and len(sizes) > 1, "no chunk without filters"
    numpy.testing.assert_array_equal(read_array(path, ranks, "values"), values)


@pytest.mark.parametrize("ranks", RANKS)
def test_compact(path, ranks):
    with h5py.File(path, "w") as file:
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_layout(h5py.h5d.COMPACT)
        space = h5py.h5s.create_simple((5, 3))
        made = h5py.h5d.create(file.id, b"values", h5py.h5t.IEEE_F64LE, space, plist)
        made.write(h5py.h5s.ALL, h5py.h5s.ALL, numpy.ascontiguousarray(VALUES[0:5, 0, :]))
    numpy.testing.assert_array_equal(read_array(path, ranks, "values"), VALUES[0:5, 0, :])


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("block", [512, 4096])
def test_user_block(path, block, ranks):
    make(path, userblock_size=block)
    with open(path, "r+b") as file:
        file.write(b"a script, perhaps\n")
    numpy.testing.assert_array_equal(read_array(path, ranks, "values"), VALUES)


@pytest.mark.parametrize("ranks", RANKS)
def test_scalars_strings_booleans_and_groups(path, ranks):
    with h5py.File(path, "w") as file:
        file["scalar"] = numpy.float64(2.5)
        file["a/b/text"] = numpy.array([b"one", b"three"], dtype="S5")
        file["flags"] = numpy.array([True, False, True])
        file["empty"] = numpy.zeros((0, 3))
        file.create_dataset("ragged", data=["a", "bc"], dtype=h5py.string_dtype())
        file.create_dataset("null", data=h5py.Empty("f8"))
        file.attrs["note"] = "of the file"
        file["scalar"].attrs["note"] = 12.5
    variables, notes = read(path, ranks)
    assert read_array(path, ranks, "scalar") == 2.5
    kind, shape, values = variables["a/b/text"][0]
    assert (kind, shape, values) == ("string[5]", (2,), b"one\0\0three")
    kind, shape, values = variables["flags"][0]
    assert (kind, shape, values) == ("bool", (3,), b"\1\0\1")
    assert variables["empty"][0][1:] == ((0, 3), b"")
    assert "ragged" not in variables and "null" not in variables
    assert notes == {"/": "of the file", "scalar": "12.5"}


@pytest.mark.parametrize("ranks", RANKS)
def test_what_was_never_written_reads_as_fill(path, ranks):
    with h5py.File(path, "w") as file:
        file.create_dataset("late", shape=(6, 2), dtype="f8", fillvalue=-3.5)
        chunked = file.create_dataset("chunks", shape=(6, 4), dtype=">i4", chunks=(2, 2),
                                      fillvalue=-7)
        chunked[2:4, 0:2] = 5
    numpy.testing.assert_array_equal(read_array(path, ranks, "late"), numpy.full((6, 2), -3.5))
    wanted = numpy.full((6, 4), -7)
    wanted[2:4, 0:2] = 5
    numpy.testing.assert_array_equal(read_array(path, ranks, "chunks"), wanted)


@pytest.mark.parametrize("ranks", RANKS)
def test_a_virtual_dataset_is_read(tmp_path, ranks):
    with h5py.File(tmp_path / "source.h5", "w") as file:
        file["values"] = VALUES
    layout = h5py.VirtualLayout(shape=VALUES.shape, dtype="f8")
    layout[...] = h5py.VirtualSource("source.h5", "values", shape=VALUES.shape)
    with h5py.File(tmp_path / "index.h5", "w") as file:
        file.create_virtual_dataset("values", layout)
    numpy.testing.assert_array_equal(read_array(tmp_path / "index.h5", ranks, "values"), VALUES)
    (tmp_path / "source.h5").unlink()  # libhdf5 alone would read it as zeros
    done = run_unchecked("reader", tmp_path / "index.h5", ranks)
    assert "values" not in done.stdout


def virtual_file(path, source, name="v"):
    """`path` with the virtual dataset `name`, whose one source is "x" of the file `source`."""
    layout = h5py.VirtualLayout(shape=(4,), dtype="f8")
    layout[...] = h5py.VirtualSource(source, "x", shape=(4,))
    with h5py.File(path, "w") as file:
        file.create_virtual_dataset(name, layout, fillvalue=-1)


def source_file(path):
    with h5py.File(path, "w") as file:
        file["x"] = numpy.arange(1.0, 5.0)


@pytest.mark.parametrize("ranks", RANKS)
def test_percent_signs_in_names_of_sources_are_read_as_libhdf5_reads_them(tmp_path, ranks):
    source_file(tmp_path / "a%b.h5")
    virtual_file(tmp_path / "index.h5", "a%%b.h5")
    numpy.testing.assert_array_equal(read_array(tmp_path / "index.h5", ranks, "v"),
                                     numpy.arange(1.0, 5.0))
    (tmp_path / "a%b.h5").unlink()
    assert "v" not in run_unchecked("reader", tmp_path / "index.h5", ranks).stdout.split()


def linked_source(path, link):
    with h5py.File(path, "w") as file:
        file["x"] = link


def mutual_sources(path):
    virtual_file(path, "other.h5", "x")
    virtual_file(path.parent / "other.h5", path.name, "x")


@pytest.mark.parametrize("make", [
    lambda path: virtual_file(path, "gone.h5", "x"),
    lambda path: virtual_file(path, ".", "x"),
    mutual_sources,
    lambda path: linked_source(path, h5py.SoftLink("/nothing")),
    lambda path: linked_source(path, h5py.ExternalLink("gone.h5", "/x")),
    lambda path: path.write_text("text"),
    lambda path: path.symlink_to(path.name),  # cannot be opened by root either
], ids=["nested", "of itself", "mutual", "soft link", "external link", "text", "symlink"])
@pytest.mark.parametrize("ranks", RANKS)
def test_sources_without_values_are_not_read_as_fill(tmp_path, ranks, make):
    make(tmp_path / "middle.h5")
    virtual_file(tmp_path / "index.h5", "middle.h5")
    with h5py.File(tmp_path / "index.h5", "a") as file:
        file["y"] = VALUES
    numpy.testing.assert_array_equal(read_array(tmp_path / "index.h5", ranks, "y"), VALUES)
    assert "v" not in run_unchecked("reader", tmp_path / "index.h5", ranks).stdout.split()


@pytest.mark.parametrize("ranks", RANKS)
def test_virtual_datasets_of_virtual_datasets_and_of_links_are_read(tmp_path, ranks):
    folder = tmp_path / "parts"
    folder.mkdir()
    source_file(folder / "values.h5")
    virtual_file(folder / "inner.h5", "values.h5", "x")
    linked_source(tmp_path / "middle.h5", h5py.ExternalLink("parts/inner.h5", "/x"))
    virtual_file(tmp_path / "index.h5", "middle.h5")
    numpy.testing.assert_array_equal(read_array(tmp_path / "index.h5", ranks, "v"),
                                     numpy.arange(1.0, 5.0))


@pytest.mark.parametrize("ranks", RANKS)
def test_sources_that_cannot_be_opened_all_at_once_are_an_error(tmp_path, ranks):
    """libhdf5 keeps them open, and reads those that it has no descriptor for as fill values."""
    sources = 300
    layout = h5py.VirtualLayout(shape=(sources, 4), dtype="f8")
    for number in range(sources):
        source_file(tmp_path / f"{number}.h5")
        layout[number] = h5py.VirtualSource(f"{number}.h5", "x", shape=(4,))
    with h5py.File(tmp_path / "index.h5", "w") as file:
        file.create_virtual_dataset("v", layout, fillvalue=-1)
    wanted = numpy.tile(numpy.arange(1.0, 5.0), (sources, 1))
    numpy.testing.assert_array_equal(read_array(tmp_path / "index.h5", ranks, "v"), wanted)
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (250, before[1]))
    try:
        done = run_unchecked("reader", tmp_path / "index.h5", ranks)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert done.returncode != 0 and "Too many open files" in done.stderr, done.stderr
