"""The program's own signals come on top of a tick: they stay on their thread, may leave it by a jump, and all that is counted stays right."""

from __future__ import annotations

import unittest

from refrain_testing import FULL, MPIS, PROGRAMS, TestCase, mpiexec

SOURCES = ("task_clock", "timer")
ITERATIONS = 5000 if FULL else 300


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
                    # 0.7 ms of CPU time in each iteration; the event has a sample in each 0.2 ms. At a tick of the kernel a
                    # thread often loses a busy core, and when it comes back the program's signal is there, too, and is
                    # delivered on top of ours: what the timer misses then is told.
                    if source == "task_clock":
                        self.assertGreater(report.totals["samples"], ITERATIONS / 2)
                    told = report.losses().get("cpu_time_without_ticks", 0)
                    self.assertGreater(report.totals["samples"] * 0.004 + told, ITERATIONS * 0.0007 / 3)

    def test_signals_of_the_process_stay_on_the_thread_that_runs(self) -> None:
        """The kernel's tick makes the program's SIGPROF and our own tick at the same moment."""
        for mpi in MPIS:
            for source in SOURCES if FULL else SOURCES[:1]:
                with self.subTest(mpi=mpi, source=source):
                    self.run_mode(mpi, source, "stays", 0.3)


if __name__ == "__main__":
    unittest.main()
