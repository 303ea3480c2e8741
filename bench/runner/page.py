"""bench/run report: every result in one page of HTML that needs no other file.

Of each case the newest run is open, the others are folded. --tables writes text instead."""

import argparse
import base64
import datetime
import glob
import json
import os
import re
import statistics
import sys
from html import escape

from . import charts, tables
from .cli import CASES, REPOSITORY, RESULTS
from .host import activity

STYLE = """
:root { color-scheme: light dark; --line: #8884; }
* { box-sizing: border-box; }
body { font: 16px/1.45 system-ui, sans-serif; margin: 0 auto; padding: 0 14px 60px;
  max-width: 1080px; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.25rem; margin: 2.2rem 0 .3rem; }
h3 { font-size: 1rem; margin: 1.2rem 0 .4rem; }
nav a { display: inline-block; padding: 6px 12px 6px 0; }
.facts, figcaption, small { opacity: .75; font-size: .85rem; }
.goals { padding: 0; list-style: none; } .goals li { margin: 4px 0; padding-left: 10px;
  border-left: 4px solid #8888; } .goals .met { border-color: #2f8f4e; }
.goals .missed { border-color: #c0392b; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 330px), 1fr));
  gap: 8px 28px; align-items: start; }
.bar { display: grid; grid-template-columns: 1fr auto; gap: 0 8px; margin: 6px 0;
  font-size: .88rem; }
.value { font-variant-numeric: tabular-nums; }
.track { grid-column: 1 / -1; position: relative; height: 10px; background: #8882; }
.track i { display: block; height: 100%; } .track.row { display: flex; }
.track b { position: absolute; top: 4px; height: 2px; background: currentColor; }
figure { margin: 12px 0; } svg { width: 100%; max-width: 560px; height: auto; display: block; }
svg text { font-size: 11px; fill: currentColor; } .grid { stroke: #8884; }
.legend { display: flex; flex-wrap: wrap; gap: 2px 14px; font-size: .82rem; }
.legend i { display: inline-block; width: 12px; height: 12px; margin-right: 5px; }
details { border-top: 1px solid var(--line); padding: 8px 0; }
summary { cursor: pointer; padding: 4px 0; }
table { border-collapse: collapse; font-size: .85rem; } .wide { overflow-x: auto; }
td, th { padding: 3px 10px 3px 0; text-align: left; } td + td { text-align: right; }
img { max-width: 100%; height: auto; background: #fff; }
"""
WAIT, HIDDEN, LEFT_OVER = "#c0392b", "#2f8f4e", "#e0a030"
# Named by the number of ranks that write: "bare x 4".
BY_COUNT = re.compile(r"^(.*) x (\d+)$")
SIZE = re.compile(r"([\d.]+) ?(\w*)")


def _documents(folder):
    """The results under `folder`, the newest first; what is no result is passed over."""
    found = []
    for path in glob.glob(os.path.join(folder, "*.json")):
        try:
            with open(path, encoding="utf-8") as file:
                document = json.load(file)
        except ValueError:
            continue
        if isinstance(document, dict) and {"case", "date", "host"} <= set(document):
            found.append((document, path))
    return sorted(found, key=lambda one: one[0]["date"], reverse=True)


def _facts(document):
    host = document["host"]
    options = document.get("options", {})
    told = [document["date"], host.get("cpu"), f"{host.get('cores')} cores", host.get("memory"),
            host.get("file_system"), host.get("mpi"), f"commit {host.get('commit')}",
            activity(host)]
    if "rounds" in options:
        told.append(f"{options['rounds']} rounds after {options.get('warm_up', 0)} of warm-up")
    return f'<p class="facts">{escape(" · ".join(str(word) for word in told if word))}</p>'


def _remarks(document):
    items = []
    for line in document.get("remarks", []):
        kind = "missed" if "not met" in line else "met" if ", met" in line else ""
        items.append(f'<li class="{kind}">{escape(line)}</li>')
    return f'<ul class="goals">{"".join(items)}</ul>' if items else ""


def _units(case):
    return {name: metric.unit for name, metric in CASES[case].METRICS.items()} \
        if case in CASES else {}


def _bars_of(rows, units):
    parts = []
    for metric, unit in units.items():
        shown = [(row["name"], row["summary"][metric], row["ours"]) for row in rows
                 if metric in row["summary"]]
        if shown:
            parts.append(f"<div><h3>{escape(metric)}</h3>{charts.bars(shown, unit)}</div>")
    return f'<div class="charts">{"".join(parts)}</div>'


def _primary(rows, units):
    """The metric that most contestants have; of equals the one that is durable, or the first."""
    counts = {metric: sum(metric in row["summary"] for row in rows) for metric in units}
    return max(counts, key=lambda metric: (counts[metric], metric == "durable"), default=None)


def _by_count(rows, metric, unit):
    """A line for every name that was measured with several numbers of ranks."""
    series = {}
    for row in rows:
        match = BY_COUNT.match(row["name"])
        if match and metric in row["summary"]:
            points = series.setdefault(match[1], {})
            points[int(match[2])] = row["summary"][metric]["median"]
    series = {name: points for name, points in series.items() if len(points) > 1}
    xs = sorted({x for points in series.values() for x in points})
    return charts.lines(series, xs, "ranks that write", f"{metric}, {unit}") if series else ""


def _size_of(group):
    match = SIZE.search(group)
    scale = {"k": 1e3, "K": 1e3, "M": 1e6, "m": 1e6, "G": 1e9, "T": 1e12}
    if not match:
        return None
    try:
        return float(match[1]) * scale.get(match[2][:1], 1)
    except ValueError:
        return None


def _by_size(rows, metric, unit):
    """Where groups are sizes of the same thing: a line for every contestant."""
    kinds = {}
    for group in dict.fromkeys(row["group"] for row in rows):
        if _size_of(group) is not None:
            # "27 MiB, write" and "27 MiB, read" are sizes of two things.
            kinds.setdefault(SIZE.sub("", group, count=1).strip(" ,:-"), []).append(group)
    parts = []
    for kind, groups in kinds.items():
        groups.sort(key=_size_of)
        series = {}
        for row in rows:
            if row["group"] in groups and metric in row["summary"]:
                points = series.setdefault(row["name"], {})
                points[SIZE.search(row["group"])[0]] = row["summary"][metric]["median"]
        series = {name: points for name, points in series.items() if len(points) > 1}
        if series:
            xs = [SIZE.search(group)[0] for group in groups]
            title = f"{kind}: {metric}, {unit}" if kind else f"{metric}, {unit}"
            parts.append(charts.lines(series, xs, "size", title))
    return "".join(parts)


def _overlap(rows):
    shown = []
    for row in rows:
        values = {key: statistics.median(sample[key] for sample in row["samples"])
                  for key in ("alone_s", "visible_s", "left_s")}
        hidden_s = max(0.0, values["alone_s"] - values["visible_s"] - values["left_s"])
        shown.append((row["name"], [("seen by the caller", values["visible_s"], WAIT),
                                    ("hidden", hidden_s, HIDDEN),
                                    ("left when computing ends", values["left_s"], LEFT_OVER)]))
    return ("<h3>A step's output beside computing</h3>" + charts.timeline(shown)) if shown else ""


def _ratios(document):
    rows = document["result"]["ratios"]
    if not rows:
        return ""
    lines = "".join(
        f"<tr><td>{escape(row['group'])} {escape(row['of'])} / {escape(row['to'])}, "
        f"{escape(row['metric'])}</td><td>{row['of_medians']:.2f}</td>"
        f"<td>{row['pairwise_median']:.2f}</td></tr>" for row in rows)
    return (f'<details><summary>{len(rows)} ratios of ours to others</summary><div class="wide">'
            "<table><tr><th>ratio</th><th>of medians</th><th>median of pairs</th></tr>"
            f"{lines}</table></div></details>")


def _figures(document):
    rows = document["result"]["contestants"]
    units = _units(document["case"])
    if not units:
        units = {metric: "" for row in rows for metric in row["summary"]}
    metric = _primary(rows, units)
    groups = list(dict.fromkeys(row["group"] for row in rows))
    parts = []
    if document["case"] == "overlap":
        parts.append(_overlap(rows))
    if metric:
        plots = [_by_count([row for row in rows if row["group"] == group], metric,
                           units[metric]) for group in groups]
        titled = [f"<div><h3>{escape(group)}</h3>{plot}</div>"
                  for group, plot in zip(groups, plots) if plot]
        sizes = _by_size(rows, metric, units[metric])
        if titled or sizes:
            parts.append(f'<div class="charts">{"".join(titled)}{sizes}</div>')
    for group in groups:
        shown = _bars_of([row for row in rows if row["group"] == group], units)
        is_open = " open" if group == groups[0] else ""
        parts.append(f"<details{is_open}><summary>{escape(group or 'all')}</summary>{shown}"
                     "</details>")
    parts.append(_ratios(document))
    return "".join(parts)


def _flat(value, name=""):
    """Numbers of a document of another form, with their names."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(inner, f"{name} {key}".strip())
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _flat(inner, f"{name} {index}")
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield name, value


def _other_figures(document):
    skipped = ("format", "options", "host")
    rows = _flat({key: value for key, value in document.items() if key not in skipped})
    lines = "".join(f"<tr><td>{escape(name)}</td><td>{charts.number(value)}</td></tr>"
                    for name, value in rows)
    return (f'<details><summary>figures</summary><div class="wide"><table>{lines}</table></div>'
            "</details>")


def _picture(path):
    picture = os.path.splitext(path)[0] + ".png"
    if not os.path.exists(picture):
        return ""
    with open(picture, "rb") as file:
        data = base64.b64encode(file.read()).decode()
    return ('<details><summary>picture</summary><img alt="the run\'s own plot" '
            f'src="data:image/png;base64,{data}"></details>')


def _run(document, path):
    caption = f'<p>{escape(document.get("caption", ""))}</p>'
    figures = _figures(document) if "result" in document else _other_figures(document)
    return caption + _facts(document) + _remarks(document) + figures + _picture(path)


def page(documents):
    """The whole page; `documents` as (document, path), the newest first."""
    cases = {}
    for document, path in documents:
        cases.setdefault(document["case"], []).append((document, path))
    sections = []
    for case, runs in sorted(cases.items()):
        help_text = getattr(CASES.get(case), "HELP", "")
        older = "".join(f"<details><summary>run of {escape(document['date'])}</summary>"
                        f"{_run(document, path)}</details>" for document, path in runs[1:])
        sections.append(f'<section id="{escape(case)}"><h2>{escape(case)}</h2>'
                        f'<p class="facts">{escape(help_text)}</p>{_run(*runs[0])}{older}'
                        "</section>")
    links = "".join(f'<a href="#{escape(case)}">{escape(case)}</a>' for case in sorted(cases))
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Sluice: benchmarks'
        '</title><meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{STYLE}</style></head><body><h1>Sluice: benchmarks</h1>"
        f'<p class="facts">made {now} of {len(documents)} runs. Bars end at the median, the thin '
        "line goes from the least to the most; blue is Sluice. Compare within a run only.</p>"
        f"<nav>{links}</nav>{''.join(sections)}</body></html>\n"
    )


def main(arguments):
    """Returns the exit code."""
    parser = argparse.ArgumentParser(prog="bench/run report", description=__doc__)
    parser.add_argument("--results", default=RESULTS, metavar="DIR", help="(default: build/bench)")
    parser.add_argument("--to", metavar="FILE", help="(default: report.html beside the results)")
    parser.add_argument("--tables", action="store_true",
                        help="the newest run of each case as text, to be kept: bench/RESULTS.md, "
                             "where other cases keep their sections")
    options = parser.parse_args(arguments)
    documents = _documents(options.results)
    if not documents:
        print(f"bench: no results in {options.results}: run a case first", file=sys.stderr)
        return 2
    if options.tables:
        target = options.to or os.path.join(REPOSITORY, "bench", "RESULTS.md")
        present = ""
        if os.path.exists(target):
            with open(target, encoding="utf-8") as file:
                present = file.read()
        text = tables.page(documents, CASES, present)
    else:
        target = options.to or os.path.join(options.results, "report.html")
        text = page(documents)
    with open(target, "w", encoding="utf-8") as file:
        file.write(text)
    print(target)
    return 0
