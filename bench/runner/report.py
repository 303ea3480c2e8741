"""Results as a table, as JSON and, where matplotlib is there, as a plot."""

import glob
import json
import os
import sys
import textwrap

WIDTH = 100


def _cells(row, metrics):
    for name, metric in metrics.items():
        found = row["summary"].get(name)
        for key in ("min", "median", "max"):
            yield f"{found[key]:.{metric.digits}f}" if found else "-"


def _aligned(lines):
    """First column to the left, the others to the right."""
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    for line in lines:
        rest = "".join(f"  {cell:>{width}}" for cell, width in zip(line[1:], widths[1:]))
        yield f"{line[0]:<{widths[0]}}{rest}".rstrip()


def _contestant_lines(case, rows):
    """Without the metrics that none of these has."""
    metrics = {
        name: metric for name, metric in case.METRICS.items()
        if any(name in row["summary"] for row in rows)
    }
    titles = ["", *(cell for name in metrics for cell in ("", name, ""))]
    units = [
        "contestant",
        *(cell for m in metrics.values() for cell in ("min", f"median {m.unit}", "max")),
    ]
    yield from _aligned([titles, units] + [[row["name"], *_cells(row, metrics)] for row in rows])


def _ratio_lines(rows):
    lines = [["ratio", "metric", "of medians", "median of pairs"]]
    for row in rows:
        lines.append(
            [
                f"{row['of']} / {row['to']}",
                row["metric"],
                f"{row['of_medians']:.2f}",
                f"{row['pairwise_median']:.2f}",
            ]
        )
    if len(lines) > 1:
        yield from _aligned(lines)


def table(case, document, options):
    """The whole report as text."""
    result = document["result"]
    lines = textwrap.wrap(f"{case.NAME}: {document['caption']}", WIDTH)
    lines.append(
        f"{options.rounds} rounds, interleaved, after {options.warm_up} of warm-up; "
        f"{document['host']['file_system'] or 'unknown file system'}."
    )
    if document["absent"]:
        lines.append(f"Not built, so left out: {', '.join(document['absent'])}.")
    for group in dict.fromkeys(row["group"] for row in result["contestants"]):
        lines += ["", *([group] if group else [])]
        lines += _contestant_lines(case, [r for r in result["contestants"] if r["group"] == group])
        ratio_lines = []
        if getattr(case, "SHOWS_RATIOS", True):
            ratio_lines = list(_ratio_lines([r for r in result["ratios"] if r["group"] == group]))
        lines += ["", *ratio_lines] if ratio_lines else []
    lines += ["", *document["remarks"]] if document["remarks"] else []
    return "\n".join(lines)


def write_json(document, folder, stem):
    """Writes the document anew under `folder` and returns its path."""
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, f"{stem}.json")
    with open(path, "w", encoding="utf-8") as out:
        json.dump(document, out, indent=1)
        out.write("\n")
    return path


def pyplot_of(repository):
    """matplotlib's pyplot from this Python or the project's .venv, None where there is none."""
    sys.path += glob.glob(os.path.join(repository, ".venv", "lib", "python3*", "site-packages"))
    try:
        import matplotlib
    except ImportError:
        return None
    matplotlib.use("Agg")
    import matplotlib.pyplot as pyplot

    return pyplot


def plot(case, document, folder, stem, repository):
    """A bar a contestant, its whisker from min to max; returns the path, or None."""
    pyplot = pyplot_of(repository)
    if pyplot is None:
        return None
    rows = document["result"]["contestants"]
    count = len(case.METRICS)
    figure, axes = pyplot.subplots(
        1, count, squeeze=False, sharey=True, figsize=(4 + 2.2 * count, 1.5 + 0.3 * len(rows))
    )
    for axis, (name, metric) in zip(axes[0], case.METRICS.items()):
        shown = [(place, row) for place, row in enumerate(rows) if name in row["summary"]]
        summaries = [row["summary"][name] for _, row in shown]
        whiskers = [
            [s["median"] - s["min"] for s in summaries],
            [s["max"] - s["median"] for s in summaries],
        ]
        axis.barh(
            [place for place, _ in shown],
            [s["median"] for s in summaries],
            xerr=whiskers,
            color=["tab:blue" if row["ours"] else "tab:gray" for _, row in shown],
        )
        axis.set_xlabel(f"{name} ({metric.unit})" if metric.unit else name)
        axis.margins(x=0.08)
    labels = [" ".join(filter(None, (row["name"], row["group"]))) for row in rows]
    axes[0][0].set_yticks(range(len(rows)), labels, fontsize=7)
    axes[0][0].invert_yaxis()
    figure.suptitle(f"{document['case']}: median, min to max", fontsize=9)
    figure.tight_layout()
    path = os.path.join(folder, f"{stem}.png")
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
    return path
