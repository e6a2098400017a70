"""What `refrain exec` and `refrain run` start: which image gets which library in which mode, and what else stays as it is."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from refrain_testing import BUILD, REFRAIN, SOURCE, clean_environment, without_results

PROBE = BUILD / "tests" / "apps" / "libtools_probe.so"


class ToolsTest(unittest.TestCase):
    def setUp(self):
        self.directory = Path(tempfile.mkdtemp(prefix="refrain-tools-"))
        self.addCleanup(shutil.rmtree, self.directory)
        self.trace = self.directory / "trace"

    def start(self, *command, **settings):
        """Runs in the test's directory; settings of None are taken out of the environment."""
        env = clean_environment({"PROBE_OUT": str(self.trace)})
        env.pop("LD_PRELOAD", None)
        for name, value in settings.items():
            env.pop(name, None)
            if value is not None:
                env[name] = value
        return subprocess.run([str(c) for c in command], cwd=self.directory, env=env, capture_output=True, text=True, timeout=300)

    def images(self):
        """(program, mode, preload list) of every image that the probe was loaded into; forgets them."""
        if not self.trace.exists():
            return []
        lines = self.trace.read_text().splitlines()
        self.trace.unlink()
        return [tuple(line.split(" ", 2)) for line in lines]

    def file(self, name, text, mode=0o755):
        path = self.directory / name
        path.write_text(text)
        path.chmod(mode)
        return path

    def compile(self, compiler, source, output, *options):
        subprocess.run([compiler, str(source), *options, "-o", str(self.directory / output)], check=True, cwd=self.directory)
        return self.directory / output


class Exec(ToolsTest):
    def exec(self, *command, **settings):
        return self.start(REFRAIN, "exec", "--library", PROBE, "--", *command, **settings)

    def test_a_program_is_preloaded_and_keeps_its_status_and_output(self):
        program = self.compile("gcc", self.file("five.c", '#include <stdio.h>\nint main(void){puts("out");return 5;}'), "five")
        done = self.exec(program)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (5, "out\n", ""))
        self.assertEqual(self.images(), [("five", "program", str(PROBE))])

    def test_a_programs_name_and_arguments_are_its_own(self):
        program = self.compile("gcc", self.file("args.c", '#include <stdio.h>\nint main(int c,char**v){while(c--)puts(*v++);}'), "args")
        self.assertEqual(self.exec("./args", "--help", "--", "-x", "").stdout, "./args\n--help\n--\n-x\n\n")
        self.assertEqual(self.exec("args", PATH=f"{self.directory}:{os.environ['PATH']}").stdout, "args\n")

    def test_a_preload_list_of_the_user_stays_behind_ours(self):
        other = self.compile("gcc", self.file("other.c", "int other;"), "libother.so", "-shared", "-fPIC")
        self.exec("/bin/true", LD_PRELOAD=str(other))
        self.assertEqual(self.images(), [("true", "program", f"{PROBE}:{other}")])

    def test_a_script_of_a_shell_is_let_through(self):
        script = self.file("script", "#!/bin/sh\n/bin/true\nexit 9\n")
        self.assertEqual(self.exec(script).returncode, 9)
        self.assertEqual([mode for _, mode, _ in self.images()], ["script", "script"])
        self.assertEqual(self.exec(script, OMPI_COMM_WORLD_RANK="0").returncode, 9)
        self.assertEqual([mode for _, mode, _ in self.images()], ["through", "through"])

    def test_a_script_without_a_first_line_runs_in_the_shell(self):
        self.assertEqual(self.exec(self.file("bare", "exit 8\n")).returncode, 8)

    def test_what_only_starts_another_program_is_let_through(self):
        self.exec("env", "A=1", "/bin/true")
        self.assertEqual([mode for _, mode, _ in self.images()], ["script", "script"])

    def test_another_interpreter_is_measured_itself(self):
        for first in (f"#!{sys.executable}", "#!/usr/bin/env python3"):
            self.assertEqual(self.exec(self.file("script.py", f"{first}\nimport sys\nsys.exit(6)\n")).returncode, 6)
            self.assertEqual([mode for _, mode, _ in self.images()], ["program"])

    def test_an_mpi_program_is_measured_from_its_start_under_a_launcher(self):
        program = self.compile("mpicc.openmpi", SOURCE / "tests/apps/tools_hello.c", "hello")
        done = self.start("mpirun.openmpi", "-n", "2", REFRAIN, "exec", "--library", PROBE, "--", program)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.images(), [("hello", "program", str(PROBE))] * 2)

    def test_missing_and_forbidden_programs_end_as_in_the_shell(self):
        done = self.exec("./missing")
        self.assertEqual((done.returncode, done.stderr), (127, "refrain: ./missing: No such file or directory\n"))
        self.assertEqual(self.exec("no-such-program-in-path").returncode, 127)
        self.assertEqual(self.exec(self.file("data", "", 0o644)).returncode, 126)
        self.assertEqual(self.exec(self.directory).returncode, 126)

    def test_a_static_program_runs_unmeasured_and_one_rank_says_why(self):
        program = self.compile("gcc", self.file("static.c", "int main(void){return 4;}"), "static", "-static")
        done = self.exec(program)
        self.assertEqual(done.returncode, 4)
        self.assertEqual(done.stderr.count("\n"), 1)
        self.assertIn("statically", done.stderr)
        self.assertEqual(self.exec(program, OMPI_COMM_WORLD_RANK="0").stderr.count("\n"), 1)
        self.assertEqual(self.exec(program, OMPI_COMM_WORLD_RANK="1").stderr, "")

    def test_switched_off_nothing_is_preloaded(self):
        self.assertEqual(self.exec("/bin/true", REFRAIN_ENABLE="off").stderr, "")
        self.assertEqual(self.images(), [])
        self.exec("/bin/true", REFRAIN_ENABLE="on")
        self.assertEqual(len(self.images()), 1)

    def test_settings_are_put_into_the_environment(self):
        done = self.start(REFRAIN, "exec", "--library", PROBE, "--env", "REFRAIN_MEMORY=2M", "--env", "X=a=b", "--", "env")
        self.assertIn("REFRAIN_MEMORY=2M\n", done.stdout)
        self.assertIn("X=a=b\n", done.stdout)

    def test_an_unknown_library_leaves_the_program_unmeasured(self):
        done = self.start(REFRAIN, "exec", "--library", "/no/such.so", "--", "sh", "-c", "exit 3")
        self.assertEqual(done.returncode, 3)
        self.assertEqual(done.stderr, "refrain: /no/such.so: no such runtime library. The program runs unmeasured.\n")

    def test_without_a_program_the_usage_is_said(self):
        self.assertEqual(self.start(REFRAIN, "exec").returncode, 1)
        self.assertEqual(self.start(REFRAIN, "run").returncode, 1)


class Run(ToolsTest):
    def run_command(self, *command, **settings):
        return self.start(REFRAIN, "run", "--library", PROBE, "--", *command, **settings)

    def test_ranks_are_preloaded_and_the_launcher_is_not(self):
        program = self.compile("mpicc.openmpi", SOURCE / "tests/apps/tools_hello.c", "hello")
        done = self.run_command("mpirun.openmpi", "-n", "2", program, "6")
        self.assertEqual(done.returncode, 6)
        self.assertEqual(sorted(done.stdout.splitlines()), ["rank 0 of 2", "rank 1 of 2"], done.stderr)
        self.assertEqual(self.images(), [("hello", "program", str(PROBE))] * 2)

    def test_mpich_and_several_programs_in_one_job(self):
        program = self.compile("mpicc.mpich", SOURCE / "tests/apps/tools_hello.c", "hello")
        shutil.copy(program, self.directory / "second")
        done = self.run_command("mpiexec.mpich", "-n", "1", "./hello", ":", "-n", "2", "./second")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(name for name, _, _ in self.images()), ["hello", "second", "second"])

    def test_a_launcher_of_another_mpi_is_said_once(self):
        for mpi, other in (("openmpi", "mpich"), ("mpich", "openmpi")):
            program = self.compile(f"mpicc.{mpi}", SOURCE / "tests/apps/tools_hello.c", "hello")
            for launcher, ranks in ((other, 3), (other, 1), (mpi, 3)):
                command = (f"mpiexec.{launcher}", "-n", str(ranks), program, "0")
                measured, plain = self.run_command(*command), self.start(*command)
                self.assertEqual((measured.returncode, sorted(measured.stdout)), (plain.returncode, sorted(plain.stdout)))
                lines = [line for line in measured.stderr.splitlines() if "refrain:" in line and "no results" not in line]
                self.assertEqual(len(lines), launcher == other and ranks > 1, (command, measured.stderr))
                for line in lines:
                    self.assertEqual(line, f"refrain: {program} uses {mpi}, but the launcher is that of {other}: each process runs "
                                           f"alone, as rank 0 of 1. Start it with mpiexec.{mpi}.")

    def test_a_shell_between_launcher_and_program_is_let_through(self):
        self.compile("mpicc.openmpi", SOURCE / "tests/apps/tools_hello.c", "hello")
        done = self.run_command("mpirun.openmpi", "-n", "1", "sh", "-c", "./hello 2; exit $?")
        self.assertEqual(done.returncode, 2)
        self.assertEqual({(name, mode) for name, mode, _ in self.images()}, {("sh", "through"), ("hello", "through")})

    def test_a_bad_setting_is_named_once_and_harmless_and_a_good_one_measures(self):
        program = self.compile("mpicc.openmpi", SOURCE / "tests/apps/tools_hello.c", "hello")
        bad = self.run_command("mpirun.openmpi", "-n", "2", program, "3", REFRAIN_SAMPLING_FREQUENCY="banana")
        self.assertEqual(bad.returncode, 3)
        self.assertEqual(len([line for line in bad.stderr.splitlines() if "refrain:" in line]), 1)
        self.assertIn("refrain: REFRAIN_SAMPLING_FREQUENCY=banana is not a number; allowed: 0 to 10000 (Hz).", bad.stderr)
        self.assertEqual(self.images(), [])
        good = self.run_command("mpirun.openmpi", "-n", "2", program, "3", REFRAIN_SAMPLING_FREQUENCY="50")
        about = [line for line in good.stderr.splitlines() if line.startswith("refrain:") and " % of the time: " not in line]
        self.assertEqual((good.returncode, len(about)), (3, 1), "the line about the results")
        self.assertEqual(len(self.images()), 2)

    def test_verbose_says_what_is_measured_where_it_goes_and_how_much_it_was(self):
        program = self.compile("mpicc.openmpi", SOURCE / "tests/apps/tools_hello.c", "hello")
        run = (REFRAIN, "run", "--", "mpirun.openmpi", "-n", "2", program)
        lines = self.start(*run, REFRAIN_EXPERIMENT_DIRECTORY="exp", REFRAIN_VERBOSE="on").stderr.splitlines()
        self.assertEqual({line.split(":")[0] for line in lines}, {"refrain"})
        # What was lost depends on where a machine's ticks fall, and what stands out on who else uses it: a line for each, or none.
        lines = [line for line in lines if not re.fullmatch(r"refrain: rank \d: lost: \w+, \d+", line) and " % of the time: " not in line]
        self.assertEqual(len(lines), 5, lines)
        self.assertIn("Open MPI", lines[0])
        self.assertIn("100 Hz", lines[1])
        self.assertIn("exp", lines[2])
        self.assertEqual(lines[4], "refrain: results in exp; to see them: refrain report exp")
        self.assertRegex(lines[3], r"rank 0: 1 locations, \d+ call-tree nodes, \d+ MPI calls, \d+ samples")
        said = without_results(self.start(*run, REFRAIN_EXPERIMENT_DIRECTORY="exp2").stderr)
        self.assertEqual(("", "refrain: results in exp2; to see them: refrain report exp2"), said)

    def test_invalid_empty_and_enormous_settings_leave_the_program_alone(self):
        for name in ("REFRAIN_ENABLE", "REFRAIN_MEMORY", "REFRAIN_UNWINDER", "REFRAIN_EXPERIMENT_DIRECTORY", "REFRAIN_NO_SUCH"):
            for value, measured in (("", name != "REFRAIN_NO_SUCH"), ("\x01\xff", None), ("x" * 100_000, False)):
                if name == "REFRAIN_EXPERIMENT_DIRECTORY" and value == "\x01\xff":
                    continue  # a strange name, and a good one
                done = self.run_command("sh", "-c", "echo out; exit 5", **{name: value})
                self.assertEqual((done.returncode, done.stdout), (5, "out\n"), (name, value[:10]))
                self.assertEqual(bool(self.images()), bool(measured), (name, value[:10]))
                if not measured:
                    self.assertEqual(done.stderr.count("\n"), 1, (name, value[:10]))
                    self.assertIn(name, done.stderr)
                    self.assertLess(len(done.stderr), 600)

    def test_settings_reach_ranks_to_which_the_launcher_passes_no_environment(self):
        self.compile("mpicc.mpich", SOURCE / "tests/apps/tools_hello.c", "hello")
        done = self.run_command("mpiexec.mpich", "-genvnone", "-n", "1", REFRAIN, "exec", "--library", PROBE, "--", "env",
                                REFRAIN_MEMORY="3M")
        self.assertIn("REFRAIN_MEMORY=3M\n", done.stdout)

    def test_options_become_settings(self):
        done = self.start(REFRAIN, "run", "--library", PROBE, "--experiment", "exp", "--frequency", "7", "--", "env")
        self.assertIn(f"REFRAIN_EXPERIMENT_DIRECTORY={self.directory}/exp\n", done.stdout)
        self.assertIn("REFRAIN_SAMPLING_FREQUENCY=7\n", done.stdout)

    def test_the_two_dashes_may_be_left_out(self):
        done = self.start(REFRAIN, "run", "--dry-run", "mpirun.openmpi", "-n", "2", "./app", "--", "-x")
        self.assertEqual(done.stdout, f"mpirun.openmpi -n 2 {REFRAIN} exec -- ./app -- -x\n")

    def test_an_application_file_is_refused_in_one_line_and_run(self):
        self.file("apps", "-n 1 /bin/true\n")
        done = self.run_command("mpirun.openmpi", "--app", "apps")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("refrain exec ./app", done.stderr)
        self.assertEqual(self.images(), [])


if __name__ == "__main__":
    unittest.main()
