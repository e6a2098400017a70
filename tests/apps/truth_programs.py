"""Threads, and programs that do not use MPI as most do."""

from __future__ import annotations

import unittest

from refrain_testing import PROGRAMS, TestCase, mpirun


class Threads(TestCase):
    WORK = ("work_short", "work_medium", "work_long")

    def check_workers(self, command) -> None:
        plain = self.plain(command)
        outcome = self.measured(command)
        self.assertEqual(plain.code, outcome.code, outcome.stderr)
        spent = outcome.json_lines()[0]
        report = self.report(outcome)
        self.assert_time_conserved(report)
        self.assertEqual(4, len(report.locations), "locations: the main thread and three workers, none of MPI's own")
        self.assertEqual([0, 1, 2, 3], sorted(l["thread"] for l in report.locations))
        for name in self.WORK:
            seconds = report.of_function(name, "inclusive_s")
            self.assert_near(seconds, spent[name], 0.02 * spent[name] + 0.01, name)
        # Every worker is a location of its own: its user time holds the CPU time of one function.
        workers = sorted((l["user_s"], l) for l in report.locations if l["thread"] != 0)
        for (user, location), name in zip(workers, self.WORK):
            self.assertGreaterEqual(user, 0.98 * spent[name], f"{name} in {location}")
            # Asked for 100 per CPU second; threads that share one core are seen by fewer of the kernel's ticks.
            self.assertGreater(location["samples"], 25 * spent[name], f"samples of {name}")

    def test_threads_of_a_program_without_mpi_are_locations(self) -> None:
        self.check_workers([PROGRAMS / "truth_threads"])

    def test_threads_of_an_mpi_program_are_locations_and_those_of_mpi_are_not(self) -> None:
        self.check_workers(mpirun(1, PROGRAMS / "truth_threads", "mpi"))

    def test_openmp_workers_show_their_own_work(self) -> None:
        program = PROGRAMS / "truth_openmp"
        if not program.exists():
            self.skipTest("the compiler has no OpenMP")
        outcome = self.measured(mpirun(1, program))
        self.assertEqual(0, outcome.code, outcome.stderr)
        spent = outcome.json_lines()[0]
        report = self.report(outcome)
        self.assert_time_conserved(report)
        self.assertEqual(2, len(report.locations), "locations")
        for name in ("work_of_main", "work_of_worker"):
            self.assert_near(report.of_function(name, "inclusive_s"), spent[name], 0.02 * spent[name] + 0.02, name)


@unittest.skipUnless((PROGRAMS / "sessions").exists(), "no MPI with sessions was found")
class Sessions(TestCase):
    def test_a_program_that_never_calls_mpi_init_is_one_experiment(self) -> None:
        command = ["mpiexec.mpich", "-n", "3", PROGRAMS / "sessions"]
        outcome = self.measured(command)
        self.assert_same_result(self.plain(command), outcome)
        self.assertEqual((0, b"3\n", ""), (outcome.code, outcome.stdout, outcome.stderr))
        report = self.report(outcome)
        self.assert_time_conserved(report)
        experiment = report.data["experiment"]
        self.assertEqual((3, "complete"), (experiment["ranks"], experiment["state"]))
        self.assertRegex(experiment["mpi_library"], r"MPICH Version: +\d")
        calls = {name: report.of_function(name, "visits")
                 for name in ("MPI_Session_init", "MPI_Session_finalize", "MPI_Comm_create_from_group", "MPI_Comm_free")}
        self.assertEqual({"MPI_Session_init": 6, "MPI_Session_finalize": 6, "MPI_Comm_create_from_group": 3,
                          "MPI_Comm_free": 3}, calls)
        self.assertEqual(30, report.below("add_up", "visits"))
        self.assertEqual(30 * 3 * 4, report.below("add_up", "bytes_sent"))


    def test_one_process(self) -> None:
        """MPICH has not started its network then: nothing of ours may need it."""
        for process_set in ("mpi://WORLD", "mpi://SELF"):
            command = ["mpiexec.mpich", "-n", "1", PROGRAMS / "sessions", process_set]
            outcome = self.measured(command)
            self.assertEqual((0, b"0\n", ""), (outcome.code, outcome.stdout, outcome.stderr))
            report = self.report(outcome)
            self.assertEqual((1, "complete"), (report.data["experiment"]["ranks"], report.data["experiment"]["state"]))
            self.assertEqual(10, report.below("add_up", "visits"))


class WithoutMpi(TestCase):
    PROGRAM = PROGRAMS / "truth_no_mpi"

    def test_a_program_that_never_calls_mpi_is_measured(self) -> None:
        outcome = self.measured([self.PROGRAM, "1", "3", "return", "tell"])
        self.assertEqual(3, outcome.code, outcome.stderr)
        spent = float(outcome.stdout.split()[0])
        report = self.report(outcome)
        self.assert_time_conserved(report)
        self.assertEqual(1, report.data["experiment"]["ranks"])
        self.assertEqual(0, report.totals["mpi_s"])
        # One tick in a hundred is 1 %; a virtual machine that stands still may lose five of them.
        self.assert_near(report.of_function("work", "inclusive_s"), spent, 0.05 * spent, f"work (losses: {report.losses()})")

    def test_exit_below_main_keeps_status_and_output(self) -> None:
        for how in ("exit", "_exit"):
            with self.subTest(how):
                command = [self.PROGRAM, "0.1", "7", how]
                self.assert_same_result(self.plain(command), self.measured(command))

    def test_the_same_two_programs_under_mpirun(self) -> None:
        # A launcher starts it, MPI is never initialized: two ranks that know nothing of each other.
        command = mpirun(2, self.PROGRAM, "0.1", "0")
        self.assert_same_result(self.plain(command), self.measured(command))

    def test_two_runs_never_share_a_directory(self) -> None:
        first = self.measured([self.PROGRAM, "0.1", "0"])
        self.report(first)
        before = {p: p.read_bytes() for p in first.experiment.rglob("*") if p.is_file()}
        again = self.measured([self.PROGRAM, "0.1", "0"], {"REFRAIN_EXPERIMENT_DIRECTORY": str(first.experiment)})
        self.assertEqual(0, again.code)
        self.assertEqual(b"done\n", again.stdout)
        self.assertIn(str(first.experiment), again.stderr, "says why it did not write")
        after = {p: p.read_bytes() for p in first.experiment.rglob("*") if p.is_file()}
        self.assertEqual(before, after)


if __name__ == "__main__":
    unittest.main(verbosity=2)
