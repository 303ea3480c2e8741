"""How a program is started on several ranks of an MPI, with an interface in front of it."""


def words(abi, ranks, *program, preload=None):
    """`preload`: the library in front of the MPI; None: none."""
    start = [f"mpirun.{abi}"]
    if abi == "openmpi":
        start += ["--oversubscribe"] + (["-x", f"LD_PRELOAD={preload}"] if preload else [])
    elif preload:
        start += ["-genv", "LD_PRELOAD", str(preload)]
    return [*start, "-n", str(ranks), *map(str, program)]
