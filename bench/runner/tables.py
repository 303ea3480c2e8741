"""The newest run of every case as one page of Markdown, to be kept with the sources."""

import re
import types

from . import report

HEAD = """# Figures of the benchmarks

Written by `./dev bench report --tables`: of each case the newest whole run that there was. Compare
within a table only: each is one interleaved run, and machines drift. What is measured, and how, is
said in [README.md](README.md).
"""


def _facts(document):
    host = document["host"]
    load = host.get("load_1min")
    told = [document["date"][:10], host.get("cpu"), f"{host.get('cores')} cores",
            host.get("memory"), host.get("file_system"), host.get("mpi"),
            f"commit {host.get('commit')}", load is not None and f"load {load:.1f} as it began"]
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


def _is_whole(document):
    options = document.get("options", {})
    return not options.get("only") and not options.get("groups")


def _sections(text):
    """The sections of a page, by title."""
    return {part.split("\n", 1)[0]: f"## {part.rstrip()}\n"
            for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]}


def page(documents, cases, present=""):
    """`documents`: (document, path), the newest first; `cases`: their modules by name; `present`:
    the page as it is, of which the sections stay that no document replaces. A run of some
    contestants or groups only stands for its case where there is nothing else."""
    sections = _sections(present)
    newest = {}
    for document, _ in sorted(documents, key=lambda found: not _is_whole(found[0])):
        title = _title(document)
        if _is_whole(document) or title not in sections:
            newest.setdefault(title, document)
    for title, document in newest.items():
        sections[title] = (f"## {title}\n\n{_facts(document)}.\n\n```\n"
                           f"{_table(cases.get(document['case']), document)}\n```\n")
    return "\n".join([HEAD, *(sections[title] for title in sorted(sections))])
