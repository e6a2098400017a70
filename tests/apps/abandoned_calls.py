"""MPI calls that the program leaves by a jump or an exception: what comes after them is measured, and the loss is told."""

from __future__ import annotations

import json
import unittest

from refrain_testing import MPIS, PROGRAMS, Report, TestCase, mpiexec

COUNT = 20
FAST = {"REFRAIN_SAMPLING_FREQUENCY": "1000"}


class AbandonedCalls(TestCase):
    def run_way(self, mpi: str, way: str) -> Report:
        command = mpiexec(mpi, 2, PROGRAMS / f"abandoned_calls_{mpi}", way, COUNT)
        plain, outcome = self.plain(command), self.measured(command, FAST)
        self.assertEqual(0, plain.code, plain.stderr)
        self.assert_same_result(plain, outcome)
        assert outcome.experiment is not None
        manifest = json.loads((outcome.experiment / "manifest.json").read_text())
        self.assertEqual("complete", manifest["state"], outcome.stderr)
        report = self.report(outcome)
        self.assert_time_conserved(report)
        return report

    def check(self, way: str, calls: int = 1, abandoned: int = 1, barriers: int = COUNT) -> None:
        for mpi in MPIS:
            with self.subTest(mpi=mpi, way=way):
                report = self.run_way(mpi, way)
                self.assertEqual(calls, report.of_function("MPI_Send", "visits"))
                self.assertEqual(abandoned, report.losses().get("call_abandoned", 0), report.losses())
                self.assertNotIn("thread_still_running", report.losses())
                self.assertEqual(barriers, report.of_function("MPI_Barrier", "visits"))
                self.assertEqual(2, report.of_function("MPI_Finalize", "visits"), "both ranks end their measurement")
                worked = report.below("work", "exclusive_s")
                self.assertGreater(worked, 0.2, "what comes after the call is sampled in the program's code")

    def test_a_jump_into_the_same_frame(self) -> None:
        self.check("same_frame")

    def test_a_jump_over_a_large_frame(self) -> None:
        self.check("far")

    def test_calls_deeper_than_the_one_that_was_left(self) -> None:
        self.check("deeper")

    def test_what_comes_after_does_not_touch_the_place_of_the_call(self) -> None:
        self.check("untouched")

    def test_the_next_call_is_the_last(self) -> None:
        self.check("finalize", barriers=0)

    def test_the_same_call_is_left_again_and_again(self) -> None:
        self.check("again", calls=COUNT, abandoned=COUNT)

    def test_an_exception_out_of_the_call(self) -> None:
        self.check("exception")

    def test_iterations_after_the_call(self) -> None:
        self.check("mark")

    def test_a_thread_that_is_made_after_the_call(self) -> None:
        self.check("thread")

    def test_on_the_stack_of_a_fiber(self) -> None:
        self.check("fiber")

    def test_what_returns_is_not_abandoned_whatever_is_called_meanwhile(self) -> None:
        self.check("returns", abandoned=0)

    def test_mpi_ends_within_a_call(self) -> None:
        for mpi in MPIS:
            with self.subTest(mpi=mpi):
                report = self.run_way(mpi, "finalize_in_handler")
                self.assertEqual(2, report.of_function("MPI_Send", "visits"))
                self.assertEqual(2, report.losses().get("thread_still_running", 0), report.losses())


if __name__ == "__main__":
    unittest.main(verbosity=2)
