"""Programs that load MPI late and for themselves (RTLD_LOCAL): under a launcher and alone, of both MPIs."""

from __future__ import annotations

import unittest

from refrain_testing import MPIS, PROGRAMS, Outcome, Report, TestCase, mpiexec

ROUNDS = 50


class Late(TestCase):
    def both(self, command: list[object], env: dict[str, str] | None = None) -> tuple[Outcome, Outcome]:
        plain = self.plain(command, env)
        self.assertEqual(0, plain.code, plain.stderr)
        outcome = self.measured(command, env)
        self.assert_same_result(plain, outcome)
        return plain, outcome

    def assert_traffic(self, report: Report, ranks: int, launched: bool) -> None:
        self.assert_time_conserved(report)
        self.assertEqual(ranks, report.data["experiment"]["ranks"])
        self.assertEqual("complete", report.data["experiment"]["state"])
        self.assertEqual(ranks, len(report.locations))
        messages = ROUNDS if ranks == 2 else 0  # alone, they go nowhere
        of = lambda function, call, column: report.sum(
            column, lambda c: c["path"][-3:] == ["plugin_main", function, call])
        for call, column, truth in (("MPI_Send", "bytes_sent", 300 * messages),
                                    ("MPI_Recv", "bytes_received", 300 * messages)):
            self.assertEqual(truth, of("blocking", call, column), call)
        self.assertEqual([ranks * ROUNDS] * 3,
                         [of("nonblocking", call, "visits") for call in ("MPI_Irecv", "MPI_Send", "MPI_Wait")])
        self.assertEqual(600 * messages, of("nonblocking", "MPI_Irecv", "bytes_received"))
        self.assertEqual(600 * messages, of("nonblocking", "MPI_Wait", "bytes_completed"))
        self.assertGreater(report.below("compute", "samples"), 0)
        # Under a launcher a program that needs no MPI may lead to the one that does, and is measured from MPI_Init on.
        early = report.below("work_before", "samples")
        self.assertEqual(0, early) if launched else self.assertGreater(early, 5)

    def test_under_a_launcher(self) -> None:
        for mpi in MPIS:
            with self.subTest(mpi=mpi):
                plugin = PROGRAMS / f"mpi_late_plugin_{mpi}.so"
                _, outcome = self.both(mpiexec(mpi, 2, PROGRAMS / "mpi_late", plugin, ROUNDS), {"LATE_WORK": "1"})
                self.assert_traffic(self.report(outcome), 2, launched=True)

    def test_alone(self) -> None:
        for mpi in MPIS:
            command = [PROGRAMS / "mpi_late", PROGRAMS / f"mpi_late_plugin_{mpi}.so", ROUNDS]
            with self.subTest(mpi=mpi):
                env = {"LATE_WORK": "0.5"}
                plain, outcome = self.both(command, env)
                report = self.report(outcome)
                self.assert_time_conserved(report)
                if mpi == MPIS[0]:  # what is expected when nothing tells which MPI it will be
                    self.assert_traffic(report, 1, launched=False)
                else:  # let through: sampled as ever, its calls not recorded
                    self.assertGreater(report.below("compute", "samples"), 0)
                    self.assertEqual(0, report.of_function("MPI_Send", "visits"))
                told = self.measured(command, env, options=["--library", mpi])
                self.assert_same_result(plain, told)
                self.assert_traffic(self.report(told), 1, launched=False)


class Never(TestCase):
    def test_a_program_that_never_initializes_mpi(self) -> None:
        for mpi in MPIS:
            with self.subTest(mpi=mpi):
                outcome = self.measured([PROGRAMS / f"mpi_uninitialized_{mpi}"])
                self.assertEqual(0, outcome.code, outcome.stderr)
                report = self.report(outcome)
                self.assert_time_conserved(report)
                self.assertEqual((3, 1), (report.of_function("MPI_Initialized", "visits"),
                                          report.of_function("MPI_Get_version", "visits")))


if __name__ == "__main__":
    unittest.main(verbosity=2)
