"""The newest run of every case as one page of Markdown, to be kept with the sources."""

import argparse
import json
import re
import types

from . import report
from .cases import STRATEGIES
from .host import activity

HEAD = """# Figures of the benchmarks

Written by `./dev bench report --tables`: of each case the newest whole run that there was. Compare
within a table only: each is one interleaved run, and machines drift. What is measured, and how, is
said in [README.md](README.md).
"""

# Arguments of which a run may have more than the case has by itself.
AMOUNTS = ("rounds", "warm_up", "mib", "steps", "pairs", "atoms", "particles", "values", "parts",
           "flushes")


def _facts(document):
    host = document["host"]
    told = [document["date"][:10], host.get("cpu"), f"{host.get('cores')} cores",
            host.get("memory"), host.get("file_system"), host.get("mpi"),
            f"commit {host.get('commit')}", activity(host)]
    return ", ".join(str(word) for word in told if word)


def _other(document):
    """A document without contestants: its figures, a line each."""
    for key, value in document.items():
        if key not in ("format", "case", "date", "host", "options", "caption"):
            yield f"{key}: {value}"


def _table(case, document):
    if case is None or "result" not in document:
        return "\n".join(_other(document))
    return report.table(case, document, types.SimpleNamespace(**document["options"]))


def _title(document):
    """Runs of one title replace each other: on another mount a case is another one."""
    is_contended = document.get("options", {}).get("contended")
    return document["case"] + (" --contended" if is_contended else "")


def _defaults(case):
    """What the arguments of a case are where none is given, as JSON has them."""
    parser = argparse.ArgumentParser()
    case.add_arguments(parser)
    found = vars(parser.parse_args([])) | {"rounds": case.ROUNDS, "warm_up": 1,
                                           "ranks": getattr(case, "RANKS", 4),
                                           "strategies": getattr(case, "STRATEGIES", STRATEGIES)}
    return json.loads(json.dumps(found))


def _is_enough(key, value, default):
    if key in ("contended", "library"):  # a case of its own: _title; where it is
        return True
    if isinstance(value, list) and isinstance(default, list):
        return all(one in value for one in default)
    return value >= default if key in AMOUNTS else value == default


def _is_whole(document, case):
    """Are these figures of all contestants, and of as much as the case measures by itself?"""
    options = document.get("options", {})
    if any(options.get(key) for key in ("only", "groups", "set")):
        return False
    return case is None or all(_is_enough(key, options.get(key, default), default)
                               for key, default in _defaults(case).items())


def _sections(text):
    """The sections of a page, by title."""
    return {part.split("\n", 1)[0]: f"## {part.rstrip()}\n"
            for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]}


def page(documents, cases, present=""):
    """`documents`: (document, path), the newest first; `cases`: their modules by name; `present`:
    the page as it is, of which the sections stay that no document replaces. A run of some
    contestants or groups only, of fewer rounds or less data than the case has by itself, or with
    other arguments, stands for its case where there is nothing else."""
    sections = _sections(present)
    newest = {}

    def is_whole(document):
        return _is_whole(document, cases.get(document["case"]))

    for document, _ in sorted(documents, key=lambda found: not is_whole(found[0])):
        title = _title(document)
        if is_whole(document) or title not in sections:
            newest.setdefault(title, document)
    for title, document in newest.items():
        sections[title] = (f"## {title}\n\n{_facts(document)}.\n\n```\n"
                           f"{_table(cases.get(document['case']), document)}\n```\n")
    return "\n".join([HEAD, *(sections[title] for title in sorted(sections))])
