"""Zarr stores with rectilinear chunk grids: those of Sluice as zarr-python and xarray read them,
and those of zarr-python as Sluice reads them. 100 random decompositions, by every strategy, on six
ranks; SLUICE_LONG=1: 400."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import current_zarr
import sluice as library
from others import LONG, sluice
from rectilinear_writer import Case, is_regular

zarr, missing = current_zarr.load(Path(os.environ["SLUICE_BUILD_DIR"]) / "zarr-current")
pytestmark = pytest.mark.skipif(zarr is None, reason=f"zarr-python 3.2: {missing}")
RANKS = 6
CASES = 400 if LONG else 100


@pytest.fixture(name="stores", scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stores")
    subprocess.run([*os.environ["SLUICE_MPIEXEC"].split(), "-n", str(RANKS), sys.executable,
                    Path(__file__).parent / "rectilinear_writer.py", folder, str(CASES)],
                   check=True)
    return folder


def grid_of(path, node):
    return json.loads((Path(path) / node / "zarr.json").read_text())["chunk_grid"]


def test_zarr_python_reads_every_decomposition(stores):
    unequal = 0
    for number in range(CASES):
        case = Case(number, RANKS)
        path = stores / f"{number}.zarr"
        array = zarr.open_group(path, mode="r")["g/v"]
        assert array.shape == (case.steps, *case.shape), number
        for step in range(case.steps):
            np.testing.assert_array_equal(array[step], case.values(step), f"case {number}")
        alone = zarr.open_array(path / "g/v", mode="r")
        np.testing.assert_array_equal(alone[-1], case.values(case.steps - 1))
        grid = grid_of(path, "g/v")
        assert (grid["name"] == "regular") == is_regular(case.lengths), (number, grid)
        # As zarr-python itself would write it.
        again = type(alone.metadata).from_dict(alone.metadata.to_dict())
        assert again.to_dict()["chunk_grid"] == alone.metadata.to_dict()["chunk_grid"]
        assert json.loads(json.dumps(alone.metadata.to_dict()["chunk_grid"])) == grid
        unequal += grid["name"] == "rectilinear"
    assert unequal > CASES // 2


def test_xarray_reads_a_group(stores):
    import xarray
    number = next(n for n in range(CASES) if not is_regular(Case(n, RANKS).lengths)
                  and Case(n, RANKS).steps > 1)
    case = Case(number, RANKS)
    with xarray.open_zarr(stores / f"{number}.zarr", group="g", consolidated=False,
                          chunks=None) as group:
        np.testing.assert_array_equal(group["v"].isel(time=1).values, case.values(1))


def test_no_block_is_shared_by_two_objects(stores):
    for number in range(0, CASES, 7):
        case = Case(number, RANKS)
        if is_regular(case.lengths):
            continue
        names = {p.name for p in (stores / f"{number}.zarr/g/v").iterdir()} - {"zarr.json"}
        assert names == {".".join(["c", str(step), *map(str, cell)])
                         for step in range(case.steps) for cell in case.owners}, number


FORMS = {"plain": {"compressors": None}, "zstd": {"compressors": zarr and zarr.codecs.ZstdCodec()},
         "blosc": {"compressors": zarr and zarr.codecs.BloscCodec(cname="zstd")}}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("chunks", [[[3, 3, 4], [2, 7]], [[5, 5], [1, 1, 1, 6]],
                                    [[1] * 8 + [2], [9]]])
def test_sluice_reads_those_of_zarr_python(tmp_path, form, chunks):
    values = np.arange(90, dtype="i4").reshape(10, 9) * 3
    array = zarr.create_array(tmp_path / "a.zarr", shape=(10, 9), chunks=chunks, dtype="i4",
                              fill_value=-5, **FORMS[form])
    array[:7] = values[:7]
    expected = array[...]
    assert grid_of(tmp_path / "a.zarr", "")["name"] == "rectilinear"
    with library.open(tmp_path / "a.zarr") as file:
        np.testing.assert_array_equal(file["a"][...], expected)
        np.testing.assert_array_equal(file["a"][2:9, 1:4], expected[2:9, 1:4])
    sluice("convert", tmp_path / "a.zarr", tmp_path / "regular.zarr")
    assert grid_of(tmp_path / "regular.zarr", "a")["name"] == "regular"
    back = zarr.open_group(tmp_path / "regular.zarr", mode="r")["a"]
    np.testing.assert_array_equal(back[...], expected)


def test_sluice_reads_rectilinear_shards(tmp_path):
    values = np.arange(96, dtype="f8").reshape(12, 8) / 4
    array = zarr.create_array(tmp_path / "a.zarr", shape=(12, 8), chunks=(2, 4),
                              shards=[[4, 2, 6], [4, 4]], dtype="f8")
    array[...] = values
    assert grid_of(tmp_path / "a.zarr", "")["name"] == "rectilinear"
    with library.open(tmp_path / "a.zarr") as file:
        np.testing.assert_array_equal(file["a"][...], values)
        np.testing.assert_array_equal(file["a"][3:7, 2:5], values[3:7, 2:5])


def test_a_grown_array_of_zarr_python_is_read(tmp_path):
    array = zarr.create_array(tmp_path / "a.zarr", shape=(5,), chunks=[[2, 3]], dtype="u1",
                              compressors=None)
    array[...] = 1
    array.resize((9,))
    array[5:] = 2
    with library.open(tmp_path / "a.zarr") as file:
        assert list(file["a"][...]) == [1] * 5 + [2] * 4
    array.resize((3,))
    with library.open(tmp_path / "a.zarr") as file:
        assert list(file["a"][...]) == [1] * 3


def test_a_command_that_asks_for_regular_grids_gets_them(tmp_path):
    """By the environment, as in every language."""
    script = ("import sluice, numpy\n"
              "with sluice.open('x.zarr', 'w') as out:\n"
              "    with out.step():\n"
              "        out.put('v', numpy.zeros(200000), shape=(500000,), start=(0,))\n"
              "        out.put('v', numpy.ones(300000), shape=(500000,), start=(200000,))\n")
    for word, kind in (("auto", "rectilinear"), ("false", "regular"), ("true", "rectilinear")):
        subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True,
                       env={**os.environ, "SLUICE_RECTILINEAR": word})
        assert grid_of(tmp_path / "x.zarr", "v")["name"] == kind
