"""Fault 12: a billion MPI calls, and the process holds no more memory, descriptors and timers than after a tenth of
them. The short form makes ten million."""

from __future__ import annotations

import unittest

from refrain_testing import FULL, PROGRAMS, TestCase, mpirun

CALLS = (1_000_000_000 if FULL else 10_000_000) // 1024 * 1024
# A log of iterations is written out when half a megabyte of it has come together, and the C library keeps what it likes.
GROWTH_KIB = 3000


class Soak(TestCase):
    def test_what_the_process_holds_does_not_grow(self) -> None:
        outcome = self.measured(mpirun(1, PROGRAMS / "soak", CALLS), timeout=7000 if FULL else 250)
        self.assertEqual(0, outcome.code, outcome.stderr)
        early, late = outcome.json_lines()
        self.assertEqual(1, early["timers"], "the sampling timer")
        for held in ("descriptors", "timers", "threads"):
            self.assertEqual(early[held], late[held], held)
        self.assertLess(late["kib"] - early["kib"], GROWTH_KIB, (early, late))
        report = self.report(outcome)
        self.assert_time_conserved(report)
        self.assertEqual(CALLS // 2, report.of_function("MPI_Send", "visits"))
        self.assertEqual(CALLS // 2, report.of_function("MPI_Recv", "visits"))
        self.assertNotIn("arena_full", report.losses())
        self.assertNotIn("iterations_not_kept", report.losses())


if __name__ == "__main__":
    unittest.main(verbosity=2)
