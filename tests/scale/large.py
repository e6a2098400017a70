"""Reports and exports of experiments as large as those of large machines: what they cost.

What a limit of wall time means on a machine that others use, too: the best of up to three runs must keep it. Memory and
CPU time are the process's own; CPU time is compared with that of another program which is run in turn with it. A report
that needs several times what it may is stopped, and fails.
"""

from __future__ import annotations

import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from accounting import MIB, READ_LOG, Bounds, ScaleTest, Usage, account, best_of  # noqa: E402
from refrain_testing import REFRAIN, clean_environment  # noqa: E402

TRIES = 3


class LargeExperiments(ScaleTest):
    def check(self, experiment: Path, options: list[object], wall_s: float, resident: int) -> None:
        bounds = Bounds(max(60, 10 * wall_s), 8 * resident)

        def good(usage: Usage) -> bool:
            return usage.wall_s <= wall_s and usage.resident <= resident

        best = best_of(TRIES, lambda: self.report(experiment, *options, bounds=bounds), good)
        self.assertFalse(best.stopped, f"far beyond its limits: {best}")
        self.assertGreater(best.written, 0, f"nothing was reported: {best}")
        self.assertLessEqual(best.wall_s, wall_s, f"too slow: {best}")
        self.assertLessEqual(best.resident, resident, f"too large: {best}")

    def check_export(self, experiment: Path, wall_s: float, resident: int) -> None:
        """As .cubex, whose rows hold all ranks: what is in memory does not grow with them."""
        file = experiment.parent / "large.cubex"

        def export() -> Usage:
            file.unlink(missing_ok=True)
            usage = account([REFRAIN, "export", experiment, "--format", "cubex", "-o", file], Bounds(10 * wall_s, 8 * resident))
            print(f"refrain export {experiment.name}: {usage}, {file.stat().st_size / MIB:.0f} MiB", flush=True)
            return usage

        best = best_of(TRIES, export, lambda usage: usage.wall_s <= wall_s and usage.resident <= resident)
        self.assertLessEqual(best.wall_s, wall_s, f"too slow: {best}")
        self.assertLessEqual(best.resident, resident, f"too large: {best}")

    def check_view(self, experiment: Path, wall_s: float, resident: int, most_bytes: int) -> None:
        """As the explorer's file, whose size is bounded."""
        file = experiment.parent / "large.html"
        command = [REFRAIN, "view", experiment, "-o", file]
        done = subprocess.run(command, capture_output=True, text=True, timeout=20 * wall_s, env=clean_environment())
        if "has no page" in done.stderr:
            self.skipTest("refrain view: this build has no page (npm, scripts/build)")

        def view() -> Usage:
            usage = account(command, Bounds(10 * wall_s, 8 * resident))
            print(f"refrain view {experiment.name}: {usage}, {file.stat().st_size / MIB:.1f} MiB", flush=True)
            return usage

        best = best_of(TRIES, view, lambda usage: usage.wall_s <= wall_s and usage.resident <= resident)
        self.assertLessEqual(best.wall_s, wall_s, f"too slow: {best}")
        self.assertLessEqual(best.resident, resident, f"too large: {best}")
        self.assertLessEqual(file.stat().st_size, most_bytes)

    def test_explorer_of_four_thousand_ranks(self) -> None:
        experiment = self.make("viewed", ranks=4096, paths=500, clusters=4, iterations=64)
        self.check_view(experiment, wall_s=5, resident=500 * MIB, most_bytes=27_000_000)

    def test_explorer_of_long_loops(self) -> None:
        experiment = self.make("viewed-long", ranks=1024, paths=60, clusters=8, iterations=100_000)
        self.check_view(experiment, wall_s=20, resident=500 * MIB, most_bytes=27_000_000)

    def test_one_rank_of_ten_thousand(self) -> None:
        experiment = self.make("wide", ranks=10_000, paths=500, clusters=64, iterations=128)
        self.check(experiment, ["--rank", 4711], wall_s=1, resident=100 * MIB)

    def test_all_of_four_thousand_ranks(self) -> None:
        experiment = self.make("all", ranks=4096, paths=500, clusters=64, iterations=128)
        # What stands out is found once, as `refrain run` does it; there are no events beside that.
        self.assertEqual(1, subprocess.run([REFRAIN, "analyze", experiment], capture_output=True, timeout=600, env=clean_environment()).returncode)
        self.check(experiment, [], wall_s=3, resident=1024 * MIB)
        self.check_export(experiment, wall_s=30, resident=500 * MIB)

    def test_all_iterations_of_long_loops(self) -> None:
        """Three times the CPU time of reading the same logs, in 300 MiB; the least of up to three runs of each."""
        ranks, iterations, factor, resident = 64, 1_000_000, 3, 300 * MIB
        experiment = self.make("long", ranks=ranks, paths=12, clusters=64, iterations=iterations)
        # The document has findings, which are found once, as `refrain run` does it.
        subprocess.run([REFRAIN, "analyze", experiment], capture_output=True, timeout=600, env=clean_environment())
        reading, reporting = [], []
        for _ in range(TRIES):
            reading.append(account([READ_LOG, experiment]))
            print(f"read_log: {reading[-1]}", flush=True)
            least = min(usage.cpu_s for usage in reading)
            bounds = Bounds(max(600, 10 * factor * least), 8 * resident)
            reporting.append(self.report(experiment, "--iterations", "--format", "json", bounds=bounds))
            ratio = min(usage.cpu_s for usage in reporting) / least
            if reporting[-1].stopped or (ratio <= factor and reporting[-1].resident <= resident):
                break
        last = reporting[-1]
        self.assertFalse(last.stopped, f"far beyond its limits: {last}")
        print(f"CPU time: {ratio:.2f} times that of reading the logs", flush=True)
        self.assertGreater(last.written, 2 * ranks * iterations, "each iteration has a number and a comma at least")
        self.assertLessEqual(last.resident, resident, f"too large: {last}")
        self.assertLessEqual(ratio, factor, f"CPU time as a multiple of reading the logs: {last}")
        # One of them costs what it is, once how the time of all is divided is kept.
        self.report(experiment, "--iteration", 40)
        self.assertTrue(list(experiment.glob("pools-*.refrain")))
        self.check(experiment, ["--iteration", 777_777], wall_s=1, resident=100 * MIB)


if __name__ == "__main__":
    unittest.main(verbosity=2)
