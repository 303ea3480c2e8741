# For Spack: copy it to <repository>/packages/sluice/package.py, then, from a checkout:
#   spack develop --path /path/to/sluice sluice@0.1.0 && spack install sluice@0.1.0
from spack.package import *


class Sluice(CMakePackage):
    """Parallel arrays of an MPI simulation in plain HDF5, written with the serial libhdf5 only."""

    license("Apache-2.0")

    # No archive is named here: the sources are a checkout's, by `spack develop`.
    version("0.1.0")

    variant("command", default=True, description="Build the command sluice")
    variant("fortran", default=True, description="Build the Fortran module")
    variant("python", default=False, description="Install the Python package")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("cmake@3.25:", type="build")
    depends_on("pkgconfig", type="build")

    depends_on("mpi")
    depends_on("hdf5@1.10: ~mpi +hl")
    depends_on("xxhash@0.8:")
    depends_on("tomlplusplus")
    depends_on("libdeflate")
    depends_on("zstd")
    depends_on("libpng", when="+command")
    depends_on("cli11", type="build", when="+command")
    depends_on("fmt", when="+command")
    depends_on("nlohmann-json", type="build")

    extends("python", when="+python")
    depends_on("python@3.9:", type=("build", "run"), when="+python")
    depends_on("py-cffi@1.15:", type=("build", "run"), when="+python")
    depends_on("py-numpy@1.22:", type=("build", "run"), when="+python")
    depends_on("py-mpi4py@3.1.4:4", type=("build", "run"), when="+python")

    def cmake_args(self):
        return [
            self.define("SLUICE_TESTS", False),
            self.define_from_variant("SLUICE_COMMAND", "command"),
            self.define_from_variant("SLUICE_FORTRAN", "fortran"),
        ]

    @run_after("install", when="+python")
    def install_python(self):
        """The package's modules; they load the library that was installed, by SLUICE_LIBRARY."""
        install_tree("python/sluice", join_path(python_platlib, "sluice"))
        install_tree("include/sluice", join_path(python_platlib, "sluice", "include", "sluice"))

    def setup_run_environment(self, env):
        if "+python" in self.spec:
            libraries = find(self.prefix, "libsluice.so", recursive=True)
            env.set("SLUICE_LIBRARY", libraries[0])
