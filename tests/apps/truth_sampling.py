"""Sampling finds the truth: CPU time planted in three call paths in the ratio 1 : 3 : 6.

Eighteen configurations: phases of 2, 10 and 200 ms; alone, with waiting in MPI between, with sleep between; 100 and
1000 Hz. The program says by its own clocks what it did.

How a deviation is judged. A share p estimated from n independent samples has the standard error sqrt(p (1 - p) / n)
with n = (sum w)^2 / sum w^2. Three standard errors on each of 54 shares would cry wolf in one suite run of seven, so
the suite asks for four (54 x 6e-5: one in 300 runs), repeats a configuration that misses with twice the time (it must
miss twice: one in 10^5), and pools all configurations in two ways, which find what no single share shows: the squared
deviations add up to a chi-square variable, whose tail probability must not be below 1e-4; and the signed deviations
of one path must cancel to within 4.2 standard errors of their sum (three paths: one in 10^4). FULL_TESTS=1 runs
longer and prints the table with three standard errors, which must then hold for all but the few that chance allows.

Who runs at a kernel tick is chance only while there are cores enough (docs/architecture.md, "The rules of time"): a run in which the
program's own clocks say that user code lost a tenth of its processor to others is repeated, up to three times.
"""

from __future__ import annotations

import math
import unittest

from refrain_testing import FULL, PROGRAMS, Report, TestCase, chi_square_tail, mpirun

PATHS = ("tenth", "three_tenths", "six_tenths")
CPU_SECONDS = 12.0 if FULL else 3.0
#: rows of the table: configuration, planted shares, reported shares, deviations in standard errors
TABLE: list[tuple[str, list[float], list[float], list[float]]] = []


def effective_samples(report: Report, samples: int) -> float:
    """n of the standard error; from the report when it says, else for intervals uniform in 0.5 to 1.5 periods."""
    totals = report.totals
    if totals.get("samples") and totals.get("effective_samples"):
        return samples * min(1.0, totals["effective_samples"] / totals["samples"])
    return samples * 12 / 13


class Sampling(TestCase):
    def run_once(self, phase_ms: int, between: str, frequency: int, cpu_seconds: float):
        ranks = 1 if between == "none" else 2
        cycle = 10e-3 * phase_ms
        budget = max(2, round(cpu_seconds / ranks / cycle)) * cycle
        outcome = self.measured(mpirun(ranks, PROGRAMS / "truth_paths", str(phase_ms), f"{budget:.3f}", between),
                                {"REFRAIN_SAMPLING_FREQUENCY": str(frequency)})
        self.assertEqual(0, outcome.code, outcome.stderr)
        truth = outcome.json_lines()
        self.assertEqual(ranks, len(truth), outcome.stdout)
        report = self.report(outcome)
        self.assert_time_conserved(report)
        return truth, report

    def run_undisturbed(self, phase_ms: int, between: str, frequency: int, cpu_seconds: float):
        for _ in range(4):
            truth, report = self.run_once(phase_ms, between, frequency, cpu_seconds)
            if between == "sleep" or sum(t["user_wall"] for t in truth) < 1.1 * sum(t["user_cpu"] for t in truth):
                break
        return truth, report

    def deviations(self, truth, report: Report):
        planted = [sum(t["paths"][i] for t in truth) for i in range(3)]
        found = [report.of_function(name, "inclusive_s") for name in PATHS]
        samples = sum(report.below(name, "samples") for name in PATHS)
        self.assertGreater(samples, 50)
        n = effective_samples(report, samples)
        shares = [x / sum(planted) for x in planted]
        got = [x / sum(found) for x in found]
        z = [(g - p) / math.sqrt(p * (1 - p) / n) for g, p in zip(got, shares)]
        square = sum(n * (g - p) ** 2 / p for g, p in zip(got, shares))  # 2 degrees of freedom
        return shares, got, z, square, n

    def check_parts(self, truth, report: Report, frequency: int) -> None:
        """User, MPI and off-CPU time, each within 2 % of the time after MPI_Init. Own overhead within 2 % at the 250
        interruptions a second that come at least, and in proportion at more. The program's CPU clock runs on in it."""
        by_rank = {l["rank"]: l for l in report.locations if l["thread"] == 0}
        self.assertEqual(len(truth), len(report.locations), "locations")
        for t in truth:
            wall = t["user_wall"] + t["mpi_wall"]
            mpi = by_rank[t["rank"]]["mpi_s"] - t["init_wall"]  # the gather at the end is milliseconds
            self.assert_near(mpi, t["mpi_wall"], 0.02 * wall, f"MPI of rank {t['rank']}")
        wall = sum(t["user_wall"] + t["mpi_wall"] for t in truth)
        on_cpu = report.of_kind("user", "exclusive_s")
        overhead = report.totals["overhead_s"]
        self.assertGreaterEqual(overhead, 0)
        self.assertLessEqual(overhead, 0.02 * wall * max(1, frequency / 250), "own overhead of a program that hardly calls MPI")
        user_cpu = sum(t["user_cpu"] for t in truth)
        self.assert_near(on_cpu, user_cpu - overhead / 2, 0.02 * wall + overhead / 2, "user code on the CPU")
        off_cpu = sum(t["user_wall"] - t["user_cpu"] for t in truth)
        self.assert_near(report.off_cpu(), off_cpu, 0.01 * wall, "off CPU")

    def test_shares_and_parts_are_the_planted_ones(self) -> None:
        pooled, degrees = 0.0, 0
        signed, variance = [0.0] * 3, [0.0] * 3
        for between in ("none", "mpi", "sleep"):
            for phase_ms in (2, 10, 200):
                for frequency in (100, 1000):
                    name = f"{between} {phase_ms} ms {frequency} Hz"
                    with self.subTest(name):
                        for attempt in (1, 2):
                            truth, report = self.run_undisturbed(phase_ms, between, frequency, attempt * CPU_SECONDS)
                            shares, got, z, square, n = self.deviations(truth, report)
                            if attempt == 1:
                                TABLE.append((name, shares, got, z))
                                pooled, degrees = pooled + square, degrees + 2
                                for i in range(3):
                                    signed[i] += n * (got[i] - shares[i])
                                    variance[i] += n * shares[i] * (1 - shares[i])
                            try:
                                self.assertLessEqual(max(map(abs, z)), 4, f"shares {got}, planted {shares}, z {z}")
                                self.check_parts(truth, report, frequency)
                                break
                            except AssertionError:
                                if attempt == 2:
                                    raise
        tail = chi_square_tail(pooled, degrees)
        self.assertGreaterEqual(tail, 1e-4, f"chi-square {pooled:.1f} with {degrees} degrees of freedom\n{table()}")
        for i, path in enumerate(PATHS):
            bias = signed[i] / math.sqrt(variance[i])
            self.assertLessEqual(abs(bias), 4.2, f"{path} is off by {bias:.1f} standard errors over all\n{table()}")
        if FULL:
            beyond = sum(abs(x) > 3 for row in TABLE for x in row[3])
            self.assertLessEqual(beyond, 2, f"shares beyond three standard errors\n{table()}")

    def test_own_overhead_is_the_difference_to_calls_that_are_not_wrapped(self) -> None:
        # The same loop through MPI_Send and through PMPI_Send, in CPU time. What is reported is calibrated at start,
        # when caches and clock rate may have been others, hence the wide bounds; the smallest effect of a forgotten
        # or doubled part is a factor of two.
        for _ in range(3):
            outcome = self.measured(mpirun(1, PROGRAMS / "truth_cheap_calls", "4000000"))
            truth = outcome.json_lines()[0]
            report = self.report(outcome)
            self.assert_time_conserved(report)
            self.assertEqual(truth["calls"], report.of_function("MPI_Send", "visits"))
            ratio = report.totals["overhead_s"] / (truth["wrapped_s"] - truth["bare_s"])
            if 0.6 <= ratio <= 1.5:
                return
        self.fail(f"own overhead is reported as {ratio:.2f} of what the calls really cost more")


def table() -> str:
    rows = [f"{'configuration':24} {'planted':>23} {'reported':>23} {'standard errors':>23}"]
    for name, shares, got, z in TABLE:
        rows.append(f"{name:24} " + " ".join("".join(f"{x:8.4f}" for x in v) for v in (shares, got))
                    + " " + "".join(f"{x:8.2f}" for x in z))
    return "\n".join(rows)


def tearDownModule() -> None:
    print(table())


if __name__ == "__main__":
    unittest.main(verbosity=2)
