"""Threads that live shorter than a period of sampling, and stretches of the measurement between two stops: each moment of them
has the same chance to be sampled."""

from __future__ import annotations

import json
import math
import unittest

from refrain_testing import MPIS, PROGRAMS, Report, TestCase, mpiexec

#: Standard errors. By chance a normal deviate is further off once in 10^9; the suite has 8 of them.
BOUND = 6.2
SOURCES = ("task_clock", "timer")


class ShortThreads(TestCase):
    def run_mode(self, mode: str, count: int, mpi: str = "openmpi", **env: str) -> tuple[dict[str, float], Report]:
        outcome = self.measured(mpiexec(mpi, 1, PROGRAMS / f"short_threads_{mpi}", mode, count), env)
        self.assertEqual(0, outcome.code, outcome.stderr)
        report = self.report(outcome)
        self.assert_time_conserved(report)
        return json.loads(outcome.stdout), report

    def check_shares(self, mode: str) -> None:
        for source in SOURCES:
            with self.subTest(source=source):
                # 12 ms each, at 50 samples a second: one stretch in two has a sample.
                truth, report = self.run_mode(mode, 300, REFRAIN_SAMPLING_SOURCE=source, REFRAIN_SAMPLING_FREQUENCY="50")
                of = {part: report.below(part, "samples") for part in ("first_part", "second_part")}
                samples, cpu = sum(of.values()), truth["first_part"] + truth["second_part"]
                share = truth["first_part"] / cpu
                error = math.sqrt(share * (1 - share) / samples)
                self.assertLess(abs(of["first_part"] / samples - share), BOUND * error, f"{of}, true share {share:.3f}")
                # Periods that vary between a half and one and a half come more evenly than by chance alone.
                self.assertLess(abs(samples - 50 * cpu), BOUND * math.sqrt(50 * cpu), f"{samples} samples in {cpu:.2f} s")

    def test_threads_shorter_than_a_period(self) -> None:
        self.check_shares("threads")

    def test_stretches_between_stops_shorter_than_a_period(self) -> None:
        self.check_shares("stops")

    def test_calls_in_destructors_of_keys_are_the_threads(self) -> None:
        for mpi in MPIS:
            with self.subTest(mpi=mpi):
                truth, report = self.run_mode("keys", 50, mpi)
                self.assertEqual(150, truth["calls"])
                self.assertEqual(150, report.of_function("MPI_Type_size", "visits"))
                self.assertEqual({}, report.losses_of_calls())


if __name__ == "__main__":
    unittest.main(verbosity=2)
