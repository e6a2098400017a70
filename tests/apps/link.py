"""Programs that carry the runtime behave as with the plain compiler, however they are linked: every wrapper, language and
interface of Fortran, both MPIs, as-needed; an archive with MPI's Fortran layer. The long form adds no-as-needed, CMake (the
wrappers as compilers; the package), pkg-config, autoconf and libtool. What a program does that has lost its MPI."""

from __future__ import annotations

import shutil
import unittest
from pathlib import Path

from refrain_testing import BUILD, FULL, MPIS, REFRAIN, SOURCE, Outcome, TestCase, mpiexec

APPS = SOURCE / "tests" / "apps"
RANKS = 2
TRUTH = b"2000101\n2010101\n"
VISITS = {"MPI_Init": 1, "MPI_Comm_rank": 1, "MPI_Comm_size": 1, "MPI_Sendrecv": 5, "MPI_Allreduce": 5, "MPI_Gather": 1,
          "MPI_Finalize": 1}
# Of each language: compiler, main program, the file that does the work, and the options of the compiler.
MAIN_C = "void work(void);\nint main(void) { work(); return 0; }\n"
MAIN_CXX = 'extern "C" void work();\nint main() { work(); }\n'
MAIN_FORTRAN = "program main\n  call work()\nend program main\n"
LANGUAGES = {
    "c": ("mpicc", "main.c", "work.c", ()),
    "cxx": ("mpicxx", "main.cpp", "work.cpp", ()),
    "mpif_h": ("mpifort", "main.F90", "work.F90", ("-DMPIF_H", "-fallow-argument-mismatch")),
    "use_mpi": ("mpifort", "main.F90", "work.F90", ("-DUSE_MPI", "-fallow-argument-mismatch")),
    "use_mpi_f08": ("mpifort", "main.F90", "work.F90", ("-DUSE_MPI_F08", "-fallow-argument-mismatch")),
}
FORTRAN = [name for name in LANGUAGES if name not in ("c", "cxx")]


class LinkTest(TestCase):
    def setUp(self) -> None:
        super().setUp()
        for name, text in (("main.c", MAIN_C), ("main.cpp", MAIN_CXX), ("main.F90", MAIN_FORTRAN)):
            (self.directory / name).write_text(text)
        for name, source in (("work.c", "link_work.c"), ("work.cpp", "link_work.c"), ("work.F90", "link_work.F90")):
            shutil.copy(APPS / source, self.directory / name)

    def command(self, *words: object, directory: Path | None = None, env: dict[str, str] | None = None,
                good: bool = True) -> Outcome:
        outcome = self.plain(["env", "-C", str(directory or self.directory), *map(str, words)], env, timeout=300)
        if good:
            self.assertEqual(0, outcome.code, f"{' '.join(map(str, words))}: {outcome.stdout.decode()}{outcome.stderr}")
        return outcome

    def compile(self, mpi: str, language: str, *options: object, prefix: str = f"{BUILD}/bin/refrain-") -> str:
        compiler, main, work, flags = LANGUAGES[language]
        self.command(f"{prefix}{compiler}.{mpi}", *flags, main, work, "-o", "program", *options)
        return str(self.directory / "program")

    def assert_as_without(self, mpi: str, program: str | Path, truth: bytes = TRUTH) -> None:
        """It prints what it prints without Refrain, measured and not, and its calls are counted."""
        self._runs += 1
        experiment = self.directory / f"experiment-{self._runs}"
        settings = {"REFRAIN_EXPERIMENT_DIRECTORY": str(experiment)}
        off = self.plain(mpiexec(mpi, RANKS, program), settings | {"REFRAIN_ENABLE": "off"})
        self.assertEqual((0, truth, ""), (off.code, off.stdout, off.stderr), "switched off")
        self.assertFalse(experiment.exists())
        on = self.plain(mpiexec(mpi, RANKS, program), settings)
        self.assertEqual((0, truth), (on.code, on.stdout), f"measured; stderr: {on.stderr}")
        on.experiment = experiment
        report = self.report(on)
        self.assertEqual(("complete", RANKS), (report.data["experiment"]["state"], len(report.locations)))
        visits = {name: report.sum("visits", lambda c: c["kind"] == "mpi" and c["path"][-1] == name) for name in VISITS}
        self.assertEqual({name: RANKS * count for name, count in VISITS.items()}, visits)
        self.assertEqual(RANKS * sum(VISITS.values()), report.totals["mpi_calls"])
        self.assertEqual(RANKS * 4 * 5, report.of_function("MPI_Sendrecv", "bytes_sent"))


class Linked(LinkTest):
    def test_the_plain_compilers_tell_the_truth(self) -> None:
        for mpi in MPIS:
            for language in LANGUAGES:
                with self.subTest(mpi=mpi, language=language):
                    plain = self.plain(mpiexec(mpi, RANKS, self.compile(mpi, language, prefix="")))
                    self.assertEqual((0, TRUTH, ""), (plain.code, plain.stdout, plain.stderr))

    def test_wrappers(self) -> None:
        for mpi in MPIS:
            for language in LANGUAGES:
                for option in ("-Wl,--as-needed", "-Wl,--no-as-needed")[: 2 if FULL else 1]:
                    with self.subTest(mpi=mpi, language=language, option=option):
                        self.assert_as_without(mpi, self.compile(mpi, language, option))

    def test_fortran_layer_in_an_archive(self) -> None:
        if "mpich" not in MPIS:
            self.skipTest("only MPICH comes with archives")
        for language in FORTRAN:
            with self.subTest(language=language):
                program = self.compile("mpich", language, "-Wl,-Bstatic", "-lmpichfort", "-Wl,-Bdynamic")
                self.assertNotIn("mpichfort", self.command("readelf", "-d", program).stdout.decode())
                self.assert_as_without("mpich", program)

    def test_names_without_underscores(self) -> None:
        """As a Fortran compiler may be told to make them: known by the functions that MPI's library calls."""
        for mpi in MPIS:
            with self.subTest(mpi=mpi):
                plain = self.plain(mpiexec(mpi, RANKS, self.compile(mpi, "mpif_h", "-fno-underscoring", prefix="")))
                self.assertEqual((0, 2), (plain.code, plain.stdout.count(b"\n")), plain.stderr)  # they do not know MPI_IN_PLACE
                self.assert_as_without(mpi, self.compile(mpi, "mpif_h", "-fno-underscoring"), plain.stdout)

    def test_a_program_without_its_mpi_says_so_and_ends(self) -> None:
        """Linked against the runtime itself, as by hand: the linker finds MPI's own libraries superfluous."""
        for mpi in MPIS:
            runtime = BUILD / "lib" / f"librefrain-{mpi}.so"
            for language, function in (("c", "MPI_Init"), ("mpif_h", "mpi_init_"), ("use_mpi", "mpi_init_")):
                if language == "c" and mpi == "openmpi":
                    continue  # it refers to data of its library, which stays
                with self.subTest(mpi=mpi, language=language):
                    compiler, main, work, flags = LANGUAGES[language]
                    self.command(f"{compiler}.{mpi}", *flags, "-Wl,--no-as-needed", runtime,
                                 f"-Wl,-rpath,{runtime.parent},--as-needed", main, work, "-o", "program")
                    for settings in ({}, {"REFRAIN_ENABLE": "off"}):
                        run = self.plain([self.directory / "program"], settings)
                        self.assertEqual((127, b""), (run.code, run.stdout), run.stderr)
                        self.assertEqual(1, run.stderr.count("\n"), run.stderr)
                        self.assertIn(f"refrain: the program calls {function}, but no MPI library in this process has it", run.stderr)
                    doctor = self.plain([REFRAIN, "doctor", self.directory / "program"])
                    self.assertEqual(1, doctor.code)
                    first = function.replace("init", "allreduce").replace("Init", "Allreduce")
                    self.assertRegex(doctor.stdout.decode(), rf"(?m)^cannot +none of its libraries has {first}, .*was left out")

    def test_a_library_may_ask_whether_there_is_mpi(self) -> None:
        """With a preloaded runtime its weak symbols are there."""
        (self.directory / "weak.c").write_text(
            "#include <stdio.h>\nint MPI_Initialized(int*) __attribute__((weak));\nint MPI_Finalized(int*) __attribute__((weak));\n"
            "int main(void) { int a = 7, b = 7, r = 0; if (MPI_Initialized) r = MPI_Initialized(&a) + MPI_Finalized(&b);\n"
            '  printf("%d %d %d\\n", a, b, r); return 0; }\n')
        self.command("cc", "-fPIE", "-pie", "weak.c", "-o", "weak")
        for mpi in MPIS:
            run = self.plain([REFRAIN, "run", "--library", mpi, "--", self.directory / "weak"])
            self.assertEqual((0, b"0 0 0\n"), (run.code, run.stdout), f"{mpi}; stderr: {run.stderr}")


CMAKE = """cmake_minimum_required(VERSION 3.25)
project(linked LANGUAGES C CXX Fortran)
if(RUNTIME)
  find_package(MPI REQUIRED COMPONENTS C CXX Fortran)
  find_package(Refrain REQUIRED)
endif()
foreach(program c cxx mpif_h use_mpi use_mpi_f08)
  set(extension_of_c c)
  set(extension_of_cxx cpp)
  set(language Fortran)
  if(program MATCHES "^c")
    string(TOUPPER ${program} language)
    add_executable(${program} main.${extension_of_${program}} work.${extension_of_${program}})
  else()
    add_executable(${program} main.F90 work.F90)
    string(TOUPPER ${program} interface)
    target_compile_definitions(${program} PRIVATE ${interface})
    target_compile_options(${program} PRIVATE -fallow-argument-mismatch)
  endif()
  if(RUNTIME)
    target_link_libraries(${program} PRIVATE MPI::MPI_${language} Refrain::${RUNTIME})
  endif()
  install(TARGETS ${program})
endforeach()
"""

CONFIGURE = """AC_INIT([linked], [1])
AM_INIT_AUTOMAKE([foreign])
AC_PROG_CC
AC_PROG_CXX
AC_PROG_FC
AC_FC_PP_SRCEXT([F90])
LT_INIT
AC_CONFIG_FILES([Makefile])
AC_OUTPUT
"""


def makefile() -> str:
    """A program of each language as it is, and one whose work is in a library that libtool makes: a shared one, for
    Fortran an archive (libtool 2.4.7 cannot link a shared library with this gfortran, whose options it misreads)."""
    lines = ["bin_PROGRAMS = " + " ".join(f"{name} lt_{name}" for name in LANGUAGES),
             "lib_LTLIBRARIES = libwork_c.la libwork_cxx.la",
             "noinst_LTLIBRARIES = " + " ".join(f"libwork_{name}.la" for name in FORTRAN)]
    for name, (_, main, work, flags) in LANGUAGES.items():
        lines += [f"{name}_SOURCES = {main} {work}", f"lt_{name}_SOURCES = {main}", f"lt_{name}_LDADD = libwork_{name}.la",
                  f"libwork_{name}_la_SOURCES = {work}"]
        # Flags of its own give each target object files of its own.
        lines += [f"{target}_{'FCFLAGS' if flags else 'CPPFLAGS'} = {' '.join(flags) or '-DWORK'}"
                  for target in (name, f"lt_{name}", f"libwork_{name}_la")]
    return "\n".join(lines) + "\n"


class BuildSystems(LinkTest):
    def setUp(self) -> None:
        super().setUp()
        if not FULL:
            self.skipTest("takes a minute")

    def install(self) -> Path:
        tree = self.directory / "tree"
        self.command("cmake", "--install", BUILD, "--prefix", tree)
        return tree

    def test_cmake_with_the_wrappers_as_compilers(self) -> None:
        (self.directory / "CMakeLists.txt").write_text(CMAKE)
        for mpi in MPIS:
            bin = BUILD / "bin"
            self.command("cmake", "-S", ".", "-B", mpi, f"-DCMAKE_C_COMPILER={bin}/refrain-mpicc.{mpi}",
                         f"-DCMAKE_CXX_COMPILER={bin}/refrain-mpicxx.{mpi}", f"-DCMAKE_Fortran_COMPILER={bin}/refrain-mpifort.{mpi}")
            self.command("cmake", "--build", mpi)
            for language in LANGUAGES:
                with self.subTest(mpi=mpi, language=language):
                    self.assert_as_without(mpi, self.directory / mpi / language)

    def test_cmake_with_the_package(self) -> None:
        tree = self.install()
        (self.directory / "CMakeLists.txt").write_text(CMAKE)
        for mpi in MPIS:
            self.command("cmake", "-S", ".", "-B", mpi, f"-DRUNTIME={mpi}", f"-DCMAKE_PREFIX_PATH={tree}", f"-DMPI_C_COMPILER=mpicc.{mpi}",
                         f"-DMPI_CXX_COMPILER=mpicxx.{mpi}", f"-DMPI_Fortran_COMPILER=mpifort.{mpi}")
            self.command("cmake", "--build", mpi)
            self.command("cmake", "--install", mpi, "--prefix", mpi)
            for language in LANGUAGES:
                for program in (self.directory / mpi / language, self.directory / mpi / "bin" / language):
                    with self.subTest(mpi=mpi, program=program):
                        self.assert_as_without(mpi, program)

    def test_pkg_config(self) -> None:
        path = {"PKG_CONFIG_PATH": str(self.install() / "lib/pkgconfig")}
        for mpi in MPIS:
            flags = self.command("pkg-config", "--libs", f"refrain-{mpi}", env=path).stdout.decode().split()
            for language in LANGUAGES:
                with self.subTest(mpi=mpi, language=language):
                    self.assert_as_without(mpi, self.compile(mpi, language, *flags, prefix=""))

    def test_autoconf_and_libtool(self) -> None:
        (self.directory / "configure.ac").write_text(CONFIGURE)
        (self.directory / "Makefile.am").write_text(makefile())
        self.command("autoreconf", "--install")
        for mpi in MPIS:
            build = self.directory / mpi
            build.mkdir()
            wrapper = f"{BUILD}/bin/refrain-"
            self.command("../configure", f"CC={wrapper}mpicc.{mpi}", f"CXX={wrapper}mpicxx.{mpi}", f"FC={wrapper}mpifort.{mpi}",
                         directory=build, env={"REFRAIN_WRAPPER": "off"})
            self.command("make", directory=build)
            for language in LANGUAGES:
                for program in (language, f"lt_{language}"):
                    with self.subTest(mpi=mpi, program=program):
                        self.assert_as_without(mpi, build / program)


if __name__ == "__main__":
    unittest.main()
