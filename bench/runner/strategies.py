"""Case strategies: every strategy of Sluice beside its peers, on three decompositions."""

from .cases import Contestant, Metric, at_least

NAME = "strategies"
HELP = "every strategy beside parallel HDF5, netCDF-4, PnetCDF and MPI-IO: slabs, pencils, 4 KiB"
ROUNDS = 7
SHOWS_RATIOS = False
METRICS = {"durable": Metric("MB/s", 0, True)}
PATTERNS = ("contiguous", "pencils", "small")
STRATEGIES = (
    ("serial", {"strategy": "serial"}),
    ("shared", {"strategy": "shared"}),
    ("collective", {"strategy": "collective"}),
    ("collective-cyclic", {"strategy": "collective", "tiles": "cyclic"}),
    ("file-per-process", {"strategy": "file-per-process"}),
    ("file-per-node", {"strategy": "file-per-node", "writers": 2}),
    ("auto", {"strategy": "auto"}),
)
# ROMIO, another MPI-IO than Open MPI's own, told to gather and to bypass the page cache.
ROMIO = (("OMPI_MCA_io", "romio321"),)
HINTS = "romio_cb_write=enable,cb_buffer_size=16777216,direct_write=true"
GOAL_OF_BARE = 0.9
GOALS_OF_PEERS = {"contiguous": 1.3, "pencils": 2.0, "small": 2.0}
GOAL_OF_AUTO = 0.9


def add_arguments(parser):
    parser.add_argument("--mib", type=at_least(1), default=64, help="doubles a rank (%(default)s)")
    parser.add_argument(
        "--pattern", choices=PATTERNS, action="append", help="only this one; may be repeated"
    )
    parser.add_argument(
        "--form",
        choices=("stepped", "fixed"),
        default="stepped",
        help="Sluice's variable: a step of a stepped one (default), or one without steps",
    )


def _peers(common, group):
    for name, more in (
        ("bare", {}),
        ("mpiio", {}),
        ("phdf5-collective", {"form": "contiguous"}),
        ("phdf5-collective-chunked", {"form": "chunked"}),
        ("phdf5-independent", {"form": "contiguous"}),
        ("netcdf4", {}),
        ("pnetcdf", {}),
        ("adios2-bp5", {}),
        ("adios2-bp5-everyone", {"aggregation": "EveryoneWrites"}),
    ):
        job = "strategies/" + name.removesuffix("-chunked").removesuffix("-everyone")
        yield Contestant(name, "bench_peers", job, common | more, group)
    yield Contestant(
        "mpiio-romio-direct", "bench_peers", "strategies/mpiio", common | {"hints": HINTS}, group,
        environment=ROMIO,
    )


def contestants(options):
    found = []
    for pattern in options.pattern or PATTERNS:
        common = {"mib": options.mib, "pattern": pattern}
        found += _peers(common, pattern)
        for name, parameters in STRATEGIES:
            parameters = common | options.set | parameters
            parameters |= {"durability": "step", "form": options.form}
            found.append(
                Contestant(f"sluice-{name}", "bench_sluice", "strategies/sluice", parameters,
                           pattern, True)
            )
    return found


def file_bytes(options):
    return options.ranks * options.mib << 20


def caption(options):
    return (
        f"{options.ranks} ranks x {options.mib} MiB of doubles into a new 3-D field, "
        f"{'one step of a stepped variable' if options.form == 'stepped' else 'without steps'}. "
        "contiguous: slabs. pencils: the ranks divide the last two dimensions, runs of 2 KiB. "
        "small: every rank has every ranks-th run of 4 KiB. Durable: from a barrier until the "
        "last rank has created, written, synced and closed. Bare: the same bytes as one run a "
        "rank, by 4 MiB pwrites with O_DIRECT into preallocated space, whatever the pattern. "
        "mpiio-romio-direct: ROMIO with collective buffering and direct_write, where the file "
        "system takes it. adios2-bp5-everyone: every rank writes, rather than one for the node. "
        "1 MB is 10^6 bytes. Samples of every contestant's last file were read "
        "back and compared."
    )


def value(metric, contestant, values, options):
    del metric, contestant
    return file_bytes(options) / 1e6 / max(s for name, s in values.items() if name.endswith("_s"))


def remarks(result, options):
    del options
    for pattern in dict.fromkeys(row["group"] for row in result["contestants"]):
        rows = {r["name"]: r for r in result["contestants"] if r["group"] == pattern}
        medians = {name: row["summary"]["durable"]["median"] for name, row in rows.items()}
        ours = {n: m for n, m in medians.items() if rows[n]["ours"] and n != "sluice-auto"}
        peers = {n: m for n, m in medians.items() if not rows[n]["ours"] and n != "bare"}
        if not ours:
            continue
        best = max(ours, key=ours.get)
        if "bare" in medians:
            yield _verdict(f"{pattern}: {best} of bare", ours[best] / medians["bare"], GOAL_OF_BARE)
        if peers:
            rival = max(peers, key=peers.get)
            yield _verdict(f"{pattern}: {best} of the best peer, {rival}",
                           ours[best] / peers[rival], GOALS_OF_PEERS[pattern])
        if "sluice-auto" in medians:
            yield _verdict(f"{pattern}: sluice-auto of {best}",
                           medians["sluice-auto"] / ours[best], GOAL_OF_AUTO)


def _verdict(what, ratio, goal):
    return f"goal: {what}: {ratio:.2f}, {'met' if ratio >= goal else 'not met'} (>= {goal:g})"
