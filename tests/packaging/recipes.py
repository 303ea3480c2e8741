"""The recipes for conda, Spack and Debian fit the tree: no more can be said without their tools.

    recipes.py ROOT

conda: the template renders, is YAML, asks for what pyproject.toml asks for, and its scripts are
those of pyproject.toml. Spack: the recipe runs against stand-ins of Spack's words; the options that
it gives to CMake exist there, and so do the folders that it installs. Debian: every list of files
belongs to a package, and the packages and what they depend on within the source exist.
"""

import re
import sys
import types
from pathlib import Path

import jinja2
import yaml

root = Path(sys.argv[1])
problems = []


def check(fine, what):
    if not fine:
        problems.append(what)


def words_of(requirements):
    """Names of packages: "cffi >=1.15" and "mpi4py>=3,<5" without what follows the name."""
    return {re.match(r"[A-Za-z0-9_.-]+", text)[0].lower() for text in requirements}


def list_in(text, key):
    """A list of strings of pyproject.toml (tomllib came with Python 3.11)."""
    return re.findall(r'"([^"]*)"', re.search(rf"^{key} = \[(.*?)\]", text, re.M | re.S)[1])


def check_conda():
    text = (root / "packaging/conda/meta.yaml").read_text()
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined)
    rendered = environment.from_string(text).render(
        compiler=lambda language: f"{language}_linux-64", stdlib=lambda language: "sysroot",
        PYTHON="python")
    recipe = yaml.safe_load(rendered)
    project = (root / "pyproject.toml").read_text()
    needs = recipe["requirements"]
    check(words_of(list_in(project, "dependencies")) <= words_of(needs["run"]),
          f"conda: run lacks one of {list_in(project, 'dependencies')}")
    check(words_of(list_in(project, "requires")) <= words_of(needs["host"]),
          f"conda: host lacks one of {list_in(project, 'requires')}")
    scripts = re.search(r"\[project\.scripts\]\n(.*?)\n\n", project, re.S)[1]
    wanted = sorted(line.replace('"', "") for line in scripts.splitlines())
    check(sorted(recipe["build"]["entry_points"]) == wanted,
          f"conda: entry_points are not {wanted}")
    folder = (root / "packaging/conda" / recipe["source"]["path"]).resolve()
    check((folder / recipe["about"]["license_file"]).is_file(), "conda: no license_file there")
    check(recipe["test"]["commands"] and recipe["test"]["imports"] == ["sluice"], "conda: no tests")


class SpackWords(types.ModuleType):
    """What the recipe imports from spack.package: each word notes what it is called with."""

    def __init__(self):
        super().__init__("spack.package")
        self.said = {}
        for word in ("license", "version", "variant", "depends_on", "extends", "install_tree"):
            setattr(self, word, self.noting(word))
        self.run_after = lambda *_, **__: lambda method: method
        self.CMakePackage = type("CMakePackage", (), {
            "define": staticmethod(lambda name, value: f"-D{name}={value}"),
            "define_from_variant": lambda _, name, variant: f"-D{name}={self.has(variant)}"})
        self.join_path = lambda *parts: "/".join(map(str, parts))
        self.python_platlib = "/platlib"
        self.__all__ = [name for name in vars(self) if not name.startswith("_")]

    def noting(self, word):
        return lambda *given, **options: self.said.setdefault(word, []).append((given, options))

    def has(self, variant):
        check(variant in [given[0] for given, _ in self.said["variant"]],
              f"spack: no variant {variant}")
        return True


def check_spack():
    words = SpackWords()
    sys.modules["spack"], sys.modules["spack.package"] = types.ModuleType("spack"), words
    path = root / "packaging/spack/package.py"
    scope = {"__name__": "recipe"}
    exec(compile(path.read_text(), str(path), "exec"), scope)  # noqa: S102
    recipe = scope["Sluice"]()
    options = (root / "CMakeLists.txt").read_text()
    for given in recipe.cmake_args():
        name = re.match(r"-D(\w+)=", given)[1]
        check(f"option({name} " in options, f"spack: {name} is no option of CMakeLists.txt")
    recipe.install_python()
    for (source, _), _ in words.said["install_tree"]:
        check((root / source).is_dir(), f"spack: there is no folder {source}")
    for _, condition in words.said["depends_on"]:
        for variant in re.findall(r"\+(\w+)", condition.get("when", "")):
            words.has(variant)


def check_debian():
    folder = root / "packaging/debian"
    control = (folder / "control").read_text()
    packages = re.findall(r"^Package: (\S+)$", control, re.M)
    for kind in ("libsluice-dev", "sluice-bin", "python3-sluice"):
        check(kind in packages, f"debian: no package {kind}")
    lists = {file.name[:-len(".install")] for file in folder.glob("*.install")}
    check(lists <= set(packages), f"debian: {lists - set(packages)} are in no package")
    own = set(re.findall(r"\b(libsluice[0-9.]*(?:-dev)?|sluice-bin|python3-sluice) \(", control))
    check(own <= set(packages), f"debian: nobody builds {own - set(packages)}")
    first = re.match(r"(\S+) \(\S+-\d+\) \S+; urgency=\w+\n", (folder / "changelog").read_text())
    check(first and first[1] == "sluice", "debian: the changelog has no first entry")
    check((folder / "rules").stat().st_mode & 0o111, "debian: rules cannot be run")


for part in (check_conda, check_spack, check_debian):
    part()
print("\n".join(problems) or "the recipes for conda, Spack and Debian fit the tree")
sys.exit(1 if problems else 0)
