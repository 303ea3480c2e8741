"""sluice-config compiles the Fortran modules with the user's compiler, each after those it uses."""

import importlib.util
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def config(tmp_path):
    """The module of sluice-config in a package as it is installed, without its library."""
    package = tmp_path / "sluice"
    (package / "share" / "sluice").mkdir(parents=True)
    shutil.copy(ROOT / "python" / "sluice" / "_config.py", package)
    (package / "include").symlink_to(ROOT / "include")
    (package / "share" / "sluice" / "fortran").symlink_to(ROOT / "fortran")
    spec = importlib.util.spec_from_file_location("config", package / "_config.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.skipif(shutil.which("mpifort") is None, reason="no mpifort here")
def test_every_module_is_compiled(config, tmp_path):
    config.build_fortran(tmp_path / "modules")
    made = {file.stem for file in (tmp_path / "modules").glob("*.mod")}
    assert made == {source.stem for source in (ROOT / "fortran").glob("*.[fF]90")} - {
        "sluice_open", "sluice_read", "sluice_write"}  # submodules
    assert (tmp_path / "modules" / "libsluice-fortran.a").stat().st_size > 0


def test_modules_that_use_one_another_are_refused(config, tmp_path):
    for name, other in (("a", "b"), ("b", "a")):
        (tmp_path / f"{name}.f90").write_text(f"module {name}\n  use {other}\nend module\n")
    with pytest.raises(SystemExit, match="circle"):
        config._in_order(sorted(tmp_path.glob("*.f90")))
