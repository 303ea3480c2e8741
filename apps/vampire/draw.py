"""Draws the spins of a thin film as it comes out of disorder.

    python draw.py spins.h5 spins.png

The hue is the direction of a spin in the plane; white points out of the plane, black into it.
Reads what apps/vampire writes, with h5py alone: nothing of Sluice is needed to read the file.
"""

import sys

import h5py
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import matplotlib.ticker
import numpy as np

INK = "#e8e6e1"
FAINT = "#8d929c"
PAPER = "#101217"


def cyclic(angle):
    """RGB of a circle of hues that the eye sees as equally bright and equally far apart (Oklab)."""
    lightness, chroma, offset = 0.735, 0.145, np.radians(28)
    a = chroma * np.cos(angle + offset)
    b = chroma * np.sin(angle + offset)
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    medium = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    red = 4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short
    green = -1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short
    blue = -0.0041960863 * long - 0.7034186147 * medium + 1.7076147010 * short
    linear = np.stack([red, green, blue], axis=-1).clip(0, 1)
    return np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)


def colours(spins):
    """RGB of unit vectors (..., 3): hue by angle in the plane, white or black out of it."""
    out = np.abs(spins[..., 2:3]).clip(0, 1) ** 2.2
    pole = np.where(spins[..., 2:3] > 0, 1.0, 0.06)
    return cyclic(np.arctan2(spins[..., 1], spins[..., 0])) * (1 - out) + pole * out


def windings(spins):
    """How often the direction in the plane turns around each square of four atoms: +1 a vortex,
    -1 an antivortex (periodic film)."""
    angle = np.arctan2(spins[..., 1], spins[..., 0])
    ring = [angle, np.roll(angle, -1, 1), np.roll(angle, (-1, -1), (0, 1)), np.roll(angle, -1, 0)]
    turn = sum((ring[(i + 1) % 4] - ring[i] + np.pi) % (2 * np.pi) - np.pi for i in range(4))
    return np.rint(turn / (2 * np.pi)).astype(int)


class Film:
    """The top layer of the atoms as a grid, whatever their order in the file."""

    def __init__(self, file):
        self.file = file
        place = file["coordinates"][:]
        top = np.flatnonzero(np.isclose(place[:, 2], place[:, 2].max()))
        self.x, column = np.unique(place[top, 0].round(6), return_inverse=True)
        self.y, row = np.unique(place[top, 1].round(6), return_inverse=True)
        self.atom = np.full((len(self.y), len(self.x)), -1)
        self.atom[row, column] = top
        if (self.atom < 0).any():
            sys.exit("draw.py: the top layer is no full rectangle of atoms")
        edge_x = (self.x[1] - self.x[0]) / 2
        edge_y = (self.y[1] - self.y[0]) / 2
        self.extent = [v / 10 for v in (self.x[0] - edge_x, self.x[-1] + edge_x,
                                        self.y[0] - edge_y, self.y[-1] + edge_y)]  # nm

    def spins(self, step):
        return self.file["spins"][step][self.atom]


def chosen_steps(count):
    """Up to four early steps, closer together at the beginning where most happens, and the last."""
    last = count - 1
    early = sorted({0, *(max(1, round(last * part)) for part in (0.04, 0.15, 0.4))})
    return [s for s in early if s < last], last


def panel(axes, film, step, time_ps, size):
    axes.imshow(colours(film.spins(step)), origin="lower", extent=film.extent,
                interpolation="nearest")
    axes.set_xticks([])
    axes.set_yticks([])
    for side in axes.spines.values():
        side.set_visible(False)
    axes.set_title(f"{time_ps:.2f} ps", loc="left", color=INK, fontsize=size, pad=6)


def arrows(axes, film, step):
    """The mean direction in squares of atoms, as thin arrows over the colours."""
    spins = film.spins(step)
    width = max(2, round(len(film.x) / 32))
    rows, columns = (n // width * width for n in spins.shape[:2])
    mean = spins[:rows, :columns].reshape(rows // width, width, columns // width, width, 3)
    mean = mean.mean(axis=(1, 3))
    x = film.x[:columns].reshape(-1, width).mean(axis=1) / 10
    y = film.y[:rows].reshape(-1, width).mean(axis=1) / 10
    axes.quiver(x, y, mean[..., 0], mean[..., 1], color="#14161b", alpha=0.8, pivot="mid",
                units="xy", angles="xy", scale_units="xy", scale=1 / (0.82 * (x[1] - x[0])),
                width=0.075 * (x[1] - x[0]), headwidth=4.2, headlength=4.2, headaxislength=3.8)


def scale_bar(axes, film):
    """A bar of a round length, below the lower left corner of the picture."""
    width = film.extent[1] - film.extent[0]
    length = max(n for n in (1, 2, 5, 10, 20, 50, 100, 200) if n <= max(1, width / 4))
    part = length / width
    axes.plot([0, part], [-0.03, -0.03], color=INK, lw=2.5, transform=axes.transAxes,
              clip_on=False, solid_capstyle="butt", scalex=False, scaley=False)
    axes.text(part + 0.015, -0.03, f"{length} nm", color=INK, va="center", fontsize=11,
              transform=axes.transAxes)


def wheel(axes):
    """The legend: every direction of a spin, seen from above."""
    n = 500
    x, y = np.meshgrid(np.linspace(-1, 1, n), np.linspace(-1, 1, n))
    r = np.hypot(x, y)
    image = np.ones((n, n, 4))
    image[..., :3] = colours(np.stack([x, y, np.sqrt((1 - r**2).clip(0))], axis=-1))
    image[..., 3] = np.clip((1 - r) * n / 2, 0, 1)
    axes.imshow(image, origin="lower", extent=[-1, 1, -1, 1], interpolation="bilinear")
    axes.set_xlim(-1.35, 1.35)
    axes.set_ylim(-1.75, 1.5)
    axes.axis("off")
    for angle, name in ((0, "x"), (90, "y"), (180, "−x"), (270, "−y")):
        a = np.radians(angle)
        axes.text(1.2 * np.cos(a), 1.2 * np.sin(a), name, color=INK, ha="center", va="center",
                  fontsize=11)
    axes.text(0, -1.6, "white: up, black: down", color=FAINT, ha="center", va="center",
              fontsize=10.5)


def vortices(axes, film, time_ps):
    """How many are left, against time."""
    count = [np.abs(windings(film.spins(step))).sum() for step in range(len(time_ps))]
    axes.set_facecolor(PAPER)
    axes.plot(time_ps[1:], np.maximum(count[1:], 0.5), color="#ffb454", lw=2)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_title("vortices and antivortices left", loc="left", color=INK, fontsize=11, pad=8)
    axes.set_xlabel("time (ps)", color=FAINT, fontsize=10)
    axes.tick_params(which="both", colors=FAINT, labelsize=9)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(matplotlib.ticker.FormatStrFormatter("%g"))
        axis.set_minor_formatter(matplotlib.ticker.NullFormatter())
    for name, side in axes.spines.items():
        side.set_visible(name in ("left", "bottom"))
        side.set_color(FAINT)


def draw(film, time_ps):
    early, last = chosen_steps(len(time_ps))
    figure = plt.figure(figsize=(15.4, 8.2), facecolor=PAPER)
    small = figure.add_gridspec(2, 2, left=0.03, right=0.382, bottom=0.075, top=0.80,
                                wspace=0.07, hspace=0.15)
    for i, step in enumerate(early):
        panel(figure.add_subplot(small[i // 2, i % 2]), film, step, time_ps[step], 11)
    large = figure.add_axes([0.41, 0.075, 0.386, 0.725])
    panel(large, film, last, time_ps[last], 13)
    arrows(large, film, last)
    scale_bar(large, film)
    wheel(figure.add_axes([0.825, 0.455, 0.155, 0.35]))
    vortices(figure.add_axes([0.845, 0.12, 0.13, 0.25]), film, time_ps)
    atoms = film.file["spins"].shape[1]
    figure.text(0.03, 0.915, "Order out of disorder in a thin magnetic film", color=INK,
                fontsize=23, weight="bold")
    figure.text(0.03, 0.868, f"{atoms:,} spins, quenched from random directions: vortices and "
                "antivortices form, meet and vanish. Hue is the direction of a spin in the plane.",
                color=FAINT, fontsize=12.5)
    return figure


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: draw.py FILE.h5 PICTURE.png")
    try:
        with h5py.File(sys.argv[1], "r") as file:
            figure = draw(Film(file), file["time"][:])
    except (OSError, KeyError) as error:
        sys.exit(f"draw.py: {sys.argv[1]}: {error}")
    figure.savefig(sys.argv[2], dpi=120, facecolor=PAPER)


if __name__ == "__main__":
    main()
