"""Format openpmd on several ranks, read by openPMD's own programs: every rank runs every test,
under mpirun; rank 0 looks."""

import contextlib
import io
import os
import warnings

import numpy as np
import pytest

MPI = pytest.importorskip("mpi4py.MPI", reason="mpi4py is not installed")

import sluice  # noqa: E402
from on_ranks import folder_of_all, only_on_rank_0  # noqa: E402
from sluice import Code, Error  # noqa: E402

COMM = MPI.COMM_WORLD
RANK, RANKS = COMM.rank, COMM.size
MOST = 100000
ROWS, COLUMNS = 5, 7
ITERATIONS = (0, 50, 120, 1000)
CHARGE = -1.602e-19
# SLUICE_LONG=1: every strategy that writes one file.
SHORT = ("shared", "forward")
STRATEGIES = (*SHORT, "serial", "collective", "auto") if os.environ.get("SLUICE_LONG") == "1" \
    else SHORT


@pytest.fixture
def folder():
    with folder_of_all() as made:
        yield made


def open_new(path, strategy="shared", mode="w"):
    return sluice.open(str(path), mode, comm=COMM, format="openpmd" if mode == "w" else "auto",
                       strategy=strategy, timeout_s=60, log="off")


# -- one data set, with everything that the standard requires


def particles_of(rank, step):
    """Their number, which differs from rank to rank and step to step; none on some."""
    return (3 * rank + 7 * step) % 11 * (rank != step % 3)


def field(step, component, rows):
    i, j = np.meshgrid(rows, np.arange(COLUMNS), indexing="ij")
    return i + 100.0 * j + 10000.0 * step + 0.25 * component


def positions(rank, step):
    n = particles_of(rank, step)
    return rank + np.arange(n) / 16, np.full(n, 1.0 * step)


def describe(out):
    out.attrs_of("")["author"] = "A. Nonymous <a@nonymous.net>"
    out.attrs_of("")["date"] = "2026-11-24 12:00:00 +0000"
    out.attrs_of("")["software"] = "a test"
    out.attrs_of("")["softwareVersion"] = "1.0"
    out.attrs_of("time")["dt"] = 0.5
    out.attrs_of("time")["timeUnitSI"] = 1e-15
    mesh = out.attrs_of("meshes/E")
    mesh["gridSpacing"] = [0.5, 0.25]
    mesh["gridGlobalOffset"] = [10.0, 20.0]
    mesh["axisLabels"] = ["x", "z"]
    mesh["gridUnitSI"] = 1e-6
    mesh["unitDimension"] = [1, 1, -3, -1, 0, 0, 0]
    for component, at in (("x", [0.0, 0.5]), ("y", [0.5, 0.0])):
        out.attrs_of(f"meshes/E/{component}")["unitSI"] = 1e9
        out.attrs_of(f"meshes/E/{component}")["position"] = at
    out.attrs_of("meshes/E/z")["value"] = 4.5  # constant: its shape is that of x and y
    electrons = "particles/electrons"
    out.attrs_of(f"{electrons}/charge")["value"] = CHARGE
    out.attrs_of(f"{electrons}/charge")["unitDimension"] = [0, 0, 1, 1, 0, 0, 0]
    out.attrs_of(f"{electrons}/position/x")["unitSI"] = 1e-6
    out.attrs_of(f"{electrons}/position/y")["unitSI"] = 1e-6


def put_step(out, step):
    rows = np.arange(ROWS) + ROWS * RANK
    where = {"shape": (ROWS * RANKS, COLUMNS), "start": (ROWS * RANK, 0)}
    x, y = positions(RANK, step)
    out.attrs_of("time")["iteration"] = ITERATIONS[step]
    with out.step(time=1.5 * step):
        out.put("meshes/E/x", field(step, 0, rows), **where)
        out.put("meshes/E/y", field(step, 1, rows).astype(np.float32), **where)
        out.put("meshes/rho", -field(step, 2, rows), **where)
        out.put_joined("particles/electrons/position/x", x, shape=(MOST,))
        out.put_joined("particles/electrons/position/y", y, shape=(MOST,))
        out.put_joined("particles/electrons/id", np.arange(len(x)) + 1000 * RANK, shape=(MOST,))


def write(path, strategy="shared", steps=range(len(ITERATIONS))):
    with open_new(path, strategy) as out:
        describe(out)
        for step in steps:
            put_step(out, step)


def all_positions(step):
    parts = [positions(rank, step) for rank in range(RANKS)]
    return [np.concatenate(part) for part in zip(*parts)]


# -- what others read


def validate(path):
    """openPMD's validator: errors, warnings, what it says."""
    said = io.StringIO()
    with warnings.catch_warnings(), contextlib.redirect_stdout(said):
        warnings.simplefilter("ignore")  # of its regular expressions
        from openpmd_validator import check_h5

        errors, warned = check_h5.check_file(str(path))
    return int(errors), int(warned), said.getvalue()


def check_by_validator(path, expected_warnings):
    errors, warned, said = validate(path)
    assert (errors, warned) == (0, expected_warnings), said


def check_by_api(path):
    import openpmd_api as api

    series = api.Series(str(path), api.Access.read_only)
    assert tuple(series.iterations) == ITERATIONS
    assert series.author == "A. Nonymous <a@nonymous.net>"
    for step, number in enumerate(ITERATIONS):
        iteration = series.iterations[number]
        assert (iteration.time, iteration.dt, iteration.time_unit_SI) == (1.5 * step, 0.5, 1e-15)
        check_meshes(series, iteration, step)
        check_particles(series, iteration, step)
    series.close()


def check_meshes(series, iteration, step):
    assert set(iteration.meshes) == {"E", "rho"}
    mesh = iteration.meshes["E"]
    assert (mesh.grid_spacing, mesh.grid_global_offset) == ([0.5, 0.25], [10.0, 20.0])
    assert (mesh.axis_labels, mesh.grid_unit_SI) == (["x", "z"], 1e-6)
    assert mesh.unit_dimension == [1, 1, -3, -1, 0, 0, 0]
    rows = np.arange(ROWS * RANKS)
    for number, (name, at) in enumerate((("x", [0.0, 0.5]), ("y", [0.5, 0.0]))):
        component = mesh[name]
        assert (component.unit_SI, component.position) == (1e9, at)
        assert [(c.offset, c.extent) for c in component.available_chunks()] == \
            [([0, 0], [ROWS * RANKS, COLUMNS])]
        values = component.load_chunk()
        series.flush()
        np.testing.assert_array_equal(values, field(step, number, rows))
    assert mesh["z"].constant and mesh["z"].shape == [ROWS * RANKS, COLUMNS]
    values = iteration.meshes["rho"].load_chunk()
    constant = mesh["z"].load_chunk()
    series.flush()
    assert (constant == 4.5).all()
    np.testing.assert_array_equal(values, -field(step, 2, rows))
    assert iteration.meshes["rho"].axis_labels == ["y", "x"]


def check_particles(series, iteration, step):
    electrons = iteration.particles["electrons"]
    assert set(electrons) == {"position", "positionOffset", "charge", "id"}
    expected = all_positions(step)
    got = [electrons["position"][c].load_chunk() for c in "xy"]
    offsets = [electrons["positionOffset"][c].load_chunk() for c in "xy"]
    charge = electrons["charge"].load_chunk()
    series.flush()
    for c in range(2):
        np.testing.assert_array_equal(got[c], expected[c])
        np.testing.assert_array_equal(offsets[c], np.zeros(len(expected[c])))
    np.testing.assert_array_equal(charge, np.full(len(expected[0]), CHARGE))
    assert electrons["position"].unit_dimension == [1, 0, 0, 0, 0, 0, 0]
    assert electrons["charge"].unit_dimension == [0, 0, 1, 1, 0, 0, 0]


def check_by_viewer(folder):
    from openpmd_viewer import OpenPMDTimeSeries

    series = OpenPMDTimeSeries(str(folder), check_all_files=True)
    assert tuple(series.iterations) == ITERATIONS
    assert set(series.avail_fields) == {"E", "rho"} and series.avail_species == ["electrons"]
    rows = np.arange(ROWS * RANKS)
    for step, number in enumerate(ITERATIONS):
        for c, name in enumerate("xy"):
            values, info = series.get_field("E", name, iteration=number)
            np.testing.assert_allclose(values, 1e9 * field(step, c, rows), rtol=1e-6)
            assert (info.dx, info.dz) == (0.5e-6, 0.25e-6) and info.axes == {0: "x", 1: "z"}
            assert info.xmin == pytest.approx((10 + 0.5 * (0, 0.5)[c]) * 1e-6)
        x, y = series.get_particle(["x", "y"], "electrons", iteration=number)
        expected = all_positions(step)
        np.testing.assert_allclose(x, 1e-6 * expected[0], rtol=1e-15)
        np.testing.assert_allclose(y, 1e-6 * expected[1], rtol=1e-15)
    assert series.t == pytest.approx([1.5e-15 * step for step in range(len(ITERATIONS))])


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_openpmds_own_programs_read_it(folder, strategy):
    path = folder / "pic.h5"
    write(path, strategy)

    def look():
        check_by_validator(path, expected_warnings=len(ITERATIONS))  # no particlePatches
        check_by_api(path)
        check_by_viewer(folder)
    only_on_rank_0(look)


def test_iterations_are_appended(folder):
    """What was said of meshes and species when the file was made holds for them."""
    path = folder / "pic.h5"
    write(path, steps=range(2))
    with open_new(path, mode="a") as out:
        put_step(out, 2)
        put_step(out, 3)

    def look():
        check_by_validator(path, expected_warnings=len(ITERATIONS))
        check_by_api(path)
    only_on_rank_0(look)
    with sluice.open(str(path), comm=COMM) as back:
        assert list(back.attrs_of("time")["iterations"]) == list(ITERATIONS)
        got = back["meshes/E/x"][2]
        np.testing.assert_array_equal(got, field(2, 0, np.arange(ROWS * RANKS)))
        assert "openPMD" not in back.attrs_of("")  # the standard's, not the caller's


def test_numbers_of_iterations(folder):
    """From 0 on where none is given; a number comes once, also after a step that failed."""
    path = folder / "n.h5"
    with open_new(path) as out:
        def put(number=None):
            if number is not None:
                out.attrs_of("time")["iteration"] = number
            with out.step():
                out.put_joined("particles/p/position/x", np.zeros(2), shape=(100,))
        put()
        put(7)
        put()
        with pytest.raises(Error) as raised:
            put(7)
        assert raised.value.code is Code.EXISTS and "iteration 7" in str(raised.value)
        put(20)

    def look():
        import h5py
        check_by_validator(path, expected_warnings=4 + 4)  # author, date, software, softwareVersion
        with h5py.File(path) as f:
            assert sorted(map(int, f["data"])) == [0, 7, 8, 20]
            assert [f[f"data/{n}"].attrs["time"] for n in (0, 7)] == [0.0, 0.0]
    only_on_rank_0(look)


def test_iterations_without_particles_or_meshes(folder):
    """Attributes of what an iteration does not have do not appear in it."""
    path = folder / "some.h5"
    with open_new(path) as out:
        out.attrs_of("meshes/B")["value"] = 1.5  # a constant mesh, with a shape of its own
        out.attrs_of("meshes/B")["shape"] = [3, 4]
        out.attrs_of("particles/ions/mass")["value"] = 2.0
        out.attrs_of("meshes/J")["gridUnitSI"] = 2
        for step in range(3):
            with out.step():
                if step > 0:
                    out.put("meshes/J", np.full(4, 1.0 * RANK), shape=(4 * RANKS,),
                            start=(4 * RANK,))
                if step > 1:
                    out.put_joined("particles/ions/position/x", np.zeros(RANK), shape=(100,))

    def look():
        import openpmd_api as api
        errors, _, said = validate(path)
        assert errors == 0, said
        series = api.Series(str(path), api.Access.read_only)
        for step, meshes in enumerate(({"B"}, {"B", "J"}, {"B", "J"})):
            assert set(series.iterations[step].meshes) == meshes
            assert set(series.iterations[step].particles) == ({"ions"} if step == 2 else set())
        assert series.iterations[1].meshes["J"].grid_unit_SI == 2.0
        assert series.iterations[1].meshes["B"].shape == [3, 4]
        mass = series.iterations[2].particles["ions"]["mass"]
        assert mass.shape == [RANKS * (RANKS - 1) // 2]
        series.close()
    only_on_rank_0(look)


def test_one_file_for_each_iteration(folder):
    for iteration in (0, 50):
        with open_new(folder / f"pic_{iteration}.h5") as out:
            out.attrs_of("")["iterationEncoding"] = "fileBased"
            out.attrs_of("")["iterationFormat"] = "pic_%T"
            out.attrs_of("time")["iteration"] = iteration
            with out.step(time=iteration / 2):
                out.put("meshes/rho", np.full(2, 1.0 * RANK + iteration), shape=(2 * RANKS,),
                        start=(2 * RANK,))

    def look():
        import openpmd_api as api
        series = api.Series(str(folder / "pic_%T.h5"), api.Access.read_only)
        assert list(series.iterations) == [0, 50]
        values = series.iterations[50].meshes["rho"].load_chunk()
        series.flush()
        np.testing.assert_array_equal(values, np.repeat(np.arange(RANKS), 2) + 50)
        series.close()
        check_by_validator(folder / "pic_50.h5", expected_warnings=4)
    only_on_rank_0(look)


@pytest.mark.parametrize("name,shape,why", [
    ("data/5/meshes/E", (4,), "keeps the group data"),
    ("meshes/E/x/y", (4,), "meshes/NAME/COMPONENT"),
    ("meshes/E-1", (4,), "letters, digits and _"),
    ("meshes/E", (), "one dimension or more"),
    ("particles/e", (4,), "particles/SPECIES/RECORD"),
    ("particles/e/position", (4,), "by component"),
    ("particles/e/momentum/x", (4, 3), "one dimension"),
])
def test_names_that_are_not_openpmds_are_refused(folder, name, shape, why):
    with pytest.raises(Error, match=why) as raised:
        with open_new(folder / "refused.h5") as out:
            out.define(name, float, shape, steps=True)
    assert raised.value.code is Code.UNSUPPORTED


@pytest.mark.parametrize("owner,name,value,why", [
    ("meshes/E", "unitDimension", [1.0, 2.0], "7 numbers"),
    ("meshes/E", "geometry", 3, "text"),
    ("meshes/E/x", "unitSI", "one", "a number"),
    ("", "openPMDextension", -1, "from 0 to"),
    ("data/5", "time", 1.0, "attributes of `time`"),
    ("time", "iteration", -1, "from 0 on"),
])
def test_attributes_that_are_not_openpmds_are_refused(folder, owner, name, value, why):
    with pytest.raises(Error, match=why) as raised:
        with open_new(folder / "refused.h5") as out:
            out.attrs_of(owner)[name] = value
    assert raised.value.code is Code.UNSUPPORTED


def test_a_constant_without_a_shape_is_refused(folder):
    with open_new(folder / "constant.h5") as out:
        out.attrs_of("particles/ions/mass")["value"] = 2.0
        out.attrs_of("particles/ions/particlePatches/numParticles")["value"] = 2
        with out.step():
            out.put("meshes/J", np.zeros(1), shape=(RANKS,), start=(RANK,))
        out.attrs_of("meshes/J2/x")["value"] = 2.0
        out.attrs_of("meshes/J2/y")["value"] = 2.0
        out.attrs_of("meshes/J2/y")["shape"] = [4]
        with pytest.raises(Error, match="set its attribute shape"):
            with out.step():
                out.put("meshes/J", np.zeros(1), shape=(RANKS,), start=(RANK,))
