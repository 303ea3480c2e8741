"""The Fortran modules as a page for Sphinx: FORD reads the sources, each public name becomes an
entry of the index, with its interface and its comment."""

import contextlib
import io
import re
import textwrap

from ford.fortran_project import Project
from ford.settings import ProjectSettings

# Module, and where its head and its public names are.
MODULES = {"sluice": "sluice.F90", "fpio": "fpio.f90"}
# What a module hands on from others: its name, the module that has it.
HANDED_ON = {"sluice": {"sluice_ticket": "sluice_support", "sluice_version": "sluice_support",
                        "sluice_mpi_library": "sluice_support",
                        "sluice_code_name": "sluice_support",
                        "sluice_set_message_handler": "sluice_support",
                        "sluice_read_text": "sluice_text",
                        "sluice_checkpoint": "sluice_checkpoints"},
             "fpio": {"fpio_file": "fpio_values", "file_bwrite": "fpio_values",
                      "file_bread": "fpio_values"}}
# Modules whose constants a module hands on.
CONSTANTS = {"sluice": ["sluice", "sluice_codes"], "fpio": ["fpio"]}


def head_of(path):
    """The comment at the head of a file as Markdown. What is indented is code; a paragraph's first
    word is bold where it names the subject."""
    text = "\n"
    for line in path.read_text().splitlines():
        if not line.startswith("!"):
            break
        line = line[1:].removeprefix(" ")
        text += f"    {line[2:]}\n" if line.startswith("  ") else f"{line}\n"
    return re.sub(r"(?<=\n\n)(\w+[.:]) ", r"**\1** ", text)


def prose(entity):
    """The comment of an entity as Markdown."""
    return textwrap.dedent("\n".join(entity.doc_list)).strip("\n")


def argument(name, entity):
    """One argument as a line of the interface."""
    kind = re.sub(r"<.*?>", "", entity.full_declaration).replace(" ", "").replace("(kind=", "(")
    parts = [part for part in re.split(r",(?![^(]*\))", kind) if not part.startswith("(")]
    shape = re.search(r"(?:^|,)(\(.*\))$", kind)
    parts += [f"intent({entity.intent})"] * bool(entity.intent) + ["optional"] * entity.optional
    return f"{', '.join(parts)} :: {name}{shape[1] if shape else ''}"


def interface(name, procedures):
    """The lines of code that declare the arguments, without the object that they are bound to; of
    procedures that differ in kinds only, those of the first."""
    lines = {}
    for procedure in procedures:
        for each in procedure.args:
            if each.name.lower() != "self":
                lines.setdefault(each.name.lower(), argument(each.name, each))
        result = getattr(procedure, "retvar", None)
        if hasattr(result, "full_declaration"):
            lines.setdefault("()", argument(f"{name}(...)", result).replace(", intent(out)", ""))
    return list(lines.values())


def entry(name, call, described, procedures):
    """One public name: how it is called, what it does, and its arguments. The procedure with the
    longest comment speaks for those that differ in kinds only."""
    procedures = sorted(procedures, key=lambda p: -len(prose(p)))
    shown = ", ".join(f"[{a.name}]" if a.optional else a.name
                      for a in procedures[0].args if a.name.lower() != "self")
    text = f"```{{fortran}} {call}({shown})\n"
    text += next((prose(each) for each in [described, *procedures] if each.doc_list), "") + "\n\n"
    declared = interface(name, procedures)
    if declared:
        text += "~~~fortran\n" + "\n".join(declared) + "\n~~~\n"
    return text + "```\n\n"


class Page:
    def __init__(self, folder):
        settings = ProjectSettings(src_dir=[folder], predocmark=">", display=["public"],
                                   preprocess=False, quiet=True)
        self.folder = folder
        with contextlib.redirect_stdout(io.StringIO()):  # where it shows its progress
            self.project = Project(settings)
            self.project.correlate()
        self.modules = {module.name: module for module in self.project.modules}

    def text(self):
        return "# Fortran\n\n" + "".join(self.module(name) for name in MODULES)

    def module(self, name):
        module = self.modules[name]
        text = f"## Module {name}\n\n{head_of(self.folder / MODULES[name])}\n"
        for kind in module.types:
            text += self.type(kind)
        handed = HANDED_ON.get(name, {})
        for kind in (t for other in set(handed.values()) for t in self.modules[other].types):
            text += self.type(kind) if kind.name in handed else ""
        public = re.findall(r"^  public :: (.*)$",
                            (self.folder / MODULES[name]).read_text(), re.M)
        text += f"### Procedures and constants of {name}\n\n"
        text += self.procedures(module, {n for line in public for n in line.split(", ")})
        for other in dict.fromkeys(handed.values()):
            text += self.procedures(self.modules[other], set(handed))
        return text + "".join(self.constants(self.modules[other]) for other in CONSTANTS[name])

    @staticmethod
    def constants(module):
        """The first speaks for all of a module."""
        names = [v.name for v in module.variables if v.permission == "public"]
        if not names:
            return ""
        text = f"```{{fortran}} {names[0]}\n{prose(module.variables[0])}\n```\n\n"
        return text + "".join(f"```{{fortran}} {other}\nAs {names[0]}.\n```\n\n"
                              for other in names[1:])

    def type(self, kind):
        text = f"### Type {kind.name}\n\n```{{fortran}} type({kind.name})\n{prose(kind)}\n```\n\n"
        source = next(self.folder.glob(f"{kind.parent.name}.[fF]90")).read_text()
        public = [bound for bound in kind.boundprocs if bound.permission == "public"]
        for bound in sorted(public, key=lambda b: re.search(
                rf"^    (?:procedure|generic), public ::.*\b{b.name}\b", source, re.M).start()):
            procedures = [self.bodies(each, kind) for each in bound.bindings]
            procedures = [body for body in procedures if body is not None]
            text += entry(bound.name, f"{kind.name}%{bound.name}", bound, procedures)
        return text

    def bodies(self, binding, kind):
        """The procedure that a binding means."""
        while type(binding).__name__ == "FortranBoundProcedure":
            binding = binding.bindings[0]
        if isinstance(binding, str):
            return next((p for p in self.all_of(kind.parent) if p.name == binding), None)
        return getattr(binding, "procedure", binding)

    @staticmethod
    def all_of(module):
        return [*module.functions, *module.subroutines,
                *(i.procedure for i in module.interfaces if hasattr(i, "procedure"))]

    def procedures(self, module, wanted):
        text = ""
        for each in [*module.interfaces, *module.functions, *module.subroutines]:
            if each.name not in wanted:
                continue
            procedures = [getattr(each, "procedure", None)] if hasattr(each, "procedure") else \
                list(getattr(each, "modprocs", [])) or [each]
            procedures = [getattr(p, "procedure", p) for p in procedures]
            procedures = [p for p in procedures if hasattr(p, "args")]
            text += entry(each.name, each.name, each, procedures or [each])
        return text


def page(folder):
    """The page of the modules in `folder`, as Markdown."""
    return Page(folder).text()
