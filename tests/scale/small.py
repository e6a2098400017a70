"""Made-up experiments are what the runtime would have written: reports find nothing wrong with them."""

from __future__ import annotations

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from accounting import READ_LOG, ScaleTest  # noqa: E402
from refrain_testing import Report, clean_environment, run_to_the_end  # noqa: E402

RANKS, PATHS, CLUSTERS, ITERATIONS, THREADS = 70, 60, 8, 3000, 2


class MadeUpExperiment(ScaleTest):
    def test_it_is_complete_and_consistent(self) -> None:
        experiment = self.make("small", ranks=RANKS, paths=PATHS, clusters=CLUSTERS, iterations=ITERATIONS,
                               threads=THREADS)
        report = Report(experiment)
        self.assert_time_conserved(report)
        self.assertEqual("complete", report.data["experiment"]["state"])
        self.assertEqual([], report.data["experiment"]["missing_ranks"])
        self.assertEqual({}, report.losses())
        self.assertEqual([(rank, thread) for rank in range(RANKS) for thread in range(THREADS)],
                         [(location["rank"], location["thread"]) for location in report.locations])
        self.assertEqual(["node0000", "node0001"], report.data["experiment"]["hosts"])
        self.assertGreater(len({location["wall_s"] for location in report.locations}), 12, "ranks differ")
        calls = report.sum("visits", lambda call: call["kind"] == "mpi")
        self.assertEqual(report.totals["mpi_calls"], calls)

        parts = [Report(experiment, "--rank", "69", "--thread", "0", "--cluster", str(k)) for k in range(CLUSTERS)]
        for part in parts:
            self.assert_time_conserved(part)
        outside = Report(experiment, "--rank", "69").locations[0]["wall_s"] - sum(p.totals["wall_s"] for p in parts)
        self.assertTrue(20 < outside < 60, outside)

        code, out, errors = run_to_the_end([str(READ_LOG), str(experiment)], 60, clean_environment())
        self.assertEqual((0, RANKS * THREADS * ITERATIONS), (code, int(out)), errors)


if __name__ == "__main__":
    unittest.main(verbosity=2)
