"""T17 of the driver: what a driver with a bug would have left on the disk is found by the judgement
of crash images. The bugs are planted into what was recorded (images.cpp: plant)."""

import sys

import recorded

PLANTED = {"no_journal": "in-place", "no_journal_sync": "in-place", "no_data_sync": "append",
           "no_guard_sync": "in-place", "no_apply_sync": "in-place", "no_guard": "in-place",
           "no_folder_sync": "replaced", "no_data_checksums": "append"}


def main():
    runs = {name: recorded.Recorded(name) for name in sorted(set(PLANTED.values()))}
    missed = []
    for bug, name in PLANTED.items():
        _, violations = runs[name].judge(1, bug)
        print(f"{bug} ({name}): {len(violations)} violations", flush=True)
        if not violations:
            missed.append(bug)
    for run in runs.values():
        run.remove()
    print(f"T17 {len(PLANTED) - len(missed)} of {len(PLANTED)} caught")
    sys.exit(f"not found: {', '.join(missed)}" if missed else 0)


main()
