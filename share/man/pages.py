"""Manual pages: one for each verb of the command, made of its --help, and one for each function of
the C headers, made of the comment above it.

    pages.py --headers include/sluice --version 1.2.3 --out FOLDER [--command sluice]

Writes FOLDER/man1/sluice-VERB.1 (with --command), FOLDER/man3/FUNCTION.3 and FOLDER/man3/sluice.3,
the conventions of the C interface. Needs Python alone: it runs in the build.
"""

import argparse
import re
import subprocess
from pathlib import Path

HEADERS = ("comm.h", "sluice.h", "service.h", "checkpoint.h", "records.h", "records_inline.h")
COMMENT = re.compile(r"/\*\*(.*?)\*/\s*((?:[^/;{]|/(?!\*))*?[;{])", re.DOTALL)
SECTION = re.compile(r"^[A-Z][\w ,']*:$")


def escaped(text):
    """Text of troff: no escape, no request, no ligature of it."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.M)


def head(title, section, version, manual):
    return f'.TH {title.upper()} {section} "" "Sluice {version}" "{manual}"\n'


def code(lines):
    return ".PP\n.nf\n.RS\n" + escaped("\n".join(lines)) + "\n.RE\n.fi\n"


# -- section 1 -------------------------------------------------------------------------------------


def help_of(command, *verb):
    return subprocess.run([command, *verb, "--help"], check=True, text=True,
                          stdout=subprocess.PIPE).stdout.strip("\n")


def verbs_of(command):
    """The verbs of `sluice --help`, with what they do."""
    lists = help_of(command).split("\nVerbs:\n", 1)[1].split("\nExamples:\n")[0]
    return dict(re.findall(r"^  ([a-z]+) {2,}(\S.*)$", lists, re.M))


def options(lines):
    """A list of --help: a tag, and what it means, at column 24."""
    text, tag = "", None
    for line in lines:
        match = re.match(r"^  (\S.*?)(?: {2,}(\S.*))?$", line)
        if match and not line.startswith("   "):
            tag = match[1]
            text += f".TP\n.B {escaped(tag)}\n"
            text += escaped(match[2] or "") + "\n" if match[2] else ""
        elif line.strip():
            text += escaped(line.strip()) + "\n"
    return text


def verb_page(verb, summary, text, version):
    """The manual page of one verb."""
    summary_line, usage, *lines = text.splitlines()
    page = head(f"sluice-{verb}", 1, version, "User Commands")
    page += f".SH NAME\nsluice\\-{verb} \\- {escaped(summary or summary_line)}\n"
    page += ".SH SYNOPSIS\n.B " + escaped(usage.removeprefix("Usage: ")) + "\n"
    sections = [("", [])]
    for line in lines:
        if SECTION.match(line):
            sections.append((line[:-1], []))
        elif not line and sections[-1][0] not in ("", "Examples"):
            sections.append(("", []))
        else:
            sections[-1][1].append(line)
    said = [line for name, body in sections if not name for line in body]
    page += ".SH DESCRIPTION\n" + escaped("\n".join(said).strip("\n")) + "\n"
    for name, body in sections:
        if name == "Examples":
            page += ".SH EXAMPLES\n" + code(body)
        elif name:
            page += f".SH {escaped(name).upper()}\n" + options(body)
    return page + ".SH SEE ALSO\n.BR sluice (1)\n"


def write_verbs(command, folder, version):
    folder.mkdir(parents=True, exist_ok=True)
    for verb, summary in verbs_of(command).items():
        page = verb_page(verb, summary, help_of(command, verb), version)
        (folder / f"sluice-{verb}.1").write_text(page)


# -- section 3 -------------------------------------------------------------------------------------


def uncomment(text):
    """The lines of a comment, without the stars in front."""
    return [re.sub(r"^ ?\* ?", "", line).rstrip() for line in text.strip().splitlines()]


def plain(text):
    return escaped(re.sub(r"`([^`]*)`|\*\*([^*]*)\*\*", r"\1\2", text))


def prose(lines):
    """Paragraphs; what is indented by four is code."""
    text, block = "", []
    for line in [*lines, ""]:
        if block and not line.startswith("    "):
            text += code(block)
            block = []
        if line.startswith("    "):
            block.append(line[4:])
        elif line.startswith("- "):
            text += ".IP \\(bu 2\n" + plain(line[2:]) + "\n"
        else:
            text += plain(line.strip()) + "\n" if line else ".PP\n"
    return re.sub(r"(?:\.PP\n)+(?=\.PP|\Z)", "", text)


def commands(lines):
    """What stands before the first @param and the like, and these: (command, name, words)."""
    said, told = [], []
    for line in lines:
        match = re.match(r"@(\w+) *(.*)$", line)
        if match:
            name, words = "", match[2]
            if match[1] in ("param", "retval"):
                name, _, words = match[2].partition(" ")
            told.append([match[1], name, words.strip()])
        elif told:
            told[-1][2] += " " + line.strip()
        else:
            said.append(line)
    return said, told


def function_page(name, header, comment, declaration, version):
    """The manual page of one function."""
    lines = uncomment(comment)
    end = next((i for i, line in enumerate(lines) if not line or line.startswith("@")), len(lines))
    brief = " ".join(lines[:end])
    said, told = commands(lines[end:])
    page = head(name, 3, version, "Library Functions Manual")
    page += f".SH NAME\n{name} \\- {plain(brief[:1].lower() + brief[1:].rstrip('.'))}\n"
    page += f'.SH SYNOPSIS\n.nf\n.B #include <sluice/{header}>\n.PP\n'
    page += ".BI \"" + escaped(declaration).replace('"', '\\(dq') + "\"\n.fi\n"
    page += ".SH DESCRIPTION\n" + plain(brief) + "\n" + (prose(said) if any(said) else "")
    parameters = [(n, words) for what, n, words in told if what == "param"]
    if parameters:
        page += ".SS Parameters\n"
        page += "".join(f".TP\n.I {n}\n{plain(words)}\n" for n, words in parameters)
    returned = [words for what, _, words in told if what == "return"]
    codes = [(n, words) for what, n, words in told if what == "retval"]
    if returned or codes:
        page += ".SH RETURN VALUE\n" + "".join(plain(w[:1].upper() + w[1:]) + "\n"
                                                for w in returned)
        page += "".join(f".TP\n.B {n}\n{plain(words)}\n" for n, words in codes)
    return page + ".SH SEE ALSO\n.BR sluice (3)\n"


def functions(header):
    """(name, comment, declaration) of every function of a header that has a comment."""
    for comment, declaration in COMMENT.findall(header):
        if declaration.lstrip().startswith(("typedef", "enum", "struct", "#")):
            continue
        declaration = " ".join(re.sub(r"^\s*#.*$", "", declaration, flags=re.M).split())
        declaration = re.sub(r"\bSLUICE_API |\bstatic inline ", "", declaration).rstrip("{; ")
        match = re.search(r"\b(sluice_\w+)\(", declaration)
        if match and not declaration.startswith(("typedef", "enum")):
            yield match[1], comment, declaration + ";"


def write_functions(headers, folder, version):
    folder.mkdir(parents=True, exist_ok=True)
    names = []
    for header in HEADERS:
        for name, comment, declaration in functions((headers / header).read_text()):
            page = function_page(name, header, comment, declaration, version)
            (folder / f"{name}.3").write_text(page)
            names.append(name)
    conventions = uncomment((headers / "sluice.h").read_text().split("*/", 1)[0]
                            .removeprefix("/** @file"))
    page = head("sluice", 3, version, "Library Functions Manual")
    page += ".SH NAME\nsluice \\- parallel arrays of an MPI simulation in plain HDF5\n"
    page += ".SH SYNOPSIS\n.nf\n.B #include <sluice/sluice.h>\n.PP\n"
    page += ".B cc program.c $(pkg\\-config \\-\\-cflags \\-\\-libs sluice)\n.fi\n"
    page += ".SH DESCRIPTION\n" + prose(conventions)
    page += ".SH SEE ALSO\n" + ",\n".join(f".BR {name} (3)" for name in sorted(names)) + "\n"
    (folder / "sluice.3").write_text(page.replace(" (3),\n", " (3),\n"))
    return names


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--headers", required=True, type=Path)
    parser.add_argument("--version", required=True)
    parser.add_argument("--out", required=True, type=Path)
    parser.add_argument("--command", help="the built `sluice`; without it no verb has a page")
    arguments = parser.parse_args()
    write_functions(arguments.headers, arguments.out / "man3", arguments.version)
    if arguments.command:
        write_verbs(arguments.command, arguments.out / "man1", arguments.version)


if __name__ == "__main__":
    main()
