"""Threads that are not measured are said, with the CPU time that they have used; and cores that ranks share."""

from __future__ import annotations

import os
import unittest

from refrain_testing import MPIS, PROGRAMS, REFRAIN, TestCase, mpiexec


class UnseenThreads(TestCase):
    def test_cpu_time_of_threads_that_were_made_by_clone_is_a_loss(self) -> None:
        outcome = self.measured([PROGRAMS / "unseen_threads", 0.3])
        self.assertEqual(0, outcome.code, outcome.stderr)
        unseen, _ = map(float, outcome.stdout.split())
        lost = self.report(outcome).losses().get("cpu_time_of_unseen_threads", 0)
        self.assertAlmostEqual(unseen, lost, delta=0.03)

    def test_threads_of_mpi_and_short_ones_are_none_of_them(self) -> None:
        for mpi in MPIS:
            outcome = self.measured(mpiexec(mpi, 2, PROGRAMS / f"short_threads_{mpi}", "threads", 300))
            self.assertEqual(0, outcome.code, outcome.stderr)
            self.assertNotIn("cpu_time_of_unseen_threads", self.report(outcome).losses())


class Cores(TestCase):
    def test_ranks_that_share_cores_are_said_first(self) -> None:
        available = sorted(os.sched_getaffinity(0))
        for mpi in MPIS:
            command = mpiexec(mpi, 3, PROGRAMS / f"iterations_refine_{mpi}", 30)
            os.sched_setaffinity(0, available[:1])
            self.addCleanup(os.sched_setaffinity, 0, available)
            outcome = self.measured(command, {"OMPI_MCA_hwloc_base_binding_policy": "none"})
            self.assertEqual(0, outcome.code, outcome.stderr)
            report = self.report(outcome, "--locations")
            self.assertEqual(["3 ranks share 1 core"], report.data["experiment"]["shared_cores"])
            for location in report.data["by_location"]:
                self.assertEqual(str(available[0]), location["cores_at_begin"])
                self.assertEqual(str(available[0]), location["cores_at_end"])
            for view in ([], ["--nodes"]):
                text = self.plain([REFRAIN, "report", outcome.experiment, *view]).stdout.decode()
                head = " ".join(text[:1000].split())
                self.assertIn("3 ranks on 1 core of ", head)
                self.assertIn("3 ranks share 1 core.", head)
            node = self.report(outcome, "--nodes").data["nodes"][0]
            self.assertEqual((3, 3, 1), (node["ranks"], node["threads"], node["cores"]))

    def test_ranks_with_a_core_each_are_not(self) -> None:
        for mpi in MPIS:
            outcome = self.measured(mpiexec(mpi, 1, PROGRAMS / f"iterations_refine_{mpi}", 30))
            self.assertEqual(0, outcome.code, outcome.stderr)
            report = self.report(outcome)
            self.assertEqual([], report.data["experiment"]["shared_cores"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
