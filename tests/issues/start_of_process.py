"""A program starts, becomes itself again and changes its rights as it does without Refrain, and what is said of it is true."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import unittest
import unittest.mock
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "apps"))
from refrain_testing import BUILD, MPIS, REFRAIN, Outcome, Report, TestCase, clean_environment, mpiexec  # noqa: E402

PROGRAMS = BUILD / "tests" / "issues"
SERIAL = PROGRAMS / "start_of_process_serial"
LOADER = "/lib64/ld-linux-x86-64.so.2"
# It works for 0.3 s of CPU time: some 30 samples on any machine.
ENDS_WITH_7 = """#include <time.h>
int main(void) {
  volatile int i;
  while (clock() < 3 * CLOCKS_PER_SEC / 10)
    for (i = 0; i < 1000; ++i);  /* the thread sanitizer puts off signals while clock() looks */
  return 7;
}
"""


class Case(TestCase):
    def run_it(self, *command: object, env: dict[str, str] | None = None, experiment: str = "e") -> Outcome:
        words = [REFRAIN, "run", "--experiment", self.directory / experiment, "--", *command]
        done = subprocess.run(list(map(str, words)), capture_output=True, cwd=self.directory, env=clean_environment(env), timeout=60)
        return Outcome(done.returncode, done.stdout, done.stderr)

    def compiled(self, name: str, *options: str, source: str = ENDS_WITH_7, compiler: str = "cc") -> Path:
        program = self.directory / name
        (self.directory / f"{name}.c").write_text(source)
        done = subprocess.run([compiler, "-O0", f"{name}.c", "-o", name, *options], cwd=self.directory, capture_output=True)
        if done.returncode != 0:
            self.skipTest(f"{compiler} {' '.join(options)}: {done.stderr.decode()[:200]}")
        return program

    def was_measured(self, experiment: str = "e") -> Report:
        report = Report(self.directory / experiment)
        self.assertGreater(report.totals["samples"], 1)
        return report


class Environment(Case):
    def test_the_auxiliary_vector_is_behind_it(self) -> None:
        for env in ({}, {"LD_PRELOAD": "libm.so.6"}):
            outcome = self.run_it(SERIAL, "stack", env=env, experiment=f"e{len(env)}")
            self.assertEqual((0, b"0 0 0\n"), (outcome.code, outcome.stdout), outcome.stderr)

    def test_in_programs_of_mpi_too(self) -> None:
        for mpi in MPIS:
            outcome = self.run_it(*mpiexec(mpi, 1, PROGRAMS / f"start_of_process_{mpi}", "stack"), experiment=mpi)
            self.assertEqual((0, b"0 0 0\n"), (outcome.code, outcome.stdout), outcome.stderr)


class ItselfAgain(Case):
    def test_it_goes_on_being_measured(self) -> None:
        for how in ("execve", "execv", "execvp", "execvpe", "execl", "execlp", "execle", "fexecve"):
            with self.subTest(how):
                outcome = self.run_it(SERIAL, "again", how, experiment=how)
                self.assertEqual((3, ""), (outcome.code, outcome.stderr))
                self.assertIn(f"results in {how};", outcome.last_line)
                self.was_measured(how)

    def test_under_mpi(self) -> None:
        for mpi in MPIS:
            outcome = self.run_it(*mpiexec(mpi, 2, PROGRAMS / f"start_of_process_{mpi}", "again", "execv"), experiment=mpi)
            self.assertEqual(3, outcome.code, outcome.stderr)
            self.assertEqual(2, self.was_measured(mpi).of_function("MPI_Init", "visits"))

    def test_another_program_is_not_measured_and_that_is_said(self) -> None:
        outcome = self.run_it(SERIAL, "other", "/bin/true")
        self.assertEqual((0, ""), (outcome.code, outcome.stderr))
        self.assertIn("no results: the measured program became /bin/true by exec before its end", outcome.last_line)


class Preloading(Case):
    def setUp(self) -> None:
        """Users do not have the options that scripts/test gives to sanitizers."""
        super().setUp()
        environment = unittest.mock.patch.dict(os.environ)
        environment.start()
        self.addCleanup(environment.stop)
        for name in ("ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"):
            os.environ.pop(name, None)

    def unmeasured(self, why: str, *command: object) -> None:
        outcome = self.run_it(*command)
        self.assertEqual(7, outcome.code, outcome.stderr)
        self.assertEqual(1, outcome.whole_stderr.count("\n"), outcome.whole_stderr)
        self.assertIn(why, outcome.whole_stderr)
        doctor = subprocess.run([REFRAIN, "doctor", str(command[0])], capture_output=True, text=True, cwd=self.directory, env=clean_environment())
        self.assertEqual(1, doctor.returncode, doctor.stdout)
        self.assertIn(why, doctor.stdout)

    def test_sanitizers_that_must_come_first(self) -> None:
        for kind in ("address", "leak", "thread", "undefined"):
            with self.subTest(kind):
                program = self.compiled(kind, f"-fsanitize={kind}")
                plain = self.plain([program])
                outcome = self.run_it(program, experiment=f"{kind}.e")
                self.assertEqual((plain.code, plain.stderr), (outcome.code, outcome.stderr))
                self.was_measured(f"{kind}.e")

    def test_what_comes_first_is_not_inherited(self) -> None:
        program = self.compiled("address", "-fsanitize=address",
                                source='#include <stdlib.h>\nint main(void) { return system("env | grep -c -e LD_PRELOAD -e ASAN_OPTIONS"); }')
        self.assertEqual(b"0\n", self.run_it(program).stdout)
        preset = {"LD_PRELOAD": "libm.so.6", "ASAN_OPTIONS": "verbosity=0"}
        self.assertEqual(b"2\n", self.run_it(program, env=preset, experiment="f").stdout)

    def test_programs_of_a_script_that_cannot_take_it(self) -> None:
        programs = [self.compiled("address", "-fsanitize=address")]
        if shutil.which("musl-gcc"):
            programs.append(self.compiled("musl", compiler="musl-gcc"))
        for program in programs:
            with self.subTest(program.name):
                outcome = self.run_it("sh", "-c", f"{program}; echo $?")
                self.assertEqual((b"7\n", ""), (outcome.stdout, outcome.stderr))

    @unittest.skipUnless(shutil.which("musl-gcc"), "needs musl-tools")
    def test_another_c_library(self) -> None:
        self.unmeasured("another C library than glibc", self.compiled("musl", compiler="musl-gcc"))

    def test_static(self) -> None:
        self.unmeasured("linked statically", self.compiled("static", "-static"))

    def test_by_the_dynamic_linker(self) -> None:
        program = self.compiled("program")
        outcome = self.run_it(LOADER, "--argv0", "x", program)
        self.assertEqual((7, ""), (outcome.code, outcome.stderr))
        self.was_measured()
        self.assertEqual(self.plain([LOADER, "--version"]).stdout, self.run_it(LOADER, "--version", experiment="f").stdout)

    def test_a_32_bit_program(self) -> None:
        """Its header alone: there may be no compiler for it. It cannot be executed here, and the reason of that is the kernel's."""
        image = bytearray(self.compiled("program").read_bytes())
        image[4], image[18] = 1, 3
        (self.directory / "old").write_bytes(image)
        (self.directory / "old").chmod(0o755)
        self.assertIn("32-bit", self.run_it("./old").whole_stderr)

    @unittest.skipUnless(os.getuid() == 0, "needs root")
    def test_more_rights(self) -> None:
        self.directory.chmod(0o755)
        program = self.compiled("program")
        shutil.chown(program, 65534)
        program.chmod(0o4755)
        self.unmeasured("changes its user, group or capabilities", program)
        outcome = self.run_it("setpriv", "--no-new-privs", REFRAIN, "exec", "--", program)
        self.assertEqual((7, ""), (outcome.code, outcome.stderr))
        self.was_measured()


class Ends(Case):
    @unittest.skipUnless(os.getuid() == 0, "needs root")
    def test_another_root(self) -> None:
        (self.directory / "root").mkdir()
        for mpi in MPIS:
            outcome = self.run_it(*mpiexec(mpi, 2, PROGRAMS / f"start_of_process_{mpi}", "root", self.directory / "root"), experiment=mpi)
            self.assertEqual(3, outcome.code, outcome.stderr)
            self.assertEqual("complete", self.was_measured(mpi).data["experiment"]["state"], outcome.stderr)

    @unittest.skipUnless(os.getuid() == 0, "needs root")
    def test_another_user(self) -> None:
        for mpi in MPIS:
            outcome = self.run_it(*mpiexec(mpi, 1, PROGRAMS / f"start_of_process_{mpi}", "user"), experiment=mpi)
            self.assertEqual(3, outcome.code, outcome.stderr)
            self.assertIn("Permission denied", outcome.stderr)
            self.assertNotIn("the program was killed", outcome.whole_stderr)
            self.assertNotIn("no measured process", outcome.whole_stderr)

    def test_a_process_that_goes_on(self) -> None:
        outcome = self.run_it(SERIAL, "daemon")
        self.assertEqual(3, outcome.code)
        self.assertRegex(outcome.whole_stderr, r"refrain: process \d+, which the program has left behind, goes on and is not measured\n")
        self.assertNotIn("goes on", self.run_it(SERIAL, experiment="f").whole_stderr)

    @unittest.skipUnless("openmpi" in MPIS, "needs Open MPI")
    def test_spawned_processes(self) -> None:
        """Of Open MPI: Debian's MPICH fails to spawn this program, without Refrain too."""
        outcome = self.run_it(*mpiexec("openmpi", 1, PROGRAMS / "start_of_process_openmpi", "spawn"), env={"OMPI_MCA_btl": "self,vader,tcp"})
        self.assertEqual(1, outcome.stderr.count("processes that the program started by MPI_Comm_spawn were not measured"), outcome.stderr)

    def test_a_path_with_a_newline(self) -> None:
        outcome = self.run_it(SERIAL, experiment="a\nb\\c")
        self.assertEqual((3, ""), (outcome.code, outcome.stderr))
        self.assertIn(r"results in $'a\x0ab\\c';", outcome.last_line)
        self.was_measured("a\nb\\c")


if __name__ == "__main__":
    unittest.main(verbosity=2)
