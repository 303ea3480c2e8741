"""sluice render --povray: the scenes are drawn by POV-Ray itself, whole and with every atom in its
colour. Exit code 77 where there is no povray (packaging/debian-packages.txt)."""

import os
import shutil
import struct
import subprocess
import sys
import unittest

import matplotlib.image
import numpy

from command import FINE, FOLDER, new_path, sluice

EDGE = 5


def layers():
    """A folder of VAMPIRE's: a cube whose lower half points down, the upper one up; in the second
    frame all of it points along x."""
    folder = new_path().replace(".h5", "")
    os.mkdir(folder)
    places = numpy.array([[x, y, z] for x in range(EDGE) for y in range(EDGE)
                          for z in range(EDGE)], float) * 3
    count = struct.pack("<Q", len(places))
    none = numpy.zeros(len(places), "<i4").tobytes()
    up = numpy.where(places[:, 2] < 6, -1.0, 1.0)
    zero = up * 0
    frames = (numpy.stack([zero, zero, up], axis=1), numpy.stack([zero + 1, zero, zero], axis=1))
    with open(os.path.join(folder, "atoms-coords.data"), "wb") as file:
        file.write(count + none + none + places.tobytes())
    with open(os.path.join(folder, "atoms-coords.meta"), "w", encoding="ascii") as file:
        file.write(f"#\nFormat: binary\n#\nNumber of atoms: {len(places)}\n#\n"
                   "Number of materials: 1\n0\t1.72\tAg \tCo\n#\n"
                   "Number of coord files: 1\natoms-coords.data\n")
    for frame, spins in enumerate(frames):
        with open(os.path.join(folder, f"spins-{frame:08}.data"), "wb") as file:
            file.write(count + spins.tobytes())
        with open(os.path.join(folder, f"spins-{frame:08}.meta"), "w", encoding="ascii") as file:
            file.write("#\nTime: 1e-14\nField: 0\t0\t0\nTemperature: 0\n"
                       "Magnetisation: 0\t0\t1\n#\nNumber of spin files: 1\n"
                       f"spins-{frame:08}.data\n#\n")
    return folder


class Povray(unittest.TestCase):
    def test_the_film_is_drawn(self):
        result = sluice("render", layers(), "scene.pov", "--povray", "--frames", "0:2")
        self.assertEqual(result.returncode, FINE, result.stderr)
        done = subprocess.run(["povray", "+Iscene.pov", "+Ofilm.png", "+W240", "+H180", "-D", "+A",
                               "+KFI0", "+KFF1"], cwd=FOLDER, timeout=200, capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        images = []
        for frame in range(2):
            image = matplotlib.image.imread(os.path.join(FOLDER, f"film{frame}.png"))[:, :, :3]
            drawn = (image < 0.9).any(axis=2)
            self.assertGreater(drawn.mean(), 0.1)
            edges = (drawn[0], drawn[-1], drawn[:, 0], drawn[:, -1])
            self.assertFalse(any(edge.any() for edge in edges), "atoms are cut off")
            rows = numpy.flatnonzero(drawn.any(axis=1))
            images.append(image[rows[0]:rows[-1]])
        # Down is black, up white; along x it is red.
        third = len(images[0]) // 3
        dark = (images[0] < 0.2).all(axis=2)
        self.assertLess(dark[:third].mean(), 0.02)
        self.assertGreater(dark[-third:].mean(), 0.1)
        red = [(image[:, :, 0] > 2 * image[:, :, 1:].max(axis=2)) &
               (image[:, :, 0] > 0.2) for image in images]
        self.assertFalse(red[0].any())
        self.assertGreater(red[1].mean(), 0.2)


if __name__ == "__main__":
    if shutil.which("povray") is None:
        print("skipped: povray is not installed (packaging/debian-packages.txt)")
        sys.exit(77)
    unittest.main()
