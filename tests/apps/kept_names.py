"""An experiment keeps the names of its functions: its report is the same without the binaries, and after they were rebuilt."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import time
import unittest
from pathlib import Path
from typing import Any

from refrain_testing import MPIS, PROGRAMS, REFRAIN, TestCase, clean_environment, mpiexec

SOURCE = Path(__file__).with_suffix(".c")
NAMES = "names.refrain"
OWN = {"main", "outer_work", "inner_work", "inlined_step", "leaf_work"}


class KeptNames(TestCase):
    def setUp(self) -> None:
        super().setUp()
        if not shutil.which("cc"):
            self.skipTest("there is no C compiler")
        self.program = self.directory / "program"
        self.build()

    def build(self, weight: str = "1e-3") -> None:
        self.program.unlink(missing_ok=True)
        subprocess.run(["cc", "-g", "-O2", "-Wl,--build-id", f"-DWEIGHT={weight}", SOURCE, "-o", self.program], check=True)

    def run_program(self) -> Path:
        outcome = self.measured([self.program, "0.7"])
        self.assertEqual((0, b"done\n"), (outcome.code, outcome.stdout), outcome.stderr)
        assert outcome.experiment
        return outcome.experiment

    def text(self, experiment: Path, *options: str, code: int = 0, **how: Any) -> bytes:
        """What the report says of the experiment, which is named in the same way wherever it is."""
        done = subprocess.run([REFRAIN, "report", experiment.name, *(options or ("--format", "json"))], cwd=experiment.parent,
                              capture_output=True, env=clean_environment(), timeout=120, **how)
        self.assertEqual(code, done.returncode, done.stderr)
        return done.stdout

    def own_functions(self, text: bytes) -> set[str]:
        return OWN & {name for path in json.loads(text)["callpaths"] for name in path["path"]}

    def test_the_run_keeps_them(self) -> None:
        experiment = self.run_program()
        self.assertLess((experiment / NAMES).stat().st_size, 20_000)
        self.assertEqual(["manifest.json", NAMES, "profile.refrain"],
                         sorted(file for file in os.listdir(experiment) if not file.startswith("analysis-")))
        before = self.text(experiment)
        self.assertEqual(OWN, self.own_functions(before))
        self.assertIn(b"kept_names.c", self.text(experiment, "--callsites", "--format", "json"))
        home = self.directory / "home" / experiment.name
        shutil.copytree(experiment, home)
        self.program.unlink()
        for where in (experiment, home):
            self.assertEqual(before, self.text(where))
        self.build("2e-3")
        for options in ((), ("--callsites", "--format", "json"), ("--flat", "--format", "csv")):
            self.assertEqual(self.text(experiment, *options), self.text(home, *options))
        self.assertEqual(before, self.text(home))

    def test_events_have_them_too(self) -> None:
        for mpi in MPIS:
            with self.subTest(mpi):
                program = self.directory / f"waits_{mpi}"
                shutil.copy(PROGRAMS / f"analyze_waits_{mpi}", program)
                outcome = self.measured(mpiexec(mpi, 2, program, "recv", 40, 0.005, self.directory / "times"),
                                        {"REFRAIN_TRACE": "all"})
                self.assertEqual(0, outcome.code, outcome.stderr)
                assert outcome.experiment
                commands = (["report", outcome.experiment, "--format", "json"], ["analyze", outcome.experiment, "--format", "json"])
                say = lambda: [subprocess.run([REFRAIN, *words], capture_output=True, env=clean_environment(), timeout=300).stdout
                               for words in commands]
                say()  # from now on the report has what the analysis has found
                before = say()
                program.unlink()
                self.assertEqual(before, say())

    def test_the_first_reader_with_the_binary_keeps_them(self) -> None:
        experiment = self.run_program()
        before, names = self.text(experiment), (experiment / NAMES).read_bytes()
        (experiment / NAMES).unlink()
        self.assertEqual(before, self.text(experiment))
        self.assertEqual(names, (experiment / NAMES).read_bytes())
        (experiment / NAMES).unlink()
        self.program.rename(self.directory / "away")
        self.assertEqual(set(), self.own_functions(self.text(experiment)) - {"main"}, "nobody knows them")
        (self.directory / "away").rename(self.program)
        self.assertEqual(before, self.text(experiment), "what was not found stays open")

    def test_a_directory_of_somebody_else(self) -> None:
        if os.geteuid() != 0:
            self.skipTest("only root can be somebody else")
        experiment = self.run_program()
        before = self.text(experiment)
        (experiment / NAMES).unlink()
        self.directory.chmod(0o755)
        for file in experiment.iterdir():
            file.chmod(0o644)
        experiment.chmod(0o755)
        try:
            subprocess.run([REFRAIN, "--version"], capture_output=True, user="nobody", check=True)
        except (OSError, subprocess.CalledProcessError):  # below a directory that only its owner may enter
            self.skipTest("nobody cannot start refrain")
        self.assertEqual(before, self.text(experiment, user="nobody"))
        self.assertFalse((experiment / NAMES).exists())

    def test_a_stripped_copy_is_joined_by_the_whole_binary(self) -> None:
        experiment = self.run_program()
        before = self.text(experiment)
        (experiment / NAMES).unlink()
        whole = self.directory / "whole"
        self.program.rename(whole)
        subprocess.run(["strip", "-o", self.program, whole], check=True)
        self.assertEqual(set(), self.own_functions(self.text(experiment)) - {"main"})
        self.assertTrue((experiment / NAMES).exists())
        whole.rename(self.program)
        self.assertEqual(before, self.text(experiment))
        self.program.unlink()
        self.assertEqual(before, self.text(experiment))

    def test_damage_changes_no_figure(self) -> None:
        experiment = self.run_program()
        without_damage = lambda text: {k: v for k, v in json.loads(text).items() if k != "damage"}
        before, good = self.text(experiment), (experiment / NAMES).read_bytes()
        figures = lambda text: {k: v for k, v in json.loads(text)["totals"].items()}
        draw = random.Random(46)
        for _ in range(12):
            bad = bytearray(good)
            if draw.random() < 0.3:
                del bad[draw.randrange(len(bad)):]
            else:
                bad[draw.randrange(len(bad))] ^= 1 << draw.randrange(8)
            (experiment / NAMES).write_bytes(bad)
            text = self.text(experiment, code=4)
            self.assertEqual(without_damage(before), without_damage(text), "names are found again")
            (line,) = json.loads(text)["damage"]
            self.assertIn(NAMES, line)
            self.assertEqual(bytes(bad), (experiment / NAMES).read_bytes(), "it stays as it is")
            self.program.rename(self.directory / "away")
            self.assertEqual(figures(before), figures(self.text(experiment, code=4)))
            (self.directory / "away").rename(self.program)
        newer = bytearray(good)
        newer[12] = 2
        (experiment / NAMES).write_bytes(newer)
        (line,) = json.loads(self.text(experiment, code=4))["damage"]
        self.assertIn("newer Refrain", line)

    def test_several_readers_at_once(self) -> None:
        experiment = self.run_program()
        before, names = self.text(experiment), (experiment / NAMES).read_bytes()
        for _ in range(5):
            (experiment / NAMES).unlink()
            readers = [subprocess.Popen([REFRAIN, "report", experiment.name, "--format", "json"], cwd=experiment.parent,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=clean_environment()) for _ in range(4)]
            for reader in readers:
                out, err = reader.communicate(timeout=120)
                self.assertEqual((0, before), (reader.returncode, out), err)
            self.assertEqual(names, (experiment / NAMES).read_bytes())
            self.assertEqual([], list(experiment.glob("*.new")))

    def test_exec_keeps_the_functions_of_a_binary_that_is_gone_at_the_end(self) -> None:
        commands = {"alone": [], **{mpi: mpiexec(mpi, 2) for mpi in MPIS}}
        for name, launcher in commands.items():
            with self.subTest(name):
                self.build()
                experiment = self.directory / f"of-exec-{name}"
                program = self.program
                if launcher:
                    program = self.directory / f"waits_{name}"
                    shutil.copy(PROGRAMS / f"analyze_waits_{name}", program)
                arguments = ["recv", 40, 0.005, self.directory / "times"] if launcher else ["0.7"]
                done = self.plain([*launcher, REFRAIN, "exec", "--", program, *arguments],
                                  {"REFRAIN_EXPERIMENT_DIRECTORY": str(experiment)})
                self.assertEqual((0, ""), (done.code, done.stderr))
                (table,) = experiment.glob("functions-*.refrain")
                self.assertLess(table.stat().st_size, 1_000_000)
                program.unlink()
                text = self.text(experiment)
                self.assertIn("main", self.own_functions(text))
                if not launcher:
                    self.assertEqual(OWN - {"inlined_step"}, self.own_functions(text), "debug information alone knows that")
                self.assertFalse(table.exists(), "it has served")
                self.assertEqual(text, self.text(experiment))
                if not launcher:  # the names stay open for what knows more
                    self.build()
                    self.assertLessEqual(OWN, self.own_functions(self.text(experiment)))

    def test_a_damaged_table_of_functions_costs_itself_alone(self) -> None:
        experiment = self.directory / "of-exec"
        self.plain([REFRAIN, "exec", "--", self.program, "0.7"], {"REFRAIN_EXPERIMENT_DIRECTORY": str(experiment)})
        (table,) = experiment.glob("functions-*.refrain")
        table.write_bytes(table.read_bytes()[:-10])
        text = self.text(experiment, code=4)
        self.assertEqual(OWN, self.own_functions(text), "the binary is here")
        (line,) = json.loads(text)["damage"]
        self.assertIn("functions-", line)

    def test_the_program_sees_nothing_of_it(self) -> None:
        done = self.plain([REFRAIN, "exec", "--", self.program, "0.1", "look"])
        self.assertEqual(b"1 mapped, 0 open, 0 variables\ndone\n", done.stdout, done.stderr)

    def test_nothing_is_kept_while_the_program_runs(self) -> None:
        experiment, program = self.directory / "running", self.directory / "waits"
        shutil.copy(PROGRAMS / f"analyze_waits_{MPIS[0]}", program)
        command = [REFRAIN, "run", "--experiment", experiment, "--",
                   *mpiexec(MPIS[0], 2, program, "recv", 100000, 0.005, self.directory / "times")]
        functions = lambda text: {name for path in json.loads(text)["callpaths"] for name in path["path"]}
        with subprocess.Popen(list(map(str, command)), cwd=self.directory, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=clean_environment({"REFRAIN_SNAPSHOT": "1"})) as run:
            deadline = time.monotonic() + 60
            while not (experiment / "part-0.refrain").exists() and time.monotonic() < deadline:
                time.sleep(0.1)
            self.assertLessEqual({"main", "one_step"}, functions(self.text(experiment)))
            self.assertFalse((experiment / NAMES).exists())
            for process in Path("/proc").iterdir():
                if process.name.isdigit() and self.is_program(process, program):
                    os.kill(int(process.name), signal.SIGKILL)
            run.communicate(timeout=60)
        before = self.text(experiment)
        self.assertTrue((experiment / NAMES).exists(), "refrain run knows that it has ended")
        program.unlink()
        self.assertEqual(before, self.text(experiment))

    def is_program(self, process: Path, program: Path) -> bool:
        try:
            return (process / "exe").readlink() == program
        except OSError:
            return False

    def test_info_says_what_is_kept(self) -> None:
        experiment = self.run_program()
        say = lambda *options: subprocess.run([REFRAIN, "info", "names", *options, experiment], capture_output=True, text=True,
                                              env=clean_environment(), timeout=60)
        of = {Path(m["path"]).name: m for m in json.loads(say("--format", "json").stdout)["modules"]}["program"]
        self.assertEqual("debug", of["source"])
        self.assertEqual(of["addresses"], of["named"])
        self.assertGreater(of["lines"], 0)
        self.assertIn("by its debug information", say().stdout)
        (experiment / NAMES).unlink()
        self.assertIn("No names are kept", say().stdout)
        (experiment / NAMES).write_bytes(b"nothing")
        done = say()
        self.assertEqual(4, done.returncode)
        self.assertIn(NAMES, done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
