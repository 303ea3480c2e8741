"""A demo shows its app in under a minute: its script ends well, every command it shows is one that
went well, and what it draws is a picture.

  demo_test.py APP [option of its demo.sh...]
"""

import os
import subprocess
import sys
import tempfile
import time

MOST_S = 60
# What each leaves, and what it says at the least.
SHOWN = {
    "vampire": (("spins.h5", "spins.png"), ("verify", ": ok: ")),
    "mfdn": (("li6.h5",), ("Lanczos: ", "energy", "verify")),
    "occam": (("traj", "traj.h5", "traj.png", "text/1.traj"), ("verify",)),
    "parabmu": (("bone.nc", "displacement.nc", "displacement.png"), ("converged", "verify")),
    "namd": (("run.dcd", "run.coor", "run.png", "run.h5"), ("verify", "drift")),
}


def check_picture(path):
    import matplotlib.image

    image = matplotlib.image.imread(path)[:, :, :3]
    if image.shape[0] < 300 or image.shape[1] < 500 or image.std() < 0.05:
        sys.exit(f"FAILED: {path}: {image.shape}, deviation {image.std():.3f}: no picture")


def main():
    app, *options = sys.argv[1:]
    source = os.environ["SLUICE_SOURCE_DIR"]
    with tempfile.TemporaryDirectory(prefix="sluice-demo-") as folder:
        began = time.monotonic()
        done = subprocess.run(
            ["bash", os.path.join(source, "apps", app, "demo.sh"), *options],
            env={**os.environ, "SLUICE_OUT": os.path.join(folder, "out")},
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=5 * MOST_S,
            check=False)
        seconds = time.monotonic() - began
        print(done.stdout, done.stderr, f"{app}: {seconds:.1f} s", sep="\n")
        if done.returncode != 0:
            sys.exit(f"FAILED: exit code {done.returncode}")
        files, words = SHOWN[app]
        for name in files:
            path = os.path.join(folder, "out", name)
            if not os.path.exists(path):
                sys.exit(f"FAILED: there is no {name}")
            if name.endswith(".png"):
                check_picture(path)
        for word in words:
            if word not in done.stdout:
                sys.exit(f"FAILED: nothing is said of {word}")
        if os.getloadavg()[0] > 3 * os.cpu_count():
            print("the machine has other work: the time is not judged")
        elif seconds > MOST_S:
            sys.exit(f"FAILED: {seconds:.0f} s, and {MOST_S} are promised")


if __name__ == "__main__":
    main()
