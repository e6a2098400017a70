"""Programs that start other processes: those are silent, leave the experiment alone, and are never killed by us."""

from __future__ import annotations

import re
import subprocess
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from refrain_testing import FULL, PROGRAMS, REFRAIN, Outcome, Report, TestCase, clean_environment, recorded_files, without_results

MPIS = [mpi for mpi in ("openmpi", "mpich") if (PROGRAMS / f"processes_{mpi}").exists()]
SERIAL = PROGRAMS / "processes_serial"
FAST = {"REFRAIN_SAMPLING_FREQUENCY": "250"}


def command(mpi: str, *arguments: str | int) -> list[str | Path | int]:
    launcher = {"serial": [], "openmpi": ["mpirun.openmpi", "-n", "1"], "mpich": ["mpiexec.mpich", "-n", "1"]}[mpi]
    return [*launcher, PROGRAMS / f"processes_{mpi}", *arguments]


class Processes(TestCase):
    def same(self, *arguments: str | int, mpi: str = "serial", env: dict[str, str] | None = None) -> Outcome:
        """Status and all output are those without Refrain, the experiment is one, and it is complete."""
        plain = self.plain(command(mpi, *arguments), env, timeout=600)
        outcome = self.measured(command(mpi, *arguments), FAST | (env or {}), timeout=600)
        self.assert_same_result(plain, outcome)
        self.assertEqual(plain.stderr, outcome.stderr)
        self.assertEqual([outcome.experiment.name], [e.name for e in self.directory.glob("*xperiment*")
                                                     if e.name.startswith(outcome.experiment.name)])
        self.assertEqual(["manifest.json", "profile.refrain"], recorded_files(outcome.experiment))
        report = self.report(outcome)
        self.assertEqual("complete", report.data["experiment"]["state"])
        self.assert_time_conserved(report)
        self.assertEqual([], [p.name for p in self.directory.glob("refrain-*")], "an experiment of a child")
        return outcome

    def test_children_without_mpi(self) -> None:
        for way, count in (("fork_exit", 2), ("fork__exit", 1), ("fork_quick", 1), ("fork_thread", 1), ("fork_exec", 2),
                           ("fork_signals", 1), ("fork_term", 1), ("fork_threaded", 10), ("fork_in_thread", 1), ("raw_fork", 1),
                           ("clone_vm", 1), ("vfork", 20), ("vfork_kill", 1), ("spawn", 3), ("system", 2), ("popen", 3)):
            with self.subTest(way):
                self.same(way, count)

    def test_fork_of_a_large_process(self) -> None:
        outcome = self.same("fork_large", 5)
        self.assertIn(b"longer than two ticks", outcome.stdout)
        self.assertEqual(5, outcome.stdout.count(b"fork_large: exit 22"))
        self.assertGreater(self.report(outcome).totals["samples"], 0)

    def test_children_of_ranks(self) -> None:
        for mpi in MPIS:
            for way in ("fork_exit", "fork_term", "vfork", "spawn", "system", "popen"):
                with self.subTest(mpi=mpi, way=way):
                    self.same(way, 1, mpi=mpi)

    def test_a_child_that_goes_on_leaves_no_snapshot(self) -> None:
        """Snapshots are due all the time; the samples of the parent's report are its own."""
        for way in ("fork_exit", "raw_fork"):
            outcome = self.same(way, 1, env={"REFRAIN_SNAPSHOT": "1"})
            samples = self.report(outcome).totals["samples"]
            self.assertLess(samples, 0.15 * 250 * 1.5, "0.1 s of the parent, none of the child's 0.3 s")

    def test_children_that_exec(self) -> None:
        self.same("exec_children", 10_000 if FULL else 100)

    def test_exec_in_place(self) -> None:
        """Each image is measured in the place of the one before, and the last one leaves its results."""
        for count in (1, 2000 if FULL else 5):
            plain = self.plain([SERIAL, "exec_self", count], timeout=600)
            outcome = self.measured([SERIAL, "exec_self", count], FAST, timeout=600)
            self.assertEqual((20, b"the last one\n", ""), (plain.code, plain.stdout, plain.stderr))
            self.assert_same_result(plain, outcome)
            self.assertEqual("", outcome.stderr)
            self.assertIn("complete", self.report(outcome).data["experiment"]["state"])

    def test_exec_under_sampling_again_and_again(self) -> None:
        """Each image is measured, has ticks pending at 250 Hz and becomes another one: no tick may come too late."""
        program = [str(REFRAIN), "exec", "--", str(SERIAL), "exec_self", "1"]
        env = clean_environment(FAST)

        def run(_: int) -> tuple[int, bytes, bytes]:
            done = subprocess.run(program, capture_output=True, cwd=self.directory, env=env, timeout=60)
            return done.returncode, done.stdout, done.stderr

        with ThreadPoolExecutor(4) as pool:
            endings = set(pool.map(run, range(5000 if FULL else 300)))
        self.assertEqual({(20, b"the last one\n", b"")}, endings)

    def test_exec_of_an_mpi_program(self) -> None:
        for mpi in MPIS:
            with self.subTest(mpi):
                launcher = ["mpirun.openmpi"] if mpi == "openmpi" else ["mpiexec.mpich"]
                line = [*launcher, "-n", 2, SERIAL, "before_exec", 1, PROGRAMS / f"processes_{mpi}"]
                plain, outcome = self.plain(line), self.measured(line, FAST)
                self.assertEqual((plain.code, sorted(plain.stdout.splitlines()), plain.stderr),
                                 (outcome.code, sorted(outcome.stdout.splitlines()), outcome.stderr))

    def test_an_mpi_child_has_an_experiment_of_its_own(self) -> None:
        for mpi in MPIS:
            with self.subTest(mpi):
                experiment = self.directory / f"shared-{mpi}"
                inner = " ".join(map(str, [REFRAIN, "run", "--", *command(mpi, "spawn", 0)]))
                outer = [REFRAIN, "run", "--", "sh", "-c", f"{PROGRAMS / 'processes_serial'} system 0; {inner}; {inner}"]
                outcome = self.plain(outer, {"REFRAIN_EXPERIMENT_DIRECTORY": str(experiment)})
                self.assertEqual(0, outcome.code, outcome.stderr)
                made = sorted(self.directory.glob(f"shared-{mpi}*"))
                self.assertGreaterEqual(len(made), 2)
                for one in made:
                    self.assertEqual("complete", Report(one).data["experiment"]["state"])

    def test_descriptors_are_the_programs(self) -> None:
        for env in ({"REFRAIN_METRICS": "perf::TASK-CLOCK,ru_utime"}, {"REFRAIN_VERBOSE": "on"},
                    {"REFRAIN_VERBOSE": "on", "CLOSE_STDERR": "1"}):
            with self.subTest(env):
                outcome = self.measured(command("serial", "close_all"), FAST | env)
                self.assertEqual((0, b"files written\nparent\n"), (outcome.code, outcome.stdout), outcome.stderr)
                for i in range(64):
                    truth = "".join(f"{k} of {i}\n" for k in range(10))
                    self.assertEqual(truth, (self.directory / f"file-{i}").read_text(), f"file-{i}")
                self.assertGreater(self.report(outcome).totals["user_s"], 0.25)


class Jobs(TestCase):
    def test_two_jobs_in_one_directory(self) -> None:
        """At once, with the same name: each has its own experiment, and nothing of the other."""
        env = {"REFRAIN_EXPERIMENT_DIRECTORY": str(self.directory / "same")}
        with ThreadPoolExecutor() as pool:
            runs = [pool.submit(self.plain, [REFRAIN, "run", "--", *command(mpi, "fork_exit", 1)], env)
                    for mpi in ["serial", "serial", *MPIS]]
            outcomes = [run.result() for run in runs]
        self.assertEqual({0}, {outcome.code for outcome in outcomes})
        made = sorted(self.directory.glob("same*"))
        self.assertEqual(len(outcomes), len(made))
        self.assertEqual(len(outcomes) - 1, sum(o.stderr.count("is not an empty directory: writing to") for o in outcomes))
        commands = set()
        for experiment in made:
            report = Report(experiment)
            self.assertEqual("complete", report.data["experiment"]["state"])
            self.assertEqual(["manifest.json", "profile.refrain"], recorded_files(experiment))
            commands.add((re.sub(".*/", "", report.data["experiment"]["command"][0])))
        self.assertEqual({f"processes_{v}" for v in ["serial", *MPIS]}, commands)

    def test_a_rank_that_cannot_be_measured(self) -> None:
        """Nobody waits for it, it says why, and the report says that it is missing. Without rank 0 there is no experiment."""
        for mpi in MPIS:
            for bad in (0, 1):
                with self.subTest(mpi=mpi, bad=bad):
                    experiment = self.directory / f"partial-{mpi}-{bad}"
                    app = ["--", str(PROGRAMS / f"processes_{mpi}"), "fork_exit", "1"]
                    line: list[str] = [command(mpi)[0]]
                    for rank in (0, 1):
                        line += [":"] * rank + ["-n", "1", str(REFRAIN), "exec"]
                        line += ["--env", "REFRAIN_MEMORY=much"] * (rank == bad) + app
                    begin = time.monotonic()
                    outcome = self.plain(line, {"REFRAIN_EXPERIMENT_DIRECTORY": str(experiment)}, timeout=50)
                    self.assertLess(time.monotonic() - begin, 15)
                    self.assertEqual((0, 2), (outcome.code, outcome.stdout.count(b"parent")), outcome.stderr)
                    self.assertEqual(1, outcome.stderr.count("REFRAIN_MEMORY=much"), outcome.stderr)
                    self.assertEqual(bad == 1, experiment.exists())
                    if bad == 1:
                        report = Report(experiment).data["experiment"]
                        self.assertEqual(("incomplete", [1]), (report["state"], report["missing_ranks"]))

    def test_what_is_there_is_left_alone(self) -> None:
        """Also with files of the names that Refrain uses, and when process ids come again."""
        there = self.directory / "there"
        there.mkdir()
        for name in ("manifest.json", "profile.refrain", "part-0.refrain", "part-0.refrain.new", "iterations-0.refrain"):
            (there / name).write_text("another's")
        outcome = self.plain([REFRAIN, "run", "--", *command("serial", "spawn", 0)],
                             {"REFRAIN_EXPERIMENT_DIRECTORY": str(there)})
        self.assertEqual(0, outcome.code)
        for path in there.iterdir():
            self.assertEqual("another's", path.read_text())
        self.assertEqual("complete", Report(self.directory / "there.1").data["experiment"]["state"])

    def test_the_directory_vanishes(self) -> None:
        """It is said, and the program does what it does."""
        for mpi in MPIS:
            with self.subTest(mpi):
                experiment = self.directory / f"gone-{mpi}"
                line = command(mpi, "fork_exit", 3)
                env = clean_environment({"REFRAIN_EXPERIMENT_DIRECTORY": str(experiment), "REFRAIN_SNAPSHOT": "1"})
                running = subprocess.Popen(list(map(str, [REFRAIN, "run", "--", *line])), cwd=self.directory, env=env,
                                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
                while not (experiment / "manifest.json").exists() and running.poll() is None:
                    time.sleep(0.005)
                while experiment.exists():  # a rank may just make a file in it
                    subprocess.run(["rm", "-rf", experiment], stderr=subprocess.DEVNULL, check=False)
                out, err = running.communicate(timeout=60)
                self.assertEqual(0, running.returncode, err)
                self.assertIn(b"parent", out)
                err, last = without_results(err.decode())
                self.assertRegex(last, "no results: .* has vanished")
                lines = [line for line in err.splitlines() if line.startswith("refrain:")]
                self.assertIn(len(lines), (1, 2), err)  # of a snapshot, and of the end


if __name__ == "__main__":
    unittest.main(verbosity=2)
