"""What the golden files hold: one file a format or way of writing, with values that are arithmetic.

A case is everything that goes into a file; describe() turns it into what description.json keeps, so
that a description never comes from a file that was read.
"""

from dataclasses import dataclass, field
from typing import Any, Dict, List

import numpy as np

STEPS = 3
ROWS = 6
TIMES = [0.0, 0.125, 0.5]
#: The types that a format without limits holds.
TYPES = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
         "float32", "float64")
COMPLEX = ("complex64", "complex128")


@dataclass
class Held:
    """A variable: a value for each step, or one value."""
    values: List[np.ndarray]
    steps: bool = True
    options: Dict[str, Any] = field(default_factory=dict)


@dataclass
class Case:
    file: str
    format: str
    variables: Dict[str, Held]
    options: Dict[str, Any] = field(default_factory=dict)
    times: List[float] = field(default_factory=list)
    attributes: Dict[str, Any] = field(default_factory=dict)
    checked: bool = True  # has it checksums?


def values(dtype, shape, step):
    """Distinct, exact in every type, with both signs and the largest number where there are any."""
    count = int(np.prod(shape))
    plain = np.arange(count) + 7 * step
    kind = np.dtype(dtype).kind
    if kind == "b":
        return (plain % 3 == 0).reshape(shape)
    if kind == "c":
        return (plain / 4 - 1j * plain / 8).astype(dtype).reshape(shape)
    if kind == "f":
        made = (plain / 8 - 1).astype(dtype)
        made[-1] = np.inf if step == 1 else np.finfo(dtype).max
        return made.reshape(shape)
    made = plain.astype(dtype)
    made[-1], made[0] = np.iinfo(dtype).max - step, np.iinfo(dtype).min + step
    return made.reshape(shape)


def stepped(dtype, shape, **options):
    return Held([values(dtype, shape, step) for step in range(STEPS)], True, options)


def fixed(dtype, shape, **options):
    return Held([values(dtype, shape, 0)], False, options)


def of_types(types):
    """A variable of each type, by the name of its type."""
    return {f"of_{name}": stepped(name, (ROWS,)) for name in types}


def grid():
    """Named dimensions with coordinates, units, what was left out."""
    return {
        "y": fixed("float64", (ROWS,), dimensions=["y"], unit="m"),
        "x": fixed("float32", (4,), dimensions=["x"], unit="m"),
        "temperature": stepped("float64", (ROWS, 4), dimensions=["y", "x"], unit="K",
                               description="temperature of air"),
        "deep/inside": stepped("int32", (ROWS, 2)),
        "energy": stepped("float64", ()),
        "some": stepped("int32", (ROWS,), partial=True, fill=-7),
    }


ATTRIBUTES = {"title": "golden — with a dash", "count": 42, "factors": [0.5, 0.25, -1.0]}
NAMES = Held([np.array(["iron", "cobalt", "", "nickel", "Fe₂O₃", "x"])], False)
POSITIONS = {"positions": stepped("float32", (ROWS, 3))}


def positions():
    made = [(np.arange(3 * ROWS, dtype="float32").reshape(ROWS, 3) + step) / 8
            for step in range(STEPS)]
    return {"positions": Held(made),
            "cell": Held([np.array([30.0 + step, 0, 40, 0, 0, 50]) for step in range(STEPS)])}


def cases():
    full = {**of_types(TYPES + COMPLEX), **grid()}

    def packed(how):
        return {"noise": stepped("float64", (64, 4), compress=how),
                "counts": stepped("int32", (256,), compress=how),
                "small": stepped("int8", (ROWS,))}

    return [
        Case("fields.h5", "hdf5", {**full, "names": NAMES}, times=TIMES, attributes=ATTRIBUTES),
        Case("grouped.h5", "hdf5", {**full, "names": NAMES}, {"hdf5_layout": "grouped"},
             times=TIMES, attributes=ATTRIBUTES),
        Case("deflate.h5", "hdf5", packed("deflate:6"), times=TIMES),
        Case("zstd.h5", "hdf5", packed("zstd:3"), times=TIMES),
        Case("parts.h5", "hdf5", full, {"strategy": "file-per-process"}, times=TIMES,
             attributes=ATTRIBUTES),
        Case("fields.nc", "netcdf4", {**of_types(TYPES), **grid(), "names": NAMES}, times=TIMES,
             attributes=ATTRIBUTES),
        Case("fields.zarr", "zarr", full, times=TIMES, attributes=ATTRIBUTES),
        Case("zstd.zarr", "zarr", packed("zstd:3"), times=TIMES),
        Case("array.npy", "npy", {"array": stepped("float64", (ROWS, 2))}, checked=False),
        Case("run.dcd", "dcd", positions(), checked=False),
        Case("restart.coor", "namdbin",
             {"restart": Held([np.arange(3.0 * ROWS).reshape(ROWS, 3) / 8], False)}, checked=False),
        Case("fields.rec", "records", full, times=TIMES, attributes=ATTRIBUTES),
    ]


#: What values.rec holds, written by records' own calls: for each group its parts, and of each the
#: runs of values of one type.
GROUPS = [
    [[("int32", [1, -2, 3]), ("float64", [0.5, 0.25])], [("int32", [4])]],
    [[], [("float32", [1.5, 2.5]), ("int64", [-9])]],
]


def plain(array):
    """As JSON holds it: complex numbers as pairs, what is no number as text."""
    if array.dtype.kind == "c":
        return plain(np.stack([array.real, array.imag], axis=-1))
    if array.dtype.kind == "f":
        return _finite(array.astype("float64").tolist())
    return array.tolist()


def _finite(value):
    if isinstance(value, list):
        return [_finite(each) for each in value]
    return value if np.isfinite(value) else str(value)


def describe(case):
    """A file as description.json has it."""
    return {
        "format": case.format,
        "checked": case.checked,
        "times": case.times,
        "attributes": case.attributes,
        "variables": {
            name: {"dtype": held.values[0].dtype.name if held.values[0].dtype.kind != "U"
                   else "text",
                   "steps": held.steps, "shape": list(held.values[0].shape),
                   "dimensions": held.options.get("dimensions", []),
                   "unit": held.options.get("unit", ""),
                   "description": held.options.get("description", ""),
                   "values": [plain(each) for each in held.values]}
            for name, held in case.variables.items()},
    }
