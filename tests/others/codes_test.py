"""Files of Sluice in the formats of single codes: VOX-FE's texts, MFDn's records, particles of a
template, VAMPIRE's spins. What would be lost or misread is refused by its name."""

import json

import h5py
import numpy as np
import pytest

import sluice as library
from others import run, sluice

BAD_INPUT = 2


def refused(*arguments):
    done = run(*arguments)
    assert done.returncode == BAD_INPUT, done.stdout + done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr
    return done.stderr


def test_a_text_of_vox_fe_has_one_step(tmp_path):
    source, material = tmp_path / "steps.h5", np.zeros((2, 1, 1, 2), "u1")
    material[0, 0, 0, 0], material[1, 0, 0, 1] = 1, 2
    with library.open(source, "w", log="off") as out:
        out.define("material", "u1", (1, 1, 2), steps=True)
        out.put("other", np.zeros(2), shape=(2,))
        for one in material:
            with out.step():
                out.put("material", one)
    assert "material has 2 steps, and the text has none" in refused(
        "convert", source, tmp_path / "none.model")
    assert not (tmp_path / "none.model").exists()
    for step, row in ((0, "1 1 1 1 1"), (-1, "1 2 2 1 1")):
        target = tmp_path / f"{step}.model"
        done = run("convert", source, target, "--step", step)
        assert done.returncode == 1 and "left out: other (not in a text of VOX-FE)" in done.stderr
        assert target.read_text(encoding="ascii").split("\n")[2] == row


def test_impossible_extents_of_nodes_are_refused(tmp_path):
    source, target = tmp_path / "d.h5", tmp_path / "d.txt"
    with library.open(source, "w", log="off") as out:
        out.put("displacement", np.zeros((1, 3)), shape=(1, 3))
        out.put("node_id", np.zeros(1, "i8"), shape=(1,))
        out.attrs["nodes"] = np.array([2**32, 2**32, 1])
    assert "each of 1 to 1048577" in refused("convert", source, target)
    assert not target.exists()


@pytest.mark.parametrize("lengths, words", [([2, 2], "LENGTHS says 4 elements"),
                                            ([6, -1], "LENGTHS has -1"), ([2, 3], "")])
def test_lengths_are_those_of_the_wave_functions(tmp_path, lengths, words):
    source, folder = tmp_path / "states.h5", tmp_path / "records"
    with library.open(source, "w", log="off") as out:
        out.put("LENGTHS", np.array(lengths), shape=(2,))
        out.put("GRP01/EigenVector01", np.arange(5, dtype="f4"), shape=(5,))
    if words:
        assert words in refused("convert", source, folder, "--format", "mfdn")
        assert not folder.exists()
    else:
        sluice("convert", source, folder, "--format", "mfdn")
        assert len(list(folder.iterdir())) == 2


def records(folder, head, line, rows, name="traj"):
    """Records of texts: a group with a line of its own and one for each particle."""
    folder.mkdir()
    (folder / f"{name}.template").write_text(f"files %d.{name}\n{head}\n{line}\n", encoding="ascii")
    (folder / f"1.{name}").write_text("".join(row + "\n" for row in rows), encoding="ascii")
    sluice("convert", folder / f"{name}.template", folder / name)
    return folder / name


HEAD = "(i12,f16.6,3f12.6,i10) step:int64 time_ps:float64 box_nm:float64(3) particles:int32"
LINE = "*(i10,i4,3f10.5) id:int32 type:int32 position_nm:float32(3)"


def head_row(count, step=7):
    return f"{step:12d}{0.5:16.6f}{4:12.6f}{4:12.6f}{4:12.6f}{count:10d}"


def test_particles_without_a_place_are_told(tmp_path):
    places = ["   0.50000", "       NaN", "  Infinity", " -Infinity", "  -0.00001", "   4.00000"]
    rows = [f"{i + 1:10d}{1:4d}{0:10.5f}{0:10.5f}{z}" for i, z in enumerate(places)]
    path = records(tmp_path / "texts", HEAD, LINE, [head_row(len(rows)), *rows])
    group = json.loads(sluice("stats", path, "--json"))[0]
    counts = np.array(group["density_nm3"]["1"]) * 64 / 10
    np.testing.assert_allclose(counts, [1, 1, 0, 0, 0, 0, 0, 0, 0, 1])
    assert group["without_place"] == 3
    assert "3 particles without a place" in sluice("stats", path)
    head = head_row(1).replace(f"{4:12.6f}", "    Infinity")
    path = records(tmp_path / "endless", HEAD, LINE, [head, rows[0]])
    assert "1 particle without a place" in sluice("stats", path)


def test_particles_of_types_without_a_profile_are_told(tmp_path):
    rows = [f"{i + 1:10d}{kind:4d}{0:10.5f}{0:10.5f}{0.5:10.5f}"
            for i, kind in enumerate([1, 0, 64, 65, 999, -1])]
    path = records(tmp_path / "texts", HEAD, LINE, [head_row(len(rows)), *rows])
    group = json.loads(sluice("stats", path, "--json"))[0]
    assert set(group["density_nm3"]) == {"1", "64"}
    assert group["of_other_types"] == 4
    assert "4 particles of types that are not 1 to 64" in sluice("stats", path)


def test_a_step_of_64_bits_stays_one(tmp_path):
    row = f"{1:10d}{1:4d}{0:10.5f}{0:10.5f}{1:10.5f}"
    path = records(tmp_path / "texts", HEAD, LINE, [head_row(1, 2**33), row])
    sluice("convert", path, tmp_path / "traj.h5", "--format", "h5md")
    with h5py.File(tmp_path / "traj.h5") as file:
        steps = file["particles/all/position/step"]
        assert steps.dtype == np.int64 and list(steps) == [2**33]


@pytest.mark.parametrize("line, words", [
    ("*(i10,i4,2f10.5) id:int32 type:int32 position_nm:float32(2)",
     "position_nm is float32(2), and should be 3 of float32 or float64"),
    ("*(i10,i4,3i10) id:int32 type:int32 position_nm:int32(3)", "position_nm is int32(3)"),
    ("*(i10,f4.1,3f10.5) id:int32 type:float32 position_nm:float32(3)",
     "type is float32(1), and should be 1 of int32 or int64"),
    ("*(2i5,i4,3f10.5) id:int32(2) type:int32 position_nm:float32(3)", "id is int32(2)")])
def test_fields_of_particles_are_of_their_type(tmp_path, line, words):
    path = records(tmp_path / "texts", HEAD, line, [head_row(0)])
    for arguments in (("stats", path), ("convert", path, tmp_path / "x.h5", "--format", "h5md")):
        assert words in refused(*arguments)
    assert not (tmp_path / "x.h5").exists()


def test_totals_have_all_their_digits(tmp_path):
    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / "e.template").write_text(
        "files %d.e\n(i4,f8.1,es24.16) step:int32 time_ps:float64 kinetic:float64\n")
    (folder / "1.e").write_text(f"{1:4d}{0.5:8.1f}{1.25e-9:24.16E}\n")
    sluice("convert", folder / "e.template", folder / "e")
    assert "1.25e-09" in sluice("stats", folder / "e")


def test_atoms_that_move_are_refused(tmp_path):
    source = tmp_path / "moving.h5"
    with library.open(source, "w", log="off") as out:
        for name in ("spins", "coordinates"):
            out.define(name, "f8", (4, 3), steps=True)
        for step in range(2):
            with out.step():
                out.put("spins", np.ones((4, 3)))
                out.put("coordinates", np.full((4, 3), float(step)))
    for name in ("a.xyz", "a.txt"):
        assert "coordinates changes from step to step" in refused("convert", source,
                                                                  tmp_path / name)


def spins_file(path, attributes, **variables):
    """Two atoms of the material 0 in two frames."""
    with library.open(path, "w", log="off") as out:
        out.put("coordinates", np.arange(6.0).reshape(2, 3))
        out.attrs.update(attributes)
        for frame in range(2):
            with out.step(time=frame):
                out.put("spins", np.tile([0.0, 0.0, 1.0], (2, 1)))
                for name, values in variables.items():
                    out.put(name, values[frame])


def meta_of(folder, frame=0):
    return (folder / f"spins-{frame:08}.meta").read_text(encoding="ascii")


@pytest.mark.parametrize("ending", [".h5", ".nc", ".zarr"])
@pytest.mark.parametrize("form", [lambda x: x, lambda x: [x]])
def test_attributes_of_spins_in_any_form(tmp_path, ending, form):
    source = tmp_path / f"spins{ending}"
    attributes = {"moment_mub": form(np.float32(1.5)), "element": form("Fe"),
                  "material_name": form("Iron"), "temperature_k": form(np.int32(300)),
                  "field_t": np.array([0, 0, 2])}
    spins_file(source, attributes)
    sluice("convert", source, tmp_path / "folder", "--format", "vampire")
    meta = (tmp_path / "folder/atoms-coords.meta").read_text(encoding="ascii").split("\n")
    material = meta[meta.index("Number of materials: 1") + 1]
    assert [word.strip() for word in material.split("\t")] == ["0", "1.5", "Fe", "Iron"]
    lines = meta_of(tmp_path / "folder").split("\n")
    assert "Temperature: 300" in lines and "Field: 0\t0\t2" in lines


def test_the_temperature_of_spins_may_be_a_number_of_each_step(tmp_path):
    source = tmp_path / "spins.h5"
    spins_file(source, {}, temperature_k=np.array([12.5, 13.5]))
    sluice("convert", source, tmp_path / "folder", "--format", "vampire")
    for frame, wanted in enumerate((12.5, 13.5)):
        assert f"Temperature: {wanted}\n" in meta_of(tmp_path / "folder", frame)


@pytest.mark.parametrize("attributes, why", [
    ({"moment_mub": "1.72"}, "attribute moment_mub has no numbers"),
    ({"element": 26}, "attribute element has no text"),
    ({"moment_mub": [1.0, 2.0], "element": "Fe"}, "attribute element has 1 values"),
    ({"field_t": 1.5}, "attribute field_t has 1 values, and should have 3"),
    ({"vampire_snapshots": [0.5, 1.5]}, "attribute vampire_snapshots has no integers")])
def test_attributes_of_spins_that_say_something_else_are_refused(tmp_path, attributes, why):
    source = tmp_path / "spins.h5"
    spins_file(source, attributes)
    assert why in refused("convert", source, tmp_path / "folder", "--format", "vampire")


def test_variables_of_spins_of_another_shape_are_refused(tmp_path):
    source = tmp_path / "spins.h5"
    spins_file(source, {}, temperature_k=np.zeros((2, 4)))
    assert "temperature_k has the shape (4), and should have (1)" in refused(
        "convert", source, tmp_path / "folder", "--format", "vampire")
