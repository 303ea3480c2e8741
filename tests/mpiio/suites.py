"""The tests of MPI-IO that MPICH, ROMIO, HDF5 and PnetCDF bring for themselves: where their sources
are, how each program is built for an MPI, on how many ranks it runs, and what it prints when it
passes."""

import dataclasses
import os
import pathlib
import subprocess

# What the tests of MPICH ask of their configuration.
MPICH_CONFIGURATION = """
#define HAVE_LONG_DOUBLE 1
#define HAVE_LONG_LONG 1
#define HAVE_MPI_IO 1
#define HAVE_STDARG_H 1
#define HAVE_STDLIB_H 1
#define HAVE_STRING_H 1
#define HAVE_UNISTD_H 1
#define HAVE_SYS_TIME_H 1
#define HAVE_PTHREAD_H 1
#define HAVE_USLEEP 1
#define THREAD_PACKAGE_NAME THREAD_PACKAGE_POSIX
"""
# Beyond the memory or the time of a test: 6.5 GB a rank each; 4 GiB; measurements.
MPICH_LEFT_OUT = {"bigtype", "i_bigtype"}
# Name: ranks, and the words before the name of the file. Those that are not here measure
# (coll_perf, perf), need 8 GiB (large_array, large_file, big_extents) or print for a reader.
ROMIO = {
    "simple": (4, "-fname"), "async": (4, "-fname"), "async-multiple": (4, "-fname"),
    "atomicity": (4, "-fname"), "coll_test": (4, "-fname"), "excl": (4, "-fname"),
    "file_info": (4, "-fname"), "i_noncontig": (2, "-fname"), "noncontig": (2, "-fname"),
    "noncontig_coll": (2, "-fname"), "noncontig_coll2": (4, "-fname"), "aggregation1": (4, "-h -f"),
    "aggregation2": (4, ""), "hindexed": (4, ""), "misc": (4, "-fname"), "shared_fp": (4, "-fname"),
    "ordered_fp": (4, "-fname"), "split_coll": (4, "-fname"), "psimple": (4, "-fname"),
    "error": (1, "-fname"), "status": (1, "-fname"), "types_with_zeros": (2, ""),
    "darray_read": (4, ""), "creat_excl": (4, "-fname"), "external32": (1, "-fname")}
ROMIO_TEXTS = {"external32": "external32 datarep is BIG ENDIAN"}
HDF5_TEST_PARTS = ("h5test", "testframe", "cache_common", "genall5")
HDF5 = ("testphdf5", "t_mpi", "t_cache", "t_cache_image", "t_pread", "t_pshutdown", "t_prestart",
        "t_init_term", "t_shapesame", "t_filters_parallel", "t_pflush1", "t_pflush2")
TESTPHDF5 = ("testphdf5", "t_dset", "t_file", "t_file_image", "t_mdset", "t_ph5basic",
             "t_coll_chunk", "t_span_tree", "t_chunk_alloc", "t_filter_read", "t_prop",
             "t_coll_md_read")
# These go on from the file that the one before them left.
AFTER = {"t_prestart": "t_pshutdown", "t_pflush2": "t_pflush1",
         "pres_temp_4D_rd": "pres_temp_4D_wr"}
# Leaves its file as a process does that has died. It says PASSED only if nothing went wrong.
ENDS_WITH_FAILURE = {"t_pflush1": "PASSED"}
# Nearly all of their time is that of HDF5's cache, and of messages between ranks that poll.
HDF5_LIMIT_S = {"t_cache": 1800, "t_cache_image": 1800}
# They write files of many GiB, or measure.
PNETCDF_LEFT_OUT = {"large_var_cdf5", "last_large_var", "large_num_reqs", "mcoll_perf"}
PNETCDF_CONFIGURATION = """
#define HAVE_DECL_MPI_OFFSET 1
#define PNETCDF_DEBUG 0
"""
FLASH_IO = ("get_mfluid_property", "flash_release", "flash_benchmark_io",
            "checkpoint_ncmpi_parallel", "plotfile_ncmpi_parallel")


@dataclasses.dataclass(frozen=True)
class Program:
    suite: str
    name: str
    executable: pathlib.Path
    ranks: int
    arguments: tuple = ()
    after: str = ""  # a program that has to run in the same folder before
    passed_text: str = ""  # "": the exit code alone
    ends_with_failure: bool = False  # its exit code says nothing, its text does
    limit_s: int = 600

    def passed(self, code, output):
        return (code != 0) == self.ends_with_failure and self.passed_text in output


def _compile(compiler, output, *words):
    """Returns what the compiler said, "" if it succeeded."""
    done = subprocess.run([compiler, "-O1", "-w", *map(str, words), "-o", str(output)],
                          capture_output=True, text=True, check=False)
    return done.stderr if done.returncode else ""


class Suites:
    """Builds the programs of `abi` below `folder`. `unbuilt`: name -> what the compiler said."""

    def __init__(self, sources, folder, abi):
        self.sources, self.folder, self.abi = sources, folder, abi
        self.unbuilt = {}
        folder.mkdir(parents=True, exist_ok=True)

    def _add(self, programs, program, *words, compiler="mpicc"):
        program.executable.parent.mkdir(exist_ok=True)
        said = _compile(f"{compiler}.{self.abi}", program.executable, *words)
        if said:
            self.unbuilt[f"{program.suite}/{program.name}"] = said
        else:
            programs.append(program)

    def _objects(self, folder, sources, *words):
        folder.mkdir(exist_ok=True)
        objects = []
        for source in sources:
            objects.append(folder / f"{source.stem}.o")
            said = _compile(f"mpicc.{self.abi}", objects[-1], "-c", *words, source)
            if said:
                raise RuntimeError(f"{source}: {said}")
        return objects

    def mpich(self):
        tests = self.sources / "mpich" / "test" / "mpi"
        (self.folder / "mpitestconf.h").write_text(MPICH_CONFIGURATION)
        flags = (f"-I{self.folder}", f"-I{tests}/include", f"-I{tests}/util")
        parts = ("mtest", "mtest_common", "mtest_thread", "dtypes")
        objects = self._objects(self.folder / "mpich_parts",
                                [tests / "util" / f"{part}.c" for part in parts], *flags)
        programs = []
        for list_ in ("io/testlist.in", "errors/io/testlist"):
            folder = (tests / list_).parent
            for line in (tests / list_).read_text().splitlines():
                words = line.split()
                if not words or not (folder / f"{words[0]}.c").exists():
                    continue  # a comment, or another folder's
                if words[0] in MPICH_LEFT_OUT:
                    continue
                arguments = tuple(w.removeprefix("arg=") for w in words if w.startswith("arg="))
                self._add(programs, Program("mpich", words[0], self.folder / "mpich" / words[0],
                                            int(words[1]), arguments, passed_text="No Errors"),
                          *flags, folder / f"{words[0]}.c", *objects, "-lpthread")
        return programs

    def romio(self):
        tests = self.sources / "mpich" / "src" / "mpi" / "romio" / "test"
        misc = (tests / "misc.c.in").read_text().replace("@LL@", "lld")
        (self.folder / "misc.c").write_text(misc)
        programs = []
        for name, (ranks, words) in ROMIO.items():
            source = self.folder / "misc.c" if name == "misc" else tests / f"{name}.c"
            self._add(programs, Program("romio", name, self.folder / "romio" / name, ranks,
                                        (*words.split(), "data"),
                                        passed_text=ROMIO_TEXTS.get(name, "No Errors")), source)
        return programs

    def hdf5(self):
        """Of the parallel HDF5 that is built with this MPI; none for MPICH in the tests."""
        if self.abi != "openmpi":
            return []
        source = self.sources / "hdf5"
        (self.folder / "H5srcdir_str.h").write_text('const char *config_srcdir = ".";\n')
        # Some look into structures of the library, which has less in them since it has no checks.
        flags = ("-DNDEBUG", "-I/usr/include/hdf5/openmpi", f"-I{self.folder}", f"-I{source}/src",
                 f"-I{source}/test", f"-I{source}/testpar")
        objects = self._objects(self.folder / "hdf5_parts",
                                [source / "test" / f"{part}.c" for part in HDF5_TEST_PARTS], *flags)
        # An archive, because some programs bring functions of their own by the same names.
        archive = self.folder / "hdf5_parts" / "parts.a"
        subprocess.run(["ar", "rcs", archive, *objects], check=True)
        programs = []
        for name in HDF5:
            parts = TESTPHDF5 if name == "testphdf5" else (name,)
            self._add(programs, Program("hdf5", name, self.folder / "hdf5" / name, 3,
                                        after=AFTER.get(name, ""),
                                        passed_text=ENDS_WITH_FAILURE.get(name, ""),
                                        ends_with_failure=name in ENDS_WITH_FAILURE,
                                        limit_s=HDF5_LIMIT_S.get(name, Program.limit_s)),
                      *flags, *(source / "testpar" / f"{part}.c" for part in parts), archive,
                      "-lhdf5_openmpi", "-ldl", "-lm")
        return programs

    def pnetcdf(self):
        """Of the PnetCDF that is built with this MPI; none for MPICH in the tests."""
        if self.abi != "openmpi":
            return []
        tests = self.sources / "pnetcdf" / "test"
        folder = self.folder / "pnetcdf_parts"
        folder.mkdir(exist_ok=True)
        (folder / "config.h").write_text(PNETCDF_CONFIGURATION)
        flags = (f"-I{folder}", f"-I{tests}/common", f"-I{tests.parent}/src/include")
        objects = self._objects(folder, [tests / "common" / "testutils.c"], *flags)
        programs = []
        for source in sorted(path for place in ("C", "testcases", "nonblocking")
                             for path in (tests / place).glob("*.c")):
            if source.stem not in PNETCDF_LEFT_OUT:
                self._add(programs, Program("pnetcdf", source.stem,
                                            self.folder / "pnetcdf" / source.stem, 4, ("data.nc",),
                                            after=AFTER.get(source.stem, "")),
                          *flags, source, *objects, "-lpnetcdf", "-lpthread", "-lm")
        return programs

    def flash_io(self):
        """The I/O of the FLASH code, by PnetCDF."""
        if self.abi != "openmpi":
            return []
        source = self.sources / "pnetcdf" / "benchmarks" / "FLASH-IO"
        modules = pathlib.Path("/usr/lib/x86_64-linux-gnu/fortran/x86_64-linux-gnu-gfortran-12")
        flags = ("-fallow-argument-mismatch", "-fdefault-real-8", "-fdefault-double-8",
                 f"-J{self.folder}", f"-I{modules}", f"-I{source}", "-DN_DIM=3", "-DMAXBLOCKS=100",
                 "-DIONMAX=13")
        programs = []
        self._add(programs, Program("flash", "flash_io", self.folder / "flash_io", 4,
                                    ("-q", "flash.")),
                  *flags, *(source / f"{part}.F90" for part in FLASH_IO), "-lpnetcdf",
                  compiler="mpif90")
        return programs

    def all(self):
        return self.mpich() + self.romio() + self.hdf5() + self.pnetcdf() + self.flash_io()


def fetch(place):
    """The sources of Debian's packages, below `place`."""
    script = pathlib.Path(os.environ["SLUICE_SOURCE_DIR"]) / "tests/support/debian_source.sh"
    subprocess.run([script, place, "mpich", "hdf5", "pnetcdf"], check=True, timeout=1800)
