"""Case read: a field that was written as slabs, read cold by slabs and by pencils."""

from .cases import Contestant, Metric, at_least

NAME = "read"
HELP = "cold reads of a field written as slabs, by slabs and by pencils"
ROUNDS = 6
METRICS = {"cold": Metric("MB/s", 0, True)}
PATTERNS = ("contiguous", "pencils")


def add_arguments(parser):
    parser.add_argument("--mib", type=at_least(1), default=64, help="doubles a rank (%(default)s)")


def contestants(options):
    found = []
    for pattern in PATTERNS:
        common = {"mib": options.mib, "pattern": pattern}
        found.append(Contestant("bare", "bench_sluice", "read/bare", common, pattern))
        found.append(Contestant("adios2-bp5", "bench_peers", "read/adios2-bp5", common, pattern))
        for name, more in (
            ("sluice", {}),
            ("sluice-1-reader", {"readers": 1}),
            ("sluice-unchecked", {"checksum": 0}),
        ):
            parameters = common | more
            found.append(
                Contestant(name, "bench_sluice", "read/sluice", parameters, pattern, True)
            )
    return found


def file_bytes(options):
    return options.ranks * options.mib << 20


def caption(options):
    return (
        f"{options.ranks} ranks x {options.mib} MiB of doubles, written as slabs and read cold: "
        "POSIX_FADV_DONTNEED first, and mincore says that nothing is left in memory. contiguous: "
        "every rank its slab. pencils: every rank a part of every row, runs of 1 KiB on 4 ranks. "
        "Time: from a barrier until the last rank has opened the file and has its values. Bare: "
        "every rank its slab by 4 MiB preads, whatever the pattern. unchecked: without comparing "
        "checksums. adios2-bp5: its own folder of the same field."
    )


def value(metric, contestant, values, options):
    del metric, contestant
    return file_bytes(options) / 1e6 / values["read_s"]


def remarks(result, options):
    del result, options
    return ()
