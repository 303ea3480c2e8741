"""Runs every code block of the README and the documents against the installed Sluice.

    run_blocks.py --root . --prefix build/release/consumers/prefix [PAGE...]

What a block is run as, by its language: cpp, c, fortran: compiled, on 4 ranks; python: on 4 ranks
where it imports mpi4py (`>>>`: as a doctest); sh, bash, console: by bash; toml: as the sluice.toml
of a file that is opened; cmake: as CMakeLists.txt of the Quick start's program. A page's blocks
run in order in one folder. A comment on the lines before a block says what is special about it:

    <!-- run: no (reason) -->     it is not run: a fragment, or it would install things
    <!-- needs: simulation -->    the Quick start's program, compiled, and its spins.h5;
                                  further names: copies of spins.h5
    <!-- program: povray -->      left out where that program is not installed

Blocks without a language are output or file formats, and are not run; {directives} are Sphinx's;
any other language is an error.
"""

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

BLOCK = re.compile(r"((?:^<!--[^\n]*-->\n)*)^```([\w{}-]*)\n(.*?)^```$", re.M | re.S)
MPIEXEC = shlex.split(os.environ["SLUICE_MPIEXEC"])
PYTHON = os.environ["SLUICE_PYTHON"]
OPEN = """
import sluice
from mpi4py import MPI
sluice.open("spins.h5", "w", comm=MPI.COMM_WORLD).close()
"""
FILES = {"cpp": "program.cpp", "c": "program.c", "fortran": "program.f90"}


def blocks(page):
    """(line, language, text, remarks) of every block with a language."""
    source = page.read_text()
    for match in BLOCK.finditer(source):
        if match[2] and not match[2].startswith("{"):
            remarks = dict(re.findall(r"<!-- (\w+): (.*?) -->", match[1]))
            line = source.count("\n", 0, match.start(2)) + 1
            yield line, match[2], match[3], remarks


class Runner:
    def __init__(self, root, prefix, mpi):
        self.root, self.prefix = root, prefix
        self.package = f"sluice-{mpi}"
        self.environment = {
            **os.environ, "SLUICE_CONFIG": "", "HDF5_USE_FILE_LOCKING": "FALSE",
            # Installed, and of what is not installed the simulation of the tutorial.
            "PATH": f"{prefix}/bin:{prefix.parents[1]}/apps/vampire:{os.environ['PATH']}",
            "PKG_CONFIG_PATH": f"{prefix}/lib/pkgconfig", "PYTHONPATH": str(root / "python"),
            "SLUICE_LIBRARY": f"{prefix}/lib/libsluice.so",
        }

    def has_fortran(self):
        return (self.prefix / "lib/pkgconfig" / f"{self.package}-fortran.pc").exists()

    def call(self, folder, *command, **environment):
        result = subprocess.run(command, cwd=folder, env={**self.environment, **environment},
                                text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                timeout=300, check=False)
        if result.returncode != 0:
            raise RuntimeError(f"exit code {result.returncode}\n{result.stdout}")

    def flags(self, language):
        package = self.package + ("-fortran" if language == "fortran" else "")
        said = subprocess.run(["pkg-config", "--cflags", "--libs", package], check=True, text=True,
                              env=self.environment, stdout=subprocess.PIPE).stdout
        return [*shlex.split(said), f"-Wl,-rpath,{self.prefix}/lib"]

    def compile(self, folder, language, text, program):
        (folder / FILES[language]).write_text(text)
        compiler = {"cpp": ["c++", "-std=c++20"], "c": ["cc", "-std=c17"],
                    "fortran": ["mpifort", "-std=f2018"]}[language]
        self.call(folder, *compiler, "-Wall", "-Werror", "-o", program, FILES[language],
                  *self.flags(language))

    def launch(self, folder, *command):
        self.call(folder, *MPIEXEC, "-n", "4", *command)

    def simulation(self):
        return next(text for _, language, text, _ in blocks(self.root / "docs/quickstart.md")
                    if language == "cpp")

    def provide(self, folder, names):
        """The Quick start's program in C++ and what it wrote."""
        if not (folder / "simulation").exists():
            self.compile(folder, "cpp", self.simulation(), "simulation")
            self.launch(folder, "./simulation")
        for name in names.split(", "):
            if name != "simulation":
                shutil.copy(folder / "spins.h5", folder / name)

    def run(self, folder, language, text):
        if language in FILES:
            self.compile(folder, language, text, "program")
            self.launch(folder, "./program")
        elif language == "python" and text.startswith(">>>"):
            (folder / "block.txt").write_text(text)
            self.call(folder, PYTHON, "-m", "doctest", "block.txt")
        elif language == "python":
            (folder / "block.py").write_text(text)
            (self.launch if "mpi4py" in text else self.call)(folder, PYTHON, "block.py")
        elif language in ("sh", "bash", "console"):
            text = re.sub(r"^\$ ", "", text, flags=re.M)
            self.call(folder, "bash", "-euo", "pipefail", "-c", text,
                      SLUICE_MPIEXEC=shlex.join(MPIEXEC))
        elif language == "toml":
            (folder / "sluice.toml").write_text(text)
            self.launch(folder, "env", "SLUICE_CONFIG=sluice.toml", PYTHON, "-c", OPEN)
        elif language == "cmake":
            self.build(folder, text)
        else:
            raise RuntimeError(f"no way to run '{language}': name a known language, or none")

    def build(self, folder, text):
        project = folder / "project"
        project.mkdir()
        (project / "CMakeLists.txt").write_text(text)
        (project / "simulation.cpp").write_text(self.simulation())
        self.call(project, "cmake", "-S", ".", "-B", "b", f"-DCMAKE_PREFIX_PATH={self.prefix}")
        self.call(project, "cmake", "--build", "b")


def run_page(runner, page, folder):
    """(blocks run, blocks left out, failures)"""
    ran, left, failures = 0, 0, []
    name = page.relative_to(runner.root)
    for line, language, text, remarks in blocks(page):
        if remarks.get("run", "").startswith("no"):
            if not re.fullmatch(r"no \(.+\)", remarks["run"]):
                failures.append(f"{name}:{line}: 'run: no' without a reason")
            left += 1
            continue
        if "program" in remarks and shutil.which(remarks["program"]) is None:
            print(f"skipped: {name}:{line}: there is no {remarks['program']}")
            left += 1
            continue
        if language == "fortran" and not runner.has_fortran():
            print(f"skipped: {name}:{line}: no Fortran module is installed")
            left += 1
            continue
        try:
            if "needs" in remarks:
                runner.provide(folder, remarks["needs"])
            runner.run(folder, language, text)
            ran += 1
        except (RuntimeError, subprocess.SubprocessError) as error:
            failures.append(f"{name}:{line}: {language}: {error}")
    return ran, left, failures


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--prefix", type=Path, required=True)
    parser.add_argument("--mpi", default="openmpi")
    parser.add_argument("pages", nargs="*", type=Path)
    arguments = parser.parse_args()
    root = arguments.root.resolve()
    pages = [page.resolve() for page in arguments.pages] or [
        root / "README.md", *sorted((root / "docs").rglob("*.md"))]
    runner = Runner(root, arguments.prefix.resolve(), arguments.mpi)
    all_failures, total = [], 0
    for page in pages:
        with tempfile.TemporaryDirectory(prefix="sluice-docs-") as folder:
            ran, left, failures = run_page(runner, page, Path(folder))
        total += ran
        all_failures += failures
        print(f"{page.relative_to(root)}: {ran} run, {left} left out, {len(failures)} failed")
    for failure in all_failures:
        print(failure)
    if total == 0:
        print("no block was run")
    return 1 if all_failures or total == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
