"""stalls.py FOLDER: prints a line whenever the disk of FOLDER has stood still, until it is killed
or who started it is gone.

It writes one byte a second and waits until the byte is on disk. A machine that is busy answers
within a second or two; one whose disk is throttled or suspended may not for minutes, and what has
a time limit then fails whatever it tests: the least limit is 10 s, and a step has two syncs.
"""

import os
import sys
import tempfile
import time

STALL_S = 5


def main(folder):
    parent = os.getppid()
    with tempfile.TemporaryFile(dir=folder) as file:
        while os.getppid() == parent:
            began = time.monotonic()
            os.pwrite(file.fileno(), b"x", 0)
            os.fsync(file.fileno())
            seconds = time.monotonic() - began
            if seconds > STALL_S:
                print(f"{seconds:.0f} s until {time.strftime('%H:%M:%S')}", flush=True)
            time.sleep(1)


if __name__ == "__main__":
    main(sys.argv[1])
