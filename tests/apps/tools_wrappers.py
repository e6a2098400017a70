"""The compiler wrappers: what they pass on, what they add, and that what they build runs."""

from __future__ import annotations

import subprocess
import unittest

from refrain_testing import BUILD, SOURCE
from tools_exec import ToolsTest

HELLO = SOURCE / "tests/apps/tools_hello.c"
HELLO_CXX = '#include <mpi.h>\n#include <iostream>\nint main(int c,char**v){MPI_Init(&c,&v);std::cout<<"hello\\n";MPI_Finalize();}\n'
HELLO_FORTRAN = "program hello\n  use mpi\n  integer :: e\n  call MPI_Init(e)\n  print '(a)', 'hello'\n  call MPI_Finalize(e)\nend program\n"


def needed(program):
    """The NEEDED entries in order, as the dynamic linker reads them."""
    lines = subprocess.run(["readelf", "-d", str(program)], capture_output=True, text=True, check=True).stdout.splitlines()
    return [line.split("[")[1].rstrip("]") for line in lines if "(NEEDED)" in line]


class Wrappers(ToolsTest):
    def wrapper(self, name, *arguments, **settings):
        return self.start(BUILD / "bin" / f"refrain-{name}", *arguments, **settings)

    def source(self, language):
        if language == "c":
            return HELLO
        return self.file("hello.cpp", HELLO_CXX) if language == "c++" else self.file("hello.f90", HELLO_FORTRAN)

    def test_every_mpi_wrapper_builds_a_program_that_loads_the_runtime_before_mpi(self):
        for mpi, launcher in (("openmpi", "mpirun.openmpi"), ("mpich", "mpiexec.mpich")):
            for name, language in (("mpicc", "c"), ("mpicxx", "c++"), ("mpifort", "fortran")):
                with self.subTest(mpi=mpi, compiler=name):
                    done = self.wrapper(f"{name}.{mpi}", self.source(language), "-o", "hello")
                    self.assertEqual((done.returncode, done.stderr), (0, ""))
                    libraries = needed(self.directory / "hello")
                    self.assertEqual(libraries[0], f"librefrain-{mpi}.so")
                    self.assertTrue(any(library.startswith("libmpi") for library in libraries[1:]), libraries)
                    run = self.start(launcher, "-n", "1", "./hello", REFRAIN_ENABLE="off")
                    self.assertEqual(run.returncode, 0, run.stderr)
                    self.assertEqual(list(self.directory.glob("refrain-hello-*")), [])

    def test_what_is_loaded_into_programs_needs_the_c_library_alone(self):
        for name in ("openmpi", "mpich", "serial"):
            self.assertEqual({"libc.so.6", "ld-linux-x86-64.so.2"}, set(needed(BUILD / f"lib/librefrain-{name}.so")))

    def test_the_mpi_behind_the_plain_name_is_found_out(self):
        for mpi in ("openmpi", "mpich"):
            done = self.wrapper("mpicc", HELLO, "-o", "hello", REFRAIN_MPICC=f"mpicc.{mpi}")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(needed(self.directory / "hello")[0], f"librefrain-{mpi}.so")

    def test_programs_without_mpi(self):
        for name, file in (("cc", "plain.c"), ("cxx", "plain.cpp")):
            done = self.wrapper(name, self.file(file, "int main() { return 3; }"), "-o", "plain")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(needed(self.directory / "plain")[0], "librefrain-serial.so")
            self.assertEqual(self.start("./plain", REFRAIN_ENABLE="off").returncode, 3)

    def test_the_public_header_is_found(self):
        source = self.file("annotated.c", "#include <refrain/refrain.h>\nint main(void) { return 0; }")
        self.assertEqual(self.wrapper("cc", "-c", source).returncode, 0)
        self.assertNotEqual(self.wrapper("cc", "-c", source, REFRAIN_WRAPPER="off").returncode, 0)

    def test_verbose_shows_what_is_executed(self):
        line = self.wrapper("mpicc.openmpi", "--refrain-verbose", "-c", HELLO, "-o", "x.o").stderr
        self.assertEqual(line, f"mpicc.openmpi -I{BUILD}/include -c {HELLO} -o x.o\n")

    def test_only_linking_a_program_adds_the_runtime(self):
        source = self.file("a.c", "int main(void) { return 0; }")
        for arguments, linked in ((("a.c",), True), (("a.c", "-o", "-x"), True), (("-c", "a.c"), False), (("-E", "a.c"), False),
                                  (("-shared", "-fPIC", "a.c"), False), (("-v",), False), (("--version",), False),
                                  (("-fsyntax-only", "a.c"), False), (("-x", "c", "-", "-o", "y"), True)):
            done = self.start(BUILD / "bin" / "refrain-cc", "--refrain-verbose", *arguments, REFRAIN_CC="echo")
            self.assertEqual("librefrain-serial-link.so" in done.stdout, linked, arguments)
        self.assertTrue(source.exists())

    def test_switched_off_the_wrapper_is_transparent(self):
        done = self.wrapper("mpicc.openmpi", "--refrain-verbose", HELLO, "-o", "hello", REFRAIN_WRAPPER="off")
        self.assertEqual(done.stderr, f"mpicc.openmpi {HELLO} -o hello\n")
        self.assertFalse(any("refrain" in library for library in needed(self.directory / "hello")))
        self.assertEqual(self.wrapper("cc", "-dumpversion").stdout, self.start("cc", "-dumpversion").stdout)

    def test_the_compilers_exit_status_is_kept(self):
        self.assertNotEqual(self.wrapper("cc", "no-such-file.c").returncode, 0)
        self.assertEqual(self.wrapper("cc", "x.c", REFRAIN_CC="no-such-compiler").returncode, 127)

    def test_static_linking_is_said_and_left_alone(self):
        source = self.file("s.c", "int main(void) { return 0; }")
        done = self.wrapper("cc", "-static", source, "-o", "s")
        self.assertEqual(done.returncode, 0)
        self.assertIn("statically", done.stderr)

    def test_unknown_options_of_ours_are_errors(self):
        self.assertEqual(self.wrapper("cc", "--refrain-verbos").returncode, 1)
        self.assertEqual(self.wrapper("cc", "--refrain-library=lam", "x.c").returncode, 1)
        self.assertIn("REFRAIN_WRAPPER=off", self.wrapper("cc", "--refrain-help").stdout)


if __name__ == "__main__":
    unittest.main()
