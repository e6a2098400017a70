"""Code that takes the place of other code, and calls on other stacks, are not taken for what was there before."""

from __future__ import annotations

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "apps"))
from refrain_testing import BUILD, MPIS, Report, TestCase, mpiexec  # noqa: E402

PROGRAMS = BUILD / "tests" / "issues"


class OtherCode(TestCase):
    def run_program(self, mpi: str, *words: object) -> tuple[str, Report]:
        outcome = self.measured(mpiexec(mpi, 1, PROGRAMS / f"other_code_{mpi}", *words))
        self.assertEqual(0, outcome.code, outcome.stderr)
        return outcome.stdout.decode().strip(), self.report(outcome)

    def test_verdicts_on_call_sites_end_with_their_library(self) -> None:
        """A call by a PMPI_ name counts when it comes from a layer for Fortran, and passes through from other code."""
        for mpi in MPIS:
            plugins = {kind: PROGRAMS / f"other_code_{kind}_{mpi}.so" for kind in ("layer", "code_")}
            for first, second, counted in (("layer", "code_", 3), ("code_", "layer", 5)):
                with self.subTest(mpi=mpi, first=first):
                    said, report = self.run_program(mpi, "unload", plugins[first], plugins[second])
                    self.assertEqual("same place", said)
                    self.assertEqual(counted, report.of_function("MPI_Barrier", "visits"))

    def test_a_call_of_a_fiber_within_a_call_is_a_loss(self) -> None:
        for mpi in MPIS:
            with self.subTest(mpi=mpi):
                said, report = self.run_program(mpi, "fibers")
                self.assertEqual("switched", said)
                self.assertEqual(1, report.of_function("MPI_Reduce_local", "visits"))
                self.assertEqual(0, report.of_function("MPI_Type_size", "visits"), "they are within another call")
                # That of the operation itself is MPI_Reduce_local's own.
                self.assertEqual(1, report.losses_of_calls().get("thread_unmeasured"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
