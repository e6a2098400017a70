"""Scripts start measured programs, and after every run one line says where the results are, or why there are none."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "apps"))
from refrain_testing import MPIS, PROGRAMS, REFRAIN, Outcome, Report, TestCase, clean_environment, mpiexec  # noqa: E402

SERIAL = PROGRAMS / "processes_serial"


class RunTells(TestCase):
    def script(self, text: str, first: str = "#!/bin/sh") -> Path:
        path = self.directory / f"script-{len(list(self.directory.iterdir()))}.sh"
        path.write_text(f"{first}\n{text}\n")
        path.chmod(0o755)
        return path

    def run_it(self, *command: object, options: tuple[str, ...] = (), **env: str) -> Outcome:
        """Status and stdout are those without Refrain; on stderr there is one line more."""
        plain = self.plain(list(map(str, command)), env)
        outcome = self.plain([REFRAIN, "run", *options, "--", *map(str, command)], env)
        self.assertEqual((plain.code, sorted(plain.stdout.splitlines())), (outcome.code, sorted(outcome.stdout.splitlines())),
                         outcome.stderr)
        self.assertEqual(plain.stderr, outcome.stderr)
        self.assertTrue(outcome.last_line, "the line about the results")
        return outcome

    def told(self, outcome: Outcome) -> Report:
        """What the line tells to type shows the results."""
        found = re.search(r"to see them: (refrain report .*)", outcome.last_line)
        self.assertTrue(found, outcome.last_line)
        env = clean_environment({"PATH": f"{REFRAIN.parent}:{os.environ['PATH']}"})
        shown = subprocess.run(["sh", "-c", found[1]], cwd=self.directory, env=env, capture_output=True, timeout=60)
        self.assertEqual(0, shown.returncode, shown.stderr)
        return Report(self.directory / found[1].split()[-1])

    def test_a_program(self) -> None:
        report = self.told(self.run_it(SERIAL, "fork_exit", 0))
        self.assertEqual("complete", report.data["experiment"]["state"])
        for mpi in MPIS:
            report = self.told(self.run_it(*mpiexec(mpi, 2, PROGRAMS / f"processes_{mpi}", "fork_exit", 0)))
            self.assertEqual({0, 1}, {location["rank"] for location in report.locations})

    def test_behind_the_launcher(self) -> None:
        """`refrain run` after the launcher instead of before it: every process starts it, and the first rank tells."""
        for mpi in MPIS:
            experiment = self.directory / mpi
            command = mpiexec(mpi, 2, REFRAIN, "run", "--", PROGRAMS / f"processes_{mpi}", "fork_exit", 0)
            outcome = self.plain(command, {"REFRAIN_EXPERIMENT_DIRECTORY": str(experiment)})
            said = outcome.whole_stderr
            self.assertEqual((0, 1, 0), (outcome.code, said.count("to see them: "), said.count("no results")), said)
            self.assertEqual({0, 1}, {location["rank"] for location in Report(experiment).locations})

    def test_a_script_that_starts_mpi_programs(self) -> None:
        for first in ("#!/bin/sh", "#!/bin/bash", "#!/usr/bin/env bash"):
            for mpi in MPIS:
                with self.subTest(first=first, mpi=mpi):
                    launch = " ".join(mpiexec(mpi, 2, PROGRAMS / f"processes_{mpi}", "fork_exit", 0))
                    outcome = self.run_it(self.script(f"echo begin\n{launch} || exit 8\necho end\nexit 3", first))
                    self.assertEqual(3, outcome.code)
                    report = self.told(outcome)
                    self.assertEqual("complete", report.data["experiment"]["state"])
                    self.assertEqual({0, 1}, {location["rank"] for location in report.locations})
                    self.assertEqual(2, report.of_function("MPI_Init", "visits"))

    def test_several_jobs_of_one_script(self) -> None:
        lines = [" ".join(mpiexec(mpi, 1, PROGRAMS / f"processes_{mpi}", "fork_exit", 0)) for mpi in MPIS]
        lines += [f"{PROGRAMS}/processes_{mpi} fork_exit 0" for mpi in MPIS]  # without a launcher
        lines += [f"{REFRAIN} run -- {lines[0]}"]
        outcome = self.plain([REFRAIN, "run", "--", self.script("\n".join(lines))])
        self.assertEqual((0, ""), (outcome.code, outcome.stderr))
        self.assertIn(f"results of {len(lines)} jobs, the last in", outcome.last_line)
        self.told(outcome)
        self.assertEqual(len(lines), len(list(self.directory.glob("refrain-processes_*"))))
        libraries = [Report(e).data["experiment"]["mpi_library"] for e in self.directory.glob("refrain-processes_*")]
        for mpi, name in (("openmpi", "Open MPI"), ("mpich", "MPICH")):
            if mpi in MPIS:
                self.assertGreaterEqual(sum(name in library for library in libraries), 2, libraries)

    def test_nothing_to_measure(self) -> None:
        script = self.script(f"{SERIAL} fork_exit 0")
        for command in ([script], ["env", "bash", "-c", "echo 1"], *(mpiexec(mpi, 2, script) for mpi in MPIS),
                        *(mpiexec(mpi, 2, "true") for mpi in MPIS)):
            with self.subTest(command):
                outcome = self.run_it(*command)
                self.assertRegex(outcome.last_line, "no results: no MPI call of .*, or of what it started, was seen; .*refrain exec -- ./app")
                self.assertFalse(list(self.directory.glob("refrain-*")))

    def test_an_mpi_that_is_loaded_and_never_initialized(self) -> None:
        """Whatever the name of its library."""
        libraries = {"openmpi": "libmpi.so.40", "mpich": "libmpich.so.12"}
        for mpi in MPIS:
            loaded = "import ctypes, re; ctypes.CDLL('{}'); print(re.search('/.*{}.*', open('/proc/self/maps').read())[0])"
            found = self.plain([sys.executable, "-c", loaded.format(libraries[mpi], re.escape(libraries[mpi].split(".")[0]))])
            self.assertEqual(0, found.code, found.stderr)
            other_name = self.directory / f"libother_{mpi}.so.9"
            shutil.copyfile(found.stdout.decode().strip(), other_name)
            for library in (libraries[mpi], other_name):
                with self.subTest(mpi=mpi, library=library):
                    outcome = self.run_it(self.script(f"{sys.executable} -c \"import ctypes; ctypes.CDLL('{library}')\"\nexit 3"))
                    self.assertRegex(outcome.last_line, "no results: .*python.* loaded MPI, but no MPI_Init was seen: ")

    def test_each_process_by_itself(self) -> None:
        for mpi in MPIS:
            outcome = self.run_it(*mpiexec(mpi, 2, SERIAL, "fork_exit", 0), options=("--library", "serial"))
            self.assertIn("results of 2 jobs", outcome.last_line)

    def test_scripts_of_other_languages_are_measured_themselves(self) -> None:
        for first in (f"#!{sys.executable}", "#!/usr/bin/env python3"):
            outcome = self.run_it(self.script("import sys\nprint(sys.argv)\nsys.exit(4)", first), "a", "b c")
            self.assertEqual(4, outcome.code)
            self.assertIn("python", self.told(outcome).data["experiment"]["executable"])

    def test_what_was_said_before_is_not_said_again(self) -> None:
        for env, command in (({"REFRAIN_MEMORY": "much"}, [SERIAL, "fork_exit", "0"]), ({}, ["./missing"])):
            outcome = self.plain([REFRAIN, "run", "--", *command], env)
            self.assertEqual(1, outcome.stderr.count("refrain:"), outcome.stderr)
            self.assertEqual("", outcome.last_line)
        self.assertEqual(127, outcome.code)

    def test_it_ends_as_the_command_does_and_leaves_nothing_behind(self) -> None:
        temporary = self.directory / "temporary"
        temporary.mkdir()
        for sent in (signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV):
            outcome = self.run_it("sh", "-c", f"kill -{int(sent)} $$", TMPDIR=str(temporary))
            self.assertEqual(-sent, outcome.code)
            self.assertEqual([], list(temporary.iterdir()))

    def test_signals_reach_the_command(self) -> None:
        script = self.script("trap 'echo got it; exit 9' TERM\necho ready\nwhile :; do sleep 0.05; done")
        env = clean_environment()
        running = subprocess.Popen([REFRAIN, "run", "--", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env,
                                   cwd=self.directory)
        self.assertEqual(b"ready\n", running.stdout.readline())
        running.terminate()
        out, _ = running.communicate(timeout=20)
        self.assertEqual((9, b"got it\n"), (running.returncode, out))
        # Who gets it with the whole group is not told twice.
        script = self.script("n=0\ntrap 'n=$((n + 1))' TERM\necho ready\n"
                             "for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.1; done\necho $n")
        running = subprocess.Popen([REFRAIN, "run", "--", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env,
                                   cwd=self.directory, start_new_session=True)
        self.assertEqual(b"ready\n", running.stdout.readline())
        os.killpg(running.pid, signal.SIGTERM)
        out, _ = running.communicate(timeout=20)
        self.assertEqual((0, b"1\n"), (running.returncode, out))
        running = subprocess.Popen([REFRAIN, "run", "--", "sh", "-c", "echo $$; exec sleep 100"], stdout=subprocess.PIPE, env=env,
                                   cwd=self.directory)
        process = int(running.stdout.readline())
        running.kill()
        running.communicate(timeout=20)
        for _ in range(200):
            if not Path(f"/proc/{process}").exists() or "Z" in Path(f"/proc/{process}/stat").read_text().split(")")[1][:3]:
                break
            time.sleep(0.05)
        else:
            self.fail("the command outlives refrain run")

    def test_the_doctor_says_the_same(self) -> None:
        shell = self.plain([REFRAIN, "doctor", self.script("true")]).stdout.decode()
        self.assertIn("launchers and programs that need MPI, started by it, are measured", shell)
        python = self.plain([REFRAIN, "doctor", self.script("pass", "#!/usr/bin/env python3")]).stdout.decode()
        self.assertIn("is a script of python3, which is measured itself", python)


if __name__ == "__main__":
    unittest.main(verbosity=2)
