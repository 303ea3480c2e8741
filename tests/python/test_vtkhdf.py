"""Format vtkhdf on several ranks, read by VTK's own reader: every rank runs every test, under
mpirun; rank 0 looks."""

import os

import numpy as np
import pytest

MPI = pytest.importorskip("mpi4py.MPI", reason="mpi4py is not installed")

import sluice  # noqa: E402
from on_ranks import folder_of_all, only_on_rank_0  # noqa: E402
from sluice import Code, Error  # noqa: E402

COMM = MPI.COMM_WORLD
RANK, RANKS = COMM.rank, COMM.size
STEPS = 4
MOST = 4000
# SLUICE_LONG=1: every strategy, plain and compressed.
SHORT = [("shared", ""), ("forward", "deflate:1")]
LONG = SHORT + [("serial", ""), ("collective", ""), ("auto", ""), ("forward", ""),
                ("shared", "deflate:1"), ("collective", "deflate:1")]
WAYS = LONG if os.environ.get("SLUICE_LONG") == "1" else SHORT


@pytest.fixture
def path():
    with folder_of_all() as folder:
        yield str(folder / "file.vtkhdf")


def open_new(path, kind, way=WAYS[0]):
    out = sluice.open(path, "w", comm=COMM, strategy=way[0], compress=way[1] or "none",
                      timeout_s=60, log="off")
    out.attrs_of("VTKHDF")["Type"] = kind
    return out


def vtk_steps(path):
    """Yields (number, time, what VTK reads of the step); fails where VTK reports an error."""
    from vtkmodules.vtkIOHDF import vtkHDFReader

    errors = []
    reader = vtkHDFReader()
    reader.AddObserver("ErrorEvent", lambda *words: errors.append(words))
    reader.SetFileName(path)
    reader.UpdateInformation()
    for step in range(max(1, reader.GetNumberOfSteps())):
        reader.SetStep(step)
        reader.Update()
        assert not errors, f"step {step}: VTK reports errors"
        yield step, reader.GetTimeValue(), merged(reader.GetOutput())


def merged(output):
    """One grid, where VTK keeps the parts that ranks wrote apart."""
    from vtkmodules.vtkFiltersCore import vtkAppendFilter, vtkAppendPolyData

    if not output.IsA("vtkPartitionedDataSet"):
        return output
    parts = [output.GetPartition(i) for i in range(output.GetNumberOfPartitions())]
    append = vtkAppendPolyData() if parts[0].IsA("vtkPolyData") else vtkAppendFilter()
    for part in parts:
        append.AddInputData(part)
    append.Update()
    return append.GetOutput()


def values(array):
    from vtkmodules.util.numpy_support import vtk_to_numpy

    assert array is not None
    return vtk_to_numpy(array)


def types_of(grid):
    return [grid.GetCellType(i) for i in range(grid.GetNumberOfCells())]


def cells_of(array):
    """A vtkCellArray as a list of lists of point ids."""
    ids, ends = values(array.GetConnectivityArray()), values(array.GetOffsetsArray())
    return [list(ids[a:b]) for a, b in zip(ends[:-1], ends[1:])]


# -- what the ranks hold -----


def points_of(rank, step, moving=True):
    """The points of a rank: other numbers in every step, none on some ranks."""
    count = (5 * rank + 3 * step) % 7 + 4 if (rank + step) % 3 != 2 else 0
    index = np.arange(count if moving else 6 + rank)
    return np.stack([index, index ** 2 + 0.25 * step, index * 0 + rank], axis=1).astype(float)


def mesh_of(rank, step):
    """Triangles and lines by turns over the rank's own points: ids, offsets, types."""
    count = len(points_of(rank, step))
    cells = [[i, i + 1, i + 2] if i % 2 else [i, i + 1] for i in range(max(0, count - 2))]
    ends = np.cumsum([0] + [len(cell) for cell in cells])
    types = [5 if len(cell) == 3 else 3 for cell in cells]
    return (np.array(sum(cells, []), dtype=np.int64), ends.astype(np.int64),
            np.array(types, dtype=np.uint8), cells)


def gathered(of_rank):
    return np.concatenate([of_rank(rank) for rank in range(RANKS)])


def gathered_cells(step):
    cells, first = [], 0
    for rank in range(RANKS):
        cells += [[first + i for i in cell] for cell in mesh_of(rank, step)[3]]
        first += len(points_of(rank, step))
    return cells


# -- the tests -----


@pytest.mark.parametrize("way", WAYS)
def test_image(path, way):
    shape = (4 * RANKS, 6, 5)

    def part(rank, step):
        return np.arange(4 * 6 * 5, dtype=np.float32).reshape(4, 6, 5) + 1000 * rank + 10 * step

    with open_new(path, "ImageData", way) as out:
        out.attrs_of("VTKHDF")["Spacing"] = np.array([0.5, 1.0, 2.0])
        for step in range(STEPS):
            with out.step(time=0.5 * step):
                out.put("VTKHDF/PointData/u", part(RANK, step), shape=shape, start=(4 * RANK, 0, 0))
                pair = np.stack([part(RANK, step), -part(RANK, step)], axis=3)
                out.put("VTKHDF/PointData/pair", pair, shape=shape + (2,),
                        start=(4 * RANK, 0, 0, 0))

    def look():
        seen = 0
        for step, time, image in vtk_steps(path):
            assert time == 0.5 * step
            assert image.GetDimensions() == (5, 6, 4 * RANKS)
            assert image.GetSpacing() == (0.5, 1.0, 2.0)
            expected = gathered(lambda rank: part(rank, step)).reshape(-1)
            np.testing.assert_array_equal(values(image.GetPointData().GetArray("u")), expected)
            np.testing.assert_array_equal(values(image.GetPointData().GetArray("pair")),
                                          np.stack([expected, -expected], axis=1))
            seen += 1
        assert seen == STEPS

    only_on_rank_0(look)


@pytest.mark.parametrize("way", WAYS)
def test_points_whose_number_nobody_knows(path, way):
    with open_new(path, "UnstructuredGrid", way) as out:
        for step in range(STEPS):
            points = points_of(RANK, step)
            with out.step(time=0.25 * step):
                out.put_joined("VTKHDF/Points", points, shape=(MOST, 3))
                out.put_joined("VTKHDF/PointData/id", np.full(len(points), RANK, dtype=np.int32),
                               shape=(MOST,))

    def look():
        seen = 0
        for step, time, grid in vtk_steps(path):
            assert time == 0.25 * step
            np.testing.assert_array_equal(values(grid.GetPoints().GetData()),
                                          gathered(lambda rank: points_of(rank, step)))
            ids = np.repeat(range(RANKS), [len(points_of(r, step)) for r in range(RANKS)])
            np.testing.assert_array_equal(values(grid.GetPointData().GetArray("id")), ids)
            assert grid.GetNumberOfCells() == 0
            seen += 1
        assert seen == STEPS

    only_on_rank_0(look)
    with sluice.open(path, comm=COMM) as f:
        for step in range(STEPS):
            np.testing.assert_array_equal(f["VTKHDF/Points"][step],
                                          gathered(lambda rank: points_of(rank, step)))


@pytest.mark.parametrize("way", WAYS)
def test_mesh_that_changes(path, way):
    with open_new(path, "UnstructuredGrid", way) as out:
        for step in range(STEPS):
            points = points_of(RANK, step)
            ids, ends, types, _ = mesh_of(RANK, step)
            with out.step(time=1.0 + step):
                out.put_joined("VTKHDF/Points", points, shape=(MOST, 3))
                out.put_joined("VTKHDF/Connectivity", ids, shape=(3 * MOST,))
                out.put_joined("VTKHDF/Offsets", ends, shape=(MOST + RANKS,))
                out.put_joined("VTKHDF/Types", types, shape=(MOST,))
                out.put_joined("VTKHDF/PointData/v", points * 2, shape=(MOST, 3))
                out.put_joined("VTKHDF/CellData/n", np.arange(len(types)) + 100.0 * RANK,
                               shape=(MOST,))

    def look():
        seen = 0
        for step, time, grid in vtk_steps(path):
            points = gathered(lambda rank: points_of(rank, step))
            assert time == 1.0 + step
            np.testing.assert_array_equal(values(grid.GetPoints().GetData()), points)
            np.testing.assert_array_equal(values(grid.GetPointData().GetArray("v")), points * 2)
            assert cells_of(grid.GetCells()) == gathered_cells(step)
            np.testing.assert_array_equal(
                types_of(grid), gathered(lambda rank: mesh_of(rank, step)[2]))
            np.testing.assert_array_equal(
                values(grid.GetCellData().GetArray("n")),
                gathered(lambda rank: np.arange(len(mesh_of(rank, step)[2])) + 100.0 * rank))
            seen += 1
        assert seen == STEPS

    only_on_rank_0(look)


def fixed_mesh(out):
    """Written once, by rank 0: a strip of triangles over 9 points."""
    points = np.stack([np.arange(9) / 2, np.arange(9) % 2, np.zeros(9)], axis=1)
    cells = [[i, i + 1, i + 2] for i in range(7)]
    part = slice(None) if RANK == 0 else slice(0, 0)
    for name, array in (("Points", points), ("Connectivity", np.array(sum(cells, []))),
                        ("Offsets", 3 * np.arange(8)), ("Types", np.full(7, 5, dtype=np.uint8))):
        start = (0,) * array.ndim
        out.put("VTKHDF/" + name, array[part], shape=array.shape, start=start, steps=False)
    return points, cells


@pytest.mark.parametrize("way", SHORT[:1])
@pytest.mark.parametrize("moves", [False, True])
def test_mesh_that_is_written_once(path, way, moves):
    with open_new(path, "UnstructuredGrid", way) as out:
        if moves:
            out.define("VTKHDF/Points", float, (9, 3), steps=True)
            points = np.stack([np.arange(9) / 2, np.arange(9) % 2, np.zeros(9)], axis=1)
            cells = [[i, i + 1, i + 2] for i in range(7)]
            part = slice(None) if RANK == 0 else slice(0, 0)
            for name, array in (("Connectivity", np.array(sum(cells, []))),
                                ("Offsets", 3 * np.arange(8)),
                                ("Types", np.full(7, 5, dtype=np.uint8))):
                out.put("VTKHDF/" + name, array[part], shape=array.shape, start=(0,), steps=False)
        else:
            points, cells = fixed_mesh(out)
        for step in range(STEPS):
            with out.step(time=step):
                mine = slice(RANK * 9 // RANKS, (RANK + 1) * 9 // RANKS)
                if moves:
                    out.put("VTKHDF/Points", points[mine] + step, start=(mine.start, 0))
                out.put("VTKHDF/PointData/u", np.arange(9.0)[mine] + 10 * step, shape=(9,),
                        start=(mine.start,))
                if RANK == 0:
                    out.put("VTKHDF/CellData/c", np.arange(7) * step, shape=(7,), start=(0,))
                else:
                    out.put("VTKHDF/CellData/c", np.arange(0), shape=(7,), start=(0,))

    def look():
        seen = 0
        for step, _, grid in vtk_steps(path):
            np.testing.assert_array_equal(values(grid.GetPoints().GetData()),
                                          points + (step if moves else 0))
            assert cells_of(grid.GetCells()) == cells
            np.testing.assert_array_equal(values(grid.GetPointData().GetArray("u")),
                                          np.arange(9.0) + 10 * step)
            np.testing.assert_array_equal(values(grid.GetCellData().GetArray("c")),
                                          np.arange(7) * step)
            seen += 1
        assert seen == STEPS

    only_on_rank_0(look)


@pytest.mark.parametrize("way", WAYS)
def test_poly_data_that_changes(path, way):
    """Lines and polygons; vertices and strips are left out."""

    def lines(rank, step):
        return [[i, i + 1] for i in range(max(0, len(points_of(rank, step)) - 1))]

    def polygons(rank, step):
        return [[i, i + 1, i + 2] for i in range(0, max(0, len(points_of(rank, step)) - 2), 2)]

    def put(out, topology, cells):
        ends = np.cumsum([0] + [len(cell) for cell in cells])
        out.put_joined(f"VTKHDF/{topology}/Connectivity", np.array(sum(cells, []), dtype=np.int64),
                       shape=(3 * MOST,))
        out.put_joined(f"VTKHDF/{topology}/Offsets", ends, shape=(MOST + RANKS,))

    with open_new(path, "PolyData", way) as out:
        for step in range(STEPS):
            with out.step(time=step):
                out.put_joined("VTKHDF/Points", points_of(RANK, step), shape=(MOST, 3))
                put(out, "Lines", lines(RANK, step))
                put(out, "Polygons", polygons(RANK, step))

    def look():
        seen = 0
        for step, _, poly in vtk_steps(path):
            expected = {"Lines": [], "Polygons": []}
            first = 0
            for rank in range(RANKS):
                for name, cells in (("Lines", lines), ("Polygons", polygons)):
                    expected[name] += [[first + i for i in c] for c in cells(rank, step)]
                first += len(points_of(rank, step))
            np.testing.assert_array_equal(values(poly.GetPoints().GetData()),
                                          gathered(lambda rank: points_of(rank, step)))
            assert cells_of(poly.GetLines()) == expected["Lines"]
            assert cells_of(poly.GetPolys()) == expected["Polygons"]
            assert poly.GetNumberOfVerts() == 0 and poly.GetNumberOfStrips() == 0
            seen += 1
        assert seen == STEPS

    only_on_rank_0(look)


def test_steps_that_are_appended(path):
    for first in (0, 2):
        with sluice.open(path, "w" if first == 0 else "a", comm=COMM, log="off") as out:
            if first == 0:
                out.attrs_of("VTKHDF")["Type"] = "UnstructuredGrid"
            for step in range(first, first + 2):
                points = points_of(RANK, step)
                ids, ends, types, _ = mesh_of(RANK, step)
                with out.step(time=step):
                    for name, array, most in (("Points", points, (MOST, 3)),
                                              ("Connectivity", ids, (3 * MOST,)),
                                              ("Offsets", ends, (MOST + RANKS,)),
                                              ("Types", types, (MOST,))):
                        out.put_joined("VTKHDF/" + name, array, shape=most)

    def look():
        assert [time for _, time, _ in vtk_steps(path)] == [0, 1, 2, 3]
        for step, _, grid in vtk_steps(path):
            np.testing.assert_array_equal(values(grid.GetPoints().GetData()),
                                          gathered(lambda rank: points_of(rank, step)))
            assert cells_of(grid.GetCells()) == gathered_cells(step)

    only_on_rank_0(look)


def test_what_does_not_belong_together_is_refused(path):
    def step_fails(put, *words):
        with open_new(path, "UnstructuredGrid") as out:
            with pytest.raises(Error) as caught:
                with out.step():
                    put(out)
            assert caught.value.code == Code.INVALID_ARGUMENT
            for word in words:
                assert word in str(caught.value)

    three = np.zeros((3, 3))

    def rows_that_do_not_match(out):
        out.put_joined("VTKHDF/Points", three, shape=(MOST, 3))
        out.put_joined("VTKHDF/PointData/u", np.zeros(2), shape=(MOST,))

    def offsets_without_the_last(out):
        out.put_joined("VTKHDF/Points", three, shape=(MOST, 3))
        out.put_joined("VTKHDF/Connectivity", np.arange(3), shape=(MOST,))
        out.put_joined("VTKHDF/Offsets", np.zeros(1, dtype=int), shape=(MOST,))
        out.put_joined("VTKHDF/Types", np.full(1, 5, dtype=np.uint8), shape=(MOST,))

    def no_points(out):
        out.put_joined("VTKHDF/PointData/u", np.zeros(2), shape=(MOST,))

    step_fails(rows_that_do_not_match, "PointData/u", f"{2 * RANKS} rows", f"{3 * RANKS} points")
    step_fails(offsets_without_the_last, "Offsets", "one more than there are cells")
    step_fails(no_points, "Points are missing")


def test_what_the_file_holds_is_said_before_the_first_step(path):
    with pytest.raises(Error) as caught:
        with sluice.open(path, "w", comm=COMM, log="off") as out:
            with out.step():
                out.put_joined("VTKHDF/Points", np.zeros((3, 3)), shape=(MOST, 3))
    assert "set the attribute Type" in str(caught.value)


def test_image_without_steps(path):
    """Fields that are written once are an image, too."""
    shape = (2 * RANKS, 4, 5)
    field = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    with open_new(path, "ImageData") as out:
        out.attrs_of("VTKHDF")["Spacing"] = [0.5, 1.0, 2.0]
        out.define("VTKHDF/PointData/f", np.float32, shape)
        out.put("VTKHDF/PointData/f", field[2 * RANK:2 * RANK + 2], start=(2 * RANK, 0, 0))

    def look():
        ((_, _, image),) = vtk_steps(path)
        assert image.GetDimensions() == (5, 4, 2 * RANKS)
        assert image.GetSpacing() == (0.5, 1.0, 2.0)
        np.testing.assert_array_equal(values(image.GetPointData().GetArray("f")), field.ravel())
    only_on_rank_0(look)
