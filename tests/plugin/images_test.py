"""T1 of the driver: every disk that a crash may leave of unchanged programs holds, after the driver
has opened it, the values of the last flush that returned or of the one after; plain HDF5 refuses it
or sees the same. The values of every flush are those of the same program without the driver."""

import itertools
import os
import sys

import programs
import recorded

SEED = int(os.environ.get("SLUICE_CRASH_SEED", "20261124"))
SEEDS = 3 if recorded.IS_LONG else 1
FEWEST = 50_000 if recorded.IS_LONG else 1_500
# As it is set, so that small new pieces are not collected and much is spilled to a file, and so
# that flushes are brought in place by later ones.
CONFIGS = ("", "budget_bytes=1KiB", "apply=later")
SHORT = [(name, "") for name in programs.PROGRAMS] + [(name, "apply=later")
                                                      for name in ("append", "groups", "netcdf4")]


def main():
    all_images, failures = 0, []
    runs = list(itertools.product(programs.PROGRAMS, CONFIGS)) if recorded.IS_LONG else SHORT
    for name, config in runs:
        run = recorded.Recorded(name, config)
        images, violations = set(), []
        for seed in range(SEED, SEED + SEEDS):
            found, wrong = run.judge(seed)
            images |= found
            violations += wrong
        # "plain" is another look at the disk of "recovered".
        disks, again = (sum(kind == which for kind, _, _ in images)
                        for which in ("recovered", "again"))
        print(f"T1 driver-{name}{config and ' ' + config} seed {SEED}: {disks} disks, {again} "
              f"second crashes, {len(violations)} violations", flush=True)
        all_images += disks + again
        failures += violations
        run.remove()
    print(f"T1 driver, seed {SEED}: {all_images} images, {len(failures)} violations")
    for failure in failures[:20]:
        print(failure)
    if all_images < FEWEST:
        sys.exit(f"only {all_images} images")
    sys.exit(1 if failures else 0)


main()
