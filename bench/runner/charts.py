"""Charts as HTML and SVG that need nothing else and are legible on a narrow screen."""

import math
from html import escape

COLOURS = ("#1f6fb4", "#d9661f", "#2f8f4e", "#a13fa1", "#8a6d1c", "#c0392b", "#139aa8", "#5b5bd6",
           "#6b7280", "#b0648c")
OTHERS = "#8b949e"
OURS = COLOURS[0]
WIDTH, HEIGHT = 400, 240
LEFT, RIGHT, TOP, BOTTOM = 52, 10, 12, 34
# Beyond this ratio of the largest to the smallest the axis is logarithmic.
LOG_RATIO = 40


def number(value, digits=3):
    """So many significant digits, without an exponent where it can be."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:,.{min(places, 6)}f}"


def bars(rows, unit):
    """Rows of (name, summary, is_ours): a bar to the median, a line from min to max."""
    most = max((summary["max"] for _, summary, _ in rows), default=0) or 1
    lines = []
    for name, summary, is_ours in rows:
        part = {key: 100 * max(0, summary[key]) / most for key in ("min", "median", "max")}
        spread = f"{number(summary['min'])} to {number(summary['max'])}"
        lines.append(
            f'<div class="bar"><span class="name">{escape(name)}</span>'
            f'<span class="value">{number(summary["median"])} <small>{escape(unit)}</small></span>'
            f'<span class="track" title="{spread} {escape(unit)}">'
            f'<i style="width:{part["median"]:.2f}%;background:{OURS if is_ours else OTHERS}"></i>'
            f'<b style="left:{part["min"]:.2f}%;width:{part["max"] - part["min"]:.2f}%"></b>'
            "</span></div>"
        )
    return "\n".join(lines)


def _ticks(least, most, is_log):
    if is_log:
        powers = range(math.floor(math.log10(least)), math.ceil(math.log10(most)) + 1)
        return [10.0**power for power in powers]
    step = 10.0 ** math.floor(math.log10(most / 4))
    step *= next(factor for factor in (1, 2, 5, 10) if most / (factor * step) <= 5)
    return [step * i for i in range(int(most / step) + 2)]


def lines(series, xs, x_name, y_name):
    """An SVG of {name: {x: y}} over the ordered `xs`, evenly spaced, and its legend; "" where there
    is nothing above zero to draw."""
    values = [y for points in series.values() for y in points.values() if y > 0]
    if not values:
        return ""
    is_log = max(values) / min(values) > LOG_RATIO
    ticks = _ticks(min(values), max(values), is_log)

    def x_of(x):
        room = WIDTH - LEFT - RIGHT
        return LEFT + room * (xs.index(x) + 0.5) / len(xs)

    def y_of(y):
        if is_log:
            part = math.log(y / ticks[0]) / math.log(ticks[-1] / ticks[0])
        else:
            part = y / ticks[-1]
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * part

    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(y_name)} by '
             f'{escape(x_name)}">']
    for tick in ticks:
        at = y_of(tick)
        parts.append(f'<path class="grid" d="M{LEFT} {at:.1f}H{WIDTH - RIGHT}"/>'
                     f'<text x="{LEFT - 5}" y="{at + 4:.1f}" text-anchor="end">{tick:g}</text>')
    for x in xs:
        parts.append(f'<text x="{x_of(x):.1f}" y="{HEIGHT - BOTTOM + 15}" text-anchor="middle">'
                     f"{escape(str(x))}</text>")
    parts.append(f'<text x="{WIDTH - RIGHT}" y="{HEIGHT - 4}" text-anchor="end">'
                 f"{escape(x_name)}</text>")
    legend = []
    for index, (name, points) in enumerate(series.items()):
        colour = COLOURS[index % len(COLOURS)]
        dash = ' stroke-dasharray="5 3"' if index >= len(COLOURS) else ""
        places = [(x_of(x), y_of(points[x])) for x in xs if points.get(x, 0) > 0]
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        parts.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places]
        legend.append(f'<span><i style="background:{colour}"></i>{escape(name)}</span>')
    parts.append("</svg>")
    return (f'<figure><figcaption>{escape(y_name)} by {escape(x_name)}</figcaption>'
            f'{"".join(parts)}<div class="legend">{"".join(legend)}</div></figure>')


def timeline(rows):
    """Rows of (name, [(what, seconds, colour)]): stretches of time one after the other."""
    most = max(sum(seconds for _, seconds, _ in stretches) for _, stretches in rows)
    shown = {}
    lines_ = []
    for name, stretches in rows:
        pieces = []
        for what, seconds, colour in stretches:
            shown[what] = colour
            pieces.append(f'<i style="width:{100 * seconds / most:.2f}%;background:{colour}" '
                          f'title="{escape(what)} {number(seconds * 1e3)} ms"></i>')
        told = ", ".join(f"{what} {number(1e3 * s)}" for what, s, _ in stretches)
        lines_.append(f'<div class="bar"><span class="name">{escape(name)}</span>'
                      f'<span class="value"><small>{escape(told)} ms</small></span>'
                      f'<span class="track row">{"".join(pieces)}</span></div>')
    legend = "".join(f'<span><i style="background:{colour}"></i>{escape(what)}</span>'
                     for what, colour in shown.items())
    return "\n".join([*lines_, f'<div class="legend">{legend}</div>'])
