"""Two waits whose call paths end alike are told apart, and names of C++ are short."""

from __future__ import annotations

import re
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "apps"))
from refrain_testing import BUILD, MPIS, REFRAIN, TestCase, mpiexec  # noqa: E402


class AlikeWaits(TestCase):
    def test_the_page_and_the_search_tell_them_apart(self) -> None:
        for mpi in MPIS:
            with self.subTest(mpi=mpi):
                experiment = self.directory / mpi
                program = BUILD / "tests" / "issues" / f"alike_waits_{mpi}"
                outcome = self.plain(mpiexec(mpi, 2, REFRAIN, "exec", "--", program),
                                     {"REFRAIN_EXPERIMENT_DIRECTORY": str(experiment)})
                self.assertEqual(0, outcome.code, outcome.stderr)
                findings = self.plain([REFRAIN, "report", experiment, "--findings"]).stdout.decode()
                waits = re.findall(r"waits? in Halo::exchange > MPI_Recv below (\w+)", " ".join(findings.split()))
                self.assertEqual({"pressure_step", "velocity_step"}, set(waits), findings)
                search = self.plain([REFRAIN, "analyze", experiment]).stdout.decode()
                self.assertRegex(search, r"late_sender +main > pressure_step > Halo::exchange > MPI_Recv\n")
                self.assertNotIn("std::map", search)


if __name__ == "__main__":
    unittest.main()
