"""The runtime inside real programs, as this build has made it: under a sanitizer it is the sanitizer that judges.

Every finding of a sanitizer ends the program with an error (scripts/test says so to all of them), so a run that ends
well and reports exactly what it would have done unmeasured has none.
"""

from __future__ import annotations

import unittest

import refrain_testing as rt


class Instrumented(rt.TestCase):
    def check(self, ranks: int, program: str, *arguments: str, **env: str) -> rt.Report:
        command = rt.mpirun(ranks, rt.EXAMPLES / program, *arguments)
        plain = self.plain(command, env)
        measured = self.measured(command, env)
        self.assert_same_result(plain, measured)
        self.assertNotIn("anitizer", measured.stderr)
        self.assertNotIn("runtime error", measured.stderr)
        report = self.report(measured)
        self.assertEqual("complete", report.data["experiment"]["state"])
        self.assert_time_conserved(report)
        return report

    def test_halo_exchange(self) -> None:
        report = self.check(3, "stencil", "--steps", "60")
        self.assertEqual(3, len(report.locations))
        self.assertGreater(report.of_function("MPI_Waitall", "visits"), 0)

    def test_threads(self) -> None:
        report = self.check(2, "stencil_omp", "--steps", "40", OMP_NUM_THREADS="2")
        self.assertEqual(4, len(report.locations))

    def test_metrics(self) -> None:
        report = self.check(2, "stencil_omp", "--steps", "40", OMP_NUM_THREADS="2", REFRAIN_SAMPLING_FREQUENCY="1000",
                            REFRAIN_METRICS="ru_minflt,ru_maxrss,ru_utime")
        self.assertEqual(3, len(report.totals["metrics"]))
        report = self.check(2, "drift", "--steps", "60", REFRAIN_METRICS="ru_minflt,ru_maxrss,ru_utime")
        self.assertGreater(report.totals["metrics"]["ru_minflt"], 0)

    def test_deep_call_paths_with_both_unwinders(self) -> None:
        for unwinder in ("incremental", "libunwind"):
            report = self.check(2, "particles", "--steps", "20", "--particles", "500", REFRAIN_UNWINDER=unwinder,
                                REFRAIN_SAMPLING_FREQUENCY="1000")
            self.assertGreater(report.of_kind("mpi", "visits"), 0)

    def test_samples_of_wall_time(self) -> None:
        self.check(2, "stencil", "--steps", "40", REFRAIN_SAMPLING_CLOCK="wall", REFRAIN_SAMPLING_FREQUENCY="1000")


if __name__ == "__main__":
    unittest.main()
