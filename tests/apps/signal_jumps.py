"""The program's own signals come on top of a tick: they stay on their thread, may leave it by a jump, and all that is counted stays right."""

from __future__ import annotations

import unittest

from refrain_testing import FULL, MPIS, PROGRAMS, TestCase, mpiexec

SOURCES = ("task_clock", "timer")
ITERATIONS = 5000 if FULL else 600


class SignalJumps(TestCase):
    def run_mode(self, mpi: str, source: str, *mode: object):
        command = mpiexec(mpi, 1, PROGRAMS / f"signal_jumps_{mpi}", *mode)
        plain = self.plain(command)
        self.assertEqual(0, plain.code, plain.stderr)
        self.assertIn(b"signals came, those of another thread hardly any", plain.stdout)
        outcome = self.measured(
            command, {"REFRAIN_SAMPLING_FREQUENCY": "5000", "REFRAIN_SAMPLING_SOURCE": source, "REFRAIN_SNAPSHOT": "1"}
        )
        self.assert_same_result(plain, outcome)
        report = self.report(outcome)
        self.assert_time_conserved(report)
        return report

    def test_a_handler_that_jumps_leaves_nothing_half_done(self) -> None:
        for mpi in MPIS:
            for source in SOURCES:
                with self.subTest(mpi=mpi, source=source):
                    report = self.run_mode(mpi, source, "jumps", ITERATIONS)
                    self.assertEqual(ITERATIONS, report.of_function("MPI_Send", "visits"))
                    # At least 0.7 ms of CPU time in each iteration, at least 100 kernel ticks a second.
                    self.assertGreater(report.totals["samples"], ITERATIONS / 25)

    def test_signals_of_the_process_stay_on_the_thread_that_runs(self) -> None:
        """The kernel's tick makes the program's SIGPROF and our own tick at the same moment."""
        for mpi in MPIS:
            for source in SOURCES:
                with self.subTest(mpi=mpi, source=source):
                    self.run_mode(mpi, source, "stays", 0.4)


if __name__ == "__main__":
    unittest.main()
