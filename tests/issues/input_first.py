"""Which call is suggested to begin the iterations of a program without marks."""

from __future__ import annotations

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "apps"))
from refrain_testing import BUILD, MPIS, REFRAIN, TestCase, mpiexec  # noqa: E402


class InputFirst(TestCase):
    def test_the_call_is_one_of_the_main_loop(self) -> None:
        for mpi in MPIS:
            with self.subTest(mpi=mpi):
                experiment = self.directory / mpi
                program = BUILD / "tests" / "issues" / f"input_first_{mpi}"
                command = mpiexec(mpi, 2, REFRAIN, "exec", "--", program)
                outcome = self.plain(command, {"REFRAIN_EXPERIMENT_DIRECTORY": str(experiment)})
                self.assertEqual(0, outcome.code, outcome.stderr)
                said = self.plain([REFRAIN, "report", experiment, "--iterations"]).stderr
                # 12 calls of MPI_Bcast and 15 of MPI_Reduce are fewer, in the same function.
                self.assertIn("MPI_Allreduce in main occurs 200 times on every rank: REFRAIN_ITERATION_AT=MPI_Allreduce@main",
                              said)


if __name__ == "__main__":
    unittest.main()
