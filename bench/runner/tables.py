"""The newest run of every case as one page of Markdown, to be kept with the sources."""

import types

from . import report

HEAD = """# Figures of the benchmarks

Written by `./dev bench report --tables`: the newest run of each case that was there. Compare
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


def page(documents, cases):
    """`documents`: (document, path), the newest first; `cases`: their modules by name."""
    newest = {}
    for document, _ in documents:
        newest.setdefault(document["case"], document)
    parts = [HEAD]
    for name, document in sorted(newest.items()):
        parts.append(f"## {name}\n\n{_facts(document)}.\n\n```\n"
                     f"{_table(cases.get(name), document)}\n```\n")
    return "\n".join(parts)
