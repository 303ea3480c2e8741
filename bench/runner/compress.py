"""Case compress: compressed writes beside parallel HDF5's, h5py's, and encoding alone."""

import os

from .cases import Contestant, Metric, at_least

REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

NAME = "compress"
HELP = "shuffle and deflate beside parallel HDF5's filtered writes, h5py, and encoding alone"
ROUNDS = 7
STRATEGIES = ["shared"]
METRICS = {
    "durable": Metric("MB/s", 0, True),
    "closed": Metric("MB/s", 0, True),
    "size": Metric("MB", 2, False),
}
GOAL_OF_PHDF5 = 2.5
GOAL_OF_ENCODING = 0.85
EQUAL_SIZE = 0.03


def add_arguments(parser):
    parser.add_argument("--mib", type=at_least(1), default=32, help="floats a rank (%(default)s)")
    parser.add_argument(
        "--chunk-mib", type=at_least(1), default=1, help="of one chunk (%(default)s)"
    )
    parser.add_argument("--level", type=at_least(1), default=1, help="Sluice's (%(default)s)")
    parser.add_argument(
        "--peer-level", type=at_least(1), default=6, help="zlib's, for equal sizes (%(default)s)"
    )


def contestants(options):
    common = {"mib": options.mib, "chunk_mib": options.chunk_mib}
    ours = common | {"level": options.level}
    peers = common | {"level": options.peer_level}
    python = os.path.join(REPOSITORY, ".venv", "bin", "python")
    environment = (("SLUICE_PYTHON", python),) if os.access(python, os.X_OK) else ()
    found = [
        Contestant("phdf5-collective", "bench_peers", "compress/phdf5", peers),
        Contestant("encoding-alone", "bench_sluice", "compress/encoding", ours),
    ]
    for strategy in options.strategies:
        parameters = ours | options.set | {"strategy": strategy}
        name = f"sluice-{strategy}"
        for ending, durable in (("", 1), ("-nosync", 0)):
            found.append(
                Contestant(name + ending, "bench_sluice", "compress/sluice",
                           parameters | {"durable": durable}, "", True)
            )
    found.append(
        Contestant("h5py-serial", "bench_sluice", "compress/h5py", peers, environment=environment)
    )
    return found


def dense_mb(options):
    return (options.ranks * options.mib << 20) / 1e6


def file_bytes(options):
    return options.ranks * options.mib << 20


def caption(options):
    return (
        f"{options.ranks} ranks x {options.mib} MiB of 4-byte floats, smooth with noise, into a "
        f"compressed 3-D dataset with chunks of {options.chunk_mib} MiB: shuffle, then deflate "
        f"(Sluice level {options.level}, zlib level {options.peer_level}). MB/s of what went in "
        "(1 MB is 10^6 bytes), from a barrier until the file was closed; durable: closed and "
        "synced. Encoding alone: every rank shuffles and deflates its own chunks, no file. "
        "h5py: one process. Each contestant's last file was read back and compared, but h5py's."
    )


def value(metric, contestant, values, options):
    if metric == "size":
        return values["file_bytes"] / 1e6
    durable = contestant.parameters.get("durable")
    if metric == "durable":
        # Encoding alone has nothing to sync: it is the limit of both.
        if contestant.job == "compress/encoding" or durable == 1:
            return dense_mb(options) / values["close_s"]
        return dense_mb(options) / values["sync_s"] if "sync_s" in values else None
    return None if durable == 1 else dense_mb(options) / values["close_s"]


def remarks(result, options):
    del options
    rows = {row["name"]: row["summary"] for row in result["contestants"]}
    ours = [row["name"] for row in result["contestants"] if row["ours"]]
    for pair in result["ratios"]:
        if pair["metric"] == "size" or pair["of"] not in ours:
            continue
        goal = {"phdf5-collective": GOAL_OF_PHDF5, "encoding-alone": GOAL_OF_ENCODING}.get(
            pair["to"]
        )
        if goal is not None:
            found = pair["pairwise_median"]
            met = "met" if found >= goal else "not met"
            what = f"{pair['metric']}: {pair['of']} of {pair['to']}"
            yield f"goal: {what}: {found:.2f}, {met} (>= {goal})"
    for name, summary in rows.items():
        if name in ours and "phdf5-collective" in rows:
            other = rows["phdf5-collective"]["size"]["median"]
            off = summary["size"]["median"] / other - 1
            fits = "equal" if abs(off) <= EQUAL_SIZE else "NOT equal"
            yield f"size: {name} {off:+.1%} of phdf5-collective, {fits} within {EQUAL_SIZE:.0%}"
